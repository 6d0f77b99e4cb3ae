"""Commands about models and the package: ``info``, ``show``, ``check`` and ``convert``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import jounce
from jounce.cli._common import (
    CANNOT,
    OK,
    WRONG,
    Commands,
    add_robot,
    complain,
    load_robot,
    shipped_robots,
)
from jounce.cli._output import Table, add_output, print_json, print_tables
from jounce.errors import ArgumentError, MissingExtraError, MissingFileError, SingularError
from jounce.io._findings import KINDS, Finding
from jounce.io._inspect import inspect
from jounce.model import Model, inertia

__all__ = ["add_commands"]

_CODES = {"structure": WRONG, "physics": 3, "style": 4}
"""Codes of what `jounce check` finds, the most serious first."""
_MOST_BODIES = 40
_EXTRAS = {
    "mujoco": "mjcf",
    "xacro": "xacro",
    "matplotlib": "plot",
    "viser": "view",
    "rich": "cli",
    "scipy": "scipy",
    "casadi": "casadi",
    "jax": "jax",
    "torch": "torch",
}


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    info = commands.add_parser(
        "info",
        help="say which compiled core runs",
        description="Print the version, the compiled core in use, and which extras are installed; "
        "of a robot the same as show.",
    )
    add_robot(info, number="?")
    _add_all(info)
    add_output(info, files=False)
    info.set_defaults(run=_info)
    show = commands.add_parser(
        "show",
        help="print a robot's tree, masses and limits",
        description="Load a robot and print its tree, conventions, masses, limits and frames.",
    )
    add_robot(show)
    _add_all(show)
    add_output(show, files=False)
    show.set_defaults(run=_show)
    _add_check(commands)
    _add_convert(commands)


def _add_all(command: argparse.ArgumentParser) -> None:
    command.add_argument("--all", action="store_true", help=f"more than {_MOST_BODIES} bodies")


def _add_check(commands: Commands) -> None:
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
    add_robot(check, number="+")
    check.add_argument(
        "--ignore",
        action="append",
        choices=KINDS,
        default=[],
        metavar="CLASS",
        help="a class to leave out: structure, physics or style; may be given again",
    )
    add_output(check, files=False)
    check.set_defaults(run=_check)


def _add_convert(commands: Commands) -> None:
    convert = commands.add_parser(
        "convert",
        help="write a robot as URDF or MJCF, with joints locked or a payload added",
        description="Load a robot, change it if asked, and write it as the ending of the new file "
        "says.",
    )
    add_robot(convert)
    convert.add_argument(
        "target", type=Path, metavar="FILE", help="a new .urdf or .xml (MJCF) file"
    )
    convert.add_argument(
        "--lock",
        action="append",
        default=[],
        metavar="JOINT=VALUE",
        help="fix a joint at a coordinate (several numbers with commas); may be given again",
    )
    convert.add_argument(
        "--payload",
        action="append",
        default=[],
        metavar="FRAME=MASS[,X,Y,Z]",
        help="add a mass, kg, at a point of a body or frame, m; may be given again",
    )
    convert.set_defaults(run=_convert)


def _info(options: argparse.Namespace) -> int:
    from importlib.util import find_spec

    if options.robot is not None:
        return _show(options)
    core = jounce.core_info()
    installed = {package: find_spec(package) is not None for package in _EXTRAS}
    if options.json:
        numpy = {"python": sys.version.split()[0], "numpy": np.__version__}
        robots = list(shipped_robots())
        version = {"jounce": jounce.__version__, "core": dict(core)}
        print_json({**version, **numpy, "installed": installed, "robots": robots})
        return OK
    lines = {
        "jounce": jounce.__version__,
        "core": f"{core['isa']} (built: {', '.join(core['available'])})",
        "states per register": str(core["pack_width"]),
        "processor": f"{core['machine']}, {core['cores']} cores",
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "robots": ", ".join(shipped_robots()),
    }
    for package, extra in _EXTRAS.items():
        missing = f"missing: pip install 'jounce[{extra}]'"
        lines[package] = "installed" if installed[package] else missing
    print_tables([Table(["what", "which"], [*map(list, lines.items())], left=2)])
    return OK


def _show(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    if options.json:
        print_json(_facts(model))
        return OK
    print(model)
    print()
    most = model.n_bodies if options.all else _MOST_BODIES
    print_tables([_body_table(model, most)])
    _tell_more(model.n_bodies - most, "bodies")
    print()
    print_tables([_joint_table(model, most)])
    _tell_more(len(model.joints) - most, "joints")
    others = [name for name in model.frames if name not in model.body_names]
    if others:
        print(f"\nfurther frames: {', '.join(others)}")
    print(f"\ntotal mass {jounce.total_mass(model):.6g} kg")
    return OK


def _facts(model: Model) -> dict[str, Any]:
    """What `show` tells, for programs."""
    masses, centers, tensors = inertia.about_com(model.inertias)
    bodies = [
        {
            "name": name,
            "parent": None if parent < 0 else model.body_names[parent],
            "mass": masses[k],
            "center_of_mass": centers[k],
            "inertia": tensors[k],
        }
        for k, (name, parent) in enumerate(zip(model.body_names, model.parents, strict=True))
    ]
    joints = []
    for joint in model.joints:
        q, v = model.q_slice(joint.name), model.v_slice(joint.name)
        joints.append(
            {
                "name": joint.name,
                "type": joint.type,
                "q": [q.start, q.stop],
                "v": [v.start, v.stop],
                "lower": model.lower[q],
                "upper": model.upper[q],
                "velocity_limit": model.velocity_limit[v],
                "effort_limit": model.effort_limit[v],
            }
        )
    return {
        "name": model.name,
        "nq": model.nq,
        "nv": model.nv,
        "n_bodies": model.n_bodies,
        "mass": float(jounce.total_mass(model)),
        "gravity": model.gravity,
        "bodies": bodies,
        "joints": joints,
        "frames": list(model.frames),
    }


def _body_table(model: Model, most: int) -> Table:
    masses, centers, tensors = inertia.about_com(model.inertias)
    moments = np.linalg.eigvalsh(tensors)
    rows = []
    for k, name in enumerate(model.body_names[:most]):
        center = " ".join(f"{x:9.4f}" for x in centers[k] + 0.0)
        principal = " ".join(f"{x:.3g}" for x in moments[k] + 0.0)
        rows.append([name, f"{masses[k]:.5g}", center, principal])
    return Table(["body", "mass kg", "center of mass m", "principal moments kg m²"], rows)


def _joint_table(model: Model, most: int) -> Table:
    rows = []
    for joint in model.joints[:most]:
        q, v = model.q_slice(joint.name), model.v_slice(joint.name)
        spans = f"{q.start}:{q.stop}", f"{v.start}:{v.stop}"
        rows.append([joint.name, joint.type, *spans, _limits(model, q, v)])
    return Table(["joint", "type", "q", "v", "limits"], rows, left=5)


def _limits(model: Model, q: slice, v: slice) -> str:
    if q.stop - q.start != 1:
        return "-"
    parts = []
    low, high = float(model.lower[q][0]), float(model.upper[q][0])
    if np.isfinite([low, high]).any():
        parts.append(f"q in [{low:.4g}, {high:.4g}]")
    for name, limits in (("v", model.velocity_limit), ("tau", model.effort_limit)):
        if np.isfinite(limits[v][0]):
            parts.append(f"|{name}| <= {limits[v][0]:.4g}")
    return ", ".join(parts) or "-"


def _tell_more(count: int, what: str) -> None:
    if count > 0:
        print(f"... {count} more {what}, shown with --all")


def _check(options: argparse.Namespace) -> int:
    codes, reports = [], []
    for robot in options.robots:
        try:
            found = _found(robot, options.base, options.ignore)
        except (MissingFileError, MissingExtraError) as error:
            codes.append(complain(error, CANNOT))
            reports.append({"file": robot, "error": str(error)})
            continue
        kinds = {kind for kind, _ in found}
        codes.append(next((code for kind, code in _CODES.items() if kind in kinds), OK))
        problems = [{"class": kind, "text": text} for kind, text in found]
        reports.append({"file": robot, "problems": problems})
        if not options.json:
            _tell_found(robot, found)
    if options.json:
        print_json(reports)
    return next((code for code in (CANNOT, *_CODES.values()) if code in codes), OK)


def _found(robot: str, base: str | None, ignored: Sequence[str]) -> list[tuple[str, str]]:
    """Class and text of what is doubtful in one file, the most serious class first."""
    model: Model | None
    findings: list[Finding] = []
    if robot in shipped_robots() and not Path(robot).exists():
        model = load_robot(robot, base)
    else:
        model, findings = inspect(Path(robot), base or "fixed")
    found = [(finding.kind, finding.text()) for finding in findings]
    if model is not None:
        found += [("physics", text) for text in _unmovable(model)]
    found = [(kind, text) for kind, text in found if kind not in ignored]
    return sorted(found, key=lambda pair: KINDS.index(pair[0]))


def _tell_found(robot: str, found: Sequence[tuple[str, str]]) -> None:
    for kind, text in found:
        print(f"{kind}: {text}")
    count = {kind: sum(kind == other for other, _ in found) for kind in KINDS}
    parts = [f"{count[kind]} of {kind}" for kind in KINDS if count[kind]]
    if not parts:
        print(f"{robot}: nothing to complain about")
        return
    noun = "problem" if len(found) == 1 else "problems"
    print(f"{robot}: {len(found)} {noun}: {', '.join(parts)}")


def _convert(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    locked = dict(_assigned("--lock", text) for text in options.lock)
    if locked:
        model = model.lock(locked)
    for text in options.payload:
        frame, numbers = _assigned("--payload", text)
        if len(numbers) not in (1, 4):
            raise ArgumentError(f"--payload: expected FRAME=MASS or FRAME=MASS,X,Y,Z, got {text!r}")
        model = model.with_payload(frame, numbers[0], numbers[1:] or (0.0, 0.0, 0.0))
    jounce.save(model, options.target)
    print(
        f"wrote {options.target}: {model.n_bodies} bodies, {model.nv} rates, "
        f"{jounce.total_mass(model):.6g} kg",
        file=sys.stderr,
    )
    return OK


def _assigned(option: str, text: str) -> tuple[str, list[float]]:
    """Split NAME=NUMBER,NUMBER,... at its last equals sign."""
    name, equals, numbers = text.rpartition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not (equals and name and values):
        raise ArgumentError(f"{option}: expected NAME=NUMBER, got {text!r}")
    return name, values


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
