"""The robots of example-robot-data load, and agree with Pinocchio."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from real_robots import ROBOTS, built_by_pinocchio, load_quietly

from jounce import cli
from jounce.errors import ModelError
from jounce.io import load_urdf

pytest.importorskip("lxml")


def impossible(path: Path) -> bool:
    """Whether a link breaks the inequalities of an inertia, by Pinocchio's reading of it."""
    pin = pytest.importorskip("pinocchio")
    from lxml import etree

    for link in etree.parse(path).getroot().iter("inertial"):
        mass = float(link.find("mass").get("value"))
        values = {key: float(text) for key, text in link.find("inertia").items()}
        order = ("ixx", "ixy", "iyy", "ixz", "iyz", "izz")
        tensor = pin.Symmetric3(np.array([values[key] for key in order])).matrix()
        low, middle, high = np.linalg.eigvalsh(tensor)
        slack = 1e-6 * max(abs(low), abs(high)) + mass * 1e-6**2  # a radius of a micrometer
        if low < -slack or low + middle < high - slack or (mass == 0 and tensor.any()):
            return True
    return False


def test_all_robots_load_and_those_with_impossible_inertias_warn_once():
    warned = set()
    for path in ROBOTS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load_urdf(path)
        assert len(caught) <= 1
        if caught:
            assert "no rigid body can have" in str(caught[0].message)
            warned.add(path)
    assert len(ROBOTS) >= 60
    assert warned == {path for path in ROBOTS if impossible(path)}
    assert len(warned) >= 16


@pytest.mark.long
def test_vendor_tags_and_doubtful_inertias_are_no_faults_of_structure(capsys):
    """`jounce check` has a code for each class; one robot mimics a joint that is not there."""
    codes = {path.name: cli.main(["check", str(path)]) for path in ROBOTS}
    capsys.readouterr()
    assert set(codes.values()) <= {0, 1, 3, 4}
    assert [name for name, code in codes.items() if code == 1] == ["alex_psyonic_hands.urdf"]
    assert all(codes[path.name] in (1, 3) for path in ROBOTS if impossible(path))
    assert sum(code in (0, 4) for code in codes.values()) >= 0.7 * len(codes)


def test_strict_refuses_every_robot_that_warns():
    for path in ROBOTS:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            load_urdf(path)
        if caught:
            with pytest.raises(ModelError):
                load_urdf(path, strict=True)


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_joints_placements_and_inertias_agree_with_pinocchio(path):
    pytest.importorskip("pinocchio")
    reference, model = built_by_pinocchio(str(path), "fixed"), load_quietly(str(path), base="fixed")
    names = list(reference.names)[1:]
    assert sorted(names) == sorted(model.joint_names)
    if not names:
        return
    indices = [names.index(name) + 1 for name in model.joint_names]
    parents = [reference.parents[i] for i in indices]
    ours = [indices[p] if p >= 0 else 0 for p in model.parents]
    assert parents == ours
    poses = np.array([reference.jointPlacements[i].homogeneous for i in indices])
    np.testing.assert_allclose(model.nodes.placement, poses, rtol=0, atol=1e-14)
    inertias = np.array([reference.inertias[i].toDynamicParameters() for i in indices])
    scale = np.abs(inertias).max()
    np.testing.assert_allclose(model.inertias, inertias, rtol=1e-12, atol=1e-14 * scale)


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_axes_and_limits_agree_with_pinocchio(path):
    pytest.importorskip("pinocchio")
    reference, model = built_by_pinocchio(str(path), "fixed"), load_quietly(str(path), base="fixed")
    for k, name in enumerate(model.joint_names):
        theirs = reference.joints[reference.getJointId(name)]
        screw = np.ravel(theirs.createData().S)[[3, 4, 5, 0, 1, 2]]
        np.testing.assert_allclose(
            model.nodes.screws[:, model.v_slice(k)][:, 0], screw, rtol=0, atol=1e-14
        )
        assert model.effort_limit[model.v_slice(k)] == reference.upperEffortLimit[theirs.idx_v]
        if model.joints[k].type != "continuous" and np.isfinite(model.lower[model.q_slice(k)]):
            assert model.lower[model.q_slice(k)] == reference.lowerPositionLimit[theirs.idx_q]
            assert model.upper[model.q_slice(k)] == reference.upperPositionLimit[theirs.idx_q]
