"""The four representations of twists and wrenches, and their time derivatives of any order.

The oracle is an analytic motion whose Taylor coefficients are known to 50 digits; the four twists
and wrenches follow from the pose by their definitions alone (Mueller 2018, eq. 97).
"""

import itertools
import math

import mpmath
import numpy as np
import pytest

from jounce import lie, twists

EPS = np.finfo(float).eps
NAMES = ("body", "spatial", "hybrid", "mixed")
PAIRS = list(itertools.product(NAMES, NAMES))
ORDER = 10

every_pair = pytest.mark.parametrize(("source", "target"), PAIRS)


def assert_close(actual, expected, ulps=16.0, scale=1.0):
    """Compare to an absolute error of ulps * eps * scale, where scale broadcasts."""
    assert np.shape(actual) == np.shape(expected)
    error = np.abs(np.asarray(actual) - expected) / (EPS * np.asarray(scale))
    assert np.max(error, initial=0.0) <= ulps


def magnitude(*series):
    """The largest component of each order, for the rounding error of that order."""
    return np.maximum.reduce([np.abs(s).max(axis=-1, keepdims=True) for s in series])


# The oracle: Taylor series of 50-digit numbers, order on the first axis


def product(A, B):
    """Multiply two series of matrices or vectors."""
    return np.array([sum(A[i] @ B[k - i] for i in range(k + 1)) for k in range(len(B))])


def slope(A):
    """Differentiate a series."""
    return np.array([(k + 1) * A[k + 1] for k in range(len(A) - 1)])


def cross(a, b):
    """Multiply two series of vectors by the cross product."""
    return np.array(
        [sum((np.cross(a[i], b[k - i]) for i in range(1, k + 1)), np.cross(a[0], b[k]))
         for k in range(len(b))]
    )  # fmt: skip


def vee(A):
    return np.stack([A[:, 2, 1], A[:, 0, 2], A[:, 1, 0]], axis=-1)


def transpose(A):
    return np.swapaxes(A, -1, -2)


def planar(angle, axis):
    """Rotate about a coordinate axis, as a function of time."""

    def entry(t):
        c, s = mpmath.cos(angle(t)), mpmath.sin(angle(t))
        R = np.full((3, 3), mpmath.mpf(0))
        i, j = (axis + 1) % 3, (axis + 2) % 3
        R[axis, axis], R[i, i], R[j, j], R[i, j], R[j, i] = mpmath.mpf(1), c, c, -s, s
        return R

    return entry


def taylor(function, t, order):
    """Taylor coefficients of an array-valued function of time."""
    shape = np.shape(function(t))
    entries = [mpmath.taylor(lambda u, i=i: function(u)[i], t, order) for i in np.ndindex(*shape)]
    return np.moveaxis(np.array(entries).reshape(*shape, order + 1), -1, 0)


def rounded_derivatives(series):
    """Round a series of Taylor coefficients to derivatives in double precision."""
    return np.array(
        [[float(c * math.factorial(k)) for c in s.ravel()] for k, s in enumerate(series)]
    )


@pytest.fixture(scope="module")
def motion():
    """The derivatives of pose, twists and wrenches of one analytic motion."""
    with mpmath.workdps(50):
        t = mpmath.mpf("0.3")
        turns = (
            planar(lambda u: 1 + mpmath.sin(2 * u), 2),
            planar(lambda u: u - u**3 / 2, 1),
            planar(lambda u: mpmath.exp(u / 2), 0),
        )
        yaw, pitch, roll = (taylor(turn, t, ORDER + 1) for turn in turns)
        R = product(yaw, product(pitch, roll))
        p = taylor(lambda u: np.array([mpmath.cos(u), 2 + u**4, mpmath.exp(-u)]), t, ORDER + 1)
        moment = taylor(lambda u: np.array([mpmath.sin(u), u**2, 1 / (2 + u)]), t, ORDER)
        force = taylor(lambda u: np.array([mpmath.cos(3 * u), mpmath.exp(u), 1 - u]), t, ORDER)

        Rt, dR, dp = transpose(R)[:-1], slope(R), slope(p)
        w_body, w_world = vee(product(Rt, dR)), vee(product(dR, Rt))
        twist = {
            "body": (w_body, product(Rt, dp)),
            "spatial": (w_world, dp + cross(p[:-1], w_world)),
            "hybrid": (w_world, dp),
            "mixed": (w_body, dp),
        }
        m_world, f_world = product(R[:-1], moment), product(R[:-1], force)
        wrench = {
            "body": (moment, force),
            "spatial": (m_world + cross(p[:-1], f_world), f_world),
            "hybrid": (m_world, f_world),
            "mixed": (moment, f_world),
        }
        pose = np.zeros((ORDER + 2, 4, 4))
        pose[:, :3, :3] = rounded_derivatives(R).reshape(-1, 3, 3)
        pose[:, :3, 3] = rounded_derivatives(p)
        pose[0, 3, 3] = 1
        stack = {
            kind: {n: rounded_derivatives(np.concatenate(x, axis=-1)) for n, x in table.items()}
            for kind, table in (("twist", twist), ("wrench", wrench))
        }
    return {"pose": pose, **stack}


