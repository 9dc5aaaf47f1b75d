"""examples/browser: the page in headless Chromium, and its character ids under Node.js.

Chromium is driven through chromedriver's HTTP interface, W3C's WebDriver.
"""

import contextlib
import json
import random
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from manylangs_models import architecture, write_model
from scripts import ROOT, load_script

import keras_elmo
from keras_elmo import characters

FOLDER = ROOT / "examples/browser"
MAX_TOKENS = 32
LAYERS = ("word_emb", "lstm_outputs1", "lstm_outputs2")
SENTENCES = [
    "The caf\u00e9 \u732b sat \U0001f642 .",
    "a" * 60 + " " + "\u732b" * 17 + " bank",  # both words are cut, one inside of a character
    "",
    "word " * MAX_TOKENS,
]
CHROMIUM = ["headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"]
CHROMIUM += ["disable-background-networking", "disable-component-update", "disable-sync"]


def program(name):
    """The path of a program, where it is installed."""
    return shutil.which(name) or pytest.skip(f"{name} is not installed")


def split_words(sentence):
    """The words of a sentence, and the marks after them, as the page splits them."""
    parts = ((word.rstrip(".,!?;:"), word) for word in sentence.split())
    words = ([body, *re.findall(r"\.{2,}|.", word[len(body) :])] for body, word in parts)
    return [word for row in words for word in row if word]


def test_a_model_with_a_dictionary_is_refused(tmp_path):
    write_model(tmp_path / "model", architecture())
    build = load_script("examples/browser/build.py")
    with pytest.raises(ValueError, match="characters are bytes. Received: .*with a dictionary"):
        build.build(tmp_path / "page", tmp_path / "model")
    assert not (tmp_path / "page").exists()


# Under Node.js


def run_node(folder, program_text):
    """What a program that can import the page's modules writes, as JSON."""
    for name in ("package.json", "characters.js", "elmo.js"):
        shutil.copy(FOLDER / name, folder)
    (folder / "program.js").write_text(program_text, "utf-8")
    command = [program("node"), "program.js"]
    return json.loads(subprocess.check_output(command, cwd=folder, timeout=100))


# In the place of LiteRT.js: a model of three layers, which one call can run at a time.
LITERT = """
export class Tensor {
  constructor(values, shape) { Object.assign(this, { values, shape }); }
  toTypedArray() { return this.values; }
  delete() {}
}
export const loadLiteRt = () => {}, loadAndCompile = () => {};
"""
SERIAL = """
import { Tensor } from "@litertjs/core";
import { Elmo } from "./elmo.js";
let running = 0, most = 0;
const outputs = ["word_emb", "mask", "lstm_outputs1", "elmo", "lstm_outputs2", "lstm_outputs3"];
const model = {
  getInputDetails: () => [{ shape: [1, 2, 50] }],
  run: async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running -= 1;
    const tensors = outputs.map((name, k) => [name, new Tensor(new Float32Array(4).fill(k))]);
    return Object.fromEntries(tensors);
  },
};
const elmo = new Elmo(model);
const calls = [["a"], ["a", "b", "c"], ["a", "b"]].map((words) => elmo.embed(words));
const results = await Promise.allSettled(calls);
const firsts = results.map(({ value }) => value?.map((layer) => [layer.length, layer[0][0]]));
console.log(JSON.stringify([most, firsts]));
"""


def test_calls_wait_for_each_other_and_layers_are_those_of_the_file(tmp_path):
    library = tmp_path / "node_modules/@litertjs/core"
    library.mkdir(parents=True)
    (library / "package.json").write_text('{"type": "module"}')
    (library / "index.js").write_text(LITERT)
    most, layers = run_node(tmp_path, SERIAL)
    assert most == 1
    assert layers[0] == [[1, 0], [1, 2], [1, 4], [1, 5]]
    assert layers[1] is None  # too long, which does not stop the next one
    assert layers[2] == [[2, 0], [2, 2], [2, 4], [2, 5]]


