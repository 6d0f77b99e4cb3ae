"""Inertial parameters of an arm from noisy torques: least squares against bodies that can exist.

A 7-joint arm moves along Fourier series for two seconds; its torques are measured with noise.
Torques are linear in the 70 inertial parameters, tau = Y pi, but tell only 43 combinations of them
apart, and some of these badly, as the motion is short.

- Ordinary least squares takes the shortest pi that fits, each in units of what is expected of it.
  It explains the torques that were measured, and gives bodies that cannot exist: masses of minus
  several kilograms, a mass matrix that is not positive definite.
- Log-Cholesky coordinates (`jc.parameters(model, "log_cholesky")`) cover exactly the bodies that
  can exist. Levenberg-Marquardt steps in them fit as well and keep every body possible.

Both are done without and with the same prior, a rough guess of the designer and how far it may be
off. Without it, that bodies must exist is all that tells good fits from bad ones: torques of other
motions are predicted four times better (16 times in the quick form). With it both predict equally
well, the prior does that; but two bodies of least squares still cannot exist.

Run: ``python examples/identification.py [--quick] [--out DIR]``; needs matplotlib. The quick form
has a fifth of the samples and reaches the same conclusions.
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

PERIOD, HARMONICS, SAMPLES = 20.0, 5, 1000
RECORD = 2.0  # s
NOISE = 1.0  # N m
ROUGH = np.array([0.2, *[0.2] * 3, *[0.02] * 3, *[0.03] * 3])
"""How far the designer's guess is off, in log-Cholesky coordinates: factors, and the last in m."""
STEPS = 40
H = np.pi / 2
LINKS = (  # roll of the joint, offset (m), mass (kg), center of mass (m), moments (kg m^2)
    (0.0, (0.0, 0.0, 0.333), 4.0, (0.0, -0.03, -0.12), (0.060, 0.050, 0.020)),
    (-H, (0.0, 0.0, 0.0), 3.5, (0.0, -0.07, 0.03), (0.030, 0.010, 0.030)),
    (H, (0.0, -0.316, 0.0), 3.2, (0.04, 0.03, -0.06), (0.030, 0.030, 0.015)),
    (H, (0.0825, 0.0, 0.0), 3.0, (-0.04, 0.04, 0.03), (0.020, 0.015, 0.025)),
    (-H, (-0.0825, 0.384, 0.0), 2.6, (0.0, 0.04, -0.11), (0.030, 0.025, 0.010)),
    (H, (0.0, 0.0, 0.0), 1.6, (0.05, 0.0, 0.0), (0.004, 0.006, 0.006)),
    (H, (0.088, 0.0, 0.0), 1.2, (0.01, 0.01, 0.08), (0.006, 0.006, 0.003)),
)


class Motion(NamedTuple):
    """A motion and the torques measured along it."""

    q: Array
    v: Array
    a: Array
    tau: Array


class Fit(NamedTuple):
    """Inertias (n_bodies, 10) that somebody found, and what they are worth."""

    inertias: Array
    error: float
    """Root mean square of the error of torques along another motion, N m."""
    impossible: int
    """How many bodies cannot exist."""
    distance: float
    """How far the worst of them is from one that can."""
    least_mass: float
    """kg."""
    least_eigenvalue: float
    """Of the mass matrix, along the motion."""


class Result(NamedTuple):
    """What each method found."""

    model: jc.Model
    fits: dict[str, Fit]
    costs: dict[str, list[float]]
    """Of the steps in log-Cholesky coordinates."""


def build_arm() -> jc.Model:
    """The arm with its true inertias."""
    builder = jc.ModelBuilder(name="arm")
    parent = None
    for k, (roll, offset, mass, com, moments) in enumerate(LINKS):
        name = f"link{k + 1}"
        pose = np.eye(4)
        pose[:3, :3] = jc.lie.exp(np.array([roll, 0.0, 0.0]))
        pose[:3, 3] = offset
        builder.add_body(
            name,
            parent=parent,
            placement=pose,
            joint="revolute",
            mass=mass,
            com=com,
            inertia=moments,
        )
        parent = name
    return builder.build()


