"""Robots whose mimic joints follow: v = G u put into the equations of motion, by other means."""

from __future__ import annotations

import copy
import io
import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from test_calls import KERNELS, arguments_of, assert_same, call, one_by_one

import jounce as jc
from jounce import _core
from jounce._core.coupled import knows_coupled
from jounce.model.coupled import CoupledModel

EPS = np.finfo(float).eps


def close(x, y, slack=2.0**14):
    """Equal up to rounding errors, in units of the largest entry."""
    np.testing.assert_allclose(x, y, rtol=0, atol=slack * EPS * (1 + np.abs(y).max(initial=0)))


def coupled_tree(seed: int = 1) -> jc.Model:
    """A robot with every joint type; three joints follow others, one of them a follower."""
    model = jc.models.random_tree(12, seed)
    single = [joint.name for joint in model.joints if len(np.r_[model.q_slice(joint.name)]) == 1]
    leaders = {2: (0, -1.5, 0.3), 3: (2, 0.5, -0.2), 4: (1, 2.0, 0.0)}
    mimic = {single[k]: jc.Mimic(single[n], *own) for k, (n, *own) in leaders.items()}
    bodies = [
        body._replace(joints=tuple(replace(j, mimic=mimic.get(j.name)) for j in body.joints))
        for body in model.bodies
    ]
    return jc.Model(model.name, model.gravity, bodies).coupled()


@pytest.fixture(scope="module")
def robot():
    return coupled_tree()


@pytest.fixture(scope="module")
def at(robot, state):
    return state(robot, 5)


def expanded_rates(robot, u):
    return u @ robot.coupling.T


def by_hand(robot, q, v, tau, f_ext=None):
    """Accelerations and multipliers of the expanded robot under A v' = 0, from its KKT system.

    The rows of A say that a rate is a multiple of its leader's; their forces are internal.
    """
    whole = robot.expanded
    G = robot.coupling
    own = whole.v_indices([j.name for j in robot.joints if j.mimic is None])
    follow = np.setdiff1d(np.arange(whole.nv), own)
    A = np.zeros((len(follow), whole.nv))
    A[range(len(follow)), follow] = -1.0
    A[:, own] = G[follow]
    Q, V = robot.expand(q), expanded_rates(robot, v)
    force = np.zeros(whole.nv)
    force[own] = tau
    M = jc.mass_matrix(whole, Q)
    b = jc.bias_forces(whole, Q, V, f_ext)
    n = len(follow)
    system = np.block([[M, A.T], [A, np.zeros((n, n))]])
    found = np.linalg.solve(system, np.concatenate([force - b, np.zeros(n)]))
    return found[: whole.nv], own


def test_accelerations_are_those_of_the_constrained_robot(robot, at):
    a = jc.forward_dynamics(robot, at.q, at.v, at.tau, at.f_ext)
    for k in range(len(a)):
        whole, own = by_hand(robot, at.q[k], at.v[k], at.tau[k], at.f_ext[k])
        close(a[k], whole[own], 2.0**20)
        close(robot.coupling @ a[k], whole, 2.0**20)


def test_forward_dynamics_inverts_inverse_dynamics(robot, at):
    tau = jc.inverse_dynamics(robot, at.q, at.v, at.a, at.f_ext)
    close(jc.forward_dynamics(robot, at.q, at.v, tau, at.f_ext), at.a, 2.0**20)


def test_power_is_the_rate_of_the_energy(robot, at):
    """dE/dt = tau . v along a motion, where E is that of the expanded robot."""
    a = jc.forward_dynamics(robot, at.q, at.v, at.tau)
    Q, V = robot.expand(at.q), expanded_rates(robot, at.v)
    whole = robot.expanded
    d = jc.kinetic_energy_derivatives(whole, Q, V)
    rate = (d.dv * expanded_rates(robot, a)).sum(-1) + (d.dq * V).sum(-1)
    rate += (jc.gravity_forces(whole, Q) * V).sum(-1)
    close(rate, (at.tau * at.v).sum(-1), 2.0**20)


