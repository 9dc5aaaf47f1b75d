"""docs/labels.md says how files in common layouts are read: its table is made here."""

import re
import shlex

import pytest
from code_blocks import ROOT

from keras_elmo_cli import classify, tag
from keras_elmo_cli.inputs import read_records
from keras_elmo_cli.main import make_parser
from keras_elmo_cli.options import as_typed

TAG, LABEL, CLASSIFY, EMBED = "tag evaluate", "tag label", "classify evaluate", "embed"
# The layout, its file, what reads it, the options that are right, and what then comes.
LAYOUTS = [
    ("GermEval 2014", "germeval_like.tsv", TAG, "--token-field 1 --label-field 2",
     "Anna/B-PER lebt/O in/O Oslo/B-LOC ./O Ben/B-PER liest/O"),
    ("Universal NER (`.iob2`)", "uner_like.iob2", TAG, "--token-field 1 --label-field 2",
     "Anna/B-PER bor/O i/O Oslo/B-LOC ./O"),
    ("CoNLL-X, CoNLL 2009", "conll_x.conll", TAG, "--token-field 1 --label-field 3",
     "The/DET cat/NOUN sat/VERB"),
    ("OntoNotes (CoNLL 2012)", "ontonotes_like.gold_conll", TAG,
     "--token-field 3 --label-field 4", "Anna/NNP sings/VBZ"),
    ("CoNLL-U Plus", "plus.conllup", TAG, "", "Anna/B-PER lives/O"),
    ("WebAnno TSV", "webanno.tsv", TAG, "--token-field 2 --label-field 3",
     "Anna/PER lives/_ ./_"),
    ("Kaggle's `ner_dataset.csv`", "kaggle_ner_dataset.csv", TAG,
     "--token-field Word --label-field Tag --sentence-field 'Sentence #' --encoding latin-1",
     'Anna/B-per lives/O in/O Oslo/B-geo Ben/B-per said\u00a0"no"/O'),
    ("lists in cells of CSV", "kaggle_ner_lists.csv", TAG, "--field Sentence --label-field Tag",
     "Anna/B-per lives/O in/O Oslo/B-geo"),
    ("WikiNER: each word with its tags", "wikiner.txt", TAG, "",
     "Anna/I-PER Berg/I-PER lives/O in/O Oslo/I-LOC ./O Ben/I-PER sings/O ./O"),
    ("`B`, `I`, `O` without types", "bio_without_types.tsv", TAG, "",
     "Acute/B leukemia/I is/O rare/O ./O Asthma/B is/O not/O ./O"),
    ("a tab at the end of each line", "trailing_tab.tsv", TAG, "", "Anna/B-PER lives/O"),
    ("ends of lines of old Macs", "mac_line_ends.txt", TAG, "",
     "Anna/B-PER lives/O Oslo/B-LOC"),
    ("doccano's spans", "doccano_spans.jsonl", TAG, "--field text --label-field label",
     "Anna/B-PER lives/O in/O Oslo/B-LOC ./O"),
    ("doccano's spans, as objects", "doccano_entities.jsonl", TAG,
     "--field text --label-field entities", "Anna/B-PER lives/O in/O Oslo/B-LOC ./O"),
    ("brat (`.ann`, `.txt`)", "brat.ann", TAG, "",
     "Anna/B-PER Berg/I-PER lives/O in/O Oslo/B-LOC ./O"),
    ("PubTator", "pubtator.txt", TAG, "--format pubtator",
     "Famotidine/B-Chemical and/O delirium/B-Disease ./O A/O case/O was/O seen/O ./O"),
    ("UCI's SMS: a label, then its text", "sms_label_first.tsv", CLASSIFY,
     "--field 1 --label-field 0",
     "see you at nine/ham WIN a prize, call now/spam ok/ham are you home ?/ham free ringtone/spam"),
    ("a JSON array", "array.json", CLASSIFY, "--field text --label-field label",
     "a fine film/good a mess/bad"),
    ("doccano's classes", "doccano_classes.jsonl", CLASSIFY, "--field text --label-field label",
     "a fine film/good a mess/bad"),
    ("no tags", "untagged.conll", LABEL, "", "We book rooms . She sleeps ."),
    ("CoNLL-U without tags", "untagged.conllu", LABEL, "", "We book rooms ."),
    ("CoNLL-U with a blank word", "space_word.conllu", TAG, "", "One/NUM \u00a0/X cat/NOUN"),
    ("fastText, TREC", "fasttext.txt", CLASSIFY, None, ""),
    ("FASTA", "noid.fasta", EMBED, "", "MKT AA GG "),
    ("FASTA with numbers", "genpept_like.fasta", EMBED, "", "mktayiakqrqisfvkshfsrqle*"),
    ("FASTQ", "fastq.fastq", EMBED, None, ""),
    # Not in the table.
    ("", "only_i.txt", TAG, "", "Anna/I-PER Berg/I-PER met/O Ben/I-PER ./O"),
    ("", "bmes.txt", TAG, "", "张/B-NAME 小/M-NAME 明/E-NAME 在/O 京/S-LOC"),
    ("", "brat.txt", TAG, "", "Anna/B-PER Berg/I-PER lives/O in/O Oslo/B-LOC ./O"),
    ("", "mac_line_ends.fasta", EMBED, "", "MKTAY GG"),
    ("", "trec.label", CLASSIFY, None, ""),
]  # fmt: skip


def read(path, command, typed):
    """What a command reads, on one line; or an option that its error names."""
    output = ["-o", "a.npz"] if command == EMBED else []
    line = [*command.split(), str(path), "-m", "pos", *output, *shlex.split(typed)]
    options = make_parser().parse_args(line)
    try:
        if command == EMBED:
            return " ".join(read_records(options, str(path)))
        if command == LABEL:
            ((texts, _),) = tag._batches(options)
            return " ".join(token for row in texts for token in row)
        pair = (tag if command == TAG else classify).TASK.read(options, str(path), "treebank")
    except ValueError as error:
        message = as_typed(str(error), options.parser.option_names())
        return f"refused: `{max(re.findall('--[a-z-]+', message), key='--token-field'.__eq__)}`"
    if command == TAG:
        pair = ([x for row in rows for x in row] for rows in pair)
    return " ".join(map("/".join, zip(*pair, strict=True)))


@pytest.mark.filterwarnings("ignore:Sequences should be capitals", "ignore:Each record of FASTA")
def test_the_table_of_layouts(shared):
    rows = []
    for layout, name, command, typed, right in LAYOUTS:
        path = shared / "inputs/labels" / name
        without = read(path, command, "")
        assert without == right if typed == "" else without.startswith("refused: `-")
        if typed:
            assert read(path, command, typed) == right
        shown = f"`{typed}`" if typed else "none" if typed == "" else "see below"
        if layout:
            rows.append(f"| {layout} | {shown} | {without if typed != '' else 'read'} |\n")
    names = {path.name for path in shared.glob("inputs/labels/*")}
    assert names == {"README.md", *(name for _, name, *_ in LAYOUTS)}
    page = (ROOT / "docs/labels.md").read_text(encoding="utf-8")
    assert "| --- | --- | --- |\n" + "".join(rows) in page, "".join(rows)
