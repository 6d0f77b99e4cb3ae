"""Regressors against Pinocchio and against memory, directional derivatives against plain calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, Ratio, geometric_mean, measure, ratio

DIRECTIONS = 8


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("parameters")
    regressors(report, effort, step)
    filled(report, effort, step)
    directions(report, effort, step)
    gradients(report, effort, step)
    by_parameters(report, effort, step)
    return report


def regressors(report: Report, effort: Effort, step: Steps) -> None:
    """The torque regressor of one state, with Pinocchio's view of its workspace."""
    names = robots.names(effort)
    table = report.table(
        "Torque regressor, one call: Pinocchio's time over ours", "robot", "ratio", "ours, us"
    )
    ratios: list[Ratio] = []
    for name in names:
        step(f"torque regressor: {name}")
        robot = robots.load(name)
        state = robots.states(robot, 1).first()
        there = (robot.pin_model, robot.data, *state.theirs("q v a"))
        calls = {
            "jounce": Call(jc.torque_regressor, (robot.model, *state.ours("q v a"))),
            "pinocchio": Call(pin.computeJointTorqueRegressor, there),
        }
        robots.check(f"torque regressor, {name}", _torques(robot, calls["jounce"]()), state.tau)
        timings = measure(calls, effort, effort.seconds)
        report.keep(f"torque regressor/{name}", timings)
        ratios.append(ratio(timings["pinocchio"], timings["jounce"]))
        table.add(name, ratios[-1], 1e6 * timings["jounce"].best)
    least = min(r.value for r in ratios)
    report.target("torque regressor, the slowest of the robots, Pinocchio / ours", ">= 4", least)


def _torques(robot: Any, Y: Any) -> Any:
    """What the regressor and the armature say of the torques; checks the former by itself."""
    return Y @ robot.model.inertias.ravel()


def filled(report: Report, effort: Effort, step: Steps) -> None:
    """Batches of regressors against filling arrays of that size with a number."""
    for size in effort.pick((1024, 256), (1024, 256), (8,)):
        _filled(report, effort, step, f"batch of {size}", size)
    large = effort.pick(64, 64, 1) * 2**20
    _filled(report, effort, step, "batch beyond the caches", 1, large)


