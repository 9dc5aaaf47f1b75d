import os

from keras_elmo import Elmo
from keras_elmo.cli import token_embeddings
from keras_elmo.cli.main import main


def test_it_hands_over_the_vocabulary_and_the_file(tmp_path, small_folder, capsys, monkeypatch):
    calls = []

    def dump(elmo, vocabulary, path):
        calls.append((elmo.config.units, vocabulary, path))
        return 4

    monkeypatch.setattr(token_embeddings, "dump_token_embeddings", dump)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.txt").write_text("<S>\n</S>\n<UNK>\ncat\n")
    command = ["token-embeddings", "vocab.txt", "-o", "tokens.hdf5", "-m", str(small_folder)]
    assert main(command) == 0
    assert capsys.readouterr() == ("", "tokens.hdf5: 4 words\n")
    assert calls == [(24, "vocab.txt", "tokens.hdf5")]


def test_an_error_is_found_before_the_model_is_loaded(tmp_path, small_folder, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Elmo, "from_files", None)
    (tmp_path / "vocab.txt").write_text("cat\n")
    (tmp_path / "old.h5").write_text("old")
    for vocabulary, output, model, message in [
        ("vocab.txt", "a.txt", "tiny", "must be named *.hdf5 or *.h5. Received: --output a.txt"),
        ("vocab.txt", "old.h5", "tiny", "old.h5 exists already; give --overwrite"),
        ("nothing.txt", "a.h5", "tiny", "directory: 'nothing.txt'"),
        ("vocab.txt", "a.h5", "tyni", "There is no model 'tyni'"),
        ("vocab.txt", f"{small_folder}/a.h5", str(small_folder), "must not lie in the model's"),
    ]:
        assert main(["token-embeddings", vocabulary, "-o", output, "-m", model]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
    assert sorted(os.listdir()) == ["old.h5", "vocab.txt"]
