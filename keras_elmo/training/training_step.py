"""`TrainingStep`: one step of truncated back-propagation."""

import tensorflow as tf

from keras_elmo.layers.matmul import using_matmul_dtype
from keras_elmo.models.kernel_rounding import warn_of_slow_processor
from keras_elmo.training.optimizer import OPTIMIZERS, sum_repeated_rows


class TrainingStep:
    """Reads a batch of `Stream.training_batches`, and updates a `BiLanguageModel`.

    It returns the losses of both directions (nats), float32, (2,); the norm of all gradients before
    they were clipped, float32, (); and the biLM's next state.
    """

    def __init__(self, model, options):
        if options.matmul_dtype is not None:
            warn_of_slow_processor()
        self.model, self.options = model, options
        self.variables = [variable.value for variable in model.trainable_variables]
        self.optimizer = OPTIMIZERS[options.optimizer](self.variables)
        self._traced = tf.function(self._run, reduce_retracing=True, autograph=False)

    def __call__(self, batch, state, learning_rate):
        return self._traced(batch, state, learning_rate)

    def trace(self, batch_spec, state):
        """Traces the step once: the first calls, of different numbers of words, each would."""
        state_spec = [tf.type_spec_from_value(tensor) for tensor in state]
        self._traced.get_concrete_function(batch_spec, state_spec, tf.TensorSpec((), tf.float32))

    def _run(self, batch, state, learning_rate):
        if self.options.zero_starts:
            starts_sentence = batch["starts_sentence"][:, None]  # (batch, 1)
            state = [tf.where(starts_sentence, tf.zeros_like(tensor), tensor) for tensor in state]
        with tf.GradientTape() as tape, using_matmul_dtype(self.options.matmul_dtype):
            losses, state = self.losses(batch, state)
            # This is the original's objective: the sum over a window's tokens, and the mean over
            # lanes and directions.
            objective = self.options.unroll_steps * sum(losses) / 2
        gradients = tape.gradient(objective, self.variables)
        gradients = [sum_repeated_rows(gradient) for gradient in gradients]
        norm = tf.linalg.global_norm(gradients)
        if self.options.clip_norm is not None:
            gradients, _ = tf.clip_by_global_norm(gradients, self.options.clip_norm, norm)
        self.optimizer.apply(gradients, learning_rate)
        return tf.stack(losses), norm, state

    def losses(self, batch, state):
        """The mean loss of each direction, and the next state."""
        dropout = self.make_dropout(batch["step"])
        outputs, state = self.model.read_windows(
            batch["words"], batch["inputs"], state, dropout=dropout, training=True
        )
        losses = []
        for direction, output in enumerate(tf.unstack(outputs)):
            output = dropout(output, (self.model.config.num_layers, direction))
            samples = [
                batch[name][direction] for name in ("negatives", "num_draws") if name in batch
            ]
            loss = self.model.softmax.loss(
                tf.reshape(output, (-1, output.shape[-1])),
                tf.reshape(batch["targets"][direction], [-1]),
                *samples,
            )
            losses.append(tf.reduce_mean(loss))
        return losses, state

    def make_dropout(self, step):
        """See `BiLM.read_streams`. The noise follows from the seed and the step alone."""
        rate = self.options.dropout
        fold_in = tf.random.experimental.stateless_fold_in
        step_seed = fold_in([self.options.seed, 0], step)

        def dropout(x, layer_and_direction):
            if not rate:
                return x
            layer, direction = layer_and_direction
            seed = fold_in(step_seed, 2 * layer + direction)
            return tf.nn.experimental.stateless_dropout(x, rate, seed)

        return dropout
