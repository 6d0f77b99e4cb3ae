"""A robot with every kind of coordinates, and arguments of every bridged function."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import jounce as jc
from jounce.interop._bridge.functions import functions

EPS = np.finfo(float).eps
OPTIONS = {"body": "hand", "twist": "hybrid", "method": "rkmk2"}


def robot() -> jc.Model:
    """A free base, then a ball in mid-tree between a hinge and a slide."""
    builder = jc.ModelBuilder(name="small")
    options = {"mass": 1.5, "com": (0.1, -0.2, 0.3), "inertia": (0.3, 0.4, 0.5)}
    builder.add_body("base", joint="free", **options)
    builder.add_body(
        "arm", "base", joint="revolute", axis=(0, 1, 1), placement=(0.2, 0, 0), **options
    )
    builder.add_body("ball", "arm", joint="spherical", placement=(0, 0.3, 0.1), **options)
    builder.add_body(
        "hand", "ball", joint="prismatic", axis=(1, 0, 0), placement=(0, 0, 0.4), **options
    )
    return builder.build().replace(damping=0.3, armature=0.1)


def gripper() -> jc.Model:
    """Two fingers, one of which follows the other."""
    builder = jc.ModelBuilder()
    builder.add_body("left", joint="prismatic", joint_name="close", mass=0.1)
    builder.add_body("right", joint="prismatic", mimic=jc.Mimic("close", -1.0), mass=0.1)
    return builder.build().coupled()


def state(model: jc.Model, *lead: int, seed: int = 0) -> SimpleNamespace:
    """Values of all arguments that functions have."""
    rng = np.random.default_rng(seed)
    size = int(np.prod(lead, dtype=int))
    q = [jc.random_configuration(model, rng) for _ in range(2 * size)]
    q0, q1 = np.reshape(q, (2, *lead, model.nq))
    rates = {x: rng.standard_normal((*lead, model.nv)) for x in ("v", "a", "tau", "dv", "weights")}
    rows = {"motion": 3, "tau_series": 2, "a_series": 2}
    series = {x: rng.standard_normal((*lead, n, model.nv)) for x, n in rows.items()}
    f_ext = rng.standard_normal((*lead, model.n_bodies, 6))
    f_series = rng.standard_normal((*lead, 2, model.n_bodies, 6))
    scalars = {"s": rng.random(lead), "dt": 0.1 + 0.1 * rng.random(lead)}
    arrays = {"q": q0, "q0": q0, "q1": q1, "f_ext": f_ext, "f_ext_series": f_series}
    return SimpleNamespace(**arrays, **rates, **series, **scalars)


def arguments(name: str, at: SimpleNamespace) -> dict[str, np.ndarray]:
    """Arrays that a function takes."""
    function = functions()[name]
    ranks = function.ranks
    plain = {"f_ext": 2}

    def key(x: str) -> str:
        return f"{x}_series" if x != "motion" and ranks[x] > plain.get(x, 1) else x

    return {x: getattr(at, key(x)) for x in function.inputs}


def options(name: str, model: jc.Model) -> dict[str, object]:
    """Options of a function."""
    known = {**OPTIONS, "prescribed": np.arange(model.nv) % 3 == 0}
    names = functions()[name].names
    return {key: value for key, value in known.items() if key in names}


def is_configuration(name: str) -> bool:
    return name in ("q", "q0", "q1")


def directions(model: jc.Model, name: str, lead: tuple[int, ...] = (), seed: int = 1):
    """A tangent of every argument: left-trivialized ones of configurations."""
    rng = np.random.default_rng(seed)
    given = arguments(name, state(model, *lead))
    shapes = {
        x: (*lead, model.nv) if is_configuration(x) else np.shape(value)
        for x, value in given.items()
    }
    return {x: rng.standard_normal(shape) for x, shape in shapes.items()}


def moved(model: jc.Model, values, changes, length: float):
    """Arguments a step along tangents away."""
    return {
        x: jc.integrate(model, value, length * changes[x])
        if is_configuration(x)
        else value + length * changes[x]
        for x, value in values.items()
    }


def first(model: jc.Model, name: str, values, changes):
    """Results and their changes, by the dual numbers of the core."""
    function = getattr(jc, name)
    found = jc.jvp(function, model, {**values, **options(name, model)}, changes)
    return [as_tuple(part) for part in found]


def in_coordinates(model: jc.Model, name: str, results, changes):
    """Changes of results as other libraries see them: those of configurations by coordinates."""
    return [
        jc.coordinate_rates(model, result, change) if y.is_configuration else change
        for y, result, change in zip(outputs(model, name), results, changes, strict=True)
    ]


def tangents(model: jc.Model, name: str, results, changes):
    """Changes of results as the package has them."""
    return changes


def second(model: jc.Model, name: str, values, d, e, seen=tangents):
    """The change along e of the change along d, by differences of sixth order of exact ones."""
    h = 2.0**-9
    weights = {1: 45, 2: -9, 3: 1}
    total = None
    for k, w in weights.items():
        ahead, behind = (
            seen(model, name, *first(model, name, moved(model, values, e, sign * k * h), d))
            for sign in (1, -1)
        )
        parts = [w * (x - y) / (60 * h) for x, y in zip(ahead, behind, strict=True)]
        total = parts if total is None else [x + y for x, y in zip(total, parts, strict=True)]
    return total


def outputs(model: jc.Model, name: str):
    """What is known of a function's results."""
    shapes = {x: np.shape(value) for x, value in arguments(name, state(model)).items()}
    return functions()[name].operation(model, shapes, options(name, model)).outputs


def as_tuple(found):
    return tuple(found) if isinstance(found, tuple) else (found,)


def close(found, expected, tolerance: float) -> bool:
    """Whether arrays agree, in units of the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = max(1.0, np.abs(expected).max(initial=0.0))
    return bool(np.abs(found - expected).max(initial=0.0) <= tolerance * scale)
