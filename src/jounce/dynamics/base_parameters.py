"""Which combinations of inertial parameters the torques see.

Wensing, Niemeyer, Slotine: A geometric characterization of observability in inertial parameter
identification, 2024. A change of a body's parameters that its own joint does not notice, wherever
the robot is and however it moves, can be given to the body before it, and taken away there: the
torques stay what they are. A joint with screws s_k notices a change d of the inertia (a 6x6 matrix)

    (1) by the momentum along its screws:  s_k^T d v,  s_k^T d s_l,
    (2) by the work of turning it in what the parent does:  the derivative along s_k of what is
        linear in d and known to the parent (its kinetic energy v^T d v / 2, the potential energy).

All v that a body attains, and all that is linear in d and known to it, are vector spaces. From a
parent to its child they grow by the joint's screws, and they are closed under its motion: the space
of all A(q) r is the smallest one that holds r and is mapped to itself by the generator of A.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array, Index
from jounce.errors import ArgumentTypeError, ModelError
from jounce.model import Model, inertia

__all__ = ["BaseParameters", "base_parameters"]

_BASIS = inertia.matrix(np.eye(10))
"""(10, 6, 6) inertia matrices of one parameter each."""

_TOLERANCE = 1e-9
"""Directions that are smaller than this, beside others of size one, are rounding errors."""


class BaseParameters(NamedTuple):
    """Combinations of inertial parameters that torques tell apart, and no others.

    Examples:
        >>> arm = jc.models.chain(3)
        >>> base = jc.base_parameters(arm)
        >>> q, v, a = np.ones((3, 3))
        >>> Y = jc.torque_regressor(arm, q, v, a)
        >>> tau = Y[:, base.columns] @ base.matrix @ arm.inertias.ravel()
        >>> bool(np.allclose(tau, jc.inverse_dynamics(arm, q, v, a)))
        True
    """

    columns: Index
    """(number,) columns of `torque_regressor` that are independent, increasing."""
    matrix: Array
    """(number, 10 n_bodies) base parameters are ``matrix @ inertias.ravel()``."""


class _Known(NamedTuple):
    """What a body can tell of a change in what it carries, in its own frame."""

    twists: Array
    """(., 6) basis of the twists that it attains."""
    rows: Array
    """(., 10) basis of what is linear in the parameters."""


def base_parameters(model: Model) -> BaseParameters:
    """Find the combinations of inertial parameters that the torques depend on.

    Identity: with ``Y = torque_regressor(model, q, v, a)`` and ``b = base_parameters(model)``,
    ``Y == Y[:, b.columns] @ b.matrix`` for all q, v, a.
    Of the ten parameters of each body, the ones in `columns` stand for themselves and what they
    cannot be told from.

    Args:
        model: the robot, without coupled joints; its gravity counts.

    Returns:
        A named tuple: columns, matrix.

    Raises:
        ArgumentTypeError: it is no model.
        ModelError: the model has coupled joints.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.chain(3)
        >>> len(jc.base_parameters(arm).columns)
        17
    """
    if not isinstance(model, Model):
        raise ArgumentTypeError(f"model must be a jounce.Model, got {type(model).__name__}")
    if model.expanded is not model:
        raise ModelError(
            "base_parameters() is not there for a model with coupled joints. Those of "
            "model.expanded are what the torques of all its joints see: the torques of the coupled "
            "ones, sums of these, may see fewer combinations"
        )
    unseen = _unseen_changes(model)
    seen = _complement(unseen)
    columns = np.sort(_independent_columns(seen))
    matrix: Array = np.asarray(np.linalg.solve(seen[:, columns], seen), dtype=np.float64)
    matrix[np.abs(matrix) < _TOLERANCE * np.abs(matrix).max(initial=1.0)] = 0.0
    return BaseParameters(columns, matrix)


def _unseen_changes(model: Model) -> Array:
    """(., 10 n_bodies) basis of the changes of all parameters that no torque tells."""
    nodes = model.nodes
    n = len(nodes.parent)
    known: list[_Known] = []
    unseen = []
    world = _Known(np.zeros((0, 6)), _span([np.concatenate([[0.0], -model.gravity, np.zeros(6)])]))
    ends = [*nodes.v_index[1:], model.nv]
    for i in range(n):
        parent, placement = nodes.parent[i], nodes.placement[i]
        screws = nodes.screws[:, nodes.v_index[i] : ends[i]].T
        own, noticed = _through_joint(known[parent] if parent >= 0 else world, placement, screws)
        known.append(own)
        for change in _complement(noticed):
            whole = np.zeros((n, 10))
            whole[i] = change
            if parent >= 0:
                whole[parent] = -_seen_from(placement) @ change
            unseen.append(whole)
    return _without_massless(np.array(unseen).reshape(len(unseen), n, 10), np.asarray(nodes.body))


def _through_joint(parent: _Known, placement: Array, screws: Array) -> tuple[_Known, Array]:
    """What the child of a joint knows, and the rows by which the joint notices a change."""
    twists = parent.twists @ lie.Ad(lie.inverse(placement)).T
    rows = parent.rows @ _seen_from(placement)
    brackets = [lie.ad(s) for s in screws]
    generators = [_generator(ad) for ad in brackets]
    twists = _closure(twists, [ad.T for ad in brackets])
    rows = _closure(rows, generators)
    attained = _span([*twists, *screws])
    along = [np.einsum("i,kij,vj->vk", s, _BASIS, attained) for s in screws]  # (1)
    turned = [rows @ a for a in generators]  # (2)
    noticed = _span(np.concatenate([*along, *turned]))
    return _Known(attained, _span(np.concatenate([rows, *along]))), noticed


def _seen_from(placement: Array) -> Array:
    """(10, 10) parameters in a frame's parent from those in the frame."""
    return inertia.transform(np.eye(10), placement).T


