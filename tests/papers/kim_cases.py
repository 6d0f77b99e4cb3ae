"""Robots, states and scalars p that the tests of kim share."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from papers_cases import STATES, STEP, moved, robot

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


class Batch(NamedTuple):
    """The states along one axis, behind that of bodies as in kim, and a random p for each."""

    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    f: np.ndarray
    p: kim.Parameter

    @property
    def by_state(self):
        """The wrenches as the core wants them: states first."""
        return np.moveaxis(self.f, 1, 0)


@functools.cache
def batch(name, kinds=KINDS):
    model, drawn = robot(name), []
    for *state, rng in states(model):
        drawn.append((*state, random_parameter(model, rng, kinds)))
    q, v, a, tau, f, p = zip(*drawn, strict=True)
    return Batch(*(np.stack(x) for x in (q, v, a, tau)), np.stack(f, axis=1), stacked(p))


OF_BODIES = ("I", "F_ext", "placement", "alignment", "pitch")


def stacked(parameters):
    """Scalars of several states as one."""
    return kim.Parameter(
        **{
            name: np.stack([getattr(p, name) for p in parameters], axis=int(name in OF_BODIES))
            for name in kim.Parameter._fields
        }
    )


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
    """System and inputs at p + i STEP, of one state or of a batch."""
    h, links = 1j * STEP, kim.system(model)
    more = (1,) * (p.I.ndim - links.I.ndim)

    def spread(x):  # over the states
        return x.reshape(len(x), *more, *x.shape[1:])

    helical = spread(np.array([kind == "helical" for kind in links.kind]))
    links = links._replace(
        I=spread(links.I) + h * p.I,
        placement=spread(links.placement) @ lie.exp(h * p.placement),
        alignment=lie.exp(h * p.alignment) @ spread(links.alignment),
        pitch=spread(links.pitch) + h * p.pitch * helical,
        armature=links.armature + h * p.armature,
        V_0_dot=links.V_0_dot + h * p.V_0_dot,
    )
    inputs = v + h * p.q_dot, a + h * p.q_ddot, tau + h * p.tau, f + h * p.F_ext
    return links, moved(model, q, h * p.q), *inputs
