"""Calls of other libraries that take seconds, while Ctrl-C is heard: nothing can interrupt them.

A thread of its own makes such a call, and the main thread waits for that or for a signal, whichever
comes first. What nobody waits for any more ends by itself, and nobody sees its result; what had not
begun does not begin. Forks and the end of the interpreter wait for it: libraries such as BLAS have
threads and locks, which can neither be forked nor taken down at work.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy as np

from jounce import _core

__all__ = ["heard"]

_MOMENT = 0.05
"""Seconds between two looks for signals where a lock does not wake up for them."""

_STACK = 2**25
"""Bytes: BLAS needs more than the 2 MB that threads have where stacks are not limited."""

_turn = allocate_lock()
"""One such call at a time: what is not waited for any more makes room for what is."""

_at_work: set[_Call] = set()
"""Those that have begun, or wait for their turn."""

_ending = threading.Event()
"""Set when the interpreter ends."""


def heard(compute: Callable[[], Any]) -> Any:
    """Return what a function returns, or raise what it raises."""
    if threading.current_thread() is not threading.main_thread():  # which alone hears signals
        _core.begin_long_call()
        try:
            return compute()
        finally:
            _core.end_long_call()
    call = _Call(compute)
    return call.result() if not _ending.is_set() and call.begins() else compute()


class _Call:
    """One call.

    Its thread is made without `threading`, whose threads tell that they have begun: a handler that
    forks just then leaves a child that waits for it for ever.
    """

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute, self._settings = compute, np.geterr()
        self._found: Any = None
        self._error: BaseException | None = None
        self._process = os.getpid()
        self._is_wanted = True
        self._working = allocate_lock()
        self._working.acquire()

    def begins(self) -> bool:
        """Start the thread; false if there can be no more of them."""
        usual = threading.stack_size()
        try:
            threading.stack_size(_STACK)
            _core.start_long_call(start_new_thread, self._run)
        except RuntimeError:
            return False
        finally:
            threading.stack_size(usual)
        return True

    def _run(self) -> None:
        _at_work.add(self)
        try:
            with _turn:
                if self._is_wanted and not _ending.is_set():
                    with np.errstate(**self._settings):
                        self._found = self._compute()
        except BaseException as error:
            self._error = error
        finally:
            _at_work.discard(self)
            _core.end_long_call()
            self._working.release()

    def result(self) -> Any:
        """Wait for what was computed; the child of a fork in between computes it again."""
        try:
            while not self._working.acquire(timeout=_MOMENT):
                if os.getpid() != self._process:
                    return self._compute()
        except BaseException:
            self._is_wanted = False
            raise
        if self._error is not None:
            raise self._error
        return self._found


def _in_child() -> None:
    global _turn
    _core.forget_long_calls()
    _turn = allocate_lock()
    _at_work.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_core.await_long_calls, after_in_child=_in_child)


@atexit.register
def _before_exit() -> None:
    """Another Ctrl-C ends the waiting, and what BLAS does then is its own affair."""
    _ending.set()
    while _at_work:
        time.sleep(_MOMENT / 10)
