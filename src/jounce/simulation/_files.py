"""Simulated motions in files of NumPy; nothing in them is unpickled."""

from __future__ import annotations

import os
from typing import Any
from zipfile import BadZipFile

import numpy as np

from jounce._types import Array
from jounce.errors import ArgumentError, MissingFileError
from jounce.model import Model
from jounce.simulation.arguments import increasing_times
from jounce.simulation.dense import NESTED, SERIES, Dense
from jounce.simulation.events import EventRecord

__all__ = ["read", "write"]

_DENSE = ("kind", "first", "end", "t", "h", "q", "v")
"""What is kept of a dense output, beside the coefficients."""

_NOT_OURS = (KeyError, ValueError, TypeError, IndexError, OSError, EOFError, BadZipFile)


def write(
    path: str | os.PathLike[str],
    model: Model,
    parts: dict[str, Any],
    events: tuple[EventRecord, ...],
    failures: tuple[Any, ...],
    dense: Dense | None,
    axes: int,
) -> None:
    """Write a motion with `axes` axes of the batch, and the names of the joints that move."""
    place = _place(path)
    columns: dict[str, Any] = {
        "joints": np.array(model.joint_names, str),
        "event_names": np.array([e.name for e in events], str),
        "event_places": np.array(
            [(e.event, e.direction, *e.state) for e in events], np.int64
        ).reshape(len(events), 2 + axes),
        "event_t": np.array([e.t for e in events], float),
        "event_q": np.array([e.q for e in events], float).reshape(len(events), model.nq),
        "event_v": np.array([e.v for e in events], float).reshape(len(events), model.nv),
        "failure_places": np.array([e.state for e in failures], np.int64).reshape(
            len(failures), axes
        ),
        "failure_t": np.array([e.t for e in failures], float),
        "failure_messages": np.array([e.message for e in failures], str),
    }
    if dense is not None:
        kept = dense.alone()
        assert not callable(kept.made)
        columns |= {f"dense_{name}": getattr(kept, name) for name in _DENSE}
        columns |= {f"dense_made_{k}": x for k, x in enumerate(kept.made)}
    try:
        np.savez_compressed(place, **parts, **columns)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError(f"there is no folder for {place!r}") from None


def read(path: object, model: Model) -> dict[str, Any]:
    """What `write` wrote, after looking whether it is a motion of this robot."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(_place(path)):
        raise MissingFileError(f"there is no file {path!r}")
    place = _place(path)
    try:
        with open(place, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            data: dict[str, Any] = {key: arrays[key] for key in arrays.files}
        t, q, v = (np.asarray(data[key], float) for key in "tqv")
        words = {"method": str(data["method"]), "interrupted": bool(data["interrupted"])}
        joints, events = list(map(str, data["joints"])), _events(data)
        ended, failures = np.asarray(data["ended"], float), _failures(data)
        asked = increasing_times(data["control_t"]) if "control_t" in data else None
    except _NOT_OURS as error:
        raise ArgumentError(f"{place!r} holds no motion: {type(error).__name__}, {error}") from None
    if joints != list(model.joint_names):
        raise ArgumentError(
            f"{place!r} holds a motion of another robot, with the joints {_few(joints)}; those of "
            f"the model are {_few(list(model.joint_names))}"
        )
    if not _fits(t, q, model.nq) or not _fits(t, v, model.nv) or q.shape[:-1] != v.shape[:-1]:
        raise ArgumentError(
            f"{place!r} holds no motion: t, q and v must be (T,), (..., T, {model.nq}) and "
            f"(..., T, {model.nv}), got {t.shape}, {q.shape} and {v.shape}"
        )
    try:
        dense = _dense(model, data, q)
    except _NOT_OURS as error:
        raise ArgumentError(f"{place!r} holds no motion: {type(error).__name__}, {error}") from None
    found = {"t": t, "q": q, "v": v, **words, "events": events, "ends": ended}
    return {**found, "failures": failures, "kept": dense, "control_t": asked}


def _place(path: str | os.PathLike[str]) -> str:
    """Where a motion is: NumPy adds the ending to names that have none."""
    name = os.fspath(path)
    return name if name.endswith(".npz") else f"{name}.npz"


def _events(data: dict[str, Any]) -> tuple[EventRecord, ...]:
    columns = (data[f"event_{key}"] for key in ("names", "places", "t", "q", "v"))
    return tuple(
        EventRecord(
            str(name), int(place[0]), tuple(map(int, place[2:])), float(t), q, v, int(place[1])
        )
        for name, place, t, q, v in zip(*columns, strict=True)
    )


def _failures(data: dict[str, Any]) -> list[tuple[tuple[int, ...], float, str]]:
    columns = (data[f"failure_{key}"] for key in ("places", "t", "messages"))
    return [
        (tuple(map(int, place)), float(t), str(text))
        for place, t, text in zip(*columns, strict=True)
    ]


def _dense(model: Model, data: dict[str, Any], q: Array) -> Dense | None:
    """The dense output, if there is one and it fits.

    Raises:
        ArgumentError: it does not.
    """
    if "dense_kind" not in data:
        return None
    first, end, t, h, begin, v = (data[f"dense_{name}"] for name in _DENSE[1:])
    made = [data[key] for key in sorted(data) if key.startswith("dense_made_")]
    kind, states, steps = str(data["dense_kind"]), int(np.prod(q.shape[:-2])), len(t)
    widths = {NESTED: ((model.nv, 2 * model.nv),), SERIES: ((model.nq,), (model.nv,))}[kind]
    fits = end.shape == (states,) and first.shape == (states + 1,)
    fits = fits and first[0] == 0 and first[-1] == steps and bool((np.diff(first) >= 0).all())
    fits = fits and h.shape == (steps,) and begin.shape == (steps, model.nq)
    fits = fits and v.shape == (steps, model.nv) and len(made) == len(widths)
    for x, some in zip(made, widths, strict=False):
        fits = fits and x.ndim == 3 and len(x) == steps and x.shape[2] in some
    if not fits:
        raise ArgumentError("its dense output has other shapes")
    return Dense(model, kind, first, end, t, h, begin, v, tuple(made))


def _fits(t: Array, x: Array, size: int) -> bool:
    return t.ndim == 1 and x.ndim >= 2 and x.shape[-2:] == (len(t), size)


def _few(names: list[str]) -> str:
    return ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
