"""Inertias as MJCF holds them, and which of them MuJoCo refuses."""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import ModelError
from jounce.io._parts import mass_properties, numbers
from jounce.model import Model

__all__ = ["inertials"]

_LEAST = 1e-15
"""Bodies that move must have more mass and larger moments than this (mjMINVAL)."""


def inertials(model: Model) -> list[dict[str, str]]:
    """Attributes of the `<inertial>` of each body: mass, center, principal axes and moments.

    The axes are found here because MuJoCo, given all six moments, finds them to 1e-12 only.

    Raises:
        ModelError: MuJoCo refuses some of the bodies; the message names each of them.
    """
    out, refused = [], []
    for body in model.bodies:
        try:
            mass, com, inertia = mass_properties(body.name, body.parameters)
            rounding = 8 * np.finfo(float).eps * float(np.abs(body.parameters[4:]).max())
            moments, axes = _principal(inertia, rounding)
        except ModelError as error:
            refused.append(str(error))
            continue
        why = _reason(float(mass), moments)
        if why is not None:
            refused.append(f"body {body.name!r}: {why}")
            continue
        values = {"pos": numbers(com), "mass": repr(float(mass)), "diaginertia": numbers(moments)}
        if not np.array_equal(axes, np.eye(3)):
            values["quat"] = numbers(np.roll(lie.matrix_to_quat(axes), 1))
        out.append(values)
    if refused:
        bodies = "a body" if len(refused) == 1 else f"{len(refused)} bodies"
        raise ModelError(f"MuJoCo refuses {bodies} of this robot: {'; '.join(refused)}")
    return out


def _principal(inertia: Array, rounding: float) -> tuple[Array, Array]:
    """Principal moments, and their axes as columns of a rotation.

    The largest moment of a flat body is the sum of the others; where rounding made it larger, it
    is that sum again, because MuJoCo compares without tolerance.
    """
    if np.array_equal(inertia, np.diag(np.diag(inertia))):
        moments, axes = np.diag(inertia).copy(), np.eye(3)
    else:
        moments, axes = np.linalg.eigh(inertia)
        axes[:, 2] *= np.sign(np.linalg.det(axes))
    large = int(np.argmax(moments))
    others = moments[(large + 1) % 3] + moments[(large + 2) % 3]
    if others < moments[large] <= others + rounding:
        moments[large] = others
    return moments, axes


def _reason(mass: float, moments: Array) -> str | None:
    shown = ", ".join(f"{moment:.6g}" for moment in sorted(moments))
    if mass <= _LEAST:
        return f"it moves with a mass of {mass:g} kg"
    if min(moments) <= _LEAST:
        return f"it moves with the principal moments of inertia {shown}"
    if 2 * max(moments) > sum(moments) and max(moments) > sum(sorted(moments)[:2]):
        return f"its principal moments {shown} break the triangle inequality"
    return None
