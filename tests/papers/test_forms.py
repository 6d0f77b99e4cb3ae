"""What the papers leave open, completed: four forms of forward dynamics, other forms of series."""

from __future__ import annotations

import numpy as np
import pytest
from mueller_cases import every_twist
from papers_cases import STATES, close, of_order, robot, samples, with_rotors

import jounce as jc
from jounce.papers import mueller, singh

MODELS = ["aerial_manipulator", "mixed_tree", "fixed_chains", "all_joints", "groups_in_mid_tree"]
ORDER = 6
every_model = pytest.mark.parametrize("name", MODELS)


@every_model
@every_twist
def test_forward_dynamics_in_four_forms_is_the_cores(name, twist):
    model, rng = with_rotors(name), np.random.default_rng(2)
    for q, v, tau in samples(name):
        f_ext = rng.standard_normal((model.n_bodies, 6))
        found = mueller.forward_dynamics(model, q, v, tau, f_ext, twist)
        close(found, jc.forward_dynamics(model, q, v, tau, f_ext))


def test_forward_dynamics_refuses_other_representations():
    model = robot("chain")
    with pytest.raises(ValueError, match="twist must be one of body, spatial, hybrid, mixed"):
        mueller.forward_dynamics(model, np.zeros(7), np.zeros(7), np.zeros(7), twist="world")


@every_model
@pytest.mark.parametrize("form", [mueller.hybrid_series, mueller.mixed_series])
def test_hybrid_and_mixed_series_are_the_cores(name, form):
    """With wrenches on all bodies and rotors, to order 6; without wrenches at order 0."""
    model, rng = with_rotors(name), np.random.default_rng(3)
    for _ in range(STATES // 5):
        q = jc.random_configuration(model, rng)
        motion = rng.standard_normal((ORDER + 2, model.nv))
        f_ext = rng.standard_normal((ORDER + 1, model.n_bodies, 6))
        found = form(model, q, motion, f_ext)
        expected = jc.inverse_dynamics_series(model, q, motion, f_ext)
        for k in range(ORDER + 1):
            close(found[k], expected[k], of_order(k))
        plain = jc.inverse_dynamics(model, q, motion[0], motion[1])
        close(form(model, q, motion[:2])[0], plain)


@every_model
def test_IDSVA_in_body_coordinates_is_IDSVA(name):
    model = with_rotors(name)
    for q, v, a in samples(name):
        found, ground = singh.IDSVA_body(model, q, v, a), singh.IDSVA(model, q, v, a)
        core = jc.inverse_dynamics_derivatives(model, q, v, a)
        for ours, theirs, exact in zip(found, ground, core[:2], strict=True):
            close(ours, theirs)
            close(ours, exact)
