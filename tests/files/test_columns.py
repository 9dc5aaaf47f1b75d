"""Files with a token a line in the layouts that people have, and what surely is none."""

import gzip

import pytest

from keras_elmo.files.labelled_files import read_sentences, read_tagged

TWO = [["Ada", "met"], ["Oslo"]], [["B-PER", "O"], ["B-LOC"]]
IDS = "# text = Ada met\n1-2\tAda'd\t_\t_\n1\tAda\tB-PER\tx\n2\tmet\tO\tx\n2.1\tx\t_\t_\n\n"
ONTONOTES = "#begin document (a); c\na/b 0 0 Ada B-PER\na/b 0 1 met O\n\na/b 0 0 Oslo B-LOC *\n"
PLUS = "# global.columns = ID FORM NER:TAG\n# x\n1\tAda\tB-PER\n2\tmet\tO\n\n1\tOslo\tB-LOC"
KAGGLE = "#,Word,POS,Tag\nS 1,Ada,NN,B-PER\n,met,V,O\nS 2,Oslo,NN,B-LOC\n"
WEBANNO = "#T_SP=x\n\n\n#Text=Ada met Oslo x\n1-1\t0-3\tAda\tB-PER\t\n1-2\t4-7\tmet\tO\t\n\n"
SENTENCE = ("Word", "Tag", "#")


def write(tmp_path, name, text):
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(tmp_path / name)


def read(path, token_field=None, label_field=None, sentence_field=None, **options):
    fields = {"token_field": token_field, "sentence_field": sentence_field}
    return read_tagged(path, label_field=label_field, **fields, **options)


def conllu(index, word, upos="_", xpos="_"):
    return f"{index}\t{word}\t_\t{upos}\t{xpos}\t_\t_\troot\t_\tSpaceAfter=No"


@pytest.mark.parametrize(
    ("name", "text", "fields"),
    [
        ("a.conll", "-DOCSTART- -X- O\n\nAda X B-PER\nmet X O\n\n\n\nOslo X B-LOC\n\n", ()),
        ("a.tsv.gz", "\ufeffAda\tB-PER\r\nmet\tO\r\n\r\nOslo\tB-LOC", ()),
        ("a.conll", "Ada B-PER 1\nmet O 2\n\nOslo B-LOC 3\n", (None, "1")),
        ("a.iob2", IDS + "1\tOslo\tB-LOC\ty\n", (1, 2)),
        ("a.tsv", IDS.replace("# text =", "#\thttp://") + "1\tOslo\tB-LOC\ty\n", ("1", "2")),
        ("a.gold_conll", ONTONOTES + "\n#end document\n", (3, "4")),
        ("a.conllup", PLUS, ()),
        ("a.tsv", WEBANNO + "#Text=Oslo\n2-1\t9-13\tOslo\tB-LOC\t\n", (2, 3)),
        ("a.csv", KAGGLE, SENTENCE),
        ("a.csv", KAGGLE.partition("\n")[2], (1, 3, 0)),
        ("a.tsv", KAGGLE.replace(",", "\t"), ("word", "tag", "#")),
        ("a.csv", "Word,Tag\nAda,B-PER\nmet,O\n,\nOslo,B-LOC\n", ("Word", "Tag")),
        ("a.txt", "Ada|N|B-PER met|V|O\nOslo|N|B-LOC\n", ()),
        ("a.txt", "Ada/B-PER met/O\n\nOslo/B-LOC\n", ()),
        ("a.tsv", "Ada\tB-PER\t\nmet\tO\t\n\nOslo\tB-LOC\t\n", ()),
        # Comments
        ("a.conll", "# sent_id = 1\n# newpar\nAda B-PER\nmet O\n\n# text = x\nOslo B-LOC", ()),
        ("a.conll", "# id 1\tx=en\nAda _ B-PER\nmet _ O\n\n# id 2\tx=en\nOslo _ B-LOC", ()),
        ("a.tsv", "# id 1\tx=en\nAda\tB-PER\nmet\tO\n\n# id\tx\nOslo\tB-LOC\n\n# end", ()),
    ],
)
def test_the_column_of_the_token(tmp_path, name, text, fields):
    assert read(write(tmp_path, name, text), *fields) == TWO


