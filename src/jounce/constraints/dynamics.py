"""Dynamics under constraints: accelerations, forces, impulses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core import algebra
from jounce._core.arrays import reals, shown
from jounce._core.out import Given
from jounce._types import AnyArray, Array, ArrayLike, Integers
from jounce.constraints.checks import defined, explain, rates_wanted, require_motion
from jounce.constraints.constraints import Constraints, constraints_on
from jounce.constraints.results import deliver_ranked, rank_of, ranked, with_rank, with_room
from jounce.dynamics import inverse_dynamics
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.rates import Actuated, Inputs, inputs_of

__all__ = [
    "ConstrainedDynamics",
    "ConstrainedInverseDynamics",
    "Impulse",
    "constrained_dynamics",
    "constrained_inverse_dynamics",
    "impulse",
    "times",
    "without_rounding",
]

_free: Callable[..., Array] = _core.raw(
    "forward_dynamics", "constrained_dynamics", inputs="q v tau f_ext"
)
_jump: Callable[..., Any] = _core.raw("constrained_jump", "impulse", inputs="q jump table")

_ROUNDING = 1e-12
_UNREACHABLE = 1e-8


@ranked
class ConstrainedDynamics(NamedTuple):
    """What `constrained_dynamics` gives.

    Examples:
        >>> c = jc.Constraints(jc.models.chain(3), [jc.Weld("body2")])
        >>> [x.shape for x in jc.constrained_dynamics(c.model, *np.zeros((3, 3)), c)]
        [(3,), (6,)]
    """

    a: Array
    """(..., nv) accelerations, unique even where rows depend on each other."""
    force: Array
    """(..., m) forces of the rows on the robot; of several that do the same, the shortest."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


_forward: Callable[..., Any] = _core.raw(
    "constrained_forward",
    "constrained_dynamics",
    ConstrainedDynamics,
    inputs="q v tau accelerations table f_ext",
)
_local: Callable[..., Any] = _core.raw(
    "constrained_forward_local",
    "constrained_dynamics",
    ConstrainedDynamics,
    inputs="q v tau accelerations table f_ext",
)


