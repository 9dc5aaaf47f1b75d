"""`WindowModel`: a biLM with its softmax that reads windows of a corpus, by Keras's `fit`."""

import contextlib
import itertools
import math
import threading

import keras
from keras import ops

from keras_elmo.backend import ON_TENSORFLOW, tf
from keras_elmo.checks import check_dropout, check_integers
from keras_elmo.models.contextual_model import ContextualModel
from keras_elmo.process.signals import noting_signals
from keras_elmo.process.traced_function import TracedFunction
from keras_elmo.training.checkpoints import BackupAndResume, corpus_settings, run_settings
from keras_elmo.training.corpus import as_corpus, check_texts
from keras_elmo.training.optimizer import LazyAdagrad
from keras_elmo.training.options import fitting_negatives
from keras_elmo.training.stream import Stream, read_ahead

_CLIP_NORM = 10.0  # the original's
_WORD_GROUPS = 4  # groups of words of like length, which are convolved apart, in each window
# The words of a window are padded to a multiple of this. For every new shape of a product, oneDNN
# compiles machine code, which took a tenth of the time of a training step; and XLA the whole step.
_WORD_MULTIPLE, _XLA_WORD_MULTIPLE = 64, 512
# Arguments of `fit` and `evaluate` that are Keras's alone.
_HANDED_ON = "verbose callbacks return_dict validation_freq _use_cached_eval_dataset".split()
_NUM_LAST = 8  # batches that are kept, since Keras may ask for one twice


