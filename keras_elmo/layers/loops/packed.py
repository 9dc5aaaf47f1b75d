"""`PackedLoop`: computes real tokens only. It is the default on TensorFlow.

The packed form holds the N real tokens of a batch, sorted by the step that reads them, and within
a step by the length of their sentence. For three sentences of 2, 4 and 1 tokens:

    padded                   packed, forward                packed, backward
    a1 a2 .  .               step 0: b1 a1 c1               step 0: b4 a2 c1
    b1 b2 b3 b4              step 1: b2 a2                  step 1: b3 a1
    c1 .  .  .               step 2: b3                     step 2: b2
                             step 3: b4                     step 3: b1

    num_rows = [3, 2, 1, 1, 0]      rows that step t computes
    offsets  = [0, 3, 5, 6, 7]      where step t begins in the packed form
    order    = [1, 0, 2]            the sentences, longest first: b, a, c

So each step reads and writes one contiguous slice. The sentences that end in a step are the last
ones of its slice, and the next slice is shorter. Padding is neither stored nor computed.

All outputs are kept, but of the cell states only the last one of each sentence, which is written in
the step in which the sentence ends. In the forward direction:

    outputs  = [b1 a1 c1 | b2 a2 | b3 | b4]
    final_c  = [c1 | a2 | - | b4]   step 2 ends no sentence

    final_output_index = [6, 4, 2]  of b, a and c in `outputs`
    final_cell_index   = [2, 1, 0]  of b, a and c in `final_c`
"""

import tensorflow as tf

from keras_elmo.layers.loops import Loop
from keras_elmo.layers.matmul import as_factor
from keras_elmo.process.traced_function import TracedFunction

# The input gates are computed before the steps, for blocks of about this many tokens. One product
# of many rows is faster than many products of few rows, and the size of a block limits the memory:
# the gates take 4 * units floats for each token and direction.
TOKENS_PER_BLOCK = 1024


