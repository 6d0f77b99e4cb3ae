"""A quadruped that stands shifts its weight: LQR on the manifold that its feet leave.

A trunk on four legs of three joints: 18 rates. Four feet that do not move hold 12 rows, so that
the state has 12 dimensions instead of 36, and a controller designed in all 36 would ask for the
impossible. `linearize(..., constraints=c)` gives A_min, B_min and the basis Z of what the feet
allow; the gain K of LQR there acts as u = u* - K Z^T (difference(q*, q), v). The weight goes to the
left feet, and the controller holds the trunk there against a push.

Run: ``python examples/standing_quadruped.py [--quick] [--out DIR]``; needs SciPy and matplotlib.
The quick form takes larger steps.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

LINK, HEIGHT, SHIFT = 0.25, 0.38, 0.06
SECONDS = 3.0
EFFORT = 1.0
"""Weight of squared torques against squared errors."""


class Result(NamedTuple):
    """Along the motion."""

    t: np.ndarray
    trunk: np.ndarray
    """(instants, 3) position of the trunk."""
    normal: np.ndarray
    """(instants, 4) vertical forces of the feet: left front, left hind, right front, right hind."""
    error: np.ndarray
    """(instants,) norm of the state's distance from the goal."""
    slip: float
    """Largest distance of a foot from where it stood, m."""
    states: int


def build() -> tuple[jc.Model, jc.Constraints]:
    """Trunk and legs, and feet that hold where they are."""
    builder = jc.ModelBuilder(name="quadruped")
    builder.add_body("trunk", None, "free", mass=12.0, inertia=(0.15, 0.4, 0.45))
    feet = []
    for name, x, y in (("lf", 0.3, 0.1), ("lh", -0.3, 0.1), ("rf", 0.3, -0.1), ("rh", -0.3, -0.1)):
        hip = {"mass": 0.8, "inertia": (2e-3,) * 3}
        builder.add_body(f"{name}_hip", "trunk", "revolute", (x, y, 0), axis=(1, 0, 0), **hip)
        link = {"mass": 0.6, "com": (0, 0, -LINK / 2), "inertia": (4e-3, 4e-3, 5e-4)}
        builder.add_body(f"{name}_thigh", f"{name}_hip", "revolute", axis=(0, 1, 0), **link)
        knee = (0, 0, -LINK)
        builder.add_body(f"{name}_shank", f"{name}_thigh", "revolute", knee, axis=(0, 1, 0), **link)
        builder.add_frame(f"{name}_foot", f"{name}_shank", knee)
        feet.append(jc.Point(f"{name}_foot"))
    model = builder.build()
    return model, jc.Constraints(model, feet)


def standing(model: jc.Model) -> np.ndarray:
    """Knees bent, the trunk level above the feet."""
    bend = float(np.arccos(HEIGHT / (2 * LINK)))
    joints = {}
    for name in ("lf", "lh", "rf", "rh"):
        joints[f"{name}_thigh_joint"] = bend
        joints[f"{name}_shank_joint"] = -2 * bend
    base = np.eye(4)
    base[2, 3] = HEIGHT
    return jc.configuration(model, base=base, joints=joints)


def shifted(model: jc.Model, c: jc.Constraints, q: np.ndarray) -> np.ndarray:
    """The same feet, the trunk to the left."""
    pose = jc.body_pose(model, q, "trunk")
    pose[1, 3] += SHIFT
    return jc.project(model, q, jc.Constraints(model, [*c.items, jc.Weld("trunk", target=pose)]))


def controller(
    model: jc.Model, c: jc.Constraints, goal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gain on (dq, dv) and torques at the goal."""
    from scipy.linalg import solve_continuous_are

    still, joints = np.zeros(model.nv), np.arange(model.nv) >= 6
    held = jc.constrained_inverse_dynamics(model, goal, still, still, c, actuated=joints)
    lin = jc.linearize(model, goal, still, held.tau, actuated=joints, constraints=c)
    weights = lin.Z.T @ np.diag([*[400.0] * model.nv, *[4.0] * model.nv]) @ lin.Z
    X = solve_continuous_are(lin.A_min, lin.B_min, weights, EFFORT * np.eye(12))
    gain = np.zeros((model.nv, 2 * model.nv))
    gain[6:] = lin.B_min.T @ X @ lin.Z.T / EFFORT
    return gain, held.tau


def run(quick: bool = False) -> Result:
    """Shift the weight; push after a second."""
    model, c = build()
    q = standing(model)
    feet = c.at(q)
    goal = shifted(model, feet, q)
    gain, rest = controller(model, feet, goal)
    push = np.zeros((model.n_bodies, 6))
    dt = 4e-3 if quick else 1e-3
    v, times = np.zeros(model.nv), np.arange(0.0, SECONDS, dt)
    trunk, normal, error, slip = [], [], [], 0.0
    for t in times:
        push[0, 4] = -60.0 if 1.0 <= t < 1.1 else 0.0  # to the right, for a tenth of a second

        def motion(q: np.ndarray, v: np.ndarray) -> jc.ConstrainedDynamics:
            tau = rest - gain @ np.concatenate([jc.difference(model, goal, q), v])
            return jc.constrained_dynamics(model, q, v, tau, feet, push)

        first = motion(q, v)
        trunk.append(q[4:7].copy())
        normal.append(first.force[2::3])
        error.append(np.linalg.norm(np.concatenate([jc.difference(model, goal, q), v])))
        middle = jc.integrate(model, q, dt / 2 * v), v + dt / 2 * first.a
        q, v = jc.integrate(model, q, dt * middle[1]), v + dt * motion(*middle).a
        slip = max(slip, float(np.abs(feet.residual(q)).max()))
        q = jc.project(model, q, feet)
        v = jc.project_velocity(model, q, v, feet)
    states = jc.linearize(model, goal, 0 * v, rest, constraints=feet).A_min.shape[0]
    return Result(times, np.array(trunk), np.array(normal), np.array(error), slip, states)


def figure(result: Result) -> Any:
    """Where the trunk is, and what the feet carry."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = fig.subplots(1, 2)
    left.plot(result.t, 100 * result.trunk[:, 1])
    left.set(title="the trunk to the left", xlabel="s", ylabel="cm")
    names = ("left front", "left hind", "right front", "right hind")
    right.plot(result.t, result.normal, label=names)
    right.set(title="vertical forces of the feet", xlabel="s", ylabel="N")
    right.legend()
    return fig


def main() -> None:
    """Print what was found; save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="larger steps")
    options = parser.parse_args()
    print("a quadruped leans to one side and is pushed", flush=True)
    result = run(options.quick)
    end = result.normal[-1]
    print(f"{result.states} states; the left feet carry {end[:2].sum():.0f} of {end.sum():.0f} N")
    print(f"from the goal {result.error[0]:.2f}, in the end {result.error[-1]:.1e}")
    print(f"a step leaves the manifold by at most {result.slip:.1e} m")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "standing_quadruped.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
