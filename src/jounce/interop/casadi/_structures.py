"""Plans as the structures of external.c."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np

from jounce import _core
from jounce.interop._bridge import entry
from jounce.interop._bridge.functions import c_options
from jounce.interop.casadi._plan import ONE, Plan, Step

__all__ = ["as_c"]

_Integers = ctypes.POINTER(ctypes.c_longlong)


class _Step(ctypes.Structure):
    """``plan_step`` of external.c."""

    _fields_ = (
        ("kernel", ctypes.c_void_p),
        ("call", entry.Call),
        ("n_inputs", ctypes.c_longlong),
        ("n_outputs", ctypes.c_longlong),
        ("slots", _Integers),
        ("inputs", _Integers),
        ("outputs", _Integers),
    )


class _Plan(ctypes.Structure):
    """``plan`` of external.c."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("model", ctypes.c_void_p),
        ("size", ctypes.c_longlong),
        ("n_in", ctypes.c_longlong),
        ("n_out", ctypes.c_longlong),
        ("n_steps", ctypes.c_longlong),
        ("sparsity_in", ctypes.POINTER(_Integers)),
        ("sparsity_out", ctypes.POINTER(_Integers)),
        ("arguments", _Integers),
        ("order", _Integers),
        ("steps", ctypes.POINTER(_Step)),
        ("first", ctypes.POINTER(_Integers)),
        ("a", _Integers),
        ("b", _Integers),
        ("factor", ctypes.POINTER(ctypes.c_double)),
    )


def as_c(plan: Plan) -> tuple[_Plan, list[Any]]:
    """A plan as C has it, and what it points to."""
    kept: list[Any] = []
    dense = [ca.Sparsity.dense(*shape) for shape in plan.shapes]
    places = [*plan.inputs, *plan.weights]
    begins = itertools.accumulate((place.size for place in places), initial=1)
    counts = [len(terms.entry) for terms in plan.terms]
    offsets = itertools.accumulate(counts, initial=0)
    first = [
        at + np.searchsorted(terms.entry, np.arange(pattern.nnz() + 1))
        for at, terms, pattern in zip(offsets, plan.terms, plan.patterns, strict=False)
    ]
    steps = (_Step * len(plan.steps))(*(_step(step, kept) for step in plan.steps))
    kept.append(steps)
    columns = [np.concatenate([terms[k] for terms in plan.terms]) for k in (2, 3, 4)]
    factor = np.ascontiguousarray(columns[2], float)
    kept.append(factor)
    return _Plan(
        run=entry.run_address(),
        model=_core.model_address(plan.own.model),
        size=plan.size,
        n_in=len(places),
        n_out=len(plan.patterns),
        n_steps=len(plan.steps),
        sparsity_in=_rows([_compressed(pattern) for pattern in dense], kept),
        sparsity_out=_rows([_compressed(pattern) for pattern in plan.patterns], kept),
        arguments=_integers(list(begins), kept),
        order=_integers(np.concatenate([_by_rows(shape) for shape in plan.shapes]), kept),
        steps=steps,
        first=_rows(first, kept),
        a=_integers(columns[0], kept),
        b=_integers(columns[1], kept),
        factor=factor.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
    ), kept


def _step(step: Step, kept: list[Any]) -> _Step:
    """A kernel to run, with the addresses of constants."""
    own, call = step.operation, c_options(step.operation, kept)
    call.states, call.threads = step.states or 1, 1
    places = []
    for x, given in zip(own.inputs, step.inputs, strict=True):
        fixed = given.dtype.kind != "i"
        places.append(-1 if fixed else int(given.flat[0]) if given.size else ONE)
        if fixed:
            constants = np.ascontiguousarray(given, float)
            kept.append(constants)
            call.inputs[x.position] = constants.ctypes.data
            size = int(np.prod(x.shape, dtype=int))
            call.input_steps[x.position] = size if given.ndim > len(x.shape) else 0
    for y in own.outputs:
        call.output_steps[y.position] = int(np.prod(y.shape, dtype=int))
    return _Step(
        kernel=entry.kernel_address(own.kernel),
        call=call,
        n_inputs=len(own.inputs),
        n_outputs=len(own.outputs),
        slots=_integers([x.position for x in own.inputs], kept),
        inputs=_integers(places, kept),
        outputs=_integers([p.flat[0] if p.size else ONE for p in step.outputs], kept),
    )


def _by_rows(shape: tuple[int, int]) -> Any:
    """For each entry of a matrix, counted by rows, which one it is by columns."""
    return np.arange(shape[0] * shape[1]).reshape(shape[::-1]).T.ravel()


def _compressed(pattern: ca.Sparsity) -> Sequence[int]:
    """A pattern as CasADi writes it in C: rows, columns, where columns begin, row of each."""
    return [pattern.size1(), pattern.size2(), *pattern.colind(), *pattern.row()]


def _integers(values: Any, kept: list[Any]) -> Any:
    array = np.ascontiguousarray(values, np.int64)
    kept.append(array)
    return array.ctypes.data_as(_Integers)


def _rows(values: Sequence[Any], kept: list[Any]) -> Any:
    array = (_Integers * max(1, len(values)))(*(_integers(row, kept) for row in values))
    kept.append(array)
    return array
