"""Directional derivatives of every function are exact: contours through its definition."""

from __future__ import annotations

import analytic_oracle as exact
import contours
import numpy as np
import pytest
from jvp_cases import FUNCTIONS, arguments_of, as_tuple, sprung
from partials_cases import LONG as ROOTS
from partials_cases import MODELS

import jounce as jc

FIRST, SECOND = 1e-11, 1e-10
"""Of values, and of derivatives or series; seen are 1e-12 and 4e-11, most of it the contours'."""
TWISTS = dict(zip(MODELS, ("body", "spatial", "hybrid", "mixed", "mixed"), strict=True))
LONG = {*exact.SECOND, *(name for name in exact.PARTIALS if "series" in name)}
"""Of two robots, which together have every elementary joint."""
HIGHER = {*exact.SECOND, *exact.PARTIALS, "coriolis_matrix", "christoffel_symbols"}
CASES = [
    pytest.param(name, robot, marks=[pytest.mark.long] * (robot in ROOTS))
    for name in FUNCTIONS
    for robot in MODELS
    if name not in LONG or robot in ("groups_in_mid_tree", "one_dof")
]


def contracted(name, result, first, second):
    """What `analytic_oracle` has of a result: partial derivatives only along directions."""
    if name == "coriolis_matrix":
        return (second["v"] @ result[0] @ first["v"],)
    if name == "christoffel_symbols":
        return (second["q"] @ (result[0] @ first["q"]) @ first["q"],)
    if name in exact.SECOND:
        dqdq, dqdv, dvdv, dqx = result
        u, w = ([d[key] for key in exact.SECOND[name][1].split()] for d in (first, second))
        both = u[0], w[0]  # the direction taken last is the last axis
        if dqdq.ndim == 2:
            dqdq, dqdv, dvdv, dqx = (x[None] for x in (dqdq, dqdv, dvdv, dqx))
        total = np.einsum("ijk,j,k", dqdq, *both) + np.einsum("ijk,j,k", dvdv, u[1], w[1])
        for x, at in ((dqdv, 1), (dqx, 2)):
            total = total + np.einsum("ijk,j,k", x, u[0], w[at])
            total = total + np.einsum("ijk,j,k", x, w[0], u[at])
        return (total[0] if name.endswith("hessian") else total,)
    if name in exact.PARTIALS:
        directions = [first[key] for key in exact.PARTIALS[name][1].split()]
        n = len(directions)
        terms = [np.tensordot(x, d, d.ndim) for x, d in zip(result, directions * 2, strict=False)]
        return tuple(sum(terms[k : k + n]) for k in range(0, len(terms), n))
    return result


def definition(name, first, second):
    if name == "coriolis_matrix":
        return lambda model, x: exact.coriolis_form(model, x, first["v"], second["v"])
    if name == "christoffel_symbols":
        u, w = first["q"], second["q"]
        return lambda model, x: exact.coriolis_form(
            model, {**x, "v": u + 0 * x["q"][..., :1]}, u, w
        )
    if name in exact.SECOND:
        return exact.second_partials(name, first, second)
    if name in exact.PARTIALS:
        return exact.partials(name, first)
    return getattr(exact, name)


def relative_error(ours, theirs, value):
    """To the largest entry, or to a hundredth of the value where the derivative is zero."""
    assert np.shape(ours) == np.shape(theirs)
    size = max(np.abs(theirs).max(initial=0), 1e-2 * np.abs(value).max(initial=0), 1e-300)
    return np.abs(ours - theirs).max(initial=0) / size


@pytest.mark.parametrize(("name", "robot"), CASES)
def test_derivatives_along_a_direction(name, robot):
    model, function = sprung(robot), getattr(jc, name)
    values, tangents = arguments_of(name, model)
    if "twist" in values:
        values["twist"] = TWISTS[robot]
    first, second = (arguments_of(name, model, seed)[1] for seed in (1, 2))
    x = {key: y if key in contours.OPTIONS else np.asarray(y) + 0j for key, y in values.items()}
    expected = contours.along(
        model, definition(name, first, second), x, tangents, contours.RADIUS / 2
    )
    value, derivative = (
        contracted(name, as_tuple(part), first, second)
        for part in jc.jvp(function, model, values, tangents)
    )
    plain = contracted(name, as_tuple(function(model, **values)), first, second)
    within = SECOND if name in HIGHER or "series" in name else FIRST
    for ours, theirs, at, alone in zip(derivative, expected, value, plain, strict=True):
        assert relative_error(ours, theirs, at) < within
        assert relative_error(at, alone, alone) < 1e-12
