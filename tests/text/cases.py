"""Texts in all forms, and what they mean: for keras_elmo and keras-elmo-lite, and both commands."""

import numpy as np

# By a name: sentences, and their tokens by the tokenizer "whitespace", or the error. What they mean
# to other tokenizers is what keras_elmo says.
CASES = {
    "strings": (["The cat sat.", ""], [["The", "cat", "sat."], []]),
    "bytes": ([b"caf\xc3\xa9 \xff"], [["caf\u00e9", "\udcff"]]),
    "an iterator": (lambda: iter(["a b"]), [["a", "b"]]),
    "lists": ([["The", "cat."], ["Hello"], []], [["The", "cat."], ["Hello"], []]),
    "padded lists": ([["a", "", "b", "", b""], ["", ""], [" "]], [["a", "", "b"], [], [" "]]),
    "tuples": ((("a", "b"), ("c",)), [["a", "b"], ["c"]]),
    "arrays in a list": ([np.array(["a", "b"]), np.array("c d")], [["a", "b"], ["c", "d"]]),
    "a string in a list in a list": ([["the cat sat"]], ValueError),
    "whitespace in most tokens": ([["a b", "c d", "e"]], ValueError),
    "whitespace in half of the tokens": ([["a b", "c"]], [["a b", "c"]]),
    "whitespace in a token beside a string": (["x y", ["a\u2028b"]], [["x", "y"], ["a\u2028b"]]),
    "whitespace in the tokens of a later sentence": (
        [["a"]] * 256 + [["b c"]],
        [["a"]] * 256 + [["b c"]],
    ),
    "an array": (np.array(["a b", "c", ""]), [["a", "b"], ["c"], []]),
    "an array of one string": (np.array("a b"), [["a", "b"]]),
    "an array of objects": (np.array(["a b", b"c"], object), [["a", "b"], ["c"]]),
    "a column": (np.array([["a b"], ["c"]]), [["a", "b"], ["c"]]),
    "a padded array": (np.array([["The", "cat", ""], ["", "a", ""], ["", "", ""]]), ValueError),
    "an array of three axes": (np.array([[["a"]]]), ValueError),
    "one string": ("a text", TypeError),
    "a dict": ({"a": 1}, TypeError),
    "a missing text": ([None, "a"], TypeError),
    "a number in a list": ([["a", 1]], TypeError),
    "lists in a list in a list": ([[["a"]]], TypeError),
    "byte-order marks": (["\ufeffa \ufeff"], [["\ufeffa", "\ufeff"]]),
    "ends of lines": (["a\rb\r\nc\u2028d\x85e\n"], [["a", "b", "c", "d", "e"]]),
    "NUL": (["a\0b \0", ["\0"]], [["a\0b", "\0"], ["\0"]]),
    "half of a surrogate pair": (["a\ud83d. b", ["\ude00"]], [["a\ufffd.", "b"], ["\ufffd"]]),
    "bytes as surrogates": (["a\udcff. \ud800\udc80"], [["a\udcff.", "\ufffd\udc80"]]),
    "the bytes of a surrogate": ([b"a\xed\xa0\x80. b"], [["a\udced\udca0\udc80.", "b"]]),
}
# The bytes of a file, and its sentences for both commands.
FILE = (
    b"\xef\xbb\xbfThe cat.\n\n  \ra\rb\r\n\xef\xbb\xbfc\xe2\x80\xa8d\0e\x0cf\xc2\x85g\r\r\nno end",
    ["The cat.", "", "  \ra\rb", "\ufeffc\u2028d\0e\x0cf\x85g", "no end"],
)
