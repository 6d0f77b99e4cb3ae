"""What the converters share: matching joints, permuting blocks, transforming tensors.

The rates of the two libraries are related by ``v_there = B(q) v``, where B permutes the joints and
turns the halves of the rates of some of them. B is orthogonal, so forces, which are dual to the
rates, transform by the same matrix, and so do the mass matrix and its inverse: ``B M B^T``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from jounce import lie
from jounce.errors import ModelError
from jounce.model import Model

__all__ = ["Block", "Chart", "Group", "Peer", "Plain", "match", "turned"]

Array = npt.NDArray[np.float64]


class Chart(Protocol):
    """Coordinates of one joint in the other library; "own" means those of jounce."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coordinates and rates in the other library."""

    def to_q(self, own: Array) -> Array:
        """Turn own coordinates into the other library's."""

    def from_q(self, other: Array) -> Array:
        """Turn the other library's coordinates into own ones."""

    def rates(self, own: Array) -> Array | None:
        """The orthogonal matrix B(q), (..., k, k), with v_there = B v; None if it is 1."""

    def spin(self, own: Array, v: Array) -> Array | None:
        """The vector dB/dt v at own coordinates and rates; None if it is zero."""


class Plain:
    """A joint with the same coordinates and rates on both sides."""

    def __init__(self, size: int = 1) -> None:
        self.sizes = (size, size)

    def to_q(self, own: Array) -> Array:
        """Return the coordinates as they are."""
        return own

    def from_q(self, other: Array) -> Array:
        """Return the coordinates as they are."""
        return other

    def rates(self, own: Array) -> Array | None:
        """None: the rates are the same."""
        return None

    def spin(self, own: Array, v: Array) -> Array | None:
        """None: the rates are the same."""
        return None


class Group:
    """A spherical or free joint: quaternion, position, angular and linear rates in any order.

    Args:
        free: whether the joint is free, otherwise spherical.
        q_order: where the other library's coordinates sit in the own ones (quaternion x, y, z, w,
            position).
        v_order: where its rates sit in the own ones (angular, linear).
        angular_in_body: whether its angular rates are in body axes, otherwise in the parent's.
        linear_in_body: likewise for the linear rates, those of the body's origin.
    """

    def __init__(
        self,
        free: bool,
        q_order: Sequence[int],
        v_order: Sequence[int],
        *,
        angular_in_body: bool = True,
        linear_in_body: bool = True,
    ) -> None:
        self.sizes = (7, 6) if free else (4, 3)
        self._q_order = np.array(q_order)
        self._v_order = np.array(v_order)
        self._in_body = (angular_in_body, linear_in_body)[: 2 if free else 1]

    def to_q(self, own: Array) -> Array:
        """Reorder the coordinates."""
        return own[..., self._q_order]

    def from_q(self, other: Array) -> Array:
        """Reorder the coordinates."""
        out = np.empty_like(other)
        out[..., self._q_order] = other
        return out

    def rates(self, own: Array) -> Array:
        """Rotations on the diagonal, rows in the other library's order."""
        nv = self.sizes[1]
        out = np.zeros((*own.shape[:-1], nv, nv))
        rotation = None if all(self._in_body) else lie.quat_to_matrix(own[..., :4])
        for k, in_body in enumerate(self._in_body):
            half = slice(3 * k, 3 * k + 3)
            out[..., half, half] = np.eye(3) if in_body or rotation is None else rotation
        return out[..., self._v_order, :]

    def spin(self, own: Array, v: Array) -> Array | None:
        """R (w x half) for each half that is resolved in the parent's axes."""
        if all(self._in_body):
            return None
        rotation = lie.quat_to_matrix(own[..., :4])
        out = np.zeros(np.broadcast_shapes(own.shape[:-1], v.shape[:-1]) + v.shape[-1:])
        for k, in_body in enumerate(self._in_body):
            half = slice(3 * k, 3 * k + 3)
            if not in_body:
                out[..., half] = turned(rotation, np.cross(v[..., :3], v[..., half]))
        return out[..., self._v_order]


