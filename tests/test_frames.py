"""Several frames in one call, wrenches at frames and through joints, the bias acceleration."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import lie, twists

EPS = np.finfo(float).eps

CALLS = {
    "body_pose": lambda m, s, b, **k: jc.body_pose(m, s.q, b, **k),
    "body_twist": lambda m, s, b, **k: jc.body_twist(m, s.q, s.v, b, "hybrid", **k),
    "body_acceleration": lambda m, s, b, **k: jc.body_acceleration(m, s.q, s.v, s.a, b, **k),
    "bias_acceleration": lambda m, s, b, **k: jc.bias_acceleration(m, s.q, s.v, b, "spatial", **k),
    "jacobian": lambda m, s, b, **k: jc.jacobian(m, s.q, b, "mixed", **k),
    "jacobian_rate": lambda m, s, b, **k: jc.jacobian_rate(m, s.q, s.v, b, **k),
    "center_of_mass_jacobian": lambda m, s, b, **k: jc.center_of_mass_jacobian(m, s.q, b, **k),
}


def times(matrix, x):
    return (matrix @ x[..., None])[..., 0]


every_call = pytest.mark.parametrize("name", CALLS)


def with_frames(model):
    """The robot with frames on some bodies and on the world."""
    builder = jc.ModelBuilder(model)
    for k in (0, model.n_bodies // 2, model.n_bodies - 1):
        placement = lie.exp([0.1 * k, 0.2, -0.3, 0.4, 0.5 * k, 0.6])
        builder.add_frame(f"frame{k}", model.body_names[k], placement)
    builder.add_frame("post", None, lie.exp([0, 0, 1.0, 1, 2, 3]))
    return builder.build()


def some_frames(model):
    return [model.body_names[-1], 0, "frame0", np.int64(1), np.str_("post"), "frame0"]


@every_call
@pytest.mark.parametrize("lead", [(), (9,), (2, 5), (0,)], ids=str)
def test_a_list_gives_what_its_frames_give(name, lead, robot, state):
    model, s = with_frames(robot), state(robot, *lead)
    frames = some_frames(model)
    got = CALLS[name](model, s, frames)
    expected = np.stack([CALLS[name](model, s, frame) for frame in frames], axis=len(lead))
    np.testing.assert_array_equal(got, expected)
    out = np.full(got.shape, np.nan)
    assert CALLS[name](model, s, tuple(frames), out=out, threads=2) is out
    np.testing.assert_array_equal(out, expected)


@every_call
def test_lists_may_be_arrays_or_empty(name, all_joints, state):
    s = state(all_joints, 3)
    single = CALLS[name](all_joints, s, 0)
    assert CALLS[name](all_joints, s, []).shape == (3, 0, *single.shape[1:])
    indices = np.arange(all_joints.n_bodies)
    names = np.array(all_joints.body_names)
    expected = CALLS[name](all_joints, s, list(range(all_joints.n_bodies)))
    np.testing.assert_array_equal(CALLS[name](all_joints, s, indices), expected)
    np.testing.assert_array_equal(CALLS[name](all_joints, s, names), expected)


def test_all_bodies_of_a_list_are_those_of_the_plural(robot, state):
    s = state(robot, 4)
    bodies = list(robot.body_names)
    scale = 64 * EPS * robot.n_bodies
    for one, all_of_them in (
        (jc.body_pose(robot, s.q, bodies), jc.body_poses(robot, s.q)),
        (jc.body_twist(robot, s.q, s.v, bodies), jc.body_twists(robot, s.q, s.v)),
    ):
        tolerance = scale * (1 + np.abs(all_of_them).max())
        np.testing.assert_allclose(one, all_of_them, rtol=0, atol=tolerance)


def test_series_take_lists_too(all_joints, state):
    s = state(all_joints, 3)
    motion = np.stack([s.v, s.a], axis=-2)
    frames = list(all_joints.body_names[:3])
    for function in (jc.body_motion_series, jc.jacobian_series, jc.body_pose_series):
        got = function(all_joints, s.q, motion, frames)
        expected = [function(all_joints, s.q, motion, frame) for frame in frames]
        np.testing.assert_array_equal(got, np.stack(expected, axis=1))


def test_a_list_with_a_wrong_frame_is_refused(all_joints, state):
    s, first = state(all_joints), all_joints.body_names[0]
    with pytest.raises(jc.UnknownNameError, match="unknown body or frame 'nothing'"):
        jc.body_pose(all_joints, s.q, [first, "nothing"])
    for wrong in ([first, None], [first, 1.5], [[first]], [first, -1], [first, True]):
        with pytest.raises(jc.UnknownNameError, match=r"body|index"):
            jc.body_pose(all_joints, s.q, wrong)
    for wrong in ({first}, {first: 1}, None, 1.5, np.zeros((2, 2))):
        with pytest.raises((jc.UnknownNameError, TypeError)):
            jc.body_pose(all_joints, s.q, wrong)


def test_out_for_a_list_has_an_axis_of_frames(all_joints, state):
    s, names = state(all_joints, 3), list(all_joints.body_names[:2])
    with pytest.raises(jc.ArgumentError, match=r"shape \(3, 2, 4, 4\), got .* \(3, 4, 4\)"):
        jc.body_pose(all_joints, s.q, names, out=np.empty((3, 4, 4)))
    out = np.zeros((3, 2, 4, 4))
    s.q[2, 0] = np.nan
    with pytest.raises(jc.ArgumentError, match="finite"):
        jc.body_pose(all_joints, s.q, names, out=out)
    assert np.isnan(out).all()


def test_out_of_a_list_may_be_an_input(state):
    model = jc.models.chain(16)
    s, frames = state(model, 6), [3, 4, 5]
    memory = np.zeros(6 * 3 * 16)
    memory[: 6 * 16] = s.q.ravel()
    q = memory[: 6 * 16].reshape(6, 16)
    expected = jc.body_pose(model, s.q, frames)
    out = jc.body_pose(model, q, frames, out=memory.reshape(6, 3, 4, 4))
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_the_bias_acceleration_is_the_rate_of_the_jacobian_times_the_rates(twist, robot, state):
    model, s = with_frames(robot), state(robot, 5)
    for frame in some_frames(model):
        rate = jc.jacobian_rate(model, s.q, s.v, frame, twist)
        expected = times(rate, s.v)
        got = jc.bias_acceleration(model, s.q, s.v, frame, twist)
        tolerance = 64 * EPS * model.nv * (1 + np.abs(rate).max() * np.abs(s.v).max())
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)
        still = jc.body_acceleration(model, s.q, s.v, np.zeros(model.nv), frame, twist)
        np.testing.assert_allclose(got, still, rtol=0, atol=tolerance)


def test_joint_wrenches_along_a_joint_are_its_torque(state):
    model = jc.models.chain(6)
    model = model.replace(armature=np.linspace(0.1, 0.6, 6))
    s = state(model, 5)
    wrenches = jc.joint_wrenches(model, s.q, s.v, s.a)
    tau = jc.inverse_dynamics(model, s.q, s.v, s.a)
    axes = np.array([joint.axis for joint in model.joints])
    along = (wrenches[..., :3] * axes).sum(-1) + model.armature * s.a
    np.testing.assert_allclose(along, tau, rtol=0, atol=1e-13 * np.abs(tau).max())


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_wrenches_at_frames_do_the_work_of_their_jacobians(twist, robot, state):
    model, s = with_frames(robot), state(robot, 4)
    rng = np.random.default_rng(5)
    frames = [f for f in some_frames(model)[:-1] if f != "post"]
    wrenches = {frame: rng.standard_normal((4, 6)) for frame in frames}
    f_ext = jc.external_wrenches(model, s.q, wrenches, twist)
    assert f_ext.shape == (4, model.n_bodies, 6)
    less = jc.inverse_dynamics(model, s.q, s.v, s.a) - jc.inverse_dynamics(
        model, s.q, s.v, s.a, f_ext
    )
    J = {frame: jc.jacobian(model, s.q, frame, twist) for frame in frames}
    expected = sum(times(np.swapaxes(J[f], -1, -2), wrenches[f]) for f in frames)
    scale = np.abs(jc.inverse_dynamics(model, s.q, s.v, s.a)).max() + np.abs(expected).max()
    np.testing.assert_allclose(less, expected, rtol=0, atol=1e-13 * scale)


def test_wrenches_at_frames_broadcast_and_add_up(state):
    model = with_frames(jc.models.aerial_manipulator())
    s, push = state(model, 3), np.array([0, 0, 0, 1.0, 2.0, 3.0])
    f_ext = jc.external_wrenches(model, s.q[0], {"frame0": np.tile(push, (5, 1, 1)), 0: push})
    assert f_ext.shape == (5, 1, model.n_bodies, 6)
    one = jc.external_wrenches(model, s.q[0], {"frame0": push})
    two = jc.external_wrenches(model, s.q[0], {0: push})
    np.testing.assert_allclose(
        f_ext[2, 0], one + two, rtol=0, atol=16 * EPS
    )  # packs round otherwise
    assert jc.external_wrenches(model, s.q, {}).shape == (3, model.n_bodies, 6)
    out = np.full((3, model.n_bodies, 6), np.nan)
    assert jc.external_wrenches(model, s.q, {"frame0": push}, out=out) is out
    np.testing.assert_array_equal(out, jc.external_wrenches(model, s.q, {"frame0": push}))


def test_what_is_no_wrench_at_a_frame_is_refused(state):
    model = with_frames(jc.models.aerial_manipulator())
    q, push = jc.neutral(model), np.ones(6)
    for wrenches, error, words in (
        ({"tool": push}, jc.UnknownNameError, "unknown body or frame 'tool'"),
        ({"post": push}, jc.ArgumentError, "fixed to the world"),
        ({"frame0": push[:3]}, jc.ArgumentError, r"wrench must have shape \(..., 6\)"),
        ({"frame0": push * np.nan}, jc.ArgumentError, "wrench must be finite"),
        ({"frame0": np.ones((2, 6)), 0: np.ones((3, 6))}, jc.ArgumentError, "broadcast"),
        ([push], jc.ArgumentTypeError, "dict"),
    ):
        out = np.zeros((model.n_bodies, 6))
        with pytest.raises(error, match=words):
            jc.external_wrenches(model, q, wrenches)
        with pytest.raises(error, match=words):
            jc.external_wrenches(model, q, wrenches, out=out)
    with pytest.raises(jc.ArgumentError, match="'hybrid'"):
        jc.external_wrenches(model, q, {"frame0": push}, "LOCAL")
    with pytest.raises(jc.ArgumentError, match="q must have shape"):
        jc.external_wrenches(model, q[1:], {})
