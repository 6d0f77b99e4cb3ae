"""One Taylor step by its definition, for complex states too.

Coordinates (quaternions as four numbers) and the rates of `partials_oracle.turned` obey y' = f(y).
Coefficient k + 1 of y is coefficient k of f(y_0 + ... + y_k t^k) over k + 1, and that is read off
the values of f at Chebyshev points of real times: a linear map, through which a complex step goes.
"""

from __future__ import annotations

import numpy as np
import partials_oracle as oracle
from numpy.polynomial import chebyshev

from jounce import lie
from jounce.model.joints import ELEMENTARY

POINTS = 16
"""More than the order; more of them lose digits, fewer see the rest of the series."""


def fit():
    """Points in (-1, 1), and the map from values there to coefficients of powers."""
    j = np.arange(POINTS)
    angle = np.pi * (j + 0.5) / POINTS
    to_chebyshev = 2 / POINTS * np.cos(j[:, None] * angle)
    to_chebyshev[0] /= 2
    to_powers = np.zeros((POINTS, POINTS))
    for k in j:
        row = chebyshev.cheb2poly([0] * k + [1])
        to_powers[: len(row), k] = row
    return np.cos(angle), to_powers @ to_chebyshev


def coordinate_slope(model, q, s):
    """q' of coordinates that move with the rates s."""
    nodes = model.nodes
    lead = np.broadcast_shapes(q.shape[:-1], s.shape[:-1])
    out = np.zeros((*lead, model.nq), np.result_type(q, s))
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[..., k] = s[..., w]
            continue
        spin = np.concatenate([s[..., w : w + 3] / 2, 0 * s[..., w : w + 1]], axis=-1)
        out[..., k : k + 4] = lie.quat_multiply(q[..., k : k + 4], spin)
        if ELEMENTARY[kind] == "free":
            out[..., k + 4 : k + 7] = s[..., w + 3 : w + 6]
    return out


def slope(model, q, s, tau, f_ext):
    """q' and s'."""
    v = oracle.turned(model, q, s, back=True)
    a = oracle.forward_dynamics(model, q, v, tau, f_ext) + 0 * v
    for _, w in oracle.free_joints(model):
        a[..., w + 3 : w + 6] += np.cross(v[..., w : w + 3], v[..., w + 3 : w + 6])
    return coordinate_slope(model, q, s), oracle.turned(model, q, a)


def taylor_step(model, q, v, tau, dt, order, f_ext):
    """Coordinates and rates after a step; rates to t^order, coordinates to one more."""
    x, coefficients = fit()
    span = 3 * dt
    q_terms, s_terms = [q], [oracle.turned(model, q, v)]
    powers = x[:, None] ** np.arange(order + 2)
    for k in range(order + 1):
        along = [
            np.einsum("tj,...jn->...tn", powers[:, : len(terms)], np.stack(terms, -2))
            for terms in (q_terms, s_terms)
        ]
        slopes = slope(model, *along, tau[..., None, :], f_ext)
        for terms, values in zip((q_terms, s_terms), slopes, strict=True):
            terms.append(span / (k + 1) * np.einsum("t,...tn->...n", coefficients[k], values))
    after, s = (
        sum(term * (dt / span) ** k for k, term in enumerate(terms))
        for terms in (q_terms, s_terms[: order + 1])
    )
    for kind, k in zip(model.nodes.kind, model.nodes.q_index, strict=True):
        if ELEMENTARY[kind] in ("spherical", "free"):
            turn = after[..., k : k + 4]
            after[..., k : k + 4] = turn / np.sqrt((turn * turn).sum(-1, keepdims=True))
    return after, oracle.turned(model, after, s, back=True)
