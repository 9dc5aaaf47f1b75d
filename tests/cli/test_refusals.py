"""What every command refuses: one line, status 2, and no file."""

import json
import os
import shutil

import pytest

from keras_elmo import BiLanguageModel, Elmo, Tagger, TextClassifier
from keras_elmo_cli.main import main

pytestmark = pytest.mark.usefixtures("loaded_once")
EMBED = "embed in.txt -m model"
RECORDS = "embed in.jsonl -m model -o out.h5"
CORPUS = "embed-corpus -m model -o out in.txt"
TRAIN = "train --vocab vocab.txt --options options.json -o runs/model --train"
# What is found before a model is loaded, by the command and a part of the message.
EARLY = [
    ("classify train in.tsv -o c.bin", "must end with .keras. Received: c.bin"),
    ("classify train in.tsv -o damaged/in.keras", "damaged/in.keras exists already; give --over"),
    ("classify train damaged/in.csv -o c.keras", "--field must name the field of damaged/in.csv"),
    ("classify label in.tsv --format text -m in.txt", "must be a text without tabs."),
    ("convert nothing out", "There is no model 'nothing'"),
    (f"{EMBED} -o out.txt", "must end with .hdf5 or .h5 or .npz. Received: out.txt"),
    (f"{EMBED} -o folder.h5", "not a folder. Received: folder.h5"),
    (f"{EMBED} -o old.npz", "old.npz exists already; give --overwrite to replace it, or name a"),
    (f"{EMBED} -o no/a.npz", "no must be an existing folder. Received: no/a.npz"),
    ("vocabulary in.t?t -o in.txt --overwrite", "must not be the input. Received: in.txt for both"),
    ("embed nothing.txt -m model -o out.npz", "nothing.txt"),
    ("embed old.npz -m model -o link.npz --overwrite", "must not be the input"),
    ("embed in.txt -m model/options.json,no.hdf5 -o out.npz", "no weight file no.hdf5"),
    (f"{EMBED} -o model/weights.hdf5 --overwrite", "must not lie in a model's folder"),
    (f"{EMBED} -o ./model/new.h5", "could replace its weights. Received: ./model/new.h5"),
    ("embed in.txt -m a,old.npz -o old.npz --overwrite", "must not be the input"),
    (RECORDS, "--field must name the field of in.jsonl that is the text, if its name"),
    (f"{EMBED} -o out.h5 --field text", "--field must name the field of in.txt that is the text"),
    ("embed latin.txt -m model -o out.npz", "latin.txt must be utf-8, and is not"),
    (f"{CORPUS} -", "standard input"),
    ("vocabulary latin.txt -o new.txt --encoding ascii", "latin.txt must be ascii"),
    ("export damaged/in.keras out", "whole model of the class Model. Received: a file that is cut"),
    ("tflite damaged/in.keras out.tflite", "whole model of the class Elmo or Te"),
    ("plot mix . -o out.png", ". must be a *.keras file, or hold such files"),
    ("plot probe in.txt -o out.png", "must be what `keras-elmo probe --json` printed"),
    ("plot probe deep.json -o out.png", "must be what `keras-elmo probe --json` printed"),
    ("plot mix . -o out.pdf", ".png or .svg"),
    ("probe senses absent -m model", "directory: 'absent'"),
    ("plot word cat empty -m model -o out.png --field text", "must be a text file. Received: a f"),
    (
        "tag train train.conllu --field x -o new.keras",
        "without --field. Received: field, with the format conllu",
    ),
    ("tflite model model.txt", "must end with .tflite"),
    ("train -o new --resume", "There must be --train FILES, or --resume with the folder of a run"),
    ("train --train train-* -o new", "There must be --vocab FILE, or --init MODEL. Received: n"),
    (f"{TRAIN} train-* --num-negatives 20", "must be at most 11"),
    (f"{TRAIN} seed=1,dropout=0.1/steps=2", "directory: 'seed=1,dropout=0.1/steps=2'"),
    (f"{TRAIN} train-* --options sized.json", "22 words, and n_tokens_vocab=99"),
    ("vocabulary in.txt -o vocab.txt", "vocab.txt exists already; give --overwrite"),
]
LATE = [
    ("train --train train-* -o new --init tiny", "There must be a vocabulary: pass --vocab"),
    (f"{EMBED} -o out.npz -l 3", "a number from -3 to 2"),
    ("evaluate model heldout.txt", "There must be a vocabulary: pass --vocab"),
    ("evaluate model heldout.txt --vocab vocab.txt", "must have a trained softmax"),
    ("tag label in.txt -m model", "or `keras-elmo classify train` or `keras-elmo tag train`. R"),
    ("similar once in.txt -m model", "at least two occurrences. Received: 1 in this text"),
    ("embed in.txt -m bad-weights -o out.npz", "must be a whole HDF5 file"),
    ("plot cosines a blank -m model -o out.png", "a sentence without any"),
    ("plot cosines a b -m model -o out.png --text blank.txt", "--text must have tokens"),
]


