"""Runs random cases against the package until the time is over, and says what they found.

    python tests/campaign --minutes 20 --kinds models kills
    python tests/campaign --case models:1234

A case is a kind and a seed. It runs in a worker process, with a time limit: a wrong result, an
unexpected error, a crash and a hang are findings. The exit status is 1 where there is one, and 130
after Ctrl-C without one. (What `kills` finds depends on the moment, too: repeat it some times.)
"""

import argparse
import contextlib
import multiprocessing
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import time
from importlib.util import find_spec

from campaign.case import KINDS, TESTS
from campaign.worker import serve

_CASES_PER_WORKER = 100  # then a new process: what TensorFlow keeps of traced graphs grows
_STATUS_SECONDS = 60
_LOG_CHARACTERS = 3000  # of what a process printed before it crashed or hung
_FOUND_CHARACTERS = 4000
_MAX_SHOWN = 20  # findings of a kind; more are counted


class Worker:
    """A process that runs cases one by one.

    Args:
        folder: path of a folder for its log.
    """

    def __init__(self, folder):
        self.num_cases = 0
        self._log = folder / "worker.log"
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=serve, args=(other, self._log), daemon=True)
        self._process.start()
        other.close()

    def run(self, kind, seed, folder):
        """Runs a case: what it found, a string, or `None`; and whether the worker is still good."""
        self.num_cases += 1
        try:
            self._connection.send((kind.module, seed, str(folder)))
            if self._connection.poll(kind.seconds):
                return self._connection.recv(), True
        except (EOFError, OSError):
            self._process.join()
            found = f"expected: no crash\nreceived: exit status {self._process.exitcode}"
            return f"{found}\n{self._printed()}", False
        os.kill(self._process.pid, signal.SIGUSR1)  # prints where every thread stands
        time.sleep(1)
        return f"expected: an end within {kind.seconds} s\n{self._printed()}", False

    def _printed(self):
        return self._log.read_text("utf-8", "replace")[-_LOG_CHARACTERS:]

    def stop(self):
        """Ends the process, and those that it started."""
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()


class Campaign:
    """Runs cases, and keeps what they found.

    Args:
        root: path of a folder for the files of all cases.
    """

    def __init__(self, root):
        self.root, self.findings = root, []
        self.table = {}  # kind: [cases, seconds, findings]
        self._worker = None
        self._started = self._shown = time.monotonic()

    def run(self, name, seed):
        """Runs a case. Its folder stays where there is a finding."""
        if self._worker is None:
            self._worker = Worker(self.root)
        folder = self.root / f"{name}-{seed}"
        folder.mkdir()
        row = self.table.setdefault(name, [0, 0.0, 0])
        started = time.monotonic()
        found, is_good = self._worker.run(KINDS[name], seed, folder)
        row[0] += 1
        row[1] += time.monotonic() - started
        if not is_good or self._worker.num_cases >= _CASES_PER_WORKER:
            self.stop_worker()
        row[2] += found is not None
        if found is None or row[2] > _MAX_SHOWN:
            shutil.rmtree(folder)
        else:
            if len(found) > _FOUND_CHARACTERS:
                half = _FOUND_CHARACTERS // 2
                found = f"{found[:half]}\n...\n{found[-half:]}"
            self.findings.append((f"{name}:{seed}", found))
            print(f"FOUND {name}:{seed}, files in {folder}\n{found}\n", flush=True)
        if time.monotonic() > self._shown + _STATUS_SECONDS:
            self._shown = time.monotonic()
            cases = sum(row[0] for row in self.table.values())
            minutes = (self._shown - self._started) / 60
            findings = sum(row[2] for row in self.table.values())
            print(f"{minutes:.0f} min: {cases} cases, {findings} findings", flush=True)

    def run_for(self, seconds, names, seed):
        """Runs cases from a seed on. Each kind has the same share of the time."""
        seeds = dict.fromkeys(names, seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name = min(names, key=lambda name: self.table.get(name, [0, 0.0])[1])
            self.run(name, seeds[name])
            seeds[name] += 1

    def stop_worker(self):
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def report(self):
        """Prints the table, and how to repeat each finding."""
        print(f"{'kind':<10}{'cases':>8}{'seconds':>10}{'findings':>10}")
        for name, (cases, seconds, findings) in self.table.items():
            print(f"{name:<10}{cases:>8}{seconds:>10.0f}{findings:>10}")
        command = shlex.join([sys.executable, os.path.relpath(TESTS / "campaign")])
        for case, found in self.findings:
            what = " ".join(found.split())[:150]
            print(f"{command} --case {case}  # {what}")


def main(arguments=None):
    options = _parse(arguments)
    seed = int(time.time()) if options.seed is None else options.seed
    root = pathlib.Path(tempfile.mkdtemp(prefix="keras-elmo-campaign-"))
    campaign, status = Campaign(root), 0
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if options.case:
            for name, case_seed in options.case:
                campaign.run(name, case_seed)
        else:
            print(f"keras_elmo of {pathlib.Path(find_spec('keras_elmo').origin).parent}")
            print(f"{options.minutes:g} min of {', '.join(options.kinds)}, from seed {seed}")
            campaign.run_for(60 * options.minutes, options.kinds, seed)
    except KeyboardInterrupt:
        print("stopped")
        status = 130
    finally:
        signal.signal(signal.SIGTERM, before)
        campaign.stop_worker()
        kept = {case.replace(":", "-") for case, _ in campaign.findings}
        for path in root.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not kept:
            root.rmdir()
    campaign.report()
    return 1 if campaign.findings else status


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="tests/campaign", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20, metavar="N")
    parser.add_argument("--seed", type=int, metavar="N", help="the first seed (default: the time)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument(
        "--case", nargs="+", type=_case, metavar="KIND:SEED", help="run these cases alone"
    )
    return parser.parse_args(arguments)


def _case(text):
    name, colon, seed = text.partition(":")
    if name not in KINDS or not seed.isdecimal():
        raise argparse.ArgumentTypeError(
            f"a case must be KIND:SEED, with a kind of {', '.join(KINDS)}. Received: {text}"
        )
    return name, int(seed)
