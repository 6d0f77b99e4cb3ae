"""Motions that are known in closed form, and the same robot in MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import jounce as jc
from jounce.interop import mujoco as bridge

mujoco = pytest.importorskip("mujoco")
EPS = np.finfo(float).eps
FREE = np.zeros(6)
TIGHT = {"rtol": 1e-15, "atol": 1e-15}


def body(inertia, com=(0.0, 0.0, 0.0), gravity=(0, 0, 0)):
    builder = jc.ModelBuilder(gravity=gravity)
    builder.add_body("body", joint="free", mass=2.0, com=com, inertia=np.diag(inertia))
    return builder.build()


def run(model, q, v, time, steps, method):
    tau = np.zeros((1, model.nv)).repeat(steps, 0)
    end = jc.rollout(model, q, v, tau, time / steps, method=method, every=steps)
    return end.q[-1], end.v[-1]


def start(velocity, spin):
    q = np.array([0.5, -0.5, 0.5, 0.5, 1.0, 2.0, 3.0])
    R = jc.lie.quat_to_matrix(q[:4])
    return q, np.concatenate([spin, R.T @ velocity])


@pytest.mark.parametrize("method", ["midpoint", "rkmk2", "rkmk4", "cf4", "dopri5", "dop853"])
def test_a_spinning_ball_flies_on_a_parabola(method):
    """At 100 rad/s the velocity along the axes of the body turns by a radian in a step."""
    model = body([0.3, 0.3, 0.3], gravity=(0, 0, -9.81))
    velocity, time, steps = np.array([3.0, -4.0, 12.0]), 1.0, 100
    q, v = start(velocity, [60.0, -80.0, 0.0])
    end, rates = run(model, q, v, time, steps, method)
    fallen = q[4:] + time * velocity + 0.5 * time**2 * model.gravity
    slack = 16 * steps * EPS * 20
    assert np.abs(end[4:] - fallen).max() < slack
    R = jc.lie.quat_to_matrix(end[:4])
    assert np.abs(R @ rates[3:] - velocity - time * model.gravity).max() < slack
    turned = jc.lie.quat_multiply(q[:4], jc.lie.quat_exp(time * v[:3]))
    assert np.abs(end[:4] * np.sign(end[:4] @ turned) - turned).max() < slack


def test_a_symmetric_top_precesses():
    """R(t) = exp(t h / I1) R(0) exp(t s e_z): ten turns of its axis about h."""
    I1, I3 = 0.4, 0.25
    model = body([I1, I1, I3])
    q, v = start(np.zeros(3), [0.7, 0.0, 3.0])
    R = jc.lie.quat_to_matrix(q[:4])
    momentum = R @ (np.array([I1, I1, I3]) * v[:3])
    time = 20 * np.pi * I1 / np.linalg.norm(momentum)
    own = jc.lie.exp(np.array([0, 0, time * v[2] * (I1 - I3) / I1]))
    exact = jc.lie.exp(time * momentum / I1) @ R @ own
    ends = [run(model, q, v, time, 2000, "dop853")[0]]
    for method in ("dop853", "taylor"):
        ends.append(jc.simulate(model, q, v, [0.0, time], method=method, **TIGHT).q[-1])
    for end in ends:
        assert np.abs(jc.lie.quat_to_matrix(end[:4]) - exact).max() < 1e-13


def test_a_free_body_has_the_rates_of_jacobi():
    """Elliptic functions solve Euler's equations; ten periods of a body that tumbles."""
    I1, I2, I3 = 0.5, 0.35, 0.2
    a1, a3 = 0.4, 2.0
    p = a3 * np.sqrt((I2 - I3) * (I1 - I3) / (I1 * I2))
    a2 = (I3 - I1) / (I2 * p) * a1 * a3
    m = -(I1 - I2) * a1 * a2 / (I3 * a3 * p)
    assert 0 < m < 1
    time = 10 * 4 * ellipk(m) / p + 0.3
    q, v = start(np.zeros(3), [a1, 0.0, a3])
    model = body([I1, I2, I3])
    sn, cn, dn, _ = ellipj(p * time, m)
    exact = [a1 * cn, a2 * sn, a3 * dn]
    for method in ("dop853", "taylor"):
        end = jc.simulate(model, q, v, [0.0, time], method=method, **TIGHT).v[-1]
        assert np.abs(end[:3] - exact).max() < 1e-13
    steps = 2000  # each rounds the rates once
    end = run(model, q, v, time, steps, "dop853")[1]
    assert np.abs(end[:3] - exact).max() < steps * np.spacing(a3)


