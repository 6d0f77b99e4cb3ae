"""How the rates of a model belong to its elementary joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._core.arrays import reals, refuse_masked
from jounce._types import Array, ArrayLike, Integers
from jounce.errors import ArgumentError
from jounce.model.joints import ELEMENTARY, SIZES
from jounce.model.model import Model, node_of, require_model

__all__ = [
    "Actuated",
    "GroupBlock",
    "Inputs",
    "actuated_rates",
    "as_slice",
    "group_blocks",
    "inputs_of",
    "path_rates",
    "rate_nodes",
]

Actuated = ArrayLike | Sequence[str] | None
"""Which rates have an input: a bool mask (nv,), names of joints, or those of the model."""


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
    nodes = model.coordinates
    groups = np.flatnonzero(nodes.kind >= _FIRST_GROUP)
    starts, sizes = nodes.v_index[groups], SIZES[nodes.kind[groups], 1]
    return [GroupBlock(slice(int(s), int(s + n))) for s, n in zip(starts, sizes, strict=True)]


def rate_nodes(model: Model) -> Integers:
    """The node (elementary joint) of every rate, (nv,)."""
    kind = model.nodes.kind
    return np.repeat(np.arange(len(kind)), SIZES[kind, 1])


def path_rates(model: Model, body: str | int) -> Integers:
    """Rates of the joints between the base and a body, from the base outward."""
    node = node_of(model, body)
    on_path = np.zeros(len(model.nodes.parent), bool)
    while node >= 0:
        on_path[node] = True
        node = int(model.nodes.parent[node])
    return np.flatnonzero(on_path[rate_nodes(model)])


def actuated_rates(model: Model, actuated: Actuated) -> Integers:
    """Indices of the rates that have an input."""
    require_model(model)
    if actuated is None:
        return np.flatnonzero(model.actuated)
    refuse_masked("actuated", actuated)
    try:
        values = np.asarray(actuated)
    except ValueError:  # lists of several lengths
        values = np.zeros(0, object)
    if values.dtype.kind == "U" or (values.shape == (0,) and values.dtype.kind not in "bO"):
        mask = np.zeros(model.nv, bool)
        for name in np.atleast_1d(values):
            mask[model.v_slice(str(name))] = True
        return np.flatnonzero(mask)
    if values.dtype != bool or values.shape != (model.nv,):
        raise ArgumentError(
            f"actuated must be a bool array of shape ({model.nv},) or names of joints, "
            f"got {values.dtype} of shape {values.shape}"
        )
    return np.flatnonzero(values)


class Inputs(NamedTuple):
    """What the columns of an input matrix stand for: forces of some rates, or a map to forces."""

    rates: slice | Integers
    actuation: Array | None
    number: int

    def columns(self, by_tau: Array) -> Array:
        """Derivatives by the inputs of what has the derivatives (..., rows, nv) by tau."""
        if self.actuation is None:
            return by_tau[..., self.rates]
        columns: Array = by_tau @ self.actuation
        return columns


def inputs_of(model: Model, actuated: Actuated, actuation: ArrayLike | None) -> Inputs:
    """Inputs by the rates that have one, or by the map from inputs to forces."""
    if actuation is None:
        rates = actuated_rates(model, actuated)
        return Inputs(as_slice(rates), None, len(rates))
    require_model(model)
    if actuated is not None:
        raise ArgumentError("give actuated or actuation, not both")
    array = np.array(reals("actuation", actuation))
    if array.ndim != 2 or len(array) != model.nv:
        raise ArgumentError(
            f"actuation must have shape ({model.nv}, inputs), that is (nv, inputs) of this model, "
            f"got {array.shape}"
        )
    if not np.all(np.isfinite(array)):
        raise ArgumentError("actuation must be finite")
    return Inputs(slice(None), array, array.shape[1])


def as_slice(indices: Integers) -> slice | Integers:
    """Neighbors as a slice, which needs no copy."""
    if len(indices) and indices[-1] - indices[0] == len(indices) - 1:
        return slice(int(indices[0]), int(indices[-1]) + 1)
    return indices
