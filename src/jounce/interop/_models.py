"""What the readers of other libraries' models share."""

from __future__ import annotations

import numpy as np

from jounce._types import Array
from jounce.errors import ArgumentTypeError

__all__ = ["Names", "field_value", "require_peer"]

_UNLIMITED = 1e300
"""Beyond this a limit is none: libraries write the largest double."""


def require_peer(value: object, name: str, kind: str, attribute: str) -> None:
    """Require a model of another library, known by an attribute that only it has."""
    if not hasattr(value, attribute):
        raise ArgumentTypeError(f"{name} must be a {kind}, got {type(value).__name__}")


def field_value(values: Array) -> float | tuple[float, ...]:
    """Numbers as a field of a `Joint`: one if all are the same."""
    unlimited = np.abs(values) > _UNLIMITED
    numbers = tuple(np.where(unlimited, np.copysign(np.inf, values), values).tolist())
    return numbers[0] if len(set(numbers)) == 1 else numbers


class Names:
    """Names of bodies and frames that are taken already."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> bool:
        """Take a name; False if it is taken."""
        free = name not in self._taken
        self._taken.add(name)
        return free

    def fresh(self, name: str) -> str:
        """Take a name, or one like it."""
        while not self.take(name):
            name += "_"
        return name
