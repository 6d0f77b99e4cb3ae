"""Nobody can write to the arrays that a model hands out, whatever flags are set."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import pickle
from collections.abc import Mapping

import numpy as np
import pytest

import jounce as jc
from jounce.model.model import Model
from jounce.model.nodes import IDENTITY, Body, Frame, frozen
from jounce.model.shapes import Sphere, Visual

URDF = """<robot name="r"><link name="a"/><link name="b">
<inertial><origin xyz="0 0 1"/><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0"
 izz="1"/></inertial><visual><origin xyz="1 2 3"/><geometry><sphere radius="1"/></geometry></visual>
</link><joint name="j" type="continuous"><parent link="a"/><child link="b"/><origin xyz="0 1 0"/>
<axis xyz="0 0 1"/></joint></robot>"""

SOLID = {"mass": 1.0, "inertia": (1.0, 1.0, 1.0)}


def built():
    builder = jc.ModelBuilder().add_body("a", joint="free", **SOLID)
    builder.add_body("b", "a", "universal", np.eye(4), axis2=(0, 1, 0), **SOLID)
    builder.add_body("c", "b", "fixed", (1, 2, 3), **SOLID)
    builder.add_frame("tip", "c", (0.5, 0, 0))
    builder.add_visuals([Visual("tip", Sphere(1.0), np.eye(4))])
    return builder.build()


def with_mimic():
    builder = jc.ModelBuilder().add_body("a", joint="revolute", **SOLID)
    return builder.add_body(
        "b", "a", jc.Joint("revolute", mimic=jc.Mimic("a_joint", 2.0)), **SOLID
    ).build()


def replaced():
    arm = jc.models.panda_like()
    placements = np.array([body.placement for body in arm.bodies])
    return arm.replace(
        gravity=(0, 0, -1),
        inertias=arm.inertias + 0.0,
        placements=placements,
        damping=1.0,
        springref=0.1,
        actuated=np.ones(7, bool),
        poses={"zero": np.zeros(7)},
    )


def by_hand():
    """Arrays of the caller, of all kinds: writable ones, and views that are not, of such."""
    placement, parameters, gravity = np.eye(4), np.zeros(10), np.array([0.0, 0.0, -9.81])
    parameters[[0, 4, 7, 9]] = 1.0
    view = placement[:]
    view.setflags(write=False)
    owned = placement.copy()
    owned.setflags(write=False)
    joint = jc.Joint("revolute", "j")
    bodies = [Body("a", -1, view, (joint,), parameters)]
    frames = {"tip": Frame(0, view), "top": Frame(0, owned)}
    visuals = [Visual("tip", Sphere(1.0), owned)]
    return Model("m", gravity, bodies, frames, visuals, {"zero": np.zeros(1)}, np.zeros(10))


MODELS = {
    "built": built,
    "panda": jc.models.panda_like,
    "humanoid": jc.models.humanoid,
    "replaced": replaced,
    "by hand": by_hand,
    "file": lambda: jc.load_urdf(URDF),
    "coupled": lambda: with_mimic().coupled(),
    "locked": lambda: jc.models.panda_like().lock({"joint7": 0.3}),
    "attached": lambda: jc.models.panda_like().attach(built(), "tool", prefix="x_"),
    "one pickle later": lambda: pickle.loads(pickle.dumps(built())),
    "an old pickle later": lambda: pickle.loads(pickle.dumps(built(), 2)),
    "copied": lambda: copy.deepcopy(built()),
}


def arrays_in(thing, where="model", seen=None):
    """All arrays that a model, and what it holds, hands out, by their places."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, (str, bytes, type)):
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield where, thing
        yield from arrays_in(thing.base, f"{where}.base", seen)
    elif isinstance(thing, Mapping):
        for key, value in thing.items():
            yield from arrays_in(value, f"{where}[{key!r}]", seen)
    elif isinstance(thing, (tuple, list)):
        for k, value in enumerate(thing):
            yield from arrays_in(value, f"{where}[{k}]", seen)
    elif isinstance(thing, Model) or dataclasses.is_dataclass(thing):
        shown = {name for name in dir(thing) if not name.startswith("_")}
        for name in sorted(shown.union(vars(thing))):
            with contextlib.suppress(jc.ModelError):  # what a coupled one does not have
                value = getattr(thing, name)
                if value is getattr(thing, name) and not callable(value):  # not made anew
                    yield from arrays_in(value, f"{where}.{name}", seen)


