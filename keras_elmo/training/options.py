"""`TrainingOptions`: how a biLM is trained, and its spelling in options.json."""

import dataclasses
import math

from keras_elmo.checks import (
    check_choice,
    check_clips,
    check_dropout,
    check_integers,
    check_positive,
    to_python_numbers,
)
from keras_elmo.config import ElmoConfig, read_options_file
from keras_elmo.models.kernel_rounding import MATMUL_DTYPES
from keras_elmo.training.optimizer import OPTIMIZERS

SCHEDULES = ("constant", "linear", "cosine")
DTYPES = ("float32", "mixed_bfloat16")
NUM_NEGATIVES = 1024  # if the vocabulary is large enough; the original's script has 8,192
# The keys of options.json, and the arguments that they stand for.
_KEYS = {
    **{name: name for name in ("batch_size", "unroll_steps", "dropout", "learning_rate")},
    "all_clip_norm_val": "clip_norm",
    "n_negative_samples_batch": "num_negatives",
    "n_epochs": "epochs",
}


@dataclasses.dataclass(frozen=True)
class TrainingOptions:
    """How a biLM is trained.

    Args:
        batch_size: int. The number of lanes of text (the rows of a batch).
        unroll_steps: int. The number of tokens of a window, through which gradients flow.
        dropout: float, from 0, below 1. The share of what each layer and the softmax read that is
            set to zero.
        optimizer: `"adagrad"`, the original's, or `"adam"`.
        learning_rate: positive float; or `None`: 0.2 for Adagrad, 0.001 for Adam.
        clip_norm: positive float or `None`. The largest norm of all gradients together.
        num_negatives: int, at most half of the vocabulary's words. The number of samples of the
            softmax for each direction and batch. 0 is the full softmax. `None` is 1,024, or half of
            the words if that is less.
        epochs: positive float. How many times the corpus is read.
        schedule: `"constant"`; or `"linear"` or `"cosine"`: the learning rate falls to zero.
        warmup_steps: int. The number of steps over which the learning rate rises at first.
        shuffle: bool. Whether the sentences are read in another order in each epoch, or in the
            order of the files, as by default in the original.
        zero_starts: bool. Whether a sentence at the start of a window starts from a zero state, as
            sentences that are embedded do. The original always carries the state on.
        dtype: `"float32"`, or `"mixed_bfloat16"`, whose weights, softmax and sums stay float32.
        matmul_dtype: `None`, or `"bfloat16"` for the products of matrices alone, see `Elmo`.
        seed: int. The seed of the weights, the order of sentences, dropout and samples.

    Raises:
        ValueError: a value is out of range.

    Reference: options of bilm-tf's bin/train_elmo.py.
    """

    batch_size: int = 32
    unroll_steps: int = 20
    dropout: float = 0.1
    optimizer: str = "adagrad"
    learning_rate: float | None = None
    clip_norm: float | None = 10.0
    num_negatives: int | None = None
    epochs: float = 10
    schedule: str = "constant"
    warmup_steps: int = 0
    shuffle: bool = True
    zero_starts: bool = True
    dtype: str = "float32"
    matmul_dtype: str | None = None
    seed: int = 0

    def __post_init__(self):
        check_choice(tuple(OPTIMIZERS), optimizer=self.optimizer)
        if self.learning_rate is None:
            object.__setattr__(self, "learning_rate", OPTIMIZERS[self.optimizer].LEARNING_RATE)
        for name, value in vars(self).items():
            object.__setattr__(self, name, to_python_numbers(value))
        check_integers(1, batch_size=self.batch_size, unroll_steps=self.unroll_steps)
        check_dropout(self.dropout)
        check_positive(learning_rate=self.learning_rate, epochs=self.epochs)
        check_clips(clip_norm=self.clip_norm)
        if self.num_negatives is not None:
            check_integers(0, num_negatives=self.num_negatives)
        check_choice(SCHEDULES, schedule=self.schedule)
        check_integers(0, warmup_steps=self.warmup_steps, seed=self.seed)
        check_choice((True, False), shuffle=self.shuffle, zero_starts=self.zero_starts)
        check_choice(DTYPES, dtype=self.dtype)
        check_choice(MATMUL_DTYPES, matmul_dtype=self.matmul_dtype)

    def for_vocabulary(self, num_words):
        """The options with a `num_negatives` that fits so many words, or a `ValueError`."""
        max_negatives = num_words // 2
        if self.num_negatives is None:
            return dataclasses.replace(self, num_negatives=min(NUM_NEGATIVES, max_negatives))
        if self.num_negatives > max_negatives:
            raise ValueError(
                f"`num_negatives` must be at most {max_negatives:,}, half of the vocabulary's "
                f"words; 0 is the full softmax. Received: num_negatives={self.num_negatives}"
            )
        return self

    def learning_rate_at(self, step, num_steps):
        """The learning rate of a step (from 0)."""
        if step < self.warmup_steps:
            return self.learning_rate * (step + 1) / self.warmup_steps
        share_done = (step - self.warmup_steps) / max(1, num_steps - self.warmup_steps)
        factor = {
            "constant": 1.0,
            "linear": 1 - share_done,
            "cosine": (1 + math.cos(math.pi * share_done)) / 2,
        }[self.schedule]
        return self.learning_rate * factor


def read_options(path):
    """Reads an options.json as the original trainer takes it, with keys of model and training.

    Returns:
        The `ElmoConfig`; a dict of those arguments of `TrainingOptions` that the file has; and the
        vocabulary's size, int, or `None` if the file does not have it.
    """
    options = read_options_file(path)
    config = ElmoConfig.from_options(options, path)
    known = {name: options[key] for key, name in _KEYS.items() if key in options}
    if options.get("sample_softmax") is False:
        known["num_negatives"] = 0
    return config, known, options.get("n_tokens_vocab")