def _filled(
    report: Report, effort: Effort, step: Steps, batch: str, states: int, size: int = 0
) -> None:
    """So many states, or as many more as give results of so many bytes."""
    table = report.table(
        f"Torque regressor, {batch}: our time over that of filling as much memory",
        *("robot", "states", "MB", "new arrays", "out=", "without zeros, out=", "MB"),
        note="New arrays: our call over np.full, each keeps its last result. out=: into an array "
        "that is there already, over its fill().",
    )
    worst = {"new": 0.0, "out": 0.0}
    for name in robots.names(effort):
        step(f"torque regressors, {batch}: {name}")
        robot = robots.load(name)
        one = jc.torque_regressor(robot.model, *robots.states(robot, 1).ours("q v a"))
        count = max(states, -(-size // one.nbytes))
        given = (robot.model, *robots.states(robot, count).ours("q v a"))
        Y, less = jc.torque_regressor(*given), jc.torque_regressor_blocks(*given)
        contenders = {
            "new": Call(jc.torque_regressor, given, keep=True),
            "full": Call(np.full, (Y.shape, 1.0), keep=True),
            "out": Call(jc.torque_regressor, given, {"out": Y}),
            "fill": Call(Y.fill, (1.0,)),
            "blocks": Call(jc.torque_regressor_blocks, given, {"out": less}),
        }
        timings = measure(contenders, effort, 1.0)
        report.keep(f"torque regressors, {batch}/{name}", timings)
        new = ratio(timings["new"], timings["full"])
        out, part = (ratio(timings[x], timings["fill"]) for x in ("out", "blocks"))
        worst = {"new": max(worst["new"], new.value), "out": max(worst["out"], out.value)}
        table.add(name, count, Y.nbytes / 2**20, new, out, part, less.nbytes / 2**20)
    what = f"torque regressors, {batch}, the slowest robot"
    report.target(f"{what}, new arrays, ours / np.full", "<= 1.5", worst["new"])
    report.target(f"{what}, out=, ours / fill", "<= 1.5", worst["out"])


def directions(report: Report, effort: Effort, step: Steps) -> None:
    """Eight directions of one state in plain calls."""
    functions = (
        ("inverse dynamics", jc.inverse_dynamics, "q v a"),
        ("forward dynamics", jc.forward_dynamics, "q v tau"),
        ("gravity forces", jc.gravity_forces, "q"),
        ("kinetic energy", jc.kinetic_energy, "q v"),
        ("mass matrix", jc.mass_matrix, "q"),
    )
    names = robots.names(effort)
    table = report.table(
        f"{DIRECTIONS} directions of a jvp: its time over that of a plain call",
        *("function", "direction in", *names, "geometric mean"),
    )
    for label, function, inputs in functions:
        for moving in dict.fromkeys(("q", inputs)):
            ratios = []
            for name in names:
                step(f"jvp: {label} by {moving}, {name}")
                timings = measure(_along(name, function, inputs, moving), effort, effort.seconds)
                report.keep(f"jvp/{label} by {moving}/{name}", timings)
                ratios.append(ratio(timings["jvp"], timings["plain"]))
            table.add(label, moving, *ratios, geometric_mean(r.value for r in ratios))
            if label in ("inverse dynamics", "forward dynamics"):
                what = f"{DIRECTIONS} directions of {label} by {moving}, in plain calls"
                report.target(f"{what}: slowest robot", "<= 4", max(r.value for r in ratios))


def _along(name: str, function: Any, inputs: str, moving: str) -> dict[str, Call]:
    """Directions of one state in some of its inputs, and the plain call."""
    robot = robots.load(name)
    x = tuple(robots.states(robot, 1).first().ours(inputs))
    count = len(moving.split())
    d = np.random.default_rng(0).standard_normal((count, DIRECTIONS, robot.model.nv))
    return {
        "jvp": Call(jc.jvp, (function, robot.model, x, tuple(d))),
        "plain": Call(function, (robot.model, *x)),
    }


def gradients(report: Report, effort: Effort, step: Steps) -> None:
    """Reverse derivatives of one state in plain calls."""
    names = robots.names(effort)
    table = report.table("vjp: its time over that of a plain call", *("function", *names))
    for label, function, inputs in (
        ("inverse dynamics", jc.inverse_dynamics, "q v a"),
        ("forward dynamics", jc.forward_dynamics, "q v tau"),
    ):
        ratios: list[Ratio] = []
        for name in names:
            step(f"vjp: {label}, {name}")
            robot = robots.load(name)
            x = robots.states(robot, 1).first().ours(inputs)
            calls = {
                "vjp": Call(jc.vjp, (function, robot.model, tuple(x), np.ones(robot.model.nv))),
                "plain": Call(function, (robot.model, *x)),
            }
            timings = measure(calls, effort, effort.seconds)
            report.keep(f"vjp/{label}/{name}", timings)
            ratios.append(ratio(timings["vjp"], timings["plain"]))
        table.add(label, *ratios)


def by_parameters(report: Report, effort: Effort, step: Steps) -> None:
    """Derivatives of forward dynamics by all inertial parameters: closed form over duals."""
    table = report.table(
        "Forward dynamics by all inertial parameters, one state: duals over the closed form",
        *("robot", "parameters", "ratio", "closed form, us"),
    )
    for name in robots.names(effort):
        step(f"parameters: {name}")
        robot = robots.load(name)
        state = robots.states(robot, 1).first()
        x = state.ours("q v tau")
        p = jc.parameters(robot.model, "mass") + jc.parameters(robot.model, "first_moment")
        p = p + jc.parameters(robot.model, "inertia")
        every = np.eye(len(p))

        def duals(model: Any = robot.model, x: Any = x, p: Any = p, every: Any = every) -> Any:
            return jc.jvp(jc.forward_dynamics, model, x, (), parameters=(p, every)).derivative

        calls = {
            "closed": Call(
                jc.parameter_derivatives, (jc.forward_dynamics, robot.model, tuple(x), p)
            ),
            "duals": Call(duals, ()),
        }
        robots.check(f"parameters, {name}", calls["closed"](), calls["duals"]().T, 1e-6)
        timings = measure(calls, effort, effort.seconds)
        report.keep(f"parameters/{name}", timings)
        took = ratio(timings["duals"], timings["closed"])
        table.add(name, len(p), took, 1e6 * timings["closed"].best)