class WindowModel(ContextualModel):
    """The numeric part of `BiLanguageModel`: it holds no strings, and runs on every backend."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._lanes = {}  # what a fit (`True`) and an evaluation carry from window to window
        self._own_metrics = [keras.metrics.Mean("loss")]
        self._own_metrics += [_Perplexity(name) for name in ("perplexity", "forward", "backward")]
        self._num_skipped = 0  # the steps that `fit` has yet to skip

    @property
    def metrics(self):
        return self._own_metrics

    @property
    def variables(self):
        # JAX hands all of them to each step. `weights`, which files hold, has no state of lanes.
        lanes = [variable for lanes in self._lanes.values() for variable in lanes.variables]
        return super().variables + lanes

    def compile(self, optimizer=None, dropout=0.1, num_negatives=None, zero_starts=True, **kwargs):
        """Says how `fit` trains.

        Args:
            optimizer: as Keras takes it. `None`: `LazyAdagrad` with the original's settings. Adam
                and Adagrad of `keras_elmo.training` update the rows of a large vocabulary faster.
            dropout: float, from 0, below 1. The share of what each layer and the softmax read that
                is set to zero.
            num_negatives: int, at most half of the vocabulary's words. The number of samples of the
                softmax for each direction and batch. 0 is the full softmax. `None` is 1,024, or
                half of the words if that is less.
            zero_starts: bool. Whether a sentence at the start of a window starts from a zero state,
                as sentences that are embedded do. The original always carries the state on.
            **kwargs: `run_eagerly`, `steps_per_execution`, `auto_scale_loss` and `jit_compile` of
                Keras. By default XLA does not compile the steps on TensorFlow, where that takes
                minutes and gains nothing on a processor.

        Raises:
            ValueError: a value is out of range; or there is a loss or a metric, which are the
                model's own.
        """
        refused = "loss", "loss_weights", "metrics", "weighted_metrics"
        if given := [name for name in refused if kwargs.get(name) is not None]:
            raise ValueError(
                "The loss is that of the softmax, and the metrics are the model's own; compile "
                f"with neither. Received: {', '.join(given)}"
            )
        check_dropout(dropout)
        num_negatives = fitting_negatives(num_negatives, len(self.vocabulary))
        # Windows are numbers, which XLA compiles, where the text that `call` also takes is none.
        is_compiled = not ON_TENSORFLOW or kwargs.get("jit_compile") is True
        for layer in (self, self.bilm, self.character_encoder):
            layer.supports_jit = is_compiled
        if optimizer is None:
            optimizer = LazyAdagrad(global_clipnorm=_CLIP_NORM)
        super().compile(optimizer=optimizer, **kwargs)
        self.dropout, self.zero_starts = dropout, bool(zero_starts)
        self.num_negatives = num_negatives
        self.optimizer.keeps_rows = not self.jit_compile  # see `LazyAdam`

    def get_compile_config(self):
        if not self.compiled:
            return {}
        own = {name: getattr(self, name) for name in ("dropout", "num_negatives", "zero_starts")}
        return super().get_compile_config() | own

    def compile_from_config(self, config):
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def fit(
        self,
        x=None,
        y=None,
        batch_size=32,
        epochs=1,
        *,
        callbacks=None,
        validation_data=None,
        shuffle=True,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        unroll_steps=20,
        seed=0,
        **kwargs,
    ):
        """Trains on a corpus by truncated back-propagation, as Keras's `fit` trains.

        The logs of callbacks have `loss` (nats, the mean of both directions), `perplexity`,
        `forward` and `backward` (perplexities): of training by the softmax that `compile` says, of
        `validation_data` (`val_perplexity`) by the full one. Everything random follows from the
        seed and the step.

        Args:
            x: a `Corpus`; a path or pattern of text files, or a list of `pathlib.Path`s; or
                sentences in every form that `keras_elmo.strings` has, which are kept in memory.
            batch_size: int. The number of lanes of text (the rows of a batch).
            validation_data: like `x`: text to measure the perplexity of after each epoch.
            shuffle: bool. Whether the sentences are read in another order in each epoch, or in
                their own order, as by default in the original.
            steps_per_epoch: int. `None`: as many as one reading of the corpus takes.
            unroll_steps: int. The number of tokens of a window, through which gradients flow.
            seed: int. The seed of the order of sentences, of dropout and of samples.
            epochs, callbacks, initial_epoch, validation_steps, validation_batch_size, **kwargs: as
                in Keras, with `verbose` and `validation_freq`. With a `BackupAndResume` among the
                callbacks the run goes on where its last backup was written.

        Returns:
            Keras's `History`.

        Raises:
            ValueError: a text does not fill its windows, or an argument is none of `fit`'s here.
            Interrupted: SIGINT or SIGTERM came, and there is a `BackupAndResume`.

        Reference: `train` in bilm-tf's bilm/training.py.
        """
        _refuse_targets(y=y, **kwargs)
        self._assert_compile_called("fit")
        strategy = getattr(self, "distribute_strategy", None)
        if strategy is not None and strategy.num_replicas_in_sync > 1:
            raise ValueError(
                "To train on several devices, set KERAS_BACKEND=jax and use "
                "`keras.distribution.DataParallel` (docs/training.md). Received: a `tf.distribute` "
                f"strategy of {strategy.num_replicas_in_sync} replicas"
            )
        check_integers(1, batch_size=batch_size, unroll_steps=unroll_steps, epochs=epochs)
        check_integers(0, initial_epoch=initial_epoch, seed=seed)
        corpus, heldout = as_corpus(x, self.tokenizer), None
        if validation_data is not None:
            heldout = as_corpus(validation_data, self.tokenizer)
        check_texts(corpus, heldout, batch_size, unroll_steps)
        at_once = self.steps_per_execution
        if steps_per_epoch is None:
            # Every token is predicted, and the end of every sentence.
            num_windows = sum(corpus.counts()) / (batch_size * unroll_steps)
            steps_per_epoch = at_once * math.ceil(num_windows / at_once)
        check_integers(1, steps_per_epoch=steps_per_epoch)
        if steps_per_epoch % at_once:  # Keras would take more steps than it says.
            raise ValueError(
                "`steps_per_epoch` must be a multiple of `steps_per_execution`. "
                f"Received: {steps_per_epoch} and {at_once}"
            )
        self.has_softmax = True
        self.optimizer.build(self.trainable_variables)
        self.start_lanes(True, batch_size, unroll_steps, seed)
        callbacks = keras.tree.flatten(callbacks) if callbacks is not None else []
        done = initial_epoch * steps_per_epoch
        with contextlib.ExitStack() as stack:
            for backup in callbacks:
                if isinstance(backup, BackupAndResume):
                    windows = {"batch_size": batch_size, "unroll_steps": unroll_steps}
                    run = run_settings(self, corpus, **windows, shuffle=shuffle, seed=seed)
                    stack.enter_context(noting_signals())
                    done, is_epoch_ended = backup.begin(self, run, corpus_settings(heldout), done)
                    initial_epoch = done // steps_per_epoch - (not is_epoch_ended)
            # Of an epoch that is resumed, Keras goes through the first steps without taking them.
            skipped = done - initial_epoch * steps_per_epoch
            if skipped:
                stack.enter_context(self._skipping(skipped // self.steps_per_execution))
            stream = self._stream(batch_size, unroll_steps, self.num_negatives, seed)
            order = seed if shuffle else None
            windows = _Windows(lambda: stream.training_batches(corpus, order, done))
            data = stack.enter_context(windows.read())
            if heldout is not None:
                size = validation_batch_size or batch_size
                windows, num_windows = self._evaluated(heldout, size, unroll_steps)
                validation_data = stack.enter_context(windows.read())
                validation_steps = min(num_windows, validation_steps or num_windows)
            return keras.Model.fit(
                self,
                data,
                epochs=epochs,
                callbacks=callbacks,
                validation_data=validation_data,
                shuffle=False,
                initial_epoch=initial_epoch,
                steps_per_epoch=steps_per_epoch,
                validation_steps=validation_steps,
                **kwargs,
            )

    def evaluate(self, x=None, y=None, batch_size=32, *, steps=None, unroll_steps=20, **kwargs):
        """The perplexity of a text by the full softmax, in constant memory.

        Each lane (row of the batch) carries the state of the LSTMs from sentence to sentence, as in
        training; one lane carries it through the whole text. Words that the vocabulary does not
        have are one word, which is easy to predict (see `Corpus.oov_rate`).

        Args:
            x: text, as `fit` takes it.
            batch_size: int. The number of lanes.
            steps: int. Windows that are read at most. `None`: all.
            unroll_steps: int. The number of tokens of a lane that are read at a time. With one lane
                it changes only the speed; with more, also which sentence a lane takes next.
            **kwargs: `verbose`, `callbacks` and `return_dict` of Keras.

        Returns:
            `loss` (nats, the mean of both directions), `perplexity`, `forward` and `backward`
            (perplexities), floats: a list, or with `return_dict` a dict.

        Raises:
            ValueError: there is no sentence, or the model has no softmax.

        Reference: `test` in bilm-tf's bilm/training.py.
        """
        _refuse_targets(y=y, **kwargs)
        self.check_softmax()
        if not self.compiled:
            self.compile()
        with contextlib.ExitStack() as stack:
            if not kwargs.get("_use_cached_eval_dataset"):  # which `fit` says
                check_integers(1, batch_size=batch_size, unroll_steps=unroll_steps)
                corpus = as_corpus(x, self.tokenizer)
                windows, num_windows = self._evaluated(corpus, batch_size, unroll_steps)
                x = stack.enter_context(windows.read())
                steps = min(num_windows, steps or num_windows)
            self._lanes[False].reset()
            return keras.Model.evaluate(self, x, steps=steps, **kwargs)

    def _stream(self, *windows):
        multiple = _XLA_WORD_MULTIPLE if self.jit_compile else _WORD_MULTIPLE
        widest = None
        if not (ON_TENSORFLOW or self._takes_steps_at_once()):  # else it must be known before
            widest = max(width for width, _ in self.config.filters)
        scheme = self.token_encoder.scheme
        return Stream(
            self.vocabulary, scheme, *windows, word_multiple=multiple, widest_filter=widest
        )

    def _evaluated(self, corpus, batch_size, unroll_steps):
        """The windows of a corpus, again and again, and their number; and lanes of zeros."""
        self.start_lanes(False, batch_size, unroll_steps)
        stream = self._stream(batch_size, unroll_steps)
        num_windows = stream.count_windows(corpus.sentences())
        if not num_windows:
            raise ValueError("There must be a sentence to evaluate. Received: none")

        def passes():
            while True:
                for batch in stream.evaluation_batches(corpus.sentences()):
                    yield batch
                for _ in range(-num_windows % self.steps_per_execution):
                    yield {**batch, "mask": batch["mask"] & False}  # which counts nothing

        return _Windows(passes), num_windows

    def start_lanes(self, training, batch_size, unroll_steps, seed=0):
        """Makes or resets what `fit` (`training`) or `evaluate` carries from batch to batch."""
        lanes = self._lanes.get(training)
        if lanes is None or lanes.sizes != (batch_size, 2, unroll_steps):
            self._lanes[training] = lanes = _Lanes(self.bilm, batch_size, unroll_steps)
            # The graph of a step reads other lanes.
            setattr(self, "train_function" if training else "test_function", None)
        lanes.reset(seed)

    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return
        if self._takes_steps_at_once():
            self.train_function = self._make_scan()
        elif (
            not ON_TENSORFLOW
            or self.run_eagerly
            or self.jit_compile
            or self.steps_per_execution > 1
        ):
            super().make_train_function(force)
        else:  # Keras's has a second function within, which takes memory for another graph.

            def take_step(data):
                data = next(data) if isinstance(data, tf.data.Iterator) else data
                return self.distribute_strategy.run(self.train_step, (data,))

            take_step = TracedFunction(take_step, reduce_retracing=True)

            def train_function(iterator):  # of `train_on_batch`, a generator
                is_graph = isinstance(iterator, tf.data.Iterator)
                return take_step(iterator if is_graph else next(iterator))

            self.train_function = train_function

    def _takes_steps_at_once(self):
        is_compiled = self.jit_compile and not self.run_eagerly
        return keras.backend.backend() == "jax" and is_compiled and self.steps_per_execution > 1

    def _make_scan(self):
        """A function, as Keras's for a step, that takes `steps_per_execution` steps in one call.

        Keras's own takes them one after the other on JAX.
        """
        import jax

        def scan(state, batches):
            state, logs = jax.lax.scan(lambda *step: self.train_step(*step)[::-1], state, batches)
            return {name: values[-1] for name, values in logs.items()}, state

        distribution = keras.distribution.distribution()
        shardings = distribution and (None, self._get_state_sharding_spec())
        scan = jax.jit(scan, donate_argnums=0, out_shardings=shardings)

        def take_steps(state, iterator):
            batches = [next(iterator), *itertools.islice(iterator, self.steps_per_execution - 1)]
            num_words = max(len(batch["characters"]) for (batch,) in batches)
            for (batch,) in batches:
                missing = num_words - len(batch["characters"])
                batch["characters"] = ops.pad(batch["characters"], [[0, missing], [0, 0]])
            return scan(state, jax.tree.map(lambda *arrays: ops.stack(arrays), *batches))

        return take_steps

    @contextlib.contextmanager
    def _skipping(self, count):
        """A context in which the first calls of Keras's function for a step do nothing."""
        self.make_train_function()
        train_function, self._num_skipped = self.train_function, count
        logs = {name: float(value) for name, value in self.get_metrics_result().items()}

        def call(*arguments):  # an iterator; on JAX, the state and an iterator
            if not self._num_skipped:
                return train_function(*arguments)
            self._num_skipped -= 1
            return (logs, arguments[0]) if len(arguments) > 1 else logs

        self.train_function = call
        try:
            yield
        finally:
            self.train_function, self._num_skipped = train_function, 0

    def reset_metrics(self):
        if not self._num_skipped:  # else an epoch goes on with what its steps have added up
            super().reset_metrics()

    def variables_of_run(self):
        """All that a step of `fit` changes, and the frozen weights."""
        lanes = self._lanes[True].variables
        return [*self.weights, *lanes, *self.optimizer.variables, *self.metrics_variables]

    # The window of a batch

    def call(self, inputs, training=False):
        """The summed losses (nats) of a batch of a `Stream`, float32, (lanes, 2).

        It carries the state of the lanes on: without `training`, that of an evaluation.
        """
        lanes = self._lanes[bool(training)]
        words, targets = inputs["inputs"], inputs["targets"]
        state = [ops.copy(variable) for variable in lanes.state]  # as they are now
        if training and self.zero_starts:
            starts = inputs["starts"][:, None]
            state = [ops.where(starts, ops.zeros_like(tensor), tensor) for tensor in state]
        rate = self.dropout if training else 0.0

        def dropout(x, *_):
            return keras.random.dropout(x, rate, seed=lanes.seeds) if rate else x

        with self.kernel_rounding.context():
            embeddings = self.character_encoder(
                inputs["characters"],
                trim_characters=not self.jit_compile,
                groups=_WORD_GROUPS,
                training=training,
            )
            # (2, lanes, tokens, projection_dim)
            read = ops.take(embeddings, ops.transpose(words, (1, 0, 2)), axis=0)
            # What a lane that ended reads changes nothing. XLA cannot leave it out.
            mask = None if self.jit_compile else inputs.get("mask")
            layers, state = self.bilm.read_streams(
                read[0], read[1], state, mask, dropout=dropout, training=training
            )
        for variable, tensor in zip(lanes.state, state, strict=True):
            variable.assign(ops.cast(tensor, variable.dtype))
        outputs = [dropout(x) for x in ops.split(layers[-1], 2, axis=-1)]
        outputs = [ops.reshape(x, (-1, x.shape[-1])) for x in outputs]
        targets = [ops.reshape(targets[:, k], (-1,)) for k in range(2)]
        if "negatives" in inputs:
            negatives, num_draws = inputs["negatives"], inputs["num_draws"]
            samples = ops.unstack(negatives, axis=1), ops.unstack(num_draws[0])
            losses = self.softmax.sampled_losses(outputs, targets, *samples)
        elif training:
            losses = map(self.softmax.loss, outputs, targets)
        else:
            losses = [-x for x in map(self.softmax.log_probabilities, outputs, targets)]
        losses = [ops.reshape(x, ops.shape(words[:, 0])) for x in losses]
        if "mask" in inputs:
            mask = ops.cast(inputs["mask"], "float32")
            losses = [x * mask for x in losses]
        return ops.stack([ops.sum(x, axis=1) for x in losses], axis=1)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        # The original's objective: the sum over a window, the mean over lanes and directions.
        return ops.mean(y_pred)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        count = ops.cast(ops.size(x["targets"]), "float32") / 2
        if "mask" in x:
            count = ops.sum(ops.cast(x["mask"], "float32"))
        forward, backward = ops.unstack(ops.sum(y_pred, axis=0) / ops.maximum(count, 1))
        mean = (forward + backward) / 2
        for metric, loss in zip(self.metrics, (mean, mean, forward, backward), strict=True):
            metric.update_state(loss, sample_weight=count)
        return self.get_metrics_result()


