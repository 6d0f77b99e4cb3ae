"""What a tampered pickle brings is checked like any other input, and copies hold what defines."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce.model.coupled import CoupledModel
from jounce.model.joints import Elementary, elementary_joints
from jounce.model.nodes import Frame
from jounce.model.shapes import Box, Mesh, Sphere, Visual

TOOLS = Path(__file__).resolve().parents[1] / "tools"
MODEL = jc.models.chain(7)
Q = np.full(7, 0.3)
NAN = float("nan")
HUGE = 10**400
MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[1, 0, 0])


class Pickled:
    """Pickled as a call and a state."""

    def __init__(self, function, arguments, state=None):
        self.made = function, tuple(arguments), state

    def __reduce__(self):
        return self.made


def loaded(thing):
    return pickle.loads(pickle.dumps(thing))


def pickled_model(model=MODEL, state=None, **changes):
    """A model as a pickle brings it, of other arguments."""
    kind, made_of = model.__reduce__()
    parts = dict(zip(inspect.signature(kind).parameters, made_of, strict=True))
    assert changes.keys() <= parts.keys()
    return loaded(Pickled(kind, {**parts, **changes}.values(), state))


def with_joint(joint, model=MODEL):
    """A model as a pickle brings it, with another joint of body 3."""
    bodies = list(model.bodies)
    bodies[3] = bodies[3]._replace(joints=(joint,))
    return pickled_model(model, bodies=tuple(bodies))


def raw(thing, **changes):
    """A joint or shape as older pickles have it, with all that it keeps, and changes."""
    if isinstance(thing, jc.Joint):
        elementary_joints(thing)
        assert "_elements" in vars(thing)
    return Pickled(object.__new__, (type(thing),), {**vars(thing), **changes})


def in_memory(joint, **changes):
    """A joint that somebody changed where it keeps its values."""
    joint = copy.copy(joint)
    elementary_joints(joint)
    vars(joint).update(changes)
    return joint


WAYS = {"state": raw, "in memory": in_memory}
JOINT = MODEL.bodies[3].joints[0]
JOINT_FIELDS = {
    "an unknown type": ({"type": "foo"}, "joint 'joint3': unknown type 'foo', expected one of"),
    "no type": ({"type": None}, "unknown type|must have its fields"),
    "an array as type": ({"type": np.zeros(2)}, "unknown type"),
    "a zero axis": ({"axis": (0, 0, 0)}, "joint 'joint3': axis must not be zero"),
    "a long axis": ({"axis": (0.0, 0.0, 2.0)}, "joint 'joint3': an axis must be a unit vector"),
    "a long axis with integers": ({"axis": (0, 0, 2.0)}, "an axis must be a unit vector"),
    "a long axis as an array": ({"axis": np.array([0, 2, 0])}, "an axis must be a unit vector"),
    "a long second axis": ({"axis2": (0.0, 3.0, 0)}, "an axis must be a unit vector"),
    "a nan axis": ({"axis": (0.0, 0.0, NAN)}, "axis must be 3 finite numbers"),
    "a word as axis": ({"axis": "x"}, "axis must be 3 finite numbers"),
    "a word as second axis": ({"axis2": "x"}, "axis2 must be 3 finite numbers"),
    "a nan anchor": ({"anchor": NAN}, "joint 'joint3': anchor must be 3 finite numbers"),
    "nan in the anchor": ({"anchor": (0, 0, NAN)}, "anchor must be 3 finite numbers"),
    "a nan pitch": ({"pitch": NAN}, "joint 'joint3': pitch must be finite, got nan"),
    "a word as pitch": ({"pitch": "x"}, "pitch must be finite, got 'x'"),
    "a number as mimic": ({"mimic": 3}, "joint 'joint3': mimic must be a jounce.Mimic"),
    "mimic of no name": ({"mimic": jc.Mimic(3)}, "mimic must be a jounce.Mimic with the name"),
    "mimic by nan": ({"mimic": jc.Mimic("joint1", NAN)}, "mimic must have a finite multiplier"),
    "mimic by a word": ({"mimic": jc.Mimic("joint1", 1, "x")}, "a finite offset"),
    "mimic by too much": ({"mimic": jc.Mimic("joint1", HUGE)}, "mimic must have a finite"),
    "actuated as a word": ({"actuated": "x"}, "joint 'joint3': actuated must be True, False or"),
    "a number as name": ({"name": 3}, "a joint's name must be a string, got 3"),
    "half a character": ({"name": "\ud800"}, "names must be text that UTF-8 can hold"),
    "a word as limit": ({"lower": "1.5"}, "lower must be a number or 1 numbers, got '1.5'"),
    "complex": ({"damping": np.complex128(1j)}, "damping must be a number or 1 numbers"),
    "too large": ({"damping": HUGE}, "damping must be a number or 1 numbers"),
    "masked": ({"armature": MASKED[:1]}, "armature must be a number or 1 numbers"),
    "negative": ({"friction": -1.0}, "friction must not be negative"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", JOINT_FIELDS)
def test_fields_of_joints_are_checked(name, way):
    change, message = JOINT_FIELDS[name]
    with pytest.raises(jc.ModelError, match=message):
        with_joint(WAYS[way](JOINT, **change))


ELEMENT = Elementary(0, (0.0, 2.0, 0.0), (0.0, 0.0, 0.0))
ELEMENTS = {
    "long axis": (ELEMENT,),
    "kind 77": (ELEMENT._replace(kind=77),),
    "kind -1": (ELEMENT._replace(kind=-1),),
    "none": (),
    "a number": 3,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ELEMENTS)
def test_what_is_computed_of_a_joint_does_not_come_from_a_pickle(name, way):
    model = with_joint(WAYS[way](JOINT, _elements=ELEMENTS[name]))
    assert model == MODEL
    np.testing.assert_array_equal(jc.gravity_forces(model, Q), jc.gravity_forces(MODEL, Q))


@pytest.mark.parametrize("way", WAYS)
def test_another_type_is_another_joint(way):
    model = with_joint(WAYS[way](JOINT, type="prismatic"))
    bodies = list(MODEL.bodies)
    bodies[3] = bodies[3]._replace(joints=(jc.Joint("prismatic", JOINT.name, axis=JOINT.axis),))
    assert model == jc.Model(MODEL.name, MODEL.gravity, bodies)
    assert jc.gravity_forces(model, Q)[0] != jc.gravity_forces(MODEL, Q)[0]


@pytest.mark.parametrize(
    "state", [{"type": "free", "extra": 1}, {"name": "j"}, 3, (None, {"type": "free"})]
)
def test_a_joint_of_other_fields_is_refused(state):
    with pytest.raises(jc.ModelError, match="a pickled Joint must have its fields and no others"):
        loaded(Pickled(object.__new__, (jc.Joint,), state))


def test_a_joint_without_anything_is_refused():
    with pytest.raises(jc.ModelError, match="a joint's name must be a string, got None"):
        with_joint(Pickled(object.__new__, (jc.Joint,)))
    bodies = list(MODEL.bodies)
    bodies[3] = bodies[3]._replace(name=3, joints=(Pickled(object.__new__, (jc.Joint,)),))
    with pytest.raises(jc.ModelError, match="bodies with names, got a Body with a part that has"):
        pickled_model(bodies=tuple(bodies))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, loaded])
def test_copies_of_joints_are_built_by_their_fields(again, all_joints):
    mimic = jc.Mimic("lead", -1, 0.5)
    several = jc.Joint("planar", axis=(1, 2, 3), armature=(1, 2, 3), actuated=False, mimic=mimic)
    for joint in (*all_joints.joints, several, jc.Joint("no such type", 3)):
        twin = again(joint)
        assert twin == joint
        assert hash(twin) == hash(joint)
        assert "_elements" not in vars(twin)
        assert vars(twin).keys() == vars(joint).keys() - {"_elements"}
    assert elementary_joints(again(several)) == elementary_joints(several)


TOOL = Frame(1, np.eye(4))
MOVED = np.eye(4) + np.eye(4, k=3)
ARGUMENTS = {
    "name": [(3, "a robot's name must be a string, got 3"), ("\udfff", "UTF-8 can hold")],
    "gravity": [
        ("x", "gravity must be numbers"),
        ((1, 2), "gravity must have shape"),
        ((HUGE, 0, 0), "gravity must be numbers"),
        (MASKED, "gravity must have no masked entries"),
    ],
    "bodies": [
        (None, "bodies must be a list of bodies, got None"),
        (3, "bodies must be a list of bodies"),
        ("", "bodies must be a list of bodies"),
        (np.zeros(2), "bodies must be a list of bodies"),
        ([1], "made of bodies with names"),
    ],
    "frames": [
        ([], r"frames must be a mapping of names to frames, got \[\]"),
        ([TOOL], "frames must be a mapping"),
        ("x", "frames must be a mapping"),
        (np.zeros(2), "frames must be a mapping"),
        ({3: TOOL}, "a frame's name must be a string, got 3"),
        ({"\ud800": TOOL}, "names must be text"),
        ({"tool": 3}, "frame 'tool' must be fixed to a body"),
        ({"body2": TOOL}, "frame 'body2' has the name of a body, so it must be that of body 2"),
        ({"body1": Frame(1, MOVED)}, "frame 'body1' has the name of a body"),
    ],
    "visuals": [
        (None, "visuals must be a list of shapes, got None"),
        ("x", "visuals must be a list of shapes"),
        ([1], "visuals must be shapes .*got 1"),
        (np.array(3), "visuals must be a list of shapes"),
        ([Visual("tool", Sphere(0.1), np.eye(4))], "there is no frame 'tool'"),
        ([Pickled(object.__new__, (Visual,))], "visuals must be shapes"),
    ],
    "poses": [
        (3, "poses must be a mapping"),
        (np.zeros(2), "poses must be a mapping"),
        ([], "poses must be a mapping"),
        ({3: Q}, "a pose's name must be"),
        ({"home": [1]}, "pose 'home' must have shape"),
    ],
    "fixed_inertia": [
        (None, "fixed_inertia must be numbers"),
        ([-1.0] + [0.0] * 9, "'world': mass -1 is negative"),
        ([1e200] + [0.0] * 9, "'world': inertial parameters must be finite"),
    ],
    "constraints": [
        (None, "constraints must be a list of constraints, got None"),
        ("x", "constraints must be a list of constraints"),
        ([1], "constraints must be such as jounce.Weld, got 1"),
        ([jc.Weld], "constraints must be such as jounce.Weld"),
        ([jc.Weld("no such")], "unknown body or frame 'no such'"),
        ([jc.Weld(99)], "body index must be between 0 and 6"),
        ([jc.Weld(1.5)], "must be a name or an index"),
        ([jc.Coupling({"no such": 1.0})], "unknown joint 'no such'"),
        ([Pickled(object.__new__, (jc.Weld,))], "a Weld cannot be built of this"),
        ([raw(jc.Weld("body3"), target=np.zeros((4, 4)))], "target"),
        ([raw(jc.Point("body3"), motion="x")], "motion must be numbers"),
        ([raw(jc.Rolling("body3", 0.1), normal=(0, 0, 0))], "normal must not be zero"),
        ([raw(jc.Coupling({"joint1": 1.0}), coefficients=(1, 2))], "coefficients must be a dict"),
    ],
}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [(name, *case) for name, cases in ARGUMENTS.items() for case in cases],
    ids=lambda x: None if isinstance(x, Pickled) else ascii(x)[:25],
)
def test_arguments_of_models_are_checked(name, value, message):
    with pytest.raises(jc.Error, match=message):
        pickled_model(**{name: value})


CONSTRAINTS = {
    "Weld": (jc.Weld("body3"), {"target": np.zeros((4, 4))}, "target"),
    "Loop": (jc.Loop("body3", "body0", ("rz",)), {"free": ("rz", "w")}, "free"),
    "Point": (jc.Point("body3"), {"motion": "x"}, "motion must be numbers"),
    "Distance": (jc.Distance("body3"), {"target": -1.0}, "target must be a positive length"),
    "Coupling": (
        jc.Coupling({"joint1": 1.0}),
        {"coefficients": (1, 2)},
        "coefficients must be a dict",
    ),
    "Rolling": (
        jc.Rolling("body3", 1, (2, 1, 7)),
        {"normal": (0, 0, 0)},
        "normal must not be zero",
    ),
    "another field": (jc.Point("body3"), {"extra": 1}, "a pickled Point must have its fields"),
}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_alone_are_checked(name):
    good, changes, message = CONSTRAINTS[name]
    for twin in (loaded(good), copy.copy(good), copy.deepcopy(good)):
        assert twin == good
    with pytest.raises(jc.Error, match=message):
        loaded(raw(good, **changes))


BALL = Visual("body1", Sphere(0.1), np.eye(4), (1.0, 0.0, 0.0, 1.0), "ball")
SHAPES = {
    "frame": (3, "the frame and the name of a shape must be strings"),
    "name": (3, "the frame and the name of a shape must be strings"),
    "shape": ("x", "shape 'ball' on 'body1': expected a Box, Sphere"),
    "nan shape": (Sphere(NAN), "of finite sizes"),
    "short shape": (Box((1.0, 2.0)), "of finite sizes"),
    "ragged shape": (Box((1.0, 2.0, (1, 2))), "of finite sizes"),
    "mesh shape": (Mesh(3), "of finite sizes"),
    "placement": (np.eye(3), "placement must be 4x4 finite numbers"),
    "nan placement": (np.full((4, 4), NAN), "placement must be 4x4 finite numbers"),
    "word placement": ("x", "placement must be numbers"),
    "color": ("red", "color must be 4 numbers or None"),
    "collision": (3, "collision must be True or False"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_fields_of_shapes_are_checked(name):
    value, message = SHAPES[name]
    field = name.split()[-1]
    with pytest.raises(jc.Error, match=message):
        pickled_model(visuals=[raw(BALL, **{field: value})])
    with pytest.raises(jc.Error, match=message):
        Visual(**{**vars(BALL), field: value})
    with pytest.raises(jc.ModelError, match="a pickled Visual must have its fields"):
        pickled_model(visuals=[raw(BALL, extra=3)])


def test_what_was_not_tampered_with_is_the_same():
    held = (jc.Weld("body3"), jc.Coupling({"joint1": 1.0}), jc.Distance(4, "body0", target=0.3))
    mesh = Visual("tool", Mesh("a.stl", (1.0, 1.0, -1.0), Path("/")), MOVED)
    parts = {"frames": {"tool": TOOL, **MODEL.frames}, "visuals": [BALL, mesh]}
    model = pickled_model(**parts, constraints=held, poses={"home": Q})
    again = loaded(model)
    assert again == model
    assert again.constraints == held
    assert [vars(x).keys() for x in again.visuals] == [vars(BALL).keys()] * 2
    assert again.visuals[1].shape == mesh.shape
    np.testing.assert_array_equal(again.visuals[1].placement, MOVED)
    assert jc.ModelBuilder(again).build() == model


def test_negative_masses_and_masked_numbers_of_bodies_are_refused():
    bodies = list(MODEL.bodies)
    bodies[2] = bodies[2]._replace(parameters=-bodies[2].parameters)
    with pytest.raises(jc.ModelError, match="body 'body2': mass -1 is negative"):
        pickled_model(bodies=bodies)
    hidden = np.ma.array(np.eye(4), mask=np.eye(4) > 0)
    bodies[2] = MODEL.bodies[2]._replace(placement=hidden)
    with pytest.raises(jc.Error, match="'body2': placement must have no masked entries"):
        pickled_model(bodies=bodies)


def test_a_state_beside_what_defines_a_model_is_refused():
    with pytest.raises(jc.ModelError, match="a pickled model has no state of its own"):
        pickled_model(state={"gravity": np.ones(3)})


def test_only_a_model_can_be_coupled():
    for value in (None, 3, "x", MASKED):
        with pytest.raises(jc.ArgumentTypeError, match=r"model must be a jounce\.Model, got"):
            loaded(Pickled(CoupledModel, [value]))


def test_parameters_are_computed_of_the_model_again(all_joints):
    kinds = ("mass", "placement", "axis", "gravity", "log_cholesky", "armature")
    p = sum((jc.parameters(all_joints, k) for k in kinds[1:]), jc.parameters(all_joints, kinds[0]))
    p = p[::-2]
    state = {**vars(p), "_directions": 2 * p._directions, "values": p.values + 1}
    for twin in (loaded(p), copy.copy(p), loaded(Pickled(object.__new__, (type(p),), state))):
        assert twin.items == p.items
        np.testing.assert_array_equal(twin.values, p.values)
        np.testing.assert_array_equal(twin._directions, p._directions)
        np.testing.assert_array_equal(twin.inertial_directions(), p.inertial_directions())
    item = p.items[0]
    for wrong in (
        {"items": [item]},
        {"items": (3,)},
        {"items": (item, item)},
        {"items": (item._replace(component=99),)},
        {"items": (item._replace(kind="no such"),)},
        {"items": (item._replace(name=3),)},
        {"model": 3},
    ):
        with pytest.raises(jc.Error):
            loaded(Pickled(object.__new__, (type(p),), {**state, **wrong}))
    with pytest.raises(jc.Error, match="pickled Parameters have model and items"):
        loaded(Pickled(object.__new__, (type(p),), 3))
    none = jc.parameters(MODEL, "mass", [])
    assert len(loaded(none)) == 0
    assert loaded(none)._directions.shape == none._directions.shape


@pytest.mark.skipif(not TOOLS.is_dir(), reason="needs a checkout")
def test_changes_at_random_are_refused_or_make_no_difference(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import fuzz_calls

    maker, loads = fuzz_calls.Calls(), 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(400):
            maker.rng = np.random.default_rng([5, number])
            maker.fitting.begin(maker.rng)
            data = maker.pickles.model()
            try:
                if data is not None:
                    fuzz_calls.used(fuzz_calls.honest(pickle.loads(data)))
                    loads += 1
            except jc.Error:
                pass
    assert loads > 40
    for name in ("fuzz_calls", "fuzz_arguments", "fuzz_pickles"):
        sys.modules.pop(name)
