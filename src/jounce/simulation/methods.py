"""Methods that step along a vector field on the group, as data, and the loop that runs them.

A state is (q, s). The rates s are v, but for the linear velocity of a free joint, which is kept
along the axes of its parent: there it does not turn with the body. The slope at a state is (s, s').
A state is moved by a sum of slopes times the length dt of the step,

    (q, s) -> (q exp(dt sum_i w_i s_i), s + dt sum_i w_i s'_i),

where q exp(u) turns spherical and free joints by the exponential of SO(3) and adds everything else.
A method is a list of such moves. For 1-DoF joints these are the Runge-Kutta methods with the same
weights.

The methods of Munthe-Kaas move along the coordinates xi of q = q_0 exp(xi) instead, with the slopes
xi' = dexp_inv(-xi) s; so any Runge-Kutta method keeps its order on the group.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array
from jounce.errors import ArgumentError, close_names, did_you_mean
from jounce.simulation import tableaux

__all__ = [
    "GEOMETRIC",
    "METHODS",
    "MOST_SLOPES",
    "Flow",
    "Geometric",
    "Method",
    "Stage",
    "advance",
    "find_method",
    "find_stepper",
    "weighted",
]

Weights = tuple[float, ...]
State = TypeVar("State")
Slope = TypeVar("Slope")

MOST_SLOPES = 16
"""How many slopes a method may take in a step; the core has room for that many."""


class Stage(NamedTuple):
    """A state at which the slope is taken: an earlier one, moved."""

    start: int
    """Which state is moved: 0 is the start of the step, k that of stage k."""
    weights: Weights
    """Of the slopes so far, that at the start first."""


class Method(NamedTuple):
    """An explicit method: stages after the start, then the moves that end the step."""

    name: str
    order: int
    citation: str
    stages: tuple[Stage, ...]
    finish: tuple[Weights, ...]
    """Weights of all slopes for the moves from the start to the end, one after the other."""
    with_next_rates: bool = False
    """Whether the coordinates of the finish move with the rates at its end, not with the slopes."""
    munthe_kaas: bool = False
    """Whether slopes are those of the coordinates xi; then all stages start at 0."""

    def times(self) -> Weights:
        """Return when each slope is taken, in units of the step."""
        times = [0.0]
        for stage in self.stages:
            times.append(times[stage.start] + sum(stage.weights))
        return tuple(times)

    def packed(self) -> Array:
        """Return the method as the compiled core reads it: one row of numbers.

        How many slopes and finishing moves there are and the two flags, then for every slope but
        the first the state it starts from, its time and its weights, then the finishing weights.
        """
        slopes = len(self.stages) + 1
        rows = [float(slopes), float(len(self.finish)), self.with_next_rates, self.munthe_kaas]
        for stage, time in zip(self.stages, self.times()[1:], strict=True):
            rows += [float(stage.start), time, *stage.weights]
            rows += [0.0] * (slopes - len(stage.weights))
        for weights in self.finish:
            rows += weights
        return np.array(rows, float)


def _munthe_kaas(name: str, order: int, citation: str, rows: tuple[Weights, ...]) -> Method:
    """Return the Runge-Kutta method with these rows of weights, the last of them the finish."""
    stages = tuple(Stage(0, weights) for weights in rows[:-1])
    return Method(name, order, citation, stages, rows[-1:], munthe_kaas=True)


METHODS = {
    method.name: method
    for method in (
        Method(
            "euler",
            order=1,
            citation="Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.1",
            stages=(),
            finish=((1.0,),),
        ),
        Method(
            "semi_implicit_euler",
            order=1,
            citation="Hairer, Lubich, Wanner, Geometric Numerical Integration, I.1.2",
            stages=(),
            finish=((1.0,),),
            with_next_rates=True,
        ),
        Method(
            "midpoint",
            order=2,
            citation="Runge 1895; on Lie groups Munthe-Kaas, BIT 38 (1998)",
            stages=(Stage(0, (1 / 2,)),),
            finish=((0.0, 1.0),),
        ),
        _munthe_kaas(
            "rkmk2",
            order=2,
            citation="Heun 1900; Munthe-Kaas, Applied Numerical Mathematics 29 (1999)",
            rows=((1.0,), (1 / 2, 1 / 2)),
        ),
        _munthe_kaas(
            "rkmk4",
            order=4,
            citation="Kutta 1901; Munthe-Kaas, Applied Numerical Mathematics 29 (1999)",
            rows=((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
        ),
        Method(
            "cf4",
            order=4,
            citation="Celledoni, Marthinsen, Owren, Commutator-free Lie group methods (2003)",
            stages=(
                Stage(0, (1 / 2,)),
                Stage(0, (0.0, 1 / 2)),
                Stage(1, (-1 / 2, 0.0, 1.0)),
            ),
            finish=((1 / 4, 1 / 6, 1 / 6, -1 / 12), (-1 / 12, 1 / 6, 1 / 6, 1 / 4)),
        ),
        _munthe_kaas(
            "dopri5",
            order=5,
            citation="Dormand, Prince, J. Comp. Appl. Math. 6 (1980); Munthe-Kaas 1999",
            rows=tableaux.DOPRI5,
        ),
        _munthe_kaas(
            "dop853",
            order=8,
            citation="Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, II.5",
            rows=tableaux.DOP853,
        ),
    )
}
"""All explicit methods by name."""


class Geometric(NamedTuple):
    """A method that carries momenta instead of rates; the core alone knows how."""

    name: str
    order: int
    citation: str
    kernel: str
    tableau: Method | None = None
    """By which the equations of the momenta are stepped."""


GEOMETRIC = {
    method.name: method
    for method in (
        Geometric(
            "variational",
            order=2,
            citation="Moser, Veselov, Comm. Math. Phys. 139 (1991); Lee, Liu, Park, Srinivasa, "
            "A Linear-Time Variational Integrator for Multibody Systems (2016)",
            kernel="variational_rollout",
        ),
        Geometric(
            "momentum",
            order=4,
            citation="mueller, eq. 79; Kutta 1901; Munthe-Kaas 1999",
            kernel="momentum_rollout",
            tableau=METHODS["rkmk4"],
        ),
    )
}
"""Methods that keep the momentum, by name."""


class Flow(Protocol[State, Slope]):
    """What a method steps along."""

    def slope(self, at: State, *, munthe_kaas: bool = False) -> Slope:
        """Return the slope at a state: of q, or of the coordinates by which it was reached."""

    def moved(
        self,
        at: State,
        terms: list[tuple[float, Slope]],
        *,
        with_next_rates: bool = False,
        last: bool = False,
    ) -> State:
        """Return a state moved by dt times the sum of weight times slope.

        The last move of a step may overwrite the slopes.
        """


def advance(method: Method, flow: Flow[State, Slope], start: State) -> State:
    """Take one step of a method."""
    states, slopes = [start], [flow.slope(start)]
    for stage in method.stages:
        state = flow.moved(states[stage.start], weighted(stage.weights, slopes))
        states.append(state)
        slopes.append(flow.slope(state, munthe_kaas=method.munthe_kaas))
    end = start
    left = len(method.finish)
    for weights in method.finish:
        left -= 1
        options = {"with_next_rates": method.with_next_rates, "last": left == 0}
        end = flow.moved(end, weighted(weights, slopes), **options)
    return end


def weighted(weights: Weights, slopes: list[Slope]) -> list[tuple[float, Slope]]:
    """Slopes with their weights, without those that do not count."""
    return [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w]


def find_method(name: object, *, taylor: bool = False) -> Method:
    """Return an explicit method by name; the message may offer "taylor", which is none of these.

    Raises:
        ArgumentError: there is none; the message lists those that there are.
    """
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    known = [*METHODS, "taylor"] if taylor else [*METHODS]
    if isinstance(name, str) and (name in GEOMETRIC or name == "taylor"):
        expected = ", ".join(map(repr, known))
        raise ArgumentError(f"method {name!r} is not explicit; here it must be one of {expected}")
    raise _unknown(name, known)


def find_stepper(name: object) -> Method | Geometric:
    """Return any method by name but "taylor", which its callers know and the message offers.

    Raises:
        ArgumentError: there is none; the message lists those that there are.
    """
    every: dict[str, Method | Geometric] = {**METHODS, **GEOMETRIC}
    if isinstance(name, str) and name in every:
        return every[name]
    raise _unknown(name, [*every, "taylor"])


def _unknown(name: object, known: list[str]) -> ArgumentError:
    hint = did_you_mean(map(repr, close_names(name, known)))
    return ArgumentError(
        f"method must be one of {', '.join(map(repr, known))}, got {shown(name)}{hint}"
    )
