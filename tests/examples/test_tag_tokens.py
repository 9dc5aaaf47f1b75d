import keras
import numpy as np
import pytest

import keras_elmo
import tag_tokens


def test_both_formats_are_read(tmp_path):
    rows = ["# text = don't go", "1-2\tdon't" + "\t_" * 8, "1\tdo\tdo\tAUX" + "\t_" * 6]
    rows += ["2\tn't\tnot\tPART" + "\t_" * 6, "", "1\tGo\tgo\tVERB" + "\t_" * 6]
    (tmp_path / "a.conllu").write_text("\n".join(rows))
    expected = [["do", "n't"], ["Go"]], [["AUX", "PART"], ["VERB"]]
    assert tag_tokens.read(tmp_path / "a.conllu") == expected
    # Blank lines may hold a tab or a carriage return, as some files of WNUT17 do.
    (tmp_path / "a.txt").write_bytes(b"Anna B-person\nmet\tx\tO\n\t\n\n# O\r\n\r\nNo\tO\r\n")
    assert tag_tokens.read(tmp_path / "a.txt") == (
        [["Anna", "met"], ["#"], ["No"]],
        [["B-person", "O"], ["O"], ["O"]],
    )


@pytest.mark.parametrize(
    "content, message",
    [
        ("met O\nAnna\n", "line 2 of .*a.txt"),
        ("met O\nAnna\t\n", "line 2 of .*a.txt"),
        ("met O\n\tO\n", "line 2 of .*a.txt"),
        ("\n\n", "a.txt must hold lines"),
    ],
)
def test_lines_that_cannot_be_read(tmp_path, content, message):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(ValueError, match=message):
        tag_tokens.read(tmp_path / "a.txt")


def test_scores():
    right = [["B-a", "I-a", "O"], ["B-b"]]
    assert tag_tokens.score(right, [["B-a", "I-a", "O"], ["O"]]) == pytest.approx(100 * 2 / 3)
    assert tag_tokens.score([["x", "y"], ["x"]], [["x", "x"], ["x"]]) == pytest.approx(200 / 3)
    usual = tag_tokens.most_frequent_tags([["a", "b", "a"]], [["x", "y", "x"]], [["b", "c"]])
    assert usual == [["y", "x"]]


@pytest.mark.slow
@pytest.mark.parametrize("crf", [True, False])
def test_it_runs_on_its_own_data_and_the_tagger_is_saved(crf, tmp_path):
    path = tmp_path / "tagger.keras"
    results, names, tagger = tag_tokens.main([*["--crf"] * crf, "--output", str(path)])
    assert list(results) == [
        "each word's most frequent tag",
        "layer 0",
        "layer 1",
        "layer 2",
        "mix",
    ]
    scores = [row["scores"][0] for row in results.values()]
    assert max(scores[1:]) > scores[0]
    assert len(results["mix"]["shares"]) == 3 and sum(results["mix"]["shares"]) == pytest.approx(
        1, abs=0.011
    )
    tokens = keras_elmo.strings([["Julia", "met", "Mark", "in", "Lima", "."], ["No", "."]])
    padded = tokens.to_tensor("")
    outputs = keras.models.load_model(path).predict(padded, verbose=0)
    np.testing.assert_allclose(outputs, tagger.predict(padded, verbose=0), atol=1e-5)
    tags = outputs if crf else outputs.argmax(-1)
    assert tags.shape == (2, 6) and names[tags[1, 0]] == names[tags[1, 1]] == "O"
