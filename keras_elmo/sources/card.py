"""Model cards: a `README.md` with what is known of a model."""

import os

from keras_elmo.files.atomic import replacing_file

CARD_FILE = "README.md"
_CARD = """---
library_name: keras-elmo
tags: [elmo]
---

# {name}

{what}, for the Python package keras-elmo. `{name}` is this folder, or `hf://user/name`:

```python
model = keras_elmo.{kind}.from_pretrained("{name}")
```

| | |
| --- | --- |
{rows}

To be added: the language and the text of the training, with the licence of each source; a score
that others can repeat, beside a simple baseline; limits; the licence of the weights; whom to ask.
"""


def write_card(folder, model, facts):
    """Writes the card of a model into a folder that has none yet.

    `facts` is a dict of strings: what is known, by its name. The first says what the model is.
    """
    path = os.path.join(folder, CARD_FILE)
    if not os.path.exists(path):
        (_, what), *others = facts.items()
        cells = {key: " ".join(value.split()).replace("|", r"\|") for key, value in others}
        rows = "\n".join(f"| {key} | {cell} |" for key, cell in cells.items())
        name = os.path.basename(os.path.abspath(folder))
        with replacing_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
            file.write(_CARD.format(name=name, what=what, kind=type(model).__name__, rows=rows))
