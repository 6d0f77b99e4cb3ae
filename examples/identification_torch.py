"""Identification by gradient descent in PyTorch against the regressor's least squares.

Torques are linear in the inertial parameters, tau = Y(q, v, a) pi, so that least squares finds them
in one step: if q is what it is said to be. Here encoders of an arm are some degrees off. Least
squares cannot know, and puts the error into the masses. A loss in PyTorch has both as variables:

    loss(pi, offset) = mean |Y(q + offset, v, a) pi - tau|^2,

with Y from `jounce.interop.torch.torque_regressor`, whose exact derivatives by q carry the gradient
to the offsets. With the offsets held at zero, descent ends where least squares does; with them as
variables it finds the offsets, and torques several times as good. (An offset of the last joint
cannot be told from a turn of the last body's inertia, so it is not among them.)

Run: ``python examples/identification_torch.py [--quick] [--out DIR]``; needs torch and matplotlib.
The quick form has a quarter of the samples and half the steps, and reaches the same conclusions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

import jounce as jc
from jounce.interop import torch as jtorch

Array = npt.NDArray[np.float64]

SAMPLES, PERIOD, HARMONICS = 400, 10.0, 5
NOISE = 0.05  # N m
OFFSETS = np.deg2rad([8.0, -6.0, 0.0])
GUESS = 0.2
"""The designer's parameters are off by about this part."""
PULL = 1e-7
"""Towards the designer's parameters, for combinations that torques do not tell apart."""
STEPS = 25


class Motion(NamedTuple):
    """A motion, and what sensors told: angles with offsets, torques with noise."""

    q: Array
    v: Array
    a: Array
    tau: Array
    told: Array


class Fit(NamedTuple):
    """Parameters and offsets that somebody found."""

    parameters: Array
    offsets: Array
    error: float
    """Root mean square error of torques along another motion, N m."""
    losses: list[float]


class Result(NamedTuple):
    """What each found."""

    model: jc.Model
    fits: dict[str, Fit]
    other: Motion


def measured(model: jc.Model, samples: int, seed: int) -> Motion:
    """Fourier series in each joint, and what the sensors say of them."""
    rng = np.random.default_rng(seed)
    t = PERIOD * np.arange(samples)[:, None, None] / samples
    w = 2 * np.pi / PERIOD * np.arange(1, HARMONICS + 1)[:, None]
    cosines, sines = rng.standard_normal((2, HARMONICS, model.nv)) / HARMONICS
    q, v, a = (
        (w**k * (cosines * np.cos(w * t + k * np.pi / 2) + sines * np.sin(w * t + k * np.pi / 2)))
        .sum(1)
        for k in range(3)
    )  # fmt: skip
    tau = jc.inverse_dynamics(model, q, v, a) + NOISE * rng.standard_normal(q.shape)
    return Motion(q, v, a, tau, q - OFFSETS)


def scales(model: jc.Model, motion: Motion) -> Array:
    """Changes of the parameters that change torques by about 1 N m."""
    Y = jc.torque_regressor(model, motion.told, motion.v, motion.a)
    found: Array = 1.0 / np.maximum(np.sqrt((Y**2).mean((0, 1))), 1e-2)
    return found


def least_squares(model: jc.Model, motion: Motion, start: Array) -> Array:
    """Parameters by the regressor at the angles that were told, with the same pull as descent."""
    Y = jc.torque_regressor(model, motion.told, motion.v, motion.a)
    scale, count = scales(model, motion), motion.tau.size
    rows = (Y * scale).reshape(count, -1) / np.sqrt(count)
    missing = ((motion.tau - Y @ start) / np.sqrt(count)).ravel()
    solved = np.linalg.solve(rows.T @ rows + PULL * np.eye(len(start)), rows.T @ missing)
    found: Array = start + scale * solved
    return found


