"""Moves on the configuration manifold and their derivatives, against Pinocchio and many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import jounce as jc
from jounce import lie

EPS = np.finfo(float).eps
TIGHT = 1e-13
"""Relative to the largest entry: some hundred roundings of matrices of norm a few."""

ANGLES = [0.0, 1e-170, 1e-12, 1e-5, 0.49, 0.51, 1.0, 3.0, np.pi - 1e-9, np.pi - 1e-13]


def one_joint(kind):
    return jc.ModelBuilder().add_body("b", joint=kind).build()


def tangent(kind, angle, seed=0):
    rng = np.random.default_rng(seed)
    axis = rng.standard_normal(3)
    w = angle * axis / np.linalg.norm(axis)
    return w if kind == "spherical" else np.concatenate([w, rng.standard_normal(3)])


def ad(x):
    """Matrix of the bracket in many digits."""

    def hat(a):
        return mpmath.matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])

    x = [mpmath.mpf(float(y)) for y in x]
    if len(x) == 3:
        return hat(x)
    out = mpmath.zeros(6)
    out[:3, :3] = out[3:, 3:] = hat(x[:3])
    out[3:, :3] = hat(x[3:])
    return out


def exact_dexp(x):
    """sum_k ad(x)^k / (k + 1)!, by its definition."""
    with mpmath.workdps(60):
        A = ad(x)
        term = total = mpmath.eye(len(x))
        for k in range(1, 120):
            term = term * A / (k + 1)
            total = total + term
        return total


def as_floats(m):
    return np.array(m.tolist(), float)


def assert_close(got, expected, tolerance=TIGHT):
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("kind", ["spherical", "free"])
@pytest.mark.parametrize("angle", [*ANGLES, 4.0, 7.0])
def test_derivatives_of_a_move_are_the_sums_that_define_them(kind, angle):
    model, u = one_joint(kind), tangent(kind, angle)
    d = jc.integrate_derivatives(model, jc.random_configuration(model, 1), u)
    assert_close(d.dv, as_floats(exact_dexp(-u)))
    with mpmath.workdps(60):
        assert_close(d.dq, as_floats(mpmath.expm(-ad(u))))


@pytest.mark.parametrize("kind", ["spherical", "free"])
@pytest.mark.parametrize("angle", ANGLES)
def test_derivatives_of_a_difference_are_the_inverse_of_those_sums(kind, angle):
    """Beyond rounding, an angle has the error of the quaternions it is computed from."""
    model, u = one_joint(kind), tangent(kind, angle)
    q0 = jc.random_configuration(model, 1)
    q1 = jc.integrate(model, q0, u)
    d = jc.difference_derivatives(model, q0, q1)
    u = jc.difference(model, q0, q1)
    with mpmath.workdps(60):
        assert_close(d.dq1, as_floats(exact_dexp(-u) ** -1))
        assert_close(d.dq0, -as_floats(exact_dexp(u) ** -1))


def test_a_difference_undoes_a_move(robot, state):
    at = state(robot, 5)
    dv = 0.3 * at.dv
    q1 = jc.integrate(robot, at.q, dv)
    there, back = (
        jc.integrate_derivatives(robot, at.q, dv),
        jc.difference_derivatives(robot, at.q, q1),
    )
    assert_close(there.dv @ back.dq1, np.broadcast_to(np.eye(robot.nv), back.dq1.shape))
    assert_close(there.dv @ back.dq0, -there.dq)


def test_the_packed_blocks_are_those_of_the_matrices(robot, state):
    at = state(robot)
    by_q, by_dv = jc._core.raw("integrate_blocks")(robot, at.dv)
    d = jc.integrate_derivatives(robot, at.q, at.dv)
    for packed, full in ((by_q, d.dq), (by_dv, d.dv)):
        left = full.copy()
        kinds, starts = robot.nodes.kind, robot.nodes.v_index
        for kind, start in zip(kinds, starts, strict=True):
            n = {3: 3, 4: 6}.get(int(kind), 1)
            own = slice(start, start + n)
            np.testing.assert_array_equal(packed[:n, own], full[own, own])
            assert not packed[n:, own].any()
            left[own, own] = 0
        assert not left.any()


def test_the_way_between_two_configurations_has_constant_velocity(robot, state):
    at = state(robot)
    s = np.array([0.0, 0.25, 0.5, 1.0, 1.3])
    q = jc.interpolate(robot, at.q0, at.q1, s)
    whole = jc.difference(robot, at.q0, at.q1)
    np.testing.assert_allclose(jc.body_poses(robot, q[0]), jc.body_poses(robot, at.q0), atol=1e-13)
    np.testing.assert_allclose(jc.body_poses(robot, q[3]), jc.body_poses(robot, at.q1), atol=1e-12)
    for k in range(4):
        step = jc.difference(robot, q[k], q[k + 1])
        np.testing.assert_allclose(step, (s[k + 1] - s[k]) * whole, rtol=0, atol=1e-12)


@pytest.mark.parametrize("angle", ANGLES)
def test_rates_of_coordinates_are_derivatives_of_a_move(angle):
    """A complex step along v, through the exponential of `jounce.lie`."""
    model = one_joint("free")
    q = jc.integrate(model, jc.neutral(model), tangent("free", angle))
    v = tangent("free", 1.3, seed=2)
    h = 1e-30
    T = np.eye(4, dtype=complex)
    T[:3, :3], T[:3, 3] = lie.quat_to_matrix(q[:4]), q[4:]
    turn = lie.quat_multiply(q[:4], lie.quat_exp(1j * h * v[:3])).imag / h
    move = (T @ lie.exp(1j * h * v))[:3, 3].imag / h
    assert_close(jc.coordinate_rates(model, q, v), np.concatenate([turn, move]), 8 * EPS)


def test_rates_of_coordinates_are_the_rates_of_joints_with_one(robot, state):
    at = state(robot, 3)
    rates = jc.coordinate_rates(robot, at.q, at.v)
    for k, joint in enumerate(robot.joints):
        if joint.type not in ("spherical", "free"):
            own = rates[:, robot.q_slice(k)]
            np.testing.assert_array_equal(own, at.v[:, robot.v_slice(k)])


def test_an_integrator_of_coordinates_follows_the_group():
    integrate = pytest.importorskip("scipy.integrate")
    model = one_joint("free")
    q0, v = jc.random_configuration(model, 3), tangent("free", 0.8)

    def slope(t, q):
        return jc.coordinate_rates(model, jc.normalize(model, q), v)

    end = integrate.solve_ivp(slope, (0, 1), q0, rtol=1e-12, atol=1e-12).y[:, -1]
    expected = jc.integrate(model, q0, v)
    np.testing.assert_allclose(jc.normalize(model, end), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("factor", [1.0, -3.0, 1e-310, 1e300, 1e-3])
def test_any_quaternion_can_be_normalized(all_joints, factor):
    q = jc.random_configuration(all_joints, 0, (9,))
    wild = q.copy()
    for k, joint in enumerate(all_joints.joints):
        if joint.type in ("spherical", "free"):
            start = all_joints.q_slice(k).start
            wild[:, start : start + 4] *= factor
            q[:, start : start + 4] *= np.sign(factor)
    accuracy = 1e-13 if factor == 1e-310 else 4 * EPS  # few digits are left of tiny numbers
    np.testing.assert_allclose(jc.normalize(all_joints, wild), q, rtol=0, atol=accuracy)
    np.testing.assert_allclose(jc.normalize(all_joints, wild[0]), q[0], rtol=0, atol=accuracy)


def test_a_zero_quaternion_is_refused():
    model = jc.models.mixed_tree()
    q = jc.neutral(model, 9)
    joint = next(j.name for j in model.joints if j.type in ("spherical", "free"))
    start = model.q_slice(joint).start
    q[6, start : start + 4] = 0
    for bad in (q, q[6]):
        with pytest.raises(jc.ArgumentError, match=f"nonzero quaternion.*{joint!r}"):
            jc.normalize(model, bad)
    with pytest.raises(jc.ArgumentError, match=rf"q\[6, {start}:"):
        jc.normalize(model, q)


POSE = lie.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])


def test_a_configuration_puts_the_base_and_joints():
    model = jc.models.aerial_manipulator()
    q = jc.configuration(model, POSE, {"q2": 0.3})
    np.testing.assert_allclose(jc.body_pose(model, q, 0), POSE, rtol=0, atol=4 * EPS)
    assert q[model.q_slice("q2")] == 0.3
    rest = np.delete(q[7:], model.q_slice("q2").start - 7)
    assert not rest.any()
    np.testing.assert_array_equal(jc.configuration(model), jc.neutral(model))


def test_the_base_is_at_its_pose_wherever_its_joint_is():
    builder = jc.ModelBuilder()
    builder.add_body("b", joint="free", placement=lie.exp([0.1, 0.2, 0.3, 1, 1, 1]))
    builder.add_body("c", "b", "spherical")
    model = builder.build()
    q = jc.configuration(model, POSE, {model.joint_names[1]: [0, 0, 2, 2]})
    np.testing.assert_allclose(jc.body_pose(model, q, "b"), POSE, rtol=0, atol=16 * EPS)
    np.testing.assert_allclose(q[7:], np.array([0, 0, 1, 1]) / np.sqrt(2), rtol=4 * EPS)


def test_given_configurations_broadcast():
    model = jc.models.aerial_manipulator()
    poses = np.stack([POSE, np.eye(4), POSE])
    q = jc.configuration(model, poses, {"q3": np.zeros((2, 1)), "q2": 0.5})
    assert q.shape == (2, 3, model.nq)
    assert (q[..., model.q_slice("q2")] == 0.5).all()


@pytest.mark.parametrize(
    ("base", "joints", "error", "words"),
    [
        (np.eye(3), None, jc.ArgumentError, "base must be a pose"),
        (2 * np.eye(4), None, jc.ArgumentError, "last row"),
        (np.diag([1, 1, -1, 1]), None, jc.ArgumentError, "reflection"),
        ("here", None, jc.ArgumentError, "base must be"),
        (None, {"q22": 1.0}, jc.UnknownNameError, "did you mean 'q2'"),
        (None, {"q2": [1.0, 2.0, np.nan]}, jc.ArgumentError, "finite"),
        (None, {"q2": "far"}, jc.ArgumentError, r"joints\['q2'\]"),
        (None, [0.3], jc.ArgumentTypeError, "dict"),
        (np.eye(4), {"root_joint": np.ones(7)}, jc.ArgumentError, "twice"),
        (None, {"root_joint": np.ones(6)}, jc.ArgumentError, r"\(..., 7\)"),
        (None, {"root_joint": np.zeros(7)}, jc.ArgumentError, "nonzero"),
        (None, {"q3": np.zeros(2), "q2": np.zeros(3)}, jc.ArgumentError, "broadcast"),
    ],
)
def test_what_is_no_configuration_is_refused(base, joints, error, words):
    with pytest.raises(error, match=words):
        jc.configuration(jc.models.aerial_manipulator(), base, joints)


def test_a_fixed_base_has_no_pose():
    with pytest.raises(jc.ArgumentError, match="free joint"):
        jc.configuration(jc.models.chain(3), np.eye(4))
