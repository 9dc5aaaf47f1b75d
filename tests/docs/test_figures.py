"""The figures of README.md are those of the benchmarks' results."""

import json
import re

import pytest
from code_blocks import ROOT


def test_speed_in_the_readme_is_what_was_measured():
    results = json.loads((ROOT / "benchmarks/results/inference.json").read_text())
    start, systems = (results["tables"][name]["rows"] for name in ("start", "systems"))
    assert [row["system"] for row in start] == ["keras_elmo", "simple_elmo"]
    names = ["keras_elmo", "keras_elmo, products in bfloat16", "simple_elmo"]
    assert [row["system"] for row in systems] == names
    rows = {
        f"{results['text']['sentences']} sentences": [
            f"{row['all sentences (tokens/s)']:,.0f} tokens/s" for row in systems
        ],
        "one sentence of 12 tokens": [f"{row['one sentence (ms)']:.0f} ms" for row in systems],
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, values in rows.items():
        assert f"| {name} | {' | '.join(values)} |" in text
    ready = [f"{row['system']} {row['start to ready (s)']:.1f} s" for row in start]
    ready[0] = ready[0].replace("keras_elmo", "keras_elmo took")
    dates = {name: results["tables"][name]["date"] for name in ("start", "systems")}
    text = " ".join(text.split())
    assert f"{' and '.join(ready)} ({dates['start']}" in text
    assert f"Python {results['machine']['python']}, {dates['systems']}" in text


def test_speed_of_keras_elmo_lite_in_the_readme_is_what_was_measured():
    results = json.loads((ROOT / "benchmarks/results/lite.json").read_text())
    start, systems = (results["tables"][name] for name in ("start", "systems"))
    names = ["keras_elmo", "keras_elmo_lite, int8", "simple_elmo"]
    assert [row["system"] for row in systems] == names
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name, key, form in [
        ("512 sentences", "all sentences (tokens/s)", "{:,.0f} tokens/s"),
        ("one sentence of 12 tokens", "one sentence (ms)", "{:.0f} ms"),
        ("peak memory", "peak memory (MB)", "{:,.0f} MB"),
    ]:
        assert f"| {name} | {' | '.join(form.format(row[key]) for row in systems)} |" in text
    assert f"{start[0]['start to the first vectors (s)']:.1f} s after its start" in text
    assert f"LiteRT {results['versions']['ai-edge-litert']}, {results['date']}" in text


def test_scores_in_the_text_are_what_was_measured():
    tables = json.loads((ROOT / "benchmarks/results/tasks.json").read_text())["tables"]
    (sentiment,) = (table for name, table in tables.items() if "SST-2)" in name)
    (entities,) = (table for name, table in tables.items() if "WNUT17" in name)
    (speech,) = (table for name, table in tables.items() if "EWT" in name)
    (phrases,) = (table for name, table in tables.items() if "phrases" in name)
    text = " ".join((ROOT / "docs/classifiers.md").read_text(encoding="utf-8").split())
    (static,) = (row["vectors"] for row in sentiment if row["vectors"].startswith("static"))
    for table, name, form in [
        (sentiment, "ELMo alone", "ELMo alone reaches {:.1f} on SST-2"),
        (sentiment, "word vectors alone", "6,920 sentences, {:.1f}."),
        (sentiment, "a bag of words", "A bag of words reaches {:.1f}."),
        (sentiment, "frozen", "The default, which reads both, reaches {:.1f};"),
        (sentiment, "GloVe (50 numbers)", "in the place of ELMo it reaches {:.1f}, and with"),
        (sentiment, static, "and with static vectors {:.1f}."),
        (sentiment, "mix", "in the place of all of them it reaches {:.1f}, and"),
        (sentiment, "layer 0", "and with layer 0 in their place {:.1f}."),
        (sentiment, "all trained", "On SST-2 all of ELMo reaches {:.1f} (standard deviation of"),
        (sentiment, "frozen", "where the head alone reaches {:.1f}. That took twelve"),
        (phrases, "frozen", "dev sentences, the default reaches {:.1f} (one training),"),
        (phrases, "a bag of words", "and a bag of words {:.1f} (standard"),
        (phrases, "mix", "in the place of all of them it reaches {:.1f}, and with layer 0"),
        (phrases, "layer 0", "and with layer 0 {:.1f} (one training each)."),
        (phrases, "MiniLM, logistic regression", "MiniLM's mean vectors reach {:.1f},"),
        (phrases, "GloVe (50 numbers)", "in the place of ELMo both {:.1f}, and word"),
        (phrases, static, "in the place of ELMo both {:.1f}, and word"),
        (phrases, "word vectors alone", "and word vectors alone {:.1f}."),
        (entities, "frozen", "all layers side by side, {:.1f}."),
        (entities, "layer 0", "the word itself, reaches {:.1f}, the mix"),
        (entities, "mix", "the mix of the layers {:.1f}, and"),
        (entities, static, "with static vectors {:.1f}, and"),
        (entities, "GloVe (50 numbers)", "in the place of ELMo it reaches {:.1f}, with"),
        (entities, "word vectors alone", "and {:.1f} without either."),
        (speech, "frozen", "(one training each), and the default {:.1f}."),
        (speech, "layer 0", "(EWT), layer 0 reaches {:.1f} and the mix"),
        (speech, "mix", "and the mix {:.1f} (one training each), and"),
        (speech, static, "in the place of ELMo it reaches {:.1f}, and with GloVe"),
        (speech, "GloVe (50 numbers)", "and with GloVe {:.1f}. In"),
    ]:
        (row,) = (row for row in table if row["vectors"] == name)
        assert form.format(row["F1 (%)" if table is entities else "accuracy (%)"]) in text
    trained = {row["vectors"]: row for row in sentiment}["all trained"]
    assert f"trainings {trained['standard deviation']}), where the head alone" in text
    minutes = trained["seconds of training"] / 60
    (head,) = (row["seconds of training"] / 60 for row in sentiment if row["vectors"] == "frozen")
    assert f"{minutes:.0f} minutes on one core, in the place of {head:.1f}." in text
    assert round(minutes / head) == 12  # "twelve times as long"
    before = json.loads((ROOT / "saved_models/tiny/results/before.json").read_text())
    before = {r["vectors"]: r for r in before["tasks"]["tables"]["Sentiment (SST-2)"]}
    trained, head = (f"{before[name]['accuracy (%)']:.1f}" for name in ("all trained", "frozen"))
    assert f"ELMo reached {trained} on SST-2, and the head alone {head}." in text
    (rows,) = json.loads((ROOT / "benchmarks/results/unfreezing.json").read_text())[
        "tables"
    ].values()
    means = [sum(row[name] for row in rows) / len(rows) for name in ("layer by layer", "one rate")]
    by_layer, at_once = (f"{mean:.1f}" for mean in means)
    assert f"this reached {by_layer} in the mean of two trainings" in text and len(rows) == 2
    assert f"one rate for all layers {at_once} from the same heads" in text
    scores = {row["vectors"]: f"{row['accuracy (%)']:.1f} %" for row in sentiment}
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"accuracy of {scores['frozen']}, where a bag of words" in text
    assert f"a bag of words reaches {scores['a bag of words']};" in text
    assert f"train all of ELMo, too, gained nothing there ({scores['all trained']})." in text


def test_cosines_of_sentences_in_the_text_are_what_was_measured():
    tables = json.loads((ROOT / "benchmarks/results/sentences.json").read_text())["tables"]
    (table,) = tables.values()
    cosines = {row["remedy"]: row["mean cosine"] for row in table if row["vectors"] == "mix"}
    text = " ".join((ROOT / "docs/results.md").read_text(encoding="utf-8").split())
    assert f"have a cosine of {cosines['as they are']:.2f} in the mix" in text
    assert f"Without the mean vector it is {cosines['mean']:.2f}," in text
    found = {(row["vectors"], row["remedy"]): f"{row['film reviews']:.1f} %" for row in table}
    text = " ".join((ROOT / "docs/embedding.md").read_text(encoding="utf-8").split())
    assert f"experiment](results.md#means-of-sentences), {found['mix', 'mean']} of the" in text
    assert f"with the vectors as they are it was {found['mix', 'as they are']}." in text
    assert f"mean vectors of GloVe had {found['GloVe (50 numbers)', 'mean']}." in text
    assert f"MiniLM reached {found['MiniLM', 'mean']}." in text
    about = round(cosines["as they are"], 1)
    assert f"different things have a cosine of about {about}." in text


def test_figures_of_a_gpu_in_the_text_are_what_was_measured():
    results = json.loads((ROOT / "benchmarks/results/gpu.json").read_text())
    exact, tensor_float, products, *_ = results["tables"]["Numbers"]
    error = "largest error / standard deviation"
    text = " ".join((ROOT / "docs/speed.md").read_text(encoding="utf-8").split())
    assert f"a random model of the original's shape on an {results['device'][:11]} (" in text
    assert f"the largest error was {exact[error]:.1e} of a layer's" in text
    assert f"largest error was then {tensor_float[error]:.4f} of a standard" in text
    assert 7 < products[error] / tensor_float[error] < 9  # "an eighth"
    exact, tensor_float, products, *_ = results["tables"]["Speed (tokens/s)"]
    many = [row["batch of 512"] for row in (exact, tensor_float, products)]
    one = [
        1e3 * results["text"]["1"] / row["batch of 1"] for row in (exact, tensor_float, products)
    ]
    assert f"a batch of 512 sentences ({results['text']['512']:,} tokens)" in text
    assert f"TensorFloat-32 read {round(many[1], -3):,.0f} tokens a second" in text
    assert f"second, {many[1] / many[0]:.1f} times as many as float32, and" in text
    assert f'`matmul_dtype="bfloat16"` {round(many[2], -3):,.0f}. A batch' in text
    assert f"one sentence ({results['text']['1']} tokens) took 8 to 9 milli" in text
    assert 8 < min(one) and max(one) < 9.5
    exact, _, products, mixed, _ = results["tables"]["Training (tokens/s)"]
    rates = [row["batches of 32"] for row in (exact, products, mixed)]
    assert f"was {rates[1] / rates[0]:.1f} times as fast as float32, and" in text
    assert 3.5 < rates[0] / rates[2] < 4.5  # "four times as slow"


def test_the_scores_of_the_card_of_tiny_are_what_was_measured():
    before = json.loads((ROOT / "saved_models/tiny/results/before.json").read_text())
    folder = ROOT / "benchmarks/results"
    now = {name: json.loads((folder / f"{name}.json").read_text()) for name in ("tasks", "probes")}
    titles = [title for title in now["tasks"]["tables"] if "phrases" not in title]
    assert [title.split("(")[1][-6:-1] for title in titles] == ["SST-2", "NUT17", "h EWT"]
    text = (ROOT / "saved_models/tiny/README.md").read_text(encoding="utf-8")
    names = {"ELMo alone": "ELMo alone", "frozen": "the default, frozen"}
    for name, row in (names | {"all trained": "then all trained"}).items():
        cells = []
        for title in titles:
            for results in (before, now):
                rows = results["tasks"]["tables"][title]
                found = [each for each in rows if each["vectors"] == name]
                score = "F1 (%)" if "WNUT17" in title else "accuracy (%)"
                cells += [f"{r[score]:.1f} ± {r['standard deviation']}" for r in found] or [""]
        assert f"| {row} | {' | '.join(cells)} |" in text
    text = " ".join(text.split())
    triples = []
    for title in now["tasks"]["tables"]:
        rows = {row["vectors"]: row for row in now["tasks"]["tables"][title]}
        (static,) = (row for name, row in rows.items() if name.startswith("static"))
        score = "F1 (%)" if "WNUT17" in title else "accuracy (%)"
        triples.append([row[score] for row in (rows["mix"], rows["layer 0"], static)])
    assert all(mix == max(mix, *others) for mix, *others in triples[:3])
    scores = [f"{score:.1f}" for triple in triples for score in triple]
    assert (
        "On SST-2's phrases they have {}, {} (one training each) and {},".format(*scores[9:])
        in text
    )
    assert (
        "On SST-2 the mix of the layers has {}, layer 0 {}, and static vectors of the same text "
        "{}. On WNUT17 these have {}, {} and {}, and on EWT {}, {} (one training each) and {}."
    ).format(*scores) in text
    ((old,), (*_, new)) = (each["probes"]["tables"]["senses"] for each in (before, now))
    names = [f"F1 (%), layer {layer}" for layer in (2, 1)]
    (new_2, new_1), (old_2, old_1) = ([f"{row[n]:.1f}" for n in names] for row in (new, old))
    assert f"is {new_2} in layer 2, and {new_1} in layer 1." in text
    assert f"The model before had {old_2} and {old_1};" in text
    scores = []
    for results in (now, before):
        rows = {row["vectors"]: row for row in results["probes"]["tables"]["parts of speech"]}
        scores += [f"{rows[name]['test, accuracy (%)']:.1f}" for name in ("mix", "layer 0")]
    mix, layer_0, *of_before = scores
    assert f"reaches {mix} on the test sentences with the mix, and {layer_0} with" in text
    assert "The model before had {} and {}.".format(*of_before) in text
    printed = (ROOT / "saved_models/tiny/results/package.txt").read_text()
    error, cosine = re.search(r"within ([\d.e-]+), cosine >= ([\d.]+)", printed).groups()
    assert f"within {float(error):.1e}".replace("e-0", "e-") in text
    assert f"every cosine at least {cosine}" in text


@pytest.mark.parametrize(
    ("log", "pages", "time", "start"),
    [
        (
            "saved_models/tiny/results/training.jsonl",
            ["docs/training.md", "saved_models/tiny/README.md"],
            "150 million tokens in {:.1f} minutes",
            "{:.0f} seconds",
        ),
        (
            "benchmarks/results/learning/small.jsonl",
            ["docs/training.md"],
            "many in {:.1f} minutes",
            "500 steps",
        ),
    ],
)
def test_a_training_in_the_text_is_what_its_log_says(log, pages, time, start):
    first, *_, last = map(json.loads, (ROOT / log).read_text().splitlines())
    assert first["step"] == 500
    assert last["step"] == last["of"] == 58594 and last["tokens"] == 150_000_640
    speed = (last["tokens"] - first["tokens"]) / (last["seconds"] - first["seconds"])
    rate = f"{round(speed, -4):,.0f} tokens a second after the first "
    rate += start.format(first["seconds"])
    for page in pages:
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert time.format(last["seconds"] / 60) in text and rate in text


def test_figures_of_the_domain_in_the_text_are_what_was_measured():
    results = ROOT / "benchmarks/results"
    linear, classifiers, _ = json.loads((results / "domain.json").read_text())["tables"].values()
    rows = {row["what"]: row for row in linear + classifiers}
    words, alone = rows["words"], rows["vectors of alone"]
    elmo = [rows[f"vectors of {name}"] for name in ("tiny", "further", "alone")]
    further = elmo[1]
    tiny, minilm = elmo[0]["1,000"][:4], rows["vectors of MiniLM"]
    heads = of_tiny, of_further = [rows[f"classifier on {name}"] for name in ("tiny", "further")]
    trained = [rows[f"classifier on {name}, all trained"] for name in ("tiny", "further")]
    whole = [
        rows[f"classifier {name}, whole reviews"]
        for name in ("on tiny", "on GloVe (50 numbers)", "without ELMo", "on further")
    ]
    static, glove = rows["classifier without ELMo"], rows["classifier on GloVe (50 numbers)"]
    assert minilm["1,000"][:4] == alone["1,000"][:4]
    logs = {name: (results / f"domain/{name}.log").read_text() for name in ("further", "alone")}
    perplexity = {
        name: float(re.search(r"^step .* perplexity ([\d.]+)", log, re.M)[1])
        for name, log in logs.items()
    }
    text = " ".join((ROOT / "docs/domain.md").read_text(encoding="utf-8").split())
    gains = [
        float(row["50"][:4]) - float(words["50"][:4])
        for name, row in rows.items()
        if name.startswith("words and")
    ]
    best = max(row["200"].split(" ± ")[0] for row in elmo)
    for sentence in [
        f"with 200 it has {words['200'][:4]}, and the best of ELMo's vectors {best}.",
        f"With 5,000 reviews it has {words['5,000']}, and the vectors of `further` "
        f"{further['5,000']}.",
        f"It reads {words['texts a second']:,.0f} texts a second, ELMo about 30, and a "
        "classifier on ELMo 7 to 12.",
        f"With 1,000 it has {of_further['1,000'][:4]} on `further`, where the mean vectors have "
        f"{further['1,000'][:4]}, and with 5,000 it has {of_further['5,000']}. The bag",
        f"`TextClassifier` has {whole[0]['5,000']} on `tiny` then, where it had {of_tiny['5,000']}",
        f"That took {whole[0]['seconds of training (5,000)'] / 60:.0f} minutes on one core, in the "
        f"place of {of_tiny['seconds of training (5,000)'] / 60:.0f}. On GloVe's",
        f"GloVe's vectors it has {whole[1]['5,000']}, and {whole[2]['5,000']} without ELMo:",
        f"On `further` it has {whole[3]['5,000']}, about as much as the bag of words.",
        f"With 1,000 it has {of_tiny['1,000'][:4]} on `tiny`, {glove['1,000'][:4]} on "
        f"GloVe's vectors, and {static['1,000'][:4]} without ELMo.",
        f"bag of words, too**: with 5,000 reviews it has {trained[1]['5,000']}. That took "
        f"{trained[1]['seconds of training (5,000)'] / 60:.0f} minutes on one core, in the place "
        f"of {of_further['seconds of training (5,000)'] / 60:.0f}.",
        f"The bag of words has {words['50']}, the vectors of `alone` {alone['50']}, "
        f"GloVe's {rows['vectors of GloVe (50 numbers)']['50'][:4]}, "
        f"and MiniLM's {minilm['50'][:4]}.",
        f"with 200 reviews**: they have {minilm['200'][:4]}.",
        f"with 5,000 they have {minilm['5,000']}, less",
        f"vectors of `alone` have {alone['1,000'][:4]}, and those of `tiny` {tiny}.",
        f"perplexity of {perplexity['further']:.1f}, and `alone` {perplexity['alone']:.1f}.",
        f"those of `further` have {further['5,000']}, and those of `alone` {alone['5,000']}.",
        f"a dropout of 0.1 gave {rows['vectors of further, dropout 0.1']['5,000']}, too.",
        f"With 50 it is higher by {min(gains):.1f} to {max(gains):.1f} on each",
    ]:
        assert sentence in text, sentence
    assert all(25 < row["texts a second"] < 35 for row in elmo)
    assert all(7 < row["texts a second"] < 12.5 for row in [*heads, *trained, whole[0], whole[3]])
    better = [  # at each number of labels
        (lower[count][:4] < higher[count][:4])
        for lower, higher, counts in [
            (of_tiny, elmo[0], ("50", "200")),
            (of_further, further, ("50", "200")),
            (of_tiny, of_further, ("50", "200", "1,000", "5,000")),
            (of_further, words, ("200", "1,000", "5,000")),
            *((head, all_of, ("5,000",)) for all_of, head in zip(trained, heads, strict=True)),
            (trained[1], whole[3], ("5,000",)),
            (of_tiny, static, ("200", "1,000")),
        ]
        for count in counts
    ]
    assert all(better)
    page = " ".join((ROOT / "docs/classifiers.md").read_text(encoding="utf-8").split())
    for sentence in [
        f"a bag of words learns an accuracy of {words['5,000']}. The default reaches "
        f"{whole[0]['5,000']}, if it reads whole reviews "
        f"and dev data choose the epoch, and {whole[3]['5,000']} with a `tiny` that read other "
        "reviews first.",
        f"of film reviews reaches {trained[0]['5,000']}, in the place of {of_tiny['5,000']} (one",
        f"With GloVe in the place of ELMo it reaches {whole[1]['5,000']}, and with word vectors "
        f"alone {whole[2]['5,000']} (one training each).",
    ]:
        assert sentence in page, sentence
    for log in logs.values():
        assert "12,451,323 tokens" in log and "12.5 million tokens" in text
        hours, minutes = map(int, re.search(r"in (\d):(\d\d):\d\d, loss", log).groups())
        assert f"{hours + minutes / 60:.1f}" in ("1.4", "1.7")
    assert "took 1.4 to 1.7 hours on one core" in text


def score_of_the_default(task, score, file):
    rows = json.loads((ROOT / "benchmarks/results" / file).read_text())["tables"][task]
    (row,) = (row for row in rows if row["vectors"] == "frozen")
    return f"{row[score]:.1f} ± {row['standard deviation']}"


def test_figures_of_the_learning_curve_in_the_text_are_what_was_measured():
    tables = json.loads((ROOT / "benchmarks/results/learning.json").read_text())["tables"]
    perplexities, scores = (
        [row for row in rows if row["shape"] == "tiny"] for rows in tables.values()
    )
    points = [5, 10, 25, 50, 100, 150]
    assert [row["million tokens"] for row in scores] == points
    speech, second, first, reviews = (
        {row["million tokens"]: f"{row[name]:.1f}" for row in scores}
        for name in ("EWT", "senses, layer 2", "senses, layer 1", "SST-2")
    )
    every = {row["million tokens"]: row["all"] for row in perplexities}
    text = " ".join((ROOT / "saved_models/tiny/README.md").read_text(encoding="utf-8").split())
    assert f"of `benchmarks.learning`, which had {reviews[150]}, and the aim was 75" in text
    text = " ".join((ROOT / "docs/domain.md").read_text(encoding="utf-8").split())
    for sentence in [
        f"for {speech[5]} % of the words of EWT after 5 million tokens, for {speech[50]} % after "
        f"50 million, and for {speech[150]} % at the end.",
        f"rises from {second[5]} to {second[25]} after 25 million tokens, and to {second[150]} at",
        f"In layer 1 it rises from {first[5]} to {first[150]}.",
        f"rise from {reviews[5]} to {reviews[50]} after 50 million tokens.",
        f"What follows, {reviews[100]} and {reviews[150]}, may be chance.",
        f"from {every[5]:.0f} to {every[150]:.1f}.",
    ]:
        assert sentence in text, sentence
    early, late = (1 - every[2 * half] / every[half] for half in (5, 50))
    assert f"From 5 to 10 million tokens it becomes {early:.0%}".replace("%", " %") in text
    assert f"and from 50 to 100 million {late:.0%}".replace("%", " %") in text
    small, knows = (
        {row["million tokens"]: row for row in rows if row["shape"] == "small"}
        for rows in tables.values()
    )
    middle, knows = knows[50], knows[150]
    assert all(abs(middle[name] - scores[3][name]) < 0.3 for name in ("EWT", "SST-2"))
    names = ["senses, layer 1", "senses, layer 2", "EWT", "SST-2"]
    files = "small/tasks.json", "tasks.json"
    names_found = [
        score_of_the_default("Named entities (WNUT17)", "F1 (%)", file) for file in files
    ]
    for sentence in [
        f"{small[150]['all']:.1f} at the end, and that of `tiny` {every[150]:.1f}.",
        f"million tokens it has the {middle[names[1]]:.1f} in layer 2 that `tiny` has at the end.",
        f"{knows[names[0]]:.1f} in layer 1 in the place of {first[150]}, and "
        f"{knows[names[1]]:.1f} in layer 2 in the place of {second[150]}.",
        f"right for {knows['EWT']:.1f} % of the words of EWT, in the place of {speech[150]} %, and "
        f"for {knows['SST-2']:.1f} % of the sentences of SST-2, in the place of {reviews[150]} %",
        "The default `TextClassifier` has {} on SST-2 with it, and {} with `tiny`.".format(
            *(score_of_the_default("Sentiment (SST-2)", "accuracy (%)", file) for file in files)
        ),
        "the default `Tagger` on it has an F1 of {} on WNUT17, and {} on `tiny`.".format(
            *names_found
        ),
    ]:
        assert sentence in text, sentence
    text = " ".join((ROOT / "saved_models/tiny/README.md").read_text(encoding="utf-8").split())
    assert f"trained on the same text, has {knows['SST-2']:.1f}." in text
    text = " ".join((ROOT / "docs/classifiers.md").read_text(encoding="utf-8").split())
    assert f"that read the text of `tiny` reaches {names_found[0][:4]}." in text


def test_figures_of_the_trials_in_the_text_are_what_was_measured():
    tables = json.loads((ROOT / "benchmarks/results/trials.json").read_text())["tables"]
    long, short = ({row["training"]: row for row in rows} for rows in tables.values())
    perplexity, first = "held-out perplexity", "64 lanes"
    few = {name: f"{row[perplexity]:,.0f}" for name, row in short.items()}
    text = " ".join((ROOT / "docs/training.md").read_text(encoding="utf-8").split())
    for sentence in [
        f"had a perplexity of {few[first]}; Adagrad",
        f"of 0.5 had {few['Adagrad 0.5']} after",
        f"of 0.001 had {few['rate 0.001']}.",
        f"The perplexity was {few['32 lanes']}, and {few[first]} with 64.",
        f"no higher: {few[first]}, and {few['4,096 negatives']} with",
        f"reads {short[first]['tokens/s'] / short['4,096 negatives']['tokens/s']:.1f} times as",
    ]:
        assert sentence in text, sentence
    many = {name: f"{row[perplexity]:.2f}" for name, row in long.items()}
    text = " ".join((ROOT / "docs/domain.md").read_text(encoding="utf-8").split())
    assert f"had a perplexity of {long['as tiny, but 64 lanes'][perplexity]:.0f} at its end" in text
    text = " ".join((ROOT / "saved_models/tiny/README.md").read_text(encoding="utf-8").split())
    for sentence in [
        f"perplexity, {many['dropout 0.1']} in the place of {many['as tiny, but 64 lanes']}, and",
        f"has a perplexity of {many['32 lanes of 40 tokens']}. The",
    ]:
        assert sentence in text, sentence
    for score, most in [("EWT", 0.5), ("SST-2", 1.5), ("senses, layer 2", 1.5)]:
        scores = [row[score] for row in long.values()]
        assert max(scores) - min(scores) < most  # "No setting gains clearly."
