import json
import subprocess
import sys

import pytest
from scripts import ROOT

RATES = """
import json
import sys
import numpy as np
from benchmarks import unfreezing
from keras_elmo import TextClassifier

model = TextClassifier(sys.argv[1], ["neg", "pos"], filters=4)
model.trainable_part = "all"
model.compile(unfreezing.LayerwiseAdam(0.1))
moved = {}

class Note(unfreezing.Unfreezing):
    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch)
        self.before = [v.numpy() for v in self.model.trainable_variables]

    def on_epoch_end(self, epoch, logs=None):
        for v, before in zip(self.model.trainable_variables, self.before):
            depths = moved.setdefault(epoch, [0.0] * 4)
            k = unfreezing.depth(v)
            depths[k] = max(depths[k], float(np.abs(v.numpy() - before).max()))

model.fit(["good fun", "a mess"], ["pos", "neg"], epochs=4, callbacks=[Note()], verbose=0)
print(json.dumps(list(moved.values())))
"""


@pytest.mark.slow
def test_layers_are_unfrozen_one_after_the_other(small_folder):
    command = [sys.executable, "-c", RATES, str(small_folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    moved = json.loads(result.stdout.splitlines()[-1])
    still = [[change == 0 for change in epoch] for epoch in moved]
    assert still == [
        [False, False, True, True],
        [False, False, False, True],
        [False, False, False, False],
        [False, False, False, False],
    ]
    # The first step of Adam is as large as its rate.
    assert moved[0][1] == pytest.approx(0.1 / 2.6, rel=1e-2)


@pytest.mark.slow
def test_it_runs(one_layer_folder, run_benchmark):
    arguments = ["benchmarks.unfreezing", one_layer_folder, "--small", "--seeds", "1", "2"]
    results, _ = run_benchmark(*arguments)
    (rows,) = results["tables"].values()
    assert [row["seed"] for row in rows] == [1, 2]
    again, _ = run_benchmark(*arguments[:-3], "--seeds", "2")
    assert next(iter(again["tables"].values()))[0] == rows[0]
    for row in rows:
        assert all(0 < row[name] < 100 for name in ("head", "one rate", "layer by layer"))
