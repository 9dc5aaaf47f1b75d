"""Files with a token a line in the layouts that people have, and what surely is none."""

import pytest

from keras_elmo.files.labelled_files import read_sentences, read_tagged

TWO = [["Ada", "met"], ["Oslo"]], [["B-PER", "O"], ["B-LOC"]]
IDS = "# text = Ada met\n1-2\tAda'd\t_\t_\n1\tAda\tB-PER\tx\n2\tmet\tO\tx\n2.1\tx\t_\t_\n\n"
ONTONOTES = "#begin document (a); c\na/b 0 0 Ada B-PER\na/b 0 1 met O\n\na/b 0 0 Oslo B-LOC *\n"
PLUS = "# global.columns = ID FORM NER:TAG\n# x\n1\tAda\tB-PER\n2\tmet\tO\n\n1\tOslo\tB-LOC"
KAGGLE = "#,Word,POS,Tag\nS 1,Ada,NN,B-PER\n,met,V,O\nS 2,Oslo,NN,B-LOC\n"
WEBANNO = "#T_SP=x\n\n\n#Text=Ada met Oslo x\n1-1\t0-3\tAda\tB-PER\t\n1-2\t4-7\tmet\tO\t\n\n"
SENTENCE = ("Word", "Tag", "#")
FIELDS = dict.fromkeys(("token_field", "label_field", "sentence_field"))
DEFAULTS = (None, FIELDS, None, ("utf-8", "strict"))  # of `read_sentences`


def write(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, "utf-8", newline="")
    return str(path)


def read(path, token_field=None, label_field=None, sentence_field=None, **options):
    fields = {"token_field": token_field, "sentence_field": sentence_field}
    return read_tagged(path, label_field=label_field, **fields, **options)


@pytest.mark.parametrize(
    ("name", "text", "fields"),
    [
        ("a.iob2", IDS + "1\tOslo\tB-LOC\ty\n", (1, 2)),
        ("a.tsv", IDS.replace("# text =", "#\thttp://") + "1\tOslo\tB-LOC\ty\n", ("1", "2")),
        ("a.gold_conll", ONTONOTES + "\n#end document\n", (3, "4")),
        ("a.conllup", PLUS, ()),
        ("a.tsv", WEBANNO + "#Text=Oslo\n2-1\t9-13\tOslo\tB-LOC\t\n", (2, 3)),
        ("a.csv", KAGGLE, SENTENCE),
        ("a.csv", KAGGLE.replace(",", ";"), SENTENCE),
        ("a.csv", KAGGLE.partition("\n")[2], (1, 3, 0)),
        ("a.tsv", KAGGLE.replace(",", "\t"), ("word", "tag", "#")),
        ("a.csv", "Word,Tag\nAda,B-PER\nmet,O\n,\nOslo,B-LOC\n", ("Word", "Tag")),
        ("a.txt", "Ada|N|B-PER met|V|O\nOslo|N|B-LOC\n", ()),
        ("a.txt", "Ada/B-PER met/O\n\nOslo/B-LOC\n", ()),
        ("a.tsv", "Ada\tB-PER\t\nmet\tO\t\n\nOslo\tB-LOC\t\n", ()),
        ("a.txt", "Ada\tB-PER\rmet\tO\r\rOslo\tB-LOC\r", ()),
        ("a.txt", "Ada\tB-PER\r\r\nmet\tO\r\r\n\r\r\nOslo\tB-LOC\r\r\n", ()),
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
        ("a.conll", IDS.replace("\tx", "\t_"), (1,), "`label_field` that .* no tag but _"),
        ("a.csv", KAGGLE, ("Word", "Tag"), "`sentence_field` one that .* one sentence without a"),
        ("a.txt", "Ada O\n\nmet O\n\nOslo O\n", (), "one token in each sentence"),
        ("a.txt", "Ada ['O',\nmet 'O']\n", (), r"a tag \"\['O',\", part of a list"),
        ("a.txt", "ham\ta b\nspam\ta c\nham\ta\nham\tc\n", (), "more tags than tokens"),
        ("a.tsv", "Word\tNE-TAG\nAda\tO\nmet\tO\n", (), "give `token_field=Word` and `label_fie"),
        ("a.csv", KAGGLE, (1, 3, 0), "first line .* surely .*: give `token_field=Word` and"),
        ("a.csv", KAGGLE, ("word", "Taag", "#"), "`label_field` must be the number .* its name"),
        ("a.txt", "Ada met Oslo .\nShe did .\n", (), "line 2, .* 3 columns in a sentence of 4"),
        ("a.jsonl", "{}", ("x",), "each token must be a line of CoNLL or a row"),
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
    ],
)
def test_what_only_looks_alike_is_read(tmp_path, text):
    pairs = [[tuple(line.split()) for line in part.split("\n")] for part in text[:-1].split("\n\n")]
    found = read(write(tmp_path, "a.conll", text))
    assert [list(zip(*row, strict=True)) for row in zip(*found, strict=True)] == pairs


def test_a_blank_word_is_a_no_break_space(tmp_path):
    path = write(tmp_path, "a.conll", "\u00a0\tX\n10 000\tY\n")
    assert read(path) == ([["\u00a0", "10\u00a0000"]], [["X", "Y"]])


def test_lines_without_tags(tmp_path):
    path = write(tmp_path, "a.conll", "# id x\nfun\n#fun\n\nfun\n")
    found = read_sentences(path, *DEFAULTS, has_tags=False)
    assert [sentence.tokens for sentence in found] == [["fun", "#fun"], ["fun"]]
    with pytest.raises(ValueError, match="a token and a tag, or be blank. Received: line 2, 'fun'"):
        read(path)


def test_the_lines_of_conllu_take_other_tags(tmp_path):
    rest = "\t_" * 5 + "\tSpaceAfter=No"
    lines = ["# text = Ad's", f"1-2\tAd's\t_\t_{rest}", f"1\tAd\t_\t_{rest}"]
    lines += [f"2\t's\t_\t_{rest}", f"2.1\tx\t_\t_{rest}", "", "# end"]
    path = write(tmp_path, "a.conllu", "\n".join(lines))
    first, last = read_sentences(path, *DEFAULTS, has_tags=False)
    lines[2:4] = f"1\tAd\t_\tX{rest}", f"2\t's\t_\tY{rest}"
    assert [*first.with_tags(["X", "Y"]), "", *last.with_tags([])] == lines
