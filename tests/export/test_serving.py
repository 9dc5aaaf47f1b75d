import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.export.serving import warmup_inputs, write_warmup

RAGGED = [["a", "b"], ["c"]]


def test_texts_of_a_warm_up():
    for texts in ["a b", "c"], np.array([["a b"], ["c"]]):
        assert warmup_inputs(texts, False)["text"].numpy().tolist() == [b"a b", b"c"]
    for tokens in RAGGED, np.array([["a", "b"], ["c", ""]]):
        assert warmup_inputs(tokens, True)["tokens"].numpy().tolist() == [[b"a", b"b"], [b"c", b""]]
    for texts, takes_only_tokens in (RAGGED, False), (["a b"], True):
        with pytest.raises(ValueError, match="`warmup_texts`"):
            warmup_inputs(texts, takes_only_tokens)


def test_warm_up_requests(tmp_path):
    log = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    write_warmup(tmp_path, warmup_inputs("a b", takes_only_tokens=False))
    (record,) = tf.data.TFRecordDataset(f"{tmp_path}/assets.extra/tf_serving_warmup_requests")
    request = log.PredictionLog.FromString(record.numpy()).predict_log.request
    assert request.model_spec.signature_name == "serving_default"
    assert tf.make_ndarray(request.inputs["text"]).tolist() == [b"a b"]