@pytest.mark.parametrize("name", MODELS)
def test_the_arrays_of_a_model_cannot_be_made_writable(name):
    model = MODELS[name]()
    found = list(arrays_in(model))
    assert len(found) > 20
    for where, array in found:
        assert not array.flags.writeable, where
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.setflags(write=True)
        assert array.flags.aligned, where


def test_what_the_caller_keeps_changes_no_model():
    placement, parameters = np.eye(4), np.zeros(10)
    parameters[[0, 1, 4, 7, 9]] = 1.0
    shown = placement[:]
    shown.setflags(write=False)
    bodies = [Body("a", -1, shown, (jc.Joint("revolute", "j"),), parameters)]
    visual = Visual("tip", Sphere(1.0), shown)
    model = Model("m", (0, -9.81, 0), bodies, {"tip": Frame(0, shown)}, [visual])
    twin, before = pickle.loads(pickle.dumps(model)), jc.gravity_forces(model, [0.0])
    placement[0, 3] = parameters[0] = 7.0
    assert model == twin
    for other in (model, twin):
        assert other.bodies[0].placement[0, 3] == other.frames["tip"].placement[0, 3] == 0.0
        assert other.bodies[0].parameters[0] == other.inertias[0, 0] == 1.0
        assert other.visuals[0].placement[0, 3] == 0.0
        np.testing.assert_array_equal(jc.gravity_forces(other, [0.0]), before)


def test_one_placement_of_many_bodies_stays_one():
    model = jc.models.chain(50)
    assert len({id(body.placement) for body in model.bodies}) == 2
    assert len({id(frame.placement) for frame in model.frames.values()}) == 1
    assert model.frames["body3"].placement is IDENTITY


@pytest.mark.parametrize("dtype", [float, np.int32, np.int64, bool])
@pytest.mark.parametrize("shape", [(), (0,), (0, 4, 4), (3,), (2, 3)])
def test_frozen_arrays_are_equal_and_frozen_once(shape, dtype):
    given = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    kept = frozen(given.T)
    assert kept.dtype == given.dtype
    np.testing.assert_array_equal(kept, given.T)
    assert frozen(kept) is kept
    assert frozen(kept[...]).base is not None
    assert kept.flags.c_contiguous
    twin = kept.copy()
    assert twin.flags.writeable


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_arrays_that_numpy_unpickles_are_copied(protocol):
    """They lie in bytes, and may be written to all the same."""
    theirs = pickle.loads(pickle.dumps(np.tile(np.eye(4), (20, 1, 1)), protocol))
    for array in (theirs, theirs[3]):
        own = frozen(array)
        assert not np.shares_memory(own, theirs)
        assert frozen(own) is own
    arm = jc.models.chain(2)
    model = Model("x", [0, 0, -9.81], arm.bodies, {"tool": Frame(1, theirs[3])})
    theirs[3, 0, 3] = 7.0
    assert model.frames["tool"].placement[0, 3] == 0.0


def test_values_of_parameters_and_the_points_of_a_curve_cannot_be_made_writable():
    model, points = jc.models.chain(2), np.array([[0.0, 0.0], [1.0, 2.0], [0.5, 1.0]])
    curve = jc.trajectories.Polynomial(points)
    arrays = [x for x in vars(curve).values() if isinstance(x, np.ndarray)]
    assert arrays
    for array in (jc.parameters(model, "mass").values, *arrays):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.setflags(write=True)
    assert points.flags.writeable
