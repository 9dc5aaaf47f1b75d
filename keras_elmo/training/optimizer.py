"""`LazyAdagrad` and `LazyAdam`, and the learning rate of each step.

A row of a table without a gradient stays as it is, and so do its moments. On TensorFlow a gradient
of some rows is a `tf.IndexedSlices`, and these rows alone are read and written. If a variable's
`has_lazy_rows` is true, rows of a dense gradient that are all zero also count as without one.
"""

import math

import keras
from keras import ops

from keras_elmo.backend import ON_TENSORFLOW, tf
from keras_elmo.checks import check_choice
from keras_elmo.layers.rows import sum_repeated_rows

# The factor of the learning rate, by the share of the steps that are done.
SCHEDULES = {
    "constant": ops.ones_like,
    "linear": lambda share_done: 1 - share_done,
    "cosine": lambda share_done: (1 + ops.cos(math.pi * share_done)) / 2,
}


class _LazyRows:
    """What the optimizers share."""

    # Whether gradients of rows stay rows. XLA has no tensors of a size that is not known before.
    keeps_rows = True

    def _clip_gradients(self, grads):
        if ON_TENSORFLOW:
            prepare = sum_repeated_rows if self.keeps_rows else tf.convert_to_tensor
            grads = [prepare(gradient) for gradient in grads]
            if self.global_clipnorm:  # Keras would make gradients of rows dense.
                return tf.clip_by_global_norm(grads, self.global_clipnorm)[0]
        return super()._clip_gradients(grads)

    def _update(self, gradient, variable, moments, new_values, update_whole):
        """Updates a variable and its moments in the rows that have a gradient.

        `new_values` computes all of them from the gradient and their values. On TensorFlow,
        `update_whole` does the same for whole variables, in less time.
        """
        index = self._get_variable_index(variable)
        has_lazy_rows = getattr(self._trainable_variables[index], "has_lazy_rows", False)
        variables = [variable, *moments]
        if ON_TENSORFLOW:
            variables[1:] = [moment.value for moment in moments]  # as `variable` is, of TensorFlow
            if isinstance(gradient, tf.IndexedSlices):
                rows = gradient.indices
                values = [tf.gather(x, rows) for x in variables]
                for x, value in zip(variables, new_values(gradient.values, *values), strict=True):
                    x.scatter_update(tf.IndexedSlices(value, rows))
                return
            if not has_lazy_rows:
                update_whole(*(x.handle for x in variables))
                return
        values = [ops.convert_to_tensor(x) for x in variables]
        updated = new_values(gradient, *values)
        if has_lazy_rows:
            num_rows = gradient.shape[0]
            mask = ops.any(ops.reshape(gradient != 0, (num_rows, -1)), axis=1)
            mask = ops.reshape(mask, (num_rows, *[1] * (len(gradient.shape) - 1)))
            updated = [ops.where(mask, *pair) for pair in zip(updated, values, strict=True)]
        for x, value in zip(variables, updated, strict=True):
            self.assign(x, value)


@keras.saving.register_keras_serializable("keras_elmo")
class LazyAdagrad(_LazyRows, keras.optimizers.Adagrad):
    """Adagrad, with the settings of the original, for tables of which few rows have a gradient.

        accumulator += gradient^2  (it begins with `initial_accumulator_value`)
        variable -= learning_rate * gradient / (sqrt(accumulator) + epsilon)

    Weight decay and moving averages are Keras's, and concern every row.

    Args: see `keras.optimizers.Adagrad`.

    Reference: Duchi et al. 2011; `AdagradOptimizer` of TensorFlow 1.
    """

    LEARNING_RATE = 0.2  # the default

    def __init__(
        self, learning_rate=LEARNING_RATE, initial_accumulator_value=1.0, epsilon=0.0, **kwargs
    ):
        super().__init__(learning_rate, initial_accumulator_value, epsilon, **kwargs)

    def update_step(self, gradient, variable, learning_rate):
        rate = ops.cast(learning_rate, variable.dtype)

        def new_values(gradient, value, accumulator):
            accumulator = accumulator + gradient**2
            return value - rate * gradient / (ops.sqrt(accumulator) + self.epsilon), accumulator

        def update_whole(value, accumulator):
            tf.raw_ops.ResourceApplyAdagradV2(
                var=value, accum=accumulator, lr=rate, epsilon=self.epsilon, grad=gradient
            )

        moments = [self._accumulators[self._get_variable_index(variable)]]
        self._update(gradient, variable, moments, new_values, update_whole)


