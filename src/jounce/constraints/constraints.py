"""A set of constraints of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from jounce import _core
from jounce._core import algebra
from jounce._core.arrays import integer, reals, shown
from jounce._core.words import told_by
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.constraints.kinds import AnyConstraint
from jounce.constraints.measures import inverse_inertia, measured, rank_at
from jounce.constraints.moving import moved, target_field, target_moves
from jounce.constraints.table import NUMBERS, records_of, row_count
from jounce.constraints.targets import finite_targets, require_defined, targeted_at
from jounce.errors import ArgumentError, ArgumentTypeError, ModelError
from jounce.kinematics.configurations import generic_configuration
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.model.model import require_model
from jounce.model.nodes import frozen

__all__ = ["Constraints", "constraints_on"]

_local: Callable[..., Any] = _core.raw(
    "constrained_forward_local", "constrained_dynamics", inputs="q v tau accelerations table"
)

MOST_ORDERS = 101
"""How many rows a series may have."""
FEW_ROWS = 18
"""Up to so many rows all of them together are faster than loop by loop; measured."""
LARGEST = 1e150
"""Beyond it squares of numbers overflow."""
TOLERANCE = 1e-6
"""How far states may be from the constraints, if nothing else is said."""
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
        tolerance: how far a state or a motion may be from the constraints where it has to fulfill
            them: `simulate`, `rollout`, `linearize`, `linearize_step`,
            `constrained_inverse_dynamics` and its series refuse others. Residuals are in rad and m;
            rates, accelerations and their derivatives count relative to 1 + their own size. With
            ``float("inf")`` all are taken as they are.

    Attributes:
        model: the robot.
        items: the constraints, in the order of their rows.
        size: number of rows, m.
        holonomic: (m,) False for rows that hold rates but no position, as those of `Rolling`.
        targeted: (m,) whether a row has a target, by which its violation is judged.
        motion: (k, m) rates w that the rows shall have, and their time derivatives.
        stabilization: (alpha, beta), zero without.
        tolerance: as given.

    Raises:
        ArgumentError: two frames of the same body, a joint of more than one degree of freedom in
            a coupling, or bad numbers.
        ModelError: constraints of a model with coupled joints.
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
    tolerance: float
    _most: int | None
    _basis: Array | None
    _apart: bool | None

    def __init__(
        self,
        model: Model,
        constraints: Iterable[AnyConstraint] | None = None,
        *,
        stabilization: tuple[float, float] = (0.0, 0.0),
        tolerance: float = TOLERANCE,
    ) -> None:
        require_model(model)
        items = _checked(model.constraints if constraints is None else constraints)
        if items and model.expanded is not model:
            raise ModelError(
                "constraints are not there for a model with coupled joints: model.expanded has the "
                "couplings in its own model.constraints, which may be passed with others"
            )
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
        self._set("tolerance", _positive(tolerance))
        self._set("_accelerations", frozen(self.wanted_accelerations(1)[0]))
        self._set("_starts", starts)
        few = (self._accelerations, self.table)  # type: ignore[attr-defined]
        self._set("_few", few if 0 < size <= FEW_ROWS else None)
        self._set("_most", None)
        self._set("_basis", None)
        self._set("_apart", None)

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

    def __eq__(self, other: object) -> bool:
        """Whether model, constraints, gains and tolerance are the same."""
        if not isinstance(other, Constraints):
            return NotImplemented
        own, others = self.__reduce__()[1], other.__reduce__()[1]
        return self is other or (own[1:] == others[1:] and own[0] == others[0])

    def __hash__(self) -> int:
        """Equal sets have equal hashes."""
        return hash((self.items, self.stabilization, self.tolerance))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the set."""
        return _restored, (self.model, self.items, self.stabilization, self.tolerance)

    def rows(self, item: int) -> slice:
        """Where the rows of a constraint are: those of the force, for example.

        Examples:
            >>> feet = [jc.Weld("left_sole"), jc.Point("right_sole")]
            >>> c = jc.Constraints(jc.models.humanoid(), feet)
            >>> c.rows(1)
            slice(6, 9, None)
        """
        starts: Integers = self._starts  # type: ignore[attr-defined]
        count = len(self.items)
        if not -count <= integer("item", item, -math.inf) < count:
            raise ArgumentError(f"there are {count} constraints, got index {item}")
        item %= count
        return slice(int(starts[item]), int(starts[item + 1]))

    def _item_of_row(self, row: int) -> AnyConstraint:
        starts: Integers = self._starts  # type: ignore[attr-defined]
        return self.items[int(np.searchsorted(starts, row, "right")) - 1]

    def residual(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """How far each row is from its target, (..., m); 0 for rows without one.

        Turns in rad, along the axes of the first frame, shifts in m: of poses along the axes of the
        first frame, of points along those of the world.

        Examples:
            >>> gear = jc.Coupling({"joint0": 1.0, "joint1": -2.0})
            >>> jc.Constraints(jc.models.chain(2), [gear]).residual([[0.4, 0.2], [0.5, 0.2]])
            array([[0. ],
                   [0.1]])
        """
        return measured(self, "residual", q, threads=threads)

    def velocity(self, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
        """Rates of the rows, J v, (..., m).

        Examples:
            >>> gear = jc.Coupling({"joint0": 1.0, "joint1": -2.0})
            >>> c = jc.Constraints(jc.models.chain(2), [gear])
            >>> c.velocity([0.4, 0.2], [[2.0, 1.0], [1.0, 1.0]])
            array([[ 0.],
                   [-1.]])
        """
        return measured(self, "velocity", q, v, threads=threads)

    def acceleration(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, threads: int = 1) -> Array:
        """Accelerations of the rows, J a + J' v, (..., m).

        Examples:
            >>> robot = jc.models.quadruped()
            >>> q, v, tau = robot.poses["standing"], np.zeros(robot.nv), np.zeros(robot.nv)
            >>> feet = [jc.Point("front_left_foot"), jc.Point("rear_right_foot")]
            >>> c = jc.Constraints(robot, feet)
            >>> a = jc.constrained_dynamics(robot, q, v, tau, c).a
            >>> bool(np.allclose(c.acceleration(q, v, a), 0.0))  # the feet stay
            True
        """
        return measured(self, "acceleration", q, v, a, threads=threads)

    def bias(self, q: ArrayLike, v: ArrayLike, *, threads: int = 1) -> Array:
        """Accelerations of the rows that come from the rates alone, J' v, (..., m).

        Examples:
            >>> arm = jc.models.chain(1).with_frame("tip", "body0", [0.5, 0, 0])
            >>> jc.Constraints(arm, [jc.Point("tip")]).bias([0.0], [2.0])  # toward the axis: -v^2 r
            array([-2.,  0.,  0.])
        """
        return measured(self, "bias", q, v, threads=threads)

    def jacobian(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """Map J from rates of the robot to those of the rows, (..., m, nv).

        Examples:
            >>> gear = jc.Coupling({"joint0": 1.0, "joint1": -2.0})
            >>> jc.Constraints(jc.models.chain(2), [gear]).jacobian([0.0, 0.0])
            array([[ 1., -2.]])
        """
        return measured(self, "jacobian", q, threads=threads)

    def rank(self, q: ArrayLike, *, threads: int = 1) -> Integers:
        """How many rows are independent, (...).

        Examples:
            >>> robot = jc.models.humanoid()
            >>> c = jc.Constraints(robot, [jc.Weld("left_sole"), jc.Point("left_sole")])
            >>> c.size, int(c.rank(robot.poses["standing"]))  # the weld holds the point already
            (9, 6)
        """
        return rank_at(self, "rank", q, threads)

    def regular(self, q: ArrayLike, *, threads: int = 1) -> Mask:
        """Whether the rank is the same at all coordinates near q, (...).

        That is so where it is the rank that the rows have almost everywhere. Elsewhere, at a
        singular configuration or where rows depend on each other on the manifold only, as those of
        three parallel cranks do, derivatives by q exist along the manifold alone.

        Examples:
            >>> arm = jc.models.chain(3)
            >>> c = jc.Constraints(arm, [jc.Distance("body2", "body0")])
            >>> c.regular([[0.1, 0.5, 0.3], [0.1, 0.0, 0.3]])  # not where the arm is stretched
            array([ True, False])
        """
        rank = rank_at(self, "regular", q, threads)
        regular: Mask = np.asarray(rank == self._usual_rank())[()]
        return regular

    def _usual_rank(self) -> int:
        """The rank at almost all coordinates: J is analytic, so that any few of them tell."""
        if self._most is not None:
            return self._most
        most = int(np.max(self._at_samples(self.rank), initial=0))
        self._set("_most", most)
        return most

    def _samples(self) -> Array:
        """Some coordinates, (n, nq); a constraint that is defined nowhere is told."""
        some = generic_configuration(self.model, 0, _SAMPLES)
        for item in self.items:
            require_defined(self.model, item, some[0])
        return some

    def _at_samples(self, method: Callable[[Array], Any]) -> Any:
        """What a method says there; errors name no state, since these are none of the caller's."""
        some = self._samples()
        with told_by("Constraints", ()):
            return method(some)

    def _lasting_rows(self) -> Array:
        """Orthonormal (m, k): k combinations of rows, beyond which rows vanish at all coordinates.

        A point of a planar loop has a row that never moves, two welds of one body say the same.
        If k is the rank, forces of the least norm are those of k independent rows.
        """
        if self._basis is None:
            J = self._at_samples(self.jacobian)
            J = J.swapaxes(0, 1).reshape(self.size, len(J) * self.model.nv)
            vectors, lengths, _ = algebra.svd(J, full_matrices=False)
            kept = lengths > _VANISHES * lengths.max(initial=0.0)
            self._set("_basis", frozen(vectors[:, kept]))
        basis: Array = self._basis  # type: ignore[assignment]
        return basis

    def _loops_apart(self) -> bool:
        """Whether loops can be eliminated one by one, as any regular configuration tells."""
        if self._apart is None:
            some = generic_configuration(self.model, 0)
            still, none = np.zeros(self.model.nv), np.zeros(self.size)
            rank = _local(self.model, some, still, still, none, self.table)[2]
            self._set("_apart", bool(rank >= 0))
        return bool(self._apart)

    def inverse_inertia(self, q: ArrayLike, *, threads: int = 1) -> Array:
        """Inverse operational-space inertia of the rows, J M^-1 J^T, (..., m, m).

        It maps forces to accelerations of the rows. By the articulated inertias, without M.

        Examples:
            >>> robot = jc.models.quadruped()
            >>> q = robot.poses["standing"]
            >>> c = jc.Constraints(robot, [jc.Point("front_left_foot")])
            >>> J = c.jacobian(q)
            >>> bool(np.allclose(c.inverse_inertia(q), J @ jc.inverse_mass_matrix(robot, q) @ J.T))
            True
        """
        return inverse_inertia(self, q, threads)

    def at(self, q: ArrayLike) -> Constraints:
        """The same constraints, those without a target holding what they hold at q, (nq,).

        Examples:
            >>> robot = jc.models.quadruped()
            >>> q = robot.poses["standing"]
            >>> c = jc.Constraints(robot, [jc.Point("front_left_foot")]).at(q)
            >>> ahead = jc.integrate(robot, q, 0.1 * np.eye(robot.nv)[3])  # all of it, by 0.1 m
            >>> c.residual(ahead).round(12) + 0.0
            array([0.1, 0. , 0. ])
        """
        q = numbers("q", q, (self.model.nq,))
        lasting = [bool(self.holonomic[self.rows(k)].any()) for k in range(len(self.items))]
        items = zip(self.items, lasting, strict=True)
        with finite_targets("Constraints.at"):
            return self._changed([targeted_at(self.model, x, q, holds) for x, holds in items])

    def at_time(self, t: float) -> Constraints:
        """The same constraints t seconds after the time of their ``motion``, with moved targets.

        The rates w of the rows are a polynomial in time. A length, a sum of coordinates, a plane,
        or a point in the world moves by its integral, the pose of a weld by X' = X hat(w). Where
        the way there matters (a point in a frame that turns, a loop whose rates turn with its free
        directions) there is no target at other times: these rows hold rates only.

        Examples:
            >>> arm = jc.models.chain(2)
            >>> drive = jc.Coupling({"joint0": 1.0}, offset=0.1, motion=[0.5, 0.2])  # w and w'
            >>> after = jc.Constraints(arm, [drive]).at_time(1.0)
            >>> after.motion[:, 0], after.items[0].offset
            (array([0.7, 0.2]), 0.7)
        """
        seconds = float(numbers("t", t, ()))
        if not len(self.motion):
            return self
        with finite_targets("Constraints.at_time"):
            return self._changed([moved(self.model, x, seconds) for x in self.items])

    def stabilized(self, alpha: float, beta: float | None = None) -> Constraints:
        """The same constraints with Baumgarte's stabilization: errors decay instead of growing.

        Instead of ``J a + J' v = w'``, with the rates V = J v of the rows and their residual e, the
        accelerations fulfill

            V' - w' + 2 alpha (V - w) + beta^2 e = 0

        so that an error vanishes like that of a damped spring. Rows without a target, or that hold
        no position, have e = 0; `simulate` and `rollout` take targets from the start. The residual
        is that of `residual`, but for turns of welds and loops: there it is the axis times the sine
        of the angle, which agrees with the angle near the target, and whose derivatives the series
        know; a ``motion`` moves the target, see `at_time`. A target further along the rows by de (a
        larger offset, length or position) makes their residual smaller by de: it changes the
        accelerations that the rows shall have by ``+beta**2 * de``.

        Args:
            alpha: 1/s, not negative.
            beta: 1/s, not negative; by default alpha, for which errors vanish fastest.

        Examples:
            >>> arm, gear = jc.models.chain(2), jc.Coupling({"joint0": 1.0, "joint1": -2.0})
            >>> c = jc.Constraints(arm, [gear]).stabilized(10.0)
            >>> q, v = np.array([0.1, 0.0]), np.zeros(2)  # 0.1 rad beside the target
            >>> a = jc.constrained_dynamics(arm, q, v, np.zeros(2), c).a
            >>> c.acceleration(q, v, a).round(9)  # back, by -beta^2 e
            array([-10.])
        """
        gains = (alpha, alpha if beta is None else beta)
        return Constraints(self.model, self.items, stabilization=gains, tolerance=self.tolerance)

    def _changed(self, items: Iterable[AnyConstraint], model: Model | None = None) -> Constraints:
        """Other constraints, or the same on another model, with these gains and tolerance."""
        options = {"stabilization": self.stabilization, "tolerance": self.tolerance}
        return Constraints(model or self.model, items, **options)  # type: ignore[arg-type]

    def wanted_accelerations(self, orders: int) -> Array:
        """W' + 2 alpha w and its time derivatives, (orders, m).

        Examples:
            >>> drive = jc.Coupling({"joint0": 1.0}, offset=None, motion=[0.5, 0.1])  # w and w'
            >>> c = jc.Constraints(jc.models.chain(2), [drive])
            >>> c.wanted_accelerations(1), c.stabilized(2.0).wanted_accelerations(1)
            (array([[0.1]]), array([[2.1]]))
        """
        orders = integer("orders", orders, 0, MOST_ORDERS)
        w = self._wanted_rates(orders + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            wanted: Array = w[1:] + 2.0 * self.stabilization[0] * w[:-1]
        if not np.isfinite(wanted).all():
            raise ArgumentError(
                "motion and stabilization are so large that the accelerations which the rows shall "
                "have are not finite"
            )
        return wanted

    def _wanted_rates(self, count: int) -> Array:
        """The rates w and their time derivatives, (count, m)."""
        w = np.zeros((max(count, len(self.motion)), self.size))
        w[: len(self.motion)] = self.motion
        return w[:count]

    def _rates_in_series(self, orders: int) -> Array:
        """Rates w that the rows shall have, as far as series of so many orders know them.

        Raises:
            ArgumentError: a stabilized set with a target whose place at later times depends on the
                way there, so that the error has no series.
        """
        if self.stabilization[1] and orders > 1:
            for item in self.items:
                moves = item.motion is not None and getattr(item, target_field(item)) is not None
                if moves and not target_moves(self.model, item):
                    raise ArgumentError(
                        f"{item.label} has a target that moves on a way that depends on the "
                        "robot's, and no series of the error that stabilization acts on: give it "
                        "no target, or beta = 0"
                    )
        return self._wanted_rates(orders + 1)

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


def constraints_on(model: Model, constraints: object) -> Constraints:
    """These constraints, on this very model."""
    if not isinstance(constraints, Constraints):
        raise ArgumentTypeError(
            f"constraints must be a jounce.Constraints, got {type(constraints).__name__}"
        )
    if constraints.model is model:
        return constraints
    require_model(model)
    return constraints._changed(constraints.items, model)


def _restored(
    model: Model, items: tuple[AnyConstraint, ...], gains: Any, tolerance: float = TOLERANCE
) -> Constraints:
    return Constraints(model, items, stabilization=gains, tolerance=tolerance)


def _positive(tolerance: float) -> float:
    value = reals("tolerance", tolerance)
    if value.ndim or not value > 0:
        raise ArgumentError(f"tolerance must be a positive number, got {shown(tolerance)}")
    return float(value)


def _gains(stabilization: tuple[float, float]) -> tuple[float, float]:
    alpha, beta = numbers("stabilization", stabilization, (2,)).tolist()
    if alpha < 0 or beta < 0:
        raise ArgumentError(f"stabilization must not be negative, got {shown(stabilization)}")
    if max(alpha, beta) > LARGEST:
        raise ArgumentError(
            f"stabilization must be at most {LARGEST:g}, got {shown(stabilization)}"
        )
    return alpha, beta


def _checked(constraints: object) -> tuple[AnyConstraint, ...]:
    if isinstance(constraints, AnyConstraint):
        constraints = (constraints,)
    if isinstance(constraints, str) or not np.iterable(constraints):
        raise ArgumentTypeError(f"constraints must be a list of them, got {shown(constraints)}")
    items = tuple(constraints)
    for item in items:
        if not isinstance(item, AnyConstraint):
            raise ArgumentTypeError(
                "a constraint must be a Weld, Point, Distance, Loop, Coupling or Rolling, "
                f"got {shown(item)}"
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
