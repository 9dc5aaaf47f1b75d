import subprocess
import sys

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
    elmo(texts[0])
    elmo.embed(texts[2])
    elmo.from_character_ids(np.ones((1, 2, 50), "int32"))
    model = keras_elmo.BiLanguageModel(config, vocabulary)
    model.score(texts[0])
    model.top_words("a b", k=2)
    evaluate(model, [["a", "b"], ["c"]], batch_size=2, unroll_steps=3)
    bilm = keras_elmo.BiLM(units=8, projection_dim=4, num_layers=1)
    bilm(np.ones((2, 3, 4), "float32"))
for layers in (*range(-2, 2), "all", "average", "top", "elmo", "default", [0, "word_emb"]):
    elmo.embed(texts[2], layers=layers)
for n, sentences in enumerate([[""], *texts]):
    elmo(sentences)
    elmo.embed(sentences, token_budget=n + 1)
    elmo.from_character_ids(np.ones((n + 1, n + 2, 50), "int32"))
    model.score(sentences)
    model.top_words("a b c"[:n], k=n + 1)
    evaluate(model, [["a", "b"]] * (n + 1), batch_size=n + 1, unroll_steps=n + 2)
    bilm(np.ones((n + 1, n + 2, 4), "float32"))
for n in range(2):
    elmo.trainable = n % 2 == 0  # graphs are made anew
    elmo(texts[0])
print(messages)
"""


def test_a_long_session_shows_no_warning_of_traces():
    result = subprocess.run([sys.executable, "-c", SESSION], capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stdout + result.stderr[-3000:]
