"""Pictures of vectors, mixes and probes, as Matplotlib figures.

Every function returns a `matplotlib.figure.Figure`, 800 pixels wide, which a notebook shows and
`save_figure` writes. `matplotlib.pyplot`, which keeps every figure, is not used. Markers and
hatches differ, as colours do. Matplotlib is needed: `pip install "keras-elmo[plot]"`.
"""

import io
import os

import keras
import numpy as np

from keras_elmo.analysis.occurrences import check_labels
from keras_elmo.checks import check_choice, check_library
from keras_elmo.files.atomic import replacing_file
from keras_elmo.layers import ScalarMix
from keras_elmo.models import Elmo
from keras_elmo.models.embed_stream import unit_vectors

# Okabe and Ito's palette, which people of any colour vision tell apart, without yellow, which is
# hard to see on white.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
_MARKERS = ("o", "^", "s", "D", "v", "P", "X")
_HATCHES = ("", "//", "..", "xx", "\\\\", "--", "oo")
_WIDTH = 8.0  # inches, of 100 pixels each
_MAX_SIDE_BY_SIDE = 12  # tokens of a sentence: with more, panels stand one below the other
_NOISE = 1e-5  # the share of vectors below which their differences are those of float32
_LABEL_LENGTH = 28  # characters of a name in a legend


def save_figure(figure, path):
    """Writes a figure to the file `path`, `*.png` or `*.svg`, which appears when it is complete."""
    suffix = os.path.splitext(path)[1][1:]
    if suffix not in ("png", "svg"):
        raise ValueError(f"A picture must be named *.png or *.svg. Received: {os.fspath(path)}")
    with replacing_file(path) as temporary:
        # Without a date, the same figure gives the same file.
        figure.savefig(temporary, format=suffix, metadata={"Date": None} if suffix == "svg" else {})


def plot_word(vectors, labels=None, layers=None, method="pca", title=None):
    """A `matplotlib.figure.Figure` of a word's occurrences, with a panel for each layer.

    Args:
        vectors: float, (layers, occurrences, D).
        labels: sequence of strings, one for each occurrence, such as its sense; or `None`. Each
            label has a colour and a marker.
        layers: sequence of ints, which of `vectors` to show; `None`: all.
        method: `"pca"`: the first two principal components, whose shares of the variance label the
            axes; or `"tsne"`: t-SNE on cosines, whose groups are clearer, but whose distances mean
            little (scikit-learn).
        title: str or `None`.

    Raises:
        ImportError: a library is not installed.
        ValueError: there are fewer than three occurrences, or the labels are not one for each.
    """
    vectors = np.asarray(vectors, np.float32)
    count = vectors.shape[1]
    if count < 3:
        raise ValueError(f"There must be at least three occurrences. Received: {count}")
    check_choice(("pca", "tsne"), method=method)
    check_labels(labels, count)
    layers = range(len(vectors)) if layers is None else layers
    names, rows = [None], np.zeros(count, int)
    if labels is not None:
        names, rows = np.unique(labels, return_inverse=True)
    _check_colors(names, "labels")
    figure, panels = _panels(len(layers), 3.6, title)
    for panel, layer in zip(panels, layers, strict=True):
        points, axes = (_principal if method == "pca" else _neighbour_embedding)(vectors[layer])
        # In a random order, so that no label hides the others.
        for k in np.random.default_rng(0).permutation(count):
            style = {"c": _COLORS[rows[k]], "marker": _MARKERS[rows[k]]}
            panel.scatter(*points[k], s=22, alpha=0.75, linewidths=0, **style)
        panel.set(title=f"layer {layer}", xlabel=axes[0], ylabel=axes[1], xticks=[], yticks=[])
    if labels is not None:
        handles = [
            panels[0].scatter([], [], c=_COLORS[k], marker=_MARKERS[k], label=_short(name))
            for k, name in enumerate(names)
        ]
        _legend(figure, handles)
    return figure


def _principal(vectors):
    """The first two principal components, and the names of the axes."""
    centred = vectors - vectors.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    if s[0] <= _NOISE * np.linalg.norm(vectors):  # so large is the rounding of equal vectors
        return np.zeros((len(vectors), 2)), ["no variance", "no variance"]
    shares = 100 * s[:2] ** 2 / np.sum(s**2)
    return u[:, :2] * s[:2], [f"component {k} ({x:.0f} %)" for k, x in enumerate(shares, start=1)]


