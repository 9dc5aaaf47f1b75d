"""What the benchmarks have in common: options, the machine, results as JSON and Markdown."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import sys

from keras_elmo.files.atomic import replacing_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Text that is not in the repository.
SHARED = pathlib.Path(os.environ.get("KERAS_ELMO_SHARED", ROOT.parent / "shared"))

# Flags of Linux, the best first.
_INSTRUCTIONS = {
    "amx_bf16": "AMX",
    "avx512_bf16": "AVX-512 BF16",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512f": "AVX-512",
    "avx2": "AVX2",
}


def parser(module, description, name, small):
    """The parser of `python -m module`, whose results are `name`.json and `name`.md."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=ROOT / "benchmarks/results",
        help=f"folder for {name}.json and {name}.md (default: %(default)s)",
    )
    parser.add_argument("--small", action="store_true", help=f"{small}, to try it")
    return parser


def add_text(parser):
    parser.add_argument(
        "--text",
        type=pathlib.Path,
        default=SHARED / "bench/sentences-512.txt",
        help="tokenised sentences, one a line (default: %(default)s)",
    )


def read_lines(path):
    """The lines of a text that are not empty."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def add_tables(parser):
    parser.add_argument("--tables", nargs="+", metavar="NAME", help="only these")


def measure_tables(options, name, results, tables, head, same=("machine", "versions")):
    """Measures the tables that are chosen, writes all after each one, and prints them.

    `tables` has functions without arguments, and `head` is a function of the results. Tables that
    are not measured stay, see `earlier_tables`.
    """
    if unknown := set(options.tables or ()) - set(tables):
        sys.exit(f"--tables must be of {list(tables)}. Received: {sorted(unknown)}")
    if options.tables:
        results["tables"] = earlier_tables(options.output, name, results, same)
    for title in options.tables or tables:
        print(f"{title} ...", file=sys.stderr, flush=True)
        results["tables"][title] = tables[title]()
        text = write(options.output, name, results, head(results))
    print(text)


def today():
    return datetime.date.today().isoformat()


def context(versions):
    """When and where it was measured: the first items of the results."""
    return {"date": today(), "machine": machine(), "versions": versions}


def machine():
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _processor():
    """Its name, and what it multiplies with if this is known: one name stands for many."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = [line.partition(":") for line in file]
    except OSError:
        return platform.processor()
    of = {key.strip(): value.strip() for key, _, value in lines}
    found = [name for flag, name in _INSTRUCTIONS.items() if flag in of.get("flags", "").split()]
    return ", ".join([of.get("model name", platform.processor()), *found[:1]])


def where(results):
    """The machine and the versions (a list, or a dict) of results as a phrase."""
    machine, versions = results["machine"], results.get("versions", [])
    if isinstance(versions, dict):
        versions = [f"{name} {version}" for name, version in versions.items()]
    parts = [f"on {machine['cores']} cores ({machine['processor']})", machine["system"]]
    return ", ".join([*parts, f"Python {machine['python']}", *versions])


def results_of_model(model, versions):
    """The results of a benchmark of one model, without its tables yet."""
    name = os.path.basename(os.path.normpath(model))
    return {**context(versions), "model": f"`{name}`", "tables": {}}


def head_of_model(results):
    return f"{results['model']}. Measured {results['date']} {where(results)}."


class Tables:
    """The tables of a benchmark, which are written after each row.

    The rows of the file stay if only some `rows` are measured, or (`resume`) only missing ones, or
    with `keep` in any case: on any machine, but of the same versions and model. `name_of` gives a
    row's name, and `order` what the rows are sorted by, from a name.
    """

    def __init__(self, folder, name, results, name_of, order, rows, resume, keep):
        self.results = results
        self._folder, self._name, self._name_of, self._order = folder, name, name_of, order
        self._rows, self._resume = rows, resume
        if rows or resume or keep:
            results["tables"] = earlier_tables(folder, name, results, ("versions", "model"))

    def is_wanted(self, title, name):
        """Whether a row of the table `title` is to be measured."""
        there = map(self._name_of, self.results["tables"].get(title, [])) if self._resume else ()
        return (not self._rows or name in self._rows) and name not in there

    def add(self, title, row):
        """Puts a row into a table, in the place of one of the same name, and writes all."""
        print(json.dumps(row), flush=True)
        rows = self.results["tables"].setdefault(title, [])
        rows[:] = [each for each in rows if self._name_of(each) != self._name_of(row)] + [row]
        rows.sort(key=lambda each: self._order(self._name_of(each)))
        write(self._folder, self._name, self.results, head_of_model(self.results))

    def text(self):
        return (self._folder / f"{self._name}.md").read_text(encoding="utf-8")


def earlier_tables(folder, name, results, same):
    """The tables that `name`.json holds. It ends the program if a value of `same` is another."""
    file = folder / f"{name}.json"
    if not file.exists():
        return {}
    before = json.loads(file.read_text(encoding="utf-8"))
    for key in same:
        if before.get(key) != results.get(key):
            sys.exit(
                f"The tables of {file} stay only where the {key} is the same. "
                f"Received: {results.get(key)} now, and {before.get(key)} in the file. "
                "Measure all tables, or name another folder with --output"
            )
    return before["tables"]


def write(folder, name, results, head):
    """Writes `name`.json, and `name`.md: the line `head`, then the tables. Returns the latter."""
    lines = [head, ""]
    for title, rows in results["tables"].items():
        if not rows:  # not measured yet
            continue
        lines += [f"### {title}", ""]
        if isinstance(rows, dict):  # measured at a time of its own
            peak = rows.get("peak of a matrix product (GFLOP/s)")
            lines += [rows["date"] + (f"; peak {peak:.0f} GFLOP/s." if peak else "."), ""]
            rows = rows["rows"]
        lines += [*_table(rows), ""]
    text = "\n".join(lines)
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, content in (("json", json.dumps(results, indent=1) + "\n"), ("md", text)):
        with replacing_file(folder / f"{name}.{suffix}") as path:
            pathlib.Path(path).write_text(content, encoding="utf-8")
    return text


def _table(rows):
    names = list(rows[0])
    return [
        f"| {' | '.join(names)} |",
        f"| {' | '.join('---' for _ in names)} |",
        *(f"| {' | '.join(_cell(name, row[name]) for name in names)} |" for row in rows),
    ]


def _cell(name, value):
    if not isinstance(value, float):
        return str(value)
    if "cosine" in name:  # as many digits as tell it from 1
        return f"{value:.5f}"
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{value:#.3g}"
