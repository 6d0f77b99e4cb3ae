"""Curves on SE(3): twists against the pose in high precision, waypoints, smoothness."""

import math
import pickle

import mpmath
import numpy as np
import pytest
from trajectory_oracle import (
    EPS,
    assert_series_close,
    derivatives,
    exponential,
    matrix,
    size_of_orders,
    taylor_step,
    translation,
)

from jounce import lie, twists
from jounce import trajectories as tr

ORDER = 10
TIMES = np.array([0.0, 0.3, 1.1])
REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")
RNG = np.random.default_rng(0)
T0, T1 = lie.exp(RNG.normal(size=6)), lie.exp(RNG.normal(size=6))
SCREWS = RNG.normal(size=(3, 6))
WAYPOINTS = lie.exp(RNG.normal(size=(7, 6)))
SCALARS = tr.stack(
    tr.Sinusoid(0.5, 2.0), tr.Polynomial([0.5, -1, 0.25]), tr.Sinusoid(1.0, 1.0, 2.0)
)
AXIS = np.array([1.0, 2.0, -2.0])


def mp_scalars(t):
    return mpmath.sin(2 * t) / 2, 0.5 - t + t**2 / 4, mpmath.sin(t + 2)


def mp_screws(origin, screws, scalars):
    T = matrix(origin)
    for X, s in zip(screws, scalars, strict=True):
        T = T @ exponential(matrix(X) * s)
    return T


def about(i, angle):
    return exponential(np.roll([angle, *[mpmath.mpf(0)] * 2], i).tolist() + [mpmath.mpf(0)] * 3)


def mp_circle(t):
    phase, yaw = 2 * mpmath.pi * t / 20, mpmath.sin(2 * mpmath.pi * t / 30) * mpmath.pi * 25 / 180
    return translation([mpmath.cos(phase), mpmath.sin(phase), mpmath.mpf(0)]) @ about(2, yaw)


def quintic(t, duration=2):
    u = t / duration
    return 10 * u**3 - 15 * u**4 + 6 * u**5


# name: (curve, its pose in mpmath)
CURVES = {
    "product of exponentials": (
        tr.ProductOfExponentials(T0, SCREWS, SCALARS),
        lambda t: mp_screws(T0, SCREWS, mp_scalars(t)),
    ),
    "axis and angle": (
        tr.axis_angle(AXIS, tr.Sinusoid(2.0, 1.5)),
        lambda t: exponential(
            [*(matrix(AXIS) / 3 * 2 * mpmath.sin(1.5 * t)), *[mpmath.mpf(0)] * 3]
        ),
    ),
    "roll, pitch, yaw": (
        tr.roll_pitch_yaw(SCALARS),
        lambda t: (
            about(2, mp_scalars(t)[2]) @ about(1, mp_scalars(t)[1]) @ about(0, mp_scalars(t)[0])
        ),
    ),
    "position and rotation": (
        tr.position_and_rotation(SCALARS[[2, 0, 1]], tr.axis_angle((0, 1, 0), SCALARS[0])),
        lambda t: translation([mp_scalars(t)[i] for i in (2, 0, 1)]) @ about(1, mp_scalars(t)[0]),
    ),
    "products with constants": (
        T0 @ tr.roll_pitch_yaw(SCALARS) @ T1 @ tr.Translation(SCALARS) @ T0[:3, :3],
        lambda t: (
            matrix(T0)
            @ about(2, mp_scalars(t)[2])
            @ about(1, mp_scalars(t)[1])
            @ about(0, mp_scalars(t)[0])
            @ matrix(T1)
            @ translation(list(mp_scalars(t)))
            @ matrix(np.block([[T0[:3, :3], np.zeros((3, 1))], [np.zeros(3), 1]]))
        ),
    ),
    "geodesic": (
        tr.geodesic(T0, T1, 2.0),
        lambda t: mp_screws(T0, [lie.log(lie.inverse(T0) @ T1)], [quintic(t)]),
    ),
    "retimed": (
        tr.ProductOfExponentials(T0, SCREWS, SCALARS).retimed(tr.Sinusoid(1.0, 0.5, 0.25)),
        lambda t: mp_screws(T0, SCREWS, mp_scalars(mpmath.sin(t / 2 + 0.25))),
    ),
    "circle with yaw": (tr.circle_with_yaw(), mp_circle),
}
every_curve = pytest.mark.parametrize("name", CURVES)


def leibniz_scale(series):
    """Bound the rounding of the derivatives of a product of poses by products of their sizes."""
    size = size_of_orders(series, 1)[0, :, 0, 0]
    orders = range(len(size))
    return np.array(
        [sum(math.comb(k, i) * size[i] * size[k - i] for i in range(k + 1)) for k in orders]
    )