@pytest.mark.parametrize(
    ("name", "text", "fields", "message"),
    [
        ("a.iob2", IDS, (), "`token_field` names .* Received: tokens that count; .* 1: \"Ada'd\""),
        ("a.tsv", "1 a X\n2 b Y\n\n3 a X\n", (), "tokens that count; .* 0: '1', 1: 'a', 2: 'X'"),
        ("a.tsv", WEBANNO, (), "tokens that count"),
        ("a.conll", ONTONOTES, (), "the same token throughout"),
        ("a.conllu", conllu(1, "a"), (None, "xpos"), "`label_field` that .* no tag but _"),
        ("a.csv", KAGGLE, ("Word", "Tag"), "`sentence_field` one that .* one sentence without a"),
        ("a.txt", "Ada O\n\nmet O\n\nOslo O\n", (), "one token in each sentence"),
        ("a.txt", "Ada ['O',\nmet 'O']\n", (), r"a tag \"\['O',\", part of a list"),
        ("a.txt", "ham\ta b\nspam\ta c\nham\ta\nham\tc\n", (), "4 labels for 2 texts or tokens"),
        ("a.tsv", "Word\tNE-TAG\nAda\tO\nmet\tO\n", (), "give `token_field=Word` and `label_fie"),
        ("a.csv", KAGGLE, (1, 3, 0), "surely the names of columns: give `token_field=Word` and"),
        ("a.csv", KAGGLE, ("word", "Taag", "#"), "must have a column 'taag' in its first line"),
        ("a.conll", "Ada NNP B-PER\n", (None, "3"), "Received: line 1, 'Ada NNP B-PER'"),
        ("a.txt", "Ada met Oslo .\nShe did .\n", (), "line 2, .* 3 columns in a sentence of 4"),
        ("a.conllu", "# text\n1\ta\tNOUN\n", (), "line 2, .* with 3 columns in a sentence of 10"),
        ("a.jsonl", "{}", ("x",), "each token must then be a line of CoNLL or a row of CSV"),
        ("a.conll", "# id = 1\n", (), "tokens with tags. Received: blank lines only"),
    ],
)  # fmt: skip
def test_what_surely_is_no_sentence_is_refused(tmp_path, name, text, fields, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, name, text), *fields)


@pytest.mark.parametrize(
    "text",
    [
        "10 CD\n000 CD\n\n1 CD\n",  # numbers that do not count
        "ha UH\nha UH\n",
        "Word NN\nAda NN\nTag NN\n",  # no heading
        "A B_X\nb_c O\n",  # a joint in some cells
        ", ,\n' ''\n[ -LRB-\n] [PAD]\n",  # signs of lists as tags
        # Tokens that begin with a hash. Comments stand before the tokens.
        "# O\nfun B-X\n\na O\n# O\n",
        "#\tO\n#\tB-X\n",
        "#fun B-X\nis O\n",
        "a DT\n# newpar\n",
    ],
)
def test_what_only_looks_alike_is_read(tmp_path, text):
    pairs = [[tuple(line.split()) for line in part.split("\n")] for part in text[:-1].split("\n\n")]
    found = read(write(tmp_path, "a.conll", text))
    assert [list(zip(*row, strict=True)) for row in zip(*found, strict=True)] == pairs


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("# 1\tNN\n\na\tNN\n", [["#\u00a01"], ["a"]]),
        ("# B-NP\n1 B-NP\n\n# id\nof B-PP", [["#", "1"], ["of"]]),
        ("\u00a0\tX\n10 000\tY\n", [["\u00a0", "10\u00a0000"]]),
    ],
)
def test_a_token_may_begin_with_a_hash_or_hold_spaces(tmp_path, text, sentences):
    assert read(write(tmp_path, "a.conll", text))[0] == sentences


def test_lines_without_tags(tmp_path):
    path = write(tmp_path, "a.conll", "# id x\nfun\n#fun\n\nfun\n")
    found = read_sentences(path, has_tags=False)
    assert [sentence.tokens for sentence in found] == [["fun", "#fun"], ["fun"]]
    with pytest.raises(ValueError, match="a token and a tag, or be blank. Received: line 2, 'fun'"):
        read(path)


def test_conllu(tmp_path):
    """Ranges, empty nodes and comments are no tokens. The lines take other tags."""
    lines = ["# text = don't 10 000", conllu("1-2", "don't"), conllu(1, "do", "AUX", "VB")]
    lines += [conllu(2, "n't", "PART", "RB"), conllu("2.1", "x", "VERB")]
    lines += [conllu(3, "10 000", "NUM", "CD"), "", "", "# a comment alone", ""]
    lines.append(conllu(1, "Go", "VERB", "VB"))  # no blank line after it
    path = write(tmp_path, "a.conllu", "\n".join(lines))
    sentences = [["do", "n't", "10\u00a0000"], ["Go"]]
    assert read(path) == (sentences, [["AUX", "PART", "NUM"], ["VERB"]])
    assert read(path, None, "xpos") == (sentences, [["VB", "RB", "CD"], ["VB"]])
    first, alone, last = read_sentences(path, has_tags=False)
    lines[2:4] = conllu(1, "do", "X", "VB"), conllu(2, "n't", "Y", "RB")
    lines[5], lines[-1] = conllu(3, "10 000", "Z", "CD"), conllu(1, "Go", "X", "VB")
    assert [sentence.tokens for sentence in (first, alone, last)] == [sentences[0], [], ["Go"]]
    found = [*first.with_tags("XYZ"), "", "", *alone.with_tags([]), "", *last.with_tags(["X"])]
    assert found == lines
    path = write(tmp_path, "a.conllu", "\ufeff" + "\r\n".join(lines) + "\r\n\r\n")
    assert read(path, None, "deprel") == (sentences, [["root"] * 3, ["root"]])
    (one,) = read_sentences(write(tmp_path, "a.conllu", "1 Go" + " _" * 8), has_tags=False)
    assert one.with_tags("X") == ["1\tGo\t_\tX" + "\t_" * 6]  # Tabs separate what is written.