def excite(model: jc.Model, count: int, seed: int, duration: float = PERIOD) -> Motion:
    """A Fourier series, or its beginning, with noisy torques."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, duration, count, endpoint=False)[:, None, None]
    w = 2 * np.pi / PERIOD * np.arange(1, HARMONICS + 1)[:, None]
    c, s = 0.35 * rng.standard_normal((2, HARMONICS, model.nv))
    q = (c * np.cos(w * t) + s * np.sin(w * t)).sum(1)
    v = (w * (s * np.cos(w * t) - c * np.sin(w * t))).sum(1)
    a = (-(w**2) * (c * np.cos(w * t) + s * np.sin(w * t))).sum(1)
    tau = jc.inverse_dynamics(model, q, v, a)
    return Motion(q, v, a, tau + NOISE * rng.standard_normal(tau.shape))


def guess(model: jc.Model, seed: int = 3) -> jc.Model:
    """What a designer knows: masses within a factor of 1.5, their centers within centimeters."""
    p = jc.parameters(model, "log_cholesky")
    rng = np.random.default_rng(seed)
    return p.moved(np.tile(ROUGH, model.n_bodies) * rng.standard_normal(len(p)))


def least_squares(model: jc.Model, data: Motion, size: Array) -> Array:
    """The shortest parameters of least error, in units of `size`."""
    Y = jc.torque_regressor(model, data.q, data.v, data.a).reshape(-1, size.size) * size.ravel()
    solution = np.linalg.lstsq(Y, data.tau.ravel(), rcond=1e-9)[0]
    return np.asarray(solution, float).reshape(size.shape) * size


def with_prior(start: jc.Model, data: Motion) -> Array:
    """Least squares with the prior of the coordinates as what it says of pi, to first order."""
    p = jc.parameters(start, "log_cholesky")
    unit = p.inertial_directions().T * np.tile(ROUGH, start.n_bodies)  # pi by normal numbers
    Y = jc.torque_regressor(start, data.q, data.v, data.a).reshape(-1, len(p)) / NOISE
    first = start.inertias.ravel()
    rows = np.vstack([Y @ unit, np.eye(len(p))])
    misfit = np.concatenate([data.tau.ravel() / NOISE - Y @ first, np.zeros(len(p))])
    solution = np.linalg.lstsq(rows, misfit, rcond=None)[0]
    return np.asarray(first + unit @ solution, float).reshape(start.inertias.shape)


def possible(start: jc.Model, data: Motion, prior: bool) -> tuple[jc.Model, list[float]]:
    """The bodies that can exist and fit best, or with a prior the most likely ones, by steps."""
    x = (data.q, data.v, data.a)
    first = jc.parameters(start, "log_cholesky").values
    rough = np.tile(ROUGH, start.n_bodies)

    def misfit(p: jc.Parameters) -> Array:
        error = ((data.tau - jc.inverse_dynamics(p.model, *x)) / NOISE).ravel()
        return np.concatenate([error, (first - p.values) / rough]) if prior else error

    p, damping = jc.parameters(start, "log_cholesky"), 1e-3
    costs = [float(np.sum(misfit(p) ** 2))]
    unit = np.eye(len(p))
    for _ in range(STEPS):
        J = jc.parameter_derivatives(jc.inverse_dynamics, p.model, x, p).reshape(-1, len(p))
        rows = J * rough / NOISE
        if prior:
            rows = np.vstack([rows, unit])
        step = np.linalg.solve(rows.T @ rows + damping * unit, rows.T @ misfit(p))
        try:
            there = jc.parameters(p.moved(rough * step), "log_cholesky")
            cost = float(np.sum(misfit(there) ** 2))
        except jc.Error:  # so far away that numbers overflow
            cost = np.inf
        better = cost < costs[-1]
        p, damping = (there, damping / 3) if better else (p, 4 * damping)
        costs.append(min(cost, costs[-1]))
    return p.model, costs


def judge(model: jc.Model, inertias: Array, other: Motion) -> Fit:
    """What the inertias are worth along a motion that was not used to find them."""
    Y = jc.torque_regressor(model, other.q, other.v, other.a)
    error = Y @ inertias.ravel() - jc.inverse_dynamics(model, other.q, other.v, other.a)
    # M is linear in the inertias as well: column j is what a unit acceleration of joint j takes
    rest = np.zeros(model.nv)
    still = model.replace(gravity=(0.0, 0.0, 0.0))
    some = other.q[:: len(other.q) // 50, None]
    M = jc.torque_regressor(still, some, rest, np.eye(model.nv)) @ inertias.ravel()
    return Fit(
        inertias,
        float(np.sqrt(np.mean(error**2))),
        int((~jc.inertia.is_possible(inertias)).sum()),
        float(jc.inertia.distance(inertias).max()),
        float(inertias[:, 0].min()),
        float(np.linalg.eigvalsh(M).min()),
    )


def run(quick: bool = False) -> Result:
    """Measure, fit, judge."""
    model = build_arm()
    count = SAMPLES // 5 if quick else SAMPLES
    data, other = excite(model, count, 1, RECORD), excite(model, count, 2)
    rough = guess(model)
    size = np.abs(rough.inertias) + 1e-3
    found, costs = {}, {}
    for name, prior in (("log-Cholesky", False), ("log-Cholesky, prior", True)):
        found[name], costs[name] = possible(rough, data, prior)
    candidates = {
        "guess": rough.inertias,
        "least squares": least_squares(model, data, size),
        "log-Cholesky": found["log-Cholesky"].inertias,
        "least squares, prior": with_prior(rough, data),
        "log-Cholesky, prior": found["log-Cholesky, prior"].inertias,
        "truth": model.inertias,
    }
    fits = {name: judge(model, inertias, other) for name, inertias in candidates.items()}
    return Result(model, fits, costs)


def table(result: Result) -> str:
    """What each method found."""
    lines = [
        "                     torque error  impossible  distance  least mass  least eigenvalue of M"
    ]
    for name, fit in result.fits.items():
        lines.append(
            f"{name:<20} {fit.error:8.3f} N m {fit.impossible:8d}/7 {fit.distance:10.3f} "
            f"{fit.least_mass:8.3f} kg {fit.least_eigenvalue:14.2e}"
        )
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """Masses, smallest eigenvalues of the pseudo inertias, convergence."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(12, 4), layout="constrained")
    masses, eigenvalues, costs = fig.subplots(1, 3)
    bodies = np.arange(result.model.n_bodies)
    for k, (name, fit) in enumerate(result.fits.items()):
        place = bodies + 0.14 * (k - 2.5)
        masses.bar(place, fit.inertias[:, 0], 0.14, label=name)
        least = np.linalg.eigvalsh(jc.inertia.pseudo_inertia(fit.inertias))[:, 0]
        eigenvalues.bar(place, least, 0.14)
    masses.set(title="Masses", xlabel="link", ylabel="kg")
    masses.legend(fontsize="small")
    eigenvalues.set(title="Least eigenvalue of the pseudo inertia", xlabel="link")
    eigenvalues.set_yscale("symlog", linthresh=1e-4)
    for name, way in result.costs.items():
        costs.semilogy(way, "o-", markersize=3, label=name)
    costs.legend(fontsize="small")
    costs.set(title="Levenberg-Marquardt", xlabel="step", ylabel="cost")
    costs.xaxis.get_major_locator().set_params(integer=True)
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Identify, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="a fifth of the samples")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("data of two motions, then steps in log-Cholesky coordinates", flush=True)
    result = run(options.quick)
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "identification.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
