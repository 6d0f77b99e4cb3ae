"""Derivatives of wrenches at frames, against complex steps through their definition."""

from __future__ import annotations

import analytic_oracle as analytic
import numpy as np
import partials_oracle as oracle
import pytest
from parameters_oracle import all_parameters, by_steps

import jounce as jc
from jounce import lie, twists

EXACT = 1e-11
ROWS = 12
TOOL = lie.exp(np.array([0.3, -0.2, 0.5, 0.1, 0.2, -0.3]))


@pytest.fixture
def some(case):
    """A robot with frames, states, and wrenches at bodies and at two frames of one of them."""
    model, rng = case.model, np.random.default_rng(2)
    last = model.body_names[-1]
    model = model.with_frame("tool", last, TOOL).with_frame("pen", last, TOOL @ TOOL)
    names = ("tool", "pen", last, 0, model.body_names[model.n_bodies // 2])
    wrenches = {name: rng.standard_normal((ROWS, 6)) for name in names}
    return model, case.q[:ROWS], wrenches


def on_body(pose, placement, wrench, twist):
    """By its work: the wrench times the frame's twist is that on the body times the body's."""
    A = analytic.seen_as(pose @ placement, twist) @ lie.Ad(pose)
    return np.einsum("...ji,...j->...i", A, wrench)


def by_definition(model, q, wrenches, twist, frames, tree_model=None):
    """`external_wrenches` of complex numbers; the tree may be that of a changed model."""
    T = oracle.tree(tree_model or model, q).T
    nodes = analytic.bodies_of(model)
    parts = []
    for name, wrench in wrenches.items():
        body, placement = frames.get(name, model.frame(name))
        parts.append((body, on_body(T[..., nodes[body], :, :], placement, wrench, twist)))
    lead = np.broadcast_shapes(*(x.shape[:-1] for _, x in parts))
    f_ext = np.zeros((*lead, model.n_bodies, 6), complex)
    for body, part in parts:
        f_ext[..., body, :] += part
    return f_ext


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_along_states_and_wrenches(twist, some):
    model, q, wrenches = some
    rng, h = np.random.default_rng(3), 1j * oracle.STEP
    dq = rng.standard_normal((ROWS, model.nv))
    dw = {name: rng.standard_normal((ROWS, 6)) for name in wrenches}
    got = jc.jvp(jc.external_wrenches, model, (q, wrenches, twist), (dq, dw))
    at = oracle.integrate(model, q.astype(complex), h * dq)
    moved = {name: w + h * dw[name] for name, w in wrenches.items()}
    exact = by_definition(model, at, moved, twist, {})
    assert oracle.relative(got.derivative, exact.imag / oracle.STEP) < EXACT
    value = jc.external_wrenches(model, q, wrenches, twist)
    np.testing.assert_allclose(got.value, value, rtol=0, atol=1e-14 * np.abs(value).max())
    assert oracle.relative(got.value, exact.real) < EXACT


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_by_parameters_of_the_model(twist, some):
    model, q, wrenches = some
    p = all_parameters(model, ("placement", "axis", "pitch"))
    exact = by_steps(
        model, p, lambda m: by_definition(model, q.astype(complex), wrenches, twist, {}, m)
    )
    got = jc.parameter_derivatives(jc.external_wrenches, model, (q, wrenches, twist), p)
    assert got.shape == (ROWS, model.n_bodies, 6, len(p))
    scale = 1.0 + np.abs(exact).max()  # wrenches "body" know nothing of the world: zero
    np.testing.assert_allclose(got, exact, rtol=0, atol=EXACT * scale)
    assert (np.abs(exact).max() < EXACT) == (twist == "body")
    few = {name: w[3] for name, w in wrenches.items()}  # directions at once instead of states
    one = jc.parameter_derivatives(jc.external_wrenches, model, (q[3], few, twist), p)
    np.testing.assert_allclose(one, got[3], rtol=0, atol=1e-12 * np.abs(got).max(initial=1.0))


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_the_placement_of_a_frame_moves_that_frame_alone(twist, some):
    model, q, wrenches = some
    p = jc.parameters(model, "placement", ["tool"])
    got = jc.parameter_derivatives(jc.external_wrenches, model, (q, wrenches, twist), p)
    body = model.frame("tool").body
    for k in range(6):
        moved = {"tool": (body, TOOL @ lie.exp(1j * oracle.STEP * np.eye(6)[k]))}
        exact = by_definition(model, q.astype(complex), wrenches, twist, moved).imag / oracle.STEP
        scale = 1.0 + np.abs(got).max()  # wrenches "spatial" know nothing of the frame: zero
        np.testing.assert_allclose(got[..., k], exact, rtol=0, atol=EXACT * scale)


def test_states_wrenches_and_parameters_at_once(some):
    model, q, wrenches = some
    rng = np.random.default_rng(4)
    p = all_parameters(model, ("mass", "placement", "axis"))
    dq, dp = rng.standard_normal((ROWS, model.nv)), rng.standard_normal((ROWS, len(p)))
    dw = {"tool": rng.standard_normal(6), 0: None}  # those that are missing are zero
    at = (q, wrenches)
    both = jc.jvp(jc.external_wrenches, model, at, (dq, dw), parameters=(p, dp)).derivative
    by_p = jc.parameter_derivatives(jc.external_wrenches, model, at, p)
    parts = [
        jc.jvp(jc.external_wrenches, model, at, (dq,)).derivative,
        jc.external_wrenches(model, q, {"tool": dw["tool"]}),  # it is linear in them
        np.einsum("...p,...p->...", by_p, dp[:, None, None]),
    ]
    assert oracle.relative(both, sum(parts)) < EXACT


def test_dynamics_under_forces_along_the_world(some):
    """The chain rule: the derivative of dynamics, with that of f_ext, is that of the whole."""
    model, q, wrenches = some
    rng, h = np.random.default_rng(5), 1j * oracle.STEP
    v, a, dq, dv, da = rng.standard_normal((5, ROWS, model.nv))
    dw = {name: rng.standard_normal((ROWS, 6)) for name in wrenches}
    at = oracle.integrate(model, q.astype(complex), h * dq)
    moved = {name: w + h * dw[name] for name, w in wrenches.items()}
    f_moved = by_definition(model, at, moved, "hybrid", {})
    f_ext, df_ext = jc.jvp(jc.external_wrenches, model, (q, wrenches), (dq, dw))
    for function, by_steps_ in (
        (jc.inverse_dynamics, oracle.inverse_dynamics),
        (jc.forward_dynamics, oracle.forward_dynamics),
    ):
        got = jc.jvp(function, model, (q, v, a, f_ext), (dq, dv, da, df_ext)).derivative
        exact = by_steps_(model, at, v + h * dv, a + h * da, f_moved)
        assert oracle.relative(got, exact.imag / oracle.STEP) < EXACT


def test_directions_are_batch_axes(some):
    """q (..., 1, nq) with as many directions as rates gives the columns of a matrix."""
    model, q, wrenches = some
    spread = {name: w[:5, None] for name, w in wrenches.items()}
    every = jc.jvp(jc.external_wrenches, model, (q[:5, None], spread), (np.eye(model.nv),))
    assert every.derivative.shape == every.value.shape == (5, model.nv, model.n_bodies, 6)
    dq = np.random.default_rng(6).standard_normal((5, model.nv))
    rows = {name: w[:5] for name, w in wrenches.items()}
    one = jc.jvp(jc.external_wrenches, model, (q[:5], rows), (dq,)).derivative
    assert oracle.relative(np.einsum("sk...,sk->s...", every.derivative, dq), one) < EXACT


def test_wrenches_that_broadcast(some):
    """Each wrench, and each tangent, with leading axes of its own."""
    model, q, _ = some
    rng = np.random.default_rng(7)
    few = {"tool": rng.standard_normal((4, 1, 6)), 0: rng.standard_normal(6)}
    dw = {0: rng.standard_normal((4, 3, 6))}
    dq = rng.standard_normal((3, model.nv))
    got = jc.jvp(jc.external_wrenches, model, (q[0], few), (dq, dw))
    p = jc.parameters(model, "placement", [model.joint_names[0]])
    by_p = jc.parameter_derivatives(jc.external_wrenches, model, (q[:3], few), p)
    assert by_p.shape == (4, 3, model.n_bodies, 6, 6)
    for i, j in np.ndindex(4, 3):
        own = {"tool": few["tool"][i, 0], 0: few[0]}
        one = jc.jvp(jc.external_wrenches, model, (q[0], own), (dq[j], {0: dw[0][i, j]}))
        for x, y in zip(got, one, strict=True):
            np.testing.assert_allclose(x[i, j], y, rtol=0, atol=EXACT * np.abs(y).max())
        single = jc.parameter_derivatives(jc.external_wrenches, model, (q[j], own), p)
        scale = np.abs(single).max(initial=1.0)
        np.testing.assert_allclose(by_p[i, j], single, rtol=0, atol=EXACT * scale)


def test_no_wrenches_no_states_no_parameters(some):
    model, q, wrenches = some
    got = jc.jvp(jc.external_wrenches, model, (q[:3, None], {}), (np.eye(model.nv), {}))
    assert got.derivative.shape == (3, model.nv, model.n_bodies, 6)
    assert not np.any(got.derivative)
    p = jc.parameters(model, "placement")
    empty = jc.parameter_derivatives(jc.external_wrenches, model, (q, {}), p)
    assert empty.shape == (ROWS, model.n_bodies, 6, len(p))
    none = {name: w[:0] for name, w in wrenches.items()}
    assert jc.jvp(jc.external_wrenches, model, (q[:0], none), ()).derivative.shape[0] == 0
    at = (q, wrenches)
    assert jc.parameter_derivatives(jc.external_wrenches, model, at, p[:0]).shape[-1] == 0
    assert not np.any(jc.jvp(jc.external_wrenches, model, at, ()).derivative)


def test_out_and_threads_give_the_same(some, monkeypatch):
    from jounce._core import out as delivery

    model, q, wrenches = some
    at, dq = (q, wrenches), np.ones(model.nv)
    p = jc.parameters(model, "placement")
    expected = jc.jvp(jc.external_wrenches, model, at, (dq,))
    by_p = jc.parameter_derivatives(jc.external_wrenches, model, at, p)
    for portion in (delivery._PORTION, 1):
        monkeypatch.setattr(delivery, "_PORTION", portion)
        out, place = (np.full((2, ROWS, model.n_bodies, 6), 7.0), np.full_like(by_p, 7.0))
        got = jc.jvp(jc.external_wrenches, model, at, (dq,), out=(out[0], out[1]), threads=2)
        assert type(got) is jc.Jvp
        assert got.derivative.base is out
        for x, y in zip(out, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-13 * np.abs(y).max())
        options = {"out": place, "threads": 2}
        assert jc.parameter_derivatives(jc.external_wrenches, model, at, p, **options) is place
        np.testing.assert_allclose(place, by_p, rtol=0, atol=1e-13 * np.abs(by_p).max())


def test_coupled_models_are_their_expanded_ones():
    """Rates of joints that follow others are those of the coupled ones, times a matrix."""
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0.1, 0, 0))
    follow = jc.Joint("revolute", "wrist", axis=(0, 0, 1), mimic=jc.Mimic("arm_joint", -1.5, 0.3))
    builder.add_body("hand", "arm", follow, placement=(0, 0.2, 1), mass=1.0)
    builder.add_body("finger", "hand", joint="prismatic", axis=(1, 1, 0), mass=1.0)
    model = builder.build().coupled()
    rng = np.random.default_rng(8)
    q, dq = rng.standard_normal((2, 4, model.nv))
    wrenches = {"hand": rng.standard_normal((4, 6)), "finger": rng.standard_normal(6)}
    got = jc.jvp(jc.external_wrenches, model, (q, wrenches), (dq,)).derivative
    whole, rates = model.expanded, dq @ model.coupling.T
    exact = jc.jvp(jc.external_wrenches, whole, (model.expand(q), wrenches), (rates,)).derivative
    assert oracle.relative(got, exact) < EXACT
    ours, other = (jc.parameters(m, "placement") for m in (model, whole))
    got = jc.parameter_derivatives(jc.external_wrenches, model, (q, wrenches), ours)
    at = (model.expand(q), wrenches)
    exact = jc.parameter_derivatives(jc.external_wrenches, whole, at, other)
    assert oracle.relative(got, exact) < EXACT


