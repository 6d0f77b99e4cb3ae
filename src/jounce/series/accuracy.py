"""How many digits a series of accelerations has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce._core.arrays import integer
from jounce._core.out import deliver
from jounce._core.shapes import KernelCall
from jounce._core.words import told_by
from jounce._types import Array, ArrayLike
from jounce.model.model import Model, require_model
from jounce.series.dynamics import forward_dynamics_series

__all__ = ["forward_dynamics_series_error"]

_EPS = float(np.finfo(float).eps)
_MOST_SAMPLES = 10**5


def forward_dynamics_series_error(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    samples: int = 4,
    threads: int = 1,
) -> Array:
    """Estimated relative error of `forward_dynamics_series`, order by order, (..., r+1).

    Each order is solved for with the ones below it, whose rounding it multiplies: a motion that is
    slow for a robot that could swing much faster loses a digit or so per order, until none is left.
    The estimate is what rounding of the arguments alone does: with some random x' that differ from
    the arguments x by at most one unit of rounding each, it is the largest

        |a_k(x') - a_k(x)| / |a_k(x)|     for the order k, largest entries compared.

    1e-16 is full accuracy, 1 or more means that no digit is right. It costs `samples` calls.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        tau: (..., r+1, nv) generalized forces and their derivatives.
        f_ext: (..., r+1, n_bodies, 6) body-fixed wrenches and the derivatives of their components.
        samples: how many changed arguments are tried, at most 100,000.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., r+1) relative errors, at least the unit of rounding.

    Raises:
        ArgumentError: no samples, a wrong shape, a number that is not finite, or a bad quaternion.
        SingularError: a joint moves no inertia; it is named.

    Examples:
        >>> import jounce as jc, numpy as np
        >>> model = jc.models.chain(3)
        >>> calm = jc.forward_dynamics_series_error(model, np.ones(3), np.ones(3), np.ones((4, 3)))
        >>> bool((calm < 1e-12).all())
        True
    """
    require_model(model)
    samples = integer("samples", samples, 1, _MOST_SAMPLES)
    name, of = "forward_dynamics_series_error", "forward_dynamics_series"

    def compute(*given: ArrayLike | None) -> Array:
        with told_by(name, None):
            exact = _series(model, given, threads)
        size = np.abs(exact).max(axis=-1, initial=0.0)
        rng = np.random.default_rng(0)
        worst: Array = np.full(size.shape, _EPS)
        for _ in range(samples):
            moved_by = [None if x is None else _rounded(np.asarray(x, float), rng) for x in given]
            with told_by(name, None):
                moved = _series(model, moved_by, threads)
            change = np.abs(moved - exact).max(axis=-1, initial=0.0)
            worst = np.maximum(worst, change / np.where(size > 0.0, size, 1.0))
        return worst

    given = _Call(name, of, model, threads, q=q, v=v, tau=tau, f_ext=f_ext)
    return deliver(compute, None, given.result_axes()[0][:1], given)


class _Call(KernelCall):
    """A call whose results may be infinite: no digit is right."""

    may_be_infinite = True


def _series(model: Model, given: Sequence[Any], threads: int) -> Array:
    return forward_dynamics_series(model, *given, threads=threads)


def _rounded(x: Array, rng: np.random.Generator) -> Array:
    """Numbers that differ by at most a unit of rounding from these."""
    return x * (1.0 + _EPS * rng.integers(-1, 2, x.shape))
