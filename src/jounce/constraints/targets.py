"""Where constraints hold their frames: targets taken from coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from jounce._core.words import place_of, told_by
from jounce._types import Array
from jounce.constraints.kinds import AnyConstraint, Coupling, Distance, Loop, Point, Rolling, Weld
from jounce.errors import ArgumentError
from jounce.kinematics import body_pose
from jounce.model import Model

__all__ = ["finite_targets", "relative_pose", "require_defined", "targeted_at"]

SHORTEST = 1e-12
"""Rods and projected axes of wheels that are not longer give no direction; as in the core."""


@contextmanager
def finite_targets(method: str) -> Iterator[None]:
    """Targets that overflow are told by the method that makes them of finite arguments."""
    overflows = f"the result of {method}() is not finite: an input is too large"
    try:
        with np.errstate(all="ignore"), told_by(method, ()):
            yield
    except OverflowError:
        raise ArgumentError(overflows) from None
    except ArgumentError as error:
        if "must be finite" not in str(error):
            raise
        raise ArgumentError(overflows) from None


def targeted_at(
    model: Model, constraint: AnyConstraint, q: Array, holds_position: bool
) -> AnyConstraint:
    """A constraint that holds what it holds at q, if it has no target."""
    if isinstance(constraint, Coupling):
        if constraint.offset is not None:
            return constraint
        terms = constraint.coefficients
        x = [q[model.q_slice(joint)][0] for joint, _ in terms]
        values = [np.polyval([*c[::-1], 0.0], y) for (_, c), y in zip(terms, x, strict=True)]
        return replace(constraint, offset=float(sum(values)))
    if isinstance(constraint, Rolling):
        return constraint if constraint.point is not None else _touching(model, constraint, q)
    if constraint.target is not None or (isinstance(constraint, Loop) and not holds_position):
        return constraint
    X = relative_pose(model, constraint, q)
    if isinstance(constraint, Point):
        return replace(constraint, target=X[:3, 3])
    if isinstance(constraint, Distance):
        require_defined(model, constraint, q)
        return replace(constraint, target=float(np.linalg.norm(X[:3, 3] - constraint.anchor)))
    return replace(constraint, target=X)


def relative_pose(
    model: Model, constraint: Weld | Loop | Point | Distance | Rolling, q: Array
) -> Array:
    """Pose of the first frame in the second, (..., 4, 4)."""
    pose = body_pose(model, q, constraint.first)
    if constraint.second is None:
        return pose
    return np.asarray(np.linalg.solve(body_pose(model, q, constraint.second), pose))


def _touching(model: Model, constraint: Rolling, q: Array) -> Rolling:
    """With the plane where the wheel touches it."""
    require_defined(model, constraint, q)
    X = relative_pose(model, constraint, q)
    normal = np.array(constraint.normal)
    down = -normal
    if constraint.axis is not None:
        axis = X[:3, :3] @ constraint.axis
        down = axis * (axis @ normal) - normal
        down /= np.linalg.norm(down)
    return replace(constraint, point=X[:3, 3] + constraint.radius * down)


def require_defined(model: Model, constraint: AnyConstraint, q: Array) -> None:
    """Refuse coordinates (..., nq) at which a constraint has no direction.

    Raises:
        ArgumentError: the ends of a rod coincide, or a wheel lies flat.
    """
    if isinstance(constraint, Distance):
        p = relative_pose(model, constraint, q)[..., :3, 3] - constraint.anchor
        with np.errstate(over="ignore"):  # what is too long is no rod without a direction
            lengths = np.linalg.norm(p, axis=-1)
        why = "its two ends coincide, so that the rod has no direction; hold them by a Point"
    elif isinstance(constraint, Rolling) and constraint.axis is not None:
        axis = relative_pose(model, constraint, q)[..., :3, :3] @ np.array(constraint.axis)
        lengths = np.linalg.norm(np.cross(axis, constraint.normal), axis=-1)
        why = "the wheel lies flat: its axis is along the normal, and no single point touches"
    else:
        return
    wrong = np.argwhere(lengths <= 2 * SHORTEST)
    if len(wrong):
        raise ArgumentError(f"{constraint.label} is not defined{place_of(wrong[0])}: {why}")
