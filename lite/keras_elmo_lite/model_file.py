"""`ModelFile`: a TFLite file of keras_elmo, opened."""

import json
import mmap
import os
import threading

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from keras_elmo_lite.words import scheme_of, tokenize

_METADATA_NAME, _FORMAT = "keras_elmo", 2
_WORDS_PER_CALL = 32  # bounds the memory that the convolutions take


class ModelFile:
    """A file of `keras-elmo tflite`: words to token embeddings, and these to layers.

    Args:
        path: of the file.
        num_threads: int, or `None` for all processors.

    Attributes:
        tokenizer: string, the name of the model's tokenizer, or `None`.
        num_layers: int. LSTM layers.
        projection_dim: int.
        mixes: list of dicts, the learned mixes; `None` in files without the signatures below.
        is_whole: bool. Whether the file has the signature for sentences alone, and not those for
            words and steps.

    Raises:
        ValueError: it is not such a file, or not whole, or of a later version; or there would be
            no thread.
        OSError: it cannot be opened.
    """

    def __init__(self, path, num_threads=None):
        self.path = os.fspath(path)
        if num_threads is not None and num_threads < 1:
            raise ValueError(
                f"`num_threads` must be at least 1, or None. Received: num_threads={num_threads}"
            )
        metadata = _read_metadata(self.path)
        # Files of keras_elmo 0.1.0 have no format, and one signature.
        signatures = metadata.get("signatures") or {metadata["signature"]: metadata}
        self.tokenizer, self.mixes = metadata["tokenizer"], metadata.get("mixes")
        lstm = metadata["options"]["lstm"]
        self.num_layers, self.projection_dim = lstm["n_layers"], lstm["projection_dim"]
        self._scheme = scheme_of(metadata["options"])
        self._lock = threading.Lock()  # the interpreter runs one call at a time
        try:
            interpreter = Interpreter(self.path, num_threads=num_threads or os.cpu_count())
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{_rule(self.path)}It cannot be read: {error}") from None
        self._runners = {name: interpreter.get_signature_runner(name) for name in signatures}
        self.is_whole = "steps" not in signatures
        if self.is_whole:
            ((self._input, tensor),) = signatures["serving_default"]["inputs"].items()
            self.max_tokens = tensor["shape"][1] if self._input == "character_ids" else None
        else:
            size = signatures["steps"]["inputs"]["state"]["shape"][1]
            begin, end = self.embed_words(self._scheme.boundaries())[:, None, None]
            _, self.start = self.run_steps(begin, end, np.zeros((1, size), np.float32))

    def _run(self, signature, **inputs):
        with self._lock:
            return self._runners[signature](**inputs)

    def words_to_ids(self, words):
        """Words, a list of bytes, to character ids, int32 (words, ids_per_token)."""
        return self._scheme.ids(words)

    def embed_words(self, character_ids):
        """Character ids to token embeddings: float32, (words, projection_dim)."""
        parts = [
            self._run("words", character_ids=character_ids[k : k + _WORDS_PER_CALL])
            for k in range(0, len(character_ids), _WORDS_PER_CALL)
        ]
        nothing = np.zeros((0, self.projection_dim), np.float32)
        return np.concatenate([nothing, *(part["token_embeddings"] for part in parts)])

    def run_steps(self, forward, backward, state):
        """The LSTM layers of the next tokens.

        Args:
            forward: float32, (batch, tokens, projection_dim), as the forward direction reads them.
            backward: the same for the backward direction.
            state: float32, (batch, size).

        Returns:
            A list of `num_layers` floats, (batch, tokens, 2 * projection_dim), each direction in
            its own order; and the next state.
        """
        outputs = self._run("steps", forward=forward, backward=backward, state=state)
        layers = [outputs[f"lstm_outputs{k}"] for k in range(1, self.num_layers + 1)]
        return layers, outputs["state"]

    def run_whole(self, tokens):
        """A sentence by the signature for sentences, as files of keras_elmo 0.1.0 have it.

        Args:
            tokens: list of bytes.

        Returns:
            A dict of the outputs, float32, (tokens, D).
        """
        if self._input == "text":
            if any(tokenize(token, "whitespace") != [token] for token in tokens):
                raise ValueError(
                    f"{self.path} splits text itself, so a token must not be empty or hold "
                    "whitespace. Write the file anew with `keras-elmo tflite`"
                )
            inputs = np.frombuffer(b" ".join(tokens) or b" ", np.uint8)[None]
        else:
            width = self.max_tokens or max(1, len(tokens))
            if len(tokens) > width:
                raise ValueError(
                    f"{self.path} takes sentences of at most {width} tokens. "
                    f"Received: {len(tokens):,} tokens"
                )
            inputs = np.zeros((1, width, self._scheme.ids_per_token), np.int32)
            inputs[0, : len(tokens)] = self._scheme.ids(tokens)
        outputs = self._run("serving_default", **{self._input: inputs})
        return {name: x[0, : len(tokens)] for name, x in outputs.items() if x.ndim == 3}


def _rule(path):
    return f"{path} must be a whole TFLite file that keras_elmo wrote. "


def _read_metadata(path):
    rule = _rule(path)
    with open(path, "rb") as file:
        head = file.read(8)
        if head[4:] != b"TFL3":
            raise ValueError(f"{rule}Received: a file that begins with {head!r}")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        model = schema.Model.GetRootAs(data)
        entries = [model.Metadata(index) for index in range(model.MetadataLength())]
        names = {entry.Name().decode(): entry.Buffer() for entry in entries}
        # Each buffer is looked at: those of a file that was cut off go beyond its end.
        buffers = [model.Buffers(k).DataAsNumpy() for k in range(model.BuffersLength())]
        metadata = _METADATA_NAME in names and json.loads(bytes(buffers[names[_METADATA_NAME]]))
    except Exception as error:  # flatbuffers raises any kind, if a file is cut short
        raise ValueError(f"{rule}It cannot be read: {error}") from None
    if not metadata:
        raise ValueError(f"{rule}Received: a file without the metadata {_METADATA_NAME!r}")
    if metadata.get("format", 0) > _FORMAT:
        raise ValueError(
            f"{path} is of a later version, keras_elmo {metadata['keras_elmo']}: "
            "pip install --upgrade keras-elmo-lite"
        )
    return metadata
