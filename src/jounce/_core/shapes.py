"""Shapes of what kernels take and give, for functions in Python that call them more than once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.out import Given, Shape
from jounce._types import ArrayLike

__all__ = ["KernelCall"]

_signature = cache(_core.signature)


class KernelCall(Given):
    """A call with the arguments of a kernel, whose results have its axes and others."""

    def __init__(
        self, function: str, kernel: str, model: Any, threads: int, **arrays: ArrayLike | None
    ) -> None:
        super().__init__(function, model, threads, **arrays)
        self._own = _signature(kernel)
        self._order = 0
        for name, dims in self._own["input_dims"].items():
            value = arrays.get(name)
            if value is not None and dims and dims[0][0] == "order":
                self._order = _rows(value, len(dims)) - dims[0][1]

    def own_axes(self, name: str) -> Shape:
        """Axes of an argument after the leading ones."""
        return self._sizes(self._own["input_dims"][name])

    def result_axes(self) -> tuple[Shape, ...]:
        """Axes of the kernel's results after the leading ones."""
        return tuple(map(self._sizes, self._own["output_dims"].values()))

    def check(self) -> None:
        """Nothing: the kernel checks what it gets, a portion at a time."""

    def _sizes(self, dims: Sequence[tuple[str, int, int]]) -> Shape:
        counts = {"number": 0, "order": self._order}
        sizes = ((counts.get(of, getattr(self.model, of, 0)), plus, k) for of, plus, k in dims)
        return tuple(count * factor + plus for count, plus, factor in sizes)


def _rows(value: ArrayLike, rank: int) -> int:
    """The size of the first own axis of an argument; what has none is refused by the call."""
    try:
        return int(np.asarray(value).shape[-rank])
    except (IndexError, ValueError):
        return 0
