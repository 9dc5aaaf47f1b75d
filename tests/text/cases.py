"""Text in all forms, and what it means: for every entrance of keras_elmo and of keras-elmo-lite."""

import numpy as np
import pandas as pd
import pyarrow as pa
import tensorflow as tf

LATE = [["a"]] * 256 + [["b c"]]
SPLIT, WHOLE = [["a", "b"], ["\u00e9"]], [["a b"], ["\u00e9"]]
RAW, PADDED = np.array(["a b", "\u00e9"]), np.array([["a", "b"], ["\u00e9", ""]])
SPLIT_BEFORE = {
    "lists of tokens": SPLIT,
    "tuples": (("a", "b"), (b"\xc3\xa9",)),
    "arrays in a list": [np.array(row) for row in SPLIT],
    "an array of lists": np.array(SPLIT, object),
    "pandas, lists": pd.Series(SPLIT, index=[7, 3]),
    "pandas, Arrow lists": pd.Series(SPLIT, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    "Arrow lists": pa.array(SPLIT),
    "ragged": tf.ragged.constant(SPLIT),
    "padded lists": [["a", "b", "", b""], ["\u00e9", ""]],
}
NOT_SPLIT = {
    "a list": RAW.tolist(),
    "bytes and NumPy's strings": [b"a b", np.str_("\u00e9")],
    "an iterator": lambda: iter(RAW.tolist()),
    "arrays of one string": [np.array("a b"), tf.constant("\u00e9")],
    "an array": RAW,
    "an array of objects": np.array(["a b", "\u00e9".encode()], object),
    "a tensor": tf.constant(RAW),
    "pandas": pd.Series(RAW, index=[7, 3]),
    "pandas, Arrow": pd.Series(RAW, dtype=pd.ArrowDtype(pa.string())),
    "pandas, categories": pd.Series(RAW, dtype="category"),
    "Arrow": pa.array(RAW),
    "Arrow in chunks": pa.chunked_array([RAW[:1], RAW[1:]]),
    "Arrow, a dictionary": pa.array(RAW).dictionary_encode(),
}
if hasattr(getattr(np, "dtypes", None), "StringDType"):
    NOT_SPLIT["NumPy 2"] = RAW.astype(np.dtypes.StringDType())
COLUMNS = {
    "a column": RAW[:, None],
    "a column in a tensor": tf.constant(RAW[:, None]),
    "pandas, a column": pd.DataFrame({"text": RAW}),
    "Arrow, a column": pa.table({"text": RAW}),
}
WITH_COLUMNS = {
    "a padded array": PADDED,
    "a padded array of strides": PADDED[::-1][::-1],
    "a padded tensor": tf.constant(PADDED),
    "pandas, two columns": pd.DataFrame(PADDED),
}
# By a name: the text; its tokens, by the tokenizer "whitespace", or the error; and those without a
# tokenizer. What the text means to other tokenizers is what keras_elmo says.
CASES = {
    **{name: (texts, SPLIT, SPLIT) for name, texts in SPLIT_BEFORE.items()},
    **{name: (texts, SPLIT, ValueError) for name, texts in NOT_SPLIT.items()},
    **{name: (texts, SPLIT, WHOLE) for name, texts in COLUMNS.items()},
    **{name: (texts, ValueError, SPLIT) for name, texts in WITH_COLUMNS.items()},
    "one string": ("a b", SPLIT[:1], ValueError),
    "an array without axes": (np.array(b"a b"), SPLIT[:1], ValueError),
    "a tensor without axes": (tf.constant("a b"), SPLIT[:1], ValueError),
    "no text": ([], [], []),
    "empty texts": (["", "c"], [[], ["c"]], ValueError),
    "empty lists": ([[], ["a"], ["", ""]], [[], ["a"], []], [[], ["a"], []]),
    "empty tokens": ([["a", "", "b"], [" "]], [["a", "", "b"], [" "]], [["a", "", "b"], [" "]]),
    "raw strings and lists": (["a b", ["c"]], [["a", "b"], ["c"]], ValueError),
    "whitespace in all tokens": ([["the cat sat"]], ValueError, [["the cat sat"]]),
    "whitespace in most tokens": ([["a b", "c d", "e"]], ValueError, [["a b", "c d", "e"]]),
    "whitespace in half of the tokens": ([["a b", "c"]], [["a b", "c"]], [["a b", "c"]]),
    "whitespace in ragged tokens": (tf.ragged.constant([["a b"]]), [["a b"]], [["a b"]]),
    "whitespace beside a string": (["x y", ["a\u2028b"]], [["x", "y"], ["a\u2028b"]], ValueError),
    "whitespace in a later sentence": (LATE, LATE, LATE),
    "an array of three axes": (np.array([[["a"]]]), ValueError, ValueError),
    "a tensor of three axes": (tf.constant([[["a"]]]), ValueError, ValueError),
    "an array of numbers": (np.array([1, 2]), TypeError, TypeError),
    "a dict": ({"a": 1}, TypeError, TypeError),
    "no object of text": (3, TypeError, TypeError),
    "a missing text": ([None, "a"], TypeError, TypeError),
    "a missing text in Arrow": (pa.array([None, "a"]), TypeError, TypeError),
    "a number in a list": ([["a", 1]], TypeError, TypeError),
    "lists in a list in a list": ([[["a"]]], TypeError, TypeError),
    "byte-order marks": (["\ufeffa \ufeff"], [["\ufeffa", "\ufeff"]], ValueError),
    "ends of lines": (["a\rb\r\nc\u2028d\x85e\n"], [["a", "b", "c", "d", "e"]], ValueError),
    "NUL": (["a\0b \0", ["\0"]], [["a\0b", "\0"], ["\0"]], ValueError),
    "lone surrogates": (["a\ud83d. b", ["\ude00"]], [["a\ufffd.", "b"], ["\ufffd"]], ValueError),
    "bytes as surrogates": (["a\udcff. \ud800\udc80"], [["a\udcff.", "\ufffd\udc80"]], ValueError),
    "bytes of a surrogate": ([b"a\xed\xa0\x80. b"], [["a\udced\udca0\udc80.", "b"]], ValueError),
}
# The bytes of a file, and its sentences for both commands.
FILE = (
    b"\xef\xbb\xbfThe cat.\n\n  \ra\rb\r\n\xef\xbb\xbfc\xe2\x80\xa8d\0e\x0cf\xc2\x85g\r\r\nno end",
    ["The cat.", "", "  ", "a", "b", "\ufeffc\u2028d\0e\x0cf\x85g", "no end"],
)


def text_of(case):
    """The text of a case: an iterator is made anew each time."""
    texts = CASES[case][0]
    return texts() if callable(texts) else texts


def outcome(entrance, texts):
    """The tokens that an entrance reads, or the class of its error."""
    try:
        return entrance(texts)
    except (ValueError, TypeError) as error:
        assert "Received: " in str(error)
        return type(error)
