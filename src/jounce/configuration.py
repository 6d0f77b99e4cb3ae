"""Configurations: the neutral one, random ones, moving and differences on the manifold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

import numpy as np
import numpy.typing as npt

from jounce._core import kernel
from jounce.joints import ELEMENTARY
from jounce.model import Model, require_model

__all__ = ["difference", "integrate", "neutral", "random_configuration"]

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike


def neutral(model: Model) -> Array:
    """Configuration with zero angles and displacements and identity quaternions, (nq,)."""
    require_model(model)
    q = np.zeros(model.nq)
    for start in _quaternions(model):
        q[start + 3] = 1.0
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
    """
    require_model(model)
    if not (rng is None or isinstance(rng, (np.random.Generator, int, np.integer))):
        raise TypeError(f"rng must be a NumPy generator, a seed or None, got {rng!r}")
    generator = np.random.default_rng(rng)
    lead = tuple(map(index, shape if isinstance(shape, Iterable) else (shape,)))
    nodes = model.nodes
    half = np.where(np.isin(nodes.kind, [ELEMENTARY.index("revolute")]), np.pi, 1.0)
    reach = np.ones(model.nq)
    for start, width, kind in zip(nodes.q_index, half, nodes.kind, strict=True):
        if ELEMENTARY[kind] in ("revolute", "prismatic", "helical"):
            reach[start] = np.pi if ELEMENTARY[kind] == "helical" else width
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    low = np.where(bounded, model.lower, -reach)
    high = np.where(bounded, model.upper, reach)
    q = generator.uniform(low, high, (*lead, model.nq))
    for start in _quaternions(model):
        x = generator.standard_normal((*lead, 4))
        q[..., start : start + 4] = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return q


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

    Identity: ``difference(model, q, integrate(model, q, dv)) == dv`` below half a turn.
    """
    raise NotImplementedError


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

    Identity: ``integrate(model, q0, difference(model, q0, q1)) == q1`` (up to the quaternion's
    sign).
    """
    raise NotImplementedError


def _quaternions(model: Model) -> list[int]:
    groups = [ELEMENTARY.index("spherical"), ELEMENTARY.index("free")]
    return [int(s) for s in model.nodes.q_index[np.isin(model.nodes.kind, groups)]]
