"""Large arrays whose numbers lie or are written otherwise than kernels read them."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import _core
from jounce._core import memory

ARM = jc.models.chain(3)
MANY = 3 * 10**6  # 72 MB of coordinates: large ones are looked at before they are copied


@pytest.fixture(scope="module")
def q():
    return np.random.default_rng(0).uniform(-1, 1, (MANY, 3))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param("strided", marks=pytest.mark.long),
        pytest.param("float32", marks=pytest.mark.long),
        "fortran",
        pytest.param("another order of bytes", marks=pytest.mark.long),
    ],
)
def test_numbers_are_read_wherever_they_lie(given, q):
    made = {
        "strided": lambda: np.repeat(q[:, None], 2, axis=1)[:, 0],
        "float32": lambda: q.astype(np.float32),
        "fortran": lambda: np.asfortranarray(q),
        "another order of bytes": lambda: q.astype(">f8"),
    }[given]()
    got = jc.gravity_forces(ARM, made)
    np.testing.assert_array_equal(got, jc.gravity_forces(ARM, np.array(made, float, order="C")))


def test_one_state_that_is_repeated_is_not_copied(q):
    many = np.broadcast_to(q[0], q.shape)
    tau = jc.inverse_dynamics(ARM, many, q, q)
    np.testing.assert_array_equal(tau, jc.inverse_dynamics(ARM, q[0], q, q))
    alone = jc.gravity_forces(ARM, many)
    np.testing.assert_array_equal(alone, np.broadcast_to(alone[0], q.shape))
    np.testing.assert_allclose(alone[0], jc.gravity_forces(ARM, q[0]), rtol=1e-14)


def test_copies_count_before_they_are_made(q, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 90 * 10**6)
    with pytest.raises(jc.TooLargeError, match="with its arguments and workspace"):
        jc.kinetic_energy(ARM, np.asfortranarray(q), q)
    jc.kinetic_energy(ARM, np.broadcast_to(q[0], q.shape), q)  # which needs no copy


def test_workspaces_count_before_they_are_made(monkeypatch):
    """Directions of large results fill all lanes of a pack of dual numbers, for one state, too."""
    arm = jc.models.chain(60)
    state = tuple(np.ones((3, 60)))
    monkeypatch.setattr(memory, "available", lambda: memory.LARGE)
    jc.inverse_dynamics_second_derivatives(arm, *state)  # 7 MB
    with pytest.raises(jc.TooLargeError, match=r"with its arguments and workspace,"):
        jc.jvp(jc.inverse_dynamics_second_derivatives, arm, state, (np.ones(60),))
    many = np.ones((3, 40, 30))
    arm = jc.models.chain(30)
    jc.forward_dynamics_derivatives(arm, *many, threads=2)


MASSES = jc.parameters(ARM, "mass")
HANDS = {name: np.zeros(6) for name in ARM.body_names}


@pytest.mark.parametrize("axis", [2**n for n in range(46, 56, 2)])
def test_empty_batches_have_results_or_are_too_large(axis):
    """An axis that is empty lets no other one be beyond what arrays can have."""
    q, x = np.empty((0, axis, 3)), np.empty((0, axis, 6))
    bodies, both = list(ARM.body_names) * 40, MASSES + jc.parameters(ARM, "placement")
    c = jc.Constraints(ARM, [jc.Coupling({"joint0": 1.0, "joint1": 1.0})])
    rows = np.broadcast_to(q[..., None, :], (0, axis, 2, 3))
    calls = {
        "body_pose": lambda: jc.body_pose(ARM, q, bodies),
        "kinetic": lambda: jc.parameter_derivatives(jc.kinetic_energy, ARM, (q, q), MASSES),
        "torques": lambda: jc.parameter_derivatives(jc.inverse_dynamics, ARM, (q, q, q), both),
        "wrenches": lambda: jc.parameter_derivatives(
            jc.external_wrenches, ARM, (q, HANDS), jc.parameters(ARM, "axis")
        ),
        "linearize_step": lambda: jc.linearize_step(ARM, q, q, q, 0.1, weights=np.ones(6)),
        "linearize": lambda: jc.linearize(ARM, q, q, q, constraints=c),
        "planned": lambda: jc.constrained_inverse_dynamics_series_derivatives(ARM, q, rows, c),
        "by_inputs": lambda: jc.constrained_dynamics_input_derivatives(ARM, q, c),
        "matrix": lambda: jc.twists.matrix(np.empty((0, axis, 4, 4)), "body", "spatial"),
        "complex": lambda: jc.lie.ad(x * 1j),
        "pseudo_inertia": lambda: jc.inertia.pseudo_inertia(np.empty((0, axis, 10))),
    }
    for name, call in calls.items():
        try:
            got = call()
        except jc.TooLargeError:
            assert axis > 2**46, name
        else:
            one = got[0] if isinstance(got, tuple) else got
            assert one.shape[:2] == (0, axis), name


def test_a_list_of_bodies_counts_in_sizes(monkeypatch):
    q, bodies = np.zeros((5000, 3)), list(ARM.body_names) * 100
    monkeypatch.setattr(memory, "available", lambda: 150 * 10**6)
    jc.body_pose(ARM, q, bodies[:100])  # 64 MB
    with pytest.raises(jc.TooLargeError, match=r"body_pose\(\) would take 192 MB"):
        jc.body_pose(ARM, q, bodies)


def test_nothing_is_allocated_where_it_cannot_fit(python):
    code = """
import resource, numpy as np, jounce as jc
from jounce._core import memory
memory.available = lambda: 100 * 10**6
arm, q = jc.models.chain(3), np.broadcast_to(np.float32(0.0), (2 * 10**7, 3))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    jc.mass_matrix(arm, q)
except jc.TooLargeError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(python(code)) < 50_000  # kB; the copy would take 480,000


def test_a_wrong_shape_of_any_kind_is_said():
    """Sizes of all kinds have words, those of arguments that no public function has too."""
    zero = np.zeros(3)
    with pytest.raises(jc.ArgumentError, match=r"d_model must have shape .*numbers of the model"):
        _core.raw("inverse_dynamics_jvp")(ARM, zero, zero, zero, d_model=np.zeros(3))


def test_more_targets_than_a_search_takes():
    arm = jc.models.chain(120)
    targets = {name: np.eye(4) for name in arm.body_names}
    with pytest.raises(jc.ArgumentError, match="at most 100 targets fit a search, got 120"):
        jc.inverse_kinematics(arm, targets, jc.neutral(arm))


@pytest.mark.parametrize("wrap", [list, tuple, lambda rows: [list(rows)]])
def test_masked_arrays_in_lists_are_refused(wrap):
    rows = [np.ma.array(np.zeros(3), mask=[False, True, False]) for _ in range(2)]
    with pytest.raises(jc.ArgumentError, match="q must have no masked entries, got 1 of 3"):
        jc.gravity_forces(ARM, wrap(rows))
    seen = [np.ma.array(np.zeros(3)) for _ in range(2)]
    assert jc.gravity_forces(ARM, seen).shape == (2, 3)


def test_a_masked_choice_of_rates_is_refused():
    zero = np.zeros(3)
    mask = np.ma.array([True, False, True], mask=[False, True, False])
    with pytest.raises(jc.ArgumentError, match="prescribed must have no masked entries"):
        jc.hybrid_dynamics(ARM, zero, zero, zero, zero, mask)
