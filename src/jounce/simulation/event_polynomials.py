"""Events as polynomials of time along a Taylor step, from their series."""

from __future__ import annotations

from math import factorial

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array
from jounce.errors import ArgumentError
from jounce.simulation.event_search import event_value
from jounce.simulation.events import Event

__all__ = ["event_polynomial", "require_same_value"]

SAME = 1e-6
"""By how much of their size the function of an event and its series may differ."""


def event_polynomial(event: Event, q: Array, motion: Array, tau: Array, h: float) -> Array:
    """Taylor coefficients of an event in units of the step h.

    Raises:
        ArgumentError: its series are no row of finite numbers, or fewer than there are forces and
            derivatives of them: a polynomial without its last terms has its zeros elsewhere.
    """
    assert event.series is not None
    whose = f"the series of event {event.name!r} must return its value and its time derivatives"
    rows = reals(f"{whose}: they", event.series(q, motion, tau))
    if rows.ndim != 1 or not np.isfinite(rows).all():
        raise ArgumentError(
            f"{whose}, finite numbers of shape (m,), got an array of shape {rows.shape}"
            + ("" if rows.ndim != 1 else " with numbers that are not finite")
        )
    if len(rows) < len(tau):
        raise ArgumentError(
            f"{whose}, here at least {len(tau)} rows, as many as tau has, got {len(rows)}; "
            "derivatives that vanish are zeros"
        )
    return np.array([x * h**k / factorial(k) for k, x in enumerate(rows.tolist())])


def require_same_value(event: Event, t: float, q: Array, v: Array, polynomial: Array) -> None:
    """Refuse a series that is not that of the function of an event.

    Raises:
        ArgumentError: it begins with another value.
    """
    value, first = event_value(event, t, q, v), float(polynomial[0])
    size = max(1.0, abs(value), float(np.abs(polynomial).max()))
    if not abs(value - first) <= SAME * size:
        raise ArgumentError(
            f"the series of event {event.name!r} must begin with what its function returns, "
            f"{value:.9g} at t = {t:.9g} s, got {first:.9g}"
        )
