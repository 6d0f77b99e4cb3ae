"""The maps between changes of coordinates and tangent vectors as matrices of CasADi."""

from __future__ import annotations

from typing import Any

import casadi as ca

from jounce.interop._bridge.tangents import BACK, MOVE, TURN, layout
from jounce.model import Model

__all__ = ["coordinate_map", "tangent_map"]


def tangent_map(model: Model, q: Any) -> Any:
    """(nv, nq): a change of coordinates to a tangent vector, as in `_bridge.tangents`."""
    blocks = []
    for piece in layout(model) or ():
        if piece.kind == "quaternion":
            a = q[piece.q]
            blocks.append(2 * _of_first(BACK, a, 3) / ca.sumsqr(a))
        elif piece.kind == "position":
            blocks.append(_rotation(q[piece.turn]).T)
        else:
            blocks.append(ca.MX.eye(piece.q.stop - piece.q.start))
    return ca.diagcat(*blocks)


def coordinate_map(model: Model, q: Any) -> Any:
    """(nq, nv): a tangent vector to a change of coordinates, at unit quaternions."""
    blocks = []
    for piece in layout(model) or ():
        if piece.kind == "quaternion":
            blocks.append(_of_first(MOVE, q[piece.q], 4)[:, :3] / 2)
        elif piece.kind == "position":
            blocks.append(_rotation(q[piece.turn]))
        else:
            blocks.append(ca.MX.eye(piece.q.stop - piece.q.start))
    return ca.diagcat(*blocks)


def _of_first(table: Any, a: Any, rows: int) -> Any:
    """The matrix that a table and its first quaternion make."""
    parts = [ca.DM(table[4 * i : 4 * i + 4].T) * a[i] for i in range(4)]
    return parts[0] + parts[1] + parts[2] + parts[3]


def _rotation(a: Any) -> Any:
    """The rotation matrix of a quaternion of any length."""
    pairs = ca.vec((a @ a.T).T)
    entries = ca.DM(TURN.T) @ pairs / ca.sumsqr(a)
    return ca.reshape(entries, 3, 3).T
