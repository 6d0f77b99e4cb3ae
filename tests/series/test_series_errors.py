"""Bad input to the series functions: one clear error each, that names the argument."""

from __future__ import annotations

import re

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.random_tree(9, 0)
NV, BODIES = MODEL.nv, MODEL.n_bodies
Q = jc.random_configuration(MODEL, 0)
V = np.zeros(NV)
NONE = np.zeros(NV, bool)
MOST = 100


def rows(n: int, nv: int = NV) -> np.ndarray:
    return np.zeros((n, nv))


def wrenches(n: int, bodies: int = BODIES) -> np.ndarray:
    return np.zeros((n, bodies, 6))


def inverse(motion, f_ext=None, q=Q, **options):
    return jc.inverse_dynamics_series(MODEL, q, motion, f_ext, **options)


def forward(tau, f_ext=None, q=Q, v=V, **options):
    return jc.forward_dynamics_series(MODEL, q, v, tau, f_ext, **options)


def hybrid(acc, tau, prescribed=NONE, f_ext=None, q=Q, v=V, **options):
    return jc.hybrid_dynamics_series(MODEL, q, v, acc, tau, prescribed, f_ext, **options)


WRONG_SHAPES = {
    "motion without rows": (lambda: inverse(rows(0)), "motion", (0, NV)),
    "motion without accelerations": (lambda: inverse(rows(1)), "motion", (1, NV)),
    "motion of one axis": (lambda: inverse(V), "motion", (NV,)),
    "motion of another robot": (lambda: inverse(rows(3, NV + 1)), "motion", (3, NV + 1)),
    "motion of too high order": (lambda: inverse(rows(MOST + 3)), "motion", (MOST + 3, NV)),
    "forces without rows": (lambda: forward(rows(0)), "tau", (0, NV)),
    "forces of one axis": (lambda: forward(V), "tau", (NV,)),
    "forces of another robot": (lambda: forward(rows(2, NV - 1)), "tau", (2, NV - 1)),
    "forces of too high order": (lambda: forward(rows(MOST + 2)), "tau", (MOST + 2, NV)),
    "rates of another robot": (lambda: forward(rows(2), v=V[1:]), "v", (NV - 1,)),
    "coordinates of another robot": (lambda: forward(rows(2), q=Q[1:]), "q", (MODEL.nq - 1,)),
    "more forces than accelerations": (lambda: hybrid(rows(2), rows(3)), "tau", (3, NV)),
    "fewer forces than accelerations": (lambda: hybrid(rows(3), rows(2)), "tau", (2, NV)),
    "hybrid without rows": (lambda: hybrid(rows(0), rows(0)), "a", (0, NV)),
    "more wrenches than the order": (
        lambda: inverse(rows(3), wrenches(3)),
        "f_ext",
        (3, BODIES, 6),
    ),
    "fewer wrenches than the order": (
        lambda: forward(rows(3), wrenches(1)),
        "f_ext",
        (1, BODIES, 6),
    ),
    "wrenches of no order": (lambda: forward(rows(1), wrenches(1)[0]), "f_ext", (BODIES, 6)),
    "wrenches of another robot": (
        lambda: hybrid(rows(1), rows(1), f_ext=wrenches(1, BODIES + 1)),
        "f_ext",
        (1, BODIES + 1, 6),
    ),
}


@pytest.mark.parametrize("case", WRONG_SHAPES)
def test_shapes_that_fit_no_order_are_refused(case):
    """The message names the argument, what it must be and what came."""
    call, name, got = WRONG_SHAPES[case]
    with pytest.raises(ValueError, match=rf"^{name} must have shape .*got {re.escape(str(got))}$"):
        call()


@pytest.mark.parametrize(("call", "least"), [(inverse, 2), (forward, 1)])
def test_a_missing_axis_is_not_taken_for_an_order(call, least):
    """The shape that the message asks for would be accepted."""
    with pytest.raises(ValueError, match=r"r \+ [12], nv") as error:
        call(V)
    wanted = re.search(rf"\(\.\.\., (-?\d+), {NV}\)", str(error.value))
    assert wanted is None or int(wanted[1]) >= least


def test_the_message_states_the_highest_order():
    assert inverse(rows(MOST + 2)).shape == (MOST + 1, NV)
    assert forward(rows(MOST + 1)).shape == (MOST + 1, NV)
    for call in (lambda: inverse(rows(MOST + 3)), lambda: forward(rows(MOST + 2))):
        with pytest.raises(ValueError, match=f"0 ... {MOST}"):
            call()


def marred(array: np.ndarray, at: tuple[int, ...], value: float) -> np.ndarray:
    array = array.copy()
    array[at] = value
    return array


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("order", range(4))
def test_coefficients_that_are_not_finite_are_refused_in_any_order(order, value):
    bad, good = marred(rows(4), (order, 3), value), rows(4)
    force = marred(wrenches(4), (order, 2, 5), value)
    every = np.ones(NV, bool)
    calls = {
        "motion": lambda: inverse(bad),
        "tau": lambda: forward(bad),
        "a": lambda: hybrid(bad, good, every),
    }
    for name, call in calls.items():
        with pytest.raises(ValueError, match=rf"^{name} must be finite.*{name}\[{order}, 3\]"):
            call()
    with pytest.raises(ValueError, match=rf"^tau must be finite.*tau\[{order}, 3\]"):
        hybrid(good, bad, NONE)
    with_wrenches = (
        lambda: inverse(rows(5), force),
        lambda: forward(good, force),
        lambda: hybrid(good, good, NONE, force),
    )
    for call in with_wrenches:
        with pytest.raises(ValueError, match=rf"^f_ext must be finite.*f_ext\[{order}, 2, 5\]"):
            call()


