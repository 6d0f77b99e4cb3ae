"""Time-optimal motion under limits of torques and of their rates, on partials of the series.

How fast can an arm go from one rest to another? With limits of the torques alone the answer jumps
between them: no motor can, and what it does instead shakes the arm. With limits of the torques'
rates as well the motion is smooth where it has to be. Both are found here as a nonlinear program:
the path is a polynomial whose coefficients c, and duration T, are free; at some times the torques
tau and their rates tau' must be within limits. How these depend on c and T is known exactly,

    d(tau, tau') = K dq + P_0 dv + P_1 da + P_2 dj,

with K and P of `jc.inverse_dynamics_series_derivatives` at all times in one call. Sequential
quadratic programming shortens T until no small change of the motion is faster: then forces of the
limits that hold it, none of which pulls, add up to what shortens T. A few coefficients come first,
then more.

Run: ``python examples/torque_rate_limits.py [--quick] [--out DIR]``; needs matplotlib and scipy.
The quick form takes fewer coefficients and times.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import Chebyshev, Polynomial

import jounce as jc

Array = npt.NDArray[np.float64]

START, GOAL = np.array([-1.0, 0.3, 0.6]), np.array([1.0, -0.6, 1.4])
TORQUE = np.array([60.0, 100.0, 40.0])  # N m
TORQUE_RATE = np.array([900.0, 1500.0, 600.0])  # N m / s
COEFFICIENTS, TIMES = (3, 5, 7, 9), 100
QUICK = (3, 5), 40


def build_arm() -> jc.Model:
    """Three links: a turning base, a shoulder and an elbow with a load."""
    builder = jc.ModelBuilder(name="arm3")
    axes, masses = ((0, 0, 1), (0, 1, 0), (0, 1, 0)), (4.0, 5.0, 6.0)
    parent, offset = None, (0.0, 0.0, 0.3)
    for i, (axis, mass) in enumerate(zip(axes, masses, strict=True)):
        length = 0.1 if i == 0 else 0.4
        moment = mass * length**2 / 12 + 0.01
        builder.add_body(
            f"link{i + 1}",
            parent,
            joint="revolute",
            axis=axis,
            placement=offset,
            mass=mass,
            com=(length / 2, 0, 0),
            inertia=(0.01, moment, moment),
        )
        parent, offset = f"link{i + 1}", (length, 0.0, 0.0)
    return builder.build()


class Shapes(NamedTuple):
    """The straight way and the bumps on it, functions of s in 0 ... 1, with three derivatives."""

    line: Array
    """(4, times)."""
    bumps: Array
    """(4, times, coefficients): at rest with zero acceleration at both ends."""

    @classmethod
    def of(cls, coefficients: int, times: int) -> Shapes:
        """At Chebyshev times, which are dense near the ends."""
        s = (1 - np.cos(np.pi * np.arange(times) / (times - 1))) / 2
        line = Polynomial([0, 0, 0, 10, -15, 6])
        frame = Polynomial([0, 1, -1]) ** 3
        bumps = [
            64 * frame * Chebyshev.basis(k, domain=[0, 1]).convert(kind=Polynomial)
            for k in range(coefficients)
        ]
        return cls(
            np.stack([line.deriv(d)(s) for d in range(4)]),
            np.stack([np.stack([b.deriv(d)(s) for b in bumps], axis=-1) for d in range(4)]),
        )


class Motion(NamedTuple):
    """Coefficients (coefficients, n) and a duration, s."""

    c: Array
    T: float

    def rows(self, shapes: Shapes) -> Array:
        """Coordinates and three time derivatives, (4, times, n)."""
        along = np.multiply.outer(shapes.line, GOAL - START) + shapes.bumps @ self.c
        along[0] += START
        scaled: Array = along / self.T ** np.arange(4)[:, None, None]
        return scaled


def forces(model: jc.Model, x: Array) -> Array:
    """Torques and their rates, (times, 2, n), in units of their limits."""
    tau = jc.inverse_dynamics_series(model, x[0], np.moveaxis(x[1:], 0, 1))
    return tau / np.stack([TORQUE, TORQUE_RATE])


def force_derivatives(model: jc.Model, motion: Motion, shapes: Shapes) -> Array:
    """Derivatives of `forces` by all coefficients and the duration, (times, 2, n, 1 + ...)."""
    x = motion.rows(shapes)
    d = jc.inverse_dynamics_series_derivatives(model, x[0], np.moveaxis(x[1:], 0, 1))
    by = [d.dq, *np.moveaxis(d.dmotion, -2, 0)]  # by q, v, a, jerk: (times, 2, n, n)
    scale = 1 / motion.T ** np.arange(4)
    by_c = sum(
        np.einsum("tkij,tm->tkimj", D, shapes.bumps[level]) * scale[level]
        for level, D in enumerate(by)
    )
    by_T = sum(
        np.einsum("tkij,tj->tki", D, x[level]) * (-level / motion.T) for level, D in enumerate(by)
    )
    n_times, _, n = by_T.shape
    flat = np.concatenate([by_T[..., None], by_c.reshape(n_times, 2, n, -1)], axis=-1)
    result: Array = flat / np.stack([TORQUE, TORQUE_RATE])[..., None]
    return result


class Solution(NamedTuple):
    """A motion, and how its duration came down as coefficients were added."""

    motion: Motion
    durations: list[float]
    """Of the straight way, then with more and more coefficients."""
    iterations: int
    unbalanced: float
    """What the limits leave of the gradient of the duration: 0 if no small change is faster."""


def solve(
    model: jc.Model, coefficients: Sequence[int], times: int, rates: bool
) -> tuple[Shapes, Solution]:
    """Start with the straight way, slow enough; then shorten it with more and more freedom."""
    motion = slowed(model, Motion(np.zeros((1, model.nv)), 0.2), Shapes.of(1, times), rates)
    durations, iterations = [motion.T], 0
    for count in coefficients:
        shapes = Shapes.of(count, times)
        start = np.zeros((count, model.nv))
        start[: len(motion.c)] = motion.c
        motion, steps = fastest(model, Motion(start, motion.T), shapes, rates)
        durations.append(motion.T)
        iterations += steps
    left = unbalanced(model, motion, shapes, rates)
    return shapes, Solution(motion, durations, iterations, left)


def unbalanced(model: jc.Model, motion: Motion, shapes: Shapes, rates: bool) -> float:
    """Least distance of the gradient of T to sums of those of the limits that hold the motion."""
    from scipy.optimize import nnls

    f = forces(model, motion.rows(shapes))[:, : 1 + rates]
    J = force_derivatives(model, motion, shapes)[:, : 1 + rates]
    holding = np.abs(f) > 1 - 1e-6
    outward = J[holding] * np.sign(f[holding])[:, None]
    by_duration = np.eye(J.shape[-1])[0]
    return float(nnls(-outward.T, by_duration)[1])


def slowed(model: jc.Model, motion: Motion, shapes: Shapes, rates: bool) -> Motion:
    """The same path, slow enough for the limits."""
    while np.abs(forces(model, motion.rows(shapes))[:, : 1 + rates]).max() > 1:
        motion = Motion(motion.c, 1.05 * motion.T)
    return motion


def fastest(model: jc.Model, motion: Motion, shapes: Shapes, rates: bool) -> tuple[Motion, int]:
    """The shortest duration within the limits at all times, near a motion; and the iterations."""
    from scipy.optimize import minimize

    rows, shape = 1 + rates, motion.c.shape

    def motion_of(x: Array) -> Motion:
        return Motion(x[1:].reshape(shape), float(x[0]))

    def room(x: Array) -> Array:
        f = forces(model, motion_of(x).rows(shapes))[:, :rows].ravel()
        return np.concatenate([1 - f, 1 + f])

    def room_derivatives(x: Array) -> Array:
        J = force_derivatives(model, motion_of(x), shapes)[:, :rows].reshape(-1, len(x))
        return np.concatenate([-J, J])

    start = np.concatenate([[motion.T], motion.c.ravel()])
    by_duration = np.eye(len(start))[0]
    found = minimize(
        lambda x: x[0],
        start,
        jac=lambda x: by_duration,
        method="SLSQP",
        bounds=[(0.1, None), *[(None, None)] * motion.c.size],
        constraints={"type": "ineq", "fun": room, "jac": room_derivatives},
        options={"maxiter": 300, "ftol": 1e-10},
    )
    return motion_of(found.x), int(found.nit)


class Result(NamedTuple):
    """Both solutions."""

    model: jc.Model
    shapes: Shapes
    solutions: dict[str, Solution]

    def worst(self, name: str) -> Array:
        """Largest torque and largest rate, in units of their limits."""
        f = forces(self.model, self.solutions[name].motion.rows(self.shapes))
        largest: Array = np.abs(f).max(axis=(0, 2))
        return largest


def table(result: Result) -> str:
    """Durations, and how far the limits are used."""
    lines = ["limits of              duration   torque used   rate used", ""]
    for name, s in result.solutions.items():
        torque, rate = result.worst(name)
        lines.append(f"  {name:<20} {s.motion.T:7.3f} s {torque:12.1%} {rate:12.1%}")
    for name, s in result.solutions.items():
        way = ", ".join(f"{T:.3f}" for T in s.durations)
        lines.append(f"  limits of {name}: {way} s in {s.iterations} iterations")
        lines.append(f"    {s.unbalanced:.1e} of the gradient of the duration is left")
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """Torques and their rates of both motions, in units of the limits."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(2, 2, figsize=(12, 7), layout="constrained", sharex=True)
    dense = Shapes.of(result.shapes.bumps.shape[-1], 400)
    for column, (name, s) in enumerate(result.solutions.items()):
        s_axis = (1 - np.cos(np.pi * np.arange(400) / 399)) / 2
        f = forces(result.model, s.motion.rows(dense))
        for row, label in enumerate(("torque", "torque rate")):
            panel = panels[row, column]
            panel.plot(s.motion.T * s_axis, f[:, row], label=["base", "shoulder", "elbow"])
            panel.axhspan(-1, 1, alpha=0.08)
            panel.set(title=f"limits of {name}", ylabel=f"{label} / limit")
            panel.grid(alpha=0.25, linewidth=0.6)
        panels[1, column].set(xlabel="t in s")
    panels[0, 0].legend()
    return drawn


def main(arguments: Sequence[str] | None = None) -> Result:
    """Solve with and without limits of rates; print the table, save the figure."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer coefficients and times")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    model = build_arm()
    coefficients, times = QUICK if options.quick else (COEFFICIENTS, TIMES)
    solutions = {}
    for name, rates in (("torques", False), ("torques and rates", True)):
        print(f"the fastest motion within limits of {name}", flush=True)
        shapes, solutions[name] = solve(model, coefficients, times, rates)
    result = Result(model, shapes, solutions)
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "torque_rate_limits.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
