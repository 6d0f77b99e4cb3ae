"""What the converters share: matching joints, permuting blocks, transforming tensors.

The rates of the two libraries are related by ``v_there = B(q) v``, where B permutes the joints and
turns the halves of the rates of some of them. B is orthogonal, so forces, which are dual to the
rates, transform by the same matrix, and so do the mass matrix and its inverse: ``B M B^T``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentTypeError, ModelError
from jounce.interop._checks import Layout, all_given, checked, checked_batch, normalized, units
from jounce.lie.quaternions import meant
from jounce.model.model import Model, require_model

__all__ = [
    "Block",
    "Chart",
    "Group",
    "Layout",
    "Peer",
    "Plain",
    "match",
    "require_models",
    "turned",
]


class Chart(Protocol):
    """Coordinates of one joint in the other library; "own" means those of jounce."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coordinates and rates in the other library."""

    @property
    def own_layout(self) -> Layout | None:
        """Layout of the own coordinates; None if any numbers will do."""

    @property
    def other_layout(self) -> Layout | None:
        """Layout of the other library's coordinates; None if any numbers will do."""

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

    own_layout: Layout | None = None
    other_layout: Layout | None = None

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
        self.own_layout: Layout | None = _layout(range(self.sizes[0]))
        self.other_layout: Layout | None = _layout(q_order)
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
        return meant(out)

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


def _layout(q_order: Sequence[int]) -> Layout:
    """Layout of coordinates that sit there in (x, y, z, w, position)."""
    letters = [k for k in q_order if k < 4]
    start = list(q_order).index(letters[0])
    words = [f"quaternion ({', '.join('xyzw'[k] for k in letters)})"]
    if len(q_order) > 4:
        words.insert(0 if start else 1, "position (x, y, z)")
    return Layout(", ".join(words), slice(start, start + 4))


class Block(NamedTuple):
    """Where a joint of the other library sits, and how its coordinates read."""

    q: int
    v: int
    chart: Chart


