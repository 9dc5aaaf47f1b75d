"""Writes a model as a TFLite file, and runs it as a phone would: without TensorFlow.

Needs the interpreter: `pip install ".[tflite]"`. What `load` and `embed` do needs nothing
but `ai-edge-litert` and NumPy; the file takes the bytes of a sentence and splits them itself.

    python examples/tflite_inference.py FILE [MODEL]    # tiny without a name
"""

import sys

import numpy as np

SENTENCE = "The naïve 猫 sat on the mat ."


def write(model, path, quantize="int8"):
    """On a computer: a model to a file that takes text."""
    import keras_elmo

    elmo = keras_elmo.Elmo.from_pretrained(model)
    keras_elmo.export_tflite(elmo, path, inputs="text", quantize=quantize, overwrite=True)
    return elmo


def load(path, num_threads=1):
    """On the device: the file's one signature."""
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(path, num_threads=num_threads).get_signature_runner()


def embed(run, sentence):
    """A sentence's words, and an array for each output: (words, D)."""
    text = sentence.encode() or b" "  # an empty sentence is one space
    outputs = run(text=np.frombuffer(text, np.uint8)[None])  # (1, bytes)
    count = outputs["sequence_len"][0]
    spans = zip(outputs["starts"][0, :count], outputs["ends"][0, :count], strict=True)
    words = [text[start:end].decode() for start, end in spans]
    names = ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo")
    return words, {name: outputs[name][0, :count] for name in names}


def main(path, model="tiny"):
    """The words of the sentence, and how near the file's vectors are to the model's (cosines)."""
    expected = write(model, path)([SENTENCE])
    words, outputs = embed(load(path), SENTENCE)
    cosines = {}
    for name, one in outputs.items():
        other = expected[name][0].numpy()
        norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
        cosines[name] = np.sum(one * other, axis=-1) / norms
    return words, cosines


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    words, cosines = main(*sys.argv[1:])
    print(f"{sys.argv[1]} split the text into: {' | '.join(words)}")
    for name, values in cosines.items():
        print(f"{name}: cosine to the model, at least {values.min():.4f}")
