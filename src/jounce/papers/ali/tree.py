"""Initialization of the algorithms (ali, Appendix D), and the bridge to jounce's arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie import twists
from jounce.model import Model, inertia
from jounce.model.joints import ELEMENTARY
from jounce.papers.joints import apply, node_pose

_ONE_DOF = ("revolute", "prismatic", "helical")


class Tree(NamedTuple):
    """What Algorithms 1 to 4 know of a robot with N bodies (ali, Appendix D, steps 1 to 5).

    Body 0 here is the paper's body 1, the base; joint j leads to body j, so row 0 of `Y` and
    `armature` is zero. For a fixed-base robot the base is the ground: a body without inertia whose
    motion is given (zero), and whose wrench is what the ground exerts on the robot.

    All numbers may be complex, so that a complex step differentiates by any of them.
    """

    parent: tuple[int, ...]
    """(N,) p{j}, -1 for the base; a parent comes before its children."""
    A: AnyArray
    """(N, 4, 4) home poses A_j^0; that of the base is the identity (step 2)."""
    Y: AnyArray
    """(N, 6) joint screws in the home configuration, in the inertial frame (eq. 3)."""
    M_b: AnyArray
    """(N, 6, 6) body-fixed inertias, constant."""
    armature: AnyArray
    """(N,) rotor inertias; a rotor loads its joint like the external torque -armature q''."""
    G: AnyArray
    """(6,) gravity G^0 = (0, 0, 0, g)."""
    floating: bool
    """Whether the base moves freely; otherwise it is the ground."""


def initialize(model: Model | Tree) -> Tree:
    """Collect a model's bodies, home poses, screws and inertias (ali, Appendix D).

    The bodies are ``model.nodes``: compound joints are chains of 1-DoF joints with massless bodies
    between them, as step 3 suggests for universal joints.

    Args:
        model: a robot whose first joint is free and all others have one degree of freedom
            (floating base), or with 1-DoF joints only (fixed base). A `Tree` is returned as it is.

    Raises:
        ArgumentError: another free or spherical joint, a second body on the world beside a free
            one, or armature on the free base, none of which the paper has.
    """
    if isinstance(model, Tree):
        return model
    nodes = model.nodes
    kinds = [ELEMENTARY[k] for k in nodes.kind]
    floating = kinds[0] == "free"
    for node, kind in enumerate(kinds):
        if kind not in _ONE_DOF and not (node == 0 and floating):
            joint = model.joint_names[nodes.joint[node]]
            raise ArgumentError(
                f"joint {joint!r} is {kind}; the paper has a floating base "
                f"and joints of one degree of freedom ({', '.join(_ONE_DOF)})"
            )
    if floating and (nodes.parent[1:] < 0).any():
        raise ArgumentError("a floating base must be the only body attached to the world")
    if floating and model.armature[:6].any():
        raise ArgumentError(f"a free base has no armature, got {model.armature[:6]}")
    first, ground = (6, 0) if floating else (0, 1)
    X = np.vstack([np.zeros(6), nodes.screws[:, first:].T])
    placement, M_b = nodes.placement, inertia.matrix(nodes.parameters)
    if ground:
        placement = np.concatenate([np.eye(4)[None], placement])
        M_b = np.concatenate([np.zeros((1, 6, 6)), M_b])
    parent = (-1,) * ground + tuple(int(p) + ground for p in nodes.parent)
    A, Y = home(parent, placement, X)
    armature = np.concatenate([[0.0], model.armature[first:]])
    G = np.concatenate([np.zeros(3), model.gravity])
    return Tree(parent, A, Y, M_b, armature, G, floating)


class Home(NamedTuple):
    """The home configuration (ali, Algorithm 1 and eq. 3)."""

    A: AnyArray
    """(N, 4, 4) home poses."""
    Y: AnyArray
    """(N, 6) home screws."""


def home(parent: tuple[int, ...], A_p: AnyArray, X: AnyArray) -> Home:
    """Home poses A_j^0 = A_p{j}^0 A_j^p{j} and home screws (ali, Algorithm 1 and eq. 3).

    Eq. 3 gives Y from a point and an axis in the inertial frame; here Y_j = Ad(A_j^0) X_j from the
    screw X_j in the body's own frame, which is the same.

    Args:
        parent: (N,) parents, -1 for the base.
        A_p: (N, 4, 4) home pose of each body in its parent; that of the base is not read, its home
            pose is the identity (step 2 of Appendix D).
        X: (N, 6) screw of joint j in the frame of body j.

    Returns:
        A (N, 4, 4) and Y (N, 6).
    """
    A = np.array(A_p)
    A[0] = np.eye(4)
    for j in range(1, len(parent)):
        A[j] = A[parent[j]] @ A_p[j]
    return Home(A, apply(lie.Ad(A), X))


def home_screw(e: ArrayLike, p: ArrayLike | None = None) -> AnyArray:
    """Screw of a revolute joint about e through p, or of a prismatic one along e (ali, eq. 3).

    Args:
        e: (3,) unit axis in the inertial frame, home configuration.
        p: (3,) a point of the axis; None for a prismatic joint.

    Returns:
        (6,) Y = (e, p x e), or (0, e).
    """
    e = np.asarray(e)
    if p is None:
        return np.concatenate([np.zeros(3), e])
    return np.concatenate([e, lie.hat(p) @ e])


class PaperArrays(NamedTuple):
    """What the paper's algorithms take, made of jounce's arrays."""

    C_1: AnyArray
    """(4, 4) pose of the base."""
    V_1: AnyArray
    """(k, 6) spatial twist of the base and its derivatives."""
    joints: AnyArray
    """(k+1, n) joint coordinates and their derivatives."""
    W_b: AnyArray
    """(r+1, N, 6) body-fixed wrenches and their derivatives."""


def from_jounce(
    model: Model, q: ArrayLike, motion: ArrayLike, f_ext: ArrayLike | None = None
) -> PaperArrays:
    """Turn jounce's arrays into the paper's: the base twist becomes spatial.

    Args:
        model: the robot.
        q: (nq,) coordinates.
        motion: (k, nv) rates and their component-wise derivatives; a free base's are those of its
            body-fixed twist.
        f_ext: (r+1, n_bodies, 6) body-fixed wrenches and their derivatives.

    Returns:
        C_1 (4, 4), V_1 (k, 6), the joint coordinates and their derivatives (k+1, n), and the
        body-fixed wrenches W_b (r+1, N, 6), for N bodies (with the ground if the base is fixed).
    """
    tree, nodes = initialize(model), model.nodes
    q, motion = np.asarray(q), np.asarray(motion)
    ground = 0 if tree.floating else 1
    C_1, V_1 = np.eye(4), np.zeros((len(motion), 6), motion.dtype)
    if tree.floating:
        C_1 = node_pose(nodes, 0, q)
        body = motion[:, :6] @ nodes.screws[:, :6].T
        V_1 = twists.convert_series(body, C_1, "body", "spatial")
        q, motion = q[7:], motion[:, 6:]
    loads = np.zeros((1, model.n_bodies, 6)) if f_ext is None else np.asarray(f_ext)
    W_b = np.zeros((len(loads), len(tree.parent), 6), loads.dtype)
    W_b[:, np.flatnonzero(nodes.body >= 0) + ground] = loads
    return PaperArrays(C_1, V_1, np.vstack([q, motion]), W_b)


def forces_to_jounce(
    model: Model, C_1: AnyArray, V_1: AnyArray, W_prop: AnyArray, tau: AnyArray
) -> AnyArray:
    """Generalized forces and derivatives in jounce's order: the base wrench becomes body-fixed.

    Args:
        model: the robot.
        C_1: (4, 4) pose of the base.
        V_1: (>= r, 6) spatial twist of the base and its derivatives.
        W_prop: (r+1, 6) spatial base wrench and its derivatives; not read for a fixed base.
        tau: (r+1, n) joint forces and their derivatives.

    Returns:
        (r+1, nv), as of `jounce.inverse_dynamics_series`.
    """
    if not initialize(model).floating:
        return tau
    base = twists.convert_wrench_series(W_prop, V_1, C_1, "spatial", "body")
    return np.hstack([base @ model.nodes.screws[:, :6], tau])


def accelerations_to_jounce(model: Model, C_1: AnyArray, V_1: AnyArray, q: AnyArray) -> AnyArray:
    """Accelerations and derivatives in jounce's order: the base twist becomes body-fixed.

    Args:
        model: the robot.
        C_1: (4, 4) pose of the base.
        V_1: (r+2, 6) spatial twist of the base and its derivatives of order 1 to r+1.
        q: (r+1, n) derivatives of order 2 to r+2 of the joint coordinates.

    Returns:
        (r+1, nv), as of `jounce.forward_dynamics_series`.
    """
    if not initialize(model).floating:
        return q
    body = twists.convert_series(V_1, C_1, "spatial", "body")[1:]
    return np.hstack([np.linalg.solve(model.nodes.screws[:, :6], body.T).T, q])
