"""Time a robot's dynamics, beside Pinocchio where it is installed."""

from __future__ import annotations

import functools
import io
import timeit
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

import jounce
from jounce._types import Array
from jounce.cli._output import progress
from jounce.errors import Error, SingularError
from jounce.model import Model

__all__ = ["Measured", "Row", "measure"]

_AGREEMENT = 1e-7
"""Largest relative difference of results that are timed beside each other."""
_ROUNDS = 15

Arrays = Mapping[str, Array]
Call = Callable[[], Any]


class Row(NamedTuple):
    """Seconds per call of one function, the last two per state; NaN: not measured."""

    name: str
    single: float
    peer: float
    batch: float
    peer_batch: float


class Measured(NamedTuple):
    """What was measured, and what to say about it."""

    rows: Sequence[Row]
    remark: str


class _Function(NamedTuple):
    """A function, the arrays it takes, and what Pinocchio calls it."""

    name: str
    function: Callable[..., Any]
    arrays: tuple[str, ...]
    peer: str | None


_FUNCTIONS = (
    _Function("inverse dynamics", jounce.inverse_dynamics, ("q", "v", "a"), "rnea"),
    _Function("forward dynamics", jounce.forward_dynamics, ("q", "v", "tau"), "aba"),
    _Function("mass matrix", jounce.mass_matrix, ("q",), "crba"),
    _Function(
        "derivatives of inverse dynamics",
        jounce.inverse_dynamics_derivatives,
        ("q", "v", "a"),
        "computeRNEADerivatives",
    ),
    _Function(
        "derivatives of forward dynamics",
        jounce.forward_dynamics_derivatives,
        ("q", "v", "tau"),
        "computeABADerivatives",
    ),
    _Function("forces to order 3", jounce.inverse_dynamics_series, ("q", "motion"), None),
)


class _Peer(NamedTuple):
    """Pinocchio with the same robot, at the same states."""

    module: Any
    model: Any
    data: Any
    there: Any
    arrays: Arrays

    def calls(self, function: _Function, state: int) -> list[functools.partial[Any]]:
        """The ways to call it at one state: `aba` and `crba` have two conventions."""
        given = [np.ascontiguousarray(self.arrays[name][state]) for name in function.arrays]
        plain = functools.partial(getattr(self.module, function.peer or ""), *self[1:3], *given)
        conventions = getattr(self.module, "Convention", None)
        if function.peer not in ("aba", "crba") or conventions is None:
            return [plain]
        return [functools.partial(plain, c) for c in (conventions.LOCAL, conventions.WORLD)]

    def batch_calls(self, function: _Function, batch: int) -> list[Call]:
        """The ways to call it for all states: loops, and its own batch call on one thread."""
        each = zip(*(self.calls(function, k) for k in range(batch)), strict=True)
        ways: list[Call] = [functools.partial(_run_all, calls) for calls in each]
        at_once = getattr(self.module, f"{function.peer}InParallel", None)
        if at_once is not None:
            pool = self.module.ModelPool(self.model, 1)
            given = [np.asfortranarray(self.arrays[name].T) for name in function.arrays]
            ways.append(functools.partial(at_once, 1, pool, *given))
        return ways

    def agrees(self, function: _Function, own: Any, state: int) -> bool:
        """Whether both compute the same, of derivatives those by q."""
        q, v = (self.arrays[name][state] for name in ("q", "v"))
        result = self.calls(function, state)[0]()
        if function.peer == "computeABADerivatives":
            result = self.data.ddq_dq
        elif function.peer == "computeRNEADerivatives":
            result = self.data.dtau_dq
        if function.peer == "rnea":
            theirs = self.there.from_tau(q, result)
        elif function.peer == "aba":
            theirs = self.there.from_a(q, v, result)
        else:
            theirs = self.there.from_matrix(q, result)
        ours = getattr(own, "dq", own)
        error = np.abs(ours - theirs).max(initial=0.0)
        return bool(error <= _AGREEMENT * (1 + np.abs(theirs).max(initial=0.0)))


