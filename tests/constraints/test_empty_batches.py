"""No states under constraints move without errors, whatever the constraints are."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.random_tree(4, 1, first="free")
LAST, SECOND = MODEL.body_names[-1], MODEL.body_names[1]
SETS = {
    "none": [],
    "where it is": [jc.Point(LAST)],
    "somewhere": [jc.Point(LAST, target=np.zeros(3))],
    "moving": [jc.Point(LAST, target=np.zeros(3), motion=[[0.1, 0.0, 0.0]])],
    "moving from where it is": [jc.Point(LAST, motion=[[0.1, 0.0, 0.0]])],
    "rolling": [jc.Rolling(LAST, 0.1)],
    "two": [jc.Point(LAST), jc.Distance(SECOND, target=0.5)],
}
Q, V, TAU = np.zeros((0, MODEL.nq)), np.zeros((0, MODEL.nv)), np.zeros((0, 3, MODEL.nv))
METHODS = ("rkmk4", "taylor", "semi_implicit_euler")


@pytest.mark.parametrize("gains", [(0.0,), (10.0,), (10.0, 20.0)])
@pytest.mark.parametrize("name", SETS)
def test_no_states_take_no_steps(name, gains):
    c = jc.Constraints(MODEL, SETS[name], tolerance=np.inf).stabilized(*gains)
    for method in METHODS:
        options = {"method": method, "constraints": c}
        assert jc.step(MODEL, Q, V, TAU[:, 0], 0.1, **options).q.shape == (0, MODEL.nq)
        assert jc.rollout(MODEL, Q, V, TAU, 0.1, **options).q.shape == (0, 4, MODEL.nq)
        assert len(jc.linearize_step(MODEL, Q, V, TAU[:, 0], 0.1, **options).A) == 0


@pytest.mark.parametrize("gains", [(0.0,), (10.0,), (10.0, 20.0)])
@pytest.mark.parametrize("name", SETS)
def test_no_states_move(name, gains):
    c = jc.Constraints(MODEL, SETS[name], tolerance=np.inf).stabilized(*gains)
    for method in ("dop853", "taylor", "rkmk4"):
        options = {"method": method, "dt": 0.1 if method == "rkmk4" else None, "constraints": c}
        for passive in (False, method != "taylor"):
            got = jc.simulate(MODEL, Q, V, [0.0, 0.1, 0.2], passive=passive, **options)
            assert (got.q.shape, got.v.shape) == ((0, 3, MODEL.nq), (0, 3, MODEL.nv))
