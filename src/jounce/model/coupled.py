"""Models whose mimic joints follow their leaders.

A joint that mimics another has the coordinate ``multiplier q_leader + offset``. With u the rates of
the joints that follow none, all rates are

    (1)  v = G u

with a constant matrix G, one column for each independent rate. So the equations of motion of the
coupled robot are those of the expanded one, where every joint moves by itself, with (1) put in and
projected to the independent rates (d'Alembert):

    (2)  G^T M G u' + G^T b(q, G u) = tau,   q = expand(q_u).

Since G is constant, every derivative of what is linear in forces is projected the same way, order
by order. Only equations that are solved for accelerations need the projected mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jounce._core.arrays import reals
from jounce._core.elementwise import in_portions
from jounce._types import Array, ArrayLike, Integers
from jounce.errors import ArgumentError, ModelError
from jounce.model._checks import numbers
from jounce.model.joints import COORDINATE_FIELDS, RATE_FIELDS, SIZES, Joint, elementary_joints
from jounce.model.model import Model, require_model
from jounce.model.nodes import IDENTITY, Body, Nodes, frozen
from jounce.model.poses import checked_poses, neutral_coordinates

__all__ = ["CoupledModel", "coupled"]

_OF_JOINTS = ("actuated", *RATE_FIELDS, *COORDINATE_FIELDS)
_OF_BODIES = (
    *("name", "gravity", "bodies", "body_names", "parents", "inertias", "frames", "visuals"),
    *("fixed_inertia", "joints", "joint_names", "_body_index", "_joint_index"),
)


def coupled(model: Model) -> Model:
    """See `Model.coupled`."""
    if isinstance(model, CoupledModel) or not any(joint.mimic for joint in model.joints):
        return model
    return CoupledModel(model)


class CoupledModel(Model):
    """A robot whose mimic joints follow their leaders; made by `Model.coupled`.

    It has the rates and coordinates of the joints that follow none: a joint that follows another
    keeps its name and its place among the joints and has empty slices. Bodies and frames are those
    of the expanded model; what belongs to rates and coordinates (limits, ``actuated``, ...) is that
    of the independent joints, and the armature, springs, damping and friction of those that follow
    act on them through the coupling.

    Attributes:
        coupling: (expanded.nv, nv) the matrix G of v = G u.
        independent: a chain of the joints that follow none; its bodies mean nothing.
    """

    coupling: Array
    independent: Model
    _expanded: Model
    _leads: Sequence[int]
    _offset: Array
    _from_independent: Array
    carries: bool = False
    """Whether numbers carry their derivatives along a direction: see `carrying`."""
    direction: Array | None = None
    """Of such a model, the tangents of its numbers."""
    bare: CoupledModel
    """Of such a model, the one for plain numbers."""

    def __init__(self, expanded: Model) -> None:
        """Couple the joints of a model.

        Raises:
            ModelError: a joint follows itself, one that is not there, or one that has no single
                coordinate.
        """
        require_model(expanded)
        roots = [_leader(expanded, k) for k in range(len(expanded.joints))]
        leads = [k for k, (root, _, _) in enumerate(roots) if root == k]
        self._set("independent", _independent(expanded, leads))
        self._set_coupling(expanded, roots, leads)
        self._set_expanded(expanded)

    def _set_coupling(
        self, expanded: Model, roots: Sequence[tuple[int, float, float]], leads: Sequence[int]
    ) -> None:
        """Set G and what expands coordinates, and where joints sit."""
        flat = self.independent
        G = np.zeros((expanded.nv, flat.nv))
        Q, offset = np.zeros((expanded.nq, flat.nq)), np.zeros(expanded.nq)
        place = {k: n for n, k in enumerate(leads)}
        for k, (root, multiplier, constant) in enumerate(roots):
            at, own = expanded.v_slice(k), flat.v_slice(place[root])
            G[at, own] = multiplier * np.eye(own.stop - own.start)
            at, own = expanded.q_slice(k), flat.q_slice(place[root])
            Q[at, own] = multiplier * np.eye(own.stop - own.start)
            offset[at] = constant
        sizes = np.zeros((len(roots), 2), np.int64)
        sizes[leads] = flat._sizes
        for name, array in (("coupling", G), ("_from_independent", Q), ("_offset", offset)):
            self._set(name, frozen(array))
        self._set("_sizes", frozen(sizes))
        self._set("_offsets", frozen(np.concatenate([[(0, 0)], np.cumsum(sizes, axis=0)])))
        self._set("_leads", leads)

    def _set_expanded(self, expanded: Model) -> None:
        """Set what is the same as in the expanded model, and its poses."""
        self._set("_expanded", expanded)
        for field in _OF_BODIES:
            self._set(field, getattr(expanded, field))
        for field in _OF_JOINTS:
            self._set(field, getattr(self.independent, field))
        own = self.independent_coordinates
        poses = {name: q[own] for name, q in expanded.poses.items()}
        self._set("poses", checked_poses(poses, self.independent.nodes))
        self._set("constraints", ())  # those of the expanded model speak of its joints

    @property
    def nq(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.independent.nq

    @property
    def nv(self) -> int:  # type: ignore[override]
        """Number of rates."""
        return self.independent.nv

    @property
    def expanded(self) -> Model:
        """The same robot with all joints independent."""
        return self._expanded

    @property
    def coordinates(self) -> Nodes:
        """The elementary joints that coordinates and rates belong to."""
        return self.independent.nodes

    @property
    def nodes(self) -> Nodes:  # type: ignore[override]
        """Refuse: the recursions run over the nodes of the expanded model."""
        raise ModelError(
            "this function needs a model whose joints are not coupled: take model.expanded, with "
            "model.expand(q) and model.coupling @ v, or lock the joints that follow others"
        )

    @property
    def neutral(self) -> Array:
        """(nq,) the neutral configuration."""
        return neutral_coordinates(self.independent.nodes)

    @property
    def independent_coordinates(self) -> Integers:
        """(nq,) where the coordinates sit among those of the expanded model."""
        return self._expanded.q_indices(self._leads)

    @property
    def couplings(self) -> Array:
        """(expanded.nv, 3) which rate of the expanded model each follows, multiplier, offset."""
        own = self._expanded.v_indices(self._leads)
        column = np.abs(self.coupling).argmax(axis=1)
        rows = np.zeros((self._expanded.nv, 3))
        rows[:, 0], rows[:, 1] = own[column], self.coupling[range(len(rows)), column]
        for k, joint in enumerate(self.joints):
            if joint.mimic is not None:
                rows[self._expanded.v_slice(k), 2] = self._offset[self._expanded.q_slice(k)]
        return rows

    @in_portions(q=1)
    def expand(self, q: ArrayLike) -> Array:
        """Coordinates of all joints, (..., expanded.nq), of those of the independent ones."""
        expanded: Array = reals("q", q, (self.nq,)) @ self._from_independent.T + self._offset
        return expanded

    def contract(self, x: Array, axes: Sequence[int] = (-1,)) -> Array:
        """Project axes that count the rates of the expanded model: ``G^T x`` along each of them.

        Args:
            x: any array.
            axes: which of its axes, counted from the last one: -1, -2, ...
        """
        for axis in axes:
            x = np.moveaxis(np.moveaxis(x, axis, -1) @ self.coupling, -1, axis)
        return np.asarray(x, order="C")

    def carrying(self, direction: Array | None) -> CoupledModel:
        """This model for numbers that carry their derivatives; see `jounce._core.carried`.

        Args:
            direction: (..., tangents) along which the numbers of the model change, or None.
        """
        model = CoupledModel.__new__(CoupledModel)
        model.__dict__.update(self.__dict__, carries=True, direction=direction, bare=self)
        return model

    def replace(self, **changes: Any) -> Model:
        """Return a copy with other values; see `Model.replace`.

        What describes joints is given for the independent ones; those that follow keep theirs.
        """
        poses = changes.pop("poses", None)
        of_joints = {k: x for k, x in changes.items() if k in _OF_JOINTS and x is not None}
        rest = {k: x for k, x in changes.items() if k not in _OF_JOINTS}
        if of_joints:
            changed = self.independent.replace(**of_joints)
            rest.update((field, self._spread(field, changed)) for field in of_joints)
        if poses is not None:
            own = checked_poses(poses, self.independent.nodes)
            rest["poses"] = {name: self.expand(q) for name, q in own.items()}
        return CoupledModel(self.expanded.replace(**rest))

    def _spread(self, field: str, changed: Model) -> Any:
        """Values of all joints, those of the independent ones taken from another model."""
        values = getattr(self.expanded, field).copy()
        for n, k in enumerate(self._leads):
            of_rates = field not in COORDINATE_FIELDS
            at = self.expanded.v_slice(k) if of_rates else self.expanded.q_slice(k)
            own = changed.v_slice(n) if of_rates else changed.q_slice(n)
            values[at] = getattr(changed, field)[own]
        return values

    def lock(self, values: Mapping[str, ArrayLike]) -> Model:
        """Return the robot with some joints fixed; see `Model.lock`.

        Those that follow a locked joint are locked where they follow it to.

        Raises:
            ArgumentError: one of them follows another: that one is to be locked.
        """
        if not isinstance(values, Mapping):
            return self.expanded.lock(values)
        q = np.zeros(self.nq)
        for key, value in values.items():
            joint = self.joints[self.joint_index(key)]
            if joint.mimic is not None:
                raise ArgumentError(
                    f"joint {joint.name!r} follows {joint.mimic.joint!r}: lock that one"
                )
            part = self.q_slice(key)
            size = part.stop - part.start
            q[part] = numbers(f"position of joint {key!r}", value, (size,), scalar=size == 1)
        expanded = self.expand(q)
        names = {self.joint_names[self.joint_index(key)] for key in values}
        for k, joint in enumerate(self.joints):
            if self.joint_names[_leader(self.expanded, k)[0]] in names:
                names.add(joint.name)
        at = {name: expanded[self.expanded.q_slice(name)] for name in self.joint_names}
        return self.expanded.lock({n: at[n] for n in self.joint_names if n in names}).coupled()

    def with_frame(self, name: str, body: str | int | None, pose: ArrayLike | None = None) -> Model:
        """See `Model.with_frame`."""
        return self.expanded.with_frame(name, body, pose).coupled()

    def with_payload(
        self,
        at: str | int,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Model:
        """See `Model.with_payload`."""
        return self.expanded.with_payload(at, mass, com, inertia).coupled()

    def attach(self, other: Model, at: str | int | None, prefix: str = "") -> Model:
        """See `Model.attach`."""
        return self.expanded.attach(other, at, prefix).coupled()

    def subtree(self, body: str | int) -> Model:
        """See `Model.subtree`."""
        return self.expanded.subtree(body).coupled()

    def reorder(self, joint_names: Sequence[str]) -> Model:
        """See `Model.reorder`."""
        return self.expanded.reorder(joint_names).coupled()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the model."""
        return CoupledModel, (self.expanded,)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same coupled robot."""
        if not isinstance(other, CoupledModel):
            return NotImplemented
        return self.expanded == other.expanded

    def __hash__(self) -> int:
        """Hash of the expanded model, which is another one."""
        return hash(("coupled", self.expanded))


def _leader(model: Model, k: int) -> tuple[int, float, float]:
    """The joint that a joint follows in the end, with the multiplier and the offset."""
    multiplier, offset, seen = 1.0, 0.0, [k]
    while (mimic := model.joints[seen[-1]].mimic) is not None:
        _require_single(model.joints[seen[-1]])
        if mimic.joint not in model.joint_names:
            name = model.joints[seen[-1]].name
            raise ModelError(f"joint {name!r} follows {mimic.joint!r}, which is no joint")
        offset += multiplier * mimic.offset
        multiplier *= mimic.multiplier
        at = model.joint_index(mimic.joint)
        if at in seen:
            names = " -> ".join(repr(model.joint_names[j]) for j in [*seen[seen.index(at) :], at])
            raise ModelError(f"mimic joints follow each other in a cycle: {names}")
        seen.append(at)
    if len(seen) > 1:
        _require_single(model.joints[seen[-1]])
    return seen[-1], multiplier, offset


def _require_single(joint: Joint) -> None:
    kinds = [element.kind for element in elementary_joints(joint)]
    if SIZES[kinds].sum(axis=0).tolist() != [1, 1]:
        raise ModelError(
            f"joint {joint.name!r} is {joint.type}: only joints with one coordinate can be coupled"
        )


def _independent(expanded: Model, leads: Sequence[int]) -> Model:
    """A chain of the joints that follow none: their coordinates, rates and limits."""
    unit = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0])
    joints = [replace(expanded.joints[k], mimic=None) for k in leads]
    bodies = [Body(j.name, n - 1, IDENTITY, (j,), unit) for n, j in enumerate(joints)]
    return Model(expanded.name, expanded.gravity, bodies)
