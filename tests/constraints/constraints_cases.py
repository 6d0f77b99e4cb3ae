"""Robots, states and sets of constraints of the tests."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
from partials_cases import MODELS

import jounce as jc
from jounce import lie
from jounce.constraints.orders import Orders

ROBOTS = [name for name in MODELS if name != "one_dof"]
STATES = 5


def one_rate_joints(model):
    """Names of joints with one degree of freedom."""
    return [j for j in model.joint_names if model.v_slice(j).stop - model.v_slice(j).start == 1]


@functools.cache
def robot(name):
    """A robot with armature, a tool frame on its last body, and another one on its second."""
    rng = np.random.default_rng(5)
    model = MODELS[name]()
    model = model.replace(armature=rng.uniform(0, 0.2, model.nv))
    last, second = model.body_names[-1], model.body_names[len(model.body_names) // 2]
    model = model.with_frame("tool", last, lie.exp(0.5 * rng.standard_normal(6)))
    return model.with_frame("other", second, lie.exp(0.5 * rng.standard_normal(6)))


def kinds(model):
    """One constraint of each kind, between frames and to the world."""
    names = one_rate_joints(model)
    middle = model.body_names[1]
    return {
        "weld": jc.Weld("tool"),
        "weld of two": jc.Weld("tool", "other"),
        "weld of bodies": jc.Weld(model.n_bodies - 1, middle),
        "hinge": jc.Loop("tool", "other", free=("rz",)),
        "cylinder": jc.Loop("tool", None, free=("ry", "y")),
        "slot": jc.Loop("other", "tool", free=("rx", "y")),
        "ball joint": jc.Loop("tool", "other", free=("rx", "ry", "rz")),
        "point": jc.Point("tool"),
        "point of two": jc.Point("tool", "other"),
        "distance": jc.Distance("tool", anchor=(3.0, -2.0, 1.0)),
        "distance of two": jc.Distance("tool", "other", anchor=(0.3, 2.0, 1.0)),
        "gears": jc.Coupling({names[0]: 1.0, names[-1]: -2.0}),
        "cam": jc.Coupling({names[0]: (0.5, 0.3, -0.2, 0.1), names[-1]: (1.0, 0.4)}),
        "ball": jc.Rolling("tool", 0.3),
        "wheel": jc.Rolling("tool", 0.3, axis=(0.2, 0.5, 1.0), normal=(0.1, 0.2, 1.0)),
        "wheel on a body": jc.Rolling("tool", 0.3, axis=(1.0, 0.5, 0.0), second="other"),
    }


KINDS = list(kinds(robot("fixed_root")))
SETS = {
    "a weld and a rod": ("weld of two", "distance"),
    "a hinge and gears": ("hinge", "gears"),
    "a wheel and a cam": ("wheel", "cam"),
    "points": ("point of two", "distance"),
}


def states(model, seed=1, count=STATES):
    """Random states."""
    rng = np.random.default_rng(seed)
    v, a, tau = rng.standard_normal((3, count, model.nv))
    f_ext = rng.standard_normal((count, model.n_bodies, 6))
    q = jc.random_configuration(model, rng, count)
    return SimpleNamespace(q=q, v=v, a=a, tau=tau, f_ext=f_ext, rng=rng)


def set_of(model, name):
    """The constraints of a set, or of one kind."""
    known = kinds(model)
    return [known[kind] for kind in SETS.get(name, (name,))]


@functools.cache
def _is_independent(robot_name, name, count):
    model = robot(robot_name)
    c = jc.Constraints(model, set_of(model, name))
    return bool((c.rank(states(model, count=count).q) == c.size).all())


def independent(names, robots=ROBOTS, count=STATES):
    """Pairs of a robot and a set whose rows are independent of each other in these states."""
    return [(x, name) for x in robots for name in names if _is_independent(x, name, count)]


def close(x, y, digits, scale=None):
    """Assert that x is y, to so many digits of the largest entry."""
    scale = np.abs(y).max(initial=1.0) if scale is None else scale
    error = np.abs(x - y).max(initial=0.0) / scale
    assert error < 10.0**-digits, f"off by {error:.1e}"


def slopes_of_steps(c, q, v, tau, dt, lin, z, **options):
    """Changes of the start along Z z, on the manifold, and of where `jounce.step` ends.

    Differences of order eight, seen from q, v and from where the linearized step ends.
    """
    model, h, weights = c.model, 1e-3, {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    dq, dv = np.split(lin.Z @ z, 2)
    s = np.array([*weights, *(-x for x in weights)])[:, None]
    at = jc.project(model, jc.integrate(model, q, s * h * dq), c)
    rates = jc.project_velocity(model, at, v + s * h * dv, c)
    there = jc.step(model, at, rates, tau, dt, constraints=c, **options)
    slope = np.array([*weights.values(), *(-x for x in weights.values())]) / h
    before = slope @ np.hstack([jc.difference(model, q, at), rates - v])
    after = slope @ np.hstack([jc.difference(model, lin.q, there.q), there.v - lin.v])
    return before, after


def by_orders(c, q, v, tau, f_ext=None):
    """Series in NumPy, by the equations of `jounce.constraints.orders`, as a named tuple."""
    a, none = np.zeros_like(tau), np.zeros(c.model.nv, bool)
    found = Orders.solved(c, (q, v, a, tau, f_ext), none, c.rank(q), 1)
    return jc.ConstrainedDynamicsSeries(found.motion[..., 1:, :], found.force)