@pytest.fixture(scope="module", params=CURVES)
def reference(request):
    """A curve, and the derivatives of its pose to order 11 at a few times in high precision."""
    curve, pose = CURVES[request.param]
    return curve, np.array([derivatives(pose, t, ORDER + 1) for t in TIMES])


@pytest.mark.parametrize("twist", REPRESENTATIONS)
def test_twist_series_to_order_ten_reproduce_the_derivatives_of_the_pose(reference, twist):
    curve, expected = reference
    series = curve.twist_series(TIMES, ORDER, twist)
    assert series.shape == (3, ORDER + 1, 6)
    result = twists.pose_series(curve.pose(TIMES), series, twist)
    assert_series_close(result, expected, 8, leibniz_scale(expected)[:, None, None])


def test_twists_are_those_of_their_definition(reference):
    curve, expected = reference
    T, dT = expected[:, 0], expected[:, 1]
    scale = np.abs(dT).max() * np.abs(T).max() ** 2
    body = lie.vee(lie.inverse(T) @ dT)
    assert_series_close(curve.twist_series(TIMES, 0)[:, 0], body, 64, scale)
    spatial = lie.vee(dT @ lie.inverse(T))
    assert_series_close(curve.twist_series(TIMES, 0, "spatial")[:, 0], spatial, 64, scale)
    hybrid = curve.twist_series(TIMES, ORDER, "hybrid")[..., 3:]
    orders = leibniz_scale(expected)[1:, None]
    assert_series_close(hybrid, expected[:, 1:, :3, 3], 8, orders)


@every_curve
def test_taylor_steps_of_order_thirty_of_the_body_twist_lead_along_the_curve(name):
    curve = CURVES[name][0]
    t, h = 0.8, 0.125
    series = twists.pose_series(curve.pose(t), curve.twist_series(t, 30))
    terms = np.abs(series).max(axis=(1, 2)) * h ** np.arange(32)
    scale = sum(terms / [float(math.factorial(k)) for k in range(32)])
    assert_series_close(taylor_step(series, h), curve.pose(t + h), 128, scale)


@every_curve
def test_times_are_batched(name):
    curve = CURVES[name][0]
    t = np.linspace(0, 1.2, 6).reshape(2, 3)
    T, x = curve.pose(t), curve.twist_series(t, 4, "spatial")
    assert T.shape == (2, 3, 4, 4)
    assert x.shape == (2, 3, 5, 6)
    assert_series_close(T[1, 0], curve.pose(t[1, 0]), 8, np.abs(T).max())
    scale = np.abs(x).max(axis=(0, 1))
    assert_series_close(
        x[1, 0], curve.twist_series(t[1, 0], 4, "spatial"), 64, scale.max(axis=1)[:, None]
    )
    assert curve.twist_series(np.zeros((0, 3)), 2, "hybrid").shape == (0, 3, 3, 6)


@every_curve
def test_coordinates_are_a_continuous_quaternion_and_the_position(name):
    curve = CURVES[name][0]
    t = np.linspace(0, 1.2, 200)
    x, T = curve.coordinates(t), curve.pose(t)
    assert_series_close(np.linalg.norm(x[:, :4], axis=1), np.ones(200), 8)
    assert_series_close(lie.quat_to_matrix(x[:, :4]), T[:, :3, :3], 8)
    np.testing.assert_array_equal(x[:, 4:], T[:, :3, 3])
    assert np.abs(np.diff(x[:, :4], axis=0)).max() < 0.1


def test_quaternions_do_not_jump_after_half_a_turn():
    turn = tr.axis_angle((0, 0, 1), tr.Polynomial([0, 1]))
    t = np.linspace(0, 4 * np.pi, 500)
    expected = np.zeros((500, 7))
    expected[:, 2], expected[:, 3] = np.sin(t / 2), np.cos(t / 2)
    assert_series_close(turn.coordinates(t), expected, 8)


def test_factors_that_rest_for_an_instant_still_accelerate_the_product():
    law = tr.Polynomial([0, 0, 1])  # at rest at t = 0
    turn = tr.axis_angle((0, 0, 1), tr.Sinusoid(1.0, 1.0))
    series = (tr.Translation(tr.stack(law, 0, 0)) @ turn).twist_series(0.0, 2)
    # v = R^T (2t, 0, 0) with the angle t: dv/dt = (2, 0, 0), d2v/dt2 = -2 w x (2, 0, 0).
    np.testing.assert_array_equal(series[:, 3:], [[0, 0, 0], [2, 0, 0], [0, -4, 0]])


