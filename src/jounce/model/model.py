"""The immutable model of a robot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NoReturn

import numpy as np

from jounce import _core
from jounce._core.arrays import shown
from jounce._types import AnyArray, Array, ArrayLike, Index, Integers, Mask
from jounce.errors import ArgumentTypeError, ModelError, unknown_name
from jounce.model import inertia as inertia_
from jounce.model._checks import bool_mask, find_index, name_list, numbers, unique_index
from jounce.model._edits import Edits
from jounce.model._held import built_anew
from jounce.model._links import checked_pose
from jounce.model._named import Named, named
from jounce.model._parts import check_inertias, check_parts
from jounce.model._repr import describe
from jounce.model.joints import (
    COORDINATE_FIELDS,
    RATE_FIELDS,
    SIZES,
    Joint,
    check_limits,
    check_values,
    gathered,
    spread,
)
from jounce.model.nodes import (
    IDENTITY,
    Body,
    Frame,
    Nodes,
    all_frames,
    build_nodes,
    frozen,
    frozen_bodies,
    unit_quaternions,
)
from jounce.model.poses import checked_poses
from jounce.model.shapes import checked_visuals

__all__ = ["Frame", "Model", "node_of", "require_model"]


class Model(_core.Tree, Edits):
    """A tree of rigid bodies, immutable and safe to share between threads.

    Made by `jounce.load`, `jounce.ModelBuilder` or `jounce.models`. Every function of the
    package takes a model and plain arrays. Bodies are numbered depth first: a parent comes
    before its children, and a subtree is a contiguous range.

    Models are equal, ``==``, if all that this package computes from them is the same, under the
    same names: bodies, joints, frames, gravity and every number of them, compared exactly. Shapes
    for the viewer are not compared. Equal models have equal hashes, so that a model can be a key;
    a copy is the model itself, and what comes out of a pickle is equal to what went in.

    Attributes:
        name: name of the robot.
        nq: number of coordinates.
        nv: number of rates.
        n_bodies: number of bodies; those merged by fixed joints count once.
        bodies: the bodies, each with its name, parent, placement, joints and inertial parameters:
            what the model is made of.
        body_names: names of the bodies.
        joint_names: names of the joints, in the order of their coordinates.
        joints: the joints themselves (axes, limits, mimic, ...).
        parents: (n_bodies,) index of the parent body, -1 for the world.
        gravity: (3,) acceleration of gravity in the world, m/s^2.
        inertias: (n_bodies, 10) inertial parameters, see `jounce.inertia`.
        actuated: (nv,) True where a generalized force can be applied by a motor.
        armature: (nv,) rotor inertia reflected to the joint, part of the dynamics.
        damping: (nv,) viscous coefficients, see `jounce.passive_forces`.
        friction: (nv,) Coulomb friction forces, see `jounce.passive_forces`.
        stiffness: (nv,) of the joints' springs, see `jounce.passive_forces`.
        springref: (nq,) coordinates where the springs are at rest.
        lower: (nq,) lower limits of the coordinates.
        upper: (nq,) upper limits of the coordinates.
        velocity_limit: (nv,) largest absolute rates.
        effort_limit: (nv,) largest absolute generalized forces.
        frames: named frames fixed to bodies: bodies, merged links, sites.
        visuals: shapes for the viewer; they play no part in the dynamics.
        fixed_inertia: (10,) parameters of links fixed to the world, about its origin, for `attach`.
        poses: named configurations, each (nq,), for example of an SRDF file.
        constraints: equalities of the model's file, for `jounce.Constraints`; they act when passed.
        nodes: the elementary joints that the recursions run over.

    Examples:
        >>> jc.models.panda_like().lock({"joint7": 0.0}).nv
        6
    """

    name: str
    nq: int
    nv: int
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joints: tuple[Joint, ...]
    parents: Integers
    gravity: Array
    inertias: Array
    actuated: Mask
    armature: Array
    damping: Array
    friction: Array
    stiffness: Array
    springref: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    frames: Mapping[str, Frame]
    visuals: tuple[Any, ...]
    fixed_inertia: Array
    poses: Mapping[str, Array]
    constraints: tuple[Any, ...]
    nodes: Nodes
    _body_nodes: Index
    _sizes: Integers
    _offsets: Integers
    _body_index: dict[str, int]
    _joint_index: dict[str, int]
    _named: Named
    _skeleton: tuple[Body, ...]

    def __init__(
        self,
        name: str,
        gravity: ArrayLike,
        bodies: Sequence[Body],
        frames: Mapping[str, Frame] | None = None,
        visuals: Iterable[Any] = (),
        poses: Mapping[str, ArrayLike] | None = None,
        fixed_inertia: ArrayLike = (0.0,) * 10,
        constraints: Iterable[Any] = (),
    ) -> None:
        if "nodes" in self.__dict__:
            raise ArgumentTypeError("a Model is immutable, so it cannot be initialized again")
        frames = {} if frames is None else frames
        check_parts(name, bodies, frames)
        bodies = frozen_bodies(bodies)
        nodes = build_nodes(bodies)
        joints = tuple(joint for body in bodies for joint in body.joints)
        self._set("nodes", nodes)
        self._set("_skeleton", bodies)
        self._set("bodies", self._skeleton)
        self._set("name", name)
        fixed = numbers("fixed_inertia", fixed_inertia, (10,))
        check_inertias(["world"], fixed[None])
        self._set("fixed_inertia", frozen(fixed))
        self._set("gravity", frozen(numbers("gravity", gravity, (3,))))
        self._set("body_names", tuple(body.name for body in bodies))
        self._set("joint_names", tuple(joint.name for joint in joints))
        self._set("joints", joints)
        self._set("parents", frozen(np.array([b.parent for b in bodies], np.int64)))
        self._set("_body_index", unique_index("body", self.body_names))
        self._set("_joint_index", unique_index("joint", self.joint_names))
        self._set("frames", all_frames(bodies, frames))
        self._set("visuals", checked_visuals(visuals, self.frames))
        self._set("constraints", self._held(constraints))
        self._set_joint_arrays(joints, nodes)
        self._set("poses", checked_poses({} if poses is None else poses, nodes))
        self._set("_body_nodes", frozen(np.flatnonzero(nodes.body >= 0).astype(np.int32)))
        self._set("inertias", frozen(nodes.parameters[self._body_nodes]))
        self._set("_named", named(self))
        self._make_tree()

    def _held(self, constraints: Iterable[Any]) -> tuple[Any, ...]:
        """The constraints, checked; what they hold must be there."""
        items = built_anew(constraints)
        for item in items:
            for frame in item.frame_names:
                self.frame(frame)
            for joint in item.joint_names:
                self.joint_index(joint)
        return items

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies; those of a copy are made when they are asked for."""
        joints, ten = iter(self.joints), self.inertias
        at = frozen(self.nodes.placement[self._first_nodes])
        return tuple(
            Body(b.name, b.parent, pose, tuple(islice(joints, len(b.joints))), row)
            for b, row, pose in zip(self._skeleton, ten, at, strict=True)
        )

    @property
    def _first_nodes(self) -> Integers:
        """The node of each body's first joint; the nodes of a body follow each other."""
        return np.concatenate([[0], self._body_nodes[:-1] + 1])[: self.n_bodies]

    def _set_joint_arrays(self, joints: Sequence[Joint], nodes: Nodes) -> None:
        sizes = np.zeros((len(joints), 2), np.int64)
        np.add.at(sizes, nodes.joint, SIZES[nodes.kind])
        self._set("_sizes", frozen(sizes))
        self._set("_offsets", frozen(np.concatenate([[(0, 0)], np.cumsum(sizes, axis=0)])))
        for field in (*RATE_FIELDS, *COORDINATE_FIELDS):
            self._set_values(field, spread(joints, field, self._counts(field)))
        check_limits(self.joints, self.lower, self.upper, self._counts("lower"))
        driven = [j.type != "free" if j.actuated is None else bool(j.actuated) for j in joints]
        self._set("actuated", frozen(np.repeat(np.array(driven, bool), sizes[:, 1])))

    def _counts(self, field: str) -> Integers:
        """How many numbers of a field each joint has."""
        counts: Integers = self._sizes[:, 1 if field in RATE_FIELDS else 0]
        return counts

    def _set_values(self, field: str, values: Array) -> None:
        check_values(self.joints, field, values, self._counts(field))
        if field == "springref":
            values = unit_quaternions(self.nodes, values)
        self._set(field, frozen(values))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: a model never changes."""
        raise AttributeError(
            f"a Model is immutable, so {name!r} cannot be set; model.replace(...) makes a copy "
            "with other inertias, gravity, armature, ..."
        )

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: a model never changes."""
        raise AttributeError(f"a Model is immutable, so {name!r} cannot be deleted")

    @property
    def n_bodies(self) -> int:
        """Number of bodies."""
        return len(self.body_names)

    @property
    def expanded(self) -> Model:
        """The model with all joints independent: itself, unless it is a coupled one."""
        return self

    @property
    def coordinates(self) -> Nodes:
        """The elementary joints that coordinates and rates belong to: `nodes`, if not coupled."""
        return self.nodes

    def q_slice(self, joint: str | int) -> slice:
        """Where the coordinates of a joint sit in q.

        Examples:
            >>> robot = jc.models.humanoid()
            >>> robot.q_slice("root_joint"), robot.q_slice("left_hip_yaw")
            (slice(0, 7, None), slice(7, 8, None))
        """
        return self._slice(joint, 0)

    def v_slice(self, joint: str | int) -> slice:
        """Where the rates of a joint sit in v, a and tau.

        Examples:
            >>> robot = jc.models.quadruped()
            >>> tau = jc.gravity_forces(robot, robot.poses["standing"])
            >>> force = tau[robot.v_slice("root_joint")][3:]  # what would hold it up at its trunk
            >>> bool(np.allclose(force, [0, 0, 9.81 * robot.inertias[:, 0].sum()]))
            True
        """
        return self._slice(joint, 1)

    def q_indices(self, joint_names: Sequence[str | int]) -> Integers:
        """Where the coordinates of several joints sit in q, in the order of the joints.

        Examples:
            >>> robot = jc.models.humanoid()
            >>> robot.q_indices(["root_joint", "left_knee"])
            array([ 0,  1,  2,  3,  4,  5,  6, 10])
        """
        return self._indices(joint_names, 0)

    def v_indices(self, joint_names: Sequence[str | int]) -> Integers:
        """Where the rates of several joints sit in v, a and tau, in the order of the joints.

        Examples:
            >>> jc.models.chain(4).v_indices(["joint3", "joint1"])
            array([3, 1])
        """
        return self._indices(joint_names, 1)

    def _indices(self, joint_names: Sequence[str | int], column: int) -> Integers:
        parts = [self._slice(joint, column) for joint in name_list("joint_names", joint_names)]
        return np.array([k for part in parts for k in range(part.start, part.stop)], np.int64)

    def _slice(self, joint: str | int, column: int) -> slice:
        k = self.joint_index(joint)
        return slice(int(self._offsets[k, column]), int(self._offsets[k + 1, column]))

    def joint_index(self, joint: str | int) -> int:
        """Index of a joint by name (an index is checked and returned).

        Examples:
            >>> arm = jc.models.panda_like()
            >>> arm.joints[arm.joint_index("joint4")].lower
            -3.0
        """
        unknown = isinstance(joint, str) and joint not in self._joint_index
        if unknown and joint == "root_joint" and self._has_free_root():
            return 0
        return find_index("joint", joint, self._joint_index, self.joint_names)

    def _has_free_root(self) -> bool:
        """Whether the first joint is a free one at the root, which answers to "root_joint"."""
        return bool(self.joints) and self.joints[0].type == "free" and self.parents[0] < 0

    def body_index(self, body: str | int) -> int:
        """Index of a body by name (an index is checked and returned).

        Examples:
            >>> robot = jc.models.humanoid()
            >>> robot.body_names[robot.parents[robot.body_index("head")]]
            'neck'
        """
        return find_index("body", body, self._body_index, self.body_names)

    def frame(self, body: str | int) -> Frame:
        """The frame of a body (name or index) or a named frame fixed to one.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> tool = arm.frame("tool")
            >>> arm.body_names[tool.body], tool.placement[:3, 3]
            ('link7', array([ 0.  ,  0.  , -0.21]))
        """
        if isinstance(body, str):
            try:
                return self.frames[body]
            except KeyError:
                raise unknown_name("body or frame", body, self.frames) from None
        return Frame(self.body_index(body), IDENTITY)

    def replace(
        self,
        *,
        gravity: ArrayLike | None = None,
        inertias: ArrayLike | None = None,
        placements: ArrayLike | None = None,
        armature: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        friction: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        springref: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        velocity_limit: ArrayLike | None = None,
        effort_limit: ArrayLike | None = None,
        actuated: ArrayLike | None = None,
        poses: Mapping[str, ArrayLike] | None = None,
    ) -> Model:
        """Return a copy with other values; everything not named stays as it is.

        The copy shares what did not change and so costs little; ``copy.joints`` agrees with the
        new values. What describes joints is one number for all, or one per rate or coordinate.

        Args:
            gravity: (3,) acceleration of gravity.
            inertias: (n_bodies, 10) inertial parameters.
            placements: (n_bodies, 4, 4) poses of the bodies in their parents at q = neutral.
            armature: (nv,) rotor inertias.
            damping: (nv,) viscous coefficients.
            friction: (nv,) Coulomb friction forces.
            stiffness: (nv,) of springs in the joints.
            springref: (nq,) coordinates where they are at rest; quaternions of any length, and 0
                for the neutral configuration.
            lower: (nq,) lower limits of the coordinates.
            upper: (nq,) upper limits of the coordinates.
            velocity_limit: (nv,) largest absolute rates.
            effort_limit: (nv,) largest absolute generalized forces.
            actuated: (nv,) mask of driven rates; a joint is driven as a whole.
            poses: all named configurations, each (nq,).

        Raises:
            ArgumentError: a shape does not fit, or a value is no finite number; the message names
                the argument.
            ModelError: a value is one that no robot has; the message names the joint or body, if
                there is one to blame.

        Warns:
            ModelWarning: an inertia is one that no rigid body has.

        Examples:
            >>> arm = jc.models.panda_like()
            >>> q = arm.poses["home"]
            >>> on_the_moon = jc.gravity_forces(arm.replace(gravity=(0, 0, -1.62)), q)
            >>> bool(np.allclose(on_the_moon, 1.62 / 9.81 * jc.gravity_forces(arm, q)))
            True
        """
        given = {
            "armature": armature,
            "damping": damping,
            "friction": friction,
            "stiffness": stiffness,
            "springref": springref,
            "lower": lower,
            "upper": upper,
            "velocity_limit": velocity_limit,
            "effort_limit": effort_limit,
        }
        changes = {field: value for field, value in given.items() if value is not None}
        model = Model.__new__(Model)
        model.__dict__.update(self.__dict__)
        model.__dict__.pop("bodies", None)
        if gravity is not None:
            model._set("gravity", frozen(numbers("gravity", gravity, (3,))))
        if inertias is not None:
            model._replace_inertias(inertias)
        if placements is not None:
            model._replace_placements(placements)
        if changes or actuated is not None:
            model._replace_joint_values(changes, actuated)
        if poses is not None:
            model._set("poses", checked_poses(poses, self.nodes))
        model._make_tree()
        return model

    def _replace_inertias(self, inertias: ArrayLike) -> None:
        """Set the inertias of a copy that is not finished yet."""
        rows = frozen(numbers("inertias", inertias, (self.n_bodies, 10)))
        check_inertias(self.body_names, rows)
        inertia_.warn_of_violations(self.body_names, rows, stacklevel=3)
        parameters = self.nodes.parameters.copy()
        parameters[self._body_nodes] = rows
        self._set("inertias", rows)
        self._set("nodes", self.nodes._replace(parameters=frozen(parameters)))

    def _replace_placements(self, placements: ArrayLike) -> None:
        """Set the placements of a copy that is not finished yet."""
        poses = numbers("placements", placements, (self.n_bodies, 4, 4))
        pairs = zip(self.body_names, poses, strict=True)
        checked = [checked_pose("body", name, pose) for name, pose in pairs]
        placement = self.nodes.placement.copy()
        placement[self._first_nodes] = np.array(checked).reshape(-1, 4, 4)
        self._set("nodes", self.nodes._replace(placement=frozen(placement)))

    def _replace_joint_values(
        self, changes: Mapping[str, ArrayLike], actuated: ArrayLike | None
    ) -> None:
        """Set values of the joints of a copy that is not finished yet."""
        joints = self.joints
        for field, value in changes.items():
            counts = self._counts(field)
            values = numbers(field, value, (int(counts.sum()),), scalar=True, finite=False)
            self._set_values(field, values)
            joints = gathered(joints, field, getattr(self, field), counts)
        check_limits(self.joints, self.lower, self.upper, self._counts("lower"))
        if actuated is not None:
            counts = self._sizes[:, 1]
            mask = bool_mask("actuated", actuated, int(counts.sum()))
            self._set("actuated", frozen(mask))
            joints = gathered(joints, "actuated", mask, counts)
        self._set("joints", joints)

    def _make_tree(self) -> None:
        nodes = self.nodes
        super().__init__(
            nodes.parent,
            nodes.kind,
            nodes.placement,
            nodes.alignment,
            nodes.pitch,
            nodes.parameters,
            self._body_nodes,
            self.armature,
            self.stiffness,
            self.springref,
            self.damping,
            self.friction,
            self.gravity,
            *self._named,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the model."""
        made_of = (self.name, self.gravity, self.bodies, dict(self.frames), self.visuals)
        return Model, (*made_of, dict(self.poses), self.fixed_inertia, self.constraints)

    def __setstate__(self, state: object) -> NoReturn:
        """Refuse what a pickle would set beside what defines the model."""
        raise ModelError(f"a pickled model has no state of its own, got {shown(state)}")

    def __eq__(self, other: object) -> bool:
        """Whether both are the same robot, number by number; see the class."""
        if self is other:
            return True
        if not isinstance(other, Model) or other.expanded is not other:
            return NotImplemented
        return self._key() == other._key() and all(
            map(np.array_equal, self._numbers(), other._numbers())
        )

    def __hash__(self) -> int:
        """Hash of the names, the gravity and the masses."""
        numbers = self.gravity.tolist() + self.inertias[:, 0].tolist()
        return hash((self.name, self.body_names, self.joint_names, *numbers))

    def _key(self) -> tuple[Any, ...]:
        """What is no number."""
        joints = [(joint.name, joint.type, joint.mimic) for joint in self.joints]
        frames = {name: frame.body for name, frame in self.frames.items()}
        return self.name, self.body_names, joints, frames, self.poses.keys()

    def _numbers(self) -> list[AnyArray]:
        fields = ("gravity", "fixed_inertia", "actuated", *RATE_FIELDS, *COORDINATE_FIELDS)
        placements = np.array([self.frames[name].placement for name in sorted(self.frames)])
        poses = [self.poses[name] for name in sorted(self.poses)]
        return [*(getattr(self, field) for field in fields), *self.nodes, placements, *poses]

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Model:
        """Return the model itself: it is immutable."""
        return self

    __copy__ = __deepcopy__

    def __repr__(self) -> str:
        """Show sizes, conventions and the tree."""
        if not _is_ready(self):
            return "Model (not initialized)"
        return describe(self)


def require_model(model: object) -> None:
    """Raise the TypeError that the kernels raise, unless it is a model."""
    if not isinstance(model, Model) or not _is_ready(model):
        raise ArgumentTypeError(f"model must be a jounce.Model, got {type(model).__name__}")


def _is_ready(model: Model) -> bool:
    """Whether its initialization has ended well."""
    return "poses" in model.__dict__


def node_of(model: Model, body: str | int) -> int:
    """Node that carries a body or frame, -1 for the world."""
    require_model(model)
    at = model.frame(body).body
    return int(np.flatnonzero(model.nodes.body == at)[0]) if at >= 0 else -1