@pytest.mark.parametrize("body", ["body11", "body7"])
def test_frames_move_as_the_independent_rates_tell_them(robot, at, body):
    J = jc.jacobian(robot, at.q, body)
    twist = jc.body_twist(robot.expanded, robot.expand(at.q), expanded_rates(robot, at.v), body)
    close((J @ at.v[..., None])[..., 0], twist)
    rate = jc.jacobian_rate(robot, at.q, at.v, body)
    a = (J @ at.a[..., None] + rate @ at.v[..., None])[..., 0]
    whole = robot.expand(at.q), expanded_rates(robot, at.v), expanded_rates(robot, at.a)
    close(a, jc.body_acceleration(robot.expanded, *whole, body))


def directional(model, function, q, direction):
    """Derivative of function(q) along a tangent vector by Richardson's extrapolation, to 1e-9."""
    steps = [1e-2 / 2**k for k in range(6)]

    def moved(h):
        return function(jc.integrate(model, q, h * direction))

    rows = [(moved(h) - moved(-h)) / (2 * h) for h in steps]
    for m in range(1, len(rows)):
        rows = [(4**m * b - a) / (4**m - 1) for a, b in itertools.pairwise(rows)]
    return rows[0]


def test_partial_derivatives_by_the_coordinates_are_slopes(robot, at):
    q, v, tau, w = at.q[0], at.v[0], at.tau[0], at.dv[0]
    d = jc.forward_dynamics_derivatives(robot, q, v, tau)
    expected = directional(robot, lambda q: jc.forward_dynamics(robot, q, v, tau), q, w)
    np.testing.assert_allclose(d.dq @ w, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    expected = directional(robot, lambda q: jc.mass_matrix(robot, q), q, w)
    found = jc.mass_matrix_derivatives(robot, q) @ w
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    expected = directional(robot, lambda q: jc.inverse_mass_matrix(robot, q), q, w)
    found = jc.inverse_mass_matrix_derivatives(robot, q) @ w
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    by_hybrid = jc.hybrid_dynamics_derivatives(
        robot, q, v, at.a[0], tau, np.arange(robot.nv) % 3 == 0
    )
    expected = directional(
        robot,
        lambda q: jc.hybrid_dynamics(robot, q, v, at.a[0], tau, np.arange(robot.nv) % 3 == 0).tau,
        q,
        w,
    )
    found = by_hybrid.tau_dq @ w
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_hessians_are_second_slopes(robot, at):
    """Along the curve integrate(q, s w) the second derivative of weights . tau is w^T H w."""
    q, v, a, weights, w = at.q[0], at.v[0], at.a[0], at.tau[0], at.dv[0]
    found = jc.inverse_dynamics_hessian(robot, q, v, a, weights)

    def slope(q):
        return weights @ jc.inverse_dynamics_derivatives(robot, q, v, a).dq @ w

    expected = directional(robot, slope, q, w)
    np.testing.assert_allclose(w @ found.dqdq @ w, expected, rtol=1e-8)
    nested = jc.inverse_dynamics_second_derivatives(robot, q, v, a)
    np.testing.assert_allclose(weights @ (nested.dqdq @ w) @ w, expected, rtol=1e-8)
    with pytest.raises(jc.errors.ArgumentError, match=r"weights must have shape \(\.\.\., 20\)"):
        jc.inverse_dynamics_hessian(robot, q, v, a, weights[:3])


def uncoupled(model):
    """The way of coupled models for a model without mimic joints, where G is the identity."""
    return CoupledModel(model)


FORWARD = {
    "forward_dynamics": "q v tau f_ext",
    "forward_dynamics_derivatives": "q v tau f_ext",
    "inverse_mass_matrix": "q",
    "inverse_mass_matrix_derivatives": "q",
    "hybrid_dynamics": "q v a tau prescribed f_ext",
    "hybrid_dynamics_derivatives": "q v a tau prescribed f_ext",
    "forward_dynamics_hessian": "q v tau weights f_ext",
    "linearize": "q v tau f_ext",
    "linearize_step": "q v tau dt f_ext",
    "step": "q v tau dt f_ext",
    "kinetic_energy_derivatives": "q v",
}


@pytest.mark.parametrize("name", FORWARD)
def test_without_mimic_joints_all_is_as_in_the_core(name, all_joints, state):
    at = state(all_joints, 3)
    at.dt, at.prescribed = 1e-2, np.arange(all_joints.nv) % 3 == 0
    arguments = [getattr(at, key) for key in FORWARD[name].split()]
    expected = getattr(jc, name)(all_joints, *arguments)
    found = getattr(jc, name)(uncoupled(all_joints), *arguments)
    assert type(found) is type(expected)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for x, y in pairs:
        close(x, y, 2.0**20)


@pytest.mark.parametrize("method", ["euler", "semi_implicit_euler", "rkmk2", "cf4", "dopri5"])
@pytest.mark.parametrize("hold", ["zero", "first"])
def test_without_mimic_joints_rollouts_are_those_of_the_core(method, hold, all_joints, state):
    at = state(all_joints, 2)
    rng = np.random.default_rng(1)
    tau = rng.standard_normal((2, 4 + (hold == "first"), all_joints.nv))
    f_ext = rng.standard_normal((*tau.shape[:2], all_joints.n_bodies, 6))
    arguments = at.q, at.v, tau, 1e-2, f_ext, method
    expected = jc.rollout(all_joints, *arguments, every=2, hold=hold)
    found = jc.rollout(uncoupled(all_joints), *arguments, every=2, hold=hold)
    for x, y in zip(found, expected, strict=True):
        close(x, y, 2.0**20)


def test_series_agree_with_each_other(robot, at):
    tau = np.random.default_rng(2).standard_normal((5, 4, robot.nv))
    f_ext = np.random.default_rng(3).standard_normal((5, 4, robot.n_bodies, 6))
    a = jc.forward_dynamics_series(robot, at.q, at.v, tau, f_ext)
    motion = np.concatenate([at.v[:, None], a], axis=1)
    back = jc.inverse_dynamics_series(robot, at.q, motion, f_ext)
    close(back, tau, 2.0**24)
    close(a[:, 0], jc.forward_dynamics(robot, at.q, at.v, tau[:, 0], f_ext[:, 0]))
    mask = np.arange(robot.nv) % 2 == 0
    both = jc.hybrid_dynamics_series(robot, at.q, at.v, a, tau, mask, f_ext)
    close(both.a, a, 2.0**24)
    close(both.tau, tau, 2.0**24)


def test_mujoco_with_an_equality_moves_the_same_way(tmp_path):
    """A gripper whose fingers are tied by a joint equality, which MuJoCo holds by a stiff force."""
    mujoco = pytest.importorskip("mujoco")
    joint = '<joint name="{}" type="slide" axis="0 1 0"/>'
    body = '<body name="{0}" pos="0 0 .1">{1}<geom mass="{2}" size=".02"/></body>'
    text = f"""<mujoco><option gravity="0 -9.81 0"/><worldbody>
      <body name="palm"><joint name="wrist" axis="1 0 0"/><geom mass="1" size=".05" pos="0 .1 .2"/>
      {body.format("left", joint.format("close"), 0.2)}
      {body.format("right", joint.format("follow"), 0.3)}</body></worldbody>
      <equality><joint joint1="follow" joint2="close" polycoef="0.01 -1.5 0 0 0"/></equality>
      </mujoco>"""
    path = tmp_path / "gripper.xml"
    path.write_text(text)
    loaded = jc.load(path)
    assert loaded.constraints is not None
    mimic = jc.Mimic("close", -1.5, 0.01)
    joints = [j if j.name != "follow" else j.with_checked(mimic=mimic) for j in loaded.joints]
    bodies = [b._replace(joints=(j,)) for b, j in zip(loaded.bodies, joints, strict=True)]
    gripper = jc.Model("gripper", loaded.gravity, bodies).coupled()
    assert gripper.nv == 2
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    q, v, tau = np.array([0.4, 0.02]), np.array([0.7, -0.3]), np.array([0.5, 1.2])
    data.qpos, data.qvel = gripper.expand(q), gripper.coupling @ v
    whole = gripper.expanded
    own = [whole.v_slice(n).start for n in ("wrist", "close")]
    data.qfrc_applied[own] = tau
    mujoco.mj_forward(model, data)
    # the same by the multipliers of MuJoCo's own mass matrix and bias forces
    M, A = np.zeros((3, 3)), np.zeros((1, 3))
    mujoco.mj_fullM(model, data, M)
    A[0, whole.v_slice("follow").start], A[0, own[1]] = -1.0, -1.5
    system = np.block([[M, A.T], [A, np.zeros((1, 1))]])
    force = np.zeros(3)
    force[own] = tau
    expected = np.linalg.solve(system, np.concatenate([force - data.qfrc_bias, [0.0]]))[:3]
    close(jc.forward_dynamics(gripper, q, v, tau), expected[own])
    # its soft constraint comes near: the acceleration it asks for is not quite zero
    np.testing.assert_allclose(data.qacc[own], expected[own], rtol=2e-2)


def test_the_lagrangian_of_a_gripper_gives_the_same_equations():
    """d/dt dL/du' - dL/du = tau with L written by hand, differentiated by CasADi."""
    casadi = pytest.importorskip("casadi")
    builder = jc.ModelBuilder(gravity=(0, -9.81, 0))
    builder.add_body("arm", joint="revolute", joint_name="a", mass=2.0, com=(0.3, 0, 0))
    mimic = jc.Mimic("a", -2.0, 0.5)
    builder.add_body(
        "tip",
        "arm",
        "revolute",
        (0.7, 0, 0),
        joint_name="b",
        mimic=mimic,
        mass=0.8,
        com=(0.2, 0, 0),
    )
    arm = builder.build().coupled()
    a, w, dw = (casadi.SX.sym(name) for name in ("a", "w", "dw"))
    turn = a + (-2.0 * a + 0.5)  # of the tip in the world
    center = casadi.vertcat(
        0.7 * casadi.cos(a) + 0.2 * casadi.cos(turn), 0.7 * casadi.sin(a) + 0.2 * casadi.sin(turn)
    )
    speed = casadi.jacobian(center, a) * w
    T = 0.5 * 2.0 * (0.3 * w) ** 2 + 0.5 * 0.8 * casadi.dot(speed, speed)
    U = 2.0 * 9.81 * 0.3 * casadi.sin(a) + 0.8 * 9.81 * center[1]
    p = casadi.jacobian(T, w)
    tau = casadi.jacobian(p, w) * dw + casadi.jacobian(p, a) * w - casadi.jacobian(T - U, a)
    by = [casadi.jacobian(tau, x) for x in (a, w, dw)]
    function = casadi.Function("tau", [a, w, dw], [tau, *by])
    for values in np.random.default_rng(0).uniform(-3, 3, (20, 3)):
        q, v, dv = values[:, None]
        expected = [float(x) for x in function(*values)]
        close(jc.inverse_dynamics(arm, q, v, dv), expected[:1])
        for x, y in zip(jc.inverse_dynamics_derivatives(arm, q, v, dv), expected[1:], strict=True):
            close(x, [[y]])


def test_every_kernel_is_computed_or_refused_by_name(robot):
    for name in _core.kernel_names():
        if knows_coupled(name):
            continue
        signature = _core.signature(name)
        inputs = dict.fromkeys([*signature["inputs"], *signature["options"]], 0.0)
        own = _core.shown_name(name.removesuffix("_jvp"))
        with pytest.raises(jc.errors.ModelError, match=rf"{own}\(\) is not there for a model with"):
            _core.raw(name)(robot, **inputs)


def test_torques_are_linear_in_the_inertias(robot, at):
    Y = jc.torque_regressor(robot, at.q, at.v, at.a)
    rotors = robot.contract(np.diag(robot.expanded.armature), (-1, -2))
    tau = jc.inverse_dynamics(robot, at.q, at.v, at.a)
    close(Y @ robot.inertias.ravel() + at.a @ rotors, tau)


@pytest.mark.parametrize("name", [n for n in KERNELS if knows_coupled(n)])
def test_a_batch_equals_a_loop(name, robot, state):
    for lead in ((1,), (9,), (0,)):
        arguments = arguments_of(name, state(robot, *lead))
        found = call(name, robot, arguments)
        assert found[0].shape[:1] == lead
        if lead != (0,):
            assert_same(found, one_by_one(name, robot, arguments))


@pytest.mark.parametrize("name", [n for n in KERNELS if knows_coupled(n)])
def test_results_go_to_out_and_failures_leave_nothing(name, robot, state):
    arguments = arguments_of(name, state(robot, 4))
    expected = call(name, robot, arguments)
    out = tuple(np.empty_like(x) for x in expected)
    got = call(name, robot, arguments, out=out if len(out) > 1 else out[0])
    assert all(x is y for x, y in zip(got, out, strict=True))
    for x, y in zip(out, expected, strict=True):
        np.testing.assert_array_equal(x, y)
    arguments["q" if "q" in arguments else "q0"] = np.full((4, robot.nq), np.nan)
    with pytest.raises(jc.errors.ArgumentError):
        call(name, robot, arguments, out=out if len(out) > 1 else out[0])
    assert all(np.isnan(x).all() for x in out)


def test_several_frames_at_once(robot, at):
    both = jc.jacobian(robot, at.q, ["body11", "body7"])
    close(both[:, 1], jc.jacobian(robot, at.q, "body7"))
    wrench = np.arange(6.0)
    f_ext = jc.external_wrenches(robot, at.q, {"body11": wrench}, twist="body")
    force = jc.gravity_forces(robot, at.q) - jc.bias_forces(robot, at.q, 0 * at.v, f_ext)
    close(force, np.einsum("...ij,i->...j", jc.jacobian(robot, at.q, "body11"), wrench))


@pytest.mark.parametrize("bodies", [[7, 2], ["body11", "body7"], [3], []], ids=str)
def test_several_bodies_may_be_an_array(robot, at, bodies):
    p = jc.parameters(robot, "placement", [robot.joints[1].name])
    array = np.array(bodies, None if bodies else int)
    for ask in (
        lambda body: jc.body_pose(robot, at.q, body),
        lambda body: jc.jacobian(robot, at.q[0], body),
        lambda body: jc.jvp(jc.body_pose, robot, (at.q, body), (at.v, None)).derivative,
        lambda body: jc.parameter_derivatives(jc.body_pose, robot, (at.q, body), p),
    ):
        np.testing.assert_array_equal(ask(array), ask(bodies))
    assert jc.body_pose(robot, at.q, np.array(7)).shape == (*at.q.shape[:-1], 4, 4)


@pytest.mark.long
def test_a_simulation_keeps_the_energy(robot, at):
    motion = jc.simulate(robot, at.q[0], at.v[0], np.linspace(0, 0.2, 5), rtol=1e-10, atol=1e-10)
    close(motion.check().energy, 0.0, 1e-7 / EPS)
    end = jc.rollout(robot, at.q[0], at.v[0], np.zeros((200, robot.nv)), 1e-3, every=200)
    np.testing.assert_allclose(end.q[-1], motion.q[-1], rtol=0, atol=1e-7)


def test_a_rollout_that_diverges_is_marked(robot, at):
    tau = np.zeros((2, 3, robot.nv))
    tau[1, 1] = 1e200
    found = jc.rollout(robot, at.q[:2], at.v[:2], tau, 1e-2, on_failure="mark")
    assert found.failed_at.tolist() == [-1, found.failed_at[1]]
    assert found.failed_at[1] >= 1
    assert np.isfinite(found.q[0]).all()
    assert np.isnan(found.q[1, -1]).all()


def test_inverse_kinematics_moves_leaders_and_followers(robot, at):
    target = jc.body_pose(robot, at.q, "body11")
    start = jc.integrate(robot, at.q, 0.2 * at.v)
    found = jc.inverse_kinematics(robot, {"body11": target}, start, limits=False)
    assert found.converged.all()
    close(jc.body_pose(robot, found.q, "body11"), target, 1e-8 / EPS)


def test_inverse_kinematics_keeps_the_limits_of_leaders():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="prismatic", axis=(1, 0, 0), joint_name="a", upper=0.2, mass=1.0)
    mimic = jc.Mimic("a", 2.0, 0.1)
    builder.add_body("b", "a", "prismatic", axis=(1, 0, 0), joint_name="b", mimic=mimic, mass=1.0)
    slide = builder.build().coupled()
    found = jc.inverse_kinematics(slide, {"b": [0.4, 0, 0]}, [0.0])
    close(found.q, [0.1], 1e-8 / EPS)
    beyond = jc.inverse_kinematics(slide, {"b": [2.0, 0, 0]}, [0.0])
    close(beyond.q, [0.2])
    assert not beyond.converged


