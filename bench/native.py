"""Kernel against kernel, no Python: our C entry point beside Pinocchio's headers, both native.

``python -m bench native``, or ``make native-bench``: not part of ``make bench``, since Pinocchio
takes minutes to compile. Pinocchio's algorithms are templates, so that they are compiled here, with
``-O3 -march=native`` and without assertions; nothing of its wheel's library is called. Each program
reads the same robots and states as plain numbers, goes through `STATES` states again and again,
and keeps its results in memory that it reuses. The results are compared before a ratio is printed.

What differs is in Pinocchio's favor: `crba`, `computeMinverse` and the third matrix of the
derivatives fill one triangle, and our call checks that its input is finite.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import compiled, robots
from bench.report import Report, Steps
from bench.robots import Array, Robot, States
from bench.timing import Effort, Ratio, Timing, geometric_mean, ratio

STATES = 16
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Pair:
    """A kernel and what it is called there; of Pinocchio's ways the fastest counts."""

    name: str
    ours: str
    theirs: tuple[str, ...]
    rank: int
    """Of each result: vectors, matrices, tensors."""
    results: int = 1
    symmetric: bool = False
    """Whether Pinocchio fills the upper triangle alone of the last result."""
    asked: tuple[tuple[str, float], ...] = ()
    """How many times faster on which robot."""


SECOND = Pair(
    "second partials of inverse dynamics",
    "inverse_dynamics_second_derivatives",
    ("ComputeRNEASecondOrderDerivatives",),
    rank=3,
    results=4,
    asked=(("Panda", 2), ("HyQ", 2), ("G1", 1), ("Talos", 1)),
)
PAIRS = (
    Pair("inverse dynamics", "inverse_dynamics", ("rnea",), 1, asked=(("UR5", 5), ("Talos", 6))),
    Pair(
        "forward dynamics",
        "forward_dynamics",
        ("aba", "aba, world"),
        rank=1,
        asked=(("UR5", 4), ("Talos", 4.5)),
    ),
    Pair(
        "mass matrix",
        "mass_matrix",
        ("crba", "crba, world"),
        rank=2,
        symmetric=True,
        asked=(("UR5", 2.2), ("Talos", 2.5)),
    ),
    Pair(
        "inverse mass matrix",
        "inverse_mass_matrix",
        ("computeMinverse",),
        rank=2,
        symmetric=True,
        asked=(("UR5", 3), ("Talos", 3.3)),
    ),
    Pair(
        "partials of inverse dynamics",
        "inverse_dynamics_derivatives",
        ("computeRNEADerivatives",),
        rank=2,
        results=3,
        symmetric=True,
        asked=(("UR5", 3.7), ("Talos", 3)),
    ),
    Pair(
        "partials of forward dynamics",
        "forward_dynamics_derivatives",
        ("computeABADerivatives",),
        rank=2,
        results=3,
        symmetric=True,
        asked=(("UR5", 2.5), ("Talos", 2.8)),
    ),
    SECOND,
)


def run(effort: Effort, step: Steps) -> Report:
    """Compile, compare, time."""
    report = Report("native")
    step("native: compiling Pinocchio's headers, which takes minutes")
    compiled.by_pinocchio()
    names = robots.names(effort)
    found: dict[str, dict[str, Ratio]] = {}
    times: dict[str, dict[str, str]] = {}
    for name in names:
        step(f"native: {name}")
        timings = measured(robots.load(name), effort)
        for pair in PAIRS:
            ours = timings[pair.ours]
            rival = min((timings[x] for x in pair.theirs), key=lambda timing: timing.best)
            report.keep(f"{pair.name}/{name}", {"jounce": ours, "pinocchio": rival})
            found.setdefault(pair.name, {})[name] = ratio(rival, ours)
            pair_times = f"{1e6 * ours.best:.3g} / {1e6 * rival.best:.3g}"
            times.setdefault(pair.name, {})[name] = pair_times
    _show(report, names, found, times)
    return report


