"""Short hands of the paper for screws that have only an angular or only a linear part.

Equation numbers are those of A. Mueller, "Screw and Lie Group Theory in Multibody Dynamics", 2018.
Nothing here conjugates or takes absolute values, so complex steps pass through.
"""

from __future__ import annotations

import numpy as np

from jounce import lie
from jounce._types import AnyArray
from jounce.papers.joints import apply

__all__ = [
    "Ad_R",
    "Ad_r",
    "ad_omega",
    "ad_v",
    "angular",
    "apply",
    "bracket",
    "linear",
    "screw_rate",
]


def bracket(X1: AnyArray, X2: AnyArray) -> AnyArray:
    """Lie bracket [X1, X2] = ad_X1 X2 of screws (..., 6), eq. 114."""
    return apply(lie.ad(X1), X2)


def screw_rate(V: AnyArray, X: AnyArray, dX: AnyArray) -> AnyArray:
    """Rate, in body axes, of a screw given by body-fixed components X: dX + [V^b, X], eq. 117.

    Args:
        V: (..., 6) body-fixed twist of the frame.
        X: (..., 6) screw in the frame.
        dX: (..., 6) derivative of the components X.

    Returns:
        (..., 6) Ad_C^-1 times the derivative of Ad_C X.
    """
    return dX + bracket(V, X)


def angular(V: AnyArray) -> AnyArray:
    """Screw with the angular part of V alone, eq. 118 (an omega over the letter)."""
    return np.concatenate([V[..., :3], np.zeros_like(V[..., 3:])], axis=-1)


def linear(V: AnyArray) -> AnyArray:
    """Screw with the linear part of V alone, eq. 118 (a v over the letter)."""
    return np.concatenate([np.zeros_like(V[..., :3]), V[..., 3:]], axis=-1)


def Ad_R(R: AnyArray) -> AnyArray:
    """Ad of a pure rotation, diag(R, R), (..., 6, 6), eq. 96."""
    out = np.zeros((*R.shape[:-2], 6, 6), R.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = R
    return out


def Ad_r(r: AnyArray) -> AnyArray:
    """Ad of a pure translation r (..., 3), eq. 96; its inverse is ``Ad_r(-r)``."""
    out = ad_v(r)
    out[..., range(6), range(6)] = 1.0
    return out


def ad_omega(w: AnyArray) -> AnyArray:
    """Matrix diag(hat(w), hat(w)) of an angular velocity w (..., 3), eq. 119."""
    return lie.ad(np.concatenate([w, np.zeros_like(w)], axis=-1))


def ad_v(v: AnyArray) -> AnyArray:
    """Matrix ad of the screw (0, v), v (..., 3), eq. 119."""
    return lie.ad(np.concatenate([np.zeros_like(v), v], axis=-1))
