"""Inverse kinematics: the configuration in which frames are where they should be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce import _core
from jounce._core import memory
from jounce._core.arrays import finite, integer, positive, reals, shown
from jounce._core.coupled import coupled
from jounce._core.elementwise import deliver_elementwise
from jounce._core.out import Shape, require_out, untouched_if_failing
from jounce._types import Array, ArrayLike, Mask
from jounce.errors import ArgumentError
from jounce.kinematics.configurations import generator_of, random_configuration
from jounce.lie._checks import group_element
from jounce.model._checks import check_flag
from jounce.model.model import Model, node_of, require_model

if TYPE_CHECKING:
    from jounce.model.coupled import CoupledModel

__all__ = ["CENTER_OF_MASS", "InverseKinematics", "inverse_kinematics", "placed_frame"]

CENTER_OF_MASS = "center_of_mass"
"""Key of the task that asks for the robot's center of mass."""

MOST_TARGETS = 100
"""In a search."""

_MOST = 1_000_000
"""Steps or searches; more would not end."""

_search: Callable[..., Any] = _core.raw(
    "search_configuration",
    "inverse_kinematics",
    inputs="q0 targets weights nodes frames bounds settings",
)
_check_state: Callable[..., Any] = _core.raw("check_state", "inverse_kinematics", inputs="q")

_POSE, _POSITION, _CENTER = 0, 1, -2  # kinds of tasks of the core
_FAR = 1e300  # stands for a coordinate without limit


class InverseKinematics(NamedTuple):
    """What `inverse_kinematics` found.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q, zero = arm.poses["home"], np.zeros(7)
        >>> target = jc.body_pose(arm, q, arm.body_names[-1])
        >>> found = jc.inverse_kinematics(arm, {arm.body_names[-1]: target}, q + 0.1)
        >>> bool(found.converged)
        True
    """

    q: Array
    """(..., nq) coordinates, within the limits."""
    converged: Mask
    """(...) whether the error is at most the tolerance."""
    error: Array
    """(...) length of the weighted residual: rad and m together."""


def inverse_kinematics(
    model: Model,
    targets: Mapping[str | int, ArrayLike],
    q0: ArrayLike,
    *,
    weights: Mapping[str | int, ArrayLike] | None = None,
    limits: bool = True,
    tolerance: float = 1e-9,
    iterations: int = 100,
    restarts: int = 0,
    rng: np.random.Generator | int | None = None,
    out: tuple[Array, Mask, Array] | None = None,
    threads: int = 1,
) -> InverseKinematics:
    """Find coordinates that put frames, or the center of mass, where they should be.

    The sum of squares of all weighted residuals is made small by damped least squares
    (Levenberg-Marquardt) on the group: a step is ``integrate(q, u)`` with

        u = -J^T (J J^T + mu)^-1 e

    over the joints that no limit stops. With the pose (R, p) of a frame and its target (R0, p0),
    the residual e and its derivative are

    ======================  =======  ==========================================================
    target                  shape    e
    ======================  =======  ==========================================================
    pose of a frame         (4, 4)   (log(R0^T R), R0^T (p - p0)): in the axes of the target
    position of a frame     (3,)     p - p0: in world axes
    "center_of_mass"        (3,)     c - c0: in world axes
    ======================  =======  ==========================================================

    The derivative is exact, so that the last steps converge quadratically where the target can be
    reached. Where it cannot, the result is a stationary point, as near as it gets.

    Args:
        model: the robot.
        targets: for each frame (a body's name or index, or a frame's name) a pose (..., 4, 4) or a
            position (..., 3); for the key "center_of_mass" its position (..., 3). Leading axes
            broadcast with each other and with those of q0.
        q0: (..., nq) coordinates to start from.
        weights: for some of the targets a factor of its residual: one number, or one for each
            component, six (angular, linear) of a pose, three of a position. Zero leaves a
            component free: ``{"drill": (1, 1, 0, 1, 1, 1)}`` lets a tool spin about its z axis.
        limits: whether ``model.lower`` and ``model.upper`` hold, for joints of one degree of
            freedom; those of spherical and free joints do not count.
        tolerance: length of the residual at which the search ends, in rad and m.
        iterations: how many steps each search may try.
        restarts: how often to search again from a random configuration where the search did not
            converge, at most a million times; the best result is kept.
        rng: generator, or seed, of the random configurations.
        out: three arrays to write to, in the order of the result: the second of dtype bool.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple (q, converged, error).

    Raises:
        ArgumentError: no target, a wrong shape, a matrix that is no pose, a number that is not
            finite, a bad quaternion, or a weight for what has no target.
        UnknownNameError: an unknown frame.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.chain(6)
        >>> target = jc.body_pose(arm, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "body5")
        >>> found = jc.inverse_kinematics(arm, {"body5": target}, jc.neutral(arm))
        >>> bool(found.converged)
        True
    """
    require_model(model)
    states = q0.shape[:-1] if isinstance(q0, np.ndarray) else ()
    tasks = _tasks(model, targets, {} if weights is None else weights, states)
    tolerance = positive("tolerance", tolerance)
    settings = np.array([tolerance, integer("iterations", iterations, 0, _MOST)])
    fixed = (tasks.weights, tasks.nodes, tasks.frames, _bounds(model, limits), settings)
    more = integer("restarts", restarts, 0, _MOST)
    generator = generator_of(rng) if more else None
    if out is None or not _require_places(model, q0, tasks, out):
        return _solved(model, q0, tasks, fixed, tolerance, more, generator, threads)
    with untouched_if_failing(out, {"q0": q0}, threads) as guard:
        guard.write(_solved(model, q0, tasks, fixed, tolerance, more, generator, threads))
    return InverseKinematics(*out)


