"""`ModelFile`: a TFLite file of keras_elmo, opened."""

import json
import mmap
import os
import threading
import zlib

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from keras_elmo_lite.words import scheme_of

_METADATA_NAME, _FORMAT = "keras_elmo", 1
_WHOLE = 0x2144DF1C  # the CRC-32 of any bytes with their own CRC-32 at the end
_CORE = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"  # Linux's
_WORDS_PER_CALL = 32  # bounds the memory that the convolutions take


class ModelFile:
    """A file of `keras-elmo tflite`: words to token embeddings, and these to layers.

    Args:
        path: of the file.
        num_threads: int, or `None` for all physical cores.

    Attributes:
        tokenizer: string, the name of the model's tokenizer, or `None`.
        num_layers: int. LSTM layers.
        projection_dim: int.
        mixes: list of dicts, the learned mixes.
        task: dict of what a classifier or tagger needs, or `None`, as the metadata has it.

    Raises:
        ValueError: it is not such a file, or damaged, or of a later version, or its shapes are
            fixed; or there would be no thread.
        FileNotFoundError: there is no such file.
    """

    def __init__(self, path, num_threads=None):
        self.path = os.fspath(path)
        if num_threads is not None and num_threads < 1:
            raise ValueError(
                f"`num_threads` must be at least 1, or None. Received: num_threads={num_threads}"
            )
        metadata = _read_metadata(self.path)
        signatures = metadata["signatures"]
        if "steps" not in signatures:
            raise ValueError(
                f"{self.path} must have the signatures words and steps: write it without "
                f"`max_tokens`. Received: {', '.join(signatures)}"
            )
        self.tokenizer, self.mixes = metadata["tokenizer"], metadata["mixes"]
        self.task = metadata["task"]
        lstm = metadata["options"]["lstm"]
        self.num_layers, self.projection_dim = lstm["n_layers"], lstm["projection_dim"]
        self._scheme = scheme_of(metadata["options"])
        self._lock = threading.Lock()  # the interpreter runs one call at a time
        interpreter = Interpreter(self.path, num_threads=num_threads or _count_cores())
        self._runners = {name: interpreter.get_signature_runner(name) for name in signatures}
        size = signatures["steps"]["inputs"]["state"]["shape"][1]
        begin, end = self._embed_ids(self._scheme.boundaries())[:, None, None]
        _, self.start = self.run_steps(begin, end, np.zeros((1, size), np.float32))

    def run(self, signature, **inputs):
        """The outputs of a signature, a dict of arrays."""
        with self._lock:
            return self._runners[signature](**inputs)

    def embed_words(self, words):
        """Words, a list of bytes, to token embeddings: float32, (words, projection_dim)."""
        return self._embed_ids(self._scheme.ids(words))

    def _embed_ids(self, character_ids):
        parts = [
            self.run("words", character_ids=character_ids[k : k + _WORDS_PER_CALL])
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
        outputs = self.run("steps", forward=forward, backward=backward, state=state)
        layers = [outputs[f"lstm_outputs{k}"] for k in range(1, self.num_layers + 1)]
        return layers, outputs["state"]


def _count_cores():
    """The physical cores of this process. Where the system does not tell, all its processors."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count()
    cores = set()
    for processor in os.sched_getaffinity(0):
        try:
            with open(_CORE.format(processor), encoding="ascii") as file:
                cores.add(file.read())  # the list of the core's processors
        except OSError:
            cores.add(processor)
    return len(cores)


def _read_metadata(path):
    if not os.path.isfile(path):
        raise FileNotFoundError(
            "The model must be a file that `keras-elmo tflite MODEL FILE.tflite` wrote. "
            f"Received: {path!r}, which is not a file"
        )
    rule = f"{path} must be a whole TFLite file that keras_elmo wrote. Received: a file "
    with open(path, "rb") as file:
        head = file.read(8)
        if head[4:] != b"TFL3":
            raise ValueError(f"{rule}that begins with {head!r}")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if zlib.crc32(data) != _WHOLE:
                raise ValueError(f"{rule}without the right checksum. Copy it, or write it, again")
            metadata = json.loads(_description(data))
    if metadata["format"] > _FORMAT:
        raise ValueError(
            f"{path} is of a later version, keras_elmo {metadata['keras_elmo']}: "
            "pip install --upgrade keras-elmo-lite"
        )
    return metadata


def _description(data):
    """The bytes of the metadata in those of a TFLite file, of which nothing is kept."""
    model = schema.Model.GetRootAs(data)
    entries = [model.Metadata(index) for index in range(model.MetadataLength())]
    (buffer,) = (entry.Buffer() for entry in entries if entry.Name().decode() == _METADATA_NAME)
    return bytes(model.Buffers(buffer).DataAsNumpy())
