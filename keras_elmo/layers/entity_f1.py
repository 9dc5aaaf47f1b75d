"""`EntityF1`: a metric of taggers, exact over all the data."""

import keras
from keras import ops

from keras_elmo import tags
from keras_elmo.layers.crf import best_tags, token_mask
from keras_elmo.layers.crf_loss import of_tokens, tag_indices


@keras.saving.register_keras_serializable("keras_elmo")
class EntityF1(keras.metrics.Metric):
    """The F1 score of entities, exact over all the data, as conlleval and seqeval count it: an
    entity is right if its type, its first and its last token are.

    Masking: the tokens that a `CRF` has masked are left out, and those with a negative right tag.

    Args:
        labels: list of strings. The name of each tag, of the scheme BIO or IOBES.

    Call arguments:
        y_true: int, (batch, tokens). The right tags, as places in `labels`.
        y_pred: float, (batch, tokens, tags, tags), what a `CRF` returns; float, (batch, tokens,
            tags), scores of the tags; or int, (batch, tokens), tags.
        sample_weight: float, (batch,) or (batch, tokens): a token of the weight 0 is left out.

    Returns:
        float32, (). From 0 to 1.

    Raises:
        ValueError: the labels are not of such a scheme.

    Example:

    >>> f1 = keras_elmo.EntityF1(["O", "B-PER", "I-PER"])
    >>> float(f1([[1, 2, 0, 1]], [[1, 0, 0, 1]]))  # the second of two entities is right
    0.5

    Reference: Tjong Kim Sang and De Meulder 2003, section 2.
    """

    def __init__(self, labels, name="f1", dtype=None):
        super().__init__(name=name, dtype=dtype)
        if tags.scheme_of(labels) is None:
            raise ValueError(
                "The labels must be tags like B-PER, I-PER and O. Received: labels="
                f"{tags.others_than_tags(labels) or labels}"
            )
        self.labels = list(labels)
        self._goes_on, self._types = tags.continuations(labels)
        self.num_right, self.num_found, self.num_expected = (
            self.add_variable((), "zeros", name=name)
            for name in ("num_right", "num_found", "num_expected")
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = tag_indices(ops.convert_to_tensor(y_true)), ops.convert_to_tensor(y_pred)
        is_real = y_true >= 0
        if len(y_pred.shape) == 4:
            is_real = ops.logical_and(is_real, token_mask(y_pred))
        if sample_weight is not None:
            is_real = ops.logical_and(is_real, of_tokens(sample_weight) != 0)
        types, begins, ends = self._entities(y_true, is_real)  # (batch, tokens), like the following
        found_types, found_begins, found_ends = self._entities(best_tags(y_pred), is_real)
        differs = (types != found_types) | (begins != found_begins) | (ends != found_ends)
        is_wrong = ops.cast(ops.logical_and(differs, types > 0), "int32")
        # Each expected entity is a segment, and right if none of its tokens differs. Segment 0 is
        # what stands before the first entity.
        begins, found_begins = ops.cast(begins, "int32"), ops.cast(found_begins, "int32")
        segment = ops.cumsum(ops.reshape(begins, (-1,)))  # (batch * tokens,)
        num_expected = ops.sum(begins)
        faults = ops.segment_sum(
            ops.reshape(is_wrong, (-1,)), segment, num_segments=ops.size(segment) + 1
        )
        num_wrong = ops.sum(ops.cast(faults[1:] > 0, "int32"))
        self.num_right.assign_add(ops.cast(num_expected - num_wrong, self.dtype))
        self.num_found.assign_add(ops.cast(ops.sum(found_begins), self.dtype))
        self.num_expected.assign_add(ops.cast(num_expected, self.dtype))

    def _entities(self, indices, is_real):
        """The type of each token's entity, or 0; and whether one begins, and ends, at the token."""
        none = len(self.labels)
        indices = ops.where(is_real, indices, none)  # (batch, tokens)
        before = ops.pad(indices[:, :-1], [(0, 0), (1, 0)], constant_values=none)
        goes_on = ops.take(self._goes_on.ravel(), before * (none + 1) + indices)
        types = ops.take(self._types, indices)
        next_goes_on = ops.pad(goes_on[:, 1:], [(0, 0), (0, 1)])
        return types, (types > 0) & ~goes_on, (types > 0) & ~next_goes_on

    def result(self):
        return 2 * self.num_right / ops.maximum(self.num_found + self.num_expected, 1)

    def get_config(self):
        return {**super().get_config(), "labels": self.labels}
