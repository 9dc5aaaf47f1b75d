import numpy as np
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from manylangs_models import CHARACTERS, WORDS

from keras_elmo.characters import Dictionary, text_to_bytes
from keras_elmo.text.dictionary_scheme import DictionaryScheme

ALL = Dictionary([*CHARACTERS, None, "\x00", "several"], [*WORDS, None, "\x00", "ab"])
DICTIONARIES = {"words": ALL, "no words": Dictionary(ALL.characters)}
SCHEMES = {
    (name, size): DictionaryScheme(dictionary, size)
    for name, dictionary in DICTIONARIES.items()
    for size in (3, 9, 50)
}
texts = st.text(st.sampled_from("Thecat今😀\u3000\ufffd\x00xé\udc80\ud800"), max_size=12)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.one_of(st.sampled_from(WORDS), texts, st.binary(max_size=60))),
    st.sampled_from(sorted(SCHEMES)),
)
@example([], ("words", 9))
@example([b"", b"<bos>", b"<eos>", b"<pad>", b"several", b"\x00", "😀".encode() * 60], ("words", 9))
@example([b"cat\x80\x80", b"cat\xe4\xbb", b"\xed\xa0\x80", b"\xff" * 9, b"a\xf0\x9f"], ("words", 9))
@example([b"ca\x80", b"c\x80", b"\x80", b"c\x80a"], ("words", 3))
def test_ids_are_those_of_the_plain_scheme(words, key):
    name, size = key
    scheme, dictionary = SCHEMES[key], DICTIONARIES[name]
    ids = scheme.ids(tf.constant(list(map(text_to_bytes, words)), tf.string))
    rows = scheme.rows(words)
    assert ids.dtype == rows.dtype == np.int32
    assert ids.shape == rows.shape == (len(words), scheme.ids_per_token)
    expected = [dictionary.word_to_ids(word, size) for word in words]
    assert ids.numpy().tolist() == rows.tolist() == expected
