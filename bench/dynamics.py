"""Inverse and forward dynamics, mass matrix and its inverse, against Pinocchio.

Pinocchio offers two conventions for `crba` and `aba`; both are timed and the faster one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.robots import Robot, States
from bench.timing import (
    Call,
    Effort,
    Ratio,
    Timing,
    exponent,
    geometric_mean,
    measure,
    ratio,
)


@dataclass(frozen=True)
class Function:
    """A function of both libraries."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: str
    """Names of the arguments after the model."""
    conventions: bool = False
    """Whether Pinocchio lets one choose a convention."""

    def contenders(self, robot: Robot, state: States) -> dict[str, Call]:
        """One call of each, for one state."""
        there = (robot.pin_model, robot.data, *state.theirs(self.inputs))
        calls = {
            "jounce": Call(self.ours, (robot.model, *state.ours(self.inputs))),
            "pinocchio": Call(self.theirs, there),
        }
        if self.conventions:
            calls["pinocchio, world"] = Call(self.theirs, (*there, pin.Convention.WORLD))
        return calls

    def converted(self, robot: Robot, state: States, result: Any) -> Any:
        """Our result in Pinocchio's conventions."""
        if "matrix" in self.name:
            return robot.there.to_matrix(state.q, result)
        if self.name == "forward dynamics":
            return robot.there.to_a(state.q, state.v, result)
        return robot.there.to_tau(state.q, result)


FUNCTIONS = (
    Function("inverse dynamics", jc.inverse_dynamics, pin.rnea, "q v a"),
    Function("forward dynamics", jc.forward_dynamics, pin.aba, "q v tau", True),
    Function("mass matrix", jc.mass_matrix, pin.crba, "q", True),
    Function("inverse mass matrix", jc.inverse_mass_matrix, pin.computeMinverse, "q"),
)


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("dynamics")
    names = effort.pick(tuple(robots.FILES), tuple(robots.FILES), ("UR5", "HyQ"))
    single(report, effort, step, names)
    batch(report, effort, step, names)
    overhead(report, effort, step)
    growth(report, effort, step)
    return report


def single(report: Report, effort: Effort, step: Steps, names: tuple[str, ...]) -> None:
    """One call from Python for one state."""
    table = report.table(
        "One call: Pinocchio's time over ours",
        *("function", *names, "geometric mean"),
        note="In brackets: 10% to 90% of the block-by-block ratios. Below: ours / Pinocchio's, us.",
    )
    for function in FUNCTIONS:
        ratios, times = [], []
        for name in names:
            step(f"one call: {function.name}, {name}")
            robot = robots.load(name)
            state = robots.states(robot)
            calls = function.contenders(robot, state)
            ours = function.converted(robot, state, calls["jounce"]())
            robots.check(f"{function.name}, {name}", ours, calls["pinocchio"]())
            timings = measure(calls, effort)
            report.keep(f"single/{function.name}/{name}", timings)
            rival = fastest(timings)
            ratios.append(ratio(rival, timings["jounce"]))
            times.append(f"{1e6 * timings['jounce'].best:.2f} / {1e6 * rival.best:.2f}")
        mean = geometric_mean(r.value for r in ratios)
        table.add(function.name, *ratios, mean)
        table.add("", *times, "")
        least = min(r.value for r in ratios)
        report.target(f"one call, {function.name}: geometric mean", ">= 2", mean)
        report.target(f"one call, {function.name}: slowest robot", ">= 1", least)


def fastest(timings: dict[str, Timing]) -> Timing:
    """The best of Pinocchio's contenders that keep their results."""
    rivals = [t for name, t in timings.items() if name in ("pinocchio", "pinocchio, world")]
    return min(rivals, key=lambda timing: timing.best)


