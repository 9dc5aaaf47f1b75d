"""The exported model, in fresh processes that know nothing of this package."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
from typing import NamedTuple

import keras
import numpy as np
import pytest
import tensorflow as tf
from models.keras_forms import TwoInputs
from scripts import ROOT, run_python
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import keras_elmo
from keras_elmo.export import saved_model
from keras_elmo.export.exported_module import ExportedModule
from keras_elmo.export.saved_model import operations, tensorflow_text_operations
from keras_elmo.text import tensors

SENTENCES = ["The dog let out a sharp bark .", "", "a  b", "x\u00a0y\u3000z\u2009w"]
SENTENCES += ["\tÜber 日本 🎉\n", "w" * 80, " "]
BATCHES = [SENTENCES, SENTENCES[:1], (SENTENCES * 50)[:300]]

# TensorFlow's own operations that an export may hold: all are in TensorFlow 2.12 and later, as
# TensorFlow Serving 2.12 to 2.20 has them. RegexSplitWithOffsets, of tensorflow-text, is linked
# there, too.
OPERATIONS = set(
    """
    AddV2 All Any Assert AssignVariableOp BatchMatMulV2 BiasAdd BroadcastTo Cast ConcatV2 Const
    Cumsum DecodePaddedRaw DecodeRaw DenseBincount DisableCopyOnRead EnsureShape Equal
    ExpandDims Fill FloorDiv GatherNd GatherV2 Greater GreaterEqual Identity If
    InvertPermutation Less LessEqual LogicalAnd LowerBound MatMul Max Maximum MergeV2Checkpoints
    Minimum Mul Neg NoOp NotEqual OnesLike Pack Pad PartitionedCall Placeholder Prod
    RaggedRange RaggedTensorToTensor Range ReadVariableOp RealDiv ReduceJoin Relu Reshape RestoreV2
    SaveV2 ScatterNd Select SelectV2 Shape ShardedFilename Sigmoid Size Slice Softmax Split Squeeze
    StatefulPartitionedCall StatelessIf StatelessWhile StaticRegexFullMatch StaticRegexReplace
    StopGradient StridedSlice StringJoin StringLength Sub Substr Sum Tanh TensorListConcatV2
    TensorListFromTensor TensorListGetItem TensorListReserve TensorListSetItem TensorListSplit
    TensorListStack Tile TopKV2 Transpose Unique Unpack UpperBound VarHandleOp Where While
    ZerosLike
    """.split()
)

RUN = """
import json, sys
import numpy as np
import tensorflow as tf
path, batches = json.load(sys.stdin)
try:
    tf.saved_model.load(path)
except Exception as error:
    assert "not registered" in str(error), error
else:
    assert "tensorflow_text" in sys.modules, "it loads without tensorflow_text"
import tensorflow_text
model = tf.saved_model.load(path)
results = {}
for number, batch in enumerate(batches):
    for name, signature in model.signatures.items():
        if name == "tokens":
            rows = [[token.encode() for token in sentence.split()] for sentence in batch]
            width = max(1, *map(len, rows))
            tokens = np.array([row + [b""] * (width - len(row)) for row in rows], object)
            lengths = np.array([len(row) for row in rows], np.int32)
            outputs = signature(tokens=tf.constant(tokens, tf.string), sequence_len=lengths)
        else:
            outputs = signature(text=tf.constant(batch))
        for key, value in outputs.items():
            value = value.numpy()
            if value.dtype == object:  # bytes, of which NumPy's files take none
                digits = [token.hex() for token in value.ravel()]
                value = np.array(digits, str).reshape(value.shape)
            results[f"{number}/{name}/{key}"] = value
