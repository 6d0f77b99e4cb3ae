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

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array, Index
from jounce.errors import ModelError
from jounce.model import Model, inertia
from jounce.model.model import require_model

__all__ = ["BaseParameters", "base_parameters"]

_BASIS = inertia.matrix(np.eye(10))
"""(10, 6, 6) inertia matrices of one parameter each."""

_TOLERANCE = 1e-9
"""Directions that are smaller than this, beside others of size one, are rounding errors."""

_ROUNDING = 1e-13
"""Entries of the result that are smaller than this, beside the largest, are shown as zeros."""

_AT_ONCE = 16
"""Rows that are solved for at once."""


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
    cannot be told from. What torques tell less than 1e-9 of, beside other motions, as axes do that
    are turned against each other by so little, they do not tell: the identity holds to that.

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
    require_model(model)
    if model.expanded is not model:
        raise ModelError(
            "base_parameters() is not there for a model with coupled joints. Those of "
            "model.expanded are what the torques of all its joints see: the torques of the coupled "
            "ones, sums of these, may see fewer combinations"
        )
    chosen, seen = _chosen_columns(_orthonormal(_unseen_changes(model), 10 * model.n_bodies))
    matrix = _in_terms_of(chosen, seen)
    order = np.argsort(chosen)
    matrix[np.abs(matrix) < _ROUNDING * np.abs(matrix).max(initial=1.0)] = 0.0
    return BaseParameters(chosen[order], matrix[order])


def _unseen_changes(model: Model) -> Iterator[Array]:
    """Bases of the changes that no torque tells, (., 10 n_bodies), body by body.

    What a body's joint does not notice, moved to the body before it. Nodes without a body have no
    parameters: a change passes through them if none of their joints notices it.
    """
    nodes, ends = model.nodes, [*model.nodes.v_index[1:], model.nv]
    known: list[_Known] = []
    way: list[tuple[int, Array, Array]] = []  # body before, seen from it, what notices, of each
    world = _Known(np.zeros((0, 6)), _span([np.concatenate([[0.0], -model.gravity, np.zeros(6)])]))
    for i, (parent, body) in enumerate(zip(nodes.parent, nodes.body, strict=True)):
        screws, moved = nodes.screws[:, nodes.v_index[i] : ends[i]].T, nodes.placement[i]
        before = known[parent] if parent >= 0 else world
        own, noticed = _through_joint(before, moved, screws)
        known.append(own)
        carrier, outward = int(nodes.body[parent]) if parent >= 0 else -1, _seen_from(moved)
        if parent >= 0 and carrier < 0:
            carrier, inner, first = way[parent]
            noticed = _span(np.concatenate([noticed, first @ outward]))
            outward = inner @ outward
        way.append((carrier, outward, noticed))
        if body >= 0:
            changes = _complement(noticed)
            whole = np.zeros((len(changes), model.n_bodies, 10))
            whole[:, body] = changes
            if carrier >= 0:
                whole[:, carrier] = -changes @ outward.T
            yield whole.reshape(len(changes), 10 * model.n_bodies)


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


def _orthonormal(blocks: Iterable[Array], width: int) -> Array:
    """Orthonormal basis of all rows of some blocks, one block after the other.

    As all below, in portions that do not grow with the robot as a decomposition would, in which
    Ctrl-C is not heard.
    """
    basis, count = np.empty((width, width)), 0
    for block in blocks:
        rest = block / np.linalg.norm(block, axis=-1, keepdims=True)
        for _ in range(2):  # the second time takes away what rounding has left
            rest = rest - (rest @ basis[:count].T) @ basis[:count]
        if len(rest):
            _, s, rows = np.linalg.svd(rest, full_matrices=False)
            rows = rows[s > _TOLERANCE]
            basis[count : count + len(rows)] = rows
            count += len(rows)
    return basis[:count]


def _chosen_columns(unseen: Array) -> tuple[Index, Array]:
    """Choose columns that are far from dependent, early parameters first.

    Returns them in the order of their choice, and an orthonormal basis of what is normal to the
    orthonormal rows: each of it is what is new of the unit vector of the column chosen for it. The
    squares of what is left of all unit vectors add up to the number of those to choose, so that the
    longest is never short.
    """
    first, width = unseen.shape
    basis, chosen = np.empty((width, width)), list[int]()
    basis[:first] = unseen
    left = 1.0 - np.einsum("ij,ij->j", unseen, unseen)
    for k in range(first, width):
        best = int(np.argmax(left > 0.25 * left.max()))
        row = -basis[:k, best] @ basis[:k]
        row[best] += 1.0
        row -= (basis[:k] @ row) @ basis[:k]
        basis[k] = row / np.linalg.norm(row)
        left -= basis[k] ** 2
        left[chosen] = left[best] = 0.0
        chosen.append(best)
    return np.array(chosen, dtype=np.intp), basis[first:]


def _in_terms_of(chosen: Index, rows: Array) -> Array:
    """Solve ``rows[:, chosen] @ result = rows``; those columns are an upper triangle."""
    result = rows.copy()
    for stop in range(len(rows), 0, -_AT_ONCE):
        some = slice(max(0, stop - _AT_ONCE), stop)
        result[some] -= rows[some][:, chosen[stop:]] @ result[stop:]
        result[some] = np.linalg.solve(np.triu(rows[some][:, chosen[some]]), result[some])
    return result
