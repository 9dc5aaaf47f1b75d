import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from keras_elmo.tasks.examples import tokens_of

TEXTS = ["a good film", "", "caf\u00e9 \u00fc"]
TOKENS = [text.split() for text in TEXTS]
PADDED = [row + [""] * (4 - len(row)) for row in TOKENS]
FORMS = {
    "list": TEXTS,
    "bytes": [text.encode() for text in TEXTS],
    "array": np.array(TEXTS),
    "column": np.array(TEXTS)[:, None],
    "pandas": pd.Series(TEXTS, index=[3, 4, 9]),
    "tensor": tf.constant(TEXTS),
    "generator": (text for text in TEXTS),
    "tokens": TOKENS,
    "both": [TEXTS[0], TOKENS[1], TEXTS[2]],
    "ragged": tf.ragged.constant(TOKENS, dtype=tf.string),
    "padded": np.array(PADDED),
    "padded tensor": tf.constant(PADDED),
}


@pytest.mark.parametrize("form", FORMS)
def test_text_in_any_form_gives_the_same_tokens(shared_elmo, form):
    expected = [[word.encode() for word in row] for row in TOKENS]
    assert tokens_of(shared_elmo, FORMS[form]).to_list() == expected
