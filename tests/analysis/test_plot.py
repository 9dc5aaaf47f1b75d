import itertools

import keras
import numpy as np
import pytest
from matplotlib import pyplot

import keras_elmo
from keras_elmo.analysis import plot


def vectors(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def legend_of(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def assert_nothing_is_cut_or_overlaps(figure):
    """All texts lie within the picture, and the labels of an axis beside each other."""

    def boxes_of(texts):
        return [t.get_window_extent() for t in texts if t.get_text()]

    figure.draw_without_rendering()
    inside = figure.bbox.padded(1)
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            boxes = [box for box in boxes_of(axis.get_ticklabels()) if inside.overlaps(box)]
            for one, other in itertools.pairwise(boxes):
                assert not one.padded(-1).overlaps(other.padded(-1))
        for box in boxes_of([panel.title, panel.xaxis.label, panel.yaxis.label]):
            assert inside.x0 <= box.x0 and box.x1 <= inside.x1
            assert inside.y0 <= box.y0 and box.y1 <= inside.y1
    assert figure.bbox.width == 800


@pytest.mark.parametrize("method", ["pca", pytest.param("tsne", marks=pytest.mark.slow)])
def test_word(method):
    x = vectors(3, 30, 8)
    x[2, :10, 0] += 20  # layer 2 tells the senses
    labels = ["river"] * 10 + ["money"] * 20
    figure = plot.plot_word(x, labels, layers=[0, 2], method=method, title="bank")
    assert [panel.get_title() for panel in figure.axes] == ["layer 0", "layer 2"]
    assert legend_of(figure) == ["money", "river"]
    points = {}
    for dots in figure.axes[1].collections[:30]:
        points.setdefault(tuple(dots.get_facecolor()[0]), []).append(dots.get_offsets()[0][0])
    river, money = sorted(points.values(), key=len)
    assert (len(river), len(money)) == (10, 20)
    if method == "pca":  # apart in the first component
        assert "%" in figure.axes[0].get_xlabel()
        assert max(min(river), min(money)) > min(max(river), max(money))
    assert_nothing_is_cut_or_overlaps(figure)
    equal_vectors = (1 + 1e-7 * vectors(1, 5, 4)).astype(np.float32)
    assert plot.plot_word(equal_vectors).axes[0].get_xlabel() == "no variance"


@pytest.mark.parametrize("count", [5, 20])
def test_cosines(count):
    one, other, mean = vectors(3, 4, 8), vectors(3, count, 8), vectors(3, 8)
    tokens = ["extraordinary"] * count
    figure = plot.plot_cosines(one, list("abcd"), other, tokens, mean)
    for k in range(3):
        (image,) = figure.axes[k].images
        a, b = one[k, 1] - mean[k], other[k, 3] - mean[k]
        expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        assert image.get_array()[1, 3] == pytest.approx(expected, abs=1e-5)
    assert_nothing_is_cut_or_overlaps(figure)


def test_mixes_of_models(elmo):
    inputs = keras.Input((4,))
    mix = keras_elmo.ScalarMix(initial_scalars=[0, np.log(3.0)], name="inner")
    model = keras.Model(inputs, mix([inputs, inputs]))
    weights = plot.mix_weights(model) | plot.mix_weights(elmo)
    elmo.freeze_mixes(0)  # as a task with `layers="all"` does
    with pytest.raises(
        ValueError, match="must read a ScalarMix.*Received: 'elmo.*', which reads no"
    ):
        plot.mix_weights(elmo)
    assert weights["inner"] == pytest.approx([0.25, 0.75])
    assert list(weights) == ["inner", "elmo"]
    figure = plot.plot_mix(weights)
    heights = [patch.get_height() for patch in figure.axes[0].patches]
    assert heights == pytest.approx([0.25, 0.75, np.nan, *[1 / 3] * 3], nan_ok=True)
    assert legend_of(figure) == ["inner", "elmo"]
    assert_nothing_is_cut_or_overlaps(figure)


def probe_result(model="tiny", words=("bank", "mean")):
    scores = {"most frequent sense": 0.4, "layer 0": 0.5, "layer 1": 0.75}
    rows = [{"word": word, "vectors": k, "f1": f1} for word in words for k, f1 in scores.items()]
    return {"model": model, "task": "senses", "metric": "f1", "rows": rows}


def test_probe():
    figure = plot.plot_probe([probe_result(), probe_result("x" * 40)])
    (panel,) = figure.axes
    assert [patch.get_height() for patch in panel.patches] == [50, 75, 50, 75]
    assert panel.lines[0].get_ydata()[0] == 40
    assert legend_of(figure) == ["most frequent sense (40.0)", "tiny", "x" * 27 + "…"]
    assert_nothing_is_cut_or_overlaps(figure)
    for results, names in [
        ([probe_result(words=["arm", "bank"])], ["tiny, arm", "tiny, bank"]),
        ([probe_result()] * 2, ["tiny", "tiny (2)"]),
    ]:
        assert legend_of(plot.plot_probe(results)) == ["most frequent sense (40.0)", *names]


@pytest.mark.parametrize(
    "draw, arguments, message",
    [
        (plot.plot_word, (vectors(1, 2, 4),), "at least three"),
        (plot.plot_word, (vectors(1, 3, 4), ["a"]), "1 labels for 3"),
        (plot.plot_word, (vectors(1, 9, 4), list("abcdefghi")), "1 to 7 labels. Received: 9"),
        (plot.plot_word, (vectors(1, 9, 4), None, None, "umap"), "`method`"),
        (plot.plot_cosines, (vectors(1, 0, 4), [], vectors(1, 1, 4), ["a"]), "tokens"),
        (plot.plot_probe, ([probe_result(), {**probe_result(), "metric": "x"}],), "one probe"),
        (plot.save_figure, (None, "a.pdf"), "a.pdf"),
        (plot.mix_weights, (keras.Sequential([keras.layers.Dense(2)]),), "ScalarMix"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, arguments, message):
    with pytest.raises(ValueError, match=message):
        draw(*arguments)


def test_files(tmp_path):
    figure = plot.plot_mix({"a": [0.5, 0.5]})
    for name in ("a.png", "a.svg"):
        plot.save_figure(figure, tmp_path / name)
    content = (tmp_path / "a.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(content[16:20], "big") == 800
    assert "<svg" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert pyplot.get_fignums() == []  # pyplot, which keeps every figure, is not used
    formatter = pytest.importorskip("IPython").core.formatters.PNGFormatter()
    assert formatter(figure).startswith(b"\x89PNG")  # a notebook shows it
