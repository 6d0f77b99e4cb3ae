"""Building a model in Python: order, fixed joints, frames, and everything it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jounce as jc
from jounce import lie

SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}


def test_bodies_may_come_in_any_order(state):
    bodies = {"a": None, "b": "a", "c": "a", "d": "b", "e": None}

    def build(order):
        builder = jc.ModelBuilder()
        for name in order:
            axis = (1, ord(name), 2)
            builder.add_body(name, bodies[name], "revolute", (0, 0, 1), axis=axis, **SOLID)
        return builder.build()

    model = build("abcde")
    assert model.body_names == ("a", "b", "d", "c", "e")
    assert model.joint_names == ("a_joint", "b_joint", "d_joint", "c_joint", "e_joint")
    assert model.parents.tolist() == [-1, 0, 1, 0, -1]
    assert build("dbaec").body_names == ("a", "b", "d", "c", "e")
    other = build("edcba")
    assert other.body_names == ("e", "a", "c", "b", "d")
    at = state(model)
    where = [model.joint_index(name) for name in other.joint_names]
    expected = jc.inverse_dynamics(model, at.q, at.v, at.a)[where]
    got = jc.inverse_dynamics(other, at.q[where], at.v[where], at.a[where])
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def from_points(masses, points):
    """Ten inertial parameters of point masses."""
    first = masses @ points
    second = np.einsum("k,ki,kj->ij", masses, points, points)
    inertia = np.trace(second) * np.eye(3) - second
    return [masses.sum(), *first, *inertia[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]]


def test_a_fixed_link_gives_its_inertia_to_its_parent(state):
    rng = np.random.default_rng(0)
    masses, points = rng.uniform(0.1, 1, (4, 5)), rng.standard_normal((4, 5, 3))
    arm, flange, tool, probe = (from_points(*x) for x in zip(masses, points, strict=True))
    at_flange, at_tool, at_probe = lie.exp(rng.standard_normal((3, 6)))
    builder = jc.ModelBuilder()
    builder.add_body("probe", "tool", "revolute", at_probe, axis=(0, 1, 1), parameters=probe)
    builder.add_body("tool", "flange", "fixed", at_tool, parameters=tool)
    builder.add_body("table", parameters=[50, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    builder.add_body("arm", "table", "revolute", axis=(1, 2, 3), parameters=arm)
    builder.add_body("flange", "arm", jc.Joint("fixed"), at_flange, parameters=flange)
    builder.add_frame("camera", "tool", (0, 0, 0.1))
    merged = builder.build()

    def moved(pose, points):
        return points @ pose[:3, :3].T + pose[:3, 3]

    all_points = [points[0], moved(at_flange, points[1]), moved(at_flange @ at_tool, points[2])]
    whole = from_points(np.concatenate(masses[:3]), np.concatenate(all_points))
    builder = jc.ModelBuilder()
    builder.add_body("arm", None, "revolute", axis=(1, 2, 3), parameters=whole)
    at = at_flange @ at_tool @ at_probe
    builder.add_body("probe", "arm", "revolute", at, axis=(0, 1, 1), parameters=probe)
    plain = builder.build()

    assert merged.body_names == ("arm", "probe")
    np.testing.assert_allclose(merged.inertias, plain.inertias, rtol=1e-13, atol=1e-13)
    x = state(plain, 9)
    for name, arguments in {
        "inverse_dynamics": (x.q, x.v, x.a),
        "forward_dynamics": (x.q, x.v, x.tau),
        "mass_matrix": (x.q,),
        "center_of_mass": (x.q,),
        "momentum": (x.q, x.v),
    }.items():
        got, expected = (getattr(jc, name)(m, *arguments) for m in (merged, plain))
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    # the merged links stay known as frames
    arm_pose = jc.body_pose(merged, x.q, "arm")
    np.testing.assert_allclose(jc.body_pose(merged, x.q, "tool"), arm_pose @ at_flange @ at_tool)
    lift = np.eye(4)
    lift[2, 3] = 0.1
    expected = arm_pose @ at_flange @ at_tool @ lift
    np.testing.assert_allclose(jc.body_pose(merged, x.q, "camera"), expected)
    np.testing.assert_array_equal(jc.body_pose(merged, x.q[0], "table"), np.eye(4))
    assert not jc.jacobian(merged, x.q, "table").any()
    assert merged.frame("tool").body == 0
    assert merged.frame("table").body == -1


def test_names_default_to_the_body_and_types_to_their_options():
    builder = jc.ModelBuilder(name="robot")
    builder.add_body("a", joint="revolute", axis=(0, 0, 5), lower=-1, upper=2, **SOLID)
    builder.add_body("b", "a", [jc.Joint("prismatic"), jc.Joint("revolute", "turn")], **SOLID)
    builder.add_body("c", "b", "free", joint_name="loose", **SOLID)
    model = builder.build()
    assert model.joint_names == ("a_joint", "b_joint0", "turn", "loose")
    assert model.lower[0] == -1
    assert model.upper[0] == 2
    np.testing.assert_array_equal(model.actuated, [True] * 3 + [False] * 6)


def test_a_rounded_rotation_is_made_orthogonal(state):
    exact = lie.exp(np.array([0.3, -0.5, 0.7, 1, 2, 3]))
    builder = jc.ModelBuilder()
    builder.add_body("b", None, "revolute", np.round(exact, 8), **SOLID)
    R = jc.body_pose(builder.build(), [0.0], "b")[:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), rtol=0, atol=1e-15)
    np.testing.assert_allclose(R, exact[:3, :3], rtol=0, atol=1e-8)


def rotation(*changes):
    T = np.eye(4)
    for at, value in changes:
        T[at] = value
    return T


BODIES = [
    ({"name": ""}, "name must be a non-empty string, got ''"),
    ({"name": 3}, "name must be a non-empty string, got 3"),
    ({"joint_name": 3}, "a joint's name must be a string, got 3"),
    ({"parent": "nobody"}, "body 'b': there is no parent named 'nobody'"),
    ({"parent": "A"}, "there is no parent named 'A'; did you mean 'a'?"),
    ({"parent": "world"}, "there is no parent named 'world'; the world is not a body, it is"),
    ({"parent": -1}, "there is no parent named -1; the world is not a body, it is referred to by"),
    ({"parent": "b"}, "body 'b' is part of a loop"),
    ({"placement": (1, 2)}, "must be a 4x4 pose or 3 numbers, got shape (2,)"),
    ({"placement": np.eye(3)}, "must be a 4x4 pose or 3 numbers, got shape (3, 3)"),
    ({"placement": (0, 0, np.nan)}, "must be finite"),
    ({"placement": rotation(((3, 0), 1))}, "with last row (0, 0, 0, 1)"),
    ({"placement": rotation(((0, 0), -1))}, "3x3 part is not a rotation"),
    ({"placement": rotation(((0, 0), 1.1))}, "3x3 part is not a rotation"),
    ({"placement": "here"}, "placement"),
    ({"mass": -1.0}, "mass -1 is negative"),
    ({"mass": np.nan}, "finite inertial parameters"),
    ({"mass": "heavy"}, "body 'b'"),
    ({"mass": (1, 2)}, "expected a number as mass"),
    ({"com": (0, 0)}, "3 numbers as com"),
    ({"com": (0, 0, np.inf)}, "finite inertial parameters"),
    ({"inertia": np.ones((2, 2))}, "a 3x3 inertia"),
    ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "inertia is not symmetric"),
    ({"parameters": np.zeros(9)}, "ten finite inertial parameters"),
    ({"parameters": [-1] + [0] * 9}, "mass -1 is negative"),
    ({"joint": "hinge"}, "unknown type 'hinge', expected one of fixed, revolute"),
    ({"joint": 3}, "body 'b'"),
    ({"joint": [jc.Joint("revolute"), "revolute"]}, "expected a Joint, got 'revolute'"),
    ({"joint": [jc.Joint("revolute"), jc.Joint("fixed")]}, "cannot be one of several joints"),
    ({"joint": jc.Joint("revolute"), "axis": (1, 0, 0)}, "['axis'] need a joint type by name"),
    ({"axs": (1, 0, 0)}, "body 'b': .*axs"),
    ({"axis": (0, 0, 0)}, "joint 'b_joint': axis must not be zero"),
    ({"axis": (1, 0)}, "axis must be 3 finite numbers, got (1.0, 0.0)"),
    ({"axis": (np.nan, 0, 0)}, "axis must be 3 finite numbers"),
    ({"axis": "x"}, "axis must be 3 finite numbers, got 'x'"),
    ({"anchor": (0, 0, np.inf)}, "anchor must be 3 finite numbers"),
    ({"joint": "helical", "pitch": np.inf}, "pitch must be finite, got inf"),
    ({"joint": "helical", "pitch": "steep"}, "pitch must be finite, got 'steep'"),
    ({"joint": "universal", "axis2": (0, 0, -2)}, "two axes of a universal joint coincide"),
    ({"armature": -1}, "joint 'b_joint': armature must not be negative, nan or infinite, got -1.0"),
    ({"armature": np.inf}, "armature must not be negative"),
    ({"damping": -0.1}, "damping must not be negative"),
    ({"friction": np.nan}, "friction must not be negative, nan"),
    ({"lower": np.nan}, "lower must not be"),
    ({"damping": np.inf}, "damping must not be negative, nan or infinite"),
    ({"lower": 2, "upper": 1}, "joint 'b_joint': the lower limit 2 is above the upper one, 1"),
    ({"mass": 1e300, "com": (1e300, 0, 0)}, "ten finite inertial parameters"),
    ({"armature": (1, 2)}, "armature must be a number or 1 numbers, got (1.0, 2.0)"),
    ({"armature": "big"}, "armature must be a number or 1 numbers, got 'big'"),
    ({"joint_name": "a_joint"}, "two joints are named 'a_joint'"),
]


@pytest.mark.parametrize(("change", "message"), BODIES, ids=lambda x: str(x)[:50])
def test_a_bad_body_is_refused_by_name(change, message):
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", **SOLID)
    arguments = {"name": "b", "joint": "revolute", **SOLID, **change}
    pattern = message if ".*" in message else re.escape(message)
    with pytest.raises(jc.ModelError, match=pattern):
        builder.add_body(**arguments).build()


def test_loops_and_doubles_are_refused():
    builder = jc.ModelBuilder()
    builder.add_body("a", "c", "revolute", **SOLID)
    builder.add_body("b", "a", "revolute", **SOLID)
    builder.add_body("c", "b", "revolute", **SOLID)
    with pytest.raises(jc.ModelError, match="body 'a' is part of a loop: the world is not its"):
        builder.build()
    with pytest.raises(jc.ModelError, match="two bodies or frames are named 'b'"):
        builder.add_body("b", joint="revolute")
    with pytest.raises(jc.ModelError, match="two bodies or frames are named 'b'"):
        builder.add_frame("b", "a")
    frames = jc.ModelBuilder().add_frame("f", "nobody")
    with pytest.raises(jc.ModelError, match="frame 'f': there is no body named 'nobody'"):
        frames.build()
    with pytest.raises(
        jc.ModelError, match=r"frame 'f': .* 'World'; the world is not a body, .*None"
    ):
        jc.ModelBuilder().add_frame("f", "World").build()
    with pytest.raises(jc.ModelError, match="frame 'g': placement must be"):
        frames.add_frame("g", None, np.zeros((4, 4, 4)))


@pytest.mark.parametrize("gravity", [(0, 0), 9.81, (0, 0, np.nan), "down"])
def test_a_bad_gravity_is_refused(gravity):
    with pytest.raises(ValueError, match="gravity"):
        jc.ModelBuilder(gravity=gravity).build()


@pytest.mark.parametrize("base", ["floating", None])
def test_families_refuse_what_they_do_not_know(base):
    with pytest.raises(ValueError, match=r"base must be one of 'fixed', .*'free', or"):
        jc.models.chain(3, base)
    for n in (0, -1, 2.0, True):
        with pytest.raises(ValueError, match="n must be an integer of at least 1"):
            jc.models.chain(n)


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_frame_needs_a_name(name):
    builder = jc.ModelBuilder().add_body("a", None, "free", mass=1)
    with pytest.raises(jc.ModelError, match="a frame's name must be a non-empty string"):
        builder.add_frame(name, "a")


def test_inertias_that_no_body_has_are_named_in_one_warning():
    builder = jc.ModelBuilder()
    builder.add_body("good", joint="revolute", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("flat", "good", joint="revolute", mass=1.0, inertia=(-1, 1, 1))
    builder.add_body("long", "good", joint="fixed", mass=1.0, inertia=(1, 1, 3))
    with pytest.warns(jc.ModelWarning, match=r"body 'flat': .*body 'long': ") as caught:
        model = builder.build()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert builder.build(warn=False) == model


BUILD_ERRORS = {
    "parent": lambda b: b.add_body("b", "nobody", "revolute"),
    "loop": lambda b: b.add_body("b", "b", "revolute"),
    "frame": lambda b: b.add_frame("f", "nobody"),
}


@pytest.mark.parametrize("kind", BUILD_ERRORS)
def test_what_is_known_only_in_the_end_points_at_the_line_that_was_wrong(kind):
    builder = jc.ModelBuilder().add_body("a", joint="revolute", **SOLID)
    BUILD_ERRORS[kind](builder)
    line = BUILD_ERRORS[kind].__code__.co_firstlineno
    with pytest.raises(jc.ModelError, match=re.escape(f"(added in {__file__}, line {line})")):
        builder.build()


AT_ONCE = [x for x in BODIES if "parent" not in x[0]]


@pytest.mark.parametrize(("change", "message"), AT_ONCE, ids=lambda x: str(x)[:50])
def test_what_is_known_at_once_is_refused_at_once(change, message):
    """All but a parent that does not exist; and the builder is as it was."""
    builder = jc.ModelBuilder()
    builder.add_body("a", joint="revolute", **SOLID)
    before = builder.build()
    pattern = message if ".*" in message else re.escape(message)
    with pytest.raises(jc.ModelError, match=pattern):
        builder.add_body(**{"name": "b", "joint": "revolute", **SOLID, **change})
    assert builder.build() == before


def test_a_bad_gravity_is_refused_at_once():
    with pytest.raises(jc.ArgumentError, match="gravity"):
        jc.ModelBuilder(gravity=(0, 0))


def test_messages_of_files_name_no_line_of_the_package():
    from jounce.model._links import added_at

    assert added_at((jc.__file__, 3)) == ""
    assert added_at(None) == ""
