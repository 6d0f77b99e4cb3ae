"""Robots, states, comparisons and complex steps that the tests of the papers share."""

from __future__ import annotations

import functools
import inspect
import os

import numpy as np

import jounce as jc
from jounce import lie
from jounce.model.joints import ELEMENTARY
from jounce.papers.joints import apply

STATES = int(os.environ.get("JOUNCE_PAPERS_STATES", "3"))
"""Random ones for each equation; `make papers` takes 20."""
TOLERANCE = 1e-11
STEP = 1e-30  # of complex steps: no difference is formed, so it can be this small

ONE_DOF = ("revolute", "prismatic", "helical")
CHAINS = (*ONE_DOF, "universal", "cylindrical", "planar")
"""Joints that are chains of 1-DoF joints."""

ROBOTS = {
    "aerial_manipulator": jc.models.aerial_manipulator,
    "mixed_tree": lambda: jc.models.mixed_tree(3),
    "chain": lambda: jc.models.chain(7),
    "fixed_one_dof": lambda: jc.models.random_tree(8, 3, ONE_DOF),
    "fixed_chains": lambda: jc.models.random_tree(8, 3, CHAINS),
    "floating_one_dof": lambda: jc.models.random_tree(8, 1, ONE_DOF, first="free"),
    "floating_chains": lambda: jc.models.random_tree(9, 1, CHAINS, first="free"),
    "anchored_base": lambda: jc.models.random_tree(8, 8, CHAINS, first="free"),
    "all_joints": lambda: jc.models.random_tree(11, 1),
    "groups_in_mid_tree": lambda: jc.models.random_tree(6, 2, ("spherical", "free", "revolute")),
}


@functools.cache
def robot(name):
    return ROBOTS[name]()


@functools.cache
def with_rotors(name):
    """The robot with a rotor at every rate, the base's included."""
    model = robot(name)
    return model.replace(armature=np.random.default_rng(5).uniform(0, 0.2, model.nv))


@functools.cache
def samples(name):
    """Random (q, v, x), x being accelerations or forces."""
    model, rng = robot(name), np.random.default_rng(6)
    return [
        (jc.random_configuration(model, rng), *rng.standard_normal((2, model.nv)))
        for _ in range(STATES)
    ]


@functools.cache
def batch(name):
    """The same random (q, v, x), stacked along a leading axis of states."""
    return tuple(np.stack(x) for x in zip(*samples(name), strict=True))


def random_pose(rng):
    return lie.exp(rng.standard_normal(6))


# Comparisons


def of_order(k):
    """Tolerance of a time derivative, or of a partial derivative, of order k."""
    return TOLERANCE if k <= 5 else 1e-8


def close(got, expected, tolerance=TOLERANCE, floor=0.0):
    """Agreement relative to the largest entry of what is expected.

    Where all entries may cancel or vanish, `floor` is the size of the terms they are made of.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    scale = np.max(np.abs(expected), initial=floor) or 1.0
    difference = np.max(np.abs(got - expected), initial=0.0)
    assert difference <= tolerance * scale, f"{difference:.1e} of {scale:.1e}"


def close_each(got, expected, tolerance=TOLERANCE, floor=0.0):
    """`close`, state by state along the first axis."""
    for one, other in zip(got, expected, strict=True):
        close(one, other, tolerance, floor)


def relative(got, expected):
    """Largest deviation relative to the largest entry of what is expected."""
    return np.max(np.abs(got - expected)) / np.max(np.abs(expected))


def as_printed(function, right, printed):
    """The function with one line as the paper prints it."""
    source = inspect.getsource(function)
    assert source.count(right) == 1, right
    scope = dict(function.__globals__)
    exec(source.replace(right, printed), scope)
    return scope[function.__name__]


# Complex steps


def imaginary(values):
    """The derivative by a real step of which STEP was taken along the imaginary axis."""
    return np.imag(values) / STEP


def moved(model, q, dv):
    """`jc.integrate` for tangent vectors that may be complex; leading axes are batch axes."""
    q = np.array(np.broadcast_to(q, (*np.shape(dv)[:-1], model.nq)), np.result_type(q, dv))
    nodes = model.nodes
    for kind, k, c in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            q[..., k] += dv[..., c]
            continue
        start = q[..., k : k + 4].copy()
        turn = lie.quat_exp(dv[..., c : c + 3])
        q[..., k : k + 4] = lie.quat_multiply(start, turn)
        if ELEMENTARY[kind] == "free":
            shift = lie.exp(dv[..., c : c + 6])[..., :3, 3]
            q[..., k + 4 : k + 7] += apply(lie.quat_to_matrix(start), shift)
    return q


def along(function, model, q, direction, *rates):
    """Derivative of function(q, *values) along a tangent vector; rates are (value, slope)."""
    values = (x + 1j * STEP * dx for x, dx in rates)
    return imaginary(function(moved(model, q, 1j * STEP * direction), *values))


def in_q(model, q, function):
    """Derivative of function(q) in the tangent space, directions last.

    The function is called once, with a leading axis of directions.
    """
    steps = 1j * STEP * np.eye(model.nv)
    return np.moveaxis(imaginary(function(moved(model, q, steps))), 0, -1)


def in_v(v, function):
    """Derivative of function(v), directions last; called once as in `in_q`."""
    return np.moveaxis(imaginary(function(v + 1j * STEP * np.eye(len(v)))), 0, -1)


def in_q_and_v(function, model, q, v, x):
    """Derivatives of function(model, q, v, x) in q and in v."""
    by_q = in_q(model, q, lambda moved_q: function(model, moved_q, v, x))
    return by_q, in_v(v, lambda moved_v: function(model, q, moved_v, x))


@functools.cache
def stepped(name, function):
    """`in_q_and_v` at every state of the robot with rotors."""
    return [in_q_and_v(function, with_rotors(name), *state) for state in samples(name)]


def one_by_one(function):
    """A function of one vector as a function of vectors along a leading axis."""
    return lambda vectors: np.stack([function(x) for x in vectors])
