"""Gradients of weighted results, against directional derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

EXACT = 1e-11
CASES = {
    jc.inverse_dynamics: ("q", "v", "a", "f_ext"),
    jc.forward_dynamics: ("q", "v", "tau", "f_ext"),
    jc.bias_forces: ("q", "v", "f_ext"),
    jc.gravity_forces: ("q",),
    jc.kinetic_energy: ("q", "v"),
    jc.potential_energy: ("q",),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_weights_times_directions(function, case):
    """weights . jvp(direction) == vjp(weights) . direction, for each argument."""
    rng = np.random.default_rng(1)
    model, rows = case.model, slice(0, 20)
    names = CASES[function]
    x = {name: getattr(case, name)[rows] for name in names}
    value = function(model, **x)
    weights = rng.standard_normal(value.shape)
    got = jc.vjp(function, model, x, weights)
    assert got._fields == names
    for name in names:
        size = model.nv if name == "q" else x[name].shape[-1]
        d = rng.standard_normal((*x[name].shape[:-1], size))
        along = jc.jvp(function, model, x, {name: d}).derivative
        terms = (weights * along).reshape(20, -1)
        other = (getattr(got, name) * d).reshape(20, -1)
        scale = np.abs(terms).sum(-1) + np.abs(other).sum(-1)
        assert (np.abs(terms.sum(-1) - other.sum(-1)) <= EXACT * scale).all(), name


def test_batches_broadcast(robot, state):
    at, one = state(robot, 4, 3), state(robot)
    many = jc.vjp(jc.inverse_dynamics, robot, (at.q, one.v, at.a), one.tau)
    for k in np.ndindex(4, 3):
        single = jc.vjp(jc.inverse_dynamics, robot, (at.q[k], one.v, at.a[k]), one.tau)
        for ours, expected in zip(many, single, strict=True):
            size = np.abs(expected).max(initial=1.0)
            np.testing.assert_allclose(ours[k], expected, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("function", [jc.bias_forces, jc.gravity_forces])
def test_forces_at_rest_are_those_of_inverse_dynamics(function, robot, state):
    """With a = 0, and v = 0; leading axes broadcast, and out is written to."""
    at, names = state(robot, 4, 3), CASES[function]
    x = {name: getattr(at, name) for name in names if name != "f_ext"}
    weights = at.weights[0]
    got = jc.vjp(function, robot, x, weights)
    whole = {name: x.get(name, np.zeros(robot.nv)) for name in ("q", "v", "a")}
    expected = jc.vjp(jc.inverse_dynamics, robot, whole, weights)
    out = tuple(np.empty_like(y) for y in got)
    assert jc.vjp(function, robot, x, weights, out=out, threads=2)[0] is out[0]
    for name, place in zip(names, out, strict=True):
        np.testing.assert_array_equal(getattr(got, name), getattr(expected, name))
        np.testing.assert_array_equal(place, getattr(expected, name))


MISTAKES = {
    "another function": (jc.mass_matrix, (np.ones(3),), 1.0, "those that have: inverse_dynamics"),
    "no weights of forces": (
        jc.gravity_forces,
        (np.ones((4, 3)),),
        np.ones(2),
        r"weights must have shape \(\.\.\., 3\), .* got \(2,\)",
    ),
    "too few": (jc.inverse_dynamics, (np.ones(3),), np.ones(3), "needs the argument 'v'"),
    "no scalar": (
        jc.kinetic_energy,
        (np.ones((4, 3)),) * 2,
        np.ones(3),
        r"axes of weights, \(3,\), do not broadcast with \(4,\)",
    ),
    "shape": (
        jc.inverse_dynamics,
        (np.ones(3),) * 3,
        np.ones(2),
        r"weights must have shape \(\.\.\., 3\), .* got \(2,\)",
    ),
    "axes": (
        jc.inverse_dynamics,
        (np.ones((4, 3)),) * 3,
        np.ones((5, 3)),
        r"axes .*do not broadcast",
    ),
    "not finite": (jc.potential_energy, (np.ones(3),), np.inf, "weights must be finite, got inf$"),
    "not finite in a batch": (
        jc.potential_energy,
        (np.ones((3, 3)),),
        np.array([0.0, 1.0, np.nan]),
        r"weights must be finite, got nan in state \[2\] of the batch",
    ),
    "complex": (jc.potential_energy, (np.ones(3),), 1j, "real numbers"),
}


def test_missing_and_unknown_arguments_are_errors_of_type():
    """As of every function of the core."""
    arm, x = jc.models.chain(3), np.ones(3)
    for arguments, message in (({"q": x, "v": x}, "needs the argument 'a'"), ({"p": x}, "no arg")):
        with pytest.raises(jc.ArgumentTypeError, match=message):
            jc.vjp(jc.inverse_dynamics, arm, arguments, x)
        with pytest.raises(jc.ArgumentTypeError, match=message):
            jc.jvp(jc.inverse_dynamics, arm, arguments, ())


@pytest.mark.parametrize("what", MISTAKES)
def test_mistakes_are_named(what):
    function, arguments, weights, message = MISTAKES[what]
    with pytest.raises(jc.Error, match=message):
        jc.vjp(function, jc.models.chain(3), arguments, weights)


@pytest.mark.parametrize("function", [jc.kinetic_energy, jc.inverse_dynamics])
def test_what_is_no_model_is_named(function):
    arguments = (np.ones(3),) * (2 if function is jc.kinetic_energy else 3)
    with pytest.raises(jc.Error, match=r"model must be a jounce\.Model"):
        jc.vjp(function, np.ones(3), arguments, 1.0)
