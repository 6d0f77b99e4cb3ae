"""The result of a simulation."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jounce._types import Array, ArrayLike
from jounce.dynamics import kinetic_energy, momentum, potential_energy
from jounce.errors import ArgumentError, MissingExtraError
from jounce.kinematics import body_pose, difference, integrate
from jounce.model import Model
from jounce.model.model import require_model
from jounce.model.rates import group_blocks
from jounce.simulation._files import read, write
from jounce.simulation.balance import Applied, group_rates, group_slope, power_and_defect
from jounce.simulation.events import EventRecord
from jounce.simulation.stepping import Step

__all__ = ["Applied", "MotionCheck", "SimulatedMotion"]


class MotionCheck(NamedTuple):
    """How well a motion keeps what nature keeps.

    Examples:
        >>> motion = jc.simulate(jc.models.chain(2), [0, 0], [1, 0], np.linspace(0, 1, 11))
        >>> bool(abs(motion.check().energy).max() < 1e-6)
        True
    """

    energy: Array
    """(...) largest change of the energy since the start, J: an error if no forces act."""
    momentum: Array
    """(..., 6) largest change of the momentum about the world's origin, less the impulse of gravity
    on the linear part: an error for a robot that floats freely."""
    quaternion: float
    """Largest distance of a quaternion's norm from one."""
    power: Array
    """(...) largest difference between the change of the energy and the work of the forces, J."""
    defect: Array
    """(...) largest torque defect, N m or N: inverse dynamics of the motion less the forces."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedMotion:
    """Coordinates and rates of a robot at the times of a simulation.

    A slice of it is the motion at some of the times: ``motion[10:20]``, ``motion[::5]``.

    Examples:
        >>> motion = jc.simulate(jc.models.chain(2), [0, 0], [1, 0], np.linspace(0, 1, 11))
        >>> motion.q.shape, len(motion[::5].t)
        ((11, 2), 3)
    """

    model: Model
    t: Array
    """(T,) times, s."""
    q: Array
    """(..., T, nq) coordinates."""
    v: Array
    """(..., T, nv) rates."""
    method: str = ""
    """By which it was computed."""
    interrupted: bool = False
    """Whether it ends before it should."""
    events: tuple[EventRecord, ...] = ()
    """What happened on the way, state by state."""

    def __repr__(self) -> str:
        """One line: how long, how many states, which method."""
        span = f"t = {self.t[0]:.6g} ... {self.t[-1]:.6g} s" if len(self.t) else "no times"
        batch = f", batch {self.q.shape[:-2]}" if self.q.ndim > 2 else ""
        early = ", interrupted" if self.interrupted else ""
        return f"<SimulatedMotion {span}, {len(self.t)} times{batch}, {self.method}{early}>"

    def __len__(self) -> int:
        """Return the number of times."""
        return len(self.t)

    def __getitem__(self, some: slice) -> SimulatedMotion:
        """Return the motion at a slice of its times."""
        if not isinstance(some, slice):
            raise ArgumentError(f"a motion is indexed by slices of its times, got {some!r}")
        q, v = self.q[..., some, :], self.v[..., some, :]
        t = self.t[some]
        low, high = (t.min(), t.max()) if len(t) else (np.inf, -np.inf)
        events = tuple(event for event in self.events if low <= event.t <= high)
        return SimulatedMotion(self.model, t, q, v, self.method, self.interrupted, events)

    @property
    def kinetic_energy(self) -> Array:
        """(..., T), J."""
        return kinetic_energy(self.model, self.q, self.v)

    @property
    def potential_energy(self) -> Array:
        """(..., T), J."""
        return potential_energy(self.model, self.q)

    @property
    def energy(self) -> Array:
        """(..., T) sum of both, J."""
        return self.kinetic_energy + self.potential_energy

    @property
    def momentum(self) -> Array:
        """(..., T, 6) angular and linear momentum about the world's origin."""
        return momentum(self.model, self.q, self.v)

    def frame(self, name: str | int) -> Array:
        """Poses (..., T, 4, 4) of a body or frame in the world.

        Examples:
            >>> builder = jc.ModelBuilder()
            >>> ball = builder.add_body("ball", joint="free", mass=1.0, inertia=(1, 1, 1)).build()
            >>> fall = jc.simulate(ball, jc.neutral(ball), np.zeros(6), [0.0, 1.0, 2.0])
            >>> fall.frame("ball")[:, 2, 3].round(6) + 0.0  # heights: -g t^2 / 2
            array([  0.   ,  -4.905, -19.62 ])
        """
        return body_pose(self.model, self.q, name)

    def at(self, t: ArrayLike) -> Step:
        """Return q (..., K, nq) and v (..., K, nv) at times (K,) between those of the motion.

        On the group: q exp(xi), where xi is the cubic whose ends and slopes fit, and v is its rate.
        The errors are of fourth and third order in the distance of the times.

        Raises:
            ArgumentError: times outside of the motion, or no numbers.

        Examples:
            >>> builder = jc.ModelBuilder()
            >>> ball = builder.add_body("ball", joint="free", mass=1.0, inertia=(1, 1, 1)).build()
            >>> fall = jc.simulate(ball, jc.neutral(ball), np.zeros(6), [0.0, 1.0, 2.0])
            >>> q, v = fall.at([0.5])
            >>> float(q[0, 6].round(6)), float(v[0, 5].round(6))  # -g t^2 / 2 and -g t
            (-1.22625, -4.905)
        """
        try:
            times = np.asarray(t, float)
        except (TypeError, ValueError):
            times = np.asarray(np.nan)
        if times.ndim != 1 or not ((times >= self.t[0]) & (times <= self.t[-1])).all():
            raise ArgumentError(
                f"t must be times of shape (K,) from {self.t[0]} to {self.t[-1]}, got {t!r}"
            )
        if len(self.t) == 1:
            some = np.zeros(len(times), int)
            return Step(self.q[..., some, :], self.v[..., some, :])
        k = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        h = (self.t[k + 1] - self.t[k])[:, None]
        x = (times - self.t[k])[:, None] / h
        q0, q1 = self.q[..., k, :], self.q[..., k + 1, :]
        v0, v1 = self.v[..., k, :], self.v[..., k + 1, :]
        change = difference(self.model, q0, q1)
        begins, ends = h * v0, h * group_slope(self.model, change, v1)
        # Hermite: value and slope at both ends
        xi = x * (change + (1 - x) * ((begins - change) + x * (2 * change - begins - ends)))
        rate = change + (1 - 2 * x) * (begins - change)
        rate = rate + (2 * x - 3 * x * x) * (2 * change - begins - ends)
        return Step(integrate(self.model, q0, xi), group_rates(self.model, xi, rate / h))

    def check(self, control: Applied = None, *, passive: bool = False) -> MotionCheck:
        """Say how well the motion keeps what nature keeps.

        For the torque defect, coordinates, rates and accelerations at the times are joined by
        polynomials of fifth degree: their own part of it falls with the fourth power of the
        distance of the times, that of the work with the third. The motion is then exactly that of
        the same robot with the defect as a disturbance, which says something even of chaotic
        motions. Forces of constraints are part of the defect.

        Args:
            control: what it was simulated with: None, rows of forces, or a function of (t, q, v),
                here called with all states at once, t being (T,).
            passive: whether `passive_forces` acted.

        Raises:
            ArgumentError: the control is something else.

        Examples:
            >>> arm = jc.models.chain(2)
            >>> motion = jc.simulate(arm, [1.0, 0.0], [0.0, 0.0], np.linspace(0, 1, 101))
            >>> found = motion.check()
            >>> bool(found.energy < 1e-6), bool(found.defect < 1e-2)
            (True, True)
        """
        energy, p = self.energy, self.momentum
        moved = p - p[..., :1, :]
        mass = self.model.inertias[:, 0].sum()
        moved[..., 3:] -= mass * (self.t - self.t[0])[:, None] * self.model.gravity
        worst = 0.0
        nodes = self.model.coordinates
        for block in group_blocks(self.model):
            k = int(nodes.q_index[np.flatnonzero(nodes.v_index == block.at.start)[0]])
            norms = np.linalg.norm(self.q[..., k : k + 4], axis=-1)
            worst = max(worst, float(np.abs(norms - 1).max(initial=0)))
        change = np.abs(energy - energy[..., :1]).max(axis=-1)
        power, defect = power_and_defect(self, control, passive)
        return MotionCheck(change, np.abs(moved).max(axis=-2), worst, power, defect)

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`: a row for each time, columns such as ("q", "elbow", 0).

        Raises:
            MissingExtraError: pandas is not installed.
            ArgumentError: the motion is a batch.

        Example::

            table = jc.simulate(arm, q, v, np.linspace(0, 1, 101)).to_pandas()
            table["v"].abs().max()  # the fastest that each joint was
        """
        if self.q.ndim > 2:
            raise ArgumentError("a table holds the motion of one state, this is a batch of them")
        pandas = _extra("pandas")
        columns = [("q", *name) for name in self._names("q")]
        columns += [("v", *name) for name in self._names("v")]
        index = pandas.Index(self.t, name="t")
        values = np.concatenate([self.q, self.v], axis=-1)
        return pandas.DataFrame(values, index, pandas.MultiIndex.from_tuples(columns))

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` with q and v over the batch, "t" and the coordinates.

        Raises:
            MissingExtraError: xarray is not installed.

        Example::

            data = jc.simulate(arm, q, v, np.linspace(0, 1, 101)).to_xarray()
            data.q.sel(coordinate="elbow.0").plot()
        """
        xarray = _extra("xarray")
        batch = [f"batch_{k}" for k in range(self.q.ndim - 2)]
        labels = {kind: [f"{name}.{k}" for name, k in self._names(kind)] for kind in "qv"}
        return xarray.Dataset(
            {"q": ([*batch, "t", "coordinate"], self.q), "v": ([*batch, "t", "rate"], self.v)},
            {"t": self.t, "coordinate": labels["q"], "rate": labels["v"]},
            {"method": self.method},
        )

    def _names(self, kind: str) -> list[tuple[str, int]]:
        """Joints of the coordinates or rates, and which of theirs it is."""
        find = self.model.q_slice if kind == "q" else self.model.v_slice
        names = []
        for joint in self.model.joint_names:
            at = find(joint)
            names += [(joint, k - at.start) for k in range(at.start, at.stop)]
        return names

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write times, coordinates, rates and events to a ``.npz`` file, but not the model.

        A name without that ending gets it.

        Raises:
            MissingFileError: there is no such folder.

        Examples:
            >>> from tempfile import TemporaryDirectory
            >>> arm = jc.models.chain(2)
            >>> motion = jc.simulate(arm, [1.0, 0.0], [0.0, 0.0], np.linspace(0, 1, 11))
            >>> with TemporaryDirectory() as folder:
            ...     motion.save(f"{folder}/motion.npz")
            ...     np.load(f"{folder}/motion.npz")["q"].shape
            (11, 2)
        """
        words = {"method": np.array(self.method), "interrupted": np.array(self.interrupted)}
        parts = {"t": self.t, "q": self.q, "v": self.v, **words, "events": self.events}
        write(path, self.model, parts, self.q.ndim - 2)

    @classmethod
    def load(cls, path: str | os.PathLike[str], model: Model) -> SimulatedMotion:
        """Read what `save` wrote; nothing is unpickled.

        Raises:
            MissingFileError: there is no such file.
            ArgumentError: it holds something else, or the motion of another robot.

        Examples:
            >>> from tempfile import TemporaryDirectory
            >>> arm = jc.models.chain(2)
            >>> motion = jc.simulate(arm, [1.0, 0.0], [0.0, 0.0], np.linspace(0, 1, 11))
            >>> with TemporaryDirectory() as folder:
            ...     motion.save(f"{folder}/motion.npz")
            ...     again = jc.SimulatedMotion.load(f"{folder}/motion.npz", arm)
            >>> bool((again.q == motion.q).all())
            True
        """
        require_model(model)
        return cls(model, **read(path, model))


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(f"this needs {name}: pip install {name}") from None
