"""Operations as functions of CasADi, with exact sparse derivatives.

A function knows three others, each one node of a graph:

    its Jacobian,  the product of weights with its Jacobian (reverse mode),  the Jacobian of that,

the last of which is the Hessian contracted with the weights: the tensor of second derivatives is
never put together. These work in tangent spaces; expressions of CasADi turn their results into
derivatives by coordinates.
"""

from __future__ import annotations

import functools
from typing import Any

import casadi as ca
import numpy as np

from jounce.errors import ArgumentError
from jounce.interop._bridge.functions import Argument, Operation
from jounce.interop.casadi._plan import PLANS, Plan, matrix
from jounce.interop.casadi._tangents import coordinate_map, tangent_map

__all__ = [
    "as_list",
    "derivatives",
    "function_of",
    "gradients",
    "not_saved",
    "second_derivatives",
]

_kept: dict[Operation, ca.Function] = {}
"""CasADi's graphs do not keep callbacks alive."""


def function_of(own: Operation) -> ca.Function:
    """The function of an operation."""
    found = _kept.get(own)
    if found is None:
        found = _kept[own] = _Value(own)
    return found


def not_saved() -> ArgumentError:
    """Say that a function of this process is of no use in a file."""
    return ArgumentError(
        "functions of jounce cannot be saved or pickled by CasADi, which would write addresses of "
        "this process: save the model (jounce.save) and make the function anew where it is used"
    )


class _Node(ca.Callback):
    """What follows a plan in Python."""

    def __init__(self, name: str, plan: Plan) -> None:
        ca.Callback.__init__(self)
        self.plan, self.patterns = plan, plan.patterns
        self.kept: list[Any] = []
        self.direct = plan.direct
        self.construct(name, {})

    def serialize(self, opts: Any = None) -> str:
        """Refuse: CasADi writes what it cannot read."""
        raise not_saved()

    def save(self, fname: str, opts: Any = None) -> None:
        """Refuse, as well."""
        raise not_saved()

    def get_n_in(self) -> int:
        return len(self.plan.shapes)

    def get_n_out(self) -> int:
        return len(self.patterns)

    def get_sparsity_in(self, k: int) -> ca.Sparsity:
        return ca.Sparsity.dense(*self.plan.shapes[k])

    def get_sparsity_out(self, k: int) -> ca.Sparsity:
        return self.patterns[k]

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arg: Any, res: Any) -> int:
        """Compute on the memory of CasADi, whose matrices are stored by columns."""
        shapes = self.plan.shapes
        if self.direct is not None and res[0] is not None:
            self.direct(self.plan.own.model, *map(_numbers, arg, shapes), out=np.frombuffer(res[0]))
            return 0
        given = [
            _numbers(x, shape) if shape[1] == 1 else _numbers(x, shape).reshape(shape[::-1]).T
            for x, shape in zip(arg, shapes, strict=True)
        ]
        for place, result in zip(res, self.plan.follow(*given), strict=True):
            if place is not None:
                np.frombuffer(place)[:] = result
        return 0

    def eval(self, arg: Any) -> list[Any]:
        """The same for matrices of CasADi."""
        results = self.plan.follow(*(np.array(x) for x in arg))
        return [ca.DM(pattern, x) for pattern, x in zip(self.patterns, results, strict=True)]


class _Value(_Node):
    """A function, of coordinates."""

    def __init__(self, own: Operation) -> None:
        self.own = own
        self.coordinate_patterns: list[ca.Sparsity] | None = None
        super().__init__(own.function, PLANS["value"](own))

    def node(self, kind: str) -> _Node:
        """Another function of the same operation."""
        found = _Node(f"{kind}_{self.own.function}", PLANS[kind](self.own))
        self.kept.append(found)
        return found

    @functools.cached_property
    def jacobian_node(self) -> _Node:
        """Derivatives in tangent spaces."""
        return self.node("jacobian")

    @functools.cached_property
    def hessian_node(self) -> _Node:
        """Second derivatives in tangent spaces, contracted with weights."""
        return self.node("hessian")

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: Any, onames: Any, opts: Any) -> ca.Function:
        """Derivatives by coordinates, of all results by all inputs."""
        return derivatives(self.own, self.jacobian_node, name, inames, onames, opts)

    def has_jac_sparsity(self, result: int, argument: int) -> bool:
        return True

    def get_jac_sparsity(self, result: int, argument: int, symmetric: bool) -> ca.Sparsity:
        """Which entries of the Jacobian by coordinates can differ from zero."""
        if self.coordinate_patterns is None:
            names = [f"i{k}" for k in range(len(self.own.inputs) + len(self.own.outputs))]
            blocks = [f"o{k}" for k in range(len(self.own.inputs) * len(self.own.outputs))]
            self.coordinate_patterns = _patterns(self.get_jacobian("pattern", names, blocks, {}))
        return self.coordinate_patterns[result * len(self.own.inputs) + argument]

    def has_reverse(self, count: int) -> bool:
        return True

    def get_reverse(
        self, count: int, name: str, inames: Any, onames: Any, opts: Any
    ) -> ca.Function:
        """Weights times derivatives, for several sets of weights side by side."""
        pull = _Pull(self)
        self.kept.append(pull)
        return gradients(self.own, pull, count, name, inames, onames, opts)


