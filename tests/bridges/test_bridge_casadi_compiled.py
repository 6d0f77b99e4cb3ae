"""Compiled functions for CasADi are the callbacks, without Python."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import EPS, arguments, as_tuple, close, options, robot, state

import jounce as jc

ca = pytest.importorskip("casadi", reason="CasADi is not installed")

from jounce.interop import casadi as jca  # noqa: E402
from jounce.interop.casadi import _external  # noqa: E402

try:
    _external.find_compiler()
except jc.MissingExtraError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = pytest.mark.long
FEW = ("forward_dynamics", "jacobian", "integrate", "torque_regressor", "inverse_dynamics")
"""Hessians in closed form, matrices, configurations that come out, one order, wrenches."""


@pytest.fixture(scope="module", autouse=True)
def _unoptimized():
    """What is compiled here runs a few times."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_external, "_FLAGS", ("-O0", *_external._FLAGS[1:]))
        yield


@pytest.fixture(scope="module")
def model():
    return robot()


def both(model, name):
    wrenches = {"f_ext": True} if name == "inverse_dynamics" else {}
    chosen = {**options(name, model), **wrenches}
    return (jca.function(name, model, compiled=way, **chosen) for way in (True, False))


def derived(function):
    """Values, sparse Jacobians, gradients and the Hessian of a weighted sum."""
    x = [ca.MX.sym(f"x{k}", function.sparsity_in(k)) for k in range(function.n_in())]
    y = as_tuple(function(*x))
    rng = np.random.default_rng(0)
    total = sum(ca.dot(part**2, ca.DM(rng.standard_normal(part.shape))) for part in y)
    row = ca.veccat(*x)
    results = [*y, *(ca.jacobian(part, row) for part in y), ca.gradient(total, row)]
    return ca.Function("all", x, [*results, ca.hessian(total, row)[0]])


@pytest.mark.parametrize("name", FEW)
def test_values_and_derivatives_are_those_of_callbacks(model, name):
    given = arguments(name, state(model))
    if name != "inverse_dynamics":
        given.pop("f_ext", None)
    given = [np.asarray(x) for x in given.values()]
    compiled, called = map(derived, both(model, name))
    for one, other in zip(compiled(*given), called(*given), strict=True):
        assert one.sparsity() == other.sparsity()
        assert close(np.array(one), np.array(other), 64 * EPS)


def test_hessians_have_the_zeros_of_the_tree():
    q = ca.MX.sym("q", 7)
    compiled, called = (
        ca.hessian(ca.sum1(function(q)), q)[0].sparsity()
        for function in both(jc.models.tree(7, 2), "gravity_forces")
    )
    assert compiled == called
    assert called.nnz() < 49


def test_functions_are_not_saved(model, tmp_path):
    """Their library lies in a folder that is gone with this process."""
    function = jca.function("gravity_forces", model, compiled=True)
    for save in (function.serialize, lambda: function.save(str(tmp_path / "f.casadi"))):
        with pytest.raises(jc.ArgumentError, match=r"make the function anew"):
            save()


def test_threads_may_share_one(model):
    at = state(model, 64)
    compiled = jca.function("forward_dynamics", model, compiled=True).map(64, "thread", 2)
    found = compiled(at.q.T, at.v.T, at.tau.T)
    expected = jc.forward_dynamics(model, at.q, at.v, at.tau)
    assert close(np.array(found).T, expected, 2**10 * EPS)


def test_a_state_without_a_result_fails_the_evaluation(model):
    compiled = jca.function("gravity_forces", model, compiled=True)
    with pytest.raises(RuntimeError, match=r"failed"):
        compiled(np.full(model.nq, np.nan))
    q = state(model).q
    assert np.array_equal(np.array(compiled(q)).ravel(), jc.gravity_forces(model, q))


def test_it_is_made_once_and_a_compiler_is_asked_for(model, monkeypatch):
    assert jca.function("gravity_forces", model, compiled=True) is jca.function(
        "gravity_forces", model, compiled=True
    )
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(jc.MissingExtraError, match="need a C compiler"):
        jca.function("bias_forces", model, compiled=True)


def test_what_the_compiler_says_is_told(model, monkeypatch):
    monkeypatch.setattr(_external, "_FLAGS", ("-no-such-flag",))
    with pytest.raises(jc.MissingExtraError, match="failed on potential_energy"):
        jca.function("potential_energy", model, compiled=True)