def test_words_and_character_ids_are_those_of_python(tmp_path):
    rng = random.Random(0)
    # Every kind of whitespace, ASCII, Unicode without surrogates.
    alphabet = [chr(code) for code in range(0x3100) if chr(code).isspace()] * 20
    alphabet += [chr(code) for code in range(0x21, 0x7F)] + ["\ufeff", "\u200b", *".,!?;:" * 20]
    alphabet += [chr(rng.randrange(0x80, 0xD800)) for _ in range(300)]
    alphabet += [chr(rng.randrange(0xE000, 0x110000)) for _ in range(300)]
    texts = ["".join(rng.choices(alphabet, k=rng.randrange(200))) for _ in range(200)]
    texts += [*SENTENCES, "Well, it cost 3,000.50 in the U.S.; didn't it?! Wait... (No.) :"]
    (tmp_path / "texts.json").write_text(json.dumps(texts), "utf-8")
    program_text = """
        import { readFileSync } from "node:fs";
        import { characterIds, splitWords } from "./characters.js";
        const texts = JSON.parse(readFileSync("texts.json"));
        const results = texts.map((text) => {
          const words = splitWords(text);
          return [words, Array.from(characterIds(words, words.length + 1, 50))];
        });
        let message;
        try { characterIds(["a", "b"], 1, 50); } catch (error) { message = error.message; }
        console.log(JSON.stringify([results, message]));
    """
    results, message = run_node(tmp_path, program_text)
    for text, (words, ids) in zip(texts, results, strict=True):
        assert words == split_words(text)
        right = [characters.word_to_ids(word) for word in words] + [[0] * 50]
        assert ids == np.ravel(right).tolist(), text
    expected = "Well , it cost 3,000.50 in the U.S . ; didn't it ? ! Wait ... (No.) :"
    assert words == expected.split()  # as people write
    assert message == "A sentence can have 1 tokens at most. This one has 2."


# In Chromium


