"""`load` picks the reader by suffix and root element; packages are imported when needed."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import jounce as jc
from jounce import cli
from jounce.errors import ModelError
from jounce.io import geometry, load, load_urdf, load_xacro

pytest.importorskip("lxml")

MODELS = Path(__file__).parent / "models"
ARM = MODELS / "arm.urdf"


def test_urdf_by_suffix_and_by_root_element(tmp_path):
    assert load(ARM, strict=True).nv == 3
    renamed = tmp_path / "ARM.xml"
    renamed.write_text(ARM.read_text())
    assert load(str(renamed), "free").joint_names[0] == "root_joint"
    assert load(ARM, gravity=(0, 1, 0)).gravity[1] == 1
    assert load(ARM, mimic="locked").nv == 2


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.urdf", "<mujoco/>", "MJCF"),
        ("a.xml", "<sdf/>", "<sdf>"),
        ("a.sdf", "<sdf/>", "<sdf>"),
        ("a.xml", "", "empty"),
        ("a.obj", "v 1 2 3", r"\.urdf"),
        ("a.xml", '<!DOCTYPE robot [<!ENTITY e "x">]><robot/>', "DOCTYPE"),
    ],
)
def test_other_formats_are_refused_by_name(name, text, message, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ModelError, match=message):
        load(path)


@pytest.mark.parametrize("suffix", [".urdf", ".xacro"])
@pytest.mark.parametrize(
    ("root", "what", "ending"), [("sdf", "an SDF", "sdf"), ("mujoco", "an MJCF", "xml")]
)
def test_other_formats_under_a_name_of_urdf_are_told(suffix, root, what, ending, tmp_path, capsys):
    if suffix == ".xacro":
        pytest.importorskip("xacro")
    path = tmp_path / f"robot{suffix}"
    path.write_text(f"<{root}/>")
    message = rf"robot{suffix}.*:1: <{root}>: this is {what} file; .* \.{ending} or use load_"
    with pytest.raises(ModelError, match=message):
        jc.load(path)
    assert cli.main(["check", str(path)]) == 1
    assert f"this is {what} file" in capsys.readouterr().out


def test_a_missing_file_is_file_not_found(tmp_path):
    for suffix in (".urdf", ".xml", ".xacro"):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / f"none{suffix}")


@pytest.mark.parametrize("thing", [None, 3, {}, ARM.read_text])
def test_what_is_no_file_is_a_type_error(thing):
    with pytest.raises(TypeError, match="path must be the path of a model file, got"):
        load(thing)
    for loader in (load_urdf, jc.load_mjcf):
        with pytest.raises(TypeError, match="the model file must be a path or its text, got"):
            loader(thing)


def test_arguments_are_for_xacro_only():
    with pytest.raises(ValueError, match="xacro"):
        load(ARM, arguments={"length": "1"})


MJCF = """
<mujoco><worldbody><body name="b" pos="0 0 1"><joint name="j"/><geom size="0.1"/></body></worldbody>
</mujoco>
"""


def test_mimic_is_for_urdf_and_xacro_only(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_text(MJCF)
    with pytest.raises(ValueError, match=r"mimic='locked' is for URDF and xacro files.*robot\.xml"):
        load(path, mimic="locked")
    with pytest.raises(
        ValueError, match="mimic must be 'independent' or 'locked' or 'coupled', got 'off'"
    ):
        load(path, mimic="off")
    with pytest.raises(
        ValueError, match="mimic must be 'independent' or 'locked' or 'coupled', got 'off'"
    ):
        load(ARM, mimic="off")
    pytest.importorskip("mujoco")
    assert load(path, mimic="independent").joint_names == load(path).joint_names == ("j",)


def test_load_mjcf_says_what_it_takes():
    signature = inspect.signature(jc.load_mjcf)
    assert list(signature.parameters) == [
        "source",
        "base",
        "gravity",
        "strict",
        "max_bytes",
        "folder",
    ]
    assert "bytes" in signature.parameters["source"].annotation
    assert "gravity: acceleration of gravity" in jc.load_mjcf.__doc__
    pytest.importorskip("mujoco")
    for source in (MJCF, MJCF.encode()):
        model = jc.load_mjcf(source, "fixed", gravity=(0, 1, 0), strict=True)
        assert model.joint_names == ("j",)
        assert model.gravity[1] == 1


def test_xacro_is_expanded_with_its_arguments(capfd):
    pytest.importorskip("xacro")
    model = load(MODELS / "arm.xacro", arguments={"length": "0.8"}, strict=True)
    assert model.joint_names == ("upper_joint", "lower_joint")
    np.testing.assert_allclose(model.inertias[:, 0], 1.6)
    assert load_xacro(MODELS / "arm.xacro").nodes.placement[1, 2, 3] == 0.5
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("${2 * length}", "${2 * lenght}", "lenght"),
        ("${2 * length}", "-1", r"\(expanded\):\d+: <mass>"),
        ("</robot>", "", "xacro cannot expand"),
        ("<xacro:arg", '<xacro:include filename="none.xacro"/><xacro:arg', r"none\.xacro"),
        ("<robot", "<!DOCTYPE robot [<!ENTITY e 'x'>]><robot", "DOCTYPE"),
    ],
)
def test_wrong_xacro_files_are_model_errors(old, new, message, tmp_path, capfd):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.xacro"
    path.write_text((MODELS / "arm.xacro").read_text().replace(old, new, 1))
    with pytest.raises(ModelError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_arguments_that_a_xacro_file_does_not_ask_for_are_a_warning():
    pytest.importorskip("xacro")
    with pytest.warns(jc.ModelWarning, match=r"it asks for no argument 'lenght'; known: 'length'"):
        load(MODELS / "arm.xacro", arguments={"lenght": "0.8"})
    with pytest.raises(TypeError, match="arguments must be a dict of names and values, got"):
        load(MODELS / "arm.xacro", arguments=["length:=0.8"])
    assert load(MODELS / "arm.xacro", arguments={"length": 0.8}).nodes.placement[1, 2, 3] == 0.8


def test_what_xacro_prints_becomes_a_warning(tmp_path, capfd):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.xacro"
    text = (MODELS / "arm.xacro").read_text()
    path.write_text(text.replace("<xacro:arg", '<xacro:include filename="none*.xacro"/><xacro:arg'))
    with pytest.warns(UserWarning, match="matched no files"):
        load(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("package", "extra", "file"),
    [("xacro", "xacro", "arm.xacro"), ("mujoco", "mjcf", "arm.xml")],
)
def test_a_missing_package_is_named_with_the_way_to_install_it(
    package, extra, file, tmp_path, monkeypatch
):
    (tmp_path / "arm.xml").write_text(MJCF)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{package}.*: pip install 'jounce\[{extra}\]'$"):
        load((tmp_path if file == "arm.xml" else MODELS) / file)


def test_without_lxml_the_message_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(ImportError, match=r"needs lxml.*: pip install lxml$"):
        load_urdf(ARM.read_text())


def test_shapes_are_kept_for_the_viewer():
    visuals = load_urdf(ARM).visuals
    assert [(v.frame, v.collision) for v in visuals] == [
        ("base", False),
        ("base", True),
        ("upper", False),
        ("finger", True),
    ]
    assert visuals[0].shape == geometry.Box((0.1, 0.2, 0.3))
    assert visuals[0].color == (0.5, 0.5, 0.5, 1)
    assert visuals[0].placement[2, 3] == 0.15
    assert visuals[1].shape == geometry.Cylinder(0.1, 0.3)
    mesh = visuals[2].shape
    assert mesh == geometry.Mesh("package://arm/upper.stl", (0.001, 0.001, 0.001), ARM.parent)
    assert visuals[3].shape == geometry.Sphere(0.01)


@pytest.mark.parametrize("filename", ["package://arm/meshes/a.stl", "meshes/a.stl", "file"])
def test_mesh_files_are_found_next_to_the_model_and_above_it(filename, tmp_path):
    target = tmp_path / "arm" / "meshes" / "a.stl"
    target.parent.mkdir(parents=True)
    target.touch()
    name = target.as_uri() if filename == "file" else filename
    assert geometry.find_mesh(geometry.Mesh(name, directory=tmp_path / "arm" / "urdf")) == target
    assert geometry.find_mesh(geometry.Mesh("package://arm/b.stl", directory=tmp_path)) is None
    assert geometry.find_mesh(geometry.Mesh("http://arm/a.stl")) is None


@pytest.mark.parametrize("strict", ["no", 1, None, np.zeros(2)])
def test_strict_is_true_or_false(strict):
    body = '<body name="a"><joint/><geom size="1"/></body>'
    link = '<link name="a"><inertial><mass>1</mass></inertial></link>'
    texts = {
        jc.load_urdf: '<robot name="r"><link name="a"/></robot>',
        jc.load_mjcf: f"<mujoco><worldbody>{body}</worldbody></mujoco>",
        jc.load_sdf: f'<sdf version="1.9"><model name="m">{link}</model></sdf>',
    }
    for reader, text in texts.items():
        with pytest.raises(jc.ArgumentError, match=r"^strict must be True or False, got"):
            reader(text, strict=strict)
