"""Wrenches on bodies: through their joints, and at frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jounce import _core
from jounce._core import kernel, memory
from jounce._core.arrays import shown
from jounce._core.out import Given, Shape, deliver
from jounce._types import Array, ArrayLike
from jounce.errors import (
    REPRESENTATIONS,
    ArgumentError,
    ArgumentTypeError,
    unknown_representation,
)
from jounce.kinematics import center_of_mass
from jounce.model.model import Model, require_model

__all__ = [
    "common_axes",
    "external_wrenches",
    "frame_wrench",
    "joint_wrenches",
    "on_bodies",
    "require_wrenches",
]

frame_wrench: Any = _core.raw("frame_wrench", "external_wrenches", inputs="q wrench body twist")
"""The wrench on a body of one at a frame of it."""


@kernel
def joint_wrenches(
    model: Model,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    f_ext: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """Wrench (moment, force) that each body gets through its joint, (..., n_bodies, 6).

    What a force sensor in the joint feels: the forces that make the body and all that it carries
    move as they do, less gravity and the external wrenches. The body's parent gets the opposite.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        v: (..., nv) rates.
        a: (..., nv) derivatives of the components of v.
        f_ext: (..., n_bodies, 6) body-fixed wrenches on the bodies.
        out: (..., n_bodies, 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 6) wrenches along the axes and about the origin of each body's own frame.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, or a bad quaternion.

    Identity: along the screws of the joint it is tau of `inverse_dynamics` less what accelerates
    the rotor (armature times a).

    Examples:
        >>> arm = jc.models.panda_like()
        >>> q = arm.poses["home"]
        >>> rest = np.zeros(7)
        >>> base = jc.joint_wrenches(arm, q, rest, rest)[0]  # on link 1, in its frame
        >>> bool(np.isclose(base[5], 9.81 * arm.inertias[:, 0].sum()))
        True
    """


def external_wrenches(
    model: Model,
    q: ArrayLike,
    wrenches: Mapping[str | int, ArrayLike],
    twist: str = "hybrid",
    *,
    out: Array | None = None,
    threads: int = 1,
) -> Array:
    """The `f_ext` of wrenches (moment, force) at frames or bodies, (..., n_bodies, 6).

    Those at frames of one body add up. A force along the world's axes turns in the body's while q
    moves: an exact derivative of dynamics needs that of `f_ext`,

        f_ext, df_ext = jvp(external_wrenches, model, (q, wrenches), (dq, dwrenches))
        jvp(inverse_dynamics, model, (q, v, a, f_ext), (dq, dv, da, df_ext))

    where dwrenches is a dict of the same names, or None. See `jounce.jvp`.

    Args:
        model: the robot.
        q: (..., nq) coordinates.
        wrenches: by body (name or index) or name of a frame, (..., 6) wrenches on it.
        twist: representation of the wrenches, dual to that of a twist: "hybrid" (about the frame's
            origin, along the world's axes), "body" (along the frame's own axes), "spatial" (about
            the world's origin, along its axes) or "mixed" (moment along the frame's axes, force
            along the world's), see `jounce.twists`.
        out: (..., n_bodies, 6) array to write to.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        (..., n_bodies, 6) body-fixed wrenches, as all functions of dynamics take them.

    Raises:
        ArgumentError: a wrong shape, a number that is not finite, a bad quaternion, an unknown
            representation, or a frame that is fixed to the world.
        ArgumentTypeError: `wrenches` is no dict.
        UnknownNameError: an unknown body or frame.

    Identity: ``inverse_dynamics(model, q, v, a, f_ext)`` is that without `f_ext` less the sum of
    ``jacobian(model, q, frame, twist).T @ wrench``.

    Examples:
        >>> import jounce as jc
        >>> model = jc.models.aerial_manipulator()
        >>> q = jc.neutral(model)
        >>> push = {"B4_com": [0, 0, 0, 5.0, 0, 0]}  # 5 N along the world's x axis
        >>> f_ext = jc.external_wrenches(model, q, push)
        >>> f_ext[model.body_index("B4"), 3:]
        array([5., 0., 0.])
    """
    require_wrenches(model, wrenches, twist)

    def compute(q: ArrayLike, *values: ArrayLike) -> Array:
        parts = {
            name: frame_wrench(model, q, wrench, name, twist, threads=threads)
            for name, wrench in zip(wrenches, values, strict=True)
        }
        lead = common_axes(parts or {"q": center_of_mass(model, q, threads=threads)})
        return on_bodies(model, parts, lead)

    if out is None:
        return compute(q, *wrenches.values())
    named: dict[str, ArrayLike] = {f"wrench {name!r}": x for name, x in wrenches.items()}
    given = Given("external_wrenches", model, threads, q=q, **named)
    return deliver(compute, out, (model.n_bodies, 6), given)


def require_wrenches(model: Model, wrenches: object, twist: object) -> None:
    """Refuse what is no dict of wrenches by bodies or frames that move, in a representation."""
    require_model(model)
    if not isinstance(twist, str) or twist not in REPRESENTATIONS:
        raise unknown_representation("twist", twist)
    if not isinstance(wrenches, Mapping):
        raise ArgumentTypeError(
            f"wrenches must be a dict of wrenches by frame, got {shown(wrenches)}"
        )
    for name in wrenches:
        _body_of(model, name)


def on_bodies(
    model: Model, parts: Mapping[str | int, Array], lead: Shape, rest: Shape = ()
) -> Array:
    """Sums of the wrenches at frames, (..., 6, *rest), as those of all bodies."""
    size = memory.bytes_of((*lead, model.n_bodies, 6, *rest))
    memory.require("external_wrenches", size, size)
    f_ext = np.zeros((*lead, model.n_bodies, 6, *rest))
    of_body = np.moveaxis(f_ext, len(lead), 0)
    for name, part in parts.items():
        of_body[_body_of(model, name)] += part
    return f_ext


def common_axes(parts: Mapping[Any, Array]) -> Shape:
    """The leading axes of wrenches together."""
    first, *others = (part.shape[:-1] for part in parts.values())
    if all(other == first for other in others):
        return first
    try:
        return np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
    except ValueError:
        shapes = ", ".join(f"{part.shape[:-1]} of {name!r}" for name, part in parts.items())
        raise ArgumentError(
            f"the leading (batch) axes of wrenches, {shapes}, do not broadcast"
        ) from None


def _body_of(model: Model, name: str | int) -> int:
    body = model.frame(name).body
    if body < 0:
        raise ArgumentError(f"frame {name!r} is fixed to the world, which no wrench moves")
    return body
