"""Values and derivatives of an operation on arrays of NumPy, as nodes of a graph need them.

Matrices of derivatives have a row for each entry of a result and a column for each entry of an
input, both counted by columns, as CasADi does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jounce import derivatives, kinematics
from jounce._types import Array
from jounce.interop._bridge.evaluate import evaluate, partials
from jounce.interop._bridge.functions import Argument, Operation
from jounce.interop._bridge.partials import closed_forms, directional
from jounce.interop._bridge.tangents import layout

__all__ = ["Numbers"]

_HESSIANS: dict[str, tuple[Any, str]] = {
    "inverse_dynamics": (derivatives.inverse_dynamics_hessian, "a"),
    "forward_dynamics": (derivatives.forward_dynamics_hessian, "tau"),
}
"""Hessians in closed form, with the name of the third input."""

_SAMPLES = 3


class Numbers:
    """What a graph asks of an operation. Arguments are its inputs, as matrices, then weights."""

    def __init__(self, own: Operation) -> None:
        self.own = own
        self.bracket = _bracket(own.model)

    def values(self, *matrices: Array) -> list[Array]:
        """Its results."""
        return [np.asarray(y) for y in evaluate(self.own, self._inputs(matrices))]

    def jacobian(self, *matrices: Array) -> list[Array]:
        """Derivatives of each result by each input."""
        arrays = self._inputs(matrices)
        by = [partials(self.own, arrays, x.name) for x in self.own.inputs]
        return [
            _by_columns(by[i][k], y.tangent, x.tangent)
            for k, y in enumerate(self.own.outputs)
            for i, x in enumerate(self.own.inputs)
        ]

    def pulled(self, *matrices: Array) -> list[Array]:
        """Weights times the derivatives by each input."""
        n = len(self.own.inputs)
        blocks = self.jacobian(*matrices[:n])
        flat = [w.T.ravel() for w in matrices[n:]]
        sums = (sum(w @ blocks[k * n + i] for k, w in enumerate(flat)) for i in range(n))
        return [
            np.reshape(total, x.tangent[::-1]).T
            for total, x in zip(sums, self.own.inputs, strict=True)
        ]

    def hessian(self, *matrices: Array) -> list[Array]:
        """Derivatives by each input of the weights times the derivatives by each input."""
        n = len(self.own.inputs)
        arrays, weights = self._inputs(matrices[:n]), matrices[n:]
        if self.own.kernel in _HESSIANS and n == 3:
            return self._dynamics(arrays, weights[0].ravel())
        w = [np.reshape(x, y.tangent) for x, y in zip(weights, self.own.outputs, strict=True)]
        return [self._nested(arrays, w, x, z) for x in self.own.inputs for z in self.own.inputs]

    def jacobian_pattern(self) -> list[Array]:
        """Which entries of `jacobian` can differ from zero."""
        return self._pattern(self.jacobian, weighted=False)

    def hessian_pattern(self) -> list[Array]:
        """Which entries of `hessian` can differ from zero."""
        return self._pattern(self.hessian, weighted=True)

    def _pattern(self, compute: Any, *, weighted: bool) -> list[Array]:
        rng = np.random.default_rng(0)
        found: list[Array] = []
        for _ in range(_SAMPLES):
            given = [self._sample(x, rng) for x in self.own.inputs]
            if weighted:
                given += [rng.standard_normal(_matrix(y.tangent)) for y in self.own.outputs]
            masks = [block != 0.0 for block in compute(*given)]
            found = [a | b for a, b in zip(found, masks, strict=True)] if found else masks
        return found

    def _sample(self, x: Argument, rng: np.random.Generator) -> Array:
        if x.is_configuration or x.name in ("q", "q0", "q1"):
            return kinematics.random_configuration(self.own.model, rng)[:, None]
        return rng.uniform(0.1, 1.0, _matrix(x.shape))

    def _inputs(self, matrices: tuple[Array, ...]) -> list[Array]:
        """Inputs with the axes that kernels give them."""
        return [np.reshape(m, x.shape) for m, x in zip(matrices, self.own.inputs, strict=True)]

    def _dynamics(self, arrays: list[Array], weights: Array) -> list[Array]:
        """By the symmetric Hessians of the core, which are the nested ones but for a bracket.

        X_k X_j f - X_j X_k f is the derivative of f along [e_k, e_j], half of which is missing.
        """
        function, _ = _HESSIANS[self.own.kernel]
        h = function(self.own.model, *arrays, weights)
        dqdq, dqdv, dvdv, dqdx = h
        if self.bracket is not None:
            by_q = partials(self.own, arrays, "q")[0]
            dqdq = dqdq + 0.5 * np.tensordot(self.bracket, weights @ by_q, 1)
        zero = np.zeros_like(dvdv)
        return [dqdq, dqdv, dqdx, dqdv.T, dvdv, zero, dqdx.T, zero, zero]

    def _nested(self, arrays: list[Array], w: list[Array], x: Argument, z: Argument) -> Array:
        """The derivative by z of the weighted derivative by x."""
        own = self.own
        closed = closed_forms(own).get(x.name)
        if closed is not None:
            given = {a.name: array for a, array in zip(own.inputs, arrays, strict=True)}
            every = [given.get(a.name, np.zeros(a.shape)) for a in closed.operation.inputs]
            found = partials(closed.operation, every, z.name)
            total = sum(
                np.tensordot(weights, found[at], weights.ndim)
                for weights, at in zip(w, closed.blocks, strict=True)
            )
            return _by_columns(np.asarray(total), x.tangent, z.tangent)
        along, skipped = directional(own, x.name)
        count = int(np.prod(x.tangent, dtype=int))
        axes = np.eye(count).reshape(count, *x.tangent)
        given_rows = [np.broadcast_to(a, (count, *a.shape)) for a in arrays]
        found = partials(along, [*given_rows, axes], z.name)[skipped:]
        total = sum(
            np.tensordot(block, weights, (range(1, 1 + weights.ndim), range(weights.ndim)))
            if not z.tangent
            else np.tensordot(
                np.moveaxis(block, 0, -1), weights, (range(weights.ndim), range(weights.ndim))
            )
            for weights, block in zip(w, found, strict=True)
        )
        rows = np.asarray(total).reshape(*z.tangent, count) if z.tangent else np.asarray(total)
        nested = np.moveaxis(rows, -1, 0).reshape(*x.tangent, *z.tangent)
        return _by_columns(nested, x.tangent, z.tangent)


def _matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0] if shape else 1, shape[1] if len(shape) > 1 else 1)


def _by_columns(block: Array, rows: tuple[int, ...], columns: tuple[int, ...]) -> Array:
    """A derivative, (*rows, *columns), as a matrix whose entries are counted by columns."""
    n = len(rows)
    axes = [*reversed(range(n)), *reversed(range(n, n + len(columns)))]
    size = int(np.prod(rows, dtype=int)), int(np.prod(columns, dtype=int))
    return np.ascontiguousarray(np.transpose(block, axes).reshape(size))


def _bracket(model: Any) -> Array | None:
    """Entry [j, k, l]: component l of [e_k, e_j]; None if all tangent fields commute."""
    pieces = layout(model)
    if pieces is None:
        return None
    table = np.zeros((model.nv,) * 3)
    cross = np.zeros((3, 3, 3))  # [a, b, c]: component c of e_a x e_b
    for a in range(3):
        for b in range(3):
            cross[a, b] = np.cross(np.eye(3)[a], np.eye(3)[b])
    for piece in pieces:
        at = piece.v.start
        if piece.kind == "quaternion":
            w = slice(at, at + 3)
            table[w, w, w] = np.swapaxes(cross, 0, 1)
        elif piece.kind == "position":
            w, u = slice(at - 3, at), slice(at, at + 3)
            table[u, w, u] = np.swapaxes(cross, 0, 1)  # [w, u'] = w x u'
            table[w, u, u] = np.swapaxes(cross, 0, 1)  # [u, w'] = u x w'
    return table
