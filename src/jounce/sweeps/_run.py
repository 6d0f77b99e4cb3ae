"""The loop of a sweep: hands out chunks, takes answers, repeats what was lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from typing import Any

from jounce._types import AnyArray
from jounce.errors import SweepError
from jounce.sweeps import _store, _work
from jounce.sweeps._chunks import Chunk, Plan
from jounce.sweeps._executors import Crew
from jounce.sweeps._progress import Progress

__all__ = ["Run"]

_AHEAD = 3
"""Tasks of each worker that are under way, so that none waits for the next."""

_MOST_DEATHS = 3
"""Workers that a block may take with it, the last one alone."""

_MOST_GIVEN_UP = 3
"""Blocks of that kind with which a sweep ends, if not one other was computed."""


class Run:
    """One sweep."""

    def __init__(
        self,
        name: str,
        job: _work.Job,
        arrays: Sequence[AnyArray],
        store: _store.Store,
        crew: Crew,
        tell: Progress,
    ) -> None:
        self.name = name
        self.job = job
        self.arrays = arrays
        self.store = store
        self.crew = crew
        self.tell = tell
        row_bytes = sum(x[:1].nbytes for x in arrays)
        self.plan = Plan(store.done, crew.workers, row_bytes, job.block)
        self.pending: dict[Future[Any], Chunk] = {}
        self.begun = False
        self.given_up = 0
        self.strangers = crew.workers if crew.elsewhere else 0
        """Workers to whom the job goes with their first task."""
        self.bytes: bytes | None = None
        self.lowest: int | None = None if job.marks else min(store.failures, default=None)

    def run(self) -> None:
        """Compute what is not there yet.

        Raises:
            SweepError: a state failed and failures are not marked, or all failed.
        """
        _work.know(self.name, self.job)
        try:
            self._loop()
        finally:
            for future in self.pending:
                future.cancel()
            _work.forget(self.name)
            self.store.checkpoint(now=True)
        if self.store.failures and (self.lowest is not None or self.store.layout is None):
            raise _failed(self.store.failures)

    def _loop(self) -> None:
        if self.store.states == 0:
            self._take(_work.compute(self.name, None, self._piece(Chunk(0, 0))), Chunk(0, 0))
        self._fill()
        while self.pending:
            done, _ = wait(self.pending, _store.CHECKPOINT_SECONDS, FIRST_COMPLETED)
            broken = []
            for future in sorted(done, key=lambda f: self.pending[f].first):
                if future not in self.pending:  # it lies above a state that failed
                    continue
                chunk = self.pending.pop(future)
                error = CancelledError() if future.cancelled() else future.exception()
                if self.crew.deaths(error):
                    broken.append((chunk, error))
                elif error:
                    raise error
                else:
                    self._take(future.result(), chunk)
            if broken:
                self._worker_died(broken)
            self.store.checkpoint()
            self._fill()

    def _fill(self) -> None:
        """Give everyone something to do; a chunk that may kill workers runs alone."""
        most = self.crew.workers * (_AHEAD if self.begun else 1)
        while self.lowest is None and self.plan and len(self.pending) < most:
            chunk = self.plan.next()
            alone = chunk.suspect or any(other.suspect for other in self.pending.values())
            if alone and self.pending:
                self.plan.again([chunk])
                return
            self._submit(chunk)

    def _submit(self, chunk: Chunk) -> None:
        if self.strangers > 0:
            self.strangers -= 1
            chunk.with_job = True
        if chunk.with_job and self.bytes is None:
            self.bytes = _work.packed(self.job)
        job = self.bytes if chunk.with_job else None
        future = self.crew.submit(_work.compute, self.name, job, self._piece(chunk))
        self.pending[future] = chunk

    def _states(self, chunk: Chunk) -> tuple[int, int]:
        block = self.job.block
        return chunk.first * block, min(self.store.states, chunk.last * block)

    def _piece(self, chunk: Chunk) -> _work.Piece:
        start, stop = self._states(chunk)
        return _work.Piece(start, stop, [array[start:stop] for array in self.arrays])

    def _take(self, answer: _work.Answer, chunk: Chunk) -> None:
        """Keep the results of a chunk, or send it again with the job."""
        if not answer.known:
            chunk.with_job = True
            self.plan.again([chunk])
            return
        self.begun = True
        if answer.failures and not self.job.marks:
            self._fail(answer.failures)
            return
        if answer.layout is not None:
            self.store.write(self._states(chunk)[0], answer.layout, answer.arrays)
        else:
            self.store.leave_blank(answer.failures)
        self.store.failures.update(answer.failures)
        self._did(chunk)
        row_bytes = sum(x[:1].nbytes for x in answer.arrays)
        self.plan.learn(max(1, chunk.last - chunk.first), answer.seconds, row_bytes, self.job.block)

    def _did(self, chunk: Chunk) -> None:
        self.store.mark(*self._states(chunk))
        done = min(self.store.states, int(self.store.done.sum()) * self.job.block)
        self.tell(done, self.store.states)

    def _fail(self, failures: Any) -> None:
        """Only what lies below the lowest state that failed matters from now on."""
        self.store.failures.update(failures)
        self.lowest = min(self.store.failures)
        for future, chunk in list(self.pending.items()):
            if chunk.first * self.job.block > self.lowest:
                future.cancel()
                del self.pending[future]

    def _worker_died(self, broken: list[tuple[Chunk, BaseException | None]]) -> None:
        """Do again what the worker had; give up a block that kills again and again."""
        if any(isinstance(error, BrokenExecutor) for _, error in broken):
            broken += [(chunk, None) for chunk in self.pending.values()]
            self.pending.clear()
            self.crew.replace()
        for chunk, error in broken:
            chunk.deaths += max(1, self.crew.deaths(error))
            chunk.with_job = True
            if chunk.suspect and chunk.last - chunk.first > 1:
                self.plan.again(chunk.halves())
            elif chunk.deaths < _MOST_DEATHS:
                self.plan.again([chunk])
            else:
                self._give_up(chunk)

    def _give_up(self, chunk: Chunk) -> None:
        start, stop = self._states(chunk)
        failures = dict.fromkeys(range(start, stop), f"its worker died {chunk.deaths} times")
        self.given_up += 1
        if self.given_up == _MOST_GIVEN_UP and not self.begun:
            self._fail(failures)
            return
        if not self.job.marks:
            self._fail(failures)
            return
        self.store.leave_blank(failures)
        self.store.failures.update(failures)
        self._did(chunk)


def _failed(failures: Mapping[int, str]) -> SweepError:
    """The error that names the lowest state."""
    lowest = min(failures)
    others = len(failures) - 1
    more = f", and {others} other{'s' if others > 1 else ''}" if others else ""
    return SweepError(f"state {lowest} of the sweep failed: {failures[lowest]}{more}", failures)
