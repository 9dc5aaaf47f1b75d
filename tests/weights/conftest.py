import pytest
from weights.parts import TINY, Parts


@pytest.fixture(scope="session")
def tiny():
    return Parts(TINY)


@pytest.fixture(scope="session")
def other_weights(tiny, tmp_path_factory):
    """The arrays of another model of the same shape, and its file."""
    path = tmp_path_factory.mktemp("other") / "weights.hdf5"
    tiny.randomize(seed=1)
    tiny.save(path)
    return tiny.arrays(), path.read_bytes()


@pytest.fixture
def parts(tiny):
    """The same model, with other weights."""
    tiny.randomize(seed=0)
    return tiny


@pytest.fixture
def new(other_weights):
    return other_weights[0]


@pytest.fixture
def file(tmp_path, other_weights):
    """A whole file, with other weights than those of `parts`."""
    path = tmp_path / "weights.hdf5"
    path.write_bytes(other_weights[1])
    return path