def _require_places(model: Model, q0: ArrayLike, tasks: _Tasks, out: Any) -> bool:
    """Refuse what cannot hold the results; return whether q0 and targets fit each other at all."""
    try:
        start = np.asarray(q0)
        lead = np.broadcast_shapes(start.shape[:-1], tasks.targets.shape[:-3])
    except ValueError:
        return False
    if start.shape[-1:] != (model.nq,) or start.dtype.kind not in "fiub":
        return False
    if not isinstance(out, tuple) or len(out) != 3:
        raise ArgumentError("out must be a tuple of 3 arrays")
    require_out((out[0], out[2]), [(*lead, model.nq), lead])
    flags = out[1]
    good = isinstance(flags, np.ndarray) and flags.dtype == bool and flags.shape == lead
    if not (good and flags.flags.carray):
        raise ArgumentError(
            f"out[1] must be a writable C-contiguous bool array of shape {lead}, for converged"
        )
    return True


def _solved(
    model: Model,
    q0: ArrayLike,
    tasks: _Tasks,
    fixed: tuple[Array, ...],
    tolerance: float,
    restarts: int,
    generator: np.random.Generator | None,
    threads: int,
) -> InverseKinematics:
    """Search, and again from random configurations where that did not converge."""
    found = _search(model, q0, tasks.targets, *fixed, threads=threads)
    q, error = found[0], np.asarray(found[1])
    for _ in range(restarts):
        left = error > tolerance
        if not left.any():
            break
        start = random_configuration(model, generator, int(left.sum()))
        goal = np.broadcast_to(tasks.targets, (*error.shape, *tasks.targets.shape[-3:]))[left]
        again, rest, _ = _search(model, start, goal, *fixed, threads=threads)
        better = rest < error[left]
        at = tuple(index[better] for index in np.nonzero(left)) if error.ndim else ()
        if error.ndim:
            q[at], error[at] = again[better], rest[better]
        elif better[0]:
            q, error = again[0], rest[0]
    error = np.asarray(error)
    return InverseKinematics(q, error <= tolerance, error[()])


