"""Operations on arrays of NumPy, by the functions of Python: with their checks and messages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jounce import _core
from jounce._types import Array
from jounce.interop._bridge.functions import Operation
from jounce.interop._bridge.partials import closed_forms, directional
from jounce.lie.twists import REPRESENTATIONS

__all__ = ["direct", "evaluate", "partials"]


def evaluate(own: Operation, arrays: Sequence[Any]) -> tuple[Array, ...]:
    """Results of an operation; leading axes broadcast."""
    run, names, options = _prepared(own)
    if options is None:
        found = run(own.model, *arrays)
    else:
        found = run(own.model, **dict(zip(names, arrays, strict=True)), **options)
    return found if isinstance(found, tuple) else (found,)


def direct(own: Operation) -> Callable[..., Any] | None:
    """The function itself, ``run(model, *inputs, out=...)``, if it makes a vector of vectors."""
    run, _, options = _prepared(own)
    vectors = all(len(x.shape) == 1 for x in (*own.inputs, *own.outputs))
    return run if options is None and vectors and len(own.outputs) == 1 else None


@functools.lru_cache(maxsize=4096)
def _prepared(
    own: Operation,
) -> tuple[Callable[..., Any], tuple[str, ...], dict[str, Any] | None]:
    """The function of a kernel, the names of what it is given, and its options, if it has some."""
    signature = _core.signature(own.kernel)
    told, known = own.options, set(signature["options"])
    options: dict[str, Any] = {"threads": told.threads}
    if "body" in known and told.frame >= 0:
        options["body"] = list(own.model.frames)[told.frame]
    if "twist" in known:
        options["twist"] = REPRESENTATIONS[told.twist]
    if "prescribed" in known:
        options["prescribed"] = np.frombuffer(told.prescribed or b"", bool)
    if "tableau" in known:
        options["tableau"] = np.frombuffer(told.tableau or b"")
    names = tuple(x.name for x in own.inputs)
    plain = not known and told.threads == 1 and names == tuple(signature["inputs"])
    return _core.raw(own.kernel, own.function), names, None if plain else options


def partials(own: Operation, arrays: Sequence[Array], by: str) -> list[Array]:
    """Derivatives of all results by one input, in tangent spaces: its axes come last."""
    closed = closed_forms(own).get(by)
    if closed is not None:
        given = {x.name: array for x, array in zip(own.inputs, arrays, strict=True)}
        every = [given.get(x.name, np.zeros(x.shape)) for x in closed.operation.inputs]
        found = evaluate(closed.operation, every)
        return [found[at] for at in closed.blocks]
    along, skipped = directional(own, by)
    x = next(x for x in own.inputs if x.name == by)
    count = int(np.prod(x.tangent, dtype=int))
    axes = np.eye(count).reshape((count, *x.tangent))
    lifted = [
        np.expand_dims(array, array.ndim - len(own_x.shape))
        for array, own_x in zip(arrays, own.inputs, strict=True)
    ]
    changes = evaluate(along, [*lifted, axes])[skipped:]
    results = []
    for change, y in zip(changes, own.outputs, strict=True):
        lead = change.shape[: change.ndim - 1 - len(y.tangent)]
        last = np.moveaxis(change, len(lead), -1)
        results.append(last.reshape((*lead, *y.tangent, *x.tangent)))
    return results
