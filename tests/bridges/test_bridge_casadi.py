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


WRONG_OPTIONS = {
    "no body": ("body_pose", {}, jc.ArgumentTypeError, r"body_pose\(\) needs the argument 'body'"),
    "no mask": ("hybrid_dynamics", {}, jc.ArgumentTypeError, "needs the argument 'prescribed'"),
    "a value": (
        "gravity_forces",
        {"q": 5},
        jc.ArgumentTypeError,
        "q is no option, but",
    ),
    "an array": ("inverse_dynamics", {"f_ext": np.ones((4, 6))}, jc.ArgumentError, "True or False"),
    "a word": ("gravity_forces", {"compiled": "no"}, jc.ArgumentError, "compiled must be True or"),
    "unknown": ("gravity_forces", {"bodies": 3}, jc.ArgumentTypeError, "no argument 'bodies'"),
    "a masked mask": (
        "hybrid_dynamics",
        {"prescribed": np.ma.masked_array([True] * 11, [True] * 11)},
        jc.ArgumentError,
        "prescribed must have no masked entries",
    ),
    "no twist": (
        "body_twist",
        {"body": 0, "twist": np.ones(2)},
        jc.ArgumentError,
        "twist must be 'body'",
    ),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
def test_wrong_options_are_told_when_a_function_is_made(model, case):
    name, given, error, text = WRONG_OPTIONS[case]
    with pytest.raises(error, match=text):
        jca.function(name, model, **given)


def test_wrenches_are_an_argument_if_asked_for(model):
    assert jca.function("inverse_dynamics", model, f_ext=True).n_in() == 4
    for f_ext in (False, np.False_):
        assert jca.function("inverse_dynamics", model, f_ext=f_ext).n_in() == 3


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("abc", "q must be numbers, got 'abc'"),
        (np.full(13, 1j), "q must be real numbers, got complex128"),
        (np.ma.masked_array(np.ones(13), np.arange(13) == 2), "no masked entries, got 1 of 13"),
        (np.ones((1, 1, 13)), r"q must be one state, of shape \(13,\), got \(1, 1, 13\)"),
    ],
)
def test_what_is_no_vector_of_numbers_is_told(model, value, text):
    with pytest.raises(jc.ArgumentError, match=text):
        jca.gravity_forces(model, value)


def locked(kinds):
    """An arm whose limits leave every joint but the first one value, as placeholders do."""
    builder = jc.ModelBuilder()
    body = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": (0.1, 0.2, 0.3)}
    for k, kind in enumerate(kinds):
        limits = {"lower": 0.0, "upper": 0.0} if k else {}
        axis = (0, 0, 1) if kind == "revolute" else (1, 0, 0)
        parent = f"b{k - 1}" if k else None
        builder.add_body(f"b{k}", parent, kind, (0.5, 0, 0), axis=axis, **body, **limits)
    return builder.build()


@pytest.mark.parametrize("kinds", [("revolute",) * 2, ("revolute", "prismatic", "revolute")])
def test_joints_whose_limits_leave_one_value_have_derivatives(kinds):
    arm = locked(kinds)
    free = arm.replace(lower=-np.inf, upper=np.inf)
    given = np.random.default_rng(1).uniform(0.3, 0.8, (3, arm.nv))
    w = np.arange(1.0, 1 + arm.nv)
    found, wide = (jca.function("inverse_dynamics", x) for x in (arm, free))
    for k in range(3):
        assert found.jac_sparsity(0, k) == wide.jac_sparsity(0, k)
    exact = jc.inverse_dynamics_derivatives(arm, *given)
    blocks = found.jacobian()(*given, 0)
    for block, expected in zip(blocks, (exact.dq, exact.dv, None), strict=True):
        if expected is not None:
            assert close(np.array(block), expected, 2**10 * EPS)
    x = [ca.MX.sym(f"x{k}", arm.nv) for k in range(3)]
    hessian = ca.Function("H", x, [ca.hessian(ca.dot(w, found(*x)), x[1])[0]])
    expected = jc.inverse_dynamics_hessian(arm, *given, w).dvdv
    assert close(np.array(hessian(*given)), expected, 2**10 * EPS)
