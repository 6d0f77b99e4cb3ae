"""Plots of series: a motion and its derivatives, forces and theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.lie import twists
from jounce.model import Model
from jounce.model.joints import ELEMENTARY
from jounce.plot._common import beside, finite_array, label_text, legend_columns, panels
from jounce.plot.columns import Column, force_columns, motion_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["forces", "motion", "series"]

_Style = dict[str, Any]
_SOLID: _Style = {"linewidth": 2.8, "alpha": 0.45}
_ALONE: _Style = {"linewidth": 1.4}
_DASHED: _Style = {"linewidth": 1.1, "linestyle": (0, (4, 3))}
_LIMIT: _Style = {"linewidth": 0.9, "linestyle": (0, (1, 2)), "zorder": 1}
_BEYOND: _Style = {
    "color": "red",
    "linewidth": 4,
    "alpha": 0.5,
    "zorder": 1.5,
    "solid_capstyle": "round",
}
_WIDTH, _HEIGHT = 3.7, 1.55
"""Of a panel, inches."""
_LINE = 0.175
"""Of a legend, inches."""
_NOTHING = 1e-13
"""A panel whose lines span less than this does not zoom in on rounding errors."""


def motion(
    model: Model,
    t: ArrayLike,
    q: ArrayLike,
    motion: ArrayLike,
    *,
    compare: ArrayLike | None = None,
    twist: str = "body",
    limits: bool = True,
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
        limits: whether to draw the limits of coordinates and rates, see `series`.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> arm, t = jc.models.panda_like(), np.linspace(0, 1, 5)
        >>> figure = plot.motion(arm, t, np.zeros((5, 7)), np.zeros((5, 2, 7)))  # q, v, dv/dt
        >>> len(figure.axes)
        3
    """
    x = _orders("motion", motion, model.nv)
    coordinates = finite_array("q", q, ("n", model.nq))
    rows = [_coordinates(model, coordinates)[:, None], _twists(model, coordinates, x, twist)]
    other = None
    if compare is not None:
        y = np.concatenate([x[:, :1], _orders("compare", compare, model.nv)], axis=1)
        other = np.full((len(y), y.shape[1] + 1, model.nv), np.nan)
        other[:, 2:] = _twists(model, coordinates, y, twist)[:, 1:]
    columns = motion_columns(model, twist)
    return series(
        t, np.concatenate(rows, axis=1), columns, compare=other, below=1, limits=limits, title=title
    )


