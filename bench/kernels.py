"""What stands between a call and the processor: the call beside its kernel, fresh arrays, the peak.

The kernel's own time is that of a compiled program which runs it through the C entry point, in
turns with the call from Python. The peak is what a core does in fused multiply-adds when it does
nothing else, measured in the same turns; operations are counted by running the kernels on a scalar
that counts, so that a division is one like an addition. Shares are those of the whole call, with
everything it does.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc
from bench import compiled, robots
from bench.report import Report, Steps, Table
from bench.robots import Robot, States
from bench.timing import Call, Effort, Timing, geometric_mean, measure

FUNCTIONS = {
    "inverse_dynamics": "q v a",
    "forward_dynamics": "q v tau",
    "mass_matrix": "q",
    "inverse_mass_matrix": "q",
    "inverse_dynamics_derivatives": "q v a",
    "forward_dynamics_derivatives": "q v tau",
}
"""Functions that are measured, and their arguments after the model."""


def run(effort: Effort, step: Steps) -> Report:
    """All robots; without a C++ compiler, what can be had from Python alone."""
    report = Report("kernels")
    names = robots.names(effort)
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name in names:
        step(f"kernels: {name}")
        robot = robots.load(name)
        programs = compiled.compiler() is not None
        timings = measured(robot, effort, programs)
        report.keep(name, timings)
        flops = counted(robot.model) if programs else {}
        report.numbers[f"operations/{name}"] = flops
        for function in FUNCTIONS:
            found.setdefault(function, {})[name] = derived(function, timings, flops)
    if compiled.compiler() is None:
        report.numbers["missing"] = "no C++ compiler: neither kernels nor operations were measured"
    _show(report, names, found, effort)
    return report


def counted(model: jc.Model) -> dict[str, int]:
    """Operations of each function for one state."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_text(compiled.our_model(model), "ascii")
        command = [str(compiled.counter()), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {name: int(number) for name, number in compiled.parse(done.stdout)}


def calls(robot: Robot, one: States, batch: States) -> dict[str, Call]:
    """Each function for one state, and for a batch, in fresh arrays and in reused ones."""
    every = {}
    for name, inputs in FUNCTIONS.items():
        function: Callable[..., Any] = getattr(jc, name)
        arguments = (robot.model, *batch.ours(inputs))
        result = function(*arguments)
        many = isinstance(result, tuple)
        out = tuple(map(np.empty_like, result)) if many else np.empty_like(result)
        every[f"{name}, call"] = Call(function, (robot.model, *one.ours(inputs)))
        every[f"{name}, fresh"] = Call(function, arguments, keep=True)
        every[f"{name}, out"] = Call(function, arguments, {"out": out}, keep=True)
    return every


def batch_size(effort: Effort) -> int:
    """States of a batch."""
    return int(effort.pick(1024, 1024, 16))


def measured(robot: Robot, effort: Effort, programs: bool) -> dict[str, Timing]:
    """Times of calls and, in turns with them, of kernels; those of batches are per state."""
    size, turns = batch_size(effort), effort.pick(4, 2, 1)
    batch = robots.states(robot, size)
    blocks: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        one = robots.states(robot, 64)
        contender = compiled.ours(robot, one, Path(folder)) if programs else None
        every = calls(robot, one.first(), batch)
        kernels = [*FUNCTIONS, *(f"{name}*64" for name in FUNCTIONS), "peak"]
        for _ in range(turns):
            for name in FUNCTIONS:
                some = {key: call for key, call in every.items() if key.startswith(f"{name}, ")}
                for key, timing in measure(some, effort).items():
                    per = 1 if key.endswith("call") else size
                    blocks.setdefault(key, []).extend(x / per for x in timing.blocks)
            if contender is not None:
                times = contender.run(kernels, effort.pick(0.05, 0.02, 0.0))
                for key, time in times.items():
                    blocks.setdefault(f"{key}, kernel", []).append(time)
    return {key: Timing(tuple(values)) for key, values in blocks.items()}


def derived(
    function: str, timings: dict[str, Timing], operations: dict[str, int]
) -> dict[str, float]:
    """What the tables show: nanoseconds, shares and ratios."""
    best = {key: timing.best for key, timing in timings.items()}
    numbers = {"fresh / out": best[f"{function}, fresh"] / best[f"{function}, out"]}
    if "peak, kernel" in best:
        call, kernel = best[f"{function}, call"], best[f"{function}, kernel"]
        floor = operations[function] * best["peak, kernel"]
        numbers |= {
            "call": 1e9 * call,
            "kernel": 1e9 * kernel,
            "overhead": 1e9 * (call - kernel),
            "share, one state": floor / kernel,
            "share, kernel": floor / best[f"{function}*64, kernel"],
            "share, out": floor / best[f"{function}, out"],
            "share, fresh": floor / best[f"{function}, fresh"],
        }
    return numbers


Found = dict[str, dict[str, dict[str, float]]]


def _show(report: Report, names: tuple[str, ...], found: Found, effort: Effort) -> None:
    """A table for each question."""
    batch = f"batch of {batch_size(effort)}, one thread"
    if "overhead" in found["inverse_dynamics"][names[0]]:
        table = report.table(
            "One call from Python beside its kernel, ns",
            *("function", *names),
            note="The call less the kernel through the C entry point; below: call / kernel.",
        )
        for function, by_robot in found.items():
            table.add(function, *(f"{by_robot[n]['overhead']:.0f}" for n in names))
            pairs = (f"{by_robot[n]['call']:.0f} / {by_robot[n]['kernel']:.0f}" for n in names)
            table.add("", *pairs)
        table = report.table(
            f"Share of the peak of fused multiply-adds, {batch}, whole call with out=",
            *("function", *names),
            note="Below: fresh arrays / packs of states without the call / one state's kernel.",
        )
        for function, by_robot in found.items():
            table.add(function, *(f"{by_robot[n]['share, out']:.0%}" for n in names))
            keys = ("share, fresh", "share, kernel", "share, one state")
            table.add("", *(" / ".join(f"{by_robot[n][k]:.0%}" for k in keys) for n in names))
        shares = [by_robot["share, out"] for by_robot in found["inverse_dynamics"].values()]
        report.target("inverse dynamics, share of the peak: least robot", ">= 0.5", min(shares))
    _fresh(
        report.table(f"Fresh arrays over out=, {batch}", "function", *names, "mean"), names, found
    )
    worst = max(numbers["fresh / out"] for by in found.values() for numbers in by.values())
    report.target("fresh arrays over out=: worst function and robot", "<= 1.15", worst)
    report.numbers["found"] = found


def _fresh(table: Table, names: tuple[str, ...], found: Found) -> None:
    table.note = "As in M = f(...): the old result lives until the new one is there."
    for function, by_robot in found.items():
        values = [by_robot[name]["fresh / out"] for name in names]
        table.add(function, *values, geometric_mean(values))
