"""Large batches of functions in Python go a portion at a time, and nobody can tell."""

from __future__ import annotations

import numpy as np
import pytest
from test_out import MODEL, arguments, arrays, given

import jounce as jc
from jounce._core import out as delivery
from jounce.derivatives import jacobians

IN_PYTHON = [
    "jacobian_derivatives",
    "linearize",
    "linearize_step",
]
every = pytest.mark.parametrize("name", IN_PYTHON)
LEAD = (2, 3, 5)
# packs of states may round in another way than single ones, as much as M is ill-conditioned
STATES = jc.random_configuration(MODEL, 4, LEAD)
ROUNDING = 10 * np.finfo(float).eps * np.linalg.cond(jc.mass_matrix(MODEL, STATES)).max()


def batch(name, lead=LEAD):
    """Arguments with several leading axes; those of v are fewer, so that they broadcast."""
    chosen = given(name)
    rng = np.random.default_rng(5)
    n = MODEL.nv
    chosen["q"] = STATES.copy() if lead == LEAD else jc.random_configuration(MODEL, 4, lead)
    for key in {"v", "a", "tau"} & set(chosen):
        chosen[key] = rng.standard_normal((*lead[1:], n))
    if "f_ext" in chosen:
        chosen["f_ext"] = rng.standard_normal((MODEL.n_bodies, 6))
    return chosen


@pytest.fixture
def portions(monkeypatch):
    """Three states at a time."""

    def shrink(name, **chosen):
        result = arrays(getattr(jc, name)(**chosen))
        size = 8 * sum(x.size for x in result) // (np.prod(LEAD) or 1)
        monkeypatch.setattr(delivery, "_PORTION", 3 * size)
        return result

    return shrink


@every
def test_portions_give_the_same_numbers(name, portions):
    chosen = batch(name)
    expected = portions(name, **chosen)
    got = getattr(jc, name)(**chosen)
    out = tuple(np.full_like(x, 7.0) for x in expected)
    named = out if isinstance(got, tuple) else out[0]
    assert type(getattr(jc, name)(**chosen, out=named)) is type(got)
    for x, y, z in zip(expected, arrays(got), out, strict=True):
        np.testing.assert_allclose(y, x, rtol=0, atol=ROUNDING * np.abs(x).max())
        np.testing.assert_array_equal(z, y)


@every
def test_portions_may_be_written_over_their_arguments(name, portions):
    chosen = batch(name)
    expected = portions(name, **chosen)
    buffer = np.zeros(max(expected[0].size, chosen["q"].size))
    q = buffer[: chosen["q"].size].reshape(chosen["q"].shape)
    q[...] = chosen["q"]
    out = tuple(np.empty_like(x) for x in expected)
    out = (buffer[: out[0].size].reshape(out[0].shape), *out[1:])
    single = not isinstance(getattr(jc, name)(**chosen), tuple)
    getattr(jc, name)(**{**chosen, "q": q}, out=out[0] if single else out)
    for x, y in zip(out, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=ROUNDING * np.abs(y).max())


@every
def test_what_is_wrong_is_told_by_its_place_in_the_batch(name, portions):
    chosen = batch(name)
    out = tuple(np.full_like(x, 7.0) for x in portions(name, **chosen))
    single = not isinstance(getattr(jc, name)(**chosen), tuple)
    chosen["q"][1, 2, 3, 0] = np.nan
    with pytest.raises(jc.ArgumentError, match=r"q must be finite, got nan at q\[1, 2, 3, 0\]"):
        getattr(jc, name)(**chosen, out=out[0] if single else out)
    assert all(np.isnan(x).all() for x in out)


@pytest.mark.parametrize("portioned", [False, True])
@pytest.mark.parametrize("name", [n for n in IN_PYTHON if "v" in given(n)])
def test_a_result_that_overflows_is_an_error_of_the_function_called(name, portioned, portions):
    chosen = batch(name)
    if portioned:
        portions(name, **chosen)
    chosen["v"] = np.array(np.broadcast_to(chosen["v"], (*LEAD, MODEL.nv)))
    chosen["v"][1, 0, 2] = 1e250
    with pytest.raises(jc.ArgumentError) as caught:
        getattr(jc, name)(**chosen)
    text = str(caught.value)
    assert f"the result of {name}() is not finite in state [1, 0, 2] of the batch" in text


def test_one_state_that_overflows_has_no_place():
    model = jc.models.chain(3)
    q, v = np.zeros(3), np.full(3, 1e200)
    for call, name in (
        (lambda: jc.kinetic_energy_derivatives(model, q, v), "kinetic_energy_derivatives"),
        (lambda: jc.linearize_step(model, q, v, q, 1.0), "linearize_step"),
    ):
        with pytest.raises(jc.ArgumentError, match=rf"^the result of {name}\(\) is not finite: "):
            call()


def test_a_singular_state_is_told_by_its_place(portions):
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0))
    model = builder.add_body("wrist", "arm", joint="revolute", axis=(0, 1, 0)).build()
    q = np.zeros((*LEAD, 2))
    for size in (10**9, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(delivery, "_PORTION", size)
            with pytest.raises(jc.SingularError, match=r"in state \[0, 0, 0\] of the batch"):
                jc.inverse_mass_matrix_derivatives(model, q)


def test_what_base_parameters_decompose_does_not_grow_with_the_robot(monkeypatch):
    """In a decomposition no signal is heard: each is of one body, or of some rows of all."""
    sizes = []

    def recorded(function):
        def call(a, *others, **options):
            sizes.append(min(np.shape(a)))
            return function(a, *others, **options)

        return call

    for name in ("svd", "solve"):
        monkeypatch.setattr(np.linalg, name, recorded(getattr(np.linalg, name)))
    monkeypatch.setattr(np.linalg, "qr", None)
    most = []
    for n in (6, 12):
        sizes.clear()
        assert len(jc.base_parameters(jc.models.chain(n)).columns) == 7 * n - 4
        most.append(max(sizes))
    assert most[0] == most[1] <= 20


def test_base_parameters_pass_through_joints_of_several_axes():
    """Nodes between the axes have no parameters, so that they are no bodies of their own."""
    builder = jc.ModelBuilder()
    for k, joint in enumerate(("universal", "planar", "cylindrical")):
        parent = (f"b{k - 1}",) if k else ()
        builder.add_body(f"b{k}", *parent, joint=joint, mass=1.0, com=(0.1, 0.2, 0.3))
    model = builder.build()
    assert len(model.nodes.parent) == 7
    base = jc.base_parameters(model)
    rng = np.random.default_rng(0)
    Y = jc.torque_regressor(model, *rng.standard_normal((3, 50, 7))).reshape(-1, 30)
    assert len(base.columns) == np.linalg.matrix_rank(Y, 1e-8 * np.abs(Y).max())
    np.testing.assert_allclose(Y[:, base.columns] @ base.matrix, Y, atol=1e-11 * np.abs(Y).max())


@pytest.mark.parametrize("twist", ["body", "spatial", "hybrid", "mixed"])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_columns_of_jacobians_come_in_portions_too(twist, order, monkeypatch):
    q = arguments()["q"]
    expected = jc.jacobian_derivatives(MODEL, q, MODEL.n_bodies - 1, order, twist)
    monkeypatch.setattr(jacobians, "_PORTION", 1)
    got = jc.jacobian_derivatives(MODEL, q, MODEL.n_bodies - 1, order, twist)
    atol = 64 * np.finfo(float).eps * (1 + np.abs(expected).max())
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)
