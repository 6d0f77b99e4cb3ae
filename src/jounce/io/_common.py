"""What the loaders share."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ModelWarning
from jounce.io._findings import Finding, listed

__all__ = [
    "MIMIC_CHOICES",
    "blamed",
    "displacement",
    "named",
    "rings",
    "warn",
    "warn_of_findings",
]


T = TypeVar("T")

MIMIC_CHOICES = ("independent", "locked", "coupled")


def displacement(
    kind: str,
    axis: ArrayLike,
    position: float,
    anchor: ArrayLike = (0.0, 0.0, 0.0),
) -> Array:
    """Motion of a body across its joint, in the body's own frame; the axis need not be a unit.

    Joints without a single position (spherical ones and so on) stay where they are.
    """
    twist = np.zeros(6)
    if kind in ("revolute", "continuous", "prismatic"):
        along = position * np.asarray(axis, float) / np.linalg.norm(axis)
        if kind == "prismatic":
            twist[3:] = along
        else:
            twist[:3] = along
            twist[3:] = np.cross(np.asarray(anchor, float), along)
    return np.asarray(lie.exp(twist), float)


def rings(leaders: Mapping[str, str]) -> Iterator[str]:
    """One joint of each ring of joints that follow each other; itself, of one that follows itself.

    Args:
        leaders: of joints that follow another one, which it is.
    """
    walk_of: dict[str, int] = {}
    for number, name in enumerate(leaders):
        while name in leaders and name not in walk_of:
            walk_of[name] = number
            name = leaders[name]
        if walk_of.get(name) == number:
            yield name


def blamed(message: str, **places: Iterable[tuple[str, T]]) -> T | None:
    """Return what a message is about that begins with a kind and a name, None if nothing.

    Args:
        message: such as "joint 'knee': ...".
        places: of each kind, names and what has them.
    """
    for kind, pairs in places.items():
        for name, place in pairs:
            if message.startswith(f"{kind} {name!r}"):
                return place
    return None


def named(name: str, message: str) -> str:
    """Put the name of a file before a message that does not begin with it."""
    return message if message.startswith(f"{name}:") else f"{name}: {message}"


def warn(message: str) -> None:
    """Issue a `ModelWarning` that points at the line where the user called the package."""
    level = 1
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("jounce."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ModelWarning, stacklevel=level)


def warn_of_findings(name: str, findings: Sequence[Finding]) -> None:
    """Issue one warning for a file, unless all that was found is a matter of style."""
    serious = [finding for finding in findings if finding.kind != "style"]
    if serious:
        text = named(name, listed(serious))
        end = "" if text.endswith("?") else "."
        warn(f"{text}{end} strict=True refuses such a file.")