def _generator(ad: Array) -> Array:
    """(10, 10) rate of parameters, seen from where they were, that move along a screw."""
    rate = -(np.swapaxes(_BASIS @ ad, -1, -2) + _BASIS @ ad)
    h = (2, 4), (0, 5), (1, 3)
    first = [rate[:, i, j] for i, j in h]  # of [[I, hat(h)], [-hat(h), m 1]]
    tensor = [rate[:, i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.array([rate[:, 3, 3], *first, *tensor])


def _closure(rows: Array, maps: list[Array]) -> Array:
    """Basis of the smallest space that holds the rows and is mapped to itself by x -> x @ map."""
    space = _span(rows)
    while True:
        larger = _span(np.concatenate([space, *(space @ a for a in maps)]))
        if len(larger) == len(space):
            return space
        space = larger


def _span(rows: Array | list[Array]) -> Array:
    """Orthonormal basis of the rows, each taken at its own size."""
    given: Array = np.asarray(rows, dtype=np.float64)
    size = np.linalg.norm(given, axis=-1, keepdims=True)
    unit = (given / np.where(size > 0, size, 1.0))[(size > _TOLERANCE).ravel()]
    if not len(unit):
        return np.zeros((0, given.shape[-1]))
    _, s, basis = np.linalg.svd(unit, full_matrices=False)
    return np.asarray(basis[s > _TOLERANCE * s[0]], dtype=np.float64)


def _complement(rows: Array) -> Array:
    """Orthonormal basis of what is normal to orthonormal rows."""
    if not len(rows):
        return np.eye(rows.shape[-1])
    basis = np.linalg.svd(rows, full_matrices=True)[2]
    return np.asarray(basis[len(rows) :], dtype=np.float64)


def _without_massless(unseen: Array, body: Array) -> Array:
    """(., 10 n_bodies) those changes that leave nodes without a body as they are."""
    count, massless = len(unseen), np.flatnonzero(body < 0)
    nodes = np.argsort(body, kind="stable")[len(massless) :]  # in the order of the bodies
    real = unseen[:, nodes].reshape(count, 10 * len(nodes))
    empty = unseen[:, massless].reshape(count, 10 * len(massless))
    if np.any(empty):
        real = _complement(_span(empty.T)) @ real
    return _span(real)


def _independent_columns(rows: Array) -> Index:
    """Choose as many columns as there are rows, far from dependent, early parameters first."""
    rest, chosen = rows.copy(), []
    for _ in range(len(rows)):
        size = np.linalg.norm(rest, axis=0)
        best = int(np.argmax(size > 0.5 * size.max()))
        chosen.append(best)
        direction = rest[:, best] / size[best]
        rest -= np.outer(direction, direction @ rest)
    return np.array(chosen, dtype=np.intp)
