import ast
import contextlib
import gc
import logging
import pathlib
import subprocess
import sys

import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.traced_function import TracedFunction, without_trace_warnings

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


def plain_function(function):
    return tf.function(function, autograph=False)


@pytest.mark.parametrize(
    "make, context, is_warned",
    [
        (TracedFunction, contextlib.nullcontext, False),
        (plain_function, contextlib.nullcontext, True),  # else `TracedFunction` were not needed
        (plain_function, without_trace_warnings, False),  # where models are trained
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


def test_a_function_is_traced_once_for_a_signature():
    traces = []

    def double(x):
        traces.append(x.shape.as_list())
        return 2 * x

    traced = TracedFunction(double, input_signature=[tf.TensorSpec([None])])
    assert [traced(tf.ones(n)).shape[0] for n in (1, 2, 3)] == [1, 2, 3]
    assert traces == [[None]]


def test_models_have_no_plain_functions():
    """Those that are made once in a run, or for a file, may be."""
    allowed = {
        "traced_function.py",
        "export/exported_module.py",
        "tflite/graph.py",
        "training/training_step.py",
    }
    found = set()
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) == "tf.function":
                found.add(file.relative_to(PACKAGE).as_posix())
    assert found == allowed


SESSION = """
import logging
import numpy as np, tensorflow as tf
import keras_elmo
from keras_elmo.training.evaluation import evaluate

messages = []
handler = logging.Handler()
handler.emit = lambda record: messages.append(record.getMessage())
tf.get_logger().addHandler(handler)

config = keras_elmo.ElmoConfig(
    units=8, projection_dim=4, num_layers=1, filters=[(1, 4)], num_highway=0
)
vocabulary = ["<S>", "</S>", "<UNK>", "a", "b", "c"]
texts = [["a b c", "d"], ["a"], ["b c d e", "f", "g h"]]
for tokenizer in ["whitespace", "treebank", "space", "whitespace", "whitespace"]:
    elmo = keras_elmo.Elmo(config, tokenizer=tokenizer)
    model = keras_elmo.BiLanguageModel(config, vocabulary)
    bilm = keras_elmo.BiLM(units=8, projection_dim=4, num_layers=1)
    for n, sentences in enumerate([[""], *texts]):
        elmo(sentences)
        elmo.embed(sentences, token_budget=n + 1)
        elmo.from_character_ids(np.ones((n + 1, n + 2, 50), "int32"))
        model.score(sentences)
        model.top_words("a b c"[:n], k=n + 1)
        evaluate(model, [["a", "b"]] * (n + 1), batch_size=n + 1, unroll_steps=n + 2)
        bilm(np.ones((n + 1, n + 2, 4), "float32"))
for layers in (*range(-2, 2), "all", "average", "top", "elmo", "default", [0, "word_emb"]):
    elmo.embed(texts[2], layers=layers)
for n in range(2):
    elmo.trainable = n % 2 == 0  # graphs are made anew
    elmo(texts[0])
print(messages)
"""


@pytest.mark.slow
def test_a_long_session_shows_no_warning_of_traces():
    result = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr[-3000:]


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
