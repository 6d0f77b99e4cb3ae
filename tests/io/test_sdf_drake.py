"""What only Drake has in SDF: planar joints agree with it, forces and constraints are told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_sdf import axis, compare, drake_plant, joint, link, pose, sdf

import jounce as jc
from jounce.errors import ModelError, ModelWarning

FRAMES = """<frame name="f" attached_to="a"><pose>0.1 0 0.2 0.3 0 0.2</pose></frame>
<frame name="g" attached_to="b"><pose>0 0.3 0.2 {}</pose></frame>"""
ENDS = "<drake:parent>{}</drake:parent><drake:child>{}</drake:child>"
PLANAR = f'<drake:joint name="pl" type="planar">{ENDS}{{}}</drake:joint>\n'
DAMPING = "<drake:damping>0 0 0</drake:damping>"  # without which Drake reads no joint


def arm(planar: str, turn: str = "0 0 0") -> str:
    """A link on a rail, one that a planar joint moves, and a pendulum on that."""
    return sdf(
        link("a", pose("0.1 0.2 0.3 0.3 0.2 0.1")),
        link("b", pose("0.5 0.4 0.1 0.1 0.5 0.9"), 2.0),
        link("c", pose("0.6 0.4 0.3 0.2 0.1 0.9")),
        FRAMES.format(turn),
        joint("rail", "prismatic", "world", "a", axis("1 2 3")),
        planar,
        joint("pendulum", "revolute", "b", "c", axis("0 1 0")),
    )


@pytest.fixture
def save(tmp_path):
    def write(text: str):
        path = tmp_path / "arm.sdf"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize("ends", [("f", "g"), ("a", "b"), ("f", "b")])
def test_planar_joints_agree_with_drake(ends, declared, save):
    """Drake puts the child onto the parent at q = 0, wherever the file has the links."""
    text = arm(PLANAR.format(*ends, DAMPING))
    if declared:
        text = text.replace("<sdf ", '<sdf xmlns:drake="http://drake.mit.edu" ')
    model, plant, context, q = compare(save(text))
    assert [j.type for j in model.joints] == ["prismatic", "planar", "revolute"]
    for name in ("a", "b", "c", "f", "g"):
        theirs = plant.GetFrameByName(name).CalcPoseInWorld(context).GetAsMatrix4()
        ours = jc.body_pose(model, q, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())


@pytest.mark.parametrize("turn", ["0.4 -0.3 0.8", "0 0 1", "1 0 0", "3.141592653589793 0 0.1"])
def test_planar_joints_of_turned_frames_go_where_those_of_drake_go(turn, save):
    """Displacements along our directions of the plane, which are turned about its normal."""
    path = save(arm(PLANAR.format("f", "g", DAMPING), turn))
    plant, model = drake_plant(path), jc.load(path)
    context = plant.CreateDefaultContext()
    theirs = np.array([0.3, -0.2, 0.7, 0.4, 1.1])  # rail, x, y, angle, pendulum
    for name, values in (("rail", theirs[:1]), ("pl", theirs[1:4]), ("pendulum", theirs[4:])):
        at = plant.GetJointByName(name).position_start()
        all_positions = plant.GetPositions(context)
        all_positions[at : at + len(values)] = values
        plant.SetPositions(context, all_positions)
    own = model.joints[1]
    normal = model.frames["g"].placement[:3, :3]
    np.testing.assert_allclose(own.axis, normal[:, 2], atol=1e-15)
    from jounce.model.joints import frames_along

    directions = frames_along([own.axis], [own.anchor])[0, :3, :2]
    q = theirs.copy()
    q[1:3] = directions.T @ normal[:, :2] @ theirs[1:3]
    for name in ("b", "c"):
        expected = plant.GetFrameByName(name).CalcPoseInWorld(context).GetAsMatrix4()
        np.testing.assert_allclose(jc.body_pose(model, q, name), expected, rtol=0, atol=1e-13)


def damped(damping: str, turn: str = "0 0 0") -> str:
    more = f"<drake:damping>{damping}</drake:damping>"
    return arm(PLANAR.format("f", "g", more), turn)


def test_damping_of_planar_joints_is_along_our_directions():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        plain = jc.load_sdf(damped("0.1 0.2 0.3"))
        quarter = jc.load_sdf(damped("0.1 0.2 0.3", "0 0 1.5707963267948966"))
        turned = jc.load_sdf(damped("0.2 0.2 0.3", "0.4 -0.3 0.8"))
    assert plain.joints[1].damping == (0.1, 0.2, 0.3)
    assert quarter.joints[1].damping == (0.2, 0.1, 0.3)
    assert turned.joints[1].damping == (0.2, 0.2, 0.3)
    with pytest.warns(ModelWarning, match=r"<drake:damping> in <drake:joint name='pl'>.*left out"):
        mixed = jc.load_sdf(damped("0.1 0.2 0.3", "0 0 0.3"))
    assert sum(mixed.joints[1].damping[:2]) == pytest.approx(0.3)


MISTAKES = [
    (PLANAR.format("f", "g", "<pose>0 0 1 0 0 0</pose>"), r"<pose> in .*expected <drake:parent>"),
    (PLANAR.format("f", "g", "<drake:dampng>1</drake:dampng>"), "<drake:dampng> in .*expected"),
    (PLANAR.format("f", "g", "").replace("planar", "curvilinear"), "joint type 'curvilinear'"),
    (PLANAR.format("f", "none", ""), r"<drake:joint name='pl'> in .* nothing named 'none'"),
    (PLANAR.format("f", "g", "<drake:damping>1</drake:damping>"), "expected 3 numbers"),
    (PLANAR.format("f", "g", "<drake:damping>1 -1 1</drake:damping>"), "must not be negative"),
    ('<drake:joint name="pl" type="planar"/>', "<drake:child> is missing"),
]


@pytest.mark.parametrize(("planar", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_in_planar_joints_are_refused_at_their_element(planar, message):
    with pytest.raises(ModelError, match=r"<string>:\d+: .*" + message):
        jc.load_sdf(arm(planar))


def test_no_joint_can_mimic_a_planar_one_and_no_other_element_holds_one():
    text = arm(PLANAR.format("f", "g", ""))
    mimic = text.replace("<xyz>0 1 0</xyz>", '<xyz>0 1 0</xyz><mimic joint="pl"/>')
    with pytest.raises(ModelError, match="'pl' is planar, it has no position"):
        jc.load_sdf(mimic)
    moved = text.replace("<inertial>", PLANAR.format("f", "g", "") + "<inertial>", 1)
    with pytest.raises(ModelError, match=r"<drake:joint name='pl'> in .*expected in a <model>"):
        jc.load_sdf(moved)
    with pytest.raises(ModelError, match=r"<drake:joint name='pl'> in .*: unknown element"):
        jc.load_sdf(text, strict=True)


ACTING = ("linear_bushing_rpy", "linear_spring_damper", "ball_constraint", "tendon_constraint")


@pytest.mark.parametrize("name", ACTING)
@pytest.mark.parametrize("namespace", ["", ' xmlns:drake="drake.mit.edu"'])
def test_forces_and_constraints_of_drake_are_told(name, namespace):
    tag = f"<drake:{name}{namespace}/>"
    for text, load in (
        (arm(tag), jc.load_sdf),
        (f'<robot name="r"><link name="a"/>{tag}</robot>', jc.load_urdf),
    ):
        with pytest.warns(ModelWarning, match=rf"<drake:{name}>.* left out"):
            load(text)
        with pytest.raises(ModelError, match=f"<drake:{name}>"):
            load(text, strict=True)


def test_joints_that_mimic_in_the_words_of_drake_are_told():
    mimic = '<drake:mimic joint="rail" multiplier="2" offset="0"/>'
    text = sdf(link("a"), joint("j", "revolute", "world", "a", axis("1 0 0") + mimic))
    with pytest.warns(ModelWarning, match="<drake:mimic> in <joint name='j'>.*left out"):
        jc.load_sdf(text)


def test_a_negative_rotor_inertia_is_refused_at_its_element():
    rotor = "<drake:rotor_inertia>-1</drake:rotor_inertia>"
    text = sdf(link("a"), joint("j", "revolute", "world", "a", axis("1 0 0") + rotor))
    with pytest.raises(
        ModelError, match=r"<string>:\d+: <drake:rotor_inertia> in <joint name='j'>"
    ):
        jc.load_sdf(text)


def test_what_the_model_refuses_of_a_joint_is_told_at_its_element():
    axes = axis("1 0 0") + axis("1 0 0", tag="axis2")
    text = sdf(link("a"), joint("j", "universal", "world", "a", axes))
    with pytest.raises(
        ModelError, match=r"<string>:\d+: <joint name='j'> in .*axes of a universal"
    ):
        jc.load_sdf(text)
