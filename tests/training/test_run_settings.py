import dataclasses

import pytest
from training.letters import OPTIONS, make_model

from keras_elmo.training import Corpus
from keras_elmo.training.run_settings import check_same_run, file_counts, run_settings


@pytest.fixture
def settings(corpus):
    def make(options=OPTIONS, corpus=corpus, num_replicas=1, steps=9):
        return run_settings(model, options, corpus, num_replicas, steps)

    model = make_model()
    return make


def test_the_same_run_is_gone_on_with(settings):
    check_same_run(settings(), settings(), "run")


@pytest.mark.parametrize(
    "change",
    [
        {"dropout": 0.5}, {"unroll_steps": 6}, {"batch_size": 3}, {"seed": 1}, {"shuffle": False},
        {"zero_starts": False}, {"optimizer": "adam"}, {"dtype": "mixed_bfloat16"},
        {"bfloat16_products": True},
    ],
)  # fmt: skip
def test_other_options_are_another_run(settings, change):
    ((name, value),) = change.items()
    now = settings(dataclasses.replace(OPTIONS, **change))
    expected = f"{name}: {getattr(OPTIONS, name)!r} before, {value!r} now"
    with pytest.raises(ValueError, match="The checkpoint in FOLDER is of another run") as error:
        check_same_run(settings(), now, "FOLDER")
    assert str(error.value).endswith(expected)


def test_other_texts_words_models_and_replicas_are_another_run(settings, corpus, tmp_path):
    (tmp_path / "other.txt").write_text("a b c\n" * 9)
    other = Corpus(tmp_path / "other.txt")
    before = settings()
    assert before["corpus"] == [list(pair) for pair in corpus.file_counts()]
    for now, name in [
        (settings(corpus=other), "corpus"),
        (settings(num_replicas=2), "replicas"),
        ({**before, "vocabulary": "0" * 64}, "vocabulary"),
        ({**before, "lstm": {**before["lstm"], "dim": 16}}, "lstm"),
    ]:
        with pytest.raises(ValueError, match=f" {name}: "):
            check_same_run(before, now, "run")


def test_only_a_constant_learning_rate_may_go_on_for_longer(settings):
    longer = dataclasses.replace(OPTIONS, epochs=5)
    said = r"The run in run was begun with 9 steps, and now ends after 2,000\. .* none of its steps"
    with pytest.warns(UserWarning, match=said):
        check_same_run(settings(), settings(longer, steps=2000), "run")
    for schedule in ("linear", "cosine"):
        falling = dataclasses.replace(OPTIONS, schedule=schedule)
        message = f"steps: 9 before, 20 now. With the schedule '{schedule}', the learning rate of e"
        with pytest.raises(ValueError, match=message):
            check_same_run(settings(falling), settings(falling, steps=20), "run")


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.filterwarnings("error")
def test_another_way_to_say_as_many_steps_is_the_same_run(settings, schedule):
    options = dataclasses.replace(OPTIONS, schedule=schedule)
    check_same_run(settings(options), settings(dataclasses.replace(options, epochs=9)), "run")


def test_checkpoints_of_0_1_0_had_no_optimizer_but_adagrad(settings):
    before = settings()
    del before["optimizer"]
    check_same_run(before, settings(), "run")


def test_no_corpus_has_no_counts():
    assert file_counts(None) is None
