"""Shapes as triangles; mesh files from the folders of the model, from nowhere else."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jounce as jc
from jounce.io import geometry
from jounce.viewer import meshes
from jounce.viewer.parts import parts_of

trimesh = pytest.importorskip("trimesh")

SHAPES = [
    (geometry.Box((0.1, 0.2, 0.3)), 0.006, (0.05, 0.1, 0.15)),
    (geometry.Sphere(0.2), 4 / 3 * np.pi * 0.008, (0.2, 0.2, 0.2)),
    (geometry.Ellipsoid((0.1, 0.2, 0.3)), 4 / 3 * np.pi * 0.006, (0.1, 0.2, 0.3)),
    (geometry.Cylinder(0.1, 0.4), np.pi * 0.004, (0.1, 0.1, 0.2)),
    (geometry.Capsule(0.1, 0.4), np.pi * (0.004 + 4 / 3 * 0.001), (0.1, 0.1, 0.3)),
]


@pytest.mark.parametrize(("shape", "volume", "reach"), SHAPES)
def test_surfaces_enclose_the_volume(shape, volume, reach):
    piece = meshes.triangles(shape)
    np.testing.assert_allclose(np.abs(piece.vertices).max(axis=0), reach, rtol=0.01)
    assert trimesh.Trimesh(piece.vertices, piece.faces).volume == pytest.approx(volume, rel=0.03)


def test_a_plane_without_limits_is_drawn_with_some():
    assert np.ptp(meshes.triangles(geometry.Plane((0.0, 2.0))).vertices, axis=0)[1] == 2
    with pytest.raises(TypeError, match="is a file"):
        meshes.triangles(geometry.Mesh("a.stl"))


@pytest.fixture
def package(tmp_path):
    """A package with a model's folder, meshes beside it, and files outside of it."""
    for folder in ("home/arm/urdf", "home/arm/meshes", "home/hand/meshes", "home/other", "lib"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "home/hand/package.xml").write_text("<package/>")
    cube = trimesh.creation.box(extents=(1, 2, 3))
    for name in ("arm/urdf/a.stl", "arm/meshes/b.stl", "hand/meshes/c.stl", "other/d.stl"):
        cube.export(tmp_path / "home" / name)
    (tmp_path / "home/arm/urdf/link.stl").symlink_to(tmp_path / "home/other/d.stl")
    (tmp_path / "home/arm/meshes/notes.txt").write_text("private")
    return tmp_path / "home"


ALLOWED = {
    "a.stl": "arm/urdf/a.stl",
    "../meshes/b.stl": "arm/meshes/b.stl",
    "package://arm/meshes/b.stl": "arm/meshes/b.stl",
    "package://hand/meshes/c.stl": "hand/meshes/c.stl",
}
REFUSED = [
    "../../other/d.stl",
    "package://other/d.stl",
    "package://arm/../other/d.stl",
    "link.stl",
    "FILE/other/d.stl",
    "file://FILE/other/d.stl",
]


@pytest.mark.parametrize("name", ALLOWED)
def test_meshes_of_the_package_are_found(package, name):
    mesh = geometry.Mesh(name, directory=package / "arm/urdf")
    assert meshes.mesh_file(mesh) == (package / ALLOWED[name]).resolve()


@pytest.mark.parametrize("name", REFUSED)
def test_meshes_elsewhere_are_not_read(package, name):
    mesh = geometry.Mesh(name.replace("FILE", str(package)), directory=package / "arm/urdf")
    with pytest.warns(jc.ModelWarning, match="is not read: .*d.stl is outside of the folders"):
        assert meshes.mesh_file(mesh) is None
    assert meshes.mesh_file(mesh, [package / "other"]) is not None


def test_meshes_that_are_missing_or_no_meshes(package):
    where = package / "arm/urdf"
    with pytest.warns(jc.ModelWarning, match="'nothing.stl' is not found"):
        assert meshes.mesh_file(geometry.Mesh("nothing.stl", directory=where)) is None
    with pytest.warns(jc.ModelWarning, match="none of the formats stl, obj"):
        assert meshes.mesh_file(geometry.Mesh("../meshes/notes.txt", directory=where)) is None
    with pytest.warns(jc.ModelWarning, match="is not read"):
        assert meshes.mesh_file(geometry.Mesh(f"file://{package}/other/d.stl")) is None
    (where / "bad.stl").write_bytes(b"solid no\n")
    with pytest.warns(jc.ModelWarning, match=r"bad.stl cannot be read"):
        assert meshes.pieces_of_file(where / "bad.stl", (1.0, 1.0, 1.0)) == []


@pytest.mark.parametrize("kind", ["stl", "obj", "dae", "ply"])
def test_files_of_all_formats_are_read(tmp_path, kind):
    if kind == "dae":
        pytest.importorskip("collada")
    trimesh.creation.box(extents=(1, 2, 3)).export(tmp_path / f"cube.{kind}")
    (piece,) = meshes.pieces_of_file(tmp_path / f"cube.{kind}", (1.0, 1.0, -0.5))
    np.testing.assert_allclose(np.ptp(piece.vertices, axis=0), (1, 2, 1.5), rtol=1e-6)
    assert trimesh.Trimesh(piece.vertices, piece.faces).volume == pytest.approx(3)


def test_lengths_of_collada_are_brought_to_meters(tmp_path):
    pytest.importorskip("collada")
    text = trimesh.creation.box(extents=(1, 2, 3)).export(file_type="dae").decode()
    unit = '<unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis>'
    text = re.sub(r"<up_axis>.*</up_axis>", unit, text)
    assert unit in text
    (tmp_path / "c.dae").write_text(text)
    (piece,) = meshes.pieces_of_file(tmp_path / "c.dae", (1.0, 1.0, 1.0))
    np.testing.assert_allclose(np.ptp(piece.vertices, axis=0), (0.01, 0.02, 0.03), rtol=1e-6)


def test_materials_come_from_the_folder_of_the_mesh_only(tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    material = "newmtl red\nKd 1.0 0.0 0.0\n"
    (folder / "own.mtl").write_text(material)
    (tmp_path / "other.mtl").write_text(material)
    shape = "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl red\nf 1/1 2/1 3/1\n"
    (folder / "a.obj").write_text("mtllib own.mtl\n" + shape)
    (folder / "b.obj").write_text("mtllib ../other.mtl\n" + shape)
    (own,) = meshes.pieces_of_file(folder / "a.obj", (1.0, 1.0, 1.0))
    (other,) = meshes.pieces_of_file(folder / "b.obj", (1.0, 1.0, 1.0))
    assert own.color == (1.0, 0.0, 0.0, 1.0)
    assert other.color != own.color


@pytest.mark.parametrize(("place", "shown"), [("", 0), ('pos="0 0 0.3"', 1), ('euler="0 20 0"', 1)])
def test_the_ground_is_left_out_but_ramps_and_tables_are_not(tmp_path, place, shown):
    file = tmp_path / "scene.xml"
    file.write_text(
        f"""<mujoco><worldbody><geom type="plane" size="0 0 1" {place}/>
        <body><joint/><geom size="0.1"/></body></worldbody></mujoco>"""
    )
    pytest.importorskip("mujoco")
    assert len(parts_of(jc.load(file))) == 1 + shown
