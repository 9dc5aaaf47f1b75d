"""Compares biLMs by their perplexity on the same words, source by source.

    python saved_models/tiny/perplexity.py TEXT VOCABULARY MODEL [MODEL ...]

TEXT is a folder that corpus.py made. The packaged and the published files of a model hold no
softmax, and models that were trained with different vocabularies predict different words. So each
model gets a new softmax here, in the place of its own where it has one. It is trained on
TEXT/train.txt while the model is frozen, with the same vocabulary and as many steps for all. The
perplexities are those of the full softmax.
"""

import argparse
import pathlib
import sys
import warnings

from keras_elmo import BiLanguageModel
from keras_elmo.training import Corpus, Trainer, TrainingOptions, evaluate


def train_softmax(model, text, steps, seed=0):
    """Trains a new softmax above a biLM, which is frozen.

    Args:
        model: a `BiLanguageModel`.
        text: path of the training text.
        steps: int. The number of steps of 64 x 20 tokens.
        seed: int. The seed of the softmax and of the order of the text.
    """
    model.character_encoder.trainable = model.bilm.trainable = False
    model.initialize_softmax(seed)
    options = TrainingOptions(
        batch_size=64,
        num_negatives=min(1024, len(model.vocabulary) // 2),
        dropout=0.0,
        optimizer="adam",
        learning_rate=0.003,
        schedule="cosine",
        warmup_steps=steps // 20,
        seed=seed,
    )

    def report(figures):
        if figures["step"] % 100 == 0:
            step, perplexity = figures["step"], figures["perplexity"]
            print(f"step {step}: training perplexity {perplexity:.1f}", file=sys.stderr, flush=True)

    Trainer(model, Corpus(text), options, steps=steps).run(report)


def compare(folder, vocabulary, names, steps):
    """The perplexities of each model: a dict of dicts, by model and source."""
    folder, results = pathlib.Path(folder), {}
    sources = {path.stem: path for path in sorted((folder / "heldout").glob("*.txt"))}
    sources["all"] = folder / "heldout.txt"
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The model has no softmax. It gets one here.
            model = BiLanguageModel.from_pretrained(name, vocabulary)
        train_softmax(model, folder / "train.txt", steps)
        results[name] = {
            source: evaluate(model, Corpus(path).sentences())["perplexity"]
            for source, path in sources.items()
        }
        print(f"{name}: {results[name]}", file=sys.stderr, flush=True)  # for who stops it
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text")
    parser.add_argument("vocabulary")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--steps", type=int, default=3000, help="of each softmax (3000)")
    options = parser.parse_args()
    results = compare(options.text, options.vocabulary, options.models, options.steps)
    print("| source |" + "".join(f" {name} |" for name in results))
    print("| --- |" + " --- |" * len(results))
    for source in next(iter(results.values())):
        print(f"| {source} |" + "".join(f" {row[source]:.1f} |" for row in results.values()))


if __name__ == "__main__":
    main()
