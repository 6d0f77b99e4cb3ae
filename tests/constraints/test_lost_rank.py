"""What is said where rows lose their rank, and of which state of a batch."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(3)
HELD = jc.Constraints(ARM, [jc.Distance("body2", "body0")])
BENT, STRETCHED, STILL = np.array([0.1, 0.5, 0.3]), np.array([0.1, 0.0, 0.3]), np.zeros(3)
LOST = "of 1 rows 0 are independent where it begins and 1 nearby .* no step, however short"


@pytest.mark.parametrize("projection", [True, False])
def test_linearizations_of_mixed_ranks_say_the_same(projection):
    q, message = np.stack([BENT, STRETCHED]), "manifolds of different dimensions in the states"
    with pytest.raises(jc.ArgumentError, match=message) as plain:
        jc.linearize(ARM, q, STILL, STILL, constraints=HELD)
    with pytest.raises(jc.ArgumentError, match=message) as step:
        jc.linearize_step(ARM, q, STILL, STILL, 0.01, constraints=HELD, projection=projection)
    assert str(step.value) == str(plain.value)


CALLS = {
    "linearize_step": lambda v: jc.linearize_step(ARM, STRETCHED, v, v, 0.01, constraints=HELD),
    "step": lambda v: jc.step(ARM, STRETCHED, v, STILL, 0.01, constraints=HELD),
    "rollout": lambda v: jc.rollout(ARM, STRETCHED, v, [STILL] * 2, 0.01, constraints=HELD),
    "taylor": lambda v: jc.rollout(
        ARM, STRETCHED, v, [STILL] * 2, 0.01, constraints=HELD, method="taylor"
    ),
    "simulate": lambda v: jc.simulate(
        ARM, STRETCHED, v, [0.0, 0.1], constraints=HELD, method="taylor"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_shorter_step_is_advised_where_the_rank_is_lost(name):
    with pytest.raises(jc.DivergenceError, match=LOST) as error:
        CALLS[name](np.array([0.0, 0.5, 0.0]))
    assert "shorter dt" not in str(error.value)


def test_steps_that_are_too_long_are_still_advised_to_be_shorter():
    robot, v = jc.models.aerial_manipulator(), np.zeros(12)
    c = jc.Constraints(robot, [jc.Weld("B4")])
    q, tau = jc.integrate(robot, jc.neutral(robot), 0.1 * np.arange(12)), np.full((3, 12), 1e9)
    with pytest.raises(jc.DivergenceError, match="take a shorter dt"):
        jc.rollout(robot, q, v, tau, 1.0, constraints=c)


def test_a_start_that_violates_is_named_by_its_place_in_the_batch_if_there_is_one():
    t, wrong = [0.0, 0.1], np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    for call in (
        lambda q, v: jc.simulate(ARM, q, v, t, constraints=HELD),
        lambda q, v: jc.rollout(ARM, q, v, np.zeros((2, 3)), 0.1, constraints=HELD),
    ):
        with pytest.raises(jc.ArgumentError, match=r"v0 violates Distance\(.body2., .body0.\) by"):
            call(BENT, wrong[1])
        place = r"v0 violates Distance\(.body2., .body0.\) in state \[1\] of the batch by"
        with pytest.raises(jc.ArgumentError, match=place):
            call(BENT, wrong)
        with pytest.raises(jc.ArgumentError, match=place.replace("1", "0, 1")):
            call(BENT, wrong[None])


def test_a_state_that_leaves_its_constraints_is_named():
    v = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    q = np.stack([BENT, STRETCHED])
    message = r"the motion of state 1 leaves its constraints: .*'body0'\) is still"
    with pytest.raises(jc.DivergenceError, match=message):
        jc.simulate(ARM, q, v, [0.0, 0.1], constraints=HELD)


def test_sets_are_equal_by_what_they_hold():
    weld = jc.Weld("body2", target=np.eye(4))
    c = jc.Constraints(ARM, [weld, jc.Coupling({"joint0": 1.0})], stabilization=(1.0, 2.0))
    for same in (pickle.loads(pickle.dumps(c)), copy.deepcopy(c), jc.Constraints(ARM, c.items)):
        same = jc.Constraints(same.model, same.items, stabilization=(1.0, 2.0))
        assert c == same
        assert hash(c) == hash(same)
    others = [
        c.stabilized(0.0),
        jc.Constraints(ARM, c.items, stabilization=(1.0, 2.0), tolerance=1e-3),
        jc.Constraints(ARM, c.items[:1], stabilization=(1.0, 2.0)),
        jc.Constraints(jc.models.chain(4), c.items, stabilization=(1.0, 2.0)),
        None,
    ]
    assert all(c != x for x in others)
    assert len({c, *others[:4], pickle.loads(pickle.dumps(c))}) == 5


def test_a_motion_that_is_not_finite_is_told_with_its_place():
    with pytest.raises(jc.ArgumentError, match=r"motion must be finite, got nan at \[1, 2\]"):
        jc.Point("body2", motion=[[0, 0, 0], [0, 0, np.nan]])
    with pytest.raises(jc.ArgumentError, match=r"motion must be finite, got inf at \[0, 0\]"):
        jc.Distance("body2", motion=[np.inf])
    with pytest.raises(jc.ArgumentError, match=r"of shape \(k, 3\), got shape \(1, 2\)"):
        jc.Point("body2", motion=[[0, 0]])
