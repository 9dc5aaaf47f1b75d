"""What a training run must have in common with the run that it is resumed from."""

import dataclasses
import hashlib
import json


def run_settings(model, options, corpus, num_replicas, num_steps):
    """The settings of a run, as a dict that a checkpoint holds.

    Args:
        model: a `BiLanguageModel`.
        options: `TrainingOptions`.
        corpus: a `Corpus`.
        num_replicas: int.
        num_steps: int. The last step.
    """
    words = "\n".join(model.vocabulary.words).encode("utf-8", "surrogateescape")
    return {
        **model.config.to_options(),
        **dataclasses.asdict(options),
        "replicas": num_replicas,
        "vocabulary": hashlib.sha256(words).hexdigest(),
        "corpus": file_counts(corpus),
        "steps": num_steps,
    }


def file_counts(corpus):
    """The numbers of sentences and tokens of each file, in lists; `None` for no corpus."""
    return None if corpus is None else [list(pair) for pair in corpus.file_counts()]


def check_same_run(before, now, folder):
    """Refuses to resume a run with other settings than those that it began with.

    Args:
        before: dict. The settings in the checkpoint.
        now: dict. The settings of the run that is to go on from it.
        folder: path, which the error names.

    Raises:
        ValueError: a setting has changed; every such setting is named.
    """
    now = json.loads(json.dumps(now))  # as they would be read from a checkpoint
    # Before 0.2.0 there was no other way.
    before = {"optimizer": "adagrad", "bfloat16_products": False, **before}
    if now["schedule"] == "constant":  # The run may go on for longer.
        before = {**before, "epochs": now["epochs"], "steps": now["steps"]}
    changes = [
        f"{name}: {before.get(name)!r} before, {now.get(name)!r} now"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise ValueError(
            f"The checkpoint in {folder} is of another run; go on with what it was made "
            f"with, or take another folder. {'; '.join(changes)}"
        )
