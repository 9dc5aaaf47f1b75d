"""One system in a process of its own: reads tasks as JSON lines, answers each with its seconds.

The systems do not bear one another in one process (two set TensorFlow up differently), and a
process of its own gives each its own memory and start. The parent alternates between them.
"""

import functools
import json
import os
import re
import resource
import sys
import time

STARTED = time.perf_counter()


class KerasElmo:
    """This package."""

    def __init__(self, model, **kwargs):
        import keras_elmo

        self.imported = time.perf_counter()
        self.model = model
        self.elmo = keras_elmo.Elmo.from_pretrained(model, **kwargs)

    def version(self):
        import keras
        import tensorflow as tf

        import keras_elmo

        versions = f"tensorflow {tf.__version__}, keras {keras.__version__}"
        return f"keras_elmo {keras_elmo.__version__} ({versions})"

    def call(self, sentences):
        self.elmo(sentences)["elmo"].numpy()

    def embed(self, sentences, **kwargs):
        self.elmo.embed(sentences, **kwargs)

    def exported(self, cases, repeats):
        """Seconds of the model and of its SavedModel, in turn, for each batch; medians."""
        import tempfile

        import tensorflow as tf

        import keras_elmo

        with tempfile.TemporaryDirectory() as folder:
            keras_elmo.export_saved_model(self.elmo, os.path.join(folder, "1"))
            served = tf.saved_model.load(os.path.join(folder, "1")).signatures["default"]
        seconds = []
        for batch in cases:
            batch = tf.constant(batch)
            tasks = (lambda: self.elmo(batch), lambda: served(batch))  # noqa: B023
            times = [[_median(task, 1) for task in tasks] for _ in range(repeats + 1)][1:]
            seconds.append([sorted(column)[repeats // 2] for column in zip(*times, strict=True)])
        return seconds

    def cast(self, dtypes, sentences):
        """Continues with other dtypes, and compares the vectors with those before."""
        import numpy as np

        import keras_elmo
        from benchmarks import measure

        expected = np.concatenate(self.elmo.embed(sentences, layers="all"), axis=1)
        self.elmo = keras_elmo.Elmo.from_pretrained(self.model, **dtypes)
        values = np.concatenate(self.elmo.embed(sentences, layers="all"), axis=1)
        cosines = [measure.least_cosine(*pair) for pair in zip(expected, values, strict=True)]
        error = np.abs(values - expected).max(axis=(1, 2)) / expected.std(axis=(1, 2))
        return {"cosine": cosines, "error": float(error.max())}

    def stages(self, sentences):
        """Seconds of each stage of one batch."""
        import tensorflow as tf

        from keras_elmo import text

        elmo, seconds = self.elmo, {}
        tokenize = tf.function(elmo.tokenizer.tokenize)
        strings = text.strings(sentences)
        tokens = tokenize(strings)
        words, index = tf.unique(tokens.flat_values)
        ids = tf.function(elmo.token_encoder.scheme.ids)
        encode = elmo.token_encoder.from_words
        embeddings, lengths = encode(words), tokens.row_lengths()
        mask = tf.sequence_mask(lengths)
        layers = [tf.gather(tf.concat([embeddings] * 2, -1), index)] * 3
        layers = [tf.RaggedTensor.from_row_lengths(x, lengths).to_tensor() for x in layers]
        mix = tf.function(lambda *layers: elmo.mixes[0](list(layers), mask=mask))
        tasks = {
            "tokenize": lambda: tokenize(strings),
            "character ids": lambda: ids(words),
            "character ids and encoder": lambda: encode(words),
            "biLM": lambda: elmo.layers_of_tokens(embeddings, index, lengths),
            "mix": lambda: mix(*layers),
        }
        for name, task in tasks.items():
            task()
            seconds[name] = _median(task)
        return seconds

    def peak(self):
        """GFLOP/s of a large float32 matrix product."""
        import tensorflow as tf

        a, b = tf.random.normal((4096, 1024)), tf.random.normal((1024, 16384))
        product = tf.function(tf.matmul)
        product(a, b)
        return 2 * 4096 * 1024 * 16384 / _median(lambda: product(a, b)) / 1e9


class KerasElmoLite:
    """keras_elmo_lite; its model is a TFLite file."""

    def __init__(self, model):
        from keras_elmo_lite import Elmo

        self.imported = time.perf_counter()
        self.elmo = Elmo(model)

    def version(self):
        import keras_elmo_lite

        return f"keras_elmo_lite {keras_elmo_lite.__version__}"

    def embed(self, sentences):
        self.elmo.embed(sentences)

    call = embed


class SimpleElmo:
    """simple_elmo (needs tf-keras)."""

    def __init__(self, model):
        os.environ["TF_USE_LEGACY_KERAS"] = "1"
        from simple_elmo import ElmoModel

        self.imported = time.perf_counter()
        import tensorflow as tf
        from simple_elmo.elmo import weight_layers

        self.elmo = ElmoModel()
        self.elmo.load(model, max_batch_size=32)
        # One session for all calls: left to itself it sets all variables anew at each.
        self.elmo.elmo_sentence_input = weight_layers(
            "input", self.elmo.sentence_embeddings_op, use_layers="average"
        )
        self.session = tf.compat.v1.Session()
        self.session.run(tf.compat.v1.global_variables_initializer())

    def version(self):
        import importlib.metadata

        return f"simple_elmo {importlib.metadata.version('simple_elmo')}"

    def call(self, sentences):
        tokens = [sentence.split() for sentence in sentences]
        self.elmo.get_elmo_vectors(tokens, warmup=False, session=self.session)

    embed = call


class AllenNLP:
    """AllenNLP (needs Python 3.9)."""

    def __init__(self, model):
        from allennlp.modules import elmo

        self.imported = time.perf_counter()
        files = (os.path.join(model, name) for name in ("options.json", "weights.hdf5"))
        self.elmo = elmo.Elmo(*files, num_output_representations=1, dropout=0).eval()
        self.to_ids = elmo.batch_to_ids

    def version(self):
        import importlib.metadata

        import torch

        return f"AllenNLP {importlib.metadata.version('allennlp')} (torch {torch.__version__})"

    def call(self, sentences):
        import torch

        with torch.no_grad():
            ids = self.to_ids([sentence.split() for sentence in sentences])
            self.elmo(ids)["elmo_representations"][0].numpy()

    def embed(self, sentences):
        ordered = sorted(sentences, key=lambda sentence: len(sentence.split()))
        for start in range(0, len(ordered), 32):
            self.call(ordered[start : start + 32])


SYSTEMS = {
    "keras_elmo": KerasElmo,
    "keras_elmo, products in bfloat16": functools.partial(KerasElmo, matmul_dtype="bfloat16"),
    "keras_elmo_lite, int8": KerasElmoLite,
    "simple_elmo": SimpleElmo,
    "AllenNLP": AllenNLP,
}


def _median(task, repeats=5):
    from benchmarks.measure import seconds_of

    return sorted(seconds_of(task, repeats))[repeats // 2]


def _memory():
    """Peak memory of this process so far, in bytes."""
    try:
        # What `getrusage` says holds the memory of the process that started this one.
        with open("/proc/self/status", encoding="utf-8") as file:
            return 1024 * int(re.search(r"^VmHWM:\s*(\d+) kB", file.read(), re.M)[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else 1024 * peak


def main(system, model):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print does not mix with the answers
    worker = SYSTEMS[system](model)
    ready = time.perf_counter()
    answer = {
        "import": worker.imported - STARTED,
        "load": ready - worker.imported,
        "memory": _memory(),
        "version": worker.version(),
    }
    while True:
        print(json.dumps(answer), file=answers, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        task = json.loads(line)
        start = time.perf_counter()
        value = getattr(worker, task["do"])(*task.get("args", ()), **task.get("kwargs", {}))
        seconds = time.perf_counter() - start
        answer = {"seconds": seconds, "value": value, "memory": _memory()}


if __name__ == "__main__":
    main(*sys.argv[1:])
