"""Second derivatives by complex steps through the first derivatives of kim, Tables 5 and 6."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import partials_oracle as oracle
from partials_cases import states_of

from jounce.papers import kim

STATES = 3
NAMES = ("q", "v", "x")
"""Coordinates, rates, and what the function takes third: accelerations or forces."""


def first(function, model, q, v, x, f_ext, by):
    """Derivatives of a function of kim along all rates of `by`, the direction last."""
    name = {"q": "q", "v": "q_dot", "x": "q_ddot" if "inverse" in function else "tau"}[by]
    derivative = getattr(kim, f"{function}_sensitivity")
    at = [y[..., None, :] for y in (q, v, x)]
    p = kim.parameter(model, **{name: np.eye(model.nv)})
    wrenches = np.moveaxis(f_ext[..., None, :, :], -2, 0)  # bodies first
    return np.moveaxis(derivative(model, *at, p, wrenches), -2, -1)


def nested(function, case, first_by, then_by):
    """[state, i, j, k]: derivative of result i by j of `first_by`, then by k of `then_by`."""
    model, nv = case.model, case.model.nv
    at = {"q": case.q, "v": case.v, "x": case.x}
    moved = {name: x[:, None].astype(complex) for name, x in at.items()}
    step = 1j * oracle.STEP * np.eye(nv)
    if then_by == "q":
        moved["q"] = oracle.integrate(model, moved["q"], step)
    else:
        moved[then_by] = moved[then_by] + step
    d = first(function, model, *moved.values(), case.f_ext[:, None], first_by)
    return np.moveaxis(d.imag / oracle.STEP, 1, -1)


@functools.cache
def second(function, name):
    """States of a robot with weights, and the nested derivatives of inverse or forward dynamics."""
    all_states = states_of(name)
    rng = np.random.default_rng(3)
    q, v, a, tau, f_ext = (
        getattr(all_states, key)[:STATES] for key in ("q", "v", "a", "tau", "f_ext")
    )
    x = a if function == "inverse_dynamics" else tau
    weights = rng.standard_normal((STATES, all_states.model.nv))
    case = SimpleNamespace(model=all_states.model, q=q, v=v, x=x, f_ext=f_ext, weights=weights)
    pairs = (("q", "q"), ("q", "v"), ("v", "v"), ("q", "x"))
    case.nested = SimpleNamespace(
        **{f"{a}{b}": nested(function, case, a, b) for a, b in pairs},
        first=first(function, case.model, q, v, x, f_ext, "q"),
    )
    return case
