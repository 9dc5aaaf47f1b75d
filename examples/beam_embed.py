"""Embeds text files in a pipeline of Apache Beam, and writes Parquet files.

    python examples/beam_embed.py 'corpus/*.txt' vectors/part
    python examples/beam_embed.py 'corpus/*.txt' vectors/part --pooled --direct_num_workers 2 \
        --direct_running_mode multi_processing

Options that are not named here are Beam's: which runner, how many workers. It needs
`pip install "keras-elmo[beam]"`.
"""

import argparse

import apache_beam as beam
import pyarrow
from apache_beam.options.pipeline_options import PipelineOptions

from keras_elmo.corpora.beam import Embed


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("input", help="text files or a pattern, one sentence a line; also *.gz")
    parser.add_argument("output", help="how the names of the Parquet files begin")
    parser.add_argument("--model", default="tiny", help="as Elmo.from_pretrained takes it")
    parser.add_argument("--layers", default="elmo", help="as Elmo.embed takes them")
    parser.add_argument("--pooled", action="store_true", help="one vector for each sentence")
    options, beam_options = parser.parse_known_args(arguments)

    embed = Embed(options.model, options.layers, options.pooled)
    fields = [("file", pyarrow.string()), ("text", pyarrow.string())]
    with beam.Pipeline(options=PipelineOptions(beam_options)) as pipeline:
        lines = (
            pipeline | beam.Create([options.input]) | beam.io.ReadAllFromText(with_filename=True)
        )
        # The files are read by few workers. This spreads their lines over all of them.
        rows = lines | beam.MapTuple(lambda file, text: {"file": file, "text": text})
        rows = rows | beam.Reshuffle() | embed
        rows | beam.io.WriteToParquet(
            options.output, embed.schema(fields), file_name_suffix=".parquet"
        )
    metrics = pipeline.result.metrics().query()["counters"]
    return {metric.key.metric.name: metric.result for metric in metrics}


if __name__ == "__main__":
    print(main())