def test_a_bad_state_of_a_batch_is_named():
    batch = marred(np.zeros((20, 4, NV)), (17, 2, 1), np.nan)
    with pytest.raises(ValueError, match=r"motion\[17, 2, 1\]"):
        inverse(batch)


@pytest.mark.parametrize("call", [inverse, forward, lambda x, q: hybrid(x, x, q=q)])
def test_bad_quaternions_are_refused(call):
    spherical = MODEL.q_slice("joint6")
    assert spherical.stop - spherical.start == 4
    for factor in (0.0, 1.1):
        q = Q.copy()
        q[spherical] *= factor
        with pytest.raises(ValueError, match=r"quaternion.*'joint6'"):
            call(rows(3), q=q)
    with pytest.raises(ValueError, match=r"^q must be finite"):
        call(rows(3), q=marred(Q, (0,), np.nan))


@pytest.mark.parametrize(
    "mask",
    [
        np.zeros(NV, int),
        np.zeros(NV),
        np.zeros(NV - 1, bool),
        np.zeros((1, NV), bool),
        [0, 1],
        "base",
        None,
    ],
    ids=["integers", "floats", "too short", "batch", "indices", "word", "nothing"],
)
def test_masks_that_are_not_bool_over_the_rates_are_refused(mask):
    with pytest.raises(ValueError, match=rf"^prescribed must be a bool array.*\({NV},\)"):
        hybrid(rows(2), rows(2), mask)


@pytest.mark.parametrize(
    "value",
    [rows(3) + 1j, np.full((3, NV), None), "abc", [[0.0] * NV, [0.0]], {"v": 1}],
    ids=["complex", "objects", "text", "ragged", "dict"],
)
def test_what_is_no_array_of_real_numbers_is_refused(value):
    with pytest.raises(ValueError, match=r"^motion must be an array of real numbers"):
        inverse(value)


def test_leading_axes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"motion.*broadcast"):
        inverse(np.zeros((3, 3, NV)), q=np.stack([Q] * 2))


@pytest.mark.parametrize(
    "out",
    [rows(3), np.zeros((2, NV), np.float32), np.broadcast_to(0.0, (2, NV)), rows(4)[::2], [0.0]],
    ids=["rows", "dtype", "read-only", "strided", "list"],
)
def test_output_arrays_that_do_not_fit_are_refused(out):
    with pytest.raises(ValueError, match=rf"^out must be .*\(2, {NV}\)"):
        inverse(rows(3), out=out)


def test_hybrid_needs_two_separate_output_arrays():
    one = rows(2)
    with pytest.raises(ValueError, match="out must be a tuple of 2 arrays"):
        hybrid(rows(2), rows(2), out=one)
    with pytest.raises(ValueError, match="must not share memory"):
        hybrid(rows(2), rows(2), out=(one, one))


@pytest.mark.parametrize("threads", [-1, 1.5, "two", 10**6])
def test_numbers_of_threads_that_make_no_sense_are_refused(threads):
    with pytest.raises(ValueError, match=r"^threads must be"):
        inverse(rows(3), threads=threads)


def test_missing_and_unknown_arguments_are_named():
    with pytest.raises(TypeError, match="'motion'"):
        jc.inverse_dynamics_series(MODEL, Q)
    with pytest.raises(TypeError, match="'order'"):
        jc.inverse_dynamics_series(MODEL, Q, rows(3), order=1)
    with pytest.raises(TypeError, match="'prescribed'"):
        jc.hybrid_dynamics_series(MODEL, Q, V, rows(2), rows(2))


def massless_finger() -> jc.Model:
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", joint_name="elbow", mass=1.0, inertia=(1, 1, 1))
    builder.add_body("tip", "arm", joint="revolute", joint_name="finger", axis=(1, 0, 0))
    return builder.build()


@pytest.mark.parametrize("order", [0, 3])
@pytest.mark.parametrize("batch", [(), (20,)])
def test_a_joint_that_moves_no_inertia_is_named(order, batch):
    model, q, v = massless_finger(), np.zeros((*batch, 2)), np.zeros(2)
    series = rows(order + 1, 2)
    with pytest.raises(jc.SingularError, match="'finger'"):
        jc.forward_dynamics_series(model, q, v, series)
    with pytest.raises(jc.SingularError, match="'finger'"):
        jc.hybrid_dynamics_series(model, q, v, series, series, np.array([True, False]))
    acc, tau = jc.hybrid_dynamics_series(model, q, v, series, series, np.array([False, True]))
    assert np.isfinite(acc).all()
    assert np.isfinite(tau).all()
