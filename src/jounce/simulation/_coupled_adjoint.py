"""The adjoint of rollouts of coupled models, step by step backward.

A step leads from x = (q, v) to F(x, tau, tau'), with the forces at its start and at its end, which
are the same if they are held. Its derivatives are columns, one for each direction, by numbers that
carry them (`jounce._core.carried`). With the weights w_k of the states and p = w_T at the end,

    (1)  by tau_k: F_tau^T p,  by tau_(k+1): F_tau'^T p,  then p <- F_x^T p + w_k.

The numbers of the model are as many directions more, and their gradient is the sum of F_m^T p.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce._core.carried import carrying_derivative, with_derivative
from jounce._core.coupled import coupled
from jounce._types import Array
from jounce.model.parameters import parameters
from jounce.simulation._coupled import advanced, refuse_control, rows_of, unpacked

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel
    from jounce.simulation.methods import Method

__all__: list[str] = []


_PORTION = 2**22
"""Bytes of the directions that are taken at once."""


class _Steps(NamedTuple):
    """Steps of some states (n, ...), whose derivatives are asked for."""

    q: Array
    v: Array
    tau: Array
    next_tau: Array
    dt: Array
    """(n, 1)."""
    f_ext: Array | None = None
    next_f_ext: Array | None = None

    def repeated(self, some: slice, number: int) -> _Steps:
        """Some of the states, each as often as there are directions."""
        rows = (None if x is None else np.repeat(x[some], number, axis=0) for x in self)
        return _Steps(*rows)  # type: ignore[arg-type]


@coupled("explicit_rollout_adjoint", checked=True)
def _adjoint(model: CoupledModel, *, threads: int, **given: Any) -> tuple[Array, ...]:
    return _backward(model, threads, 0, **given)[:3]


@coupled("explicit_rollout_model_adjoint", checked=True)
def _model_adjoint(model: CoupledModel, *, threads: int, **given: Any) -> tuple[Array, ...]:
    gravity = parameters(model, "gravity")
    return _backward(model, threads, gravity.model_tangent(model, np.zeros(3)).size, **given)


def _backward(
    model: CoupledModel,
    threads: int,
    tangents: int,
    *,
    tau: Array,
    q: Array,
    v: Array,
    weights: Array,
    dt: Array,
    tableau: Array,
    hold: int,
    passive: bool = False,
    f_ext: Array | None = None,
    **control: Any,
) -> tuple[Array, ...]:
    """Gradients by the start, the forces, and as many numbers of the model as are asked for."""
    refuse_control("rollout_vjp", control)
    method, nv = unpacked(np.asarray(tableau)), model.nv
    axes = {"tau": 2, "q": 2, "v": 2, "weights": 2, "dt": 0, "f_ext": 3}
    given = dict(zip(axes, (tau, q, v, weights, dt, f_ext), strict=True))
    known = {key: np.asarray(x) for key, x in given.items() if x is not None}
    lead = np.broadcast_shapes(*(x.shape[: x.ndim - axes[key]] for key, x in known.items()))
    rows = {key: rows_of(x, lead, axes[key]) for key, x in known.items()}
    by_tau, p = np.zeros_like(rows["tau"]), rows["weights"][:, -1]
    by_model = np.zeros((len(p), tangents))
    for k in reversed(range(rows["q"].shape[1] - 1)):
        state, forces = (rows["q"][:, k], rows["v"][:, k]), rows["tau"]
        steps = _Steps(*state, forces[:, k], forces[:, k + hold], rows["dt"][:, None])
        if "f_ext" in rows:
            f = rows["f_ext"]
            steps = steps._replace(f_ext=f[:, k], next_f_ext=f[:, k + hold])
        F = _step_derivatives(model, method, steps, passive, tangents, threads)
        gradient = (F @ p[..., None])[..., 0]  # (1)
        by_tau[:, k] += gradient[:, 2 * nv : 3 * nv]
        by_tau[:, k + hold] += gradient[:, 3 * nv : 4 * nv]
        by_model += gradient[:, 4 * nv :]
        p = gradient[:, : 2 * nv] + rows["weights"][:, k]
    found = p[:, :nv], p[:, nv:], by_tau, by_model
    return tuple(x.reshape((*lead, *x.shape[1:])) for x in found)


def _step_derivatives(
    model: CoupledModel, method: Method, steps: _Steps, passive: bool, tangents: int, threads: int
) -> Array:
    """Derivatives (n, directions, 2 nv) of the ends of steps along q, v, both forces, the model."""
    n, nv = len(steps.q), model.nv
    unit = np.eye(4 * nv + tangents)
    found = np.empty((n, len(unit), 2 * nv))
    portion = max(1, _PORTION // max(1, unit.nbytes))
    for first in range(0, n, portion):
        some = slice(first, min(first + portion, n))
        x = steps.repeated(some, len(unit))
        d = np.tile(unit, (some.stop - first, 1))
        along = [d[:, k * nv : (k + 1) * nv] for k in range(4)]
        q = with_derivative(model, "nq", x.q, along[0])
        rates = zip((x.v, x.tau, x.next_tau), along[1:], strict=True)
        v, tau, next_tau = (with_derivative(model, "nv", *own) for own in rates)
        f_ext = None
        if x.f_ext is not None and x.next_f_ext is not None:
            f_ext = x.f_ext, x.next_f_ext
        moving = model.carrying(d[:, 4 * nv :] if tangents else None)
        forces = tau, next_tau
        q, v = advanced(moving, method, (q, v), forces, f_ext, x.dt, passive, threads)
        ends = carrying_derivative(model, "nq", q), carrying_derivative(model, "nv", v)
        found[some] = np.concatenate(ends, axis=-1).reshape(-1, len(unit), 2 * nv)
    return found