class PackedLoop(Loop):
    """Runs both directions side by side over the real tokens alone, in one `tf.while_loop`.

    The loop's own form is (N, features), the packed form of each direction in its order of reading.
    The inputs of both are in the order of the text if `is_backward_reversed`; else those of each
    direction are in the order in which it reads them.
    """

    supports_xla = False

    def __init__(self, mask, training=False, is_backward_reversed=True):
        self.mask, self.training = mask, training
        is_real = tf.cast(mask, tf.int32)  # (batch, tokens)
        row_lengths = tf.reduce_sum(is_real, axis=1)  # (batch,)
        self.order = tf.argsort(row_lengths, direction="DESCENDING", stable=True)  # (batch,)
        self.rank = tf.math.invert_permutation(self.order)  # (batch,), each row's index in `order`
        lengths = tf.gather(row_lengths, self.order)  # (batch,)
        steps = tf.reduce_max(tf.concat([lengths, [0]], 0))  # ()
        # `searchsorted` needs ascending values, and the lengths descend: hence the minus signs.
        num_rows = tf.searchsorted(-lengths, -tf.range(steps + 1), side="left")  # (steps + 1,)
        offsets = tf.cumsum(num_rows, exclusive=True)  # (steps + 1,)
        self.num_rows, self.offsets = num_rows, offsets
        last_step = lengths[: num_rows[0]] - 1  # (num_rows[0],), like the following
        sorted_row = tf.range(num_rows[0])
        self.final_output_index = tf.gather(offsets, last_step) + sorted_row
        # In `final_c` there are first the rows that end in an earlier step. Those that end in the
        # same step come after the rows that go on to the next one.
        num_ended_before = num_rows[0] - tf.gather(num_rows, last_step)
        num_continuing = tf.gather(num_rows, last_step + 1)
        self.final_cell_index = num_ended_before + sorted_row - num_continuing
        # The row and the column of each real token, row by row; and where it is in packed form.
        self.positions = tf.where(mask)  # int64, (N, 2)
        row = tf.cast(self.positions[:, 0], tf.int32)  # (N,), like the following
        step = tf.gather_nd(tf.cumsum(is_real, axis=1), self.positions) - 1
        step_from_end = tf.gather(row_lengths, row) - 1 - step
        backward_step = step_from_end if is_backward_reversed else step
        rank = tf.gather(self.rank, row)
        self.packed_index = [tf.gather(offsets, t) + rank for t in (step, backward_step)]

    @staticmethod
    def traced(function):
        # Eagerly, running the steps in Python would take longer than their arithmetic.
        traced = TracedFunction(function, reduce_retracing=True)
        return lambda *inputs: (traced if tf.executing_eagerly() else function)(*inputs)

    def enter(self, directions):
        # (batch, tokens, features) -> (N, features)
        return [
            tf.gather_nd(x, tf.gather(self.positions, tf.math.invert_permutation(packed_index)))
            for x, packed_index in zip(directions, self.packed_index, strict=True)
        ]

    def run_layer(self, layers, directions, states):
        num_started = self.num_rows[0]
        # In the packed form the longest rows come first. The caller gets its own order back.
        states = [[tf.gather(tensor, self.order) for tensor in pair] for pair in states]
        # A row without tokens takes no step. Its state is returned unchanged.
        started = [(m[:num_started], c[:num_started]) for m, c in states]
        outputs, final_c = self._run_steps([layer.cell for layer in layers], directions, started)
        final_states = []
        for k, (m, c) in enumerate(states):
            last_m = tf.gather(outputs[k], self.final_output_index)  # (num_started, features)
            last_c = tf.gather(final_c[k], self.final_cell_index)  # (num_started, units)
            m = tf.concat([last_m, m[num_started:]], 0)
            c = tf.concat([last_c, c[num_started:]], 0)
            final_states.append((tf.gather(m, self.rank), tf.gather(c, self.rank)))
        return outputs, final_states

    def leave(self, directions):
        tokens = [
            tf.gather(x, packed_index)
            for x, packed_index in zip(directions, self.packed_index, strict=True)
        ]
        tokens = tf.concat(tokens, -1)  # (N, 2 * features), row by row
        shape = [*tf.unstack(tf.shape(self.mask, out_type=tf.int64)), tokens.shape[-1]]
        # (batch, tokens, 2 * features)
        padded = tf.scatter_nd(self.positions, tokens, shape)
        return tf.ensure_shape(padded, (*self.mask.shape, tokens.shape[-1]))

    def _run_steps(self, cells, inputs, states):
        """Runs cells of one size side by side, each over its packed inputs, (N, features).

        The states are a pair `(m, c)` for each cell, of the rows with tokens, the longest first.
        Returns the packed outputs and `final_c` of each cell.
        """
        num_rows, offsets, training = self.num_rows, self.offsets, self.training
        num_steps = tf.shape(num_rows)[0] - 1
        output_size, units = cells[0].output_size, cells[0].units
        row_shapes = [tf.TensorShape([None, size]) for size in (output_size, units)] * len(cells)
        array_shapes = [tf.TensorShape(None)] * len(cells)
        steps = [cell.make_step(fast_gradient=training) for cell in cells]
        is_frozen = not any(cell.kernel.trainable for cell in cells)
        # A frozen kernel is read once, and not in each block.
        kernels = [as_factor(x.kernel, x.compute_dtype) if is_frozen else None for x in cells]
        has_gradient = training or not is_frozen
        # The shapes of what both `while` loops carry: the step, `state`, `outputs`, `final_c`.
        invariants = [tf.TensorShape([]), row_shapes, array_shapes, array_shapes]

        def make_array(size, features):
            return tf.TensorArray(
                inputs[0].dtype, size=size, infer_shape=False, element_shape=(None, features)
            )

        def run_block(start, state, outputs, final_c):
            # A block is as many steps as hold about TOKENS_PER_BLOCK tokens.
            end = tf.minimum(start + tf.maximum(1, TOKENS_PER_BLOCK // num_rows[start]), num_steps)
            rows = slice(offsets[start], offsets[end])
            input_gates = [
                cell.input_gates(x[rows], kernel=kernel)
                for cell, x, kernel in zip(cells, inputs, kernels, strict=True)
            ]
            if has_gradient:
                # The gradient of a slice would be as large as the block, in every step. That of an
                # array with a tensor (rows, 4 * units) for each step is not.
                input_gates = [
                    make_array(end - start, 4 * units).split(gates, num_rows[start:end])
                    for gates in input_gates
                ]

            def gates_of_step(k, t):
                if has_gradient:
                    return input_gates[k].read(t - start)
                # Rows that lie side by side are read where they are.
                first = offsets[t] - offsets[start]
                return input_gates[k][first : first + num_rows[t]]

            def run_step(t, state, outputs, final_c):
                num_continuing = num_rows[t + 1]
                next_state, next_outputs, next_final_c = [], [], []
                for k, step in enumerate(steps):
                    m, c = step(gates_of_step(k, t), state[2 * k], state[2 * k + 1])
                    next_outputs.append(outputs[k].write(t, m))
                    # The last rows of the step belong to the sentences that end here.
                    next_final_c.append(final_c[k].write(t, c[num_continuing:]))
                    next_state += [m[:num_continuing], c[:num_continuing]]
                return t + 1, next_state, next_outputs, next_final_c

            return tf.while_loop(
                lambda t, *_: t < end,
                run_step,
                [start, state, outputs, final_c],
                shape_invariants=invariants,
            )

        state = [tensor for pair in states for tensor in pair]  # m and c of each cell
        outputs = [make_array(num_steps, output_size) for _ in cells]
        final_c = [make_array(num_steps, units) for _ in cells]
        _, _, outputs, final_c = tf.while_loop(
            lambda t, *_: t < num_steps,
            run_block,
            [tf.constant(0), state, outputs, final_c],
            shape_invariants=invariants,
        )
        return [array.concat() for array in outputs], [array.concat() for array in final_c]
