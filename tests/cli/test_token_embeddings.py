from keras_elmo_cli import token_embeddings
from keras_elmo_cli.main import main


def test_it_hands_over_the_vocabulary_and_the_file(tmp_path, small_folder, capsys, monkeypatch):
    calls = []

    def dump(elmo, vocabulary, path):
        calls.append((elmo.config.units, vocabulary.words, path))
        return 4

    monkeypatch.setattr(token_embeddings, "dump_token_embeddings", dump)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vocab.txt").write_bytes(b"<S>\n</S>\n<UNK>\ncaf\xe9\n")
    command = ["token-embeddings", "vocab.txt", "-o", "tokens.hdf5", "-m", str(small_folder)]
    assert main([*command, "--encoding", "latin-1"]) == 0
    assert capsys.readouterr() == ("", "tokens.hdf5: 4 words\n")
    assert calls == [(24, ("<S>", "</S>", "<UNK>", "caf\xe9"), "tokens.hdf5")]
