"""Copies of a model: pickles, `replace`, and when two models are equal."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from test_model import ARRAYS

import jounce as jc
from jounce import inertia, lie
from jounce.model.shapes import Sphere, Visual

VALUES = ARRAYS[4:]


def same_results(first, second, state):
    at = state(first, 3)
    for call in (
        lambda model: jc.inverse_dynamics(model, at.q, at.v, at.a, at.f_ext),
        lambda model: jc.forward_dynamics(model, at.q, at.v, at.tau),
        lambda model: jc.body_poses(model, at.q),
    ):
        np.testing.assert_array_equal(call(first), call(second))
    return True


def test_pickles_and_copies_are_the_same_robot(robot, state):
    assert copy.copy(robot) is robot
    assert copy.deepcopy([robot])[0] is robot
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(robot, protocol))
        assert type(twin) is jc.Model
        assert same_results(robot, twin, state)
        assert repr(twin) == repr(robot)
        assert twin.joints == robot.joints
        assert set(twin.frames) == set(robot.frames)
        assert twin == robot
        assert hash(twin) == hash(robot)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(twin, name), getattr(robot, name))


def test_replace_changes_what_it_names_and_nothing_else(robot, state):
    at = state(robot, 3)
    assert same_results(robot, robot.replace(), state)
    weightless = robot.replace(gravity=(0, 0, 0))
    np.testing.assert_allclose(jc.gravity_forces(weightless, at.q), 0, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(jc.mass_matrix(weightless, at.q), jc.mass_matrix(robot, at.q))
    heavy = robot.replace(inertias=2 * robot.inertias)
    np.testing.assert_allclose(
        jc.mass_matrix(heavy.replace(armature=np.zeros(robot.nv)), at.q),
        2 * jc.mass_matrix(robot.replace(armature=np.zeros(robot.nv)), at.q),
        rtol=1e-12,
        atol=1e-12,
    )
    rotors = np.arange(robot.nv) / 10
    expected = jc.mass_matrix(robot, at.q) + np.diag(rotors - robot.armature)
    np.testing.assert_allclose(
        jc.mass_matrix(robot.replace(armature=rotors), at.q), expected, rtol=1e-12, atol=1e-12
    )
    for field in VALUES:
        size = len(getattr(robot, field))
        values = np.arange(size) + (0.5 if field in ("lower", "friction") else 1.0)
        other = robot.replace(**{field: values, **({"upper": values} if field == "lower" else {})})
        np.testing.assert_array_equal(getattr(other, field), values)
        unchanged = set(ARRAYS) - {field, "upper"}
        assert all(np.array_equal(getattr(other, x), getattr(robot, x)) for x in unchanged)
        assert same_results(robot if field != "armature" else other, other, state)
    driven = robot.replace(actuated=np.zeros(robot.nv, bool))
    assert not driven.actuated.any()
    assert same_results(robot, driven, state)


REPLACEMENTS = [
    ({"gravity": (0, 0)}, "gravity must have shape"),
    ({"gravity": (0, 0, np.nan)}, "gravity must be finite"),
    ({"inertias": np.zeros((3, 9))}, "inertias must have shape"),
    ({"armature": np.zeros(5)}, "armature must be one number or have shape"),
    ({"armature": -np.ones(12)}, "'root_joint': armature must not be negative"),
    ({"damping": "thick"}, "damping must be numbers, got 'thick'"),
    ({"damping": np.inf}, "'root_joint': damping must not be negative, nan or infinite, got inf"),
    ({"friction": -np.arange(12)}, "'root_joint': friction must not be negative.*got -1.0"),
    ({"lower": np.zeros(12)}, r"lower must be one number or have shape \(13,\), got \(12,\)"),
    ({"lower": 2.0, "upper": 1.0}, "'root_joint': the lower limit 2 is above the upper one, 1"),
    ({"upper": np.nan}, "'root_joint': upper must not be nan"),
    ({"velocity_limit": -1}, "'root_joint': velocity_limit must not be negative or nan"),
    ({"effort_limit": np.ones((12, 1))}, "effort_limit must be one number or have shape"),
    ({"inertias": -np.ones((7, 10))}, "body 'B1': mass -1 is negative"),
    ({"actuated": np.ones(12)}, "actuated must be a bool array"),
    ({"actuated": np.arange(12) > 3}, "all True or all False for joint 'root_joint'"),
]


@pytest.mark.parametrize(("change", "message"), REPLACEMENTS, ids=lambda x: str(x)[:40])
def test_replace_refuses_what_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        jc.models.aerial_manipulator().replace(**change)


def test_joints_agree_with_what_was_replaced(all_joints):
    rng = np.random.default_rng(0)
    values = {field: rng.uniform(size=len(getattr(all_joints, field))) for field in VALUES}
    values["lower"] -= 2.0
    other = all_joints.replace(**values, actuated=np.zeros(all_joints.nv, bool))
    for k, joint in enumerate(other.joints):
        for field, value in values.items():
            slices = all_joints.q_slice if field in ("lower", "upper") else all_joints.v_slice
            np.testing.assert_array_equal(getattr(joint, field), value[slices(k)])
        assert joint.actuated is False
    assert pickle.loads(pickle.dumps(other)) == other
    for name in ARRAYS:
        assert not getattr(other, name).flags.writeable
    back = other.replace(**{field: getattr(all_joints, field) for field in VALUES})
    assert back != all_joints  # the mask is still another
    assert back.replace(actuated=all_joints.actuated) == all_joints


def test_one_number_counts_for_all_joints(robot):
    other = robot.replace(damping=0.3, lower=-1, upper=np.inf)
    np.testing.assert_array_equal(other.damping, np.full(robot.nv, 0.3))
    np.testing.assert_array_equal(other.lower, np.full(robot.nq, -1.0))
    v = np.ones(robot.nv)
    q = jc.neutral(robot)
    expected = jc.passive_forces(robot.replace(damping=0), q, v) - 0.3
    np.testing.assert_allclose(jc.passive_forces(other, q, v), expected, rtol=0, atol=1e-15)


def test_replace_takes_little_of_the_work_of_building(count_calls):
    """A new gravity and new inertias take as many steps for any robot."""
    small, large = jc.models.tree(100), jc.models.tree(1000)
    build = count_calls(lambda: jc.models.tree(1000))
    for change in ({"damping": 0.1}, {"inertias": 2 * large.inertias}):
        assert count_calls(lambda change=change: large.replace(**change)) < build / 8
    first, second = (count_calls(lambda m=m: m.replace(gravity=(0, 0, 0))) for m in (small, large))
    assert first == second
    first, second = (
        count_calls(lambda m=m, i=2 * m.inertias: m.replace(inertias=i)) for m in (small, large)
    )
    assert first == second < 80


def variants(model):
    """Models that differ from the given one in one thing each."""
    yield "gravity", model.replace(gravity=(0, 0, -9.8))
    yield "inertia", model.replace(inertias=model.inertias * (1 + 1e-15))
    yield "armature", model.replace(armature=model.armature + 0.1)
    yield "damping", model.replace(damping=0.25)
    yield "limits", model.replace(upper=1e9)
    yield "actuated", model.replace(actuated=~model.actuated)
    yield "name", jc.Model("other", model.gravity, model.bodies, model.frames)
    bodies = list(model.bodies)
    renamed = [bodies[0]._replace(name="renamed"), *bodies[1:]]
    frames = {name: f for name, f in model.frames.items() if name != bodies[0].name}
    yield "body", jc.Model(model.name, model.gravity, renamed, frames)
    moved = bodies[-1].placement @ lie.exp(np.array([0, 0, 0, 0, 0, 1e-3]))
    moved = [*bodies[:-1], bodies[-1]._replace(placement=moved)]
    yield "placement", jc.Model(model.name, model.gravity, moved, model.frames)
    more = {**model.frames, "tip": jc.Frame(0, np.eye(4))}
    yield "frame", jc.Model(model.name, model.gravity, bodies, more)


def test_models_are_equal_if_every_name_and_number_is(robot):
    ball = Visual(robot.body_names[0], Sphere(0.1), np.eye(4))
    same = jc.Model(robot.name, robot.gravity, robot.bodies, robot.frames, [ball])
    assert same == robot
    assert hash(same) == hash(robot)
    assert robot.replace() == robot
    assert {same: 1}[robot] == 1
    for name, other in variants(robot):
        assert other != robot, name
    assert robot != "robot"
    assert robot not in (None, 3, robot.name)


def test_models_that_were_built_alike_are_equal():
    assert jc.models.mixed_tree(3) == jc.models.mixed_tree(3)
    assert jc.models.mixed_tree(3) != jc.models.mixed_tree(4)
    turn = [jc.Joint(kind, "j") for kind in ("revolute", "continuous")]
    first, second = (jc.ModelBuilder().add_body("b", joint=j, mass=1.0).build() for j in turn)
    assert first != second


def test_replace_warns_once_of_inertias_that_no_body_has():
    model = jc.models.tree(5)
    inertias = model.inertias.copy()
    inertias[1, 4] = inertias[3, 4] = -1.0
    with pytest.warns(jc.ModelWarning) as caught:
        model.replace(inertias=inertias)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.startswith(f"body {model.body_names[1]!r}: inertia is not positive semidef")
    assert f"body {model.body_names[3]!r}: " in message
    assert caught[0].filename == __file__


def test_many_inertias_are_judged_as_one_by_one():
    rng = np.random.default_rng(0)
    rows = np.concatenate([jc.models.random_tree(20, 1).inertias, rng.uniform(-1, 3, (200, 10))])
    rows[:, 1:4] *= 0.1
    rows[30] = 0.0
    rows[31, 0] = 0.0
    rows[32, 5] = np.nan
    one_by_one = {k: why for k, row in enumerate(rows) if (why := inertia.violation(row))}
    assert inertia.violations(rows) == one_by_one
    assert 100 < len(one_by_one) < 200
    assert inertia.violations(np.zeros((0, 10))) == {}
