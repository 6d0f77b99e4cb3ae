"""Forces of the joints themselves."""

from __future__ import annotations

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model.model import Model, require_model

__all__ = ["passive_forces"]


def passive_forces(model: Model, v: ArrayLike) -> Array:
    """Forces of joint damping and friction, ``-damping * v - friction * sign(v)``.

    They are never mixed into inverse or forward dynamics; add them to tau where they belong.

    Args:
        model: the robot.
        v: (..., nv) rates.

    Returns:
        (..., nv) generalized forces; the power ``passive_forces(model, v) @ v`` is never positive.

    Raises:
        ArgumentError: a wrong shape or a number that is not finite.
        ArgumentTypeError: `model` is no model.
    """
    require_model(model)
    try:
        rates = np.asarray(v)
    except ValueError:
        raise ArgumentError(f"v must be an array of real numbers, got {v!r}") from None
    if rates.dtype.kind not in "fiub":
        raise ArgumentError(f"v must be an array of real numbers, got dtype {rates.dtype}")
    if rates.shape[-1:] != (model.nv,):
        raise ArgumentError(
            f"v must have shape (..., {model.nv}), that is (..., nv) of this model, "
            f"got {rates.shape}"
        )
    if not np.all(np.isfinite(rates)):
        raise ArgumentError("v must be finite")
    forces: Array = -model.damping * rates - model.friction * np.sign(rates)
    return forces
