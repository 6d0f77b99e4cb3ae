"""Series of poses, twists and Jacobians: 60 digits, motion along trajectories, plain kinematics."""

from __future__ import annotations

import functools
import math
import re

import numpy as np
import oracle_digits as oracle
import pytest
from series_cases import BATCH, EPS, ORDER, ROBOTS, assert_series_close, given_motion, robot, swing

import jounce as jc
from jounce import lie
from jounce.lie.twists import REPRESENTATIONS
from jounce.model import Model

PRODUCTS = 64
"""Products of series on the way from the root to a body, and to another representation."""

every_robot = pytest.mark.parametrize("name", ROBOTS)
every_twist = pytest.mark.parametrize("twist", REPRESENTATIONS)


def size_of_orders(series: np.ndarray) -> np.ndarray:
    """Largest entry of each order; the orders are on the first axis."""
    return np.abs(series).reshape(len(series), -1).max(-1)


def assert_orders_close(actual, expected, sizes) -> None:
    """Compare each order with its size, up to the roundings of all products of series."""
    assert actual.shape == expected.shape
    orders = 1 + np.arange(len(expected))
    errors = size_of_orders(actual - expected) / sizes / (PRODUCTS * orders * EPS)
    assert (errors <= 1).all(), errors


@functools.cache
def exact(name: str, order: int, body: int):
    """Pose and twists of a body in 60 digits, for the first state of `given_motion`."""
    q, motion, _ = given_motion(name, order, ())
    return oracle.pose_and_twist_series(robot(name), q, motion, body)


