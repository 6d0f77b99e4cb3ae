"""The motion of the center of mass and of the momentum about it, against Pinocchio.

Pinocchio computes the derivatives of the velocity of the center of mass from those of the
kinematics, which are part of the call here, and the derivatives of the centroidal momentum together
with those of its rate, since it has no other function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, Ratio, geometric_mean, measure, ratio


def center_of_mass_derivatives(model: Any, data: Any, q: Any, v: Any, a: Any) -> Any:
    """Pinocchio's steps; the acceleration plays no part in the result."""
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    pin.centerOfMass(model, data, q, v)
    return pin.getCenterOfMassVelocityDerivatives(model, data)


def centroidal_derivatives(model: Any, data: Any, q: Any, v: Any, a: Any) -> Any:
    """Pinocchio's derivative of the momentum by q, linear rows first."""
    return pin.computeCentroidalDynamicsDerivatives(model, data, q, v, a)[0]


@dataclass(frozen=True)
class Function:
    """A function of both libraries; the first result, if there are several, is compared."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: str
    there: str
    rows: tuple[int, ...]
    """Pinocchio's rows in our order."""


FUNCTIONS = (
    Function(
        "Jacobian of the center",
        jc.center_of_mass_jacobian,
        pin.jacobianCenterOfMass,
        "q",
        "q",
        (0, 1, 2),
    ),
    Function(
        "derivatives of its velocity",
        jc.center_of_mass_derivatives,
        center_of_mass_derivatives,
        "q v",
        "q v a",
        (0, 1, 2),
    ),
    Function(
        "derivatives of the centroidal momentum",
        jc.centroidal_momentum_derivatives,
        centroidal_derivatives,
        "q v",
        "q v a",
        (3, 4, 5, 0, 1, 2),
    ),
)


def add_rows(report: Report, effort: Effort, step: Steps) -> None:
    """One call for one state, on real robots."""
    names = robots.names(effort)
    table = report.table(
        "Center of mass, one call: Pinocchio's time over ours",
        *("function", *names, "geometric mean"),
        note="In brackets: 10% to 90% of the block-by-block ratios. Below: ours / Pinocchio's, us.",
    )
    for function in FUNCTIONS:
        ratios: list[Ratio] = []
        times = []
        for name in names:
            step(f"center of mass: {function.name}, {name}")
            timings = _timed(function, name, effort)
            report.keep(f"center of mass/{function.name}/{name}", timings)
            ratios.append(ratio(timings["pinocchio"], timings["jounce"]))
            times.append("{jounce:.2f} / {pinocchio:.2f}".format(**_microseconds(timings)))
        mean = geometric_mean(r.value for r in ratios)
        table.add(function.name, *ratios, mean)
        table.add("", *times, "")
        report.target(f"center of mass, {function.name}: slowest robot", ">= 1", _least(ratios))


def _timed(function: Function, name: str, effort: Effort) -> dict[str, Any]:
    """Timings of both, after a comparison of their results."""
    robot = robots.load(name)
    state = robots.states(robot)
    calls = {
        "jounce": Call(function.ours, (robot.model, *state.ours(function.inputs))),
        "pinocchio": Call(
            function.theirs, (robot.pin_model, robot.data, *state.theirs(function.there))
        ),
    }
    ours = calls["jounce"]()
    ours = robot.there.to_tau(state.q, ours[0] if isinstance(ours, tuple) else ours)
    theirs = calls["pinocchio"]()[list(function.rows)]
    robots.check(f"{function.name}, {name}", ours, theirs)
    return measure(calls, effort)


def _microseconds(timings: dict[str, Any]) -> dict[str, float]:
    return {name: 1e6 * timing.best for name, timing in timings.items()}


def _least(ratios: list[Ratio]) -> float:
    return min(r.value for r in ratios)
