"""Model cards: a `README.md` with what is known of a model."""

import os

from keras_elmo.files.atomic import replacing_file

CARD_FILE = "README.md"
_CARD = """---
library_name: keras-elmo
tags:
- elmo
---

# {name}

{what}, for the Python package keras-elmo:

```python
import keras_elmo

model = keras_elmo.{kind}.from_pretrained("{name}")  # this folder, or hf://user/name
```

| | |
| --- | --- |
{rows}

## To be added

- The language and the text of the training, how much of it, and the licence of each source.
- How good the model is: a score on a test set that others can repeat, beside a simple baseline.
- What the model does not know, and whom its text may hurt.
- The licence of the weights, and whom to ask. `license:` and `language:` stand at the top, too.
"""


def write_card(folder, model, facts):
    """Writes the card of a model into a folder that has none yet.

    Args:
        folder: path.
        model: the model, whose class is named.
        facts: dict of strings: what is known, by its name. The first is what the model is.
    """
    path = os.path.join(folder, CARD_FILE)
    if os.path.exists(path):
        return
    (_, what), *others = facts.items()
    rows = "\n".join(f"| {name} | {value} |" for name, value in others)
    name = os.path.basename(os.path.abspath(folder))
    with replacing_file(path) as temporary, open(temporary, "w", encoding="utf-8") as file:
        file.write(_CARD.format(name=name, what=what, kind=type(model).__name__, rows=rows))
