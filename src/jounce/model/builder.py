"""Build a model in Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike
from jounce.errors import ModelError, close_names, did_you_mean
from jounce.model import inertia as inertia_
from jounce.model._checks import collector_paused, numbers
from jounce.model._held import named, still_held
from jounce.model._links import (
    MASSLESS,
    Link,
    Place,
    added_at,
    checked_parameters,
    checked_pose,
    parameters_of,
    place_of,
)
from jounce.model.joints import Joint, check_joint
from jounce.model.model import Model, require_model
from jounce.model.nodes import IDENTITY, Body, Frame, frozen
from jounce.model.poses import neutral_coordinates

__all__ = ["ModelBuilder"]


class _Frame(NamedTuple):
    """A frame as added."""

    body: str | None
    placement: Array
    place: Place | None


class ModelBuilder:
    """Collects bodies, joints and frames, then makes an immutable `Model`.

    Bodies may be added in any order. `build` sorts them depth first (children in the order in
    which they were added) and merges bodies that are fixed to their parent; the merged body's
    name stays known as a frame.

    A builder may start from a model, which it then extends:

    Examples:
        >>> import jounce as jc
        >>> builder = jc.ModelBuilder(name="pendulum")
        >>> rod = {"mass": 1.0, "com": (0, 0, -0.5)}
        >>> _ = builder.add_body("rod", joint="revolute", axis=(0, 1, 0), **rod)
        >>> builder.build().nv
        1

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
            model: its bodies, joints, inertias, frames, visuals and poses are taken over, so that
                ``ModelBuilder(model).build() == model``. Bodies can be added to its bodies and to
                its frames; in its poses the joints of these are neutral. The joints of a coupled
                model are independent until `Model.coupled` couples those of the new one.
            gravity: (3,) acceleration of gravity, m/s^2; by default the model's, else
                (0, 0, -9.81).
            name: name of the robot; by default the model's, else "robot".
        """
        self._links: dict[str, Link] = {}
        self._joint_names: set[str] = set()
        self._frames: dict[str, _Frame] = {}
        self._visuals: list[Any] = []
        self._poses: dict[str, dict[str, Array]] = {}
        self._constraints: list[Any] = []
        self._fixed_inertia: Array = np.zeros(10)
        if model is not None:
            require_model(model)
            model = model.expanded
            self._start_from(model)
            gravity = model.gravity if gravity is None else gravity
            name = model.name if name is None else name
        self.gravity: ArrayLike = numbers(
            "gravity", (0.0, 0.0, -9.81) if gravity is None else gravity, (3,)
        )
        if not (name is None or isinstance(name, str)):
            raise ModelError(f"a robot's name must be a string, got {shown(name)}")
        self.name = "robot" if name is None else name

    def _start_from(self, model: Model) -> None:
        """Take over bodies, and frames as massless bodies that are fixed to theirs."""
        names = model.body_names
        for name, frame in model.frames.items():
            carrier = names[frame.body] if frame.body >= 0 else None
            self._links[name] = Link(name, carrier, frame.placement, (), MASSLESS)
        for body, parameters in zip(model.bodies, model.inertias.tolist(), strict=True):
            parent = names[body.parent] if body.parent >= 0 else None
            link = Link(body.name, parent, body.placement, body.joints, parameters)
            self._links[body.name] = link  # in place of the body's own frame
        self._joint_names.update(model.joint_names)
        self._fixed_inertia = model.fixed_inertia
        self._visuals.extend(model.visuals)
        self._constraints.extend(named(model.constraints, names))
        for pose, q in model.poses.items():
            self._poses[pose] = {joint: q[model.q_slice(joint)] for joint in model.joint_names}

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

        Examples:
            >>> hinge, builder = jc.Joint("revolute", axis=(0, 1, 0)), jc.ModelBuilder()
            >>> pendulum = builder.add_body("rod", joint=hinge, mass=2.0, com=(0, 0, -0.5)).build()
            >>> jc.mass_matrix(pendulum, [0.0])  # of a point mass: m l^2
            array([[0.5]])
        """
        self._check_name("body", name)
        _check_carrier("body", name, "parent", parent)
        if parameters is None:
            ten = parameters_of(name, mass, com, inertia)
        else:
            ten = checked_parameters(name, parameters)
        pose = IDENTITY if placement is None else checked_pose("body", name, placement)
        joints = _joints(name, joint, joint_options)
        self._add_joint_names(name, [item.name for item in joints])
        self._links[name] = Link(name, parent, pose, joints, ten, place_of(sys._getframe(1)))
        return self

    def add_frame(
        self, name: str, body: str | None, placement: ArrayLike | None = None
    ) -> ModelBuilder:
        """Add a named frame fixed to a body (None: to the world), with its pose in it.

        Examples:
            >>> hinge = jc.Joint("revolute", axis=(0, 1, 0))
            >>> builder = jc.ModelBuilder().add_body("rod", joint=hinge, mass=2.0)
            >>> pendulum = builder.add_frame("tip", "rod", (0, 0, -1)).build()
            >>> jc.body_pose(pendulum, [np.pi / 2], "tip")[:3, 3].round(12) + 0.0
            array([-1.,  0.,  0.])
        """
        self._check_name("frame", name)
        _check_carrier("frame", name, "body", body)
        pose = IDENTITY if placement is None else checked_pose("frame", name, placement)
        self._frames[name] = _Frame(body, pose, place_of(sys._getframe(1)))
        return self

    def add_visuals(self, visuals: Iterable[Any]) -> ModelBuilder:
        """Keep shapes for the viewer; they play no part in the dynamics.

        Examples:
            >>> from jounce.io.geometry import Sphere, Visual
            >>> builder = jc.ModelBuilder().add_body("ball", joint="free", mass=1.0)
            >>> ball = builder.add_visuals([Visual("ball", Sphere(0.1), np.eye(4))]).build()
            >>> ball.visuals[0].shape
            Sphere(radius=0.1)
        """
        if not isinstance(visuals, Iterable):
            raise ModelError(f"visuals must be a list of shapes, got {shown(visuals)}")
        self._visuals.extend(visuals)
        return self

    def build(self, *, warn: bool = True) -> Model:
        """Check the tree, merge fixed joints, sort depth first and make the model.

        Args:
            warn: issue one `ModelWarning` that names bodies with inertias that no body has.

        Examples:
            >>> builder = jc.ModelBuilder(name="cart").add_body("cart", joint="prismatic", mass=3.0)
            >>> cart = builder.add_body("box", "cart", mass=1.0).build()  # the box is fixed to it
            >>> cart.body_names, float(cart.inertias[0, 0])
            (('cart',), 4.0)
        """
        with collector_paused():
            return self._build(warn)

    def _build(self, warn: bool) -> Model:
        links = self._depth_first()
        rows = frozen(np.array([link.parameters for link in links]).reshape(-1, 10))
        if warn:
            inertia_.warn_of_violations([link.name for link in links], rows, stacklevel=3)
        bodies, frames, fixed = _merged(links, rows)
        for name, frame in self._frames.items():
            if frame.body is not None and frame.body not in frames:
                reason = _no_body("body", frame.body, frames)
                raise ModelError(f"frame {name!r}: {reason}{added_at(frame.place)}")
            base = frames[frame.body] if frame.body is not None else _WORLD
            frames[name] = Frame(base.body, _compose(base.placement, frame.placement))
        fixed = fixed + self._fixed_inertia
        joints = {joint.name for body in bodies for joint in body.joints}
        model = Model(
            self.name,
            self.gravity,
            bodies,
            frames,
            self._visuals,
            fixed_inertia=fixed,
            constraints=still_held(self._constraints, frames, joints),
        )
        return model.replace(poses=self._whole_poses(model)) if self._poses else model

    def _rewrite(self, pieces: Callable[[Link], Iterable[Link]]) -> None:
        """Put other links in the place of each; who followed a joint that is gone follows none."""
        before = self._joint_names
        links = [piece for link in self._links.values() for piece in pieces(link)]
        self._joint_names = {joint.name for link in links for joint in link.joints}
        gone = before - self._joint_names
        self._links = {link.name: link.without_leaders(gone) for link in links}

    def _add_all(self, other: ModelBuilder, visuals: Iterable[Any]) -> None:
        """Add the links of another builder, which have other names, and shapes on them."""
        self._links.update(other._links)
        self._joint_names |= other._joint_names
        self._visuals.extend(visuals)

    def _add_poses(self, poses: Mapping[str, Mapping[str, Array]]) -> None:
        """Add positions of joints by the names of poses."""
        for name, parts in poses.items():
            self._poses.setdefault(name, {}).update(parts)

    def _add_fixed_inertia(self, at: str | None, parameters: Array) -> None:
        """Add the inertia of what is fixed to a link, in its frame, or to the world."""
        if at is None:
            self._fixed_inertia = self._fixed_inertia + parameters
        elif parameters.any():
            link = self._links[at]
            self._links[at] = link.moved(parameters=np.add(link.parameters, parameters).tolist())

    def _whole_poses(self, model: Model) -> dict[str, Array]:
        """The poses of the joints that are still there, with those added since at neutral."""
        whole = dict.fromkeys(self._poses, neutral_coordinates(model.nodes))
        for name, parts in self._poses.items():
            whole[name] = whole[name].copy()
            for joint, part in parts.items():
                if joint in self._joint_names:
                    whole[name][model.q_slice(joint)] = part
        return whole

    def _check_name(self, kind: str, name: object) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind}'s name must be a non-empty string, got {shown(name)}")
        if name in self._links or name in self._frames:
            raise ModelError(f"two bodies or frames are named {name!r}")

    def _add_joint_names(self, body: str, names: Sequence[str]) -> None:
        new = set(names)
        if len(new) < len(names) or not new.isdisjoint(self._joint_names):
            twice = next(x for x in names if x in self._joint_names or names.count(x) > 1)
            raise ModelError(f"body {body!r}: two joints are named {twice!r}")
        self._joint_names |= new

    def _are_depth_first(self) -> bool:
        """Whether the links were added in such an order: each to one of those last on the way."""
        path: list[str | None] = [None]
        for link in self._links.values():
            while path and path[-1] != link.parent:
                path.pop()
            if not path:
                return False
            path.append(link.name)
        return True

    def _depth_first(self) -> list[Link]:
        if self._are_depth_first():
            return list(self._links.values())
        children: dict[str | None, list[Link]] = {}
        for link in self._links.values():
            if link.parent is not None and link.parent not in self._links:
                reason = _no_body("parent", link.parent, self._links)
                raise ModelError(f"body {link.name!r}: {reason}{added_at(link.place)}")
            children.setdefault(link.parent, []).append(link)
        order: list[Link] = []
        stack = children.get(None, [])[::-1]
        while stack:
            link = stack.pop()
            order.append(link)
            stack.extend(reversed(children.get(link.name, ())))
        if len(order) < len(self._links):
            reached = {link.name for link in order}
            lost = next(name for name in self._links if name not in reached)
            raise ModelError(
                f"body {lost!r} is part of a loop: the world is not its ancestor"
                f"{added_at(self._links[lost].place)}"
            )
        return order