def _neighbour_embedding(vectors):
    check_library("sklearn", "scikit-learn", "probe")
    from sklearn.manifold import TSNE

    perplexity = min(30, (len(vectors) - 1) / 3)
    method = TSNE(metric="cosine", init="random", perplexity=perplexity, random_state=0)
    return method.fit_transform(vectors), ["t-SNE 1", "t-SNE 2"]


def plot_cosines(vectors, tokens, other_vectors, other_tokens, mean=0.0, layers=None, title=None):
    """A `matplotlib.figure.Figure` of the cosines between two sentences' tokens in each layer.

    Args:
        vectors, tokens: float, (layers, tokens, D), and a list of strings. The sentence whose
            tokens are the rows.
        other_vectors, other_tokens: the sentence whose tokens are the columns.
        mean: float, (layers, D). The mean vector of a text, which is subtracted first: without
            this all cosines are high.
        layers: sequence of ints, which layers to show; `None`: all.
        title: str or `None`.

    Raises:
        ValueError: a sentence has no tokens.
    """
    if not tokens or not other_tokens:
        raise ValueError("Both sentences must have tokens. Received: a sentence without any")
    means = np.asarray(mean, np.float32)
    means = means[:, None] if means.ndim else means
    a, b = (unit_vectors(np.asarray(x, np.float32) - means) for x in (vectors, other_vectors))
    layers = range(len(a)) if layers is None else layers
    is_wide = len(other_tokens) > _MAX_SIDE_BY_SIDE
    size = 0.22 if is_wide else min(2.1 / len(other_tokens), 0.5)  # of a cell, in inches
    labels = 0.08 * max(map(len, other_tokens)) + 0.5
    height = max(size * len(tokens), 1.2) + labels
    figure, panels = _panels(len(layers), height, title, 1 if is_wide else 3, sharey=True)
    for panel, layer in zip(panels, layers, strict=True):
        image = panel.imshow(a[layer] @ b[layer].T, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        panel.set_title(f"layer {layer}")
        panel.set_xticks(range(len(other_tokens)), other_tokens, rotation=90, fontsize=9)
        panel.set_yticks(range(len(tokens)), tokens, fontsize=9)
    figure.colorbar(image, ax=list(panels), label="cosine", pad=0.02)
    return figure


def mix_weights(model):
    """The weights of each `ScalarMix` that a Keras model reads, lists of floats, by their names."""
    layers = list(model._flatten_layers())
    unread = [m for e in layers if isinstance(e, Elmo) for m in e.mixes[e.num_read_mixes :]]
    mixes = [
        m for m in layers if isinstance(m, ScalarMix) and not any(m is each for each in unread)
    ]
    if not mixes:
        raise ValueError(
            'The model must read a ScalarMix, as a task does with `layers="elmo"`. '
            f"Received: {model.name!r}, which reads none"
        )
    weights = {}
    for mix in mixes:
        name = mix.name if mix.name not in weights else mix.path
        weights[name] = np.asarray(keras.ops.softmax(mix.scalars), float).tolist()
    return weights


def plot_mix(mixes, title=None):
    """A `matplotlib.figure.Figure` of the weights of the layers in one or several mixes, as bars.

    Args:
        mixes: dict of names, and lists of a weight for each layer.
        title: str or `None`.
    """
    _check_colors(mixes, "mixes")
    groups = [f"layer {k}" for k in range(max(map(len, mixes.values())))]
    bars = {name: dict(zip(groups, weights, strict=False)) for name, weights in mixes.items()}
    figure, (panel,) = _panels(1, 3.6, title)
    _bars(figure, panel, groups, bars, "{:.2f}")
    panel.set_ylabel("weight in the mix")
    return figure


def plot_probe(results, title=None):
    """A `matplotlib.figure.Figure` of a probe's scores for each layer, and of the baseline.

    Args:
        results: list of dicts, as `keras-elmo probe --json` prints them: `"model"`, a name;
            `"metric"`, the key of the score; and `"rows"`, the results of `probing`. If there are
            rows of the word `"mean"`, only those are shown.
        title: str or `None`.

    Raises:
        ValueError: there are no results, or they are of different probes.
    """
    metrics = {result["metric"] for result in results}
    if len(metrics) != 1:
        raise ValueError(
            "The results must be of one probe: of tags, or of senses. "
            f"Received: {', '.join(sorted(metrics)) or 'none'}"
        )
    (metric,) = metrics
    tables = [(result["model"], *table) for result in results for table in _tables(result)]
    has_one_test = len({data for _, data, _ in tables}) == 1
    bars, baselines = {}, []
    for number, (model, data, scores) in enumerate(tables, start=1):
        name = model if has_one_test else f"{model}, {os.path.basename(data)}"
        name = name if name not in bars else f"{name} ({number})"
        baseline = next(iter(scores))  # the first row knows no context
        baselines.append((baseline, scores.pop(baseline)))
        bars[name] = scores
    _check_colors(bars, "models or tests")
    groups = list(dict.fromkeys(group for scores in bars.values() for group in scores))
    figure, (panel,) = _panels(1, 4.0, title)
    handles = []
    for k, (baseline, score) in enumerate(dict.fromkeys(baselines)):
        color = _COLORS[k] if len(set(baselines)) > 1 else "black"
        label = f"{baseline} ({score:.1f})"
        handles.append(panel.axhline(score, color=color, linestyle="--", lw=1.2, label=label))
    _bars(figure, panel, groups, bars, "{:.1f}", handles)
    panel.set_ylabel("macro F1 (%)" if metric == "f1" else f"{metric} (%)")
    panel.set_ylim(0, 105)
    return figure


def _tables(result):
    """Pairs of a test set or word, and its scores in percent by the kind of vectors."""
    rows, metric = result["rows"], result["metric"]
    data = "word" if "word" in rows[0] else "test"
    rows = [row for row in rows if row[data] == "mean"] or rows
    for name in dict.fromkeys(row[data] for row in rows):
        yield name, {row["vectors"]: 100 * row[metric] for row in rows if row[data] == name}


def _bars(figure, panel, groups, bars, form, handles=()):
    """Draws the values of each colour by the group, with numbers above them if there is room."""
    width = 0.8 / len(bars)
    drawn = []
    for k, (name, value_of) in enumerate(bars.items()):
        values = [value_of.get(group, np.nan) for group in groups]
        x = np.arange(len(groups)) + (k - (len(bars) - 1) / 2) * width
        style = {"color": _COLORS[k], "hatch": _HATCHES[k], "edgecolor": "white"}
        drawn.append(panel.bar(x, values, width, label=_short(name), zorder=2, **style))
        if len(bars) * len(groups) <= 16:  # with more, the values would touch each other
            box = {"fc": "white", "ec": "none", "pad": 0.5}
            panel.bar_label(drawn[-1], fmt=form, padding=2, fontsize=9, zorder=4, bbox=box)
    panel.set_xticks(range(len(groups)), groups)
    panel.spines[["top", "right"]].set_visible(False)
    panel.margins(y=0.12)
    _legend(figure, [*handles, *drawn])


# What all figures share


def _check_colors(names, things):
    if not 0 < len(names) <= len(_COLORS):
        raise ValueError(f"There must be 1 to {len(_COLORS)} {things}. Received: {len(names):,}")


def _panels(count, height, title, max_columns=3, sharey=False):
    """A figure with panels of equal height (in inches): the figure, and a list of its axes."""
    check_library("matplotlib", "Matplotlib", "plot")
    from matplotlib.figure import Figure

    columns = min(count, max_columns)
    lines = -(-count // columns)
    figure = Figure(figsize=(_WIDTH, 0.3 + height * lines), dpi=100, layout="constrained")
    # Without this, notebooks do not display figures that were made without pyplot.
    figure._repr_png_ = lambda: _png(figure)
    if title:
        figure.suptitle(title)
    axes = figure.subplots(lines, columns, squeeze=False, sharey=sharey).ravel()
    for panel in axes[count:]:
        panel.remove()
    return figure, list(axes[:count])


def _png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _legend(figure, handles):
    columns = min(len(handles), 3)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def _short(name):
    name = str(name)
    return name if len(name) <= _LABEL_LENGTH else f"{name[: _LABEL_LENGTH - 1]}…"