@pytest.fixture(scope="module")
def inputs(corpus, small_folder, tmp_path_factory):
    """A folder with inputs, right ones and wrong ones, and a model, which no test changes."""
    folder = shutil.copytree(corpus, tmp_path_factory.mktemp("refusals") / "inputs")
    shutil.copytree(small_folder, folder / "model")
    for name in ("empty", "damaged", "bad-weights", "folder.h5"):
        (folder / name).mkdir()
    shutil.copy(folder / "model/options.json", folder / "bad-weights")
    options = json.loads((folder / "options.json").read_text())
    for name, content in {
        "in.txt": "the cat sat\na cat\nonce\n",
        "in.conll": "Ada B-PER\n",
        "in.tsv": "a\tx\n",
        "in.jsonl": '{"id": 7, "text": "the cat"}',
        "damaged/in.csv": "text,id\nthe cat,1\n",
        "damaged/in.keras": "no model",
        "blank.txt": "\n",
        "word.txt": "a\n",
        "latin.txt": b"caf\xe9\n",
        "old.npz": "old",
        "train.conllu": "1\tone\t_\tNUM" + "\t_" * 6 + "\n",
        "deep.json": "[" * 100_000,
        "sized.json": json.dumps({**options, "n_tokens_vocab": 99}),
        "damaged/checkpoint": 'model_checkpoint_path: "model.ckpt-1"\n',
        "bad-weights/weights.hdf5": "x",
    }.items():
        content = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(content)
    os.link(folder / "old.npz", folder / "link.npz")
    return folder


@pytest.fixture
def folder(inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    return inputs


def contents(folder):
    return {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}


@pytest.mark.parametrize("command, message", EARLY + LATE)
def test_it_is_one_line_and_leaves_no_file(folder, monkeypatch, capsys, command, message):
    if (command, message) in EARLY:
        monkeypatch.setattr(Elmo, "from_files", None)
        monkeypatch.setattr(BiLanguageModel, "from_pretrained", None)
        for kind in (TextClassifier, Tagger):  # which are loaded before the texts are read
            monkeypatch.setattr(kind, "from_pretrained", lambda _: None)
    before = contents(folder)
    arguments = [" " if argument == "blank" else argument for argument in command.split()]
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    *_, line = err.splitlines()  # what was read may be said above it
    has_steps = arguments[0] in ("classify", "plot", "probe", "tag")
    name = " ".join(arguments[: 2 if has_steps else 1])
    assert out == "" and line.startswith(f"keras-elmo {name}: error: ") and message in line
    assert contents(folder) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all files")
def test_unreadable_input_is_named(folder, capsys):
    (folder / "word.txt").chmod(0)
    assert main("embed word.txt -m model -o out.npz".split()) == 2
    assert "denied: 'word.txt'" in capsys.readouterr().err
    (folder / "word.txt").chmod(0o600)
