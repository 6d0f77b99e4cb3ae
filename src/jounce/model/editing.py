"""Models made from models: joints locked, loads and frames added, parts cut off or attached."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ModelError, ModelWarning
from jounce.model import inertia as inertia_
from jounce.model._checks import name_list, numbers
from jounce.model._held import mounted, named, with_locked
from jounce.model._links import MASSLESS, Link, parameters_of
from jounce.model.builder import ModelBuilder
from jounce.model.joints import ELEMENTARY, SIZES, Joint, elementary_joints
from jounce.model.model import Model, require_model
from jounce.model.nodes import IDENTITY, Body, Frame

__all__ = ["attach", "joint_pose", "lock", "reorder", "subtree", "with_frame", "with_payload"]


def joint_pose(joint: Joint, q: ArrayLike) -> Array:
    """Pose of a body across one of its joints, in the body's frame; the identity at neutral.

    Args:
        joint: the joint, with its axis and anchor in the body's frame.
        q: its coordinates.
    """
    left = np.asarray(q, float).reshape(-1)
    pose = np.eye(4)
    for element in elementary_joints(joint):
        size = SIZES[element.kind, 0]
        own, left = left[:size], left[size:]
        axis, anchor = np.array(element.axis), np.array(element.anchor)
        step = np.eye(4)
        if size > 1:  # a group acts about the anchor: T(anchor) G T(-anchor)
            step[:3, :3] = lie.quat_to_matrix(own[:4])
            step[:3, 3] = anchor - step[:3, :3] @ anchor
            step[:3, 3] += own[4:] if size > 4 else 0.0
        elif ELEMENTARY[element.kind] == "prismatic":
            step[:3, 3] = own * axis
        else:
            moment = np.cross(anchor, axis) + element.pitch * axis
            step = lie.exp(own * np.concatenate([axis, moment]))
        pose = pose @ step
    return pose


def lock(model: Model, values: Mapping[str, ArrayLike]) -> Model:
    """See `Model.lock`."""
    if not isinstance(values, Mapping):
        raise ArgumentError(
            f"lock takes a mapping of joints to their positions, got {shown(values)}"
        )
    locked: dict[str, Array] = {}
    outside: list[str] = []
    for key, value in values.items():
        k = model.joint_index(key)
        name = model.joint_names[k]
        locked[name] = _coordinates(model, k, value)
        outside += _outside(model, k, locked[name])
    if outside:
        warnings.warn("; ".join(outside), ModelWarning, stacklevel=3)
    builder = ModelBuilder(model)
    taken = set(model.frames)
    builder._rewrite(lambda link: _pieces(link, locked, taken))
    builder._constraints = with_locked(builder._constraints, locked)
    return builder.build(warn=False)


def _coordinates(model: Model, k: int, value: ArrayLike) -> Array:
    """Checked coordinates of a joint, with quaternions of unit length."""
    name = model.joint_names[k]
    part = model.q_slice(k)
    size = part.stop - part.start
    q = numbers(f"position of joint {name!r}", value, (size,), scalar=size == 1)
    kinds = model.nodes.kind[model.nodes.joint == k]
    if ELEMENTARY[kinds[0]] in ("spherical", "free"):
        norm = np.linalg.norm(q[:4])
        if abs(norm - 1.0) > 1e-3:
            raise ArgumentError(
                f"position of joint {name!r}: expected a unit quaternion (x, y, z, w) first, "
                f"got one of norm {norm:g}"
            )
        q[:4] /= norm
    return q


def _outside(model: Model, k: int, q: Array) -> Iterator[str]:
    """Say that a joint is beyond its limits, if it is."""
    part = model.q_slice(k)
    lower, upper = model.lower[part], model.upper[part]
    if ((q < lower) | (q > upper)).any():
        at, low, high = (_shown(x) for x in (q, lower, upper))
        name = model.joint_names[k]
        yield f"joint {name!r} is locked at {at}, outside its limits {low} to {high}"


def _shown(values: Array) -> str:
    return f"{values[0]:g}" if len(values) == 1 else str(values.tolist())


def _pieces(link: Link, locked: Mapping[str, Array], taken: set[str]) -> Iterator[Link]:
    """A link without some of its joints.

    What comes before a locked joint is constant or a body of its own, without mass: the pose is
    P G_1(q_1) ... G_m(q_m), and a constant G_k is the placement of what follows in what precedes.
    """
    parent, pose = link.parent, link.placement
    left: list[Joint] = []
    for joint in link.joints:
        if joint.name not in locked:
            left.append(joint)
            continue
        if left:
            carrier = _fresh(f"{link.name}_{left[-1].name}", taken)
            yield Link(carrier, parent, pose, tuple(left), MASSLESS)
            parent, pose, left = carrier, IDENTITY, []
        try:
            pose = pose @ joint_pose(joint, locked[joint.name])
        except ArgumentError as error:
            raise ArgumentError(f"position of joint {joint.name!r}: {error}") from None
    yield link.moved(parent=parent, placement=pose, joints=tuple(left))


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def with_frame(model: Model, name: str, body: str | int | None, pose: ArrayLike | None) -> Model:
    """See `Model.with_frame`."""
    builder = ModelBuilder(model)
    builder.add_frame(name, _frame_name(model, body), pose)
    return builder.build(warn=False)


def _frame_name(model: Model, at: str | int | None) -> str | None:
    """Name of a body or frame of the model; None for the world."""
    if at is None:
        return None
    model.frame(at)
    return at if isinstance(at, str) else model.body_names[at]


def with_payload(
    model: Model, at: str | int, mass: float, com: ArrayLike, inertia: ArrayLike | None
) -> Model:
    """See `Model.with_payload`."""
    frame = model.frame(at)
    if frame.body < 0:
        raise ModelError(f"{at!r} is fixed to the world, where a payload has no effect")
    own = parameters_of("payload", mass, com, inertia)
    inertia_.warn_of_violations(["payload"], np.array([own]), stacklevel=3)
    inertias = model.inertias.copy()
    inertias[frame.body] += inertia_.transform(own, frame.placement)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of what was there before
        return model.replace(inertias=inertias)


def attach(model: Model, other: Model, at: str | int | None, prefix: str) -> Model:
    """See `Model.attach`."""
    require_model(other)
    other = other.expanded
    if not isinstance(prefix, str):
        raise ArgumentError(f"prefix must be a string, got {shown(prefix)}")
    place = _frame_name(model, at)
    for kind, ours, theirs in (
        ("body or frame", set(model.frames), other.frames),
        ("joint", set(model.joint_names), other.joint_names),
    ):
        twice = [prefix + name for name in theirs if prefix + name in ours]
        if twice:
            listed = ", ".join(map(repr, twice[:3])) + (", ..." if len(twice) > 3 else "")
            raise ModelError(
                f"both models have a {kind} named {listed}; another prefix tells them apart"
            )
    added = ModelBuilder(other)
    added._rewrite(lambda link: [_prefixed(link, prefix, place)])
    builder = ModelBuilder(model)
    builder._add_fixed_inertia(place, other.fixed_inertia)
    builder._add_all(added, [_renamed(shape, prefix) for shape in other.visuals])
    builder._constraints += mounted(named(other.constraints, other.body_names), prefix, place)
    builder._add_poses(
        {
            pose: {prefix + joint: q[other.q_slice(joint)] for joint in other.joint_names}
            for pose, q in other.poses.items()
        }
    )
    return builder.build(warn=False)


def _prefixed(link: Link, prefix: str, place: str | None) -> Link:
    joints = [
        dataclasses.replace(
            joint,
            name=prefix + joint.name,
            mimic=joint.mimic and joint.mimic._replace(joint=prefix + joint.mimic.joint),
        )
        for joint in link.joints
    ]
    parent = place if link.parent is None else prefix + link.parent
    return link.moved(name=prefix + link.name, parent=parent, joints=tuple(joints))


def _renamed(shape: Any, prefix: str) -> Any:
    """A shape on the frame with the prefix."""
    if not prefix or not dataclasses.is_dataclass(shape) or isinstance(shape, type):
        return shape
    return dataclasses.replace(shape, frame=prefix + shape.frame)  # type: ignore[attr-defined]


def subtree(model: Model, body: str | int) -> Model:
    """See `Model.subtree`."""
    if isinstance(body, str) and body in model.frames and body not in model.body_names:
        carrier = model.frames[body].body
        owner = f"body {model.body_names[carrier]!r}" if carrier >= 0 else "the world"
        raise ModelError(f"{body!r} is a frame of {owner}, not a body of its own")
    first = model.body_index(body)
    root = model.body_names[first]
    inside = {first}
    for k in range(first + 1, model.n_bodies):
        if int(model.parents[k]) in inside:
            inside.add(k)
    kept = {name for name, frame in model.frames.items() if frame.body in inside}

    def part(link: Link) -> list[Link]:
        if link.name == root:
            return [link.moved(parent=None, placement=IDENTITY, joints=())]
        return [link] if link.name in kept else []

    builder = ModelBuilder(gravity=model.gravity, name=model.name)
    whole = ModelBuilder(model)
    whole._rewrite(part)
    shapes = [shape for shape in model.visuals if getattr(shape, "frame", None) in kept]
    builder._add_all(whole, shapes)
    builder._add_poses(whole._poses)
    builder._constraints = [  # what is held to the world was so elsewhere
        item for item in whole._constraints if len(item.frame_names) != 1
    ]
    return builder.build(warn=False)


def reorder(model: Model, joint_names: Sequence[str]) -> Model:
    """See `Model.reorder`."""
    listed = name_list("joint_names", joint_names)
    wanted = [model.joint_names[model.joint_index(name)] for name in listed]
    _require_each_once(model, wanted)
    owner = {joint.name: k for k, body in enumerate(model.bodies) for joint in body.joints}
    order: list[int] = []
    for name in wanted:
        if not order or order[-1] != owner[name]:
            order.append(owner[name])
    _require_depth_first(model, wanted, order)
    place = {old: new for new, old in enumerate(order)} | {-1: -1}
    bodies = [_with_parent(model.bodies[k], place) for k in order]
    frames = {
        name: Frame(place[frame.body], frame.placement) for name, frame in model.frames.items()
    }
    columns = np.concatenate([[], *(np.r_[model.q_slice(name)] for name in wanted)]).astype(int)
    return Model(
        model.name,
        model.gravity,
        bodies,
        frames,
        model.visuals,
        {name: q[columns] for name, q in model.poses.items()},
        model.fixed_inertia,
        named(model.constraints, model.body_names),
    )


def _with_parent(body: Body, place: Mapping[int, int]) -> Body:
    return body._replace(parent=place[body.parent])


def _require_each_once(model: Model, wanted: Sequence[str]) -> None:
    twice = next((name for k, name in enumerate(wanted) if name in wanted[:k]), None)
    if twice is not None:
        raise ArgumentError(f"joint {twice!r} is listed twice")
    missing = [name for name in model.joint_names if name not in wanted]
    if missing:
        listed = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise ArgumentError(f"the order must have every joint of the model, {listed} is missing")


def _require_depth_first(model: Model, wanted: Sequence[str], order: Sequence[int]) -> None:
    """Refuse an order that no depth-first numbering of the bodies has, and say why."""
    hint = "such an order is no depth-first numbering; model.v_indices serves any order of rates"
    at = {name: k for k, name in enumerate(wanted)}
    for body in model.bodies:
        own = [at[joint.name] for joint in body.joints]
        if own != list(range(own[0], own[0] + len(own))):
            listed = ", ".join(repr(joint.name) for joint in body.joints)
            raise ArgumentError(
                f"the joints {listed} of body {body.name!r} must follow each other; {hint}"
            )
    branch: list[int] = []  # the last body and its ancestors
    for k in order:
        parent = int(model.parents[k])
        joint = model.bodies[k].joints[0].name
        while branch and branch[-1] != parent:
            branch.pop()
        if parent >= 0 and not branch:
            leader = model.bodies[parent].joints[-1].name
            come = at[leader] < at[joint]
            why = (
                f"{joint!r} follows after the branch of {leader!r} has been left"
                if come
                else f"{joint!r} comes before {leader!r}, which carries it"
            )
            raise ArgumentError(f"{why}; {hint}")
        branch.append(k)
