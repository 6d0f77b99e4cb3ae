"""Inverse kinematics: a pose, a path of poses, a tool that may spin, a map of what is in reach.

Every part is one call of `jc.inverse_kinematics`, batched where there are many targets:

- One pose, from a start that is far away, with restarts.
- A circle on a table: all poses at once; then pose by pose, each from the solution before it, so
  that the joints move continuously.
- A drill: its rotation about its own axis does not matter, so that weight is zero.
- A map: how much of a cube of positions the tool can reach.
- Balance: on a floating base the tool moves and the center of mass of the robot stays.

Run: ``python examples/inverse_kinematics.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import jounce as jc

Array = npt.NDArray[np.float64]

H = np.pi / 2
LINKS = (  # roll of the frame (rad), offset (m), mass (kg), limits (rad): about a Franka Panda
    (0.0, (0.0, 0.0, 0.333), 4.0, (-2.9, 2.9)),
    (-H, (0.0, 0.0, 0.0), 3.5, (-1.8, 1.8)),
    (H, (0.0, -0.316, 0.0), 3.2, (-2.9, 2.9)),
    (H, (0.0825, 0.0, 0.0), 3.0, (-3.1, -0.1)),
    (-H, (-0.0825, 0.384, 0.0), 2.5, (-2.9, 2.9)),
    (H, (0.0, 0.0, 0.0), 1.5, (0.0, 3.8)),
    (H, (0.088, 0.0, 0.0), 0.8, (-2.9, 2.9)),
)
HOME = (0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8)


def arm(base: str) -> jc.Model:
    """Seven joints with limits and a frame "tool", on a base that is "fixed" or "free"."""
    builder = jc.ModelBuilder(name="arm")
    builder.add_body("base", joint=base, mass=20.0, inertia=(1.0, 1.0, 1.0))
    parent = "base"
    for k, (roll, offset, mass, (lower, upper)) in enumerate(LINKS, start=1):
        placement = np.eye(4)
        placement[:3, :3] = jc.lie.rpy_to_matrix((roll, 0.0, 0.0))
        placement[:3, 3] = offset
        solid = {"mass": mass, "com": (0.0, 0.0, 0.05), "inertia": (0.02, 0.02, 0.01)}
        link = f"link{k}"
        builder.add_body(link, parent, "revolute", placement, lower=lower, upper=upper, **solid)
        parent = link
    return builder.add_frame("tool", parent, (0.0, 0.0, 0.2)).build()


def circle_on_a_table(count: int) -> Array:
    """Poses (count, 4, 4) of a tool that points down and goes round 0.3 m above the ground."""
    angle = np.linspace(0.0, 2 * np.pi, count)
    poses = np.zeros((count, 4, 4))
    poses[:, :3, :3] = np.diag([1.0, -1.0, -1.0])
    poses[:, 0, 3] = 0.5 + 0.15 * np.cos(angle)
    poses[:, 1, 3] = 0.15 * np.sin(angle)
    poses[:, 2, 3] = 0.3
    poses[:, 3, 3] = 1.0
    return poses


def follow(model: jc.Model, poses: Array, q: Array) -> Array:
    """Solve pose by pose, each from the solution before it: (count, nq)."""
    path = []
    for pose in poses:
        found = jc.inverse_kinematics(model, {"tool": pose}, q)
        assert found.converged, f"out of reach, error {found.error:.1e}"
        q = found.q
        path.append(q)
    return np.array(path)


def balance() -> jc.InverseKinematics:
    """Reach for points around the tool without moving the center of mass of a floating robot."""
    model = arm("free")
    q0 = jc.neutral(model)
    q0[7:] = HOME
    around = np.random.default_rng(1).uniform(-0.15, 0.15, (100, 3))
    targets = {
        "tool": jc.body_pose(model, q0, "tool")[:3, 3] + around,
        "center_of_mass": jc.center_of_mass(model, q0),
    }
    return jc.inverse_kinematics(model, targets, q0)


def main() -> None:
    """Solve all of it and print what came out."""
    model, home = arm("fixed"), np.array(HOME)
    circle = circle_on_a_table(400)
    one = jc.inverse_kinematics(model, {"tool": circle[0]}, home, restarts=10, rng=0)
    print(f"one pose: error {one.error:.0e}, q = {np.round(one.q, 3)}")
    path = follow(model, circle, one.q)
    steps = np.abs(np.diff(path, axis=0)).max()
    print(f"circle, pose by pose: the largest step of a joint is {np.rad2deg(steps):.2f} degrees")
    at_once = jc.inverse_kinematics(model, {"tool": circle}, home, restarts=10, rng=0)
    print(f"circle, at once: {at_once.converged.mean():.0%} of {len(circle)} poses reached")
    spins = {"tool": (1.0, 1.0, 0.0, 1.0, 1.0, 1.0)}
    drill = jc.inverse_kinematics(model, {"tool": circle}, home, weights=spins)
    print(f"circle with a drill, without restarts: {drill.converged.mean():.0%} reached")
    line = np.linspace(-1.0, 1.0, 11)
    cube = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1)
    cube[..., 2] += 0.333  # about the shoulder
    reach = jc.inverse_kinematics(model, {"tool": cube}, home, restarts=5, rng=0).converged
    print(f"positions in a cube of 2 m: {reach.mean():.0%} of {reach.size} in reach")
    moved = balance()
    print(f"balance: {moved.converged.mean():.0%} of {moved.error.size} points reached")


if __name__ == "__main__":
    main()
