"""Configurations: neutral, random, given ones; moving and differences on the manifold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import index

import numpy as np

from jounce import lie
from jounce._core import kernel, memory
from jounce._core.arrays import finite, shown
from jounce._core.elementwise import deliver_elementwise
from jounce._types import Array, ArrayLike, Index
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.kinematics.bodies import body_pose
from jounce.lie.quaternions import meant
from jounce.model.joints import ELEMENTARY, Joint
from jounce.model.model import Model, require_model

__all__ = [
    "configuration",
    "coordinate_rates",
    "difference",
    "integrate",
    "interpolate",
    "neutral",
    "normalize",
    "random_configuration",
]


_MOST_AXES = 30  # NumPy's own limit is a little higher, and depends on its version
_PORTION = 2**14  # states that are drawn at a time


def neutral(model: Model, shape: int | Sequence[int] = ()) -> Array:
    """Configuration with zero angles and displacements and identity quaternions, (*shape, nq).

    Args:
        model: the robot.
        shape: leading axes.

    Returns:
        (*shape, nq) coordinates.

    Raises:
        ArgumentError: a negative shape.
        TooLargeError: there is less memory than that.
        ArgumentTypeError: `model` is no model, or the shape is not made of integers.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> jc.neutral(robot)[:7]  # quaternion (x, y, z, w), position
        array([0., 0., 0., 1., 0., 0., 0.])
    """
    require_model(model)
    q = np.zeros((*_lead("neutral", model, shape), model.nq))
    q[..., _quaternions(model) + 3] = 1.0
    return q


def random_configuration(
    model: Model,
    rng: np.random.Generator | int | None = None,
    shape: int | Sequence[int] = (),
) -> Array:
    """Random configuration, (*shape, nq).

    Joints with finite limits are uniform within them, others uniform in [-pi, pi] (angles) or
    [-1, 1] (displacements); quaternions are uniform on the group.

    Args:
        model: the robot.
        rng: a NumPy generator, or a seed.
        shape: leading axes.

    Returns:
        (*shape, nq) coordinates.

    Raises:
        ArgumentError: a negative shape or seed.
        TooLargeError: there is less memory than that.
        ArgumentTypeError: `model` is no model, `rng` is no generator or seed, or the shape is not
            made of integers.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q = jc.random_configuration(robot, 0, shape=100)
        >>> q.shape, bool(np.allclose(np.linalg.norm(q[:, :4], axis=1), 1))
        ((100, 13), True)
    """
    require_model(model)
    generator = generator_of(rng)
    lead = _lead("random_configuration", model, shape)
    with np.errstate(invalid="ignore", over="ignore"):
        width = model.upper - model.lower
    bounded, reach = np.isfinite(width), _reach(model)
    low = np.where(bounded, model.lower, -reach)
    return _drawn(model, generator, lead, low, np.where(bounded, width, 2 * reach))


def generic_configuration(
    model: Model, rng: np.random.Generator | int, shape: int | Sequence[int] = ()
) -> Array:
    """Configuration that tells what holds almost everywhere, (*shape, nq): which entries are zero.

    As `random_configuration`, but without regard to limits: they may leave a joint one value, where
    its sine is zero.
    """
    reach = _reach(model)
    lead = _lead("generic_configuration", model, shape)
    return _drawn(model, generator_of(rng), lead, -reach, 2 * reach)


def _drawn(
    model: Model, generator: np.random.Generator, lead: tuple[int, ...], low: Array, width: Array
) -> Array:
    """Coordinates that are uniform from `low` on; quaternions are uniform on the group."""
    starts, rows = _quaternions(model), math.prod(lead)
    q: Array = np.empty((rows, model.nq))
    portions = [slice(k, k + _PORTION) for k in range(0, rows, _PORTION)]
    for some in portions:  # in one go, Ctrl-C would wait
        generator.random(out=q[some])
        q[some] *= width
        q[some] += low
    for some in portions if len(starts) else ():
        x = generator.standard_normal((len(q[some]), len(starts), 4))
        x /= np.sqrt(np.einsum("...i,...i", x, x))[..., None]
        q[some, starts[:, None] + np.arange(4)] = x
    return q.reshape(*lead, model.nq)


def generator_of(rng: np.random.Generator | int | None) -> np.random.Generator:
    """The generator itself, or one with this seed.

    Raises:
        ArgumentError: a negative seed.
        ArgumentTypeError: it is no generator or seed.
    """
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    try:
        seed = index(rng)
    except TypeError:
        raise ArgumentTypeError(
            f"rng must be a NumPy generator, a seed or None, got {shown(rng)}"
        ) from None
    if seed < 0:
        raise ArgumentError(f"rng: a seed must not be negative, got {shown(seed)}")
    return np.random.default_rng(seed)


def configuration(
    model: Model,
    base: ArrayLike | None = None,
    joints: Mapping[str, ArrayLike] | None = None,
) -> Array:
    """Configuration with the base at a pose and joints at values, (..., nq); the rest is neutral.

    Args:
        model: the robot.
        base: (..., 4, 4) pose of the first body in the world, if it has a free joint.
        joints: by name, one number (...) for a joint with one coordinate, (..., n) for others; the
            quaternions of spherical and free joints may have any length but zero. Leading axes
            broadcast.

    Returns:
        (..., nq) coordinates.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a zero quaternion, a pose that is
            none, or a pose for a base that is not free.
        ArgumentTypeError: `model` is no model.
        UnknownNameError: an unknown joint.

    Examples:
        >>> import jounce as jc
        >>> model = jc.models.aerial_manipulator()
        >>> q = jc.configuration(model, base=np.eye(4), joints={"q2": 0.3})
        >>> q[model.q_slice("q2")]
        array([0.3])
    """
    require_model(model)
    if joints is not None and not isinstance(joints, Mapping):
        raise ArgumentTypeError(f"joints must be a dict of values by joint, got {shown(joints)}")
    arrays: dict[str, ArrayLike] = {}
    ranks: dict[str, int] = {}
    places: dict[int, int] = {}  # where coordinates begin, and where they end
    if base is not None:
        _require_free_base(model)
        arrays["base"], ranks["base"], places[0] = base, 2, 7
    for joint, value in (joints or {}).items():
        at, name = model.q_slice(joint), f"joints[{shown(joint)}]"
        if at.start == at.stop:
            raise ArgumentError(f"{name}: this joint follows another one")
        if at.start in places:
            raise ArgumentError(f"{name} is given twice, or by base, too")
        arrays[name], ranks[name], places[at.start] = value, int(at.stop - at.start > 1), at.stop

    def compute(*values: ArrayLike) -> Array:
        parts = {}
        for (start, stop), name, x in zip(places.items(), arrays, values, strict=True):
            at_base = name == "base"
            parts[start] = _base_coordinates(model, x) if at_base else _joint(name, x, stop - start)
        return _filled(model, parts)

    q: Array = deliver_elementwise("configuration", compute, arrays, ranks, makes=model.nq)
    return q


def _filled(model: Model, parts: Mapping[int, Array]) -> Array:
    """Coordinates with some that are given, by where they begin; the rest is neutral."""
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in parts.values()))
    except ValueError:
        shapes = ", ".join(str(x.shape[:-1]) for x in parts.values())
        raise ArgumentError(f"leading axes {shapes} of base and joints do not broadcast") from None
    q = neutral(model, lead)
    for start, x in parts.items():
        q[..., start : start + x.shape[-1]] = x
    return normalize(model, q, out=q)


def _require_free_base(model: Model) -> None:
    if not (model.bodies and model.bodies[0].parent < 0 and _is_free(model.bodies[0].joints)):
        raise ArgumentError("base needs a model whose first body has a free joint to the world")


def _base_coordinates(model: Model, base: ArrayLike) -> Array:
    """Coordinates of the free joint at the root that put the first body at a pose."""
    T = finite("base", base)
    if T.shape[-2:] != (4, 4) or (np.abs(T[..., 3, :] - [0, 0, 0, 1]) > 1e-6).any():
        raise ArgumentError(
            f"base must be a pose (..., 4, 4) with last row (0, 0, 0, 1), got {shown(T)}"
        )
    T = lie.inverse(body_pose(model, neutral(model), 0)) @ T
    return meant(np.concatenate([lie.matrix_to_quat(T[..., :3, :3]), T[..., :3, 3]], axis=-1))


def _is_free(joints: Sequence[Joint]) -> bool:
    return [joint.type for joint in joints] == ["free"]


def _joint(name: str, value: ArrayLike, count: int) -> Array:
    x = finite(name, value)
    if count == 1:
        return x[..., None]
    if x.shape[-1:] != (count,):
        raise ArgumentError(f"{name} must have shape (..., {count}), got {x.shape}")
    return x


def _lead(function: str, model: Model, shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        lead = tuple(map(index, shape)) if isinstance(shape, Iterable) else (index(shape),)
    except TypeError:
        raise ArgumentTypeError(
            f"shape must be one or several integers, got {shown(shape)}"
        ) from None
    if any(n < 0 for n in lead):
        raise ArgumentError(f"shape must not be negative, got {shown(shape)}")
    if len(lead) > _MOST_AXES:
        raise ArgumentError(f"shape must have at most {_MOST_AXES} axes, got {len(lead)}")
    size = 8.0 * max(model.nq, 1) * math.prod(float(min(n or 1, 2**63)) for n in lead)
    if 0 not in lead or size >= 2**63:  # NumPy multiplies the others though there is nothing
        memory.require(function, size, size)
    return lead


def _reach(model: Model) -> Array:
    """How far from zero coordinates without limits are drawn: half a turn, or one meter."""
    nodes = model.coordinates
    reach = np.ones(model.nq)
    reach[nodes.q_index[_TURNS[nodes.kind]]] = np.pi
    return reach


_TURNS = np.array([kind in ("revolute", "helical") for kind in ELEMENTARY])
_IS_GROUP = np.array([kind in ("spherical", "free") for kind in ELEMENTARY])


@kernel
def integrate(
    model: Model, q: ArrayLike, dv: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Move q along the tangent vector dv, (..., nq).

    1-DoF joints add; spherical and free joints move by the group's exponential on the right
    (left-trivialized): ``R exp(dv)``, ``T exp(dv)``.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        dv: (..., nv) tangent vector, for example ``v * dt``.
        out: (..., nq) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) coordinates, quaternions normalized.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``difference(model, q, integrate(model, q, dv)) == dv`` below half a turn.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q = jc.integrate(robot, jc.neutral(robot), [0, 0, np.pi / 2, *np.zeros(9)])
        >>> q[:4].round(4)
        array([0.    , 0.    , 0.7071, 0.7071])
    """


