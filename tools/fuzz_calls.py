"""Calls of public functions with arguments of which some are damaged; models of such parts."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz_arguments import MODELS, Arguments, Later, ready
from fuzz_pickles import Pickles, honest

import jounce as jc

NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e154, 1e200, 1e308, np.inf, -np.inf, np.nan, 7.0)
THINGS: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    10**400,
    [10**400, 0, 0],
    "x",
    ["0", "1", "2"],
    b"x",
    (),
    [],
    {},
    object(),
    1j,
    np.zeros(0),
    np.zeros((0, 3)),
    np.array("x"),
    np.array([None]),
    [[1], [1, 2]],
    np.ma.array([1.0, 2.0], mask=[0, 1]),
    np.datetime64("2020-01-01"),
    slice(2),
    {"body0": np.eye(4)},
    range(3),
    float,
)
TYPES = ("f4", ">f8", "i4", "?", "c16", "O", "f2")
# files are another matter, a viewer is a server; these say where the package lies
ELSEWHERE = {"load", "load_urdf", "load_mjcf", "load_sdf", "load_xacro", "get_include", "view"}
ELSEWHERE |= {"get_cmake_dir", "get_library", "core_info", "model_address", "REPRESENTATIONS"}
METHODS = {
    jc.Model: "replace lock subtree attach reorder with_frame with_payload coupled",
    jc.Constraints: "residual velocity acceleration bias jacobian inverse_inertia rank regular at "
    "stabilized rows wanted_accelerations",
    jc.Parameters: "moved",
}


def public_functions() -> list[tuple[str, Any, Any]]:
    """Name, function and parameters of all that a user calls with numbers."""
    rooms = {"": jc, "lie.": jc.lie, "twists.": jc.twists, "inertia.": jc.inertia}
    rooms["trajectories."] = jc.trajectories
    found = []
    for prefix, room in rooms.items():
        for name in room.__all__:
            value = getattr(room, name)
            curve = prefix == "trajectories." and not inspect.isabstract(value)
            made = isinstance(value, type) and (not curve or issubclass(value, tuple))
            if callable(value) and not made and name not in ELSEWHERE:
                found.append((prefix + name, value, inspect.signature(value).parameters))
    for kind, names in METHODS.items():
        for name in names.split():
            method = getattr(kind, name)
            label = f"{kind.__name__}.{name}"
            found.append((label, method, inspect.signature(method).parameters))
    return found


def used(result: Any) -> Any:
    """Numbers of what a call returned: a model must have dynamics, a curve derivatives."""
    if isinstance(result, jc.Model):
        q = jc.random_configuration(result, 0)
        return jc.inverse_dynamics(result, q, np.ones(result.nv), np.ones(result.nv))
    if isinstance(result, jc.trajectories.Curve):
        first, last = (t if np.isfinite(t) else 0.0 for t in result.interval)
        return result.series(0.5 * first + 0.5 * last, 2)
    if isinstance(result, jc.SimulatedMotion):
        return result.q, result.v
    if isinstance(result, jc.Parameters):
        return result.values
    # states that failed are marked by NaN
    return None if isinstance(result, (jc.MarkedRollout, jc.MarkedSweep)) else result


class Calls:
    """Makes jobs from random numbers: what is called, and the call."""

    def __init__(self) -> None:
        self.functions = public_functions()
        self.fitting = Arguments(self.damaged)
        self.pick, self.chance = self.fitting.pick, self.fitting.chance
        self.pickles = Pickles(self.fitting, NUMBERS)

    def job(self, rng: np.random.Generator) -> tuple[str, Callable[[], Any]]:
        """One call, or once in a while a model of damaged parts."""
        self.rng = rng
        self.fitting.begin(rng)
        return self.model() if self.chance(0.1) else self.call()

    def call(self) -> tuple[str, Callable[[], Any]]:
        """One call of a public function."""
        name, function, parameters = self.pick(self.functions)
        model = self.pick(MODELS)
        given: dict[str, Any] = {}
        for key, parameter in parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                continue
            if parameter.default is not parameter.empty and self.chance(0.7):
                continue
            bad = self.chance(0.15) and key != "self"
            value = self.value(name, key, model)
            given[key] = self.damaged(value) if bad else value

        def call() -> Any:
            values = {k: ready(v) for k, v in given.items()}
            mine = (values.pop("self"),) if "self" in values else ()
            return used(function(*mine, **values))

        return f"{name}({', '.join(given)})", call

    def value(self, function: str, key: str, model: jc.Model) -> Any:
        """Of a parameter of a function; `self` is what has the method."""
        if key != "self" or function.startswith("Model."):
            fits = key in ("model", "self")
            return model if fits else self.fitting.argument(function, key, model)
        if function.startswith("Constraints."):
            return self.fitting.constraints(model)
        return self.fitting.parameters(function, model)

    def damaged(self, value: Any) -> Any:
        """The value with something changed."""
        if isinstance(value, Later) and self.chance(0.7):
            return value
        if not isinstance(value, np.ndarray) or self.chance(0.2):
            return self.pick(THINGS)
        value = np.array(value)
        kind = int(self.rng.integers(8))
        if kind == 0 and value.size and value.dtype == float:
            value.reshape(-1)[int(self.rng.integers(value.size))] = self.pick(NUMBERS)
        elif kind == 1 and value.dtype.kind in "fib":
            value = value.astype(self.pick(TYPES))
        elif kind == 2 and value.ndim:
            value = value[..., : int(self.rng.integers(value.shape[-1] + 1))]
        elif kind == 3:
            value = value[None]
        elif kind == 4 and value.dtype == float:
            value = value * 10.0 ** int(self.rng.integers(-320, 309))
        elif kind == 5 and value.ndim and value.dtype.kind in "fib":
            return list(value.astype(self.pick(TYPES)))
        elif kind == 6 and value.ndim:
            value = np.asfortranarray(value)[..., ::-1]
        elif value.ndim:
            value = np.repeat(value, 2, axis=-1)[..., ::2]
        return value

    def model(self) -> tuple[str, Callable[[], Any]]:
        """A model from a pickle that somebody changed, and dynamics with it."""
        data = self.pickles.model()
        if data is None:  # what cannot be pickled does not arrive in a pickle
            return self.call()
        return "model", lambda: used(honest(pickle.loads(data)))
