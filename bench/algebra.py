"""Functions on groups beside Pinocchio's, and derivatives of kinematics and of the mass matrix.

Pinocchio's `exp6` and `log6` take and give its own objects, which costs less than arrays; a loop
over a batch makes them from arrays and keeps arrays, as our call does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, measure, ratio
from jounce import lie, twists

SWAPPED = np.r_[3:6, 0:3]
"""Pinocchio's twists are (linear, angular)."""


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("algebra")
    single_elements(report, effort, step)
    batches(report, effort, step)
    derivatives(report, effort, step)
    return report


def single_elements(report: Report, effort: Effort, step: Steps) -> None:
    """One call each."""
    x = np.array([0.3, -0.5, 0.7, 1.0, 2.0, 3.0])
    T = lie.exp(x)
    there = pin.SE3(T)
    robots.check("exp", T, pin.exp6(x[SWAPPED]).homogeneous, 1e-12)
    robots.check("log", lie.log(T), pin.log6(there).vector[SWAPPED], 1e-12)
    rivals = {"exp": Call(pin.exp6, (x[SWAPPED],)), "log": Call(pin.log6, (there,))}
    calls = {
        "exp": Call(lie.exp, (x,)),
        "log": Call(lie.log, (T,)),
        "Ad": Call(lie.Ad, (T,)),
        "dexp": Call(lie.dexp, (x,)),
        "dexp_inv": Call(lie.dexp_inv, (x,)),
        "convert": Call(twists.convert, (x, T, "body", "spatial")),
    }
    table = report.table("One element", "function", "us", "Pinocchio's time over ours")
    for name, call in calls.items():
        step(f"algebra: {name}")
        contenders = {"jounce": call}
        if name in rivals:
            contenders["pinocchio"] = rivals[name]
        timings = measure(contenders, effort)
        report.keep(f"one/{name}", timings)
        beside = ratio(timings["pinocchio"], timings["jounce"]) if name in rivals else ""
        table.add(name, 1e6 * timings["jounce"].best, beside)
        report.target(f"{name} of one element, us", "<= 1", 1e6 * timings["jounce"].best)


def batches(report: Report, effort: Effort, step: Steps) -> None:
    """Per element of a batch that is written to an array."""
    count = effort.pick(4096, 4096, 16)
    x = np.random.default_rng(0).normal(size=(count, 6))
    T = lie.exp(x)
    calls = {
        "exp": (lie.exp, x, np.empty((count, 4, 4)), _exp_loop, 20),
        "log": (lie.log, T, np.empty((count, 6)), _log_loop, 40),
    }
    table = report.table(
        f"Batch of {count} with out=", "function", "ns per element", "a loop's time over ours"
    )
    for name, (function, argument, out, loop, most) in calls.items():
        step(f"algebra: {name} of a batch")
        contenders = {
            "jounce": Call(function, (argument,), {"out": out}),
            "pinocchio": Call(loop, (argument, np.empty_like(out))),
        }
        timings = measure(contenders, effort)
        report.keep(f"batch/{name}", timings)
        each = 1e9 * timings["jounce"].best / count
        table.add(name, each, ratio(timings["pinocchio"], timings["jounce"]))
        report.target(f"{name} per element of a batch, ns", f"<= {most}", each)


def _exp_loop(x: Any, out: Any) -> Any:
    for i in range(len(x)):
        out[i] = pin.exp6(x[i]).homogeneous
    return out


def _log_loop(T: Any, out: Any) -> Any:
    for i in range(len(T)):
        out[i] = pin.log6(pin.SE3(T[i])).vector
    return out


def mass_matrix_loop(model: Any, data: Any, q: Any, out: Any) -> Any:
    """Derivatives of the mass matrix by Pinocchio, column by column, without gravity."""
    still, direction = np.zeros(model.nv), np.zeros(model.nv)
    for k in range(model.nv):
        direction[k] = 1.0
        pin.computeRNEADerivatives(model, data, q, still, direction)
        out[:, k] = data.dtau_dq
        direction[k] = 0.0
    return out


def derivatives(report: Report, effort: Effort, step: Steps) -> None:
    """Derivatives of the mass matrix, and those of a twist beside the Jacobian's rate."""
    name = effort.pick("Talos", "Talos", "UR5")
    robot = robots.load(name)
    state = robots.states(robot)
    model, q, v = robot.model, state.q, state.v
    nv, body = model.nv, model.n_bodies - 1
    cube = np.empty((nv, nv, nv))
    pair, rate = (np.empty((6, nv)), np.empty((6, nv))), np.empty((6, nv))

    def call(function: Callable[..., Any], *arguments: Any, out: Any) -> Call:
        return Call(function, (model, *arguments), {"out": out})

    calls = {
        "mass_matrix_derivatives": call(jc.mass_matrix_derivatives, q, out=cube),
        "christoffel_symbols": call(jc.christoffel_symbols, q, out=cube.copy()),
        "inverse_mass_matrix_derivatives": call(
            jc.inverse_mass_matrix_derivatives, q, out=cube.copy()
        ),
        "body_twist_derivatives": call(jc.body_twist_derivatives, q, v, body, out=pair),
        "jacobian_rate": call(jc.jacobian_rate, q, v, body, out=rate),
    }
    weightless = robot.pin_model.copy()
    weightless.gravity.linear = np.zeros(3)
    theirs = (weightless, weightless.createData(), state.pin_q, cube.copy())
    calls["mass_matrix_derivatives, Pinocchio's loop"] = Call(mass_matrix_loop, theirs)
    sizes = (
        np.linalg.norm(calls["mass_matrix_derivatives"]()),
        np.linalg.norm(mass_matrix_loop(*theirs)),
    )
    robots.check("mass_matrix_derivatives", sizes[0], sizes[1], 1e-10)
    step(f"algebra: derivatives, {name}")
    timings = measure(calls, effort)
    report.keep(f"derivatives/{name}", timings)
    table = report.table(f"Derivatives, {name}, with out=", "function", "us")
    for function, timing in timings.items():
        table.add(function, 1e6 * timing.best)
    best = {function: timing.best for function, timing in timings.items()}
    report.target("mass_matrix_derivatives, us", "<= 150", 1e6 * best["mass_matrix_derivatives"])
    there = timings["mass_matrix_derivatives, Pinocchio's loop"]
    faster = ratio(there, timings["mass_matrix_derivatives"])
    report.target("mass_matrix_derivatives: Pinocchio's loop / jounce", ">= 1", faster.value)
    share = best["body_twist_derivatives"] / best["jacobian_rate"]
    report.target("body_twist_derivatives / jacobian_rate", "<= 3", share)
