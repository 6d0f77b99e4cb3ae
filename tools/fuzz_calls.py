"""Calls of public functions with arguments of which some are damaged; models of such parts."""

from __future__ import annotations

import inspect
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import jounce as jc

MODELS = [
    jc.models.chain(3),
    jc.models.random_tree(6, 1),
    jc.models.mixed_tree(),
    jc.models.aerial_manipulator(),
    jc.ModelBuilder().build(),
]
NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e-300, 5e-324, 1e154, 1e200, 1e308, np.inf, -np.inf, np.nan, 7.0)
THINGS: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    "x",
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
LEADS: tuple[tuple[int, ...], ...] = ((), (), (), (1,), (3,), (9,), (2, 1), (0,))
METHODS = ("rkmk4", "euler", "cf4", "semi_implicit", "dop853", "no such")
# files are another matter; these say where the package lies
ELSEWHERE = {"load", "load_urdf", "load_mjcf", "load_sdf", "load_xacro", "get_include"}
ELSEWHERE |= {"get_cmake_dir", "get_library", "core_info", "model_address", "REPRESENTATIONS"}


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
    for name in ("replace", "locked", "subtree", "merged"):
        if hasattr(jc.Model, name):
            method = getattr(jc.Model, name)
            found.append((f"Model.{name}", method, inspect.signature(method).parameters))
    return found


