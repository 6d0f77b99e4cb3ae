"""The robots, in jounce and in Pinocchio, and states of them in both conventions."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import jounce as jc
from bench.timing import Effort
from jounce.interop.pinocchio import Converter
from jounce.model.joints import ELEMENTARY

Array = npt.NDArray[np.float64]

FILES = {
    "UR5": ("ur_description/urdf/ur5_robot.urdf", "fixed"),
    "Panda": ("panda_description/urdf/panda.urdf", "fixed"),
    "HyQ": ("hyq_description/robots/hyq_no_sensors.urdf", "free"),
    "G1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    "Talos": ("talos_data/robots/talos_full_v2.urdf", "free"),
}
"""Robots of the PyPI package example-robot-data: file and base."""

AGREEMENT = 1e-7
"""Largest relative difference of results that are timed against each other."""


@dataclass(frozen=True)
class Robot:
    """One robot in both libraries."""

    name: str
    model: jc.Model
    pin_model: Any
    data: Any
    there: Converter


@dataclass(frozen=True)
class States:
    """Random states, one or a batch, in the conventions of jounce and of Pinocchio."""

    q: Array
    v: Array
    a: Array
    tau: Array
    pin_q: Array
    pin_v: Array
    pin_a: Array
    pin_tau: Array

    def ours(self, names: str) -> list[Array]:
        """Arguments for jounce, such as "q v tau"."""
        return [getattr(self, name) for name in names.split()]

    def theirs(self, names: str) -> list[Array]:
        """Arguments for Pinocchio."""
        return [getattr(self, f"pin_{name}") for name in names.split()]

    def first(self) -> States:
        """The first state of a batch."""
        return States(*(np.ascontiguousarray(x[0]) for x in vars(self).values()))


def names(effort: Effort) -> tuple[str, ...]:
    """The robots of `FILES`; two of them where only a check is wanted."""
    return ("UR5", "HyQ") if effort.tiny else tuple(FILES)


@functools.cache
def load(name: str) -> Robot:
    """Load a robot of `FILES` into both libraries."""
    file, base = FILES[name]
    path = str(prefix() / "share" / "example-robot-data" / "robots" / file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        model = jc.load_urdf(path, base=base)
    root = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    return _robot(name, model, pin.buildModelFromUrdf(path, *root))


def prefix() -> Path:
    """The folder with headers, libraries and shared files of Pinocchio's package."""
    for parent in Path(pin.__file__).resolve().parents:
        for found in (parent, parent / "cmeel.prefix"):
            if (found / "share" / "example-robot-data" / "robots").is_dir():
                return found
    raise FileNotFoundError("example-robot-data is not installed beside pinocchio")


def _robot(name: str, model: jc.Model, pin_model: Any) -> Robot:
    return Robot(name, model, pin_model, pin_model.createData(), Converter(model, pin_model))


@functools.cache
def aerial_manipulator(branches: int, bodies: int) -> Robot:
    """The robot of ali, Sec. 7, in both libraries."""
    return twin(jc.models.aerial_manipulator(branches, bodies))


def twin(model: jc.Model) -> Robot:
    """Build the same tree in Pinocchio, joint by joint (revolute about x, y, z; free)."""
    nodes, pin_model = model.nodes, pin.Model()
    pin_model.gravity.linear = np.array(model.gravity)
    for i, parent in enumerate(nodes.parent):
        joint = pin_model.addJoint(
            int(parent) + 1,
            _joint(model, i),
            pin.SE3(nodes.placement[i]),
            model.joint_names[nodes.joint[i]],
        )
        inertia = pin.Inertia.FromDynamicParameters(nodes.parameters[i])
        pin_model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    return _robot(f"{model.name}, N = {model.n_bodies}", model, pin_model)


def _joint(model: jc.Model, node: int) -> Any:
    nodes = model.nodes
    kind = ELEMENTARY[nodes.kind[node]]
    if kind == "free":
        return pin.JointModelFreeFlyer()
    screw = nodes.screws[:, nodes.v_index[node]]
    axes = [k for k in range(3) if np.array_equal(screw, np.eye(6)[k])]
    if kind != "revolute" or not axes:
        raise ValueError(f"joint {node} is not free, nor revolute about x, y or z")
    return (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)[axes[0]]()


def states(robot: Robot, *lead: int, seed: int = 0) -> States:
    """Random states; tau belongs to the accelerations a."""
    model, there, rng = robot.model, robot.there, np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, lead)
    v, a = rng.standard_normal((2, *lead, model.nv))
    tau = jc.inverse_dynamics(model, q, v, a)
    converted = there.to_q(q), there.to_v(q, v), there.to_a(q, v, a), there.to_tau(q, tau)
    return States(q, v, a, tau, *(np.ascontiguousarray(x) for x in converted))


def check(what: str, ours: npt.ArrayLike, theirs: npt.ArrayLike, most: float = AGREEMENT) -> None:
    """Stop if two contenders do not compute the same thing."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    error = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    if not error <= most:
        raise RuntimeError(f"{what}: results differ by {error:.1e} (relative), not timed")