def test_slices_and_fields_are_those_of_independent_joints(robot):
    assert robot.joint_names == robot.expanded.joint_names
    for joint in robot.joints:
        part = robot.v_slice(joint.name)
        whole = robot.expanded.v_slice(joint.name)
        assert part.stop - part.start == (0 if joint.mimic else whole.stop - whole.start)
    for field in ("lower", "armature", "actuated", "springref"):
        own = getattr(robot, field)
        assert own.shape == ((robot.nq,) if field in ("lower", "springref") else (robot.nv,))
    assert "q[13:13]" in repr(robot)


def test_what_followers_carry_acts_through_the_coupling():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", joint_name="a", mass=1.0, inertia=[1, 1, 1])
    follow = jc.Joint(
        "revolute", "b", armature=0.5, damping=0.3, stiffness=2.0, mimic=jc.Mimic("a", -3.0, 0.2)
    )
    builder.add_body("b", joint=follow, mass=1.0, inertia=[2, 2, 2])
    robot = builder.build().coupled()
    q, v = [0.4], [0.7]
    close(jc.mass_matrix(robot, q), [[1 + 9 * (2 + 0.5)]])
    force = -3.0 * (-0.3 * (-3 * 0.7) - 2.0 * (-3 * 0.4 + 0.2))
    close(jc.passive_forces(robot, q, v), [force])
    close(jc.passive_forces_derivatives(robot, q, v).dq, [[-2.0 * 9]])


