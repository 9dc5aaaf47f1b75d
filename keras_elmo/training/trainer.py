"""`Trainer`: trains a biLM on a corpus, with checkpoints."""

import contextlib
import math
import os

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_integers
from keras_elmo.process.signals import check_signals, noted_signal, noting_signals
from keras_elmo.training.checkpoints import (
    Checkpoints,
    check_same_run,
    corpus_settings,
    run_settings,
)
from keras_elmo.training.corpus import check_texts
from keras_elmo.training.evaluation import evaluate
from keras_elmo.training.events import event_log
from keras_elmo.training.language_model import perplexities
from keras_elmo.training.stream import Stream, read_ahead
from keras_elmo.training.training_step import TrainingStep

CHECKPOINTS = "checkpoints"
_LOGS = "logs"


class Trainer:
    """Trains a `BiLanguageModel` on a corpus, by truncated back-propagation.

    It trains on one device. Everything random follows from the seed and the step, so that a run
    that is resumed from a checkpoint is the run that it would have been.

    Args:
        model: a `BiLanguageModel`. `initialize` it first, unless it is pretrained.
        corpus: a `Corpus`.
        options: `TrainingOptions`.
        folder: path of a folder for checkpoints, logs (TensorBoard's) and the model: the one with
            the best perplexity of `heldout`, or the last. `None` keeps nothing.
        heldout: a `Corpus`, or `None`.
        steps: int. The number of steps of the whole run. `None`: as many as `options.epochs` need.
        checkpoint_every, evaluate_every: int. The number of steps from one checkpoint to the next,
            and from one evaluation of `heldout` to the next.

    Raises:
        ValueError: the corpus does not fill a batch, `heldout` does not fill a window, or the
            vocabulary is too small for the negative samples.

    Reference: `train` in bilm-tf's bilm/training.py.
    """

    def __init__(
        self,
        model,
        corpus,
        options,
        folder=None,
        heldout=None,
        steps=None,
        checkpoint_every=500,
        evaluate_every=2000,
    ):
        check_integers(1, checkpoint_every=checkpoint_every, evaluate_every=evaluate_every)
        if steps is not None:
            check_integers(1, steps=steps)
        self.model, self.corpus = model, corpus
        self.options = options = options.for_vocabulary(len(model.vocabulary))
        self.folder = None if folder is None else os.fspath(folder)
        self.heldout = heldout
        self.checkpoint_every, self.evaluate_every = checkpoint_every, evaluate_every
        lanes = options.batch_size, options.unroll_steps
        self.tokens_per_step = math.prod(lanes)
        check_texts(corpus, heldout, options)
        num_targets = sum(corpus.counts())  # every token, and the end of every sentence
        self.num_steps = steps or math.ceil(options.epochs * num_targets / self.tokens_per_step)
        self.stream = Stream(model.vocabulary, *lanes, options.num_negatives, options.seed)
        self.training_step = TrainingStep(model, options)
        self.state = model.bilm.zero_state(options.batch_size)  # of every lane
        self.step = 0
        self.last_checkpoint_step = None
        self.last_evaluation_step = 0
        self.best_perplexity = math.inf  # the lowest one of the held-out text

    def run(self, report=None):
        """Trains to the last step.

        Args:
            report: `None`, or a function that is called after each step with a dict: `"step"`,
                `"loss"` (nats, the mean of both directions), `"forward"`, `"backward"` and
                `"perplexity"`, `"norm"` (of the gradients), `"learning_rate"`; and after an
                evaluation of `heldout` also `"evaluation"`, the result of `evaluate`.

        Returns:
            The best perplexity of `heldout`, or `inf` without one.

        Raises:
            Interrupted: SIGINT or SIGTERM came. The message says what was kept.
            FloatingPointError: the loss or the gradients are no longer finite.
            OSError: a checkpoint could not be written.
        """
        self.model.has_softmax = True
        log_folder = None if self.folder is None else os.path.join(self.folder, _LOGS)
        order_seed = self.options.seed if self.options.shuffle else None
        batches = self.stream.training_batches(self.corpus, order_seed, self.step)
        batches = contextlib.closing(read_ahead(batches))
        with event_log(log_folder) as log, noting_signals(), batches as batches:
            if self._is_evaluation_due():  # The run before was stopped during this evaluation.
                self._evaluate()
            if self.step < self.num_steps:
                self.training_step.trace(self.stream.training_specs(), self.state)
                self._check_signals()
            while self.step < self.num_steps:
                metrics = self._train_one_step(next(batches))
                must_stop = noted_signal() is not None
                must_evaluate = self._is_evaluation_due() and not must_stop
                is_last = self.step == self.num_steps
                is_regular = self.step % self.checkpoint_every == 0
                if must_stop or must_evaluate or is_last or is_regular:
                    self.save()
                if must_evaluate:
                    metrics["evaluation"] = self._evaluate()
                log(metrics)
                if report is not None:
                    report(metrics)
                if must_stop:
                    self._check_signals()
            if self.heldout is None:
                self._save_model()
        return self.best_perplexity

    def _check_signals(self, *_):
        step = self.last_checkpoint_step
        resume = f"resume from the checkpoint of step {step} with --resume"
        check_signals("nothing was kept" if step is None else resume)

    def _train_one_step(self, batch):
        """Returns the metrics of the step, see `run`."""
        batch = tf.nest.map_structure(tf.constant, batch)
        learning_rate = self.options.learning_rate_at(self.step, self.num_steps)
        rate = tf.constant(learning_rate, tf.float32)
        losses, norm, self.state = self.training_step(batch, self.state, rate)
        self.step += 1
        metrics = {
            "step": self.step,
            "loss": float(np.mean(losses)),
            **perplexities(*losses.numpy().tolist()),
            "norm": float(norm),
            "learning_rate": learning_rate,
        }
        if not np.isfinite([metrics["loss"], metrics["norm"]]).all():
            raise FloatingPointError(
                f"At step {self.step} the loss is {metrics['loss']}, and the norm of the gradients "
                f"{metrics['norm']}. Begin again with a smaller learning rate, or with warm-up"
            )
        return metrics

    def _is_evaluation_due(self):
        if self.heldout is None or self.step in (0, self.last_evaluation_step):
            return False
        return self.step >= self.num_steps or self.step % self.evaluate_every == 0

    def _evaluate(self):
        lanes = self.options.batch_size, self.options.unroll_steps
        sentences = self.heldout.sentences()
        result = evaluate(self.model, sentences, *lanes, self._check_signals)
        self.last_evaluation_step = self.step
        if result["perplexity"] < self.best_perplexity or self.best_perplexity == math.inf:
            self.best_perplexity = result["perplexity"]
            self._save_model()
        self.save()
        return result

    def _save_model(self):
        if self.folder is not None:
            self.model.save_pretrained(self.folder)

    def save(self):
        """Writes a checkpoint, if there is a folder."""
        if self.folder is None:
            return
        progress = {
            "step": self.step,
            "evaluated": self.last_evaluation_step,
            "best": self.best_perplexity,
            "heldout": corpus_settings(self.heldout),
            "run": run_settings(self),
        }
        self._checkpoints().write(self.step, progress, self.state)
        self.last_checkpoint_step = self.step

    def restore(self):
        """Resumes from the last checkpoint. Returns whether there was one.

        Raises:
            ValueError: it is of a run with other options, vocabulary or corpus; or of another
                number of steps, and the learning rate depends on it. (Else a warning says so.)
        """
        progress = None if self.folder is None else self._checkpoints().read_progress()
        if progress is None:
            return False
        check_same_run(progress["run"], run_settings(self), self.folder)
        dtype = self.model.bilm.compute_dtype
        state = self._checkpoints().restore(len(self.state))
        self.state = [tf.cast(array, dtype) for array in state]
        self.step = self.last_checkpoint_step = progress["step"]
        if progress["heldout"] == corpus_settings(self.heldout):
            self.last_evaluation_step = progress["evaluated"]
            self.best_perplexity = progress["best"]
        return True

    def _checkpoints(self):
        step = self.training_step
        folder = os.path.join(self.folder, CHECKPOINTS)
        return Checkpoints(folder, [*step.variables, *step.optimizer.accumulators])