def descend(model: jc.Model, motion: Motion, start: Array, steps: int, offsets: bool) -> Fit:
    """Gradient descent with L-BFGS steps, from the designer's parameters and no offsets."""
    told, v, a, tau = (torch.tensor(x) for x in (motion.told, motion.v, motion.a, motion.tau))
    first, scale = torch.tensor(start), torch.tensor(scales(model, motion))
    x = torch.zeros(len(start), dtype=torch.float64, requires_grad=True)
    b = torch.zeros(model.nv - 1, dtype=torch.float64, requires_grad=offsets)
    last = torch.zeros(1, dtype=torch.float64)
    options = {"max_iter": 20, "history_size": 40, "line_search_fn": "strong_wolfe"}
    tight = {"tolerance_grad": 1e-12, "tolerance_change": 1e-15}
    variables = [x, b] if offsets else [x]
    descent = torch.optim.LBFGS(variables, **options, **tight)  # type: ignore[arg-type]
    losses = []

    def loss() -> Any:
        descent.zero_grad()
        Y = jtorch.torque_regressor(model, told + torch.cat([b, last]), v, a)
        value = ((Y @ (first + scale * x) - tau) ** 2).mean() + PULL * (x**2).sum()
        value.backward()
        return value.detach()

    for _ in range(steps):
        losses.append(float(descent.step(loss)))
    found = (first + scale * x).detach().numpy()
    return Fit(found, torch.cat([b, last]).detach().numpy(), np.nan, losses)


def judged(model: jc.Model, fit: Fit, other: Motion) -> Fit:
    """With the error of its torques along another motion."""
    Y = jc.torque_regressor(model, other.told + fit.offsets, other.v, other.a)
    exact = jc.inverse_dynamics(model, other.q, other.v, other.a)
    error = float(np.sqrt(((Y @ fit.parameters - exact) ** 2).mean()))
    return fit._replace(error=error)


def run(samples: int, steps: int) -> Result:
    """Measure, identify in all ways, and judge on another motion."""
    model = jc.models.chain(3)
    motion, other = (measured(model, samples, seed) for seed in (0, 1))
    rng = np.random.default_rng(2)
    truth = model.inertias.ravel()
    start = truth * (1.0 + GUESS * rng.standard_normal(truth.size))
    none = np.zeros(model.nv)
    fits = {
        "guess": Fit(start, none, np.nan, []),
        "least squares": Fit(least_squares(model, motion, start), none, np.nan, []),
        "descent": descend(model, motion, start, steps, offsets=False),
        "descent, offsets": descend(model, motion, start, steps, offsets=True),
    }
    return Result(model, {k: judged(model, fit, other) for k, fit in fits.items()}, other)


def figure(result: Result) -> Any:
    """Losses, errors on another motion, and the offsets."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (losses, errors, offsets) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for name, fit in result.fits.items():
        if fit.losses:
            losses.semilogy(fit.losses, label=name)
    losses.axhline(NOISE**2, color="gray", linestyle=":", label="noise")
    losses.set(title="loss", xlabel="step of 20 iterations", ylabel="N$^2$ m$^2$")
    losses.legend(fontsize=8)
    errors.bar(list(result.fits), [fit.error for fit in result.fits.values()], log=True)
    errors.tick_params("x", rotation=20)
    errors.set(title="torques of another motion", ylabel="error, N m (rms)")
    found = np.rad2deg(result.fits["descent, offsets"].offsets)
    at = np.arange(len(found))
    offsets.bar(at - 0.2, np.rad2deg(OFFSETS), 0.4, label="true")
    offsets.bar(at + 0.2, found, 0.4, label="found")
    offsets.set(title="offsets of the encoders", xlabel="joint", ylabel="degrees", xticks=at)
    offsets.legend()
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Identify, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer samples and steps")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    size = (SAMPLES // 4, STEPS // 2) if options.quick else (SAMPLES, STEPS)
    result = run(*size)
    print(f"{'':18} {'error, N m':>11}  offsets, degrees (true: {np.rad2deg(OFFSETS)})")
    for name, fit in result.fits.items():
        print(f"{name:18} {fit.error:11.4f}  {np.round(np.rad2deg(fit.offsets), 3)}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "identification_torch.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
