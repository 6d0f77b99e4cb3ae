"""Functions that the tests of sweeps send to workers, and arrays for them."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np

import jounce as jc

ROBOT = jc.models.random_tree(6, 1)
STATES = 3001
"""Neither a multiple of a block nor of a pack."""


def inputs(states=STATES):
    rng = np.random.default_rng(3)
    q = jc.random_configuration(ROBOT, rng, states)
    return q, *rng.standard_normal((2, states, ROBOT.nv))


class Energies(NamedTuple):
    kinetic: np.ndarray
    potential: np.ndarray


def energies(model, q, v):
    return Energies(jc.kinetic_energy(model, q, v), jc.potential_energy(model, q))


def mixed(model, q, v):
    """A product over the batch, which BLAS may round as its size demands."""
    return np.tanh(v @ np.cos(np.outer(np.arange(model.nv), np.arange(5)))) + q[:, :1]


def drawn(model, rng, count, scale):
    v = scale * rng.standard_normal((count, model.nv))
    return jc.kinetic_energy(model, jc.random_configuration(model, rng, count), v)


def logged(model, q, folder):
    """Leaves a file for every block."""
    tau = jc.gravity_forces(model, q)
    (Path(folder) / f"{tau[0, 0]!r}-{os.getpid()}").touch()
    return tau


def ends_its_process(model, q, state, mark):
    """The process that has this state is killed, once or, without a mark, each time."""
    if state in q[:, -1] and not (mark and os.path.exists(mark)):
        if mark:
            Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return jc.gravity_forces(model, q)


def exits(model, q):
    """Ends its process, whatever the state."""
    os._exit(1)


def leaves(model, q, error):
    """Raises what ends a program."""
    raise error


def refuses(model, q):
    if (q[:, -1] > 100).any():
        raise ValueError("too far in state [0] of the batch")
    return {"tau": jc.gravity_forces(model, q), "count": np.arange(len(q))}


def refuses_while(model, q, mark):
    """Some states fail until a file is there."""
    if (q == inputs()[0][1000]).all(axis=1).any() and not os.path.exists(mark):
        raise ValueError("not yet")
    return q


def draws_few(model, rng, count):
    """Some of its blocks fail."""
    drawn = rng.standard_normal((count, 3))
    if drawn.max() > 2.5:
        raise ValueError("far out")
    return drawn


class Telling:
    """Leaves a file in every process that unpacks it."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return unpacked, (self.folder,)


def unpacked(folder):
    number = len(list(Path(folder).glob(f"{os.getpid()}-*")))
    (Path(folder) / f"{os.getpid()}-{number}").touch()
    return Telling(folder)


def with_constant(model, q, constant):
    return np.full(len(q), os.getpid())
