"""Pictures of robots without a browser."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

pytest.importorskip("trimesh")
Figure = pytest.importorskip("matplotlib.figure").Figure


def drawn(model, q=None, **options):
    axes = Figure().add_subplot()
    jc.viewer.draw_robot(axes, model, q, **options)
    return axes


def corners(axes):
    return np.concatenate([path.vertices for path in axes.collections[-1].get_paths()])


def test_a_robot_is_as_tall_as_it_is():
    """Seen from the side, the height of the picture is that of the robot."""
    model = jc.models.humanoid()
    points = corners(drawn(model, view=(0.0, -90.0)))
    assert points[:, 1].min() == pytest.approx(0, abs=1e-6)
    head = jc.body_pose(model, model.poses["standing"], "head")[2, 3]
    assert points[:, 1].max() == pytest.approx(head + 0.14 + 0.082, abs=1e-3)


def test_an_offset_moves_it_and_its_shadow_is_optional():
    model = jc.models.quadruped()
    one, other = (corners(drawn(model, offset=(0, 0, z))) for z in (0.0, 0.5))
    up = np.cos(np.radians(14.0))
    np.testing.assert_allclose(other - one, [[0, 0.5 * up]] * len(one), atol=1e-9)
    assert len(drawn(model, ground=False).collections) == 1


def test_coordinates_must_fit():
    with pytest.raises(jc.ArgumentError, match=r"q must have shape \(19,\), got \(3,\)"):
        drawn(jc.models.quadruped(), [1.0, 2.0, 3.0])