_WORLD = Frame(-1, IDENTITY)


def _merged(links: Sequence[Link], rows: Array) -> tuple[list[Body], dict[str, Frame], Array]:
    """Bodies that move, frames of all links, and the inertia of what is fixed to the world."""
    bodies: list[Body] = []
    frames: dict[str, Frame] = {}
    fixed = np.zeros(10)
    for link, parameters in zip(links, rows, strict=True):
        base = frames[link.parent] if link.parent is not None else _WORLD
        pose = _compose(base.placement, link.placement)
        if link.joints:
            bodies.append(Body(link.name, base.body, pose, link.joints, parameters))
            frames[link.name] = Frame(len(bodies) - 1, IDENTITY)
            continue
        frames[link.name] = Frame(base.body, pose)
        if link.parameters is MASSLESS:
            continue
        moved = inertia_.transform(parameters, pose)
        if base.body >= 0:
            body = bodies[base.body]
            bodies[base.body] = body._replace(parameters=body.parameters + moved)
        else:
            fixed += moved
    return bodies, frames, fixed


def _check_carrier(kind: str, name: str, role: str, carrier: object) -> None:
    """Require what can be a name; whether there is such a body is known when all are there."""
    if not (carrier is None or isinstance(carrier, (str, int))):
        raise ModelError(
            f"{kind} {name!r}: {role} must be the name of a body, or None for the world, "
            f"got {shown(carrier)}"
        )


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


