"""Batches beside what Pinocchio offers: a Python loop, and its own calls for a batch.

Pinocchio has batch calls for inverse and forward dynamics, ``pin.rneaInParallel`` and
``pin.abaInParallel``; for everything else its users write a loop. The faster way counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.functions import ASKED, FUNCTIONS, Function
from bench.report import Report, Steps
from bench.robots import Robot, States
from bench.timing import Call, Effort, Ratio, geometric_mean, measure, ratio

KEEPING = """
def loop():
    results = np.empty(shape) if out is None else out
    for i in range(size):
        results[i] = function(model, data, {arguments})
    return results
"""
"""The loop a user of Pinocchio writes over a batch, keeping every result."""

DROPPING = """
def loop():
    for i in range(size):
        function(model, data, {arguments})
"""
"""The same without keeping the results."""


def loop(
    source: str, function: Function, robot: Robot, state: States, convention: Any, out: Any = None
) -> Callable[[], Any]:
    """Compile a loop over Pinocchio with its arguments written out, as a user writes them.

    Args:
        source: `KEEPING` or `DROPPING`.
        function: what to compute.
        robot: the robot.
        state: the batch.
        convention: the convention to ask for, None where there is no choice.
        out: array to keep the results in, instead of a fresh one.
    """
    one = function.contenders(robot, state.first())["pinocchio"]()
    inputs = dict(zip("xyz", state.theirs(function.inputs), strict=False))
    arguments = [f"{name}[i]" for name in inputs] + ["convention"] * (convention is not None)
    names = {
        **inputs,
        "np": np,
        "function": function.theirs,
        "model": robot.pin_model,
        "data": robot.data,
        "convention": convention,
        "size": len(state.q),
        "shape": (len(state.q), *np.shape(one)),
        "out": out,
    }
    exec(source.format(arguments=", ".join(arguments)), names)
    return names["loop"]


def faster_convention(function: Function, robot: Robot, state: States, effort: Effort) -> Any:
    """The convention in which one call of Pinocchio is faster, None where there is no choice."""
    if not function.conventions:
        return None
    calls = function.contenders(robot, state.first())
    del calls["jounce"]
    timings = measure(calls, effort, effort.seconds / 4)
    world = timings["pinocchio, world"].best < timings["pinocchio"].best
    return pin.Convention.WORLD if world else pin.Convention.LOCAL


def parallel_calls(function: Function, robot: Robot, state: States) -> dict[str, Call]:
    """Pinocchio's own batch call on one thread; states are columns that lie in one piece each."""
    if function.parallel is None:
        return {}
    inputs = [x.T for x in state.theirs(function.inputs)]
    arguments = (1, pin.ModelPool(robot.pin_model, 1), *inputs)
    out = np.empty_like(state.v).T
    return {
        "pinocchio, parallel": Call(function.parallel, arguments),
        "pinocchio, parallel, out": Call(function.parallel, (*arguments, out)),
    }


def contenders(function: Function, robot: Robot, state: States, effort: Effort) -> dict[str, Call]:
    """All ways to compute a batch on one thread, after a check that they agree."""
    arguments = (robot.model, *state.ours(function.inputs))
    result = function.ours(*arguments)
    out, their_out = np.empty_like(result), np.empty_like(result)
    way = (function, robot, state, faster_convention(function, robot, state, effort))
    calls = {
        "jounce": Call(function.ours, arguments),
        "jounce, out": Call(function.ours, arguments, {"out": out}),
        "pinocchio": Call(loop(KEEPING, *way)),
        "pinocchio, out": Call(loop(KEEPING, *way, their_out)),
        "pinocchio, dropped": Call(loop(DROPPING, *way)),
        **parallel_calls(function, robot, state),
    }
    ours, what = function.converted(robot, state, result), f"{function.name}, {robot.name}"
    robots.check(f"batch, {what}, loop", ours, calls["pinocchio"]())
    if "pinocchio, parallel" in calls:
        robots.check(f"batch, {what}, parallel", ours, calls["pinocchio, parallel"]().T)
        calls["pinocchio, parallel, out"]()
        robots.check(
            f"batch, {what}, parallel, out", ours, calls["pinocchio, parallel, out"].args[-1].T
        )
    return calls


