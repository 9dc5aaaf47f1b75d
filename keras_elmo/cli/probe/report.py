"""The result of a probe: a table, or JSON."""

import json
import os


def add_report_arguments(parser):
    """Adds the options of what is printed."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, which `keras-elmo plot probe` reads, and not a table",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def report(options, task, rows, data, metric):
    """Prints the rows of a probe.

    Args:
        options: the arguments as they are typed.
        task: `"tags"` or `"senses"`.
        rows: what the probe gives.
        data: the key of what was tested: a line of the table.
        metric: the key of the score.
    """
    if options.json:
        model = os.path.basename(os.path.normpath(options.model))
        print(json.dumps({"model": model, "task": task, "metric": metric, "rows": rows}, indent=1))
        return
    names = list(dict.fromkeys(row["vectors"] for row in rows))
    scores = {}
    for row in rows:
        scores.setdefault(row[data], []).append(f"{100 * row[metric]:.1f}")
    metric_name = "F1" if metric == "f1" else metric
    lines = [[f"{metric_name} (%)", *names], *([name, *row] for name, row in scores.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *values in lines:
        cells = (f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True))
        print("  ".join([f"{name:<{widths[0]}}", *cells]))
    for row in rows:
        if "mix weights" in row:
            weights = "  ".join(f"{weight:.2f}" for weight in row["mix weights"])
            print(f"weights of the layers in the mix: {weights}")
            break
