"""SDF files: poses in any frame, nested and included models; Drake reads the same robots."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jounce as jc
from jounce.errors import ModelError, ModelWarning

INERTIAL = """<inertial><pose>{} 0.1 -0.2 0.3 0.4 0.5</pose><mass>{}</mass>
<inertia><ixx>0.2</ixx><ixy>0.01</ixy><iyy>0.3</iyy><izz>0.25</izz><ixz>0</ixz><iyz>0</iyz></inertia>
</inertial>"""


def link(name: str, pose: str = "", mass: float = 1.5) -> str:
    return f'<link name="{name}">{pose}\n{INERTIAL.format(0.1 * mass, mass)}</link>\n'


def joint(name: str, kind: str, parent: str, child: str, inside: str = "") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>\n'


def axis(xyz: str, frame: str = "", tag: str = "axis", more: str = "") -> str:
    where = f' expressed_in="{frame}"' if frame else ""
    return f"<{tag}><xyz{where}>{xyz}</xyz>{more}</{tag}>"


def pose(text: str, **attributes: str) -> str:
    return f"<pose{''.join(f' {k}={v!r}' for k, v in attributes.items())}>{text}</pose>"


def sdf(*parts: str, name: str = "arm", more: str = "") -> str:
    inside = "".join(parts)
    return f'<sdf version="1.9">\n<model name="{name}"{more}>\n{inside}</model></sdf>'


LIMIT = "<limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity></limit>"
DYNAMICS = "<dynamics><damping>0.5</damping><friction>0.25</friction></dynamics>"

ARM = sdf(
    pose("0.3 0.2 0.1 0.1 0.2 0.3"),
    '<frame name="mount"><pose>1 2 3 0.3 0.2 0.1</pose></frame>',
    link("base", pose("0.1 0.2 0.3 0.5 0.6 0.7", relative_to="mount")),
    link("upper", pose("0.5 0 1 0.1 -0.2 0.3", relative_to="base"), 2.0),
    link("lower", pose("10 20 -30 45 60 90", degrees="true")),
    link("hand", pose("0 0 1 0.5 0.5 0.5 0.5", relative_to="elbow", rotation_format="quat_xyzw")),
    '<frame name="grip" attached_to="hand"><pose>0.1 0.2 0.3 1 0 0</pose></frame>',
    '<frame name="tip" attached_to="grip"><pose relative_to="upper">1 1 1 0 1 0</pose></frame>',
    joint("weld", "fixed", "world", "base"),
    joint("shoulder", "revolute", "base", "upper",
          pose("0.1 0.2 0.3 0.4 0.5 0.6") + axis("1 2 3", more=LIMIT + DYNAMICS)),
    joint("elbow", "prismatic", "upper", "lower",
          pose("0 0 1 0 0 1", relative_to="base") + axis("0 1 1", "__model__")),
    joint("wrist", "universal", "lower", "hand",
          pose("0.3 0 0 0 0 0.4") + axis("1 0 0") + axis("0 1 0", tag="axis2")),
)  # fmt: skip

FINGER = sdf(
    link("knuckle", pose("1 0 0 0 0 1")),
    link("nail", pose("0 1 0 1 0 0")),
    joint("bend", "continuous", "knuckle", "nail", axis("0 0 1", "knuckle")),
    '<frame name="root" attached_to="knuckle"><pose>0 0.5 0 0 1 0</pose></frame>',
    name="finger",
)

NESTED = sdf(
    link("palm", pose("1 0 0 0 1 0")),
    joint("weld", "fixed", "world", "palm"),
    '<model name="thumb" placement_frame="b">',
    pose("1 2 3 0.1 0.2 0.3", relative_to="palm"),
    link("a", pose("1 1 1 0 0 0.5")),
    link("b", pose("0 1 1 0.5 0 0.5")),
    joint("ab", "revolute", "a", "b", axis("0 0 1")),
    "</model>",
    joint("base", "revolute", "palm", "thumb::a", axis("1 0 0", "thumb")),
    '<frame name="mark" attached_to="thumb::b"><pose>0 0 1 0 0 0</pose></frame>',
)


def drake_plant(path):
    multibody = pytest.importorskip("pydrake.all")
    plant = multibody.MultibodyPlant(0.0)
    parser = multibody.Parser(plant)
    if (path.parent / "fingers").is_dir():
        parser.package_map().Add("fingers", str(path.parent / "fingers"))
    parser.AddModels(str(path))
    plant.Finalize()
    return plant


def compare(path, seed=0):
    """Mass matrix, gravity, Coriolis forces and frames at a random state."""
    plant, model = drake_plant(path), jc.load(path)
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(seed)
    q, v = rng.standard_normal(model.nq), rng.standard_normal(model.nv)
    assert plant.num_velocities() == model.nv
    names = {}
    for index in plant.GetJointIndices():
        theirs = plant.get_joint(index)
        for name in model.joint_names:
            if name.rpartition("::")[2] == theirs.name():
                names[name] = theirs
    order = np.concatenate(
        [np.arange(n.velocity_start(), n.velocity_start() + n.num_velocities())
         for n in (names[name] for name in model.joint_names)]
    )  # fmt: skip
    qd, vd = np.zeros(model.nq), np.zeros(model.nv)
    qd[order], vd[order] = q, v
    plant.SetPositions(context, qd)
    plant.SetVelocities(context, vd)
    mass = plant.CalcMassMatrix(context)[np.ix_(order, order)]
    np.testing.assert_allclose(jc.mass_matrix(model, q), mass, rtol=0, atol=1e-12 * mass.max())
    bias = plant.CalcBiasTerm(context)[order] - plant.CalcGravityGeneralizedForces(context)[order]
    np.testing.assert_allclose(
        jc.bias_forces(model, q, v), bias, rtol=0, atol=1e-12 * np.abs(bias).max()
    )
    return model, plant, context, q


@pytest.fixture
def save(tmp_path):
    def write(name: str, text: str):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_poses_relative_to_anything_agree_with_drake(save):
    model, plant, context, q = compare(save("arm.sdf", ARM))
    for name in ("base", "upper", "lower", "hand", "grip", "tip", "mount"):
        theirs = plant.GetFrameByName(name).CalcPoseInWorld(context).GetAsMatrix4()
        ours = jc.body_pose(model, q, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13 * np.abs(theirs).max())
    assert (model.lower[0], model.upper[0]) == (-1, 2)
    assert (model.effort_limit[0], model.velocity_limit[0]) == (3, 4)
    assert (model.damping[0], model.friction[0]) == (0.5, 0.25)


def test_nested_models_and_placement_frames_agree_with_drake(save):
    model, plant, context, q = compare(save("nested.sdf", NESTED))
    assert model.joint_names == ("base", "thumb::ab")
    assert model.body_names == ("thumb::a", "thumb::b")
    theirs = plant.GetFrameByName("mark").CalcPoseInWorld(context).GetAsMatrix4()
    np.testing.assert_allclose(jc.body_pose(model, q, "mark"), theirs, rtol=0, atol=1e-13)


@pytest.mark.parametrize("where", ["fingers/finger.sdf", "fingers/long/model.sdf"])
def test_included_models_agree_with_drake(save, where):
    save(where, FINGER)
    uri = f"package://{where.removesuffix('/model.sdf')}"
    text = sdf(
        link("palm"),
        joint("weld", "fixed", "world", "palm"),
        f"<include><uri>{uri}</uri><name>left</name><placement_frame>root</placement_frame>"
        '<pose relative_to="palm">0 1 0 0 0 1</pose></include>',
        joint("base", "revolute", "palm", "left::knuckle", axis("0 1 0")),
    )
    path = save("hand.sdf", text)
    if "model.sdf" not in where:  # which Drake wants a model.config for
        compare(path)
    model = jc.load(path)
    assert sorted(model.joint_names) == ["base", "left::bend"]
    assert jc.load(save("plain.sdf", text.replace(uri, where))) == model


def test_a_screw_advances_by_its_pitch_per_turn():
    screw = axis("0 0 1") + "<screw_thread_pitch>0.5</screw_thread_pitch>"
    model = jc.load_sdf(sdf(link("nut"), joint("j", "screw", "world", "nut", screw)))
    np.testing.assert_allclose(jc.body_pose(model, [2 * np.pi], "nut")[:3, 3], [0, 0, 0.5])


def test_a_ball_turns_about_its_joint():
    where = pose("0 0 1 0 0 0")
    model = jc.load_sdf(sdf(link("b"), joint("j", "ball", "world", "b", where)))
    half = jc.body_pose(model, [1, 0, 0, -0.0], "b")
    np.testing.assert_allclose(half[:3, 3], [0, 0, 2], atol=1e-15)


def test_a_world_with_several_models_and_its_gravity():
    arm = ARM.partition("\n")[2].removesuffix("</sdf>")
    text = f'<sdf version="1.9"><world name="w"><gravity>0 0 -1.62</gravity>{arm}'
    text += arm.replace('model name="arm"', 'model name="other"') + "</world></sdf>"
    model = jc.load_sdf(text)
    assert model.nv == 8
    assert model.gravity[2] == -1.62
    assert "other::hand" in model.body_names
    single = jc.load_sdf(ARM)
    q = np.linspace(-1, 1, 4)
    ours = jc.mass_matrix(model, np.concatenate([q, q]))[4:, 4:]
    np.testing.assert_allclose(ours, jc.mass_matrix(single, q), rtol=1e-12)


def test_the_root_is_fixed_or_free_and_static_models_do_not_move():
    text = sdf(link("trunk", pose("0 0 1 0 0 0")), link("leg"),
               joint("hip", "revolute", "trunk", "leg", axis("0 1 0")))  # fmt: skip
    fixed, free = jc.load_sdf(text), jc.load_sdf(text, "free")
    assert fixed.joint_names == ("hip",)
    assert fixed.frames["trunk"].placement[2, 3] == 1
    assert free.joint_names == ("root_joint", "hip")
    static = text.replace("<link", "<static>true</static><link", 1)
    assert jc.load_sdf(static).nv == 0
    with pytest.raises(ModelError, match='base="free" needs one link'):
        jc.load_sdf(static, "free")


def test_defaults_are_those_of_the_format():
    model = jc.load_sdf(
        sdf('<link name="a"/>', joint("j", "revolute", "world", "a", "<axis/>")), strict=True
    )
    np.testing.assert_array_equal(model.inertias[0], [1, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    assert model.joints[0].axis == (0, 0, 1)
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)


def test_what_is_left_out_is_told():
    spring = axis("0 0 1", more="<dynamics><spring_stiffness>2</spring_stiffness></dynamics>")
    text = sdf(link("a"), joint("j", "revolute", "world", "a", spring))
    with pytest.warns(ModelWarning, match=r"<string>:\d+: <spring_stiffness>.*left out"):
        jc.load_sdf(text)
    impossible = text.replace("<izz>0.25", "<izz>9").replace("<spring_stiffness>2", "<damping>2")
    impossible = impossible.replace("</spring_stiffness>", "</damping>")
    with pytest.warns(ModelWarning, match="no rigid body can have this inertia"):
        jc.load_sdf(impossible)


MISTAKES = [
    ("<mass>2.0</mass>", "<mass>heavy</mass>", "mass", "expected a number, got 'heavy'"),
    ("<mass>2.0</mass>", "<mass>nan</mass>", "mass", "expected a number"),
    ("<mass>2.0</mass>", "<mass>1e308</mass>", "mass", "too large"),
    ("<mass>2.0</mass>", "<mass>-1</mass>", "mass", "negative"),
    ("<mass>2.0</mass>", "<mas>2</mas>", "mas", "did you mean <mass>"),
    ("<ixx>", "<ixxx>0</ixxx><ixx>", "ixxx", "did you mean"),
    ("0.5 0 1 0.1 -0.2 0.3", "0.5 0 1", "pose", "expected 6 numbers"),
    ('relative_to=\'base\'>0.5', 'relative_to=\'bse\'>0.5', "link", "nothing named 'bse'"),
    ('relative_to=\'base\'>0.5', 'relative_to=\'shoulder\'>0.5', "joint", "depends on itself"),
    ("0.5 0.5 0.5 0.5", "0 0 0 0", "pose", "quaternion is zero"),
    ("<parent>base</parent>", "<parent>bse</parent>", "joint", "did you mean 'base'"),
    ("<parent>base</parent>", "", "joint", "<parent> is missing"),
    ("<child>upper</child>", "<child>world</child>", "joint", ""),
    ("<child>upper</child>", "<child>lower</child>", "joint", "closed loops"),
    ("<parent>base</parent>", "<parent>hand</parent>", "joint", "loop"),
    ('type="revolute"', 'type="hinge"', "joint", "unknown joint type 'hinge'"),
    ('type="revolute"', "", "joint", "'type' is missing"),
    ('name="shoulder"', 'name="weld"', "joint", "taken"),
    ('link name="upper"', 'link name="__upper__"', "link", "reserved"),
    ("model name=\"arm\"", "model name=\"__arm__\"", "model", "reserved"),
    ('link name="upper"', "link", "link", "'name' is missing"),
    (axis("1 2 3", more=LIMIT + DYNAMICS), "", "joint", "<axis> is missing"),
    ("<xyz>1 2 3</xyz>", "<xyz>0 0 0</xyz>", "xyz", "must not be zero"),
    ("<xyz>1 2 3</xyz>", "<xyz>1 2</xyz>", "xyz", "expected 3 numbers"),
    ("expressed_in=\"__model__\"", "expressed_in=\"none\"", "joint", "nothing named 'none'"),
    ("<lower>-1</lower>", "<lower>9</lower>", "limit", "above the upper"),
    ("<damping>0.5", "<damping>-1", "damping", "negative"),
    ('attached_to="grip"', 'attached_to="tip"', "frame", "itself"),
    ("<link name=\"base\"", "<lnk/><link name=\"base\"", "lnk", "did you mean <link>"),
    ("<link name=\"base\"", "<include><uri>no.sdf</uri></include><link name=\"base\"", "include",
     "there is no file 'no.sdf'"),
    ("<link name=\"base\"", "<include><uri>/etc/passwd</uri></include><link name=\"base\"",
     "include", "outside"),
    ("<link name=\"base\"", "<include/><link name=\"base\"", "include", "<uri> is missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "tag", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_are_refused_with_file_line_and_element(old, new, tag, message, save):
    assert old in ARM
    path = save("arm.sdf", ARM.replace(old, new, 1))
    with pytest.raises(ModelError) as caught:
        jc.load(path)
    match = re.match(re.escape(str(path)) + r":\d+: <([^ >]+)[ >]", str(caught.value))
    assert match, str(caught.value)
    assert message in str(caught.value)
    assert match[1] == tag or not message, str(caught.value)


@pytest.mark.parametrize("text", ["<sdf/>", '<sdf><model name="m"/></sdf>', "<sdf><a/></sdf>"])
def test_a_file_without_a_robot_is_refused(text, save):
    with pytest.raises(ModelError, match=r"a\.sdf:1: <"):
        jc.load(save("a.sdf", text))
