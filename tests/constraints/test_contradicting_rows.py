"""Dependent rows that contradict each other: derivatives of what is left of the least squares."""

from __future__ import annotations

import numpy as np
import pytest
from constraints_cases import close

import jounce as jc

CORNERS = np.array([[0.1, 0.2, 0.0], [-0.1, 0.15, 0.05], [0.05, -0.2, 0.1], [-0.15, -0.1, -0.1]])


def robot():
    """The aerial manipulator with four corners of its last body."""
    model = jc.models.aerial_manipulator()
    for k, corner in enumerate(CORNERS):
        placement = np.eye(4)
        placement[:3, 3] = corner
        model = model.with_frame(f"corner{k}", "B4", placement)
    return model


def contradicting(model, q, how, rng):
    """Twelve rows of rank six whose accelerations, or rates, cannot all be."""
    moves = rng.standard_normal((4, 2, 3)) if how == "by rates" else [None] * 4
    c = jc.Constraints(model, [jc.Point(f"corner{k}", motion=w) for k, w in enumerate(moves)])
    away = jc.integrate(model, q, 0.1 * rng.standard_normal(model.nv))
    return c.at(away).stabilized(3.0, 4.0) if how == "by targets" else c


def slopes(model, q, f):
    """Derivatives by q: central differences at three steps, extrapolated."""

    def central(h):
        ahead, back = (f(jc.integrate(model, q, s * h * np.eye(model.nv))) for s in (1, -1))
        return (ahead - back).T / (2 * h)

    wide, half, least = (central(2e-3 / k) for k in (1, 2, 4))
    return (16 * (4 * least - half) - (4 * half - wide)) / 45


@pytest.mark.parametrize("how", ["by motion", "by rates", "by targets"])
def test_derivatives_against_differences(how):
    model, rng = robot(), np.random.default_rng(0)
    q, (v, tau) = jc.random_configuration(model, rng), rng.standard_normal((2, model.nv))
    c, n = contradicting(model, q, how, rng), model.nv
    d = jc.constrained_dynamics_derivatives(model, q, v, tau, c)
    dynamics = slopes(
        model, q, lambda q: np.concatenate(jc.constrained_dynamics(model, q, v, tau, c), -1)
    )
    hit = jc.impulse_derivatives(model, q, v, c, 0.3)
    impulse = slopes(model, q, lambda q: np.concatenate(jc.impulse(model, q, v, c, 0.3), -1))
    assert (d.rank, hit.rank) == (6, 6)
    close(d.a_dq, dynamics[:n], 9)
    close(d.force_dq, dynamics[n:], 9)
    close(hit.v_dq, impulse[:n], 9)
    close(hit.impulse_dq, impulse[n:], 9)
