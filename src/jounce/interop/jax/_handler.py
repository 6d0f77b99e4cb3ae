"""Operations for the compiled handler of XLA's foreign function interface."""

from __future__ import annotations

import ctypes
import weakref
from pathlib import Path
from typing import Any

import jax

from jounce import _core
from jounce.errors import MissingExtraError
from jounce.interop._bridge import entry
from jounce.interop._bridge.digest import digest
from jounce.interop._bridge.functions import Operation, c_options

__all__ = ["TARGET", "registered"]

TARGET = "jounce"


class _Registered(ctypes.Structure):
    """``jounce_jax_operation`` of bindings/jax/handler.cpp."""

    _fields_ = (
        ("run", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p),
        ("model", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("position", ctypes.c_int * entry.MOST),
        ("labels", ctypes.c_char_p * entry.MOST),
        ("input_rank", ctypes.c_int * entry.MOST),
        ("output_rank", ctypes.c_int * entry.MOST),
        ("marks", ctypes.c_int),
        ("options", entry.Call),
    )


def _load() -> Any:
    folder = Path(_core.get_library()).parent
    for name in ("libjounce_jax.so", "libjounce_jax.dylib", "jounce_jax.dll"):
        if (folder / name).exists():
            return ctypes.CDLL(str(folder / name))
    raise MissingExtraError(
        "this build of jounce has no front end for JAX, because its headers were not found when it "
        "was built: install jax first and then jounce with --no-build-isolation, or use a wheel"
    )


_library = _load()
jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(_library.jounce_jax_handler), platform="cpu")

_kept: dict[int, tuple[Any, ...]] = {}
"""What registered operations point to. Compiled computations may run at any time: it never goes."""

_digests: weakref.WeakKeyDictionary[Operation, int] = weakref.WeakKeyDictionary()


def registered(own: Operation) -> int:
    """The number of an operation in compiled computations, the same in every process."""
    number = _digests.get(own)
    if number is None:
        number = _digests[own] = _register(own)
    return number


def _register(own: Operation) -> int:
    number = int.from_bytes(digest(own)[:8], "little", signed=True)
    if number in _kept:
        return number
    kept: list[Any] = []
    call = c_options(own, kept)
    given = _Registered(
        run=entry.run_address(),
        kernel=entry.kernel_address(own.kernel),
        model=_core.model_address(own.model),
        name=own.function.encode(),
        inputs=len(own.inputs),
        outputs=len(own.outputs),
        marks=own.options.marks,
        options=call,
    )
    for k, x in enumerate(own.inputs):
        given.position[k], given.input_rank[k] = x.position, len(x.shape)
        given.labels[k] = x.name.encode()
    for k, y in enumerate(own.outputs):
        given.output_rank[k] = len(y.shape)
    _kept[number] = (own.model, kept, call, given)
    _library.jounce_jax_register(ctypes.c_int64(number), ctypes.byref(given))
    return number