def test_a_massless_gripper_is_singular_by_name():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", joint_name="lead")
    builder.add_body("b", joint="revolute", mimic=jc.Mimic("lead", 2.0))
    builder.add_body("c", joint="revolute", joint_name="other", mass=1, inertia=[1, 1, 1])
    robot = builder.build().coupled()
    with pytest.raises(
        jc.errors.SingularError, match=r"joint 'lead' moves, with those.*state \[0\]"
    ):
        jc.forward_dynamics(robot, np.zeros((2, 2)), [0, 0], [0, 0])
    # the follower's body alone has no inertia: the leader's is enough
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", joint_name="lead", mass=1, inertia=[1, 1, 1])
    builder.add_body("b", joint="revolute", mimic=jc.Mimic("lead", 2.0))
    close(jc.forward_dynamics(builder.build().coupled(), [0.1], [0.2], [3.0]), [3.0])


def test_a_cycle_is_refused_and_shown():
    builder = jc.ModelBuilder()
    for name, leader in (("a", "b"), ("b", "c"), ("c", "b")):
        builder.add_body(name, joint="revolute", joint_name=name, mimic=jc.Mimic(leader), mass=1.0)
    with pytest.raises(jc.errors.ModelError, match="in a cycle: 'b' -> 'c' -> 'b'"):
        builder.build().coupled()