@coupled("search_configuration", checked=True)
def _search_coupled(
    model: CoupledModel, q0: Array, bounds: Array, *, threads: int, **tasks: Array
) -> tuple[Array, ...]:
    """Search with all joints of the expanded model, of which some follow others."""
    _check_state(model.independent, q0, threads=threads)
    own = model.independent_coordinates
    whole = np.full((2, model.expanded.nq), [[-_FAR], [_FAR]])
    whole[:, own] = bounds
    tasks.update(bounds=whole, couplings=model.couplings)
    found = _search(model.expanded, model.expand(q0), **tasks, threads=threads)
    return found[0][..., own], *found[1:]


class _Tasks(NamedTuple):
    """Arrays of the core, one row for each task."""

    targets: Array
    """(..., tasks, 4, 4)."""
    weights: Array
    """(tasks, 6) angular, linear."""
    nodes: Array
    """(tasks, 2) node that carries the frame, kind of the task."""
    frames: Array
    """(tasks, 4, 4) the frame in the node's own frame."""


def _tasks(
    model: Model,
    targets: Mapping[str | int, ArrayLike],
    weights: Mapping[str | int, ArrayLike],
    states: Shape,
) -> _Tasks:
    if not isinstance(targets, Mapping) or not targets:
        raise ArgumentError(f"targets must be a dict of at least one frame, got {shown(targets)}")
    if len(targets) > MOST_TARGETS:
        raise ArgumentError(f"at most {MOST_TARGETS} targets fit a search, got {len(targets)}")
    if not isinstance(weights, Mapping) or not weights.keys() <= targets.keys():
        raise ArgumentError(
            f"weights must be a dict of some of the targets {list(targets)}, got {shown(weights)}"
        )
    given, nodes, frames, factors = [], [], [], []
    for key, value in targets.items():
        array, kind = _target(key, value)
        node, frame = (-1, np.eye(4)) if kind == _CENTER else placed_frame(model, key)
        given.append((key, array, kind))
        nodes.append((node, kind))
        frames.append(frame)
        factors.append(_weights(key, weights.get(key, 1.0), kind))
    if all(array.ndim == 1 + (kind == _POSE) for _, array, kind in given):
        poses = np.array([_pose(*target) for target in given])
    else:
        poses = _many_poses(model, given, states)
    return _Tasks(poses, *(np.array(x, float) for x in (factors, nodes, frames)))


def _target(key: str | int, value: ArrayLike) -> tuple[Array, int]:
    """The target as an array, and the kind of the task."""
    array = reals(f"targets[{shown(key)}]", value)
    if array.shape[-2:] == (4, 4) and key != CENTER_OF_MASS:
        return array, _POSE
    if array.shape[-1:] != (3,):
        wanted = "" if key == CENTER_OF_MASS else "a pose (..., 4, 4) or "
        raise ArgumentError(
            f"targets[{shown(key)}] must be {wanted}a position (..., 3), got shape {array.shape}"
        )
    return array, _CENTER if key == CENTER_OF_MASS else _POSITION


def _many_poses(model: Model, given: list[tuple[str | int, Array, int]], states: Shape) -> Array:
    """Targets with leading axes as poses, (..., tasks, 4, 4); `states` are the axes of q0."""
    keys, arrays, kinds = zip(*given, strict=True)
    names = [f"targets[{shown(key)}]" for key in keys]
    ranks = {name: 2 if kind == _POSE else 1 for name, kind in zip(names, kinds, strict=True)}
    leads = [x.shape[: x.ndim - n] for x, n in zip(arrays, ranks.values(), strict=True)]
    _require_room(model, dict(zip(keys, leads, strict=True)), states)

    def compute(*some: Array) -> Array:
        poses = list(map(_pose, keys, some, kinds))
        lead = np.broadcast_shapes(*(pose.shape[:-2] for pose in poses))
        return np.stack([np.broadcast_to(pose, (*lead, 4, 4)) for pose in poses], axis=-3)

    own = dict(zip(names, arrays, strict=True))
    found: Array = deliver_elementwise(
        "inverse_kinematics", compute, own, ranks, makes=16 * len(own)
    )
    return found


