"""Rheonomic constraints at another time: their motion, and their targets, which move with it.

The rates of the rows are the polynomial

    (1)  w(t) = sum_k motion[k] t^k / k!,

and where the rows are follows from it: numbers and points move by its integral, a pose X by

    (2)  X' = X hat(w),  hence  (k + 1) X_{k+1} = sum_j X_j hat(w_{k-j})

for the coefficients of the powers of t: the series converges everywhere.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, factorial
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.constraints.kinds import (
    DIRECTIONS,
    AnyConstraint,
    Coupling,
    Distance,
    Loop,
    Point,
    Rolling,
    Weld,
)
from jounce.errors import ArgumentError
from jounce.model import Model

__all__ = ["moved", "target_coefficients", "target_field", "target_moves", "travel_coefficients"]

_TERMS = 24
"""Of equation (2), over times in which the pose turns by no more than about a radian."""
_MOST_INTERVALS = 10**6


def target_field(item: AnyConstraint) -> str:
    """The field that says where the rows are held."""
    return {Coupling: "offset", Rolling: "point"}.get(type(item), "target")


def target_moves(model: Model, item: AnyConstraint) -> bool:
    """Whether the motion alone says where the target is at a later time.

    That of a point is in world axes, so that in a second frame that turns it depends on the way
    there. So do the rates of a loop that turn with its free directions: with F in the group of
    these, rates w keep their meaning if Ad(F) w differs from w in free directions alone.
    """
    if isinstance(item, Point):
        return item.second is None or model.frame(item.second).body < 0
    if isinstance(item, Loop) and item.motion is not None:
        free = [DIRECTIONS.index(name) for name in item.free]
        held = [k for k in range(6) if k not in free]
        rates = np.zeros((len(item.motion), 6))
        rates[:, held] = item.motion
        return all(not (lie.ad(np.eye(6)[f]) @ rates.T)[held].any() for f in free)
    return True


def moved(model: Model, item: AnyConstraint, seconds: float) -> AnyConstraint:
    """A constraint as it is some time later; without a target if that depends on the way there."""
    if item.motion is None:
        return item
    motion = np.array(item.motion)
    changes: dict[str, Any] = {"motion": _at(motion, seconds)}
    name = target_field(item)
    target = getattr(item, name)
    if target is None or seconds == 0:
        return replace(item, **changes)
    follows = target_moves(model, item)
    changes[name] = _moved_target(model, item, target, motion, seconds) if follows else None
    return replace(item, **changes)


def _moved_target(
    model: Model, item: AnyConstraint, target: Any, motion: Array, seconds: float
) -> Any:
    if isinstance(item, (Weld, Loop)):
        return np.array(target) @ _turned(_twists(item, motion), seconds)
    way = sum(row * seconds ** (k + 1) / factorial(k + 1) for k, row in enumerate(motion))
    if isinstance(item, (Coupling, Distance)):
        there = target + float(way[0])
        if isinstance(item, Distance) and there <= 0:
            raise ArgumentError(
                f"{item.label} has no length at t = {seconds:.6g} s: its motion shrinks it from "
                f"{target:.6g} m to {there:.6g} m"
            )
        return there
    if isinstance(item, Rolling):
        return np.array(target) + way[2] * np.array(item.normal)
    if item.second is not None:
        way = model.frame(item.second).placement[:3, :3].T @ way
    return np.array(target) + way


def target_coefficients(item: Weld | Loop, count: int) -> Array:
    """Powers of t in the target of a pose that moves, (count, 4, 4)."""
    motion = np.zeros((0, 6)) if item.motion is None else _twists(item, np.array(item.motion))
    rates = [row / factorial(k) for k, row in enumerate(lie.hat(motion))]
    return np.array(item.target) @ np.array(_flow(rates, count))


def travel_coefficients(motion: Array, count: int) -> Array:
    """Powers of t in the way that rows have gone, the integral of w, (count, rows)."""
    way = np.zeros((count, motion.shape[-1]))
    for k in range(1, min(count, len(motion) + 1)):
        way[k] = motion[k - 1] / factorial(k)
    return way


def _twists(item: Weld | Loop, motion: Array) -> Array:
    """Rates of all six directions, (k, 6)."""
    rates = np.zeros((len(motion), 6))
    rates[:, [k for k in range(6) if DIRECTIONS[k] not in item.free]] = motion
    return rates


def _flow(rates: list[Array], count: int) -> list[Array]:
    """Equation (2) from the identity, with the coefficients of hat(w), (4, 4) each."""
    terms = [np.eye(4)]
    for k in range(count - 1):
        pairs = (terms[k - j] @ rates[j] for j in range(min(k + 1, len(rates))))
        terms.append(sum(pairs, np.zeros((4, 4))) / (k + 1))
    return terms


def _at(motion: Array, seconds: float) -> Array:
    """Equation (1) and its derivatives at another time."""
    powers = np.array([seconds**k / factorial(k) for k in range(len(motion))])
    return np.array([powers[: len(motion) - d] @ motion[d:] for d in range(len(motion))])


def _turned(motion: Array, seconds: float) -> Array:
    """Where equation (2) leads from the identity, (4, 4)."""
    fastest = sum(
        np.abs(row).max() * abs(seconds) ** k / factorial(k) for k, row in enumerate(motion)
    )
    count = max(1, ceil(abs(seconds) * float(fastest)))
    if count > _MOST_INTERVALS:
        raise ArgumentError(
            f"a motion of {fastest:.3g} rad/s or m/s over {seconds:.3g} s is too far"
        )
    h, X = seconds / count, np.eye(4)
    for i in range(count):
        rates = lie.hat(_at(motion, i * h))
        w = [row * h ** (k + 1) / factorial(k) for k, row in enumerate(rates)]
        X = X @ np.sum(_flow(w, _TERMS + 1), axis=0)
    return X