# Interpolation


@pytest.mark.parametrize("law", [2.0, tr.HalfCosine(0, 1, 2.0), tr.Polynomial([0, 0.5])])
def test_geodesics_join_their_ends_by_a_screw_motion(law):
    curve = tr.geodesic(T0, T1, law)
    assert_series_close(curve.pose([0.0, 2.0]), np.array([T0, T1]), 32, 4)
    half = T0 @ lie.exp(lie.log(lie.inverse(T0) @ T1) / 2)
    assert_series_close(curve.pose(1.0), half, 32, 4)
    spatial = curve.twist_series(np.linspace(0.2, 1.8, 5), 0, "spatial")[:, 0]
    screw = lie.Ad(T0) @ lie.log(lie.inverse(T0) @ T1)
    rate = np.linalg.norm(spatial, axis=1, keepdims=True) / np.linalg.norm(screw)
    assert_series_close(spatial, rate * screw, 64, np.abs(spatial).max())


@pytest.mark.parametrize("ends", ["rest", "free"])
@pytest.mark.parametrize("degree", [1, 3, 5])
def test_interpolation_passes_through_its_poses(degree, ends):
    times = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 4.0, 5.5])
    curve = tr.interpolate_poses(times, WAYPOINTS, degree, ends)
    assert curve.interval == (0.0, 5.5)
    # Rounding of the scalar splines, whose coefficients may be large, enters through each screw.
    scale = np.abs(curve.scalars.control_points).max() * np.abs(curve.screws).sum()
    assert_series_close(curve.pose(times), WAYPOINTS, 32, scale * np.abs(WAYPOINTS).max())
    if ends == "rest" and degree > 1:
        assert np.abs(curve.twist_series(times[[0, -1]], 0)).max() <= 1e4 * EPS


@pytest.mark.parametrize("make", ["interpolate", "blend"])
@pytest.mark.parametrize("degree", [3, 5])
def test_splines_on_the_group_have_degree_minus_one_continuous_derivatives(make, degree):
    if make == "blend":
        curve = tr.blend_poses(WAYPOINTS, 6.0, degree)
    else:
        curve = tr.interpolate_poses(np.arange(7.0), WAYPOINTS, degree)
    joins = np.unique(curve.scalars.knots)[1:-1]

    def pose_series(t):
        return twists.pose_series(curve.pose(t), curve.twist_series(t, degree - 1))

    left, right = pose_series(np.nextafter(joins, 0)), pose_series(joins)
    jump = np.abs(left - right).max(axis=(0, 2, 3))
    orders = np.abs(twists.pose_series(curve.pose(joins), curve.twist_series(joins, degree)))
    scale = orders.max(axis=(0, 2, 3)) * 6
    assert (jump[:degree] <= 512 * EPS * (scale[:degree] + scale[1 : degree + 1])).all()
    assert jump[degree] > 0.1  # and not one more


def test_blending_starts_and_ends_at_its_control_poses_and_stays_local():
    curve = tr.blend_poses(WAYPOINTS, 3.0, 3, start=1.0)
    assert_series_close(curve.pose([1.0, 4.0]), WAYPOINTS[[0, -1]], 64, 4)
    moved = WAYPOINTS.copy()
    moved[6] = T0  # acts on the last span only
    other = tr.blend_poses(moved, 3.0, 3, start=1.0)
    t = np.linspace(1.0, 3.2, 9)
    assert_series_close(other.pose(t), curve.pose(t), 64, 4)
    assert np.abs(other.pose(3.9) - curve.pose(3.9)).max() > 1e-3


def test_interpolation_moves_with_its_poses():
    times = np.arange(7.0)
    t = np.linspace(0, 6, 11)
    curve, moved = (tr.interpolate_poses(times, T) for T in (WAYPOINTS, T0 @ WAYPOINTS))
    assert_series_close(moved.pose(t), T0 @ curve.pose(t), 1024, np.abs(WAYPOINTS).max())
    x, y = curve.twist_series(t, 3), moved.twist_series(t, 3)
    assert_series_close(y, x, 1024, size_of_orders(x, 1))


