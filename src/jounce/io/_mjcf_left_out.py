"""What of an MJCF model changes its motion, but is not in ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from jounce._types import Mask
from jounce.errors import ModelError
from jounce.io._equalities import LAST_EQUALITY_READ, ON_SITE
from jounce.io._mjcf_extension import EQUALITY, Extension, is_mere_part
from jounce.io._mjcf_flags import Acting, acting
from jounce.io._mjcf_names import Names
from jounce.io._mjcf_rest import ON_JOINT, ON_TENDON, actuator_term, joint_terms
from jounce.io._mjcf_tree import Tree

__all__ = ["left_out", "not_copied"]

_FREE = 0  # mjtJoint
_ASLEEP = 5  # mjtSleepPolicy, of trees that begin asleep

Findings = list[tuple[str, list[str]]]
"""What was found, and where."""


def left_out(compiled: Any, names: Names, extension: Extension) -> list[str]:
    """Say in words what changes the smooth dynamics of the file but is not in the model."""
    acts = acting(compiled)
    found = [
        *_of_joints(compiled, names.joints, acts),
        *_of_tendons(compiled, acts),
        *_of_actuators(compiled, acts),
        *_of_equalities(compiled, names, extension, acts),
        *_of_bodies(compiled, names.bodies, acts),
    ]
    findings = [f"{what} ({_listed(names)})" for what, names in found if names]
    if acts.passive and (compiled.opt.density > 0 or compiled.opt.viscosity > 0):
        findings.append("forces of the surrounding fluid (density or viscosity)")
    if getattr(compiled, "nflex", 0):
        findings.append(f"{compiled.nflex} deformable bodies (flex)")
    return findings


def not_copied(tree: Tree) -> Iterator[ModelError]:
    """What `replicate` makes no copy of; MuJoCo leaves it out without a word, too."""
    for _, piece in tree.of("replicate"):
        count = (piece.element.get("count") or "1").strip()
        if len(piece.element) and (count.startswith("-") or not count.strip("+0")):
            yield piece.error(f"count is {count}, so that all inside is left out")


def _of_joints(compiled: Any, joints: Sequence[str], acts: Acting) -> Findings:
    count, rates = len(joints), int(compiled.nv)
    found: Findings = []
    if acts.springs:
        bent = _any(compiled, count, "jnt_stiffnesspoly")
        found.append(("nonlinear joint springs", _where(joints, bent)))
        springs = bent | _any(compiled, count, "jnt_stiffness")
        plastic = np.asarray(getattr(compiled, "jnt_plasticadr", np.full(count, -1))) >= 0
        found.append(("joint springs that yield", _where(joints, springs & plastic)))
    of_rates = np.asarray(compiled.dof_jntid, int)
    if acts.dampers:
        bent = np.isin(np.arange(count), of_rates[_any(compiled, rates, "dof_dampingpoly")])
        found.append(("nonlinear joint damping", _where(joints, bent)))
    armature, _, friction = joint_terms(compiled)
    floating = np.asarray(compiled.jnt_type) == _FREE
    heavy = np.isin(np.arange(count), of_rates[(armature != 0) | (friction != 0)])
    # MuJoCo's multiply the linear acceleration, and oppose the velocity, in world axes.
    what = "armature or friction of free joints, which act in body axes here"
    return [*found, (what, _where(joints, floating & heavy))]


def _of_tendons(compiled: Any, acts: Acting) -> Findings:
    names = [str(compiled.tendon(k).name) or f"tendon{k}" for k in range(compiled.ntendon)]
    fields = ["armature"]
    fields += ["stiffness", "stiffnesspoly"] * acts.springs
    fields += ["damping", "dampingpoly"] * acts.dampers
    fields += ["frictionloss"] * acts.friction + ["limited"] * acts.limits
    pulls = _any(compiled, len(names), *(f"tendon_{field}" for field in fields))
    what = "stiffness, damping, friction, armature or limits of tendons"
    return [(what, _where(names, pulls))]


def _of_actuators(compiled: Any, acts: Acting) -> Findings:
    kinds = np.asarray(compiled.actuator_trntype, int)
    names = [str(compiled.actuator(k).name) or f"actuator{k}" for k in range(len(kinds))]
    bent = _any(compiled, len(kinds), "actuator_dampingpoly") & acts.dampers
    fields = ["armature"] + ["damping"] * acts.dampers
    linear = [any(actuator_term(compiled, x, k) for x in fields) for k in range(len(kinds))]
    rotors = (kinds == ON_TENDON) & (bent | np.array(linear, bool))
    return [
        ("armature or damping of actuators on other than joints", _where(names, rotors)),
        ("nonlinear damping of actuators", _where(names, bent & np.isin(kinds, ON_JOINT))),
    ]


def _of_equalities(compiled: Any, names: Names, extension: Extension, acts: Acting) -> Findings:
    """Those that the model has no word for, or whose joints and sites `jounce.save` made."""
    if not acts.equalities:
        return []
    own = [str(compiled.eq(k).name) for k in range(compiled.neq)]
    labels = [name or f"equality{k}" for k, name in enumerate(own)]
    kinds, active = np.asarray(compiled.eq_type), np.asarray(compiled.eq_active0) != 0
    lost = [
        not own[k].startswith(EQUALITY) and _ends_are_lost(compiled, k, names, extension)
        for k in range(compiled.neq)
    ]
    of_parts = active & (kinds <= LAST_EQUALITY_READ) & np.array(lost, bool)
    return [
        (
            "equality constraints of tendons and flexes",
            _where(labels, active & (kinds > LAST_EQUALITY_READ)),
        ),
        ("equality constraints of parts of joints here", _where(labels, of_parts)),
    ]


def _ends_are_lost(compiled: Any, k: int, names: Names, extension: Extension) -> bool:
    """Whether an equality holds what is no joint or frame of the model."""
    ends = [int(compiled.eq_obj1id[k]), int(compiled.eq_obj2id[k])]
    if int(compiled.eq_objtype[k]) == ON_SITE:
        return not all(names.sites[i] for i in ends)
    if int(compiled.eq_type[k]) != LAST_EQUALITY_READ:
        return False
    return any(i >= 0 and is_mere_part(extension, names.joints[i]) for i in ends)


def _of_bodies(compiled: Any, bodies: Sequence[str], acts: Acting) -> Findings:
    found: Findings = []
    if acts.passive and acts.gravity:
        lifted = _any(compiled, len(bodies), "body_gravcomp")
        found.append(("gravity compensation", _where(bodies, lifted)))
    if acts.passive:
        pushed = np.asarray(compiled.body_plugin) >= 0
        found.append(("forces of plugins", _where(bodies, pushed)))
    if acts.sleep:
        trees, policies = np.asarray(compiled.body_treeid), np.asarray(compiled.tree_sleep_policy)
        asleep = [bodies[int(np.argmax(trees == k))] for k in np.flatnonzero(policies == _ASLEEP)]
        found.append(("bodies that begin asleep", asleep))
    return found


def _any(compiled: Any, count: int, *fields: str) -> Mask:
    """Where one of the fields is not zero; older versions of MuJoCo lack some of them."""
    found: Mask = np.zeros(count, bool)
    for field in fields:
        mask = np.asarray(getattr(compiled, field, np.zeros(count))) != 0
        found |= mask.any(axis=tuple(range(1, mask.ndim)))
    return found


def _where(names: Sequence[str], mask: Mask) -> list[str]:
    return [name for name, found in zip(names, mask, strict=True) if found]


def _listed(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
