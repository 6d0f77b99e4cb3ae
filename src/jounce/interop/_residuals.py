"""Residuals with Jacobians for SciPy's least squares."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from jounce import _core
from jounce._core.arrays import finite, reals
from jounce._types import Array, ArrayLike
from jounce.derivatives import jvp
from jounce.derivatives.jvp import plan_of
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.kinematics import coordinate_rates, integrate, integrate_derivatives
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.model import require_model

__all__ = ["Residuals"]


class Residuals:
    """``weights * (function(model, ...) - target)`` with its Jacobian, for `least_squares`.

    The unknown x is one argument of the function. A configuration is moved from where it is given,
    ``integrate(model, q, x)``, so that x has nv entries and starts at zero. Arguments may have
    batch axes: those of the unknown are unknowns of their own, row after row in x, and an unknown
    without them is the same for all states. Configurations that the function returns are compared
    by their coordinates; `jounce.difference` compares them by tangent vectors.

    Args:
        function: of the package: any that `jounce.jvp` takes and that returns one array.
        model: the robot.
        arguments: those of the function after the model, in its order, or by name; they are copied.
        by: name of the argument that is unknown; its value is where x starts.
        target: what the function should return.
        weights: of the residuals, broadcast to the result's shape.

    Raises:
        ArgumentError: the function cannot be differentiated, or refuses its arguments; target or
            weights are not finite, or do not broadcast with its result.
        ArgumentTypeError: the unknown is not among the arguments, one of them is none of the
            function, or it returns more than one array.

    Examples:
        >>> from scipy.optimize import least_squares
        >>> from jounce.interop.scipy import Residuals
        >>> arm = jc.models.chain(4)
        >>> there = jc.body_pose(arm, np.full(4, 0.3), 3)
        >>> reach = Residuals(jc.body_pose, arm, {"q": np.zeros(4), "body": 3}, "q", there)
        >>> bool(least_squares(reach, reach.start, jac=reach.jac).cost < 1e-12)
        True
    """

    def __init__(
        self,
        function: Callable[..., Any],
        model: Model,
        arguments: Sequence[Any] | Mapping[str, Any],
        by: str,
        target: ArrayLike = 0.0,
        weights: ArrayLike = 1.0,
    ) -> None:
        require_model(model)
        plan = plan_of(function)
        own = plan.by_name("arguments", arguments)
        if by not in own:
            raise ArgumentTypeError(
                f"arguments must have a value of {by!r}, where the search starts"
            )
        self.function, self.model, self.by = function, model, by
        self.arguments = deepcopy(own)
        self.target = np.array(finite("target", target))
        self.weights = np.array(finite("weights", weights))
        self._ranks = plan.ranks
        value = reals(by, self.arguments[by])
        self._moves = by in ("q", "q0", "q1") and value.shape[-1:] == (model.nq,)
        self._value = value
        self._shape = (*value.shape[:-1], model.nv) if self._moves else value.shape
        self.start = np.zeros(math.prod(self._shape)) if self._moves else value.flatten()
        self._require_fitting(function(model, **self.arguments))
        axes = _core.signature(plan.derivative(self.arguments))["output_axes"]
        self._gives_configurations = [*axes.values()] == [["nq"], ["nv"]]

    def _require_fitting(self, found: Any) -> None:
        """Refuse what cannot be compared with the target."""
        if isinstance(found, tuple):
            parts = ", ".join(getattr(found, "_fields", ()))
            raise ArgumentTypeError(
                f"function must return one array, but {getattr(self.function, '__name__', '')} "
                f"returns {len(found)}: {parts}"
            )
        shape = np.shape(found)
        for name, given in (("target", self.target), ("weights", self.weights)):
            try:
                shape = np.broadcast_shapes(shape, given.shape)
            except ValueError:
                raise ArgumentError(
                    f"{name} must broadcast with what the function returns, of shape {shape}, got "
                    f"shape {given.shape}"
                ) from None

    def _unknown(self, x: ArrayLike) -> Array:
        """The entries of x as the unknown has them."""
        return numbers("x", x, self.start.shape, finite=False).reshape(self._shape)

    def solution(self, x: ArrayLike) -> Array:
        """The argument that x stands for.

        Examples:
            >>> from scipy.optimize import least_squares
            >>> arm = jc.models.chain(4)
            >>> goal = jc.body_pose(arm, np.full(4, 0.3), 3)
            >>> reach = Residuals(jc.body_pose, arm, {"q": np.full(4, 0.1), "body": 3}, "q", goal)
            >>> q = reach.solution(least_squares(reach, reach.start, jac=reach.jac).x)
            >>> bool(np.allclose(jc.body_pose(arm, q, 3), goal, atol=1e-6))
            True
        """
        moved = self._unknown(x)
        return integrate(self.model, self._value, moved) if self._moves else moved

    def __call__(self, x: Array) -> Array:
        """Weighted residuals, in a row."""
        found = self.function(self.model, **{**self.arguments, self.by: self.solution(x)})
        return np.ravel(self.weights * (found - self.target))

    fun = __call__

    def jac(self, x: Array) -> Array:
        """Their exact Jacobian, (residuals, entries of x).

        Examples:
            >>> arm = jc.models.chain(4)
            >>> known = {"q": np.full(4, 0.3), "v": np.zeros(4), "a": np.zeros(4)}
            >>> hold = Residuals(jc.inverse_dynamics, arm, known, "q")  # of torques at rest
            >>> exact = jc.inverse_dynamics_derivatives(arm, **known).dq
            >>> bool(np.allclose(hold.jac(hold.start), exact))
            True
        """
        ranks = self._ranks
        given = {**self.arguments, self.by: self.solution(x)}
        leads = {k: np.ndim(y) - ranks[k] for k, y in given.items() if k in ranks and y is not None}
        most = max(leads.values())
        own = self._shape[: leads.get(self.by, 0)]
        directions = self._directions(x, own, most)
        found = self._changes(given, directions)
        count, rows = len(found), found.shape[1 + most :]
        # As the residuals are: target and weights may have batch axes, too.
        shape = np.broadcast_shapes(found.shape[1:], self.target.shape, self.weights.shape)
        found = found.reshape(count, *(1,) * (len(shape) + 1 - found.ndim), *found.shape[1:])
        lead = shape[: len(shape) - len(rows)]
        states, unknowns = math.prod(lead), math.prod(own)
        blocks = np.broadcast_to(self.weights * found, (count, *shape))
        blocks = blocks.reshape(count, states, math.prod(shape[len(lead) :]))
        whose = np.broadcast_to(np.arange(unknowns).reshape(own), lead).ravel()
        jacobian = np.zeros((states, blocks.shape[-1], unknowns, count))
        jacobian[np.arange(states), :, whose] = np.moveaxis(blocks, 0, -1)
        return jacobian.reshape(math.prod(shape), self.start.size)

    def _changes(self, given: dict[str, Any], directions: Array) -> Array:
        """How the entries of what the function returns change along directions."""
        value, change = jvp(self.function, self.model, given, {self.by: directions})
        return coordinate_rates(self.model, value, change) if self._gives_configurations else change

    def _directions(self, x: Array, own: tuple[int, ...], most: int) -> Array:
        """One for each entry of a state's unknown, (entries, `most` batch axes, its axes)."""
        state = self._shape[len(own) :]
        count = math.prod(state)
        if self._moves:
            by = integrate_derivatives(self.model, self._value, self._unknown(x)).dv
            axes = np.moveaxis(by, -1, 0)
        else:
            axes = np.eye(count).reshape(count, *(1,) * len(own), *state)
        return axes.reshape(count, *(1,) * (most - len(own)), *axes.shape[1:])
