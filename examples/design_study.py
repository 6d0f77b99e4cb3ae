"""A design study: how long should the links of an arm be, so that a motion takes least energy?

The hand of a planar arm goes around an ellipse with a load, again and again. The energy of a period
is what the motors draw: the work that they do, and the heat of their windings, the square of the
torque over that of the motor constant. What they lift they get back, so that after a whole period
the heat is left. Longer links are heavier and the motors carry them, but short ones have to stretch
and to turn far. The gradient of the energy by the lengths has three parts, and all are exact:

- a longer link moves the next joint outward and has another inertia: parameters of the model;
- the joints then have to move otherwise for the hand to stay on its path: dq = -J^-1 dpose, with
  the derivatives of the pose by the lengths, and with it the rates and accelerations;
- the torques change with both, along one direction: `jc.jvp` of inverse dynamics with tangents of
  the state and of the parameters.

Newton steps with differences of this gradient find the best lengths in a few steps.

Run: ``python examples/design_study.py [--quick] [--out DIR]``; needs matplotlib. The quick form
draws a coarser map.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jounce as jc

Array = npt.NDArray[np.float64]

PERIOD, SAMPLES = 2.0, 64
HAND, DENSITY, WIDTH = 0.15, 4.0, 0.06  # m, kg/m, m
LOAD = 3.0  # kg, at the hand
MOTOR = 8.0  # N m for the square root of a watt, behind the gear
START = np.array([0.62, 0.62])  # m
STEPS = 12
SHOWN = (0.28, 0.72), (0.17, 0.72)  # m, of upper arm and forearm


class Task(NamedTuple):
    """Where the hand has to be: position (m) and angle in the plane."""

    x: Array
    y: Array
    angle: Array


class Result(NamedTuple):
    """The way to the best lengths."""

    lengths: Array
    """(steps + 1, 2)"""
    energies: Array
    """(steps + 1,) J"""
    gradient_error: float
    """Relative difference of the gradient to differences of high order, at the start."""
    grid: tuple[Array, Array, Array]
    """Lengths of upper arm and forearm and the energy there, each (rows, columns)."""


def link(length: float) -> Array:
    """Ten inertial parameters of a bar along x that is as heavy as it is long."""
    m = DENSITY * length
    thin, along = m * WIDTH**2 / 6, m * (length**2 + WIDTH**2) / 12
    return jc.inertia.from_com(m, [length / 2, 0.0, 0.0], np.diag([thin, along, along]))


def link_slope(length: float) -> Array:
    """Its derivative by the length, by a complex step: the numbers are polynomials."""
    h = 1e-30
    m = DENSITY * (length + 1j * h)
    thin, along = m * WIDTH**2 / 6, m * ((length + 1j * h) ** 2 + WIDTH**2) / 12
    c = (length + 1j * h) / 2
    ten = np.array([m, m * c, 0, 0, thin, 0, along + m * c**2, 0, 0, along + m * c**2])
    slope: Array = ten.imag / h
    return slope


def arm(lengths: Array) -> jc.Model:
    """Upper arm and forearm of these lengths, a hand with the load; it moves in the x-y plane."""
    builder = jc.ModelBuilder(gravity=(0.0, -9.81, 0.0), name="arm")
    inertias = [link(lengths[0]), link(lengths[1]), link(HAND)]
    inertias[2] = inertias[2] + jc.inertia.from_com(LOAD, [HAND, 0.0, 0.0], 1e-3 * np.eye(3))
    parent, before = None, 0.0
    for name, ten, length in zip(
        ("upper", "fore", "hand"), inertias, (*lengths, HAND), strict=True
    ):
        pose = np.eye(4)
        pose[0, 3] = before
        builder.add_body(name, parent, "revolute", pose, parameters=ten)
        parent, before = name, length
    tip = np.eye(4)
    tip[0, 3] = HAND
    return builder.build().with_frame("tip", "hand", tip)


def task() -> Task:
    """An ellipse in front of the arm; the hand stays level but for a nod."""
    s = 2 * np.pi * np.arange(SAMPLES) / SAMPLES
    return Task(0.65 + 0.25 * np.cos(s), 0.1 + 0.3 * np.sin(s), 0.3 * np.sin(s))


def wrist(where: Task) -> tuple[Array, Array]:
    """Where the hand has to be held, m from the shoulder."""
    return where.x - HAND * np.cos(where.angle), where.y - HAND * np.sin(where.angle)


def angles(lengths: Array, where: Task) -> Array:
    """Joint angles, (SAMPLES, 3), elbow down."""
    a, b = lengths
    x, y = wrist(where)
    bend = np.arccos((x**2 + y**2 - a**2 - b**2) / (2 * a * b))
    first = np.arctan2(y, x) - np.arctan2(b * np.sin(bend), a + b * np.cos(bend))
    return np.stack([first, bend, where.angle - first - bend], axis=-1)


def rate(x: Array) -> Array:
    """Time derivative of periodic samples, exact for what they resolve; a linear map."""
    k = np.fft.rfftfreq(SAMPLES, PERIOD / SAMPLES)[:, None] * 2j * np.pi
    k[-1] = 0.0
    return np.fft.irfft(k * np.fft.rfft(x, axis=0), SAMPLES, axis=0)


def shares(lengths: Array) -> tuple[float, float]:
    """Work and heat of a period, J."""
    q = angles(lengths, task())
    v = rate(q)
    tau = jc.inverse_dynamics(arm(lengths), q, v, rate(v))
    work, heat = np.sum(tau * v, axis=-1), np.sum(tau**2, axis=-1) / MOTOR**2
    return PERIOD * float(np.mean(work)), PERIOD * float(np.mean(heat))


def energy(lengths: Array) -> float:
    """What the motors draw in a period, J."""
    return sum(shares(lengths))


def gradient(lengths: Array) -> Array:
    """Of the energy by both lengths."""
    model, q = arm(lengths), angles(lengths, task())
    v = rate(q)
    a = rate(v)
    p = jc.parameters(model, "placement", ["fore", "hand"])
    for kind in ("mass", "first_moment", "inertia"):
        p = p + jc.parameters(model, kind, ["upper", "fore"])
    J = jc.jacobian(model, q, "tip", "hybrid")[:, [2, 3, 4]]
    slopes = []
    for k, length in enumerate(lengths):
        direction = changes(p, k, link_slope(length))
        dT = jc.jvp(jc.body_pose, model, (q, "tip"), (), parameters=(p, direction)).derivative
        shift = np.concatenate([np.zeros((SAMPLES, 1)), dT[:, :2, 3]], axis=-1)  # no turn
        dq = np.linalg.solve(J, -shift[..., None])[..., 0]
        dv = rate(dq)
        tangents = (dq, dv, rate(dv))
        tau, dtau = jc.jvp(
            jc.inverse_dynamics, model, (q, v, a), tangents, parameters=(p, direction)
        )
        power = np.sum(dtau * v + tau * dv + 2 * tau * dtau / MOTOR**2, axis=-1)
        slopes.append(PERIOD * np.mean(power))
    return np.array(slopes)


def changes(p: jc.Parameters, which: int, slope: Array) -> Array:
    """The direction of one length: the next joint along x, and the link's own inertia."""
    first = {"mass": 0, "first_moment": 1, "inertia": 4}
    own, following = ("upper", "fore")[which], ("fore", "hand")[which]
    direction = np.zeros(len(p))
    for k, item in enumerate(p.items):
        if item.kind == "placement" and item.name == following and item.component == 3:
            direction[k] = 1.0
        elif item.kind in first and item.name == own:
            direction[k] = slope[first[item.kind] + item.component]
    return direction