class Browser:
    """A window of Chromium."""

    def __init__(self, port, profile):
        self._url = f"http://127.0.0.1:{port}/session"
        options = [f"--{name}" for name in (*CHROMIUM, f"user-data-dir={profile}")]
        capabilities = {"goog:chromeOptions": {"args": options, "binary": program("chromium")}}
        session = self.ask("", {"capabilities": {"alwaysMatch": capabilities}})
        self._url += f"/{session['sessionId']}"

    def ask(self, command, body=None, method="POST"):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._url + command, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=100) as response:
                return json.loads(response.read())["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.loads(error.read())["value"]["message"]) from None

    def run(self, script, *arguments):
        """What an asynchronous function with this body returns; `given` are its arguments."""
        body = f"""
            const given = Array.from(arguments), done = given.pop();
            (async () => {{ {script} }})().then(done, (error) => done(`error: ${{error}}`));
        """
        return self.ask("/execute/async", {"script": body, "args": list(arguments)})

    def value(self, expression):
        return self.run(f"return {expression};")

    def wait_for(self, expression):
        """The first true value of an expression."""
        for _ in range(600):
            if value := self.value(expression):
                return value
            time.sleep(0.1)
        raise TimeoutError(f"{expression}\n{self.value('document.body.innerText')}")


@contextlib.contextmanager
def started(*command):
    """Starts a server, and gives the port of this machine that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            ports = (re.search(r" port ([1-9]\d*)", line) for line in process.stdout)
            yield next(filter(None, ports))[1]
        finally:
            process.terminate()


@contextlib.contextmanager
def serving(folder):
    """The address of a plain static server."""
    options = ["0", "--bind", "127.0.0.1", "--directory", folder]
    with started(sys.executable, "-u", "-m", "http.server", *options) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the page, with its model and LiteRT.js."""
    program("npm")
    folder = tmp_path_factory.mktemp("browser")
    build = load_script("examples/browser/build.py")
    assert build.MAX_TOKENS == MAX_TOKENS
    build.build(folder)
    elmo = keras_elmo.Elmo.from_pretrained("tiny")
    keras_elmo.export_tflite(elmo, folder / "float32.tflite", max_tokens=MAX_TOKENS)
    return folder


@pytest.fixture(scope="module")
def url(built):
    with serving(built) as address:
        yield address


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program("chromium")
    with started(program("chromedriver"), "--port=0") as port:
        browser = Browser(port, tmp_path_factory.mktemp("profile"))
        yield browser
        browser.ask("", method="DELETE")


@pytest.fixture
def page(browser, url):
    """The page, when it has drawn its first matrices."""
    browser.ask("/url", {"url": url})
    browser.wait_for("document.querySelector('td:not(.corner)') !== null")
    return browser


@pytest.fixture(scope="module")
def embed(built):
    """A function that embeds a sentence with the same file in Python."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    runners = {
        name: interpreter.Interpreter(str(built / name)).get_signature_runner()
        for name in ("elmo.tflite", "float32.tflite")
    }

    def embed(sentence, file="elmo.tflite"):
        words = split_words(sentence)
        ids = np.zeros((1, MAX_TOKENS, 50), np.int32)
        for index, word in enumerate(words):
            ids[0, index] = characters.word_to_ids(word)
        outputs = runners[file](character_ids=ids)
        return [outputs[name][0, : len(words)] for name in LAYERS]

    return embed


TABLES = """[...document.querySelectorAll("table")].map((table) =>
        [...table.tBodies[0].rows].map((row) =>
            [...row.querySelectorAll("td")].map((cell) => cell.textContent)))"""
STATUS = "document.getElementById('status').textContent"
TYPE = """
    const textarea = document.getElementById("sentences");
    textarea.value = given[0];
    textarea.dispatchEvent(new Event("input"));
"""


def assert_tables(shown, sentences, word, embed):
    """Asserts that the cells are the cosines of the word's occurrences, in each layer."""
    assert len(shown) == len(LAYERS)
    for layer, cells in enumerate(shown):
        units = [
            embed(sentence)[layer][index]
            for sentence in sentences
            for index, each in enumerate(split_words(sentence))
            if each == word
        ]
        units = np.array(units, np.float64)
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        assert all(re.fullmatch(r"-?\d\.\d\d", text) for row in cells for text in row)
        # Two digits are shown: half a unit of the last, and as much for steps of int8.
        np.testing.assert_allclose(np.array(cells, float), units @ units.T, rtol=0, atol=0.01)


# What LiteRT.js chooses in Chromium, and its files for browsers without relaxed SIMD.
@pytest.mark.slow
@pytest.mark.parametrize("litert", ["", "/litert_wasm_compat_internal.js"])
@pytest.mark.parametrize("file", ["elmo.tflite", "float32.tflite"])
def test_vectors_are_those_of_the_python_runtime(page, embed, file, litert):
    script = """
        const { Elmo } = await import("./elmo.js");
        const { splitWords } = await import("./characters.js");
        const { unloadLiteRt } = await import("@litertjs/core");
        unloadLiteRt(); // the page's
        const elmo = await Elmo.load(given[1], given[2], () => {});
        const results = [];
        for (const sentence of given[0]) {
            const layers = await elmo.embed(splitWords(sentence));
            results.push(layers.map((layer) => layer.map((vector) => Array.from(vector))));
        }
        return results;
    """
    results = page.run(script, SENTENCES, file, f"litert/wasm{litert}")
    assert not isinstance(results, str), results
    for sentence, layers in zip(SENTENCES, results, strict=True):
        for received, right in zip(layers, embed(sentence, file), strict=True):
            received = np.reshape(received, right.shape)
            if file == "float32.tflite":
                np.testing.assert_allclose(received, right, rtol=0, atol=1e-4)
            # A difference in the last bit can move an activation to the next of its 256 steps, so
            # int8 outputs differ by up to 0.05, in Python too between two kinds of kernels.
            norms = np.linalg.norm(received, axis=-1) * np.linalg.norm(right, axis=-1)
            assert np.all(np.sum(received * right, axis=-1) > 0.999 * norms)


@pytest.mark.slow
def test_the_page_shows_cosines(page, embed, record_property):
    first = page.value("document.getElementById('sentences').value").splitlines()
    assert page.value("document.getElementById('word').value") == "bank"
    assert_tables(page.value(TABLES), first, "bank", embed)
    record_property("log", f"the page: {page.value(STATUS)}")
    choices = "[...document.querySelectorAll('option')].map((one) => one.value)"
    assert page.value(choices)[0] == "bank"  # the word that has two meanings
    # Other words, one of them twice in a sentence; the chosen word is gone, so another is shown.
    typed = ["\u732b or na\u00efve \u732b \U0001f642", "", "a na\u00efve \u732b", "\U0001f642"]
    page.run(TYPE, "\n".join(typed))
    page.wait_for("document.getElementById('word').value === 'na\u00efve'")
    assert_tables(page.value(TABLES), typed, "na\u00efve", embed)
    assert page.value(choices) == ["na\u00efve", "\U0001f642", "\u732b"]
    choose = "const select = document.getElementById('word'); select.value = given[0];"
    page.run(choose + "select.dispatchEvent(new Event('change'));", "\u732b")
    assert_tables(page.value(TABLES), typed, "\u732b", embed)


@pytest.mark.slow
def test_the_page_says_what_it_cannot_show(page, embed):
    long = "bank " * (MAX_TOKENS + 1)
    page.run(TYPE, f"{long}\nthe bank\na bank")
    message = page.wait_for("document.getElementById('problem').textContent")
    limit = "A sentence can have 32 tokens at most. This one has 33."
    assert message == f"Line 1 is left out. {limit}"
    assert_tables(page.value(TABLES), ["the bank", "a bank"], "bank", embed)
    page.run(TYPE, "One sentence .")
    page.wait_for("document.getElementById('results').hidden")
    assert "Write a word in two sentences" in page.value(STATUS)
    page.run(TYPE, "")
    page.wait_for(f"{STATUS}.startsWith('There is no sentence yet.')")
    assert page.value("document.getElementById('problem').textContent") == ""


@pytest.mark.slow
def test_a_missing_model_is_said_in_the_page(browser, built, tmp_path):
    shutil.copytree(built, tmp_path / "copy", ignore=shutil.ignore_patterns("*.tflite"))
    with serving(tmp_path / "copy") as address:
        browser.ask("/url", {"url": address})
        message = browser.wait_for("document.getElementById('problem').textContent")
    assert message == "The model could not be loaded. The server answered 404 for elmo.tflite."
