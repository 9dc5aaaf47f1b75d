import json
import re

import pytest

from keras_elmo import ElmoConfig
from keras_elmo.characters import Dictionary
from keras_elmo.manylangs.model import read_dic

MARKS = ["<bos>", "<eos>", "<oov>", "<pad>", "<bow>", "<eow>"]
DICTIONARY = Dictionary(["a", "\u00e9", "\U0001f600", None, *MARKS], ["<oov>", "a", "ab", "<bos>"])
BOS, EOS, OOV, PAD, BOW, EOW = range(5, 11)


@pytest.mark.parametrize(
    "word, row",
    [
        ("a", [EOW, 1, BOW, PAD, PAD, PAD, PAD, 2]),
        ("\u00e9\U0001f600", [EOW, 2, 3, BOW, PAD, PAD, PAD, 1]),
        ("ab", [EOW, 1, OOV, BOW, PAD, PAD, PAD, 3]),
        ("aaaaaaa", [EOW, 1, 1, 1, 1, 1, BOW, 1]),
        ("<bos>", [EOW, BOS, BOW, PAD, PAD, PAD, PAD, 4]),
        ("<eos>", [EOW, EOS, BOW, PAD, PAD, PAD, PAD, 1]),
        ("<pad>", [EOW, OOV, OOV, 1, OOV, OOV, BOW, 1]),
        (b"a\xff", [EOW, 1, OOV, BOW, PAD, PAD, PAD, 1]),
        ("\udcff", [EOW, OOV, BOW, PAD, PAD, PAD, PAD, 1]),
    ],
)
def test_a_word_as_ids(word, row):
    assert DICTIONARY.word_to_ids(word, 7) == row
    without_words = Dictionary(DICTIONARY.characters)
    assert without_words.word_to_ids(word, 7) == row[:-1]


def test_a_word_is_looked_up_as_it_was_cut():
    assert DICTIONARY.word_to_ids("abb", 4) == [EOW, 1, OOV, BOW, 3]
    assert DICTIONARY.word_to_ids("<bos>", 6) == [EOW, OOV, OOV, OOV, OOV, BOW, 1]
    assert DICTIONARY.boundary_ids(4) == ([EOW, BOS, BOW, PAD, 4], [EOW, EOS, BOW, PAD, 1])


def test_the_dictionary_goes_through_json():
    options = json.loads(json.dumps(DICTIONARY.to_options()))
    assert Dictionary.from_options(options) == DICTIONARY
    alone = Dictionary(DICTIONARY.characters)
    assert Dictionary.from_options(json.loads(json.dumps(alone.to_options()))) == alone
    assert repr(alone) == "<Dictionary: 10 characters, no words>"


@pytest.mark.parametrize(
    "characters, words, message",
    [
        (MARKS[1:], None, "`characters` must hold .*none of <bos>$"),
        ("abc", None, "`characters` must be a list of strings"),
        ([*MARKS, "a", "a"], None, "`characters` must be distinct. Received: a more than once"),
        (MARKS, [], "`words` must hold <oov>. Received: none of <oov>"),
    ],
)
def test_other_dictionaries_are_refused(characters, words, message):
    with pytest.raises(ValueError, match=message):
        Dictionary(characters, words)


# char.dic and word.dic


def test_a_dic_file():
    data = "b\t1\na b\t3\r\n \u3000\t0\n\u00a0\t2\n  c\t4\n".encode()
    assert read_dic(data, "char.dic") == [None, "b", "\u3000", "a b", "c"]
    assert read_dic(b"a\t0", "char.dic") == ["a"]
    assert read_dic(b"", "char.dic") == []
    # Python's `splitlines` would end a line at these.
    data = "\x85x\t0\n\u2028\t1\n\x0b\t2\n".encode()
    assert read_dic(data, "char.dic") == ["x", None, "\u3000"]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"a\n", "a token, a tab and a number below 1.*Received: 'a' in line 1"),
        (b"a\t1\n", "below 1"),
        (b"a\t1_0\nb\t0\n", "in line 1"),
        ("a\t\u0661\nb\t0\n".encode(), "in line 1"),
        (b"a\t0\nb\t0\n", "differently. Received: 0 for 'a' and 'b'"),
        (b"\xff\t0\n", "be UTF-8"),
    ],
)
def test_other_dic_files_are_refused(data, message):
    with pytest.raises(ValueError, match=f"^char.dic must .*{message}") as caught:
        read_dic(data, "char.dic")
    assert "\n" not in str(caught.value)


# In options


SIZES = {"units": 4, "projection_dim": 6, "character_dim": 3, "max_characters": 7, "word_dim": 5}
CONFIG = ElmoConfig(**SIZES, filters=[(1, 2), (2, 4)], dictionary=DICTIONARY)
WITHOUT_WORDS = {"characters": DICTIONARY.characters, "words": None}
OTHER_CHARACTERS = {**CONFIG.to_options()["char_cnn"], "n_characters": 262}


def test_a_config_goes_through_options(tmp_path):
    assert CONFIG.num_characters == 10 and CONFIG.num_words == 4
    assert CONFIG.has_projection and CONFIG.has_token_projection
    options = json.loads(json.dumps(CONFIG.to_options()))
    assert ElmoConfig.from_options(options) == CONFIG
    # The same with the dictionary in a file of its own.
    path = tmp_path / "options.json"
    path.write_text(json.dumps({**options, "dictionary": "dictionary.json"}))
    (tmp_path / "dictionary.json").write_text(json.dumps(options["dictionary"]))
    assert ElmoConfig.from_options(path) == CONFIG
    (tmp_path / "dictionary.json").unlink()
    with pytest.raises(FileNotFoundError, match="dictionary.json"):
        ElmoConfig.from_options(path)


def test_the_parameters_are_counted():
    counts = CONFIG.num_parameters()
    assert counts["words"] == 4 * 5 and counts["characters"] == 10 * 3
    assert counts["projection"] == (6 + 5) * 6 + 6
    assert counts["lstm"] == 4 * (12 * 16 + 16 + 4 * 6)
    assert "words" not in ElmoConfig().num_parameters()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"dictionary": "dictionary.json"}, "`dictionary` must be an object"),
        ({"dictionary": {"characters": [], "words": None}}, "`characters` must hold"),
        ({"word_embedding": None}, "`word_embedding.dim` is missing"),
        ({"word_embedding": {"dim": 0}}, "`word_dim` must be at least 1. Received: word_dim=0"),
        ({"word_embedding": {"dim": -1}}, "`word_dim` must be an integer of at least 0"),
        ({"dictionary": WITHOUT_WORDS}, "that has words. Received: word_dim=5"),
        ({"char_cnn": OTHER_CHARACTERS}, "n_characters` must be 10. Received: 262"),
    ],
)
def test_faults_in_options(change, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        ElmoConfig.from_options({**CONFIG.to_options(), **change})
    assert len(str(caught.value).splitlines()) == 2
    with pytest.raises(ValueError, match="`dictionary` must be a Dictionary or None"):
        ElmoConfig(dictionary="char.dic")
