"""Where results go: memory, a memory-mapped ``.npy`` file, or a zarr folder.

Beside a file lies its record: what it is the result of, and which blocks are there. A block is
recorded after its numbers are on disk, so that a run that is killed continues from its record.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from jounce._core import memory
from jounce._types import AnyArray, Mask
from jounce.errors import ArgumentError, MissingExtraError, TooLargeError
from jounce.sweeps._outputs import Layout, blank, put_together, require_alike, require_file_names

__all__ = ["FileStore", "NpyStore", "Store", "ZarrStore", "store_for"]

CHECKPOINT_SECONDS = 1.0
"""Work that may have to be done again after a crash."""

_SHARE = 0.5
"""Of the available memory that results may take before they go to a file."""

_REMEDY = "choose another file, or overwrite=True"
_NEW = ".new"
"""Behind the name of a record that is being written."""

_MEANING = {
    "function": "the function",
    "model": "the model",
    "arrays": "the arrays or the seed",
    "constants": "one of the constants",
    "states": "the number of states",
    "block": "the size of blocks",
    "version": "the version of jounce",
}


class Store:
    """Results in memory, or in a file without a name if they are too large for it."""

    def __init__(self, states: int, block: int) -> None:
        self.states = states
        self.block = block
        self.layout: Layout | None = None
        self.arrays: list[Any] = []
        self.failures: dict[int, str] = {}
        blocks = -(-states // block)
        memory.require("sweep", states, blocks)  # a byte for each state is less than any result
        self.done: Mask = np.zeros(blocks, bool)

    def write(self, start: int, layout: Layout, rows: Sequence[AnyArray]) -> None:
        """Put the results of some states where they belong."""
        if self.layout is None:
            self.open(layout, rows)
            self.leave_blank(self.failures)
        assert self.layout is not None
        require_alike(start, layout, rows, self.layout, self.arrays)
        for array, values in zip(self.arrays, rows, strict=True):
            array[start : start + len(values)] = values

    def leave_blank(self, states: Iterable[int]) -> None:
        """These failed: their rows are NaN, or will be as soon as there are arrays."""
        for start, stop in _runs(states):
            for array in self.arrays:
                array[start:stop] = blank(array.dtype)

    def open(self, layout: Layout, rows: Sequence[AnyArray]) -> None:
        """Make arrays for all states, like those of some."""
        self.layout = layout
        shapes = [(self.states, *x.shape[1:]) for x in rows]
        self.arrays = self.make(shapes, [x.dtype for x in rows])

    def make(self, shapes: list[Any], dtypes: list[Any]) -> list[Any]:
        """Arrays that hold nothing yet."""
        pairs = list(zip(shapes, dtypes, strict=True))
        size = sum(math.prod(shape) * dtype.itemsize for shape, dtype in pairs)
        free = memory.physical() if size >= memory.LARGE else None
        why = "the disk is full"
        try:
            if free is None or size <= _SHARE * free:
                return [np.empty(shape, dtype) for shape, dtype in pairs]
            if shutil.disk_usage(tempfile.gettempdir()).free >= size:
                return [_unnamed(shape, dtype) for shape, dtype in pairs]
        except (MemoryError, OSError) as error:
            why = str(error)
        raise TooLargeError(
            f"the results of sweep() would take {size / 1e9:.3g} GB, more than there is memory or "
            f"room in {tempfile.gettempdir()} ({why}); give a file on a larger disk"
        )

    def mark(self, start: int, stop: int) -> None:
        """The blocks of these states are there."""
        self.done[start // self.block : -(-stop // self.block)] = True

    def checkpoint(self, now: bool = False) -> None:
        """Make sure that what is there will be there after a crash."""

    def result(self) -> Any:
        """All results, as the function would have returned them."""
        assert self.layout is not None
        return put_together(self.layout, self.arrays)


class FileStore(Store, ABC):
    """Results in files, with a record of what is there.

    The record is there before the files are, so that they are known as this sweep's own whenever a
    run is killed. What it does not name belongs to others and is never deleted.
    """

    def __init__(
        self, path: Path, identity: Mapping[str, Any], states: int, block: int, overwrite: bool
    ) -> None:
        super().__init__(states, block)
        self.path = path
        self.identity = dict(identity)
        self.overwrite = overwrite
        self.saved = time.monotonic()
        self.dirty = False
        self.ours: set[Path] = set()
        """Files that the record of an earlier run names."""
        if overwrite:
            self.begin_anew()
        elif self.record.exists():
            self.resume()
        elif self.occupied():
            raise ArgumentError(f"{path} was not begun by a sweep; {_REMEDY}")

    @property
    def record(self) -> Path:
        """The file beside the results."""
        return self.path.with_name(self.path.name + ".sweep")

    def resume(self) -> None:
        """Go on where an earlier run ended; refuse another sweep's file."""
        record = self.read()
        theirs = record["identity"]
        other = [text for key, text in _MEANING.items() if theirs.get(key) != self.identity[key]]
        if other:
            differs = "differs" if len(other) == 1 else "differ"
            raise ArgumentError(
                f"{self.path} is the result of another sweep: {', '.join(other)} {differs}; "
                f"{_REMEDY}"
            )
        layout = Layout(record["kind"], tuple(record["names"]))
        self.ours = set(self.files(layout))
        if not record["made"]:  # it was killed before there was something to keep
            return
        self.layout, self.done, self.failures = layout, record["done"], record["failures"]
        try:
            self.arrays = self.reopen()
            wrong = [x.shape for x in self.arrays if x.shape[:1] != (self.states,)]
        except (OSError, ValueError, KeyError) as error:
            raise ArgumentError(
                f"the results of {self.path} that its record names cannot be read ({error}); "
                f"put them back, or {_REMEDY}"
            ) from error
        if wrong:
            raise ArgumentError(
                f"{self.path} holds an array of shape {wrong[0]}, expected {self.states} rows as "
                f"its record says; {_REMEDY}"
            )
        self.leave_blank(self.failures)

    def read(self) -> dict[str, Any]:
        """The record, without failures of blocks that are not done: they are tried again.

        Raises:
            ArgumentError: it is not one, or not a whole one.
        """
        try:
            record: dict[str, Any] = json.loads(self.record.read_text(encoding="utf-8"))
            bits = np.frombuffer(base64.b64decode(record["done"]), np.uint8)
            states, block = (int(record["identity"][key]) for key in ("states", "block"))
            blocks = -(-states // block)
            record["done"] = done = np.unpackbits(bits)[:blocks].astype(bool)
            failures = {int(k): str(text) for k, text in record["failures"].items()}
            record["failures"] = {k: text for k, text in failures.items() if done[k // block]}
            if len(record["done"]) != blocks or not {"kind", "made"} <= record.keys():
                raise ArgumentError("something is missing")
            record["names"] = tuple(map(str, record["names"]))
            require_file_names(record["names"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ArgumentError(
                f"the record {self.record} is damaged ({type(error).__name__}: {error}), so "
                f"{self.path} cannot be continued; {_REMEDY}"
            ) from error
        return record

    def open(self, layout: Layout, rows: Sequence[AnyArray]) -> None:
        """Say whose the files are, then make them."""
        require_file_names(layout.names)
        if not self.overwrite:
            foreign = [file for file in self.files(layout) if file.exists()]
            foreign = [file for file in foreign if file not in self.ours]
            if foreign:
                raise ArgumentError(
                    f"{foreign[0]}, where results belong, was not made by this sweep; {_REMEDY}"
                )
        self.layout = layout
        self.write_record()
        super().open(layout, rows)

    def mark(self, start: int, stop: int) -> None:
        """The blocks of these states are there, and will be in the next record."""
        super().mark(start, stop)
        self.dirty = True

    def checkpoint(self, now: bool = False) -> None:
        """Write results to disk, then the record."""
        late = now or time.monotonic() - self.saved >= CHECKPOINT_SECONDS
        if self.layout is None or not (self.dirty and late):
            return
        self.flush()
        self.write_record()
        self.saved, self.dirty = time.monotonic(), False

    def write_record(self) -> None:
        """Replace the former record at once."""
        assert self.layout is not None
        record = {
            "identity": self.identity,
            "kind": self.layout.kind,
            "names": self.layout.names,
            "made": bool(self.arrays),
            "failures": self.failures,
            "done": base64.b64encode(np.packbits(self.done).tobytes()).decode(),
        }
        fresh = self.record.with_name(self.record.name + _NEW)
        fresh.parent.mkdir(exist_ok=True)
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self.record)

    def begin_anew(self) -> None:
        """Delete what an earlier run left, and what has the name of the file."""
        with contextlib.suppress(ArgumentError):  # no record, or a damaged one
            record = self.read()
            for file in self.files(Layout(record["kind"], record["names"])):
                _delete(file)
        self.record.unlink(missing_ok=True)
        self.clear()

    @abstractmethod
    def files(self, layout: Layout) -> list[Path]:
        """Where each array is."""

    @abstractmethod
    def reopen(self) -> list[Any]:
        """The arrays of an earlier run, to write to."""

    @abstractmethod
    def occupied(self) -> bool:
        """Whether something is there already."""

    @abstractmethod
    def clear(self) -> None:
        """Delete what has the name of the file, if it may be a result."""

    def flush(self) -> None:
        """Numbers that were written are on disk afterward."""


class NpyStore(FileStore):
    """One ``.npy`` file; for several results one each, with its name before the suffix."""

    def files(self, layout: Layout) -> list[Path]:
        """One for each array."""
        if layout.kind == "array":
            return [self.path]
        return [self.path.with_suffix(f".{name}.npy") for name in layout.names]

    def make(self, shapes: list[Any], dtypes: list[Any]) -> list[Any]:
        """New files, sparse until they are written."""
        assert self.layout is not None
        new = np.lib.format.open_memmap
        triples = zip(self.files(self.layout), shapes, dtypes, strict=True)
        return [new(file, "w+", dtype, shape) for file, shape, dtype in triples]

    def reopen(self) -> list[Any]:
        """The files as they are."""
        assert self.layout is not None
        files = self.files(self.layout)
        for file in files:
            np.lib.format.open_memmap(file, "r")  # refuses a short file, which "r+" would lengthen
        return [np.lib.format.open_memmap(file, "r+") for file in files]

    def occupied(self) -> bool:
        """There is a file."""
        return self.path.exists()

    def clear(self) -> None:
        """The file, but no folder."""
        if self.path.is_dir():
            raise ArgumentError(f"{self.path} is a folder, which a sweep does not overwrite")
        self.path.unlink(missing_ok=True)

    def flush(self) -> None:
        """Write changed pages."""
        for array in self.arrays:
            array.flush()


class ZarrStore(FileStore):
    """A zarr group in a folder: an array for each result, a chunk for each block."""

    @property
    def record(self) -> Path:
        """Inside of the folder."""
        return self.path / "sweep.json"

    def files(self, layout: Layout) -> list[Path]:
        """Folders in the group's."""
        return [self.path / name for name in layout.names]

    def make(self, shapes: list[Any], dtypes: list[Any]) -> list[Any]:
        """A new group."""
        group = _zarr().open_group(str(self.path), mode="a")
        assert self.layout is not None
        return [
            group.create_array(
                name,
                shape=shape,
                dtype=dtype,
                chunks=(self.block, *(n or 1 for n in shape[1:])),
                overwrite=True,
            )
            for name, shape, dtype in zip(self.layout.names, shapes, dtypes, strict=True)
        ]

    def reopen(self) -> list[Any]:
        """The group as it is."""
        group = _zarr().open_group(str(self.path), mode="r+")
        assert self.layout is not None
        return [group[name] for name in self.layout.names]

    def occupied(self) -> bool:
        """There is a folder with something in it but the beginning of a record."""
        if not self.path.is_dir():
            return self.path.exists()
        return any(entry.name != self.record.name + _NEW for entry in self.path.iterdir())

    def clear(self) -> None:
        """A file or a zarr array; of a group only what has the names of results is replaced."""
        described = self.path / "zarr.json"
        kind = None
        if described.is_file():
            with contextlib.suppress(ValueError, AttributeError):
                kind = json.loads(described.read_text(encoding="utf-8")).get("node_type")
        if kind == "array" or (self.path / ".zarray").exists() or self.path.is_file():
            _delete(self.path)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def store_for(
    file: str | os.PathLike[str] | None,
    identity: Mapping[str, Any] | None,
    states: int,
    block: int,
    overwrite: bool,
) -> Store:
    """Choose by the suffix of the file."""
    if file is None:
        return Store(states, block)
    path = Path(file)
    kinds: dict[str, type[NpyStore] | type[ZarrStore]] = {".npy": NpyStore, ".zarr": ZarrStore}
    if path.suffix not in kinds:
        raise ArgumentError(f"file must end with .npy or .zarr, got {path.name!r}")
    if not path.parent.is_dir():
        raise ArgumentError(f"the folder {path.parent} for the results does not exist")
    if path.suffix == ".zarr":
        _zarr()
    return kinds[path.suffix](path, identity or {}, states, block, overwrite)


def _runs(states: Iterable[int]) -> Iterator[tuple[int, int]]:
    """States as ranges, as few as possible."""
    ordered = np.array(sorted(states), np.int64)
    cuts = np.flatnonzero(np.diff(ordered) > 1) + 1
    for run in np.split(ordered, cuts) if len(ordered) else ():
        yield int(run[0]), int(run[-1]) + 1


def _unnamed(shape: Any, dtype: Any) -> AnyArray:
    """An array in a temporary file, which is gone when nobody uses it any more."""
    handle, name = tempfile.mkstemp(suffix=".npy", prefix="sweep-")
    os.close(handle)
    try:
        return np.lib.format.open_memmap(name, "w+", dtype, shape)
    finally:
        with contextlib.suppress(OSError):  # not while it is open, on Windows
            os.unlink(name)


def _zarr() -> Any:
    try:
        return import_module("zarr")
    except ImportError as error:
        raise MissingExtraError(
            "results in a .zarr folder need zarr: pip install 'jounce[zarr]'"
        ) from error
