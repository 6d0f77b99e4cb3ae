"""Values and derivatives of an operation as plans: kernels to run, then sums of products.

A plan works on one row of numbers, its memory: a one, the arguments, the results of its kernels.
An entry of what it returns is a sum of ``factor * memory[a] * memory[b]``; b is an entry of the
weights, or the one. The same plan is followed by NumPy (`Plan.follow`) and by C (`external.c`).

Matrices of derivatives have a row for each entry of a result and a column for each entry of an
input, both counted by columns, as CasADi does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from jounce._types import Array, Integers
from jounce.interop._bridge.evaluate import direct, evaluate
from jounce.interop._bridge.functions import Argument, Operation, operation
from jounce.interop._bridge.partials import closed_forms, directional, reverse
from jounce.interop._bridge.tangents import layout
from jounce.kinematics.configurations import generic_configuration

__all__ = ["ONE", "Plan", "Step", "hessian", "jacobian", "matrix", "pulled", "values"]

ONE = 0
"""Where the one is."""

_SAMPLES = 3
_HESSIANS = {"inverse_dynamics": "a", "forward_dynamics": "tau"}
"""Kernels with Hessians in closed form, and the name of their third input."""


class Step(NamedTuple):
    """A kernel to run."""

    operation: Operation
    states: int
    """0: one, without an axis for it."""
    inputs: tuple[Integers | Array, ...]
    """Where they are, or constants: for all states, or a row for each."""
    outputs: tuple[Integers, ...]


class Terms(NamedTuple):
    """Products that are added up to the entries of a matrix, counted by rows."""

    shape: tuple[int, int]
    entry: Integers
    a: Integers
    b: Integers
    factor: Array


class Plan:
    """What one node of a graph computes.

    Args:
        own: the operation.
        weighted: whether weights of its results come after its inputs.
    """

    def __init__(self, own: Operation, *, weighted: bool = False) -> None:
        self.own, self.size, self.is_value = own, 1, False
        self.direct: Callable[..., Any] | None = None
        self._input_shapes = [x.shape for x in own.inputs]
        self.inputs = [self._room(x.shape) for x in own.inputs]
        self.weights = [self._room(y.tangent) for y in own.outputs] if weighted else []
        self.shapes = [matrix(place.shape) for place in (*self.inputs, *self.weights)]
        self.steps: list[Step] = []
        self.patterns: list[ca.Sparsity] = []
        self.terms: list[Terms] = []
        """Of each result, in the order of its nonzeros."""

    def _room(self, shape: tuple[int, ...]) -> Integers:
        count = int(np.prod(shape, dtype=int))
        self.size += count
        return np.arange(self.size - count, self.size).reshape(shape)

    def run(
        self, own: Operation, given: dict[str, Integers | Array], states: int = 0
    ) -> tuple[Integers, ...]:
        """Add a kernel; what it is not given is zero. Where its results will be."""
        for step in self.steps:
            if step.operation is own and step.states == states == 0:
                return step.outputs
        inputs = tuple(given[x.name] if x.name in given else np.zeros(x.shape) for x in own.inputs)
        lead = (states,) if states else ()
        outputs = tuple(self._room((*lead, *y.shape)) for y in own.outputs)
        self.steps.append(Step(own, states, inputs, outputs))
        return outputs

    @property
    def given(self) -> dict[str, Integers | Array]:
        """Where the inputs of the operation are."""
        return {x.name: place for x, place in zip(self.own.inputs, self.inputs, strict=True)}

    def returns(self, results: Sequence[Terms], *, dense: bool = False) -> Plan:
        """Say what it computes; which entries can differ from zero is learned from samples.

        An entry is an analytic function of the state, so one that is exactly zero at random states
        is so everywhere.
        """
        rng = np.random.default_rng(0)
        masks = [np.full(terms.shape, dense) for terms in results]
        for _ in range(0 if dense else _SAMPLES):
            memory = self._filled(self._sample(rng))
            for mask, terms in zip(masks, results, strict=True):
                sums = np.bincount(terms.entry, _products(memory, terms), mask.size)
                mask |= sums.reshape(mask.shape) != 0.0
        for mask, terms in zip(masks, results, strict=True):
            pattern, order = _pattern(mask)
            self.patterns.append(pattern)
            nonzero = order[terms.entry]
            kept = np.flatnonzero(nonzero >= 0)
            kept = kept[np.argsort(nonzero[kept], kind="stable")]
            a, b, factor = terms.a[kept], terms.b[kept], terms.factor[kept]
            self.terms.append(Terms(terms.shape, nonzero[kept], a, b, factor))
        return self

    def _sample(self, rng: np.random.Generator) -> list[Array]:
        """Random arguments."""
        found = [
            generic_configuration(self.own.model, rng)
            if x.name in ("q", "q0", "q1")
            else rng.uniform(0.1, 1.0, x.shape)
            for x in self.own.inputs
        ]
        return found + [rng.standard_normal(place.shape) for place in self.weights]

    def follow(self, *matrices: Array) -> list[Array]:
        """The nonzeros of all results."""
        if self.is_value:
            arrays = [
                x.reshape(shape) for x, shape in zip(matrices, self._input_shapes, strict=True)
            ]
            return [found.T.ravel() for found in evaluate(self.own, arrays)]
        memory: Any = self._filled(matrices)
        return [
            memory[terms.a]
            if copied
            else np.bincount(terms.entry, _products(memory, terms), terms.shape[0]).astype(
                float, copy=False
            )
            for terms, copied in self._sums
        ]

    @functools.cached_property
    def _sums(self) -> list[tuple[Terms, bool]]:
        """Terms of each result, whose shape is its number of nonzeros, and whether it is a copy."""
        sums = []
        for terms, pattern in zip(self.terms, self.patterns, strict=True):
            count = pattern.nnz()
            copied = terms.entry.size == count and not terms.b.any() and (terms.factor == 1.0).all()
            sums.append((terms._replace(shape=(count, 1)), bool(copied)))
        return sums

    @functools.cached_property
    def _moves(self) -> tuple[list[slice], list[tuple[Operation, list[Any], list[slice]]]]:
        """Where the arguments go; what kernels read, and where they write."""
        kernels = [
            (
                step.operation,
                [x if x.dtype.kind == "f" else (_range(x), x.shape) for x in step.inputs],
                [_range(y) for y in step.outputs],
            )
            for step in self.steps
        ]
        return [_range(x) for x in (*self.inputs, *self.weights)], kernels

    def _filled(self, matrices: Sequence[Array]) -> Array:
        memory = np.empty(self.size)
        memory[ONE] = 1.0
        arguments, kernels = self._moves
        for at, value in zip(arguments, matrices, strict=True):
            memory[at] = value.ravel()
        for own, inputs, outputs in kernels:
            arrays = [memory[x[0]].reshape(x[1]) if type(x) is tuple else x for x in inputs]
            for at, found in zip(outputs, evaluate(own, arrays), strict=True):
                memory[at] = found.ravel()
        return memory


def _range(place: Any) -> slice:
    """What neighbors take of the memory."""
    begin = int(place.flat[0]) if place.size else 0
    return slice(begin, begin + place.size)


def _products(memory: Array, terms: Terms) -> Array:
    found: Array = terms.factor * memory[terms.a] * memory[terms.b]
    return found


def values(own: Operation) -> Plan:
    """The results of an operation."""
    plan = Plan(own)
    plan.is_value, plan.direct = True, direct(own)
    places = plan.run(own, plan.given)
    return plan.returns([_as_matrix(place) for place in places], dense=True)


def jacobian(own: Operation) -> Plan:
    """Derivatives of each result by each input, in tangent spaces."""
    plan = Plan(own)
    return plan.returns([_copied(block) for row in _first(plan) for block in row])


def pulled(own: Operation) -> Plan:
    """Weights times the derivatives by each input, in tangent spaces."""
    plan = Plan(own, weighted=True)
    at_once = reverse(own)
    if at_once:
        found = plan.run(at_once.operation, {**plan.given, "weights": plan.weights[0]})
        return plan.returns([_as_matrix(found[k]) for k in at_once.blocks], dense=True)
    blocks = _first(plan)
    results = []
    for i, x in enumerate(own.inputs):
        shape = matrix(x.tangent)
        order = np.arange(np.prod(shape)).reshape(shape).T.ravel()  # of columns, counted by rows
        parts = [
            _summed(shape, block[i], np.broadcast_to(order, block[i].shape), w.T.ravel()[:, None])
            for block, w in zip(blocks, plan.weights, strict=True)
        ]
        results.append(_joined(parts))
    return plan.returns(results, dense=True)


def hessian(own: Operation) -> Plan:
    """Derivatives by each input of the weights times the derivatives by each input."""
    plan = Plan(own, weighted=True)
    if own.kernel in _HESSIANS and len(own.inputs) == 3:
        return plan.returns(_of_dynamics(plan))
    return plan.returns([_nested(plan, x, z) for x in own.inputs for z in own.inputs])


def _first(plan: Plan) -> list[list[Integers]]:
    """Where the derivatives of each result by each input will be, as matrices."""
    own = plan.own
    by = [_partials(plan, own, plan.given, x) for x in own.inputs]
    return [
        [_by_columns(by[i][k], y.tangent, x.tangent) for i, x in enumerate(own.inputs)]
        for k, y in enumerate(own.outputs)
    ]


def _partials(
    plan: Plan, own: Operation, given: dict[str, Integers | Array], x: Argument
) -> list[Integers]:
    """Where the derivatives of all results by one input will be: its axes come last."""
    closed = closed_forms(own).get(x.name)
    if closed is not None:
        found = plan.run(closed.operation, given)
        return [found[at] for at in closed.blocks]
    along, skipped = directional(own, x.name)
    axes = _axes(x)
    found = _changes(plan, along, {**given, f"d_{x.name}": axes}, len(axes))[skipped:]
    return [
        np.moveaxis(place, 0, -1).reshape((*y.tangent, *x.tangent))
        for place, y in zip(found, own.outputs, strict=True)
    ]


def _changes(
    plan: Plan, along: Operation, given: dict[str, Integers | Array], count: int
) -> tuple[Integers, ...]:
    """Where the changes along so many directions will be; along none, there is nothing to run."""
    if count:
        return plan.run(along, given, count)
    return tuple(np.zeros((0, *y.shape), np.int64) for y in along.outputs)


def _axes(x: Argument) -> Array:
    count = int(np.prod(x.tangent, dtype=int))
    return np.eye(count).reshape(count, *x.tangent)


def _nested(plan: Plan, x: Argument, z: Argument) -> Terms:
    """The derivative by z of the weighted derivative by x."""
    own = plan.own
    closed = closed_forms(own).get(x.name)
    if closed is not None:
        found = _partials(plan, closed.operation, plan.given, z)
        blocks = [found[at] for at in closed.blocks]
    else:
        along, skipped = directional(own, x.name)
        twice, before = directional(along, z.name)
        first, then = _axes(x), _axes(z)
        states = len(first) * len(then)
        given = {
            **plan.given,
            f"d_{x.name}": np.repeat(first, len(then), axis=0),
            f"e_{z.name}": np.tile(then, (len(first), *(1,) * len(z.tangent))),
        }
        found = list(_changes(plan, twice, given, states))[before + skipped :]
        blocks = [
            np.moveaxis(place, 0, -1).reshape((*y.tangent, *x.tangent, *z.tangent))
            for place, y in zip(found, own.outputs, strict=True)
        ]
    parts = []
    for block, w in zip(blocks, plan.weights, strict=True):
        rows = block.reshape((w.size, *x.tangent, *z.tangent))
        each = np.array([_by_columns(row, x.tangent, z.tangent) for row in rows])
        shape = each.shape[1], each.shape[2]
        order = np.arange(shape[0] * shape[1]).reshape(shape)
        parts.append(_summed(shape, each, order, w.reshape(-1, 1, 1)))
    return _joined(parts)


def _of_dynamics(plan: Plan) -> list[Terms]:
    """By the symmetric Hessians of the core, which are the nested ones but for a bracket.

    X_k X_j f - X_j X_k f is the derivative of f along [e_k, e_j], half of which is missing.
    """
    own, n, last = plan.own, plan.own.model.nv, _HESSIANS[plan.own.kernel]
    names = ("q", "v", last, "weights")
    kernel = operation(own.function, f"{own.kernel}_hessian", own.model, names, own.options)
    found = plan.run(kernel, {**plan.given, "weights": plan.weights[0]})
    dqdq, dqdv, dvdv, dqdx = (_copied(place) for place in found)
    table = _bracket(own.model)
    if table is not None:
        by_q = _partials(plan, own, plan.given, own.inputs[0])[0]
        j, k, m = np.nonzero(table)
        a = by_q[:, m]
        entry = np.broadcast_to(j * n + k, a.shape)
        factor = 0.5 * np.broadcast_to(table[j, k, m], a.shape)
        w = plan.weights[0][:, None]
        dqdq = _joined([dqdq, _summed((n, n), a, entry, w, factor)])
    none = np.zeros((0, n), np.int64)
    zero = _summed((n, n), none, none, none)
    transposed = [_copied(found[at].T) for at in (1, 3)]
    return [dqdq, dqdv, dqdx, transposed[0], dvdv, zero, transposed[1], zero, zero]


def matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape of an array as a matrix."""
    return (shape[0] if shape else 1, shape[1] if len(shape) > 1 else 1)


