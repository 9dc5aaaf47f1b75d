"""Files of words with tags (CoNLL-U), and of words with senses (the format of CoarseWSD-20)."""

import json
import pathlib

from keras_elmo.text_files import input_name, read_lines

# The columns of CoNLL-U that hold a tag for each word.
TAG_COLUMNS = {"upos": 3, "xpos": 4, "deprel": 7}


def read_conllu(path, label_field="upos", encoding=None, errors="strict"):
    """Reads the words and the tags of a CoNLL-U file.

    Words of several tokens (`1-2`) and empty nodes (`1.1`) are left out. A space within a word
    becomes a no-break space, so that the word stays one token wherever a text is split.

    Args:
        path: the file.
        label_field: `"upos"`, `"xpos"` or `"deprel"`. `None`: each tag is `"_"`.
        encoding, errors: see `keras_elmo.text_files.decode_lines`.

    Returns:
        A pair of lists with an element for each sentence: its words, and their tags.

    Raises:
        ValueError: the file is not CoNLL-U, or has no such tags.
    """
    if label_field not in (None, *TAG_COLUMNS):
        raise ValueError(
            f"`label_field` must be one of {', '.join(TAG_COLUMNS)}. "
            f"Received: label_field={label_field!r}"
        )
    name, sentences, tags = input_name(path), [[]], [[]]
    for number, line in enumerate(read_lines(path, encoding, errors), start=1):
        if not line.strip():
            if sentences[-1]:
                sentences.append([])
                tags.append([])
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 10:
            raise ValueError(
                f"{name} must be CoNLL-U, with ten columns between tabs. "
                f"Received: {len(fields)} in line {number:,}"
            )
        if fields[0].isdecimal():
            sentences[-1].append(fields[1].replace(" ", "\u00a0"))
            tags[-1].append(fields[TAG_COLUMNS[label_field]] if label_field else "_")
    if not sentences[-1]:
        del sentences[-1], tags[-1]
    if label_field and not any(tag != "_" for row in tags for tag in row):
        raise ValueError(
            f"{name} must hold words with {label_field} tags. Received: a file without any"
        )
    return sentences, tags


def read_senses(folder, part):
    """Reads sentences with an ambiguous word, in the format of CoarseWSD-20.

    `PART.data.txt` has a line for each sentence: the index of the word, a tab, and the tokens
    between spaces. `PART.gold.txt` has its sense in the same line. `classes_map.txt`, if there is
    one, names the senses (JSON).

    Args:
        folder: the folder of one word.
        part: `"train"` or `"test"`.

    Returns:
        Three lists with an element for each sentence: its tokens, the index of the word, and the
        sense, a string.

    Raises:
        ValueError: a file is of another format, or the two differ in their number of lines.
    """
    folder = pathlib.Path(folder)
    names = {}
    if (folder / "classes_map.txt").exists():
        names = json.loads((folder / "classes_map.txt").read_text(encoding="utf-8"))
    data, gold = folder / f"{part}.data.txt", folder / f"{part}.gold.txt"
    sentences, indices = [], []
    for number, line in enumerate(read_lines(data), start=1):
        index, _, text = line.partition("\t")
        tokens = text.split()
        if not index.isdecimal() or int(index) >= len(tokens):
            raise ValueError(
                f"{data} must hold on each line the index of a token, a tab, and the tokens. "
                f"Received: line {number:,}, {line[:60]!r}"
            )
        sentences.append(tokens)
        indices.append(int(index))
    senses = [names.get(sense.strip(), sense.strip()) for sense in read_lines(gold)]
    if len(senses) != len(sentences) or not senses:
        raise ValueError(
            f"{gold} must have a sense for each line of {data.name}. "
            f"Received: {len(senses):,} senses for {len(sentences):,} sentences"
        )
    return sentences, indices, senses