assert not any(name.startswith("keras_elmo") for name in sys.modules)
np.savez(sys.argv[1], **results)
"""


@pytest.fixture(scope="module")
def model(one_layer_folder):
    return keras_elmo.Elmo.from_pretrained(one_layer_folder)


class Exported(NamedTuple):
    path: pathlib.Path
    model: keras.Model


@pytest.fixture(scope="module")
def exported(shared_elmo, tmp_path_factory):
    """A model of two layers. (test_manylangs.py has all signatures of TensorFlow's core.)"""
    path = tmp_path_factory.mktemp("exported") / "elmo" / "1"
    keras_elmo.export_saved_model(shared_elmo, path)
    return Exported(path, shared_elmo)


def test_every_signature_equals_the_model_in_a_fresh_process(exported, tmp_path):
    path, model = exported
    given = json.dumps([str(path), BATCHES])
    result = run_python("-c", RUN, tmp_path / "results.npz", input=given, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    with np.load(tmp_path / "results.npz") as file:
        results = dict(file)
    names = [*model.output_keys.sequences, "default", "mask", "sequence_len", "tokens"]
    signatures = {key.split("/")[1] for key in results}
    assert signatures == {"default", "serving_default", "tokens", *model.output_keys.sequences}
    for number, batch in enumerate(BATCHES):
        expected = {name: value.numpy() for name, value in model(batch).items()}
        tokens = expected["tokens"]
        expected["tokens"] = [[token.hex() for token in row] for row in tokens]
        for signature in signatures:
            prefix = f"{number}/{signature}/"
            found = {k.removeprefix(prefix): v for k, v in results.items() if k.startswith(prefix)}
            is_whole = signature in ("default", "serving_default", "tokens")
            assert set(found) == set(names if is_whole else [signature, "sequence_len"])
            for name, value in found.items():
                if value.dtype.kind == "f":
                    assert value.dtype == np.float32
                    np.testing.assert_allclose(value, expected[name], atol=1e-5)
                else:
                    np.testing.assert_array_equal(value.tolist(), expected[name])


def test_every_operation_is_one_that_servers_have(exported):
    found = operations(exported.path)
    assert found <= OPERATIONS | {"RegexSplitWithOffsets"}
    assert tensorflow_text_operations(found) == ["RegexSplitWithOffsets"]


def stored(path):
    """Dtypes and number of all stored values."""
    reader = tf.train.load_checkpoint(str(path / "variables/variables"))
    dtypes = reader.get_variable_to_dtype_map()
    del dtypes["_CHECKPOINTABLE_OBJECT_GRAPH"]
    return set(dtypes.values()), sum(reader.get_tensor(name).size for name in dtypes)


def test_weights_are_stored_once(exported):
    path, model = exported
    assert stored(path) == ({tf.float32}, model.count_params())
    sizes = [file.stat().st_size for file in path.rglob("*")]
    assert sum(sizes) < 4 * model.count_params() + 4_000_000
    assert os.listdir(path.parent) == ["1"]


def test_the_tokens_signature_refuses_wrong_lengths(exported):
    run = tf.saved_model.load(exported.path).signatures["tokens"]
    tokens = tf.constant([["a", "", "c"]])  # "" is a token where the length says so
    assert run(tokens=tokens, sequence_len=tf.constant([2]))["elmo"].shape[1] == 2
    for lengths in ([4], [-1], [], [1, 1]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="`sequence_len` must have a numb"):
            run(tokens=tokens, sequence_len=tf.constant(lengths, tf.int32))


@pytest.mark.slow
def test_a_c_program_gets_the_same_numbers(exported, tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    path, model = exported
    folder = pathlib.Path(tf.__file__).parent
    program = tmp_path / "predict"
    command = [compiler, "-Wall", "-Werror", f"-I{folder}/include"]
    command += [str(ROOT / "examples/serving/predict.c"), "-o", str(program), f"-L{folder}"]
    command += ["-l:libtensorflow_cc.so.2", "-l:libtensorflow_framework.so.2"]
    subprocess.run([*command, f"-Wl,-rpath,{folder}"], check=True)
    library = folder.parent / "tensorflow_text/python/ops/_regex_split_ops.so"
    sentences = ["The dog let out a sharp bark .", "", "Über 日本 🎉"]
    expected = model(sentences)
    saved = SavedModel.FromString((path / "saved_model.pb").read_bytes())
    signatures = saved.meta_graphs[0].signature_def
    for name, key, inputs in [
        ("lstm_outputs1", "lstm_outputs1", ["text"]),
        ("tokens", "elmo", ["tokens", "sequence_len"]),
    ]:
        signature = signatures[name]
        inputs = [signature.inputs[name].name.partition(":")[0] for name in inputs]
        command = [program, path, ",".join(inputs), signature.outputs[key].name, library]
        lines = "\n".join([*sentences, ""])
        result = subprocess.run(command, input=lines, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-2000:]
        shape, *numbers = result.stdout.splitlines()
        values = np.array(numbers, np.float32).reshape([int(n) for n in shape.split()])
        np.testing.assert_allclose(values, expected[key], atol=1e-5)


def test_the_loaded_model_is_called_as_modules_of_tf_hub_are(exported):
    hub = pytest.importorskip("tensorflow_hub", reason="tensorflow_hub is not installed")
    texts = tf.constant(["the cat is on the mat", "", "what are you doing"])
    tokens = tf.constant([["the", "cat"], ["a", ""]])
    tokens = {"tokens": tokens, "sequence_len": tf.constant([2, 1])}
    expected = exported.model(texts)
    module = hub.load(str(exported.path))  # `tf.saved_model.load`
    for outputs in (
        module(texts, signature="default", as_dict=True),
        module(texts, as_dict=True),
        module({"text": texts}, signature="default", as_dict=True),
    ):
        assert outputs.keys() == expected.keys()
        np.testing.assert_allclose(outputs["elmo"], expected["elmo"], atol=1e-6)
    np.testing.assert_array_equal(module(texts), outputs["default"])
    np.testing.assert_array_equal(module(texts, signature="elmo"), outputs["elmo"])
    outputs = module(tokens, signature="tokens", as_dict=True)
    again = exported.model([["the", "cat"], ["a"]])
    np.testing.assert_allclose(outputs["elmo"], again["elmo"], atol=1e-6)
    assert "elmo" in module.signatures
    layer = hub.KerasLayer(module, signature="default", output_key="elmo")
    np.testing.assert_array_equal(layer(texts), module(texts, signature="elmo"))
    np.testing.assert_array_equal(hub.KerasLayer(str(exported.path))(texts), module(texts))
    layer = keras.layers.TFSMLayer(str(exported.path), call_endpoint="serving_default")
    np.testing.assert_array_equal(layer(texts)["default"], module(texts))


def test_half_storage(model, tmp_path, untraced):
    keras_elmo.export_saved_model(model, tmp_path / "1", storage="float16", pooled_only=True)
    signatures = tf.saved_model.load(tmp_path / "1").signatures
    assert set(signatures) == {"default", "serving_default"}
    results = signatures["default"](text=tf.constant(SENTENCES))
    assert set(results) == {"default", "sequence_len"}
    found, expected = results["default"], model(SENTENCES)["default"]
    assert 1e-6 < np.abs(found - expected).max() < 2e-3
    assert stored(tmp_path / "1") == ({tf.float16}, model.count_params())
    # As if the model itself had the rounded weights.
    rounded = keras_elmo.Elmo.from_config(model.get_config())
    rounded.set_weights([w.astype(np.float16).astype(np.float32) for w in model.get_weights()])
    np.testing.assert_allclose(found, rounded(SENTENCES)["default"], atol=1e-6)


def test_no_weight_is_stored_in_a_larger_dtype():
    layer = keras.layers.Dense(3, dtype="float16")
    layer.build((None, 2))
    module = ExportedModule(layer, "float32")
    assert module.cast_variables == [] and module.stored == []


def test_products_in_bfloat16_of_two_exports_in_a_program(one_layer_folder, tmp_path, untraced):
    """A file holds the weights alone, and their rounded copies are made when it is loaded."""
    model = keras_elmo.Elmo.from_pretrained(one_layer_folder, matmul_dtype="bfloat16")
    signatures, expected = [], []
    for name, storage in (("1", None), ("2", "bfloat16")):
        options = {"ops": "core", "storage": storage, "pooled_only": True}
        keras_elmo.export_saved_model(model, tmp_path / name, **options)
        stored_dtype = tf.as_dtype(storage or "float32")
        assert stored(tmp_path / name) == ({stored_dtype}, model.count_params())
        # No loop reads a variable: such a loop would run also if its result is not asked for.
        assert "While" not in operations(tmp_path / name)
        signatures.append(tf.saved_model.load(tmp_path / name).signatures["default"])
        expected.append(model(SENTENCES)["default"])
        halves = [tf.cast(weight * 0.5, "bfloat16") for weight in model.get_weights()]
        model.set_weights([tf.cast(weight, "float32") for weight in halves])
    for run, values in zip(signatures, expected, strict=True):
        np.testing.assert_allclose(run(tf.constant(SENTENCES))["default"], values, atol=1e-6)
    model.set_weights([weight * 2 for weight in model.get_weights()])
    model.matmul_dtype = None
    assert np.abs(expected[1] - model(SENTENCES)["default"]).max() > 1e-5


def test_options(one_layer_folder, tmp_path, monkeypatch):
    """The model stays as it is, and other threads do not notice the export."""
    model = keras_elmo.Elmo.from_pretrained(one_layer_folder, tokenizer=None, max_tokens=3)
    tokens = [["They", "don", "'t", "bark"], [], ["One"]]
    expected = model.embed(tokens)
    refuse_longer, found = tensors.refuse_longer, []

    def embedding_meanwhile(*args):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(model.embed, tokens).result())
        return refuse_longer(*args)

    monkeypatch.setattr(tensors, "refuse_longer", embedding_meanwhile)
    options = {"tokenizer": "treebank", "ops": "core", "max_tokens": 4, "max_batch_size": 32}
    keras_elmo.export_saved_model(model, tmp_path / "1", pooled_only=True, **options)
    assert found and model.tokenizer is None
    for vectors in (found[0], model.embed(tokens)):
        for one, other in zip(vectors, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    run = tf.saved_model.load(tmp_path / "1").signatures["default"]
    outputs = run(tf.constant(["They don't bark", "", "One"]))
    assert outputs["sequence_len"].numpy().tolist() == [3, 0, 1]  # as the model cuts them
    np.testing.assert_allclose(outputs["default"], model(tokens)["default"], atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 4 tokens"):
        run(tf.constant(["a b", "a b c d e"]))
    batching = (tmp_path / "1/batching_params.pbtxt").read_text()
    assert "max_execution_batch_size { value: 32 }" in batching


WORDS = [["so", "good"], ["bad", ""]]
SEVERAL = {
    "text": tf.constant(["a good film", "bad"]),
    "words": tf.constant(WORDS),
    "numbers": tf.constant([[0.5, -1.0, 2.0], [1.0, 0.0, 3.0]]),
    "count": tf.constant([[3], [1]]),
}


def of_tokens(model):
    """The same model without a tokenizer."""
    result = keras_elmo.Elmo.from_config({**model.get_config(), "tokenizer": None})
    result.set_weights(model.get_weights())
    return result


def test_an_elmo_of_tokens(model, tmp_path, untraced):
    elmo = of_tokens(model)
    keras_elmo.export_saved_model(elmo, tmp_path / "1", pooled_only=True)
    signatures = tf.saved_model.load(tmp_path / "1").signatures
    for name in ("default", "serving_default"):
        found = signatures[name](tokens=tf.constant(WORDS))
        np.testing.assert_allclose(found["default"], elmo(np.array(WORDS))["default"], atol=1e-6)
        assert found["sequence_len"].numpy().tolist() == [2, 1]
    inputs = keras.Input((None,), dtype="string")
    tagger = keras.Model(inputs, keras_elmo.ElmoEmbedding(elmo)(inputs))
    for wrong in ({"tokenizer": "space"}, {"warmup_texts": ["a b"]}):
        with pytest.raises(ValueError, match=f"`{next(iter(wrong))}`"):
            keras_elmo.export_saved_model(tagger, tmp_path / "2", **wrong)


def test_several_inputs_are_arguments_by_name(model, tmp_path, untraced):
    """Of a Keras model of raw strings, tokens, floats and integers."""
    inputs = {
        "text": keras.Input((), dtype="string", name="text"),
        "words": keras.Input((None,), dtype="string", name="words"),
        "numbers": keras.Input((3,), name="numbers"),
        "count": keras.Input((1,), dtype="int32", name="count"),
    }
    parts = [
        keras_elmo.ElmoEmbedding(model, output="default")(inputs["text"]),
        keras_elmo.ElmoEmbedding(of_tokens(model), output="default")(inputs["words"]),
        inputs["numbers"],
        keras.layers.Embedding(5, 2)(inputs["count"])[:, 0],
    ]
    several = keras.Model(inputs, keras.layers.Dense(2)(keras.layers.Concatenate()(parts)))
    several.compile("adam", "mse")
    several.optimizer.build(several.trainable_variables)
    keras_elmo.export_saved_model(several, tmp_path / "1", ops="core", max_tokens=3)
    assert stored(tmp_path / "1") == ({tf.float32}, several.count_params())  # no optimizer's
    run = tf.saved_model.load(tmp_path / "1").signatures["serving_default"]
    specs = run.structured_input_signature[1]
    assert {name: (spec.dtype, spec.shape.as_list()) for name, spec in specs.items()} == {
        "text": (tf.string, [None]),
        "words": (tf.string, [None, None]),
        "numbers": (tf.float32, [None, 3]),
        "count": (tf.int32, [None, 1]),
    }
    np.testing.assert_allclose(run(**SEVERAL)["output_0"], several(SEVERAL), atol=1e-5)
    for name, long in [("text", ["a b c d", "a"]), ("words", [["a"] * 4, [""] * 4])]:
        with pytest.raises(tf.errors.InvalidArgumentError, match="at most 3 tokens"):
            run(**{**SEVERAL, name: tf.constant(long)})


@pytest.mark.parametrize("name", ["my-text", "_text", "class", None])
def test_what_several_inputs_cannot_have(model, name, tmp_path):
    inputs = [keras.Input((), dtype="string", name=name or "text"), keras.Input((3,), name="n")]
    vectors = keras_elmo.ElmoEmbedding(model, output="default")(inputs[0])
    several = keras.Model(inputs, keras.layers.Concatenate()([vectors, inputs[1]]))
    with pytest.raises(ValueError, match=f"a letter first.*{name}" if name else "`warmup_texts`"):
        warmup_texts = None if name else ["a"]
        keras_elmo.export_saved_model(several, tmp_path / "1", warmup_texts=warmup_texts)
    assert not os.listdir(tmp_path)


def test_it_replaces_nothing_unless_told(model, tmp_path, monkeypatch):
    """(tests/files/test_atomic.py and tests/cli/test_full_disk.py have errors while it writes.)"""
    path = tmp_path / "elmo" / "1"
    path.mkdir(parents=True)
    (path / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        keras_elmo.export_saved_model(model, path, pooled_only=True)

    # No signature, and so no trace.
    monkeypatch.setattr(saved_model.signatures, "elmo_signatures", lambda *_: {})
    keras_elmo.export_saved_model(model, path, pooled_only=True, overwrite=True)
    assert os.listdir(tmp_path / "elmo") == ["1"]
    assert "mine" not in os.listdir(path) and "saved_model.pb" in os.listdir(path)


class PythonTokenizer:
    def tokenize(self, strings):
        parts = tf.numpy_function(lambda s: s, [strings], tf.string)
        return tf.strings.split(tf.reshape(parts, [-1]))


class TextTokenizer:
    def tokenize(self, strings):
        import tensorflow_text

        return tensorflow_text.WhitespaceTokenizer().tokenize(strings)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"ops": "fast"}, "`ops`"),
        ({"storage": "int8"}, "`storage`"),
        ({"max_tokens": 0}, "`max_tokens`"),
        ({"max_batch_size": -1}, "`max_batch_size`"),
        ({"tokenizer": "moses"}, "`tokenizer`"),
        ({"tokenizer": PythonTokenizer()}, "PyFunc"),
        ({"tokenizer": TextTokenizer(), "ops": "core"}, "TFText>"),
    ],
)
def test_bad_options(model, options, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        keras_elmo.export_saved_model(model, tmp_path / "1", pooled_only=True, **options)
    assert not os.listdir(tmp_path)


def test_models_that_cannot_be_exported(small_folder, tmp_path, untraced):
    elmo = keras_elmo.Elmo.from_pretrained(small_folder, stateful=True)
    two_inputs = TwoInputs(keras_elmo.ElmoEmbedding(elmo, output="default"))
    two_inputs([SEVERAL["text"], SEVERAL["numbers"]])
    models = {"stateless": elmo, "Sequential": keras.Sequential(), "TwoInputs": two_inputs}
    for message, model in models.items():
        with pytest.raises(ValueError, match=message):
            keras_elmo.export_saved_model(model, tmp_path / "1")
    assert not os.listdir(tmp_path)
