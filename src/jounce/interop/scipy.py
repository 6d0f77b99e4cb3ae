"""What SciPy's solvers take: right-hand sides, linear operators, residuals with Jacobians.

    from scipy.integrate import solve_ivp
    from jounce.interop import scipy as jscipy

    motion = jscipy.RightHandSide(model)
    solve_ivp(motion, (0, 1), motion.pack(q, v), method="Radau", jac=motion.jac)

`jounce.simulate` integrates on the group, and faster; this is for solvers that only SciPy has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.derivatives import forward_dynamics_derivatives, jvp, passive_forces_derivatives
from jounce.dynamics import forward_dynamics, inverse_dynamics, passive_forces
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError
from jounce.interop._bridge.tangents import from_tangent, layout, to_tangent
from jounce.interop._residuals import Residuals
from jounce.kinematics import coordinate_rates, normalize
from jounce.model import Model
from jounce.model._checks import check_flag, numbers
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
        ArgumentError: the forces or their derivatives, also those that a function returns, have a
            wrong shape, or `passive` is neither True nor False.
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
        check_flag("passive", passive)
        self.model, self.passive = model, bool(passive)
        self._tau_derivatives = tau_derivatives
        self._tau = tau if callable(tau) else None
        constant = np.zeros(model.nv) if tau is None or callable(tau) else tau
        self._constant = numbers("tau", constant, (model.nv,))

    def pack(self, q: ArrayLike, v: ArrayLike) -> Array:
        """The state y of coordinates and rates; of several, (k, nq) and (k, nv), its transpose.

        Raises:
            ArgumentError: they have a wrong shape.

        Examples:
            >>> robot = jc.models.quadruped()
            >>> motion = RightHandSide(robot)
            >>> y = motion.pack(robot.poses["standing"], np.zeros(robot.nv))
            >>> float(motion(0.0, y)[-robot.nv :][5].round(9))  # nothing holds its trunk up
            -9.81
        """
        own, rates = reals("q", q, (self.model.nq,)), reals("v", v, (self.model.nv,))
        if own.shape[:-1] != rates.shape[:-1]:
            raise ArgumentError(
                f"q and v must have the same leading axes, got shapes {own.shape} and {rates.shape}"
            )
        return np.concatenate([own, rates], axis=-1)

    def unpack(self, y: ArrayLike) -> State:
        """Coordinates, with unit quaternions, and rates of y, (nq + nv,) or (nq + nv, k).

        Of the columns of a solution, the states come first: (k, nq) and (k, nv).

        Raises:
            ArgumentError: y has a wrong shape.

        Examples:
            >>> ball = jc.ModelBuilder().add_body("ball", joint="spherical", mass=1.0).build()
            >>> q, v = RightHandSide(ball).unpack([0.0, 0.0, 0.6, 0.9, 1.0, 2.0, 3.0])
            >>> float(np.linalg.norm(q).round(12)), v  # the quaternion has unit length again
            (1.0, array([1., 2., 3.]))
        """
        given, nq, size = reals("y", y), self.model.nq, self.model.nq + self.model.nv
        if given.ndim not in (1, 2) or len(given) != size:
            raise ArgumentError(
                f"y must have shape ({size},) or ({size}, states), got {given.shape}"
            )
        states = given.T
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
        model, given = self.model, numbers("y", y, (self.model.nq + self.model.nv,), finite=False)
        q, v = self.unpack(given)
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
        tau = self._constant
        if self._tau is not None:
            tau = reals("tau", self._tau(t, q, v), (self.model.nv,))
            if tau.shape[:-1] not in ((), q.shape[:-1]):
                raise ArgumentError(f"tau must have shape {v.shape}, as v, got {tau.shape}")
        return tau + passive_forces(self.model, q, v) if self.passive else tau

    def _forces_derivatives(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Their partial derivatives, (nv, nv) each."""
        by_q, by_v = np.zeros((2, self.model.nv, self.model.nv))
        if self._tau_derivatives is not None:
            given = self._tau_derivatives(t, q, v)
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise ArgumentError(
                    f"tau_derivatives must return two of them, by q and by v, got {given!r:.100}"
                )
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
