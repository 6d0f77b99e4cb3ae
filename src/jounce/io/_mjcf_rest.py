"""What an MJCF model has besides its tree: actuators, springs, tendons, constraints, fluids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce._types import Array, Mask
from jounce.io._equalities import LAST_EQUALITY_READ

__all__ = ["driven_joints", "joint_spring", "left_out", "rotor_terms"]


_FREE, _BALL = 0, 1  # mjtJoint
_ON_JOINT, _SLIDER_CRANK, _ON_TENDON, _ON_SITE = (0, 1), 2, 3, 4  # mjtTrn
_WRAP_JOINT, _WRAP_SITE = 1, 3  # mjtWrap
_NO_CONSTRAINT, _NO_EQUALITY, _NO_SPRING, _NO_DAMPER = 1, 2, 32, 64  # mjtDisableBit
_NO_GRAVITY = 128


def driven_joints(compiled: Any) -> set[int] | None:
    """Joints that some actuator drives; None if no actuator drives any."""
    driven: set[int] = set()
    for k in range(len(compiled.actuator_trntype)):
        kind = int(compiled.actuator_trntype[k])
        first, second = map(int, compiled.actuator_trnid[k])
        if kind in _ON_JOINT:
            driven.add(first)
        elif kind == _ON_TENDON:
            driven |= _tendon_joints(compiled, first)
        elif kind == _SLIDER_CRANK or (kind == _ON_SITE and second >= 0):
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


def rotor_terms(compiled: Any) -> tuple[Array, Array]:
    """Armature and damping of each rate, those of actuators on 1-DoF joints included."""
    armature, damping = np.array(compiled.dof_armature), np.array(compiled.dof_damping)
    for k in range(len(compiled.actuator_trntype)):
        if _on_simple_joint(compiled, k):
            dof = int(compiled.jnt_dofadr[int(compiled.actuator_trnid[k, 0])])
            gear = float(compiled.actuator_gear[k, 0])
            armature[dof] += gear**2 * _actuator(compiled, "armature", k)
            damping[dof] += gear**2 * _actuator(compiled, "damping", k)
    return armature, damping


def joint_spring(compiled: Any, k: int) -> dict[str, Any]:
    """Return the linear spring of a joint as fields of `Joint`: `stiffness` and `springref`.

    The force is -stiffness (q - springref); a ball joint's springref is a quaternion (x, y, z, w),
    a free one's that and a position, as in our q. Joints without a spring have none.
    """
    kind, start = int(compiled.jnt_type[k]), int(compiled.jnt_qposadr[k])
    stiffness = float(np.ravel(compiled.jnt_stiffness[k])[0])
    if stiffness == 0 or int(compiled.opt.disableflags) & _NO_SPRING:
        return {}
    if kind in (_FREE, _BALL):
        turn = start + 3 if kind == _FREE else start
        rest = np.roll(compiled.qpos_spring[turn : turn + 4], -1).tolist()
        return {
            "stiffness": stiffness,
            "springref": (*rest, *compiled.qpos_spring[start:turn].tolist()),
        }
    return {"stiffness": stiffness, "springref": float(compiled.qpos_spring[start])}


def _actuator(compiled: Any, field: str, k: int) -> float:
    """An attribute that only newer versions of MuJoCo have."""
    values = getattr(compiled, f"actuator_{field}", None)
    return 0.0 if values is None else float(np.max(np.abs(values[k])))


def _on_simple_joint(compiled: Any, actuator: int) -> bool:
    if int(compiled.actuator_trntype[actuator]) not in _ON_JOINT:
        return False
    return int(compiled.jnt_type[int(compiled.actuator_trnid[actuator, 0])]) > _BALL


def _nonlinear_springs(compiled: Any) -> Mask:
    """Springs with further coefficients, which newer versions of MuJoCo have."""
    if not hasattr(compiled, "jnt_stiffnesspoly"):
        return np.zeros(len(compiled.jnt_type), bool)
    return _any(compiled, "jnt_stiffnesspoly")


def left_out(compiled: Any, bodies: Sequence[str], joints: Sequence[str]) -> list[str]:
    """Say in words what changes the smooth dynamics of the file but is not in the model."""
    flags = int(compiled.opt.disableflags)
    findings: list[str] = []

    def report(what: str, names: Sequence[str]) -> None:
        if names:
            findings.append(f"{what} ({_listed(names)})")

    if not flags & _NO_SPRING:
        report("nonlinear joint springs", _where(joints, _nonlinear_springs(compiled)))
    if not flags & _NO_DAMPER:
        report("nonlinear joint damping", _dof_joints(compiled, joints, "dof_dampingpoly"))
    floating = np.asarray(compiled.jnt_type) == _FREE
    heavy = np.asarray(compiled.dof_armature)[np.asarray(compiled.jnt_dofadr, int)] > 0
    # MuJoCo's multiplies the linear acceleration in world axes.
    report(
        "armature of free joints, which acts in body axes here", _where(joints, floating & heavy)
    )
    tendons = [str(compiled.tendon(k).name) or f"tendon{k}" for k in range(compiled.ntendon)]
    acts = _any(compiled, *(f"tendon_{x}" for x in _TENDON_FORCES))
    report("stiffness, damping, friction, armature or limits of tendons", _where(tendons, acts))
    count = len(compiled.actuator_trntype)
    rotors = np.array(
        [
            not _on_simple_joint(compiled, k)
            and _actuator(compiled, "armature", k) + _actuator(compiled, "damping", k) > 0
            for k in range(count)
        ],
        bool,
    )
    actuators = [str(compiled.actuator(k).name) or f"actuator{k}" for k in range(count)]
    report("armature or damping of actuators on other than joints", _where(actuators, rotors))
    if not flags & (_NO_CONSTRAINT | _NO_EQUALITY):
        names = [str(compiled.eq(k).name) or f"equality{k}" for k in range(compiled.neq)]
        unread = np.asarray(compiled.eq_type) > LAST_EQUALITY_READ
        acting = _where(names, (np.asarray(compiled.eq_active0) != 0) & unread)
        report("equality constraints of tendons and flexes", acting)
    if not flags & _NO_GRAVITY:
        report("gravity compensation", _where(bodies, np.asarray(compiled.body_gravcomp) != 0))
    if compiled.opt.density > 0 or compiled.opt.viscosity > 0:
        findings.append("forces of the surrounding fluid (density or viscosity)")
    if getattr(compiled, "nflex", 0):
        findings.append(f"{compiled.nflex} deformable bodies (flex)")
    return findings


_TENDON_FORCES = (
    "stiffness",
    "stiffnesspoly",
    "damping",
    "dampingpoly",
    "frictionloss",
    "armature",
    "limited",
)


def _any(compiled: Any, *fields: str) -> Mask:
    """Where one of the fields is not zero; older versions of MuJoCo lack some of them."""
    masks = []
    for field in fields:
        values = getattr(compiled, field, None)
        if values is not None:
            mask = np.asarray(values) != 0
            masks.append(mask.any(axis=tuple(range(1, mask.ndim))))
    found: Mask = np.any(masks, axis=0)
    return found


def _dof_joints(compiled: Any, joints: Sequence[str], field: str) -> list[str]:
    if not hasattr(compiled, field):
        return []
    found = np.asarray(compiled.dof_jntid)[_any(compiled, field)]
    return [joints[k] for k in dict.fromkeys(map(int, found))]


def _where(names: Sequence[str], mask: Mask) -> list[str]:
    return [name for name, found in zip(names, mask, strict=True) if found]


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
