"""Plots of series: a motion and its derivatives, forces and theirs.

Rows are orders, columns are groups of components with one unit. Matplotlib (extra ``plot``) is
imported when a function is called, and every function returns its figure::

    from jounce import plot

    figure = plot.motion(model, t, q, motion)
    figure.savefig("motion.png")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, MissingExtraError
from jounce.lie import twists
from jounce.model import Model
from jounce.model.joints import ELEMENTARY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Column", "force_columns", "forces", "motion", "motion_columns", "pyplot", "series"]


def __dir__() -> list[str]:
    return sorted(__all__)


_SOLID = {"linewidth": 2.8, "alpha": 0.45}
_ALONE = {"linewidth": 1.4}
_DASHED = {"linewidth": 1.1, "linestyle": (0, (4, 3))}
_MOST_IN_LEGEND = 12
_NOTHING = 1e-13
"""A panel whose lines span less than this does not zoom in on rounding errors."""


class Column(NamedTuple):
    """Components that share a column of panels."""

    title: str
    symbol: str
    """Mathtext of the quantity, for example ``\\omega``; derivatives get dots."""
    unit: str
    """Unit of order 0, for example "rad/s" or "N m"."""
    components: Sequence[int]
    """Where the components sit on the last axis of the series."""
    labels: Sequence[str]
    """A name for each component."""


def motion(
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    motion: ArrayLike,
    *,
    compare: ArrayLike | None = None,
    twist: str = "body",
    title: str | None = None,
) -> Figure:
    """Plot coordinates, rates and the derivatives of the rates.

    The first row has the coordinates (rotations as rotation vectors), the next ones v, dv/dt, ...

    Args:
        model: the robot.
        t: (n,) times, s.
        q: (n, nq) coordinates.
        motion: (n, k, nv) v and its derivatives.
        compare: (n, m, nv) dv/dt and its derivatives, drawn dashed on top; for example what
            `jounce.forward_dynamics_series` returns.
        twist: representation of the free joints' twists, see `jounce.twists`.
        title: of the figure.
    """
    x = _array("motion", motion, model.nv)
    coordinates = _array("q", q, model.nq)
    rows = [_coordinates(model, coordinates)[:, None], _twists(model, coordinates, x, twist)]
    other = None
    if compare is not None:
        y = np.concatenate([x[:, :1], _array("compare", compare, model.nv)], axis=1)
        other = np.full((len(y), y.shape[1] + 1, model.nv), np.nan)
        other[:, 2:] = _twists(model, coordinates, y, twist)[:, 1:]
    columns = motion_columns(model, twist)
    return series(t, np.concatenate(rows, axis=1), columns, compare=other, below=1, title=title)


def forces(
    model: Model,
    t: ArrayLike,
    tau: ArrayLike,
    *,
    q: ArrayLike | None = None,
    motion: ArrayLike | None = None,
    twist: str = "body",
    title: str | None = None,
) -> Figure:
    """Plot generalized forces and their derivatives.

    Args:
        model: the robot.
        t: (n,) times, s.
        tau: (n, k, nv) forces and their derivatives.
        q: (n, nq) coordinates; needed for representations other than "body".
        motion: (n, m, nv) with m >= k - 1, v and its derivatives; likewise.
        twist: representation of the free joints' wrenches, see `jounce.twists`.
        title: of the figure.
    """
    x = _array("tau", tau, model.nv)
    if twist != "body":
        if q is None or motion is None:
            raise ArgumentError(
                f"q and motion: needed for wrenches in the {twist!r} representation"
            )
        x = _wrenches(model, _array("q", q, model.nq), _array("motion", motion, model.nv), x, twist)
    return series(t, x, force_columns(model, twist), title=title)


def series(
    t: ArrayLike,
    values: ArrayLike,
    columns: Sequence[Column],
    *,
    compare: ArrayLike | None = None,
    below: int = 0,
    title: str | None = None,
) -> Figure:
    """Plot a series: a row of panels for each order, a column for each group of components.

    Args:
        t: (n,) times, s.
        values: (n, orders, width) the quantity and its time derivatives.
        columns: which components go together.
        compare: like `values`, drawn dashed on top; NaN is left out.
        below: number of rows that come before order 0, as integrals of it.
        title: of the figure.
    """
    plt = pyplot()
    time, x = np.asarray(t, float), np.asarray(values, float)
    other = None if compare is None else np.asarray(compare, float)
    orders = x.shape[1]
    figure: Figure
    figure, axes = plt.subplots(
        orders,
        len(columns),
        sharex=True,
        squeeze=False,
        figsize=(4.1 * len(columns) + 0.4, 1.55 * orders + 1.4),
        layout="constrained",
    )
    for j, column in enumerate(columns):
        for k, panel in enumerate(axes[:, j]):
            _draw(panel, time, x[:, k], column, _SOLID if other is not None else _ALONE)
            if other is not None and k < other.shape[1]:
                _draw(panel, time, other[:, k], column, _DASHED)
            panel.set_ylabel(_label(column, k - below))
        _legend(axes[0, j], column)
        axes[-1, j].set_xlabel("time (s)")
    figure.align_ylabels()
    if title:
        figure.suptitle(title, fontsize="large")
    return figure


def motion_columns(model: Model, twist: str = "body") -> list[Column]:
    """Columns for the rates of a model: angular and linear ones apart."""
    return _columns(model, twist, ("\\omega", "v", "\\dot q"), ("rad/s", "m/s"), "twist")


def force_columns(model: Model, twist: str = "body") -> list[Column]:
    """Columns for the generalized forces of a model: moments and forces apart."""
    return _columns(model, twist, ("n", "f", "\\tau"), ("N m", "N"), "wrench")


def pyplot() -> Any:
    """Import matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("plots need matplotlib: pip install 'jounce[plot]'") from None
    return plt