def bodies(model: Model) -> set[int]:
    return {0, model.n_bodies // 2, model.n_bodies - 1}


@every_robot
def test_poses_and_twists_equal_60_digits(name):
    """By the size of each order: a twist may be far smaller than the pose's derivatives."""
    model, order = robot(name), 10
    q, motion, _ = given_motion(name, order, ())
    for body in bodies(model):
        poses, twists = exact(name, order, body)
        actual = jc.body_pose_series(model, q, motion, body)
        assert_orders_close(actual, poses, size_of_orders(poses))
        for twist, expected in twists.items():
            actual = jc.body_motion_series(model, q, motion, body, twist)
            assert_orders_close(actual, expected, size_of_orders(expected))


@pytest.mark.parametrize("joint", ["revolute", "helical", "cylindrical"])
def test_an_axis_that_is_fixed_in_the_world_stays_so(joint):
    """Parallel joints, then one that stands still: angular velocities along one fixed axis.

    The body's rotation has derivatives some 1e6 times larger, which must leave no rounding.
    """
    rng, order = np.random.default_rng(4), 10
    axis, start = np.array([2.0, -1.0, 2.0]) / 3, lie.exp(rng.uniform(-1, 1, 6))
    solid = {"mass": 1.0, "inertia": (1, 1, 1), "pitch": 0.2 if joint == "helical" else 0.0}
    beside = np.eye(4)
    beside[:3, 3] = rng.uniform(-1, 1, 3)
    builder = jc.ModelBuilder()
    builder.add_body("a", joint=joint, axis=axis, placement=start, **solid)
    builder.add_body("b", "a", joint=joint, axis=axis, placement=beside, **solid)
    builder.add_body("c", "b", joint=joint, axis=axis, placement=beside, **solid)
    solid["pitch"] = 0.0
    builder.add_body(
        "still", "c", joint="spherical", placement=lie.exp(rng.uniform(-1, 1, 6)), **solid
    )
    model = builder.build()
    q = jc.random_configuration(model, rng)
    motion = 3 * rng.standard_normal((order + 2, model.nv))
    motion[:, model.v_slice(3)] = 0
    angles = motion[:, [model.v_slice(k).start for k in range(3)]]
    expected = angles.sum(-1)[:, None] * (start[:3, :3] @ axis)
    for twist in ("spatial", "hybrid"):
        actual = jc.body_motion_series(model, q, motion, "still", twist)[:, :3]
        assert_orders_close(actual, expected, np.abs(angles).max(-1))


def test_a_constant_twist_of_the_base_is_constant_in_the_world():
    model, rng = robot("aerial manipulator"), np.random.default_rng(0)
    q, motion = jc.random_configuration(model, rng), np.zeros((12, model.nv))
    motion[0, :6] = 3 * rng.standard_normal(6)
    for body in (0, model.n_bodies - 1):  # the arms stand still: all move as one
        assert not jc.body_motion_series(model, q, motion, body, "spatial")[1:].any()
        assert not jc.body_motion_series(model, q, motion, body, "hybrid")[1:, :3].any()


def test_poses_and_twists_of_order_30_equal_60_digits():
    model, order = jc.models.random_tree(3, 2, ("helical", "free", "spherical")), 30
    rng = np.random.default_rng(0)
    q, motion = jc.random_configuration(model, rng), rng.standard_normal((order + 2, model.nv))
    poses, twists = oracle.pose_and_twist_series(model, q, motion, 2)
    actual = jc.body_pose_series(model, q, motion, 2)
    assert_series_close(actual.reshape(-1, 16), poses.reshape(-1, 16), 1e-8)
    for twist, expected in twists.items():
        assert_series_close(jc.body_motion_series(model, q, motion, 2, twist), expected, 1e-8)


# Along a trajectory


@every_twist
@every_robot
def test_series_of_the_jacobian_predicts_it_after_a_while(name, twist):
    model, order, step = robot(name), 16, 0.2
    q, motion = swing(model).evaluate(0.3, order)
    later = swing(model).evaluate(0.3 + step, 1)
    for body in bodies(model):
        series = jc.jacobian_series(model, q, motion, body, twist)
        terms = [row * step**k / math.factorial(k) for k, row in enumerate(series)]
        expected = jc.jacobian(model, later.q, body, twist)
        # Taylor's remainder, 0.2^19 times a derivative over 19!, is below the rounding.
        assert_orders_close(sum(terms)[None], expected[None], np.abs(expected).max())


@every_twist
@every_robot
def test_twists_are_jacobians_times_rates_in_all_derivatives(name, twist):
    model = robot(name)
    q, motion, _ = given_motion(name, ORDER, ())
    for body in bodies(model):
        J = jc.jacobian_series(model, q, motion, body, twist)
        expected = jc.body_motion_series(model, q, motion, body, twist)
        terms = [
            np.array([math.comb(k, j) * J[j] @ motion[k - j] for j in range(k + 1)])
            for k in range(len(expected))
        ]
        actual = np.array([row.sum(0) for row in terms])
        assert_orders_close(actual, expected, [1 + np.abs(row).max() for row in terms])


# Plain kinematics


@every_twist
@every_robot
def test_first_rows_are_plain_kinematics(name, twist):
    model = robot(name)
    q, motion, _ = given_motion(name)
    v, a = motion[:, 0], motion[:, 1]
    for body in bodies(model):
        twists = jc.body_motion_series(model, q, motion, body, twist)
        J = jc.jacobian_series(model, q, motion, body, twist)
        pose = jc.body_pose_series(model, q, motion, body)[:, 0]
        accelerations = jc.body_accelerations(model, q, v, a, twist)[:, body]
        rate = jc.jacobian_rate(model, q, v, body, twist)
        pairs = [
            (twists[:, 0], jc.body_twist(model, q, v, body, twist)),
            (twists[:, 1], accelerations),
            (J[:, 0], jc.jacobian(model, q, body, twist)),
            (J[:, 1], rate),
            (pose, jc.body_pose(model, q, body)),
        ]
        for actual, expected in pairs:  # of size 1 or larger, but for parts that vanish
            assert np.abs(actual - expected).max() <= 1e-13 * (1 + np.abs(expected).max())


@pytest.fixture(scope="module")
def tool() -> tuple[Model, np.ndarray, np.ndarray, np.ndarray]:
    """A robot with a frame away from its last body's origin, the frame's pose, a state."""
    rng = np.random.default_rng(2)
    builder, parent = jc.ModelBuilder(), None
    for kind in ("helical", "spherical", "universal", "revolute"):
        axes = {"axis": (1, 0, 1), "axis2": (0, 1, 0)} if kind == "universal" else {}
        builder.add_body(
            kind,
            parent,
            joint=kind,
            pitch=0.3 if kind == "helical" else 0.0,
            placement=lie.exp(rng.uniform(-1, 1, 6)),
            mass=1.0,
            inertia=(1, 1, 1),
            **axes,
        )
        parent = kind
    placement = lie.exp(rng.uniform(-1, 1, 6))
    model = builder.add_frame("tool", parent, placement).build()
    q = jc.random_configuration(model, rng)
    return model, placement, q, rng.standard_normal((ORDER + 2, model.nv))


def test_series_of_a_frame_are_those_of_its_body_seen_from_it(tool):
    model, placement, q, motion = tool

    def close(actual, expected):
        """Each order by its own size."""
        size = np.abs(expected).max(axis=tuple(range(1, expected.ndim)), keepdims=True)
        return (np.abs(actual - expected) <= 256 * np.finfo(float).eps * size).all()

    pose = jc.body_pose_series(model, q, motion, "revolute") @ placement
    assert close(jc.body_pose_series(model, q, motion, "tool"), pose)
    back = lie.Ad(lie.inverse(placement))
    twist = jc.body_motion_series(model, q, motion, "revolute") @ back.T
    assert close(jc.body_motion_series(model, q, motion, "tool"), twist)
    J = back @ jc.jacobian_series(model, q, motion, "revolute")
    assert close(jc.jacobian_series(model, q, motion, "tool"), J)
    for series in (jc.body_motion_series, jc.jacobian_series):  # at the world's origin
        body = series(model, q, motion, "revolute", "spatial")
        assert close(series(model, q, motion, "tool", "spatial"), body)


# How they are called

SERIES = {
    "pose": jc.body_pose_series,
    "twist": functools.partial(jc.body_motion_series, twist="mixed"),
    "jacobian": functools.partial(jc.jacobian_series, twist="hybrid"),
}
every_series = pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)


