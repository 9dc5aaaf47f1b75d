"""Makes the text that `tiny` is trained on: train.txt, heldout.txt and sources.json.

    python saved_models/tiny/corpus.py DATA OUTPUT

DATA holds english-text/ (MASC, inaugural and State of the Union addresses), ud-english-ewt/,
wikitext-2/ and coarse-wsd-20/, see README.md. Of each source one sentence of 200 is held out; a
sentence that is there twice is read once, so that none that is held out is also trained on.
"""

import argparse
import hashlib
import json
import pathlib
import re

_HELD_OUT = 200  # one sentence of so many


def plain(path):
    """A tokenised sentence a line."""
    return path.read_text(encoding="utf-8").split("\n")


def conllu(path):
    """The words of CoNLL-U: neither ranges (1-2) nor empty nodes (1.1)."""
    words = []
    for line in plain(path):
        if line and not line.startswith("#"):
            number, word = line.split("\t")[:2]
            if number.isdecimal():
                words.append(word)
        elif not line:
            yield " ".join(words)
            words = []


def wikitext(path):
    """Paragraphs to sentences, without headings and the marks around hyphens and in numbers."""
    for line in plain(path):
        line = line.strip()
        if line and not line.startswith("="):
            line = re.sub(r" @(\W)@ ", r"\1", line).replace("<unk>", "<UNK>")
            yield from re.split(r"(?<= [.?!]) (?=[A-Z\"'<])", line)


def senses(folder):
    """The training sentences of CoarseWSD-20, which begin with the place of the noun."""
    for path in sorted(folder.glob("*/train.data.txt")):
        for line in plain(path):
            yield line.partition("\t")[2]


def sources(data):
    return {
        "MASC": plain(data / "english-text/masc.txt"),
        "inaugural addresses": plain(data / "english-text/inaugural.txt"),
        "State of the Union addresses": plain(data / "english-text/state-union.txt"),
        "UD English EWT, train": conllu(data / "ud-english-ewt/train.conllu"),
        "WikiText-2, valid": wikitext(data / "wikitext-2/valid.txt"),
        "CoarseWSD-20, train": senses(data / "coarse-wsd-20"),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    seen, parts, counts = set(), {"train": [], "heldout": []}, {}
    for name, sentences in sources(options.data).items():
        count = {"sentences": 0, "tokens": 0}
        for sentence in sentences:
            tokens = sentence.split()
            sentence = " ".join(tokens)
            if not tokens or sentence in seen:
                continue
            seen.add(sentence)
            number = int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:4], "big")
            parts["train" if number % _HELD_OUT else "heldout"].append(sentence)
            count["sentences"] += 1
            count["tokens"] += len(tokens)
        counts[name] = count
    for name, sentences in parts.items():
        text = "".join(f"{sentence}\n" for sentence in sentences)
        (options.output / f"{name}.txt").write_text(text, encoding="utf-8")
        counts[name] = {
            "sentences": len(sentences),
            "tokens": sum(len(sentence.split()) for sentence in sentences),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
    (options.output / "sources.json").write_text(json.dumps(counts, indent=1) + "\n")
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