def random_pose(rng, *batch):
    return lie.exp(rng.normal(size=(*batch, 6)))


def random_series(rng, orders, *batch):
    """Derivatives whose Taylor coefficients fall off, so that high orders stay comparable."""
    factorials = np.array([float(math.factorial(k)) for k in range(orders)])
    return rng.normal(size=(*batch, orders, 6)) * (factorials * 0.5 ** np.arange(orders))[:, None]


# Series


@every_pair
def test_twist_series_match_an_analytic_motion_to_order_ten(motion, source, target):
    given, expected = motion["twist"][source], motion["twist"][target]
    result = twists.convert_series(given, motion["pose"][0], source, target)
    assert_close(
        result, expected, ulps=32, scale=magnitude(given, expected, motion["twist"]["body"])
    )


@every_pair
def test_wrench_series_match_an_analytic_motion_to_order_ten(motion, source, target):
    given, expected = motion["wrench"][source], motion["wrench"][target]
    T, velocity = motion["pose"][0], motion["twist"][source]
    result = twists.convert_wrench_series(given, velocity[:ORDER], T, source, target)
    assert_close(result, expected, ulps=32, scale=magnitude(*motion["wrench"].values()))
    longer = twists.convert_wrench_series(given, velocity, T, source, target)
    np.testing.assert_array_equal(longer, result)


@pytest.mark.parametrize("source", NAMES)
def test_pose_series_match_an_analytic_motion_to_order_eleven(motion, source):
    result = twists.pose_series(motion["pose"][0], motion["twist"][source], source)
    scale = np.abs(motion["pose"]).max(axis=(-1, -2), keepdims=True)
    assert_close(result, motion["pose"], ulps=32, scale=scale)


@pytest.mark.parametrize("seed", [0, 1])
def test_pose_derivatives_of_a_constant_body_twist_are_powers_of_its_matrix(seed):
    rng = np.random.default_rng(seed)
    T, x = random_pose(rng), rng.normal(size=6)
    series = np.zeros((8, 6))
    series[0] = x
    result = twists.pose_series(T, series)
    expected = np.array([T @ np.linalg.matrix_power(lie.hat(x), k) for k in range(9)])
    assert_close(result, expected, scale=np.abs(expected).max(axis=(-1, -2), keepdims=True) * 8)


def test_pose_series_obey_leibniz_rule_on_the_spatial_twist():
    rng = np.random.default_rng(2)
    T, V = random_pose(rng), rng.normal(size=(6, 6))
    C = twists.pose_series(T, V, "spatial")
    for r in range(1, 7):  # Ali 2026, Remark 1
        terms = [math.comb(r - 1, k) * lie.hat(V[k]) @ C[r - 1 - k] for k in range(r)]
        assert_close(C[r], sum(terms), ulps=32, scale=np.abs(terms).max())


def leibniz(a, b):
    """Bound the derivatives of a product by those of its factors, order on the last axis."""
    orders = range(b.shape[-1])
    terms = [[math.comb(k, i) * a[..., i] * b[..., k - i] for i in range(k + 1)] for k in orders]
    return np.stack([sum(row) for row in terms], axis=-1)


