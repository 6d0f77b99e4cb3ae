"""What the commands share: exit codes, robots by file or name, arrays on the command line."""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import jounce
from jounce._core.arrays import reals
from jounce._types import Array
from jounce.errors import ArgumentError, MissingFileError, close_names, did_you_mean
from jounce.model import Model, models
from jounce.model.joints import JOINT_TYPES

__all__ = [
    "CANNOT",
    "INTERRUPTED",
    "OK",
    "WRONG",
    "Commands",
    "add_robot",
    "add_states",
    "complain",
    "count",
    "load_robot",
    "read_numbers",
    "read_state",
    "shipped_robots",
]

OK, WRONG, CANNOT, INTERRUPTED = 0, 1, 2, 130

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""Where a group of commands adds its own."""

_FILE = "a .urdf, .xacro, .sdf or .xml (MJCF) file, or a robot of the package"
_ARRAY = (
    "numbers such as 0.1,-0.2; joints such as elbow=0.3,wrist=1; %s; or a .npy, .npz, .csv or "
    ".json file with one state or one per row (- is JSON from standard input)"
)


def complain(message: object, code: int) -> int:
    """Tell what went wrong and return the exit code."""
    print(f"jounce: {message}", file=sys.stderr)
    return code


def shipped_robots() -> dict[str, Callable[..., Model]]:
    """Robots that need no file, by name: the functions of `jounce.models` that need no argument."""
    found = {name: getattr(models, name) for name in models.__all__}
    return {
        name: make
        for name, make in sorted(found.items())
        if callable(make)
        and all(p.default is not p.empty for p in inspect.signature(make).parameters.values())
    }


def count(text: str) -> int:
    """A positive integer, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)


def add_robot(command: argparse.ArgumentParser, number: str | None = None) -> None:
    """Add the argument for a robot, or "+" several or "?" none, and the joint at its root."""
    what = f"{_FILE}: {', '.join(shipped_robots())}"
    name = "robots" if number == "+" else "robot"
    command.add_argument(name, nargs=number, metavar="ROBOT", help=what)
    command.add_argument(
        "--base",
        choices=JOINT_TYPES,
        metavar="JOINT",
        help="the joint between the world and the root of a file's robot (default: fixed)",
    )


def load_robot(robot: str, base: str | None) -> Model:
    """Load a file, or make a robot of the package.

    Raises:
        MissingFileError: neither is there; the message lists names that are alike.
        ArgumentError: `base` for a robot that has its own.
    """
    path, shipped = Path(robot), shipped_robots()
    if robot not in shipped or path.exists():
        if not path.suffix and not path.exists():
            hint = did_you_mean(close_names(robot, shipped))
            raise MissingFileError(
                f"there is no model file {robot!r}, and no robot of the package has that name: "
                f"{', '.join(shipped)}{hint}"
            )
        return jounce.load(path, base=base or "fixed")
    make = shipped[robot]
    if base is None:
        return make()
    if "base" not in inspect.signature(make).parameters:
        raise ArgumentError(f"--base: the robot {robot!r} of the package has its own base")
    return make(base=base)


def add_states(command: argparse.ArgumentParser, *names: str) -> None:
    """Add options for the coordinates and the named arrays over the rates."""
    for name in ("q", *names):
        words = "neutral or random" if name == "q" else "zero or random"
        command.add_argument(
            f"--{name}",
            default=words.split()[0],
            metavar="VALUES",
            help=f"{_WHAT[name]}: {_ARRAY % words} (default: %(default)s)",
        )
    command.add_argument("--seed", type=int, default=0, help="of random values (default: 0)")
    command.add_argument(
        "--states", type=count, metavar="N", help="how many random states (default: one)"
    )


_WHAT = {
    "q": "coordinates",
    "v": "rates",
    "a": "derivatives of the rates",
    "tau": "generalized forces",
}


