import json

import keras
import pytest

import keras_elmo
from keras_elmo.analysis import plot

pytestmark = pytest.mark.usefixtures("loaded_once")


@pytest.fixture
def draw(folder, monkeypatch, run):
    """Runs `plot`, which must succeed: the figure that it wrote."""
    save, figures = plot.save_figure, []
    monkeypatch.setattr(plot, "save_figure", lambda *args: (figures.append(args[0]), save(*args)))
    (folder / "text.txt").write_text("the bank\nno word\nby the bank\na bank and a bank\n")

    def draw(*arguments):
        quiet = ["-q"] * ("-m" in arguments)
        err = "" if quiet else "a.png\n"
        assert run("plot", *arguments, "-o", "a.png", *quiet) == (0, "", err)
        return figures.pop()

    return draw


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


def test_word_with_senses(draw, run, small_folder, tmp_path):
    (tmp_path / "senses.txt").write_text("river\nnone\nmoney\nmoney\n")
    command = ["word", "bank", "text.txt", "-m", small_folder]
    figure = draw(*command, "--senses", "senses.txt")
    assert texts(figure.legends[0]) == ["money", "river"]
    assert [panel.get_title() for panel in figure.axes] == ["layer 1", "layer 2"]
    assert (tmp_path / "a.png").stat().st_size > 1000
    error = "a.png exists already; give --overwrite to replace it, or name another file"
    shown = f"keras-elmo plot word: error: {error}\n"
    assert run("plot", *command, "-o", "a.png") == (2, "", shown)


def test_cosines_without_the_mean_of_the_text(draw, small_folder, elmo):
    command = ["cosines", "the bank", "by a bank", "-m", small_folder]
    (image,) = draw(*command, "--text", "text.txt", "-l", "0").axes[0].images
    assert image.get_array().shape == (2, 3)
    tokens = "the bank no word by the bank a bank and a bank".split()
    vectors = elmo.embed([[token] for token in tokens], layers=0)
    mean = sum(vectors)[0] / len(tokens)
    a, b = vectors[0][0] - mean, vectors[4][0] - mean
    expected = a @ b / (a @ a * (b @ b)) ** 0.5
    assert image.get_array()[0, 0] == pytest.approx(expected, abs=1e-4)


def test_mixes_of_files_and_folders(draw, tmp_path):
    inputs = keras.Input((4,))
    outputs = keras_elmo.ScalarMix(initial_scalars=[0.0, 0.0])([inputs, inputs])
    keras.Model(inputs, outputs).save("one.keras")
    (tmp_path / "models").mkdir()
    keras.Model(inputs, outputs).save("models/two.keras")
    figure = draw("mix", "one.keras", "models")
    assert texts(figure.legends[0]) == ["one", "two"]


def test_probe(draw, tmp_path):
    rows = [{"test": "a/t.conllu", "vectors": name, "accuracy": 0.5} for name in ("b", "layer 0")]
    result = {"model": "tiny", "task": "tags", "metric": "accuracy", "rows": rows}
    (tmp_path / "rows.json").write_text(json.dumps(result))
    figure = draw("probe", "rows.json")
    assert texts(figure.legends[0]) == ["b (50.0)", "tiny"]
