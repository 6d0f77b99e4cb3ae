"""Partial derivatives of Jacobians of any order, as nested Lie brackets."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from jounce import lie
from jounce._core import raw
from jounce._core.arrays import integer, shown
from jounce._core.out import Given, deliver
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.derivatives.jvp import Jvp, let_differentiate
from jounce.errors import ArgumentError
from jounce.kinematics import jacobian
from jounce.lie._taylor import require_representation
from jounce.model import Model
from jounce.model.coupled import CoupledModel
from jounce.model.model import require_model
from jounce.model.rates import path_rates, rate_nodes

__all__ = ["jacobian_derivatives"]

_COMPILED: dict[int, Callable[..., Array]] = {
    0: jacobian,
    1: raw("jacobian_first_derivatives", "jacobian_derivatives", inputs="q body twist"),
    2: raw("jacobian_second_derivatives", "jacobian_derivatives", inputs="q body twist"),
}
"""By order; those above follow from the Jacobian."""
_BY_DUALS = {
    1: raw("jacobian_first_derivatives_jvp", "jacobian_derivatives", Jvp, inputs=""),
    2: raw("jacobian_second_derivatives_jvp", "jacobian_derivatives", Jvp, inputs=""),
}
_PORTION = 2**16
"""Partial derivatives that are computed at once, so that Ctrl-C is heard and memory is spared."""
_MOST_ORDER = 60
"""NumPy's arrays have no more axes than that."""


