"""What `check` says of motions that ended by themselves, and of batches."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(2)
TIMES = np.linspace(0.0, 1.0, 11)
Q = np.array([[0.4, 0.1], [-0.3, 0.2]])
V = np.array([[0.0, 0.0], [0.0, 0.0]])
ENDING = jc.coordinate_event(ARM, "joint0", 0.0, terminal=True, direction=-1)
"""Ends the first state within a second, not the second one."""

ROWS = 0.5 * np.sin(3 * TIMES)[:, None] * np.array([1.0, -1.0])
REFERENCE = 0.3 * np.cos(TIMES)[:, None] * np.ones(2)
CONTROLS = {
    "linear rows": ROWS,
    "constant rows": ROWS[:-1],
    "servo": jc.Control(kp=3.0, kd=0.5, q_ref=REFERENCE),
    "passive": jc.Control(passive=True),
    "function": lambda t, q, v: jc.gravity_forces(ARM, q) * 0.5,
}


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("one", [True, False])
@pytest.mark.parametrize("name", CONTROLS)
def test_the_control_of_a_motion_that_ended_is_taken(name, one, dense, tmp_path):
    control = CONTROLS[name]
    start = (Q[0], V[0]) if one else (Q, V)
    tight = {"rtol": 1e-10, "atol": 1e-10, "dense": dense}
    got = jc.simulate(ARM, *start, TIMES, control, events=[ENDING], **tight)
    assert np.isfinite(got.ended).tolist() == (True if one else [True, False])
    allowed = 1e-5 if dense else 2e-2  # the fifth degree between times 0.1 s apart
    got.save(tmp_path / "x")
    loaded = jc.SimulatedMotion.load(tmp_path / "x", ARM)
    for motion in (got, got[:3], got[::-1], loaded):
        found = motion.check(control)
        assert np.max(found.defect) < allowed
        assert np.max(found.power) < allowed
    if name not in ("passive", "function"):
        assert np.max(got.check().defect) > 0.05


def test_rows_of_other_times_are_refused():
    got = jc.simulate(ARM, Q[0], V[0], TIMES, ROWS, events=[ENDING])
    with pytest.raises(jc.ArgumentError, match="must have 11 or 10 rows, as for the times of the"):
        got.check(ROWS[:4])


@pytest.mark.parametrize("flip", [False, True])
def test_cubics_end_where_the_states_do(flip):
    got = jc.simulate(ARM, Q, V, TIMES, events=[ENDING])
    last = int(np.flatnonzero(got.ended[0] > TIMES)[-1])
    times = [0.05, TIMES[last], TIMES[last] + 1e-3, 0.95, 1.0]
    found = (got[::-1] if flip else got).at(times, approximate=True)
    exact = got.at(times)
    for near, true in zip(found, exact, strict=True):
        assert np.isnan(near[0, 2:]).all()
        np.testing.assert_allclose(near[0, :2], true[0, :2], atol=2e-3)
        np.testing.assert_allclose(near[1], true[1], atol=2e-3)
        np.testing.assert_allclose(near[0, 1], true[0, 1], atol=1e-12)  # a time of its own


@pytest.mark.parametrize("damping", [None, lambda t, q, v: -np.array([1.5, 0.6]) * v])
def test_a_state_is_judged_as_if_it_were_alone(damping):
    """A fast one that ends soon, beside a slow one with more steps, all of them longer."""
    q, v = np.array([[0.0, 0.0], [0.02, 0.0]]), np.array([[40.0, -30.0], [0.0, 0.0]])
    given = [0.0, 9.0], damping
    ends = {"events": [jc.Event(lambda t, q, v: q[0] - 3.0, terminal=True)]}
    found = jc.simulate(ARM, q, v, *given, **ends).check(damping)
    for k in range(2):
        alone = jc.simulate(ARM, q[k], v[k], *given, **ends).check(damping)
        assert 0.5 * alone.power < found.power[k] < 3 * alone.power < 1e-6
        assert 0.5 * alone.defect < found.defect[k] < 3 * alone.defect


def test_a_motion_without_times_has_nothing_between_and_no_errors():
    none = jc.simulate(ARM, Q, V, TIMES)[5:5]
    for approximate in (False, True):
        with pytest.raises(jc.ArgumentError, match="this motion has no times"):
            none.at([0.5], approximate=approximate)
    found = none.check()
    assert found.momentum.shape == (2, 6)
    assert not any(np.any(x) for x in found)


@pytest.mark.parametrize("method", ["dop853", "taylor", "rkmk4"])
@pytest.mark.parametrize("events", [None, [ENDING]])
def test_an_empty_batch_is_empty_between_its_times(method, events):
    options = {"dt": 0.05} if method == "rkmk4" else {}
    start = np.zeros((0, 2)), np.zeros((0, 2))
    none = jc.simulate(ARM, *start, TIMES, None, method, events=events, **options)
    for approximate in (False, True):
        assert [x.shape for x in none.at([0.1, 0.2, 0.3], approximate=approximate)] == 2 * [
            (0, 3, 2)
        ]
    assert none.check().power.shape == (0,)


def test_files_are_no_folders(tmp_path):
    (tmp_path / "file").write_text("")
    got = jc.simulate(ARM, Q, V, TIMES)
    with pytest.raises(jc.MissingFileError, match="there is no folder for"):
        got.save(tmp_path / "file" / "motion")


def test_times_of_a_control_in_a_file_must_be_times(tmp_path):
    jc.simulate(ARM, Q[0], V[0], TIMES, ROWS, events=[ENDING]).save(tmp_path / "x")
    parts = dict(np.load(tmp_path / "x.npz"))
    np.testing.assert_array_equal(parts["control_t"], TIMES)
    np.savez(tmp_path / "y.npz", **(parts | {"control_t": TIMES[::-1]}))
    with pytest.raises(jc.ArgumentError, match=r"holds no motion.* t must increase"):
        jc.SimulatedMotion.load(tmp_path / "y", ARM)
