"""What people would take in the place of ELMo: GloVe and MiniLM. They are not in the repository."""

import importlib.util
import time

import numpy as np

from benchmarks import report

GLOVE = report.SHARED / "peers/glove/glove-6b-50d-60000.npz"
MINILM = report.SHARED / "peers/minilm"
GLOVE_NAME = "GloVe (50 numbers)"


def has_minilm():
    """Whether its files are there, and what runs it: onnxruntime and tokenizers."""
    needed = ("onnxruntime", "tokenizers")
    return MINILM.exists() and all(map(importlib.util.find_spec, needed))


def glove():
    """The row of each word, and the vectors, the last for other words."""
    data = np.load(GLOVE, allow_pickle=False)
    words, vectors = data["words"].tolist(), data["vectors"].astype(np.float32)
    return {w: k for k, w in enumerate(words)}, np.vstack([vectors, vectors.mean(axis=0)])


def static_means(row_of, vectors, sentences):
    """The mean vectors of sentences, (N, D). Of a sentence without tokens it is zeros.

    Args:
        row_of, vectors: as `glove` gives them. A word that is not there has the row of its
            lower-case form, or the last.
        sentences: list of lists of tokens.
    """
    none = len(vectors) - 1
    result = np.zeros((len(sentences), vectors.shape[1]), np.float32)
    for row, tokens in zip(result, sentences, strict=True):
        if tokens:
            rows = [row_of.get(token, row_of.get(token.lower(), none)) for token in tokens]
            row[:] = vectors[rows].mean(axis=0)
    return result


def minilm(texts):
    """Mean vectors of MiniLM, (N, 384), and the texts a second."""
    import onnxruntime
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    session = onnxruntime.InferenceSession(str(MINILM / "model.onnx"))
    names = {tensor.name for tensor in session.get_inputs()}
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    result, start = np.zeros((len(texts), 384), np.float32), time.perf_counter()
    for k in range(0, len(order), 32):
        rows = order[k : k + 32]
        encoded = tokenizer.encode_batch([texts[row] for row in rows])
        width = max(len(e.ids) for e in encoded)
        ids, mask = np.zeros((2, len(rows), width), np.int64)
        for row, e in enumerate(encoded):
            count = len(e.ids)
            ids[row, :count], mask[row, :count] = e.ids, e.attention_mask
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": 0 * ids}
        hidden = session.run(None, {n: x for n, x in feed.items() if n in names})[0]
        result[rows] = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    return result, len(texts) / (time.perf_counter() - start)
