"""Model cards: a `README.md` with what is known of a model."""

import os

from keras_elmo.files.atomic import replacing_file

CARD_FILE = "README.md"
_BEGIN, _END = "<!-- keras-elmo: each save writes this part anew -->", "<!-- keras-elmo: end -->"
_CARD = f"""---
library_name: keras-elmo
tags: [elmo]
---

# {{title}}

{_BEGIN}

{{facts}}

{_END}

To be added: the language and the text of the training, with the licence of each source; a score
that others can repeat, beside a simple baseline; limits; the licence of the weights; whom to ask.
"""
_FACTS = """{what}, for the Python package keras-elmo:

```python
{code}
```

| | |
| --- | --- |
{rows}"""


def write_card(folder, model, name=None):
    """Writes the card of a model, or refreshes the facts of a card that this function wrote.

    The code on it loads the model by `name`, or else by the folder's name. The first of
    `model.facts()` says what the model is.
    """
    path, title = os.path.join(folder, CARD_FILE), os.path.basename(os.path.abspath(folder))
    (_, what), *others = model.facts().items()
    cells = {key: " ".join(value.split()).replace("|", r"\|") for key, value in others}
    rows = "\n".join(f"| {key} | {cell} |" for key, cell in cells.items())
    facts = _FACTS.format(what=what, code=model.loading_code(name or title), rows=rows)
    card = _CARD.format(title=title, facts=facts)
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            card = file.read()
        before, begin, rest = card.partition(_BEGIN)
        _, end, after = rest.partition(_END)
        if not end:
            return  # a card that others wrote
        card = f"{before}{begin}\n\n{facts}\n\n{end}{after}"
    with replacing_file(path) as temporary:
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(card)