def _refuse_targets(**arguments):
    names = [name for name, value in arguments.items() if value is not None]
    if names := [name for name in names if name not in _HANDED_ON]:
        raise ValueError(
            "A language model predicts the words of its text: it takes no targets, weights or "
            f"split; pass `validation_data`. Received: {', '.join(names)}"
        )


class _Perplexity(keras.metrics.Mean):
    def result(self):
        return ops.exp(super().result())


class _Lanes:
    """What the rows of a batch carry from window to window, and the seeds of their dropout.

    It is no part of the model: files of weights do not hold it.
    """

    def __init__(self, bilm, batch_size, unroll_steps):
        self.sizes, dtype = (batch_size, 2, unroll_steps), bilm.compute_dtype  # of `"inputs"`
        self.state = [
            keras.Variable(ops.zeros((batch_size, size), dtype), dtype=dtype, trainable=False)
            for size in bilm.state_sizes
        ]
        self.seeds = keras.random.SeedGenerator(0)

    @property
    def variables(self):
        return [*self.state, self.seeds.state]

    def reset(self, seed=0):
        for variable in self.state:
            variable.assign(ops.zeros(variable.shape, variable.dtype))
        self.seeds.state.assign([seed, 0])


class _Windows(keras.utils.PyDataset):
    """The batches of an endless iterator by their places, for Keras; a thread reads ahead.

    Keras asks for the first two also before the others, to see which sizes vary; and it begins
    anew for each evaluation, while TensorFlow may still read ahead for the one before.
    """

    def __init__(self, make_batches):
        super().__init__()
        self._make_batches, self._lock = make_batches, threading.Lock()
        self._error, self._is_closed = None, False
        self._begin()

    def _begin(self):
        self._batches = read_ahead(self._make_batches())  # which reads when it is asked for one
        self._next, self._last = 0, {}

    @property
    def num_batches(self):
        return None

    def __getitem__(self, index):
        with self._lock:
            try:
                return (self._find(index),)
            except Exception as error:
                self._error = error
                raise

    def _find(self, index):
        if self._is_closed:  # what TensorFlow reads now, no step takes
            return next(iter(self._last.values()))
        if index < self._next and index not in self._last:
            self._batches.close()
            self._begin()
        while index not in self._last:
            self._last[self._next] = next(self._batches)
            self._last.pop(self._next - _NUM_LAST, None)
            self._next += 1
        return self._last[index]

    @contextlib.contextmanager
    def read(self):
        """A context with what Keras reads. It raises an error as it was; TensorFlow's is another.

        On TensorFlow it is a dataset. Of a `PyDataset` Keras makes one by `from_generator`, after
        which glibc takes new pages from the system for each large tensor of the process.
        """
        try:
            yield self._as_dataset() if ON_TENSORFLOW else self
        except Exception:
            if self._error is not None:
                raise self._error from None
            raise
        finally:
            with self._lock:
                self._is_closed = True
                self._batches.close()

    def _as_dataset(self):
        (first,) = self[0]

        def find(index):
            return list(self[int(index)][0].values())

        def read(index):
            found = tf.numpy_function(find, [index], [array.dtype for array in first.values()])
            batch = dict(zip(first, found, strict=True))
            for name, tensor in batch.items():
                shape = first[name].shape
                tensor.set_shape([None, *shape[1:]] if name == "characters" else shape)
            return batch

        return tf.data.Dataset.counter().map(read).prefetch(1)