@kernel
def difference(
    model: Model, q0: ArrayLike, q1: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Tangent vector at q0 that leads to q1, (..., nv); rotations by at most half a turn.

    Args:
        model: the robot.
        q0: (..., nq) coordinates.
        q1: (..., nq) coordinates.
        out: (..., nv) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nv) tangent vector.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: ``integrate(model, q0, difference(model, q0, q1)) == q1`` (up to the quaternion's
    sign).

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q0, q1 = jc.random_configuration(robot, 0, shape=2)
        >>> bool(np.allclose(jc.integrate(robot, q0, jc.difference(robot, q0, q1))[4:], q1[4:]))
        True
    """


@kernel
def interpolate(
    model: Model,
    q0: ArrayLike,
    q1: ArrayLike,
    s: ArrayLike,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Configuration between two others, (..., nq): ``integrate(q0, s difference(q0, q1))``.

    The way from q0 to q1 has a constant velocity: a spherical joint turns about one axis, a free
    one moves along a screw. Many points of one way broadcast: ``s`` of shape (N,) gives (N, nq).

    Args:
        model: the robot.
        q0: (..., nq) coordinates at s = 0.
        q1: (..., nq) coordinates at s = 1.
        s: (...) part of the way; below 0 and above 1 the motion goes on.
        out: (..., nq) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) coordinates, quaternions normalized.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> jc.interpolate(arm, np.zeros(7), np.ones(7), 0.25)
        array([0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25])
    """


