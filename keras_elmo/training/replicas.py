"""`Replicas`: the copies of a model that a `tf.distribute` strategy trains side by side."""

import tensorflow as tf


class Replicas:
    """The replicas of the strategy in whose scope it is made.

    Every replica has an index among all of them. Several workers (processes) share the replicas;
    the local replicas are those of this process. Without a strategy there is one.

    Attributes:
        count: int. The number of all replicas.
        local_indices: list of int. The indices of the local replicas.
    """

    def __init__(self):
        self._strategy = tf.distribute.get_strategy()
        self.count = self._strategy.num_replicas_in_sync
        self.local_indices = []

        def record_index(context):
            self.local_indices.append(context.replica_id_in_sync_group)
            return tf.zeros(())

        self._strategy.experimental_distribute_values_from_function(record_index)

    def is_chief(self):
        """Whether this process writes the files. Of several workers it is the first."""
        return 0 in self.local_indices

    def run(self, function, args):
        """Calls a function on every replica, inside a `tf.function`."""
        return self._strategy.run(function, args=args)

    def make_values(self, function):
        """A value for each local replica, as `run` takes it.

        Args:
            function: it is called with the index of each local replica, and returns the value.
        """
        if len(self.local_indices) == 1:
            # `run` returns the value itself, too. If both had different types, a function that
            # takes its own result would be traced twice.
            return function(self.local_indices[0])
        return self._strategy.experimental_distribute_values_from_function(
            lambda context: function(context.replica_id_in_sync_group)
        )

    def first_local(self, value):
        """What the first local replica has of a value."""
        return self._strategy.experimental_local_results(value)[0]

    def gather(self, values):
        """What all replicas have of tensors, joined along the batch axis.

        With several workers all of them must call it.
        """
        if self.count == 1:
            return self.first_local(values)
        return [self._strategy.gather(value, axis=0) for value in values]
