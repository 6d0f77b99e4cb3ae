"""The table of `docs/simulation.md`: what a million steps keep of a floating tree."""

from __future__ import annotations

import sys

import numpy as np

import jounce as jc
from jounce.simulation.methods import GEOMETRIC, METHODS
from jounce.simulation.taylor import TAYLOR


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


def row(model: jc.Model, method: str, steps: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(3)
    q, v = jc.random_configuration(model, rng), 2.0 * rng.standard_normal(model.nv)
    rest, every = np.zeros((steps, model.nv)), max(1, steps // 100000)
    got = jc.rollout(model, q, v, rest, 0.01, method=method, every=every, on_failure="mark")
    if got.failed_at >= 0:
        return f'| `"{method}"` | diverges at step {got.failed_at} | | | |'
    momentum = jc.centroidal_momentum(model, got.q, got.v)
    halves = []
    for half in (slice(3, 6), slice(3)):
        change = np.linalg.norm(momentum[:, half] - momentum[0, half], axis=-1).max()
        halves.append(change / np.linalg.norm(momentum[0, half]))
    energy = jc.kinetic_energy(model, got.q, got.v)
    energy = energy / energy[0]
    slope = np.polyfit(np.linspace(0, 1, len(energy)), energy, 1)[0]
    cells = (*halves, np.ptp(energy), slope)
    return f'| `"{method}"` | ' + " | ".join(f"{x:.1e}" for x in cells) + " |"


def main(steps: int) -> None:
    """Print the table."""
    print("| method | linear momentum | centroidal momentum | energy, range | slope times time |")
    print("| --- | --- | --- | --- | --- |")
    model = floating_tree()
    for method in (*METHODS, TAYLOR, *GEOMETRIC):
        print(row(model, method, steps), flush=True)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6)
