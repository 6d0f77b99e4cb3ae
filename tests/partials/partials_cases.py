"""Robots and states of the tests of derivatives."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest

import jounce as jc

STATES = 33  # packs, and what remains
MODELS = {
    "fixed_root": lambda: jc.models.random_tree(11, 0),
    "free_root": lambda: jc.models.random_tree(10, 1, first="free"),
    "spherical_root": lambda: jc.models.random_tree(9, 3, first="spherical"),
    "groups_in_mid_tree": lambda: jc.models.random_tree(6, 2, ("revolute", "spherical", "free")),
    "one_dof": lambda: jc.models.random_tree(8, 4, ("revolute", "prismatic", "helical")),
}
"""Together they have every joint type; all but the last have group joints inside the tree."""
LONG = {"fixed_root", "spherical_root"}
"""Like `free_root` they have every joint type, on other roots."""


def some_long(names, is_long=LONG.__contains__):
    """Parameters of tests, those of the other roots for `make more`."""
    return [pytest.param(x, marks=[pytest.mark.long] * is_long(x)) for x in names]


@functools.cache
def states_of(name):
    """A robot with armature, and random states with external wrenches."""
    rng = np.random.default_rng(7)
    model = MODELS[name]()
    model = model.replace(armature=rng.uniform(0, 0.2, model.nv))
    q = jc.random_configuration(model, rng, STATES)
    v, a, tau = rng.standard_normal((3, STATES, model.nv))
    f_ext = rng.standard_normal((STATES, model.n_bodies, 6))
    # `each` holds the same with an axis for the directions of derivatives
    each = SimpleNamespace(q=q[:, None], v=v[:, None], a=a[:, None], tau=tau[:, None])
    each.f_ext = f_ext[:, None]
    mask = np.arange(model.nv) % 3 == 1  # cuts through multi-DoF joints
    return SimpleNamespace(
        model=model, q=q, v=v, a=a, tau=tau, f_ext=f_ext, each=each, mask=mask, name=name
    )
