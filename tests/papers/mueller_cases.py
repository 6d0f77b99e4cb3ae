"""Robots and states that the tests of mueller share."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from papers_cases import STATES, robot

import jounce as jc
from jounce.papers import mueller

MODELS = ["aerial_manipulator", "mixed_tree", "fixed_chains", "all_joints"]
ONE_DOF_MODELS = ["chain", "fixed_chains"]

every_model = pytest.mark.parametrize("name", MODELS)
every_twist = pytest.mark.parametrize("twist", mueller.TWISTS)


def states(name, count=STATES):
    """Random states (model, q, v, a, j, f_ext)."""
    model = robot(name)
    rng = np.random.default_rng(len(name))
    for _ in range(count):
        q = jc.random_configuration(model, rng)
        v, a, j = rng.standard_normal((3, model.nv))
        yield model, q, v, a, j, rng.standard_normal((model.n_bodies, 6))


def stand_in(model, **changes):
    """A model with other node arrays, also complex ones, for complex steps by the geometry."""
    return SimpleNamespace(
        nodes=model.nodes._replace(**changes),
        nv=model.nv,
        gravity=model.gravity,
        armature=model.armature,
    )
