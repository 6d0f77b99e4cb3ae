"""Robots, states and scalars p that the tests of kim share."""

from __future__ import annotations

import numpy as np
from papers_cases import STATES, STEP, moved

import jounce as jc
from jounce import lie
from jounce.papers import kim

MODELS = [
    "aerial_manipulator",
    "mixed_tree",
    "all_joints",
    "floating_chains",
    "fixed_chains",
]
REQUIRED = ["aerial_manipulator", "mixed_tree", "all_joints"]
"""Together they have every joint type."""
KINDS = (
    "q",
    "q_dot",
    "q_ddot",
    "tau",
    "inertias",
    "F_ext",
    "placement",
    "alignment",
    "pitch",
    "armature",
    "gravity",
)
INERTIA, GEOMETRY = ("inertias",), ("placement", "alignment", "pitch")


def states(model, count=STATES, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        q = jc.random_configuration(model, rng)
        v, a, tau = rng.standard_normal((3, model.nv))
        yield q, v, a, tau, rng.standard_normal((model.n_bodies, 6)), rng


def pick_joints(model, rng):
    """Random acceleration-prescribed joints, and the core's mask for them."""
    a = [i for i in range(len(model.joints)) if rng.uniform() < 0.5]
    mask = np.zeros(model.nv, bool)
    for i in a:
        mask[model.v_slice(i)] = True
    return a, mask


def random_parameter(model, rng, kinds=KINDS):
    """A scalar on which the named quantities depend, at random."""
    nv, m = model.nv, len(model.nodes.parent)
    shapes = {
        "inertias": (model.n_bodies, 10),
        "F_ext": (model.n_bodies, 6),
        "placement": (m, 6),
        "alignment": (m, 6),
        "pitch": (m,),
        "gravity": (3,),
    }
    return kim.parameter(
        model, **{kind: rng.standard_normal(shapes.get(kind, (nv,))) for kind in kinds}
    )


def at_step(model, q, v, a, tau, f, p):
    """System and inputs at p + i STEP."""
    h, links = 1j * STEP, kim.system(model)
    helical = np.array([kind == "helical" for kind in links.kind])
    links = links._replace(
        I=links.I + h * p.I,
        placement=links.placement @ lie.exp(h * p.placement),
        alignment=lie.exp(h * p.alignment) @ links.alignment,
        pitch=links.pitch + h * p.pitch * helical,
        armature=links.armature + h * p.armature,
        V_0_dot=links.V_0_dot + h * p.V_0_dot,
    )
    inputs = v + h * p.q_dot, a + h * p.q_ddot, tau + h * p.tau, f + h * p.F_ext
    return links, moved(model, q, h * p.q), *inputs
