"""C++ programs of `programs/`: compiled below build/, fed with models and states as plain numbers.

No Python runs while they measure. Each takes a model, states, a file for results, seconds for each
function and the functions, and prints the time of each; they are run in turns, as contenders in
Python are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc
from bench.robots import Array, Robot, States, prefix
from bench.timing import Timing

SOURCES = Path(__file__).with_name("programs")
BUILD = Path(__file__).resolve().parent.parent / "build" / "bench"
FLAGS = ("-O3", "-march=native", "-DNDEBUG")
"""Of both programs. Without the last one Eigen would check every access."""
PINOCCHIO_FLAGS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
"""What its package demands of users, too: its list of joints is longer than Boost's default."""
CHECKED = 4
"""States whose results a program writes, kChecked in measure.hpp."""


def compiler() -> str | None:
    """The C++ compiler: that of CXX, else g++ or c++; None if there is none."""
    names = (os.environ.get("CXX", ""), "g++", "c++")
    return next((found for name in names if name and (found := shutil.which(name))), None)


def by_jounce() -> Path:
    """The program that runs our kernels; a second or two to compile."""
    library = Path(jc.get_library())
    flags = ("-std=c++20", f"-I{jc.get_include()}", str(library), f"-Wl,-rpath,{library.parent}")
    return _program("by_jounce", ("measure.hpp", "tree_file.hpp"), flags)


def counter() -> Path:
    """The program that counts operations; some seconds to compile."""
    return _program("count", ("tree_file.hpp",), ("-std=c++20", f"-I{jc.get_include()}", "-O0"))


def by_pinocchio() -> Path:
    """The program that runs Pinocchio's algorithms; minutes to compile, once."""
    include = prefix() / "include"
    flags = (*PINOCCHIO_FLAGS, "-std=c++17", f"-isystem{include}", f"-isystem{eigen()}")
    return _program("by_pinocchio", ("measure.hpp",), flags)


def eigen() -> Path:
    """Eigen's headers: of EIGEN3_INCLUDE_DIR, of cmeel-eigen beside Pinocchio, or the system's."""
    places = (
        Path(os.environ.get("EIGEN3_INCLUDE_DIR", "/usr/local/include/eigen3")),
        prefix() / "include" / "eigen3",
        Path("/usr/include/eigen3"),
    )
    for place in places:
        if (place / "Eigen" / "Core").is_file():
            return place
    raise FileNotFoundError("no headers of Eigen: pip install cmeel-eigen")


def _program(name: str, headers: Sequence[str], flags: Sequence[str]) -> Path:
    """Compile unless the program is newer than its sources and was made with the same command."""
    command = compiler()
    if command is None:
        raise FileNotFoundError("no C++ compiler: install g++, or set CXX")
    program, said = BUILD / name, BUILD / f"{name}.command"
    sources = [SOURCES / f"{name}.cpp", *(SOURCES / header for header in headers)]
    words = [command, *FLAGS, str(sources[0]), *flags]
    inputs = [*sources, *(Path(x) for x in flags if x.endswith(".so"))]
    if program.is_file() and said.is_file() and said.read_text("utf-8") == " ".join(words):
        made = program.stat().st_mtime
        if all(path.stat().st_mtime < made for path in inputs):
            return program
    BUILD.mkdir(parents=True, exist_ok=True)
    fresh = program.with_suffix(f".{os.getpid()}")  # others may run the old one, or compile too
    done = subprocess.run([*words, "-o", str(fresh)], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{name} does not compile: {' '.join(words)}\n{done.stderr[:4000]}")
    fresh.replace(program)
    said.write_text(" ".join(words), "utf-8")
    return program


def our_model(model: jc.Model) -> str:
    """The numbers of `jounce_tree`, as by_jounce.cpp reads them."""
    nodes = model.nodes
    body_node = np.full(model.n_bodies, -1)
    for node, body in enumerate(nodes.body):
        if body >= 0:
            body_node[body] = node
    arrays = (
        *(nodes.parent, nodes.kind, body_node, nodes.placement, nodes.alignment, nodes.pitch),
        *(nodes.parameters, model.armature, model.gravity),
    )
    sizes = f"{len(nodes.parent)} {model.n_bodies} {model.nv}"
    return "\n".join([sizes, *(_numbers(x) for x in arrays)]) + "\n"


def their_model(pin_model: Any) -> str:
    """Joints and what they carry, as by_pinocchio.cpp reads them."""
    lines = [_numbers(pin_model.gravity.linear), str(pin_model.njoints - 1)]
    for i in range(1, pin_model.njoints):
        joint, placement = pin_model.joints[i], pin_model.jointPlacements[i]
        axis = getattr(joint.extract(), "axis", np.zeros(3))
        parameters = pin_model.inertias[i].toDynamicParameters()
        numbers = (placement.rotation, placement.translation, axis, parameters)
        words = [str(pin_model.parents[i]), joint.shortname(), *map(_numbers, numbers)]
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def _numbers(x: Any) -> str:
    flat = np.asarray(x).ravel()
    return " ".join(str(int(y)) if flat.dtype.kind == "i" else f"{y:.17g}" for y in flat)


@dataclass(frozen=True)
class Contender:
    """A program with the files of one robot; `results` of its last run are its numbers."""

    program: Path
    model: Path
    states: Path

    @property
    def _results(self) -> Path:
        return self.model.with_suffix(".results")

    @property
    def results(self) -> Array:
        """Everything the last run wrote: of each function, of each of the first states."""
        return np.fromfile(self._results)

    def run(self, functions: Sequence[str], seconds: float) -> dict[str, float]:
        """Seconds per call of each function."""
        files = [str(x) for x in (self.program, self.model, self.states, self._results)]
        done = subprocess.run(
            [*files, str(seconds), *functions], capture_output=True, text=True, check=True
        )
        return dict(parse(done.stdout))


def parse(printed: str) -> list[tuple[str, float]]:
    """Names, which may have spaces, and times."""
    pairs = (line.rsplit(" ", 1) for line in printed.splitlines())
    return [(name, float(time)) for name, time in pairs]


def ours(robot: Robot, state: States, folder: Path) -> Contender:
    """Our program with its files."""
    return _contender(by_jounce(), our_model(robot.model), state.ours("q v a tau"), folder)


def theirs(robot: Robot, state: States, folder: Path) -> Contender:
    """Pinocchio's program with its files."""
    return _contender(
        by_pinocchio(), their_model(robot.pin_model), state.theirs("q v a tau"), folder
    )


def _contender(program: Path, model: str, arrays: list[Array], folder: Path) -> Contender:
    """Write model and states."""
    stem = folder / program.name
    contender = Contender(program, stem.with_suffix(".model"), stem.with_suffix(".states"))
    contender.model.write_text(model, "ascii")
    np.concatenate(arrays, axis=-1).tofile(contender.states)
    return contender


def in_turns(
    contenders: Sequence[tuple[Contender, Sequence[str]]], turns: int, seconds: float
) -> dict[str, Timing]:
    """Run programs in turns; each turn gives the fastest of many blocks.

    Args:
        contenders: programs and their functions, whose names all differ.
        turns: how often each program runs.
        seconds: for each function in each turn.
    """
    times: dict[str, list[float]] = {name: [] for _, names in contenders for name in names}
    for _ in range(turns):
        for contender, names in contenders:
            for name, time in contender.run(names, seconds).items():
                times[name].append(time)
    return {name: Timing(tuple(values)) for name, values in times.items()}
