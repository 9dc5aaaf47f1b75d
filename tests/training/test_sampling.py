import numpy as np

from keras_elmo.training.sampling import log_uniform_sample


def test_samples_are_distinct_and_log_uniform():
    rng = np.random.default_rng(0)
    counts, total_draws = np.zeros(50), 0
    for _ in range(2000):
        words, num_draws = log_uniform_sample(rng, 10, 50)
        assert words.dtype == np.int32 and len(set(words.tolist())) == 10 <= num_draws
        assert 0 <= words.min() <= words.max() < 50
        counts[words] += 1
        total_draws += num_draws
    k = np.arange(50)
    chance = np.log((k + 2) / (k + 1)) / np.log(51)
    expected = -np.expm1(total_draws / 2000 * np.log1p(-chance))
    np.testing.assert_allclose(counts / 2000, expected, atol=0.04)


def test_as_many_samples_as_words_are_all_words():
    words, _ = log_uniform_sample(np.random.default_rng(0), 8, 8)
    assert sorted(words.tolist()) == list(range(8))
