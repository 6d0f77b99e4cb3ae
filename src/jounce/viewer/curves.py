"""What is plotted beside a motion: joints of limbs, their forces, energy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.dynamics import kinetic_energy, potential_energy
from jounce.kinematics import center_of_mass
from jounce.model.labels import rate_names, rate_units
from jounce.plot.columns import limbs
from jounce.viewer.motions import Shown

__all__ = ["COLORS", "Curves", "curves_of", "liveliest"]

COLORS = ("#2e86de", "#e55039", "#27ae60", "#8e44ad", "#f39c12", "#8d5a3a", "#2c3e50", "#ff6fb5")
"""One for each line of a plot: a limb has at most `MOST_IN_PANEL` joints."""

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

    def span(self) -> tuple[float, float]:
        """What an axis shows: from the least to the largest, and a little more."""
        low, high = float(np.min(self.lines)), float(np.max(self.lines))
        margin = 0.05 * (high - low) or 1e-3 + 0.05 * abs(high)
        return low - margin, high + margin


def curves_of(motion: Shown, torques: Array) -> list[Curves]:
    """Positions, rates and torques (T, nv) of a motion by limbs, its energy and center of mass."""
    keep = np.unique(np.linspace(0, len(motion.t) - 1, _MOST_SAMPLES).astype(int))
    model, t, q, v, _ = Shown(motion.model, *(array[keep] for array in motion[1:]))
    tau = torques[keep]
    found: list[Curves] = []
    nodes, names, units = model.coordinates, rate_names(model), rate_units(model)
    for limb in limbs(model):
        labels = tuple(names[k] for k in nodes.v_index[limb])
        where = labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"
        at_q, at_v = nodes.q_index[limb], nodes.v_index[limb]
        ways = (
            " or ".join(dict.fromkeys(way)) for way in zip(*(units[k] for k in at_v), strict=True)
        )
        lines = {"positions": q[:, at_q], "rates": v[:, at_v], "torques": tau[:, at_v]}
        found += [
            Curves(f"{what}, {where}", unit, t, of.T, labels)
            for (what, of), unit in zip(lines.items(), ways, strict=True)
        ]
    energies = kinetic_energy(model, q, v), potential_energy(model, q)
    both = np.array([*energies, energies[0] + energies[1]])
    center = np.array(center_of_mass(model, q)).T
    found.append(Curves("energy", "J", t, both, ("kinetic", "potential", "sum")))
    found.append(Curves("center of mass", "m", t, center, ("x", "y", "z")))
    return found


def liveliest(curves: list[Curves]) -> int:
    """Which plot to show first: the positions that change most, or the first of all."""
    ranges = [
        float(np.ptp(one.lines, axis=1).max()) if one.title.startswith("positions") else 0.0
        for one in curves
    ]
    return int(np.argmax(ranges))