def jacobian_derivatives(
    model: Model,
    q: ArrayLike,
    body: str | int,
    order: int = 1,
    twist: str = "body",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """All partial derivatives of one order of a body's Jacobian, (..., 6, nv, nv, ..., nv).

    Nested Lie brackets of its columns, with b the indices a_m, ..., a_1 sorted by joint from the
    base outward (a stable sort):

        body     [...[[J_j, J_b1], J_b2], ..., J_bm]  if j < b1            (mueller, eq. 5, 12, 14)
        spatial  [J_b1, [J_b2, ..., [J_bm, J_j]]]     if bm <= j           (mueller, eq. 15, 20, 23)
        hybrid   sum over subsets s of b of ad_{w_s1} ad_{w_s2} ... [...[J_j, J_r1], ...]: some
                 derivatives turn the axes, the others r act as in body axes (eq. 25 for order 1)

    Entry [..., j, a_1, ..., a_m] is D_{a_m} (... D_{a_2} (D_{a_1} J_j)): the direction taken last
    is the last axis, as if each order were the derivative of the one before. For 1-DoF joints the
    order does not matter; rates of one spherical or free joint do not commute. Only the columns on
    the body's path to the base are computed.

    Deviation: eq. 25 holds for j <= k only; where k is inward of j the derivative is not zero but
    [angular(J_k), J_j], because the axes turn.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        body: a body (name or index) or the name of a frame.
        order: number m of derivatives; 0 gives the Jacobian.
        twist: representation of the twist, see `jounce.twists`.
        out: array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., 6, nv, nv, ..., nv) with 2 + order axes after the leading ones.

    Raises:
        ArgumentError: a negative order, an unknown representation, a wrong shape or bad numbers.
        UnknownNameError: an unknown body.
        TooLargeError: there is no memory for the result, which grows as nv^(order + 1).

    Identity: ``jacobian_derivatives(model, q, body) @ v`` is `jacobian_rate`.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, v, a = np.full((3, 7), 0.1)
        >>> by_q = jc.jacobian_derivatives(arm, q, "tool")
        >>> bool(np.allclose(by_q @ v, jc.jacobian_rate(arm, q, v, "tool")))
        True
    """
    order = integer("order", order, 0, _MOST_ORDER)
    if order in _COMPILED:
        return _COMPILED[order](model, q, body, twist, out=out, threads=threads)
    require_representation(twist)
    require_model(model)
    whole = model.expanded
    path = path_rates(whole, body)

    def compute(q: ArrayLike) -> Array:
        if isinstance(model, CoupledModel):
            partials = _partials(whole, model.expand(q), body, path, order, twist, threads)
            return model.contract(partials, range(-order - 1, 0))
        return _partials(model, q, body, path, order, twist, threads)

    own = (6, *(model.nv,) * (order + 1))
    given = Given("jacobian_derivatives", model, threads, q=q)
    return deliver(compute, out, own, given)


def _run_jvp(model: Model, order: int = 1, **given: Any) -> Any:
    if order not in _BY_DUALS:
        raise ArgumentError(
            f"jvp() of jacobian_derivatives takes the orders 1 and 2, got {shown(order)}"
        )
    return _BY_DUALS[order](model, **given)


let_differentiate(
    jacobian_derivatives,
    "q body order twist",
    "jacobian_first_derivatives",
    None,
    dict,
    _run_jvp,
    lambda given: f"jacobian_{'second' if given.get('order') == 2 else 'first'}_derivatives_jvp",
)


def _partials(
    model: Model,
    q: ArrayLike,
    body: str | int,
    path: Integers,
    order: int,
    twist: str,
    threads: int,
) -> Array:
    """All partial derivatives of one order; only the columns of the path are not zero."""
    J = jacobian(model, q, body, "hybrid" if twist == "mixed" else twist, threads=threads)
    node, columns = rate_nodes(model)[path], J[..., path]
    own = jacobian(model, q, body, threads=threads)[..., path] if twist == "mixed" else columns
    n, lead = len(path), J.shape[:-1]
    result = np.zeros((*lead, *(model.nv,) * (order + 1)))
    at_once = max(1, _PORTION // max(1, math.prod(lead) * n**order))
    for some in (slice(k, k + at_once) for k in range(0, n, at_once)):
        if twist == "mixed":
            hybrid = _hybrid_partials(columns, node, order, some)
            partials = _body_partials(own, node, order, some)
            partials[..., 3:, :] = hybrid[..., 3:, :]
        else:
            partials = _PARTIALS[twist](columns, node, order, some)
        places: tuple[Any, ...] = np.ix_(path[some], *[path] * order)
        result[(..., *places)] = partials.reshape(*lead, len(path[some]), *(n,) * order)
    return result


def _body_partials(J: Array, node: Integers, order: int, some: slice) -> Array:
    """Eq. 14: nested brackets from the inside, [[J_j, J_b1], J_b2], ..., of some columns j.

    (..., 6, columns times n^order), as all of these functions return them.
    """
    ad = -lie.ad(J.swapaxes(-1, -2))  # [x, J_k] = -ad_{J_k} x
    nested = J[..., some]
    for _ in range(order):
        nested = _flat(np.einsum("...kab,...bx->...axk", ad, nested))
    return _sorted(nested, node, order) * _mask(node[some, None] < node, order)


def _spatial_partials(J: Array, node: Integers, order: int, some: slice) -> Array:
    """Eq. 23: nested brackets, [J_b1, [J_b2, ... J_j]], a new index in front of the others."""
    ad = lie.ad(J.swapaxes(-1, -2))
    nested = J[..., some]
    count = nested.shape[-1]
    for _ in range(order):
        split = nested.reshape(*nested.shape[:-1], count, nested.shape[-1] // count)
        nested = _flat(np.einsum("...kab,...bjx->...ajkx", ad, split), 3)
    return _sorted(nested, node, order) * _mask(node[some, None] >= node, order)


def _hybrid_partials(J: Array, node: Integers, order: int, some: slice) -> Array:
    """Leibniz' rule on X J^b: a subset of the derivatives turns the axes."""
    n, lead, count = len(node), J.shape[:-2], J[..., some].shape[-1]
    turns = [_rotations(J, node, m) for m in range(order + 1)]  # (..., 6, 6, n^m)
    inner = [_body_partials(J, node, m, some) for m in range(order + 1)]
    total = np.zeros((*lead, 6, count, *(n,) * order))
    for chosen in (s for m in range(order + 1) for s in combinations(range(order), m)):
        rest = [m for m in range(order) if m not in chosen]
        product = np.einsum("...acs,...cx->...axs", turns[len(chosen)], inner[len(rest)])
        product = product.reshape(*lead, 6, count, *(n,) * order)  # j, rest..., chosen...
        places = [0, *(1 + m for m in rest), *(1 + m for m in chosen)]
        axes = np.argsort(places) + len(lead) + 1
        total += product.transpose(*range(len(lead) + 1), *axes)
    return _flat(total, order + 1)


def _rotations(J: Array, node: Integers, order: int) -> Array:
    """Derivatives of X times its inverse: ad_{w_b1} ad_{w_b2} ..., sorted by joint."""
    W = J.swapaxes(-1, -2) * np.repeat([1.0, 0.0], 3)
    ad = lie.ad(W)
    nested = np.broadcast_to(np.eye(6)[..., None], (*J.shape[:-2], 6, 6, 1))
    for _ in range(order):
        nested = _flat(np.einsum("...kab,...bcx->...ackx", ad, nested))
    return _sorted(nested, node, order)


def _flat(x: Array, count: int = 2) -> Array:
    """Merge the last `count` axes."""
    return x.reshape(*x.shape[: x.ndim - count], math.prod(x.shape[x.ndim - count :]))


def _sorted(nested: Array, node: Integers, order: int) -> Array:
    """Read entry [..., a_1, ..., a_m] at the indices a_m, ..., a_1, sorted by joint."""
    n = len(node)
    if order < 2 or n == 0:
        return nested
    indices = np.indices((n,) * order).reshape(order, -1)[::-1]
    ranks = np.argsort(node[indices], axis=0, kind="stable")
    chosen = np.ravel_multi_index(tuple(np.take_along_axis(indices, ranks, axis=0)), (n,) * order)
    split = nested.reshape(*nested.shape[:-1], nested.shape[-1] // n**order, n**order)
    return split[..., chosen].reshape(nested.shape)


def _mask(pair: Mask, order: int) -> Mask:
    """Whether the relation [j, k] holds between column j and all other indices, flattened."""
    count, n = pair.shape
    mask = np.ones((count, *(n,) * order), bool)
    for m in range(order):
        mask &= pair.reshape((count,) + (1,) * m + (n,) + (1,) * (order - 1 - m))
    return mask.reshape(-1)


_PARTIALS: dict[str, Any] = {
    "body": _body_partials,
    "spatial": _spatial_partials,
    "hybrid": _hybrid_partials,
}
