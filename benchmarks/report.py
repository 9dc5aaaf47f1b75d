"""The results as Markdown."""

import platform


def processor():
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def markdown(results):
    """All tables, under a line that says where and when they were measured."""
    machine, text = results["machine"], results["text"]
    lines = [
        f"Measured on {machine['cores']} cores ({machine['processor']}), {machine['system']}, "
        f"Python {machine['python']}; {text['sentences']} sentences, {text['tokens']:,} tokens. "
        "The peak is that of a large float32 matrix product just before each table.",
        "",
    ]
    for name, measured in results["tables"].items():
        peak = measured["peak of a matrix product (GFLOP/s)"]
        lines += [f"### {name}", "", f"{measured['date']}; peak {peak:.0f} GFLOP/s.", ""]
        lines += [*table(measured["rows"]), ""]
    return "\n".join(lines)


def table(rows):
    """Rows of one shape (dicts) as the lines of a Markdown table."""
    names = list(rows[0])
    return [
        f"| {' | '.join(names)} |",
        f"| {' | '.join('---' for _ in names)} |",
        *(f"| {' | '.join(cell(row[name]) for name in names)} |" for row in rows),
    ]


def cell(value):
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
