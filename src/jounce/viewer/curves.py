"""What is plotted beside a motion: groups of joints, their forces, energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.dynamics import inverse_dynamics, kinetic_energy, potential_energy
from jounce.kinematics import center_of_mass
from jounce.model import Model
from jounce.viewer.motions import Shown

__all__ = ["Curves", "curves_of"]

_MOST_LINES = 8
_MOST_SAMPLES = 400


class Curves(NamedTuple):
    """Lines over one axis of time."""

    title: str
    unit: str
    t: Array
    """(n,) s."""
    lines: Array
    """(k, n)."""
    labels: tuple[str, ...]


def curves_of(motion: Shown) -> list[Curves]:
    """The plots of a motion: positions, rates and torques by groups of joints, energy, center."""
    keep = np.unique(np.linspace(0, len(motion.t) - 1, _MOST_SAMPLES).astype(int))
    model, t, q, v, a = Shown(motion.model, *(array[keep] for array in motion[1:]))
    tau = inverse_dynamics(model, q, v, a)
    found: list[Curves] = []
    for name, joints in _groups(model).items():
        labels = tuple(joint.removeprefix(name).lstrip("_") or joint for joint in joints)
        where = f" of {name}" if name else ""
        at_q, at_v = model.q_indices(joints), model.v_indices(joints)
        found += [
            Curves(f"positions{where}", "rad or m", t, q[:, at_q].T, labels),
            Curves(f"rates{where}", "rad/s or m/s", t, v[:, at_v].T, labels),
            Curves(f"torques{where}", "N m or N", t, tau[:, at_v].T, labels),
        ]
    energies = kinetic_energy(model, q, v), potential_energy(model, q)
    both = np.array([*energies, energies[0] + energies[1]])
    center = np.array(center_of_mass(model, q)).T
    found.append(Curves("energy", "J", t, both, ("kinetic", "potential", "sum")))
    found.append(Curves("center of mass", "m", t, center, ("x", "y", "z")))
    return found


def _groups(model: Model) -> dict[str, list[str]]:
    """Joints of one number each in groups of few, by what their names begin with."""
    single = [
        joint.name
        for joint in model.joints
        if model.q_slice(joint.name).stop - model.q_slice(joint.name).start == 1
    ]
    if len(single) <= _MOST_LINES:
        return {"": single} if single else {}
    groups: dict[str, list[str]] = {}
    for words in (1, 2):
        groups = {}
        for name in single:
            groups.setdefault("_".join(name.split("_")[:words]), []).append(name)
        if max(map(len, groups.values())) <= _MOST_LINES:
            break
    split: dict[str, list[str]] = {}
    for name, joints in groups.items():
        for k in range(0, len(joints), _MOST_LINES):
            more = f" ({k // _MOST_LINES + 1})" if len(joints) > _MOST_LINES else ""
            split[name + more] = joints[k : k + _MOST_LINES]
    return split