def pinocchio_loop(
    function: Function, robot: Robot, state: States, out: Any = None
) -> Callable[[], Any]:
    """The loop a user of Pinocchio writes over a batch, keeping every result in a fresh array.

    Args:
        function: what to compute.
        robot: the robot.
        state: the batch.
        out: array to keep the results in, instead of a fresh one.
    """
    model, data, theirs = robot.pin_model, robot.data, function.theirs
    shape = (len(state.q), *np.shape(function.contenders(robot, first(state))["pinocchio"]()))
    inputs = state.theirs(function.inputs)

    def loop3() -> Any:
        q, v, a = inputs
        results = np.empty(shape) if out is None else out
        for i in range(len(q)):
            results[i] = theirs(model, data, q[i], v[i], a[i])
        return results

    def loop1() -> Any:
        (q,) = inputs
        results = np.empty(shape) if out is None else out
        for i in range(len(q)):
            results[i] = theirs(model, data, q[i])
        return results

    return loop3 if len(inputs) == 3 else loop1


def dropping_loop(function: Function, robot: Robot, state: States) -> Callable[[], None]:
    """The same without keeping the results."""
    model, data, theirs = robot.pin_model, robot.data, function.theirs
    inputs = state.theirs(function.inputs)

    def loop() -> None:
        if len(inputs) == 1:
            for q in inputs[0]:
                theirs(model, data, q)
        else:
            for q, v, a in zip(*inputs, strict=True):
                theirs(model, data, q, v, a)

    return loop


def first(state: States) -> States:
    """The first state of a batch."""
    return States(*(np.ascontiguousarray(x[0]) for x in vars(state).values()))


def batch(report: Report, effort: Effort, step: Steps, names: tuple[str, ...]) -> None:
    """Many states in one call, beside Pinocchio's loop; then the same on two threads."""
    size = effort.pick(4096, 4096, 16)
    table = report.table(
        f"Batch of {size}, one thread: time per state of Pinocchio's loop over ours",
        *("function", *names, "geometric mean"),
        note=(
            "Both keep every result in a fresh array; with out=, in an array they reuse. "
            "Dropped: our fresh array against a loop that keeps nothing."
        ),
    )
    threads = report.table(
        f"Batch of {size}: one thread over two",
        *("function", *names, "geometric mean"),
        note=(
            "The target is with out=: a fresh array of tens of megabytes waits for the system to "
            "clear its pages, however many threads write to it."
        ),
    )
    for function in FUNCTIONS:
        results: list[dict[str, Ratio]] = []
        for name in names:
            step(f"batch of {size}: {function.name}, {name}")
            results.append(_batch_of(report, effort, function, robots.load(name), size))
        means = {key: geometric_mean(r[key].value for r in results) for key in results[0]}
        table.add(function.name, *(r["kept"] for r in results), means["kept"])
        for key, label in (("out", "  with out="), ("dropped", "  dropped")):
            table.add(label, *(r[key] for r in results), means[key])
        name = f"batch of {size}, {function.name}: geometric mean"
        report.target(name, ">= 6", means["kept"])
        for key, label in (("two", function.name), ("two, out", "  with out=")):
            if key in means:
                threads.add(label, *(r[key] for r in results), means[key])
        name = f"two threads, out=, {function.name}: geometric mean"
        report.target(name, ">= 1.8", means.get("two, out"))


