"""Torques and their rates along a rest-to-rest motion, and the motion recovered from them."""

import numpy as np

import jounce as jc
from jounce import trajectories

model = jc.models.chain(6)  # or jc.load("robot.urdf")
start, goal = np.zeros(model.nq), np.array([0.5, -0.8, 1.2, 0.3, -0.6, 0.9])

# A polynomial of degree 9: velocity, acceleration, jerk and jounce vanish at both ends.
law = trajectories.PolynomialSegment.rest_to_rest(0.0, 1.0, duration=2.0, degree=9)
trajectory = trajectories.RobotTrajectory.between(model, start, goal, law)
t = np.linspace(0.0, 2.0, 201)
q, motion = trajectory.evaluate(t, order=2)  # v and three derivatives

tau = jc.inverse_dynamics_series(model, q, motion)  # (201, 3, 6): torque, rate, second rate
for order, name in enumerate(("torque (N m)", "rate (N m/s)", "second rate (N m/s^2)")):
    print(f"largest {name:<22}", np.abs(tau[:, order]).max(axis=0).round(2))

# Actuators with a limited torque rate: when is the motion too fast for them?
limit = 40.0
print(
    "rate exceeds the limit at", int((np.abs(tau[:, 1]).max(axis=1) > limit).sum()), "of 201 times"
)

a = jc.forward_dynamics_series(model, q, motion[:, 0], tau)
print("round trip error", f"{np.abs(a - motion[:, 1:]).max():.1e}")

# Jerk of the last link's origin in world axes: row 2 of its motion series.
tip = jc.body_motion_series(model, q, motion, "body5", twist="hybrid")
print("largest jerk of the last link", f"{np.linalg.norm(tip[:, 2, 3:], axis=1).max():.2f} m/s^3")
