"""Embeds text files in a pipeline of Apache Beam, and writes Parquet files.

    python examples/beam_embed.py 'corpus/*.txt' vectors/part
    python examples/beam_embed.py 'corpus/*.txt' vectors/part --direct_num_workers 2 \
        --direct_running_mode multi_processing

Each sentence becomes a row: its file, its text, and the mean of the ELMo vectors of its tokens.
Options that are not named here are Beam's: which runner, how many workers. It needs
`pip install "keras-elmo[beam]"`.
"""

import argparse

import apache_beam as beam
import pyarrow
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.utils.shared import Shared

SCHEMA = pyarrow.schema(
    [
        ("file", pyarrow.string()),
        ("text", pyarrow.string()),
        ("elmo", pyarrow.list_(pyarrow.float32())),
    ]
)


class Embed(beam.DoFn):
    """Adds the vectors to a batch of rows, a list of dicts with a field `text`.

    Args:
        model: what `Elmo.from_pretrained` takes. Every worker must be able to read it.
    """

    def __init__(self, model):
        self.model, self.shared = model, Shared()

    def setup(self):
        from keras_elmo import Elmo  # each worker imports and loads it by itself

        # The threads of a process share one model.
        self.elmo = self.shared.acquire(lambda: Elmo.from_pretrained(self.model))

    def process(self, rows):
        vectors = self.elmo.embed([row["text"] for row in rows], layers="default")
        for row, vector in zip(rows, vectors, strict=True):
            yield {**row, "elmo": vector}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("input", help="text files or a pattern, one sentence a line; also *.gz")
    parser.add_argument("output", help="how the names of the Parquet files begin")
    parser.add_argument("--model", default="tiny", help="as Elmo.from_pretrained takes it")
    options, beam_options = parser.parse_known_args(arguments)
    with beam.Pipeline(options=PipelineOptions(beam_options)) as pipeline:
        (
            pipeline
            | beam.Create([options.input])
            | beam.io.ReadAllFromText(with_filename=True)
            | beam.MapTuple(lambda file, text: {"file": file, "text": text})
            | beam.Reshuffle()  # Few workers read the files. This spreads their lines over all.
            | beam.BatchElements(min_batch_size=64, max_batch_size=1024)
            | beam.ParDo(Embed(options.model))
            | beam.io.WriteToParquet(options.output, SCHEMA, file_name_suffix=".parquet")
        )


if __name__ == "__main__":
    main()
