"""The robots of example-robot-data, in jounce and in Pinocchio, for tests of several folders."""

from __future__ import annotations

import functools
import importlib.util
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import jounce as jc


def robot_directory() -> Path | None:
    for package in ("example_robot_data", "pinocchio", "cmeel"):
        spec = importlib.util.find_spec(package)
        for parent in Path(spec.origin).resolve().parents if spec and spec.origin else ():
            for prefix in (parent, parent / "cmeel.prefix"):
                found = prefix / "share" / "example-robot-data" / "robots"
                if found.is_dir():
                    return found
    return None


DIRECTORY = robot_directory()
if DIRECTORY is None:
    pytest.skip("example-robot-data is not installed", allow_module_level=True)
# ur3.urdf is an empty <robot>.
ROBOTS = sorted(p for p in DIRECTORY.rglob("*.urdf") if "<link" in p.read_text("utf-8"))


def has_moving_joints(path) -> bool:
    kinds = re.findall(r"<joint\b[^>]*\btype=[\"'](\w+)", path.read_text("utf-8"))
    return bool(set(kinds) - {"fixed"})


def on_bases(robots):
    """Each robot on one base, and on the other for `make more`."""
    for k, path in enumerate(robots):
        for j, base in enumerate(("fixed", "free")):
            name = f"{path.stem}-{path.parent.parent.name}-{base}"
            marks = [pytest.mark.long] * ((j + k) % 2)
            yield pytest.param(str(path), base, id=name, marks=marks)


BASES = list(on_bases(ROBOTS))
MOVING = [x for x in BASES if x.values[1] == "free" or has_moving_joints(Path(x.values[0]))]
"""Without those of which nothing moves."""


@functools.cache
def load_quietly(path, **options):
    """The model, without warnings about inertias that no body has; read once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        return jc.load_urdf(path, **options)


@functools.cache
def built_by_pinocchio(path, base):
    """Pinocchio's model, which nobody changes; read once."""
    pin = pytest.importorskip("pinocchio")
    root = () if base == "fixed" else (pin.JointModelFreeFlyer(),)
    return pin.buildModelFromUrdf(path, *root)


def setting(path, base, states):
    """A robot in both libraries, and random states in both conventions."""
    pytest.importorskip("pinocchio")
    from jounce.interop.pinocchio import Converter

    model, theirs = load_quietly(str(path), base=base), built_by_pinocchio(str(path), base)
    there = Converter(model, theirs)
    rng = np.random.default_rng(len(str(path)))
    q = jc.random_configuration(model, rng, states)
    v, a = rng.standard_normal((2, states, model.nv))
    return SimpleNamespace(
        model=model,
        pin=theirs,
        data=theirs.createData(),
        there=there,
        q=q,
        v=v,
        a=a,
        f_ext=rng.standard_normal((states, model.n_bodies, 6)),
        pin_q=there.to_q(q),
        pin_v=there.to_v(q, v),
        pin_a=there.to_a(q, v, a),
        torque=1e-9 * max(1.0, jc.total_mass(model)),
    )


def pin_forces(s, k):
    """External wrenches of state k as Pinocchio takes them: in joint frames, force first."""
    pin = pytest.importorskip("pinocchio")
    forces = pin.StdVec_Force()
    forces.extend([pin.Force.Zero() for _ in range(s.pin.njoints)])
    for body in range(s.model.n_bodies):
        joint = s.pin.getJointId(s.model.joint_names[body])
        forces[joint] = pin.Force(s.f_ext[k, body, 3:], s.f_ext[k, body, :3])
    return forces


def symmetric(upper):
    """Pinocchio fills the upper triangles of symmetric matrices."""
    return np.triu(upper) + np.triu(upper, 1).swapaxes(-1, -2)
