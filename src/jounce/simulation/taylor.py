"""Taylor series of the motion as a method: its order, single steps, forces given as series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jounce import _core, lie
from jounce._core import memory
from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ModelError
from jounce.model import Model
from jounce.model.joints import ELEMENTARY
from jounce.model.model import require_model
from jounce.model.rates import group_blocks
from jounce.simulation.arguments import ANY, ControlError, asked
from jounce.simulation.free_joints import free_joints

__all__ = [
    "MOST_ORDER",
    "TAYLOR",
    "Polynomials",
    "checked_order",
    "constant_step",
    "force_series",
    "order_of",
    "polynomial_step",
    "quaternions",
    "require_series",
    "require_tree",
    "series_rows",
    "taylor_step",
]

TAYLOR = "taylor"

LEAST_ORDER, LEAST_ADAPTIVE_ORDER, MOST_CHOSEN, MOST_ORDER = 2, 4, 22, 30

_FIRST_GROUP = ELEMENTARY.index("spherical")  # and after it "free"

_step = _core.raw("taylor_step", "step", inputs="q v tau dt rtol atol f_ext")

Control = Callable[[float, Array, Array], ArrayLike]
"""The forces and their time derivatives, (m, nv), from time and state on."""


@lru_cache
def order_of(rtol: float, atol: float, bodies: int) -> int:
    """Order of the series by the tolerance, as that of Jorba and Zou (2005) but higher.

    Their order makes the work of products of series least. Here the work of an order hardly grows
    with it, so longer steps pay: from 16 to 24 at 1e-10, times differ by a tenth. Beyond some order
    they would lose digits where a body turns by several radians in one: sums of large terms.
    What a step of a single body costs beside its series counts most: there it pays to go further.
    """
    order = math.ceil(3 - 0.6 * math.log(min(rtol, atol))) + (4 if bodies == 1 else 0)
    return min(max(order, LEAST_ORDER), MOST_CHOSEN)


def require_series(model: Model, passive: bool) -> None:
    """Refuse passive forces that have no series.

    Raises:
        ArgumentError: dry friction, or springs of rotations.
    """
    if not passive:
        return
    if np.any(model.friction):
        raise ArgumentError(
            "method 'taylor' needs smooth forces, but passive=True has dry friction"
        )
    if any(np.any(model.stiffness[block.at]) for block in group_blocks(model)):
        raise ArgumentError(
            "method 'taylor' has no series for the springs of spherical and free joints"
        )


def require_tree(model: Model) -> None:
    """Refuse joints that follow others.

    Raises:
        ModelError: there are some.
    """
    if model.expanded is not model:
        raise ModelError(
            "method 'taylor' is not there for a model with coupled joints: use model.expanded, "
            "lock them, or take another method"
        )


def series_rows(forces: Array, rows: int) -> Array:
    """Return constant forces, their axis `rows` times; all derivatives are zero."""
    series = np.zeros((*forces.shape[:-1], rows, forces.shape[-1]))
    series[..., 0, :] = forces
    return series


def taylor_step(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    dt: Array,
    f_ext: ArrayLike | None = None,
    *,
    order: int = 20,
    out: tuple[Array, Array] | None = None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Take one step of given length under constant forces.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., nv) generalized forces.
        dt: (...) length of the step, s.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        order: of the polynomials of the rates, 2 to 30; those of the coordinates have one more.
        out: a pair of arrays to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        The pair q (..., nq), v (..., nv) after it.

    Raises:
        ArgumentError: an order out of range, or what `step` refuses.
        ModelError: joints follow others.
    """
    order = checked_order(order)
    require_model(model)
    require_tree(model)
    forces = reals("tau", tau, (model.nv,))
    _require_room(model, forces.shape[:-1], order * model.nv)
    series = series_rows(forces, order)
    if f_ext is not None:
        wrenches = reals("f_ext", f_ext, (model.n_bodies, 6))
        _require_room(model, wrenches.shape[:-2], order * 6 * model.n_bodies)
        flat = wrenches.reshape(*wrenches.shape[:-2], 6 * model.n_bodies)
        f_ext = series_rows(flat, order).reshape(*wrenches.shape[:-2], order, *wrenches.shape[-2:])
    place = None if out is None else _place(model, out, order)
    end = _step(model, q, v, series, dt, ANY, ANY, f_ext, out=place, threads=threads)
    return end[0], end[1]


def _require_room(model: Model, lead: tuple[int, ...], rows: int) -> None:
    """Refuse steps whose series of forces, so many numbers for each state, do not fit."""
    states = 8.0 * math.prod(lead)
    results = states * (model.nq + model.nv)
    memory.require("step", results, results + states * rows)


def constant_step(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    dt: Array,
    f_ext: Array | None,
    threads: int,
) -> tuple[Array, Array]:
    """Take steps of given lengths (n,) under forces given as series, (n, p, nv)."""
    end = _step(model, q, v, tau, dt, ANY, ANY, f_ext, threads=threads)
    return end[0], end[1]


