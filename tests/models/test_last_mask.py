import threading

from keras_elmo.models.last_mask import LastMask


def test_a_mask_is_taken_once_by_the_inputs_of_its_call():
    last, inputs = LastMask(), object()
    last.keep(inputs, "mask")
    assert last.take(object()) is None
    assert last.take(inputs) is None  # the first question used it up
    last.keep(inputs, "mask")
    found = []
    thread = threading.Thread(target=lambda: found.append(last.take(inputs)))
    thread.start()
    thread.join()
    assert found == [None] and last.take(inputs) == "mask"
