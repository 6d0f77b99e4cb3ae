"""Build a small robot in Python and ask for the classical quantities."""

import numpy as np

import jounce as jc

np.set_printoptions(precision=4, suppress=True)

# A cart on a rail with a pendulum on a ball joint.
builder = jc.ModelBuilder(name="cart")
builder.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=2.0, inertia=(0.1, 0.1, 0.1))
builder.add_body(
    "pendulum",
    "cart",
    joint="spherical",
    joint_name="ball",
    mass=0.5,
    com=(0, 0, -0.4),
    inertia=(0.01, 0.01, 0.001),
)
model = builder.build()
print(model)

# q has a quaternion (x, y, z, w) for the ball joint, v an angular velocity: 5 and 4 numbers.
q = jc.neutral(model)
v = np.array([0.3, 1.0, 0.0, 2.0])
tau = np.zeros(model.nv)

a = jc.forward_dynamics(model, q, v, tau)
print("accelerations  ", a)
print("forces again   ", jc.inverse_dynamics(model, q, v, a) + 0.0)
print("mass matrix\n", jc.mass_matrix(model, q))
print("twist of the rod", jc.body_twist(model, q, v, "pendulum", twist="hybrid"))
energy = jc.kinetic_energy(model, q, v) + jc.potential_energy(model, q)
print("energy          ", f"{float(energy):.4f} J")

# All of it for a thousand states at once: leading axes are batch axes.
many = jc.random_configuration(model, 0, shape=1000)
print("batch          ", jc.forward_dynamics(model, many, v, tau).shape)