def _require_room(model: Model, targets: Mapping[str | int, Shape], states: Shape) -> None:
    """Refuse leading axes that do not broadcast, and searches whose results do not fit."""
    try:
        lead = np.broadcast_shapes(*targets.values())
    except ValueError:
        shapes = ", ".join(f"{key!r} has {axes}" for key, axes in targets.items())
        raise ArgumentError(f"the leading axes of the targets do not broadcast: {shapes}") from None
    with suppress(ValueError):  # the search says so
        results = math.prod(map(float, np.broadcast_shapes(lead, states))) * (8 * model.nq + 9)
        poses = math.prod(map(float, lead)) * 128 * len(targets)
        memory.require("inverse_kinematics", results, results + poses)


def _pose(key: str | int, array: Array, kind: int) -> Array:
    """The target as a pose."""
    if not np.isfinite(array).all():
        finite(f"targets[{shown(key)}]", array)
    if kind == _POSE:
        if array.ndim > 2 or not _is_pose(array):
            group_element(f"targets[{shown(key)}]", array)  # which says what is wrong
        return array
    pose = np.zeros((*array.shape[:-1], 4, 4))
    pose[..., range(4), range(4)] = 1.0
    pose[..., :3, 3] = array
    return pose


def _is_pose(T: Array) -> bool:
    """Whether one matrix is a pose to 1e-6; in plain numbers, ten times as fast as in arrays."""
    x, y, z, last = T.tolist()
    products = (
        abs(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 1.0),
        abs(y[0] * y[0] + y[1] * y[1] + y[2] * y[2] - 1.0),
        abs(z[0] * z[0] + z[1] * z[1] + z[2] * z[2] - 1.0),
        abs(x[0] * y[0] + x[1] * y[1] + x[2] * y[2]),
        abs(y[0] * z[0] + y[1] * z[1] + y[2] * z[2]),
        abs(z[0] * x[0] + z[1] * x[1] + z[2] * x[2]),
    )
    upward = z[0] * (x[1] * y[2] - x[2] * y[1]) + z[1] * (x[2] * y[0] - x[0] * y[2])
    upward += z[2] * (x[0] * y[1] - x[1] * y[0])
    return bool(last == [0.0, 0.0, 0.0, 1.0] and max(products) < 1e-6 and upward > 0.0)


def placed_frame(model: Model, key: str | int) -> tuple[int, Array]:
    """The node that carries a frame, and the frame's pose in the node's own frame."""
    node, pose = node_of(model.expanded, key), model.frame(key).placement
    if node < 0:
        return node, pose
    A = model.expanded.nodes.alignment[node]
    placed = np.zeros((4, 4))
    placed[:3] = A[:3, :3].T @ pose[:3]
    placed[:3, 3] -= A[:3, :3].T @ A[:3, 3]
    placed[3, 3] = 1.0
    return node, placed


def _weights(key: str | int, value: ArrayLike, kind: int) -> Array:
    array = finite(f"weights[{shown(key)}]", value)
    count = 6 if kind == _POSE else 3
    if array.shape not in ((), (count,)) or (array < 0).any():
        raise ArgumentError(
            f"weights[{shown(key)}] must be one number or {count}, none negative, "
            f"got {shown(value)}"
        )
    out = np.zeros(6)
    out[6 - count :] = array
    return out


def _bounds(model: Model, hold: bool) -> Array:
    """Lower and upper limits, (2, nq)."""
    check_flag("limits", hold)
    bounds = np.full((2, model.nq), [[-_FAR], [_FAR]])
    if hold:
        bounds[0] = np.maximum(model.lower, -_FAR)
        bounds[1] = np.minimum(model.upper, _FAR)
    return bounds
