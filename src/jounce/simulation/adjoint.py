"""The exact derivatives of a function of a rollout's states, backward through the rollout."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from jounce import _core
from jounce._core import MOST_THREADS, memory
from jounce._core.arrays import reals, shown
from jounce._core.out import Shape, require_out, untouched_if_failing
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, DivergenceError, SingularError
from jounce.model import Model
from jounce.model.model import require_model
from jounce.model.parameters import Parameters, require_parameters
from jounce.simulation.control import Control
from jounce.simulation.methods import Method, find_method
from jounce.simulation.rollout_call import RolloutCall, along, rollout_call

__all__ = ["ParameterGradient", "RolloutGradient", "rollout_vjp"]

_adjoint = _core.raw("explicit_rollout_adjoint", "rollout_vjp", inputs="")
_model_adjoint = _core.raw("explicit_rollout_model_adjoint", "rollout_vjp", inputs="")

_BLOCK = 2**25
"""Memory for states and weights of the steps of those that are gone back through together."""
_MOST_BYTES = 2**27
"""The same of the steps between two checkpoints."""
_LANES = 8
"""Numbers of states that are multiples of this fill whole registers, whatever their width."""

Weights = tuple[ArrayLike | None, ArrayLike | None]
Pair = tuple[Array, Array]


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
    inverse_dynamics``, both in O(n). The states of the steps are kept for some states of the batch
    at a time. Where even these need too much memory, after tens of thousands of steps, the rollout
    is cut at checkpoints, which costs one more rollout.

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
        parameters: of the model, see `jounce.parameters`, by which to differentiate as well. The
            same sweep gives the derivatives by all numbers of the model, so that it does not matter
            how many there are. What the control is given stays as it is; so do the stiffness and
            damping of its stops, which follow from the model.
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
        raise ArgumentError(f"every must be an integer, at least 1, got {shown(every)}")
    if not _has_own_axes(model, call, threads):
        call.run(model, threads=threads)  # which says what is wrong
    stored = max(np.shape(tau)[-2] - call.hold, 0) // every
    both = _weights(model, weights, stored + 1)
    lead = _lead(model, call, both)
    _require_room(model, lead, np.shape(tau)[-2])
    for name, array in zip(("weights_q", "weights_v"), both, strict=True):
        if not np.isfinite(array).all():
            raise ArgumentError(f"{name} must be finite")
    if parameters is not None:
        require_parameters(parameters)
        if out is not None:
            raise ArgumentError("rollout_vjp has no out with parameters")
        parameters.require_model(model)
        found, by_model = _whole(model, call, both, lead, every, threads, by_model=True)
        directions = parameters.model_tangent(model, np.eye(len(parameters)))
        return ParameterGradient(*found, by_model @ directions.T)
    if out is None:
        return _whole(model, call, both, lead, every, threads)[0]
    shapes: list[Shape] = [(*lead, model.nv)] * 2 + [(*lead, np.shape(tau)[-2], model.nv)]
    require_out(out, shapes)
    names = ("q0", "v0", "tau", "dt", "f_ext", "weights of q", "weights of v")
    arrays = dict(zip(names, (q0, v0, tau, dt, f_ext, *weights), strict=True))
    with untouched_if_failing(out, arrays, threads) as guard:
        guard.write(_whole(model, call, both, lead, every, threads)[0])
    return RolloutGradient(*out)


def _whole(
    model: Model,
    call: RolloutCall,
    weights: Pair,
    lead: Shape,
    every: int,
    threads: int,
    *,
    by_model: bool = False,
) -> tuple[RolloutGradient, Array]:
    """Go backward; the second array is by all numbers of the model, if that is asked for."""
    rows, steps = np.shape(call.control.tau)[-2], (weights[0].shape[-2] - 1) * every
    by_start, by_tau = np.zeros((*lead, 2 * model.nv)), np.zeros((*lead, rows, model.nv))
    by_numbers: list[Array] = []
    axis, blocks = _blocks(lead, (steps + 1) * _bytes(model), threads)
    try:
        for some in blocks:
            at: Any = (*[slice(None)] * axis, some)[: len(lead)]
            own = call.block(axis, some, lead), _block(weights, axis, some, lead)
            into = by_start[at], by_tau[at]
            by_numbers.append(_some_states(model, *own, into, every, threads, by_model))
    except (DivergenceError, SingularError):
        if len(blocks) > 1:  # which state of the whole batch it is
            _some_states(model, call, weights, (by_start, by_tau), every, threads, by_model)
        raise
    gradient = by_start[..., : model.nv].copy(), by_start[..., model.nv :].copy(), by_tau
    found = np.concatenate(by_numbers, axis=axis) if by_model and lead else by_numbers[0]
    return RolloutGradient(*gradient), found


def _require_room(model: Model, lead: Shape, rows: int) -> None:
    """Refuse gradients that do not fit; those by the start are there twice."""
    states = 8.0 * math.prod(lead) * model.nv
    memory.require("rollout_vjp", states * (2 + rows), states * (4 + rows))


def _bytes(model: Model) -> int:
    """Of a state and its weights."""
    return 8 * (model.nq + 3 * model.nv)


def _blocks(lead: Shape, size: int, threads: int) -> tuple[int, list[slice]]:
    """Some states at a time, of `size` bytes each: slices of the longest axis of the batch."""
    if not lead or 0 in lead:
        return 0, [slice(None)]
    axis = int(np.argmax(lead))
    others = int(np.prod(lead)) // lead[axis]
    fitting = max(_BLOCK // max(1, size * others), -(-_LANES * max(threads, 2) // others))
    length = -(-fitting // _LANES) * _LANES
    return axis, [slice(k, k + length) for k in range(0, lead[axis], length)]


def _block(weights: Pair, axis: int, some: slice, lead: Shape) -> Pair:
    q, v = (along(x, 2, axis, some, lead) for x in weights)
    return q, v


def _some_states(
    model: Model,
    call: RolloutCall,
    weights: Pair,
    into: tuple[Array, Array],
    every: int,
    threads: int,
    by_model: bool,
) -> Array:
    """Go backward, part by part, and fill `into`; return what is by all numbers of the model."""
    carried, by_tau = into
    lead, steps = carried.shape[:-1], (weights[0].shape[-2] - 1) * every
    size = int(np.prod(lead)) * _bytes(model)
    length = max(1, _MOST_BYTES // max(size, 1) // every) * every
    by_numbers = np.zeros(())
    for first, last, q, v in _parts(model, call, steps, length, threads):
        own = _of_steps(weights, lead, first, last, every)
        own[..., -1, :] += carried
        kernel = _model_adjoint if by_model else _adjoint
        q0, v0, some, *more = _backward(kernel, model, call.part(first, last), q, v, own, threads)
        carried[..., : model.nv], carried[..., model.nv :] = q0, v0
        by_tau[..., first : last + call.hold, :] += some
        by_numbers = by_numbers + sum(more)
    return by_numbers


def _of_steps(weights: Pair, lead: Shape, first: int, last: int, every: int) -> Array:
    """Weights of the states of some steps, those of the first one only where the rollout begins."""
    nv = weights[0].shape[-1]
    own = (np.empty if every == 1 else np.zeros)((*lead, last - first + 1, 2 * nv))
    rows, stored = slice(first // every, last // every + 1), own[..., ::every, :]
    stored[..., :nv], stored[..., nv:] = (x[..., rows, :] for x in weights)
    if first:  # they are carried to the part before
        own[..., 0, :] = 0.0
    return own


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


def _lead(model: Model, call: RolloutCall, weights: Pair) -> Shape:
    """Leading axes of all arguments."""
    own = [x.shape[:-2] for x in weights]
    try:
        return np.broadcast_shapes(*call.leads(), *own)
    except ValueError:
        call.run(model)  # which names the argument, if it is none of the weights
        raise ArgumentError(
            f"the leading axes {own[0]} and {own[1]} of the weights do not broadcast with each "
            "other and those of the other arguments"
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
    kernel: Any,
    model: Model,
    call: RolloutCall,
    q: Array,
    v: Array,
    weights: Array,
    threads: int,
) -> tuple[Array, ...]:
    """Derivatives by the start of a part and by its rows of forces, and what else there is."""
    tau, prescribed, passive, q_ref, servo = call.control
    assert isinstance(call.method, Method)
    found: tuple[Array, ...] = kernel(
        model,
        tau=tau,
        q=q,
        v=v,
        weights=weights,
        dt=call.dt,
        tableau=call.method.packed(),
        hold=call.hold,
        prescribed=prescribed,
        passive=passive,
        f_ext=call.f_ext,
        q_ref=q_ref,
        servo=servo,
        threads=threads,
    )
    return found


def _weights(model: Model, weights: Weights, stored: int) -> Pair:
    """Weights of coordinates and of rates, (..., stored, nv) each."""
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
        both.append(array)
    q, v = both
    return q, v
