"""A plot of the kinematic tree: a line of text for each body, indented by its depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jounce.model import Model
from jounce.model.model import require_model
from jounce.plot._common import label_text, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["KINDS", "tree"]

KINDS = {
    "revolute": ("C0", "o"),
    "continuous": ("C0", "o"),
    "prismatic": ("C1", "s"),
    "helical": ("C2", "D"),
    "spherical": ("C3", "*"),
    "free": ("C4", "P"),
}
"""Color and mark of joints; others have `OTHER`."""
OTHER = ("C5", "X")
_ROW, _INDENT, _LETTER = 0.21, 0.24, 0.068
"""Inches: height of a row, depth of a level, width of a letter."""


def tree(model: Model, *, title: str | None = None) -> Figure:
    """Plot the kinematic tree: bodies with their joints and masses, children below their parents.

    Args:
        model: the robot.
        title: of the figure; by default the robot's name.

    Examples:
        >>> from jounce import plot
        >>> len(plot.tree(jc.models.panda_like()).axes)
        1
    """
    require_model(model)
    depth = _depths(model)
    texts = [_text(model, k) for k in range(model.n_bodies)]
    widths = [_INDENT * (d + 2) + _LETTER * len(t) for d, t in zip(depth, texts, strict=True)]
    width = max([1.0, *widths])
    height = _ROW * (model.n_bodies + 1)
    figure, axes = panels(1, 1, (width + 1.6, height + 0.9))
    panel = axes[0, 0]
    rows = 1 + np.arange(model.n_bodies)
    for k, parent in enumerate(model.parents):
        x = [depth[k] - 1, depth[k] - 1, depth[k]]
        begin = 0 if parent < 0 else parent + 1
        panel.plot(x, [begin, k + 1, k + 1], color="0.6", linewidth=0.9, zorder=1)
        panel.text(depth[k] + 0.45, rows[k], texts[k], va="center", fontsize="small")
    _marks(panel, model, depth, rows)
    panel.plot([0], [0], marker="_", markersize=14, color="k", markeredgewidth=2)
    panel.text(0.45, 0, "world", va="center", fontsize="small")
    panel.set(xlim=(-0.6, width / _INDENT), ylim=(model.n_bodies + 0.7, -0.7))
    panel.set_axis_off()
    panel.set_title(label_text(model.name) if title is None else title, loc="left")
    return figure


def _depths(model: Model) -> list[int]:
    out: list[int] = []
    for parent in model.parents:
        out.append(1 if parent < 0 else out[parent] + 1)
    return out


def _text(model: Model, body: int) -> str:
    joints = ", ".join(f"{j.name} ({j.type})" for j in model.bodies[body].joints)
    mass = f"{model.inertias[body, 0]:.3g} kg"
    name = model.body_names[body]
    return f"{name}  —  {joints or 'fixed'}, {mass}".replace("$", r"\$")


def _marks(panel: Axes, model: Model, depth: list[int], rows: object) -> None:
    """A mark for each body by the type of its joint, with a legend of those that occur."""
    places = np.asarray(rows)
    kinds = [body.joints[-1].type if body.joints else "fixed" for body in model.bodies]
    for kind in dict.fromkeys(kinds):
        color, mark = KINDS.get(kind, OTHER)
        chosen = [k for k, other in enumerate(kinds) if other == kind]
        x = [depth[k] for k in chosen]
        panel.plot(x, places[chosen], mark, color=color, markersize=6, zorder=2, label=kind)
    if kinds:
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
