"""A Stewart platform: inverse and forward dynamics of its six legs, and where it is singular.

Six legs, each of a universal joint, a slide and a ball joint, carry a platform. The tree is the
platform, free, beside six open legs; six points close it: 24 rates, 18 rows, six degrees of
freedom. The legs' slides are driven.

Turned by a quarter about its normal the platform is singular: it can move with locked legs.

Run: ``python examples/stewart_platform.py [--quick] [--out DIR]``; needs matplotlib. The quick form
looks at fewer instants.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

LEGS = 6
HEIGHT, WIDE, NARROW = 1.2, 1.0, 0.6


class Result(NamedTuple):
    """Forces of the legs along a motion, and how far the platform is from being singular."""

    t: np.ndarray
    forces: np.ndarray
    error: float
    """Largest difference of the accelerations that these forces give from those wanted."""
    yaw: np.ndarray
    stiffness: np.ndarray
    """Smallest singular value of the rows without the slides, by the platform's yaw."""


def anchors() -> tuple[np.ndarray, np.ndarray]:
    """Where the legs stand on the ground, and where they hold the platform, in its frame."""
    k = np.arange(LEGS)
    ground = np.deg2rad(120.0 * (k // 2) + np.where(k % 2, 15.0, -15.0))
    top = np.deg2rad(120.0 * (k // 2) + np.where(k % 2, 45.0, -45.0))
    on = [
        np.stack([r * np.cos(x), r * np.sin(x), 0 * x], -1)
        for r, x in ((WIDE, ground), (NARROW, top))
    ]
    return on[0], on[1]


def build() -> tuple[jc.Model, jc.Constraints]:
    """The open tree, and the points that close it."""
    builder = jc.ModelBuilder(name="Stewart platform")
    builder.add_body("platform", None, "free", mass=20.0, inertia=(1.2, 1.2, 2.3))
    ground, top = anchors()
    light = {"mass": 0.2, "inertia": (1e-3, 1e-3, 1e-3)}
    for k in range(LEGS):
        builder.add_body(f"yoke{k}", None, "revolute", ground[k], axis=(1, 0, 0), **light)
        lower = {"mass": 2.0, "com": (0, 0, 0.3), "inertia": (0.1, 0.1, 0.01)}
        builder.add_body(f"cylinder{k}", f"yoke{k}", "revolute", axis=(0, 1, 0), **lower)
        upper = {"mass": 1.0, "com": (0, 0, -0.3), "inertia": (0.05, 0.05, 0.005)}
        slide = {"axis": (0, 0, 1), "joint_name": f"slide{k}"}
        builder.add_body(f"rod{k}", f"cylinder{k}", "prismatic", **slide, **upper)
        builder.add_frame(f"ball{k}", "platform", top[k])
    model = builder.build()
    balls = [jc.Point(f"ball{k}", f"rod{k}", target=np.zeros(3)) for k in range(LEGS)]
    return model, jc.Constraints(model, balls)


def closed(model: jc.Model, pose: np.ndarray) -> np.ndarray:
    """Coordinates of all joints for a pose of the platform."""
    ground, top = anchors()
    d = top @ pose[:3, :3].T + pose[:3, 3] - ground
    length = np.linalg.norm(d, axis=-1)
    joints: dict[str, float] = {}
    for k in range(LEGS):  # Rx(a) Ry(b) e_z = d / |d|
        joints[f"yoke{k}_joint"] = float(np.arctan2(-d[k, 1], d[k, 2]))
        joints[f"cylinder{k}_joint"] = float(np.arcsin(d[k, 0] / length[k]))
        joints[f"slide{k}"] = float(length[k])
    return jc.configuration(model, base=pose, joints=joints)


def pose_of(x: float, z: float, yaw: float) -> np.ndarray:
    """The platform shifted and turned about the vertical."""
    pose = np.eye(4)
    pose[:3, :3] = jc.lie.exp([0.0, 0.0, yaw])
    pose[:3, 3] = x, 0.0, HEIGHT + z
    return pose


def with_platform(
    c: jc.Constraints, q: np.ndarray, own: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Rates (or accelerations) of all joints for those of the platform: J x = rows."""
    J = c.jacobian(q)
    legs = np.linalg.solve(J[:, 6:], rows - J[:, :6] @ own)
    return np.concatenate([own, legs])


def run(quick: bool = False) -> Result:
    """Move the platform to and fro, find the legs' forces, and look for singularities."""
    model, c = build()
    driven = [f"slide{k}" for k in range(LEGS)]
    t = np.linspace(0.0, 2.0, 9 if quick else 201)
    forces, error = [], 0.0
    for s in np.pi * t:
        q = closed(model, pose_of(0.1 * np.sin(s), 0.1 * (1 - np.cos(s)), 0.3 * np.sin(s)))
        R = jc.lie.exp([0.0, 0.0, 0.3 * np.sin(s)])
        # along the world's axes, then in those of the platform
        velocity = np.pi * np.array([0.1 * np.cos(s), 0.0, 0.1 * np.sin(s)])
        spin = np.pi * np.array([0.0, 0.0, 0.3 * np.cos(s)])
        linear = np.pi**2 * np.array([-0.1 * np.sin(s), 0.0, 0.1 * np.cos(s)])
        angular = np.pi**2 * np.array([0.0, 0.0, -0.3 * np.sin(s)])
        twist = np.concatenate([spin, R.T @ velocity])
        rate = np.concatenate([angular, R.T @ linear - np.cross(spin, R.T @ velocity)])
        v = with_platform(c, q, twist, np.zeros(c.size))
        a = with_platform(c, q, rate, -c.bias(q, v))
        tau = jc.constrained_inverse_dynamics(model, q, v, a, c, actuated=driven).tau
        back = jc.constrained_dynamics(model, q, v, tau, c).a
        error = max(error, float(np.abs(back - a).max()))
        forces.append(tau[model.v_indices(driven)])
    yaw = np.deg2rad(np.linspace(-120, 120, 17 if quick else 241))
    passive = np.setdiff1d(np.arange(model.nv), model.v_indices(driven))
    J = np.stack([c.jacobian(closed(model, pose_of(0.0, 0.0, x))) for x in yaw])
    stiffness = np.linalg.svd(J[:, :, passive], compute_uv=False)[:, -1]
    return Result(t, np.array(forces), error, yaw, stiffness)


def figure(result: Result) -> Any:
    """The legs' forces, and the distance to a singularity."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = fig.subplots(1, 2)
    left.plot(result.t, result.forces)
    left.set(title="forces of the legs", xlabel="s", ylabel="N")
    right.plot(np.rad2deg(result.yaw), result.stiffness)
    right.set(title="smallest singular value", xlabel="yaw of the platform, deg")
    return fig


def main() -> None:
    """Print what was found; save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer instants")
    options = parser.parse_args()
    print("the platform goes around a circle, then turns until it is singular", flush=True)
    result = run(options.quick)
    print(f"leg forces from {result.forces.min():.0f} to {result.forces.max():.0f} N")
    print(f"forward dynamics give the motion back to {result.error:.1e}")
    worst = np.rad2deg(result.yaw[result.stiffness.argmin()])
    print(f"singular at a yaw of {worst:.0f} deg: {result.stiffness.min():.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "stewart_platform.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
