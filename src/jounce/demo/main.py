"""Run the demo and print its tables."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from jounce import _core, plot
from jounce.demo import experiment, robot, timing
from jounce.errors import MissingExtraError

__all__ = ["run"]

_PAPER_INVERSE = (2.326, 3.078, 2.867, 4.355, 5.960, 8.171)
_PAPER_FORWARD = (4.106, 4.802, 6.486, 6.461, 8.589, 11.085)
"""us, the caption of ali's Fig. 3: the authors' C++ on an Intel Core i7-12700H."""


_NEXT = """Where to go next:
  jounce view robot.urdf    your own robot in the browser
  examples/                 scripts: control, planning, contacts
  docs/tutorial.md          from the first model to a controlled robot"""


def run(out: Path, *, quick: bool = False, twist: str = "body") -> bool:
    """Reproduce ali, Sec. 7: compute, check, time, draw; show a robot that moves; print it all.

    Args:
        out: directory for the figures; made if needed.
        quick: fewer times, lower orders, smaller robots.
        twist: representation of the base's twist and wrench in the figures.

    Returns:
        Whether forward dynamics returned the input of inverse dynamics.
    """
    console, pyplot = _rich_console(), plot.pyplot()
    pyplot.switch_backend("Agg")
    begin = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    core = _core.core_info()
    console.print(
        "[bold]jounce demo[/]: the aerial manipulator of Ali, Gabellieri, Franchi (2026), Sec. 7\n"
        f"core {core['isa']}, {core['pack_width']} states per register, {core['machine']}"
    )
    order, steps = (2, 300) if quick else (experiment.ORDER, experiment.STEPS)
    result = experiment.round_trip(order, steps)
    model, orders = result.model, range(order + 1)
    console.print(
        f"{model.n_bodies} bodies, {model.nv} degrees of freedom, {len(result.t)} times over "
        f"{experiment.STEPS * experiment.STEP_SIZE:g} s, orders 0 to {order}; "
        "base twist body-fixed, derivatives of components\n"
    )
    console.print(_error_table(result))
    budget = timing.BUDGET / 10 if quick else timing.BUDGET
    per_order = timing.order_times(model, orders, 64 if quick else timing.BATCH, budget)
    console.print(_time_table(per_order))
    sizes = (1, 4, 20) if quick else (1, 5, 10, 20, 40, 80, 120, 160, 199)
    times = timing.scaling(sizes, orders, fixed=20, up_to=10, budget=budget)
    console.print(_growth(times))
    from jounce.demo import figures

    for path in figures.draw(result, times, out, twist, dpi=70 if quick else 130):
        console.print(f"wrote {path}", highlight=False)
    _robot(console, out, quick)
    verdict = (
        "[green]forward dynamics returned the input of inverse dynamics[/]"
        if result.passed
        else "[bold red]forward dynamics did NOT return the input of inverse dynamics[/]"
    )
    console.print(f"{verdict}  ({time.perf_counter() - begin:.1f} s)\n")
    console.print(_NEXT, highlight=False)
    return result.passed


def _robot(console: Any, out: Path, quick: bool) -> None:
    """Show a robot that moves, as a picture and as a page that plays it."""
    motion = robot.squat(51 if quick else 201)
    driven = motion.model.actuated
    share = np.abs(motion.tau[:, driven]) / motion.model.effort_limit[driven]
    low, high = 1e3 * motion.pressure[:, 0].min(), 1e3 * motion.pressure[:, 0].max()
    console.print(
        f"\nA humanoid with {motion.model.nv} degrees of freedom bends its knees: motors give up "
        f"to {100 * share.max():.0f} % of what they can, and the ground's force acts {low:.0f} to "
        f"{high:.0f} mm in front of the ankles, under the soles.",
        highlight=False,
    )
    try:
        console.print(f"wrote {robot.draw(motion, out / 'robot.png', 70 if quick else 130)}")
        console.print(f"wrote {robot.play(motion, out / 'robot.html')}: open it in a browser")
    except MissingExtraError as error:
        console.print(f"no pictures of it: {error}", markup=False)


def _error_table(result: experiment.RoundTrip) -> Any:
    table = _table(
        "Round trip: motion to forces to motion",
        "r",
        "largest derivative",
        "error",
        "last bit of the forces",
        "error of the forces",
        caption="error: largest absolute one of the motion's derivative of order r+1, SI units. "
        "Last bit: how far that derivative moves when every force changes in its last bit; no "
        "method that gets the forces rounded to doubles can promise less. Error of the forces: "
        "inverse dynamics of what came out against the forces that went in, relative.",
    )
    largest = np.abs(result.motion[:, 1:]).max(axis=(0, 2))
    columns = (largest, result.motion_error, result.last_bit, result.force_error)
    for r, row in enumerate(zip(*columns, strict=True)):
        table.add_row(str(r), *(f"{x:.1e}" for x in row))
    return table


def _time_table(times: timing.OrderTimes) -> Any:
    table = _table(
        "Time per call, µs (batch: per state, one thread)",
        "r",
        "inverse",
        "batch",
        "paper",
        "forward",
        "batch",
        "paper",
        caption="Calls from Python at random states, best of ten runs. Paper: the authors' C++ "
        "as they published it, on another processor (i7-12700H).",
    )
    ours = 1e6 * np.array(times)
    for r, (inverse, forward, inverse_batch, forward_batch) in enumerate(ours.T):
        row = (inverse, inverse_batch, _PAPER_INVERSE[r], forward, forward_batch, _PAPER_FORWARD[r])
        table.add_row(str(r), *(f"{x:.2f}" for x in row))
    return table


def _growth(times: timing.Scaling) -> str:
    large = times.bodies >= min(50, times.bodies[-2])
    fits = [
        (timing.exponent(times.bodies[large], y[-1, large]), 1e6 * y[-1, -1])
        for y in (times.inverse, times.forward)
    ]
    ratio = [y[-1] / y[0] for y in times.by_order[:2]]
    top = len(times.by_order.inverse) - 1
    return (
        f"Growth at r = {len(times.inverse) - 1} up to N = {times.bodies[-1]:.0f} bodies: "
        f"inverse ~ N^{fits[0][0]:.2f} ({fits[0][1]:.0f} µs), "
        f"forward ~ N^{fits[1][0]:.2f} ({fits[1][1]:.0f} µs).\n"
        f"Order {top} against order 0 at N = {times.fixed_bodies}: inverse {ratio[0]:.1f} times, "
        f"forward {ratio[1]:.1f} times.\n"
    )


def _table(title: str, *columns: str, caption: str) -> Any:
    from rich.table import Table

    table = Table(title=title, caption=caption, caption_justify="left", title_justify="left")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _rich_console() -> Any:
    try:
        from rich.console import Console
    except ImportError:
        raise MissingExtraError(
            "the demo needs rich and matplotlib: pip install 'jounce[cli]'"
        ) from None
    return Console()
