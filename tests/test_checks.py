import functools
import math
import sys

import keras
import numpy as np
import pytest

from keras_elmo import Elmo, ElmoConfig, checks
from keras_elmo.analysis import plot, probing
from keras_elmo.corpora import VectorDataset, embed_files
from keras_elmo.export.serving import write_warmup


@pytest.mark.parametrize(
    "value, expected",
    [
        ("a\nb", "'a\\nb'"),
        ("x" * 58, "'" + "x" * 58 + "'"),
        ("x" * 9_998, "'" + "x" * 59 + "... (10,000 characters)"),
        (10**5000, "int, too large to show"),
        (functools.reduce(lambda value, _: [value], range(100_000), []), "list, too large to show"),
    ],
    ids=["string", "just short enough", "long", "integer", "deep"],
)
def test_values_are_shown_short(value, expected):
    assert checks.short_repr(value) == expected


def test_first_names_are_listed_in_their_order():
    assert checks.join_names({"b", "a"}) == "a, b" and checks.join_names([]) == ""
    many = checks.join_names([f"n{k:04}" for k in range(2008)])
    assert many.endswith("n0006, n0007 and 2,000 more")
    shown = checks.join_names(["a\x1b[0m", "\ud800", "x" * 99])
    assert shown == f"a\\x1b[0m, {'x' * 60}..., \\ud800"


def test_first_faults_are_listed_a_line_each():
    assert checks.first_lines(["b", "a"]) == "b\n  a"
    *_, eighth, more = checks.first_lines([f"f{k}" for k in range(2008)]).splitlines()
    assert (eighth, more) == ("  f7", "  and 2,000 more")
    assert checks.first_lines(["a\n\x1b[0m", "x" * 999]) == f"a\\n\\x1b[0m\n  {'x' * 300}..."


@pytest.mark.parametrize(
    "check, right, wrong",
    [
        (checks.is_integer, [0, -3, np.int32(5), np.uint8(1)], [True, np.bool_(1), "1", None, 1.0]),
        (checks.is_number, [0, np.uint8(1), 1.0, np.float32(0.5), math.inf], [True, "1", None, 1j]),
        (checks.is_clip, [None, 3, 0.5, np.float32(2)], [0, -3, math.inf, math.nan, True, "3"]),
        (
            checks.are_filters,
            [[(1, 32)], ([1, 32], [2, 64]), ((np.int64(1), 4),)],
            [[], None, "12", [1, 2], [(1,)], [(1, 2, 3)], [(0, 4)], [(1, -4)], [(1, 4.0)]],
        ),
    ],
)
def test_what_a_value_is(check, right, wrong):
    assert [value for value in right if not check(value)] == []
    assert [value for value in wrong if check(value)] == []


def test_first_wrong_value_is_named():
    with pytest.raises(ValueError, match="`b` must be an integer of at least 1. Received: b=0$"):
        checks.check_integers(1, a=1, b=0, c=-1)
    checks.check_choice(("x", None), a=None, b="x")
    with pytest.raises(ValueError, match=r"`b` must be one of \['x', None\]. Received: b='y'"):
        checks.check_choice(("x", None), a="x", b="y")
    checks.check_clips(a=None, b=0.5)
    with pytest.raises(ValueError, match="`b` must be a positive number, .*Received: b=-3"):
        checks.check_clips(a=None, b=-3, c=0)


@pytest.mark.parametrize(
    "module, call",
    [
        ("matplotlib", lambda: plot.plot_mix({"a": [1.0]})),
        ("sklearn", lambda: probing.probe_tags(None, 1, 2)),
        ("sklearn", lambda: probing.probe_senses(None, "")),
        ("pyarrow.parquet", lambda: embed_files(None, "", "")),
        ("pyarrow.parquet", lambda: VectorDataset(".")),
        ("tensorflow_serving.apis", lambda: write_warmup("", {})),
        ("huggingface_hub", lambda: Elmo.from_pretrained("hf://user/model")),
        ("huggingface_hub", lambda: Elmo(ElmoConfig(2, 2)).push_to_hub("user/model")),
    ],
)
def test_a_library_that_is_missing_is_named(module, call, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r'is needed: pip install "keras-elmo\['):
        call()


def test_floats_stand_for_a_shape_only_while_keras_calls_on_shapes():
    inputs = [keras.Input((2,), dtype=dtype) for dtype in ("float32", "float16", "int32", "string")]
    seen = []

    class Seen(keras.layers.Layer):
        def call(self, tensors):
            seen.append([checks.stands_for_a_shape(tensor) for tensor in tensors])
            return tensors[0]

    Seen(autocast=False)(inputs)
    assert seen == [[True, True, False, False]]
    assert not any(map(checks.stands_for_a_shape, inputs))
