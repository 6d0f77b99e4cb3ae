"""The result of a simulation."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce._core import memory
from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike
from jounce.dynamics import kinetic_energy, momentum, potential_energy
from jounce.errors import ArgumentError, MissingExtraError
from jounce.kinematics import body_pose
from jounce.model import Model
from jounce.model.model import require_model
from jounce.model.rates import group_blocks
from jounce.simulation._files import read, write
from jounce.simulation.balance import Applied, cubic, finite_states, forward, power_and_defect
from jounce.simulation.control import Control
from jounce.simulation.dense import Dense
from jounce.simulation.events import EventRecord
from jounce.simulation.stepping import Step

__all__ = [
    "Applied",
    "MotionCheck",
    "SimulatedMotion",
    "StateFailure",
    "no_further",
    "told",
    "with_changes",
    "with_failures",
    "with_later_states",
]

LATER = "_later"
"""What makes q and v, in place of them."""


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


class StateFailure(NamedTuple):
    """A state whose motion could not be followed further.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> pull = lambda t, q, v: 1e3 * v**3
        >>> lost = jc.simulate(arm, [0, 0], [1, 0], [0, 1], pull, on_failure="mark")
        >>> lost.failures[0].state, bool(lost.failures[0].t < 1)
        ((), True)
    """

    state: tuple[int, ...]
    """Which state of the batch."""
    t: float
    """How far it got, s."""
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class SimulatedMotion:
    """Coordinates and rates of a robot at the times of a simulation.

    A slice of it is the motion at some of the times: ``motion[10:20]``, ``motion[::5]``. It keeps
    the dense output of its method, unless ``simulate(dense=False)`` made it.

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
    failures: tuple[StateFailure, ...] = ()
    """States that could not be followed to the last time, with ``on_failure="mark"``."""
    ends: Array | None = None
    """What `ended` gives, if a state has ended."""
    kept: Dense | Callable[[], Dense | None] | None = None
    """The dense output, or what makes it when it is first asked for."""
    control_t: Array | None = None
    """Times for which `simulate` was asked, those of the rows of a control, if t is others."""

    @property
    def ended(self) -> Array:
        """(...) when a terminal event or a failure ended each state, else infinity.

        What follows of it in q and v is NaN.
        """
        return np.full(self._lead, np.inf) if self.ends is None else self.ends

    @property
    def _lead(self) -> tuple[int, ...]:
        """Leading axes of the states, of which none is computed for that."""
        later: _Later | None = self.__dict__.get(LATER)
        return self.q.shape[:-2] if later is None else later.lead

    @property
    def dense(self) -> Dense | None:
        """The steps of the method, by which `at` knows the motion between its times; or None."""
        kept = self.kept
        if callable(kept):
            kept = kept()
            object.__setattr__(self, "kept", kept)
        return kept

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            """States that are computed when they are first asked for, see `with_later_states`."""
            later = self.__dict__.get(LATER) if name in ("q", "v") else None
            if later is not None:
                self.__dict__.update(zip("qv", later.make(), strict=True))
                self.__dict__.pop(LATER, None)
            if name not in self.__dict__:  # where it is if another thread was faster
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: the dense output by itself, as in files."""
        dense, known = self.dense, {"q": self.q, "v": self.v}
        return {**self.__dict__, **known, "kept": None if dense is None else dense.alone()}

    def __repr__(self) -> str:
        """One line: how long, how many states, which method."""
        span = f"t = {self.t[0]:.6g} ... {self.t[-1]:.6g} s" if len(self.t) else "no times"
        batch = f", batch {self._lead}" if self._lead else ""
        early = ", interrupted" if self.interrupted else ""
        return f"<SimulatedMotion {span}, {len(self.t)} times{batch}, {self.method}{early}>"

    def __len__(self) -> int:
        """Return the number of times."""
        return len(self.t)

    def __getitem__(self, some: slice) -> SimulatedMotion:
        """Return the motion at a slice of its times."""
        if not isinstance(some, slice):
            raise ArgumentError(f"a motion is indexed by slices of its times, got {shown(some)}")
        q, v = self.q[..., some, :], self.v[..., some, :]
        t = self.t[some]
        low, high = (t.min(), t.max()) if len(t) else (np.inf, -np.inf)
        events = tuple(event for event in self.events if low <= event.t <= high)
        whole = self.t if self.control_t is None else self.control_t
        return replace(self, t=t, q=q, v=v, events=events, control_t=whole)

    @property
    def kinetic_energy(self) -> Array:
        """(..., T), J."""
        return _known(self.model, kinetic_energy, self.q, self.v)

    @property
    def potential_energy(self) -> Array:
        """(..., T), J."""
        return _known(self.model, potential_energy, self.q)

    @property
    def energy(self) -> Array:
        """(..., T) sum of both, J."""
        return self.kinetic_energy + self.potential_energy

    @property
    def momentum(self) -> Array:
        """(..., T, 6) angular and linear momentum about the world's origin."""
        return _known(self.model, momentum, self.q, self.v)

    def frame(self, name: str | int) -> Array:
        """Poses (..., T, 4, 4) of a body or frame in the world.

        Examples:
            >>> builder = jc.ModelBuilder()
            >>> ball = builder.add_body("ball", joint="free", mass=1.0, inertia=(1, 1, 1)).build()
            >>> fall = jc.simulate(ball, jc.neutral(ball), np.zeros(6), [0.0, 1.0, 2.0])
            >>> fall.frame("ball")[:, 2, 3].round(6) + 0.0  # heights: -g t^2 / 2
            array([  0.   ,  -4.905, -19.62 ])
        """
        return _known(self.model, lambda model, q: body_pose(model, q, name), self.q)

    def at(self, t: ArrayLike, *, approximate: bool = False) -> Step:
        """Return q (..., K, nq) and v (..., K, nv) at times (K,) between those of the motion.

        At one time, a number, q (..., nq) and v (..., nv).

        By the dense output of the method: of order 7 for "dop853", of order 4 for "dopri5", the
        polynomial itself for "taylor". Between fixed steps q moves along a polynomial of degree 5
        that fits states and accelerations at both ends: errors of sixth and fifth order in the
        length of the step. At the time of an impact the state is that after it. States that have
        ended are NaN.

        Args:
            t: (K,) times, s, or one of them.
            approximate: only by the states at the times, even if no dense output was kept: on the
                group, by the cubics q exp(xi) whose ends and slopes fit. The errors are of fourth
                and third order in the distance of the times.

        Raises:
            ArgumentError: times outside of the motion, or no numbers; no dense output; a motion
                without times.

        Examples:
            >>> builder = jc.ModelBuilder()
            >>> ball = builder.add_body("ball", joint="free", mass=1.0, inertia=(1, 1, 1)).build()
            >>> fall = jc.simulate(ball, jc.neutral(ball), np.zeros(6), [0.0, 1.0, 2.0])
            >>> q, v = fall.at([0.5])
            >>> float(q[0, 6].round(6)), float(v[0, 5].round(6))  # -g t^2 / 2 and -g t
            (-1.22625, -4.905)
        """
        times = reals("t", t)
        if not len(self.t):
            raise ArgumentError("this motion has no times, so there is nothing between them")
        size = 8.0 * math.prod(self.q.shape[:-2]) * times.size * (self.model.nq + self.model.nv)
        memory.require("at", size, size, "ask for fewer times at a time")
        low, high = float(self.t.min()), float(self.t.max())
        if times.ndim > 1 or not ((times >= low) & (times <= high)).all():
            raise ArgumentError(
                f"t must be times of shape (K,) from {low} to {high}, or one of them, "
                f"got {shown(t)}"
            )
        if times.ndim == 0:
            q, v = self.at(times[None], approximate=approximate)
            return Step(q[..., 0, :], v[..., 0, :])
        if len(self.t) == 1 or not self.model.nv or not self.q.size:
            some = np.zeros(len(times), int)
            return Step(self.q[..., some, :], self.v[..., some, :])
        if approximate:
            known = forward(self)
            return Step(*cubic(self.model, known.t, known.q, known.v, times))
        if self.dense is None:
            raise ArgumentError(
                "this motion keeps no dense output: simulate with dense=True, or ask "
                "at(t, approximate=True) for cubics between its times"
            )
        lead = self.q.shape[:-2]
        q, v = (x.reshape(*lead, len(times), x.shape[-1]) for x in self.dense.at(times))
        return Step(q, v)

    def check(self, control: Applied | Control = None, *, passive: bool = False) -> MotionCheck:
        """Say how well the motion keeps what nature keeps.

        The torque defect is that of the dense output, looked at five times in each step: the motion
        between the times is exactly that of the same robot with the defect as a disturbance, which
        says something even of chaotic motions. If none was kept, polynomials of fifth degree join
        coordinates, rates and accelerations at the times, and their own part of the defect falls
        with the fourth power of the distance of the times. Forces of constraints and impacts are no
        part of the control: they show in the defect and in the power.

        Args:
            control: what it was simulated with: None, rows of forces for all times for which
                `simulate` was asked, a `Control`, or a function of (t, q, v), here called with all
                states at once, t being (T,). Of one that was made for "taylor" the first row
                counts. It is asked for states that have ended, too, at the neutral configuration.
            passive: whether `passive_forces` acted.

        Raises:
            ArgumentError: the control is something else.

        Examples:
            >>> arm = jc.models.chain(2)
            >>> motion = jc.simulate(arm, [1.0, 0.0], [0.0, 0.0], np.linspace(0, 1, 11))
            >>> found = motion.check()
            >>> bool(found.energy < 1e-6), bool(found.defect < 1e-4)
            (True, True)
        """
        energy, p = self.energy, self.momentum
        moved = p - p[..., :1, :]
        mass = self.model.inertias[:, 0].sum()
        moved[..., 3:] -= mass * (self.t - self.t[:1])[:, None] * self.model.gravity
        worst = 0.0
        nodes = self.model.coordinates
        for block in group_blocks(self.model):
            k = int(nodes.q_index[np.flatnonzero(nodes.v_index == block.at.start)[0]])
            norms = np.linalg.norm(self.q[..., k : k + 4], axis=-1)
            worst = max(worst, float(np.nanmax(np.abs(norms - 1), initial=0)))
        change = np.abs(energy - energy[..., :1])
        power, defect = power_and_defect(self, control, passive)
        largest = [
            np.fmax.reduce(x, axis=k, initial=0.0) for x, k in ((change, -1), (np.abs(moved), -2))
        ]
        return MotionCheck(largest[0], largest[1], worst, power, defect)

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
        """Write times, coordinates, rates, events and dense output to ``.npz``, but not the model.

        A name without that ending gets it. The dense output is written as coefficients: for each
        step some 15 numbers per rate for "dop853", 9 for "dopri5" and two per rate and order for
        "taylor". What projects it between the steps of a motion under constraints is not kept.

        Raises:
            MissingFileError: there is no such folder, or it is a file.

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
        parts = {"t": self.t, "q": self.q, "v": self.v, **words, "ended": self.ended}
        if self.control_t is not None:
            parts["control_t"] = self.control_t
        write(path, self.model, parts, self.events, self.failures, self.dense, self.q.ndim - 2)

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
        found = read(path, model)
        failures = tuple(StateFailure(*x) for x in found.pop("failures"))
        return cls(model, **found, failures=failures)


def _known(model: Model, function: Callable[..., Array], q: Array, *rest: Array) -> Array:
    """A function of states; NaN where these have ended."""
    found = function(model, *finite_states(model, q, *rest))
    ended = np.isnan(q).any(axis=-1)
    if ended.any():
        found[ended] = np.nan
    return found


class _Later(NamedTuple):
    """States that are computed when they are first asked for."""

    make: Callable[[], tuple[Array, Array]]
    lead: tuple[int, ...]
    """Their leading axes."""


def with_changes(motion: SimulatedMotion, **fields: Any) -> SimulatedMotion:
    """The motion with other fields, of whose states none is computed for that."""
    changed = object.__new__(SimulatedMotion)
    changed.__dict__.update(motion.__dict__, **fields)
    return changed


def with_later_states(
    motion: SimulatedMotion, t: Array, states: Callable[[], tuple[Array, Array]]
) -> SimulatedMotion:
    """The motion at other times, whose q and v are computed when they are first asked for.

    After Ctrl-C, that is: of a large batch the last of them take longer than anybody waits.
    """
    changed = with_changes(motion, t=t, **{LATER: _Later(states, motion.q.shape[:-2])})
    for name in "qv":
        changed.__dict__.pop(name, None)
    return changed


def with_failures(
    motion: SimulatedMotion, failed: Array | None, why: Callable[[int, float], str] | None = None
) -> SimulatedMotion:
    """The motion with the states that went no further than `failed` (n,), else infinity.

    `why` says the reason of a state and its time, if it is not that of adaptive steps.
    """
    if failed is None or np.isinf(failed).all():
        return motion
    lead = motion.q.shape[:-2]
    lost = [
        StateFailure(tuple(map(int, np.unravel_index(k, lead))), float(failed[k]),
                     (why or no_further)(int(k), float(failed[k])))
        for k in np.flatnonzero(np.isfinite(failed))
    ]  # fmt: skip
    return replace(motion, failures=tuple(lost), ends=failed.reshape(lead))


def told(
    reasons: dict[int, str], otherwise: Callable[[int, float], str] | None = None
) -> Callable[[int, float], str]:
    """What says why a state goes no further, by its number; else that of adaptive steps."""
    return lambda state, t: reasons.get(state) or (otherwise or no_further)(state, t)


def no_further(state: int, t: float) -> str:
    """What is said of a motion that goes no further."""
    return (
        f"the motion of state {state} cannot be followed beyond t = {t:.9g} s: the step "
        "that the tolerances ask for is below rounding errors; the motion diverges there, the "
        "control jumps again and again, or rtol and atol are too small"
    )


def _extra(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(f"this needs {name}: pip install {name}") from None
