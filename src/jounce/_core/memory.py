"""Results that cannot fit are refused before anything is allocated.

A result of 64 MB or more is compared with the memory that is available: what the system can still
give without taking it from other programs, and what the control groups and the limit of the process
allow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from jounce._core import clear_cache
from jounce.errors import TooLargeError

__all__ = ["LARGE", "available", "bytes_of", "physical", "require", "require_argument"]

_MOST = 2.0**63
"""No array has as many bytes, even if one of its axes is empty."""

LARGE = 2**26
"""Bytes of results that are so few that nobody looks whether they fit."""

_ROOT = Path("/")
"""Where the system's files are; a test puts others there."""


class _Hierarchy(NamedTuple):
    """Where a version of control groups keeps what, below each group's folder."""

    folder: str
    limit: str
    usage: str
    cached: str
    """Name, in ``memory.stat``, of what is used but given back on demand."""


_SECOND = _Hierarchy("sys/fs/cgroup", "memory.max", "memory.current", "inactive_file")
_FIRST = _Hierarchy(
    "sys/fs/cgroup/memory",
    "memory.limit_in_bytes",
    "memory.usage_in_bytes",
    "total_inactive_file",
)


def bytes_of(shape: Iterable[int], itemsize: int = 8) -> float:
    """Bytes of an array; as if no axis were empty where there can be none of this shape."""
    sizes = tuple(shape)
    spanned = float(itemsize * math.prod(filter(None, sizes)))
    return spanned if spanned >= _MOST or 0 not in sizes else 0.0


def require(
    function: str,
    results: float,
    needed: float,
    advice: str = "call it with fewer states at a time",
) -> None:
    """Refuse a call whose results do not fit.

    Args:
        function: name of the function.
        results: bytes of its results.
        needed: bytes of what has to be allocated, with copies of arguments and the workspace.
        advice: what to do instead.

    Raises:
        TooLargeError: there is less memory than that; the message says both sizes.
    """
    have = _missing(needed)
    if have is not None:
        part = "" if needed == results else f", {_text(needed)} with its arguments and workspace,"
        raise TooLargeError(
            f"the result of {function}() would take {_text(results)}{part} and "
            f"{_text(have)} of memory are available; {advice}"
        )


def require_argument(name: str, size: float) -> None:
    """Refuse an argument whose doubles, of this size in bytes, do not fit.

    Raises:
        TooLargeError: there is less memory than that; the message says both sizes.
    """
    have = _missing(size)
    if have is not None:
        raise TooLargeError(
            f"{name} would take {_text(size)} and {_text(have)} of memory are available; "
            "call it with fewer states at a time"
        )


def _missing(needed: float) -> int | None:
    """Bytes that are available, if these are less than what is needed."""
    if needed < LARGE:
        return None
    have = available()
    if have is not None and needed > have:
        clear_cache()
        have = available()
    return have if have is not None and needed > have else None


def available() -> int | None:
    """Bytes that this process can still allocate, or None where the system does not tell."""
    return _least(physical(), _process())


def physical() -> int | None:
    """The same without regard to addresses, which arrays in files need, too."""
    return _least(_system(), *_groups())


def _least(*limits: int | None) -> int | None:
    found = [x for x in limits if x is not None]
    return max(0, min(found)) if found else None


def _system() -> int | None:
    """Memory of the machine that is free or can be freed, with swap; all it has if that is told."""
    try:
        lines = (_ROOT / "proc/meminfo").read_text().splitlines()
        kilobytes = {key: int(rest.split()[0]) for key, rest in (x.split(":", 1) for x in lines)}
        return 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _process() -> int | None:
    """What the limit of the process's addresses leaves, if it has one (``ulimit -v``)."""
    try:
        import resource  # not on every system

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int((_ROOT / "proc/self/statm").read_text().split()[0])
        used = pages * os.sysconf("SC_PAGE_SIZE")
        return None if limit == resource.RLIM_INFINITY else limit - used
    except (ImportError, AttributeError, OSError, ValueError, IndexError):
        return None


def _groups() -> Iterator[int | None]:
    """What the control groups of the process still allow: its own and all around it.

    The path of its own may be one of the machine while a container sees its group as the root:
    what is not there is left out, the root never.
    """
    try:
        lines = (_ROOT / "proc/self/cgroup").read_text(errors="surrogateescape").splitlines()
    except OSError:
        lines = []
    own = {_SECOND: PurePosixPath(), _FIRST: PurePosixPath()}
    for line in lines:
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        inside = PurePosixPath(path.lstrip("/"))
        if ".." in inside.parts:  # outside of what is mounted here
            continue
        if number == "0" and not controllers:
            own[_SECOND] = inside
        elif "memory" in controllers.split(","):
            own[_FIRST] = inside
    for kind, group in own.items():
        for at in (group, *group.parents):
            yield _allowed(_ROOT / kind.folder / at, kind)


def _allowed(group: Path, kind: _Hierarchy) -> int | None:
    """What is left of a group's limit; None if it has none."""
    try:
        stat = (group / "memory.stat").read_text().split()
        kept = int(dict(zip(stat[::2], stat[1::2], strict=True))[kind.cached])
        limit, used = (int((group / name).read_text()) for name in (kind.limit, kind.usage))
        return limit - used + kept
    except (OSError, ValueError, KeyError):  # no limit is written "max"
        return None


def _text(size: float) -> str:
    """Give a size in words.

    Examples:
        >>> _text(4.7e12)
        '4.7 TB'
    """
    for unit in ("MB", "GB", "TB", "PB"):
        size /= 1000 if unit != "MB" else 10**6
        if size < 999.5:
            return f"{size:.3g} {unit}"
    return f"{size:.2g} PB"
