"""The exact derivatives of a function of a rollout's states, backward through the rollout."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np

from jounce import _core
from jounce._core import MOST_THREADS
from jounce._core.arrays import reals
from jounce._core.out import Shape, require_out, untouched_if_failing
from jounce._types import Array, ArrayLike
from jounce.derivatives.parameters import parameter_derivatives
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.model import require_model
from jounce.model.parameters import Parameters, require_parameters
from jounce.simulation.control import Control
from jounce.simulation.methods import Method, find_method
from jounce.simulation.rollout_call import RolloutCall, rollout_call
from jounce.simulation.stepping import step

__all__ = ["ParameterGradient", "RolloutGradient", "rollout_vjp"]

_adjoint = _core.raw("explicit_rollout_adjoint", "rollout_vjp")

_MOST_BYTES = 2**27
"""Memory for states and weights of the steps between two checkpoints."""

_MOST_AT_ONCE = 2**21
"""Numbers of the derivatives of steps by parameters that are held at once."""

Weights = tuple[ArrayLike | None, ArrayLike | None]


class RolloutGradient(NamedTuple):
    """Derivatives of a weighted sum of the states of a rollout.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, _ = np.ones((3, 2))
        >>> tau = np.zeros((10, 2))
        >>> gradient = jc.rollout_vjp(arm, q, v, tau, 0.01, (np.ones((11, 2)), None))
        >>> gradient.tau.shape
        (10, 2)
    """

    q0: Array
    """(..., nv) by the coordinates at the start, in their tangent space."""
    v0: Array
    """(..., nv) by the rates at the start."""
    tau: Array
    """(..., T, nv) by every row of forces, (..., T + 1, nv) with ``hold="first"``."""


class ParameterGradient(NamedTuple):
    """The same, and the derivatives by parameters of the model.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, _ = np.ones((3, 2))
        >>> tau = np.zeros((10, 2))
        >>> mass, ones = jc.parameters(arm, "mass"), np.ones((11, 2))
        >>> jc.rollout_vjp(arm, q, v, tau, 0.01, (ones, None), parameters=mass).parameters.shape
        (2,)
    """

    q0: Array
    """(..., nv) by the coordinates at the start, in their tangent space."""
    v0: Array
    """(..., nv) by the rates at the start."""
    tau: Array
    """(..., T, nv) by every row of forces."""
    parameters: Array
    """(..., number of parameters)."""


@overload
def rollout_vjp(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    weights: Weights,
    f_ext: ArrayLike | None = None,
    method: str = "rkmk4",
    every: int = 1,
    *,
    hold: str = "zero",
    control: Control | None = None,
    parameters: None = None,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> RolloutGradient: ...


@overload
def rollout_vjp(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    weights: Weights,
    f_ext: ArrayLike | None = None,
    method: str = "rkmk4",
    every: int = 1,
    *,
    hold: str = "zero",
    control: Control | None = None,
    parameters: Parameters,
    out: None = None,
    threads: int = 1,
) -> ParameterGradient: ...


def rollout_vjp(
    model: Model,
    q0: ArrayLike,
    v0: ArrayLike,
    tau: ArrayLike,
    dt: ArrayLike,
    weights: Weights,
    f_ext: ArrayLike | None = None,
    method: str = "rkmk4",
    every: int = 1,
    *,
    hold: str = "zero",
    control: Control | None = None,
    parameters: Parameters | None = None,
    out: tuple[Array, Array, Array] | None = None,
    threads: int = 1,
) -> RolloutGradient | ParameterGradient:
    """The exact discrete adjoint of a rollout with an explicit method.

    Of ``sum_k weights_q[k] @ dq[k] + weights_v[k] @ dv[k]`` over the stored states, where dq and dv
    are their changes (dq in the tangent space, as `difference` gives it): if a cost has these
    derivatives by the states, the results are its derivatives by the start and by every force. They
    belong to the steps that `rollout` takes, not to the differential equation.

    Backward through a step, its stages are computed again, and every acceleration costs one solve
    with the mass matrix that was factored there and one sweep for the gradient of ``mu @
    inverse_dynamics``, both in O(n). Long rollouts of large batches are cut at checkpoints, so that
    the states in between need little memory, for one more rollout.

    Args:
        model: the robot.
        q0: (..., nq) coordinates at the start.
        v0: (..., nv) rates at the start.
        tau: (..., T, nv) generalized forces, as in `rollout`.
        dt: length of each step, s.
        weights: pair of weights_q (..., T // every + 1, nv) and weights_v, of the same shape; None
            stands for zeros.
        f_ext: (..., T, n_bodies, 6) body-fixed wrenches.
        method: an explicit one of `step`.
        every: as in `rollout`: which states have weights.
        hold: as in `rollout`.
        control: as in `rollout`; where a limit is reached exactly the derivatives are those inside.
        parameters: of the model, see `jounce.parameters`, by which to differentiate as well: with
            ``hold="zero"`` and without a control. They cost a few rollouts for each of them.
        out: a tuple of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple q0 (..., nv), v0 (..., nv), tau (..., T, nv), of each state of the batch, even
        where an argument is shared by all; with `parameters` one more, parameters (..., number of
        parameters).

    Raises:
        ArgumentError: what `rollout` refuses, or weights that do not fit its states.
        DivergenceError: a state became infinite; the step and the state of the batch are named.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        A mass that is pushed for three steps: an early push moves it farther.

        >>> import jounce as jc
        >>> mass = jc.ModelBuilder().add_body("m", joint="prismatic", axis=(1, 0, 0), mass=2.0)
        >>> last = np.zeros((4, 1))
        >>> last[-1] = 1.0
        >>> given = mass.build(), [0.0], [0.0], np.zeros((3, 1)), 1.0
        >>> jc.rollout_vjp(*given, (last, None)).tau.ravel()
        array([1.25, 0.75, 0.25])
    """
    require_model(model)
    find_method(method)
    call = rollout_call(model, q0, v0, tau, dt, f_ext, method, 1, hold, control)
    if isinstance(every, bool) or not isinstance(every, (int, np.integer)) or every < 1:
        raise ArgumentError(f"every must be an integer, at least 1, got {every!r}")
    if not _has_own_axes(model, call, threads):
        call.run(model, threads=threads)  # which says what is wrong
    stored = max(np.shape(tau)[-2] - call.hold, 0) // every
    both = _weights(model, weights, stored + 1)
    lead = _lead(model, call, both)
    if parameters is not None:
        require_parameters(parameters)
        _require_plain(call, out)
        return _with_parameters(model, call, both, lead, every, parameters, threads)
    if out is None:
        return _whole(model, call, both, lead, every, threads)
    shapes: list[Shape] = [(*lead, model.nv)] * 2 + [(*lead, np.shape(tau)[-2], model.nv)]
    require_out(out, shapes)
    names = ("q0", "v0", "tau", "dt", "f_ext", "weights of q", "weights of v")
    arrays = dict(zip(names, (q0, v0, tau, dt, f_ext, *weights), strict=True))
    with untouched_if_failing(out, arrays, threads):
        result = _whole(model, call, both, lead, every, threads)
    for place, value in zip(out, result, strict=True):
        place[...] = value
    return RolloutGradient(*out)


def _require_plain(call: RolloutCall, out: object) -> None:
    """Refuse what derivatives by parameters do not know."""
    _, prescribed, passive, q_ref, servo = call.control
    if call.hold or passive or any(x is not None for x in (prescribed, q_ref, servo)):
        raise ArgumentError("rollout_vjp takes parameters with hold='zero' and without a control")
    if out is not None:
        raise ArgumentError("rollout_vjp has no out with parameters")


def _with_parameters(
    model: Model,
    call: RolloutCall,
    weights: Array,
    lead: Shape,
    every: int,
    parameters: Parameters,
    threads: int,
) -> ParameterGradient:
    """With the adjoint after each step times how the step depends on the parameters."""
    steps = (weights.shape[-2] - 1) * every
    q, v, by_end = (np.empty((*lead, steps, n)) for n in (model.nq, model.nv, 2 * model.nv))

    def keep(k: int, states: tuple[Array, Array], by: Array) -> None:
        q[..., k, :], v[..., k, :] = (x[..., 0, :] for x in states)
        by_end[..., k, :] = by

    found = _whole(model, call, weights, lead, every, threads, keep)
    count, out = len(parameters), np.zeros((*lead, len(parameters)))
    size = 2 * model.nv * count * math.prod(lead)
    at_once = max(1, _MOST_AT_ONCE // max(1, size))
    given = {"dt": call.dt[..., None], "method": call.method.name}
    for first in range(0, steps, at_once):
        some = slice(first, min(first + at_once, steps))
        rows = call.part(some.start, some.stop)
        given |= {"q": q[..., some, :], "v": v[..., some, :], "tau": rows.control.tau}
        if rows.f_ext is not None:
            given["f_ext"] = rows.f_ext
        moved = parameter_derivatives(step, model, given, parameters, threads=threads)
        change = np.concatenate([moved.q, moved.v], axis=-2)
        out += np.einsum("...tip,...ti->...p", change, by_end[..., some, :])
    return ParameterGradient(*found, out)


def _whole(
    model: Model,
    call: RolloutCall,
    weights: Array,
    lead: Shape,
    every: int,
    threads: int,
    visit: Callable[[int, tuple[Array, Array], Array], None] | None = None,
) -> RolloutGradient:
    """Go backward, part by part; `visit` sees each step, its states and the adjoint of its end."""
    rows = np.shape(call.control.tau)[-2]
    size = 8 * int(np.prod(lead)) * (model.nq + 3 * model.nv)
    length = max(1, _MOST_BYTES // max(size, 1) // every) * every if visit is None else 1
    by_tau, carried = np.zeros((*lead, rows, model.nv)), np.zeros((*lead, 2 * model.nv))
    steps = (weights.shape[-2] - 1) * every
    for first, last, q, v in _parts(model, call, steps, length, threads):
        own = np.zeros((*lead, last - first + 1, 2 * model.nv))
        stored = [k for k in range(first, last + 1) if k % every == 0]
        own[..., [k - first for k in stored], :] = weights[..., [k // every for k in stored], :]
        own[..., -1, :] += carried
        own[..., 0, :] *= first == 0  # else they are carried to the part before
        if visit is not None and last > first:
            visit(first, (q, v), own[..., -1, :])
        q0, v0, some = _backward(model, call.part(first, last), q, v, own, threads)
        carried = np.concatenate([q0, v0], axis=-1)
        by_tau[..., first : last + call.hold, :] += some
    return RolloutGradient(carried[..., : model.nv].copy(), carried[..., model.nv :].copy(), by_tau)


def _has_own_axes(model: Model, call: RolloutCall, threads: int) -> bool:
    """Whether the arguments have the axes of the model; kernels say it otherwise."""
    try:
        count = np.shape(call.control.tau)[-2:-1]
        for x in (call.q0, call.v0, call.f_ext):
            np.asarray(x)
    except ValueError:  # ragged lists
        return False
    bodies = (model.n_bodies, 6)
    own: list[tuple[ArrayLike, Shape]] = [
        (call.q0, (model.nq,)),
        (call.v0, (model.nv,)),
        (call.control.tau, (*count, model.nv)),
    ]
    if call.f_ext is not None:
        own.append((call.f_ext, (*count, *bodies)))
    arrays = [(np.asarray(x), axes) for x, axes in own]
    fits = all(x.shape[x.ndim - len(axes) :] == axes for x, axes in arrays)
    fits = fits and all(x.dtype.kind in "fiub" for x, _ in arrays)
    counts = isinstance(threads, (int, np.integer)) and 0 <= threads <= MOST_THREADS
    return bool(count) and fits and counts


def _lead(model: Model, call: RolloutCall, weights: Array) -> Shape:
    """Leading axes of all arguments."""
    try:
        return np.broadcast_shapes(*call.leads(), weights.shape[:-2])
    except ValueError:
        call.run(model)  # which names the argument, if it is none of the weights
        raise ArgumentError(
            f"the leading axes {weights.shape[:-2]} of the weights do not broadcast with those of "
            "the other arguments"
        ) from None


def _parts(
    model: Model, call: RolloutCall, steps: int, length: int, threads: int
) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield parts of a rollout, the last one first: where they start and end, and their states."""
    marks = list(range(0, steps, length)) or [0]
    starts: list[tuple[ArrayLike, ArrayLike]] = [(call.q0, call.v0)]
    if len(marks) > 1:
        sparse = call.part(0, marks[-1])._replace(every=length)
        q, v = sparse.states(model, threads)
        starts = [(q[..., k, :], v[..., k, :]) for k in range(len(marks))]
    for first, (q0, v0) in zip(reversed(marks), reversed(starts), strict=True):
        last = min(first + length, steps)
        part = call.part(first, last)._replace(q0=q0, v0=v0)
        yield first, last, *part.states(model, threads, first)


def _backward(
    model: Model, call: RolloutCall, q: Array, v: Array, weights: Array, threads: int
) -> tuple[Array, Array, Array]:
    """Derivatives by the start of a part and by its rows of forces."""
    tau, prescribed, passive, q_ref, servo = call.control
    assert isinstance(call.method, Method)
    options = call.method.packed(), call.hold, prescribed, passive
    given = tau, q, v, weights, call.dt, *options, call.f_ext, q_ref, servo
    q0, v0, rows = _adjoint(model, *given, threads=threads)
    return q0, v0, rows


def _weights(model: Model, weights: Weights, stored: int) -> Array:
    """Weights of coordinates and rates side by side, (..., stored, 2 nv)."""
    if not isinstance(weights, Sequence) or len(weights) != 2:
        raise ArgumentError("weights must be a pair (weights_q, weights_v), either may be None")
    both = []
    for name, given in zip(("weights_q", "weights_v"), weights, strict=True):
        array = np.zeros((stored, model.nv)) if given is None else reals(name, given)
        if array.shape[-2:] != (stored, model.nv):
            raise ArgumentError(
                f"{name} must have shape (..., {stored}, {model.nv}), a row for each state that is "
                f"stored, got {array.shape}"
            )
        if not np.isfinite(array).all():
            raise ArgumentError(f"{name} must be finite")
        both.append(array)
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in both))
    return np.concatenate([np.broadcast_to(x, (*lead, stored, model.nv)) for x in both], axis=-1)