def test_joints_with_several_coordinates_are_not_coupled():
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="spherical", joint_name="ball", mass=1.0)
    builder.add_body("b", joint="revolute", mimic=jc.Mimic("ball"), mass=1.0)
    with pytest.raises(jc.errors.ModelError, match="'ball' is spherical: only joints with one"):
        builder.build().coupled()
    builder = jc.ModelBuilder()
    builder.add_body("b", joint="revolute", mimic=jc.Mimic("gone"), mass=1.0)
    with pytest.raises(jc.errors.ModelError, match="follows 'gone', which is no joint"):
        builder.build().coupled()


def test_a_robot_without_mimic_joints_is_coupled_already(all_joints):
    assert all_joints.coupled() is all_joints
    assert all_joints.expanded is all_joints


def test_copies_and_equality(robot):
    assert copy.deepcopy(robot) is robot
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert hash(again) == hash(robot)
    assert robot != robot.expanded
    assert robot.expanded != robot
    assert robot.coupled() is robot
    with pytest.raises(AttributeError, match="immutable"):
        robot.coupling = 0


def test_replacing_values_of_independent_joints(robot, at):
    heavy = robot.replace(inertias=2 * robot.inertias, armature=0.1, gravity=(0, 0, -1))
    assert isinstance(heavy, CoupledModel)
    close(heavy.armature, np.full(robot.nv, 0.1))
    same = [robot.expanded.armature, heavy.expanded.armature]
    follow = [robot.expanded.v_slice(j.name).start for j in robot.joints if j.mimic]
    close(same[1][follow], same[0][follow])
    home = robot.replace(poses={"home": at.q[0]})
    close(home.poses["home"], at.q[0])
    close(home.expanded.poses["home"], robot.expand(at.q[0]))
    with pytest.raises(jc.errors.ArgumentError, match="lower"):
        robot.replace(lower=np.zeros(robot.nq + 1))


