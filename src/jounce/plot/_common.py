"""What the plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce._core.arrays import finite, reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["beside", "finite_array", "label_text", "legend_columns", "panels", "pyplot"]

_LONGEST = 34
_LETTER = 0.075
"""Width of a letter of a small font, inches."""


def pyplot() -> Any:
    """Import matplotlib.pyplot, or say how to install it.

    Examples:
        >>> from jounce import plot
        >>> plot.pyplot().close("all")
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("plots need matplotlib: pip install 'jounce[plot]'") from None
    return plt


def panels(
    rows: int, columns: int, size: tuple[float, float], **options: Any
) -> tuple[Figure, Any]:
    """A figure of that size in inches, and its panels (rows, columns)."""
    figure: Figure
    figure, axes = pyplot().subplots(
        rows, columns, squeeze=False, figsize=size, layout="constrained", **options
    )
    return figure, axes


def finite_array(
    name: str, value: ArrayLike, shape: Sequence[int | str], *, gaps: bool = False
) -> Array:
    """Return an array of finite numbers of that shape; words stand for any length.

    Args:
        name: of the argument, for messages.
        value: the numbers.
        shape: lengths of its axes.
        gaps: whether NaN is taken, for what is left out.

    Raises:
        ArgumentError: it has another shape, is no array of numbers, hides some or is not finite.
    """
    array = reals(name, value)
    fits = array.ndim == len(shape) and all(
        isinstance(wanted, str) or wanted == got
        for wanted, got in zip(shape, array.shape, strict=True)
    )
    if not fits:
        wanted = f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
        raise ArgumentError(f"{name} must have shape {wanted}, got {array.shape}")
    finite(name, array[~np.isnan(array)] if gaps else array)
    return array


def label_text(name: str) -> str:
    """A name as matplotlib shows it: no mathematics, nothing hidden, long ones without middle."""
    if len(name) > _LONGEST:
        half = _LONGEST // 2
        name = f"{name[:half]}…{name[-half + 1 :]}"
    shown = name.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def legend_columns(labels: Sequence[str], inches: float) -> int:
    """How many columns of a legend fit into a width."""
    widest = max((len(label) for label in labels), default=1) * _LETTER + 0.45
    return max(1, min(len(labels), int(inches / widest)))


def beside(panel: Axes, lines: Sequence[Any], labels: Sequence[str], title: str) -> None:
    """Put a legend at the right of a panel."""
    panel.legend(
        lines,
        labels,
        title=title,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.04),
        borderaxespad=0,
        frameon=False,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        handlelength=1.2,
    )
