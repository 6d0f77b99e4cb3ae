"""Second derivatives and derivatives of series, in units of what they are derivatives of.

Nobody else offers these from Python, so each is compared with our own call that is one order lower,
both with ``out=``; all second derivatives of inverse dynamics also with Pinocchio's C++, compiled
from the headers of its wheel (see `bench.native`), which takes minutes when it is done first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jounce as jc
from bench import native, robots
from bench.report import Report, Steps
from bench.robots import Robot, States
from bench.timing import Call, Effort, Ratio, measure, ratio

ORDER = 2
Pair = tuple[Call, Call]


def with_out(function: Callable[..., Any], *arguments: Any) -> Call:
    """A call that writes to arrays of its own."""
    result = function(*arguments)
    arrays = result if isinstance(result, tuple) else (result,)
    out = tuple(np.empty_like(x) for x in arrays)
    return Call(function, arguments, {"out": out if isinstance(result, tuple) else out[0]})


def inverse_hessian(model: jc.Model, s: States) -> Pair:
    """Against first derivatives."""
    weights = np.ones(model.nv)
    return (
        with_out(jc.inverse_dynamics_hessian, model, s.q, s.v, s.a, weights),
        with_out(jc.inverse_dynamics_derivatives, model, s.q, s.v, s.a),
    )


def forward_hessian(model: jc.Model, s: States) -> Pair:
    """Against first derivatives."""
    weights = np.ones(model.nv)
    return (
        with_out(jc.forward_dynamics_hessian, model, s.q, s.v, s.tau, weights),
        with_out(jc.forward_dynamics_derivatives, model, s.q, s.v, s.tau),
    )


def all_second(model: jc.Model, s: States) -> Pair:
    """Against first derivatives."""
    return (
        with_out(jc.inverse_dynamics_second_derivatives, model, s.q, s.v, s.a),
        with_out(jc.inverse_dynamics_derivatives, model, s.q, s.v, s.a),
    )


def inverse_series(model: jc.Model, s: States) -> Pair:
    """Against the series itself."""
    motion = np.stack([s.v, s.a, *(0.3**k * s.a for k in range(1, ORDER + 1))], axis=-2)
    return (
        with_out(jc.inverse_dynamics_series_derivatives, model, s.q, motion),
        with_out(jc.inverse_dynamics_series, model, s.q, motion),
    )


def forward_series(model: jc.Model, s: States) -> Pair:
    """Against the series itself."""
    tau = np.stack([0.3**k * s.tau for k in range(ORDER + 1)], axis=-2)
    return (
        with_out(jc.forward_dynamics_series_derivatives, model, s.q, s.v, tau),
        with_out(jc.forward_dynamics_series, model, s.q, s.v, tau),
    )


FUNCTIONS: dict[str, tuple[Callable[[jc.Model, States], Pair], str | None]] = {
    "Hessian of inverse dynamics": (inverse_hessian, "<= 2"),
    "Hessian of forward dynamics": (forward_hessian, "<= 3"),
    "all second derivatives of inverse dynamics": (all_second, None),
    f"inverse series of order {ORDER}": (inverse_series, None),
    f"forward series of order {ORDER}": (forward_series, None),
}
"""What is differentiated once more, and the promise for the slowest robot."""


def run(effort: Effort, step: Steps) -> Report:
    """One call and a batch."""
    report = Report("second")
    for size in (1, effort.pick(256, 64, 8)):
        on_robots(report, effort, step, size)
    if effort.full:
        beside_pinocchio(report, effort, step)
    return report


def beside_pinocchio(report: Report, effort: Effort, step: Steps) -> None:
    """All second derivatives of inverse dynamics, both in C++, into memory that is there."""
    names = [name for name, _ in native.SECOND.asked]
    table = report.table(
        "All second derivatives of inverse dynamics, both in C++: Pinocchio's time over ours",
        *("robot", "ratio", "ours, us", "Pinocchio, us", "asked for"),
    )
    for name, least in native.SECOND.asked:
        step(f"second: beside Pinocchio, {name} of {', '.join(names)}")
        timings = native.measured(robots.load(name), effort, [native.SECOND])
        ours, theirs = timings[native.SECOND.ours], timings[native.SECOND.theirs[0]]
        report.keep(f"beside Pinocchio/{name}", {"jounce": ours, "pinocchio": theirs})
        took = ratio(theirs, ours)
        table.add(name, took, 1e6 * ours.best, 1e6 * theirs.best, least)
        report.target(f"all second derivatives, {name}", f">= {least:g}", took.value)


def on_robots(report: Report, effort: Effort, step: Steps, size: int) -> None:
    """Time of the derivatives over that of what they are derivatives of."""
    names = robots.names(effort)
    part = "one call" if size == 1 else f"batch of {size}"
    table = report.table(
        f"Derivatives of a higher order, {part}: their time over that of one order lower",
        *("function", *names),
        note="Below: us per state.",
    )
    for name, (make, promise) in FUNCTIONS.items():
        ratios: list[Ratio] = []
        times = []
        for robot in map(robots.load, names):
            step(f"second, {part}: {name}, {robot.name}")
            found, timed = _measured(make, robot, effort, size)
            report.keep(f"{part}/{name}/{robot.name}", timed)
            ratios.append(found)
            times.append(f"{1e6 * timed['derivatives'].best / size:.2f}")
            if robot.name == "Panda" and "series" in name:
                report.target(f"partials of the {name}, Panda, {part}", "<= 12", found.value)
        table.add(name, *ratios)
        table.add("", *times)
        if promise:
            report.target(f"{name}, {part}: slowest", promise, max(r.value for r in ratios))


def _measured(
    make: Callable[[jc.Model, States], Pair], robot: Robot, effort: Effort, size: int
) -> tuple[Ratio, dict[str, Any]]:
    state = robots.states(robot, size)
    derivatives, lower = make(robot.model, state.first() if size == 1 else state)
    timed = measure({"derivatives": derivatives, "lower": lower}, effort)
    return ratio(timed["derivatives"], timed["lower"]), timed
