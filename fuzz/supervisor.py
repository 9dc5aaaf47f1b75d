"""Runs random cases against the package until the time is over, and says what they found.

    python fuzz --minutes 20 --kinds models kills
    python fuzz --case models:1234

A case is a kind and a seed. It runs in a worker process, with a time limit: a wrong result, an
unexpected error, a crash and a hang are findings. A kind ends when it has found the same three
times. The exit status is 1 where there is a finding, and 130 after Ctrl-C without one. (What
`kills` finds depends on the moment, too: repeat it some times.)
"""

import argparse
import collections
import contextlib
import faulthandler
import importlib
import multiprocessing
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback

from fuzz.case import FOLDER, KINDS, Finding

_CASES_PER_WORKER = 100  # then a new process: what TensorFlow keeps of traced graphs grows
_MAX_ALIKE = 3  # findings of a kind that are alike
_DATA = 12 * 2**30  # bytes that a process may have at all, so that no case takes the machine's


def work(connection, log):
    """The worker process, whose output goes to the file `log`.

    `connection` receives triples: a kind, a seed, an empty folder. It sends `None`, or what was
    found, a string.
    """
    os.setsid()  # Ctrl-C is for the supervisor, which ends this group of processes
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
    with open(log, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, resource.RLIM_INFINITY))
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(_find(*connection.recv()))


def _find(kind, seed, folder):
    try:
        importlib.import_module(f"fuzz.{kind}").run(seed, folder)
    except Finding as finding:
        return str(finding)
    except Exception:
        return f"expected: no error but those that the case looks for\n{traceback.format_exc()}"
    return None


class Supervisor:
    """Runs cases, whose files are in the folder `root`, and keeps what they found."""

    def __init__(self, root):
        self.root, self.findings = root, []
        self.table = {}  # kind: [cases, seconds, findings]
        self._alike = collections.Counter()  # findings by their kind and their last line
        self._ended = set()  # kinds
        self._log, self._process = root / "worker.log", None

    def run(self, kind, seed):
        """Runs a case. Its folder stays where there is a finding."""
        if self._process is None:
            self._start_worker()
        folder = self.root / f"{kind}-{seed}"
        folder.mkdir()
        started = time.monotonic()
        found = self._run(kind, seed, folder)
        row = self.table.setdefault(kind, [0, 0.0, 0])
        row[0] += 1
        row[1] += time.monotonic() - started
        if found is None:
            shutil.rmtree(folder)
        else:
            row[2] += 1
            self.findings.append((f"{kind}:{seed}", found))
            print(f"FOUND {kind}:{seed}, files in {folder}\n{found}\n", flush=True)
            alike = kind, re.sub(r"\d+", "", found.splitlines()[-1])
            self._alike[alike] += 1
            if self._alike[alike] == _MAX_ALIKE:
                self._ended.add(kind)

    def _run(self, kind, seed, folder):
        self._num_cases += 1
        try:
            self._connection.send((kind, seed, folder))
            if self._connection.poll(KINDS[kind]):
                found = self._connection.recv()
                if self._num_cases >= _CASES_PER_WORKER:
                    self.stop_worker()
                return found
            os.kill(self._process.pid, signal.SIGUSR1)  # prints where every thread stands
            time.sleep(1)
            found = f"expected: an end within {KINDS[kind]} s"
        except (EOFError, OSError):
            self._process.join()
            found = f"expected: no crash\nreceived: exit status {self._process.exitcode}"
        self.stop_worker()
        return f"{found}\n{self._log.read_text('utf-8', 'replace')[-3000:]}"

    def _start_worker(self):
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=work, args=(other, self._log), daemon=True)
        self._process.start()
        other.close()
        self._num_cases = 0

    def stop_worker(self):
        """Ends the worker, and the processes that it started."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join()
            self._process = None

    def run_for(self, seconds, kinds, seed):
        """Runs cases from a seed on. Each kind has the same share of the time, and one case."""
        end = time.monotonic() + seconds
        while time.monotonic() < end or not self.table.keys() >= set(kinds):
            kinds = [kind for kind in kinds if kind not in self._ended]
            if not kinds:
                break
            kind = min(kinds, key=lambda kind: self.table.get(kind, [0, 0.0])[1])
            self.run(kind, seed + self.table.get(kind, [0])[0])

    def report(self):
        """Prints the table, and how to repeat each finding."""
        print(f"{'kind':<10}{'cases':>8}{'seconds':>10}{'findings':>10}")
        for kind, (cases, seconds, findings) in self.table.items():
            note = f"  ended: {_MAX_ALIKE} alike" if kind in self._ended else ""
            print(f"{kind:<10}{cases:>8}{seconds:>10.0f}{findings:>10}{note}")
        command = shlex.join([sys.executable, os.path.relpath(FOLDER)])
        for case, found in self.findings:
            print(f"{command} --case {case}  # {' '.join(found.split())[:150]}")

    def clear(self):
        """Removes all but the folders of findings."""
        kept = {case.replace(":", "-") for case, _ in self.findings}
        for path in self.root.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not kept:
            self.root.rmdir()


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N", help="the first seed (default: the time)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument(
        "--case", nargs="+", type=_case, metavar="KIND:SEED", help="run these cases alone"
    )
    options = parser.parse_args(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    supervisor = Supervisor(pathlib.Path(tempfile.mkdtemp(prefix="keras-elmo-fuzz-")))
    status = 0
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.case:
            for kind, case_seed in options.case:
                supervisor.run(kind, case_seed)
        else:
            print(f"{options.minutes:g} min of {', '.join(options.kinds)}, from seed {seed}")
            supervisor.run_for(60 * options.minutes, options.kinds, seed)
    except KeyboardInterrupt:
        print("stopped")
        status = 130
    finally:
        signal.signal(signal.SIGTERM, before)
        supervisor.stop_worker()
        supervisor.clear()
    supervisor.report()
    return 1 if supervisor.findings else status


def _case(text):
    kind, _, seed = text.partition(":")
    if kind not in KINDS or not seed.isdecimal():
        raise argparse.ArgumentTypeError(
            f"a case must be KIND:SEED, with a kind of {', '.join(KINDS)}. Received: {text}"
        )
    return kind, int(seed)
