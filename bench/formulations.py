"""The ways to compute one thing: the core, and the recursions of each paper in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import jounce as jc
from bench import baselines
from bench.timing import Call
from jounce.papers import ali, bos, kim, mueller, singh

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """One way to compute something, and what turns its result into the core's."""

    name: str
    call: Call
    convert: Callable[[Any], Any] = lambda result: result


@dataclass(frozen=True)
class State:
    """A robot, a random state of it, and what the papers' modules prepare once."""

    model: jc.Model
    q: Array
    motion: Array
    tau: Array

    @property
    def v(self) -> Array:
        """Rates."""
        return self.motion[0]

    @property
    def a(self) -> Array:
        """Accelerations."""
        return self.motion[1]


def random_state(model: jc.Model, order: int, seed: int | None = None) -> State:
    """A random motion of the given order and the forces that belong to it."""
    rng = np.random.default_rng(order if seed is None else seed)
    q = jc.random_configuration(model, rng)
    motion = rng.standard_normal((order + 2, model.nv))
    return State(model, q, motion, jc.inverse_dynamics_series(model, q, motion))


def inverse(s: State, taylor: bool = True) -> list[Method]:
    """The core, the four recursions of mueller, and one of each other paper.

    Taylor series in NumPy are written for revolute joints on a free base; others leave them out.
    """
    arguments = (s.q, s.v, s.a)
    T, state = bos.velocity_matrix(s.model), bos.state_of(s.model, s.q, s.v)
    four = [
        Method(f"mueller, {twist}", Call(_newton_euler(s.model, twist), arguments))
        for twist in mueller.TWISTS
    ]
    return [
        Method("core", Call(jc.inverse_dynamics, (s.model, *arguments))),
        *four,
        Method(
            "kim, Table 2",
            Call(kim.inverse_dynamics, (kim.system(s.model), *arguments)),
            lambda result: result.tau,
        ),
        Method("singh, RNEA", Call(singh.RNEA, (s.model, *arguments))),
        Method("bos, Table 4", Call(bos.ID, (s.model, state, T @ s.a)), lambda tau: T.T @ tau),
        *_first_row(inverse_series(s, taylor)[1:]),
    ]


def _newton_euler(model: jc.Model, twist: str) -> Callable[..., Array]:
    return partial(mueller.inverse_dynamics, model, twist=twist)


def _articulated(model: jc.Model, twist: str) -> Callable[..., Array]:
    return partial(mueller.forward_dynamics, model, twist=twist)


def _first_row(methods: list[Method]) -> list[Method]:
    """Series of order 0 as plain dynamics."""
    return [Method(m.name, m.call, lambda x, m=m: m.convert(x)[0]) for m in methods]


def forward(s: State) -> list[Method]:
    """The core and the articulated-body algorithms of four papers."""
    arguments = (s.q, s.v, s.tau[0])
    T, state = bos.velocity_matrix(s.model), bos.state_of(s.model, s.q, s.v)
    force = np.linalg.solve(T.T, s.tau[0])
    return [
        Method("core", Call(jc.forward_dynamics, (s.model, *arguments))),
        Method(
            "kim, Table 3",
            Call(kim.forward_dynamics, (kim.system(s.model), *arguments)),
            lambda result: result.q_ddot,
        ),
        Method("singh, ABA", Call(singh.ABA, (s.model, *arguments))),
        *(
            Method(f"mueller, {twist}", Call(_articulated(s.model, twist), arguments))
            for twist in mueller.TWISTS
        ),
        Method(
            "bos, eq. 19",
            Call(bos.FD, (s.model, state, force[6:], force[:6])),
            lambda a: np.linalg.solve(T, a),
        ),
        *_first_row(forward_series(s)[1:]),
    ]


def inverse_series(s: State, taylor: bool = True) -> list[Method]:
    """The core, the same method in NumPy, the body-fixed and the spatial recursion."""
    model, q, motion = s.model, s.q, s.motion
    C_1, V_1, joints, _ = ali.from_jounce(model, q, motion)
    methods = [Method("core, series", Call(jc.inverse_dynamics_series, (model, q, motion)))]
    if taylor:
        call = Call(baselines.inverse_dynamics_series, (baselines.TaylorModel(model), q, motion))
        methods.append(Method("Taylor series, body frames", call))
    return [
        *methods,
        Method("mueller, Sec. 6.3", Call(mueller.inverse_dynamics_series, (model, q, motion))),
        Method("mixed, order r", Call(mueller.mixed_series, (model, q, motion))),
        Method("hybrid, order r", Call(mueller.hybrid_series, (model, q, motion))),
        Method(
            "ali, Algorithm 2",
            Call(ali.inverse_dynamics, (ali.initialize(model), C_1, V_1, joints)),
            lambda x: ali.forces_to_jounce(model, C_1, V_1, x.W_prop, x.tau),
        ),
    ]


def forward_series(s: State) -> list[Method]:
    """The core and Algorithm 3 of ali."""
    model, order = s.model, len(s.tau) - 1
    C_1, V_1, joints, _ = ali.from_jounce(model, s.q, s.motion)
    forces = ali.inverse_dynamics(model, C_1, V_1, joints)
    inputs = (ali.initialize(model), C_1, V_1[0], joints[:2], forces.W_prop, forces.tau)

    def converted(x: Any) -> Array:
        twists = np.vstack([V_1[:1], x.V_1])[: order + 2]
        return ali.accelerations_to_jounce(model, C_1, twists, x.q)

    return [
        Method("core, series", Call(jc.forward_dynamics_series, (model, s.q, s.v, s.tau))),
        Method("ali, Algorithm 3", Call(ali.forward_dynamics, inputs), converted),
    ]


def inverse_partials(s: State) -> list[Method]:
    """Derivatives of inverse dynamics in q and v."""
    arguments = (s.model, s.q, s.v, s.a)
    T, state = bos.velocity_matrix(s.model), bos.state_of(s.model, s.q, s.v)
    return [
        Method("core", Call(jc.inverse_dynamics_derivatives, arguments), _pair),
        Method("singh, IDSVA", Call(singh.IDSVA, arguments), _pair),
        Method("singh, IDSVA in body coordinates", Call(singh.IDSVA_body, arguments), _pair),
        Method(
            "bos, Tables 4 to 8",
            Call(_tables_of_bos, (s.model, state, T @ s.a)),
            lambda result: np.stack([T.T @ x @ T for x in result]),
        ),
        Method("singh, RNEA by chain rule", Call(singh.RNEACR, arguments), _pair),
    ]


def _tables_of_bos(model: jc.Model, state: Any, nudot: Array) -> tuple[Array, Array]:
    e = bos.extended(model, state, nudot[:6], nudot[6:])
    by_q = np.hstack([bos.dID_dH(e), bos.dID_ds(e)])
    return by_q, np.hstack([bos.dID_dv(e), bos.dID_dr(e)])


def forward_partials(s: State) -> list[Method]:
    """Derivatives of forward dynamics in q and v."""
    arguments = (s.model, s.q, s.v, s.tau[0])
    return [
        Method("core", Call(jc.forward_dynamics_derivatives, arguments), _pair),
        Method("singh, IDSVA and DMM", Call(singh.FDSVA, (*arguments, "DMM")), _pair),
        Method("singh, IDSVA and AZA", Call(singh.FDSVA, (*arguments, "AZA")), _pair),
        Method("singh, ABA by chain rule", Call(singh.ABACR, arguments), _pair),
    ]


def _pair(result: Any) -> Array:
    return np.stack(result[:2])
