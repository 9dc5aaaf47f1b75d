import numpy as np
import pytest
from lite.cases import MODELS, TASKS

from keras_elmo import Elmo, Tagger, export_tflite
from keras_elmo.tflite import export


@pytest.fixture(scope="session")
def models(small_folder):
    """Small models of the same weights, by their names in `MODELS`."""
    models = {name: Elmo.from_pretrained(small_folder, **MODELS[name]) for name in MODELS}
    for name in ("two mixes", "layer norm"):
        models[name].mixes[1].gamma.assign(1.7)
    return models


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
        # Only its metadata is that of fixed shapes.
        export_tflite(models["whitespace"], folder / "fixed.tflite", max_tokens=5)
    return {name: folder / f"{name}.tflite" for name in [*models, "fixed"]}


@pytest.fixture(scope="session")
def lite(models, files):
    from keras_elmo_lite import Elmo

    return {name: Elmo(files[name], num_threads=1) for name in models}


@pytest.fixture(scope="session")
def task_models(one_layer_folder):
    """A model with random weights for each of `TASKS`."""
    rng, result = np.random.default_rng(0), {}
    for name, (kind, tokenizer, arguments, _) in TASKS.items():
        size = {"units" if kind is Tagger else "filters": 24}
        elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=tokenizer)
        result[name] = kind(elmo, **arguments, **size)
        for weight in result[name].head.trainable_variables:
            values = weight.numpy()
            is_free = values > -1e3  # not a transition that the scheme forbids
            noise = rng.normal(scale=0.3, size=values.shape)
            weight.assign(np.where(is_free, values + noise, values))
    return result


@pytest.fixture(scope="session")
def task_files(task_models, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    for name, model in task_models.items():
        export_tflite(model, folder / f"{name}.tflite", quantize=TASKS[name][3])
    return {name: str(folder / f"{name}.tflite") for name in task_models}
