"""Jacobians of bodies and frames, and their time derivatives.

`body` and `twist` are those of `jounce.kinematics.bodies`.
"""

from __future__ import annotations

from collections.abc import Callable

from jounce import _core
from jounce._types import Array, ArrayLike
from jounce.lie.twists import representation_index
from jounce.model.model import Model, locate

__all__ = ["jacobian", "jacobian_rate"]


_jacobian: Callable[..., Array] = _core.raw("jacobian")
_jacobian_rate: Callable[..., Array] = _core.raw("jacobian_rate")


def jacobian(
    model: Model,
    q: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Jacobian of a body or frame, (..., 6, nv): twist = J v (mueller, eq. 5, 14, 20, 23).

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.
    """
    return _jacobian(
        model, q, locate(model, body), representation_index(twist), out=out, threads=threads
    )


def jacobian_rate(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    body: str | int,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Time derivative of the Jacobian along v, (..., 6, nv).

    Identity: the derivative of the twist's components is ``J a + jacobian_rate(...) v``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        body: a body (name or index) or the name of a frame.
        twist: representation of the twist: "body" (Pinocchio's LOCAL), "spatial" (WORLD), "hybrid"
            (LOCAL_WORLD_ALIGNED; iDynTree's MIXED) or "mixed" (angular part in the body, linear
            part in the world, as MuJoCo's free joint), see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.
    """
    return _jacobian_rate(
        model, q, v, locate(model, body), representation_index(twist), out=out, threads=threads
    )
