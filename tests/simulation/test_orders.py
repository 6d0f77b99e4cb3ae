"""Methods have their order on the group: the error falls with the right power of the step."""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import pytest

import jounce as jc
from jounce.simulation.methods import GEOMETRIC, METHODS


def tumbling():
    """A free body with three different moments of inertia and its center beside the origin."""
    builder = jc.ModelBuilder()
    builder.add_body(
        "body", joint="free", mass=1.3, com=(0.1, -0.05, 0.2), inertia=np.diag([0.2, 0.35, 0.5])
    )
    return builder.build()


def spherical_tree():
    """A floating tree with spherical joints inside of it."""
    builder = jc.ModelBuilder()
    shape = {"mass": 1.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.1, 0.15, 0.2])}
    arm = np.eye(4)
    arm[:3, 3] = 0.3, 0.1, -0.1
    builder.add_body("base", joint="free", **shape)
    builder.add_body("left", "base", "spherical", arm, **shape)
    builder.add_body("right", "base", "spherical", np.linalg.inv(arm), **shape)
    builder.add_body("hand", "left", "revolute", arm, axis=(0, 1, 0), **shape)
    return builder.build()


ROBOTS = {"tumbling": tumbling, "tree": spherical_tree, "aerial": jc.models.aerial_manipulator}
TIME = {"tumbling": 1.0, "tree": 0.5, "aerial": 0.25}


@functools.cache
def robot(name):
    model = ROBOTS[name]()
    rng = np.random.default_rng(3)
    return model, jc.random_configuration(model, rng), rng.standard_normal(model.nv)


def travel(name, method, steps):
    model, q, v = robot(name)
    row = 0.1 * np.ones(model.nv)
    tau = np.broadcast_to(row, (steps, model.nv))
    end = jc.rollout(model, q, v, tau, TIME[name] / steps, method=method, every=steps)
    return end.q[-1], end.v[-1]


@functools.cache
def exact(name):
    return travel(name, "dop853", 512)


def error(name, method, steps):
    q, v = travel(name, method, steps)
    dq = jc.difference(robot(name)[0], exact(name)[0], q)
    return max(np.abs(dq).max(), np.abs(v - exact(name)[1]).max())


FLOOR = 1e-12
"""Below it rounding errors of the reference are seen."""

ABOVE = {"dopri5": 1.3, "dop853": 0.5}
"""By how much the measured order may be higher. The coefficients of the leading error of dopri5 are
made small: before rounding errors appear, the next power is what is seen; see the test after."""


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", METHODS)
def test_the_error_falls_with_the_order(name, method):
    """By halving steps until they are so short that the next power plays no part."""
    order = METHODS[method].order
    orders, steps, before = [], 1, error(name, method, 1)
    while steps < 8192 and before > FLOOR:
        steps *= 2
        now = error(name, method, steps)
        if now > FLOOR or not orders:
            orders.append(np.log2(before / now))
        before = now
    below, above = (0.1 if order <= 5 else 0.5), ABOVE.get(method, 0.1)
    assert any(order - below < x < order + above for x in orders[-2:]), orders
    assert orders[-1] > order - below


STEPS = {"tumbling": 4, "tree": 8, "aerial": 8}
"""So many that higher powers play no part, so few that rounding does not."""


def without_next_powers(name, steps):
    """What is left of the error C5 h^5 + C6 h^6 + C7 h^7 + ... without the second and the third."""
    model = robot(name)[0]

    def signed(count):
        end, rates = travel(name, "dopri5", count)
        known = exact(name)
        return np.concatenate([jc.difference(model, known[0], end), rates - known[1]])

    def sixth(count):
        return 64 * signed(2 * count) - signed(count)

    return np.linalg.norm(128 * sixth(2 * steps) - sixth(steps))


@pytest.mark.parametrize("name", ROBOTS)
def test_dopri5_has_order_five_once_the_next_powers_are_taken_away(name):
    errors = [without_next_powers(name, steps) for steps in (STEPS[name], 2 * STEPS[name])]
    assert abs(np.log2(errors[0] / errors[1]) - 5) < 0.1, errors


def signed_taylor(name, order, steps):
    model, q, v = robot(name)
    tau = 0.1 * np.ones(model.nv)
    for _ in range(steps):
        q, v = jc.step(model, q, v, tau, TIME[name] / steps, method="taylor", order=order)
    dq = jc.difference(model, exact(name)[0], q)
    return np.concatenate([dq, v - exact(name)[1]])


def taylor(name, order, steps):
    return np.linalg.norm(signed_taylor(name, order, steps))


PAIRS = {
    ("tumbling", 4): (64, 128),
    ("tumbling", 8): (6, 8),
    ("tumbling", 12): (2, 3),
    ("tree", 4): (64, 128),
    ("tree", 8): (16, 24),
    ("tree", 12): (8, 10),
    ("aerial", 4): (64, 128),
    ("aerial", 8): (32, 48),
}
"""Two numbers of steps with errors above rounding and below where higher powers count."""


@pytest.mark.parametrize(("name", "order"), PAIRS)
def test_taylor_steps_have_their_order(name, order):
    few, many = PAIRS[name, order]
    errors = [taylor(name, order, steps) for steps in (few, many)]
    measured = np.log(errors[0] / errors[1]) / np.log(many / few)
    assert abs(measured - order) < {4: 0.1, 8: 0.5, 12: 0.5}[order], (measured, errors)


def test_taylor_steps_have_order_twelve_once_the_next_power_is_taken_away():
    """C12 h^12 + C13 h^13: where the second is small beside the first, rounding is not."""
    few, some, many = 10, 12, 14

    def leading(a, b):
        """The vector C12 of two errors, from a^13 e_a - b^13 e_b."""
        errors = [k**13 * signed_taylor("aerial", 12, k) for k in (a, b)]
        return np.linalg.norm((errors[0] - errors[1]) / (a - b))

    missing = np.log(leading(few, some) / leading(some, many)) / np.log(many / few)
    assert abs(missing) < 0.5, missing


@pytest.mark.parametrize("name", ROBOTS)
def test_the_error_of_a_fixed_step_falls_with_the_order_to_rounding(name):
    """Geometrically: the step is within the radius of convergence."""
    steps = {"tumbling": 4, "tree": 16, "aerial": 16}[name]
    errors = [taylor(name, order, steps) for order in (4, 8, 12, 20, 30)]
    for before, after in pairwise(errors[:3]):
        assert after < 0.05 * before, errors
    assert max(errors[-2:]) < FLOOR, errors


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("method", GEOMETRIC)
def test_methods_with_momenta_have_their_order(name, method):
    """Two halvings below where higher powers count."""
    steps = {"momentum": 64, "variational": 256}[method]
    errors = [error(name, method, k * steps) for k in (1, 2, 4)]
    orders = [np.log2(before / now) for before, now in pairwise(errors)]
    assert abs(orders[-1] - GEOMETRIC[method].order) < 0.1, orders
