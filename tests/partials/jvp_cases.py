"""Functions that have a directional derivative, with arguments and directions for them."""

from __future__ import annotations

import functools

import numpy as np
from partials_cases import states_of

import jounce as jc
from jounce import _core

SIGNATURES = {name: _core.signature(name) for name in _core.kernel_names()}
FUNCTIONS = [
    name
    for name, own in SIGNATURES.items()
    if not own["internal"] and f"{name}_jvp" in SIGNATURES and hasattr(jc, name)
]
OPTIONS = {
    "body": lambda model: model.body_names[-1],
    "twist": lambda model: "mixed",
    "prescribed": lambda model: np.arange(model.nv) % 3 == 1,
}


def arguments_of(name, model, seed=0):
    """Arguments of a function by name and a direction for each that is an array."""
    rng = np.random.default_rng(seed)
    own = SIGNATURES[name]
    values, tangents = {}, {}
    for key in (*own["inputs"], *own["optional_inputs"]):
        if key in ("q", "q0", "q1"):
            values[key] = jc.random_configuration(model, rng)
            tangents[key] = rng.standard_normal(model.nv)
            continue
        rows = {"f_ext": (model.n_bodies, 6), "s": ()}.get(key, (model.nv,))
        orders = 2 if "_series_derivatives" in name else 3
        if "_series" in name and key in ("tau", "a", "f_ext", "motion"):
            rows = (orders + (key == "motion"), *rows)
        values[key], tangents[key] = rng.standard_normal((2, *rows))
    if "q1" in values:  # less than half a turn away
        values["q1"] = jc.integrate(model, values["q0"], rng.uniform(-1, 1, model.nv))
    for key in own["options"]:
        values[key] = OPTIONS[key](model)
    return values, tangents


@functools.cache
def sprung(name):
    """A robot of `partials_cases` with springs, whose rest is less than half a turn away."""
    model, rng = states_of(name).model, np.random.default_rng(5)
    at = arguments_of("passive_forces", model)[0]
    stiffness, damping, friction = rng.uniform(0, 2, (3, model.nv))
    friction *= np.abs(at["v"]) > 0.2  # it jumps at rest
    rest = jc.integrate(model, at["q"], rng.uniform(-1, 1, model.nv))
    return model.replace(stiffness=stiffness, damping=damping, friction=friction, springref=rest)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)
