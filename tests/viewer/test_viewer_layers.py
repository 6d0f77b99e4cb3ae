"""Layers of the viewer are physics: arrows add up to weights, momenta and velocities."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce.viewer import layers
from jounce.viewer.meshes import inertia_ellipsoid

SCALES = layers.Scales(1e-3, 1e-2)


def state(model, q, v=None, a=None, *, wrenches=None, constraints=None, tau=None):
    zero = np.zeros(model.nv)
    v, a = (zero if x is None else x for x in (v, a))
    return layers.State(model, q, v, a, SCALES, 1.0, wrenches or {}, constraints, tau)


def vectors(arrows, color):
    """Vectors of the arrows of a color."""
    some = (arrows.colors == np.array(color)).all(axis=1)
    return arrows.points[some, 1] - arrows.points[some, 0]


def moving(model, seed=0):
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng)
    return q, rng.standard_normal(model.nv), rng.standard_normal(model.nv)


@pytest.fixture(params=["tree", "humanoid"])
def model(request):
    return jc.models.random_tree(12, 3) if request.param == "tree" else jc.models.humanoid()


def test_an_inertia_ellipsoid_has_the_inertia(model):
    """I = m / 5 diag(b^2 + c^2, ...) of a solid ellipsoid, turned and moved to its place."""
    for parameters in model.inertias:
        pose, (a, b, c) = inertia_ellipsoid(parameters)
        own = np.diag([b * b + c * c, c * c + a * a, a * a + b * b]) / 5 * parameters[0]
        ten = jc.inertia.from_com(parameters[0], np.zeros(3), own)
        back = jc.inertia.transform(ten, pose)
        np.testing.assert_allclose(back, parameters, atol=1e-13 * parameters[0] + 1e-15)
        assert np.linalg.det(pose) == pytest.approx(1)


def test_a_massless_body_has_a_dot():
    pose, radii = inertia_ellipsoid(np.zeros(10))
    assert np.array_equal(pose, np.eye(4))
    assert (radii < 0.01).all()


def test_velocities_weighted_by_masses_are_the_momentum(model):
    q, v, _ = moving(model)
    arrows = layers.layer_arrows("twists", state(model, q, v))
    linear = vectors(arrows, layers.LINEAR) / SCALES.velocity
    expected = jc.centroidal_momentum(model, q, v)[3:]
    np.testing.assert_allclose(model.inertias[:, 0] @ linear, expected, rtol=1e-10, atol=1e-10)


def test_angular_velocities_are_those_in_the_world(model):
    q, v, _ = moving(model)
    arrows = layers.layer_arrows("twists", state(model, q, v))
    angular = vectors(arrows, layers.ANGULAR) / SCALES.velocity
    expected = jc.body_twists(model, q, v, "hybrid")[:, :3]
    expected = expected[np.linalg.norm(expected, axis=1) > 1e-6]
    np.testing.assert_allclose(angular, expected, rtol=1e-10, atol=1e-10)


def test_momentum_over_mass_is_the_velocity_of_the_center(model):
    q, v, _ = moving(model)
    arrows = layers.layer_arrows("momentum", state(model, q, v))
    velocity = jc.center_of_mass_jacobian(model, q) @ v
    linear = vectors(arrows, layers.MOMENTUM) / SCALES.velocity
    np.testing.assert_allclose(linear, velocity[None], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(arrows.points[0, 0], jc.center_of_mass(model, q))


def test_the_joint_of_a_base_carries_the_weight():
    model = jc.models.humanoid()
    arrows = layers.layer_arrows("joint wrenches", state(model, model.poses["standing"]))
    force = vectors(arrows, layers.FORCE)[0] / SCALES.force
    np.testing.assert_allclose(force, [0, 0, 9.81 * 70], atol=1e-9)


def test_a_push_is_drawn_where_it_acts_and_felt_in_the_joints():
    arm = jc.models.panda_like()
    q = arm.poses["home"]
    push = {"tool": np.array([0, 0, 2.0, 30.0, 0, 0])}
    given = layers.layer_arrows("wrenches", state(arm, q, wrenches=push))
    np.testing.assert_allclose(given.points[:, 0], [jc.body_pose(arm, q, "tool")[:3, 3]] * 2)
    np.testing.assert_allclose(vectors(given, layers.FORCE)[0] / SCALES.force, [30, 0, 0])
    np.testing.assert_allclose(vectors(given, layers.MOMENT)[0] / SCALES.force, [0, 0, 2])
    first = [
        vectors(layers.layer_arrows("joint wrenches", state(arm, q, wrenches=w)), layers.FORCE)[0]
        for w in ({}, push)
    ]
    np.testing.assert_allclose((first[1] - first[0]) / SCALES.force, [-30, 0, 0], atol=1e-9)


FEET = [f"{end}_{side}_foot" for end in ("front", "rear") for side in ("left", "right")]


@pytest.mark.parametrize(
    "items",
    [
        [jc.Point(foot) for foot in FEET],
        [jc.Weld(foot) for foot in FEET[:3]],
        [jc.Loop(foot, None, free=("rx", "ry", "rz")) for foot in FEET],
        [jc.Rolling(foot, 0.02) for foot in FEET],
        [jc.Rolling(foot, 0.02, axis=(0, 1, 0)) for foot in FEET],
    ],
    ids=["points", "welds", "loops", "balls", "wheels"],
)
def test_forces_at_the_feet_carry_the_weight(items):
    model = jc.models.quadruped()
    q = model.poses["standing"]
    c = jc.Constraints(model, items)
    arrows = layers.layer_arrows("constraint forces", state(model, q, constraints=c))
    force = vectors(arrows, layers.CONSTRAINT).sum(axis=0) / SCALES.force
    np.testing.assert_allclose(force, [0, 0, 14 * 9.81], atol=1e-8)
    moments = np.cross(arrows.points[:, 0], arrows.points[:, 1] - arrows.points[:, 0])
    about = moments[(arrows.colors == np.array(layers.CONSTRAINT)).all(axis=1)].sum(axis=0)
    about = about + vectors(arrows, layers.MOMENT).sum(axis=0)
    weight = np.cross(jc.center_of_mass(model, q), [0, 0, 14 * 9.81])
    np.testing.assert_allclose(about / SCALES.force, weight, atol=1e-8)


def test_forces_under_given_torques_are_those_of_constrained_dynamics():
    model = jc.models.quadruped()
    q, tau = model.poses["standing"], np.linspace(-3, 3, model.nv)
    c = jc.Constraints(model, [jc.Point(foot) for foot in FEET])
    drawn = layers.layer_arrows("constraint forces", state(model, q, constraints=c, tau=tau))
    force = jc.constrained_dynamics(model, q, np.zeros(model.nv), tau, c).force
    got = vectors(drawn, layers.CONSTRAINT).ravel() / SCALES.force
    np.testing.assert_allclose(got, force, rtol=1e-9, atol=1e-9)


def test_a_rod_pulls_along_itself():
    builder = jc.ModelBuilder()
    builder.add_body("ball", joint="free", mass=2.0, inertia=(0.01, 0.01, 0.01))
    model = builder.build()
    q = np.array([0, 0, 0, 1, 0.3, 0, -0.4])
    c = jc.Constraints(model, [jc.Distance("ball")])
    zero = np.zeros(6)
    drawn = layers.layer_arrows("constraint forces", state(model, q, tau=zero, constraints=c))
    (force,) = vectors(drawn, layers.CONSTRAINT) / SCALES.force
    along = np.array([-0.6, 0, 0.8])
    np.testing.assert_allclose(force, 2 * 9.81 * 0.8 * along, atol=1e-10)


def test_points_of_a_screw_axis_stay_where_they_are():
    model = jc.models.random_tree(9, 1, joints=("revolute", "universal"))
    q = jc.random_configuration(model, 0)
    arrows = layers.layer_arrows("screw axes", state(model, q))
    assert len(arrows.points) == model.nv
    k = 0
    for joint in model.joints:
        body = next(b for b in model.bodies if joint in b.joints)
        moved = q.copy()
        at = model.q_slice(joint.name)
        moved[at.stop - 1] += 0.7  # the last axis is fixed in the body
        before, after = (jc.body_pose(model, x, body.name) for x in (q, moved))
        k += at.stop - at.start
        for point in arrows.points[k - 1]:
            own = np.linalg.solve(before, [*point, 1.0])
            np.testing.assert_allclose((after @ own)[:3], point, atol=1e-12)


def test_nothing_is_drawn_of_nothing():
    model = jc.models.quadruped()
    still = state(model, model.poses["standing"])
    for name in ("twists", "momentum", "wrenches", "constraint forces"):
        assert len(layers.layer_arrows(name, still).points) == 0
    with pytest.raises(jc.ArgumentError, match="unknown layer 'twist'; there are screw axes, tw"):
        layers.layer_arrows("twist", still)