ARM, Q, PUSH = jc.models.chain(3), np.ones(3), np.ones(6)
MISTAKES = {
    "no tangents": ((Q, {0: PUSH}), (None, PUSH), "tangent of wrenches must be a dict .*ndarray"),
    "another": ((Q, {0: PUSH}), (None, {1: PUSH}), "has 1, where no wrench acts, only 0"),
    "shape": ((Q, {0: PUSH}), (None, {0: Q}), r"d_wrench must have shape \(\.\.\., 6\)"),
    "of q": ((Q, {0: PUSH}), (PUSH,), r"d_q must have shape \(\.\.\., 3\)"),
    "twist": ((Q, {0: PUSH}), (None, None, 1), "has no derivative by twist"),
    "too few": ((Q,), (), r"external_wrenches\(\) needs the argument 'wrenches'"),
    "no dict": ((Q, PUSH), (), "wrenches must be a dict"),
    "no frame": ((Q, {"hand": PUSH}), (), "unknown body or frame 'hand'"),
    "representation": ((Q, {0: PUSH}, "LOCAL"), (), "'hybrid'"),
    "not finite": ((Q, {0: PUSH}), ([0, np.nan, 0],), "d_q must be finite"),
    "axes": ((Q, {0: np.ones((2, 6)), 1: np.ones((3, 6))}), (), "do not broadcast"),
    "unknown": ({"q": Q, "body": 1}, (), "has no argument 'body', only q, wrenches, twist"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_named(what):
    arguments, tangents, message = MISTAKES[what]
    with pytest.raises(jc.Error, match=message):
        jc.jvp(jc.external_wrenches, ARM, arguments, tangents)
    if not tangents:
        with pytest.raises(jc.Error, match=message):
            jc.parameter_derivatives(
                jc.external_wrenches, ARM, arguments, jc.parameters(ARM, "placement")
            )
    with pytest.raises(jc.ArgumentTypeError, match="parameters must be a tuple of two"):
        jc.jvp(jc.external_wrenches, ARM, (Q, {0: PUSH}), (), parameters=PUSH)
