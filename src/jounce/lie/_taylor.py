"""Representations of twists, and changes of Taylor series between them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._types import AnyArray, Array
from jounce.errors import unknown_representation
from jounce.lie._complex import hat  # which lets numbers pass that are not finite


class Representation(NamedTuple):
    """Axes and reference point of a twist."""

    angular_in_body: bool  # axes of the first three components
    linear_in_body: bool  # axes of the last three components
    at_world: bool  # reference point: the world's origin, otherwise the body's


ANGULAR, LINEAR = slice(0, 3), slice(3, 6)
MOST_ORDERS = 171
"""Of a series of derivatives: the factorial of 171 is beyond the largest double."""

_TABLE = {
    "body": Representation(angular_in_body=True, linear_in_body=True, at_world=False),
    "spatial": Representation(angular_in_body=False, linear_in_body=False, at_world=True),
    "hybrid": Representation(angular_in_body=False, linear_in_body=False, at_world=False),
    "mixed": Representation(angular_in_body=True, linear_in_body=False, at_world=False),
}


def pose_taylor(
    x: AnyArray, T: AnyArray, rep: Representation, orders: int
) -> tuple[AnyArray, AnyArray]:
    """Taylor coefficients 0 to orders - 1 of R and p from those of the twist x.

    Solves dR/dt = R hat(w) (body axes) or hat(w) R (world axes), and dp/dt = v, R v or, for a
    spatial twist, v + w x p.
    """
    batch = np.broadcast_shapes(x.shape[:-2], T.shape[:-2])
    dtype = np.result_type(x, T)
    R, p = np.empty((*batch, orders, 3, 3), dtype), np.empty((*batch, orders, 3), dtype)
    R[..., 0, :, :], p[..., 0, :] = T[..., :3, :3], T[..., :3, 3]
    W, v = hat(x[..., ANGULAR]), x[..., LINEAR]
    for k in range(orders - 1):
        done, reverse = slice(0, k + 1), slice(k, None, -1)
        R_k, W_k = R[..., done, :, :], W[..., reverse, :, :]
        factors = (R_k, W_k) if rep.angular_in_body else (W_k, R_k)
        velocity = v[..., k, :]
        if rep.linear_in_body:
            velocity = np.einsum("...nij,...nj->...i", R_k, v[..., reverse, :])
        if rep.at_world:
            velocity = velocity + np.einsum("...nij,...nj->...i", W_k, p[..., done, :])
        R[..., k + 1, :, :] = np.einsum("...nij,...njk->...ik", *factors) / (k + 1)
        p[..., k + 1, :] = velocity / (k + 1)
    return R, p


def change(
    x: AnyArray,
    R: AnyArray,
    p: AnyArray,
    old: Representation,
    new: Representation,
    shifted: slice,
) -> AnyArray:
    """Change the representation of the Taylor series x.

    The `shifted` half depends on the reference point: the linear part of a twist, v_s = v + p x w,
    and the moment of a wrench, m_s = m + p x f. The free half is only resolved in other axes.
    """
    free = LINEAR if shifted is ANGULAR else ANGULAR
    out = np.empty((*np.broadcast_shapes(x.shape[:-1], p.shape[:-1]), 6), np.result_type(x, R))
    out[..., free] = _resolve(x[..., free], R, _in_body(old, free), _in_body(new, free))
    bound, is_in_body = x[..., shifted], _in_body(old, shifted)
    if old.at_world != new.at_world:
        lever = _product(hat(p), _resolve(x[..., free], R, _in_body(old, free), False))
        bound = _resolve(bound, R, is_in_body, False) + (lever if new.at_world else -lever)
        is_in_body = False
    out[..., shifted] = _resolve(bound, R, is_in_body, _in_body(new, shifted))
    return out


def _in_body(rep: Representation, half: slice) -> bool:
    return rep.angular_in_body if half is ANGULAR else rep.linear_in_body


def _resolve(x: AnyArray, R: AnyArray, is_in_body: bool, to_body: bool) -> AnyArray:
    """Resolve the vector series x in body or world axes; equal axes cost and change nothing."""
    if is_in_body == to_body:
        return x
    return _product(R.swapaxes(-1, -2) if to_body else R, x)


def _product(A: AnyArray, x: AnyArray) -> AnyArray:
    """The truncated product of a matrix series and a vector series (Cauchy convolution)."""
    terms = [
        np.einsum("...nij,...nj->...i", A[..., : k + 1, :, :], x[..., k::-1, :])
        for k in range(x.shape[-2])
    ]
    return np.stack(terms, axis=-2)


def factorials(orders: int) -> Array:
    """0!, 1!, ..., (orders - 1)!."""
    return np.cumprod(np.maximum(np.arange(float(orders)), 1.0))


def taylor(derivatives: AnyArray) -> AnyArray:
    """Coefficients of a series from its derivatives."""
    return derivatives / factorials(derivatives.shape[-2])[:, None]


def derivatives(taylor: AnyArray, batch: tuple[int, ...]) -> AnyArray:
    """The other way, with the axes of a batch."""
    scaled: AnyArray = taylor * factorials(taylor.shape[-2])[:, None]
    return np.array(np.broadcast_to(scaled, (*batch, *scaled.shape[-2:])))


def representation_of(argument: str, name: object) -> Representation:
    if isinstance(name, str) and name in _TABLE:
        return _TABLE[name]
    raise unknown_representation(argument, name)


def require_representation(name: object) -> None:
    """Refuse what is no representation, as the kernels do."""
    representation_of("twist", name)