def read_state(options: argparse.Namespace, model: Model, name: str) -> Array:
    """Read what was given for one array of the state, as `add_states` says.

    Raises:
        ArgumentError: neither numbers nor joints nor a word that is known.
        MissingFileError: there is no such file.
        UnknownNameError: there is no such joint.
    """
    text: str = getattr(options, name)
    if options.states is not None and "random" not in vars(options).values():
        raise ArgumentError("--states counts random states, and nothing is: add --q random")
    shape = () if options.states is None else (options.states,)
    if text == "random":
        rng = np.random.default_rng([options.seed, list(_WHAT).index(name)])
        if name == "q":
            return jounce.random_configuration(model, rng, shape)
        return rng.standard_normal((*shape, model.nv))
    if text == ("neutral" if name == "q" else "zero"):
        return jounce.neutral(model) if name == "q" else np.zeros(model.nv)
    if "=" in text:
        return _by_joints(model, name, text)
    return read_numbers(text, name)


def read_numbers(text: str, name: str) -> Array:
    """Read numbers or a file.

    Args:
        text: what was given.
        name: of the array, in messages and in .npz files.
    """
    path = Path(text)
    if text == "-" or path.suffix in _READERS:
        try:
            if text == "-":
                return reals(name, _named(json.load(sys.stdin), name))
            return reals(name, _READERS[path.suffix](path, name))
        except FileNotFoundError:
            raise MissingFileError(f"--{name}: there is no file {text!r}") from None
        except (ValueError, TypeError) as error:
            raise ArgumentError(f"--{name}: cannot read numbers from {text!r}: {error}") from None
    try:
        return np.array([float(number) for number in text.replace(",", " ").split()])
    except ValueError:
        raise ArgumentError(
            f"--{name}: expected numbers, joint=value, a word or a file that ends in "
            f"{', '.join(_READERS)}, got {text!r}"
        ) from None


def _by_joints(model: Model, name: str, text: str) -> Array:
    values: dict[str, float] = {}
    for part in text.replace(",", " ").split():
        joint, _, number = part.partition("=")
        try:
            values[joint] = float(number)
        except ValueError:
            raise ArgumentError(f"--{name}: expected joint=number, got {part!r}") from None
    if name == "q":
        return jounce.configuration(model, joints=values)
    out = np.zeros(model.nv)
    for joint, value in values.items():
        span = model.v_slice(joint)
        if span.stop - span.start != 1:
            raise ArgumentError(
                f"--{name}: joint {joint!r} has {span.stop - span.start} rates: give all numbers"
            )
        out[span] = value
    return out


def _named(found: Any, name: str) -> Any:
    """The array of that name, or the only one, of a mapping; anything else as it is."""
    if not hasattr(found, "keys"):
        return found
    names = list(found.keys())
    if name in names:
        return found[name]
    if len(names) == 1:
        return found[names[0]]
    raise ArgumentError(f"it has arrays named {', '.join(names)}, none of them {name!r}")


def _read_npz(path: Path, name: str) -> Any:
    with np.load(path, allow_pickle=False) as archive:
        return _named(archive, name)


def _read_csv(path: Path, name: str) -> Any:
    """Numbers with or without a header; with one, the columns ``name`` or ``name[...]`` count."""
    head = path.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(",")
    try:
        [float(word) for word in head]
    except ValueError:
        chosen = [k for k, word in enumerate(head) if word.split("[")[0].strip() == name]
        if not chosen:
            raise ArgumentError(f"it has no columns named {name} or {name}[...]") from None
        return np.loadtxt(path, delimiter=",", skiprows=1, usecols=chosen, ndmin=2)
    return np.loadtxt(path, delimiter=",", ndmin=2)


_READERS: dict[str, Callable[[Path, str], Any]] = {
    ".npy": lambda path, name: np.load(path, allow_pickle=False),
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".json": lambda path, name: _named(json.loads(path.read_text(encoding="utf-8")), name),
}
