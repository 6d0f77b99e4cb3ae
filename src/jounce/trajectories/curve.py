"""The contract of curves in R^n, and how curves combine."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike, Integers
from jounce.errors import ArgumentError
from jounce.lie._checks import finite_result
from jounce.model.nodes import frozen
from jounce.trajectories import _checks, _taylor
from jounce.trajectories._times import at_times

__all__ = ["Constant", "Curve", "Piecewise", "Segment", "stack"]

Interval = tuple[float, float]

ALWAYS: Interval = (-math.inf, math.inf)

# Times that miss an end by less than this part of the interval count as that end: sums of time
# steps do not meet it exactly.
_SLACK = 1e-9


class Immutable:
    """An object whose fields are set once; its repr shows the public ones."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                value = frozen(value)
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: a curve never changes."""
        raise AttributeError(f"a {type(self).__name__} is immutable, {name!r} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: a curve never changes."""
        raise AttributeError(f"a {type(self).__name__} is immutable, {name!r} cannot be deleted")

    def __repr__(self) -> str:
        """Show the fields that define the curve."""
        hidden = ("_", "interval")
        public = {n: v for n, v in self.__dict__.items() if not n.startswith(hidden)}
        return f"{type(self).__name__}({', '.join(f'{n}={_show(v)}' for n, v in public.items())})"


class Curve(Immutable, ABC):
    """A smooth curve in R^n, evaluated with its time derivatives of any order.

    Curves combine: ``a + b``, ``a - b``, ``2 * a``, ``a.retimed(law)``, `stack`, `Piecewise`. A
    number or vector in a sum is a constant curve.

    A subclass gives its Taylor coefficients, from which everything else follows.

    Examples:
        >>> swing = 0.5 * jc.trajectories.Sinusoid(1.0, 2.0) + 0.1
        >>> swing(0.0), swing.series(0.0, order=2).ravel()  # value; value, rate, second derivative
        (array([0.1]), array([0.1, 1. , 0. ]))
    """

    __array_ufunc__ = None  # so that array * curve comes to the curve
    interval: Interval = ALWAYS
    """The times (start, end) that the curve is made for, s."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number n of components."""

    @abstractmethod
    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N), see `series` for users.

        Examples:
            >>> class Exponential(jc.trajectories.Curve):
            ...     size = 1
            ...
            ...     def taylor(self, t, orders):
            ...         return np.exp(t) / np.cumprod([1, *range(1, orders)])[:, None, None]
            >>> Exponential().series(0.0, order=3).ravel()
            array([1., 1., 1., 1.])
        """

    def series(self, t: ArrayLike, order: int) -> Array:
        """The curve and its time derivatives of order 1 to `order`.

        Args:
            t: (...) times, s.
            order: highest derivative, from 0 to 150.

        Returns:
            (..., order+1, n).

        Raises:
            ArgumentError: times that are not finite or that the curve does not cover, a bad order,
                values that no double can hold.

        Examples:
            >>> swing = jc.trajectories.Sinusoid(0.5, 2.0)
            >>> swing.series(0.0, order=3).ravel() + 0.0  # position, velocity, acceleration, jerk
            array([ 0.,  1.,  0., -4.])
        """
        orders = _checks.order(order) + 1
        return at_times("series", partial(self._series, orders), t, orders * self.size)

    @finite_result
    def _series(self, orders: int, t: Array) -> Array:
        return _taylor.to_derivatives(self.taylor(t.ravel(), orders), t.shape)

    def __call__(self, t: ArrayLike) -> Array:
        """The value at times t (...), of shape (..., n)."""
        return self.series(t, 0)[..., 0, :]

    def retimed(self, law: Curve) -> Curve:
        """The curve run through by a time law: the value at t is ``self(law(t))``.

        Separates a path from how it is traversed: ``path.retimed(Polynomial([0, 2]))`` is twice
        as fast. Derivatives follow the chain rule (Faa di Bruno) in Taylor arithmetic.

        Args:
            law: curve of size 1 whose values are times of this curve.

        Examples:
            >>> circle = jc.trajectories.Circle(radius=1.0, rate=1.0)
            >>> twice_as_fast = circle.retimed(jc.trajectories.Polynomial([0.0, 2.0]))
            >>> float(np.linalg.norm(twice_as_fast.series(0.3, order=1)[1]).round(12))
            2.0
        """
        return _Retimed(self, law)

    def __getitem__(self, index: int | slice | list[int]) -> Curve:
        """The curve of some components: ``curve[0]``, ``curve[:3]``, ``curve[[2, 0]]``."""
        return _Components(self, np.atleast_1d(np.arange(self.size)[index]))

    def __add__(self, other: Curve | ArrayLike) -> Curve:
        """The sum of two curves, or of a curve and a constant."""
        return _Sum(self, as_curve("summand", other))

    __radd__ = __add__

    def __mul__(self, factor: ArrayLike) -> Curve:
        """The curve times a number, or component by component times a vector."""
        return _Scaled(self, factor)

    __rmul__ = __mul__

    def __neg__(self) -> Curve:
        """The curve times -1."""
        return _Scaled(self, -1.0)

    def __sub__(self, other: Curve | ArrayLike) -> Curve:
        """The difference of two curves, or of a curve and a constant."""
        return self + -as_curve("subtrahend", other)

    def __rsub__(self, other: ArrayLike) -> Curve:
        """The difference of a constant and a curve."""
        return -self + other


class Segment(Curve):
    """A curve made for an interval of time; `extend` says what happens outside of it.

    "error" refuses times outside, "hold" stays at the nearer end with zero derivatives (as smooth
    there as the end is at rest), "formula" continues the formula. Times that miss the interval by
    at most 1e-9 of its length count as its end, unless the formula continues.

    Examples:
        >>> held = jc.trajectories.HalfCosine(0.0, 1.0, 2.0, extend="hold")
        >>> held(5.0)
        array([1.])
    """

    extend: str

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N).

        Examples:
            >>> held = jc.trajectories.HalfCosine(0.0, 1.0, 2.0, extend="hold")
            >>> held.taylor(np.array([-1.0, 3.0]), 2)[:, 0]  # at rest before and after
            array([[0., 1.],
                   [0., 0.]])
        """
        if self.extend == "formula":
            return self._formula(t, orders)
        start, end = self.interval
        nearest = np.clip(t, start, end)
        outside = np.abs(t - nearest) > _SLACK * (end - start)
        if self.extend == "error" and outside.any():
            raise ArgumentError(
                f"t: expected times from {start:g} to {end:g}, got {t[outside][0]:g}; a "
                f"{type(self).__name__} with extend='hold' or 'formula' is defined everywhere"
            )
        out = self._formula(nearest, orders)
        out[1:, :, outside] = 0.0
        return out

    @abstractmethod
    def _formula(self, t: Array, orders: int) -> Array:
        """Taylor coefficients by the formula, wherever t is."""


