"""Read reference poses: the ``<group_state>`` elements of an SRDF file."""

from __future__ import annotations

import math
import os

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.errors import close_names, did_you_mean
from jounce.io._common import warn_of_findings
from jounce.io._source import MAX_BYTES, read_source
from jounce.io._xml import Document, Element, parse
from jounce.lie.quaternions import meant
from jounce.model import Model
from jounce.model.joints import Joint
from jounce.model.poses import neutral_coordinates
from jounce.model.roots import ROOT_JOINT

__all__ = ["add_poses", "with_srdf"]

_STATE = "group_state"
_SECTIONS = (
    _STATE,
    "group",
    "end_effector",
    "virtual_joint",
    "passive_joint",
    "joint_property",
    "link_sphere_approximation",
    "disable_collisions",
    "enable_collisions",
    "disable_default_collisions",
)
"""What SRDF files consist of, some of it as part of URDF files."""

_ROUNDING = 1e-4
"""Of limits and positions, which files give with a few digits."""

Values = dict[str, Array]
"""Coordinates of joints by name."""


def with_srdf(
    model: Model,
    source: str | bytes | os.PathLike[str],
    strict: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Model:
    """Return the model with the poses of an SRDF file (or of its text) beside its own.

    A joint that a pose does not name is neutral, or where the joint that it follows puts it. States
    of several groups under one name make one pose.

    Raises:
        ModelError: the file is wrong; the message names file, line and element.
        MissingFileError: there is no such file.

    Warns:
        ModelWarning: once per file, naming joints that the model does not have, positions beyond
            limits, unknown elements, and joints that two states of one name put in different
            places; the first counts.
    """
    doc = parse(read_source(source, max_bytes))
    doc.strict = strict
    if doc.root.tag != "robot":
        raise doc.error(doc.root, "expected <robot> as the root element of an SRDF file")
    model = add_poses(doc, model)
    warn_of_findings(doc.name, doc.findings)
    return model


def add_poses(doc: Document, model: Model) -> Model:
    """Return the model with the poses of a document, which finds what is doubtful about them."""
    states = doc.root.findall("group_state")
    for element in doc.root.iterchildren("*"):
        if element.tag not in _SECTIONS and close_names(element.tag, _SECTIONS, 1) == [_STATE]:
            doc.doubt("structure", element, f"unknown element; did you mean <{_STATE}>?")
    if not states:
        return model
    virtual = {element.get("name") for element in doc.root.findall("virtual_joint")}
    reader = _Reader(doc, model, {ROOT_JOINT, *virtual, *model.frames})
    found: dict[str, Values] = {}
    for state in states:
        reader.read(state, found.setdefault(doc.text(state, "name"), {}))
    poses = {name: _whole(model, values) for name, values in found.items()}
    return model.replace(poses={**model.poses, **poses})


class _Reader:
    """Reads states; `still` are names of joints that the model may lack without a word."""

    def __init__(self, doc: Document, model: Model, still: set[str | None]) -> None:
        self.doc = doc
        self.model = model
        self.still = still

    def read(self, state: Element, values: Values) -> None:
        """Add the coordinates of a state to those of other states of the same name."""
        for element in state.iterchildren("*"):
            if element.tag != "joint":
                vendor = ":" in element.tag or element.tag.startswith("{")
                kind = "style" if vendor else "structure"
                self.doc.doubt(kind, element, "unknown element; expected <joint>")
                continue
            name = self.doc.text(element, "name")
            joint = self._joint(name)
            if joint is None:
                if name not in self.still:
                    hint = did_you_mean(map(repr, close_names(name, self.model.joint_names, 2)))
                    self.doc.doubt("structure", element, f"there is no joint {name!r}{hint}")
                    self.still.add(name)  # which is told once
                continue
            coordinates = self._coordinates(element, joint)
            first = values.setdefault(joint.name, coordinates)
            if not np.array_equal(first, coordinates):
                message = f"pose {state.get('name')!r} has two positions of joint {joint.name!r}"
                self.doc.doubt("structure", element, message)

    def _joint(self, name: str) -> Joint | None:
        names = self.model.joint_names
        free_root = name == ROOT_JOINT and len(names) and self.model.joints[0].type == "free"
        if name not in names and not (free_root and self.model.parents[0] < 0):
            return None
        return self.model.joints[self.model.joint_index(name)]

    def _coordinates(self, element: Element, joint: Joint) -> Array:
        """Coordinates in our order.

        The position of a free joint comes before its quaternion in SRDF files; an angle may be
        given by its cosine and sine.
        """
        place = self.model.q_slice(joint.name)
        count = place.stop - place.start
        given = len((element.get("value") or "").split())
        turns = joint.type in ("revolute", "continuous", "planar")
        by_cosine = turns and given == count + 1
        q = np.array(self.doc.numbers(element, "value", count + by_cosine))
        if by_cosine:
            norm = math.hypot(*q[-2:])
            if abs(norm - 1.0) > 1e-3:  # files carry rounded numbers
                message = f"the last two numbers are no cosine and sine, their norm is {norm:g}"
                raise self.doc.error(element, message)
            q = np.append(q[:-2], math.atan2(q[-1], q[-2]))
        if joint.type == "free":
            q = np.concatenate([q[3:], q[:3]])
        if joint.type in ("free", "spherical"):
            norm = float(np.linalg.norm(q[:4]))
            if abs(norm - 1.0) > 1e-2:  # files carry rounded numbers
                raise self.doc.error(element, f"expected a unit quaternion, got norm {norm:g}")
            if abs(norm - 1.0) > 1e-15:  # a unit stays as it is
                q[:4] = lie.quat_normalize(q[:4])
            q = meant(q)
        self._doubt_outside(element, q, place)
        return q

    def _doubt_outside(self, element: Element, q: Array, place: slice) -> None:
        """Tell of a position beyond the limits of its joint, by more than rounding."""
        lower, upper = self.model.lower[place], self.model.upper[place]
        for x, low, high in zip(q, lower, upper, strict=True):
            if not low - _ROUNDING <= x <= high + _ROUNDING:
                message = f"position {x:g} is outside the limits {low:g} to {high:g} of the joint"
                self.doc.doubt("physics", element, message)


def _whole(model: Model, values: Values) -> Array:
    """A configuration of all joints; those that follow others do so unless the pose says."""
    q = neutral_coordinates(model.nodes)
    for name, coordinates in values.items():
        q[model.q_slice(name)] = coordinates
    for joint in model.joints:
        if joint.name not in values:
            _follow(model, q, joint, values)
    return q


def _follow(model: Model, q: Array, joint: Joint, values: Values) -> None:
    """Put a joint where the joint that it follows says, which may follow another one itself."""
    chain = []
    while joint.mimic is not None and joint.name not in values and joint not in chain:
        chain.append(joint)
        joint = model.joints[model.joint_index(joint.mimic.joint)]
    for follower in reversed(chain):
        assert follower.mimic is not None
        leader, multiplier, offset = follower.mimic
        q[model.q_slice(follower.name)] = multiplier * q[model.q_slice(leader)] + offset
