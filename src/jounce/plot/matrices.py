"""Plots of matrices over the rates: which entries are zero, how large the others are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.labels import rate_names
from jounce.plot._common import finite_array, label_text, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["sparsity"]

_DECADES = 8
"""Entries that many orders of magnitude below the largest have the palest color."""
_MOST_NAMES = 60
_ROW = 0.16
"""Height of a row that has a name, inches."""


def sparsity(
    model: Model, matrices: Mapping[str, ArrayLike] | ArrayLike, *, title: str | None = None
) -> Figure:
    """Plot which entries of matrices over the rates are zero, and how large the others are.

    Args:
        model: the robot.
        matrices: one matrix (nv, nv), or several by name: for example
            ``jc.inverse_dynamics_derivatives(model, q, v, a)._asdict()``.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> dog = jc.models.quadruped()
        >>> figure = plot.sparsity(dog, {"M": jc.mass_matrix(dog, dog.poses["standing"])})
        >>> figure.axes[0].get_title()
        'M: 172 of 324 entries'
    """
    given = matrices if isinstance(matrices, Mapping) else {"": matrices}
    named = {
        name: finite_array(f"matrix {name!r}", x, (model.nv, model.nv)) for name, x in given.items()
    }
    if not named:
        raise ArgumentError("matrices must have at least one matrix")
    side = max(2.6, _ROW * min(model.nv, _MOST_NAMES))
    size = (side * len(named) + 3.2, side + 2.2)
    figure, axes = panels(1, len(named), size, sharey=True)
    for panel, (name, matrix) in zip(axes[0], named.items(), strict=True):
        image = _draw(panel, model, matrix)
        filled = np.count_nonzero(matrix)
        head = f"{label_text(name)}: " if name else ""
        panel.set_title(f"{head}{filled} of {matrix.size} entries", fontsize="medium")
        bar = figure.colorbar(image, ax=panel, shrink=0.6, pad=0.02)
        bar.set_label("$\\log_{10}$ of the size", fontsize="small")
    names = [label_text(name) for name in rate_names(model)]
    if model.nv <= _MOST_NAMES:
        axes[0, 0].set_yticks(range(model.nv), names, fontsize="x-small")
    if title:
        figure.suptitle(title, fontsize="large")
    return figure


def _draw(panel: Axes, model: Model, matrix: Array) -> Any:
    """Colors by the logarithm of the size; zeros stay white."""
    size = np.abs(matrix)
    shown = np.full(size.shape, np.nan)
    np.log10(size, out=shown, where=size > 0)
    top = float(np.nanmax(shown)) if (size > 0).any() else 0.0
    image = panel.imshow(shown, cmap="viridis_r", vmin=top - _DECADES, vmax=top, aspect="equal")
    panel.set_xticks([])
    if model.nv <= _MOST_NAMES:
        names = [label_text(name) for name in rate_names(model)]
        panel.set_xticks(range(model.nv), names, rotation=90, fontsize="x-small")
    for joint in model.joint_names[1:]:
        start = model.v_slice(joint).start - 0.5
        if 0 < start < model.nv - 1:
            panel.axhline(start, color="0.85", linewidth=0.4)
            panel.axvline(start, color="0.85", linewidth=0.4)
    return image