def test_editing_keeps_the_coupling(robot, at):
    tool = robot.with_frame("tool", "body11", [0, 0, 0.1]).with_payload("tool", 0.5)
    assert isinstance(tool, CoupledModel)
    assert tool.nv == robot.nv
    q = at.q[0]
    direct = robot.expanded.with_frame("tool", "body11", [0, 0, 0.1]).with_payload("tool", 0.5)
    close(
        jc.mass_matrix(tool, q), robot.contract(jc.mass_matrix(direct, robot.expand(q)), (-1, -2))
    )
    two = jc.models.chain(2).attach(robot, "body1", "x_")
    assert isinstance(two, CoupledModel)
    assert two.nv == robot.nv + 2
    assert isinstance(robot.attach(jc.models.chain(2), "body11", "x_"), CoupledModel)
    assert robot.subtree("body6").nv == 4  # body6's own joint is gone, so is its follower's leader
    assert isinstance(jc.ModelBuilder(robot).build(), jc.Model)
    assert jc.ModelBuilder(robot).build().nv == robot.expanded.nv


def test_locking_a_leader_locks_what_follows_it(robot, at):
    q = at.q[0]
    locked = robot.lock({"joint1": q[robot.q_slice("joint1")]})
    left = [j.name for j in locked.joints]
    assert not {"joint1", "joint8", "joint9"} & {*left}
    rest = np.concatenate([q[robot.q_slice(name)] for name in left])
    close(jc.body_pose(locked, rest, "body11"), jc.body_pose(robot, q, "body11"))
    with pytest.raises(jc.errors.ArgumentError, match="'joint8' follows 'joint1': lock that one"):
        robot.lock({"joint8": 0.0})


