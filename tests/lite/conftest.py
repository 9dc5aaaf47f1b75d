import pytest

from keras_elmo import Elmo, export_tflite
from keras_elmo.tflite import export


@pytest.fixture(scope="session")
def models(small_folder):
    """A small model by the name of its tokenizer."""
    scalars = {"initial_scalars": [0.3, -0.5, 0.8]}
    return {
        name: Elmo.from_pretrained(small_folder, tokenizer=name, **scalars)
        for name in ("whitespace", "treebank", "space", None)
    }


@pytest.fixture(scope="session")
def files(models, tmp_path_factory):
    """A float32 file of each of these models. They differ in their metadata alone."""
    folder = tmp_path_factory.mktemp("lite")
    with pytest.MonkeyPatch.context() as patch:
        convert, converted = export._convert, []

        def convert_once(*args):
            if not converted:
                converted.append(convert(*args))
            return converted[0]

        patch.setattr(export, "_convert", convert_once)
        for name, model in models.items():
            export_tflite(model, folder / f"{name}.tflite", "words")
    return {name: folder / f"{name}.tflite" for name in models}


@pytest.fixture(scope="session")
def lite(files):
    from keras_elmo_lite import Elmo

    return {name: Elmo(path, num_threads=1) for name, path in files.items()}
