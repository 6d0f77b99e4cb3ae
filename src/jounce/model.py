"""The immutable model of a robot."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from jounce import _core
from jounce import inertia as inertia_
from jounce.errors import ModelError, ModelWarning, unknown_name
from jounce.joints import SIZES, Joint
from jounce.nodes import Body, Nodes, build_nodes

__all__ = ["Frame", "Model", "locate", "require_model"]

Array = npt.NDArray[np.float64]


class Frame(NamedTuple):
    """A named frame fixed to a body (-1: to the world), with its constant pose in it."""

    body: int
    placement: Array


class Model(_core.Tree):  # type: ignore[misc]
    """A tree of rigid bodies, immutable and safe to share between threads.

    Made by `jounce.load`, `jounce.ModelBuilder` or `jounce.models`. Every function of the
    package takes a model and plain arrays. Bodies are numbered depth first: a parent comes
    before its children, and a subtree is a contiguous range.

    Attributes:
        name: name of the robot.
        nq: number of coordinates.
        nv: number of rates.
        n_bodies: number of bodies; those merged by fixed joints count once.
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
        lower: (nq,) lower limits of the coordinates.
        upper: (nq,) upper limits of the coordinates.
        velocity_limit: (nv,) largest absolute rates.
        effort_limit: (nv,) largest absolute generalized forces.
        frames: named frames fixed to bodies: bodies, merged links, sites.
        visuals: shapes for the viewer; they play no part in the dynamics.
        nodes: the elementary joints that the recursions run over.
    """

    name: str
    nq: int
    nv: int
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    joints: tuple[Joint, ...]
    parents: npt.NDArray[np.int64]
    gravity: Array
    inertias: Array
    actuated: npt.NDArray[np.bool_]
    armature: Array
    damping: Array
    friction: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    frames: Mapping[str, Frame]
    visuals: tuple[Any, ...]
    nodes: Nodes

    def __init__(
        self,
        name: str,
        gravity: npt.ArrayLike,
        bodies: Sequence[Body],
        frames: Mapping[str, Frame] | None = None,
        visuals: Iterable[Any] = (),
    ) -> None:
        if "nodes" in self.__dict__:
            raise TypeError("a Model is immutable, so it cannot be initialized again")
        nodes = build_nodes(bodies)
        joints = tuple(joint for body in bodies for joint in body.joints)
        self._set("nodes", nodes)
        self._set("_bodies", tuple(bodies))
        self._set("name", name)
        self._set("gravity", _frozen(_gravity(gravity)))
        self._set("visuals", tuple(visuals))
        self._set("body_names", tuple(body.name for body in bodies))
        self._set("joint_names", tuple(joint.name for joint in joints))
        self._set("joints", joints)
        self._set("parents", _frozen(np.array([b.parent for b in bodies], np.int64)))
        parameters = np.array([b.parameters for b in bodies]).reshape(-1, 10)
        self._set("inertias", _frozen(parameters))
        self._set("_body_index", _unique("body", self.body_names))
        self._set("_joint_index", _unique("joint", self.joint_names))
        self._set("frames", _frozen_frames({**_body_frames(bodies), **(frames or {})}))
        self._set_joint_arrays(joints, nodes)
        self._set("_body_nodes", _frozen(np.flatnonzero(nodes.body >= 0).astype(np.int32)))
        self._make_tree()

    def _set_joint_arrays(self, joints: Sequence[Joint], nodes: Nodes) -> None:
        sizes = np.zeros((len(joints) + 1, 2), np.int64)
        for column, per_kind in enumerate(SIZES.T):
            np.add.at(sizes[:, column], nodes.joint + 1, per_kind[nodes.kind])
        offsets = np.cumsum(sizes, axis=0)
        self._set("_offsets", _frozen(offsets))
        nq, nv = (int(n) for n in offsets[-1])
        for field in ("armature", "damping", "friction", "velocity_limit", "effort_limit"):
            self._set(field, _frozen(_per_joint(joints, field, nv, offsets[:, 1])))
        for field in ("lower", "upper"):
            self._set(field, _frozen(_per_joint(joints, field, nq, offsets[:, 0])))
        driven = [j.type != "free" if j.actuated is None else bool(j.actuated) for j in joints]
        self._set("actuated", _frozen(np.repeat(np.array(driven, bool), sizes[1:, 1])))

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

    def q_slice(self, joint: str | int) -> slice:
        """Where the coordinates of a joint sit in q."""
        return self._slice(joint, 0)

    def v_slice(self, joint: str | int) -> slice:
        """Where the rates of a joint sit in v, a and tau."""
        return self._slice(joint, 1)

    def _slice(self, joint: str | int, column: int) -> slice:
        k = self.joint_index(joint)
        return slice(int(self._offsets[k, column]), int(self._offsets[k + 1, column]))

    def joint_index(self, joint: str | int) -> int:
        """Index of a joint by name (an index is checked and returned)."""
        if joint == "root_joint" and joint not in self._joint_index and self._has_free_root():
            return 0
        return _index("joint", joint, self._joint_index, self.joint_names)

    def _has_free_root(self) -> bool:
        """Whether the first joint is a free one at the root, which answers to "root_joint"."""
        return bool(self.joints) and self.joints[0].type == "free" and self.parents[0] < 0

    def body_index(self, body: str | int) -> int:
        """Index of a body by name (an index is checked and returned)."""
        return _index("body", body, self._body_index, self.body_names)

    def frame(self, body: str | int) -> Frame:
        """The frame of a body (name or index) or a named frame fixed to one."""
        if isinstance(body, str):
            try:
                return self.frames[body]
            except KeyError:
                raise unknown_name("body or frame", body, self.frames) from None
        return Frame(self.body_index(body), _IDENTITY)

    def _locate(self, body: str | int) -> tuple[int, Array]:
        """Node and pose in it of a body or frame."""
        frame = self.frame(body)
        return (int(self._body_nodes[frame.body]) if frame.body >= 0 else -1), frame.placement

    def _joint_of_node(self, node: int) -> str:
        """Name of the joint that a node belongs to, for error messages."""
        name: str = self.joint_names[self.nodes.joint[node]]
        return name

    def replace(
        self,
        *,
        gravity: npt.ArrayLike | None = None,
        inertias: npt.ArrayLike | None = None,
        armature: npt.ArrayLike | None = None,
        actuated: npt.ArrayLike | None = None,
    ) -> Model:
        """Return a copy with other values; everything not named stays as it is.

        Args:
            gravity: (3,) acceleration of gravity.
            inertias: (n_bodies, 10) inertial parameters.
            armature: (nv,) rotor inertias.
            actuated: (nv,) mask of driven rates; a joint is driven as a whole.
        """
        model = self if gravity is None and inertias is None else self._moved(gravity, inertias)
        if armature is not None:
            values = _array("armature", armature, (self.nv,))
            model = model._with_joints(
                lambda k, j: _replace_joint(j, armature=tuple(values[self.v_slice(k)]))
            )
        if actuated is not None:
            mask = np.asarray(actuated)
            if mask.dtype != bool or mask.shape != (self.nv,):
                raise ValueError(
                    f"actuated must be a bool array of shape ({self.nv},), "
                    f"got {mask.dtype} of shape {mask.shape}"
                )
            model = model._with_joints(
                lambda k, j: _replace_joint(j, actuated=_whole(j, mask[self.v_slice(k)]))
            )
        return model

    def _moved(self, gravity: npt.ArrayLike | None, inertias: npt.ArrayLike | None) -> Model:
        """Copy that shares all but gravity and inertias, and so costs little."""
        model = Model.__new__(Model)
        model.__dict__.update(self.__dict__)
        if gravity is not None:
            model._set("gravity", _frozen(_gravity(gravity)))
        if inertias is not None:
            rows = _frozen(_array("inertias", inertias, (self.n_bodies, 10)))
            _check_inertias(self.body_names, rows)
            pairs = zip(self._bodies, rows, strict=True)
            parameters = self.nodes.parameters.copy()
            parameters[self._body_nodes] = rows
            model._set("_bodies", tuple(b._replace(parameters=p) for b, p in pairs))
            model._set("inertias", rows)
            model._set("nodes", self.nodes._replace(parameters=_frozen(parameters)))
        model._make_tree()
        return model

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
            self.gravity,
        )

    def _with_joints(self, change: Any) -> Model:
        bodies, k = [], 0
        for body in self._bodies:
            joints = []
            for joint in body.joints:
                joints.append(change(k, joint))
                k += 1
            bodies.append(body._replace(joints=tuple(joints)))
        return Model(self.name, self.gravity, bodies, self.frames, self.visuals)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by what defines the model."""
        return Model, (self.name, self.gravity, self._bodies, dict(self.frames), self.visuals)

    def __copy__(self) -> Model:
        """Return the model itself: it is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        """Return the model itself: it is immutable."""
        return self

    def __repr__(self) -> str:
        """Show sizes, conventions and the tree."""
        if "nodes" not in self.__dict__:
            return "Model (not initialized)"
        gravity = ", ".join(f"{g:g}" for g in self.gravity)
        lines = [
            f"Model {self.name!r}: {self.n_bodies} bodies, {len(self.joints)} joints, "
            f"nq = {self.nq}, nv = {self.nv}, gravity ({gravity})",
            "  q: 1-DoF joints one number; spherical quaternion (x, y, z, w); "
            "free quaternion (x, y, z, w), position",
            "  v: rates; spherical angular velocity in the child frame; "
            "free body-fixed twist (angular, linear)",
            *self._tree_lines(40),
        ]
        return "\n".join(lines)

    def _tree_lines(self, most: int) -> list[str]:
        depth = np.zeros(self.n_bodies, int)
        lines, k = [], 0
        for i, body in enumerate(self._bodies):
            depth[i] = depth[body.parent] + 1 if body.parent >= 0 else 1
            if i >= most:
                continue
            joints = []
            for joint in body.joints:
                q = self.q_slice(k)
                joints.append(f"{joint.name} ({joint.type}, q[{q.start}:{q.stop}])")
                k += 1
            indent = "  " * min(int(depth[i]), 30)
            lines.append(f"{indent}{i} {body.name}: {', '.join(joints)}")
        if self.n_bodies > most:
            lines.append(f"  ... {self.n_bodies - most} more bodies")
        return lines


def require_model(model: object) -> None:
    """Raise the TypeError that the kernels raise, unless it is a model."""
    if not isinstance(model, Model) or "nodes" not in model.__dict__:
        raise TypeError(f"model must be a jounce.Model, got {type(model).__name__}")


def locate(model: Model, body: str | int) -> tuple[int, Array]:
    """Node and pose in it of a body or frame, as the kernels take them."""
    require_model(model)
    return model._locate(body)


def _whole(joint: Joint, mask: npt.NDArray[np.bool_]) -> bool:
    if mask.any() != mask.all():
        raise ValueError(f"actuated must be all True or all False for joint {joint.name!r}")
    return bool(mask.all())


def _replace_joint(joint: Joint, **changes: Any) -> Joint:
    return Joint(**{**joint.__dict__, **changes})


def _body_frames(bodies: Sequence[Body]) -> dict[str, Frame]:
    return {body.name: Frame(i, _IDENTITY) for i, body in enumerate(bodies)}


def _frozen_frames(frames: Mapping[str, Frame]) -> Mapping[str, Frame]:
    return MappingProxyType({k: Frame(f.body, _frozen(f.placement)) for k, f in frames.items()})


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = array if not array.flags.writeable else array.copy()
    array.setflags(write=False)
    return array


_IDENTITY = _frozen(np.eye(4))


def _gravity(gravity: npt.ArrayLike) -> Array:
    return _array("gravity", gravity, (3,))


def _array(name: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(value, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {value!r}") from None
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {array}")
    return array


def _check_inertias(names: Sequence[str], rows: Array) -> None:
    """Refuse negative masses; warn of inertias that no body can have."""
    for name, mass in zip(names, rows[:, 0], strict=True):
        if mass < 0:
            raise ModelError(f"body {name!r}: mass {mass:g} is negative")
    found = [(n, inertia_.violation(row)) for n, row in zip(names, rows, strict=True)]
    bad = [f"body {name!r}: {why}" for name, why in found if why]
    if bad:
        more = f" (and {len(bad) - 3} more)" if len(bad) > 3 else ""
        warnings.warn("; ".join(bad[:3]) + more, ModelWarning, stacklevel=4)


def _unique(kind: str, names: Sequence[str]) -> dict[str, int]:
    index = {name: k for k, name in enumerate(names)}
    if len(index) != len(names):
        twice = next(name for k, name in enumerate(names) if index[name] != k)
        raise ModelError(f"two {kind}s are named {twice!r}")
    return index


def _index(kind: str, key: str | int, index: dict[str, int], names: Sequence[str]) -> int:
    if isinstance(key, str):
        try:
            return index[key]
        except KeyError:
            raise unknown_name(kind, key, names) from None
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
        if 0 <= key < len(names):
            return int(key)
        raise KeyError(f"{kind} index must be between 0 and {len(names) - 1}, got {key}")
    raise KeyError(f"{kind} must be a name or an index, got {key!r}")


_NON_NEGATIVE = ("armature", "damping", "friction", "velocity_limit", "effort_limit")


def _per_joint(
    joints: Sequence[Joint], field: str, size: int, offsets: npt.NDArray[np.int64]
) -> Array:
    """Spread a joint attribute, one number or one per coordinate or rate, over the vector."""
    out = np.empty(size)
    for k, joint in enumerate(joints):
        value = getattr(joint, field)
        start, stop = offsets[k], offsets[k + 1]
        try:
            out[start:stop] = value
        except (ValueError, TypeError):
            raise ModelError(
                f"joint {joint.name!r}: {field} must be a number or {stop - start} numbers, "
                f"got {value!r}"
            ) from None
    bad = np.isnan(out) | ((out < 0) if field in _NON_NEGATIVE else False)
    if field == "armature":
        bad |= np.isinf(out)
    if np.any(bad):
        k = int(np.searchsorted(offsets, int(np.flatnonzero(bad)[0]), side="right")) - 1
        raise ModelError(
            f"joint {joints[k].name!r}: {field} must not be negative or nan, "
            f"got {getattr(joints[k], field)!r}"
        )
    return out