def _batch_of(
    report: Report, effort: Effort, function: Function, robot: Robot, size: int
) -> dict[str, Ratio]:
    state = robots.states(robot, size)
    arguments = (robot.model, *state.ours(function.inputs))
    result = function.ours(*arguments)
    out = np.empty_like(result)
    calls = {
        "jounce": Call(function.ours, arguments),
        "pinocchio": Call(pinocchio_loop(function, robot, state)),
        "pinocchio, dropped": Call(dropping_loop(function, robot, state)),
        "jounce, out": Call(function.ours, arguments, {"out": out}),
        "pinocchio, out": Call(pinocchio_loop(function, robot, state, out)),
    }
    ours = function.converted(robot, state, result)
    robots.check(f"batch, {function.name}, {robot.name}", ours, calls["pinocchio"]())
    timings = measure(calls, effort, 3 * effort.seconds)
    report.keep(f"batch/{function.name}/{robot.name}", timings)
    found = {
        "kept": ratio(timings["pinocchio"], timings["jounce"]),
        "out": ratio(timings["pinocchio, out"], timings["jounce, out"]),
        "dropped": ratio(timings["pinocchio, dropped"], timings["jounce"]),
    }
    if jc.core_info()["cores"] < 2:
        return found
    for label, options in (("", {}), (", out", {"out": out})):
        pair = {
            f"{name}{label}": Call(function.ours, arguments, {**options, "threads": count})
            for name, count in (("one", 1), ("two", 2))
        }
        timings = measure(pair, effort, 2 * effort.seconds)
        report.keep(f"threads{label}/{function.name}/{robot.name}", timings)
        found[f"two{label}"] = ratio(timings[f"one{label}"], timings[f"two{label}"])
    return found


def overhead(report: Report, effort: Effort, step: Steps) -> None:
    """What a call costs beside its kernel: chains of 1 to 6 links, extrapolated to none."""
    lengths = range(1, 7)
    table = report.table(
        "Cost of a call beside its kernel, ns",
        *("function", "jounce", "pinocchio"),
        note="Constant of a line through the times of chains of 1 to 6 links.",
    )
    for function in FUNCTIONS[:2]:
        step(f"call overhead: {function.name}")
        best: dict[str, list[float]] = {"jounce": [], "pinocchio": []}
        for n in lengths:
            robot = robots.twin(jc.models.chain(n))
            timings = measure(function.contenders(robot, robots.states(robot)), effort)
            report.keep(f"overhead/{function.name}/{n}", timings)
            best["jounce"].append(timings["jounce"].best)
            best["pinocchio"].append(fastest(timings).best)
        constant = {key: 1e9 * np.polyfit(lengths, times, 1)[1] for key, times in best.items()}
        table.add(function.name, *(f"{x:.0f}" for x in constant.values()))
        report.numbers[f"overhead ns/{function.name}"] = constant
        report.target(f"call overhead, {function.name}, ns", "<= 300", constant["jounce"])


def growth(report: Report, effort: Effort, step: Steps) -> None:
    """Time against the number of bodies."""
    sizes = effort.pick(
        (10, 30, 100, 300, 1000, 3000, 10_000), (10, 100, 1000, 10_000), (10, 20, 40)
    )
    table = report.table(
        "Growth with the number of bodies: us per call, and exponent fitted from 100 on",
        *("robot", *map(str, sizes), "exponent"),
    )
    for label, branching in (("chain", 1), ("tree", 2)):
        models = {n: jc.models.tree(n, branching) for n in sizes}
        for function in FUNCTIONS[:2]:
            times = {}
            for n, model in models.items():
                step(f"growth: {function.name}, {label} of {n}")
                timings = measure({"jounce": _one(function, model)}, effort, effort.seconds / 2)
                report.keep(f"growth/{label}/{function.name}/{n}", timings)
                times[n] = timings["jounce"].best
            large = [n for n in sizes if n >= 100] or list(sizes)
            power = exponent(large, [times[n] for n in large])
            name = f"{label}, {function.name}"
            table.add(name, *(1e6 * t for t in times.values()), power)
            report.numbers[f"growth exponent/{name}"] = power
            report.target(f"growth in bodies: {name}", "<= 1.15", power, "(linear: 1)")


def _one(function: Function, model: jc.Model) -> Call:
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng)
    v, a = 0.1 * rng.standard_normal((2, model.nv))
    values = {"q": q, "v": v, "a": a, "tau": jc.inverse_dynamics(model, q, v, a)}
    return Call(function.ours, (model, *(values[name] for name in function.inputs.split())))
