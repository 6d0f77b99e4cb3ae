"""Robots and states to which all five papers apply, in the arrays of each of them.

Robots with a free base and 1-DoF joints (compound joints are chains of those); 20 random states
each. `agree` compares every result with the core's, so that any two of them differ by no more than
twice the tolerance. The other files compare each paper with oracles of its own; in those that use
this one the formulations hold each other.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from papers_cases import STATES, TOLERANCE, robot

import jounce as jc
from jounce import twists
from jounce.papers import ali, bos

ORDER = 8
MODELS = ["aerial_manipulator", "mixed_tree", "floating_one_dof", "floating_chains"]


class State:
    """A random state, in the arrays of jounce, of ali and of bos."""

    def __init__(self, model: jc.Model, rng: np.random.Generator) -> None:
        self.q = jc.random_configuration(model, rng)
        self.motion = rng.standard_normal((ORDER + 2, model.nv))
        self.v, self.a = self.motion[:2]
        # forces whose accelerations are of order one, so that no order swamps the next
        self.tau = rng.standard_normal((ORDER + 1, model.nv)) @ jc.mass_matrix(model, self.q)
        self.tau[0] += jc.bias_forces(model, self.q, self.v)
        self.direction = rng.standard_normal((2, model.nv))
        self.given = rng.uniform(size=model.nv - 6) < 0.5
        self.C_1, self.V_1, self.joints, _ = ali.from_jounce(model, self.q, self.motion)
        self.state = bos.state_of(model, self.q, self.v)


class Case(NamedTuple):
    """A robot, its states, and how its rates become those of ali and bos."""

    model: jc.Model
    tree: ali.Tree
    T: np.ndarray
    states: list[State]


@functools.cache
def case(name):
    model, rng = robot(name), np.random.default_rng(0)
    states = [State(model, rng) for _ in range(STATES)]
    return Case(model, ali.initialize(model), bos.velocity_matrix(model), states)


def agree(core, others, tolerance=TOLERANCE, floor=0.0):
    """Every named result is the core's, relative to its largest entry (or to the floor)."""
    core = np.asarray(core)
    scale = max(np.max(np.abs(core)), floor)
    for name, result in others.items():
        assert np.shape(result) == core.shape, name
        difference = np.max(np.abs(result - core))
        assert difference <= tolerance * scale, f"{name}: {difference:.1e} of {scale:.1e}"


def prescribe(model, s):
    """Random joints whose acceleration is given, never the base, and their mask."""
    joints = [i for i in range(1, len(model.joints)) if s.given[i - 1]]
    mask = np.zeros(model.nv, bool)
    for i in joints:
        mask[model.v_slice(i)] = True
    return joints, mask


def alg_4(robot, s, mask, acc, tau):
    """Algorithm 4 with the base wrench given; accelerations and forces as jounce writes them.

    The derivatives of the base wrench go from body to spatial coordinates along the core's motion.
    """
    model, tree, _, _ = robot
    motion = np.vstack([s.v, acc])
    C, V, q, _ = ali.from_jounce(model, s.q, motion)
    screws = model.nodes.screws[:, :6]
    wrench = twists.convert_wrench_series(
        np.linalg.solve(screws.T, tau[:, :6].T).T, motion[:, :6] @ screws.T, C, "body", "spatial"
    )
    x = ali.hybrid_dynamics(tree, C, V[0], q[:2], mask[6:], q[2:], tau[:, 6:], wrench)
    V = np.vstack([V[:1], x.V_1])
    a_paper = ali.accelerations_to_jounce(model, C, V, x.q)
    return a_paper, ali.forces_to_jounce(model, C, V, x.W_prop, x.tau)