class Constant(Curve):
    """A curve that stays where it is.

    Args:
        value: number or (n,).

    Examples:
        >>> jc.trajectories.Constant([1.0, 2.0]).series(0.0, 1)
        array([[1., 2.],
               [0., 0.]])
    """

    value: Array

    def __init__(self, value: ArrayLike) -> None:
        super().__init__(value=_checks.vector("value", value))

    @property
    def size(self) -> int:
        """The number n of components."""
        return self.value.size

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N).

        Examples:
            >>> jc.trajectories.Constant(2.0).taylor(np.zeros(1), 3).ravel()
            array([2., 0., 0.])
        """
        out = np.zeros((orders, self.size, t.size))
        out[:1] = self.value[:, None]
        return out


class Piecewise(Curve):
    """Curves one after the other in time.

    At a join the later curve counts. How smooth the joins are is up to the pieces, and so is what
    happens before the first and after the last (their `extend`).

    Args:
        pieces: curves of one size, each with an interval that starts where the one before ends.

    Examples:
        >>> first = jc.trajectories.PiecewisePolynomial([0, 1], [[[0], [1]]])
        >>> then = jc.trajectories.PiecewisePolynomial([1, 3], [[[1], [0]]])
        >>> jc.trajectories.Piecewise([first, then]).interval
        (0.0, 3.0)
    """

    pieces: tuple[Curve, ...]
    _joins: Array

    def __init__(self, pieces: Sequence[Curve]) -> None:
        if not (
            isinstance(pieces, Sequence) and pieces and all(isinstance(p, Curve) for p in pieces)
        ):
            raise ArgumentError(f"pieces: expected at least one curve, got {shown(pieces)}")
        require_same_size("pieces", pieces)
        for before, after in itertools.pairwise(pieces):
            end, start = before.interval[1], after.interval[0]
            if not math.isfinite(end) or not math.isclose(
                end, start, rel_tol=_SLACK, abs_tol=1e-12
            ):
                raise ArgumentError(
                    f"pieces: expected each to start where the one before ends, got an end at "
                    f"{end:g} s and a start at {start:g} s"
                )
        super().__init__(
            pieces=tuple(pieces),
            interval=(pieces[0].interval[0], pieces[-1].interval[1]),
            _joins=np.array([piece.interval[0] for piece in pieces[1:]]),
        )

    @property
    def size(self) -> int:
        """The number n of components."""
        return self.pieces[0].size

    def taylor(self, t: Array, orders: int) -> Array:
        """Taylor coefficients at flat times t (N,): (orders, n, N).

        Examples:
            >>> up = jc.trajectories.PolynomialSegment([0.0], [1.0], 1.0)
            >>> down = jc.trajectories.PolynomialSegment([1.0], [0.0], 1.0, start=1.0)
            >>> both = jc.trajectories.Piecewise([up, down])
            >>> both.taylor(np.array([0.5, 1.0]), 2)[1]  # slopes, before the join and at it
            array([[ 1., -1.]])
        """
        out = np.empty((orders, self.size, t.size))
        turn = np.searchsorted(self._joins, t, side="right")
        for i in np.unique(turn):
            out[..., turn == i] = self.pieces[i].taylor(t[turn == i], orders)
        return out


def stack(*curves: Curve | ArrayLike) -> Curve:
    """The curve whose components are those of all the given curves, in order.

    Args:
        curves: curves; numbers and vectors are constant ones.

    Examples:
        >>> both = jc.trajectories.stack(jc.trajectories.Polynomial([0.0, 1.0]), [5.0])
        >>> both.series(2.0, 0)
        array([[2., 5.]])
    """
    return _Stack(*(as_curve("curves", curve) for curve in curves))


def as_curve(name: str, value: Curve | ArrayLike) -> Curve:
    """Return a curve as it is, and numbers as a constant curve."""
    if isinstance(value, Curve):
        return value
    if isinstance(value, Immutable):
        raise ArgumentError(f"{name}: expected a curve in R^n or numbers, got {shown(value)}")
    return Constant(_checks.vector(name, value))


def require_size(name: str, curve: Curve, size: int) -> Curve:
    """Require a curve with that many components."""
    if not isinstance(curve, Curve):
        raise ArgumentError(f"{name}: expected a curve of size {size}, got {shown(curve)}")
    if curve.size != size:
        raise ArgumentError(f"{name}: expected a curve of size {size}, got size {curve.size}")
    return curve


def require_same_size(name: str, curves: Iterable[Curve]) -> None:
    """Require curves of one size."""
    sizes = [curve.size for curve in curves]
    if len(set(sizes)) > 1:
        raise ArgumentError(f"{name}: expected curves of one size, got sizes {sizes}")


def overlap(intervals: Iterable[Interval]) -> Interval:
    """The times that all intervals share."""
    starts, ends = zip(ALWAYS, *intervals, strict=True)
    return max(starts), min(ends)


class _Stack(Curve):
    parts: tuple[Curve, ...]

    def __init__(self, *parts: Curve) -> None:
        super().__init__(parts=parts, interval=overlap(c.interval for c in parts))

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def __repr__(self) -> str:
        return f"stack({', '.join(map(repr, self.parts))})"

    def taylor(self, t: Array, orders: int) -> Array:
        empty = np.zeros((orders, 0, t.size))
        return np.concatenate([empty, *(part.taylor(t, orders) for part in self.parts)], axis=1)


class _Components(Curve):
    curve: Curve
    index: Integers

    def __init__(self, curve: Curve, index: Integers) -> None:
        super().__init__(curve=curve, index=index, interval=curve.interval)

    @property
    def size(self) -> int:
        return self.index.size

    def __repr__(self) -> str:
        return f"{self.curve!r}[{self.index.tolist()}]"

    def taylor(self, t: Array, orders: int) -> Array:
        return self.curve.taylor(t, orders)[:, self.index]


class _Sum(Curve):
    a: Curve
    b: Curve

    def __init__(self, a: Curve, b: Curve) -> None:
        if a.size != b.size and 1 not in (a.size, b.size):
            raise ArgumentError(f"a sum needs curves of one size, got sizes {a.size} and {b.size}")
        super().__init__(a=a, b=b, interval=overlap([a.interval, b.interval]))

    @property
    def size(self) -> int:
        return max(self.a.size, self.b.size)

    def __repr__(self) -> str:
        return f"({self.a!r} + {self.b!r})"

    def taylor(self, t: Array, orders: int) -> Array:
        return self.a.taylor(t, orders) + self.b.taylor(t, orders)


class _Scaled(Curve):
    curve: Curve
    factor: Array

    def __init__(self, curve: Curve, factor: ArrayLike) -> None:
        factors = _checks.vector("factor", factor)
        if factors.size != curve.size and 1 not in (factors.size, curve.size):
            raise ArgumentError(
                f"factor: expected a number or {curve.size} numbers, got {factors.size}"
            )
        super().__init__(curve=curve, factor=factors, interval=curve.interval)

    @property
    def size(self) -> int:
        return max(self.curve.size, self.factor.size)

    def __repr__(self) -> str:
        return f"{_show(self.factor)} * {self.curve!r}"

    def taylor(self, t: Array, orders: int) -> Array:
        return self.curve.taylor(t, orders) * self.factor[:, None]


class _Retimed(Curve):
    curve: Curve
    law: Curve

    def __init__(self, curve: Curve, law: Curve) -> None:
        super().__init__(curve=curve, law=require_size("law", law, 1), interval=law.interval)

    @property
    def size(self) -> int:
        return self.curve.size

    def __repr__(self) -> str:
        return f"{self.curve!r}.retimed({self.law!r})"

    def taylor(self, t: Array, orders: int) -> Array:
        law = self.law.taylor(t, max(orders, 1))
        return _taylor.compose(self.curve.taylor(law[0, 0], orders), law[:orders])


def _show(value: object) -> str:
    if isinstance(value, np.ndarray):
        text = np.array2string(value, precision=6, separator=", ", threshold=12, edgeitems=2)
        return " ".join(text.split())
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_show(v) for v in value) + ")"
    return repr(value)