class Block(NamedTuple):
    """Where a joint of the other library sits, and how its coordinates read."""

    q: int
    v: int
    chart: Chart


class Peer:
    """Base of the converters: what does not depend on the library.

    ``to_*`` takes arrays in jounce's conventions and returns the other library's; every argument
    of ``from_*`` is in the other library's conventions. All take leading batch axes, which
    broadcast.

    Bias forces belong to zero acceleration, which is not the same acceleration on both sides where
    a library resolves rates in other axes: there ``to_tau(q, inverse_dynamics(model, q, v,
    from_a(q_there, v_there, 0)))`` is its bias.
    """

    def __init__(self, model: Model, sizes: tuple[int, int], blocks: Mapping[str, Block]) -> None:
        self._model = model
        self._sizes = sizes
        self._blocks = [
            (model.q_slice(name), model.v_slice(name), blocks[name]) for name in model.joint_names
        ]

    @property
    def model(self) -> Model:
        """The model on the side of jounce."""
        return self._model

    def to_q(self, q: npt.ArrayLike) -> Array:
        """Convert coordinates, (..., nq) to those of the other library."""
        own = _checked("q", q, self._model.nq)
        out = np.empty((*own.shape[:-1], self._sizes[0]))
        for here, _, block in self._blocks:
            there = slice(block.q, block.q + block.chart.sizes[0])
            out[..., there] = block.chart.to_q(own[..., here])
        return out

    def from_q(self, q: npt.ArrayLike) -> Array:
        """Convert coordinates of the other library to (..., nq)."""
        other = _checked("q", q, self._sizes[0])
        out = np.empty((*other.shape[:-1], self._model.nq))
        for here, _, block in self._blocks:
            there = slice(block.q, block.q + block.chart.sizes[0])
            out[..., here] = block.chart.from_q(other[..., there])
        return out

    def to_v(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Convert rates at the configuration q: ``B(q) v``."""
        return self._forth(*self._own(q, v=v))

    def from_v(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
        """Convert the other library's rates at its configuration q: ``B(q)^T v``."""
        return self._back(*self._other(q, v=v))

    def to_a(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """Convert accelerations, the derivatives of the rates' components: ``B a + dB/dt v``."""
        own, rates, values = self._own(q, v=v, a=a)
        return self._forth(own, values) + self._spin(own, rates)

    def from_a(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> Array:
        """Convert the other library's accelerations: ``B^T (a - dB/dt v)``."""
        own, rates, values = self._other(q, v=v, a=a)
        return self._back(own, values - self._spin(own, self._back(own, rates)))

    def to_tau(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        """Convert generalized forces; their power ``tau @ v`` stays the same."""
        return self._forth(*self._own(q, tau=tau))

    def from_tau(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> Array:
        """Convert the other library's generalized forces."""
        return self._back(*self._other(q, tau=tau))

    def to_matrix(self, q: npt.ArrayLike, matrix: npt.ArrayLike) -> Array:
        """Convert a square matrix over v, (..., nv, nv): the mass matrix or its inverse.

        ``B M B^T`` maps the other library's rates to its forces if M does so here, and its
        forces to its rates if M does that: B is orthogonal.
        """
        own, values = self._own(q, matrix=matrix)
        return _square(self._forth, own, values)

    def from_matrix(self, q: npt.ArrayLike, matrix: npt.ArrayLike) -> Array:
        """Convert the other library's mass matrix, or its inverse: ``B^T M B``."""
        own, values = self._other(q, matrix=matrix)
        return _square(self._back, own, values)

    def _own(self, q: npt.ArrayLike, **arrays: npt.ArrayLike) -> tuple[Array, ...]:
        own = _checked("q", q, self._model.nq)
        return own, *(_checked(name, x, self._model.nv) for name, x in arrays.items())

    def _other(self, q: npt.ArrayLike, **arrays: npt.ArrayLike) -> tuple[Array, ...]:
        own = self.from_q(q)
        return own, *(_checked(name, x, self._sizes[1]) for name, x in arrays.items())

    def _forth(self, own: Array, x: Array) -> Array:
        out = np.empty((*np.broadcast_shapes(own.shape[:-1], x.shape[:-1]), self._sizes[1]))
        for q, here, block in self._blocks:
            there = slice(block.v, block.v + block.chart.sizes[1])
            rates = block.chart.rates(own[..., q])
            out[..., there] = x[..., here] if rates is None else turned(rates, x[..., here])
        return out

    def _back(self, own: Array, x: Array) -> Array:
        out = np.empty((*np.broadcast_shapes(own.shape[:-1], x.shape[:-1]), self._model.nv))
        for q, here, block in self._blocks:
            part = x[..., block.v : block.v + block.chart.sizes[1]]
            rates = block.chart.rates(own[..., q])
            out[..., here] = part if rates is None else turned(rates.swapaxes(-1, -2), part)
        return out

    def _spin(self, own: Array, v: Array) -> Array:
        out = np.zeros((*np.broadcast_shapes(own.shape[:-1], v.shape[:-1]), self._sizes[1]))
        for q, here, block in self._blocks:
            spin = block.chart.spin(own[..., q], v[..., here])
            if spin is not None:
                out[..., block.v : block.v + block.chart.sizes[1]] = spin
        return out


def _square(transform: Callable[[Array, Array], Array], own: Array, matrix: Array) -> Array:
    """Transform the rows of a matrix, then its columns."""
    if matrix.ndim < 2 or matrix.shape[-2] != matrix.shape[-1]:
        raise ValueError(f"matrix must be square in its last two axes, got {matrix.shape}")
    q = own[..., None, :]
    rows = transform(q, matrix)
    return transform(q, rows.swapaxes(-1, -2)).swapaxes(-1, -2)


def turned(matrix: Array, x: Array) -> Array:
    """Matrix times vector over batch axes."""
    out: Array = np.einsum("...ij,...j->...i", matrix, x)
    return out


def match(model: Model, library: str, theirs: Mapping[str, str], free: str) -> dict[str, str]:
    """Pair the joints of a model with those of the other library by name.

    A free joint on both sides that is left over pairs up whatever its name, because the libraries
    name the joint of a floating base differently.

    Args:
        model: the model of jounce.
        library: name of the other library, for messages.
        theirs: type of each of its joints, by name.
        free: what it calls a free joint.

    Returns:
        The other library's name for each joint of the model.

    Raises:
        ModelError: a joint of one side is missing on the other, or cannot be converted.
    """
    for joint in model.joints:
        if joint.type in ("free", "planar") and np.any(joint.anchor):
            raise ModelError(
                f"joint {joint.name!r}: a {joint.type} joint with an anchor has no match"
            )
    pairs = {name: name for name in model.joint_names if name in theirs}
    here = [name for name in model.joint_names if name not in pairs]
    there = [name for name in theirs if name not in pairs]
    bases = [name for name in here if model.joints[model.joint_index(name)].type == "free"]
    floating = [name for name in there if theirs[name] == free]
    if len(bases) == len(floating) == 1:
        pairs[bases[0]] = floating[0]
        here.remove(bases[0])
        there.remove(floating[0])
    if here or there:
        missing = [f"{library} has no joint {_listed(here)}"] if here else []
        missing += [f"jounce has no joint {_listed(there)}"] if there else []
        raise ModelError(
            f"the models have different joints: {'; '.join(missing)}. "
            "Joints are matched by name; were both loaded from the same file, with the same base?"
        )
    return pairs


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _checked(name: str, value: npt.ArrayLike, size: int) -> Array:
    array = np.asarray(value, float)
    if array.shape[-1:] != (size,):
        raise ValueError(f"{name} must have shape (..., {size}), got {array.shape}")
    return array