@every_pair
@pytest.mark.parametrize("orders", [1, 2, 6, 31])
def test_conversions_round_trip(source, target, orders):
    rng = np.random.default_rng(orders)
    T, x, w = random_pose(rng, 4), random_series(rng, orders, 4), random_series(rng, orders, 4)
    new_x = twists.convert_series(x, T, source, target)
    new_w = twists.convert_wrench_series(w, x, T, source, target)
    back_x = twists.convert_series(new_x, T, target, source)
    back_w = twists.convert_wrench_series(new_w, new_x, T, target, source)
    pose = np.abs(twists.pose_series(T, x, source)).max(axis=(-1, -2))
    for old, new, back in ((x, new_x, back_x), (w, new_w, back_w)):
        products = leibniz(pose, leibniz(pose, magnitude(old, new)[..., 0]))  # R or R^T and p
        assert_close(back, old, scale=products[..., None])
        if source != target:
            assert np.abs(new - old).max() > 0.1


@every_pair
def test_power_and_its_derivatives_are_the_same_in_every_representation(source, target):
    def power(x, w):
        binomials = [[math.comb(k, i) for i in range(k + 1)] for k in range(orders)]
        return np.array(
            [
                sum(b * (w[i] @ x[k - i]) for i, b in enumerate(row))
                for k, row in enumerate(binomials)
            ]
        )

    orders = 31
    rng = np.random.default_rng(3)
    T, x, w = random_pose(rng), random_series(rng, orders), random_series(rng, orders)
    new_x = twists.convert_series(x, T, source, target)
    new_w = twists.convert_wrench_series(w, x, T, source, target)
    bound = np.maximum(power(np.abs(x), np.abs(w)), power(np.abs(new_x), np.abs(new_w)))
    assert_close(power(new_x, new_w), power(x, w), ulps=64, scale=bound)


@every_pair
def test_lower_orders_do_not_depend_on_higher_ones(source, target):
    rng = np.random.default_rng(4)
    T, x = random_pose(rng), random_series(rng, 9)
    full = twists.convert_series(x, T, source, target)
    assert_close(
        twists.convert_series(x[:4], T, source, target), full[:4], scale=np.abs(full).max()
    )


# Single twists, wrenches and accelerations


@every_pair
def test_convert_is_order_zero_and_matrix_is_its_linear_map(source, target):
    rng = np.random.default_rng(5)
    T, x, w = random_pose(rng, 3), rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    result = twists.convert(x, T, source, target)
    M = twists.matrix(T, source, target)
    assert_close((M @ x[..., None])[..., 0], result, scale=8)
    assert_close(M @ twists.matrix(T, target, source), np.broadcast_to(np.eye(6), M.shape), scale=8)
    assert_close(result, twists.convert_series(x[:, None], T, source, target)[:, 0], scale=8)
    dual = np.swapaxes(twists.matrix(T, target, source), -1, -2)
    assert_close(
        twists.convert_wrench(w, T, source, target), (dual @ w[..., None])[..., 0], scale=8
    )


def test_definitions_of_the_representations():
    rng = np.random.default_rng(6)
    T, x = random_pose(rng), rng.normal(size=6)
    R, p = T[:3, :3], T[:3, 3]
    spatial = twists.convert(x, T, "body", "spatial")
    assert_close(spatial, lie.Ad(T) @ x, scale=8)
    assert_close(twists.matrix(T, "body", "spatial"), lie.Ad(T), scale=8)
    assert_close(twists.convert(x, T, "body", "hybrid"), np.r_[R @ x[:3], R @ x[3:]], scale=8)
    assert_close(twists.convert(x, T, "body", "mixed"), np.r_[x[:3], R @ x[3:]], scale=8)
    # The spatial linear velocity is that of the body's point at the world's origin.
    origin = twists.convert(x, T, "body", "hybrid")[3:] + np.cross(R @ x[:3], -p)
    assert_close(spatial[3:], origin, scale=8)


@pytest.mark.parametrize("name", NAMES)
def test_converting_to_the_same_representation_changes_nothing(name):
    rng = np.random.default_rng(7)
    T, x = random_pose(rng), rng.normal(size=(3, 6))
    np.testing.assert_array_equal(twists.matrix(T, name, name), np.eye(6))
    assert_close(twists.convert_series(x, T, name, name), x, ulps=1, scale=np.abs(x))


