"""Functions for CasADi compute what those of the package do, and have exact sparse derivatives."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from bridge_cases import (
    EPS,
    arguments,
    as_tuple,
    close,
    directions,
    first,
    in_coordinates,
    is_configuration,
    options,
    robot,
    state,
)

import jounce as jc

ca = pytest.importorskip("casadi", reason="CasADi is not installed")

from jounce.interop import casadi as jca  # noqa: E402

NAMES = [name for name in jca.__all__ if name != "function"]
SLOW = {"hybrid_dynamics_derivatives", "forward_dynamics_hessian", "inverse_dynamics_hessian"}
"""Their Hessians take seconds; test_operations.py has their second derivatives."""


@pytest.fixture(scope="module")
def model():
    return robot()


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_package(model, name):
    given = arguments(name, state(model))
    found = getattr(jca, name)(model, **given, **options(name, model))
    expected = getattr(jc, name)(model, **given, **options(name, model))
    for one, other in zip(as_tuple(found), as_tuple(expected), strict=True):
        other = np.asarray(other)
        assert np.array_equal(np.array(one), other.reshape((*other.shape, 1, 1)[:2]))


def weighted(model, name, given):
    """A sum of all results of a function, as an expression of all its arguments in a row."""
    sizes = {
        x: np.asarray(value).reshape((*np.shape(value), 1, 1)[:2]) for x, value in given.items()
    }
    symbols = {x: ca.MX.sym(x, *value.shape) for x, value in sizes.items()}
    found = as_tuple(getattr(jca, name)(model, **symbols, **options(name, model)))
    rng = np.random.default_rng(0)
    total = sum(ca.dot(y, ca.DM(rng.standard_normal(y.shape))) for y in found)
    row = ca.veccat(*symbols.values())
    start = np.concatenate([value.T.ravel() for value in sizes.values()])
    return symbols, total, row, start


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_those_of_the_package(model, name):
    """Of the weighted results: times changes of the arguments, they are weights times changes."""
    given, d = arguments(name, state(model)), directions(model, name)
    symbols, total, row, start = weighted(model, name, given)
    results, changes = first(model, name, given, d)
    rng = np.random.default_rng(0)
    expected = 0.0
    for change in in_coordinates(model, name, results, changes):
        shape = (*np.shape(change), 1, 1)[:2]
        expected += (rng.standard_normal(shape) * np.reshape(change, shape)).sum()
    moving = [
        jc.coordinate_rates(model, given[x], d[x]) if is_configuration(x) else d[x] for x in symbols
    ]
    along = np.concatenate([np.reshape(x, (*np.shape(x), 1, 1)[:2]).T.ravel() for x in moving])
    gradient = ca.Function("gradient", [*symbols.values()], [ca.gradient(total, row)])
    parts = np.split(start, np.cumsum([s.numel() for s in symbols.values()])[:-1])
    found = gradient(
        *(ca.reshape(ca.DM(p), *s.shape) for p, s in zip(parts, symbols.values(), strict=True))
    )
    terms = np.array(found).ravel() * along
    assert abs(terms.sum() - expected) <= 2**12 * EPS * np.abs(terms).sum()


@pytest.mark.parametrize("name", ["body_pose", "integrate", "kinetic_energy", "jacobian"])
def test_gradients_and_hessians_are_those_of_the_values(model, name):
    given = arguments(name, state(model))
    symbols, total, row, start = weighted(model, name, given)
    hessian, gradient = ca.hessian(total, row)
    run = ca.Function("run", list(symbols.values()), [total, gradient, hessian])
    bounds = np.cumsum([s.numel() for s in symbols.values()])[:-1]

    def at(x, k):
        parts = [
            ca.reshape(ca.DM(p), *s.shape)
            for p, s in zip(np.split(x, bounds), symbols.values(), strict=True)
        ]
        return np.array(run(*parts)[k])

    h, axes = 2.0**-13, np.eye(start.size)

    def slopes(k):
        return np.array(
            [
                (
                    8 * (at(start + h * e, k) - at(start - h * e, k))
                    - at(start + 2 * h * e, k)
                    + at(start - 2 * h * e, k)
                ).ravel()
                / (12 * h)
                for e in axes
            ]
        )

    assert close(at(start, 1).ravel(), slopes(0).ravel(), 1e-8)
    assert close(at(start, 2), slopes(1), 1e-8)


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_hessians_along_a_direction_are_changes_of_gradients(model, name):
    given = arguments(name, state(model))
    symbols, total, row, start = weighted(model, name, given)
    hessian, gradient = ca.hessian(total, row)
    d = np.random.default_rng(1).standard_normal(start.size)
    d /= np.linalg.norm(d)
    slope = ca.Function("slope", [*symbols.values()], [gradient])
    change = ca.Function("change", [*symbols.values()], [hessian @ d])
    bounds = np.cumsum([s.numel() for s in symbols.values()])[:-1]

    def at(run, x):
        parts = zip(np.split(x, bounds), symbols.values(), strict=True)
        return np.array(run(*(ca.reshape(ca.DM(part), *s.shape) for part, s in parts))).ravel()

    h = 2.0**-13  # quaternions stay close to unit length
    steps = {1: 45, 2: -9, 3: 1}
    expected = sum(
        w * (at(slope, start + k * h * d) - at(slope, start - k * h * d)) / (60 * h)
        for k, w in steps.items()
    )
    assert close(at(change, start), expected, 1e-8)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_hessians_of_the_dynamics_are_the_contracted_ones(model, name):
    at, n, w = state(model), model.nv, np.linspace(-1, 1, model.nv)
    q, v, x, d = (
        ca.MX.sym(key, size) for key, size in zip("qvxd", (model.nq, n, n, n), strict=True)
    )
    total = ca.dot(w, getattr(jca, name)(model, jca.integrate(model, q, d), v, x))
    hessian, gradient = ca.hessian(total, ca.vertcat(d, v, x))
    jacobian = ca.jacobian(total, d)
    run = ca.Function("run", [q, d, v, x], [hessian, gradient, jacobian])
    hessian, gradient, jacobian = (np.array(y) for y in run(at.q, np.zeros(n), at.v, at.tau))
    expected = getattr(jc, f"{name}_hessian")(model, at.q, at.v, at.tau, w)
    by = jc.vjp(getattr(jc, name), model, (at.q, at.v, at.tau), w)
    assert close(gradient.ravel(), np.concatenate(by[:3]), 2**12 * EPS)
    assert close(jacobian.ravel(), by.q, 2**12 * EPS)
    blocks = [
        [hessian[i : i + n, j : j + n] for j in range(0, 3 * n, n)] for i in range(0, 3 * n, n)
    ]
    for found, value in zip(
        (blocks[0][0], blocks[0][1], blocks[1][1], blocks[0][2]), expected, strict=True
    ):
        assert close(found, value, 2**14 * EPS)


def test_jacobians_have_the_zeros_of_the_tree():
    tree = jc.models.tree(7, 2)
    pattern = jca.function("inverse_dynamics", tree).jacobian().sparsity_out(2)
    assert np.array_equal(np.array(ca.DM.ones(pattern)) != 0, related(tree))
    assert not related(tree).all()


def related(tree):
    """Which joints are on one path from the root."""
    found = np.eye(tree.nv, dtype=bool)
    for body in range(tree.nv):
        parent = tree.parents[body]
        while parent >= 0:
            found[body, parent] = found[parent, body] = True
            parent = tree.parents[parent]
    return found


@pytest.mark.parametrize("name", ["inverse_dynamics", "bias_forces", "gravity_forces"])
def test_contracted_hessians_have_the_zeros_of_the_tree(name):
    """A torque depends on pairs of joints on one path from the root."""
    tree = jc.models.tree(7, 2)
    function = jca.function(name, tree)
    x = [ca.MX.sym(f"x{k}", 7) for k in range(function.n_in())]
    w = np.arange(1.0, 8.0)
    hessian, _ = ca.hessian(ca.dot(w, function(*x)), x[0])
    assert np.array_equal(np.array(ca.DM.ones(hessian.sparsity())) != 0, related(tree))
    given = list(np.random.default_rng(0).standard_normal((len(x), 7)))
    found = np.array(ca.Function("H", x, [hessian])(*given))
    motion = [*given, *np.zeros((3 - len(x), 7))]
    exact = jc.inverse_dynamics_hessian(tree, *motion, w).dqdq
    assert close(found, exact, 2**12 * EPS)


def test_functions_are_not_saved(tmp_path):
    function = jca.function("gravity_forces", jc.models.chain(2))
    for save in (
        function.serialize,
        lambda: function.save(str(tmp_path / "f.casadi")),
        lambda: pickle.dumps(function),
    ):
        with pytest.raises(jc.ArgumentError, match=r"make the function anew"):
            save()
    assert not list(tmp_path.iterdir())


def test_first_derivatives_along_a_direction(model):
    at = state(model)
    q, dq = ca.MX.sym("q", model.nq), ca.MX.sym("dq", model.nq)
    tau = jca.gravity_forces(model, q)
    change = ca.Function("f", [q, dq], [ca.jtimes(tau, q, dq)])
    found = np.array(change(at.q, jc.coordinate_rates(model, at.q, at.v))).ravel()
    _, (expected,) = first(model, "gravity_forces", {"q": at.q}, {"q": at.v})
    assert close(found, expected, 2**12 * EPS)


def test_ipopt_finds_the_torques_that_hold_an_arm():
    arm, q = jc.models.chain(3), np.array([0.3, -0.4, 0.8])
    opti = ca.Opti()
    tau = opti.variable(3)
    a = jca.forward_dynamics(arm, q, np.zeros(3), tau)
    opti.minimize(ca.sumsqr(a))
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0})
    solution = opti.solve()
    assert np.allclose(solution.value(tau), jc.gravity_forces(arm, q), atol=1e-6)


def test_errors_say_what_is_wrong(model):
    at = state(model)
    with pytest.raises(
        jc.ArgumentError, match=r"gravity_forces\(\): q must be 13x1, got \(11, 1\)"
    ):
        jca.gravity_forces(model, at.v)
    with pytest.raises(jc.ArgumentError, match="use MX"):
        jca.gravity_forces(model, ca.SX.sym("q", model.nq))
    with pytest.raises(jc.UnknownNameError, match="forward_dynamics"):
        jca.function("forward_dynamic", model)
    with pytest.raises(RuntimeError, match="q must be finite"):
        jca.function("gravity_forces", model)(np.full(model.nq, np.nan))
