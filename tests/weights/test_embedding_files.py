import json

import h5py
import numpy as np
import pytest

from keras_elmo import read_embeddings
from keras_elmo.weights.embedding_files import write_embeddings


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return [rng.random((3, k % 4, 6), dtype=np.float32) for k in range(112)]


@pytest.mark.parametrize("name", ["a.hdf5", "a.h5", "a.npz"])
def test_arrays_come_in_the_order_of_the_lines(tmp_path, arrays, name):
    path, index = tmp_path / name, [f"line {k}" for k in range(112)]
    arguments = [index] if name == "a.hdf5" else []  # with AllenNLP's index of the sentences
    assert write_embeddings(path, iter(arrays), *arguments) == (112, 28 * (0 + 1 + 2 + 3))
    with read_embeddings(path) as vectors:
        assert len(vectors) == 112
        for one, other in zip(vectors, arrays, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(vectors[np.int64(-1)], arrays[111])
        assert [array.shape for array in vectors[98:102]] == [a.shape for a in arrays[98:102]]
        with pytest.raises(IndexError):
            vectors[112]
        with pytest.raises(TypeError):
            vectors["10"]
    with pytest.raises(ValueError, match="closed"):
        vectors[0]
    vectors.close()
    assert write_embeddings(path, []) == (0, 0)
    assert list(read_embeddings(str(path))) == []


def test_sentences_are_stored_as_allennlp_does(tmp_path, arrays):
    path = tmp_path / "a.hdf5"
    write_embeddings(path, arrays[:2], ["one", "two"])
    with h5py.File(path) as file:
        assert json.loads(file["sentence_to_index"][0]) == {"one": "0", "two": "1"}
    with h5py.File(path, "w") as file:  # of AllenNLP's option `--use-sentence-keys`
        file["one"], file["two"] = arrays[:2]
    with pytest.raises(ValueError, match="a file with one, two"):
        read_embeddings(path)


@pytest.mark.parametrize("name", ["a.hdf5", "a.npz"])
def test_fields_that_are_kept_come_back(tmp_path, arrays, name):
    kept = {"id": [7, 2**70], "a/b": ["\0\xe9\ud800", None], "list": [[1.5, True], {"x": "y"}]}
    growing = {field: [] for field in kept}

    def grow():
        for k, array in enumerate(arrays[:2]):
            for field, values in growing.items():
                values.append(kept[field][k])
            yield array

    write_embeddings(tmp_path / name, grow(), kept=growing)
    with read_embeddings(tmp_path / name) as vectors:
        assert vectors.kept == kept and len(vectors) == len(list(vectors)) == 2
    with pytest.raises(ValueError, match="closed"):
        dict(vectors.kept)
    write_embeddings(tmp_path / name, arrays[:2])
    assert read_embeddings(tmp_path / name).kept == {}


def test_files_of_another_kind(tmp_path, arrays, small_folder):
    path = tmp_path / "a.hdf5"

    def refuse(message, path=path, error=ValueError):
        with pytest.raises(error, match=message):
            read_embeddings(path)

    refuse("small", small_folder, error=OSError)
    write_embeddings(path, arrays)
    path.write_bytes(path.read_bytes()[:5000])
    refuse("must be a whole HDF5 or npz file; it may be cut short")
    with h5py.File(path, "w") as file:  # sentences that are numbers
        file["0"] = file["4915112345678"] = file["9" * 5000] = arrays[3]
    refuse("a file with 4915112345678, 999")
    refuse("CNN, CNN_high_0, CNN_proj, RNN_0", small_folder / "weights.hdf5")
    with h5py.File(path, "w") as file:
        file["0/a"] = arrays[3]
        file["1"] = ["text"]
    with read_embeddings(path) as vectors:
        with pytest.raises(ValueError, match="line 0"):
            vectors[0]
        with pytest.raises(ValueError, match="for line 1 an array of dtype object"):
            vectors[1]
    path = tmp_path / "a.npz"
    write_embeddings(path, arrays)
    content = bytearray(path.read_bytes())
    start = content.rindex(b"PK\1\2", 0, content.rindex(b"PK\1\2"))  # the last entry but one
    content[start + 33] = 2  # its comment has 512 bytes: Python leaves out what follows
    path.write_bytes(content)
    refuse("entries must be readable", path)