def test_components_in_the_same_axes_are_copied_exactly():
    rng = np.random.default_rng(8)
    T, x = random_pose(rng), rng.normal(size=6)
    for source, target in (("body", "mixed"), ("spatial", "hybrid")):
        np.testing.assert_array_equal(twists.convert(x, T, source, target)[:3], x[:3])
    np.testing.assert_array_equal(twists.convert(x, T, "hybrid", "mixed")[3:], x[3:])


@every_pair
def test_accelerations_are_order_one(motion, source, target):
    given, expected = motion["twist"][source], motion["twist"][target]
    T = motion["pose"][0]
    result = twists.convert_acceleration(given[1], given[0], T, source, target)
    assert_close(result, expected[1], ulps=32, scale=np.abs(given[:2]).max())


def test_acceleration_of_the_body_in_closed_form():
    rng = np.random.default_rng(9)
    T, x, a = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    R, w, v = T[:3, :3], x[:3], x[3:]
    hybrid = twists.convert_acceleration(a, x, T, "body", "hybrid")
    assert_close(hybrid, np.r_[R @ a[:3], R @ (a[3:] + np.cross(w, v))], scale=8)
    spatial = twists.convert_acceleration(a, x, T, "body", "spatial")
    assert_close(spatial, lie.Ad(T) @ a, scale=16)  # no bracket term: [x, x] = 0


def test_complex_steps_through_conversions_are_exact():
    h = 1e-100
    rng = np.random.default_rng(10)
    T, x, d = random_pose(rng), rng.normal(size=6), rng.normal(size=6)
    moved = T @ lie.exp(1j * h * d)
    rate = twists.convert(x, moved, "body", "spatial").imag / h
    assert_close(rate, lie.Ad(T) @ lie.ad(d) @ x, scale=16)
    rate = twists.convert_wrench(x, moved, "spatial", "body").imag / h
    assert_close(rate, lie.ad(d).T @ lie.Ad(T).T @ x, scale=16)


# Batches and errors


@every_pair
def test_batch_axes_broadcast(source, target):
    rng = np.random.default_rng(11)
    x, w = rng.normal(size=(5, 1, 4, 6)), rng.normal(size=(4, 6))
    T = random_pose(rng, 3)
    result = twists.convert_series(x, T, source, target)
    loads = twists.convert_wrench_series(w, x, T, source, target)
    poses = twists.pose_series(T, x, source)
    assert result.shape == loads.shape == (5, 3, 4, 6)
    assert poses.shape == (5, 3, 5, 4, 4)
    for i, j in np.ndindex(5, 3):
        single = twists.convert_series(x[i, 0], T[j], source, target)
        assert_close(result[i, j], single, scale=magnitude(single) + 10)
        single = twists.convert_wrench_series(w, x[i, 0], T[j], source, target)
        assert_close(loads[i, j], single, scale=magnitude(single) + 10)
        single = twists.pose_series(T[j], x[i, 0], source)
        assert_close(poses[i, j], single, scale=np.abs(single).max())
    x, a = rng.normal(size=(2, 6)), rng.normal(size=6)
    assert twists.convert_acceleration(a, x, T[0], source, target).shape == (2, 6)


@every_pair
def test_empty_batches_stay_empty(source, target):
    T, x = np.zeros((0, 4, 4)), np.zeros((0, 6))
    assert twists.convert(x, T, source, target).shape == (0, 6)
    assert twists.convert_wrench(x, T, source, target).shape == (0, 6)
    assert twists.matrix(T, source, target).shape == (0, 6, 6)
    assert twists.convert_series(np.zeros((2, 0, 3, 6)), T, source, target).shape == (2, 0, 3, 6)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("LOCAL_WORLD_ALIGNED", "hybrid"),
        ("LOCAL", "body"),
        ("WORLD", "spatial"),
        ("ReferenceFrame.WORLD", "spatial"),
        ("MIXED", "hybrid"),
        ("INERTIAL_FIXED", "spatial"),
        ("BODY_FIXED", "body"),
    ],
)
def test_names_of_other_libraries_are_refused_with_ours(name, ours):
    called = name.rpartition(".")[2]
    with pytest.raises(ValueError, match=f"^target: .*{called} is called '{ours}' here"):
        twists.matrix(np.eye(4), "body", name)