class _Pull(_Node):
    """Weights times derivatives, in tangent spaces."""

    def __init__(self, value: _Value) -> None:
        self.value = value
        self.second_patterns: list[ca.Sparsity] | None = None
        super().__init__(f"pull_{value.own.function}", PLANS["pull"](value.own))

    def has_jacobian(self) -> bool:
        return True

    def get_jacobian(self, name: str, inames: Any, onames: Any, opts: Any) -> ca.Function:
        """The contracted Hessian by the inputs, the transposed Jacobian by the weights."""
        hessian, jacobian = self.value.hessian_node, self.value.jacobian_node
        return second_derivatives(self.value.own, hessian, jacobian, name, inames, onames, opts)

    def has_jac_sparsity(self, result: int, argument: int) -> bool:
        return True

    def get_jac_sparsity(self, result: int, argument: int, symmetric: bool) -> ca.Sparsity:
        """Which entries of these can differ from zero."""
        if self.second_patterns is None:
            n, count = self.n_in(), self.n_out()
            names = [f"i{k}" for k in range(n + count)], [f"o{k}" for k in range(n * count)]
            self.second_patterns = _patterns(self.get_jacobian("pattern", *names, {}))
        return self.second_patterns[result * self.n_in() + argument]


def derivatives(
    own: Operation, tangent: Any, name: str, inames: Any, onames: Any, opts: Any
) -> ca.Function:
    """Derivatives by coordinates, of all results by all inputs, from those in tangent spaces."""
    x, y = _symbols(own.inputs), _symbols(own.outputs)
    blocks = as_list(tangent(*x))
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


def gradients(
    own: Operation, pull: Any, count: int, name: str, inames: Any, onames: Any, opts: Any
) -> ca.Function:
    """Weights times derivatives by coordinates, for several sets of weights side by side."""
    x, y = _symbols(own.inputs), _symbols(own.outputs)
    w = [ca.MX.sym("w", *_wide(output, count)) for output in own.outputs]
    results: list[list[Any]] = [[] for _ in x]
    for at in range(count):
        mine = []
        for k, output in enumerate(own.outputs):
            columns = matrix(output.shape)[1]
            weights = w[k][:, at * columns : (at + 1) * columns]
            if output.is_configuration:
                weights = coordinate_map(own.model, y[k]).T @ weights
            mine.append(weights)
        for i, gradient in enumerate(as_list(pull(*x, *mine))):
            if own.inputs[i].is_configuration:
                gradient = tangent_map(own.model, x[i]).T @ gradient
            results[i].append(gradient)
    wide = [ca.horzcat(*parts) for parts in results]
    return ca.Function(name, [*x, *y, *w], wide, inames, onames, opts)


def second_derivatives(
    own: Operation, hessian: Any, jacobian: Any, name: str, inames: Any, onames: Any, opts: Any
) -> ca.Function:
    """Derivatives by coordinates and weights of weights times derivatives in tangent spaces."""
    x, n = _symbols(own.inputs), len(own.inputs)
    w = [ca.MX.sym("w", *matrix(y.tangent)) for y in own.outputs]
    g = [ca.MX.sym("g", *matrix(a.tangent)) for a in own.inputs]
    second, first = as_list(hessian(*x, *w)), as_list(jacobian(*x))
    results = []
    for i in range(n):
        for j, other in enumerate(own.inputs):
            block = second[i * n + j]
            if other.is_configuration:
                block = block @ tangent_map(own.model, x[j])
            results.append(block)
        results += [first[k * n + i].T for k in range(len(w))]
    return ca.Function(name, [*x, *w, *g], results, inames, onames, opts)


def _numbers(memory: Any, shape: tuple[int, int]) -> Any:
    """What a buffer of CasADi holds; where it has none, all are zero, or there are none."""
    return np.zeros(shape[0] * shape[1]) if memory is None else np.frombuffer(memory)


def _patterns(function: ca.Function) -> list[ca.Sparsity]:
    """Of all results."""
    return [function.sparsity_out(k) for k in range(function.n_out())]


def _wide(y: Argument, count: int) -> tuple[int, int]:
    rows, columns = matrix(y.shape)
    return rows, columns * count


def _symbols(arguments: tuple[Argument, ...]) -> list[Any]:
    return [ca.MX.sym(x.name, *matrix(x.shape)) for x in arguments]


def as_list(found: Any) -> list[Any]:
    """Results of a function of CasADi, also if there is one."""
    return list(found) if isinstance(found, (list, tuple)) else [found]