def _columns(
    model: Model, twist: str, symbols: tuple[str, str, str], units: tuple[str, str], what: str
) -> list[Column]:
    nodes, out = model.nodes, []
    parts = ("angular", "linear") if what == "twist" else ("moment", "force")
    for kind, start, joint in zip(nodes.kind, nodes.v_index, nodes.joint, strict=True):
        name = model.joint_names[joint]
        if ELEMENTARY[kind] in ("spherical", "free"):
            own = twist if ELEMENTARY[kind] == "free" else "body"
            for half in range(1 if ELEMENTARY[kind] == "spherical" else 2):
                title = f"{name}: {own} {what}, {parts[half]} part"
                index = range(start + 3 * half, start + 3 * half + 3)
                out.append(Column(title, symbols[half], units[half], index, "xyz"))
    for half, kinds in enumerate((("revolute", "helical"), ("prismatic",))):
        chosen = [i for i, kind in enumerate(nodes.kind) if ELEMENTARY[kind] in kinds]
        rates = [int(nodes.v_index[i]) for i in chosen]
        if rates:
            title = f"{('turning', 'sliding')[half]} joints"
            labels = [
                _component_name(model, int(nodes.joint[i]), int(nodes.v_index[i])) for i in chosen
            ]
            out.append(Column(title, symbols[2], units[half], rates, labels))
    return out


def _component_name(model: Model, joint: int, rate: int) -> str:
    own = model.v_slice(joint)
    name: str = model.joint_names[joint]
    return name if own.stop - own.start == 1 else f"{name}[{rate - own.start}]"


def _coordinates(model: Model, q: Array) -> Array:
    """Coordinates with one number per rate: rotations as rotation vectors, then positions."""
    out = np.empty((len(q), model.nv))
    nodes = model.nodes
    for kind, i, j in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] in ("spherical", "free"):
            out[:, j : j + 3] = lie.quat_log(q[:, i : i + 4])
            if ELEMENTARY[kind] == "free":
                out[:, j + 3 : j + 6] = q[:, i + 4 : i + 7]
        else:
            out[:, j] = q[:, i]
    return out


