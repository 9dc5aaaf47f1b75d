"""Trains a small biLM on your own text, and asks it for words that could stand in a sentence.

    python examples/train_bilm.py TEXT FOLDER [STEPS]

TEXT is a file with a sentence a line, its words separated by spaces. Every 50th sentence is held
out. FOLDER gets what `Elmo.from_pretrained` takes. The model is small, and some hundred steps only
show how it goes: `keras-elmo train` has every option, checkpoints and progress.
"""

import os
import sys
import tempfile

import keras_elmo
from keras_elmo import training


def main(text, folder, steps=500):
    """Returns the trained `BiLanguageModel`, and its perplexities before and after."""
    with open(text, encoding="utf-8") as file:
        lines = [line for line in file if line.strip()]
    with tempfile.TemporaryDirectory() as temporary:
        path = os.path.join(temporary, "train.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line for k, line in enumerate(lines) if k % 50)
        return train(path, lines[::50], folder, steps)


def train(text, heldout, folder, steps):
    os.makedirs(folder, exist_ok=True)
    vocabulary = os.path.join(folder, "vocab.txt")
    corpus = training.Corpus(text)
    training.build_vocabulary(corpus, vocabulary, min_count=2)
    config = keras_elmo.ElmoConfig(
        units=128, projection_dim=32, filters=[(1, 16), (2, 32), (3, 64)], num_highway=1
    )
    model = keras_elmo.BiLanguageModel(config, vocabulary)
    model.initialize(seed=0)
    # The full softmax: with some thousand words there is no need to sample.
    model.compile(training.LazyAdagrad(0.2, global_clipnorm=10), num_negatives=0)
    held = [line.split() for line in heldout]
    before = model.evaluate(held, return_dict=True, verbose=0)["perplexity"]
    model.fit(corpus, batch_size=16, epochs=1, steps_per_epoch=steps, verbose=2)
    after = model.evaluate(held, return_dict=True, verbose=0)["perplexity"]
    model.save_pretrained(folder)
    return model, before, after


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    model, before, after = main(*sys.argv[1:3], *map(int, sys.argv[3:]))
    print(f"held-out perplexity {before:.1f} before, {after:.1f} after")
    with open(sys.argv[1], encoding="utf-8") as file:
        sentence = next(line for line in file if line.strip())
    for place in model.top_words(sentence.strip(), k=3):
        left, right = (
            ", ".join(word for word, _ in place[side]) for side in ("forward", "backward")
        )
        print(f"{place['token']:<15} from the left: {left:<40} from the right: {right}")
