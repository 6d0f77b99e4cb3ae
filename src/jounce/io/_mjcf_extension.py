"""Read what `jounce.save` keeps in a custom text of an MJCF file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from jounce.errors import ModelError
from jounce.io._extension import changed
from jounce.model.joints import Joint

__all__ = ["EQUALITY", "TEXT", "Extension", "is_mere_part", "read_extension", "restored"]

TEXT = "jounce"
"""Name of the text: JSON, ``{"joints": [...], "names": {...}, "constraints": [...]}``.

Each of the joints has a "name", "parts" (the joints of MJCF that it stands for), "fields" and
"placed" if it is a free joint with a placement; "names" are those of bodies and sites that are
called otherwise in MJCF; "constraints" are those of the model, if it has any.
"""

EQUALITY = "jounce:"
"""Names of equalities, and of sites for them, that stand for parts of a model begin like this."""


class Extension(NamedTuple):
    """What the text says."""

    joints: dict[str, dict[str, Any]]
    """By the name of the first part of each."""
    names: dict[str, str]
    """Names of bodies and frames by those in the file."""
    constraints: Any = None
    """The constraints as data, if the text has them."""


def read_extension(compiled: Any) -> Extension:
    """Find and read the text of a `mujoco.MjModel`."""
    names, texts = bytes(compiled.names), bytes(compiled.text_data)
    for k in range(int(compiled.ntext)):
        if _string(names, compiled.name_textadr[k]) == TEXT:
            return _parsed(_string(texts, compiled.text_adr[k]))
    return Extension({}, {})


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")


def _parsed(text: str) -> Extension:
    try:
        content = json.loads(text)
        joints = {str(entry["parts"][0]): entry for entry in content["joints"]}
        names = {str(name): str(new) for name, new in content["names"].items()}
        good = all(isinstance(entry["fields"], dict) for entry in joints.values())
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        good = False
    if not good:
        raise ModelError(f"the custom text {TEXT!r} is not what jounce writes")
    return Extension(joints, names, content.get("constraints"))


def is_mere_part(extension: Extension, name: str) -> bool:
    """Whether a joint of the file is one of several that stand for a joint of another name."""
    parts = ((x.get("name"), x["parts"]) for x in extension.joints.values())
    return any(name in several and name != whole for whole, several in parts)


def restored(joints: Sequence[Joint], extension: Extension) -> tuple[list[Joint], bool]:
    """Return the joints of a body as they were saved, and whether a free one has a placement.

    Raises:
        ModelError: the file has other joints than the text speaks of.
    """
    out: list[Joint] = []
    placed = False
    left = list(joints)
    while left:
        entry = extension.joints.get(left[0].name)
        if entry is None:
            out.append(left.pop(0))
            continue
        parts, name, fields = entry["parts"], str(entry.get("name")), entry["fields"]
        if [joint.name for joint in left[: len(parts)]] != parts:
            raise ModelError(f"joint {name!r}: expected the parts {parts} on one body")
        plain = left[0] if "type" not in fields or len(parts) == 1 else Joint(fields["type"])
        try:
            out.append(replace(changed(plain, fields), name=name))
        except ModelError as error:
            raise ModelError(f"joint {name!r}: {error}") from None
        placed = placed or bool(entry.get("placed"))
        del left[: len(parts)]
    return out, placed
