"""The figures of the demo, after Fig. 3 and Fig. 4 of ali."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from jounce import plot
from jounce._types import Array
from jounce.demo.experiment import RoundTrip
from jounce.demo.timing import Scaling, exponent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_WORDS = {"body": "body-fixed", "spatial": "spatial", "hybrid": "hybrid", "mixed": "mixed"}


def draw(result: RoundTrip, times: Scaling, out: Path, twist: str, dpi: int) -> list[Path]:
    """Write the three figures and return their paths.

    Args:
        result: what went in and came out.
        times: measured times.
        out: directory, which exists.
        twist: representation of the base's twist and wrench, see `jounce.twists`.
        dpi: resolution.
    """
    figures = {
        "fig3a_motion": plot.motion(
            result.model,
            result.t,
            result.q,
            result.motion,
            compare=result.a,
            twist=twist,
            title="Motion of the aerial manipulator: input of inverse dynamics (solid), "
            f"output of forward dynamics (dashed)\nbase twist: {_WORDS[twist]}",
        ),
        "fig3b_forces": plot.forces(
            result.model,
            result.t,
            result.tau,
            q=result.q,
            motion=result.motion,
            twist=twist,
            title="Base wrench and joint torques that the motion takes\n"
            f"base wrench: {_WORDS[twist]}",
        ),
        "fig4_scaling": _scaling(times),
    }
    paths = []
    for name, figure in figures.items():
        paths.append(out / f"{name}.png")
        figure.savefig(paths[-1], dpi=dpi)
        plot.pyplot().close(figure)
    return paths


def _scaling(times: Scaling) -> Figure:
    figure: Figure
    figure, (left, middle, right) = plot.pyplot().subplots(
        1, 3, figsize=(14.5, 4.6), layout="constrained"
    )
    _against_bodies(left, times.bodies, times.inverse, "inverse dynamics series")
    _against_bodies(middle, times.bodies, times.forward, "forward dynamics series")
    _against_order(right, times)
    figure.suptitle(
        "Time per call from Python, one core: aerial manipulator with 5 arms", fontsize="large"
    )
    return figure


def _against_bodies(panel: Axes, bodies: Array, seconds: Array, title: str) -> None:
    shades = plot.pyplot().get_cmap("viridis")(np.linspace(0.0, 0.9, len(seconds)))
    for order, row in reversed(list(enumerate(seconds))):
        label = f"$r = {order}$, $\\propto N^{{{_large_exponent(bodies, row):.2f}}}$"
        panel.plot(bodies, 1e6 * row, "o-", color=shades[order], markersize=3.5, label=label)
    panel.set(
        title=title, xlabel="number of bodies $N$", ylabel="time per call (µs)", ylim=(0, None)
    )
    _finish(panel)


def _large_exponent(bodies: Array, seconds: Array) -> float:
    """Exponent of the growth once the cost of a call no longer matters."""
    large = bodies >= min(50, bodies[-2])
    return exponent(bodies[large], seconds[large])


def _against_order(panel: Axes, times: Scaling) -> None:
    t = times.by_order
    orders = np.arange(len(t.inverse))
    for color, name, single, batch in (
        ("C0", "inverse", t.inverse, t.inverse_batch),
        ("C1", "forward", t.forward, t.forward_batch),
    ):
        panel.plot(orders, 1e6 * single, "o-", color=color, markersize=3.5, label=name)
        label = f"{name}, batch, per state"
        panel.plot(orders, 1e6 * batch, "s--", color=color, markersize=3.5, label=label)
    panel.set(
        title=f"$N = {times.fixed_bodies}$ bodies",
        xlabel="order $r$",
        ylabel="time per call (µs)",
        ylim=(0, None),
    )
    _finish(panel)


def _finish(panel: Axes) -> None:
    panel.grid(alpha=0.25, linewidth=0.6)
    panel.legend(frameon=False, fontsize="small", loc="upper left")
