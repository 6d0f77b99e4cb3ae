"""What SciPy's solvers take: right-hand sides, linear operators, residuals with Jacobians.

    from scipy.integrate import solve_ivp
    from jounce.interop import scipy as jscipy

    motion = jscipy.RightHandSide(model)
    solve_ivp(motion, (0, 1), motion.pack(q, v), method="Radau", jac=motion.jac)

`jounce.simulate` integrates on the group, and faster; this is for solvers that only SciPy has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.derivatives import (
    forward_dynamics_derivatives,
    jvp,
    passive_forces_derivatives,
)
from jounce.derivatives.jvp import plan_of
from jounce.dynamics import forward_dynamics, inverse_dynamics, passive_forces
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent
from jounce.kinematics import (
    coordinate_rates,
    integrate,
    integrate_derivatives,
    normalize,
)
from jounce.model import Model
from jounce.model.model import require_model

try:
    from scipy.sparse.linalg import LinearOperator
except ImportError:
    raise MissingExtraError(
        "jounce.interop.scipy needs SciPy: pip install 'jounce[scipy]'"
    ) from None

__all__ = ["Residuals", "RightHandSide", "State", "inverse_mass_operator", "mass_operator"]


def __dir__() -> list[str]:
    return sorted(__all__)


class State(NamedTuple):
    """What `RightHandSide.unpack` returns; unpacks as ``q, v``.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> jc.interop.scipy.RightHandSide(arm).unpack([0.1, 0.2, 3.0, 4.0]).v
        array([3., 4.])
    """

    q: Array
    """(nq,) or (k, nq) coordinates, with unit quaternions."""
    v: Array
    """(nv,) or (k, nv) rates."""


class RightHandSide:
    """``dy/dt`` of a robot with y = (q, v), for `scipy.integrate.solve_ivp`.

    Its attributes are `fun`, which it is itself when called, and `jac`. Quaternions in y are scaled
    to unit length before they are used, so a solver that drifts off does no harm. Columns of states
    are taken together: pass ``vectorized=True``.

    Args:
        model: the robot.
        tau: (nv,) constant generalized forces, or a function of (t, q, v) that returns them;
            None is zero.
        passive: with springs, damping and friction of the joints.
        tau_derivatives: how forces that are a function change with the state, for `jac`: a function
            of (t, q, v) that returns their partial derivatives by tangents of q and by v, each
            (nv, nv), or a number that stands for so many times the identity. Without it `jac` takes
            the forces for constant.

    Raises:
        ArgumentError: the forces or their derivatives have a wrong shape.
        ArgumentTypeError: derivatives are given of forces that are no function.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> from scipy.integrate import solve_ivp
        >>> arm = jc.models.chain(2)
        >>> motion = RightHandSide(arm)
        >>> start = motion.pack(np.ones(2), np.zeros(2))
        >>> end = solve_ivp(motion, (0, 0.1), start, rtol=1e-9, atol=1e-9).y[:, -1]
        >>> exact = jc.simulate(arm, np.ones(2), np.zeros(2), [0, 0.1])
        >>> bool(np.allclose(end[:2], exact.q[-1], atol=1e-7))
        True
    """

    def __init__(
        self,
        model: Model,
        tau: ArrayLike | Callable[[float, Array, Array], ArrayLike] | None = None,
        *,
        passive: bool = False,
        tau_derivatives: Callable[[float, Array, Array], tuple[ArrayLike, ArrayLike]] | None = None,
    ) -> None:
        require_model(model)
        if tau_derivatives is not None and not (callable(tau) and callable(tau_derivatives)):
            raise ArgumentTypeError("tau_derivatives must be a function, and tau one too")
        self.model, self.passive = model, passive
        self._tau_derivatives = tau_derivatives
        self._tau = tau if callable(tau) else None
        constant = np.zeros(model.nv) if tau is None or callable(tau) else reals("tau", tau)
        if constant.shape != (model.nv,):
            raise ArgumentError(f"tau must have shape ({model.nv},), got {constant.shape}")
        self._constant = constant

    def pack(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The state y of coordinates and rates.

        Examples:
            >>> robot = jc.models.quadruped()
            >>> motion = RightHandSide(robot)
            >>> y = motion.pack(robot.poses["standing"], np.zeros(robot.nv))
            >>> float(motion(0.0, y)[-robot.nv :][5].round(9))  # nothing holds its trunk up
            -9.81
        """
        return np.concatenate([reals("q", q), reals("v", v)], axis=-1)

    def unpack(self, y: ArrayLike) -> State:
        """Coordinates, with unit quaternions, and rates of y, (nq + nv,) or (nq + nv, k).

        Of the columns of a solution, the states come first: (k, nq) and (k, nv).

        Examples:
            >>> ball = jc.ModelBuilder().add_body("ball", joint="spherical", mass=1.0).build()
            >>> q, v = RightHandSide(ball).unpack([0.0, 0.0, 0.6, 0.9, 1.0, 2.0, 3.0])
            >>> float(np.linalg.norm(q).round(12)), v  # the quaternion has unit length again
            (1.0, array([1., 2., 3.]))
        """
        states = reals("y", y).T
        nq = self.model.nq
        return State(normalize(self.model, states[..., :nq]), states[..., nq:])

    def __call__(self, t: float, y: Array) -> Array:
        """dy/dt at time t, of the shape of y."""
        q, v = self.unpack(y)
        a = forward_dynamics(self.model, q, v, self._forces(t, q, v))
        return np.concatenate([coordinate_rates(self.model, q, v), a], axis=-1).T

    fun = __call__

    def jac(self, t: float, y: Array) -> Array:
        """The exact Jacobian of dy/dt by y, by the components of q, as `jounce.interop.jax` has it.

        Forces that depend on the state count as constant, unless `tau_derivatives` were given.

        Examples:
            >>> motion = RightHandSide(jc.models.chain(2))
            >>> y, step = np.array([0.3, 0.5, 0.1, 0.2]), 1e-6 * np.eye(4)
            >>> columns = [(motion(0.0, y + h) - motion(0.0, y - h)) / 2e-6 for h in step]
            >>> bool(np.allclose(motion.jac(0.0, y), np.transpose(columns), atol=1e-6))
            True
        """
        model, (q, v), given = self.model, self.unpack(y), np.asarray(y, float)
        by = forward_dynamics_derivatives(model, q, v, self._forces(t, q, v))
        tau_q, tau_v = self._forces_derivatives(t, q, v)
        a_q, a_v = by.dq + by.dtau @ tau_q, by.dv + by.dtau @ tau_v
        pieces, nq, nv = layout(model), model.nq, model.nv
        # (nv, nq), where y is: a longer quaternion turns less along the same change
        tangents = to_tangent(np, pieces, np.broadcast_to(given[:nq], (nq, nq)), np.eye(nq)).T
        axes = np.eye(nv)
        rates_q = jvp(coordinate_rates, model, (q, v), (axes, None)).derivative.T
        rates_v = from_tangent(np, pieces, np.broadcast_to(q, (nv, nq)), axes).T
        return np.block([[rates_q @ tangents, rates_v], [a_q @ tangents, a_v]])

    def _forces(self, t: float, q: Array, v: Array) -> Array:
        """Generalized forces, those of the joints among them."""
        tau = self._constant if self._tau is None else reals("tau", self._tau(t, q, v))
        return tau + passive_forces(self.model, q, v) if self.passive else tau

    def _forces_derivatives(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Their partial derivatives, (nv, nv) each."""
        by_q, by_v = np.zeros((2, self.model.nv, self.model.nv))
        if self._tau_derivatives is not None:
            given = self._tau_derivatives(t, q, v)
            by_q, by_v = (self._matrix(x, y) for x, y in zip(("q", "v"), given, strict=True))
        if self.passive:
            own = passive_forces_derivatives(self.model, q, v)
            by_q, by_v = by_q + own.dq, by_v + own.dv
        return by_q, by_v

    def _matrix(self, name: str, given: ArrayLike) -> Array:
        """A derivative of forces; a number stands for a multiple of the identity."""
        found = reals(f"tau_derivatives by {name}", given)
        if found.ndim == 0:
            return found * np.eye(self.model.nv)
        if found.shape != (self.model.nv, self.model.nv):
            raise ArgumentError(
                f"tau_derivatives: the one by {name} must have shape "
                f"({self.model.nv}, {self.model.nv}) or be a number, got shape {found.shape}"
            )
        return found


def mass_operator(model: Model, q: ArrayLike) -> LinearOperator:
    """The mass matrix as a `LinearOperator`: products in O(n), by inverse dynamics.

    Args:
        model: the robot.
        q: (nq,) coordinates.

    Returns:
        Symmetric operator of shape (nv, nv); ``@`` takes vectors and matrices.

    Raises:
        ArgumentError: q has a wrong shape, is not finite, or has a bad quaternion.

    Examples:
        >>> from jounce.interop.scipy import mass_operator
        >>> arm = jc.models.chain(3)
        >>> q, v = np.ones((2, 3))
        >>> bool(np.allclose(mass_operator(arm, q) @ v, jc.mass_matrix(arm, q) @ v))
        True
    """
    return _operator(model, q, inverse_dynamics)


def inverse_mass_operator(model: Model, q: ArrayLike) -> LinearOperator:
    """The inverse of the mass matrix as a `LinearOperator`: products in O(n), by forward dynamics.

    Args:
        model: the robot.
        q: (nq,) coordinates.

    Returns:
        Symmetric operator of shape (nv, nv); ``@`` takes vectors and matrices.

    Raises:
        ArgumentError: q has a wrong shape, is not finite, or has a bad quaternion.
        SingularError: when applied, if a joint moves no inertia.

    Examples:
        >>> from jounce.interop.scipy import inverse_mass_operator
        >>> arm = jc.models.chain(3)
        >>> q, tau = np.ones((2, 3))
        >>> bool(np.allclose(jc.mass_matrix(arm, q) @ (inverse_mass_operator(arm, q) @ tau), tau))
        True
    """
    return _operator(model, q, forward_dynamics)


def _operator(model: Model, q: ArrayLike, function: Callable[..., Array]) -> LinearOperator:
    """At rest and without gravity, forces and accelerations are linear in each other."""
    require_model(model)
    still = model.replace(gravity=(0, 0, 0))
    at = reals("q", q).copy()
    if at.shape != (model.nq,):
        raise ArgumentError(f"q must have shape ({model.nq},), got {at.shape}")
    rest = np.zeros(model.nv)
    function(still, at, rest, rest)  # says what is wrong with q

    def matvec(x: Array) -> Array:
        return function(still, at, rest, np.ravel(x))

    def matmat(x: Array) -> Array:
        return function(still, at, rest, np.ascontiguousarray(reals("x", x).T)).T

    return LinearOperator(
        (model.nv, model.nv),
        matvec=matvec,
        rmatvec=matvec,
        matmat=matmat,
        rmatmat=matmat,
        dtype=float,
    )


class Residuals:
    """``weights * (function(model, ...) - target)`` with its Jacobian, for `least_squares`.

    The unknown x is one argument of the function. A configuration is moved from where it is given,
    ``integrate(model, q, x)``, so that x has nv entries and starts at zero. Arguments may have
    batch axes: those of the unknown are unknowns of their own, row after row in x, and an unknown
    without them is the same for all states.

    Args:
        function: of the package: any that `jounce.jvp` takes and that returns one array.
        model: the robot.
        arguments: those of the function by name.
        by: name of the argument that is unknown; its value is where x starts.
        target: what the function should return.
        weights: of the residuals, broadcast to the result's shape.

    Raises:
        ArgumentTypeError: the unknown is not among the arguments.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> from scipy.optimize import least_squares
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
        arguments: dict[str, Any],
        by: str,
        target: ArrayLike = 0.0,
        weights: ArrayLike = 1.0,
    ) -> None:
        require_model(model)
        if by not in arguments:
            raise ArgumentTypeError(
                f"arguments must have a value of {by!r}, where the search starts"
            )
        self.function, self.model, self.by = function, model, by
        self.arguments = dict(arguments)
        self.target, self.weights = reals("target", target), reals("weights", weights)
        value = reals(by, arguments[by])
        self._moves = by in ("q", "q0", "q1") and value.shape[-1:] == (model.nq,)
        self._value = value
        self._shape = (*value.shape[:-1], model.nv) if self._moves else value.shape
        self.start = np.zeros(math.prod(self._shape)) if self._moves else value.ravel()

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
        moved = reals("x", x).reshape(self._shape)
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
        ranks = plan_of(self.function).ranks
        given = {**self.arguments, self.by: self.solution(x)}
        leads = {k: np.ndim(y) - ranks[k] for k, y in given.items() if k in ranks and y is not None}
        most = max(leads.values())
        own = self._shape[: leads.get(self.by, 0)]
        directions = self._directions(x, own, most)
        found = jvp(self.function, self.model, given, {self.by: directions}).derivative
        count, rows = len(found), found.shape[1 + most :]
        # As the residuals are: target and weights may have batch axes, too.
        shape = np.broadcast_shapes(found.shape[1:], self.target.shape, self.weights.shape)
        found = found.reshape(count, *(1,) * (len(shape) + 1 - found.ndim), *found.shape[1:])
        lead = shape[: len(shape) - len(rows)]
        states, unknowns = math.prod(lead), math.prod(own)
        blocks = np.broadcast_to(self.weights * found, (count, *shape)).reshape(count, states, -1)
        whose = np.broadcast_to(np.arange(unknowns).reshape(own), lead).ravel()
        jacobian = np.zeros((states, blocks.shape[-1], unknowns, count))
        jacobian[np.arange(states), :, whose] = np.moveaxis(blocks, 0, -1)
        return jacobian.reshape(-1, self.start.size)

    def _directions(self, x: Array, own: tuple[int, ...], most: int) -> Array:
        """One for each entry of a state's unknown, (entries, `most` batch axes, its axes)."""
        state = self._shape[len(own) :]
        count = math.prod(state)
        if self._moves:
            moved = np.asarray(x, float).reshape(self._shape)
            axes = np.moveaxis(integrate_derivatives(self.model, self._value, moved).dv, -1, 0)
        else:
            axes = np.eye(count).reshape(count, *(1,) * len(own), *state)
        return axes.reshape(count, *(1,) * (most - len(own)), *axes.shape[1:])
