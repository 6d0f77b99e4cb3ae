"""What can be drawn over a robot: arrows and points that follow from its state.

A layer is a function of a `State`; it returns `Arrows`. Nothing here knows how they are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.constraints import (
    Constraints,
    Coupling,
    Distance,
    Loop,
    Point,
    Rolling,
    Weld,
    constrained_dynamics,
    constrained_inverse_dynamics,
)
from jounce.constraints.kinds import DIRECTIONS
from jounce.constraints.table import axes_along
from jounce.dynamics import centroidal_momentum, external_wrenches, joint_wrenches
from jounce.errors import ArgumentError
from jounce.kinematics import body_pose, body_poses, body_twists, center_of_mass, total_mass
from jounce.model import Model

__all__ = ["LAYERS", "Arrows", "Scales", "State", "layer_arrows", "size_of"]

ANGULAR = (214, 90, 150)
LINEAR = (46, 134, 222)
FORCE = (222, 82, 46)
MOMENT = (186, 104, 200)
CONSTRAINT = (38, 166, 91)
AXIS = (240, 173, 20)
MOMENTUM = (120, 94, 240)


class Arrows(NamedTuple):
    """Arrows in the world."""

    points: Array
    """(n, 2, 3) from where to where."""
    colors: Array
    """(n, 3) red, green, blue from 0 to 255."""


class Scales(NamedTuple):
    """How long an arrow is drawn, m per unit."""

    force: float
    """Per N, and for moments per N m."""
    velocity: float
    """Per m/s, and for angular velocities per rad/s."""


class State(NamedTuple):
    """A state of a robot and what acts on it."""

    model: Model
    q: Array
    v: Array
    a: Array
    scales: Scales
    size: float
    """Of the robot, m: lengths that have no unit of their own are parts of it."""
    wrenches: Mapping[str | int, Array]
    """(6,) hybrid wrenches (moment, force) on frames."""
    constraints: Constraints | None
    tau: Array | None


def size_of(model: Model, q: ArrayLike) -> float:
    """A length that tells how large a robot is: the spread of its bodies, m."""
    points = body_poses(model, q)[..., :3, 3]
    spread = np.ptp(np.concatenate([points, center_of_mass(model, q)[None]]), axis=0)
    return max(float(np.linalg.norm(spread)), 0.1)


def layer_arrows(name: str, state: State) -> Arrows:
    """The arrows of a layer by its name.

    Raises:
        ArgumentError: there is no such layer.
    """
    if name not in LAYERS:
        raise ArgumentError(f"unknown layer {name!r}; there are {', '.join(LAYERS)}")
    return LAYERS[name](state)


def _arrows(parts: list[tuple[Array, Array, tuple[int, int, int]]]) -> Arrows:
    """Arrows from origins (n, 3) along vectors (n, 3) in one color; those without length go."""
    points, colors = [np.zeros((0, 2, 3))], [np.zeros((0, 3), np.uint8)]
    for origins, vectors, color in parts:
        origins, vectors = np.atleast_2d(origins), np.atleast_2d(vectors)
        some = np.linalg.norm(vectors, axis=1) > 1e-9
        points.append(np.stack([origins, origins + vectors], axis=1)[some])
        colors.append(np.tile(np.array(color, np.uint8), (int(some.sum()), 1)))
    return Arrows(np.concatenate(points), np.concatenate(colors))


def _screw_axes(state: State) -> Arrows:
    """The axis of each joint through its anchor; of joints with several, each of them."""
    origins, axes = [], []
    poses = body_poses(state.model, state.q)
    for body, pose in zip(state.model.bodies, poses, strict=True):
        for joint in body.joints:
            if joint.type in ("free", "spherical"):
                continue
            lines = [joint.axis] if joint.type != "universal" else [joint.axis, joint.axis2]
            origins += [pose[:3, :3] @ joint.anchor + pose[:3, 3]] * len(lines)
            axes += [pose[:3, :3] @ line for line in lines]
    if not axes:
        return _arrows([])
    vectors = 0.12 * state.size * np.array(axes)
    return _arrows([(np.array(origins) - vectors / 2, vectors, AXIS)])


def _twists(state: State) -> Arrows:
    """Velocities of the bodies' centers of mass, and their angular velocities."""
    model, scale = state.model, state.scales.velocity
    poses = body_poses(model, state.q)
    turns = poses[:, :3, :3]
    twists = body_twists(model, state.q, state.v)
    masses = np.maximum(model.inertias[:, :1], 1e-300)
    centers = np.where(model.inertias[:, :1] > 0, model.inertias[:, 1:4] / masses, 0.0)
    angular = np.einsum("nij,nj->ni", turns, twists[:, :3])
    own = twists[:, 3:] + np.cross(twists[:, :3], centers)
    at = poses[:, :3, 3] + np.einsum("nij,nj->ni", turns, centers)
    linear = np.einsum("nij,nj->ni", turns, own)
    return _arrows([(at, scale * linear, LINEAR), (at, scale * angular, ANGULAR)])