@pytest.mark.parametrize("name", ["Body", "", None, 3, ["body"]])
def test_unknown_representations_list_the_known_ones(name):
    with pytest.raises(ValueError, match=r"^source: .*'body', 'spatial', 'hybrid', 'mixed'"):
        twists.convert(np.zeros(6), np.eye(4), name, "body")


@pytest.mark.parametrize("large", [1e200, 1e308])
def test_results_that_no_double_can_hold_are_an_error(large):
    T = lie.exp([0.3, -0.2, 0.5, 1.0, 2.0, 3.0])
    series = np.full((3, 6), large)
    calls = [
        lambda: twists.convert_series(series, T, "body", "spatial"),
        lambda: twists.convert_acceleration(series[1], series[0], T, "body", "hybrid"),
        lambda: twists.convert_wrench_series(series, series, T, "body", "hybrid"),
        lambda: twists.pose_series(T, series),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="is not finite"):
            call()
    far = np.array(T)
    far[:3, 3] = large
    with pytest.raises(ValueError, match="is not finite"):
        twists.convert_wrench(series[0], far, "body", "spatial")
    fine = twists.convert(series[0] * 1e-2, T, "body", "hybrid")  # large, but finite
    assert np.isfinite(fine).all()


def test_wrong_arguments_are_named():
    T, x = np.eye(4), np.zeros(6)
    cases = {
        r"^x must have shape \(\.\.\., 6\), got \(5,\)": lambda: twists.convert(
            x[:5], T, *NAMES[:2]
        ),
        r"^T must have shape \(\.\.\., 4, 4\)": lambda: twists.convert(x, np.eye(3), *NAMES[:2]),
        "^T must be .*last row": lambda: twists.convert(x, np.ones((4, 4)), *NAMES[:2]),
        "^x must be finite": lambda: twists.convert(x + np.nan, T, *NAMES[:2]),
        "^T must be finite": lambda: twists.convert(x, T * np.nan, *NAMES[:2]),
        "^series must .*1 to 171 orders": lambda: twists.convert_series(x, T, *NAMES[:2]),
        "^twists must .*2 to 171 orders": lambda: twists.convert_wrench_series(
            np.zeros((3, 6)), np.zeros((1, 6)), T, *NAMES[:2]
        ),
        r"^batch axes .*series \(2,\), T \(3,\)": lambda: twists.convert_series(
            np.zeros((2, 1, 6)), np.broadcast_to(T, (3, 4, 4)), *NAMES[:2]
        ),
    }
    for message, call in cases.items():
        with pytest.raises(ValueError, match=message):
            call()


# Other libraries


def test_pinocchio_names_mean_what_the_table_says():
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(12)
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    data = model.createData()
    T, x = random_pose(rng), rng.normal(size=6)
    q = np.r_[T[:3, 3], lie.matrix_to_quat(T[:3, :3])]
    pin.forwardKinematics(model, data, q, np.r_[x[3:], x[:3]])
    for name, frame in (
        ("body", pin.ReferenceFrame.LOCAL),
        ("spatial", pin.ReferenceFrame.WORLD),
        ("hybrid", pin.ReferenceFrame.LOCAL_WORLD_ALIGNED),
    ):
        theirs = pin.getVelocity(model, data, joint, frame)
        ours = twists.convert(x, T, "body", name)
        assert_close(ours, np.r_[theirs.angular, theirs.linear], scale=8)
        with pytest.raises(ValueError, match=f"called '{name}' here"):
            twists.convert(x, T, frame, "body")


def test_mujoco_free_joint_velocity_is_mixed():
    mujoco = pytest.importorskip("mujoco")
    xml = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(13)
    T, x = random_pose(rng), rng.normal(size=6)
    q = lie.matrix_to_quat(T[:3, :3])
    data.qpos[:] = np.r_[T[:3, 3], q[3], q[:3]]
    data.qvel[:] = np.r_[x[3:], x[:3]]
    mujoco.mj_forward(model, data)
    theirs = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, theirs, 0)
    assert_close(twists.convert(x, T, "mixed", "hybrid"), theirs, scale=16)
