"""What a URDF file says arrives in the model."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from urdf_parts import BOX_INERTIA, body, joint, robot

from jounce import inertia, lie
from jounce.errors import ModelError, ModelWarning
from jounce.io import load_urdf
from jounce.model.joints import Mimic

pytest.importorskip("lxml")

ARM = Path(__file__).parent / "models" / "arm.urdf"


def single(kind: str, inside: str = "") -> str:
    return robot('<link name="base"/>', body("arm"), joint("j", kind, "base", "arm", inside))


def test_names_sizes_limits_and_parameters_arrive():
    model = load_urdf(ARM, strict=True)
    assert model.name == "arm"
    assert model.body_names == ("upper", "lower", "finger")
    assert model.joint_names == ("shoulder", "elbow", "grip")
    assert list(model.parents) == [-1, 0, 1]
    assert (model.nq, model.nv) == (3, 3)
    assert [j.type for j in model.joints] == ["revolute", "prismatic", "continuous"]
    np.testing.assert_array_equal(model.lower, [-1, 0, -math.inf])
    np.testing.assert_array_equal(model.upper, [1.5, 0.2, math.inf])
    np.testing.assert_array_equal(model.effort_limit, [50, 20, math.inf])
    np.testing.assert_array_equal(model.velocity_limit, [2, 1, math.inf])
    np.testing.assert_array_equal(model.damping, [0.5, 0, 0])
    np.testing.assert_array_equal(model.friction, [0.1, 0, 0])
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])
    assert model.joints[2].mimic == Mimic("shoulder", 2.0, 0.25)


def test_inertia_is_rotated_by_the_origin_and_moved_to_the_link_frame():
    model = load_urdf(ARM)
    rotation = lie.rpy_to_matrix([0, 0.1, 0])
    own = np.array([[0.1, 0.01, 0.02], [0.01, 0.2, 0.03], [0.02, 0.03, 0.15]])
    expected = inertia.from_com(2.5, [0, 0, 0.25], rotation @ own @ rotation.T)
    np.testing.assert_allclose(model.inertias[0], expected, rtol=1e-14)
    np.testing.assert_array_equal(model.inertias[2], np.zeros(10))


def test_merged_links_stay_known_as_frames():
    model = load_urdf(ARM)
    assert model.frames["base"].body == -1
    assert model.frames["tool"].body == model.body_index("lower")


def test_fixed_joints_stay_known_as_frames_at_their_child():
    text = robot(
        *(body(name) for name in ("base", "arm", "tool", "camera", "lens")),
        joint("turn", "continuous", "base", "arm"),
        joint("mount", "fixed", "arm", "tool", '<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>'),
        joint("stand", "fixed", "tool", "camera", '<origin xyz="1 0 0"/>'),
        joint("arm", "fixed", "camera", "lens", '<origin xyz="0 2 0"/>'),
    )
    model = load_urdf(text)
    assert set(model.frames) == {"base", "arm", "tool", "camera", "lens", "mount", "stand"}
    for name, child in (("mount", "tool"), ("stand", "camera")):
        assert model.frames[name].body == model.body_index("arm")
        np.testing.assert_array_equal(model.frames[name].placement, model.frames[child].placement)
    assert model.frames["arm"].body == model.body_index("arm")  # the link, not the joint
    np.testing.assert_array_equal(model.frames["arm"].placement, np.eye(4))
    assert load_urdf(single("fixed")).frames["j"].body == -1


def test_text_bytes_and_path_give_the_same_model():
    text = ARM.read_text()
    models = [load_urdf(s) for s in (ARM, str(ARM), text, "\ufeff" + text, text.encode())]
    models += [load_urdf(text.encode("utf-16"))]
    models += [load_urdf(text.replace('"1.0"?', '"1.0" encoding="latin-1"?'))]
    for model in models[1:]:
        assert model.joint_names == models[0].joint_names
        np.testing.assert_array_equal(model.inertias, models[0].inertias)


@pytest.mark.parametrize(
    ("kind", "ours", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1),
        ("continuous", "continuous", 1, 1),
        ("prismatic", "prismatic", 1, 1),
        ("planar", "planar", 3, 3),
        ("floating", "free", 7, 6),
        ("spherical", "spherical", 4, 3),
        ("ball", "spherical", 4, 3),
    ],
)
def test_joint_types(kind, ours, nq, nv):
    model = load_urdf(single(kind))
    assert (model.joints[0].type, model.nq, model.nv) == (ours, nq, nv)


def test_axis_defaults_to_x_and_is_normalized():
    assert tuple(load_urdf(single("revolute")).joints[0].axis) == (1, 0, 0)
    model = load_urdf(single("revolute", '<axis xyz="0 3 4"/>'))
    np.testing.assert_allclose(model.nodes.screws[:, 0], [0, 0.6, 0.8, 0, 0, 0], rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", ["fixed", "floating", "spherical"])
def test_axis_is_ignored_where_it_has_no_meaning(kind):
    assert load_urdf(single(kind, '<axis xyz="0 0 0"/>')) == load_urdf(single(kind))


def test_joint_origin_by_angles_and_by_quaternion():
    half = math.sqrt(0.5)
    angles = single("revolute", f'<origin xyz="1 2 3" rpy="{math.pi / 2} 0 0"/>')
    quaternion = single("revolute", f'<origin xyz="1 2 3" quat_xyzw="{half} 0 0 {half}"/>')
    expected = [[1, 0, 0, 1], [0, 0, -1, 2], [0, 1, 0, 3], [0, 0, 0, 1]]
    for text in (angles, quaternion):
        np.testing.assert_allclose(load_urdf(text).nodes.placement[0], expected, rtol=0, atol=1e-15)


def test_numbers_may_be_written_in_all_usual_ways():
    model = load_urdf(single("revolute", '<origin xyz="\n +1.\t.5e1\n  -2E-1 "/>'))
    np.testing.assert_array_equal(model.nodes.placement[0, :3, 3], [1, 5, -0.2])


def test_children_keep_the_order_of_the_joints_in_the_file():
    names = ["zeta", "alpha", "mid"]
    links = [body(name) for name in sorted(names)]
    joints = [joint(f"to_{name}", "continuous", "base", name) for name in names]
    assert load_urdf(robot(*joints, body("base"), *links)).body_names == tuple(names)


def test_free_base_adds_a_joint_and_fixed_base_does_not():
    model = load_urdf(ARM, base="free", gravity=(0, 0, -1.62))
    assert model.joint_names == ("root_joint", "shoulder", "elbow", "grip")
    assert model.body_names[0] == "base"
    assert (model.nq, model.nv) == (10, 9)
    assert model.gravity[2] == -1.62


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_floating_joint_under_a_massless_root_is_the_base(base):
    text = robot(
        '<link name="world"/>', body("trunk"), joint("float", "floating", "world", "trunk")
    )
    assert load_urdf(text, base=base).joint_names == ("float",)


def test_a_robot_that_cannot_move_has_no_bodies():
    model = load_urdf(single("fixed"))
    assert (model.n_bodies, model.nv, model.frames["arm"].body) == (0, 0, -1)
    model = load_urdf(single("fixed"), base="free")
    np.testing.assert_allclose(model.inertias[0, 0], 1)


def test_root_joint_of_the_file_may_not_clash_with_the_added_one():
    text = single("continuous").replace('"j"', '"root_joint"')
    assert load_urdf(text).joint_names == ("root_joint",)
    with pytest.raises(ModelError, match="root_joint"):
        load_urdf(text, base="free")


@pytest.mark.parametrize("option", [{"base": "floating"}, {"base": None}, {"mimic": "off"}])
def test_unknown_options_are_value_errors(option):
    with pytest.raises(ValueError, match="must be"):
        load_urdf(ARM, **option)


def mimic_chain() -> str:
    first = '<axis xyz="0 0 2"/><mimic joint="lead" multiplier="3" offset="0.5"/>'
    second = '<axis xyz="0 0 1"/><mimic joint="a" multiplier="-2" offset="0.25"/>'
    return robot(
        *(body(name) for name in ("base", "link0", "link1", "link2")),
        joint("lead", "continuous", "base", "link0"),
        joint("a", "revolute", "link0", "link1", '<origin xyz="1 0 0"/>' + first),
        joint("b", "prismatic", "link1", "link2", second),
    )


def test_mimic_joints_are_independent_by_default():
    model = load_urdf(mimic_chain())
    assert model.nv == 3
    assert model.joints[1].mimic == Mimic("lead", 3.0, 0.5)
    assert model.joints[2].mimic == Mimic("a", -2.0, 0.25)


def test_locked_mimic_joints_stand_where_they_are_while_the_leader_is_at_zero():
    model = load_urdf(mimic_chain(), mimic="locked")
    assert model.joint_names == ("lead",)
    turned = lie.exp([0, 0, 0.5, 0, 0, 0])
    turned[:3, 3] = 1, 0, 0
    moved = turned @ lie.exp([0, 0, 0, 0, 0, 0.25 - 2 * 0.5])
    np.testing.assert_allclose(model.frames["link1"].placement, turned, rtol=0, atol=1e-15)
    np.testing.assert_allclose(model.frames["link2"].placement, moved, rtol=0, atol=1e-15)
    np.testing.assert_allclose(model.frames["b"].placement, moved, rtol=0, atol=1e-15)


def test_mimic_of_an_unknown_joint_warns_and_is_dropped():
    text = ARM.read_text().replace('joint="shoulder"', 'joint="shouldr"')
    with pytest.warns(ModelWarning, match=r"'grip' \(line 66\) follows 'shouldr'"):
        assert load_urdf(text).joints[2].mimic is None


def test_limits_of_a_joint_without_range_are_open():
    model = load_urdf(single("revolute", '<limit effort="1" velocity="2"/>'))
    assert (model.lower[0], model.upper[0]) == (-math.inf, math.inf)
    model = load_urdf(single("revolute", '<limit upper="2" effort="1" velocity="2"/>'))
    assert (model.lower[0], model.upper[0]) == (0, 2)


def test_impossible_inertias_give_one_warning_at_the_caller_with_links_and_lines():
    bad = BOX_INERTIA.replace('izz="1"', 'izz="3"')
    links = [body(f"link{k}", inertia=bad) for k in range(14)]
    joints = [joint(f"j{k}", "continuous", "base", f"link{k}") for k in range(14)]
    text = robot(body("base"), *links, *joints)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_urdf(text)
    assert [w.category for w in caught] == [ModelWarning]
    message = str(caught[0].message)
    assert "14 links" in message
    assert "'link0' (line 3): principal moments 1, 1, 3" in message
    assert "and 4 more" in message
    assert caught[0].filename == __file__


def test_strict_lists_every_link_with_an_impossible_inertia(refusal, write):
    bad = BOX_INERTIA.replace('izz="1"', 'izz="3"')
    negative = BOX_INERTIA.replace('ixx="1"', 'ixx="-1"')
    names = [f"link{k}" for k in range(14)]
    links = [body(name, inertia=negative if name == "link5" else bad) for name in names]
    joints = [joint(f"j{name}", "continuous", "base", name) for name in names]
    path = write(robot(body("base"), *links, *joints))
    message = refusal(path, strict=True)
    assert message.startswith(f"{path}:3: <inertial> in <link name='link0'>: 14 links have inert")
    for k, name in enumerate(names):
        why = "inertia is not positive semidefinite" if k == 5 else "principal moments 1, 1, 3"
        assert f"'{name}' (line {3 + k}): {why}" in message
    assert "more" not in message


def test_strict_lists_every_mimic_joint_without_a_leader(refusal, write):
    lost = ["knee", "Hip", "nothing"]
    mimics = [f'<mimic joint="{name}"/>' for name in lost]
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    joints = [joint("hip", "revolute", "base", "a", limit)]
    for k, mimic in enumerate(mimics):
        joints.append(joint(f"j{k}", "continuous", "base", f"b{k}", mimic))
    text = robot(body("base"), body("a"), *(body(f"b{k}") for k in range(3)), *joints)
    message = refusal(write(text), strict=True)
    assert "'j0' (line 8) follows 'knee'; " in message
    assert "'j1' (line 9) follows 'Hip', did you mean 'hip'?; " in message
    assert message.endswith("'j2' (line 10) follows 'nothing'")


def test_point_masses_and_flat_bodies_are_possible():
    flat = BOX_INERTIA.replace('izz="1"', 'izz="2"')
    point = BOX_INERTIA.replace('"1"', '"0"')
    links = body("base"), body("a", inertia=flat), body("b", inertia=point)
    joints = joint("ja", "continuous", "base", "a"), joint("jb", "continuous", "a", "b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_urdf(robot(*links, *joints))
    np.testing.assert_array_equal(model.inertias[:, 9], [2, 0])


def test_extensions_of_vendors_are_accepted():
    text = (
        ARM.read_text()
        .replace("<robot ", '<robot xmlns:v="urn:v" v:a="1" ')
        .replace('<link name="tool"/>', '<link name="tool"><contact mu="1"/><v:x/></link>')
        .replace("</robot>", "<gazebo><link/></gazebo><drake:any/><ros2_control/></robot>")
        .replace("<dynamics ", '<dynamics D="1" ')
        .replace("<axis ", "<!-- an axis --><?x y?><axis ")
    )
    assert load_urdf(text).nv == 3


def test_a_default_namespace_is_taken_off():
    text = ARM.read_text().replace("<robot ", '<robot xmlns="http://www.ros.org" ')
    assert load_urdf(text, strict=True).nv == 3


def test_the_line_is_where_the_start_tag_begins():
    text = ARM.read_text().replace('<mass value="2.5"', '<mass\n\n  value="x"\n')
    with pytest.raises(
        ModelError, match=r"^<string>:23: <mass> in <inertial> in <link name='upper'>"
    ):
        load_urdf(text)
