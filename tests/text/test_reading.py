"""Every form of text means the same to every entrance: see `CASES`."""

import importlib.util
import io
import warnings

import numpy as np
import pytest
import tensorflow as tf
from text.cases import CASES, RAW, outcome, text_of

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding, Tagger, TextClassifier, strings
from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.files.records import Fields, decode_records
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.text import (
    CharacterTokenizer,
    SpaceTokenizer,
    TreebankTokenizer,
    WhitespaceTokenizer,
    to_tokens,
)
from keras_elmo.text.reading import check_tokens, read_tokens, read_words
from keras_elmo.text.tensors import call_strings, fit_strings, text_tensor
from keras_elmo.text.tokenizers import get_tokenizer

TOKENIZER = WhitespaceTokenizer()  # one for all, since each traces a graph


def decoded(rows):
    return [[word.decode("utf-8", "surrogateescape") for word in row] for row in rows]


def read_call(texts, tokenizer):
    return decoded(to_tokens(call_strings(texts, tokenizer), tokenizer).to_list())


def read_fit(texts, tokenizer):
    return decoded(to_tokens(fit_strings(texts, tokenizer), tokenizer).to_list())


def read_list(texts, tokenizer):
    return list(read_words(texts, tokenizer))


READERS = {"call": read_call, "fit": read_fit, "list": read_list}


def lengths(sentences):
    return [len(tokens) for tokens in sentences]


def counting(elmo):
    """Other functions of text to the number of tokens of each sentence, by name."""
    vocabulary = ["<S>", "</S>", "<UNK>", "a", "b"]
    language_model = BiLanguageModel(elmo.config, vocabulary, elmo.tokenizer)
    embedding = ElmoEmbedding(elmo)
    elmo.run_eagerly = True  # Keras's graph would take seconds to trace.

    def occurrences(texts):
        found = find_occurrences(elmo, texts)
        return [found.sentence_index.count(k) for k in range(len(found.sentences))]

    def sequence_len(call):
        return lambda texts: np.asarray(call(texts)["sequence_len"]).tolist()

    return {
        "predict": sequence_len(lambda texts: elmo.predict(texts, verbose=0)),
        "ElmoEmbedding": lambda texts: np.sum(embedding(texts)._keras_mask, axis=1).tolist(),
        "embed_stream": lambda texts: lengths(elmo.embed_stream(texts, layers=0)),
        "language model": sequence_len(language_model),
        "score": lambda texts: [len(x.forward) - 1 for x in language_model.score(texts)],
        "find_occurrences": occurrences,
    }


def test_every_entrance_of_a_model_reads_text_alike(one_layer_folder, untraced):
    for place, tokenizer in ((1, "whitespace"), (2, None)):
        elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=tokenizer)
        for name, entrance in counting(elmo).items():
            for case in ("a list", "lists of tokens", "a padded array"):
                expected = CASES[case][place]
                counts = lengths(expected) if isinstance(expected, list) else expected
                assert outcome(entrance, text_of(case)) == counts, (name, case)


@pytest.fixture(scope="module", params=["whitespace", None])
def entrances(request, one_layer_folder):
    """Functions of text to the tokens that are read of it, by name; and the place in `CASES`."""
    tokenizer, read = request.param, []

    def embed_tokens(elmo, sentences, specs, *_):
        for tokens in sentences:
            read.append(tokens)
            yield dict.fromkeys(specs, np.zeros(elmo.config.output_dim))

    def outputs(task, tokens, *_):
        read.extend(tokens.to_list())
        return [[np.zeros((len(row), 2) if task is tagger else 2) for row in read]]

    def reading(function, **kwargs):
        def entrance(texts):
            read.clear()
            function(texts, **kwargs)
            return decoded(read)

        return entrance

    def call(texts):
        result = elmo(texts)
        rows = zip(result["tokens"].numpy(), result["sequence_len"].numpy(), strict=True)
        return decoded(row[:length] for row, length in rows)

    elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=tokenizer)
    tagger = Tagger(elmo, ["O", "B-X"], units=2)
    classifier = TextClassifier(elmo, ["a", "b"], filters=2)
    result = {"call": call, "embed": reading(elmo.embed), "tokenize": elmo.tokenize}
    result["fit"] = lambda texts: read_fit(texts, elmo.tokenizer)
    result["tagger"] = reading(tagger.predict, verbose=0)
    result["classifier"] = reading(classifier.predict, verbose=0)
    if importlib.util.find_spec("sklearn"):
        from keras_elmo.sklearn import ElmoClassifier, ElmoVectorizer

        estimator = ElmoClassifier()
        estimator.model_, estimator.classes_ = classifier, np.array(["a", "b"])
        result["ElmoClassifier"] = reading(estimator.predict_proba)
        vectorizer = ElmoVectorizer(str(one_layer_folder), tokenizer=tokenizer)
        result["ElmoVectorizer"] = reading(vectorizer.transform)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TaskModel, "_outputs", outputs)
        patch.setattr("keras_elmo.models.elmo.embed_tokens", embed_tokens)
        yield result, 1 if tokenizer else 2


