"""A four-bar: the loop as a constraint, its motion, its forces, and where it is singular.

A crank, a rod and a rocker hang on two pins of the ground; the rod's end is pinned to the rocker's.
Three joints and two equations of the plane leave one degree of freedom.
"""

import numpy as np

import jounce as jc

CRANK, ROD, ROCKER, GROUND = 0.2, 0.5, 0.4, 0.6


def four_bar() -> jc.Model:
    """The open chain: both ends of the loop are frames."""
    builder = jc.ModelBuilder(name="four-bar")
    parts = (
        ("crank", None, 0.0, CRANK),
        ("rod", "crank", CRANK, ROD),
        ("rocker", None, GROUND, ROCKER),
    )
    for name, parent, x, length in parts:
        pose = np.eye(4)
        pose[0, 3] = x
        inertia = np.diag([1e-4, length**2 / 12, length**2 / 12])
        body = {"mass": 1.0, "com": (length / 2, 0, 0), "inertia": inertia}
        builder.add_body(name, parent, "revolute", pose, axis=(0, 1, 0), **body)
    model = builder.build()
    for name, length in (("rod", ROD), ("rocker", ROCKER)):
        pose = np.eye(4)
        pose[0, 3] = length
        model = model.with_frame(f"{name} end", name, pose)
    return model


def main() -> None:
    """Close the loop, let it go, and look at its forces."""
    model = four_bar()
    loop = jc.Constraints(model, [jc.Point("rod end", "rocker end", target=np.zeros(3))])
    q = jc.project(model, [-1.2, 0.8, -1.7], loop)
    print(
        f"closed to {np.abs(loop.residual(q)).max():.1e} m; {loop.size} rows of rank {loop.rank(q)}"
    )

    v = jc.project_velocity(model, q, [2.0, 0.0, 0.0], loop)
    energy = jc.kinetic_energy(model, q, v) + jc.potential_energy(model, q)
    dt, closed = 1e-3, 0.0
    for _ in range(1000):  # Heun's method, and back to the manifold
        a = jc.constrained_dynamics(model, q, v, np.zeros(3), loop).a
        ahead, faster = jc.integrate(model, q, dt * v), v + dt * a
        b = jc.constrained_dynamics(model, ahead, faster, np.zeros(3), loop).a
        q = jc.project(model, jc.integrate(model, q, dt / 2 * (v + faster)), loop)
        v = jc.project_velocity(model, q, v + dt / 2 * (a + b), loop)
        closed = max(closed, float(np.abs(loop.residual(q)).max()))
    after = jc.kinetic_energy(model, q, v) + jc.potential_energy(model, q)
    print(
        f"after 1 s: open by at most {closed:.1e} m, energy changed by {abs(after - energy):.1e} J"
    )

    lin = jc.linearize(model, q, v, np.zeros(3), constraints=loop)
    print(f"on its manifold it has {lin.Z.shape[1]} states instead of {2 * model.nv}")

    # stretched out, crank and rod in one line, the crank cannot be turned by the rocker
    reach = (ROCKER**2 - GROUND**2 - (CRANK + ROD) ** 2) / (-2 * GROUND * (CRANK + ROD))
    stretched = np.array([-np.arccos(reach), 0.0, 0.0])
    tip = (CRANK + ROD) * np.array([np.cos(stretched[0]), -np.sin(stretched[0])])
    stretched[2] = -np.arctan2(tip[1], tip[0] - GROUND)
    stretched = jc.project(model, stretched, loop)
    J = loop.jacobian(stretched)
    print(
        f"stretched out: rank of J without the crank {np.linalg.matrix_rank(J[:, 1:], 1e-5)}, ",
        end="",
    )
    print(f"without the rocker {np.linalg.matrix_rank(J[:, :2], 1e-5)}")


if __name__ == "__main__":
    main()