URDF = """<robot name="hand"><link name="palm"/>
<joint name="close" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
<limit lower="0" upper=".04" effort="1" velocity="1"/></joint>
<link name="left"><inertial><mass value=".1"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="follow" type="prismatic"><parent link="palm"/><child link="right"/>
<axis xyz="0 -1 0"/><limit lower="0" upper=".04" effort="1" velocity="1"/>
<mimic joint="close" multiplier="2" offset="0.01"/></joint>
<link name="right"><inertial><mass value=".2"/>
<inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def test_files_are_loaded_coupled_and_saved_with_their_mimic_joints(tmp_path):
    hand = jc.load_urdf(URDF, base="free", mimic="coupled")
    assert isinstance(hand, CoupledModel)
    assert hand.nv == 7
    close(jc.mass_matrix(hand, jc.neutral(hand))[6, 6], 0.1 + 4 * 0.2)
    path = tmp_path / "hand.urdf"
    path.write_text(URDF)
    assert jc.load(path, mimic="coupled").nv == 1
    file = io.StringIO()
    jc.save(hand, file, format="urdf")
    again = jc.load_urdf(file.getvalue(), base="free", mimic="coupled")
    assert again == hand
    srdf = tmp_path / "hand.srdf"
    state = '<group_state name="open" group="g"><joint name="close" value=".03"/></group_state>'
    srdf.write_text(
        f'<robot name="hand"><group name="g"><joint name="close"/></group>{state}</robot>'
    )
    posed = jc.load(path, mimic="coupled", srdf=srdf)
    close(posed.poses["open"], [0.03])


def test_configurations_of_joints_that_follow_are_not_given(robot, at):
    with pytest.raises(jc.errors.ArgumentError, match=r"joints\['joint8'\]: this joint follows"):
        jc.configuration(robot, joints={"joint8": 0.1})
    q = jc.configuration(robot, joints={"joint1": 0.1})
    assert q[robot.q_slice("joint1")] == 0.1
    with pytest.raises(jc.errors.ArgumentError, match=rf"\(\.\.\., {robot.nq}\)"):
        robot.expand(np.zeros(3))


def test_taylor_steps_are_told_to_be_missing(robot):
    q, z = jc.neutral(robot), np.zeros(robot.nv)
    for missing in (
        lambda: jc.step(robot, q, z, z, 0.1, method="taylor"),
        lambda: jc.rollout(robot, q, z, [z, z], 0.1, method="taylor"),
        lambda: jc.rollout(robot, q, z, [z, z], 0.1, method="taylor", on_failure="mark"),
        lambda: jc.simulate(robot, q, z, [0, 1], method="taylor"),
        lambda: jc.simulate(robot, q, z, [0, 1], jc.Control(kd=1.0), method="taylor"),
        lambda: jc.simulate(robot, q, z, [0, 1], lambda t, q, v: [0 * v], method="taylor"),
    ):
        with pytest.raises(jc.ModelError, match=r"^method 'taylor' is not there for a model with"):
            missing()


def test_mistakes_are_told_in_sizes_of_the_coupled_robot(robot, at):
    with pytest.raises(jc.errors.ArgumentError, match=r"v must have shape \(\.\.\., 20\)"):
        jc.inverse_dynamics(robot, at.q, at.v[:, :3], at.a)
    with pytest.raises(jc.errors.ArgumentError, match=r"motion must have shape \(\.\.\., 5, 20\)"):
        jc.inverse_dynamics_series(robot, at.q, np.zeros((5, 3)))
    with pytest.raises(jc.errors.ArgumentError, match="v must be finite, got nan"):
        jc.mass_matrix(robot, at.q), jc.bias_forces(robot, at.q, at.v * np.nan)
    with pytest.raises(jc.errors.ArgumentError, match=r"out must be .* of shape \(5, 20, 20\)"):
        jc.mass_matrix(robot, at.q, out=np.zeros((20, 20)))
    with pytest.raises(jc.errors.ModelError, match=r"take model\.expanded"):
        robot.nodes  # noqa: B018
    with pytest.raises(jc.errors.ModelError, match=r"coupled ones, .*, may see fewer combinations"):
        jc.base_parameters(robot)


def test_trajectories_go_through_independent_coordinates(robot, at):
    path = jc.trajectories.RobotTrajectory.between(robot, at.q[0], at.q[1], 1.0)
    end = path.evaluate(1.0, 1)
    close(jc.difference(robot, end.q, at.q[1]), np.zeros(robot.nv))
    tau = jc.inverse_dynamics_series(robot, end.q, end.motion)
    assert tau.shape[-1] == robot.nv