def measure(model: Model, batch: int, seconds: float) -> Measured:
    """Time functions at random states, single and in a batch.

    Args:
        model: the robot.
        batch: number of states.
        seconds: for each number.
    """
    rng = np.random.default_rng(0)
    motion = rng.standard_normal((batch, 5, model.nv))
    v, a = np.ascontiguousarray(motion[:, 0]), np.ascontiguousarray(motion[:, 1])
    q = jounce.random_configuration(model, rng, batch)
    tau = jounce.inverse_dynamics(model, q, v, a)
    arrays = {"q": q, "v": v, "a": a, "tau": tau, "motion": motion}
    peer, remark = _peer(model, arrays)
    rows, differing, failing = [], [], []
    with progress("bench", len(_FUNCTIONS)) as done:
        for k, function in enumerate(_FUNCTIONS):
            other = peer if function.peer else None
            given = [arrays[name] for name in function.arrays]
            one = functools.partial(function.function, model, *(x[0].copy() for x in given))
            try:
                own = one()
            except SingularError as error:
                failing.append(f"{function.name}: {error}")
                continue
            if other is not None and not other.agrees(function, own, 0):
                other = None
                differing.append(function.name)
            many = functools.partial(function.function, model, *given)
            rows.append(_row(function, [one, many], other, batch, seconds))
            done(k + 1)
    if differing:
        remark += f" Results differ, so Pinocchio is not timed: {', '.join(differing)}."
    return Measured(rows, "\n".join([remark, *failing]))


def _row(
    function: _Function, ours: Sequence[Call], peer: _Peer | None, batch: int, seconds: float
) -> Row:
    singles = [] if peer is None else peer.calls(function, 0)
    batches = [] if peer is None else peer.batch_calls(function, batch)
    least = _least([*ours, *singles, *batches], seconds)
    one, many = least[2 : 2 + len(singles)], least[2 + len(singles) :]
    single, loop = min(one, default=np.nan), min(many, default=np.nan)
    return Row(function.name, least[0], single, least[1] / batch, loop / batch)


def _run_all(calls: Sequence[Call]) -> None:
    for call in calls:
        call()


def _least(calls: Sequence[Call], seconds: float) -> list[float]:
    """The least seconds per call of each; they take turns, so that a busy moment meets all."""
    numbers = []
    for call in calls:
        call()
        once = timeit.timeit(call, number=1)
        numbers.append(max(1, int(seconds / _ROUNDS / max(once, 1e-7))))
    best = [float("inf")] * len(calls)
    for _ in range(_ROUNDS):
        for k, (call, number) in enumerate(zip(calls, numbers, strict=True)):
            best[k] = min(best[k], timeit.timeit(call, number=number) / number)
    return best


def _urdf_without_shapes(model: Model) -> str:
    """The robot as URDF; its parser in Pinocchio complains about shapes that it does not know."""
    text = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jounce.save(model, text, format="urdf")
    robot = ElementTree.fromstring(text.getvalue().partition("?>")[2])
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    return ElementTree.tostring(robot, encoding="unicode")


def _peer(model: Model, arrays: Arrays) -> tuple[_Peer | None, str]:
    """The same robot in Pinocchio by way of URDF, or why there is none."""
    try:
        import pinocchio as pin
    except ImportError:
        return None, "Pinocchio is not installed (pip install pin): nothing to compare with."
    from jounce.interop.pinocchio import Converter

    try:
        root = [pin.JointModelFreeFlyer()] if model.joints[0].type == "free" else []
        pin_model = pin.buildModelFromXML(_urdf_without_shapes(model), *root)
        there = Converter(model, pin_model)
    except (Error, ValueError, RuntimeError) as error:
        return None, f"Pinocchio cannot take this robot: {error}"
    q, v, a, tau = (arrays[name] for name in ("q", "v", "a", "tau"))
    pin_model.gravity.linear = np.array(model.gravity)
    pin_model.armature = there.to_v(q[0], model.armature)
    theirs = {"q": there.to_q(q), "v": there.to_v(q, v), "a": there.to_a(q, v, a)}
    theirs["tau"] = there.to_tau(q, tau)
    remark = (
        f"Pinocchio {pin.__version__}, from its Python module. A busy machine makes all slower."
    )
    return _Peer(pin, pin_model, pin_model.createData(), there, theirs), remark
