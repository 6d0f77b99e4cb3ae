"""Hybrid dynamics: the arms of a free-flying robot move as planned, its base is not driven.

Which torques do the arms need, and how does the base react? Known: the motion of the arms and the
zero wrench on the base. Unknown: the torques and the acceleration of the base.
"""

import numpy as np

import jounce as jc
from jounce import trajectories

model = jc.models.aerial_manipulator().replace(gravity=(0, 0, 0))  # in space
arms = np.zeros(model.nv, bool)
arms[6:] = True

joints = model.joint_names[1:]
wave = trajectories.HalfCosine(np.zeros(6), np.full(6, 1.0), 2.0)
q, motion = trajectories.RobotTrajectory(model, {joints: wave}).evaluate(0.5, order=1)

given = np.where(arms, motion[1:], np.nan)  # what is not prescribed is not read
wrench = np.where(arms, np.nan, np.zeros((2, model.nv)))
a, tau = jc.hybrid_dynamics_series(model, q, motion[0], given, wrench, arms)

print("base acceleration (angular, linear)", a[0, :6].round(4))
print("base jerk                          ", a[1, :6].round(4))
print("arm torques                        ", tau[0, 6:].round(4))
print("arm torque rates                   ", tau[1, 6:].round(4))

# Momentum is conserved: no wrench from outside, so its rate is zero.
step = 1e-4
q_next = jc.integrate(model, q, motion[0] * step + a[0] * step**2 / 2)
v_next = motion[0] + a[0] * step + a[1] * step**2 / 2
drift = jc.momentum(model, q_next, v_next) - jc.momentum(model, q, motion[0])
print("change of momentum in 0.1 ms       ", f"{np.abs(drift).max():.1e}")