@every_robot
@every_series
def test_batch_equals_single_states(series, name):
    model = robot(name)
    q, motion, _ = given_motion(name)
    for body in bodies(model):
        batch = series(model, q, motion, body)
        for k in (0, BATCH // 2, BATCH - 1):
            single = series(model, q[k], motion[k], body)
            sizes = size_of_orders(single) + size_of_orders(motion[k]).max()
            assert_orders_close(batch[k], single, sizes)


@every_series
def test_threads_out_and_shared_inputs_do_not_change_a_bit(series):
    model = robot("tree 0")
    q, motion, _ = given_motion("tree 0")
    batch = series(model, q, motion, "body8")
    np.testing.assert_array_equal(series(model, q, motion, "body8", threads=2), batch)
    out = np.full_like(batch, np.nan)
    assert series(model, q, motion, "body8", out=out) is out
    np.testing.assert_array_equal(out, batch)
    assert series(model, q[:0], motion[:0], "body8").shape == (0, *batch.shape[1:])
    shared = series(model, q[0], motion, "body8")
    repeated = series(model, np.stack([q[0]] * BATCH), motion, "body8")
    np.testing.assert_array_equal(shared, repeated)


@every_series
def test_bad_input_is_named(series):
    model = robot("tree 0")
    q, motion, _ = given_motion("tree 0", ORDER, ())
    for bad in (motion[0], motion[:1], motion[:, 1:], np.zeros((103, model.nv))):
        shape = re.escape(str(bad.shape))
        with pytest.raises(ValueError, match=rf"^motion must have shape .*got {shape}$"):
            series(model, q, bad, 0)
    with pytest.raises(ValueError, match=r"^motion must be finite.*motion\[2, 3\]"):
        series(model, q, np.where(motion == motion[2, 3], np.nan, motion), 0)
    with pytest.raises(KeyError, match="'arm'"):
        series(model, q, motion, "arm")
    assert np.isfinite(series(model, q, np.ones((102, model.nv)), 0)).all()


@pytest.mark.parametrize("series", [jc.body_motion_series, jc.jacobian_series])
def test_unknown_representations_are_named(series):
    q, motion, _ = given_motion("tree 0", ORDER, ())
    with pytest.raises(ValueError, match=r"'WORLD'.*'spatial'"):
        series(robot("tree 0"), q, motion, 0, "WORLD")
