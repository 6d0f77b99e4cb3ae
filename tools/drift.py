"""What a million steps keep of a floating tree: a table, and whether the energy drifts.

    python tools/drift.py table            the table of `docs/simulation.md`, from one start
    python tools/drift.py chaos regular    momentum and energy of the geometric methods, many starts
    python tools/drift.py --steps 1e5 --starts 16 chaos

Energy of the variational method, in units of its oscillation (the range over the run of the start):
one start of a chaotic motion says little about a drift, because its energy wanders. So the slopes
that are fitted to many starts are averaged. The mean, times the length of the run, may be beyond
1 % of the oscillation by no more than two standard errors, and one standard error has to be below
1 %: where each start drifts its own way, the mean says nothing. A regular motion does not wander:
there each single slope has to be below 1 %. The momentum of each start has to stay within 1e-11 of
its size for all geometric methods. What fails is named, and the program exits with 1.
"""

from __future__ import annotations

import argparse
import sys
from typing import NamedTuple

import numpy as np

import jounce as jc
from jounce.simulation.methods import GEOMETRIC, METHODS
from jounce.simulation.taylor import TAYLOR

DT = 0.01
MOST_STORED = 10_000
"""States of each of many starts at which momentum and energy are looked at,"""
PORTION = 10_000
"""and steps that are taken at once."""

ALLOWED_SLOPE, STANDARD_ERRORS, ALLOWED_ERROR = 0.01, 2.0, 0.01
ALLOWED_MOMENTUM = 1e-11

Starts = tuple[np.ndarray, np.ndarray]


def floating_tree() -> jc.Model:
    """Four bodies with turning joints, a spherical one inside, without gravity."""
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    shape = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.1, 0.15, 0.2])}
    arm = np.eye(4)
    arm[:3, 3] = 0.3, 0.1, -0.1
    builder.add_body("base", joint="free", **shape)
    builder.add_body("left", "base", "spherical", arm, **shape)
    builder.add_body("right", "base", "revolute", np.linalg.inv(arm), axis=(1, 0, 0), **shape)
    return builder.add_body("hand", "left", "revolute", arm, axis=(0, 1, 0), **shape).build()


def chaotic_starts(model: jc.Model, count: int, seed: int = 3) -> Starts:
    """Random configurations and rates of some 2 rad/s."""
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, count)
    return q, 2.0 * rng.standard_normal((count, model.nv))


def regular_starts(model: jc.Model, count: int, seed: int = 3) -> Starts:
    """Near the motion of least energy that the momentum allows, which is stable.

    Dampers in the joints lead there: the tree then turns as one body about its axis of largest
    inertia, stretched out. Its joints are nudged by some 0.02 rad/s.
    """
    rng = np.random.default_rng(seed)
    q, v = jc.random_configuration(model, rng), 2.0 * rng.standard_normal(model.nv)
    inner = np.arange(model.nv) >= 6
    damped = jc.Control(kd=np.where(inner, 0.5, 0.0))
    rest = np.zeros((20_000, model.nv))
    end = jc.rollout(model, q, v, rest, DT, control=damped, every=len(rest))
    nudge = 0.02 * rng.standard_normal((count, model.nv)) * inner
    return np.tile(end.q[-1], (count, 1)), end.v[-1] + nudge


class Kept(NamedTuple):
    """What each of n starts kept."""

    linear: np.ndarray
    """(n,) largest change of the linear momentum, relative to its size,"""
    centroidal: np.ndarray
    """and of that about the center of mass."""
    oscillation: np.ndarray
    """(n,) range of the energy, relative to its first value."""
    slope: np.ndarray
    """(n,) fitted slope of the energy times the time, in the same unit."""

    @property
    def relative_slope(self) -> np.ndarray:
        """(n,) in units of the oscillation."""
        return self.slope / self.oscillation