def one_thread(report: Report, effort: Effort, step: Steps, names: tuple[str, ...]) -> None:
    """Many states in one call, beside each way that Pinocchio offers."""
    size = effort.pick(1024, 1024, 16)
    table = report.table(
        f"Batch of {size}, one thread: Pinocchio's time per state over ours",
        *("function and Pinocchio's way", *names, "geometric mean"),
        note=(
            "Both keep every result in a fresh array; with out=, in an array they reuse. "
            "Dropped: our fresh array against a loop that keeps nothing."
        ),
    )
    for function in FUNCTIONS:
        results: list[dict[str, Ratio]] = []
        for name in names:
            step(f"batch of {size}: {function.name}, {name}")
            robot = robots.load(name)
            calls = contenders(function, robot, robots.states(robot, size), effort)
            timings = measure(calls, effort, 3 * effort.seconds)
            report.keep(f"batch/{function.name}/{name}", timings)
            ours = {key: timings["jounce, out" if "out" in key else "jounce"] for key in calls}
            results.append({key: ratio(timings[key], ours[key]) for key in calls})
        table.add(function.name, *[""] * (len(names) + 1))
        for key, label in _labels(function).items():
            mean = geometric_mean(r[key].value for r in results)
            table.add(f"  {label}", *(r[key] for r in results), mean)
        if function.name in ASKED:
            loops = geometric_mean(r["pinocchio"].value for r in results)
            name = f"batch of {size}, {function.name}, a loop: geometric mean"
            report.target(name, f">= {ASKED[function.name][1]:g}", loops)
        kept = [key for key in ("pinocchio", "pinocchio, parallel") if key in results[0]]
        least = geometric_mean(min(r[key].value for key in kept) for r in results)
        name = f"batch of {size}, {function.name}, Pinocchio's fastest way: geometric mean"
        report.target(name, ">= 6", least)


def _labels(function: Function) -> dict[str, str]:
    """Rows of the table: Pinocchio's ways, and how a reader knows them."""
    labels = {
        "pinocchio": f"a Python loop over pin.{function.theirs.__name__}",
        "pinocchio, out": "  with out=",
        "pinocchio, dropped": "  dropped",
    }
    if function.parallel is not None:
        labels["pinocchio, parallel"] = f"pin.{function.parallel.__name__}, 1 thread"
        labels["pinocchio, parallel, out"] = "  with out="
    return labels


def two_threads(report: Report, effort: Effort, step: Steps, names: tuple[str, ...]) -> None:
    """One thread against two, both ours."""
    size = effort.pick(4096, 4096, 16)
    if jc.core_info()["cores"] < 2:
        for function in FUNCTIONS:
            report.target(f"two threads, out=, {function.name}: geometric mean", ">= 1.8", None)
        return
    table = report.table(
        f"Batch of {size}: one thread over two",
        *("function", *names, "geometric mean"),
        note=(
            "The target is with out=: a fresh array of tens of megabytes waits for the system to "
            "clear its pages, however many threads write to it."
        ),
    )
    for function in FUNCTIONS:
        fresh, reused = [], []
        for name in names:
            step(f"two threads: {function.name}, {name}")
            robot = robots.load(name)
            arguments = (robot.model, *robots.states(robot, size).ours(function.inputs))
            out = np.empty_like(function.ours(*arguments))
            for label, options, ratios in (("", {}, fresh), (", out", {"out": out}, reused)):
                pair = {
                    f"{count}{label}": Call(function.ours, arguments, {**options, "threads": n})
                    for count, n in (("one", 1), ("two", 2))
                }
                timings = measure(pair, effort, 2 * effort.seconds)
                report.keep(f"threads{label}/{function.name}/{name}", timings)
                ratios.append(ratio(timings[f"one{label}"], timings[f"two{label}"]))
        table.add(function.name, *fresh, geometric_mean(r.value for r in fresh))
        mean = geometric_mean(r.value for r in reused)
        table.add("  with out=", *reused, mean)
        report.target(f"two threads, out=, {function.name}: geometric mean", ">= 1.8", mean)
