"""Uses of the package where what Windows lacks cannot be imported."""

from scripts import run_python

# `None` in `sys.modules` makes an import fail.
USES = """
import sys
for name in ("tensorflow_text", "fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
import keras, numpy as np, tensorflow as tf
import keras_elmo
from keras_elmo_cli.main import main
from keras_elmo.process.traced_function import TracedFunction

# As in conftest.py, and as with its fixture `untraced`: `fit` and the export have graphs.
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
TracedFunction.__call__ = TracedFunction.run_untraced

folder, source = sys.argv[1] + "/", sys.argv[2]
elmo = keras_elmo.Elmo.from_pretrained(source)
vectors = elmo.embed(["The cat sat.", "a\\u00a0b"])
np.save(folder + "embed.npy", np.concatenate(vectors))

treebank = keras_elmo.Elmo.from_pretrained(source, tokenizer="treebank")
print(treebank.tokenize(["They don't know."]))

model = keras.Sequential(
    [keras_elmo.ElmoEmbedding(elmo, output="default"), keras.layers.Dense(1, "sigmoid")]
)
texts = keras_elmo.strings(["good", "bad"])
model.compile("adam", "binary_crossentropy")
model.fit(texts, np.array([1, 0]), verbose=0)
model.save(folder + "model.keras")
again = keras.models.load_model(folder + "model.keras")
print(np.abs(again(texts) - model(texts)).max() < 1e-6)

keras_elmo.export_saved_model(elmo, folder + "saved", pooled_only=True)
loaded = tf.saved_model.load(folder + "saved")
output = loaded(tf.constant(["The cat sat."]), signature="default")
print(np.abs(output[0] - elmo.embed(["The cat sat."], layers="default")[0]).max() < 1e-5)

with open(folder + "in.txt", "w", encoding="utf-8") as file:
    file.write("The cat sat.\\n")
options = ["-o", folder + "out.npz", "-m", source, "--layers", "elmo"]
print(main(["embed", folder + "in.txt", *options]))
with keras_elmo.read_embeddings(folder + "out.npz") as found:
    print(np.abs(found[0] - vectors[0]).max() < 1e-5)
"""


def test_five_uses_without_what_windows_lacks(tmp_path, one_layer_folder):
    result = run_python("-c", USES, tmp_path, one_layer_folder, timeout=600)
    expected = ["[['They', 'don', \"'t\", 'know', '.']]", "True", "True", "0", "True"]
    assert result.stdout.splitlines() == expected, result.stderr
