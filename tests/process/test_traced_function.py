import ast
import contextlib
import gc
import logging
import pathlib

import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.process.traced_function import TracedFunction, without_trace_warnings

PACKAGE = pathlib.Path(keras_elmo.__file__).parent
MANY = 12  # TensorFlow warns after five traces of one source


@pytest.fixture
def messages():
    """What TensorFlow logs."""
    handler, received = logging.Handler(), []
    handler.emit = lambda record: received.append(record.getMessage())
    tf.get_logger().addHandler(handler)
    yield received
    tf.get_logger().removeHandler(handler)


@pytest.mark.parametrize(
    "make, context, is_warned",
    [
        (TracedFunction, contextlib.nullcontext, False),
        (tf.function, contextlib.nullcontext, True),  # else `TracedFunction` were not needed
        (tf.function, without_trace_warnings, False),  # where models are trained
    ],
)
def test_many_models_of_one_source_cause_no_warning(messages, make, context, is_warned):
    def double(x):
        return 2 * x

    with context():
        for _ in range(MANY):
            assert make(double)(tf.constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    assert bool(messages) == is_warned
    assert not is_warned or "triggered tf.function retracing" in messages[0]


def test_models_have_no_plain_functions():
    """So a long session with many models shows no warning of traces."""
    made_once = {"export/exported_module.py", "tflite/graph.py"}
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "tf.function":
                found.add(file.relative_to(PACKAGE).as_posix())
    assert found == {"process/traced_function.py", *made_once}


@pytest.mark.parametrize("is_enabled", [True, False])
def test_no_garbage_is_collected_during_a_trace(is_enabled):
    def function(x):
        seen.append(gc.isenabled())
        if len(seen) > 1:
            raise ValueError("a fault")
        return x + 1

    traced, seen = TracedFunction(function), []
    (gc.enable if is_enabled else gc.disable)()
    try:
        assert traced(tf.constant(1)) == 2
        with pytest.raises(ValueError, match="a fault"):
            traced(tf.constant(1.0))
        assert (seen, gc.isenabled()) == ([False, False], is_enabled)
    finally:
        gc.enable()
