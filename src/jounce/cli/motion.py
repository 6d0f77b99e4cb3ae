"""Commands that move a robot: ``simulate`` and ``rollout``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

import jounce
from jounce._core import memory
from jounce._types import Array
from jounce.cli._common import (
    INTERRUPTED,
    OK,
    Commands,
    add_robot,
    add_states,
    complain,
    count,
    load_robot,
    read_state,
)
from jounce.cli._output import Result, Table, add_output, deliver, progress
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.labels import coordinate_names, rate_names, rate_units
from jounce.simulation.methods import GEOMETRIC, METHODS
from jounce.simulation.taylor import TAYLOR

__all__ = ["PORTION", "add_commands"]

PORTION = 5000
"""Steps of a rollout between two movements of its bar; they do not change the result."""


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    simulate = commands.add_parser(
        "simulate",
        help="the motion of a robot over some time",
        description="Follow the motion from a state, with constant forces or with a row of forces "
        "for each time. Prints where each joint begins and ends and how the energy changes.",
    )
    _add_common(simulate, "dop853")
    simulate.add_argument(
        "--time", type=float, default=1.0, metavar="S", help="how long, s (default: %(default)s)"
    )
    simulate.add_argument(
        "--rate", type=float, default=100.0, metavar="HZ", help="times per second (default: 100)"
    )
    simulate.add_argument("--dt", type=float, metavar="S", help="longest step of fixed steps")
    simulate.add_argument("--rtol", type=float, default=1e-9, help="relative error of a step")
    simulate.add_argument("--atol", type=float, default=1e-9, help="absolute error of a step")
    simulate.add_argument(
        "--passive", action="store_true", help="with springs, damping and friction"
    )
    simulate.set_defaults(run=_simulate)
    rollout = commands.add_parser(
        "rollout",
        help="steps of equal length, with forces for each of them",
        description="Take steps from a state, or from many; --tau is a file with a row of forces "
        "for each step, or one for all steps.",
    )
    _add_common(rollout, "rkmk4")
    rollout.add_argument(
        "--dt", type=float, default=0.001, metavar="S", help="step (default: 1 ms)"
    )
    rollout.add_argument(
        "--steps", type=count, metavar="T", help="how many (default: rows of --tau, or 1000)"
    )
    rollout.add_argument("--every", type=count, default=1, metavar="K", help="keep each K-th state")
    rollout.set_defaults(run=_rollout)


def _add_common(command: argparse.ArgumentParser, method: str) -> None:
    add_robot(command)
    add_states(command, "v", "tau")
    command.add_argument(
        "--method",
        choices=[*METHODS, *GEOMETRIC, TAYLOR],
        default=method,
        metavar="METHOD",
        help=f"{', '.join([*METHODS, *GEOMETRIC, TAYLOR])} (default: %(default)s)",
    )
    command.add_argument(
        "--threads", type=int, default=1, help="for many states; 0: all cores (default: 1)"
    )
    command.add_argument("--plot", type=Path, metavar="FILE", help="draw the motion (.png, .svg)")
    add_output(command)


class _Motion(NamedTuple):
    model: Model
    t: Array
    q: Array
    v: Array


def _simulate(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    if not (np.isfinite(options.time) and options.time > 0 and 0 < options.rate < np.inf):
        raise ArgumentError("--time and --rate must be positive")
    size = 8.0 * options.time * options.rate * (1 + model.nq + model.nv)
    memory.require("simulate", size, size, "take a lower --rate or a shorter --time")
    times = np.linspace(0, options.time, max(2, round(options.time * options.rate) + 1))
    q, v, tau = (read_state(options, model, name) for name in ("q", "v", "tau"))
    control = _rows(options, tau, len(times) - 1)
    motion = jounce.simulate(
        model,
        q,
        v,
        times,
        control if np.any(control) else None,
        options.method,
        dt=options.dt,
        rtol=options.rtol,
        atol=options.atol,
        passive=options.passive,
        threads=options.threads,
    )
    _deliver(options, _Motion(model, motion.t, motion.q, motion.v))
    return complain("interrupted", INTERRUPTED) if motion.interrupted else OK


def _rollout(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    q, v, tau = (read_state(options, model, name) for name in ("q", "v", "tau"))
    tau = _rows(options, tau, options.steps or 1000)
    steps = options.steps or tau.shape[-2]
    if tau.shape[-2] < steps:
        raise ArgumentError(f"--steps {steps}, but --tau has {tau.shape[-2]} rows")
    q, v = _in_portions(options, model, (q, v), tau[..., :steps, :])
    t = options.dt * options.every * np.arange(q.shape[-2])
    _deliver(options, _Motion(model, t, q, v))
    return OK


def _rows(options: argparse.Namespace, tau: Array, count: int) -> Array:
    """Forces with a row for each time; those that have no rows are the same at all times."""
    if tau.ndim > 1 and options.tau != "random":
        return tau
    return np.repeat(tau[..., None, :], count, axis=-2)


def _in_portions(
    options: argparse.Namespace, model: Model, state: tuple[Array, Array], tau: Array
) -> tuple[Array, Array]:
    """A rollout, some steps at a time: a step needs nothing but the state before it."""
    portion = max(1, PORTION // options.every) * options.every
    steps = tau.shape[-2]
    found: list[tuple[Array, Array]] = []
    with progress("rollout", steps) as done:
        for start in range(0, max(steps, 1), portion):
            q, v = jounce.rollout(
                model,
                *state,
                tau[..., start : start + portion, :],
                options.dt,
                method=options.method,
                every=options.every,
                threads=options.threads,
            )[:2]
            state = q[..., -1, :], v[..., -1, :]
            first = 1 if found else 0
            found.append((q[..., first:, :], v[..., first:, :]))
            done(min(start + portion, steps))
    q, v = (np.concatenate(parts, axis=-2) for parts in zip(*found, strict=True))
    return q, v


def _deliver(options: argparse.Namespace, motion: _Motion) -> None:
    model = motion.model
    names = coordinate_names(model), rate_names(model)
    results = {
        "t": Result(motion.t, [""], 0),
        "q": Result(motion.q, names[0]),
        "v": Result(motion.v, names[1]),
    }
    if options.plot is not None:
        _draw(options.plot, motion)
    deliver(options, results, _tables(motion))


def _first(motion: _Motion) -> _Motion:
    """The first motion of a batch."""
    q, v = (x.reshape(-1, *x.shape[-2:])[0] for x in (motion.q, motion.v))
    return motion._replace(q=q, v=v)


def _tables(motion: _Motion) -> list[Table]:
    if not motion.q.size:
        return []
    lead, model = motion.q.shape[:-2], motion.model
    one = _first(motion)
    moved = jounce.difference(model, one.q[0], one.q[-1])
    rows = [
        [name, *(f"{x:.6g}" for x in (moved[k], one.v[0, k], one.v[-1, k])), unit.coordinate]
        for k, (name, unit) in enumerate(zip(rate_names(model), rate_units(model), strict=True))
    ]
    title = f"{len(one.t)} states over {one.t[-1]:.6g} s"
    if lead:
        title += f", the first of {int(np.prod(lead))} motions"
    heads = ["rate", "moved by", "rate before", "rate after", "unit (per s)"]
    energy = [
        jounce.kinetic_energy(model, one.q, one.v),
        jounce.potential_energy(model, one.q),
    ]
    energy.append(energy[0] + energy[1])
    parts = [
        [name, *(f"{x:.9g}" for x in (e[0], e[-1], np.abs(e - e[0]).max()))]
        for name, e in zip(("kinetic", "potential", "sum"), energy, strict=True)
    ]
    return [
        Table(heads, rows, title),
        Table(["energy (J)", "before", "after", "largest change"], parts),
    ]


def _draw(path: Path, motion: _Motion) -> None:
    from jounce import plot

    plot.pyplot().switch_backend("Agg")
    one = _first(motion)
    figure = plot.motion(one.model, one.t, one.q, one.v[:, None])
    try:
        figure.savefig(path, dpi=130)
    except ValueError as error:  # an ending that matplotlib does not know
        raise ArgumentError(f"--plot: {error}") from None
    print(f"wrote {path}", file=sys.stderr)
