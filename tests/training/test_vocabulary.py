import pytest

from keras_elmo.training.vocabulary import Vocabulary

SPECIALS = ["<S>", "</S>", "<UNK>"]


def test_words_have_numbers(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\ufeff<S>\r\n</S>\r\n<UNK>\r\nna\u00efve\r\n".encode())
    vocabulary = Vocabulary(tmp_path / "vocab.txt")
    assert vocabulary.words == (*SPECIALS, "na\u00efve") and len(vocabulary) == 4
    assert vocabulary.ids == {"<S>": 0, "</S>": 1, "<UNK>": 2, "na\u00efve": 3}
    assert (vocabulary.begin, vocabulary.end, vocabulary.unknown) == (0, 1, 2)
    vocabulary.save(tmp_path / "again.txt")
    assert Vocabulary(tmp_path / "again.txt") == vocabulary


def test_a_vocabulary_of_the_original(tmp_path):
    """The published one is not ours to change: its order, other spaces, and a line that is none."""
    words = ["</S>", "<S>", "the", "<UNK>", "10\u00a0000", "a\u2028b"]
    lines = "".join(f"{word}\n" for word in [*words, "!!!MAXTERMID"])
    (tmp_path / "vocab.txt").write_text(lines, encoding="utf-8")
    vocabulary = Vocabulary(tmp_path / "vocab.txt")
    assert vocabulary.words == tuple(words)
    assert (vocabulary.begin, vocabulary.end, vocabulary.unknown) == (1, 0, 3)


@pytest.mark.parametrize(
    "lines, message",
    [
        (["the", "</S>"], "the special words <S>, <UNK> are missing"),
        ([*SPECIALS, "a", "b", "a"], "line 6: 'a' is in line 4, too"),
        ([*SPECIALS, "", "a b"], "line 4: '' is not one word\n  line 5: 'a b' is not one word"),
        ([*SPECIALS, *["x"] * 15], "and 6 more"),
        ([], "<S>, </S>, <UNK> are missing"),
        ([*SPECIALS, "na\xefve"], "must be UTF-8, .* Received: line 4"),
    ],
)
def test_faults_are_named(lines, message, tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="latin-1")
    with pytest.raises(ValueError, match=message) as error:
        Vocabulary(path)
    assert str(path) in str(error.value)
