"""What a training run must have in common with the run that it is resumed from."""

import dataclasses
import hashlib
import json
import warnings

_STEPS_DECIDE = (
    ". With the schedule {schedule!r}, the learning rate of every step depends on the number of "
    "all steps. To train for longer, begin a new run from the weights of this one"
)


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

    The number of steps may change if the learning rate does not depend on it; a warning says so.

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
    steps, new_steps = before.get("steps"), now["steps"]
    before["epochs"] = now["epochs"]  # it matters for the steps alone
    may_change = now["schedule"] == "constant"
    if may_change:
        before["steps"] = new_steps
    changes = [
        f"{name}: {before.get(name)!r} before, {now.get(name)!r} now"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise ValueError(
            f"The checkpoint in {folder} is of another run; go on with what it was made "
            f"with, or take another folder. {'; '.join(changes)}"
            + ("" if may_change or steps == new_steps else _STEPS_DECIDE.format(**now))
        )
    if steps not in (None, new_steps):
        warnings.warn(
            f"The run in {folder} was begun with {steps:,} steps, and now ends after "
            f"{new_steps:,}. That changes none of its steps, since its learning rate does not "
            "depend on their number",
            stacklevel=3,
        )
