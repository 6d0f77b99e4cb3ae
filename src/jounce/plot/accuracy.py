"""Plots of accuracy: what a motion should keep, and what a method costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.dynamics import centroidal_momentum
from jounce.errors import ArgumentError
from jounce.plot._common import beside, finite_array, label_text, panels
from jounce.simulation import SimulatedMotion

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["drift", "work_precision"]

_MARKS = "os^vDP*X"


def drift(
    motions: SimulatedMotion | Mapping[str, SimulatedMotion],
    *,
    momentum: bool | None = None,
    title: str | None = None,
) -> Figure:
    """Plot how far energy and momentum go from where they begin.

    The energy of a motion without forces is constant. So is, for a robot that floats, the angular
    momentum about its center of mass, and the linear one but for the impulse of gravity ``m g t``.

    Args:
        motions: one motion, or several by name; of a batch the first one is drawn.
        momentum: whether to draw the momentum, too; by default if the robot has a free joint at its
            root.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> motion = jc.simulate(jc.models.chain(2), [0, 0], [1, 0], np.linspace(0, 1, 11))
        >>> len(plot.drift({"dop853": motion}).axes) > 0
        True
    """
    named = {"": motions} if isinstance(motions, SimulatedMotion) else dict(motions)
    if not named or not all(isinstance(motion, SimulatedMotion) for motion in named.values()):
        raise ArgumentError(
            f"motions must be one or several simulated motions, got {motions!r:.60}"
        )
    if momentum is None:
        momentum = all(motion.model.joints[0].type == "free" for motion in named.values())
    rows = 3 if momentum else 1
    labels = ["energy (J)", "angular momentum\n(N m s)", "linear momentum\n(N s)"][:rows]
    figure, axes = panels(rows, 1, (8.4, 1.2 + 1.9 * rows), sharex=True)
    for color, (name, motion) in enumerate(named.items()):
        for panel, change in zip(axes[:, 0], _changes(motion)[:rows], strict=True):
            shown = np.where(change > 0, change, np.nan)  # a logarithm has no zero
            panel.semilogy(motion.t, shown, color=f"C{color % 10}", linewidth=1.3, label=name)
    for panel, label in zip(axes[:, 0], labels, strict=True):
        panel.set_ylabel(f"change of\n{label}")
        _grid(panel)
    axes[-1, 0].set_xlabel("time (s)")
    if len(named) > 1:
        lines = axes[0, 0].get_lines()
        beside(axes[0, 0], lines, [label_text(name) for name in named], "")
    if title:
        figure.suptitle(title, fontsize="large")
    return figure


def _changes(motion: SimulatedMotion) -> tuple[Array, Array, Array]:
    """Sizes of the changes of energy, angular and linear momentum."""
    q, v = (x.reshape(-1, *x.shape[-2:])[0] for x in (motion.q, motion.v))
    one = SimulatedMotion(motion.model, motion.t, q, v)
    h = centroidal_momentum(one.model, q, v)
    fallen = one.model.inertias[:, 0].sum() * (one.t - one.t[0])[:, None] * one.model.gravity
    angular, linear = h[:, :3] - h[:1, :3], h[:, 3:] - h[:1, 3:] - fallen
    return (
        np.abs(one.energy - one.energy[0]),
        np.linalg.norm(angular, axis=-1),
        np.linalg.norm(linear, axis=-1),
    )


def work_precision(
    results: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    work: str = "evaluations of the dynamics",
    error: str = "error",
    orders: Mapping[str, int] | None = None,
    title: str | None = None,
) -> Figure:
    """Plot the error that methods make against what they cost, both on logarithmic axes.

    Args:
        results: for each method, costs (n,) and errors (n,), with NaN where there is none.
        work: what the cost is.
        error: what the error is.
        orders: of methods whose slope is drawn beside them as a dotted line: the error falls with
            that power of the cost.
        title: of the figure.

    Examples:
        >>> from jounce import plot
        >>> results = {"rk4": ([10, 100], [1e-2, 1e-6]), "euler": ([10, 100], [1e-1, 1e-2])}
        >>> len(plot.work_precision(results).axes)
        1
    """
    figure, axes = panels(1, 1, (8.6, 5.0))
    panel = axes[0, 0]
    for k, (name, (costs, errors)) in enumerate(results.items()):
        x = finite_array(f"costs of {name!r}", costs, ("n",))
        y = finite_array(f"errors of {name!r}", errors, (len(x),), gaps=True)
        style: dict[str, Any] = {"color": f"C{k % 10}", "marker": _MARKS[k % len(_MARKS)]}
        panel.loglog(x, np.where(y > 0, y, np.nan), linewidth=1.3, markersize=4.5, **style)
    lines = list(panel.get_lines())
    for k, name in enumerate(results):
        if name in (orders or {}):
            x, y = (np.asarray(points, float) for points in results[name])
            _slope(panel, x, y, (orders or {})[name], f"C{k % 10}")
    panel.set(xlabel=work, ylabel=error)
    _grid(panel)
    beside(panel, lines, [label_text(name) for name in results], "")
    if title:
        figure.suptitle(title, fontsize="large")
    return figure


def _slope(panel: Axes, x: Array, y: Array, order: int, color: str) -> None:
    """A dotted line of that slope through the middle of the points, over their costs."""
    kept = y > 0
    middle = np.exp(np.median(np.log(y[kept]) + order * np.log(x[kept])))
    ends = np.array([x.min(), x.max()])
    panel.loglog(ends, middle * ends ** float(-order), color=color, linewidth=0.8, linestyle=":")


def _grid(panel: Axes) -> None:
    panel.grid(alpha=0.25, linewidth=0.6)
    panel.margins(x=0.02)
