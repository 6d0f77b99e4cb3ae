"""How the rates of a model belong to its elementary joints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jounce import lie
from jounce.joints import ELEMENTARY, SIZES
from jounce.model import Model

__all__ = ["GroupBlock", "group_blocks", "rate_nodes"]

Array = npt.NDArray[np.float64]

_FIRST_GROUP = ELEMENTARY.index("spherical")  # and after it "free"


class GroupBlock(NamedTuple):
    """The rates of one spherical or free joint, an element of so(3) or se(3)."""

    at: slice
    """Where they sit in v."""

    def ad(self, v: Array) -> Array:
        """Adjoint matrix of the joint's rates, (..., 3, 3) or (..., 6, 6)."""
        return lie.ad(v[..., self.at])


def group_blocks(model: Model) -> list[GroupBlock]:
    """All spherical and free joints, whose rates are no derivatives of coordinates."""
    nodes = model.nodes
    groups = np.flatnonzero(nodes.kind >= _FIRST_GROUP)
    starts, sizes = nodes.v_index[groups], SIZES[nodes.kind[groups], 1]
    return [GroupBlock(slice(int(s), int(s + n))) for s, n in zip(starts, sizes, strict=True)]


def rate_nodes(model: Model) -> npt.NDArray[np.int64]:
    """The node (elementary joint) of every rate, (nv,)."""
    kind = model.nodes.kind
    return np.repeat(np.arange(len(kind)), SIZES[kind, 1])
