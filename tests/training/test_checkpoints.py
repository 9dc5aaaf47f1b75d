import os

import keras
import numpy as np
import pytest
from training.letters import WORDS, make_model

from keras_elmo.training import Corpus, LazyAdagrad
from keras_elmo.training.checkpoints import check_same_run, run_settings
from keras_elmo.training.checkpoints import read_checkpoint as read
from keras_elmo.training.checkpoints import write_checkpoint as write


def make_variables(seed):
    rng = np.random.default_rng(seed)
    shapes = (len(WORDS), 6), (4,)
    return [keras.Variable(rng.normal(size=shape), dtype="float32") for shape in shapes]


def test_values_come_back_in_their_dtypes(tmp_path):
    written = make_variables(0)
    written.append(keras.Variable(written[0][:2], dtype="bfloat16"))
    written.append(keras.Variable([len(written), 2**31 - 1], dtype="int32"))
    progress = {"step": 3, "best": float("inf"), "heldout": None, "run": {"filters": [[1, 4]]}}
    assert read(tmp_path / "new") == (None, [])
    write(tmp_path / "new", written, progress)
    assert read(tmp_path / "new") == (progress, [])
    for value, expected in zip(read(tmp_path / "new", 4)[1], written, strict=True):
        np.testing.assert_array_equal(value, expected.numpy())
        assert value.dtype == (np.int32 if expected.dtype == "int32" else np.float32)


def test_the_two_newest_are_kept_and_one_of_the_same_step_is_replaced(tmp_path):
    for step, is_evaluated in [(1, False), (9, False), (10, False), (10, True)]:
        progress = {"step": step, "is_evaluated": is_evaluated}
        write(tmp_path, make_variables(0), progress)
        assert read(tmp_path)[0] == progress
    assert sorted(os.listdir(tmp_path)) == ["step-0000000009.npz", "step-0000000010.npz"]
    (tmp_path / "step-0000000010.npz").unlink()
    assert read(tmp_path)[0]["step"] == 9


def test_a_checkpoint_that_is_cut_short_or_damaged(tmp_path):
    variables = make_variables(0)
    write(tmp_path, variables, {"step": 1})
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    position = content.index(variables[0].numpy().tobytes()) + 50
    flipped = content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
    for damaged in (flipped, *(content[:size] for size in range(0, len(content), 20))):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="step-0000000001.npz must be whole"):
            read(tmp_path, 2)
    path.write_bytes(content)
    assert len(read(tmp_path, 2)[1]) == 2
    with pytest.raises(ValueError, match="must be whole.*variable-2 is not a file in the archive"):
        read(tmp_path, 4)


def test_another_run_is_refused(corpus, tmp_path):
    (tmp_path / "other.txt").write_text("a b c\n" * 9)

    def settings(corpus=corpus, **kwargs):
        return run_settings(make_model(is_new=True, **kwargs), corpus)

    before = settings()
    check_same_run(before, settings(), "FOLDER")
    for now, received in [
        (settings(dropout=0.5), "dropout: 0.0 before, 0.5 now$"),
        (settings(clip_norm=2.0, zero_starts=False), "optimizer's global_clipnorm.*; zero_starts"),
        (settings(optimizer=LazyAdagrad), "optimizer's beta_1.*optimizer's name: 'LazyAdam' bef"),
        (settings(corpus=Corpus(tmp_path / "other.txt")), "corpus: "),
        (settings(corpus=Corpus(corpus.files, "latin-1")), "encoding: "),
        (settings(corpus=Corpus(corpus.files, errors="replace")), "errors: "),
        (settings(corpus=Corpus(corpus.files, tokenizer="space")), "tokenizer: "),
        ({**before, "vocabulary": "0" * 64}, "vocabulary: "),
        ({**before, "lstm": {**before["lstm"], "dim": 16}}, "lstm: "),
    ]:
        with pytest.raises(ValueError, match=f"FOLDER.* Received: .*{received}"):
            check_same_run(before, now, "FOLDER")
