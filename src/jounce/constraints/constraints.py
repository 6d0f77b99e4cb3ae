"""A set of constraints of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from jounce import _core
from jounce._core.arrays import integer, reals
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.constraints.kinds import AnyConstraint, Coupling, Distance, Loop, Point, Rolling, Weld
from jounce.constraints.table import NUMBERS, records_of, row_count
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.kinematics import body_pose, random_configuration
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.model import require_model
from jounce.model.nodes import frozen

__all__ = ["Constraints", "constraints_on"]

_rows: Callable[..., Any] = _core.raw("constraint_rows", "Constraints")
_inertia: Callable[..., Any] = _core.raw("constraint_inertia", "Constraints")
_jump: Callable[..., Any] = _core.raw("constrained_jump", "project")

MOST_ORDERS = 101
"""How many rows a series may have."""
FEW_ROWS = 18
"""Up to so many rows all of them together are faster than loop by loop; measured."""
_SAMPLES = 8
_VANISHES = 1e-11


class Constraints:
    """Constraints of a model: loops, contacts, gears; immutable.

    Together they have ``size`` rows. With the rows' Jacobian J, a motion (q, v, a) fulfills

        J(q) v = w(t),    J(q) a + J'(q, v) v = w'(t)

    where w is zero, or the ``motion`` of rheonomic constraints, and the equations of motion are
    ``M a + b = tau + J^T force``: the force acts on the robot.

    Rows may depend on each other, and there may be more of them than rates. The rank is decided by
    the pivots of J M^-1 J^T: one below 1e-11 times what it is made of counts as zero.

    Args:
        model: the robot.
        constraints: list of `Weld`, `Point`, `Distance`, `Loop`, `Coupling`, `Rolling`; by default
            ``model.constraints``, those of the model's file.
        stabilization: gains (alpha, beta) of Baumgarte's method, see `stabilized`.

    Attributes:
        model: the robot.
        items: the constraints, in the order of their rows.
        size: number of rows, m.
        holonomic: (m,) False for rows that hold rates but no position, as those of `Rolling`.
        targeted: (m,) whether a row has a target, by which its violation is judged.
        motion: (k, m) rates w that the rows shall have, and their time derivatives.
        stabilization: (alpha, beta), zero without.

    Raises:
        ArgumentError: two frames of the same body, or a joint of more than one degree of freedom in
            a coupling.
        UnknownNameError: an unknown frame or joint.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.chain(6)
        >>> gear = jc.Coupling({"joint0": 1.0, "joint1": -2.0})
        >>> c = jc.Constraints(arm, [jc.Point("body5"), gear])
        >>> q = jc.integrate(arm, jc.neutral(arm), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        >>> c.size, int(c.rank(q))
        (4, 4)
    """

    model: Model
    items: tuple[AnyConstraint, ...]
    size: int
    holonomic: Mask
    targeted: Mask
    motion: Array
    table: Array
    stabilization: tuple[float, float]
    _most: int | None
    _basis: Array | None

    def __init__(
        self,
        model: Model,
        constraints: Iterable[AnyConstraint] | None = None,
        *,
        stabilization: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        require_model(model)
        items = _checked(model.constraints if constraints is None else constraints)
        starts = np.cumsum([0, *map(row_count, items)])
        records = [records_of(model, x, int(row)) for x, row in zip(items, starts, strict=False)]
        size = int(starts[-1])
        table = np.concatenate([np.zeros((0, NUMBERS)), *(r.table for r in records)])
        alpha, beta = table[:, 58:] = _gains(stabilization)
        none = np.zeros(0, bool)
        self._set("model", model)
        self._set("items", items)
        self._set("size", size)
        self._set("table", frozen(table))
        self._set("holonomic", frozen(np.concatenate([none, *(r.holonomic for r in records)])))
        self._set("targeted", frozen(np.concatenate([none, *(r.targeted for r in records)])))
        self._set("motion", frozen(_stacked_motion(items, starts)))
        self._set("stabilization", (alpha, beta))
        self._set("_accelerations", frozen(self.wanted_accelerations(1)[0]))
        self._set("_starts", starts)
        few = (self._accelerations, self.table)  # type: ignore[attr-defined]
        self._set("_few", few if 0 < size <= FEW_ROWS else None)
        self._set("_most", None)
        self._set("_basis", None)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: constraints never change."""
        raise AttributeError(f"Constraints are immutable, so {name!r} cannot be set")

    def __len__(self) -> int:
        """Number of constraints."""
        return len(self.items)

    def __repr__(self) -> str:
        """Show the constraints."""
        return f"Constraints({self.model.name!r}, {list(self.items)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the set."""
        return _restored, (self.model, self.items, self.stabilization)

    def rows(self, item: int) -> slice:
        """Where the rows of a constraint are: those of the force, for example."""
        starts: Integers = self._starts  # type: ignore[attr-defined]
        count = len(self.items)
        if not -count <= integer("item", item, -math.inf) < count:
            raise ArgumentError(f"there are {count} constraints, got index {item}")
        item %= count
        return slice(int(starts[item]), int(starts[item + 1]))

    def residual(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """How far each row is from its target, (..., m); 0 for rows without one.

        Turns in rad, along the axes of the first frame, shifts in m: of poses along the axes of the
        first frame, of points along those of the world.
        """
        return self._evaluate(0, q, threads=threads)

    def velocity(self, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
        """Rates of the rows, J v, (..., m)."""
        return self._evaluate(1, q, v, threads=threads)

    def acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, threads: int = 1) -> Array:
        """Accelerations of the rows, J a + J' v, (..., m)."""
        return self._evaluate(2, q, v, a, threads=threads)

    def bias(self, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
        """Accelerations of the rows that come from the rates alone, J' v, (..., m)."""
        return self._evaluate(2, q, v, threads=threads)

    def jacobian(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """Map J from rates of the robot to those of the rows, (..., m, nv)."""
        return self._evaluate(3, q, threads=threads)

    def rank(self, q: ArrayLike, *, threads: int = 1) -> Integers:
        """How many rows are independent, (...)."""
        q = reals("q", q, (self.model.nq,))
        if not self.size:
            return np.zeros(q.shape[:-1], np.int64)[()]
        rank = _jump(self.model, q, np.zeros(self.size), self.table, threads=threads)[2]
        integers: Integers = np.asarray(rank).astype(np.int64)[()]
        return integers

    def regular(self, q: ArrayLike, *, threads: int = 1) -> Mask:
        """Whether the rank is the same at all coordinates near q, (...).

        That is so where it is the rank that the rows have almost everywhere. Elsewhere, at a
        singular configuration or where rows depend on each other on the manifold only, as those of
        three parallel cranks do, derivatives by q exist along the manifold alone.
        """
        regular: Mask = np.asarray(self.rank(q, threads=threads) == self._usual_rank())[()]
        return regular

    def _usual_rank(self) -> int:
        """The rank at almost all coordinates: J is analytic, so that any few of them tell."""
        if self._most is not None:
            return self._most
        some = random_configuration(self.model, np.random.default_rng(0), _SAMPLES)
        most = int(np.max(self.rank(some), initial=0))
        self._set("_most", most)
        return most

    def _lasting_rows(self) -> Array:
        """Orthonormal (m, k): k combinations of rows, beyond which rows vanish at all coordinates.

        A point of a planar loop has a row that never moves, two welds of one body say the same.
        If k is the rank, forces of the least norm are those of k independent rows.
        """
        if self._basis is None:
            some = random_configuration(self.model, np.random.default_rng(0), _SAMPLES)
            J = self.jacobian(some).swapaxes(0, 1).reshape(self.size, _SAMPLES * self.model.nv)
            vectors, lengths, _ = np.linalg.svd(J, full_matrices=False)
            kept = lengths > _VANISHES * lengths.max(initial=0.0)
            self._set("_basis", frozen(vectors[:, kept]))
        basis: Array = self._basis  # type: ignore[assignment]
        return basis

    def inverse_inertia(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """Inverse operational-space inertia of the rows, J M^-1 J^T, (..., m, m).

        It maps forces to accelerations of the rows. By the articulated inertias, without M.
        """
        if not self.size:
            return np.zeros((*self._leading_axes(q), 0, 0))
        matrix: Array = _inertia(self.model, q, np.zeros(self.size), self.table, threads=threads)
        return matrix

    def at(self, q: ArrayLike) -> Constraints:
        """The same constraints, those without a target holding what they hold at q, (nq,)."""
        q = numbers("q", q, (self.model.nq,))
        items = [_targeted_at(self.model, x, q, self) for x in self.items]
        return Constraints(self.model, items, stabilization=self.stabilization)

    def stabilized(self, alpha: float, beta: float | None = None) -> Constraints:
        """The same constraints with Baumgarte's stabilization: errors decay instead of growing.

        Instead of ``J a + J' v = w'``, with the rates V = J v of the rows and their residual e, the
        accelerations fulfill

            V' - w' + 2 alpha (V - w) + beta^2 e = 0

        so that an error vanishes like that of a damped spring. Rows without a target, or that hold
        no position, have e = 0. The residual is that of `residual`, but for turns of welds and
        loops: there it is the axis times the sine of the angle, which agrees with the angle near
        the target, and whose derivatives the series know. A constant target whose pose moves by
        de changes the accelerations that the rows shall have by ``-beta**2 * de``.

        Args:
            alpha: 1/s, not negative.
            beta: 1/s, not negative; by default alpha, for which errors vanish fastest.
        """
        gains = (alpha, alpha if beta is None else beta)
        return Constraints(self.model, self.items, stabilization=gains)

    def wanted_accelerations(self, orders: int) -> Array:
        """W' + 2 alpha w and its time derivatives, (orders, m)."""
        orders = integer("orders", orders, 0, MOST_ORDERS)
        w = np.zeros((max(orders + 1, len(self.motion)), self.size))
        w[: len(self.motion)] = self.motion
        return w[1 : orders + 1] + 2.0 * self.stabilization[0] * w[:orders]

    def linearization(
        self,
        model: Model,
        state: tuple[Any, Any, Any, Any],
        inputs: Any,
        passive: bool,
        threads: int,
    ) -> Any:
        """What ``linearize(..., constraints=self)`` returns."""
        from jounce.constraints.linearization import linearize_constrained

        return linearize_constrained(constraints_on(model, self), state, inputs, passive, threads)

    def _leading_axes(self, q: ArrayLike, *rates: ArrayLike | None) -> tuple[int, ...]:
        """Those of a state, where no kernel looks at it."""
        model = self.model
        given = [reals("q", q, (model.nq,))]
        given += [
            reals(x, y, (model.nv,)) for x, y in zip("va", rates, strict=False) if y is not None
        ]
        try:
            return np.broadcast_shapes(*(x.shape[:-1] for x in given))
        except ValueError:
            raise ArgumentError(
                f"the leading axes {[x.shape[:-1] for x in given]} do not broadcast"
            ) from None

    def _evaluate(
        self,
        which: int,
        q: ArrayLike,
        v: ArrayLike | None = None,
        a: ArrayLike | None = None,
        *,
        threads: int = 1,
    ) -> Array:
        model, zero = self.model, np.zeros(self.model.nv)
        if not self.size:
            lead = self._leading_axes(q, v, a)
            return np.zeros((*lead, 0, model.nv) if which == 3 else (*lead, 0))
        v, a = (zero if x is None else x for x in (v, a))
        out: Array = _rows(model, q, v, a, np.zeros(self.size), self.table, threads=threads)[which]
        return out


def constraints_on(model: Model, constraints: object) -> Constraints:
    """These constraints, on this very model."""
    if not isinstance(constraints, Constraints):
        raise ArgumentTypeError(
            f"constraints must be a jounce.Constraints, got {type(constraints).__name__}"
        )
    if constraints.model is model:
        return constraints
    require_model(model)
    return Constraints(model, constraints.items, stabilization=constraints.stabilization)


def _restored(model: Model, items: tuple[AnyConstraint, ...], gains: Any) -> Constraints:
    return Constraints(model, items, stabilization=gains)


def _gains(stabilization: tuple[float, float]) -> tuple[float, float]:
    alpha, beta = numbers("stabilization", stabilization, (2,)).tolist()
    if alpha < 0 or beta < 0:
        raise ArgumentError(f"stabilization must not be negative, got {stabilization!r}")
    return alpha, beta


def _checked(constraints: object) -> tuple[AnyConstraint, ...]:
    if isinstance(constraints, AnyConstraint):
        constraints = (constraints,)
    if isinstance(constraints, str) or not isinstance(constraints, Iterable):
        raise ArgumentTypeError(f"constraints must be a list of them, got {constraints!r}")
    items = tuple(constraints)
    for item in items:
        if not isinstance(item, AnyConstraint):
            raise ArgumentTypeError(
                "a constraint must be a Weld, Point, Distance, Loop, Coupling or Rolling, "
                f"got {item!r}"
            )
    return items


def _stacked_motion(items: tuple[AnyConstraint, ...], starts: Integers) -> Array:
    """(k, m) rates that rows shall have, and their derivatives."""
    motions = [() if x.motion is None else x.motion for x in items]
    out = np.zeros((max(map(len, motions), default=0), int(starts[-1])))
    for motion, start in zip(motions, starts, strict=False):
        if motion:
            rows = np.array(motion)
            out[: len(rows), start : start + rows.shape[1]] = rows
    return out


def _targeted_at(
    model: Model, constraint: AnyConstraint, q: Array, among: Constraints
) -> AnyConstraint:
    """A constraint that holds what it holds at q, if it has no target."""
    if isinstance(constraint, Coupling):
        if constraint.offset is not None:
            return constraint
        terms = constraint.coefficients
        x = [q[model.q_slice(joint)][0] for joint, _ in terms]
        values = [np.polyval([*c[::-1], 0.0], y) for (_, c), y in zip(terms, x, strict=True)]
        return replace(constraint, offset=float(sum(values)))
    if isinstance(constraint, Rolling):
        return constraint if constraint.point is not None else _touching(model, constraint, q)
    rates_only = isinstance(constraint, Loop) and not all(
        among.holonomic[among.rows(among.items.index(constraint))]
    )
    if constraint.target is not None or rates_only:
        return constraint
    X = _relative_pose(model, constraint, q)
    if isinstance(constraint, Point):
        return replace(constraint, target=X[:3, 3])
    if isinstance(constraint, Distance):
        return replace(constraint, target=float(np.linalg.norm(X[:3, 3] - constraint.anchor)))
    return replace(constraint, target=X)


def _relative_pose(
    model: Model, constraint: Weld | Loop | Point | Distance | Rolling, q: Array
) -> Array:
    """Pose of the first frame in the second."""
    pose = body_pose(model, q, constraint.first)
    if constraint.second is None:
        return pose
    return np.asarray(np.linalg.solve(body_pose(model, q, constraint.second), pose))


def _touching(model: Model, constraint: Rolling, q: Array) -> Rolling:
    """With the plane where the wheel touches it."""
    X = _relative_pose(model, constraint, q)
    normal = np.array(constraint.normal)
    down = -normal
    if constraint.axis is not None:
        axis = X[:3, :3] @ constraint.axis
        down = axis * (axis @ normal) - normal
        down /= np.linalg.norm(down)
    return replace(constraint, point=X[:3, 3] + constraint.radius * down)
