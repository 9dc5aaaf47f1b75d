"""The subcommands on a model of ELMoForManyLangs."""

import re
import zipfile

import keras
import numpy as np
import pytest
from manylangs_models import architecture, write_model

from keras_elmo import BiLanguageModel, Elmo

SENTENCE = ["The", "cat", "今天"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A folder, a zip of it, and the reference."""
    folder = tmp_path_factory.mktemp("manylangs") / "144"
    reference = write_model(folder, architecture({"n_layers": 1}))
    with zipfile.ZipFile(folder.parent / "144.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"144/{file.name}")
    return folder, folder.parent / "144.zip", reference


def test_info(model, run):
    folder, archive, _ = model
    status, out, _ = run("info", folder)
    assert status == 0 and run("info", archive) == (0, out, "")
    rows = dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())
    assert rows["characters"] == "code points, a dictionary of 26; 10 words of 4"
    assert rows["parameters: words"] == "40"
    size = sum((folder / f"{name}.pkl").stat().st_size for name in ("token_embedder", "encoder"))
    assert rows["weight files"] == f"{size / 1e6:,.1f} MB"


def test_training_begins_from_its_weights(model, eager_training, folder, monkeypatch, run):
    """And writes a model of this package, which embeds and goes on training."""
    _, archive, reference = model
    (folder / "text.txt").write_text(f"{' '.join(SENTENCE)}\n" * 20, encoding="utf-8")
    assert run("vocabulary", "text.txt", "-o", "vocab.txt")[0] == 0
    command = ["train", "--train", "text.txt", "--vocab", "vocab.txt", "--init", archive]
    command += ["-o", "tuned", "--batch-size", 4, "--unroll-steps", 4, "--dropout", 0]
    command += ["--learning-rate", 1e-4]
    assert run(*command, "--steps", 2)[0] == 0
    tuned = Elmo.from_pretrained("tuned")
    (layers,) = tuned.embed([SENTENCE], "all")
    np.testing.assert_allclose(layers, reference.sentence(SENTENCE), atol=5e-3)
    pairs = zip(tuned.weights, Elmo.from_pretrained(archive).weights, strict=True)
    moved = [np.abs(w - v).max() for w, v in pairs if not w.path.startswith("elmo/")]  # its mix
    assert len(moved) > 15 and 0 < min(moved) and max(moved) < 3e-4
    assert BiLanguageModel.from_pretrained("tuned").has_softmax
    monkeypatch.setattr(keras.Model, "fit", lambda *_, **kwargs: None)
    status, _, err = run(*command, "--steps", 4, "--resume")
    assert status == 0 and "resuming from step 2 of 4" in err