def _free_joints(model: Model, q: Array) -> list[tuple[slice, Array]]:
    """Where the twist of each free joint sits, and the joint's poses."""
    out = []
    nodes = model.nodes
    for kind, i, j in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] == "free":
            T = np.zeros((len(q), 4, 4))
            T[:, :3, :3] = lie.quat_to_matrix(q[:, i : i + 4])
            T[:, :3, 3] = q[:, i + 4 : i + 7]
            T[:, 3, 3] = 1.0
            out.append((slice(int(j), int(j) + 6), T))
    return out


def _twists(model: Model, q: Array, x: Array, twist: str) -> Array:
    out = x.copy()
    for span, T in _free_joints(model, q):
        out[..., span] = twists.convert_series(x[..., span], T, "body", twist)
    return out


def _wrenches(model: Model, q: Array, motion: Array, x: Array, twist: str) -> Array:
    out = x.copy()
    for span, T in _free_joints(model, q):
        out[..., span] = twists.convert_wrench_series(
            x[..., span], motion[..., span], T, "body", twist
        )
    return out


def _draw(panel: Axes, t: Array, x: Array, column: Column, style: dict[str, Any]) -> None:
    for color, i in enumerate(column.components):
        panel.plot(t, x[:, i], color=f"C{color % 10}", **style)
    panel.margins(x=0.01)
    panel.grid(alpha=0.25, linewidth=0.6)
    panel.ticklabel_format(axis="y", scilimits=(-2, 3), useMathText=True)
    low, high = panel.get_ylim()
    if high - low < _NOTHING * max(1.0, abs(low), abs(high)):
        reach = max(0.1, 0.1 * abs(low))
        panel.set_ylim(low - reach, high + reach)


def _legend(panel: Axes, column: Column) -> None:
    lines = panel.get_lines()[: len(column.labels)][:_MOST_IN_LEGEND]
    labels = list(column.labels)[:_MOST_IN_LEGEND]
    hidden = len(column.labels) - len(labels)
    panel.legend(
        lines,
        labels,
        title=column.title + (f" (and {hidden} more)" if hidden else ""),
        ncols=min(len(labels), 6),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.08),
        frameon=False,
        fontsize="small",
        handlelength=1.2,
        columnspacing=1.0,
    )


def _label(column: Column, order: int) -> str:
    """Symbol and unit of a time derivative; order -1 is the coordinate itself."""
    if order < 0:
        symbol = {"\\omega": "\\theta", "v": "p"}.get(column.symbol, "q")
        return f"${symbol}$ ({column.unit.removesuffix('/s')})"
    return f"{_derivative(column.symbol, order)} ({_unit(column.unit, order)})"


def _derivative(symbol: str, order: int) -> str:
    dots = symbol.startswith("\\dot ")
    base, order = (symbol.removeprefix("\\dot "), order + 1) if dots else (symbol, order)
    if order > 2:
        return f"${base}^{{({order})}}$"
    return f"${['', chr(92) + 'dot ', chr(92) + 'ddot '][order]}{base}$"


def _unit(unit: str, order: int) -> str:
    base, power = (unit.removesuffix("/s"), order + 1) if unit.endswith("/s") else (unit, order)
    if power == 0:
        return base
    return f"{base}/s" + (f"$^{power}$" if power > 1 else "")


def _array(name: str, value: ArrayLike, width: int) -> Array:
    array = np.asarray(value, float)
    ndim = 2 if name == "q" else 3
    if array.ndim != ndim or array.shape[-1] != width:
        expected = f"(n, {width})" if ndim == 2 else f"(n, orders, {width})"
        raise ArgumentError(f"{name} must have shape {expected}, got {array.shape}")
    return array
