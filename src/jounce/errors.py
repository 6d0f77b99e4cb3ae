"""Exceptions and warnings of the package, all in one place."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["ModelError", "ModelWarning", "SingularError", "unknown_name"]


class ModelError(ValueError):
    """A model or a model file that cannot be used; the message says what, where and why."""


class ModelWarning(UserWarning):
    """A model that loads but holds something no real robot can have."""


class SingularError(ValueError):
    """The (articulated) inertia seen by a joint is zero, so its acceleration is undefined."""


def unknown_name(kind: str, name: object, known: Iterable[str]) -> KeyError:
    """Build the KeyError for an unknown name; it lists the closest known ones.

    >>> unknown_name("body", "hnd", ["arm", "hand"]).args[0]
    "unknown body 'hnd'; did you mean 'hand'?"
    """
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=3)
    if close:
        hint = "did you mean " + " or ".join(repr(c) for c in close) + "?"
    elif len(names) <= 12:
        hint = "known: " + ", ".join(repr(n) for n in names) if names else "there are none"
    else:
        hint = f"there are {len(names)}, the first are " + ", ".join(repr(n) for n in names[:8])
    return KeyError(f"unknown {kind} {name!r}; {hint}")