MJCF = """
<mujoco>
  <option timestep="0.002" integrator="{}" gravity="0 0 -9.81">
    <flag contact="disable" constraint="disable"/>
  </option>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <inertial pos="0.02 0.01 -0.03" mass="3" diaginertia="0.05 0.07 0.09"/>
      <body name="upper" pos="0.1 0.05 0.2">
        <joint name="shoulder" type="hinge" axis="0 1 0"/>
        <inertial pos="0.1 0 0.05" mass="1" diaginertia="0.01 0.02 0.015"/>
        <body name="lower" pos="0.3 0 0">
          <joint name="wrist" type="ball"/>
          <inertial pos="0.05 0.02 0" mass="0.5" diaginertia="0.004 0.005 0.003"/>
          <body name="slide" pos="0.1 0 0">
            <joint name="slide" type="slide" axis="1 0 0"/>
            <inertial pos="0 0 0.02" mass="0.2" diaginertia="0.001 0.001 0.001"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


class Pair:
    """The same robot here and there, at one state."""

    def __init__(self, integrator, text=MJCF):
        text = text.format(integrator)
        self.model, self.theirs = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
        self.there = bridge.Converter(self.model, self.theirs)
        rng = np.random.default_rng(2)
        self.q = jc.random_configuration(self.model, rng)
        self.v = rng.standard_normal(self.model.nv)

    def ours(self, time, steps, method):
        return run(self.model, self.q, self.v, time, steps, method)

    def peer(self, time, steps):
        data = mujoco.MjData(self.theirs)
        self.theirs.opt.timestep = time / steps
        data.qpos[:], data.qvel[:] = self.there.to_q(self.q), self.there.to_v(self.q, self.v)
        for _ in range(steps):
            mujoco.mj_step(self.theirs, data)
        return self.there.from_q(data.qpos), self.there.from_v(data.qpos, data.qvel)

    def apart(self, x, y):
        dq = jc.difference(self.model, x[0], y[0])
        return max(np.abs(dq).max(), np.abs(x[1] - y[1]).max())


def test_semi_implicit_euler_is_that_of_mujoco():
    """Step by step: turns by the exponential, positions of free bodies along the world's axes."""
    pair = Pair("Euler")
    for steps in (1, 50):
        ours, theirs = (
            pair.ours(0.002 * steps, steps, "semi_implicit_euler"),
            pair.peer(0.002 * steps, steps),
        )
        assert pair.apart(ours, theirs) < 2**14 * EPS * steps


def test_mujoco_approaches_our_motion_with_its_own_order():
    """Both methods of order 4 approach what our method of order 8 gives."""
    pair, time = Pair("RK4"), 0.2
    exact = pair.ours(time, 400, "dop853")
    errors = [pair.apart(pair.peer(time, steps), exact) for steps in (50, 100, 200)]
    ratios = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(ratios - 4) < 0.2).all()
    ours = [pair.apart(pair.ours(time, steps, "rkmk4"), exact) for steps in (50, 100)]
    assert abs(np.log2(ours[0] / ours[1]) - 4) < 0.2
    assert ours[0] < 2 * errors[0]


TOP = """
<mujoco>
  <option integrator="{}" gravity="0 0 -9.81">
    <flag contact="disable" constraint="disable"/>
  </option>
  <worldbody>
    <body name="top">
      <freejoint/>
      <inertial pos="0 0 0" mass="2" diaginertia="0.1 0.1 0.2"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("method", ["rkmk4", "cf4"])
def test_a_spinning_top_that_flies_keeps_the_digits_of_mujoco(method):
    """At 100 rad/s and 13 m/s; with the velocity along its own axes it loses one."""
    pair, time = Pair("RK4", TOP), 0.25
    pair.q, pair.v = start([3.0, -4.0, 12.0], [1.0, 0.0, 100.0])
    exact = pair.ours(time, 5000, "dop853")
    for steps in (250, 1000):
        theirs = pair.apart(pair.peer(time, steps), exact)
        assert pair.apart(pair.ours(time, steps, method), exact) < 1.1 * theirs