def test_interpolation_of_translations_is_the_spline_of_the_positions():
    times, t = np.arange(7.0), np.linspace(0, 6, 11)
    poses = np.tile(T0, (7, 1, 1))
    poses[:, :3, 3] = WAYPOINTS[:, :3, 3]
    curve = tr.interpolate_poses(times, poses)
    spline = tr.BSpline.through(times, WAYPOINTS[:, :3, 3])
    assert_series_close(curve.pose(t)[:, :3, 3], spline(t), 256, 4)
    expected = spline.series(t, 5)[:, 1:]
    hybrid = curve.twist_series(t, 4, "hybrid")
    assert_series_close(hybrid[..., 3:], expected, 256, size_of_orders(expected, 1))
    assert_series_close(hybrid[..., :3], np.zeros((11, 5, 3)), 256, size_of_orders(expected, 1))


def test_rotations_are_interpolated_without_displacement():
    R = WAYPOINTS[:, :3, :3]
    curve = tr.interpolate_poses(np.arange(7.0), R)
    T = curve.pose(np.linspace(0, 6, 20))
    np.testing.assert_array_equal(T[:, :3, 3], 0)
    assert_series_close(curve.pose(np.arange(7.0))[:, :3, :3], R, 256)


def test_pose_curves_hold_refuse_or_continue_as_their_scalars_do():
    times = np.arange(7.0)
    with pytest.raises(ValueError, match="from 0 to 6, got 7"):
        tr.interpolate_poses(times, WAYPOINTS).pose(7.0)
    held = tr.interpolate_poses(times, WAYPOINTS, extend="hold")
    assert_series_close(held.pose(7.0), WAYPOINTS[-1], 64, 4)
    np.testing.assert_array_equal(held.twist_series(7.0, 3), 0)


# Objects and errors


@every_curve
def test_pose_curves_are_immutable_and_can_be_pickled(name):
    curve = CURVES[name][0]
    with pytest.raises(AttributeError, match="immutable"):
        curve.interval = (0, 1)
    copy = pickle.loads(pickle.dumps(curve))
    np.testing.assert_array_equal(copy.twist_series(0.3, 4), curve.twist_series(0.3, 4))
    assert repr(copy) == repr(curve)


def test_reprs_show_the_factors():
    text = repr(tr.Translation([1, 2, 3]) @ tr.axis_angle((0, 0, 2), tr.Sinusoid(1, 2)))
    assert text.startswith("Translation(position=Constant(value=[1., 2., 3.])) @ ProductOf")
    assert "screws=[[0., 0., 1., 0., 0., 0.]], scalars=Sinusoid(amplitude=[1.]" in text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tr.axis_angle((0, 0, 0), 1.0), "axis: expected a direction"),
        (lambda: tr.axis_angle((0, 1), 1.0), "axis: expected a direction"),
        (lambda: tr.axis_angle((0, 0, 1), tr.Constant([1, 2])), "angle: .*size 1, got size 2"),
        (lambda: tr.roll_pitch_yaw([1, 2]), "angles: .*size 3, got size 2"),
        (lambda: tr.Translation(tr.Constant(1.0)), "position: .*size 3, got size 1"),
        (lambda: tr.Translation(tr.circle_with_yaw()), "position: expected a curve in R"),
        (lambda: tr.geodesic(np.eye(4), 2 * np.eye(4), 1.0), "^final: .*orthonormal"),
        (lambda: tr.geodesic(np.eye(5), np.eye(4), 1.0), r"initial: .*\(4, 4\) or \(3, 3\)"),
        (lambda: tr.geodesic(np.eye(4), np.eye(4), -1.0), "law: expected a positive number"),
        (lambda: tr.geodesic(np.eye(4), np.eye(4), tr.Constant([1, 2])), "law: .*got size 2"),
        (lambda: tr.interpolate_poses([0, 1], np.eye(4)), r"poses: .*\(n, 4, 4\)"),
        (lambda: tr.interpolate_poses([0, 1], WAYPOINTS), "poses: expected one per time, .* got 7"),
        (
            lambda: tr.interpolate_poses([0], np.eye(4)[None]),
            "poses: expected one per time, at least 2",
        ),
        (lambda: tr.blend_poses(WAYPOINTS, 1.0, 9), "at least 10 points for degree 9"),
        (lambda: tr.circle_with_yaw() @ np.eye(2), r"right factor: .*\(4, 4\)"),
        (lambda: tr.circle_with_yaw() @ tr.Constant(1), "right factor: expected a pose curve"),
        (lambda: tr.circle_with_yaw().retimed(tr.Constant([1, 2])), "law: .*size 1"),
        (lambda: tr.circle_with_yaw().twist_series(0.0, 1, "LOCAL"), "^twist: .*is called 'body'"),
        (lambda: tr.ProductOfExponentials(np.eye(4), [1, 2, 3], SCALARS), r"screws: .*\(n, 6\)"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
