"""Operations as functions of CasADi, with exact sparse derivatives.

A function knows three others, each one node of a graph:

    its Jacobian,  the product of weights with its Jacobian (reverse mode),  the Jacobian of that,

the last of which is the Hessian contracted with the weights: the tensor of second derivatives is
never put together. These work in tangent spaces; expressions of CasADi turn their results into
derivatives by coordinates. Which entries can differ from zero is learned from a few random states:
an entry is an analytic function of the state, so one that is exactly zero there is so everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

from jounce._types import Array
from jounce.interop._bridge.functions import Argument, Operation
from jounce.interop.casadi._numbers import Numbers
from jounce.interop.casadi._tangents import coordinate_map, tangent_map

__all__ = ["function_of"]

_kept: dict[Operation, ca.Function] = {}
"""CasADi's graphs do not keep callbacks alive."""


def function_of(own: Operation) -> ca.Function:
    """The function of an operation."""
    found = _kept.get(own)
    if found is None:
        found = _kept[own] = _Value(Numbers(own))
    return found


class _Node(ca.Callback):
    """What computes arrays of NumPy from arrays of NumPy."""

    def __init__(
        self,
        name: str,
        shapes: list[tuple[int, int]],
        patterns: list[ca.Sparsity],
        compute: Callable[..., list[Array]],
    ) -> None:
        ca.Callback.__init__(self)
        self.shapes, self.patterns, self.compute = shapes, patterns, compute
        self.places = [_row_major(pattern) for pattern in patterns]
        self.kept: list[Any] = []
        self.failure: Exception | None = None
        self.construct(name, {})

    def get_n_in(self) -> int:
        return len(self.shapes)

    def get_n_out(self) -> int:
        return len(self.patterns)

    def get_sparsity_in(self, k: int) -> ca.Sparsity:
        return ca.Sparsity.dense(*self.shapes[k])

    def get_sparsity_out(self, k: int) -> ca.Sparsity:
        return self.patterns[k]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        """Compute on the memory of CasADi, whose matrices are stored by columns."""
        given = [
            np.frombuffer(x).reshape(columns, rows).T
            for x, (rows, columns) in zip(arg, self.shapes, strict=True)
        ]
        results = self.compute(*given)
        for place, result, where in zip(res, results, self.places, strict=True):
            if place is not None:
                np.take(result.ravel(), where, out=np.frombuffer(place))
        return 0

    def eval(self, arg: Any) -> list[Any]:
        """The same for matrices of CasADi."""
        results = self.compute(*(np.array(x) for x in arg))
        return [
            ca.DM(pattern, result.ravel()[where])
            for pattern, result, where in zip(self.patterns, results, self.places, strict=True)
        ]


def _row_major(pattern: ca.Sparsity) -> Any:
    """Where the nonzeros of a pattern are in an array of NumPy."""
    rows, columns = np.array(pattern.row(), int), np.array(pattern.get_col(), int)
    return rows * pattern.size2() + columns


