"""One step on the group and its exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, overload

import numpy as np

from jounce._core import core_info
from jounce._core.arrays import reals
from jounce._core.out import Given, Shape, deliver_all
from jounce._core.words import place_text
from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints, constrained_dynamics
from jounce.constraints.checks import require_state
from jounce.constraints.constraints import constraints_on
from jounce.constraints.linearization import tangent_basis
from jounce.derivatives.linearization import plus_passive_forces
from jounce.dynamics import forward_dynamics
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.model.rates import Actuated, Inputs, inputs_of
from jounce.simulation.manifold import held_alike
from jounce.simulation.methods import Method, advance, find_method
from jounce.simulation.projected_step import projected_steps
from jounce.simulation.rollout_call import checked_options, time_step
from jounce.simulation.second_order import step_hessian
from jounce.simulation.step_manifold import (
    ConstrainedSecondOrderStep,
    ConstrainedStep,
    on_manifold,
)
from jounce.simulation.tangents import States, TangentFlow
from jounce.simulation.taylor import TAYLOR
from jounce.simulation.taylor_tangents import linearized_taylor

__all__ = ["LinearizedStep", "SecondOrderStep", "linearize_step"]

Place = Callable[[int], str]
"""Where in a batch one of some states is, in words."""

_PORTION = 2**19
"""Bytes of the derivatives of those states of a batch that are worked on at once."""


class LinearizedStep(NamedTuple):
    """One step: its result (q, v), and how it depends on where it starts and on the forces.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> step = jc.linearize_step(arm, q, v, a, 0.01)
        >>> bool(np.allclose(step.q, jc.step(arm, q, v, a, 0.01).q))
        True
    """

    A: Array
    """(..., 2 nv, 2 nv) derivative of the next state by the state, both in tangent spaces."""
    B: Array
    """(..., 2 nv, number of inputs) derivative of the next state by the inputs."""
    q: Array
    """(..., nq) next coordinates."""
    v: Array
    """(..., nv) next rates."""


class SecondOrderStep(NamedTuple):
    """One step with first and, contracted with weights, second derivatives.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> jc.linearize_step(arm, q, v, a, 0.01, weights=np.ones(4)).H.shape  # by (q, v, tau)
        (6, 6)
    """

    A: Array
    """(..., 2 nv, 2 nv), as in `LinearizedStep`."""
    B: Array
    """(..., 2 nv, number of inputs)."""
    q: Array
    """(..., nq) next coordinates."""
    v: Array
    """(..., nv) next rates."""
    H: Array
    """(..., m, m) with m = 2 nv + number of inputs: the Hessian at 0 of weights @ (x, y) by changes
    (delta q, delta v, delta u), x = difference(q, q of the changed step), y the change of v."""


@overload
def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "rkmk4",
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: None = None,
    weights: None = None,
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> LinearizedStep: ...


@overload
def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "rkmk4",
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: None = None,
    weights: ArrayLike,
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> SecondOrderStep: ...


@overload
def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "rkmk4",
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: Constraints,
    projection: bool = True,
    weights: None = None,
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedStep: ...


@overload
def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "rkmk4",
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: Constraints,
    projection: bool = True,
    weights: ArrayLike,
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> ConstrainedSecondOrderStep: ...


def linearize_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    method: str = "rkmk4",
    actuated: Actuated = None,
    actuation: ArrayLike | None = None,
    passive: bool = False,
    constraints: Constraints | None = None,
    projection: bool = True,
    weights: ArrayLike | None = None,
    order: int = 20,
    out: tuple[Array, ...] | None = None,
    threads: int = 1,
) -> LinearizedStep | SecondOrderStep | ConstrainedStep | ConstrainedSecondOrderStep:
    """One explicit step on the group and its exact derivatives (not a discretized `linearize`).

    The forces (and body-fixed wrenches) are constant during the step. A step is a composition of
    moves q exp(u) and accelerations; the former are differentiated by

        delta (q exp(u)) = Ad(exp(-u)) delta q + dexp(-u) delta u,

    with the right-trivialized dexp of `jounce.lie`, the latter by `forward_dynamics_derivatives`.
    Turns of spherical and free joints are elements of SO(3). The linear velocity of a free joint is
    integrated along the axes of its parent, where it does not turn with the body.

    =====================  =====  ==============================================================
    method                 order  step
    =====================  =====  ==============================================================
    "euler"                1      q exp(dt v), v + dt a
    "semi_implicit_euler"  1      v+ = v + dt a, then q exp(dt v+)
    "midpoint"             2      Euler with the slope at the middle, reached by half an Euler step
    "rkmk2"                2      Heun's method in coordinates of the algebra (Munthe-Kaas 1999)
    "rkmk4"                4      the classical method of Kutta, likewise
    "cf4"                  4      commutator-free method with four accelerations
                                  (Celledoni, Marthinsen, Owren 2003)
    "dopri5"               5      Dormand and Prince with six accelerations, as rkmk4
    "dop853"               8      Dormand and Prince with twelve accelerations, as rkmk4
    "taylor"               2-30   the Taylor polynomial of the motion; its derivatives are those of
                                  `forward_dynamics_series_derivatives`
    =====================  =====  ==============================================================

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        dt: length of the step, s: a number or an array that broadcasts with the leading axes.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        method: see the table.
        actuated: which rates have an input, as in `linearize`.
        actuation: (nv, inputs) map from inputs to forces, as in `linearize`.
        passive: whether springs, damping and friction of the joints act beside tau, changing with
            the state during the step.
        constraints: a `jounce.Constraints` whose forces act as well. The state must fulfill them
            within their ``tolerance``.
        projection: whether the step ends on their manifold, as that of `step` and `rollout` does by
            default; the derivatives are those of the projection, too. Without it the step holds
            accelerations and leaves the manifold by as much as the method errs.
        weights: (..., 2 nv) of the changes of the next state, for second derivatives: what
            differential dynamic programming multiplies them with, the gradient of the cost to go.
            Leading axes are batch axes as those of the state: np.eye(2 nv) gives all of them.
            Of constraints whose rows are redundant, second derivatives are exact where the stages
            of the step fulfill them: see `constrained_dynamics_hessian`.
        order: of "taylor".
        out: arrays to write to, in the order of the result.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (A, B, q, v): the next state and its derivatives, batched like the arguments,
        for example over the knots of a trajectory; with `weights` (A, B, q, v, H), where H is the
        Hessian at 0 of weights @ (difference(q, q of the changed step), change of v). With
        constraints (A, B, q, v, A_min, B_min, Z, Z_next): with orthonormal bases Z of the changes
        that they allow before and after the step, ``A_min = Z_next^T A Z``,
        ``B_min = Z_next^T B``; with both, H and its form H_min on the manifold come last.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion or an unknown
            method; a state that violates the constraints; out with constraints; passive forces
            with "taylor"; weights under constraints with "taylor" or with a projection, which have
            no second derivatives here; a step that leads to numbers that are not finite.
        SingularError: a joint moves no inertia; it is named.

    Identity: ``(A - 1) / dt`` and ``B / dt`` tend to those of `linearize` as dt tends to zero;
    under constraints, without the projection.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> step = jc.linearize_step(arm, q, np.zeros(7), np.zeros(7), 0.01)
        >>> step.A.shape, step.B.shape
        ((14, 14), (14, 7))
    """
    inputs = inputs_of(model, actuated, actuation)
    check_flag("passive", passive)
    order = checked_options(order, projection)
    taylor = isinstance(method, str) and method == TAYLOR
    if taylor and passive:
        raise ArgumentError("method 'taylor' does not take passive=True here")
    if taylor and weights is not None and constraints is not None:
        raise ArgumentError("method 'taylor' takes no weights under constraints")
    chosen = order if taylor else find_method(method, taylor=True)
    step = time_step(dt)
    arrays: dict[str, Any] = {"q": q, "v": v, "tau": tau, "f_ext": f_ext, "dt": step}
    if constraints is not None:
        _refuse_out(out)
        state, c = (q, v, tau, f_ext), constraints_on(model, constraints)
        rows = None if weights is None else _weights(model, weights)
        call = _Given("linearize_step", model, threads, **arrays, weights=rows)
        with call.told():
            return _constrained(c, state, step, inputs, chosen, passive, rows, projection, threads)
    n = 2 * model.nv
    shapes = [(n, n), (n, inputs.number), (model.nq,), (model.nv,)]
    if weights is not None:
        arrays["weights"] = _weights(model, weights)
        shapes.append((n + inputs.number, n + inputs.number))

    def compute(
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        f_ext: ArrayLike | None,
        step: Array,
        weights: Array | None = None,
    ) -> LinearizedStep | SecondOrderStep:
        state = (q, v, tau, f_ext)
        lead, states, weights = _flat_states(model, state, step, weights, passive, threads)
        place = _places(lead, 0)
        results = _step_all(model, states, inputs, chosen, passive, weights, threads, place)
        kind = LinearizedStep if weights is None else SecondOrderStep
        return kind(*(x.reshape(*lead, *x.shape[1:]) for x in results))

    given = _Given("linearize_step", model, threads, **arrays)
    return deliver_all(compute, out, tuple(shapes), given)


def _refuse_out(out: tuple[Array, ...] | None) -> None:
    if out is not None:
        raise ArgumentError(
            "linearize_step has no out under constraints, whose rank sets the sizes"
        )


def _constrained(
    c: Constraints,
    state: tuple[Any, Any, Any, Any],
    step: Array,
    inputs: Inputs,
    method: Method | int,
    passive: bool,
    weights: Array | None,
    project: bool,
    threads: int,
) -> ConstrainedStep | ConstrainedSecondOrderStep:
    """A step under constraints."""
    if project and weights is not None:
        raise ArgumentError(
            "second derivatives under constraints are those of steps without a projection: "
            "weights need projection=False"
        )
    lead, states, weights = _flat_states(c.model, state, step, weights, passive, threads, c)
    require_state(c, state[0], state[1], threads=threads)
    Z = tangent_basis(c, states.q, states.v, threads)
    groups = []
    for some, held in held_alike(c, states.q, states.dt[:, 0]):
        own, one = None if weights is None else weights[some], states.portion(some)
        place = _places(lead, some.start or 0)
        groups.append(_step_all(c.model, one, inputs, method, passive, own, threads, place, held))
    taken = [np.concatenate(x) for x in zip(*groups, strict=True)]
    _require_finite(taken, lead, weights is not None)
    if project:
        taken = projected_steps(c, states.q, states.dt[:, 0], taken, threads)
    parts = on_manifold(c, (states.q, states.v), Z, taken, weights, threads)
    kind = ConstrainedStep if weights is None else ConstrainedSecondOrderStep
    return kind(*(x.reshape(*lead, *x.shape[1:]) for x in parts))


class _Given(Given):
    """Arguments of a step."""

    def own_axes(self, name: str) -> Shape:
        return (2 * self.model.nv,) if name == "weights" else super().own_axes(name)


def _step_all(
    model: Model,
    states: States,
    inputs: Inputs,
    method: Method | int,
    passive: bool,
    weights: Array | None,
    threads: int,
    place: Place,
    constraints: Constraints | None = None,
) -> list[Array]:
    """Step all states, a portion of them at a time: A, B, q, v, and H if there are weights.

    Raises:
        ArgumentError: a step leads to numbers that are not finite; `place` says of which state.
    """
    nv, m, count = model.nv, inputs.number, len(states.q)
    shapes = [(2 * nv, 2 * nv), (2 * nv, m), (model.nq,), (nv,)]
    if weights is not None:
        shapes.append((2 * nv + m, 2 * nv + m))
    A, B, next_q, next_v, *H = (np.empty((count, *shape)) for shape in shapes)

    def take(some: slice) -> None:
        part = states.portion(some)
        if isinstance(method, int):
            own = None if weights is None else weights[some]
            parts = linearized_taylor(model, part, inputs, method, threads, constraints, own)
            next_q[some], next_v[some] = parts[:2]
            _fill(A[some], B[some], *parts[2:4])
            if H:
                H[0][some] = parts[4]
            return
        flow = TangentFlow.of(model, part, inputs, passive, threads, constraints)
        if weights is None:
            q, v, dq, dv = flow.end(advance(method, flow, flow.start()))
        else:
            q, v, dq, dv, H[0][some] = step_hessian(flow, method, weights[some])
        next_q[some], next_v[some] = q, v
        _fill(A[some], B[some], dq, dv)

    for some in _portions(count, 8 * nv * (2 * nv + m), threads):
        try:
            with np.errstate(all="ignore"):
                take(some)
        except ArgumentError as error:
            if "finite" not in str(error):
                raise
            raise _not_finite(place(_first_failing(take, some)), weights is not None) from None
    return [A, B, next_q, next_v, *H]


def _first_failing(take: Callable[[slice], None], some: slice) -> int:
    """The first state that a step cannot be taken from, or the first of all."""
    for k in range(some.start, some.stop):
        try:
            with np.errstate(all="ignore"):
                take(slice(k, k + 1))
        except ArgumentError:
            return k
    return int(some.start)


def _not_finite(where: str, weighted: bool) -> ArgumentError:
    """The arguments were, but not what the function itself makes of them."""
    smaller = "forces or weights" if weighted else "forces"
    return ArgumentError(
        f"the step leads to numbers that are not finite{where}: take a shorter dt, a method of "
        f"higher order, or smaller {smaller}"
    )


def _require_finite(taken: list[Array], lead: Shape, weighted: bool) -> None:
    """Refuse results that are not finite, which `deliver_all` does where there is an `out`."""
    good = [np.isfinite(x).reshape(len(x), -1).all(axis=-1) for x in taken if x.size]
    if good and not np.all(good):
        raise _not_finite(_places(lead, 0)(int(np.argmin(np.all(good, axis=0)))), weighted)


def _places(lead: Shape, first: int) -> Place:
    """Where states of a batch are, from the first on."""

    def place(k: int) -> str:
        return place_text(first + k, lead)

    return place


def _fill(A: Array, B: Array, dq: Array, dv: Array) -> None:
    """Sort derivatives by state and inputs."""
    nv = dq.shape[-2]
    for rows, d in ((slice(nv), dq), (slice(nv, None), dv)):
        A[:, rows] = d[..., : 2 * nv]
        B[:, rows] = d[..., 2 * nv :]


def _weights(model: Model, weights: ArrayLike) -> Array:
    array = reals("weights", weights)
    if array.shape[-1:] != (2 * model.nv,):
        raise ArgumentError(
            f"weights must be finite numbers of shape (..., {2 * model.nv}), that is (..., 2 nv) "
            f"of this model, got shape {array.shape}"
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        at = bad[0].tolist()
        raise ArgumentError(f"weights must be finite, got {array[tuple(at)]} at {at}")
    return array


def _flat_states(
    model: Model,
    state: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike | None],
    dt: Array,
    weights: Array | None,
    passive: bool,
    threads: int,
    constraints: Constraints | None = None,
) -> tuple[tuple[int, ...], States, Array | None]:
    """Check all arguments; return their leading axes, the states, and a row of weights for each."""
    q, v, tau, f_ext = state
    total = plus_passive_forces(model, q, v, tau, threads) if passive else tau
    if constraints is None:
        a = forward_dynamics(model, q, v, total, f_ext, threads=threads)
    else:
        a = constrained_dynamics(model, q, v, total, constraints, f_ext, threads=threads).a
    lead = _joined("dt", dt.shape, a.shape[:-1])
    if weights is not None:
        lead = _joined("weights", weights.shape[:-1], lead)
    count = math.prod(lead)

    def flat(x: ArrayLike, axes: int = 1) -> Array:
        array = np.asarray(x, float)
        own = array.shape[array.ndim - axes :]
        if array.shape != (*lead, *own):
            array = np.broadcast_to(array, (*lead, *own))
        return array.reshape(count, *own)

    wrenches = None if f_ext is None else flat(f_ext, 2)
    states = States(flat(q), flat(v), flat(tau), wrenches, flat(dt[..., None]), flat(a))
    return lead, states, None if weights is None else flat(weights)


def _joined(name: str, own: Shape, others: Shape) -> Shape:
    """Leading axes of an argument and of those before it together."""
    try:
        return np.broadcast_shapes(own, others)
    except ValueError:
        raise ArgumentError(
            f"the leading axes {own} of {name} do not broadcast with those of the other arguments, "
            f"{others}"
        ) from None


def _portions(count: int, size: int, threads: int) -> Iterator[slice]:
    """Cut a batch so that arrays of `size` bytes per state stay in the cache."""
    workers = threads or int(core_info()["cores"])
    most = max(8, _PORTION // max(size, 1) // 8 * 8) * workers  # full packs
    return (slice(k, min(k + most, count)) for k in range(0, count, most))
