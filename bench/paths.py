"""Inverse kinematics beside the same loop over Pinocchio, and trajectories at one time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.interpolate import BPoly

import jounce as jc
from bench.report import Report, Steps
from bench.robots import check, load
from bench.timing import Call, Effort, measure, ratio
from jounce import trajectories

TOOL = "panda_hand"
TOLERANCE = 1e-9


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("paths")
    step("inverse kinematics of the Panda")
    inverse_kinematics(report, effort)
    step("trajectories at one time")
    instants(report, effort)
    return report


def pinocchio_loop(model: Any, data: Any, frame: int, target: Any, q: Any) -> Any:
    """Damped least squares with exact derivatives, as its examples write it."""
    damping = 1e-6 * np.eye(6)
    while True:
        pin.framesForwardKinematics(model, data, q)
        away = target.actInv(data.oMf[frame])
        error = pin.log6(away).vector
        if np.linalg.norm(error) <= TOLERANCE:
            return q
        J = pin.Jlog6(away) @ pin.computeFrameJacobian(model, data, q, frame)
        q = pin.integrate(model, q, -J.T @ np.linalg.solve(J @ J.T + damping, error))


def inverse_kinematics(report: Report, effort: Effort) -> None:
    """One pose from a start half a radian away, until the residual is small."""
    robot = load("Panda")
    q0 = (np.clip(robot.model.lower, -2, 2) + np.clip(robot.model.upper, -2, 2)) / 2
    goal = jc.body_pose(robot.model, q0 + 0.5, TOOL)
    frame = robot.pin_model.getFrameId(TOOL)
    options = {"tolerance": TOLERANCE}
    calls = {
        "jounce": Call(jc.inverse_kinematics, (robot.model, {TOOL: goal}, q0), options),
        "pinocchio": Call(pinocchio_loop, (robot.pin_model, robot.data, frame, pin.SE3(goal), q0)),
    }
    there = calls["pinocchio"]()
    assert np.allclose(jc.body_pose(robot.model, there, TOOL), goal, atol=1e-9)
    assert calls["jounce"]().converged
    timings = measure(calls, effort)
    report.keep("inverse kinematics/Panda", timings)
    table = report.table("Inverse kinematics of the Panda, us for one pose", "contender", "us")
    for name, timing in timings.items():
        table.add(name, 1e6 * timing.best)
    faster = ratio(timings["pinocchio"], timings["jounce"])
    report.target("inverse kinematics: Pinocchio's loop / jounce", ">= 1", faster.value)


def scipy_quintic(ends: Any, duration: float) -> Callable[[float], list[Any]]:
    """Coordinates, rates and accelerations from rest to rest by SciPy's polynomials."""
    rest = np.zeros_like(ends[0])
    curve = BPoly.from_derivatives([0.0, duration], [[end, rest, rest] for end in ends])
    curves = [curve, curve.derivative(), curve.derivative(2)]
    return lambda t: [each(t) for each in curves]


def instants(report: Report, effort: Effort) -> None:
    """`RobotTrajectory.evaluate` at one time."""
    panda, aerial = load("Panda").model, jc.models.aerial_manipulator()
    ends = jc.random_configuration(panda, 0, 2)
    cases = {
        "Panda between two poses": (
            trajectories.RobotTrajectory.between(panda, *ends, 2.0),
            10,
        ),
        "reference of the aerial manipulator": (
            trajectories.aerial_manipulator_reference(aerial),
            30,
        ),
    }
    peers = {"Panda between two poses": scipy_quintic(ends, 2.0)}
    columns = ("trajectory", "us", "SciPy's time over ours")
    table = report.table("Trajectories at one time, us", *columns)
    for name, (trajectory, most) in cases.items():
        calls = {"jounce": Call(trajectory.evaluate, (0.7,))}
        if name in peers:
            calls["scipy"] = Call(peers[name], (0.7,))
            own, theirs = calls["jounce"](), calls["scipy"]()
            check(f"trajectory: {name}", np.array([own.q, *own.motion]), np.array(theirs), 1e-12)
        timings = measure(calls, effort)
        report.keep(f"instants/{name}", timings)
        beside = ratio(timings["scipy"], timings["jounce"]) if name in peers else ""
        table.add(name, 1e6 * timings["jounce"].best, beside)
        report.target(f"{name}, us", f"<= {most}", 1e6 * timings["jounce"].best)