class Calls:
    """Makes jobs from random numbers: what is called, and the call."""

    def __init__(self) -> None:
        self.functions = public_functions()
        self.rng = np.random.default_rng(0)

    def pick(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def job(self, rng: np.random.Generator) -> tuple[str, Callable[[], Any]]:
        """One call, or once in a while a model of damaged parts."""
        self.rng = rng
        return self.model() if self.chance(0.1) else self.call()

    def call(self) -> tuple[str, Callable[[], Any]]:
        """One call of a public function."""
        name, function, parameters = self.pick(self.functions)
        model = self.pick(MODELS)
        self.lead = self.pick(LEADS)
        given: dict[str, Any] = {}
        for key, parameter in parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                continue
            if parameter.default is not parameter.empty and self.chance(0.7):
                continue
            value = model if key in ("model", "self") else self.argument(name, key, model)
            bad = self.chance(0.15) and key != "self"
            given[key] = self.damaged(value) if bad else value
        mine = given.pop("self", None)
        values = () if mine is None else (mine,)
        return f"{name}({', '.join(given)})", lambda: function(*values, **given)

    def argument(self, function: str, name: str, model: jc.Model) -> Any:
        """A value that fits, most of the time."""
        lead = self.lead if self.chance(0.9) else self.pick(LEADS)
        normal = self.rng.standard_normal
        if "." in function and not function.startswith("Model."):
            return self.element(lead)
        if name in ("q", "q0", "q1"):
            return jc.random_configuration(model, self.rng, lead)
        sizes = {
            "f_ext": (model.n_bodies, 6),
            "motion": (int(self.rng.integers(2, 5)), model.nv),
            "t": (4,),
            "inertias": (model.n_bodies, 10),
            "gravity": (3,),
        }
        if name == "out":
            return self.pick([None, np.zeros((*lead, model.nv)), np.zeros((*lead, 6, model.nv))])
        if name == "inertias" and self.chance(0.7):
            return np.array(model.inertias)
        if name == "t":
            return np.sort(self.rng.random(4))
        if name in sizes:
            return normal((*lead, *sizes[name]))
        make = {
            "body": lambda: self.pick([*model.frames, 0, -1, model.n_bodies, "no such", 1.5]),
            "prescribed": lambda: self.rng.random(model.nv) < 0.5,
            "actuated": lambda: self.rng.random(model.nv) < 0.5,
            "targets": lambda: {k: np.eye(4) for k in [*model.frames][:2]},
            "wrenches": lambda: {k: normal(6) for k in [*model.frames][:2]},
            "joints": lambda: {k: normal(1) for k in model.joint_names[:2]},
            "base": lambda: self.pick([np.eye(4), normal(7), None]),
            "target": io.BytesIO,
            "function": lambda: self.pick([jc.inverse_dynamics, jc.forward_dynamics, jc.integrate]),
            "arguments": lambda: self.several(model, 3),
            "tangents": lambda: self.several(model, 3)[1:],
            "weights": lambda: normal((*lead, model.nv)),
            "kind": lambda: self.pick(["mass", "gravity", "axis", "placement", "x"]),
            "names": lambda: [*model.body_names][:2],
            "format": lambda: self.pick(["urdf", "mjcf", None, "x"]),
            "method": lambda: self.pick(METHODS),
            "passive": lambda: self.chance(0.5),
            "dt": lambda: 0.01,
            "s": lambda: 0.5,
            "rng": lambda: 3,
            "order": lambda: int(self.rng.integers(-1, 4)),
            "samples": lambda: int(self.rng.integers(0, 4)),
            "every": lambda: int(self.rng.integers(0, 3)),
            "iterations": lambda: int(self.rng.integers(0, 4)),
            "restarts": lambda: int(self.rng.integers(0, 2)),
            "shape": lambda: lead,
            "hold": lambda: self.pick(["zero", "first", "x"]),
            "on_failure": lambda: self.pick(["raise", "x"]),
            "rtol": lambda: 1e-3,
            "atol": lambda: 1e-3,
            "threads": lambda: self.pick([0, 1, 2, 3, -1, 2.0]),
            "twist": lambda: self.pick([*jc.twists.REPRESENTATIONS, "LOCAL", "x"]),
        }
        if name in make:
            return make[name]()
        if function in ("rollout", "simulate") and name == "tau":
            return normal((*lead, 3, model.nv))
        return normal((*lead, model.nv))

    def several(self, model: jc.Model, count: int) -> tuple[Any, ...]:
        """Arguments of dynamics, as a tuple."""
        q = jc.random_configuration(model, self.rng, self.lead)
        rest = self.rng.standard_normal((count - 1, *self.lead, model.nv))
        return (q, *rest)

    def element(self, lead: tuple[int, ...]) -> Any:
        """Something that functions on groups, inertias and curves take."""
        kind = int(self.rng.integers(9))
        normal = self.rng.standard_normal
        if kind < 3:
            return normal((*lead, (3, 6, 10)[kind]))
        if kind == 3:
            return jc.lie.quat_normalize(normal((*lead, 4)))
        if kind == 4:
            return jc.lie.exp(normal((*lead, 3)))
        if kind == 5:
            return jc.lie.exp(normal((*lead, 6)))
        if kind == 6:
            return self.pick([*jc.twists.REPRESENTATIONS, "x"])
        if kind == 7:
            return normal((*lead, 3, 6))
        return self.pick([0.5, 1, 2, 3, True])

    def damaged(self, value: Any) -> Any:
        """The value with something changed."""
        if not isinstance(value, np.ndarray) or self.chance(0.2):
            return self.pick(THINGS)
        value = np.array(value)
        kind = int(self.rng.integers(7))
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
        elif kind == 5:
            value = np.asfortranarray(value)[..., ::-1]
        elif value.ndim:
            value = np.repeat(value, 2, axis=-1)[..., ::2]
        return value

    def model(self) -> tuple[str, Callable[[], Any]]:
        """A model of changed parts, unpickled, and dynamics with it."""
        kind, (name, gravity, bodies, frames, *others) = self.pick(MODELS).__reduce__()
        bodies, frames = list(bodies), dict(frames)
        for _ in range(int(self.rng.integers(1, 3))):
            parts: Any = bodies if bodies and self.chance(0.8) else frames
            if not parts:
                continue
            key = self.pick(list(frames)) if parts is frames else self.pick(range(len(bodies)))
            field = self.pick(parts[key]._fields)
            parts[key] = parts[key]._replace(**{field: self.damaged(getattr(parts[key], field))})
        try:
            data = pickle.dumps((name, gravity, tuple(bodies), frames, *others))
        except Exception:  # what cannot be pickled does not arrive in a pickle
            return self.call()

        def use() -> Any:
            made = kind(*pickle.loads(data))
            q = jc.random_configuration(made, 0)
            return jc.inverse_dynamics(made, q, np.ones(made.nv), np.ones(made.nv))

        return "model", use
