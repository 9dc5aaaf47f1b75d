import numpy as np
import tensorflow as tf

from keras_elmo import MaskedMean


def test_a_long_sentence_in_half_precision():
    for policy in ("mixed_float16", "mixed_bfloat16"):
        mean = MaskedMean(dtype=policy)(np.full((1, 5001, 2), 0.3, np.float32))
        np.testing.assert_allclose(tf.cast(mean, "float32"), 0.3, rtol=0.01)


def test_outputs_are_the_mean_of_the_real_tokens():
    x = np.random.normal(size=(3, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(MaskedMean()(x), x.mean(1), atol=1e-6)
    mask = np.array([[True] * 4, [True, False, True, False], [False] * 4])
    x[~mask] = np.nan  # masked values are not read
    result = MaskedMean()(x, mask=mask)
    np.testing.assert_allclose(result[0], x[0].mean(0), atol=1e-6)
    np.testing.assert_allclose(result[1], x[1, [0, 2]].mean(0), atol=1e-6)
    assert not np.any(result[2])
    assert getattr(result, "_keras_mask", None) is None
