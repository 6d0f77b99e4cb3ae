"""Methods that step along a vector field on the group, as data, and the loop that runs them.

The slope at a state (q, v) is the vector (v, a): rates and accelerations. A state is moved by a
sum of slopes times the length dt of the step,

    (q, v) -> (q exp(dt sum_i w_i v_i), v + dt sum_i w_i a_i),

and a method is a list of such moves. For 1-DoF joints, where q exp(u) is q + u, these are the
Runge-Kutta methods with the same weights.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

from jounce.errors import ArgumentError, close_names, did_you_mean

__all__ = ["METHODS", "Flow", "Method", "Stage", "advance", "find_method"]

Weights = tuple[float, ...]
State = TypeVar("State")
Slope = TypeVar("Slope")


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
    )
}
"""All methods by name."""


class Flow(Protocol[State, Slope]):
    """What a method steps along."""

    def slope(self, at: State) -> Slope:
        """Return the slope at a state."""

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
        state = flow.moved(states[stage.start], _terms(stage.weights, slopes))
        states.append(state)
        slopes.append(flow.slope(state))
    end = start
    left = len(method.finish)
    for weights in method.finish:
        left -= 1
        options = {"with_next_rates": method.with_next_rates, "last": left == 0}
        end = flow.moved(end, _terms(weights, slopes), **options)
    return end


def _terms(weights: Weights, slopes: list[Slope]) -> list[tuple[float, Slope]]:
    return [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w]


def find_method(name: object) -> Method:
    """Return a method by name.

    Raises:
        ArgumentError: there is none; the message lists those that there are.
    """
    if isinstance(name, str) and name in METHODS:
        return METHODS[name]
    hint = did_you_mean(map(repr, close_names(name, METHODS)))
    known = ", ".join(map(repr, METHODS))
    raise ArgumentError(f"method must be one of {known}, got {name!r}{hint}")
