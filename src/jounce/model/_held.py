"""What becomes of a model's constraints when the model is edited.

This room does not know the kinds of constraints; they say themselves which frames and joints they
hold, and what they are under other names.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jounce._types import Array
from jounce.errors import ModelError
from jounce.model._checks import building, item_tuple

__all__ = ["built_anew", "mounted", "named", "still_held", "with_locked"]

_SAY = ("frame_names", "joint_names", "renamed", "with_locked")
"""What all constraints can be asked for."""


def built_anew(constraints: Any) -> tuple[Any, ...]:
    """Constraints by their constructors, which check them: a pickle may bring anything.

    Raises:
        ModelError: some are none.
    """
    items = item_tuple("constraints", constraints, "constraints")
    return tuple(_built_anew(item) for item in items)


def _built_anew(item: Any) -> Any:
    if isinstance(item, type) or not all(hasattr(type(item), name) for name in _SAY):
        raise ModelError(f"constraints must be such as jounce.Weld, got {reprlib.repr(item)}")
    with building(type(item)):
        return replace(item)


def named(constraints: Iterable[Any], body_names: Sequence[str]) -> list[Any]:
    """Constraints that call bodies by their names, which do not change, not by their index."""

    def name(frame: str | int) -> str:
        return body_names[frame] if isinstance(frame, int) else frame

    return [item.renamed(name, str) for item in constraints]


def mounted(constraints: Iterable[Any], prefix: str, world: str | None) -> list[Any]:
    """Those of a model that is mounted at a frame, which is its world from now on."""
    return [
        item.renamed(lambda name: prefix + name, lambda joint: prefix + joint, world)
        for item in constraints
    ]


def with_locked(constraints: Iterable[Any], locked: Mapping[str, Array]) -> list[Any]:
    """With joints that are constant; None stands for what holds no joint any more."""
    items = (item.with_locked(locked) for item in constraints)
    return [item for item in items if item is not None]


def still_held(
    constraints: Iterable[Any], frames: Mapping[str, Any], joints: set[str]
) -> list[Any]:
    """Those whose frames are there and on different bodies, and whose joints are there."""

    def holds(item: Any) -> bool:
        if not all(name in frames for name in item.frame_names):
            return False
        bodies = [frames[name].body for name in item.frame_names]
        if len(bodies) == 1:
            bodies.append(-1)
        return len(set(bodies)) == len(bodies) and joints.issuperset(item.joint_names)

    return [item for item in constraints if holds(item)]
