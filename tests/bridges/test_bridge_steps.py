"""Steps that are not positive are refused by every front end, as by the package."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

ARM = jc.models.chain(3)
Q, V, TAU = np.random.default_rng(0).standard_normal((3, 3))
LENGTHS = [0.0, -0.1]


@pytest.mark.parametrize("dt", LENGTHS)
def test_by_the_package(dt):
    with pytest.raises(jc.ArgumentError, match="dt must be positive"):
        jc.step(ARM, Q, V, TAU, dt)


@pytest.mark.parametrize("dt", LENGTHS)
def test_by_pytorch_in_every_call(dt):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    jtorch = pytest.importorskip("jounce.interop.torch")
    arm = jc.models.chain(3)  # not known yet
    given = [torch.tensor(x) for x in (Q, V, TAU)]
    for _ in range(2):
        with pytest.raises(jc.ArgumentError, match="dt must be positive"):
            jtorch.step(arm, *given, torch.tensor(dt, dtype=torch.float64))
    jtorch.step(arm, *given, torch.tensor(0.1, dtype=torch.float64))
    with pytest.raises(jc.ArgumentError, match="dt must be positive"):
        jtorch.step(arm, *given, torch.tensor(dt, dtype=torch.float64))
    with pytest.raises(jc.ArgumentError, match=rf"dt must be positive, got {dt} at dt\[1, 0\]"):
        jtorch.step(arm, *given, torch.tensor(np.array([[0.1], [dt]]), requires_grad=True))


@pytest.mark.parametrize("dt", LENGTHS)
@pytest.mark.parametrize("compiled", [False, True])
def test_by_casadi(dt, compiled):
    pytest.importorskip("casadi", reason="CasADi is not installed")
    jca = pytest.importorskip("jounce.interop.casadi")
    if compiled:
        try:
            step = jca.function("step", ARM, compiled=True)
        except jc.MissingExtraError:
            pytest.skip("no C compiler")
    else:
        step = jca.function("step", ARM)
    step(Q, V, TAU, 0.1)
    with pytest.raises(RuntimeError, match="ailed" if compiled else "dt must be positive, got"):
        step(Q, V, TAU, dt)


@pytest.mark.parametrize("dt", LENGTHS)
def test_by_jax_where_it_is_compiled_and_where_it_is_not(dt):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jjax = pytest.importorskip("jounce.interop.jax")
    for run in (jjax.step, jax.jit(jjax.step, static_argnums=0)):
        with pytest.raises(jax.errors.JaxRuntimeError, match=r"step\(\): not a positive number"):
            jax.block_until_ready(run(ARM, Q, V, TAU, dt))


def test_they_are_states_that_fail_for_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    jjax = pytest.importorskip("jounce.interop.jax")
    good, bad = [0, 2, 4, 5, 6, 7, 8, 9], [1, 3]
    dt = np.full(10, 0.1)
    dt[bad] = LENGTHS

    def end(q, dt):
        return jjax.step(ARM, q, V, TAU, dt, on_failure="nan")

    found = end(Q, dt)
    assert np.isnan(found.q[np.array(bad)]).all()
    assert np.isnan(found.v[np.array(bad)]).all()
    np.testing.assert_array_equal(found.q[np.array(good)], end(Q, dt[good]).q)

    def total(q, dt):
        return jax.numpy.nansum(end(q, dt).v)

    np.testing.assert_allclose(jax.grad(total)(Q, dt), jax.grad(total)(Q, dt[good]), rtol=1e-5)
