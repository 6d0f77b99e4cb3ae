"""From changes of coordinates to tangent vectors of the configuration space, and back.

A function of q that takes quaternions of any length for the rotation they stand for does not
change when q is scaled. So its derivative along a change dq of the coordinates is the one along the
tangent vector

    2 vec(q^-1 dq) of a quaternion,  R(q)^T dp of a free joint's position,  dq of other coordinates.

The functions work on arrays of NumPy, JAX or PyTorch: `xp` is the module that has `concatenate`,
`zeros_like` and `asarray`. Their own derivatives are then those of the library. Products are
written with constant tables, because a library that compiles takes its time for every operation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array
from jounce.model import Model

__all__ = ["BACK", "MOVE", "TURN", "Piece", "from_tangent", "layout", "to_tangent"]


class Piece(NamedTuple):
    """Neighboring coordinates that change alike."""

    kind: str
    """ "plain", "quaternion" or "position" (of a free joint, after its quaternion)."""
    q: slice
    v: slice
    turn: slice
    """Of a position: the coordinates of the quaternion that turns it."""


def layout(model: Model) -> tuple[Piece, ...] | None:
    """Pieces of q in order; None if its changes are tangent vectors as they are."""
    pieces: list[Piece] = []
    nowhere = slice(0, 0)
    for joint in model.joints:
        q, v = model.q_slice(joint.name), model.v_slice(joint.name)
        if q.stop - q.start == v.stop - v.start:
            last = pieces[-1] if pieces else None
            if last is not None and last.kind == "plain":
                pieces[-1] = Piece(
                    "plain", slice(last.q.start, q.stop), slice(last.v.start, v.stop), nowhere
                )
            else:
                pieces.append(Piece("plain", q, v, nowhere))
            continue
        turn, middle = slice(q.start, q.start + 4), v.start + 3
        pieces.append(Piece("quaternion", turn, slice(v.start, middle), nowhere))
        if v.stop > middle:
            pieces.append(Piece("position", slice(turn.stop, q.stop), slice(middle, v.stop), turn))
    return tuple(pieces) if model.nq != model.nv else None


def _tables() -> tuple[Array, Array, Array]:
    """Tables for pairs of quaternion components (x, y, z, w), each with 16 rows.

    vec(conj(a) b); a (b, 0); and the nine entries of the rotation matrix times |a|^2, for b = a.
    """
    units = np.eye(4)
    back, move, turn = np.zeros((16, 3)), np.zeros((16, 4)), np.zeros((16, 9))
    for i, a in enumerate(units):
        for j, b in enumerate(units):
            back[4 * i + j] = _product(a * (-1, -1, -1, 1), b)[:3]
            move[4 * i + j] = _product(a, b) if j < 3 else 0.0
            columns = [_product(_product(a, e), b * (-1, -1, -1, 1))[:3] for e in units[:3]]
            turn[4 * i + j] = np.transpose(columns).ravel()
    return back, move, turn


def _product(a: Array, b: Array) -> Array:
    """Product of two quaternions."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.array([*vector, a[3] * b[3] - a[:3] @ b[:3]])


BACK, MOVE, TURN = _tables()


def to_tangent(xp: Any, pieces: tuple[Piece, ...] | None, q: Any, dq: Any) -> Any:
    """The tangent vector (..., nv) of a change of coordinates (..., nq)."""
    if pieces is None:
        return dq
    dq = dq + xp.zeros_like(q)
    parts = []
    for piece in pieces:
        change = dq[..., piece.q]
        if piece.kind == "quaternion":
            a = q[..., piece.q]
            change = _of_pair(xp, BACK, a, change) * (2 / (a * a).sum(-1))[..., None]
        elif piece.kind == "position":
            change = (_rotation(xp, q[..., piece.turn]) * change[..., :, None]).sum(-2)
        parts.append(change)
    return xp.concatenate(parts, -1)


def from_tangent(xp: Any, pieces: tuple[Piece, ...] | None, q: Any, tangent: Any) -> Any:
    """The change of coordinates (..., nq) of a tangent vector (..., nv), at unit quaternions."""
    if pieces is None:
        return tangent
    tangent = tangent + xp.zeros_like(q[..., :1])
    parts = []
    for piece in pieces:
        change = tangent[..., piece.v]
        if piece.kind == "quaternion":
            pure = xp.concatenate([change / 2, xp.zeros_like(change[..., :1])], -1)
            change = _of_pair(xp, MOVE, q[..., piece.q], pure)
        elif piece.kind == "position":
            change = (_rotation(xp, q[..., piece.turn]) * change[..., None, :]).sum(-1)
        parts.append(change)
    return xp.concatenate(parts, -1)


def _of_pair(xp: Any, table: Array, a: Any, b: Any) -> Any:
    """What a table gives for two quaternions."""
    pairs = a[..., :, None] * b[..., None, :]
    return pairs.reshape((*pairs.shape[:-2], 16)) @ xp.asarray(table, dtype=pairs.dtype)


def _rotation(xp: Any, a: Any) -> Any:
    """The rotation matrix that a quaternion of any length stands for."""
    entries = _of_pair(xp, TURN, a, a) / (a * a).sum(-1)[..., None]
    return entries.reshape((*entries.shape[:-1], 3, 3))
