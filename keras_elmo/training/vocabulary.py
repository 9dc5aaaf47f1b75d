"""`build_vocabulary`: the words of a corpus, in a file."""

import os

from keras_elmo.checks import check_integers
from keras_elmo.files import replacing_file
from keras_elmo.text.vocabulary import SPECIALS
from keras_elmo.training.corpus import Corpus, count_words


def build_vocabulary(patterns, path, min_count=1, size=None, progress=None):
    """Writes the vocabulary of a corpus: special words first, then words, the most frequent first.

    Words that occur equally often are in the order of their code points. The files are read line by
    line, and the memory holds only the distinct words.

    Args:
        patterns: see `Corpus`.
        path: the file to write. It is moved into place when it is complete.
        min_count: int. Words that are rarer are left out.
        size: int or `None`. The largest number of words, the three special ones included.
        progress: see `Corpus.counts`.

    Returns:
        A pair: the number of words written, and the share of the corpus's tokens that are among
        those words, float.

    Raises:
        ValueError: there is no word in the corpus, or an argument is out of range.
    """
    check_integers(1, min_count=min_count)
    if size is not None:
        check_integers(len(SPECIALS) + 1, size=size)
    corpus = Corpus(patterns)
    if any(os.path.exists(path) and os.path.samefile(path, file) for file in corpus.files):
        raise ValueError(f"The vocabulary must be written to a file of its own. Received: {path}")
    # A missing folder is an error here, before the words are counted.
    with replacing_file(path) as temporary:
        counts = count_words(corpus, progress)
        if not counts:
            raise ValueError(f"There is no word in {', '.join(corpus.files)}")
        words = [
            word for word, count in counts.items() if count >= min_count and word not in SPECIALS
        ]
        words.sort(key=lambda word: (-counts[word], word))
        if size is not None:
            del words[size - len(SPECIALS) :]
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"{word}\n" for word in (*SPECIALS, *words))
    num_known = sum(counts[word] for word in words)
    return len(words) + len(SPECIALS), num_known / sum(counts.values())
