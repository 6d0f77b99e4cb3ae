"""Build a model in Python."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import refuse_masked
from jounce._types import Array, ArrayLike
from jounce.errors import ModelError, close_names, did_you_mean
from jounce.model import inertia as inertia_
from jounce.model.joints import Joint
from jounce.model.model import Model, require_model
from jounce.model.nodes import IDENTITY, Body, Frame

__all__ = ["ModelBuilder"]


class _Inertial(NamedTuple):
    """What `add_body` was told: the ten parameters, or mass, center and inertia about it."""

    parameters: Array | None
    mass: float = 0.0
    com: Array = np.zeros(3)
    inertia: Array = np.zeros((3, 3))


class _Link:
    """A link as added: before fixed joints are merged and bodies are sorted."""

    __slots__ = ("inertial", "joints", "name", "parent", "placement")

    def __init__(
        self,
        name: str,
        parent: str | None,
        placement: Array,
        joints: tuple[Joint, ...],
        inertial: _Inertial,
    ) -> None:
        self.name = name
        self.parent = parent
        self.placement = placement
        self.joints = joints
        self.inertial = inertial


class ModelBuilder:
    """Collects bodies, joints and frames, then makes an immutable `Model`.

    Bodies may be added in any order. `build` sorts them depth first (children in the order in
    which they were added) and merges bodies that are fixed to their parent; the merged body's
    name stays known as a frame.

    >>> import jounce as jc
    >>> builder = jc.ModelBuilder(name="pendulum")
    >>> _ = builder.add_body("rod", joint="revolute", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.5))
    >>> builder.build().nv
    1

    A builder may start from a model, which it then extends:

    >>> arm = jc.models.chain(2)
    >>> _ = jc.ModelBuilder(arm).add_body("tool", "body1", mass=0.1).build()
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        gravity: ArrayLike | None = None,
        name: str | None = None,
    ) -> None:
        """Start with nothing, or with all that a model has.

        Args:
            model: its bodies, joints, inertias, frames and visuals are taken over, so that
                ``ModelBuilder(model).build() == model``. Bodies can be added to its bodies and to
                its frames.
            gravity: (3,) acceleration of gravity, m/s^2; by default the model's, else
                (0, 0, -9.81).
            name: name of the robot; by default the model's, else "robot".
        """
        self._links: dict[str, _Link] = {}
        self._frames: dict[str, tuple[str | None, Array]] = {}
        self._visuals: list[Any] = []
        if model is not None:
            require_model(model)
            self._start_from(model)
            gravity = model.gravity if gravity is None else gravity
            name = model.name if name is None else name
        self.gravity: ArrayLike = (0.0, 0.0, -9.81) if gravity is None else gravity
        if not (name is None or isinstance(name, str)):
            raise ModelError(f"a robot's name must be a string, got {name!r}")
        self.name = "robot" if name is None else name

    def _start_from(self, model: Model) -> None:
        """Take over bodies, and frames as massless bodies that are fixed to theirs."""
        names = model.body_names
        for name, frame in model.frames.items():
            carrier = names[frame.body] if frame.body >= 0 else None
            self._links[name] = _Link(name, carrier, frame.placement, (), _Inertial(None))
        for body in model.bodies:  # whose own frames are among those above
            parent = names[body.parent] if body.parent >= 0 else None
            inertial = _Inertial(body.parameters)
            self._links[body.name] = _Link(body.name, parent, body.placement, body.joints, inertial)
        self._visuals.extend(model.visuals)

    def add_body(
        self,
        name: str,
        parent: str | None = None,
        joint: str | Joint | Sequence[Joint] = "fixed",
        placement: ArrayLike | None = None,
        *,
        mass: float = 0.0,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
        parameters: ArrayLike | None = None,
        **joint_options: Any,
    ) -> ModelBuilder:
        """Add a body and the joint that connects it to its parent.

        Args:
            name: unique name of the body.
            parent: name of the parent body, which may be added later; None is the world.
            joint: a joint type (with its options as keywords: axis, pitch, armature, lower,
                joint_name, ...), a `Joint`, or several joints that act one after the other.
            placement: pose of the body's frame in the parent's at q = neutral: a 4x4 matrix, or
                3 numbers for a mere translation.
            mass: kg.
            com: center of mass in the body's frame, m.
            inertia: 3x3 rotational inertia about the center of mass (or its 3 diagonal
                entries), kg m^2.
            parameters: the ten inertial parameters, instead of mass, com and inertia.
            **joint_options: fields of `Joint`; `joint_name` is its name.

        Returns:
            The builder itself, so that calls can be chained.

        Inertias that no body can have are taken with a `ModelWarning` when the model is built.
        """
        self._check_name("body", name)
        _check_carrier(f"body {name!r}: parent", parent)
        self._links[name] = _Link(
            name,
            parent,
            _pose(f"body {name!r}: placement", placement),
            _joints(name, joint, joint_options),
            _inertial(name, mass, com, inertia, parameters),
        )
        return self

    def add_frame(
        self, name: str, body: str | None, placement: ArrayLike | None = None
    ) -> ModelBuilder:
        """Add a named frame fixed to a body (None: to the world), with its pose in it."""
        self._check_name("frame", name)
        _check_carrier(f"frame {name!r}: body", body)
        self._frames[name] = (body, _pose(f"frame {name!r}: placement", placement))
        return self

    def add_visuals(self, visuals: Iterable[Any]) -> ModelBuilder:
        """Keep shapes for the viewer; they play no part in the dynamics."""
        if not isinstance(visuals, Iterable):
            raise ModelError(f"visuals must be a list of shapes, got {visuals!r}")
        self._visuals.extend(visuals)
        return self

    def build(self, *, warn: bool = True) -> Model:
        """Check the tree, merge fixed joints, sort depth first and make the model.

        Args:
            warn: issue one `ModelWarning` that names bodies with inertias that no body has.
        """
        bodies: list[Body] = []
        frames: dict[str, Frame] = {}
        links = self._depth_first()
        rows = _parameters(links)
        if warn:
            inertia_.warn_of_violations([link.name for link in links], rows, stacklevel=2)
        for link, parameters in zip(links, rows, strict=True):
            base = frames[link.parent] if link.parent is not None else _WORLD
            pose = _compose(base.placement, link.placement)
            if not link.joints:
                frames[link.name] = Frame(base.body, pose)
                if base.body >= 0:
                    moved = inertia_.transform(parameters, pose)
                    body = bodies[base.body]
                    bodies[base.body] = body._replace(parameters=body.parameters + moved)
                continue
            bodies.append(Body(link.name, base.body, pose, link.joints, parameters))
            frames[link.name] = Frame(len(bodies) - 1, IDENTITY)
        for name, (parent, placement) in self._frames.items():
            if parent is not None and parent not in frames:
                raise ModelError(f"frame {name!r}: {_no_body('body', parent, frames)}")
            base = frames[parent] if parent is not None else _WORLD
            frames[name] = Frame(base.body, _compose(base.placement, placement))
        return Model(self.name, self.gravity, bodies, frames, self._visuals)

    def _check_name(self, kind: str, name: object) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind}'s name must be a non-empty string, got {name!r}")
        if name in self._links or name in self._frames:
            raise ModelError(f"two bodies or frames are named {name!r}")

    def _depth_first(self) -> list[_Link]:
        children: dict[str | None, list[_Link]] = {}
        for link in self._links.values():
            if link.parent is not None and link.parent not in self._links:
                reason = _no_body("parent", link.parent, self._links)
                raise ModelError(f"body {link.name!r}: {reason}")
            children.setdefault(link.parent, []).append(link)
        order: list[_Link] = []
        stack = children.get(None, [])[::-1]
        while stack:
            link = stack.pop()
            order.append(link)
            stack.extend(reversed(children.get(link.name, ())))
        if len(order) < len(self._links):
            reached = {link.name for link in order}
            lost = next(name for name in self._links if name not in reached)
            raise ModelError(f"body {lost!r} is part of a loop: the world is not its ancestor")
        return order


