"""Decompositions and products of large matrices, during which Ctrl-C is heard.

One call of LAPACK for thousands of rows takes seconds, and nothing can interrupt it. So a thread of
its own makes it, and the main thread waits for that or for a signal, whichever comes first. What
nobody waits for any more ends by itself, and nobody sees its result.
"""

from __future__ import annotations

import atexit
import functools
import os
import threading
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["eigh", "inv", "pinv", "product", "singular_values", "solve", "svd"]

_LONG = 2.0**28
"""Multiplications of a product that take some hundredths of a second, on a busy machine."""

_DECOMPOSING = 16
"""About how many products a decomposition takes."""

_MOMENT = 0.05
"""Seconds between two looks for signals where a lock does not wake up for them."""

_at_work = allocate_lock()
"""Held while such a thread works: the threads of BLAS can neither be forked nor taken down then."""

_direct = {"forks": 0, "exits": 0}
"""How many forks and exits are under way, in which no thread may be waited for."""


def _before_fork() -> None:
    _direct["forks"] += 1
    _at_work.acquire()


def _after_fork() -> None:
    _at_work.release()
    _direct["forks"] -= 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


@atexit.register
def _before_exit() -> None:
    _direct["exits"] += 1
    with _at_work:
        pass


def svd(a: Any, *, full_matrices: bool = True) -> Any:
    """Left vectors, singular values and right vectors, as `numpy.linalg.svd` has them."""
    return _decomposed(lambda: np.linalg.svd(a, full_matrices=full_matrices), a)


def singular_values(a: Any) -> Any:
    """Those alone."""
    return _decomposed(lambda: np.linalg.svd(a, compute_uv=False), a)


def eigh(a: Any) -> Any:
    """Eigenvalues and vectors of symmetric matrices."""
    return _decomposed(lambda: np.linalg.eigh(a), a)


def inv(a: Any) -> Any:
    """Inverse of matrices."""
    return _decomposed(lambda: np.linalg.inv(a), a)


def pinv(a: Any, rcond: float) -> Any:
    """Pseudoinverse of matrices: what is below rcond of their largest singular value is zero."""
    return _decomposed(lambda: np.linalg.pinv(a, rcond=rcond), a)


def solve(a: Any, b: Any) -> Any:
    """The x of a x = b."""
    return _decomposed(lambda: np.linalg.solve(a, b), a)


def product(a: Any, *others: Any) -> Any:
    """Product of matrices, from left to right."""
    for b in others:
        work = max(a.size, b.size) * float(max(b.shape[-2:]))
        a = _heard(functools.partial(np.matmul, a, b), work)
    return a


def _decomposed(compute: Callable[[], Any], a: Any) -> Any:
    """What is computed of matrices by a decomposition."""
    return _heard(compute, _DECOMPOSING * a.size * float(max(a.shape[-2:])))


def _heard(compute: Callable[[], Any], work: float) -> Any:
    """What takes so many multiplications; in a thread of its own if these are many."""
    if work < _LONG or any(_direct.values()):
        return compute()
    if threading.current_thread() is not threading.main_thread():  # which alone hears signals
        return compute()
    try:
        helper = _Helper(compute)
    except RuntimeError:  # there can be no more threads
        return compute()
    return helper.result()


class _Helper:
    """A thread that computes something.

    It is made without `threading`, whose threads tell that they have begun: a handler that forks
    just then leaves a child that waits for it for ever.
    """

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute, self._settings = compute, np.geterr()
        self._found: Any = None
        self._error: BaseException | None = None
        self._process = os.getpid()
        self._working = allocate_lock()
        self._working.acquire()
        start_new_thread(self._run, ())

    def _run(self) -> None:
        with _at_work:
            if _direct["exits"]:
                return
            try:
                with np.errstate(**self._settings):
                    self._found = self._compute()
            except BaseException as error:
                self._error = error
            self._working.release()

    def result(self) -> Any:
        """Wait for what was computed; the child of a fork in between computes it again."""
        while not self._working.acquire(timeout=_MOMENT):
            if os.getpid() != self._process:
                return self._compute()
        if self._error is not None:
            raise self._error
        return self._found
