"""`Trainer`: truncated back-propagation through a corpus, with checkpoints."""

import dataclasses
import hashlib
import json
import math
import os

import numpy as np
import tensorflow as tf

from keras_elmo.models.language_model import perplexities
from keras_elmo.training.dataset import Stream
from keras_elmo.training.evaluation import evaluate
from keras_elmo.training.events import event_log
from keras_elmo.training.optimizer import add_up, clip, make_optimizer
from keras_elmo.training.progress import PROGRESS_KEY, Progress
from keras_elmo.training.signals import StopSignals

_CHECKPOINTS = "checkpoints"
_LOGS = "logs"


class Trainer:
    """Trains a `BiLanguageModel` on a corpus.

    With a `tf.distribute` strategy the model and the trainer are made in its scope, and `run` is
    called outside of it. Everything random follows from the seed and the step, so that a run that
    goes on from a checkpoint is the run that it would have been.

    Args:
        model: a `BiLanguageModel`. `initialize` it first, unless it is pretrained.
        corpus: a `Corpus`.
        options: `TrainingOptions`.
        folder: path, or `None` to keep nothing. For checkpoints, logs (TensorBoard's), and the
            model: the best one by the perplexity of `heldout`, or the last.
        heldout: a `Corpus`, or `None`.
        steps: int, or `None`: as many as `options.epochs` are.
        checkpoint_every: int. Steps from one checkpoint to the next.
        evaluate_every: int. Steps from one evaluation of `heldout` to the next.

    Raises:
        ValueError: the corpus has less than one batch of windows, `heldout` less than one window,
            or there are too many negative samples for the vocabulary.

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
        self.model, self.corpus = model, corpus
        self.options = options = options.for_vocabulary(len(model.vocabulary))
        self.folder = None if folder is None else os.fspath(folder)
        self.heldout = heldout
        self.checkpoint_every, self.evaluate_every = checkpoint_every, evaluate_every
        self.strategy = tf.distribute.get_strategy()
        self.num_replicas = self.strategy.num_replicas_in_sync
        self.tokens_per_step = options.batch_size * options.unroll_steps * self.num_replicas
        self._check()
        positions = sum(corpus.counts())  # each token, and the end of each sentence
        self.steps = steps or math.ceil(options.epochs * positions / self.tokens_per_step)
        self.stream = Stream(
            model.vocabulary,
            options.batch_size,
            options.unroll_steps,
            options.num_negatives,
            options.seed,
        )
        self._variables = [variable.value for variable in model.trainable_variables]
        self.optimizer = make_optimizer(options.optimizer, self._variables)
        self._state = self._zero_state()
        self.step = 0
        self.saved = None  # the last checkpoint's step
        self.evaluated = 0  # the step of the last evaluation
        self.best = math.inf  # perplexity
        self._train_step = tf.function(
            self._distributed_step, reduce_retracing=True, autograph=False
        )
        self._stop = StopSignals(self._kept)

    def _check(self):
        options = self.options
        sentences, tokens = self.corpus.counts()
        if tokens + sentences < self.tokens_per_step:
            raise ValueError(
                f"The corpus must fill a batch, {self.num_replicas} x {options.batch_size} lanes "
                f"of {options.unroll_steps} tokens, {self.tokens_per_step:,} with sentence ends. "
                f"Received: {tokens:,} tokens in {sentences:,} sentences. Make `batch_size` or "
                "`unroll_steps` smaller, or the corpus larger"
            )
        if self.heldout is not None:
            sentences, tokens = self.heldout.counts()
            if tokens + sentences < options.unroll_steps:
                raise ValueError(
                    f"The held-out text must have at least a window, {options.unroll_steps} "
                    f"tokens. Received: {tokens:,}"
                )

    # A step

    def _zero_state(self):
        return self._of_each_replica(lambda _: self.model.bilm.zero_state(self.options.batch_size))

    def _of_each_replica(self, function):
        """A value of each replica of this process, by its number among all."""
        return self.strategy.experimental_distribute_values_from_function(
            lambda context: function(context.replica_id_in_sync_group)
        )

    def _distributed_step(self, batch, state, rate, stop):
        return self.strategy.run(self._replica_step, args=(batch, state, rate, stop))

    def _replica_step(self, batch, state, rate, stop):
        options = self.options
        replica = tf.distribute.get_replica_context()
        seed = [options.seed, replica.replica_id_in_sync_group]
        seed = tf.random.experimental.stateless_fold_in(seed, batch["step"])

        def drop(x, place):
            if not options.dropout:
                return x
            number = 2 * place[0] + place[1]
            folded = tf.random.experimental.stateless_fold_in(seed, number)
            return tf.nn.experimental.stateless_dropout(x, options.dropout, folded)

        if options.zero_starts:
            state = [tf.where(batch["begins"][:, None], tf.zeros_like(x), x) for x in state]
        with tf.GradientTape() as tape:
            outputs, state = self.model.read_windows(
                batch["words"], batch["inputs"], state, dropout=drop, training=True
            )
            losses = []
            for direction, output in enumerate(tf.unstack(outputs)):
                output = drop(output, (self.model.config.num_layers, direction))
                samples = [
                    batch[name][direction] for name in ("negatives", "tries") if name in batch
                ]
                loss = self.model.softmax.loss(
                    tf.reshape(output, (-1, output.shape[-1])),
                    tf.reshape(batch["targets"][direction], [-1]),
                    *samples,
                )
                losses.append(tf.reduce_mean(loss))
            # As the original: the sum over a window's steps, the mean of lanes and directions.
            objective = options.unroll_steps * sum(losses) / 2
        gradients = tape.gradient(objective, self._variables)
        losses = tf.stack(losses)
        if self.num_replicas > 1:
            gradients = replica.all_reduce(tf.distribute.ReduceOp.MEAN, gradients)
            losses = replica.all_reduce(tf.distribute.ReduceOp.MEAN, losses)
            # Where one process was told to stop, all stop after the same step.
            stop = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.identity(stop))
        gradients, norm = clip([add_up(g) for g in gradients], options.clip_norm)
        self.optimizer.apply(gradients, rate)
        return losses, norm, stop, state

    # A run

    def run(self, report=None):
        """Trains to the last step.

        Args:
            report: `None`, or a function that is called after each step with a dict: `"step"`,
                `"loss"` (nats, of both directions), `"perplexity"`, `"norm"` (of the gradients),
                `"learning_rate"`; and after an evaluation also `"heldout"`, the result of
                `evaluate`.

        Returns:
            The best perplexity of `heldout`, or `inf` without one.

        Raises:
            Interrupted: SIGINT or SIGTERM came; the state is in a checkpoint.
            FloatingPointError: the loss or the gradients are no longer finite.
            OSError: a checkpoint could not be written.
            RuntimeError: it is called in the scope of a strategy.
        """
        if tf.distribute.has_strategy():
            raise RuntimeError("`run` must be called outside of the strategy's scope")
        streams = [iter(self._batches(shard)) for shard in self._local_replicas()]
        first = self._local_replicas()[0]
        self.model.has_softmax = True
        is_logged = self.folder is not None and self.is_chief()
        folder = os.path.join(self.folder, _LOGS) if is_logged else None
        with event_log(folder) as log, self._stop:
            if self._is_evaluation_due():  # it was broken off
                self._evaluate()
            if self.step < self.steps:
                self._trace()
            while self.step < self.steps:
                batch = self._of_each_replica(lambda k: next(streams[k - first]))
                rate = self.options.rate(self.step, self.steps)
                told = float(self._stop.is_set())
                losses, norm, told, self._state = self._train_step(
                    batch, self._state, tf.constant(rate, tf.float32), tf.constant(told)
                )
                losses, norm, told = (self._local(x).numpy() for x in (losses, norm, told))
                self.step += 1
                figures = {
                    "step": self.step,
                    "loss": float(np.mean(losses)),
                    **perplexities(*map(float, losses)),
                    "norm": float(norm),
                    "learning_rate": rate,
                }
                if not np.isfinite([figures["loss"], figures["norm"]]).all():
                    raise FloatingPointError(
                        f"At step {self.step} the loss is {figures['loss']}, and the norm of the "
                        f"gradients {figures['norm']}. Begin again with a smaller learning rate, "
                        "or with warm-up steps"
                    )
                must_stop = bool(told) if self.num_replicas > 1 else self._stop.is_set()
                is_evaluated = self._is_evaluation_due() and not must_stop
                is_saved = must_stop or is_evaluated or self.step == self.steps
                if is_saved or self.step % self.checkpoint_every == 0:
                    self.save()
                if is_evaluated:
                    figures["heldout"] = self._evaluate()
                log(figures)
                if report is not None:
                    report(figures)
                if must_stop:
                    raise self._stop.error()
            if self.heldout is None:
                self._save_model()
        return self.best

    def _trace(self):
        """Traces the step, which takes seconds, in which a signal raises at once."""
        if not isinstance(self._state[0], tf.Tensor):
            return  # the values of several replicas have no specs: their first step traces it
        batch, number = self._batches(0).element_spec, tf.TensorSpec((), tf.float32)
        with self._stop.raising():
            self._train_step.get_concrete_function(batch, self._state, number, number)

    def _is_evaluation_due(self):
        if self.heldout is None or self.step in (0, self.evaluated):
            return False
        return self.step >= self.steps or self.step % self.evaluate_every == 0

    def _kept(self):
        if self.saved is None:
            return "nothing was kept"
        return f"go on from the checkpoint of step {self.saved} with --resume"

    def _batches(self, shard):
        seed = self.options.seed if self.options.shuffle else None
        return self.stream.training(self.corpus, seed, shard, self.num_replicas, self.step)

    def _local(self, value):
        """A value of the first replica of this process."""
        return self.strategy.experimental_local_results(value)[0]

    def _local_replicas(self):
        numbers = []
        self._of_each_replica(lambda number: numbers.append(number) or tf.zeros(()))
        return numbers

    def is_chief(self):
        """Whether this process writes the files: of several workers, the first."""
        return 0 in self._local_replicas()

    def _evaluate(self):
        def check_signals(_):
            # Several processes evaluate each by itself: they stop together, after their next step.
            if self._stop.is_set() and self.num_replicas == 1:
                raise self._stop.error()

        result = evaluate(
            self.model,
            self.heldout.sentences(),
            self.options.batch_size,
            self.options.unroll_steps,
            check_signals,
        )
        self.evaluated = self.step
        if result["perplexity"] < self.best or self.best == math.inf:
            self.best = result["perplexity"]
            self._save_model()
        self.save()
        return result

    def _save_model(self):
        if self.folder is not None and self.is_chief():
            self.model.save_pretrained(self.folder)

    # Checkpoints

    def save(self):
        """Writes a checkpoint; the one before it is kept until then."""
        if self.folder is None:
            return
        state = self._gather_state()
        if not self.is_chief():
            self.saved = self.step
            return
        progress = {
            "step": self.step,
            "evaluated": self.evaluated,
            "best": self.best,
            "heldout": _counts(self.heldout),
            "run": self._described(),
        }
        checkpoint = self._checkpoint(Progress(progress, [x.numpy() for x in state]))
        prefix = os.path.join(self.folder, _CHECKPOINTS)
        try:
            # Before an evaluation and after it: under another name, for files are not overwritten.
            name = "evaluated" if self.evaluated == self.step else "ckpt"
            manager = tf.train.CheckpointManager(checkpoint, prefix, 2, checkpoint_name=name)
            manager.save(self.step)
        except (OSError, tf.errors.OpError) as error:
            raise OSError(
                f"The checkpoint of step {self.step} could not be written to {prefix}: {error}. "
                "Make room, and go on from the one before it with --resume"
            ) from None
        self.saved = self.step

    def restore(self):
        """Goes on from the last checkpoint.

        Returns:
            Whether there was one.

        Raises:
            ValueError: it is of a run with other options, vocabulary or corpus.
        """
        prefix = tf.train.latest_checkpoint(os.path.join(self.folder, _CHECKPOINTS))
        if prefix is None:
            return False
        saved = Progress()
        saved.deserialize(tf.train.load_checkpoint(prefix).get_tensor(PROGRESS_KEY))
        self._check_run(saved.progress["run"])
        self._checkpoint(saved).restore(prefix).assert_consumed()
        self.step = self.saved = saved.progress["step"]
        if saved.progress["heldout"] == _counts(self.heldout):
            self.evaluated, self.best = saved.progress["evaluated"], saved.progress["best"]
        rows, dtype = self.options.batch_size, self.model.bilm.compute_dtype
        self._state = self._of_each_replica(
            lambda k: [tf.cast(x[k * rows : (k + 1) * rows], dtype) for x in saved.state]
        )
        return True

    def _described(self):
        """What a run must have in common with the one that it goes on from."""
        words = "\n".join(self.model.vocabulary.words).encode("utf-8", "surrogateescape")
        return {
            **self.model.config.to_options(),
            **dataclasses.asdict(self.options),
            "replicas": self.num_replicas,
            "vocabulary": hashlib.sha256(words).hexdigest(),
            "corpus": _counts(self.corpus),
            "steps": self.steps,
        }

    def _check_run(self, before):
        now = json.loads(json.dumps(self._described()))
        before = {"optimizer": "adagrad", **before}  # before 0.2.0 there was no other
        if self.options.schedule == "constant":  # it may go on for longer
            before = {**before, "epochs": now["epochs"], "steps": now["steps"]}
        changed = [
            f"{name}: {before.get(name)!r} before, {now.get(name)!r} now"
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]
        if changed:
            raise ValueError(
                f"The checkpoint in {self.folder} is of another run; go on with what it was made "
                f"with, or take another folder. {'; '.join(changed)}"
            )

    def _checkpoint(self, progress):
        return tf.train.Checkpoint(
            variables=list(self._variables),
            accumulators=self.optimizer.accumulators,
            progress=progress,
        )

    def _gather_state(self):
        if self.num_replicas == 1:
            return self._local(self._state)
        return [self.strategy.gather(x, axis=0) for x in self._state]


def _counts(corpus):
    """Of each file its sentences and its tokens."""
    return None if corpus is None else [list(pair) for pair in corpus.file_counts()]
