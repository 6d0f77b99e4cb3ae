"""Where a rod points at the joints, or a cam is flat: the row vanishes but for rounding.

Geometry tells where that is. No force can move the joints there, so that the robot is as free as
without the row.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import jounce as jc
from jounce.constraints.dynamics import _local

COUNT = 50
RNG = np.random.default_rng(3)
ALONG = np.array([0.36, 0.48, 0.8])  # the links' direction, in the axes of each joint
BODY = {"mass": 1.3, "com": (0.1, 0.2, 0.15), "inertia": np.diag([0.02, 0.03, 0.025])}
BASE = np.array([0.3, -0.7, 0.4])
FOLDED, BENT = np.array([0.0, 0.0, np.pi]), np.array([0.0, 1.0, 0.0])


def turned(axis, angle):
    return Rotation.from_rotvec(np.asarray(axis) * angle).as_matrix()


def posed(R, p):
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = R, p
    return pose


def arm():
    """Three hinges across the links, which are in line where the last two are at zero."""
    build = jc.ModelBuilder()
    across = np.cross(ALONG, [1.0, 0.0, 0.0])
    across /= np.linalg.norm(across)
    other = np.cross(ALONG, across)
    parent, pose = None, posed(turned((0.3, 0.5, -0.2), 1.0), BASE)
    for k, axis in enumerate((across, other, across)):
        build.add_body(f"b{k}", parent, "revolute", pose, axis=axis, **BODY)
        parent, pose = f"b{k}", posed(np.eye(3), 0.37 * ALONG)
    build.add_frame("tip", "b2", posed(turned((1.0, 0.0, 0.0), 0.4), 0.21 * ALONG))
    build.add_frame("back", "b0", posed(turned((0.0, 1.0, 0.0), 0.8), -0.13 * ALONG))
    return build.build()


ARM = arm()


def wheel():
    """A ball on a fork whose hinge passes through the point where the ball touches the plane."""
    build = jc.ModelBuilder()
    tilt = turned((0.6, -0.1, 0.4), 1.0)
    build.add_body("fork", None, "revolute", posed(tilt, BASE), axis=(0, 1, 0), **BODY)
    build.add_frame("center", "fork", posed(turned((0.0, 1.0, 0.0), 0.3), (0.0, 0.0, 0.31)))
    return build.build(), tilt[:, 2]


def stretched(count=COUNT):
    q = np.zeros((count, 3))
    q[:, 0] = np.linspace(-3.0, 3.0, count)
    return q


def flat(coefficients, root, count=COUNT):
    """States of the arm where the slope of a cam of joint 1 vanishes."""
    slope = np.polynomial.Polynomial(
        np.arange(1, 5) * np.pad(coefficients, (0, 4 - len(coefficients)))
    )
    q = RNG.uniform(-1.0, 1.0, (count, 3))
    q[:, 1] = sorted(slope.roots().real)[root]
    return q


CAM, ROUND = [0.3, -0.7, 0.2], [0.31, 0.0, -0.57, 0.0]
CASES = {
    "to the world": (jc.Distance("tip", anchor=BASE), stretched()),
    "of a body's origin to the world": (jc.Distance("b2", anchor=BASE), stretched()),
    "folded": (jc.Distance("tip", anchor=BASE), stretched() + FOLDED),
    "between bodies": (jc.Distance("b2", "b0"), stretched()),
    "between frames": (jc.Distance("tip", "back"), RNG.permutation(stretched())),
    "a cam": (jc.Coupling({"b1_joint": CAM}), flat(CAM, 0)),
    "a cam at its other end": (jc.Coupling({"b1_joint": CAM}), flat(CAM, -1)),
    "a cam of odd powers": (jc.Coupling({"b1_joint": ROUND}), flat(ROUND, -1)),
}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    item, q = CASES[request.param]
    return jc.Constraints(ARM, [item]), q


def rates(q):
    return RNG.standard_normal((*q.shape[:-1], ARM.nv))


def close(found, expected, relative=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=relative * np.abs(expected).max())


def test_some_rows_are_rounding_and_not_zero():
    """Else the tests here would show nothing."""
    for name, (item, q) in CASES.items():
        J = jc.Constraints(ARM, [item]).jacobian(q)
        assert np.abs(J).max() < 1e-14, name
        assert np.abs(J).max() > 0, name


def test_the_rank_is_zero_there_and_one_nearby(case):
    c, q = case
    assert (c.rank(q) == 0).all()
    assert [int(c.rank(x)) for x in q[:9]] == [0] * 9  # alone, several rows go at once
    assert not c.regular(q).any()
    assert (c.rank(q + 1e-4 * BENT) == 1).all()


def test_the_robot_is_as_free_as_without_the_row(case):
    c, q = case
    v, tau = rates(q), rates(q)
    free = jc.forward_dynamics(ARM, q, v, tau)
    found = jc.constrained_dynamics(ARM, q, v, tau, c)
    close(found.a, free)
    assert not found.force.any()
    alone = [jc.constrained_dynamics(ARM, *x, c) for x in zip(q, v, tau, strict=True)]
    close([x.a for x in alone], free)
    close(jc.constrained_dynamics_series(ARM, q[0], v[0], tau[:1], c).a[0], free[0])
    close(jc.impulse(ARM, q, v, c).v, v)
    close(jc.project_velocity(ARM, q, v, c), v)


def test_loops_that_are_eliminated_where_their_frames_meet():
    for name in ("to the world", "between bodies", "between frames"):
        c, q = jc.Constraints(ARM, [CASES[name][0]]), CASES[name][1]
        v, tau = rates(q), rates(q)
        found = _local(ARM, q, v, tau, c._accelerations, c.table, None)
        assert (found.rank == 0).all(), name
        close(found.a, jc.forward_dynamics(ARM, q, v, tau))


def test_derivatives_are_those_of_the_free_robot(case):
    c, q = case
    v, tau = rates(q), rates(q)
    d = jc.constrained_dynamics_derivatives(ARM, q, v, tau, c)
    free = jc.forward_dynamics_derivatives(ARM, q, v, tau)
    for found, expected in zip((d.a_dq, d.a_dv, d.a_dtau), free, strict=True):
        close(found, expected)
    assert not d.force_dtau.any()
    series = jc.constrained_dynamics_series_derivatives(ARM, q[0], v[0], tau[:1], c)
    for found, expected in zip((series.a_dq, series.a_dv, series.a_dtau), free, strict=True):
        close(found[0].reshape(expected[0].shape), expected[0], 1e-11)
    assert np.abs(series.force_dq).max() < 1e-30


def test_actuators_do_all_the_work(case):
    c, q = jc.Constraints(ARM, case[0].items, tolerance=10.0), case[1]
    v, a = np.zeros(ARM.nv), np.zeros(ARM.nv)
    found = jc.constrained_inverse_dynamics(ARM, q, v, a, c, actuated=np.ones(ARM.nv, bool))
    close(found.tau, jc.inverse_dynamics(ARM, q, v, a))
    assert not found.force.any()


def test_at_rest_all_directions_are_tangent(case):
    c, q = jc.Constraints(ARM, case[0].items, tolerance=10.0), case[1]  # cams have an offset
    still = np.zeros(ARM.nv)
    found, free = (
        jc.linearize(ARM, q, still, still, constraints=c),
        jc.linearize(ARM, q, still, still),
    )
    assert found.Z.shape == (COUNT, 6, 6)
    close(found.A, free.A)
    close(found.B, free.B)
    one = jc.linearize(ARM, q[0], still, still, constraints=c)
    assert one.A_min.shape == (6, 6)
    bent = q[:1] + 0.1 * BENT
    assert jc.linearize(ARM, bent, still, still, constraints=c).Z.shape == (1, 6, 4)


def test_a_ball_that_touches_the_plane_at_its_hinge():
    model, normal = wheel()
    c = jc.Constraints(model, [jc.Rolling("center", radius=0.31, normal=normal, point=BASE)])
    q = np.zeros(1)
    assert 0 < np.abs(c.jacobian(q)).max() < 1e-15
    assert c.rank(q) == 0
    assert c.rank([0.01]) == 1
    close(
        jc.constrained_dynamics(model, q, [1.0], [0.5], c).a,
        jc.forward_dynamics(model, q, [1.0], [0.5]),
    )


def test_points_and_welds_of_a_planar_arm_in_line_with_an_axis():
    build = jc.ModelBuilder()
    build.add_body("b0", None, "revolute", axis=(0, 0, 1), **BODY)
    build.add_body("b1", "b0", "revolute", (0.37, 0, 0), axis=(0, 0, 1), **BODY)
    build.add_frame("tip", "b1", (0.21, 0, 0))
    planar = build.build()
    for angle in (0.0, np.pi / 2, np.pi, -np.pi / 2):
        q = np.array([angle, 0.0])
        for item, rank in ((jc.Point("tip"), 1), (jc.Weld("tip"), 2)):
            c = jc.Constraints(planar, [item])
            assert c.rank(q) == rank
            assert jc.constrained_dynamics(planar, q, q, q, c).rank == rank


def test_an_empty_batch_has_the_dimensions_of_dependent_rows():
    robot = jc.models.aerial_manipulator()
    c = jc.Constraints(robot, [jc.Weld("B4"), jc.Point("B4")])
    q, v = jc.random_configuration(robot, RNG, 2), np.zeros((2, robot.nv))
    some = jc.linearize(robot, q, v, v, constraints=c)
    none = jc.linearize(robot, q[:0], v[:0], v[:0], constraints=c)
    for found, expected in zip(none, some, strict=True):
        assert found.shape == (0, *expected.shape[1:])
