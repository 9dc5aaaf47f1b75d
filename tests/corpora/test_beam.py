import threading

import numpy as np
import pytest

from keras_elmo import Elmo

beam = pytest.importorskip("apache_beam")  # the extra `beam`; `make test` installs it

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
from apache_beam.options.pipeline_options import PipelineOptions  # noqa: E402
from apache_beam.testing.util import assert_that  # noqa: E402

from keras_elmo.corpora.beam import Embed  # noqa: E402

LINES = ["The cat sat .", "", "naïve 猫 😀", "Hello"] + [f"number {k}" for k in range(60)]


def run(elements, embed, check=None):
    """Runs a pipeline in this process, with two threads; `check` gets its results."""
    # The default runner, Prism, would be downloaded; this one is part of Beam.
    options = PipelineOptions(
        ["--runner", "FnApiRunner", "--direct_num_workers", "2"]
        + ["--direct_running_mode", "multi_threading"]
    )
    with beam.Pipeline(options=options) as pipeline:
        rows = pipeline | beam.Create(elements) | beam.Reshuffle() | embed
        if check is not None:
            assert_that(rows, check)
    return pipeline.result


def sorted_by_text(rows, field="text"):
    return sorted(rows, key=lambda row: LINES.index(row[field]))


def test_each_sentence_becomes_a_row(small_folder, elmo):
    expected = elmo.embed(LINES, [0, 1, 2, "word_emb"])
    tokens = elmo.tokenize(LINES)

    def check(rows):
        assert len(rows) == len(LINES)
        for k, row in enumerate(sorted_by_text(rows)):
            assert list(row) == ["text", "tokens", "layer_0", "layer_1", "layer_2", "word_emb"]
            assert row["text"] == LINES[k] and row["tokens"] == tokens[k]
            for name, array in zip(list(row)[2:], expected[k].values(), strict=True):
                assert len(row[name]) == len(array)
                for vector, other in zip(row[name], array, strict=True):
                    np.testing.assert_allclose(vector, other, atol=1e-6)

    run(LINES, Embed(str(small_folder), ["all", "word_emb"]), check)


def test_fields_of_dicts_are_passed_on_and_vectors_pooled(small_folder, elmo):
    elements = [{"id": k, "line": line} for k, line in enumerate(LINES)]
    expected = elmo.embed(LINES, "default")
    embed = Embed(str(small_folder), "elmo", pooled=True, dtype="float16", text_field="line")

    def check(rows):
        rows = sorted_by_text(rows, "line")
        assert [row["id"] for row in rows] == list(range(len(LINES)))
        for row, vector in zip(rows, expected, strict=True):
            assert row["elmo"].dtype == np.float16
            np.testing.assert_allclose(row["elmo"], vector, atol=2e-3)

    run(elements, embed, check)


def test_the_model_is_loaded_once_and_batches_are_counted(small_folder, monkeypatch):
    loads, load = [], Elmo.from_pretrained

    def counted(*args, **kwargs):
        loads.append(threading.get_ident())
        return load(*args, **kwargs)

    monkeypatch.setattr(Elmo, "from_pretrained", counted)
    # Of the 64 sentences, none has more than 4 tokens: a batch of 30 tokens holds at least 5.
    result = run(LINES, Embed(str(small_folder), "top", batch_tokens=30))
    assert len(loads) == 1
    metrics = result.metrics().query()
    counters = {metric.key.metric.name: metric.result for metric in metrics["counters"]}
    assert counters["num_inferences"] == len(LINES)
    sizes = {metric.key.metric.name: metric.result for metric in metrics["distributions"]}
    batches = sizes["inference_request_batch_size"]
    assert 2 <= batches.max <= 10 and batches.count >= 7


@pytest.mark.parametrize("pooled", [False, True])
def test_rows_go_into_beams_parquet_files(small_folder, elmo, tmp_path, pooled):
    embed = Embed(str(small_folder), [1, "elmo"], pooled)
    with beam.Pipeline(options=PipelineOptions(["--runner", "FnApiRunner"])) as pipeline:
        rows = pipeline | beam.Create(LINES) | embed
        path = str(tmp_path / "vectors")
        rows | beam.io.WriteToParquet(path, embed.schema(), file_name_suffix=".parquet")
    table = pyarrow.concat_tables(map(pyarrow.parquet.read_table, tmp_path.iterdir()))
    assert table.schema.equals(embed.schema())
    rows = sorted_by_text(table.to_pylist())
    assert [row["text"] for row in rows] == LINES
    assert embed.schema([("id", pyarrow.int64())]).names == ["id", "tokens", "layer_1", "elmo"]
    for row, array in zip(rows, elmo.embed(LINES, 1), strict=True):
        if pooled:
            array = array.mean(axis=0) if len(array) else np.zeros(16)
        np.testing.assert_allclose(np.reshape(row["layer_1"], array.shape), array, atol=1e-6)


def test_a_running_pipeline_gets_another_model(small_folder):
    handler = Embed("tiny", "top").handler
    handler.update_model_path(str(small_folder))
    assert handler.load_model().config.projection_dim == 8
    handler.update_model_path(None)
    assert handler.model == str(small_folder)


@pytest.mark.parametrize(
    "name, value",
    [("model", "tyni"), ("layers", 7), ("layers", "default"), ("dtype", "float64"),
     ("batch_tokens", 0)],
)  # fmt: skip
def test_faults_are_found_before_the_pipeline_runs(small_folder, name, value):
    with pytest.raises(ValueError, match=str(value)):
        Embed(**{"model": str(small_folder), name: value})


def test_a_model_that_is_loaded_is_refused(elmo):
    with pytest.raises(TypeError, match="`model`"):
        Embed(elmo)


@pytest.mark.parametrize("pooled", [False, True])
def test_numbers_beyond_float16_are_refused(small_folder, new_elmo, pooled):
    new_elmo.mixes[0].gamma.assign(1e7)
    handler = Embed(str(small_folder), "elmo", pooled, "float16").handler
    with pytest.raises(ValueError, match="elmo must fit into float16"):
        list(handler.run_inference(["The cat sat ."], new_elmo))


@pytest.mark.parametrize(
    "element",
    [3, {"line": "a"}, {"text": None}, {"text": "a", "tokens": 1, "top": 2}],
)
def test_elements_that_are_not_sentences_are_refused(small_folder, elmo, element):
    with pytest.raises((TypeError, ValueError), match="sentence"):
        list(Embed(str(small_folder), "top").handler.run_inference([element], elmo))