class _Value(_Node):
    """A function, of coordinates."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        patterns = [ca.Sparsity.dense(*matrix(y.shape)) for y in numbers.own.outputs]
        shapes = [matrix(x.shape) for x in numbers.own.inputs]
        super().__init__(numbers.own.function, shapes, patterns, numbers.values)

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: Any, onames: Any, opts: Any) -> ca.Function:
        """Derivatives by coordinates, of all results by all inputs."""
        own = self.numbers.own
        x, y = _symbols(own.inputs), _symbols(own.outputs)
        tangent = _jacobian(self.numbers)
        self.kept.append(tangent)
        blocks = _as_list(tangent(*x))
        results = []
        for k, output in enumerate(own.outputs):
            for i, given in enumerate(own.inputs):
                block = blocks[k * len(x) + i]
                if given.is_configuration:
                    block = block @ tangent_map(own.model, x[i])
                if output.is_configuration:
                    block = coordinate_map(own.model, y[k]) @ block
                results.append(block)
        return ca.Function(name, [*x, *y], results, inames, onames, opts)

    def has_reverse(self, count: int) -> bool:
        return True

    def get_reverse(
        self, count: int, name: str, inames: Any, onames: Any, opts: Any
    ) -> ca.Function:
        """Weights times derivatives, for several sets of weights side by side."""
        own = self.numbers.own
        x, y = _symbols(own.inputs), _symbols(own.outputs)
        w = [ca.MX.sym("w", *_wide(output, count)) for output in own.outputs]
        pull = _Pull(self.numbers)
        self.kept.append(pull)
        results: list[list[Any]] = [[] for _ in x]
        for at in range(count):
            mine = []
            for k, output in enumerate(own.outputs):
                columns = matrix(output.shape)[1]
                weights = w[k][:, at * columns : (at + 1) * columns]
                if output.is_configuration:
                    weights = coordinate_map(own.model, y[k]).T @ weights
                mine.append(weights)
            for i, gradient in enumerate(_as_list(pull(*x, *mine))):
                if own.inputs[i].is_configuration:
                    gradient = tangent_map(own.model, x[i]).T @ gradient
                results[i].append(gradient)
        wide = [ca.horzcat(*parts) for parts in results]
        return ca.Function(name, [*x, *y, *w], wide, inames, onames, opts)


class _Pull(_Node):
    """Weights times derivatives, in tangent spaces."""

    def __init__(self, numbers: Numbers) -> None:
        self.numbers = numbers
        own = numbers.own
        shapes = [matrix(x.shape) for x in own.inputs] + [matrix(y.tangent) for y in own.outputs]
        patterns = [ca.Sparsity.dense(*matrix(x.tangent)) for x in own.inputs]
        super().__init__(f"pull_{own.function}", shapes, patterns, numbers.pulled)

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: Any, onames: Any, opts: Any) -> ca.Function:
        """The contracted Hessian by the inputs, the transposed Jacobian by the weights."""
        own = self.numbers.own
        x, n = _symbols(own.inputs), len(own.inputs)
        w = [ca.MX.sym("w", *matrix(y.tangent)) for y in own.outputs]
        g = [ca.MX.sym("g", *matrix(a.tangent)) for a in own.inputs]
        hessian, jacobian = _hessian(self.numbers), _jacobian(self.numbers)
        self.kept += [hessian, jacobian]
        second, first = _as_list(hessian(*x, *w)), _as_list(jacobian(*x))
        results = []
        for i in range(n):
            for j, other in enumerate(own.inputs):
                block = second[i * n + j]
                if other.is_configuration:
                    block = block @ tangent_map(own.model, x[j])
                results.append(block)
            results += [first[k * n + i].T for k in range(len(w))]
        return ca.Function(name, [*x, *w, *g], results, inames, onames, opts)


def _jacobian(numbers: Numbers) -> _Node:
    """Derivatives of all results by all inputs, in tangent spaces."""
    own = numbers.own
    shapes = [matrix(x.shape) for x in own.inputs]
    patterns = [_pattern(block) for block in numbers.jacobian_pattern()]
    return _Node(f"jac_{own.function}", shapes, patterns, numbers.jacobian)


def _hessian(numbers: Numbers) -> _Node:
    """Derivatives of the weighted derivatives by all inputs, in tangent spaces."""
    own = numbers.own
    shapes = [matrix(x.shape) for x in own.inputs] + [matrix(y.tangent) for y in own.outputs]
    patterns = [_pattern(block) for block in numbers.hessian_pattern()]
    return _Node(f"hess_{own.function}", shapes, patterns, numbers.hessian)


def _pattern(mask: Array) -> ca.Sparsity:
    rows, columns = np.nonzero(mask)
    size = int(mask.shape[0]), int(mask.shape[1])
    return ca.Sparsity.triplet(size[0], size[1], rows.tolist(), columns.tolist())


def matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape of an array as a matrix."""
    return (shape[0] if shape else 1, shape[1] if len(shape) > 1 else 1)


def _wide(y: Argument, count: int) -> tuple[int, int]:
    rows, columns = matrix(y.shape)
    return rows, columns * count


def _symbols(arguments: tuple[Argument, ...]) -> list[Any]:
    return [ca.MX.sym(x.name, *matrix(x.shape)) for x in arguments]


def _as_list(found: Any) -> list[Any]:
    return list(found) if isinstance(found, (list, tuple)) else [found]
