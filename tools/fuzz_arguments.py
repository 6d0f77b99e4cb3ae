"""Arguments that fit the parameters of public functions, most of the time."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

MODELS = [
    jc.models.chain(3),
    jc.models.random_tree(6, 1),
    jc.models.mixed_tree(),
    jc.models.aerial_manipulator(),
    jc.ModelBuilder().build(),
]
LEADS: tuple[tuple[int, ...], ...] = ((), (), (), (1,), (3,), (9,), (2, 1), (0,))
METHODS = ("rkmk4", "euler", "cf4", "semi_implicit", "dop853", "dopri5", "taylor")
METHODS += ("variational", "momentum", "no such")
FREE = ("rx", "ry", "rz", "x", "y", "z", "no such")
KINDS = ("mass", "first_moment", "inertia", "log_cholesky", "gravity", "placement", "axis")
KINDS += ("pitch", "armature", "damping", "stiffness", "no such")
ON_STATES = ("inverse_dynamics", "forward_dynamics", "coriolis_matrix", "mass_matrix", "integrate")
ON_STATES += ("inverse_mass_matrix", "kinetic_energy", "gravity_forces", "bias_forces")
ON_STATES += ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "torque_regressor")


class Later(NamedTuple):
    """A value that is made when the call is: making it may be refused as well."""

    make: Callable[[], Any]


def ready(value: Any) -> Any:
    """The value itself."""
    return value.make() if isinstance(value, Later) else value


def height(t: float, q: np.ndarray, v: np.ndarray) -> float:
    """A function for events."""
    return float(q[:1].sum()) - t


class Arguments:
    """Values from random numbers; `damage` changes some parts of what is put together."""

    def __init__(self, damage: Callable[[Any], Any]) -> None:
        self.damage = damage
        self.rng = np.random.default_rng(0)
        self.lead: tuple[int, ...] = ()

    def begin(self, rng: np.random.Generator) -> None:
        """The random numbers and the batch of the next call."""
        self.rng = rng
        self.lead = self.pick(LEADS)
        if self.chance(0.02):
            self.lead = self.pick([(1,) * self.whole(3, 29), (2 ** self.whole(3, 16), 0)])

    def pick(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def whole(self, first: int, end: int) -> int:
        return int(self.rng.integers(first, end))

    def part(self, value: Any) -> Any:
        """The value, or once in a while a damaged one."""
        return self.damage(value) if self.chance(0.1) else value

    def frame(self, model: jc.Model) -> Any:
        return self.pick([*model.frames, 0, -1, model.n_bodies, "no such", 1.5])

    def argument(self, function: str, name: str, model: jc.Model) -> Any:
        """What a parameter of this name takes."""
        lead = self.lead if self.chance(0.9) else self.pick(LEADS)
        if "." in function and function.split(".")[0] in ("lie", "twists", "inertia"):
            return self.element(lead)
        if function.startswith("trajectories."):
            return self.curve_part(lead)
        if made := self.array(function, name, model, lead):
            return made()
        if made := self.composed(function, name, model, lead):
            return made()
        if made := self.option(name, lead):
            return made()
        return self.rng.standard_normal((*lead, model.nv))

    def array(self, function: str, name: str, model: jc.Model, lead: Any) -> Any:
        """Numbers of the model's sizes."""
        normal = self.rng.standard_normal
        orders = (self.whole(1, 4),) if "series" in function and name in ("a", "tau") else ()
        make = {
            "q": lambda: jc.random_configuration(model, self.rng, lead),
            "a": lambda: normal((*lead, *orders, model.nv)),
            "tau": lambda: normal((*lead, *orders, model.nv)),
            "f_ext": lambda: normal((*lead, *orders, model.n_bodies, 6)),
            "motion": lambda: normal((*lead, self.whole(2, 5), model.nv)),
            "t": lambda: np.sort(self.rng.random(4)),
            "inertias": lambda: np.array(model.inertias),
            "placements": lambda: np.broadcast_to(np.eye(4), (model.n_bodies, 4, 4)),
            "gravity": lambda: normal((*lead, 3)),
            "step": lambda: normal(self.whole(0, 12)),
            "out": lambda: self.out(model, lead),
            "weights": lambda: self.weights(function, model, lead),
            "targets": lambda: {k: self.part(np.eye(4)) for k in [*model.frames][:2]},
            "wrenches": lambda: {k: self.part(normal(6)) for k in [*model.frames][:2]},
            "joints": lambda: {k: self.part(normal(1)) for k in model.joint_names[:2]},
            "poses": lambda: {"home": self.part(jc.neutral(model))},
            "prescribed": lambda: self.rng.random(model.nv) < 0.5,
            "actuated": lambda: self.rng.random(model.nv) < 0.5,
            "actuation": lambda: normal((model.nv, 2)),
        }
        make["q0"] = make["q1"] = make["q_ref"] = make["q"]
        make["values"] = make["joints"]
        if function in ("rollout", "rollout_vjp", "simulate"):
            make["tau"] = lambda: normal((*lead, 3, model.nv))
        return make.get(name)

    def out(self, model: jc.Model, lead: Any) -> Any:
        """Room for results, which may be too small."""
        one, many = np.zeros((*lead, model.nv)), np.zeros((*lead, 6, model.nv))
        square = np.zeros((*lead, model.nv, model.nv))
        return self.pick([None, one, many, square, (one, one.copy()), (square, square.copy())])

    def weights(self, function: str, model: jc.Model, lead: Any) -> Any:
        """By which results are summed."""
        normal = self.rng.standard_normal
        if function == "rollout_vjp":
            rows = normal((2, *lead, self.pick([3, 4]), model.nv))
            return self.pick([(rows[0], rows[1]), (rows[0], None), (None, rows[1]), (None, None)])
        if function == "inverse_kinematics":
            return {k: self.part(np.ones(6)) for k in [*model.frames][:2]}
        twice = function == "linearize_step"
        return normal((*lead, (2 if twice else 1) * model.nv))

    def composed(self, function: str, name: str, model: jc.Model, lead: Any) -> Any:
        """Frames, other models, functions, constraints, controls."""
        normal = self.rng.standard_normal
        frame = lambda: self.frame(model)  # noqa: E731
        make = {
            "body": frame,
            "frame": frame,
            "at": frame,
            "other": lambda: self.pick(MODELS),
            "joint": lambda: self.pick([*model.joint_names, 0, "no such"]),
            "joint_names": lambda: [*self.rng.permutation(model.joint_names)],
            "names": lambda: [*model.body_names][:2],
            "base": lambda: self.pick([np.eye(4), normal(7), None]),
            "pose": lambda: jc.lie.exp(normal(6)),
            "constraints": lambda: self.constraints(model),
            "control": lambda: self.control(function, model),
            "parameters": lambda: self.parameters(function, model),
            "events": lambda: self.events(model),
            "contacts": lambda: self.contact(frame(), self.part(normal(3))),
            "function": lambda: getattr(jc, self.pick(ON_STATES)),
            "arguments": lambda: self.several(model, self.whole(1, 4)),
            "tangents": lambda: (None, *self.several(model, self.whole(1, 4))[1:]),
            "arrays": lambda: self.several(model, self.whole(1, 4)),
            "target": io.BytesIO,
        }
        return make.get(name)

    def option(self, name: str, lead: Any) -> Any:
        """Small numbers and words."""
        make = {
            "kind": lambda: self.pick(KINDS),
            "format": lambda: self.pick(["urdf", "mjcf", None, "x"]),
            "method": lambda: self.pick(METHODS),
            "executor": lambda: self.pick([None, None, None, "no such"]),
            "file": lambda: None,
            "workers": lambda: self.pick([None, 1]),
            "constants": lambda: self.pick([None, {}, {"threads": 1}, {"no such": 1}]),
            "block": lambda: self.pick([None, 1, 2, 16]),
            "states": lambda: self.pick([None, 0, 3]),
            "seed": lambda: self.pick([None, 0, 5]),
            "progress": lambda: self.pick([None, False]),
            "dt": lambda: self.pick([0.01, 0.01, 1e-3, 0.0, -0.01]),
            "s": lambda: 0.5,
            "rng": lambda: 3,
            "order": lambda: self.whole(-1, 5),
            "samples": lambda: self.whole(0, 4),
            "every": lambda: self.whole(0, 3),
            "iterations": lambda: self.whole(0, 4),
            "restarts": lambda: self.whole(0, 2),
            "item": lambda: self.whole(-1, 3),
            "orders": lambda: self.whole(0, 4),
            "limit": lambda: self.pick([None, 0, 2**20]),
            "shape": lambda: lead,
            "name": lambda: self.pick(["tool", "body0", ""]),
            "prefix": lambda: self.pick(["", "left/"]),
            "hold": lambda: self.pick(["zero", "first", "x"]),
            "on_failure": lambda: self.pick(["raise", "mark", "x"]),
            "axis": lambda: self.whole(0, 4),
            "direction": lambda: self.whole(-2, 3),
            "twist": lambda: self.pick([*jc.twists.REPRESENTATIONS, "LOCAL", "x"]),
            "threads": lambda: self.pick([0, 1, 2, 3, -1, 2.0]),
        }
        for flag in ("passive", "limits", "terminal", "overwrite", "projection"):
            make[flag] = lambda: self.chance(0.5)
        for small in ("rtol", "atol", "tolerance", "restitution", "alpha", "beta", "mass", "value"):
            make[small] = lambda: float(10.0 ** self.whole(-6, 1))
        return make.get(name)

    def several(self, model: jc.Model, count: int) -> tuple[Any, ...]:
        """Arguments of dynamics, as a tuple."""
        q = jc.random_configuration(model, self.rng, self.lead)
        rest = self.rng.standard_normal((count - 1, *self.lead, model.nv))
        return tuple(self.part(x) for x in (q, *rest))

    def constraint(self, model: jc.Model) -> Callable[[], Any]:
        """One of any kind."""
        normal, part = self.rng.standard_normal, self.part
        first, second = self.frame(model), self.pick([None, self.frame(model)])
        anchor, motion = part(normal(3)), self.pick([None, None, None, part(normal((2, 3)))])
        free = tuple({self.pick(FREE) for _ in range(self.whole(0, 4))})
        target = self.pick([None, None, None, part(np.eye(4)), part(normal(3))])
        radius, axis = part(float(self.rng.random())), self.pick([None, part(normal(3))])
        coefficients = {k: part(float(normal())) for k in model.joint_names[-3:]}
        return self.pick(
            [
                lambda: jc.Weld(first, second, target, motion),
                lambda: jc.Loop(first, second, free, target, motion),
                lambda: jc.Point(first, second, target, motion),
                lambda: jc.Distance(first, second, anchor, radius),
                lambda: jc.Coupling(coefficients, radius),
                lambda: jc.Rolling(first, radius, axis, second=second),
            ]
        )

    def constraints(self, model: jc.Model) -> Any:
        """Some that belong to the model, most of the time, and may hold at a configuration."""
        owner = self.pick(MODELS) if self.chance(0.05) else model
        makers = [self.constraint(owner) for _ in range(self.whole(0, 3))]
        stabilization = self.pick([(0.0, 0.0), (0.0, 0.0), self.part(np.ones(2))])
        q = jc.random_configuration(owner, self.rng)
        held, tolerance = self.chance(0.5), self.pick([np.inf, self.part(1e-6)])
        options = {"stabilization": stabilization, "tolerance": tolerance}

        def make() -> jc.Constraints:
            some = jc.Constraints(owner, [m() for m in makers], **options)
            return some.at(q) if held else some

        return Later(make)

    def contact(self, frame: Any, axis: Any) -> Any:
        """With the ground."""
        return Later(lambda: jc.Contact(frame, axis))

    def control(self, function: str, model: jc.Model) -> Any:
        """Servos, or torques as a function of time."""
        normal, part = self.rng.standard_normal, self.part
        torque = part(normal(model.nv))
        if function == "simulate" and self.chance(0.5):
            return lambda t, q, v: torque
        given = {
            "kp": part(self.rng.random(model.nv)),
            "kd": part(self.rng.random(model.nv)),
            "q_ref": part(jc.random_configuration(model, self.rng, self.lead)),
            "v_ref": part(normal((*self.lead, model.nv))),
            "force_limits": part(self.pick([None, 1.0, "model", self.rng.random(model.nv)])),
            "prescribed": part(self.rng.random(model.nv) < 0.5),
            "passive": self.chance(0.5),
            "stops": self.chance(0.5),
        }
        some = {k: v for k, v in given.items() if self.chance(0.5)}
        return Later(lambda: jc.Control(**some))

    def parameters(self, function: str, model: jc.Model) -> Any:
        """Of one kind or two, with a direction where one is needed."""
        kinds = [self.pick(KINDS) for _ in range(self.whole(1, 3))]
        lead, directed = self.lead, function == "jvp"

        def make() -> Any:
            some = jc.parameters(model, kinds[0])
            for kind in kinds[1:]:
                some = some + jc.parameters(model, kind)
            return (some, np.ones((*lead, len(some.items)))) if directed else some

        return Later(make)

    def events(self, model: jc.Model) -> Any:
        """One, or the stops of all joints."""
        terminal, direction = self.chance(0.5), self.pick([-1, 0, 1])
        first = [*model.joint_names, "no such"][0]
        return self.pick(
            [
                Later(lambda: jc.Event(height, terminal, direction)),
                Later(lambda: jc.joint_limits(model)),
                Later(lambda: jc.coordinate_event(model, first, 0.1)),
                Later(lambda: jc.height_event(model, model.n_bodies - 1, 0.1)),
            ]
        )

    def element(self, lead: tuple[int, ...]) -> Any:
        """Something that functions on groups and inertias take."""
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

    def curve_part(self, lead: tuple[int, ...]) -> Any:
        """Something of which curves are made, or one of them."""
        if self.chance(0.7):
            return self.element(lead)
        rows = np.cumsum(self.rng.random((4, 2)), axis=0)
        curves = jc.trajectories
        return self.pick(
            [
                rows[:, 0],
                rows,
                [jc.lie.exp(r) for r in self.rng.standard_normal((3, 6))],
                Later(lambda: curves.Polynomial(rows)),
                Later(lambda: curves.Sinusoid(1.0, 2.0)),
                Later(lambda: curves.Constant(rows[0])),
                Later(lambda: curves.Circle(1.0, 2.0)),
            ]
        )
