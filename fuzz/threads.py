"""One model that several threads use at once gives what it gives to one."""

import concurrent.futures
import threading

import numpy as np
import tensorflow as tf
from golden.test_reference import random_config, random_model, random_sentences

from fuzz.case import expect
from keras_elmo import Elmo, export_saved_model


def run(seed, folder):
    rng = np.random.default_rng(seed)
    random_model(random_config(rng), rng, folder / "model")
    alone, shared = (Elmo.from_pretrained(folder / "model") for _ in range(2))
    texts = []
    for _ in range(6):
        texts += [" ".join(words) for words in random_sentences(rng)]
    choice = ["elmo", "default", "all", "word_emb"][rng.integers(4)]
    jobs = [list(rng.choice(texts, rng.integers(1, 9))) for _ in range(int(rng.integers(3, 9)))]
    expected = [alone.embed(job, choice) for job in jobs]
    called = alone(texts)["elmo"].numpy()
    export = ["none", "plain", "limited"][rng.integers(3)]
    start = threading.Barrier(len(jobs) + 1 + (export != "none"))

    def waiting(function, *args, **kwargs):
        start.wait()
        return [function(*args, **kwargs) for _ in range(3)][-1]

    with concurrent.futures.ThreadPoolExecutor(start.parties) as pool:
        results = [pool.submit(waiting, shared.embed, job, choice) for job in jobs]
        call = pool.submit(waiting, shared, texts)
        if export != "none":
            settings = {"max_tokens": 4 if export == "limited" else None, "overwrite": True}
            exported = pool.submit(
                waiting, export_saved_model, shared, folder / "saved", **settings
            )
    for job, result, arrays in zip(jobs, results, expected, strict=True):
        for text, one, other in zip(job, result.result(), arrays, strict=True):
            same = one.shape == other.shape and np.allclose(one, other, rtol=1e-5, atol=1e-6)
            expect(same, f"embed({text!r}, {choice}) as alone, export {export}", (one, other))
    same = np.allclose(call.result()["elmo"], called, rtol=1e-5, atol=1e-6)
    expect(same, "a call as alone", call.result()["elmo"])
    if export != "none":
        exported.result()
        short = [text for text in texts if len(text.split()) <= 4]
        signature = tf.saved_model.load(str(folder / "saved")).signatures["default"]
        found = signature(tf.constant(short))["default"].numpy()
        same = np.allclose(found, alone(short)["default"], rtol=1e-5, atol=1e-6)
        expect(same, "what was exported as alone", found)
