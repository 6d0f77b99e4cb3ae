"""The functions that both libraries have, and how each is called.

Pinocchio offers two conventions for `crba` and `aba`; both are timed and the faster one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pinocchio as pin

import jounce as jc
from bench.robots import Robot, States
from bench.timing import Call, Timing


@dataclass(frozen=True)
class Function:
    """A function of both libraries."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    inputs: str
    """Names of the arguments after the model."""
    conventions: bool = False
    """Whether Pinocchio lets one choose a convention."""
    parallel: Callable[..., Any] | None = None
    """Pinocchio's own call for a batch, where it has one."""

    def contenders(self, robot: Robot, state: States) -> dict[str, Call]:
        """One call of each, for one state."""
        there = (robot.pin_model, robot.data, *state.theirs(self.inputs))
        calls = {
            "jounce": Call(self.ours, (robot.model, *state.ours(self.inputs))),
            "pinocchio": Call(self.theirs, there),
        }
        if self.conventions:
            calls["pinocchio, world"] = Call(self.theirs, (*there, pin.Convention.WORLD))
        return calls

    def converted(self, robot: Robot, state: States, result: Any) -> Any:
        """Our result in Pinocchio's conventions."""
        if "matrix" in self.name:
            return robot.there.to_matrix(state.q, result)
        if self.name == "forward dynamics":
            return robot.there.to_a(state.q, state.v, result)
        return robot.there.to_tau(state.q, result)


FUNCTIONS = (
    Function(
        "inverse dynamics", jc.inverse_dynamics, pin.rnea, "q v a", parallel=pin.rneaInParallel
    ),
    Function("forward dynamics", jc.forward_dynamics, pin.aba, "q v tau", True, pin.abaInParallel),
    Function("mass matrix", jc.mass_matrix, pin.crba, "q", True),
    Function("inverse mass matrix", jc.inverse_mass_matrix, pin.computeMinverse, "q"),
)


ASKED = {
    "inverse dynamics": (4.5, 18.0),
    "forward dynamics": (4.0, 14.0),
    "mass matrix": (3.0, 9.0),
    "inverse mass matrix": (2.5, 8.0),
}
"""How many times faster than Pinocchio: one call; a batch, than a loop over it."""


def fastest(timings: dict[str, Timing]) -> Timing:
    """The best of Pinocchio's contenders that keep their results."""
    rivals = [t for name, t in timings.items() if name in ("pinocchio", "pinocchio, world")]
    return min(rivals, key=lambda timing: timing.best)
