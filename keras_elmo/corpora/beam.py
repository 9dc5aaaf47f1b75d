"""`Embed`: vectors of sentences in a pipeline of Apache Beam."""

from typing import Any

import apache_beam
from apache_beam.ml.inference.base import ModelHandler, RunInference

from keras_elmo.checks import check_integers, short_repr
from keras_elmo.corpora.shards import (
    as_dtype,
    check_dtype,
    check_pyarrow,
    pyarrow,
    vector_columns,
    vector_fields,
)
from keras_elmo.models import Elmo
from keras_elmo.models.embed_stream import sentence_mean
from keras_elmo.models.sentences import TOKEN_BUDGET
from keras_elmo.weights import sources

# `Elmo.embed` sorts these tokens by length and splits them into batches; four are enough to sort.
_BATCH_TOKENS = 4 * TOKEN_BUDGET


class Embed(apache_beam.PTransform):
    """Embeds a PCollection of sentences: each becomes a dict with its vectors.

    The sentences are strings, or dicts with a string among their fields. The result is a dict with
    the fields of the sentence (a string is the field `text`), and:

    - `tokens`: list of strings;
    - each chosen layer by its name: a list of NumPy arrays, (D,), one for each token; or one such
      array if they are pooled. Beam's Parquet sink takes them, with the schema that `schema` gives.
      `numpy.stack` makes one array of a list.

    It is Beam's own `RunInference` with an `ElmoModelHandler`. So the threads of a worker process
    share one model, a bundle is batched by tokens, and Beam's metrics count batches, sentences, and
    the seconds of loading and embedding. The vectors do not depend on the bundles.

    Args:
        model: what `Elmo.from_pretrained` takes. Every worker must be able to read it.
        layers: what `Elmo.embed` takes, without `"default"`. `"all"` is `layer_0`, `layer_1`, ...
        pooled: bool. The mean of each layer over the tokens of a sentence.
        dtype: `"float32"` or `"float16"`, of the vectors.
        text_field: str. The field of a dict that is the text. Other fields are passed on.
        tokenizer: see `Elmo`, by its name.
        batch_tokens: int. The largest number of tokens (split at whitespace, with the two
            boundaries of each sentence) that one call embeds. `Elmo.embed` splits them further.
        **options: arguments of `RunInference`, such as `model_metadata_pcoll`, which gives a
            running pipeline another model by a source of `Elmo.from_pretrained`.

    Example:

    >>> embed = Embed("tiny", layers="elmo", pooled=True)
    >>> with apache_beam.Pipeline() as pipeline:
    ...     rows = pipeline | apache_beam.io.ReadFromText("corpus/*.txt") | embed
    ...     rows | apache_beam.io.WriteToParquet("vectors/part", embed.schema())
    """

    def __init__(
        self,
        model,
        layers="all",
        pooled=False,
        dtype="float32",
        text_field="text",
        tokenizer="whitespace",
        batch_tokens=_BATCH_TOKENS,
        **options,
    ):
        super().__init__()
        self._text_field, self._options = text_field, options
        self.handler = ElmoModelHandler(
            model, layers, pooled, dtype, text_field, tokenizer, batch_tokens
        )

    def expand(self, sentences):
        # Beam (2.77) fails to infer the type of a dict whose fields have several types.
        rows = apache_beam.Map(self.handler.row).with_output_types(Any)
        return sentences | rows | RunInference(self.handler, **self._options)

    def schema(self, fields=None):
        """The schema of the rows, for Beam's Parquet sink.

        Args:
            fields: list of pairs of names and Arrow types: the fields of the sentences. `None`: the
                text alone.

        Returns:
            A `pyarrow.Schema`.
        """
        check_pyarrow()
        handler = self.handler
        fields = [(self._text_field, pyarrow.string())] if fields is None else list(fields)
        added = vector_fields(handler.columns(), handler.dtype, handler.pooled)
        return pyarrow.schema([*fields, *added])


class ElmoModelHandler(ModelHandler):
    """How `RunInference` loads and calls an `Elmo`. See `Embed`, which has the same arguments."""

    def __init__(self, model, layers, pooled, dtype, text_field, tokenizer, batch_tokens):
        super().__init__()
        check_dtype(dtype)
        check_integers(1, batch_tokens=batch_tokens)
        if isinstance(model, Elmo):
            raise TypeError(
                "`model` must be what `Elmo.from_pretrained` takes, since each worker loads the "
                f"model by itself. Received: {model!r}; save it with `save_pretrained`"
            )
        self.model, self.layers, self.pooled, self.dtype = model, layers, pooled, dtype
        self.text_field, self.tokenizer, self.batch_tokens = text_field, tokenizer, batch_tokens
        self.columns()  # a fault is found before the pipeline runs

    def columns(self):
        """The columns of vectors. Of the model it reads the options alone."""
        config, _ = sources.open_model(self.model)
        return vector_columns(config, self.layers)

    def load_model(self):
        return Elmo.from_pretrained(self.model, tokenizer=self.tokenizer)

    def update_model_path(self, model_path=None):
        self.model = model_path or self.model

    def run_inference(self, batch, model, inference_args=None):
        rows = [self.row(sentence) for sentence in batch]
        sentences = model.tokenize(row[self.text_field] for row in rows)
        columns = vector_columns(model.config, self.layers)
        choices = [column.choice for column in columns]
        results = model.embed_stream(sentences, choices)
        for row, tokens, result in zip(rows, sentences, results, strict=True):
            added = {"tokens": tokens}
            for column in columns:
                array = result[column.choice]
                if self.pooled:
                    array = sentence_mean(array)
                array = as_dtype(array, self.dtype, column.name)
                added[column.name] = array if self.pooled else list(array)
            if both := row.keys() & added.keys():
                raise ValueError(
                    "The fields of a sentence must have other names than what is added. Received: "
                    f"a sentence with the fields {', '.join(sorted(both))}"
                )
            yield {**row, **added}

    def batch_elements_kwargs(self):
        size = self.batch_tokens
        return {"min_batch_size": size, "max_batch_size": size, "element_size_fn": self._num_tokens}

    def get_metrics_namespace(self):
        return "keras_elmo"

    def _num_tokens(self, sentence):
        return len(self.row(sentence)[self.text_field].split()) + 2

    def row(self, sentence):
        """A sentence as a dict with a text."""
        row = {self.text_field: sentence} if isinstance(sentence, str) else sentence
        if not isinstance(row, dict) or not isinstance(row.get(self.text_field), str):
            raise TypeError(
                f"Each sentence must be a string, or a dict with a string {self.text_field!r}. "
                f"Received: {short_repr(sentence)}"
            )
        return row
