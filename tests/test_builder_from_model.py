"""A builder that starts from a model has all of it, and adds to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.model.shapes import Sphere, Visual

ARM = Path(__file__).parent / "io" / "models" / "arm.urdf"


def merged():
    """Frames on bodies, on the world, and of merged bodies; all kinds of joint data."""
    builder = jc.ModelBuilder(gravity=(1.0, 2.0, -3.0), name="merged")
    builder.add_body("stand", placement=(0, 0, 1), mass=5.0)
    builder.add_body(
        "arm",
        "stand",
        joint="universal",
        placement=lie.exp(np.arange(6) / 7),
        armature=(0.1, 0.2),
        damping=0.3,
        friction=0.4,
        lower=(-1.0, -2.0),
        upper=1.0,
        mass=2.0,
        com=(0.1, 0.2, 0.3),
        inertia=(0.4, 0.5, 0.6),
    )
    builder.add_body("hand", "arm", placement=(0.5, 0, 0), mass=0.3, inertia=(0.1, 0.1, 0.1))
    builder.add_body("finger", "hand", joint="spherical", anchor=(0, 0, 0.1), mass=0.2)
    builder.add_frame("tip", "finger", (0, 0, 0.2))
    builder.add_frame("camera", None, lie.exp(np.arange(6) / 5))
    builder.add_visuals([Visual("hand", Sphere(0.1), np.eye(4))])
    return builder.build()


MODELS = {
    "merged": merged,
    "aerial manipulator": jc.models.aerial_manipulator,
    "mixed tree": jc.models.mixed_tree,
    "all joints": lambda: jc.models.random_tree(12, 5),
    "replaced": lambda: jc.models.chain(3, "free").replace(
        armature=np.arange(8.0), gravity=(0, 0, 1), actuated=np.arange(8) > 5
    ),
    "empty": lambda: jc.ModelBuilder(name="empty").build(),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_builder_that_starts_from_a_model_builds_it_again(name):
    model = MODELS[name]()
    again = jc.ModelBuilder(model).build()
    assert again == model
    assert again.visuals == model.visuals
    assert again.joints == model.joints
    np.testing.assert_array_equal(again.inertias, model.inertias)


def test_a_model_from_a_file_is_built_again():
    pytest.importorskip("lxml")
    for base in ("fixed", "free"):
        model = jc.load(ARM, base=base)
        again = jc.ModelBuilder(model).build()
        assert again == model
        assert again.visuals == model.visuals


def test_gravity_and_name_are_those_of_the_model_unless_given():
    model = merged()
    other = jc.ModelBuilder(model, gravity=(0, 0, -1.62), name="on the moon").build()
    assert other.name == "on the moon"
    assert other.gravity.tolist() == [0, 0, -1.62]
    assert jc.ModelBuilder(other, name=model.name, gravity=model.gravity).build() == model
    plain = jc.ModelBuilder().build()
    assert (plain.name, plain.gravity.tolist()) == ("robot", [0, 0, -9.81])


def test_options_are_keywords():
    with pytest.raises(TypeError):
        jc.ModelBuilder(None, (0, 0, -9.81))
    with pytest.raises(TypeError, match=r"jounce\.Model, got tuple"):
        jc.ModelBuilder((0, 0, -9.81))


def grown(builder, at):
    """The same additions to a builder, with a body and a frame at `at`."""
    builder.add_body("gripper", at, joint="revolute", axis=(1, 0, 0), mass=0.4, com=(0, 0, 0.1))
    builder.add_body("plate", "gripper", placement=(0, 0, 0.3), mass=0.1)
    builder.add_frame("grasp", at, (0, 0.1, 0))
    return builder.build()


@pytest.mark.parametrize("at", ["arm", "hand", "finger", "tip", "camera", "stand", None])
def test_bodies_are_added_to_bodies_and_frames_of_the_model(at):
    model = merged()
    more = grown(jc.ModelBuilder(model), at)
    assert more.nv == model.nv + 1
    assert set(more.frames) == {*model.frames, "gripper", "plate", "grasp"}
    for name in model.body_names:
        before, after = model.body_index(name), more.body_index(name)
        np.testing.assert_array_equal(model.inertias[before], more.inertias[after])
    q = jc.random_configuration(more, 0)
    old = np.concatenate([q[more.q_slice(name)] for name in model.joint_names])
    for name in model.frames:
        np.testing.assert_array_equal(jc.body_pose(more, q, name), jc.body_pose(model, old, name))
    carrier = np.eye(4) if at is None else jc.body_pose(model, old, at)
    grasp = np.eye(4)
    grasp[1, 3] = 0.1
    np.testing.assert_allclose(jc.body_pose(more, q, "grasp"), carrier @ grasp, rtol=0, atol=1e-15)


def test_a_mass_fixed_to_a_frame_of_the_model_joins_its_body():
    model = merged()
    more = jc.ModelBuilder(model).add_body("load", "tip", placement=(0, 0, 1), mass=2.0).build()
    finger = model.body_index("finger")
    offset = model.frames["tip"].placement[:3, 3] + (0, 0, 1)
    added = jc.inertia.from_com(2.0, offset, np.zeros((3, 3)))
    np.testing.assert_allclose(more.inertias[finger], model.inertias[finger] + added)
    assert more.n_bodies == model.n_bodies


def test_names_of_the_model_are_taken():
    builder = jc.ModelBuilder(merged())
    for name in ("arm", "hand", "tip"):
        with pytest.raises(jc.ModelError, match=repr(name)):
            builder.add_body(name, joint="revolute", mass=1.0)