def _joints(
    body: str, joint: str | Joint | Sequence[Joint], options: dict[str, Any]
) -> tuple[Joint, ...]:
    """The joints of a body, checked and with names; none for a fixed one."""
    if isinstance(joint, str):
        name = options.pop("joint_name", "") or f"{body}_joint"
        like = _one_like_it(joint, options)
        if like is not None and isinstance(name, str):
            return (like.with_checked(name=name),)
        try:
            joint = Joint(joint, name, **options)
        except TypeError as error:
            raise ModelError(f"body {body!r}: {error}") from None
    elif options:
        raise ModelError(f"body {body!r}: options {sorted(options)} need a joint type by name")
    if not isinstance(joint, Joint):
        return _chain(body, tuple(joint) if np.iterable(joint) else (joint,))
    if joint.type == "fixed":
        return ()
    if not isinstance(joint.name, str):
        raise ModelError(f"body {body!r}: a joint's name must be a string, got {shown(joint.name)}")
    joint = joint.named(f"{body}_joint")
    check_joint(joint)
    return (joint,)


_GEOMETRY = {"axis", "axis2", "pitch", "anchor"}


def _one_like_it(type_: str, options: Mapping[str, Any]) -> Joint | None:
    """A joint with the same geometry that was checked before, as large robots have many."""
    if type_ == "fixed" or not options.keys() <= _GEOMETRY:
        return None
    try:
        return _checked_joint(type_, tuple(options.items()))
    except (TypeError, ModelError):  # lists cannot be looked up; what is wrong is so by its name
        return None


@lru_cache(maxsize=256)
def _checked_joint(type_: str, options: tuple[tuple[str, Any], ...]) -> Joint:
    joint = Joint(type_, **dict(options))
    check_joint(joint)
    return joint


def _chain(body: str, chain: tuple[Any, ...]) -> tuple[Joint, ...]:
    """Several joints, checked and with names."""
    for item in chain:
        if not isinstance(item, Joint):
            raise ModelError(f"body {body!r}: expected a Joint, got {shown(item)}")
        if not isinstance(item.name, str):
            raise ModelError(
                f"body {body!r}: a joint's name must be a string, got {shown(item.name)}"
            )
    if all(item.type == "fixed" for item in chain):
        return ()
    if any(item.type == "fixed" for item in chain):
        raise ModelError(f"body {body!r}: a fixed joint cannot be one of several joints")
    one = len(chain) == 1
    named = tuple(x.named(f"{body}_joint{'' if one else k}") for k, x in enumerate(chain))
    for item in named:
        check_joint(item)
    return named