def checked_order(order: object, *, adaptive: bool = False) -> int:
    """The order of Taylor steps.

    Where their length follows from the last two terms, lower orders would creep: of a quadratic,
    the linear term would have to be as small as the tolerance.

    Raises:
        ArgumentError: it is no integer, or out of range.
    """
    if isinstance(order, bool) or not isinstance(order, (int, np.integer)):
        raise ArgumentError(f"order must be an integer, got {shown(order)}")
    least = LEAST_ADAPTIVE_ORDER if adaptive else LEAST_ORDER
    if not least <= order <= MOST_ORDER:
        raise ArgumentError(f"order must be {least} to {MOST_ORDER}, got {shown(order)}")
    return int(order)


def _place(model: Model, out: object, order: int) -> tuple[Array, ...]:
    """Return the caller's arrays, and room for what else the kernel gives."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise ArgumentError("out must be a tuple of 2 arrays")
    lead = np.shape(out[0])[:-1]
    more = (), (order + 2, model.nq), (order + 1, model.nv)
    return (*out, *(np.empty((*lead, *shape)) for shape in more))


class Polynomials(NamedTuple):
    """The motion of n states along a step of their own."""

    model: Model
    q: Array
    """(n, nq) at the start."""
    h: Array
    """(n,) length of the step."""
    coordinates: Array
    """(n, p + 2, nq) Taylor coefficients; quaternions relative to the start."""
    rates: Array
    """(n, p + 1, nv), the linear velocity of free joints along the axes of the parent."""
    motion: Array | None = None
    """(n, p + 1, nv) body-fixed rates and their time derivatives, where they are known."""

    @staticmethod
    def joined(paths: Sequence[Polynomials]) -> Polynomials:
        """Those of several states, one after the other."""
        columns = zip(*(path[1:] for path in paths), strict=True)
        joined = [None if x[0] is None else np.concatenate(x) for x in columns]
        return Polynomials(paths[0].model, *joined)  # type: ignore[arg-type]

    def alone(self, k: int) -> Polynomials:
        """That of one of the states."""
        one = (None if x is None else x[k : k + 1] for x in self[1:])
        return Polynomials(self.model, *one)  # type: ignore[arg-type]

    def at(self, x: Array) -> tuple[Array, Array]:
        """Return coordinates and body-fixed rates at times x (n,) after the start."""
        q, s = (_summed(c, x) for c in (self.coordinates, self.rates))
        for k in quaternions(self.model):
            turned = lie.quat_multiply(self.q[:, k : k + 4], q[:, k : k + 4])
            q[:, k : k + 4] = turned / np.linalg.norm(turned, axis=-1, keepdims=True)
        for joint in free_joints(self.model):
            joint.to_body(q, s)
        return q, s

    def rates_of_change(self, x: Array) -> Array:
        """Return the time derivatives of the rates, along the same axes as these."""
        powers = np.arange(1.0, self.rates.shape[1])[:, None]
        return _summed(self.rates[:, 1:] * powers, x)


def polynomial_step(
    model: Model,
    q: Array,
    v: Array,
    tau: Array,
    most: Array,
    allowed: tuple[float, float],
    threads: int = 1,
) -> tuple[Array, Array, Polynomials]:
    """Take a step of n states, each as long as its series allows and no longer than `most` (n,).

    Args:
        model: the robot.
        q: (n, nq) coordinates.
        v: (n, nv) rates.
        tau: (n, p, nv) forces and their derivatives.
        most: (n,) longest steps, s.
        allowed: relative and absolute tolerance.
        threads: number of threads.

    Returns:
        Coordinates and rates at the end, and the polynomials that lead there.
    """
    end, rates, h, *series = _step(model, q, v, tau, most, *allowed, threads=threads)
    return end, rates, Polynomials(model, q, h, *series)


def force_series(control: Control, t: Array, q: Array, v: Array, order: int) -> Array:
    """Ask a control for the forces of n states and their derivatives, (n, order, nv).

    Raises:
        ControlError: it raises something, or returns something else.
    """
    series = np.zeros((len(q), order, v.shape[-1]))
    for k in range(len(q)):
        try:
            rows = _checked_forces(asked(control, float(t[k]), q[k], v[k]), v.shape[-1])
        except Exception as error:
            raise ControlError(error) from error
        count = min(order, len(rows))
        series[k, :count] = rows[:count]
    return series


def _checked_forces(given: ArrayLike, nv: int) -> Array:
    """Return what a control gave, if these are forces and their derivatives."""
    rows = reals("control must return forces: they", given)
    if rows.ndim != 2 or rows.shape[1] != nv or not len(rows):
        raise ArgumentError(
            f"with method 'taylor' control must return an array of shape (m, {nv}), the forces "
            f"and their time derivatives, got {type(given).__name__} of shape {rows.shape}"
        )
    if not np.isfinite(rows).all():
        raise ArgumentError(f"control must return finite forces, got {shown(given)}")
    return rows


def _summed(c: Array, x: Array) -> Array:
    value = c[:, -1]
    for k in range(c.shape[1] - 2, -1, -1):
        value = value * x[:, None] + c[:, k]
    return value


def quaternions(model: Model) -> list[int]:
    """Where quaternions begin in q."""
    kinds, first = model.coordinates.kind, model.coordinates.q_index
    return [int(q) for kind, q in zip(kinds, first, strict=True) if kind >= _FIRST_GROUP]