def by_differences(lengths: Array) -> Array:
    """The gradient by central differences of the eighth order."""
    h, total = 1e-3, np.zeros(2)
    for k, weight in enumerate((4 / 5, -1 / 5, 4 / 105, -1 / 280), 1):
        for j, e in enumerate(np.eye(2)):
            total[j] += weight * (energy(lengths + k * h * e) - energy(lengths - k * h * e)) / h
    return total


def optimize(start: Array) -> tuple[Array, Array]:
    """Newton steps, with a Hessian of differences of the gradient; shortened until they help."""
    path, energies = [start], [energy(start)]
    for _ in range(STEPS):
        x, g = path[-1], gradient(path[-1])
        h = 1e-5
        columns = [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(2)]
        values, vectors = np.linalg.eigh((np.array(columns) + np.array(columns).T) / 2)
        step = -vectors @ (
            (vectors.T @ g) / np.maximum(np.abs(values), 1e-3 * np.abs(values).max())
        )
        for length in 0.5 ** np.arange(12):
            there = x + length * step
            reaches = np.isfinite(angles(there, task())).all() if (there > 0.1).all() else False
            if reaches and energy(there) < energies[-1]:
                break
        else:
            break
        path.append(there)
        energies.append(energy(there))
    return np.array(path), np.array(energies)


