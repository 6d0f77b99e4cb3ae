"""Operations that front ends share have the partial derivatives of the package, of both orders."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from bridge_cases import (
    EPS,
    arguments,
    as_tuple,
    close,
    directions,
    first,
    options,
    robot,
    second,
    state,
)

import jounce as jc
from jounce import _core
from jounce.interop._bridge.evaluate import evaluate, partials
from jounce.interop._bridge.functions import _ROOMS, functions
from jounce.interop._bridge.partials import closed_forms, directional
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent

NAMES = list(functions())
OF_NO_STATE = {
    "configuration",
    "neutral",
    "random_configuration",
    "subtree_masses",
    "total_mass",
} | {
    *("base_parameters", "torque_regressor_pattern", "jvp", "vjp"),
    *("coordinate_event", "height_event", "joint_limits"),
}
"""Functions of a model alone, of another function, or that make events."""
SERIES = ["inverse_dynamics_series", "forward_dynamics_series", "hybrid_dynamics_series"]


@pytest.fixture(scope="module")
def model():
    return robot()


def prepared(model, name, *lead):
    """The operation of a call, and its arrays in order."""
    given = arguments(name, state(model, *lead))
    shapes = {x: np.shape(value) for x, value in given.items()}
    own = functions()[name].operation(model, shapes, options(name, model))
    return own, [given[x.name] for x in own.inputs]


def contracted(partial, change, columns):
    """A partial derivative times a change, over the last axes."""
    lead = change.ndim - columns
    axes = [*range(partial.ndim - columns, partial.ndim)]
    if lead == 0:
        return np.tensordot(partial, change, (axes, [*range(columns)]))
    return np.array([contracted(p, c, columns) for p, c in zip(partial, change, strict=True)])


def test_most_functions_of_the_package_are_there():
    assert len(NAMES) >= 63
    assert {"inverse_dynamics", "forward_dynamics", "step", "integrate", "jacobian"} <= set(NAMES)


def listed(mark):
    """Names in the paragraph of the documentation that this comment marks."""
    text = (Path(__file__).parents[2] / "docs" / "bridges.md").read_text(encoding="utf-8")
    return set(re.findall(r"`(\w+)`", text.split(f"<!-- {mark} -->\n")[1].split("\n\n")[0]))


def test_the_documentation_lists_what_is_not_bridged():
    public = {name: getattr(room, name) for room in _ROOMS for name in room.__all__}
    found = {name for name, x in public.items() if inspect.isroutine(x) or _core.compiled(x)}
    assert listed("not bridged") == found - set(NAMES) - OF_NO_STATE


def test_the_documentation_lists_what_casadi_lacks():
    casadi = pytest.importorskip("jounce.interop.casadi", exc_type=ImportError)
    assert listed("not in CasADi") == set(NAMES) - set(casadi.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_package(model, name):
    own, arrays = prepared(model, name, 3)
    given = arguments(name, state(model, 3))
    expected = as_tuple(getattr(jc, name)(model, **given, **options(name, model)))
    for found, value in zip(evaluate(own, arrays), expected, strict=True):
        assert np.array_equal(found, value)


@pytest.mark.parametrize("lead", [(), (3,)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_first_derivatives_are_those_of_the_package(model, name, lead):
    own, arrays = prepared(model, name, *lead)
    d = directions(model, name, lead)
    _, expected = first(model, name, arguments(name, state(model, *lead)), d)
    total = [0.0] * len(expected)
    for x in own.inputs:
        parts = (contracted(p, d[x.name], len(x.tangent)) for p in partials(own, arrays, x.name))
        total = [a + b for a, b in zip(total, parts, strict=True)]
    for found, change in zip(total, expected, strict=True):
        assert close(found, change, 2**14 * EPS)


@pytest.mark.parametrize("lead", [(), (2,)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_nested_first_ones(model, name, lead):
    own, arrays = prepared(model, name, *lead)
    given = arguments(name, state(model, *lead))
    d, e = (directions(model, name, lead, seed=k) for k in (1, 2))
    total = [0.0] * len(own.outputs)
    for x in own.inputs:
        for k, part in enumerate(nested(own, arrays, x, d, e)):
            total[k] = total[k] + part
    for found, change in zip(total, second(model, name, given, d, e), strict=True):
        assert close(found, change, 1e-10)


@pytest.mark.parametrize("name", SERIES)
def test_second_derivatives_of_series_without_wrenches_are_nested_first_ones(model, name):
    given = arguments(name, state(model))
    d, e = (directions(model, name, seed=k) for k in (1, 2))
    for each in (given, d, e):
        del each["f_ext"]
    shapes = {x: np.shape(value) for x, value in given.items()}
    own = functions()[name].operation(model, shapes, options(name, model))
    arrays = [given[x.name] for x in own.inputs]
    parts = [nested(own, arrays, x, d, e) for x in own.inputs]
    for k, change in enumerate(second(model, name, given, d, e)):
        assert close(sum(part[k] for part in parts), change, 1e-10)


def nested(own, arrays, x, d, e):
    """Changes along e of the derivatives along d of one input."""
    closed = closed_forms(own).get(x.name)
    if closed is None:  # along d itself, one direction
        inner, skipped = directional(own, x.name)
        values = [*arrays, d[x.name]]
        blocks = [skipped + k for k in range(len(own.outputs))] if skipped else None
        contract = None
    else:
        inner, blocks, contract = closed.operation, closed.blocks, len(x.tangent)
        known = {a.name: array for a, array in zip(own.inputs, arrays, strict=True)}
        values = [known.get(a.name, np.zeros(a.shape)) for a in inner.inputs]
    total = [0.0] * len(own.outputs)
    for y in inner.inputs:
        if y.name not in e or y.name.startswith("d_"):
            continue
        found = partials(inner, values, y.name)
        for k, at in enumerate(blocks):
            change = contracted(found[at], e[y.name], len(y.tangent))
            part = change if contract is None else contracted(change, d[x.name], contract)
            total[k] = total[k] + part
    return total


def test_changes_of_coordinates_are_tangents_and_back(model):
    rng = np.random.default_rng(0)
    pieces, q = layout(model), state(model, 5).q
    tangent = rng.standard_normal((5, model.nv))
    change = from_tangent(np, pieces, q, tangent)
    assert close(change, jc.coordinate_rates(model, q, tangent), 8 * EPS)
    assert close(to_tangent(np, pieces, q, change), tangent, 16 * EPS)
    longer = q.copy()
    at = model.q_slice("ball_joint")
    longer[:, at] *= 3.0
    change[:, at] *= 3.0  # the same rotation, so the same tangent
    assert close(to_tangent(np, pieces, longer, change + 0.0 * q), tangent, 16 * EPS)
    along = np.zeros_like(q)
    along[:, at] = q[:, at]
    assert close(to_tangent(np, pieces, q, along), np.zeros((5, model.nv)), 8 * EPS)


def test_a_step_has_a_method_of_its_own(model):
    at = state(model)
    given = {x: getattr(at, x) for x in ("q", "v", "tau", "dt")}
    own = functions()["step"].operation(model, {x: np.shape(y) for x, y in given.items()}, {})
    expected = jc.step(model, at.q, at.v, at.tau, at.dt)
    for found, value in zip(evaluate(own, list(given.values())), expected, strict=True):
        assert np.array_equal(found, value)


def test_what_has_no_further_derivative_says_so(model):
    own, _ = prepared(model, "torque_regressor")
    twice, _ = directional(directional(own, "q")[0], "q")
    with pytest.raises(jc.ArgumentError, match=r"torque_regressor\(\) has no derivatives of this"):
        directional(twice, "q")
