"""What acts in the joints of an MJCF model: actuators, springs, damping, friction, limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce._types import Array
from jounce.io._mjcf_flags import acting, first_of

__all__ = [
    "ON_JOINT",
    "ON_TENDON",
    "actuator_term",
    "driven_joints",
    "joint_limits",
    "joint_spring",
    "joint_terms",
]


_FREE, _BALL = 0, 1  # mjtJoint
ON_JOINT, _SLIDER_CRANK, ON_TENDON, _ON_SITE, _TURNS = (0, 1), 2, 3, 4, 6  # mjtTrn
_WRAP_JOINT, _WRAP_SITE = 1, 3  # mjtWrap


def driven_joints(compiled: Any) -> set[int] | None:
    """Joints that some actuator drives; None if no actuator drives any."""
    driven: set[int] = set()
    for k in range(len(compiled.actuator_trntype)):
        kind = int(compiled.actuator_trntype[k])
        first, second = map(int, compiled.actuator_trnid[k])
        if kind in ON_JOINT or (kind == _TURNS and second < 0):
            driven.add(first)
        elif kind == ON_TENDON:
            driven |= _tendon_joints(compiled, first)
        elif kind == _SLIDER_CRANK or (kind in (_ON_SITE, _TURNS) and second >= 0):
            driven |= _joints_between(compiled, [first, second])
    return driven or None


def _tendon_joints(compiled: Any, tendon: int) -> set[int]:
    start = int(compiled.tendon_adr[tendon])
    path = range(start, start + int(compiled.tendon_num[tendon]))
    kinds, objects = compiled.wrap_type, compiled.wrap_objid
    joints = {int(objects[k]) for k in path if kinds[k] == _WRAP_JOINT}
    sites = [int(objects[k]) for k in path if kinds[k] == _WRAP_SITE]
    return joints | _joints_between(compiled, sites)


def _joints_between(compiled: Any, sites: Sequence[int]) -> set[int]:
    """Joints that move some of the sites relative to others."""
    chains = [_joints_above(compiled, int(compiled.site_bodyid[site])) for site in sites]
    if not chains:
        return set()
    return chains[0].union(*chains) - chains[0].intersection(*chains)


def _joints_above(compiled: Any, body: int) -> set[int]:
    joints: set[int] = set()
    while body > 0:
        first = int(compiled.body_jntadr[body])
        joints.update(range(first, first + int(compiled.body_jntnum[body])))
        body = int(compiled.body_parentid[body])
    return joints


def joint_terms(compiled: Any) -> tuple[Array, Array, Array]:
    """Armature, damping and friction of each rate, those of actuators on joints included.

    Those that the file disables are zero.
    """
    acts = acting(compiled)
    armature, damping = np.array(compiled.dof_armature), np.array(compiled.dof_damping)
    for k in range(len(compiled.actuator_trntype)):
        if int(compiled.actuator_trntype[k]) in ON_JOINT:
            rates = np.asarray(compiled.dof_jntid) == int(compiled.actuator_trnid[k, 0])
            armature[rates] += actuator_term(compiled, "armature", k)
            damping[rates] += actuator_term(compiled, "damping", k)
    friction = np.array(compiled.dof_frictionloss)
    return armature, acts.dampers * damping, acts.friction * friction


def actuator_term(compiled: Any, field: str, k: int) -> float:
    """An attribute of an actuator that only newer versions of MuJoCo have, at what it drives."""
    values = getattr(compiled, f"actuator_{field}", None)
    if values is None:
        return 0.0
    row = first_of(compiled, "actuator_outadr", k)
    return float(compiled.actuator_gear[row, 0] ** 2 * np.ravel(values[k])[0])


def joint_limits(compiled: Any, k: int) -> dict[str, Any]:
    """Return the range of a hinge or slide as fields of `Joint`: `lower` and `upper`."""
    limited = compiled.jnt_limited[k] and int(compiled.jnt_type[k]) > _BALL
    if not limited or not acting(compiled).limits:
        return {}
    lower, upper = map(float, compiled.jnt_range[k])
    return {"lower": lower, "upper": upper}


def joint_spring(compiled: Any, k: int) -> dict[str, Any]:
    """Return the linear spring of a joint as fields of `Joint`: `stiffness` and `springref`.

    The force is -stiffness (q - springref); a ball joint's springref is a quaternion (x, y, z, w),
    a free one's that and a position, as in our q. Joints without a spring have none.
    """
    kind, start = int(compiled.jnt_type[k]), int(compiled.jnt_qposadr[k])
    stiffness = float(np.ravel(compiled.jnt_stiffness[k])[0])
    if stiffness == 0 or not acting(compiled).springs:
        return {}
    if kind in (_FREE, _BALL):
        turn = start + 3 if kind == _FREE else start
        rest = np.roll(compiled.qpos_spring[turn : turn + 4], -1).tolist()
        return {
            "stiffness": stiffness,
            "springref": (*rest, *compiled.qpos_spring[start:turn].tolist()),
        }
    return {"stiffness": stiffness, "springref": float(compiled.qpos_spring[start])}
