"""Random CRFs against brute force, with forbidden transitions and scores that are NaN."""

import numpy as np
from layers.test_crf import brute_force, random_case, score_of

from fuzz.case import expect
from keras_elmo import CRFDecoder, CRFLoss

_FORBIDDEN = [-np.inf, -1e30, -1e9, -1e4]


def run(seed, folder):
    rng = np.random.default_rng(seed)
    layer, scores, mask = random_case(rng, batch=4)
    tags = scores.shape[2]
    forbidden = _FORBIDDEN[rng.integers(4)]
    if rng.random() < 0.6:
        for variable in layer.weights:
            is_forbidden = rng.random(variable.shape) < rng.choice([0.1, 0.4])
            variable.assign(np.where(is_forbidden, forbidden, variable.numpy()))
    if rng.random() < 0.3:
        scores[rng.random(scores.shape) < 0.1] = forbidden
    if rng.random() < 0.3:
        scores[~mask] = np.nan  # what is masked does not matter
    spoilt = rng.random(4) < 0.5 if rng.random() < 0.3 else np.zeros(4, bool)
    spoilt &= mask.any(axis=1)
    for row in np.flatnonzero(spoilt):
        scores[row, rng.choice(np.flatnonzero(mask[row]))] = np.nan
    right = rng.integers(0, tags, mask.shape)
    outputs = layer(scores, mask=mask)
    found = np.asarray(CRFDecoder()(outputs))
    losses = np.asarray(CRFLoss(reduction=None)(right, outputs)).sum(axis=1)
    for row, is_real in enumerate(mask):
        where = f"row {row} of {scores.shape}, forbidden {forbidden}"
        if spoilt[row]:
            expect(not np.isfinite(losses[row]), f"a loss of NaN, {where}", losses[row])
            continue
        with np.errstate(invalid="ignore"):
            total, best, likelihood = brute_force(layer, scores[row], is_real, right[row])
        if not total > -1e3:
            continue  # no sequence of tags is possible
        # Scores of 1e4 and more in float32 leave fewer digits for the others.
        close = {"rtol": 1e-5, "atol": 1e-5}
        score = score_of(layer, scores[row, is_real], found[row, is_real])
        expect(np.isclose(score, best, **close), f"a path of score {best}, {where}", score)
        if likelihood > -1e3:
            is_right = np.isclose(losses[row], -likelihood, **close)
        else:
            is_right = not losses[row] < 1e3  # impossible tags
        expect(is_right, f"a loss of {-likelihood}, {where}", losses[row])
