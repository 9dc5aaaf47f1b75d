"""Makes the text of `tiny`: train.txt, heldout.txt, heldout/SOURCE.txt and sources.json.

    python saved_models/tiny/corpus.py DATA OUTPUT

DATA holds books/, english-text/ (MASC, inaugural and State of the Union addresses),
ud-english-ewt/, wikitext-2/ and wikipedia/; README.md lists them. It also holds what models are
measured on: coarse-wsd-20/, sst2/, wnut17/ and wikitext-2/test.txt. A sentence that has eight words
in a row in common with a sentence of these is left out of every source.

Every sentence is tokenised by the package's `treebank` tokenizer. Text that comes tokenised in the
Penn Treebank's way (`do n't`) is put together first (`don't`). One sentence of eight is
lower-cased, since much text that people embed is. A sentence that occurs twice is read once, so
that no held-out sentence is also trained on. The sentences of all sources are mixed.
"""

import argparse
import gzip
import hashlib
import itertools
import json
import lzma
import pathlib
import re

from keras_elmo.files.atomic import replacing_file
from keras_elmo.text.tokenizers import TreebankTokenizer

# One sentence of so many is held out: about 700 of each large source.
_HELD_OUT = {"novels": 1000, "textbooks": 400, "Wikipedia": 1500, "Wikipedia of 2014": 1500}
_HELD_OUT_ELSEWHERE = 200
_LOWER_CASED = 8  # one training sentence of so many
_UNKNOWN = "Unkunkunk"  # stands for <UNK> while a sentence is tokenised, which would be split
_AT_ONCE = 10_000  # sentences that are tokenised together
# A sentence is known by so many words in a row, or by all its words if they have so many letters.
_WORDS, _LETTERS = 8, 20


def lines_of(path):
    """The lines of a text, a gzip or an xz file."""
    open_file = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    with open_file(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def prose(path):
    """One sentence a line, already as it should be tokenised."""
    for line in lines_of(path):
        yield line, line


def treebank(path):
    """One sentence a line, its words split as in the Penn Treebank: `do n't`, `` ` ` `` quotes."""
    for line in lines_of(path):
        yield line, put_together(line)


def put_together(line):
    """A sentence in the Penn Treebank's form, its contractions, quotes and brackets as in prose."""
    line = re.sub(r"(?i)\b([a-z]+) (n't)\b", r"\1\2", line)
    line = re.sub(r"(?i)\b(gon|wan) (na)\b", r"\1\2", line)
    line = re.sub(r"(?i)\b(got) (ta)\b", r"\1\2", line)
    line = re.sub(r"``|''", '"', line)
    for mark, sign in {"LRB": "(", "RRB": ")", "LSB": "[", "RSB": "]"}.items():
        line = line.replace(f"-{mark}-", sign)
    return line


def conllu(path):
    """The sentences of a CoNLL-U file: their words, and their raw text."""
    words, text = [], ""
    for line in itertools.chain(lines_of(path), [""]):
        if line.startswith("# text = "):
            text = line.removeprefix("# text = ")
        elif line and not line.startswith("#"):
            index, word = line.split("\t")[:2]
            if index.isdecimal():  # neither a range (1-2) nor an empty node (1.1)
                words.append(word)
        elif not line:
            yield " ".join(words), text
            words = []


def wikitext(path):
    """Paragraphs split into sentences, without headings and the marks around hyphens."""
    for line in map(str.strip, lines_of(path)):
        if line and not line.startswith("="):
            line = re.sub(r" @(\W)@ ", r"\1", line).replace("<unk>", "<UNK>")
            for sentence in re.split(r"(?<= [.?!]) (?=[A-Z\"'<])", line):
                yield sentence, sentence


def sources(data):
    """Of each source its pairs of a sentence as it stands there, and as it is tokenised.

    The first one decides whether a sentence is held out, so that the same sentences are held out
    whatever the tokenizer makes of them.
    """
    return {
        "novels": prose(data / "books/novels.txt.gz"),
        "textbooks": prose(data / "books/textbooks.txt.gz"),
        "MASC": treebank(data / "english-text/masc.txt"),
        "inaugural addresses": treebank(data / "english-text/inaugural.txt"),
        "State of the Union addresses": treebank(data / "english-text/state-union.txt"),
        "UD English EWT, train": conllu(data / "ud-english-ewt/train.conllu"),
        "WikiText-2, valid": wikitext(data / "wikitext-2/valid.txt"),
        "Wikipedia": prose(data / "wikipedia/featured.txt.xz"),
        "Wikipedia of 2014": prose(data / "wikipedia/articles.txt.xz"),
    }


def measured_on(data):
    """The sentences that models are measured on."""
    for path in sorted(data.glob("coarse-wsd-20/*/*.data.txt")):
        yield from (line.partition("\t")[2] for line in lines_of(path))
    for path in sorted(data.glob("sst2/*.tsv")):
        yield from (line.partition("\t")[0] for line in lines_of(path))
    for path in sorted(data.glob("wnut17/*.conll")):
        for is_token, group in itertools.groupby(lines_of(path), key=bool):
            if is_token:
                yield " ".join(line.partition("\t")[0] for line in group)
    yield from (sentence for sentence, _ in wikitext(data / "wikitext-2/test.txt"))


def shingles(sentence):
    """What a sentence is known by, however it is tokenised: its words, eight in a row."""
    words = re.findall(r"[^\W_]+", sentence.lower().replace("<unk>", " "))
    if sum(map(len, words)) < _LETTERS:
        return set()
    count = max(1, len(words) - _WORDS + 1)
    return {tuple(words[first : first + _WORDS]) for first in range(count)}


def tokenise(tokenizer, sentences):
    """Sentences with a space between any two tokens."""
    for first in range(0, len(sentences), _AT_ONCE):
        part = [s.replace("<UNK>", _UNKNOWN) for s in sentences[first : first + _AT_ONCE]]
        for tokens in tokenizer.tokenize(part).to_list():
            yield b" ".join(tokens).decode().replace(_UNKNOWN, "<UNK>")


def number(sentence):
    """A number that depends on the sentence alone."""
    return int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:8], "big")


