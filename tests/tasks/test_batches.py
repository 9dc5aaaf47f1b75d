import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.tasks import batches as data
from keras_elmo.tasks.examples import Examples


def random_examples(rng, count, target):
    lengths = rng.integers(0, 12, count)
    words = [f"w{k}".encode() for k in range(lengths.sum())]
    tokens = tf.RaggedTensor.from_row_lengths(tf.constant(words, tf.string), lengths)
    if target == "tags":
        tags = tf.constant(rng.integers(0, 3, len(words)), tf.int32)
        weights = tf.constant(rng.random(len(words)), tf.float32)
        return Examples(tokens, *map(tokens.with_flat_values, (tags, weights)))
    if target == "table":
        return Examples(tokens, tf.constant(rng.integers(0, 2, (count, 3)), tf.float32))
    return Examples(tokens, tf.constant(rng.integers(0, 3, count), tf.int32))


@pytest.mark.parametrize("target", ["labels", "tags", "table"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_hold_each_example_once_and_padded(shared_elmo, target, shuffle):
    rng, scheme = np.random.default_rng(0), shared_elmo.token_encoder.scheme
    for count, batch_size in ((1, 4), (7, 3), (20, 30)):
        examples = random_examples(rng, count, target)._replace(batch_size=batch_size)
        batches = data.batches(examples, shared_elmo, shuffle)
        found, sizes = [], []
        for inputs, *others in batches:
            sizes.append(len(inputs["lengths"]))
            assert inputs["words"].shape[1] == max(1, max(inputs["lengths"]))
            for row, length in enumerate(inputs["lengths"].numpy()):
                assert not inputs["words"][row, length:].numpy().any()
                assert not inputs["ids"][row, length:].numpy().any()
                columns = [each[row].numpy() for each in others]
                if target == "tags":
                    assert (columns[0][length:] == -1).all() and not columns[1][length:].any()
                    columns = [column[:length] for column in columns]
                ids = inputs["ids"][row, :length].numpy()
                found.append([column.tolist() for column in (ids, *columns)])
        assert len(sizes) == batches.cardinality() and max(sizes) <= batch_size
        names = ["targets", "weights"] if target == "tags" else ["targets"]
        rows = zip(examples.tokens, *(examples.columns()[name] for name in names), strict=True)
        expected = [
            [np.asarray(column).tolist() for column in (scheme.ids(words), *columns)]
            for words, *columns in rows
        ]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
        if not shuffle:
            assert found == expected


def test_shuffled_batches_are_new_in_each_epoch_and_of_like_length(shared_elmo):
    examples = random_examples(np.random.default_rng(1), 500, "labels")._replace(batch_size=4)
    batches = data.batches(examples, shared_elmo, shuffle=True)
    epochs = [[inputs["words"].numpy().tolist() for inputs, _ in batches] for _ in range(2)]
    first, second = ({str(sorted(batch)) for batch in epoch} for epoch in epochs)
    assert len(first & second) < len(first) / 2  # the texts of a batch
    columns = sum(np.prod(np.shape(batch)) for batch in epochs[0])
    assert columns < 1.15 * sum(examples.tokens.row_lengths().numpy())  # 1.8 in an order of chance
