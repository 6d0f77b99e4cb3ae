"""Bodies and frames below a merged body keep its offset, placed or not."""

import numpy as np
import pytest

import jounce as jc

OFFSET = (1.0, 2.0, 3.0)


def robot(placement):
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="revolute", mass=1.0)
    builder.add_body("mount", "base", placement=OFFSET, mass=2.0)
    builder.add_body("hand", "mount", joint="revolute", placement=placement, mass=1.0)
    builder.add_body("plate", "mount", placement=placement, mass=1.0)
    builder.add_frame("tip", "mount", placement)
    return builder.build()


@pytest.mark.parametrize("name", ["hand", "plate", "tip"])
@pytest.mark.parametrize("placement", [None, (0.5, 0.0, 0.0)])
def test_what_hangs_below_a_merged_body_keeps_its_offset(name, placement):
    model = robot(placement)
    pose = jc.body_pose(model, jc.neutral(model), name)
    np.testing.assert_allclose(pose[:3, 3], np.add(OFFSET, placement or (0.0, 0.0, 0.0)))


def test_masses_of_merged_bodies_sit_where_they_were_placed():
    model = robot(None)
    np.testing.assert_allclose(jc.center_of_mass(model, jc.neutral(model)), np.array(OFFSET) * 0.8)