class Peer:
    """Base of the converters: what does not depend on the library.

    Every argument of ``to_*``, q among them, is in jounce's conventions, and the result in the
    other library's; every argument of ``from_*``, q among them, is in the other library's, and
    the result in jounce's. All take leading batch axes, which broadcast.

    All numbers must be finite, and quaternions (or a cosine with its sine) must have the norm 1
    where the convention puts them, within 1e-3; they are normalized. Otherwise an ArgumentError
    names the layout that was expected. So a q of the wrong side is refused, except where both sides
    put the quaternion in the same place and only order it differently.

    Bias forces belong to zero acceleration, which is not the same acceleration on both sides where
    a library resolves rates in other axes: there ``to_tau(q, inverse_dynamics(model, q, v,
    from_a(q_there, v_there, 0)))`` is its bias.
    """

    def __init__(
        self, model: Model, library: str, sizes: tuple[int, int], blocks: Mapping[str, Block]
    ) -> None:
        self._model = model
        self._library = library
        self._sizes = sizes
        self._blocks = [
            (model.q_slice(name), model.v_slice(name), blocks[name]) for name in model.joint_names
        ]
        charts = [(name, model.q_slice(name), blocks[name]) for name in model.joint_names]
        self._own_units = units((name, q.start, b.chart.own_layout) for name, q, b in charts)
        self._other_units = units((name, b.q, b.chart.other_layout) for name, _, b in charts)

    def __repr__(self) -> str:
        """Show the robot and the sizes on both sides."""
        here, there = (self._model.nq, self._model.nv), self._sizes
        return (
            f"Converter of {self._model.name!r} between jounce (nq, nv = {here[0]}, {here[1]}) "
            f"and {self._library} ({there[0]}, {there[1]})"
        )

    @property
    def model(self) -> Model:
        """The model on the side of jounce."""
        return self._model

    def to_q(self, q: ArrayLike) -> Array:
        """Convert jounce's coordinates q, (..., nq), to those of the other library."""
        own = self._own_q(q)
        out = np.empty((*own.shape[:-1], self._sizes[0]))
        for here, _, block in self._blocks:
            there = slice(block.q, block.q + block.chart.sizes[0])
            out[..., there] = block.chart.to_q(own[..., here])
        return out

    def from_q(self, q: ArrayLike) -> Array:
        """Convert coordinates q of the other library to jounce's, (..., nq)."""
        other = self._other_q(q)
        out = np.empty((*other.shape[:-1], self._model.nq))
        for here, _, block in self._blocks:
            there = slice(block.q, block.q + block.chart.sizes[0])
            out[..., here] = block.chart.from_q(other[..., there])
        return out

    def to_v(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Convert jounce's rates v at jounce's q: ``B(q) v``."""
        return self._forth(*self._own(q, v=v))

    def from_v(self, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Convert the other library's rates v at the other library's q: ``B(q)^T v``."""
        return self._back(*self._other(q, v=v))

    def to_a(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Convert jounce's accelerations a at jounce's q and v: ``B a + dB/dt v``.

        Accelerations are the derivatives of the rates' components.
        """
        own, rates, values = self._own(q, v=v, a=a)
        return self._forth(own, values) + self._spin(own, rates)

    def from_a(self, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None) -> Array:
        """Convert the other library's accelerations a at its q and v: ``B^T (a - dB/dt v)``."""
        own, rates, values = self._other(q, v=v, a=a)
        return self._back(own, values - self._spin(own, self._back(own, rates)))

    def to_tau(self, q: ArrayLike, tau: ArrayLike | None = None) -> Array:
        """Convert jounce's generalized forces at jounce's q; the power ``tau @ v`` is the same."""
        return self._forth(*self._own(q, tau=tau))

    def from_tau(self, q: ArrayLike, tau: ArrayLike | None = None) -> Array:
        """Convert the other library's generalized forces at the other library's q."""
        return self._back(*self._other(q, tau=tau))

    def to_matrix(self, q: ArrayLike, matrix: ArrayLike | None = None) -> Array:
        """Convert a square matrix over v, (..., nv, nv), at jounce's q.

        It is the mass matrix or its inverse: ``B M B^T`` maps the other library's rates to its
        forces if M does so here, and its forces to its rates if M does that: B is orthogonal.
        """
        own, values = self._own(q, matrix=matrix)
        return _square(self._forth, own, values)

    def from_matrix(self, q: ArrayLike, matrix: ArrayLike | None = None) -> Array:
        """Convert the other library's mass matrix, or its inverse, at its q: ``B^T M B``."""
        own, values = self._other(q, matrix=matrix)
        return _square(self._back, own, values)

    def _own(self, q: ArrayLike, **arrays: ArrayLike | None) -> tuple[Array, ...]:
        given = all_given(arrays)
        own = self._own_q(q)
        return own, *checked_batch(own, given, self._model.nv)

    def _other(self, q: ArrayLike, **arrays: ArrayLike | None) -> tuple[Array, ...]:
        given = all_given(arrays)
        own = self.from_q(q)
        return own, *checked_batch(own, given, self._sizes[1], f" of {self._library}")

    def _own_q(self, q: ArrayLike) -> Array:
        """Check and normalize a q that must be in jounce's conventions."""
        return normalized("jounce", checked("q", q, self._model.nq), self._own_units)

    def _other_q(self, q: ArrayLike) -> Array:
        """Check and normalize a q that must be in the other library's conventions."""
        array = checked("q", q, self._sizes[0], f" of {self._library}")
        return normalized(self._library, array, self._other_units)

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


def require_models(model: object, other: object, kind: str, attribute: str) -> None:
    """Refuse what is not the two models, in this order; the other library is not imported."""
    if hasattr(model, attribute) and isinstance(other, Model):
        raise ArgumentTypeError(
            f"the arguments are swapped: expected the jounce.Model first, then the {kind}"
        )
    require_model(model)
    if isinstance(model, Model) and model.expanded is not model:
        raise ModelError(
            "states are converted between models whose joints are not coupled: take "
            "model.expanded, with model.expand(q) and model.coupling @ v"
        )
    if not hasattr(other, attribute):
        raise ArgumentTypeError(f"expected a {kind} as second argument, got {type(other).__name__}")
