"""Results that cannot fit are refused before anything is allocated.

A result of 64 MB or more is compared with the memory that is available: what the system can still
give without taking it from other programs, and what the control group of the process allows.
"""

from __future__ import annotations

import os
from pathlib import Path

from jounce._core import clear_cache
from jounce.errors import TooLargeError

__all__ = ["LARGE", "available", "require"]

LARGE = 2**26
"""Bytes of results that are so few that nobody looks whether they fit."""

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "total_inactive_file",
    ),
)
"""Limit, usage, and the name of what is used but given back on demand, in both versions."""


def require(function: str, results: float, needed: float) -> None:
    """Refuse a call whose results do not fit.

    Args:
        function: name of the function.
        results: bytes of its results.
        needed: bytes of what has to be allocated, results included.

    Raises:
        TooLargeError: there is less memory than that; the message says both sizes.
    """
    if needed < LARGE:
        return
    have = available()
    if have is not None and needed > have:
        clear_cache()
        have = available()
    if have is not None and needed > have:
        part = "" if needed == results else f", {_text(needed)} with its arguments,"
        raise TooLargeError(
            f"the result of {function}() would take {_text(results)}{part} and "
            f"{_text(have)} of memory are available; call it with fewer states at a time"
        )


def available() -> int | None:
    """Bytes that this process can still allocate, or None where the system does not tell."""
    found = [x for x in (_system(), *map(_group, _CGROUPS)) if x is not None]
    return max(0, min(found)) if found else None


def _system() -> int | None:
    """Memory of the machine that is free or can be freed, with swap; all it has if that is told."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = {key: int(rest.split()[0]) for key, rest in (x.split(":", 1) for x in lines)}
        return 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _group(files: tuple[str, str, str]) -> int | None:
    """What the control group of the process still allows."""
    limit, usage, cached = files
    try:
        stat = Path(limit).with_name("memory.stat").read_text().split()
        kept = int(dict(zip(stat[::2], stat[1::2], strict=True))[cached])
        return int(Path(limit).read_text()) - int(Path(usage).read_text()) + kept
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