_WORLD = Frame(-1, IDENTITY)


def _check_carrier(what: str, name: object) -> None:
    """Require what can be a name; whether there is such a body is known when all are there."""
    if not (name is None or isinstance(name, (str, int))):
        raise ModelError(f"{what} must be the name of a body, or None for the world, got {name!r}")


def _no_body(kind: str, name: object, known: Iterable[str]) -> str:
    """Say that a body is referred to that does not exist, and what may be meant."""
    hint = did_you_mean(map(repr, close_names(name, known)))
    if str(name).lower() in ("world", "universe", "-1"):
        hint = "; the world is not a body, it is referred to by None"
    return f"there is no {kind} named {name!r}{hint}"


def _compose(first: Array, second: Array) -> Array:
    if first is IDENTITY:
        return second
    return first if second is IDENTITY else first @ second


def _pose(what: str, value: ArrayLike | None) -> Array:
    """Check a pose; numbers are taken one by one, which is several times faster for so few."""
    if value is None:
        return IDENTITY
    array = _numbers(what, value)
    if array.shape == (3,):
        pose = np.eye(4)
        pose[:3, 3] = array
        array = pose
    if array.shape != (4, 4):
        raise ModelError(f"{what} must be a 4x4 pose or 3 numbers, got shape {array.shape}")
    x, y, z, last = array.tolist()
    if last != [0.0, 0.0, 0.0, 1.0] or not all(map(math.isfinite, (*x, *y, *z))):
        raise ModelError(f"{what} must be finite with last row (0, 0, 0, 1), got\n{array}")
    error = max(
        abs(_dot(x, x) - 1.0),
        abs(_dot(y, y) - 1.0),
        abs(_dot(z, z) - 1.0),
        abs(_dot(x, y)),
        abs(_dot(y, z)),
        abs(_dot(z, x)),
    )
    if error > 1e-6 or _triple(x, y, z) < 0:
        raise ModelError(f"{what}: the 3x3 part is not a rotation:\n{array[:3, :3]}")
    if error > 1e-15:  # the nearest rotation
        u, _, vt = np.linalg.svd(array[:3, :3])
        array[:3, :3] = u @ vt
    array.setflags(write=False)
    return array


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _triple(a: list[float], b: list[float], c: list[float]) -> float:
    """Determinant of the matrix with these rows."""
    return (
        a[0] * (b[1] * c[2] - b[2] * c[1])
        + a[1] * (b[2] * c[0] - b[0] * c[2])
        + a[2] * (b[0] * c[1] - b[1] * c[0])
    )


