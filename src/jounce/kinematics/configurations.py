"""Configurations: the neutral one, random ones, moving and differences on the manifold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

import numpy as np

from jounce._core import kernel
from jounce._types import Array, ArrayLike, Index
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model.joints import ELEMENTARY
from jounce.model.model import Model, require_model

__all__ = ["difference", "integrate", "neutral", "random_configuration"]


def neutral(model: Model, shape: int | Sequence[int] = ()) -> Array:
    """Configuration with zero angles and displacements and identity quaternions, (*shape, nq).

    Args:
        model: the robot.
        shape: leading axes.

    Returns:
        (*shape, nq) coordinates.

    Raises:
        ArgumentError: a negative shape.
        ArgumentTypeError: `model` is no model, or the shape is not made of integers.
    """
    require_model(model)
    q = np.zeros((*_lead(shape), model.nq))
    q[..., _quaternions(model) + 3] = 1.0
    return q


def random_configuration(
    model: Model,
    rng: np.random.Generator | int | None = None,
    shape: int | Sequence[int] = (),
) -> Array:
    """Random configuration, (*shape, nq).

    Joints with finite limits are uniform within them, others uniform in [-pi, pi] (angles) or
    [-1, 1] (displacements); quaternions are uniform on the group.

    Args:
        model: the robot.
        rng: a NumPy generator, or a seed.
        shape: leading axes.

    Returns:
        (*shape, nq) coordinates.

    Raises:
        ArgumentError: a negative shape or seed.
        ArgumentTypeError: `model` is no model, `rng` is no generator or seed, or the shape is not
            made of integers.
    """
    require_model(model)
    if not (rng is None or isinstance(rng, (np.random.Generator, int, np.integer))):
        raise ArgumentTypeError(f"rng must be a NumPy generator, a seed or None, got {rng!r}")
    if isinstance(rng, (int, np.integer)) and rng < 0:
        raise ArgumentError(f"rng: a seed must not be negative, got {rng}")
    generator = np.random.default_rng(rng)
    lead = _lead(shape)
    low, width = _ranges(model)
    q: Array = generator.random((*lead, model.nq))
    q *= width
    q += low
    starts = _quaternions(model)
    if len(starts):
        x = generator.standard_normal((*lead, len(starts), 4))
        x /= np.sqrt(np.einsum("...i,...i", x, x))[..., None]
        q[..., starts[:, None] + np.arange(4)] = x
    return q


def _lead(shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        lead = tuple(map(index, shape)) if isinstance(shape, Iterable) else (index(shape),)
    except TypeError:
        raise ArgumentTypeError(f"shape must be one or several integers, got {shape!r}") from None
    if any(n < 0 for n in lead):
        raise ArgumentError(f"shape must not be negative, got {shape!r}")
    return lead


def _ranges(model: Model) -> tuple[Array, Array]:
    """Lower bounds and widths of the coordinates that `random_configuration` draws."""
    nodes, lower, upper = model.nodes, model.lower, model.upper
    reach = np.ones(model.nq)
    reach[nodes.q_index[_TURNS[nodes.kind]]] = np.pi
    with np.errstate(invalid="ignore", over="ignore"):
        width = upper - lower
    bounded = np.isfinite(width)
    return np.where(bounded, lower, -reach), np.where(bounded, width, 2 * reach)


_TURNS = np.array([kind in ("revolute", "helical") for kind in ELEMENTARY])
_IS_GROUP = np.array([kind in ("spherical", "free") for kind in ELEMENTARY])


@kernel
def integrate(
    model: Model, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Move q along the tangent vector dv, (..., nq).

    1-DoF joints add; spherical and free joints move by the group's exponential on the right
    (left-trivialized): ``R exp(dv)``, ``T exp(dv)``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        dv: (..., nv) tangent vector, for example ``v * dt``.
        out: (..., nq) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) coordinates, quaternions normalized.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``difference(model, q, integrate(model, q, dv)) == dv`` below half a turn.
    """


@kernel
def difference(
    model: Model, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Tangent vector at q0 that leads to q1, (..., nv); rotations by at most half a turn.

    Args:
        model: the robot.
        q0: (..., nq) coordinates.
        q1: (..., nq) coordinates.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) tangent vector.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``integrate(model, q0, difference(model, q0, q1)) == q1`` (up to the quaternion's
    sign).
    """


def _quaternions(model: Model) -> Index:
    """Where the quaternions of spherical and free joints begin in q."""
    starts: Index = model.nodes.q_index[_IS_GROUP[model.nodes.kind]]
    return starts
