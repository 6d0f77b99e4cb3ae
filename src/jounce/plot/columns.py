"""Which rates share a panel: joints of one limb with one unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jounce._types import Array
from jounce.model import Model
from jounce.model.joints import ELEMENTARY
from jounce.model.labels import rate_names

__all__ = ["MOST_IN_PANEL", "Column", "force_columns", "limbs", "motion_columns"]

MOST_IN_PANEL = 8
"""Most joints that share a panel: more colors cannot be told apart."""


class Column(NamedTuple):
    """Components that share panels.

    Examples:
        >>> from jounce import plot
        >>> plot.motion_columns(jc.models.panda_like())[0].unit
        'rad/s'
    """

    title: str
    symbol: str
    """Mathtext of the quantity, for example ``\\omega``; derivatives get dots."""
    unit: str
    """Unit of order 0, for example "rad/s" or "N m"."""
    components: Sequence[int]
    """Where the components sit on the last axis of the series."""
    labels: Sequence[str]
    """A name for each component."""
    limits: Sequence[Array | None] = ()
    """For each order, (2, components) lower and upper limits, or None; what is missing has none.
    Where a series begins with coordinates (``below=1``), the first entry is theirs."""


def motion_columns(model: Model, twist: str = "body") -> list[Column]:
    """Columns for the rates of a model: angular and linear ones apart, joints by limbs.

    The limits are those of the coordinates and of the rates.

    Examples:
        >>> from jounce import plot
        >>> [column.unit for column in plot.motion_columns(jc.models.quadruped())]
        ['rad/s', 'm/s', 'rad/s', 'rad/s', 'rad/s', 'rad/s']
    """
    return _columns(model, twist, ("\\omega", "v", "\\dot q"), ("rad/s", "m/s"), "twist")


def force_columns(model: Model, twist: str = "body") -> list[Column]:
    """Columns for the generalized forces of a model: moments and forces apart, joints by limbs.

    Examples:
        >>> from jounce import plot
        >>> [column.unit for column in plot.force_columns(jc.models.quadruped())]
        ['N m', 'N', 'N m', 'N m', 'N m', 'N m']
    """
    return _columns(model, twist, ("n", "f", "\\tau"), ("N m", "N"), "wrench")


def limbs(model: Model) -> list[list[int]]:
    """Elementary joints with one coordinate by limbs of at most `MOST_IN_PANEL` of them.

    A limb ends where the tree branches, unless all that follows fits into one panel.
    """
    nodes = model.coordinates
    single = [ELEMENTARY[kind] not in ("spherical", "free") for kind in nodes.kind]
    children: dict[int, list[int]] = {}
    count = np.array(single, int)
    for k in reversed(range(len(single))):
        parent = int(nodes.parent[k])
        children.setdefault(parent, []).insert(0, k)
        if parent >= 0:
            count[parent] += count[k]
    out: list[list[int]] = []
    waiting = [children.get(-1, [])]
    while waiting:
        siblings = waiting.pop()
        if sum(count[k] for k in siblings) <= MOST_IN_PANEL:
            out.append([k for root in siblings for k in _subtree(children, root) if single[k]])
        elif len(siblings) > 1:
            waiting += [[k] for k in reversed(siblings)]
        else:
            chain = siblings[:]
            while len(children.get(chain[-1], [])) == 1:
                chain += children[chain[-1]]
            out += _pieces([k for k in chain if single[k]])
            waiting.append(children.get(chain[-1], []))
    return [limb for limb in out if limb]


def _subtree(children: dict[int, list[int]], root: int) -> list[int]:
    out, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        out.append(node)
        waiting += reversed(children.get(node, []))
    return out


def _pieces(chain: list[int]) -> list[list[int]]:
    """Cut a chain into pieces of about equal length."""
    number = -(-len(chain) // MOST_IN_PANEL)
    return [list(map(int, piece)) for piece in np.array_split(chain, number)] if chain else []


def _columns(
    model: Model, twist: str, symbols: tuple[str, str, str], units: tuple[str, str], what: str
) -> list[Column]:
    nodes, out = model.coordinates, []
    parts = ("angular", "linear") if what == "twist" else ("moment", "force")
    for kind, start, joint in zip(nodes.kind, nodes.v_index, nodes.joint, strict=True):
        if ELEMENTARY[kind] in ("spherical", "free"):
            own = twist if ELEMENTARY[kind] == "free" else "body"
            for half in range(1 if ELEMENTARY[kind] == "spherical" else 2):
                title = f"{model.joint_names[joint]}: {own} {what}, {parts[half]} part"
                index = range(start + 3 * half, start + 3 * half + 3)
                out.append(Column(title, symbols[half], units[half], index, "xyz"))
    names, parts_of_limbs = rate_names(model), []
    for limb in limbs(model):
        for half, slides in enumerate((False, True)):
            chosen = [k for k in limb if (ELEMENTARY[nodes.kind[k]] == "prismatic") is slides]
            if chosen:
                parts_of_limbs.append((half, chosen, [names[nodes.v_index[k]] for k in chosen]))
    titles = _titles([labels for _, _, labels in parts_of_limbs])
    for (half, chosen, labels), title in zip(parts_of_limbs, titles, strict=True):
        rates = [int(nodes.v_index[k]) for k in chosen]
        how, limits = ("turning", "sliding")[half], _limits(model, chosen, what)
        out.append(Column(f"{title} ({how})", symbols[2], units[half], rates, labels, limits))
    return out


def _limits(model: Model, chosen: Sequence[int], what: str) -> list[Array | None]:
    nodes = model.coordinates
    q, v = nodes.q_index[list(chosen)], nodes.v_index[list(chosen)]
    if what == "wrench":
        return [np.array([-model.effort_limit[v], model.effort_limit[v]])]
    rates = np.array([-model.velocity_limit[v], model.velocity_limit[v]])
    return [np.array([model.lower[q], model.upper[q]]), rates]


def _titles(groups: Sequence[Sequence[str]]) -> list[str]:
    """A name for each group of joints: what their names share, where no other group shares it."""
    common = [_common_name(labels) for labels in groups]
    return [
        name if common.count(name) == 1 else f"{labels[0]} to {labels[-1]}"
        for name, labels in zip(common, groups, strict=True)
    ]


def _common_name(labels: Sequence[str]) -> str:
    """What the names of a limb's joints begin with, or the first and the last of them."""
    if len(labels) == 1:
        return labels[0]
    first, last = min(labels), max(labels)
    same = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), 0)
    prefix = first[:same].rstrip("0123456789_-./ ")
    return prefix if len(prefix) > 2 else f"{labels[0]} to {labels[-1]}"
