"""Robots that need no file: real-looking ones, those of the papers, families for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._core import memory
from jounce._core.arrays import shown
from jounce.errors import ArgumentError
from jounce.model._checks import collector_paused
from jounce.model.builder import ModelBuilder
from jounce.model.joints import JOINT_TYPES
from jounce.model.model import Model
from jounce.model.robots import humanoid, panda_like, quadruped
from jounce.model.roots import Base, root_joint

__all__ = [
    "aerial_manipulator",
    "chain",
    "humanoid",
    "mixed_tree",
    "panda_like",
    "quadruped",
    "random_tree",
    "tree",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_AXES = np.eye(3)

_EQUAL_BYTES, _OTHER_BYTES = 4500, 8000
"""Memory that a link takes while its robot is made: one that is like others, one like no other."""

_MOST_CHILDREN = 2**31 - 1


def aerial_manipulator(branches: int = 2, bodies: int = 3) -> Model:
    """The aerial manipulator of ali, Sec. 7: a flying base with equal arms below it.

    Numbers from Table 3. The base "B1" moves freely and is fully actuated (a hexarotor with
    tilted propellers). Each arm hangs from a circle around the base's center, 0.10 m below it,
    and has revolute joints about y, x, z, y, ... in turn. With 2 branches of 3 bodies this is
    the paper's robot with 12 degrees of freedom, bodies B1 to B7 and joints q2 to q7; with 5
    branches it is that of Table 4, N = 1 + 5 bodies.

    Frames sit at the joints; frames at the centers of mass, as in the paper, are named "B2_com"
    and so on.

    Args:
        branches: number of arms.
        bodies: number of links of each arm.

    Raises:
        ArgumentError: a number is negative or no integer.
        TooLargeError: so many links do not fit into the memory.

    Examples:
        >>> jc.models.aerial_manipulator().nv
        12
    """
    branches, bodies = _count("branches", branches, 0), _count("bodies", bodies, 0)
    _require_room("aerial_manipulator", branches * bodies, _EQUAL_BYTES)
    b, d, c = 0.10, 0.06, 0.18
    builder = ModelBuilder(name="aerial_manipulator")
    builder.add_body(
        "B1",
        joint="free",
        joint_name="root_joint",
        actuated=True,
        mass=2.5,
        inertia=(0.03, 0.03, 0.05),
    )
    number = 1
    for branch in range(branches if bodies else 0):
        angle = 2 * np.pi * branch / branches
        offset = np.array([c / 2 * np.cos(angle), c / 2 * np.sin(angle), -b])
        parent = "B1"
        for link in range(bodies):
            number += 1
            builder.add_body(
                f"B{number}",
                parent,
                joint="revolute",
                joint_name=f"q{number}",
                axis=_AXES[(1, 0, 2)[link % 3]],
                placement=offset,
                mass=0.25,
                com=(0, 0, -d),
                inertia=(0.002, 0.002, 0.001),
            )
            builder.add_frame(f"B{number}_com", f"B{number}", (0, 0, -d))
            parent, offset = f"B{number}", np.array([0, 0, -2 * d])
    return builder.build()


def chain(n: int, base: Base = "fixed") -> Model:
    """A chain of n equal links with revolute joints about y, x, z in turn.

    Each link is 0.5 m long and weighs 1 kg.

    Args:
        n: number of links.
        base: "fixed"; "free" for a first link that moves freely, or any other joint for it.

    Raises:
        ArgumentError: n is no integer of at least 1, or the base is no joint.
        TooLargeError: so many links do not fit into the memory.

    Examples:
        >>> jc.models.chain(5).joint_names
        ('joint0', 'joint1', 'joint2', 'joint3', 'joint4')
    """
    return _tree("chain", n, 1, base)


def tree(n: int, branching: int = 2, base: Base = "fixed") -> Model:
    """A tree of n equal links, each with `branching` children (the last ones with fewer).

    Links are named in breadth-first order: the parent of "body7" is "body3" for branching 2.

    Args:
        n: number of links.
        branching: number of children per link.
        base: "fixed"; "free" for a first link that moves freely, or any other joint for it.

    Raises:
        ArgumentError: a number is no integer of at least 1, or the base is no joint.
        TooLargeError: so many links do not fit into the memory.

    Examples:
        >>> jc.models.tree(7, 2).parents
        array([-1,  0,  1,  1,  0,  4,  4])
    """
    return _tree("tree", n, branching, base)


def _tree(function: str, n: int, branching: int, base: Base) -> Model:
    n, branching = _count("n", n, 1), _count("branching", branching, 1, _MOST_CHILDREN)
    root = root_joint(base)
    _require_room(function, n, _EQUAL_BYTES)
    builder = ModelBuilder(name=f"tree_{n}_{branching}")
    children = min(branching, n)
    placements = np.zeros((children, 4, 4))
    angles = np.arange(children)[:, None] * np.array([0, 0, 2 * np.pi / branching])
    placements[:, :3, :3] = lie.exp(angles)
    placements[:, :, 3] = (0, 0, -0.5, 1)
    solid: dict[str, Any] = {
        "mass": 1.0,
        "com": (0.02, 0.01, -0.25),
        "inertia": (0.021, 0.02, 0.002),
    }
    axes = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    with collector_paused():
        if root.type != "fixed":
            builder.add_body("body0", joint=root, **solid)
        for i in range(0 if root.type == "fixed" else 1, n):
            builder.add_body(
                f"body{i}",
                f"body{(i - 1) // branching}" if i else None,
                joint="revolute",
                joint_name=f"joint{i}",
                placement=placements[(i - 1) % branching] if i else None,
                axis=axes[i % 3],
                **solid,
            )
        return builder.build()


def mixed_tree(seed: int = 0) -> Model:
    """The randomized moving-base robot of bos, Sec. 5, with nine 1-DoF joints.

    Revolute, prismatic and helical joints, each along x, y and z; branches at the base and
    further out. Placements, inertias and pitches are random, uniform in [0, 1], as in the paper
    (inertias: symmetric positive definite and such that a body can have them).

    Args:
        seed: of the random numbers.

    Examples:
        >>> len(jc.models.mixed_tree(0).joints)
        10
    """
    rng = np.random.default_rng(_count("seed", seed, 0))
    parents = (0, 1, 2, 1, 0, 5, 5, 0, 8)
    builder = ModelBuilder(name="mixed_tree")
    builder.add_body("body0", joint="free", joint_name="root_joint", **_random_inertia(rng))
    for i, parent in enumerate(parents, 1):
        kind = ("prismatic", "revolute", "helical")[(i - 1) % 3]
        builder.add_body(
            f"body{i}",
            f"body{parent}",
            joint=kind,
            joint_name=f"joint{i}",
            axis=_AXES[(i - 1) // 3],
            pitch=rng.uniform() if kind == "helical" else 0.0,
            placement=lie.exp(rng.uniform(size=6)),
            **_random_inertia(rng),
        )
    return builder.build()


def random_tree(
    n: int,
    seed: int = 0,
    joints: Sequence[str] = JOINT_TYPES[1:],
    *,
    first: str | None = None,
) -> Model:
    """A random tree of n bodies with joints of the given types anywhere in it.

    Every type appears once n is at least their number. Axes, anchors, placements, inertias and
    armatures are random.

    Args:
        n: number of bodies.
        seed: of the random numbers.
        joints: joint types to draw from.
        first: type of the first joint, if it matters.

    Raises:
        ArgumentError: n is no integer of at least 1, the seed is negative, or a type is no string.
        ModelError: there is no such type of joints.
        TooLargeError: so many bodies do not fit into the memory.

    Examples:
        >>> jc.models.random_tree(4, 0, ("revolute", "spherical")).n_bodies
        4
    """
    n, seed = _count("n", n, 1), _count("seed", seed, 0, 2**128)
    known = np.iterable(joints) and not isinstance(joints, str) and list(joints)
    if not known or not all(isinstance(kind, str) for kind in known):
        raise ArgumentError(
            f"joints must be a list of one or more joint types, got {shown(joints)}"
        )
    if not (first is None or isinstance(first, str)):
        raise ArgumentError(f"first must be a joint type or None, got {shown(first)}")
    _require_room("random_tree", n, _OTHER_BYTES)
    rng = np.random.default_rng(seed)
    kinds = [known[k % len(known)] for k in range(n)]
    rng.shuffle(kinds)
    if first is not None:
        kinds[0] = first
    builder = ModelBuilder(name=f"random_tree_{n}_{seed}")
    for i, kind in enumerate(kinds):
        builder.add_body(
            f"body{i}",
            f"body{rng.integers(max(0, i - 3), i)}" if i else None,
            joint=kind,
            joint_name=f"joint{i}",
            axis=rng.standard_normal(3),
            axis2=rng.standard_normal(3),
            anchor=rng.uniform(-0.3, 0.3, 3) if rng.uniform() < 0.3 else (0, 0, 0),
            pitch=rng.uniform(0.1, 0.5) if kind == "helical" else 0.0,
            armature=rng.uniform(0, 0.1) if kind in ("revolute", "prismatic") else 0.0,
            placement=lie.exp(rng.uniform(-1, 1, 6)),
            **_random_inertia(rng),
        )
    return builder.build()


def _random_inertia(rng: np.random.Generator) -> dict[str, Any]:
    """Mass, center and inertia of a random body that can exist (moments of random points)."""
    points = rng.uniform(-0.5, 0.5, (6, 3))
    masses = rng.uniform(0.05, 0.3, 6)
    mass = masses.sum()
    com = masses @ points / mass
    second = np.einsum("k,ki,kj->ij", masses, points - com, points - com)
    return {
        "mass": mass,
        "com": com + rng.uniform(0, 0.3, 3),
        "inertia": np.trace(second) * np.eye(3) - second,
    }


def _count(name: str, value: int, least: int, most: int | None = None) -> int:
    """The value as an integer within bounds."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))
    if not whole or value < least:
        raise ArgumentError(f"{name} must be an integer of at least {least}, got {shown(value)}")
    if most is not None and value > most:
        raise ArgumentError(f"{name} must be an integer of at most {most}, got {shown(value)}")
    return int(value)


def _require_room(function: str, links: int, each: int) -> None:
    """Refuse a robot with so many links that they do not fit into the memory."""
    size = float(min(links, 10**100)) * each
    memory.require(function, size, size, "make it with fewer links")
