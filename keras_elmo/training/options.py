"""The settings of a training: in options.json, and as arguments of `compile` and `fit`."""

from keras_elmo import checks
from keras_elmo.config import ElmoConfig, read_options_file

NUM_NEGATIVES = 1024  # if the vocabulary is large enough; the original's script has 8,192
# The keys of options.json, and the settings that they stand for.
_KEYS = {
    **{name: name for name in ("batch_size", "unroll_steps", "dropout", "learning_rate")},
    "all_clip_norm_val": "clip_norm",
    "n_negative_samples_batch": "num_negatives",
    "n_epochs": "epochs",
}


def read_options(path):
    """Reads an options.json as the original trainer takes it, with keys of model and training.

    Returns:
        The `ElmoConfig`; a dict of the settings that the file has, by the names of the arguments of
        `BiLanguageModel.compile` and `fit`, with `"learning_rate"` and `"clip_norm"` of the
        optimizer; and the vocabulary's size, int, or `None` if the file does not have it.

    Raises:
        ValueError: a value is out of range.
    """
    options = read_options_file(path)
    config = ElmoConfig.from_options(options, path)
    known = {name: options[key] for key, name in _KEYS.items() if key in options}
    if options.get("sample_softmax") is False:
        known["num_negatives"] = 0
    check_settings(known)
    return config, known, options.get("n_tokens_vocab")


def check_settings(settings):
    """Refuses settings, a dict, that are out of range."""

    def given(*names):
        return {name: settings[name] for name in names if settings.get(name) is not None}

    checks.check_dropout(settings.get("dropout", 0.0))
    checks.check_integers(1, **given("batch_size", "unroll_steps"))
    checks.check_integers(0, **given("warmup_steps", "seed"))
    checks.check_positive(**given("learning_rate", "epochs"))
    checks.check_clips(**given("clip_norm"))


def fitting_negatives(num_negatives, num_words):
    """The number of samples of the softmax for a vocabulary; `None` is a usual one that fits."""
    limit = num_words // 2
    if num_negatives is None:
        return min(NUM_NEGATIVES, limit)
    checks.check_integers(0, num_negatives=num_negatives)
    if num_negatives > limit:
        raise ValueError(
            "`num_negatives` (in options.json: n_negative_samples_batch) must be at most "
            f"{limit:,}, half of the vocabulary's words; 0 is the full softmax. Received: "
            f"num_negatives={num_negatives}"
        )
    return num_negatives
