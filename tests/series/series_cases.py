"""Robots, states and comparisons that the tests of the series share."""

from __future__ import annotations

import functools

import numpy as np

import jounce as jc
from jounce import trajectories
from jounce.model import Model

EPS = np.finfo(float).eps
EXACT = 1e-11
"""Relative error of an order of a series, by its largest entry, that is asked up to order 5."""
ORDER = 5
BATCH = 2 * jc.core_info()["pack_width"] + 3
"""States that fill two packs and leave a rest."""

ROBOTS = ("aerial manipulator", "mixed tree", "tree of groups", "tree 0", "tree 1")
GROUPS = ("spherical", "free", "helical", "prismatic")


@functools.cache
def robot(name: str) -> Model:
    """The aerial manipulator, or a tree with every joint type and an armature on every rate."""
    if name == "aerial manipulator":
        return jc.models.aerial_manipulator()
    if name == "tree of groups":
        model = jc.models.random_tree(5, 1, GROUPS)  # all group joints with anchors
    elif name == "mixed tree":
        model = jc.models.mixed_tree(1)
    else:
        model = jc.models.random_tree(9, int(name.removeprefix("tree ")))
    rng = np.random.default_rng(5)
    return model.replace(gravity=(1.0, -2.0, -9.0), armature=rng.uniform(0, 0.1, model.nv))


@functools.cache
def given_motion(name: str, order: int = ORDER, batch: tuple[int, ...] = (BATCH,)):
    """Random states with the derivatives of their rates: q, motion, f_ext."""
    model, rng = robot(name), np.random.default_rng(len(name))
    q = jc.random_configuration(model, rng, batch)
    motion = rng.standard_normal((*batch, order + 2, model.nv))
    return q, motion, rng.standard_normal((*batch, order + 1, model.n_bodies, 6))


@functools.cache
def given_forces(name: str, order: int = ORDER, batch: tuple[int, ...] = (BATCH,)):
    """Random states with forces that move them by some 1 rad/s^2: q, v, acc, tau, f_ext."""
    model, rng = robot(name), np.random.default_rng(len(name) + 1)
    q = jc.random_configuration(model, rng, batch)
    v = rng.standard_normal((*batch, model.nv))
    acc, tau = rng.standard_normal((2, *batch, order + 1, model.nv))
    inertia = jc.mass_matrix(model, q).diagonal(axis1=-2, axis2=-1)
    tau *= inertia[..., None, :]
    tau[..., 0, :] += jc.gravity_forces(model, q)
    f_ext = inertia.min() * rng.standard_normal((*batch, order + 1, model.n_bodies, 6))
    return q, v, acc, tau, f_ext


def swing(model: Model, seed: int = 0) -> trajectories.RobotTrajectory:
    """A motion of all joints, spherical and free ones on screws, by a sinusoid of 1 rad/s."""
    rng = np.random.default_rng(seed)
    start = jc.random_configuration(model, rng)
    goal = jc.integrate(model, start, 0.5 * rng.uniform(-1, 1, model.nv))
    return trajectories.RobotTrajectory.between(
        model, start, goal, trajectories.Sinusoid(0.7, 1.0, 0.4)
    )


def random_mask(model: Model, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=model.nv) < 0.5


def relative_errors(actual, expected) -> np.ndarray:
    """Largest error of each order of each state relative to the order's largest entry."""
    assert np.shape(actual) == np.shape(expected)
    size = np.abs(expected).max(-1, initial=0.0)
    error = np.abs(actual - expected).max(-1, initial=0.0)
    return error / np.where(size > 0, size, 1.0)


def assert_series_close(actual, expected, tolerance) -> None:
    """Compare each order by its own size; the tolerance may be one per order."""
    errors = relative_errors(actual, expected)
    assert (errors <= tolerance).all(), errors.max(tuple(range(errors.ndim - 1)))
