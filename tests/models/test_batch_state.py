import numpy as np

from keras_elmo.models.batch_state import BatchState


def test_rows_are_kept_until_they_are_written_again():
    state = BatchState([2, 3], "float32")
    assert [x.numpy().tolist() for x in state.read(1)] == [[[0, 0]], [[0, 0, 0]]]
    state.write([np.full((3, 2), 1.0, np.float32), np.full((3, 3), 2.0, np.float32)])
    state.write([np.full((1, 2), 5.0, np.float32), np.full((1, 3), 6.0, np.float32)])
    first, second = (x.numpy() for x in state.read(4))
    assert first[:, 0].tolist() == [5, 1, 1, 0]  # the last row was never written
    assert second[:, 2].tolist() == [6, 2, 2, 0]
    assert [x.shape for x in state.read(2)] == [(2, 2), (2, 3)]
    state.reset()
    assert not any(x.numpy().any() for x in state.read(3))