def _joint_wrenches(state: State) -> Arrows:
    """Forces and moments that bodies get through their joints, at their origins."""
    model = state.model
    f_ext = external_wrenches(model, state.q, state.wrenches)
    poses = body_poses(model, state.q)
    given = joint_wrenches(model, state.q, state.v, state.a, f_ext)
    moment, force = (
        state.scales.force * np.einsum("nij,nj->ni", poses[:, :3, :3], part)
        for part in (given[:, :3], given[:, 3:])
    )
    at = poses[:, :3, 3]
    return _arrows([(at, force, FORCE), (at, moment, MOMENT)])


def _external_wrenches(state: State) -> Arrows:
    """The wrenches that are given, at their frames."""
    scale, parts = state.scales.force, []
    for name, wrench in state.wrenches.items():
        at = body_pose(state.model, state.q, name)[:3, 3]
        parts += [(at, scale * wrench[3:], FORCE), (at, scale * wrench[:3], MOMENT)]
    return _arrows(parts)


def _constraint_forces(state: State) -> Arrows:
    """What constraints do to the robot: with `tau`, else with the torques that the motion needs."""
    c, model = state.constraints, state.model
    if c is None or not c.size:
        return _arrows([])
    f_ext = external_wrenches(model, state.q, state.wrenches)
    if state.tau is not None:
        force = constrained_dynamics(model, state.q, state.v, state.tau, c, f_ext).force
    else:
        force = constrained_inverse_dynamics(model, state.q, state.v, state.a, c, f_ext).force
    parts = []
    for k, item in enumerate(c.items):
        if not isinstance(item, Coupling):
            at, moment, linear = _wrench_of(model, state.q, item, np.asarray(force)[c.rows(k)])
            scale = state.scales.force
            parts += [(at, scale * linear, CONSTRAINT), (at, scale * moment, MOMENT)]
    return _arrows(parts)


def _wrench_of(
    model: Model, q: Array, item: Weld | Loop | Point | Distance | Rolling, rows: Array
) -> tuple[Array, Array, Array]:
    """Where the force of a constraint acts, its moment and its force, in world axes."""
    pose = body_pose(model, q, item.first)
    other = np.eye(4) if item.second is None else body_pose(model, q, item.second)
    at, none = pose[:3, 3], np.zeros(3)
    if isinstance(item, Point):
        return at, none, rows
    if isinstance(item, Distance):
        rod = at - (other[:3, :3] @ np.asarray(item.anchor) + other[:3, 3])
        return at, none, rows[0] * rod / max(float(np.linalg.norm(rod)), 1e-300)
    if isinstance(item, Rolling):
        plane = other[:3, :3] @ axes_along(np.array(item.normal))
        down = -plane[:, 2]
        if item.axis is not None:  # of a wheel, which may lean
            axis = pose[:3, :3] @ item.axis
            down = down - axis * (axis @ down)
            down /= np.linalg.norm(down)
        return at + item.radius * down, none, plane @ rows
    free = item.free
    wrench = np.zeros(6)
    wrench[[name not in free for name in DIRECTIONS]] = rows
    return at, pose[:3, :3] @ wrench[:3], pose[:3, :3] @ wrench[3:]


def _momentum(state: State) -> Arrows:
    """Momentum over mass, the velocity of the center of mass; angular momentum about it."""
    at = center_of_mass(state.model, state.q)
    angular, linear = np.split(centroidal_momentum(state.model, state.q, state.v), 2)
    mass, scale = total_mass(state.model), state.scales.velocity
    inertia = mass * (0.25 * state.size) ** 2
    return _arrows(
        [(at, scale * linear / mass, MOMENTUM), (at, scale * angular / inertia, ANGULAR)]
    )


LAYERS: dict[str, Callable[[State], Arrows]] = {
    "screw axes": _screw_axes,
    "twists": _twists,
    "joint wrenches": _joint_wrenches,
    "wrenches": _external_wrenches,
    "constraint forces": _constraint_forces,
    "momentum": _momentum,
}
"""Layers of arrows by their names."""