@pytest.mark.parametrize("case", CASES)
def test_a_form_of_text_means_the_same_to_every_entrance(entrances, case):
    entrances, place = entrances
    for name, entrance in entrances.items():
        if name == "fit" and (callable(CASES[case][0]) or isinstance(CASES[case][0], dict | int)):
            continue  # Keras takes them for batches, or refuses them
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if "whitespace" in case else "error", UserWarning)
            assert outcome(entrance, text_of(case)) == CASES[case][place], name


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER, SpaceTokenizer()])
def test_whitespace_that_the_tokenizer_does_not_split_is_no_fault(tokenizer, recwarn):
    is_fault = tokenizer is TOKENIZER
    plain = [b"a", b"", b" a ", "é".encode(), b"\xff", b"don't"]
    assert not check_tokens([plain], tokenizer)
    for token in (b"a\tb", "a\u00a0b".encode(), "a\u3000b".encode(), b"a\x1cb"):
        assert check_tokens([[token, *plain]], tokenizer) == is_fault
    assert len(recwarn) == 4 * is_fault


@pytest.mark.parametrize("reader", READERS.values())
def test_tokens_with_whitespace_have_a_warning(reader):
    texts = [["I", "New\u00a0York", "."], ["c"]]
    with pytest.warns(UserWarning, match="'New.*York' as a token, and 1 of 4 tokens"):
        assert lengths(reader(texts, TOKENIZER)) == [3, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lengths(reader(strings(texts), TOKENIZER)) == [3, 1]
        assert lengths(reader(texts, None)) == [3, 1]


def test_streams_are_read_as_lists():
    def read(sentences):
        return lengths(read_list(sentences, TOKENIZER))

    data = tf.data.Dataset.from_tensor_slices(RAW)
    sentences = data.as_numpy_iterator()
    assert read(sentences) == read(list(data)) == read(data) == read(data.batch(2)) == [2, 1]
    with pytest.raises(ValueError, match="'a b' as a token.*tokenizer=None"):  # a batch
        read(iter([np.array(["a b", "c d"])]))
    late = [["a"]] * 300 + [["New York"]] * 300  # what was embedded is not thrown away
    with pytest.warns(UserWarning, match="'New York' as a token") as caught:
        assert len(read(late)) == 600
    assert len(caught) == 1


def test_a_text_without_spaces_is_warned_of_once():
    protein = "MKTAYIAKQR" * 5
    elmo_like = [protein, "a b", protein]
    with pytest.warns(UserWarning, match='tokenizer="characters".*MKTAY') as found:
        text_tensor(elmo_like, TOKENIZER)
        assert len(found) == 1
        list(read_tokens(elmo_like * 300, TOKENIZER))
    assert len(found) == 2
    for form in (tf.constant, lambda texts: np.array(texts)[:, None]):
        with pytest.warns(UserWarning, match='tokenizer="characters".*MKTAY'):
            text_tensor(form(elmo_like), TOKENIZER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tokenizer in (None, CharacterTokenizer()):
            text_tensor([protein], tokenizer)
        text_tensor([[protein], ["a"]], TOKENIZER)  # tokens
        text_tensor(["a" * 48, f"{protein} {protein}", "\u3000".join(["word"] * 20)], TOKENIZER)


def test_raw_prose_that_is_split_at_spaces_alone_is_warned_of_once():
    prose = ["We saw cats (and dogs).", "They were happy, so we left."] * 300
    with pytest.warns(UserWarning, match="tokenizer=\"treebank\". Received: 'dogs\\).'") as found:
        list(read_tokens(prose, TOKENIZER))
        text_tensor(prose, SpaceTokenizer())
    assert len(found) == 2 and all(each.filename == __file__ for each in found)
    split = [" ".join(words) for words in read_words(prose, TreebankTokenizer())]
    names = ["Mr. J. R. Smith Jr. of St. Louis", "The U.S. vs. No. 5"] * 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (split, names, ["A good film.", "Too long, though"], ["a b"]):
            list(read_tokens(text, TOKENIZER))
        list(read_tokens([text.split() for text in prose], TOKENIZER))
        for tokenizer in (TreebankTokenizer(), CharacterTokenizer()):
            list(read_tokens(prose, tokenizer))


def test_an_object_with_a_text_has_a_cure():
    class Token:
        text = "cat"

    for reader in READERS.values():
        with pytest.raises(TypeError, match=r"token.text for token in doc"):
            reader([[Token()]], TOKENIZER)


@pytest.mark.parametrize("lines", [[">P1 a", "MKTAY"], ["@r1", "ACGT", "+", "IIII"]])
def test_lines_of_ids_are_no_sequences(lines):
    with pytest.raises(ValueError, match=f"without lines of their ids.*Received: '{lines[0]}' as"):
        list(read_tokens(lines, get_tokenizer("characters")))
    assert len(list(read_tokens(lines, get_tokenizer("whitespace")))) == len(lines)
    for texts in (["> a", "b c"], ["@a", "b", "c"], [">"], ["MKT", ">P1", "MKT"]):
        assert len(list(read_tokens(texts, get_tokenizer("characters")))) == len(texts)


@pytest.mark.filterwarnings("error")
def test_the_words_of_a_file_may_have_spaces():
    file = io.BytesIO('{"t": ["New York", "Việt\u00a0Nam"]}'.encode())
    ((_, words, _),) = decode_records(file, "a.jsonl", fields=Fields("t"))
    tokens = [[word.encode() for word in words]]
    assert list(read_tokens([words], get_tokenizer("treebank"))) == tokens
    with pytest.raises(ValueError, match="must not hold whitespace"):
        list(read_tokens([list(words)], get_tokenizer("treebank")))
