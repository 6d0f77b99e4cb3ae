"""Interleaved timing: contenders take turns in short blocks, and the best block counts.

A block repeats one call for a millisecond or two. Contenders alternate block by block, so that a
slow phase of the machine hits all of them; each is then judged by its fastest block, and the
spread of the block-by-block ratios says how far to trust the result.
"""

from __future__ import annotations

import gc
import math
import time
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Clock = Callable[[], float]
"""Says the time in seconds."""


@dataclass(frozen=True)
class Effort:
    """How long to measure, and how large the problems are."""

    name: str
    seconds: float
    """Time for one comparison, shared by its contenders."""
    block: float
    """Length of a block, s."""
    rounds: int
    """Least number of turns of each contender; half of it if a single call is long."""
    budget: float
    """Time allowed for preparing one item (a CasADi graph), s."""

    @property
    def full(self) -> bool:
        """Whether this is the complete run."""
        return self.name == "full"

    @property
    def tiny(self) -> bool:
        """Whether this is the run that only checks that everything works."""
        return self.name == "tiny"

    def pick(self, full: Any, quick: Any, tiny: Any) -> Any:
        """Choose a setting (sizes, orders, robots) for this effort."""
        return {"full": full, "quick": quick, "tiny": tiny}[self.name]


FULL = Effort("full", seconds=0.4, block=2e-3, rounds=8, budget=60.0)
QUICK = Effort("quick", seconds=0.03, block=1e-3, rounds=3, budget=5.0)
TINY = Effort("tiny", seconds=0.0, block=0.0, rounds=1, budget=0.2)


@dataclass(frozen=True)
class Call:
    """A function and its arguments; timed without a Python frame in between."""

    function: Callable[..., Any]
    args: Sequence[Any] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    keep: bool = False
    """Whether a result lives until the next one is there, as in ``M = f(...)``."""

    def __call__(self) -> Any:
        """Call the function."""
        return self.function(*self.args, **self.options)

    def timer(self, clock: Clock = time.perf_counter) -> timeit.Timer:
        """Loop that calls the function with its arguments in local variables."""
        names = [f"a{k}" for k in range(len(self.args))]
        inputs = ", ".join([*names, *(f"{key}={key}_" for key in self.options)])
        targets = ", ".join(["f", "kept", *names, *(f"{key}_" for key in self.options)])
        # what is kept outlives a block: else allocators give all of it back between blocks
        values = (self.function, [None], *self.args, *self.options.values())
        statement = f"kept[0] = f({inputs})" if self.keep else f"f({inputs})"
        return timeit.Timer(statement, f"{targets}, = values", clock, {"values": values})


@dataclass(frozen=True)
class Timing:
    """Seconds per call in each block."""

    blocks: tuple[float, ...]

    @property
    def best(self) -> float:
        """Seconds per call in the fastest block."""
        return min(self.blocks)

    def as_dict(self) -> dict[str, Any]:
        """Numbers for the file, with four digits."""
        middle = float(np.median(self.blocks))
        return {
            "best": _rounded(self.best),
            "median": _rounded(middle),
            "blocks": [_rounded(x) for x in self.blocks],
        }


def _rounded(x: float) -> float:
    return float(f"{x:.4g}")


@dataclass(frozen=True)
class Ratio:
    """How many times one contender takes as long as another."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Value with the range of the block-by-block ratios (10% to 90%)."""
        return f"{self.value:.3g} ({self.low:.2g}-{self.high:.2g})"


def ratio(slow: Timing, fast: Timing) -> Ratio:
    """Compare fastest blocks; the range is that of neighboring blocks."""
    count = min(len(slow.blocks), len(fast.blocks))
    pairs = np.array(slow.blocks[:count]) / np.array(fast.blocks[:count])
    low, high = np.quantile(pairs, [0.1, 0.9])
    return Ratio(slow.best / fast.best, float(low), float(high))


def measure(
    calls: Mapping[str, Call],
    effort: Effort,
    seconds: float = 0.0,
    clock: Clock = time.perf_counter,
) -> dict[str, Timing]:
    """Time contenders in turns.

    Args:
        calls: the contenders.
        effort: how long to measure.
        seconds: time for this comparison, if not that of the effort.
        clock: what tells the time.
    """
    timers = {name: call.timer(clock) for name, call in calls.items()}
    numbers = {name: _block_size(timer, effort.block) for name, timer in timers.items()}
    blocks: dict[str, list[float]] = {name: [] for name in calls}
    order = list(calls)
    budget = (seconds or effort.seconds) if not effort.tiny else 0.0
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = clock()
        while _goes_on(len(blocks[order[0]]), clock() - start, effort, budget):
            for name in order:
                blocks[name].append(timers[name].timeit(numbers[name]) / numbers[name])
            order.reverse()
    finally:
        if collecting:
            gc.enable()
    return {name: Timing(tuple(times)) for name, times in blocks.items()}


def _goes_on(rounds: int, elapsed: float, effort: Effort, budget: float) -> bool:
    """Go on until time and rounds are up; long calls get half the rounds."""
    least = effort.rounds if elapsed < 3 * budget else (effort.rounds + 1) // 2
    return rounds < least or elapsed < budget


def _block_size(timer: timeit.Timer, block: float) -> int:
    """Find how many calls fill a block; this also warms up.

    First calls do not count: they take new memory from the system, which may last ten times as
    long as what comes after.
    """
    if not block:
        timer.timeit(1)
        return 1
    number, elapsed = 1, min(timer.timeit(1) for _ in range(4))
    while elapsed < block / 4:
        number *= 4
        elapsed = timer.timeit(number)
    return max(1, round(number * block / max(elapsed, 1e-9)))


def exponent(sizes: Iterable[float], times: Iterable[float]) -> float:
    """Fit p in ``time ~ size^p`` by least squares in logarithms."""
    slope, _ = np.polyfit(np.log(list(sizes)), np.log(list(times)), 1)
    return float(slope)


def geometric_mean(values: Iterable[float]) -> float:
    """Geometric mean of positive numbers."""
    logs = [math.log(x) for x in values]
    return math.exp(sum(logs) / len(logs))