def _numbers(what: str, value: ArrayLike) -> Array:
    """Convert to an array; what cannot be is an error that names it."""
    refuse_masked(what, value)
    try:
        return np.array(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, got {value!r}") from None


def _joints(
    body: str, joint: str | Joint | Sequence[Joint], options: dict[str, Any]
) -> tuple[Joint, ...]:
    if isinstance(joint, str):
        name = options.pop("joint_name", "")
        try:
            chain: tuple[Joint, ...] = (Joint(joint, name, **options),)
        except TypeError as error:
            raise ModelError(f"body {body!r}: {error}") from None
    elif options:
        raise ModelError(f"body {body!r}: options {sorted(options)} need a joint type by name")
    else:
        chain = tuple(joint) if isinstance(joint, Iterable) else (joint,)
    for item in chain:
        if not isinstance(item, Joint):
            raise ModelError(f"body {body!r}: expected a Joint, got {item!r}")
        if not isinstance(item.name, str):
            raise ModelError(f"body {body!r}: a joint's name must be a string, got {item.name!r}")
    if len(chain) == 1 and chain[0].type != "fixed":
        return (chain[0].named(f"{body}_joint"),)
    if all(item.type == "fixed" for item in chain):
        return ()
    if any(item.type == "fixed" for item in chain):
        raise ModelError(f"body {body!r}: a fixed joint cannot be one of several joints")
    return tuple(item.named(f"{body}_joint{k}") for k, item in enumerate(chain))


def _inertial(
    body: str,
    mass: float,
    com: ArrayLike,
    inertia: ArrayLike | None,
    parameters: ArrayLike | None,
) -> _Inertial:
    """Check what `add_body` was told about the inertia."""
    if parameters is not None:
        ten = _numbers(f"body {body!r}: parameters", parameters)
        numbers = ten.tolist() if ten.shape == (10,) else [math.nan]
        inertial = _Inertial(ten)
    else:
        mass_, com_ = _numbers(f"body {body!r}: mass", mass), _numbers(f"body {body!r}: com", com)
        about_com = _numbers(f"body {body!r}: inertia", (0, 0, 0) if inertia is None else inertia)
        if about_com.shape == (3,):
            about_com = np.diag(about_com)
        if about_com.shape != (3, 3) or com_.shape != (3,) or mass_.shape != ():
            raise ModelError(
                f"body {body!r}: expected a number as mass, 3 numbers as com and a 3x3 inertia, "
                f"got shapes {mass_.shape}, {com_.shape}, {about_com.shape}"
            )
        same = (about_com == about_com.T).all()
        if not same and not np.allclose(about_com, about_com.T, rtol=1e-9, atol=0):
            raise ModelError(f"body {body!r}: inertia is not symmetric:\n{about_com}")
        numbers = [float(mass_), *com_.tolist(), *about_com.ravel().tolist()]
        inertial = _Inertial(None, float(mass_), com_, about_com)
    if not all(map(math.isfinite, numbers)):
        got = parameters if parameters is not None else numbers
        raise ModelError(f"body {body!r}: expected ten finite inertial parameters, got {got}")
    if numbers[0] < 0:
        raise ModelError(f"body {body!r}: mass {numbers[0]:g} is negative")
    return inertial


def _parameters(links: Sequence[_Link]) -> Array:
    """The ten parameters of all links, (n, 10), read-only."""
    told = [link.inertial for link in links]
    with np.errstate(over="ignore", invalid="ignore"):
        rows = inertia_.from_com(
            np.array([x.mass for x in told]),
            np.array([x.com for x in told]).reshape(-1, 3),
            np.array([x.inertia for x in told]).reshape(-1, 3, 3),
        )
    for k, x in enumerate(told):
        if x.parameters is not None:
            rows[k] = x.parameters
    overflow = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(overflow):
        link, row = links[overflow[0]], rows[overflow[0]]
        raise ModelError(f"body {link.name!r}: expected ten finite inertial parameters, got {row}")
    rows.setflags(write=False)
    return rows
