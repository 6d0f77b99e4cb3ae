"""The C entry point (``jounce.h``) as Python sees it, and runs of kernels on arrays."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from jounce import _core

__all__ = ["MOST", "Call", "Failure", "kernel_address", "library", "run_address", "shapes"]

MOST = 16
"""Inputs and outputs that a call has room for."""


class _Array(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("optional", ctypes.c_int),
        ("is_series", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("dims", ctypes.c_int64 * 4),
        ("size", ctypes.c_int64),
    )


class Call(ctypes.Structure):
    """``jounce_call``."""

    _fields_ = (
        ("states", ctypes.c_int64),
        ("order", ctypes.c_int),
        ("inputs", ctypes.c_void_p * MOST),
        ("input_steps", ctypes.c_int64 * MOST),
        ("outputs", ctypes.c_void_p * MOST),
        ("output_steps", ctypes.c_int64 * MOST),
        ("prescribed", ctypes.c_char_p),
        ("frame", ctypes.c_int),
        ("twist", ctypes.c_int),
        ("method", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("stop", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("tableau", ctypes.c_void_p),
        ("tableau_size", ctypes.c_int64),
    )


class Failure(ctypes.Structure):
    """``jounce_failure``."""

    _fields_ = (
        ("state", ctypes.c_int64),
        ("input", ctypes.c_int),
        ("entry", ctypes.c_int64),
        ("node", ctypes.c_int),
        ("reason", ctypes.c_char_p),
    )


@functools.cache
def library() -> Any:
    """The library of the instruction set in use."""
    found = ctypes.CDLL(_core.get_library())
    found.jounce_find_kernel.restype = ctypes.c_void_p
    found.jounce_run.argtypes = [ctypes.c_void_p] * 4
    for name in ("jounce_input", "jounce_output"):
        function = getattr(found, name)
        function.argtypes = [
            *(ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int),
            ctypes.POINTER(_Array),
        ]
    return found


@functools.cache
def kernel_address(name: str) -> int:
    """Address of a kernel, 0 if C cannot call it."""
    return library().jounce_find_kernel(name.encode()) or 0


@functools.cache
def run_address() -> int:
    """Address of ``jounce_run``."""
    return ctypes.cast(library().jounce_run, ctypes.c_void_p).value or 0


def shapes(
    kernel: str, model: Any, order: int
) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """Shapes of a kernel's inputs and outputs for one state, by name and in order."""
    found: list[dict[str, tuple[int, ...]]] = []
    for ask in (library().jounce_input, library().jounce_output):
        own: dict[str, tuple[int, ...]] = {}
        array = _Array()
        address = kernel_address(kernel), _core.model_address(model)
        while ask(address[0], len(own), address[1], order, ctypes.byref(array)):
            own[array.name.decode()] = tuple(array.dims[: array.rank])
        found.append(own)
    return found[0], found[1]
