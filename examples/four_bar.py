"""A four-bar: driven by its crank, let go, and taken to where it is singular.

A crank, a rod and a rocker hang on two pins of the ground; the rod's end is pinned to the rocker's.
Three joints and two equations of the plane leave one degree of freedom.

Where crank and rod are in one line, the rocker cannot turn the crank: a dead point of that drive.
A parallelogram that lies flat loses a row: it may go on in two ways, and `Constraints.rank` tells.

Run: ``python examples/four_bar.py [--quick] [--out DIR]``; needs matplotlib. The quick form looks
at fewer instants.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

CRANK, ROD, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.6
SPEED = 2 * np.pi


class Result(NamedTuple):
    """A turn of the crank, a free motion, and how far the mechanism is from being singular."""

    crank: np.ndarray
    """Angles of the crank, rad."""
    torque: np.ndarray
    """That turns it at constant speed, N m."""
    pin: np.ndarray
    """(n, 3) force of the pin between rod and rocker, N."""
    error: float
    """Largest difference of the accelerations that the torque gives from those wanted."""
    drives: dict[str, np.ndarray]
    """Smallest singular value of the rows without a joint: zero where it cannot drive the rest."""
    dead: np.ndarray
    """Angles of the crank at which crank and rod are in one line."""
    opening: float
    """By how much the loop opens in a second of free motion, m."""
    energy: float
    """How much its energy changes, relative to its largest kinetic energy."""
    flat: tuple[int, int]
    """Rank of the rows of a parallelogram: lying flat, and lifted by 0.3 rad."""


def four_bar(
    crank: float = CRANK, rod: float = ROD, rocker: float = ROCKER, ground: float = GROUND
) -> jc.Model:
    """The open chain: both ends of the loop are frames."""
    builder = jc.ModelBuilder(name="four-bar")
    parts = (
        ("crank", None, 0.0, crank),
        ("rod", "crank", crank, rod),
        ("rocker", None, ground, rocker),
    )
    for name, parent, x, length in parts:
        pose = np.eye(4)
        pose[0, 3] = x
        inertia = np.diag([1e-4, length**2 / 12, length**2 / 12])
        body = {"mass": 1.0, "com": (length / 2, 0, 0), "inertia": inertia}
        builder.add_body(name, parent, "revolute", pose, axis=(0, 1, 0), **body)
    model = builder.build()
    for name, length in (("rod", rod), ("rocker", rocker)):
        pose = np.eye(4)
        pose[0, 3] = length
        model = model.with_frame(f"{name} end", name, pose)
    return model


def loop_of(model: jc.Model) -> jc.Constraints:
    """What closes it."""
    return jc.Constraints(model, [jc.Point("rod end", "rocker end", target=np.zeros(3))])


def closed(angle: float) -> np.ndarray:
    """All joint angles for one of the crank: where two circles meet."""
    tip, pin = CRANK * np.array([np.cos(angle), np.sin(angle)]), np.array([GROUND, 0.0])
    far = np.linalg.norm(pin - tip)
    along = (pin - tip) / far
    x = (ROD**2 - ROCKER**2 + far**2) / (2 * far)
    end = tip + x * along + np.sqrt(ROD**2 - x**2) * np.array([-along[1], along[0]])
    rod, rocker = (np.arctan2(*(end - at)[::-1]) for at in (tip, pin))
    return np.array([angle, rod - angle, rocker])


def dead_points() -> np.ndarray:
    """Angles of the crank where it is in line with the rod, by the law of cosines."""
    angles = []
    for reach, fold in ((ROD + CRANK, 0.0), (ROD - CRANK, np.pi)):
        cosine = (reach**2 + GROUND**2 - ROCKER**2) / (2 * reach * GROUND)
        angles.append((np.arccos(cosine) + fold) % (2 * np.pi))
    return np.array(angles)


def driven(model: jc.Model, c: jc.Constraints, q: np.ndarray) -> tuple[Any, float]:
    """What drives the crank at constant speed, and how well it does."""
    J = c.jacobian(q)[:, 1:]
    v = np.concatenate([[SPEED], np.linalg.lstsq(J, -c.jacobian(q)[:, 0] * SPEED)[0]])
    a = np.concatenate([[0.0], np.linalg.lstsq(J, -c.bias(q, v))[0]])
    found = jc.constrained_inverse_dynamics(model, q, v, a, c, actuated=["crank_joint"])
    back = jc.constrained_dynamics(model, q, v, found.tau, c).a
    return found, float(np.abs(back - a).max() / np.abs(a).max())


def let_go(model: jc.Model, c: jc.Constraints) -> tuple[float, float]:
    """A second of free motion, without projection: how far the loop opens, and its energy."""
    q = jc.project(model, [-1.2, 0.8, -1.7], c)
    v = jc.project_velocity(model, q, [2.0, 0.0, 0.0], c)
    t = np.linspace(0.0, 1.0, 11)
    motion = jc.simulate(model, q, v, t, method="taylor", constraints=c, projection=False)
    change = np.abs(motion.energy - motion.energy[0]).max() / motion.kinetic_energy.max()
    return float(np.abs(c.residual(motion.q)).max()), float(change)


def run(quick: bool = False) -> Result:
    """Turn the crank once, let the mechanism go, look for singularities."""
    model = four_bar()
    c = loop_of(model)
    dead = dead_points()
    crank = np.sort(np.concatenate([np.linspace(0.0, 2 * np.pi, 25 if quick else 361), dead]))
    q = np.array([closed(x) for x in crank])
    found, errors = zip(*(driven(model, c, x) for x in q), strict=True)
    J = c.jacobian(q)[:, [0, 2]]  # its second row, across the plane, is zero
    drives = {
        name: np.linalg.svd(np.delete(J, k, -1), compute_uv=False)[:, -1]
        for k, name in ((0, "crank"), (2, "rocker"))
    }
    parallelogram = loop_of(four_bar(0.3, 0.6, 0.3, 0.6))
    flat = tuple(int(parallelogram.rank([x, -x, x])) for x in (0.0, 0.3))
    return Result(
        crank,
        np.array([x.tau[0] for x in found]),
        np.array([x.force for x in found]),
        max(errors),
        drives,
        dead,
        *let_go(model, c),
        (flat[0], flat[1]),
    )


def figure(result: Result) -> Any:
    """The torque and the force of the pin, and the distance to dead points."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = fig.subplots(1, 2)
    angle = np.rad2deg(result.crank)
    left.plot(angle, result.torque, label="torque of the crank, N m")
    left.plot(angle, np.linalg.norm(result.pin, axis=-1), label="force of the pin, N")
    left.set(title="at 1 turn a second", xlabel="angle of the crank, deg")
    left.legend()
    for name, value in result.drives.items():
        right.plot(angle, value, label=f"driven by the {name}")
    for x in np.rad2deg(result.dead):
        right.axvline(x, color="gray", linestyle=":")
    right.set(title="smallest singular value", xlabel="angle of the crank, deg")
    right.legend()
    return fig


def main() -> None:
    """Print what was found; save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer instants")
    options = parser.parse_args()
    result = run(options.quick)
    print(f"torques from {result.torque.min():.1f} to {result.torque.max():.1f} N m turn the crank")
    print(f"forward dynamics give the motion back to {result.error:.1e}")
    print(f"free for 1 s it opens by {result.opening:.1e} m, energy changes by {result.energy:.1e}")
    angles = ", ".join(f"{x:.1f}" for x in np.rad2deg(result.dead))
    print(f"the rocker cannot drive it at crank angles of {angles} deg")
    print(f"a parallelogram has rows of rank {result.flat[1]}, lying flat {result.flat[0]}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "four_bar.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
