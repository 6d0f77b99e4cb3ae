"""Shapes of MJCF and SDF files, and capsules in URDF files, which its own reader does not know."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.io import geometry

EPS = np.finfo(float).eps

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 3), (1, 2, 3)]) * 0.1
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]


def obj() -> str:
    """A solid without symmetry, as a mesh file."""
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS)
    return points + "".join(f"f {a + 1} {b + 1} {c + 1}\n" for a, b, c in FACES)


def arm(geoms: str, assets: str = "", world: str = "") -> str:
    inertial = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    body = f'<body name="arm" pos="1 2 3"><joint/>{inertial}{geoms}</body>'
    compiler = '<compiler meshdir="parts"/>'
    inside = f"{compiler}<asset>{assets}</asset><worldbody>{world}{body}</worldbody>"
    return f"<mujoco>{inside}</mujoco>"


def test_sizes_of_geoms_are_halves():
    pytest.importorskip("mujoco")
    geoms = """<geom type="box" size="1 2 3"/><geom type="sphere" size="0.5"/>
    <geom type="ellipsoid" size="1 2 3"/><geom type="cylinder" size="1 2"/>
    <geom type="capsule" fromto="0 0 1 0 0 2" size="0.1"/>"""
    model = jc.load_mjcf(arm(geoms))
    assert [visual.shape for visual in model.visuals] == [
        geometry.Box((2, 4, 6)),
        geometry.Sphere(0.5),
        geometry.Ellipsoid((1, 2, 3)),
        geometry.Cylinder(1, 4),
        geometry.Capsule(0.1, 1),
    ]
    assert np.allclose(model.visuals[-1].placement[:3, 3], [0, 0, 1.5], atol=4 * EPS)
    assert {visual.frame for visual in model.visuals} == {"arm"}


def test_colors_of_materials_count_where_a_geom_has_none():
    pytest.importorskip("mujoco")
    material = '<material name="red" rgba="1 0 0 0.5"/>'
    geoms = """<geom size="1"/><geom size="1" material="red"/><geom size="1" rgba="0 0 1 1"/>
    <geom size="1" material="red" rgba="0 1 0 1" group="3"/><geom size="1" rgba="0 0 0 0"/>"""
    visuals = jc.load_mjcf(arm(geoms, material)).visuals
    assert [visual.color for visual in visuals] == [
        None, (1, 0, 0, 0.5), (0, 0, 1, 1), (0, 1, 0, 1)]  # fmt: skip
    assert [visual.collision for visual in visuals] == [False, False, False, True]


def test_shapes_of_the_world_have_a_frame():
    pytest.importorskip("mujoco")
    geom = '<geom type="plane" size="1 2 1" pos="0 0 -1"/>'
    ground = jc.load_mjcf(arm("", world=geom))
    assert (ground.visuals[0].frame, ground.frames["world"].body) == ("world", -1)
    assert ground.visuals[0].shape == geometry.Plane((2, 4))
    marked = jc.load_mjcf(arm("", world=geom + '<site name="mark" pos="0 0 5"/>'))
    assert marked.visuals[0].frame == "mark"
    assert marked.visuals[0].placement[2, 3] == -6


@pytest.mark.parametrize("inertial", [True, False])
def test_points_of_meshes_are_where_mujoco_has_them(tmp_path, inertial):
    """Whether it reads the file, for inertias, or not: MuJoCo moves meshes to their centers."""
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "solid.obj").write_text(obj())
    asset = """<mesh file="solid.obj" refpos=".1 .2 .3" refquat="1 .2 .3 .1" scale="2 2 2"/>
    <mesh name="flat" file="solid.obj" scale="1 2 .5" refpos=".1 0 0"/>"""
    geoms = """<geom type="mesh" mesh="solid" pos="1 2 3" quat="1 .1 .2 .3"/>
    <geom type="mesh" mesh="flat"/>"""
    text = arm(geoms, asset)
    if not inertial:
        text = text.replace('<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>', "")
    path = tmp_path / "arm.xml"
    path.write_text(text)
    theirs, model = mujoco.MjModel.from_xml_path(str(path)), jc.load(path)
    assert len(model.visuals) == 2
    for k, visual in enumerate(model.visuals):
        assert geometry.find_mesh(visual.shape) == tmp_path / "parts" / "solid.obj"
        first, count = theirs.mesh_vertadr[k], theirs.mesh_vertnum[k]
        turn = lie.quat_to_matrix(np.roll(theirs.geom_quat[k], -1))
        points = theirs.mesh_vert[first : first + count] @ turn.T + theirs.geom_pos[k]
        scaled = CORNERS * visual.shape.scale
        ours = scaled @ visual.placement[:3, :3].T + visual.placement[:3, 3]
        single = np.finfo(np.float32).eps * np.abs(ours).max()  # the precision of their points
        apart = np.linalg.norm(points[:, None] - ours, axis=-1)
        assert apart.min(axis=0).max() < 8 * single


def test_a_missing_mesh_leaves_the_rest():
    pytest.importorskip("mujoco")
    asset = '<mesh name="lost" file="lost.stl"/>'
    geoms = '<geom type="mesh" mesh="lost"/><geom type="box" mesh="lost"/><geom size="2"/>'
    shapes = [visual.shape for visual in jc.load_mjcf(arm(geoms, asset)).visuals]
    assert shapes[0].filename == "lost.stl"
    assert shapes[1:] == [geometry.Sphere(2)]  # the size of a box around no mesh is unknown


def test_what_a_file_says_of_a_mesh_does_not_keep_it_from_loading():
    pytest.importorskip("mujoco")
    asset = '<mesh name="lost" file="lost.stl" inertia="odd"/>'
    geoms = '<geom type="mesh" mesh="lost"/><geom size="2"/>'
    shapes = [visual.shape for visual in jc.load_mjcf(arm(geoms, asset)).visuals]
    assert shapes == [geometry.Sphere(2)]


def test_a_model_of_mujoco_brings_its_shapes():
    mujoco = pytest.importorskip("mujoco")
    compiled = mujoco.MjModel.from_xml_string(arm('<geom name="ball" size="1"/>'))
    (visual,) = jc.interop.mujoco.model(compiled).visuals
    assert (visual.name, visual.shape) == ("ball", geometry.Sphere(1))


def sdf(shapes: str) -> str:
    link = f'<link name="arm"><pose>1 2 3 0.1 0.2 0.3</pose>{shapes}</link>'
    frame = '<frame name="mark"><pose>0.3 0.2 0.1 1 2 3</pose></frame>'
    joint = """<joint name="pivot" type="revolute"><parent>world</parent><child>arm</child>
    <axis><xyz>0 0 1</xyz></axis></joint>"""
    return f'<sdf version="1.9"><model name="m">{frame}{link}{joint}</model></sdf>'


def visual(shape: str, more: str = "", tag: str = "visual") -> str:
    return f'<{tag} name="x">{more}<geometry>{shape}</geometry></{tag}>'


def test_shapes_of_sdf(tmp_path):
    color = "<material><diffuse>1 0.5 0 1</diffuse></material><transparency>0.5</transparency>"
    shapes = [
        visual("<box><size>1 2 3</size></box>", color),
        visual("<sphere><radius>1</radius></sphere>", tag="collision"),
        visual("<cylinder><radius>1</radius><length>2</length></cylinder>"),
        visual("<capsule><radius>1</radius><length>2</length></capsule>"),
        visual("<ellipsoid><radii>1 2 3</radii></ellipsoid>"),
        visual("<plane><normal>0 1 0</normal><size>1 2</size></plane>"),
        visual("<mesh><uri>model://m/solid.obj</uri><scale>1 2 3</scale></mesh>"),
        visual("<heightmap/>"),
    ]
    path = tmp_path / "arm.sdf"
    path.write_text(sdf("".join(shapes)))
    found = jc.load(path).visuals
    assert [visual.shape for visual in found] == [
        geometry.Box((1, 2, 3)),
        geometry.Sphere(1),
        geometry.Cylinder(1, 2),
        geometry.Capsule(1, 2),
        geometry.Ellipsoid((1, 2, 3)),
        geometry.Plane((1, 2)),
        geometry.Mesh("model://m/solid.obj", (1, 2, 3), tmp_path),
    ]
    assert (found[0].color, found[1].color) == ((1, 0.5, 0, 0.5), None)
    assert [k for k, visual in enumerate(found) if visual.collision] == [1]
    assert np.allclose(found[5].placement[:3, 2], [0, 1, 0], atol=EPS)


def test_poses_of_shapes_are_those_of_frames():
    sphere = "<sphere><radius>1</radius></sphere>"
    pose = '<pose relative_to="mark">0.5 0.6 0.7 0.1 0.2 0.3</pose>'
    with_frame = sdf(visual(sphere, pose)).replace(
        "<link", f'<frame name="same">{pose}</frame><link', 1
    )
    model = jc.load_sdf(with_frame)
    q = jc.neutral(model)
    (shape,) = model.visuals
    ours = jc.body_pose(model, q, shape.frame) @ shape.placement
    assert np.allclose(ours, jc.body_pose(model, q, "same"), atol=16 * EPS)


def test_a_malformed_shape_of_sdf_does_not_lose_the_robot():
    text = sdf(visual("<box><size>1 2</size></box>") + visual("<sphere/>"))
    with pytest.warns(jc.ModelWarning, match="expected 3 numbers") as caught:
        assert jc.load_sdf(text).visuals == ()
    assert "<radius> is missing" in str(caught[0].message)
    with pytest.raises(jc.ModelError, match="expected 3 numbers"):
        jc.load_sdf(text, strict=True)


def test_capsules_in_urdf_are_shapes_that_it_knows(tmp_path):
    pin = pytest.importorskip("pinocchio")
    model = jc.models.quadruped()
    capsules = [v for v in model.visuals if isinstance(v.shape, geometry.Capsule)]
    path = tmp_path / "quadruped.urdf"
    jc.save(model, path)
    assert "<capsule" not in path.read_text()
    again = jc.load(path, base="free").visuals
    assert [visual.shape for visual in again] == [visual.shape for visual in model.visuals]
    theirs = pin.buildModelFromUrdf(str(path))
    drawn = pin.buildGeomFromUrdf(theirs, str(path), pin.GeometryType.VISUAL)
    assert drawn.ngeoms == len(model.visuals) + 2 * len(capsules)