def reachable(count: int) -> tuple[Array, Array]:
    """Lengths that reach, (count, count) each, from edge to edge and denser there.

    The wrist is at distances r from the shoulder: the links together must be as long as the
    largest, and differ by no more than the least.
    """
    r = np.hypot(*wrist(task()))
    t = np.linspace(0.0, 1.0, count)
    together = r.max() + 1e-6 + (sum(high for _, high in SHOWN) - r.max()) * t**2
    apart = (1.0 - 1e-6) * r.min() * np.sin(np.pi * (t - 0.5))
    s, d = np.meshgrid(together, apart)
    return (s + d) / 2, (s - d) / 2


def run(quick: bool = False) -> Result:
    """Optimize, and compute the map."""
    with np.errstate(invalid="ignore"):
        path, energies = optimize(START)
        exact = by_differences(START)
        wrong = float(np.abs(gradient(START) - exact).max() / np.abs(exact).max())
    a, b = reachable(10 if quick else 50)
    pairs = zip(a.flat, b.flat, strict=True)
    grid = np.array([energy(np.array(lengths)) for lengths in pairs]).reshape(a.shape)
    return Result(path, energies, wrong, (a, b, grid))


def table(result: Result) -> str:
    """The way to the best lengths."""
    lines = [f"gradient against differences: {result.gradient_error:.1e}"]
    lines.append("step  upper arm  forearm   energy of a period")
    for k, (lengths, value) in enumerate(zip(result.lengths, result.energies, strict=True)):
        lines.append(f"{k:4d} {lengths[0]:8.4f} m {lengths[1]:7.4f} m {value:12.3f} J")
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """The map of the energy with the way of the optimizer, and its end enlarged."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(12, 6), layout="constrained")
    whole, end = fig.subplots(1, 2)
    draw_map(fig, whole, result, np.arange(38.0, 81.0), np.arange(40.0, 81.0, 10.0))
    whole.set(title="Energy by link lengths", xlim=SHOWN[0], ylim=SHOWN[1])
    words = {"color": "0.25", "ha": "center", "va": "center", "rotation_mode": "anchor"}
    whole.text(0.36, 0.365, "out of reach: too short", rotation=-45, **words)
    whole.text(0.61, 0.315, "out of reach: too unequal", rotation=45, **words)
    whole.text(0.345, 0.64, "out of reach:\ntoo unequal", rotation=45, **words)
    whole.annotate("start", START, (6, 4), textcoords="offset points", color="white")
    whole.legend(loc="lower left")
    best, least = result.lengths[-1], result.energies[-1]
    draw_map(fig, end, result, np.arange(39.3, 41.51, 0.05), np.arange(39.5, 41.6, 0.5))
    end.set(title="The last steps", xlim=best[0] + [-0.038, 0.018], ylim=best[1] + [-0.025, 0.045])
    end.text(best[0] - 0.0255, best[1] + 0.013, "out of reach: too short", rotation=-45, **words)
    named = f"optimum: {best[0]:.3f} m, {best[1]:.3f} m, {least:.1f} J"
    line = {"arrowstyle": "-", "shrinkB": 8}
    end.annotate(named, best, best - [0.015, 0.018], ha="center", va="top", arrowprops=line)
    return fig


def draw_map(fig: Any, panel: Any, result: Result, levels: Array, ticks: Array) -> None:
    """Energies where the arm reaches, on grey, and the way over them."""
    panel.set(xlabel="upper arm, m", ylabel="forearm, m", aspect="equal", facecolor="0.8")
    filled = panel.contourf(*result.grid, levels, cmap="viridis", extend="max")
    fig.colorbar(filled, ax=panel, label="energy of a period, J", ticks=ticks)
    panel.plot(*result.lengths.T, "o-", color="red", markersize=4, label="Newton steps")
    panel.plot(
        *result.lengths[-1],
        "*",
        color="gold",
        markeredgecolor="red",
        markersize=15,
        label="optimum",
    )


def main(arguments: Sequence[str] | None = None) -> Result:
    """Optimize, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="a coarser map")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("Newton steps in the lengths, then a map of the energy over them", flush=True)
    result = run(options.quick)
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "design_study.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
