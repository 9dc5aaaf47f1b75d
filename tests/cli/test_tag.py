"""`keras-elmo tag` and `keras-elmo classify` on files."""

import gzip
import io
import json
import pathlib
from unittest import mock

import pytest

from keras_elmo import Tagger
from keras_elmo.files.labelled_files import read_tagged
from keras_elmo_cli import classify, tag, task_steps
from keras_elmo_cli.main import make_parser

pytestmark = [
    pytest.mark.usefixtures("without_traces"),
    pytest.mark.filterwarnings("ignore:Even though the `tf.config.experimental_run_functions"),
]

TOKENS = "Ada B-PER\nmet O\nCharles B-PER\n\nin O\nLondon B-LOC\n\n" * 2
TEXTS = "id,text,stars\n" + 2 * '1,"a good, good film",5\n2,an awful mess,1\n3,so awful,1\n'


def test_a_tagger_is_trained_scored_and_used(folder, one_layer_folder, run, monkeypatch):
    (folder / "a.conll").write_text(TOKENS)
    (folder / "new.txt").write_text("Ada  in London\n\ngood\n")
    files = ["a.conll", "--dev", "a.conll", "-o", "t.keras"]
    status, out, err = run("tag", "train", *files, "-m", one_layer_folder, "--epochs", 1)
    assert status == 0 and out.startswith("dev: accuracy ")
    assert out.endswith("each word's most frequent tag: accuracy 100.0 %, f1 100.0 %\n")
    assert "val_f1" in err.splitlines()[-1]
    model = Tagger.from_pretrained("t.keras")
    assert model.labels == ["B-LOC", "B-PER", "O"]
    loaded = []
    monkeypatch.setattr(Tagger, "from_pretrained", lambda _, **given: loaded.append(given) or model)
    _, out, _ = run("tag", "label", "new.txt", "-m", "t.keras")
    rows = [[line.split("\t")[0] for line in part.splitlines()] for part in out.split("\n\n")]
    assert rows == [["Ada", "in", "London"], ["", "good"], []]
    _, out, _ = run("tag", "label", "new.txt", "-m", "t.keras", "--entities")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["text"] for line in lines] == ["Ada  in London", "", "good"]
    found = model.entities(["Ada  in London"])[0]
    assert lines[0]["label"] == [[x.start, x.end, x.label] for x in found]
    assert lines[0]["scores"] == [round(x.score, 3) for x in found]
    # What a person corrects is read again, by the tokenizer of the model.
    lines[0]["label"], lines[2]["label"] = [[0, 3, "PER"], [8, 14, "LOC"]], []
    (folder / "new.jsonl").write_text("\n".join(map(json.dumps, lines)))
    fields = ["--field", "text", "--label-field", "label"]
    _, out, _ = run("tag", "evaluate", "new.jsonl", "-m", "t.keras", *fields)
    right = [["Ada", "in", "London"], ["good"]], [["B-PER", "O", "B-LOC"], ["O"]]
    assert out == f"{model.report(*right)}\n"
    options = parse(" ".join(["tag train new.jsonl -o b.keras", *fields]))
    assert tag.TASK.read_parts(options) == {"train": right}
    (folder / "b.conllu").write_text("# x\n" + "1\tAda" + 8 * "\t_" + "\n\n# end\n")
    _, out, _ = run("tag", "label", "b.conllu", "-m", "t.keras", "--label-field", "misc")
    ((ada,),) = model.tag([["Ada"]])
    assert out == "# x\n1\tAda" + 7 * "\t_" + f"\t{ada[1]}\n\n# end\n\n"
    (folder / "c.csv").write_text("s,w\n1,Ada\n,met\n2,Ada\n")
    columns = ["--token-field", "w", "--sentence-field", "s"]
    lines = run("tag", "label", "c.csv", *columns, "-m", "t.keras")[1].splitlines()
    assert [line.partition("\t")[0] for line in lines] == ["Ada", "met", "", "Ada", ""]
    # The file of the training has tokens and tags, which are no texts.
    (folder / "a.txt.gz").write_bytes(gzip.compress(TOKENS.encode()))
    _, out, _ = run("tag", "label", "a.txt.gz", "-m", "t.keras", "--format", "conll")
    rows = [line.partition("\t")[0] for line in out.splitlines()]
    assert rows[:7] == ["Ada", "met", "Charles", "", "in", "London", ""]
    _, out, _ = run("tag", "evaluate", "a.conll", "-m", "t.keras", "-t", "space")
    tokens, tags = read_tagged("a.conll")
    assert out == f"{model.report(tokens, tags)}\n" and "PER" in out
    assert loaded == [{}, {}, {}, {}, {}, {}, {"tokenizer": "space"}]


