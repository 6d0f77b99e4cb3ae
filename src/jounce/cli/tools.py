"""Commands that show the package at work: ``view``, ``bench`` and ``demo``."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import jounce
from jounce.cli import _bench
from jounce.cli._common import OK, WRONG, Commands, add_robot, load_robot
from jounce.cli._output import Table, add_output, print_json, print_tables
from jounce.errors import ArgumentError, MissingFileError
from jounce.lie.twists import REPRESENTATIONS

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    view = commands.add_parser(
        "view",
        help="show a robot, or a motion of it, in the browser",
        description="Show a robot with sliders for its joints, or play a motion that simulate or "
        "rollout wrote. Listens on 127.0.0.1 unless --host is given. Needs the extra 'view'.",
    )
    add_robot(view)
    view.add_argument("--motion", type=Path, metavar="FILE", help="a .npz file with t, q and v")
    view.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    view.add_argument("--port", type=int, help="port to listen on")
    view.add_argument("--html", type=Path, metavar="FILE", help="write one page instead")
    view.set_defaults(run=_view)
    bench = commands.add_parser(
        "bench",
        help="time the dynamics of a robot, beside Pinocchio where it is installed",
        description="Microseconds per call from Python on one core, at random states: the least of "
        "many repetitions, jounce and Pinocchio in turn. Of the ways that Pinocchio offers the "
        "fastest counts: both conventions of aba and crba, for a batch a loop or its own call for "
        "batches on one thread. Results are compared first; what differs is not timed.",
    )
    add_robot(bench)
    bench.add_argument(
        "--batch", type=int, default=256, metavar="N", help="states of a batch (default: 256)"
    )
    bench.add_argument(
        "--time", type=float, default=0.2, metavar="S", help="for each number (default: 0.2 s)"
    )
    add_output(bench, files=False)
    bench.set_defaults(run=_run_bench)
    _add_demo(commands)


def _add_demo(commands: Commands) -> None:
    demo = commands.add_parser(
        "demo",
        help="a humanoid that moves, and the experiment of a paper, in figures",
        description="A humanoid squats: robot.png, and robot.html, which plays the motion in any "
        "browser. Then reproduce Sec. 7 of Ali, Gabellieri, Franchi (2026): forces and their time "
        "derivatives along a trajectory, the motion recovered from them, and how the time per "
        "call grows. Prints tables, writes figures; takes about half a minute. Needs the extra "
        "'cli'.",
    )
    demo.add_argument(
        "--out",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="directory for the figures (default: %(default)s)",
    )
    demo.add_argument(
        "--quick", action="store_true", help="fewer times, lower orders, smaller robots"
    )
    demo.add_argument(
        "--twist",
        choices=REPRESENTATIONS,
        default="body",
        help="representation of the base's twist and wrench in the figures; the paper's is "
        "spatial (default: %(default)s)",
    )
    demo.set_defaults(run=_demo)


def _demo(options: argparse.Namespace) -> int:
    from jounce import demo

    return OK if demo.run(options.out, quick=options.quick, twist=options.twist) else WRONG


def _view(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    shown = model if options.motion is None else _motion(model, options.motion)
    if options.html is not None:
        print(f"wrote {jounce.viewer.export(shown, options.html)}")
        return OK
    given = {"host": options.host, "port": options.port}
    viewer = jounce.view(shown, **{name: x for name, x in given.items() if x is not None})
    print("Ctrl-C ends it", flush=True)
    viewer.wait()
    return OK


def _motion(model: jounce.Model, path: Path) -> jounce.SimulatedMotion:
    """The motion in a file, the first of a batch."""
    try:
        with np.load(path, allow_pickle=False) as file:
            t, q, v = (np.asarray(file[name], float) for name in "tqv")
    except FileNotFoundError:
        raise MissingFileError(f"--motion: there is no file {str(path)!r}") from None
    except (KeyError, ValueError, OSError) as error:
        raise ArgumentError(f"--motion: {path} is no motion with t, q and v: {error}") from None
    if q.shape[-1:] != (model.nq,) or v.shape[-1:] != (model.nv,):
        raise ArgumentError(
            f"--motion: q {q.shape} and v {v.shape} of {path} do not fit a robot with nq = "
            f"{model.nq} and nv = {model.nv}"
        )
    q, v = (x.reshape(-1, *x.shape[-2:])[0] for x in (q, v))
    return jounce.SimulatedMotion(model, t, q, v)


def _run_bench(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    if options.batch < 1 or not options.time > 0:
        raise ArgumentError("--batch and --time must be positive")
    found = _bench.measure(model, options.batch, options.time)
    if options.json:
        print_json(found._asdict() | {"rows": [row._asdict() for row in found.rows]})
        return OK
    heads = ["µs", "jounce", "Pinocchio", "jounce, batch", "Pinocchio, batch"]
    rows = [
        [row.name, *("-" if np.isnan(x) else f"{1e6 * x:.3g}" for x in row[1:])]
        for row in found.rows
    ]
    core = jounce.core_info()
    title = (
        f"{model.name}: {model.n_bodies} bodies, {model.nv} rates; core {core['isa']}, "
        f"{options.batch} states per batch, times per state"
    )
    print_tables([Table(heads, rows, title)])
    print(f"\n{found.remark}")
    return OK