@keras.saving.register_keras_serializable("keras_elmo")
class LazyAdam(_LazyRows, keras.optimizers.Adam):
    """Adam, for tables of which few rows have a gradient ("lazy" Adam).

        mean = beta_1 * mean + (1 - beta_1) * gradient
        square = beta_2 * square + (1 - beta_2) * gradient^2
        rate = learning_rate * sqrt(1 - beta_2^step) / (1 - beta_1^step)
        variable -= rate * mean / (sqrt(square) + epsilon)

    Weight decay and moving averages are Keras's, and concern every row.

    Args: see `keras.optimizers.Adam`. `amsgrad` must be `False`.

    Raises:
        ValueError: `amsgrad` is true.

    Reference: Kingma and Ba 2015.
    """

    LEARNING_RATE = 0.001  # the default

    def __init__(
        self, learning_rate=LEARNING_RATE, beta_1=0.9, beta_2=0.999, epsilon=1e-8, **kwargs
    ):
        check_choice((False,), amsgrad=kwargs.get("amsgrad", False))
        super().__init__(learning_rate, beta_1, beta_2, epsilon, **kwargs)

    def update_step(self, gradient, variable, learning_rate):
        step = ops.cast(self.iterations + 1, variable.dtype)
        powers = ops.power(self.beta_1, step), ops.power(self.beta_2, step)
        learning_rate = ops.cast(learning_rate, variable.dtype)
        rate = learning_rate * ops.sqrt(1 - powers[1]) / (1 - powers[0])

        def new_values(gradient, value, mean, square):
            mean = self.beta_1 * mean + (1 - self.beta_1) * gradient
            square = self.beta_2 * square + (1 - self.beta_2) * gradient**2
            return value - rate * mean / (ops.sqrt(square) + self.epsilon), mean, square

        def update_whole(value, mean, square):
            betas = {"beta1": self.beta_1, "beta2": self.beta_2, "epsilon": self.epsilon}
            betas |= {"beta1_power": powers[0], "beta2_power": powers[1]}
            tf.raw_ops.ResourceApplyAdam(
                var=value, m=mean, v=square, lr=learning_rate, grad=gradient, **betas
            )

        index = self._get_variable_index(variable)
        moments = [self._momentums[index], self._velocities[index]]
        self._update(gradient, variable, moments, new_values, update_whole)


OPTIMIZERS = {"adagrad": LazyAdagrad, "adam": LazyAdam}


@keras.saving.register_keras_serializable("keras_elmo")
class WarmUpSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that rises to its full value, and then stays or falls to zero.

    In the first steps it is `learning_rate * (step + 1) / warmup_steps`.

    Args:
        learning_rate: float. The full value.
        num_steps: int. The number of all steps, after which "linear" and "cosine" are zero.
        schedule: `"constant"`, `"linear"` or `"cosine"`.
        warmup_steps: int. The number of the first steps.
    """

    def __init__(self, learning_rate, num_steps, schedule="constant", warmup_steps=0):
        check_choice(tuple(SCHEDULES), schedule=schedule)
        self.learning_rate = learning_rate
        self.num_steps = num_steps
        self.schedule = schedule
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = ops.cast(step, "float32")
        num_steps = max(1, self.num_steps - self.warmup_steps)
        share_done = ops.minimum((step - self.warmup_steps) / num_steps, 1.0)
        warmup_factor = (step + 1) / max(1, self.warmup_steps)
        factor = SCHEDULES[self.schedule](share_done)
        is_warmup = step < self.warmup_steps
        return self.learning_rate * ops.where(is_warmup, warmup_factor, factor)

    def get_config(self):
        return dict(vars(self))