@ranked
class ConstrainedInverseDynamics(NamedTuple):
    """What `constrained_inverse_dynamics` gives.

    Examples:
        >>> c = jc.Constraints(jc.models.chain(3), [jc.Weld("body2")])
        >>> [x.shape for x in jc.constrained_inverse_dynamics(c.model, *np.zeros((3, 3)), c)]
        [(3,), (6,)]
    """

    tau: Array
    """(..., nv) generalized forces of the actuators."""
    force: Array
    """(..., m) forces of the rows on the robot."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


@ranked
class Impulse(NamedTuple):
    """What `impulse` gives.

    Examples:
        >>> c = jc.Constraints(jc.models.chain(3), [jc.Weld("body2")])
        >>> bool(np.allclose(jc.impulse(c.model, np.zeros(3), np.ones(3), c).v, 0))  # held from now
        True
    """

    v: Array
    """(..., nv) rates after the impulse."""
    impulse: Array
    """(..., m) of the rows on the robot, the shortest of those that do the same."""

    @property
    def rank(self) -> Integers:
        """(...) how many of the rows are independent; it is no item of the tuple."""
        return rank_of(self)


def constrained_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedDynamics:
    """Accelerations and constraint forces: M a + b = tau + J^T force, J a + J' v = w'.

    Along the tree, without M: the articulated inertias carry the rows' forces to the root, which
    gives K = J M^-1 J^T in O(n + m^2); then K force = w' - (J a_0 + J' v) with the accelerations
    a_0 of the free robot. Where rows depend on each other, a is unique and the force the one of
    least Euclidean norm; if they contradict each other, for example because v does not fulfill
    J v = w, they are met as nearly as possible, in the sense of least squares.

    Many rows whose loops do not overlap are eliminated one by one, where their frames meet in the
    tree, in O(n + m): a chain of loops costs as much per loop, however long it is.

    Only rates and accelerations count; whether q meets the targets says ``constraints.residual``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        constraints: the constraints.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (a, force); ``constraints.rows(k)`` says which forces are those of constraint k,
        and the attribute ``rank`` how many rows are independent: forces are unique if all are.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, or a constraint
            that is not defined at q: a rod without length, a wheel that lies flat.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> arm = jc.models.chain(3)
        >>> c = jc.Constraints(arm, [jc.Weld("body2")])
        >>> held = jc.constrained_dynamics(arm, jc.neutral(arm), [0, 0, 0], [1, 2, 3], c)
        >>> float(abs(held.a).max()) < 1e-12
        True
    """
    c = constraints
    if not (c.__class__ is Constraints and c.model is model):
        c = constraints_on(model, constraints)
    few = c._few  # type: ignore[attr-defined]
    if few is not None and out is None and isinstance(threads, int) and threads == 1:
        w, table = few
        try:
            found: ConstrainedDynamics = _forward(model, q, v, tau, w, table, f_ext)
        except ArgumentError as error:
            explain(c, q, error)
            raise
        return found
    if not c.size:
        return _unconstrained(model, (q, v, tau, f_ext), out, threads)
    with defined(c, q):
        return _along_the_tree(c, (q, v, tau, f_ext), out, threads)


def _along_the_tree(
    c: Constraints,
    state: tuple[Any, Any, Any, Any],
    out: tuple[Array, Array] | None,
    threads: int,
) -> ConstrainedDynamics:
    """Loop by loop where there are many that lie apart, else with all rows at once."""
    *at, f_ext = state
    given: tuple[Any, ...] = (c.model, *at, c._accelerations, c.table, f_ext)  # type: ignore[attr-defined]
    held = with_room(out, 2, 1)
    if c._few is None and c._loops_apart():  # type: ignore[attr-defined]
        if out is not None:
            given = tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in given)
        found: ConstrainedDynamics = _local(*given, out=held, threads=threads)
        if np.all(found.rank >= 0):
            return found
    return _forward(*given, out=held, threads=threads)  # type: ignore[no-any-return]


def _unconstrained(
    model: Model, arguments: tuple[Any, ...], out: tuple[Array, Array] | None, threads: int
) -> ConstrainedDynamics:
    with_room(out, 2, 1)
    q, v, tau, f_ext = arguments
    held = None if out is None else out[0]
    a = _free(model, q, v, tau, f_ext, out=held, threads=threads)
    lead = a.shape[:-1]
    force = np.zeros((*lead, 0)) if out is None else out[1]
    return with_rank(ConstrainedDynamics, (a, force), np.zeros(lead))


def constrained_inverse_dynamics(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    constraints: Constraints,
    f_ext: ArrayLike | None = None,
    *,
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> ConstrainedInverseDynamics:
    """Actuation and constraint forces for a motion: S u + J^T force = M a + b.

    Of all that do it, u is the one that makes the sum of ``weights * u**2`` smallest, and of
    several forces for that u, the force of least norm is taken. The motion must be one that the
    constraints allow, within their ``tolerance``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) accelerations.
        constraints: the constraints.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        actuated: which rates have an actuator: a bool mask (nv,) or names of joints; by default
            ``model.actuated``.
        actuation: (nv, inputs) constant map S from inputs to generalized forces, instead of
            `actuated`; its columns must be independent.
        weights: (inputs,) positive; by default 1.
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (tau, force), tau = S u, with the attribute ``rank``.

    Raises:
        ArgumentError: a wrong shape, bad numbers, a motion that violates the constraints (which
            one and by how much is told), or one that no actuation gives.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> c, zero = jc.Constraints(robot, [jc.Weld("B4")]), np.zeros(robot.nv)
        >>> q, joints = jc.neutral(robot), np.arange(robot.nv) >= 6
        >>> held = jc.constrained_inverse_dynamics(robot, q, zero, zero, c, actuated=joints)
        >>> float(np.abs(held.tau[:6]).max())
        0.0
    """
    c = constraints_on(model, constraints)
    inputs = inputs_of(model, actuated, actuation)
    weight = (
        np.ones(inputs.number) if weights is None else numbers("weights", weights, (inputs.number,))
    )
    if not (weight > 0).all():
        raise ArgumentError(f"weights must be positive, got {shown(weights)}")
    given = Given("constrained_inverse_dynamics", model, threads, q=q, v=v, a=a, f_ext=f_ext)

    def compute(
        q: ArrayLike, v: ArrayLike, a: ArrayLike, f_ext: ArrayLike | None
    ) -> tuple[Array, ...]:
        needed = inverse_dynamics(model, q, v, a, f_ext, threads=threads)
        require_motion(c, q, v, a, threads)
        rank = c.rank(q, threads=threads)
        J = without_rounding(c.jacobian(q, threads=threads), rank)
        found = _actuation(needed, J, inputs, weight)
        return *found, np.array(np.broadcast_to(rank, needed.shape[:-1]), float)

    own = ((model.nv,), (c.size,))
    return deliver_ranked(ConstrainedInverseDynamics, compute, out, own, given)


def _actuation(needed: Array, J: Array, inputs: Inputs, weight: Array) -> tuple[Array, Array]:
    """The smallest inputs, and forces, that add up to the needed generalized forces."""
    S = inputs.columns(np.eye(needed.shape[-1]))
    lead = needed.shape[:-1]
    J_T = np.broadcast_to(J.swapaxes(-1, -2), (*lead, *J.shape[:-3:-1]))
    to_inputs = algebra.pinv(S, 1e-15)
    beyond = np.eye(len(S)) - algebra.product(S, to_inputs)  # what no input does
    A, rest = algebra.product(beyond, J_T), needed @ beyond.T
    scale = np.abs(needed).max(-1, initial=0.0, keepdims=True)
    back = _pseudoinverse(A, J_T)
    force = times(back, rest)
    wrong = np.abs(times(A, force) - rest).max(-1, initial=0.0)
    if (wrong > _UNREACHABLE * scale[..., 0]).any():
        raise ArgumentError(
            "no actuation gives this motion: "
            f"{wrong.max():.3g} is missing where nothing acts; see model.actuated"
        )
    N = np.eye(J_T.shape[-1]) - algebra.product(back, A)
    B = np.sqrt(weight)[:, None] * algebra.product(to_inputs, J_T)
    left = times(np.sqrt(weight)[:, None] * to_inputs, needed - times(J_T, force))
    force += times(N, times(_pseudoinverse(algebra.product(B, N), B), left))
    u = times(to_inputs, needed - times(J_T, force))
    return times(S, u), force


def _pseudoinverse(matrix: AnyArray, like: AnyArray) -> Array:
    """Of a matrix that was made of another one, whose size says what is rounding."""
    U, lengths, V = algebra.svd(matrix, full_matrices=False)
    kept = lengths > _ROUNDING * np.abs(like).max((-1, -2), initial=0.0)[..., None]
    scaled = U * np.where(kept, 1.0 / np.where(kept, lengths, 1.0), 0.0)[..., None, :]
    out: Array = algebra.product(scaled, V).swapaxes(-1, -2)
    return out


def without_rounding(J: Array, rank: ArrayLike) -> Array:
    """Jacobians, (..., m, nv), with zeros where their rank is zero: not what rounding leaves."""
    return np.where(np.asarray(rank)[..., None, None] > 0, J, 0.0)


def times(matrix: AnyArray, vector: Array) -> Array:
    """Matrices times vectors, of a batch."""
    out: Array = (matrix @ vector[..., None])[..., 0]
    return out


def impulse(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    constraints: Constraints,
    restitution: float = 0.0,
    *,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> Impulse:
    """Jump of the rates when the constraints begin to hold: M (v+ - v) = J^T impulse.

    Newton's law of impact, with the relative rates J v - w of the rows:

        J v+ - w = -e (J v - w).

    The energy lost is (1 - e^2)/2 (J v)^T (J M^-1 J^T)^-1 (J v) for w = 0.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates before.
        constraints: the constraints.
        restitution: e, the same for all rows, from 0 (plastic) to 1 (elastic).
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (v, impulse): rates after, and the impulse of the least norm; with the attribute
        ``rank``.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> dog = jc.models.quadruped()
        >>> c = jc.Constraints(dog, [jc.Point("front_left_foot"), jc.Point("rear_right_foot")])
        >>> q, v = dog.poses["standing"], np.zeros(dog.nv)
        >>> v[5] = -1.0  # falls
        >>> after = jc.impulse(dog, q, v, c)
        >>> bool(np.abs(c.velocity(q, after.v)).max() < 1e-9)
        True
    """
    c = constraints_on(model, constraints)
    e = checked_restitution(restitution)
    given = Given("impulse", model, threads, q=q, v=v)

    def compute(q: ArrayLike, v: ArrayLike) -> tuple[Array, ...]:
        if not c.size:
            given.check()
            v = reals("v", v, (model.nv,))
            lead = np.broadcast_shapes(np.shape(q)[:-1], v.shape[:-1])
            unchanged = np.broadcast_to(v, (*lead, model.nv)).copy()
            return unchanged, np.zeros((*lead, 0)), np.zeros(lead)
        jump = -(1.0 + e) * (c.velocity(q, v, threads=threads) - rates_wanted(c))
        dv, push, rank = _jump(model, q, jump, c.table, threads=threads)
        return np.asarray(v, float) + dv, push, rank

    return deliver_ranked(Impulse, compute, out, ((model.nv,), (c.size,)), given)


def checked_restitution(value: float) -> float:
    """A coefficient of restitution."""
    e = float(numbers("restitution", value, ()))
    if not 0 <= e <= 1:
        raise ArgumentError(f"restitution must be between 0 and 1, got {shown(value)}")
    return e