def _by_columns(block: Integers, rows: tuple[int, ...], columns: tuple[int, ...]) -> Integers:
    """A derivative, (*rows, *columns), as a matrix whose entries are counted by columns."""
    n = len(rows)
    axes = [*reversed(range(n)), *reversed(range(n, n + len(columns)))]
    size = int(np.prod(rows, dtype=int)), int(np.prod(columns, dtype=int))
    return np.transpose(block, axes).reshape(size)


def _as_matrix(place: Integers) -> Terms:
    """A result as it is."""
    return _copied(place.reshape(matrix(place.shape)))


def _copied(block: Integers) -> Terms:
    """A matrix of numbers as they are."""
    order = np.arange(block.size).reshape(block.shape)
    return _summed((block.shape[0], block.shape[1]), block, order, np.full(1, ONE))


def _summed(
    shape: tuple[int, int], a: Integers, entry: Any, b: Any, factor: Array | float = 1.0
) -> Terms:
    """Sums of products; all broadcast to the shape of a."""
    entry, b, factor = (np.broadcast_to(x, a.shape).ravel() for x in (entry, b, factor))
    return Terms(shape, entry, a.ravel(), b, factor)


def _joined(parts: Sequence[Terms]) -> Terms:
    columns = (np.concatenate(x) for x in zip(*(part[1:] for part in parts), strict=True))
    return Terms(parts[0].shape, *columns)


def _pattern(mask: Array) -> tuple[ca.Sparsity, Integers]:
    """The pattern of a mask, and for each entry, counted by rows, which nonzero it is, or -1."""
    columns, rows = np.nonzero(mask.T)
    order = np.full(mask.size, -1)
    order[rows * mask.shape[1] + columns] = np.arange(rows.size)
    size = int(mask.shape[0]), int(mask.shape[1])
    return ca.Sparsity.triplet(*size, rows.tolist(), columns.tolist()), order


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


PLANS: dict[str, Callable[[Operation], Plan]] = {
    "value": values,
    "jacobian": jacobian,
    "pull": pulled,
    "hessian": hessian,
}
"""What a function and its derivatives compute."""