def test_a_classifier_is_trained_scored_and_used(folder, one_layer_folder, run, monkeypatch):
    (folder / "a.csv").write_text(TEXTS)
    fields = ["--field", "text", "--label-field", "stars"]
    files = ["a.csv", "--test", "a.csv", "-o", "c.keras", "--epochs", 1, "-q", *fields]
    files += ["--class-weight", "balanced"]
    status, out, err = run("classify", "train", *files, "-m", one_layer_folder)
    assert (status, err) == (0, "") and out.startswith("test: accuracy ")
    assert out.endswith("a bag of words: accuracy 100.0 %\n")
    content = b'text,id\ngood,1\n"very\r\nawful\tone",2\n'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    reading = ["--format", "csv", "--field", "text"]
    _, out, _ = run("classify", "label", "-", *reading, "-m", "c.keras")
    rows = [line.split("\t") for line in out.splitlines()]
    assert [row[2] for row in rows] == ["good", "very  awful one"]
    lines = run("classify", "evaluate", "a.csv", "-m", "c.keras", *fields)[1].splitlines()
    assert lines[0].split() == ["precision", "recall", "f1-score", "support"]
    supports = {line.split()[0]: line.split()[-1] for line in lines if line.strip()}
    assert (supports["1"], supports["5"], supports["accuracy"]) == ("4", "2", "6")
    assert all(row[0] in ("1", "5") and 0.5 <= float(row[1]) <= 1 for row in rows)


def parse(line):
    return make_parser().parse_args(line.split())


def test_arguments_reach_the_training(folder, capsys, monkeypatch):
    """And with `--fine-tune` all of ELMo trains after the head. What is written is whole."""
    monkeypatch.setattr(task_steps, "load_elmo", lambda options: None)
    (folder / "c.keras").write_text("old")
    line = "classify train a.csv --dev b.csv -o c.keras --overwrite --fine-tune --epochs 3"
    options = parse(f"{line} --batch-size 5")
    model, pair, calls = mock.Mock(trainable_part="mix"), (["a", "b"], ["x", "y"]), []

    def fit(*texts, callbacks, **given):
        print("Epoch")
        calls.append((model.trainable_part, texts, len(callbacks), given))

    model.fit = fit
    model.evaluate.return_value = {"loss": 1.0, "accuracy": 0.5}
    model.save = lambda path: pathlib.Path(path).write_text("a model")
    data = {"train": pair, "dev": (["c"], ["x"])}
    monkeypatch.setattr("keras_elmo.tasks.TextClassifier", lambda *_: model)
    classify.TASK.train(options, data, [], lambda *_: ("a coin", {"accuracy": 0.25}))
    given = {"epochs": 3, "batch_size": 5, "validation_data": (["c"], ["x"]), "verbose": 2}
    given["class_weight"] = None
    assert calls == [("mix", pair, 2, given), ("all", pair, 2, given)]
    out, err = capsys.readouterr()
    assert out == "dev: accuracy 50.0 %; a coin: accuracy 25.0 %\n"
    assert err == "Epoch\nAll of ELMo trains now.\nEpoch\n"
    assert (folder / "c.keras").read_text() == "a model"
    assert not list(folder.glob(".part*"))


def test_a_batch_holds_texts_or_tokens(folder):
    rows = [{"t": text} for text in ("a b", ["New York"], ["c"], "d")]
    (folder / "b.jsonl").write_text("\n".join(map(json.dumps, rows)))
    options = parse("tag label b.jsonl --field t -m t.keras")
    found = [texts for texts, _ in tag._batches(options)]
    assert found == [["a b"], [["New\u00a0York"], ["c"]], ["d"]]


def test_the_baselines():
    train = [["a", "b"], ["a"]], [["X", "Y"], ["X"]]
    name, scores = tag.baseline(train, ([["b", "c"]], [["Y", "Y"]]))
    assert scores == {"accuracy": 0.5}
    train = [["Ada"], ["London"]], [["B-PER"], ["B-LOC"]]
    _, scores = tag.baseline(train, ([["Ada", "met"]], [["B-PER", "O"]]))
    assert scores == {"accuracy": 0.5, "f1": 2 * 1 / (1 + 2)}
    name, scores = classify.baseline((["good", "bad"], [1, 0]), (["so good"], [1]))
    assert (name, scores) == ("a bag of words", {"accuracy": 1.0})