def kept(model: jc.Model, starts: Starts, method: str, steps: int) -> Kept:
    """Follow all starts."""
    q, v = starts
    every = max(1, steps // MOST_STORED)
    portion = max(1, PORTION // every) * every
    first = jc.centroidal_momentum(model, q, v)
    change, energy = np.zeros((2, len(q))), [jc.kinetic_energy(model, q, v)[:, None]]
    for k in range(0, steps // every * every, portion):
        rest = np.zeros((min(portion, steps - k), model.nv))
        got = jc.rollout(model, q, v, rest, DT, method=method, every=every)
        moved = jc.centroidal_momentum(model, got.q, got.v) - first[:, None]
        for own, half in zip(change, (slice(3, 6), slice(3)), strict=True):
            sizes = np.linalg.norm(moved[..., half], axis=-1).max(axis=1)
            np.maximum(own, sizes / np.linalg.norm(first[:, half], axis=-1), out=own)
        energy.append(jc.kinetic_energy(model, got.q, got.v)[:, 1:])
        q, v = got.q[:, -1], got.v[:, -1]
    return Kept(*change, *oscillation_and_slope(np.concatenate(energy, axis=1)))


def oscillation_and_slope(energy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Range and fitted slope times time of energies (n, K) at even times, by their first values."""
    energy = energy / energy[:, :1]
    slope = np.polyfit(np.linspace(0, 1, energy.shape[1]), energy.T, 1)[0]
    return np.ptp(energy, axis=1), slope


def lost_momentum(found: Kept) -> list[str]:
    """What is wrong with the momentum of a geometric method."""
    worst = {"linear": found.linear.max(), "centroidal": found.centroidal.max()}
    return [
        f"{name} momentum changes by {x:.1e} of its size, more than {ALLOWED_MOMENTUM:.0e}"
        for name, x in worst.items()
        if not x <= ALLOWED_MOMENTUM
    ]


def drifts_on_average(slope: np.ndarray) -> list[str]:
    """What is wrong with slopes (n,) of many starts, in units of the oscillation."""
    mean, error, wrong = slope.mean(), standard_error(slope), []
    if not abs(mean) <= ALLOWED_SLOPE + STANDARD_ERRORS * error:
        wrong.append(f"energy drifts by {mean:.2%} +- {error:.2%} of its oscillation")
    if not error <= ALLOWED_ERROR:
        wrong.append(f"energies drift apart, or the run is too short: {mean:.2%} +- {error:.2%}")
    return wrong


def drifts_alone(slope: np.ndarray) -> list[str]:
    """The same of motions that are regular, each of which is judged by itself."""
    worst = float(np.abs(slope).max())
    return [] if worst <= ALLOWED_SLOPE else [f"energy drifts by {worst:.2%} of its oscillation"]


def standard_error(x: np.ndarray) -> float:
    """Of the mean."""
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def judged(model: jc.Model, motion: str, starts: Starts, steps: int) -> list[str]:
    """Print what the geometric methods keep of many starts; return what is wrong with it."""
    wrong = []
    for method in GEOMETRIC:
        found = kept(model, starts, method, steps)
        own = lost_momentum(found)
        print(f"{motion}, {method}, {len(found.slope)} starts of {steps} steps:")
        print(f"  linear momentum     {found.linear.max():.1e} at most")
        print(f"  centroidal momentum {found.centroidal.max():.1e} at most")
        low, high = found.oscillation.min(), found.oscillation.max()
        print(f"  energy, oscillation {low:.1e} to {high:.1e}")
        slope = found.relative_slope
        mean = f"{slope.mean():.2%} +- {standard_error(slope):.2%} of it"
        print(f"  energy, slope       {mean}, {slope.min():.2%} to {slope.max():.2%}", flush=True)
        if method == "variational":
            own += drifts_alone(slope) if motion == "regular" else drifts_on_average(slope)
        wrong += [f"{motion}, {method}: {x}" for x in own]
    return wrong


def row(model: jc.Model, method: str, steps: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(3)
    q, v = jc.random_configuration(model, rng), 2.0 * rng.standard_normal(model.nv)
    rest, every = np.zeros((steps, model.nv)), max(1, steps // 100000)
    got = jc.rollout(model, q, v, rest, DT, method=method, every=every, on_failure="mark")
    if got.failed_at >= 0:
        return f'| `"{method}"` | diverges at step {got.failed_at} | | | |'
    momentum = jc.centroidal_momentum(model, got.q, got.v)
    halves = []
    for half in (slice(3, 6), slice(3)):
        change = np.linalg.norm(momentum[:, half] - momentum[0, half], axis=-1).max()
        halves.append(change / np.linalg.norm(momentum[0, half]))
    energy = oscillation_and_slope(jc.kinetic_energy(model, got.q, got.v)[None])
    cells = (*halves, *(float(x[0]) for x in energy))
    return f'| `"{method}"` | ' + " | ".join(f"{x:.1e}" for x in cells) + " |"


def table(model: jc.Model, steps: int) -> None:
    """Print the table."""
    print("| method | linear momentum | centroidal momentum | energy, range | slope times time |")
    print("| --- | --- | --- | --- | --- |")
    for method in (*METHODS, TAYLOR, *GEOMETRIC):
        print(row(model, method, steps), flush=True)


def main(given: list[str] | None = None) -> int:
    """Print what is asked for; 1 if something is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = ("table", "chaos", "regular")
    parser.add_argument("what", nargs="*", help=f"of {', '.join(known)}; all by default")
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--starts", type=int, default=64)
    options = parser.parse_args(given)
    if unknown := set(options.what) - set(known):
        parser.error(f"there is no {', '.join(sorted(unknown))}, only {', '.join(known)}")
    model, steps, wrong = floating_tree(), int(options.steps), []
    for what in options.what or known:
        if what == "table":
            table(model, steps)
            continue
        make = regular_starts if what == "regular" else chaotic_starts
        wrong += judged(model, what, make(model, options.starts), steps)
    print("\n".join(wrong) or "nothing is wrong", file=sys.stderr if wrong else sys.stdout)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
