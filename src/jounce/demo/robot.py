"""A robot that moves: the humanoid of the package bends its knees and lifts its arms.

Its soles stay where they are. What that takes follows from the motion: torques of the motors, and
forces of the ground, of which the center of pressure must be under the feet.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.constraints import Constraints, Weld, constrained_inverse_dynamics
from jounce.kinematics import body_pose
from jounce.model import Model, models
from jounce.trajectories import PolynomialSegment, RobotTrajectory
from jounce.viewer import draw_robot, export

__all__ = ["Squat", "draw", "play", "squat"]

_DURATION = 4.0
_SOLES = ("left_sole", "right_sole")
_LEAST, _MOST = 0.3, 0.95
"""How far hips, knees (twice) and ankles are bent, rad."""

_LEG, _ANKLE = 0.80, 0.08
"""Length of thigh and shank, and height of the ankle, m."""


class Squat(NamedTuple):
    """A motion and what it takes."""

    model: Model
    path: RobotTrajectory
    t: Array
    """(T,) s."""
    q: Array
    """(T, nq)."""
    tau: Array
    """(T, nv) torques of the motors, N m."""
    force: Array
    """(T, 2, 6) wrenches (moment, force) of the ground on the soles, in their axes."""
    pressure: Array
    """(T, 2) center of pressure on the ground, x and y, m."""


def squat(times: int = 201) -> Squat:
    """Down and up once, arms forward and back, with the forces that the ground must give.

    Args:
        times: how many there are.
    """
    model = models.humanoid()
    knots = np.linspace(0.0, _DURATION, 129)  # so many that the feet stay to 1e-10 m
    half = PolynomialSegment.rest_to_rest(0.0, 1.0, _DURATION / 2, extend="hold")
    down = np.minimum(half(knots)[..., 0], half(_DURATION - knots)[..., 0])
    path = RobotTrajectory.through(model, knots, np.array([_bent(model, s) for s in down]))
    t = np.linspace(0.0, _DURATION, times)
    sample = path.evaluate(t, order=0)
    held = Constraints(model, [Weld(sole) for sole in _SOLES])
    tau, force = constrained_inverse_dynamics(model, sample.q, sample.v, sample.a, held)
    wrenches = np.asarray(force).reshape(times, 2, 6)
    return Squat(model, path, t, sample.q, tau, wrenches, _pressure(model, sample.q, wrenches))


def _bent(model: Model, s: float) -> Array:
    """The configuration at a part s of the way down; the pelvis stays above the ankles."""
    q = np.array(model.poses["standing"])
    bend = _LEAST + (_MOST - _LEAST) * s
    q[model.q_slice("root_joint").start + 6] = _LEG * np.cos(bend) + _ANKLE
    joints = {"hip_pitch": -bend, "knee": 2 * bend, "ankle_pitch": -bend}
    joints |= {"shoulder_pitch": 0.15 - 1.55 * s, "elbow": -0.6 + 0.35 * s}
    for side in ("left", "right"):
        for joint, angle in joints.items():
            q[model.q_slice(f"{side}_{joint}")] = angle
    q[model.q_slice("waist_pitch")] = 0.2 * s
    q[model.q_slice("neck_pitch")] = -0.15 * s
    return q


def _pressure(model: Model, q: Array, wrenches: Array) -> Array:
    """Where the ground's force acts: the point about which it has no horizontal moment."""
    at = np.stack([body_pose(model, q, sole)[..., :3, 3] for sole in _SOLES], axis=-2)
    moment, force = wrenches[..., :3], wrenches[..., 3:]  # the soles are parallel to the world
    total = (moment + np.cross(at, force)).sum(axis=-2)
    upward = force[..., 2].sum(axis=-1)
    pressure: Array = np.stack([-total[..., 1], total[..., 0]], axis=-1) / upward[..., None]
    return pressure


def draw(motion: Squat, path: Path, dpi: int = 130) -> Path:
    """Write a picture: the robot at five times, and below what the motors and the ground do."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    rows = figure.subplot_mosaic([["robot", "robot"], ["torque", "ground"]], height_ratios=(3, 2))
    some = np.linspace(0, len(motion.t) // 2, 5).astype(int)
    for k, index in enumerate(some):
        draw_robot(rows["robot"], motion.model, motion.q[index], offset=(0.64 * k, 0.72 * k, 0))
    rows["robot"].set_title("a humanoid with 36 degrees of freedom bends its knees")
    panel = rows["torque"]
    for joint in ("hip_pitch", "knee", "ankle_pitch"):
        at = motion.model.v_slice(f"left_{joint}")
        panel.plot(motion.t, motion.tau[:, at], label=f"left {joint.replace('_', ' ')}")
    panel.set(xlabel="time, s", ylabel="torque, N m", title="motors of a leg")
    panel.legend(fontsize="small", ncols=3)
    panel = rows["ground"]
    panel.plot(motion.t, motion.force[..., 5].sum(axis=1), color="C3", label="force upward, N")
    panel.set(xlabel="time, s", ylabel="force, N", title="what the ground does")
    other = panel.twinx()
    other.plot(motion.t, 1e3 * motion.pressure[:, 0], "--", color="C4", label="x of its center, mm")
    other.set_ylabel("center of pressure, mm")
    lines = [*panel.lines, *other.lines]
    panel.legend(lines, [str(line.get_label()) for line in lines], fontsize="small")
    figure.savefig(path, dpi=dpi)
    return path


def play(motion: Squat, path: Path) -> Path:
    """Write the motion as a page that plays it, with the ground's forces as arrows."""
    wrenches = {sole: motion.force[:, k] for k, sole in enumerate(_SOLES)}
    show = ("wrenches", "center of mass")
    return export(motion.path, path, t=motion.t, wrenches=wrenches, show=show, rate=25.0)
