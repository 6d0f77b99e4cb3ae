"""Workers of Dask that get their tasks from here, not from the scheduler.

A task that goes through Dask's scheduler takes nine messages and about 10 ms of processor time on
both ends; one that goes straight to an actor takes two messages and a third of the time. The
scheduler still knows the workers and replaces those that die. It does not see what actors do, so
this is for clusters where nobody else's tasks are in the way; on others, and where workers cannot
be reached from here, tasks go through the scheduler.

What is known of the workers is read and changed in the thread of Dask's messages alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any

from jounce.errors import SweepError

__all__ = ["Direct", "WorkerGoneError", "reached"]

_PATIENCE = 10.0
"""Seconds that a worker has to take its seat; it may have died on the way."""

_DESERTED = 60.0
"""Seconds that a cluster which a sweep started may be without workers."""

_ABANDONED = 600.0
"""The same of somebody's cluster, where workers may wait for their turn."""

_LOOK = 0.2
"""Seconds between two looks for new workers, where there are too few."""


class WorkerGoneError(Exception):
    """The worker of a task has died."""


class Seat:
    """What a worker holds: it calls functions, as many at once as the worker has threads."""

    def __init__(self, threads: int) -> None:
        self._pool = ThreadPoolExecutor(threads)

    async def run(self, function: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
        """Call it; its result and its error travel apart from those of the way."""
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, _outcome, function, args
        )


def _outcome(function: Callable[..., Any], args: Any) -> tuple[Any, BaseException | None]:
    try:
        return function(*args), None
    except BaseException as error:  # whatever leaves this thread would end the worker
        return None, error


def _serialized(*values: Any) -> list[Any]:
    wrap = import_module("distributed.protocol").to_serialize
    return [wrap(value) for value in values]


_LOST = (OSError, RuntimeError, KeyError, WorkerGoneError)
"""No contact, or no such actor any more."""


class _Place:
    """A worker as it is seen from here."""

    def __init__(self, seat: Any, threads: int) -> None:
        self.seat = seat
        """The future of its actor, which lives as long."""
        self.threads = threads
        self.waiting = 0
        """Tasks that it has."""

    def load(self) -> float:
        return self.waiting / self.threads

    def there(self) -> bool:
        """Whether the scheduler has not heard of its death."""
        return bool(self.seat.status == "finished")

    async def while_there(self, sent: Any) -> Any:
        """Wait for an answer; a connection to a dead worker is tried for a long time."""
        task = asyncio.ensure_future(sent)
        while not task.done():
            await asyncio.wait([task], timeout=_LOOK if self.there() else 0)
            if not task.done() and not self.there():
                task.cancel()
                raise WorkerGoneError("its worker is lost")
        return task.result()


class Direct(Executor):
    """All workers of a cluster.

    Args:
        client: of Dask, connected to the workers themselves.
        workers: how many threads they should have together.
        ours: the client is closed at the end.
    """

    def __init__(self, client: Any, workers: int, *, ours: bool = False) -> None:
        self._client, self._max_workers, self._ours = client, workers, ours
        self._places: dict[str, _Place] = {}
        """By the address of the worker."""
        self._arriving: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._demand: Any = None
        """A task of the scheduler's, so that a cluster which grows with its tasks does."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Give a task to the worker that has least to do."""
        future: Future[Any] = Future()
        self._client.loop.add_callback(self._run, future, fn, args)
        return future

    async def _run(self, future: Future[Any], fn: Any, args: Any) -> None:
        """Send a task and wait for what comes back."""
        try:
            address = await self._choice()
            if not future.set_running_or_notify_cancel():
                return
            result, error = await self._sent(address, fn, args)
        except BaseException as problem:
            future.set_exception(problem)
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    async def _sent(self, address: str, fn: Any, args: Any) -> Any:
        """What the worker makes of it."""
        place = self._places[address]
        place.waiting += 1
        try:
            # Not by the actor's own method: that waits for ever if the worker does not know it.
            sent = self._client.rpc(address).actor_execute(
                actor=place.seat.key, function="run", args=_serialized(fn, *args), kwargs={}
            )
            answer = await place.while_there(sent)
            if answer["status"] != "OK":
                raise answer["exception"]
            return answer["result"]
        except _LOST as error:
            if self._places.get(address) is place:  # it may be there again
                del self._places[address]
            raise WorkerGoneError(f"{address}: {error}") from error
        finally:
            place.waiting -= 1

    async def _choice(self) -> str:
        """The worker that has least to do.

        Raises:
            SweepError: all are gone, and none comes back.
        """
        patience = _ABANDONED if self._ours else _DESERTED
        clock = asyncio.get_running_loop().time
        begin = clock()
        while True:
            self._places = {a: place for a, place in self._places.items() if place.there()}
            enough = sum(x.threads for x in self._places.values()) >= self._max_workers
            if not enough and (self._looking is None or self._looking.done()):
                self._looking = asyncio.create_task(self._look())
            if not self._places and self._looking is not None:
                await asyncio.wait([self._looking])
            if self._places:
                return min(self._places, key=lambda address: self._places[address].load())
            if clock() - begin >= patience:
                raise SweepError(
                    f"all workers of Dask have died and none came back in {patience:.0f} s; what "
                    "is done is in the file if there is one, and the same call continues from it"
                )

    async def _look(self) -> None:
        """Make actors on workers that have none: at the beginning, and after a death."""
        try:
            found = (await self._client.scheduler.identity())["workers"]
        except OSError:  # the scheduler does not answer now
            found = {}
        for address in found.keys() - self._places.keys() - self._arriving.keys():
            threads = found[address]["nthreads"]
            self._arriving[address] = asyncio.create_task(self._seat(address, threads))
        if not found and self._ours and self._demand is None:
            self._demand = self._client.submit(str, pure=False)
        if self._arriving and not self._places:
            await asyncio.wait(self._arriving.values())
        if self._places:
            self._demand = None
        else:
            await asyncio.sleep(_LOOK)

    async def _seat(self, address: str, threads: int) -> None:
        """Make an actor; the worker may die before it is there, and come back."""
        try:
            made = self._client.submit(Seat, threads, actor=True, workers=[address], pure=False)
            with self._client.as_current():  # else the actor would belong to another one
                await asyncio.wait_for(made.result(), _PATIENCE)
            self._places[address] = _Place(made, threads)
        except Exception:  # it is gone before it began
            return
        finally:
            del self._arriving[address]

    async def _greet(self) -> None:
        """Do nothing, on every worker."""
        await self._choice()
        await asyncio.gather(*(self._sent(address, str, ()) for address in self._places))

    async def _leave(self) -> None:
        for task in self._arriving.values():
            task.cancel()
        self._places.clear()
        self._demand = None

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the actors go."""
        self._client.sync(self._leave)
        if self._ours:
            self._client.close()


def reached(client: Any, workers: int) -> Direct | None:
    """The workers of somebody's client, if they are idle and can be reached from here."""
    if not client.nthreads() or any(client.processing().values()):
        return None
    try:
        own = import_module("distributed").Client(
            client.scheduler.address,
            security=client.security,
            direct_to_workers=True,
            set_as_default=False,
            timeout=_PATIENCE,
        )
    except Exception:  # a gateway, or a way that is open to one client only
        return None
    direct = Direct(own, workers, ours=True)
    try:
        own.sync(direct._greet, callback_timeout=_PATIENCE)
    except Exception:  # workers in a network of their own
        direct.shutdown()
        return None
    return direct
