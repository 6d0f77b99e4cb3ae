"""Exceptions and warnings of the package, all in one place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "WORLD_IS_NO_BODY",
    "ModelError",
    "ModelWarning",
    "SingularError",
    "close_names",
    "unknown_name",
]


class ModelError(ValueError):
    """A model or a model file that cannot be used; the message says what, where and why."""


class Error(Exception):
    """Base of every exception of the package."""


class ArgumentError(Error, ValueError):
    """An argument of a wrong shape, dtype or value."""


class ArgumentTypeError(Error, TypeError):
    """An argument of a wrong type, or one that is missing or unknown."""


class ModelWarning(UserWarning):
    """A model that loads but holds something no real robot can have."""


class SingularError(ValueError):
    """The (articulated) inertia seen by a joint is zero, so its acceleration is undefined."""


WORLD_IS_NO_BODY = (
    "the world is not a body: poses, twists and Jacobians are relative to it, and bodies and "
    "frames have names or indices from 0"
)


def close_names(name: object, known: Iterable[str], most: int = 3) -> list[str]:
    """The known names that are most like this one, whatever their case.

    >>> close_names("ELBOW", ["hand", "elbow_2", "elbow"])
    ['elbow', 'elbow_2']
    """
    wanted = str(name).lower()
    lower: dict[str, list[str]] = {}
    for candidate in known:
        lower.setdefault(candidate.lower(), []).append(candidate)
    if len(lower) > 2000:  # the comparison with all of them would take seconds
        return lower.get(wanted, [])[:most]
    close = difflib.get_close_matches(wanted, lower, n=most)
    return [candidate for key in close for candidate in lower[key]][:most]


def unknown_name(kind: str, name: object, known: Iterable[str]) -> KeyError:
    """Build the KeyError for an unknown name; it lists the closest known ones.

    >>> unknown_name("body", "Hnd", ["arm", "hand"]).args[0]
    "unknown body 'Hnd'; did you mean 'hand'?"
    """
    names = list(known)
    close = close_names(name, names)
    if close:
        hint = "did you mean " + " or ".join(repr(c) for c in close) + "?"
    elif "body" in kind and str(name).lower() in ("world", "universe"):
        hint = WORLD_IS_NO_BODY
    elif len(names) <= 12:
        hint = "known: " + ", ".join(repr(n) for n in names) if names else "there are none"
    else:
        hint = f"there are {len(names)}, the first are " + ", ".join(repr(n) for n in names[:8])
    return KeyError(f"unknown {kind} {name!r}; {hint}")


REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")
"""Names of the four representations of a twist; the position is the number the core uses."""

_NAMES_ELSEWHERE = {
    "LOCAL": "body",
    "BODY_FIXED": "body",
    "WORLD": "spatial",
    "INERTIAL_FIXED": "spatial",
    "LOCAL_WORLD_ALIGNED": "hybrid",
    "MIXED": "hybrid",
}


def unknown_representation(argument: str, name: object) -> ArgumentError:
    """Build the error for what is no representation; it says what other libraries call ours."""
    known = ", ".join(repr(n) for n in REPRESENTATIONS)
    message = f"{argument}: expected one of {known}, got {name!r}."
    alias = str(name).rpartition(".")[2].upper()  # also pinocchio.ReferenceFrame.LOCAL
    if alias in _NAMES_ELSEWHERE:
        message += f" {alias} is called {_NAMES_ELSEWHERE[alias]!r} here."
    elsewhere = ", ".join(f"{theirs} = {ours!r}" for theirs, ours in _NAMES_ELSEWHERE.items())
    return ArgumentError(
        f"{message} Pinocchio's and iDynTree's names: {elsewhere};"
        " MuJoCo's free-joint velocity = 'mixed'."
    )