def write(path, sentences):
    text = "".join(f"{sentence}\n" for sentence in sentences)
    with replacing_file(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8")
    return {
        "sentences": len(sentences),
        "tokens": sum(len(sentence.split()) for sentence in sentences),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    options = parser.parse_args()
    (options.output / "heldout").mkdir(parents=True, exist_ok=True)
    tokenizer = TreebankTokenizer()
    seen, train, heldout, counts = set(), [], [], {}
    left_out = set().union(*map(shingles, map(put_together, measured_on(options.data))))
    for name, pairs in sources(options.data).items():
        pairs = [p for p in pairs if p[0].strip() and shingles(p[1]).isdisjoint(left_out)]
        every = _HELD_OUT.get(name, _HELD_OUT_ELSEWHERE)
        kept, out = [], []
        texts = tokenise(tokenizer, [text for _, text in pairs])
        for (original, _), sentence in zip(pairs, texts, strict=True):
            if sentence.lower() in seen:
                continue
            seen.add(sentence.lower())
            if (number(" ".join(original.split())) >> 32) % every == 0:
                out.append(sentence)
            elif number(sentence) % _LOWER_CASED == 0:
                kept.append(sentence.lower().replace("<unk>", "<UNK>"))
            else:
                kept.append(sentence)
        counts[name] = {
            "sentences": len(kept),
            "tokens": sum(len(sentence.split()) for sentence in kept),
            "heldout": write(options.output / "heldout" / f"{name.split(',')[0]}.txt", out),
        }
        train += kept
        heldout += out
    for name, sentences in {"train": train, "heldout": heldout}.items():
        sentences.sort(key=number)
        counts[name] = write(options.output / f"{name}.txt", sentences)
    (options.output / "sources.json").write_text(json.dumps(counts, indent=1) + "\n")
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
