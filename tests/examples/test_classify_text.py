import keras
import numpy as np
import pytest

import classify_text
import keras_elmo
import vectors

TRAIN = ["a good film", "good", "so good", "bad", "a bad film"], ["+", "+", "+", "-", "-"]


def test_reading(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tgood\nbad film\t0 \n\n", encoding="utf-8")
    assert classify_text.read(path) == (["a\tb", "bad film"], ["good", "0"])
    path.write_text("a film\tgood\na bad film\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2 of .*a.tsv: 'a bad film'"):
        classify_text.read(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ValueError, match="a.tsv must hold lines.*Received: blank lines only"):
        classify_text.read(path)


def test_a_label_that_no_training_text_has(tmp_path):
    files = []
    for name, label in (("train", "a"), ("dev", "a"), ("test", "b")):
        files.append(tmp_path / name)
        files[-1].write_text(f"text\t{label}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"Received: \['b'\]"):
        classify_text.compare(None, files)


def test_baselines():
    assert classify_text.majority(TRAIN[1], ["-", "-", "+", "-"]) == 25
    test = ["the bad one", "a good one"], ["-", "+"]
    assert classify_text.bag_of_words(TRAIN, TRAIN, test) == 100


@pytest.mark.slow
def test_it_runs_on_its_own_data_and_the_classifier_is_saved(tmp_path, capsys):
    path = tmp_path / "classifier.keras"
    results, names, classifier = classify_text.main(["--output", str(path)])
    assert list(results) == [
        "the most frequent label",
        "bag of words, logistic regression",
        "layer 0",
        "layer 1",
        "layer 2",
        "mix",
        "on raw strings, mix trained",
    ]
    scores = {name: row["scores"][0] for name, row in results.items()}
    assert min(scores["layer 0"], scores["on raw strings, mix trained"]) > 75
    assert len(results["mix"]["shares"]) == 3 and sum(results["mix"]["shares"]) == pytest.approx(
        1, abs=0.011
    )
    assert f"{scores['mix']:.1f}" in capsys.readouterr().out
    texts, labels = classify_text.read(vectors.DATA / "reviews.train.tsv")
    assert classifier.predict(keras_elmo.strings([""]), verbose=0).shape == (1, 2)
    texts = keras_elmo.strings(["", *texts])
    found = classifier.predict(texts, verbose=0)
    assert np.mean(np.array(names)[found.argmax(-1)[1:]] == labels) > 0.75
    again = keras.models.load_model(path).predict(texts, verbose=0)
    np.testing.assert_allclose(again, found, atol=1e-6)
