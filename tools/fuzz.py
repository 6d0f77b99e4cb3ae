"""Mutated calls, models and files: every refusal must be one that is documented.

    python tools/fuzz.py --seconds 60 --seed 0
    python tools/fuzz.py --calls 1000000 --files 200000

Calls of all public functions with arguments of wrong shapes, types and values; models from pickles
whose parts were changed; model files in which something was changed. What comes back must be finite
numbers or an exception of `jounce.errors`. The jobs run in processes of their own: a signal that
ends one, a job that computes for more than 20 s, or a wait of a quarter of an hour fails the run. A
job depends on the seed and its number only: `--only calls --first NUMBER --count 1` runs it again.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_calls import Calls
from fuzz_files import PLACE, Files

import jounce as jc

HERE = Path(__file__).resolve()
LONGEST = 20.0
"""Seconds of processor time that a job may take, however busy the machine is."""
HANGS = 900.0
"""Seconds that 64 jobs may take if they wait instead."""
COMPLEX = getattr(np, "exceptions", np).ComplexWarning  # NumPy 1.24 has no `exceptions`
"""NumPy drops an imaginary part: a wrong number, if nobody hears it."""
ENOUGH = 100
"""Wrong results after which a process ends."""


def finite(result: Any) -> bool:
    """Whether all numbers of a result are."""
    if isinstance(result, tuple):
        return all(finite(x) for x in result)
    if isinstance(result, np.ndarray) and result.dtype.kind in "fc":
        return bool(np.isfinite(result).all())
    return not isinstance(result, float) or bool(np.isfinite(result))


class Run:
    """Jobs of one kind in this process, and counts of what came of them."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.maker: Any = Calls() if kind == "calls" else Files()
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.slowest = (0.0, "")

    def one(self, seed: int, number: int) -> None:
        """Run a job and look at its end."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", COMPLEX)
            what, job = self.maker.job(np.random.default_rng([seed, number]))
            begin = time.process_time()
            problem = self.outcome(what, job)
            taken = time.process_time() - begin
        self.slowest = max(self.slowest, (taken, f"{number} {what}"))
        if problem:
            self.counts["wrong"] += 1
            self.wrong.append(f"{self.kind} {number}: {what}: {problem}")
            print("WRONG", self.wrong[-1], file=sys.stderr, flush=True)

    def outcome(self, what: str, job: Any) -> str:
        """Count it; returns what was wrong."""
        name = what.split("(")[0] if self.kind == "files" else self.kind
        try:
            result = job()
        except jc.Error as error:
            self.counts[f"{name} refused: {type(error).__name__}"] += 1
            if isinstance(error, jc.ModelError) and self.kind == "files":
                placed = "with" if PLACE.match(str(error)) else "without"
                self.counts[f"{name} {placed} line and element"] += 1
            return ""
        except Exception as error:
            ends = traceback.extract_tb(error.__traceback__)[-3:]
            where = " < ".join(f"{Path(x.filename).name}:{x.lineno}" for x in reversed(ends))
            return f"{type(error).__name__}: {error!s:.300} ({where})"
        # NaN after an event that ends the motion, and after a failure that is marked
        ends_early = what.startswith("simulate(") and ("events" in what or "on_failure" in what)
        if not finite(result) and not ends_early:
            return "a result that is not finite"
        self.counts[f"{name} done"] += 1
        return ""

    def all(self, seed: int, numbers: range, seconds: float, note: int) -> None:
        """Run until the numbers or the time are over; the number of each job is noted before it."""
        end = time.monotonic() + seconds
        for number in numbers:
            if number % 64 == 0:
                faulthandler.dump_traceback_later(HANGS, exit=True)
            os.pwrite(note, b"%-20d" % number, 0)
            signal.setitimer(signal.ITIMER_PROF, LONGEST)  # SIGPROF ends the process, in C++, too
            self.one(seed, number)
            if time.monotonic() > end or len(self.wrong) >= ENOUGH:
                break
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()


def worker(options: argparse.Namespace) -> int:
    """The jobs of one process; prints counts as JSON."""
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    run = Run(options.only)
    last = options.first + options.count
    numbers = range(options.first, last, options.step)
    run.all(options.seed, numbers, options.seconds, os.open(options.note, os.O_RDWR))
    print(json.dumps([run.counts, run.wrong, run.slowest]))
    return 0


def start(options: argparse.Namespace, kind: str, count: int, first: int, note: str) -> Any:
    """A process with every n-th job."""
    command = [sys.executable, str(HERE), "--only", kind, "--first", str(first), "--note", note]
    command += ["--count", str(count - first), "--step", str(options.workers)]
    command += ["--seconds", str(options.seconds), "--seed", str(options.seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def gather(kind: str, processes: list[tuple[Any, str]]) -> tuple[dict[str, int], list[str]]:
    """Counts of all processes of a kind, and what was wrong."""
    counts: collections.Counter[str] = collections.Counter()
    wrong = []
    for process, note in processes:
        out, _ = process.communicate()
        if process.returncode:
            with open(note) as file:
                at = file.read().strip()
            wrong.append(f"{kind} {at}: exit code {process.returncode}")
            continue
        some, bad, slowest = json.loads(out.splitlines()[-1])
        counts.update(some)
        wrong.extend(bad)
        print(f"slowest: {slowest[0]:.2f} s, {kind} {slowest[1]}")
    return counts, wrong


def shares(counts: dict[str, int]) -> list[str]:
    """For each format, how many refusals name line and element."""
    lines = []
    for key in sorted(counts):
        if match := re.fullmatch(r"(.*) with line and element", key):
            without = counts.get(f"{match[1]} without line and element", 0)
            total = counts[key] + without
            lines.append(f"{match[1]}: {100 * counts[key] / total:.2f} % of {total} refusals")
    return lines


def main() -> int:
    """Share the jobs between processes; the exit code says whether everything was as documented."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--calls", type=int, default=10**9)
    parser.add_argument("--files", type=int, default=10**9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=jc.core_info()["cores"])
    parser.add_argument("--only", choices=["calls", "files"])
    for name, default in (("first", 0), ("count", None), ("step", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--note", default=os.devnull)
    options = parser.parse_args()
    if options.only:
        if options.count is None:
            options.count = getattr(options, options.only)
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)  # calls may write files
            return worker(options)
    wrong = []
    options.seconds /= 2
    for kind, count in (("calls", options.calls), ("files", options.files)):
        begin = time.monotonic()
        notes = [tempfile.NamedTemporaryFile() for _ in range(options.workers)]  # noqa: SIM115
        processes = [
            (start(options, kind, count, k, note.name), note.name) for k, note in enumerate(notes)
        ]
        counts, bad = gather(kind, processes)
        wrong += bad
        done = sum(n for key, n in counts.items() if "line and element" not in key)
        print(f"seed {options.seed}: {done} {kind} in {time.monotonic() - begin:.0f} s")
        for key, number in sorted(counts.items()):
            print(f"  {number:8d} {key}")
        for line in shares(counts):
            print(f"  line and element in {line}")
    for text in wrong:
        print("WRONG", text)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
