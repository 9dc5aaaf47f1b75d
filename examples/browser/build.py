"""Puts the page, its model and LiteRT.js into one folder, which any web server can serve.

Needs npm, which fetches LiteRT.js as package-lock.json pins it.

    python examples/browser/build.py FOLDER [MODEL]    # tiny without a name
    python -m http.server --directory FOLDER
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import keras_elmo

PAGE = pathlib.Path(__file__).resolve().parent
PAGE_FILES = ("index.html", "style.css", "page.js", "elmo.js", "characters.js")
# LiteRT.js takes the first pair, or the second one in browsers without relaxed SIMD. Its others
# need headers that a plain server does not send (threads), or bring nothing here (JSPI).
LITERT_FILES = {
    "core/dist/index.js": "core.js",
    "wasm-utils/dist/index.js": "wasm-utils.js",
    **{
        f"core/wasm/{name}": f"wasm/{name}"
        for name in (
            "litert_wasm_internal.js",
            "litert_wasm_internal.wasm",
            "litert_wasm_compat_internal.js",
            "litert_wasm_compat_internal.wasm",
        )
    },
}
MAX_TOKENS = 32


def build(folder, model="tiny"):
    """Writes the folder. Files of the same names are replaced.

    Raises:
        ValueError: the characters of the model are not bytes.
        FileNotFoundError: there is no npm.
        subprocess.CalledProcessError: npm could not fetch LiteRT.js.
    """
    elmo = keras_elmo.Elmo.from_pretrained(model)
    if elmo.config.dictionary is not None:
        raise ValueError(
            "The page makes the character ids of models whose characters are bytes. "
            f"Received: {model}, a model with a dictionary, as those of ELMoForManyLangs"
        )
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm must be installed: it fetches LiteRT.js.")
    folder = pathlib.Path(folder)
    (folder / "litert/wasm").mkdir(parents=True, exist_ok=True)
    for name in PAGE_FILES:
        shutil.copy(PAGE / name, folder)
    with tempfile.TemporaryDirectory() as temporary:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(PAGE / name, temporary)
        subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit"], cwd=temporary, check=True)
        for source, target in LITERT_FILES.items():
            shutil.copy(f"{temporary}/node_modules/@litertjs/{source}", folder / "litert" / target)
    keras_elmo.export_tflite(
        elmo, folder / "elmo.tflite", quantize="int8", max_tokens=MAX_TOKENS, overwrite=True
    )


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build(*sys.argv[1:])
