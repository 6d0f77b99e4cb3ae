"""The command line: ``jounce demo``, ``jounce info``, ``jounce show`` and ``jounce check``.

Exit codes: 0 all well; 1 a model or a result is wrong; 2 the command cannot be carried out (bad
usage, a file or a package is missing); 130 interrupted. ``jounce check`` ends with the code of the
most serious class of what it finds: 1 structure, 3 physics, 4 style.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import jounce
from jounce.errors import (
    MissingExtraError,
    MissingFileError,
    ModelError,
    ModelWarning,
    SingularError,
)
from jounce.io._findings import KINDS
from jounce.io._inspect import inspect
from jounce.lie.twists import REPRESENTATIONS
from jounce.model import Model, inertia
from jounce.model.joints import JOINT_TYPES

__all__ = ["main"]


def __dir__() -> list[str]:
    return sorted(__all__)


_OK, _WRONG, _CANNOT, _INTERRUPTED = 0, 1, 2, 130
_CODES = {"structure": _WRONG, "physics": 3, "style": 4}
"""Codes of what `jounce check` finds, the most serious first."""
_MOST_BODIES = 40


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        arguments: by default those of the process.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except ModelError as error:
        return _complain(error, _WRONG)
    except KeyError as error:
        return _complain(error.args[0] if error.args else error, _CANNOT)
    except (ImportError, OSError, ValueError) as error:
        if isinstance(error, BrokenPipeError):  # the reader, for example head, has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _OK
        return _complain(error, _CANNOT)
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    return code


def _complain(message: object, code: int) -> int:
    print(f"jounce: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jounce",
        description="Rigid-body dynamics on Lie groups.",
        epilog="Exit codes: 0 all well, 1 a model or a result is wrong, 2 the command cannot be "
        "carried out.",
    )
    parser.add_argument("--version", action="version", version=f"jounce {jounce.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    info = commands.add_parser(
        "info",
        help="say which compiled core runs",
        description="Print the version, the compiled core in use, and which extras are installed.",
    )
    info.set_defaults(run=_info)
    _add_show(commands)
    _add_check(commands)
    return parser


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo",
        help="fly the aerial manipulator of the paper: tables and figures",
        description="Reproduce Sec. 7 of Ali, Gabellieri, Franchi (2026): forces and their time "
        "derivatives along a trajectory, the motion recovered from them, and how the time per "
        "call grows. Prints tables, writes figures; takes about ten seconds. Needs the extra "
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


def _add_show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    show = commands.add_parser(
        "show",
        help="print a robot's tree, masses and limits",
        description="Load a robot and print its tree, conventions, masses, limits and frames.",
    )
    _add_file(show)
    show.add_argument("--all", action="store_true", help=f"more than {_MOST_BODIES} bodies")
    show.set_defaults(run=_show)


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    check = commands.add_parser(
        "check",
        help="look for everything doubtful in robots' files",
        description="List everything that is wrong or doubtful in the files, each with line and "
        "element, by class. structure: what keeps a file from being read, or what is left out of "
        "it. physics: inertias that no body can have, joints that move no inertia, what moves "
        "otherwise than the file says. style: extensions of vendors, and what strict readers "
        "refuse.",
        epilog="Exit code: 0 nothing found, 1 structure, 3 physics, 4 style only, 2 a file is "
        "missing; of several the first of 2, 1, 3, 4.",
    )
    _add_file(check, several=True)
    check.add_argument(
        "--ignore",
        action="append",
        choices=KINDS,
        default=[],
        metavar="CLASS",
        help="a class to leave out: structure, physics or style; may be given again",
    )
    check.set_defaults(run=_check)


def _add_file(command: argparse.ArgumentParser, several: bool = False) -> None:
    what = "a .urdf, .xacro, .sdf or .xml (MJCF) file"
    if several:
        command.add_argument("files", type=Path, nargs="+", metavar="file", help=what)
    else:
        command.add_argument("file", type=Path, help=what)
    command.add_argument(
        "--base",
        choices=JOINT_TYPES,
        default="fixed",
        help="the joint between the world and the root (default: %(default)s)",
        metavar="JOINT",
    )


def _demo(options: argparse.Namespace) -> int:
    from jounce import demo

    return _OK if demo.run(options.out, quick=options.quick, twist=options.twist) else _WRONG


def _info(options: argparse.Namespace) -> int:
    from importlib.util import find_spec

    core = jounce.core_info()
    extras = {"mujoco": "mjcf", "xacro": "xacro", "matplotlib": "plot"}
    extras |= {"rich": "cli", "scipy": "trajectories"}
    lines = {
        "jounce": jounce.__version__,
        "core": f"{core['isa']} (built: {', '.join(core['available'])})",
        "states per register": core["pack_width"],
        "processor": f"{core['machine']}, {core['cores']} cores",
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    for package, extra in extras.items():
        missing = f"missing: pip install 'jounce[{extra}]'"
        lines[package] = "installed" if find_spec(package) else missing
    for name, value in lines.items():
        print(f"{name:<20}{value}")
    return _OK


def _show(options: argparse.Namespace) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        model = jounce.load(options.file, base=options.base)
    print(model)
    print()
    most = model.n_bodies if options.all else _MOST_BODIES
    for line in [*_body_lines(model, most), "", *_joint_lines(model, most)]:
        print(line)
    others = [name for name in model.frames if name not in model.body_names]
    if others:
        print(f"\nfurther frames: {', '.join(others)}")
    print(f"\ntotal mass {jounce.total_mass(model):.6g} kg")
    for warning in caught:
        print(f"warning: {warning.message}", file=sys.stderr)
    return _OK


def _body_lines(model: Model, most: int) -> list[str]:
    masses, centers, tensors = inertia.about_com(model.inertias)
    moments = np.linalg.eigvalsh(tensors)
    width = _width("body", model.body_names[:most])
    lines = [
        f"{'body':<{width}}  {'mass kg':>10}  {'center of mass m':^28}  principal moments kg m²"
    ]
    for k, name in enumerate(model.body_names[:most]):
        center = " ".join(f"{x:9.4f}" for x in centers[k] + 0.0)
        principal = " ".join(f"{x:.3g}" for x in moments[k] + 0.0)
        lines.append(f"{name:<{width}}  {masses[k]:10.5g}  {center:^28}  {principal}")
    return lines + _more(model.n_bodies - most, "bodies")


def _joint_lines(model: Model, most: int) -> list[str]:
    width = _width("joint", model.joint_names[:most])
    lines = [f"{'joint':<{width}}  {'type':<11}  {'q':>9}  {'v':>9}  limits"]
    for joint in model.joints[:most]:
        q, v = model.q_slice(joint.name), model.v_slice(joint.name)
        lines.append(
            f"{joint.name:<{width}}  {joint.type:<11}  {q.start:>4}:{q.stop:<4}  "
            f"{v.start:>4}:{v.stop:<4}  {_limits(model, q, v)}"
        )
    return lines + _more(len(model.joints) - most, "joints")


def _limits(model: Model, q: slice, v: slice) -> str:
    if q.stop - q.start > 1:
        return "-"
    parts = []
    low, high = float(model.lower[q][0]), float(model.upper[q][0])
    if np.isfinite([low, high]).any():
        parts.append(f"q in [{low:.4g}, {high:.4g}]")
    for name, limits in (("v", model.velocity_limit), ("tau", model.effort_limit)):
        if np.isfinite(limits[v][0]):
            parts.append(f"|{name}| <= {limits[v][0]:.4g}")
    return ", ".join(parts) or "-"


def _width(head: str, names: Sequence[str]) -> int:
    return max(len(head), *map(len, names)) if names else len(head)


def _more(count: int, what: str) -> list[str]:
    return [f"... {count} more {what}, shown with --all"] if count > 0 else []


def _check(options: argparse.Namespace) -> int:
    codes = [_check_file(file, options.base, options.ignore) for file in options.files]
    return next((code for code in (_CANNOT, *_CODES.values()) if code in codes), _OK)


def _check_file(file: Path, base: str, ignored: Sequence[str]) -> int:
    """Print what is found in one file and return the code of the most serious class."""
    try:
        model, findings = inspect(file, base)
    except (MissingFileError, MissingExtraError) as error:
        return _complain(error, _CANNOT)
    found = [(finding.kind, finding.text()) for finding in findings]
    if model is not None:
        found += [("physics", text) for text in _unmovable(model)]
    found = [(kind, text) for kind, text in found if kind not in ignored]
    for kind in KINDS:
        for text in (text for other, text in found if other == kind):
            print(f"{kind}: {text}")
    count = {kind: sum(kind == other for other, _ in found) for kind in KINDS}
    parts = [f"{count[kind]} of {kind}" for kind in KINDS if count[kind]]
    if not parts:
        print(f"{file}: nothing to complain about")
        return _OK
    noun = "problem" if len(found) == 1 else "problems"
    print(f"{file}: {len(found)} {noun}: {', '.join(parts)}")
    return next(code for kind, code in _CODES.items() if count[kind])


def _unmovable(model: Model) -> list[str]:
    """Joints that move no inertia, whose acceleration no force determines."""
    moved = model.inertias.copy()
    for k in reversed(range(model.n_bodies)):
        if model.parents[k] >= 0:
            moved[model.parents[k]] += np.abs(moved[k])
    massless = np.all(moved == 0, axis=1)
    found = []
    for joint, body in enumerate(_bodies_of_joints(model)):
        if massless[body] and not model.armature[model.v_slice(joint)].all():
            found.append(
                f"joint {model.joint_names[joint]!r} moves no inertia (body "
                f"{model.body_names[body]!r} and all that it carries are massless), so forward "
                "dynamics is singular"
            )
    if not found:
        zeros = np.zeros(model.nv)
        try:
            jounce.forward_dynamics(model, jounce.neutral(model), zeros, zeros)
        except SingularError as error:
            found.append(str(error))
    return found


def _bodies_of_joints(model: Model) -> list[int]:
    """The body that each joint leads to; a body's massless nodes come right before its own."""
    out, body = [-1] * len(model.joints), -1
    for k in reversed(range(len(model.nodes.body))):
        body = int(model.nodes.body[k]) if model.nodes.body[k] >= 0 else body
        out[int(model.nodes.joint[k])] = body
    return out


if __name__ == "__main__":
    sys.exit(main())
