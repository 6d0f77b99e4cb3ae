"""Constraints of a model as the table of numbers that core/constraints/table.hpp reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._types import Array, Mask
from jounce.constraints.kinds import (
    DIRECTIONS,
    AnyConstraint,
    Coupling,
    Distance,
    Loop,
    Point,
    Rolling,
    Weld,
    held_positions,
)
from jounce.errors import ArgumentError
from jounce.kinematics.inverse import placed_frame
from jounce.model import Model

__all__ = ["NUMBERS", "Records", "axes_along", "records_of", "row_count"]

_POSE, _POINT, _DISTANCE, _ROLLING, _COUPLING = range(5)
NUMBERS = 60


class Records(NamedTuple):
    """What the core needs of one constraint."""

    table: Array
    """(records, 60); the last two are the gains of stabilization."""
    holonomic: Mask
    """(rows,) whether the row holds a position."""
    targeted: Mask
    """(rows,) whether the row has a residual."""


def row_count(constraint: AnyConstraint) -> int:
    """How many rows a constraint has."""
    if isinstance(constraint, (Distance, Coupling)):
        return 1
    return 3 if isinstance(constraint, (Point, Rolling)) else 6 - len(constraint.free)


def records_of(model: Model, constraint: AnyConstraint, row: int) -> Records:
    """The records of a constraint whose rows start at `row`."""
    if isinstance(constraint, Coupling):
        return _coupling(model, constraint, row)
    if isinstance(constraint, Distance):
        at = np.eye(4)
        at[:3, 3] = constraint.anchor
        return _between(model, constraint, row, _DISTANCE, at=at, length=constraint.target or 1.0)
    if isinstance(constraint, Rolling):
        return _rolling(model, constraint, row)
    if isinstance(constraint, Point):
        target = np.eye(4)
        if constraint.target is not None:
            target[:3, 3] = constraint.target
        return _between(model, constraint, row, _POINT, target=target)
    held = held_positions(constraint.free)
    target = np.eye(4) if constraint.target is None else np.array(constraint.target)
    return _between(model, constraint, row, _POSE, held, target=target)


def _between(
    model: Model,
    constraint: Weld | Loop | Point | Distance | Rolling,
    row: int,
    kind: int,
    held: dict[str, bool] | None = None,
    *,
    at: Array | None = None,
    target: Array | None = None,
    length: float = 1.0,
) -> Records:
    """A record of two frames; `at` is where it acts in the second one."""
    held = held or {DIRECTIONS[k]: True for k in range(row_count(constraint))}
    has_target = getattr(constraint, "target", None) is not None
    targeted = {name: has_target and holds for name, holds in held.items()}
    numbers = np.zeros((1, NUMBERS))
    node, pose = placed_frame(model, constraint.first)
    other, base = (-1, np.eye(4))
    if constraint.second is not None:
        other, base = placed_frame(model, constraint.second)
    if node == other:
        where = "the world" if node < 0 else f"body {model.body_names[model.nodes.body[node]]!r}"
        raise ArgumentError(
            f"both frames of {constraint!r} are fixed to {where}, so nothing can move there"
        )
    numbers[0, :6] = kind, row, _bits(held), _bits(targeted, targeted), node, other
    numbers[0, 6:22] = pose.ravel()
    numbers[0, 22:38] = (base if at is None else base @ at).ravel()
    numbers[0, 38:54] = (np.eye(4) if target is None else target).ravel()
    numbers[0, 54] = length
    return Records(numbers, np.array(list(held.values())), np.array(list(targeted.values())))


def _bits(names: dict[str, bool], marked: dict[str, bool] | None = None) -> int:
    """Directions, those that are marked, as bits."""
    return sum(1 << DIRECTIONS.index(n) for n in names if marked is None or marked[n])


def _rolling(model: Model, constraint: Rolling, row: int) -> Records:
    plane = np.eye(4)
    plane[:3, :3] = axes_along(np.array(constraint.normal))
    if constraint.point is not None:
        plane[:3, 3] = constraint.point
    record = _between(model, constraint, row, _ROLLING, at=plane, length=constraint.radius)
    has_target = constraint.point is not None
    record.table[0, 3] = 4 * has_target
    if constraint.axis is not None:
        record.table[0, 55:58] = constraint.axis
    upward = np.array([False, False, True])
    return Records(record.table, upward, upward & has_target)


def axes_along(z: Array) -> Array:
    """A rotation whose third axis is z, the identity if that is upright."""
    x = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    y = np.cross(z, x)
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, z), y, z])


def _coupling(model: Model, constraint: Coupling, row: int) -> Records:
    table = np.zeros((len(constraint.coefficients), NUMBERS))
    for k, (joint, coefficients) in enumerate(constraint.coefficients):
        q, v = model.q_slice(joint), model.v_slice(joint)
        if v.stop - v.start != 1:
            raise ArgumentError(
                f"a coupling takes joints of one degree of freedom, and {joint!r} has "
                f"{v.stop - v.start}"
            )
        table[k, :6] = _COUPLING, row, 1, constraint.offset is not None, q.start, v.start
        table[k, 6:10] = coefficients
    table[0, 10] = -(constraint.offset or 0.0)
    return Records(table, np.ones(1, bool), np.full(1, constraint.offset is not None))