@kernel
def normalize(model: Model, q: ArrayLike, *, out: Array | None = None, threads: int = 1) -> Array:
    """Scale the quaternions of spherical and free joints to unit length, (..., nq).

    All functions do this with quaternions that are off by less than 1e-3; this one does it with
    any, such as those that an optimizer or an integrator of coordinates left behind.

    Args:
        model: the robot.
        q: (..., nq) coordinates with quaternions of any length but zero.
        out: (..., nq) array to write to, which may be q.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) coordinates.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a zero quaternion.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> jc.normalize(robot, [0, 0, 0, 2.0, *np.zeros(9)])[:4]
        array([0., 0., 0., 1.])
    """


@kernel
def coordinate_rates(
    model: Model, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int = 1
) -> Array:
    """Time derivatives of the coordinates, dq/dt, (..., nq).

    1-DoF joints: v. A quaternion x changes by ``x (w, 0) / 2`` with the angular velocity w, the
    position of a free joint by ``R u`` with the linear velocity u in the child frame. An
    integrator that knows nothing of groups, such as ``scipy.integrate.solve_ivp``, needs these;
    `normalize` what it returns, or use `integrate`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        out: (..., nq) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., nq) derivatives of the components of q.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Examples:
        >>> robot = jc.models.aerial_manipulator()
        >>> q, v = jc.neutral(robot), np.ones(robot.nv)
        >>> jc.coordinate_rates(robot, q, v)[:7]
        array([ 0.5,  0.5,  0.5, -0. ,  1. ,  1. ,  1. ])
    """


def _quaternions(model: Model) -> Index:
    """Where the quaternions of spherical and free joints begin in q."""
    nodes = model.coordinates
    starts: Index = nodes.q_index[_IS_GROUP[nodes.kind]]
    return starts
