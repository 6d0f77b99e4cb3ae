"""Joints with one free turn far from their targets: the residual is an angle, at most pi."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import lie

TURNS = ("rx", "ry", "rz")
FREE = {
    "hinge": lambda turn: (turn,),
    "cylinder": lambda turn: (turn, turn[1]),
    "plane": lambda turn: (turn, *(x for x in "xyz" if x != turn[1])),
}
every_joint = pytest.mark.parametrize("joint", FREE)
every_turn = pytest.mark.parametrize("turn", TURNS)
PLACE = lie.exp([0.3, -0.5, 0.2, 0.1, 0.4, -0.2])


def body():
    build = jc.ModelBuilder()
    build.add_body(
        "b", None, "free", mass=1.3, com=(0.1, 0.0, 0.2), inertia=np.diag([0.2, 0.3, 0.4])
    )
    return build.build()


def held(joint, turn):
    return jc.Constraints(body(), [jc.Loop("b", None, free=FREE[joint](turn), target=PLACE)])


def turned(c, turn, angle, around, spin):
    """Coordinates where the free axis is away from its target by an angle, and the turn."""
    k = TURNS.index(turn)
    across = np.zeros(3)
    across[(k + 1) % 3], across[(k + 2) % 3] = np.cos(around), np.sin(around)
    own = np.eye(6)[k] * spin
    T = PLACE @ lie.exp(own) @ lie.exp(np.r_[angle * across, 0.0, 0.0, 0.0])
    q = np.r_[lie.matrix_to_quat(T[:3, :3]), T[:3, 3]]
    given = jc.body_pose(c.model, q, "b")
    np.testing.assert_allclose(given, T, atol=1e-14)
    return q, np.delete(angle * across, k)


@every_joint
@every_turn
def test_the_residual_is_the_angle_of_the_shortest_turn(joint, turn):
    c = held(joint, turn)
    rng = np.random.default_rng(3)
    for angle in (0.0, 1e-12, 1e-5, 0.3, 1.5, 2.0, np.pi - 0.3, np.pi - 1e-6):
        for _ in range(4):
            q, expected = turned(c, turn, angle, *rng.uniform(-np.pi, np.pi, 2))
            away = np.pi - angle
            np.testing.assert_allclose(c.residual(q)[:2], expected, atol=4e-15 * (1 + 1 / away))
            np.testing.assert_allclose(c.residual(q)[2:], 0.0, atol=1e-15)


@every_joint
@every_turn
def test_what_is_turned_over_is_away_by_pi_and_comes_back(joint, turn):
    c = held(joint, turn)
    rng = np.random.default_rng(4)
    for around, spin in [(0.0, 0.0), (np.pi / 2, 0.0), *rng.uniform(-np.pi, np.pi, (4, 2))]:
        q, _ = turned(c, turn, np.pi, around, spin)
        assert abs(np.linalg.norm(c.residual(q)[:2]) - np.pi) < 1e-14
        back = jc.project(c.model, q, c)
        axis = TURNS.index(turn)
        R = jc.body_pose(c.model, back, "b")[:3, :3]
        np.testing.assert_allclose(R[:, axis], PLACE[:3, axis], atol=1e-12)


def test_what_is_turned_over_is_refused():
    c, still = held("hinge", "rz"), np.zeros(6)
    q, _ = turned(c, "rz", np.pi, 0.0, 0.0)
    for refused in (
        lambda: jc.linearize(c.model, q, still, still, constraints=c),
        lambda: jc.simulate(c.model, q, still, [0.0, 0.1], constraints=c),
        lambda: jc.rollout(c.model, q, still, np.zeros((1, 6)), 0.01, constraints=c),
    ):
        # by pi about some axis, of which the largest entry is told
        with pytest.raises(jc.ArgumentError, match=r"q0? violates Loop\('b'.* by [23]\.\d+ rad"):
            refused()