def forces(
    model: Model,
    t: ArrayLike,
    tau: ArrayLike,
    *,
    q: ArrayLike | None = None,
    motion: ArrayLike | None = None,
    twist: str = "body",
    limits: bool = True,
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
        limits: whether to draw the limits of the forces, see `series`.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> arm, t = jc.models.panda_like(), np.linspace(0, 1, 5)
        >>> figure = plot.forces(arm, t, np.zeros((5, 2, 7)))  # torques and their rates
        >>> len(figure.axes)
        2
    """
    x = _orders("tau", tau, model.nv)
    if twist != "body":
        if q is None or motion is None:
            raise ArgumentError(
                f"q and motion: needed for wrenches in the {twist!r} representation"
            )
        x = _wrenches(
            model,
            finite_array("q", q, ("n", model.nq)),
            _orders("motion", motion, model.nv),
            x,
            twist,
        )
    return series(t, x, force_columns(model, twist), limits=limits, title=title)


def series(
    t: ArrayLike,
    values: ArrayLike,
    columns: Sequence[Column],
    *,
    compare: ArrayLike | None = None,
    below: int = 0,
    limits: bool = True,
    title: str | None = None,
) -> Figure:
    """Plot a series: a row of panels for each order, a column for each group of components.

    With more groups than orders it is the other way round: a row for each group, with its names
    at the right.

    Args:
        t: (n,) times, s.
        values: (n, orders, width) the quantity and its time derivatives.
        columns: which components go together.
        compare: like `values`, drawn dashed on top; NaN is left out.
        below: number of orders that come before order 0, as integrals of it.
        limits: whether to draw the limits of the columns: dotted lines, and red where lines are
            beyond them. Limits far from the lines are not shown.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> t = np.linspace(0, 1, 5)
        >>> columns = [plot.Column("tool", "p", "m", range(3), "xyz")]
        >>> figure = plot.series(t, np.zeros((5, 2, 3)), columns)  # position and velocity
        >>> len(figure.axes)
        2
    """
    time = finite_array("t", t, ("n",))
    x = finite_array("values", values, (len(time), "orders", "components"))
    other = None
    if compare is not None:
        shape = (len(time), "orders", x.shape[2])
        other = finite_array("compare", compare, shape, gaps=True)
    figure, grid, above = _panels(columns, x.shape[1])
    for j, column in enumerate(columns):
        for k in range(x.shape[1]):
            panel = grid[k, j]
            _draw(panel, time, x[:, k], column, _SOLID if other is not None else _ALONE)
            if other is not None and k < other.shape[1]:
                _draw(panel, time, other[:, k], column, _DASHED)
            bounds = column.limits[k] if limits and k < len(column.limits) else None
            if bounds is not None:
                _draw_limits(panel, time, x[:, k], column, bounds)
            panel.set_ylabel(_label(column, k - below))
        _legend(grid[0 if above else -1, j], column, above)
    for panel in grid[-1] if above else grid[:, -1]:
        panel.set_xlabel("time (s)")
    figure.align_ylabels()
    if title:
        figure.suptitle(title, fontsize="large")
    return figure


def _panels(columns: Sequence[Column], orders: int) -> tuple[Figure, Any, bool]:
    """A figure, its panels by order and column, and whether legends stand above.

    Orders go down and columns across, with legends above; or, where there are more columns than
    orders, the other way round, with legends at the right. Panels are as high as their legends.
    """
    above = orders >= len(columns)
    shape = (orders, len(columns)) if above else (len(columns), orders)
    if above:
        lines = max(
            -(-len(column.labels) // legend_columns(column.labels, _WIDTH)) for column in columns
        )
        heights = [_HEIGHT] * orders
        size = ((_WIDTH + 0.4) * shape[1] + 0.4, sum(heights) + _LINE * (lines + 2) + 1.0)
    else:
        heights = [max(_HEIGHT, _LINE * (len(column.labels) + 2.6)) for column in columns]
        widest = max(len(label_text(x)) for column in columns for x in (*column.labels, "x" * 24))
        size = (_WIDTH * shape[1] + 0.085 * widest + 0.6, sum(heights) + 0.8)
    ratios = {"height_ratios": heights}
    figure, axes = panels(*shape, size, sharex=True, gridspec_kw=ratios)
    return figure, axes if above else axes.T, above


def _coordinates(model: Model, q: Array) -> Array:
    """Coordinates with one number per rate: rotations as rotation vectors, then positions."""
    out = np.empty((len(q), model.nv))
    nodes = model.coordinates
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
    nodes = model.coordinates
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


def _draw_limits(panel: Axes, t: Array, x: Array, column: Column, limits: Array) -> None:
    """Dotted lines at limits, red below lines that are beyond them.

    Limits that are far from the lines stay outside of the panel.
    """
    low, high = panel.get_ylim()
    reach = 0.6 * (high - low)
    for value in np.unique(limits[np.isfinite(limits)]):
        owners = np.flatnonzero((limits == value).any(axis=0))
        color = f"C{owners[0] % 10}" if len(owners) == 1 else "0.4"
        panel.axhline(float(value), color=color, **_LIMIT)
        if low - reach <= value <= high + reach:
            pad = 0.05 * reach
            low, high = min(low, float(value) - pad), max(high, float(value) + pad)
    for k, i in enumerate(column.components):
        beyond = (x[:, i] < limits[0, k]) | (x[:, i] > limits[1, k])
        if beyond.any():
            panel.plot(t, np.where(beyond, x[:, i], np.nan), **_BEYOND)
    panel.set_ylim(low, high)


def _legend(panel: Axes, column: Column, above: bool) -> None:
    lines = panel.get_lines()[: len(column.labels)]
    labels = [label_text(name) for name in column.labels]
    title = label_text(column.title) if len(column.title) < 34 else _two_lines(column.title)
    if not above:
        beside(panel, lines, labels, title)
        return
    panel.legend(
        lines,
        labels,
        title=title,
        ncols=legend_columns(labels, _WIDTH),
        loc="lower center",
        bbox_to_anchor=(0.5, 1.08),
        borderaxespad=0,
        frameon=False,
        fontsize="small",
        handlelength=1.2,
        columnspacing=1.0,
    )


def _two_lines(title: str) -> str:
    """Break a long title after its colon, or leave out its middle."""
    name, colon, rest = title.partition(": ")
    return f"{label_text(name)}:\n{label_text(rest)}" if colon else label_text(title)


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


def _orders(name: str, value: ArrayLike, width: int) -> Array:
    return finite_array(name, value, ("n", "orders", width))