def measured(
    robot: Robot, effort: Effort, pairs: Sequence[Pair] | None = None
) -> dict[str, Timing]:
    """Times of both programs by function, after a check that they agree."""
    pairs = PAIRS if pairs is None else pairs
    state = robots.states(robot, STATES)
    turns, seconds = effort.pick((8, 0.05), (3, 0.02), (1, 0.0))
    with tempfile.TemporaryDirectory() as folder:
        ours = compiled.ours(robot, state, Path(folder))
        theirs = compiled.theirs(robot, state, Path(folder))
        our_names = [pair.ours for pair in pairs]
        their_names = [name for pair in pairs for name in pair.theirs]
        timings = compiled.in_turns([(ours, our_names), (theirs, their_names)], turns, seconds)
        check(robot, state, ours.results, theirs.results, pairs)
    return timings


def check(
    robot: Robot, state: States, ours: Array, theirs: Array, pairs: Sequence[Pair] | None = None
) -> None:
    """Stop if the programs' results differ by more than `AGREEMENT`, relative to the largest entry.

    Args:
        robot: the robot.
        state: the states; results are those of the first ones.
        ours: what our program wrote, function by function.
        theirs: what Pinocchio's wrote.
        pairs: what they computed, `PAIRS` if not given.
    """
    pairs = PAIRS if pairs is None else pairs
    our_place = their_place = 0
    for pair in pairs:
        shape = (compiled.CHECKED, pair.results, *[robot.model.nv] * pair.rank)
        size = int(np.prod(shape))
        result = ours[our_place : our_place + size].reshape(shape)
        our_place += size
        for way in pair.theirs:
            other = theirs[their_place : their_place + size].reshape(shape)
            their_place += size
            for k in range(pair.results):
                here = converted(pair, robot, state, result[:, k])
                there = (
                    whole(other[:, k]) if pair.symmetric and k == pair.results - 1 else other[:, k]
                )
                if pair.rank == 3 and k in SWAPPED:
                    there = there.swapaxes(-1, -2)
                robots.check(f"{way}, result {k}, {robot.name}", here, there, AGREEMENT)
    if (our_place, their_place) != (len(ours), len(theirs)):
        raise RuntimeError(f"{robot.name}: the programs wrote more than was asked for")


SWAPPED = (3,)
"""Tensors whose last two indices Pinocchio has the other way round: that by q and a."""


def whole(matrices: Array) -> Array:
    """Symmetric matrices from their upper triangles."""
    upper = np.triu(matrices)
    return upper + np.triu(matrices, 1).swapaxes(-1, -2)


def converted(pair: Pair, robot: Robot, state: States, result: Array) -> Array:
    """Our result in Pinocchio's conventions; all joints have constant axes, so partials convert."""
    q, v = state.q[: compiled.CHECKED], state.v[: compiled.CHECKED]
    if pair.rank == 2:
        return np.asarray(robot.there.to_matrix(q, result))
    if pair.rank == 3:
        order = permutation(robot, q[0])
        return result[:, order][:, :, order][:, :, :, order]
    if pair.ours == "forward_dynamics":
        return np.asarray(robot.there.to_a(q, v, result))
    return np.asarray(robot.there.to_tau(q, result))


def permutation(robot: Robot, q: Array) -> Array:
    """The order in which Pinocchio has our rates."""
    order = np.asarray(robot.there.to_tau(q, np.arange(float(robot.model.nv)))).round().astype(int)
    if sorted(order) != list(range(robot.model.nv)):
        raise RuntimeError(f"{robot.name}: rates are not just in another order")
    return order


def _show(
    report: Report,
    names: tuple[str, ...],
    found: dict[str, dict[str, Ratio]],
    times: dict[str, dict[str, str]],
) -> None:
    """The table, and what was asked for."""
    flags = " ".join(compiled.FLAGS)
    table = report.table(
        "Kernel against kernel, one state, no Python: Pinocchio's time over ours",
        *("function", *names, "geometric mean", "asked for"),
        note=f"Both programs with {flags}. Below: us, ours / Pinocchio's.",
    )
    for pair in PAIRS:
        ratios = found[pair.name]
        asked = ", ".join(f"{name} {least:g}" for name, least in pair.asked)
        values = [f"{ratios[name].value:.3g}" for name in names]
        mean = geometric_mean(r.value for r in ratios.values())
        table.add(pair.name, *values, f"{mean:.3g}", asked)
        table.add("", *(times[pair.name][name] for name in names), "", "")
        for name, least in pair.asked:
            if name in names:
                report.target(f"{pair.name}, {name}", f">= {least:g}", ratios[name].value)
    report.numbers["flags"] = flags
    report.numbers["markdown"] = table.markdown()
