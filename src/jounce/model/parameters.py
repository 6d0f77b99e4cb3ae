"""Parameters of a model, and the directions in which it changes with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._core.arrays import reals, shown
from jounce._types import Array, ArrayLike, Integers, Mask
from jounce.errors import (
    ArgumentError,
    ArgumentTypeError,
    ModelError,
    UnknownNameError,
    close_names,
    did_you_mean,
)
from jounce.model import inertia
from jounce.model._checks import name_list
from jounce.model._inertial import InertialChanges
from jounce.model._joint_parameters import (
    RATES,
    Row,
    axis_rows,
    has_no_directions,
    pitch_rows,
    placed_body,
    placement_rows,
    rate_rows,
)
from jounce.model.joints import Joint, frames_along
from jounce.model.model import Model, require_model
from jounce.model.nodes import NODE, Frame, frozen

__all__ = ["KINDS", "Parameter", "Parameters", "parameters", "require_parameters"]

KINDS = (
    "mass",
    "first_moment",
    "inertia",
    "log_cholesky",
    "placement",
    "axis",
    "pitch",
    "gravity",
    "armature",
    "damping",
    "stiffness",
)

_INERTIAL = {"mass": range(1), "first_moment": range(1, 4), "inertia": range(4, 10)}


class Parameter(NamedTuple):
    """One number of a model.

    Examples:
        >>> jc.parameters(jc.models.chain(2), "mass").items[1]
        Parameter(kind='mass', name='body1', component=0)
    """

    kind: str
    name: str
    """Of the body, joint or frame; empty for gravity."""
    component: int
    """Which of those that the kind has."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of a model, in a row; made by `jounce.parameters`, joined by ``+``.

    ``p[2:5]``, ``p[[0, 3]]`` and ``p[mask]`` are some of them. ``for item in p``, ``item in p`` and
    ``list(p)`` go through the items.

    Attributes:
        model: the robot.
        items: each parameter's kind, name and component.
        values: (number,) their values. Placements and axes, which move from where they are, and
            are zero there.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> p = jc.parameters(arm, "mass", ["body1"]) + jc.parameters(arm, "gravity")
        >>> len(p), p.values[1:]
        (4, array([ 0.  ,  0.  , -9.81]))
        >>> [item.component for item in p if item.kind == "gravity"]
        [0, 1, 2]
        >>> p[[0, 3]]
        Parameters(2: mass of body1, gravity)

    Raises:
        ArgumentError: one is given twice, by whatever names.
    """

    model: Model
    items: tuple[Parameter, ...]
    values: Array
    _directions: Array
    """(number, size of the model's tangent)"""
    _inertial: Array
    """(number, 10 n_bodies) changes of the inertial parameters"""

    def __post_init__(self) -> None:
        """Refuse what is given twice, and keep the values."""
        owners = {pair: _owner(self.model, *pair) for pair in {item[:2] for item in self.items}}
        known: dict[tuple[str, str | int, int], str] = {}
        for kind, name, component in self.items:
            place = (kind, owners[kind, name], component)
            if place in known:
                whose = f" of {name!r}" if name else ""
                other = f", also as that of {known[place]!r}" if known[place] != name else ""
                raise ArgumentError(f"component {component} of {kind}{whose} is given twice{other}")
            known[place] = name
        object.__setattr__(self, "values", frozen(self.values))

    def __getstate__(self) -> dict[str, Any]:
        """For pickles and copies: what defines them, and nothing computed from it."""
        return {"model": self.model, "items": self.items}

    def __setstate__(self, state: Any) -> None:
        """Compute the rest anew: a pickle may bring anything.

        Raises:
            ArgumentError: these are no parameters of the model.
        """
        if not isinstance(state, dict) or not {"model", "items"} <= state.keys():
            raise ArgumentTypeError(f"pickled Parameters have model and items, got {shown(state)}")
        found = _of_items(state["model"], state["items"])
        vars(self).clear()
        vars(self).update(vars(found))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.items)

    def __iter__(self) -> Iterator[Parameter]:
        """Each parameter's kind, name and component."""
        return iter(self.items)

    def __contains__(self, item: object) -> bool:
        """Whether it is one of the items."""
        return item in self.items

    def __getitem__(self, some: slice | Sequence[int] | Integers | Mask) -> Parameters:
        """Some of them, in the order asked for."""
        try:
            at = np.atleast_1d(np.arange(len(self))[some])
        except (IndexError, TypeError, ValueError):
            raise ArgumentError(
                f"{len(self)} parameters are indexed by a slice, by places or by a mask of "
                f"{len(self)}, got {shown(some)}"
            ) from None
        own = (self.values[at], self._directions[at], self._inertial[at])
        return Parameters(self.model, tuple(self.items[k] for k in at), *own)

    def __add__(self, other: Parameters) -> Parameters:
        """These, then the others."""
        if not isinstance(other, Parameters):
            return NotImplemented
        _require_same(self.model, other.model)
        return Parameters(
            self.model,
            self.items + other.items,
            np.concatenate([self.values, other.values]),
            np.concatenate([self._directions, other._directions]),
            np.concatenate([self._inertial, other._inertial]),
        )

    def __repr__(self) -> str:
        """Kinds and names."""
        known = dict.fromkeys(f"{p.kind} of {p.name}" if p.name else p.kind for p in self.items)
        return f"Parameters({len(self)}: {', '.join(known)})"

    @functools.cached_property
    def are_inertial(self) -> Mask:
        """Which of them are inertial parameters of bodies, or coordinates of them, (number,)."""
        kinds = (*_INERTIAL, "log_cholesky")
        return np.array([p.kind in kinds for p in self.items], bool)

    @functools.cached_property
    def parts(self) -> tuple[Parameters, Parameters]:
        """The inertial ones, and the others."""
        return self[self.are_inertial], self[~self.are_inertial]

    def inertial_directions(self) -> Array:
        """How the inertial parameters of the bodies change with each, (number, 10 n_bodies).

        Examples:
            >>> arm = jc.models.chain(3)
            >>> p, state = jc.parameters(arm, "log_cholesky"), tuple(np.ones((3, 3)))
            >>> by_p = jc.torque_regressor(arm, *state) @ p.inertial_directions().T
            >>> exact = jc.parameter_derivatives(jc.inverse_dynamics, arm, state, p)
            >>> bool(np.allclose(by_p, exact))
            True
        """
        return self._inertial

    @functools.cached_property
    def inertial_changes(self) -> InertialChanges:
        """The same, for what is linear in them."""
        return InertialChanges(self._inertial, all(p.kind in _INERTIAL for p in self.items))

    def require_model(self, model: Model) -> None:
        """Refuse a model that they are not parameters of."""
        _require_same(model, self.model)

    def model_tangent(self, model: Model, direction: ArrayLike, body: Any = None) -> Array:
        """The change of the model along a direction (..., number), for a kernel.

        `body` is the frame that the function is asked for: placements of frames move that one.
        """
        _require_same(model, self.model)
        x = reals("the direction", direction)
        if x.ndim < 1 or x.shape[-1] != len(self):
            raise ArgumentError(
                f"the direction of {len(self)} parameters must have shape (..., {len(self)}), got "
                f"{x.shape}"
            )
        self._require_finite("the direction", x)
        rows = self._directions
        frames = [k for k, item in enumerate(self.items) if self._is_frame(item)]
        if frames:
            if isinstance(body, (list, tuple, np.ndarray)):
                raise ArgumentError("by the placement of a frame, ask for one body at a time")
            rows = rows.copy()
            for k in frames:
                if self.items[k].name == body:
                    rows[k, self.items[k].component - 6] = 1.0
        tangent: Array = x @ rows
        return tangent

    def _require_finite(self, what: str, x: Array) -> None:
        """Refuse numbers that are not finite; parameters are the last axis."""
        bad = np.argwhere(~np.isfinite(x))
        if len(bad):
            at = tuple(bad[0].tolist())
            kind, name, _ = self.items[at[-1]]
            whose = f"{kind} of {name!r}" if name else kind
            raise ArgumentError(f"{what} must be finite, got {x[at]} at {list(at)}, {whose}")

    def _is_frame(self, item: Parameter) -> bool:
        """Whether it places a frame that is no body's."""
        others = (self.model._joint_index, self.model._body_index)
        return item.kind == "placement" and not any(item.name in names for names in others)

    def moved(self, step: ArrayLike) -> Model:
        """Return the model with the parameters changed by a step, (number,).

        Placements move as ``T exp(step)``, axes turn, all others are ``values + step``.

        Raises:
            ArgumentError: the step has a wrong shape or is not finite.
            ModelError: no robot has such numbers: a body of this inertia cannot exist, or an
                armature is negative.

        Examples:
            >>> arm = jc.models.chain(3)
            >>> heavier = jc.parameters(arm, "mass", ["body2"]).moved([0.5])
            >>> (heavier.inertias - arm.inertias)[:, 0]
            array([0. , 0. , 0.5])
        """
        x = reals("step", step)
        if x.shape != (len(self),):
            raise ArgumentError(f"step must be {len(self)} finite numbers, got shape {x.shape}")
        self._require_finite("step", x)
        return _moved(self, x)


def parameters(model: Model, kind: str, names: Sequence[str] | str | None = None) -> Parameters:
    """Parameters of a model of one kind, to differentiate by; results are joined by ``+``.

    ============= ======== =====================================================================
    kind          of       each has
    ============= ======== =====================================================================
    mass          bodies   m
    first_moment  bodies   m c_x, m c_y, m c_z
    inertia       bodies   Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the frame's origin
    log_cholesky  bodies   ten coordinates, see `jounce.inertia.log_cholesky`
    placement     joints,  a twist xi (angular, linear) in its own frame: the pose in the parent
                  frames   moves as ``T exp(xi)``
    axis          joints   two for each axis: it moves along the directions where x and y go in the
                           shortest rotation from z to the axis; not that of a planar joint with
                           the axis -z, whose directions jump there
    pitch         helical  m/rad
    gravity                three components
    armature, damping, stiffness: one for each rate of a joint
    ============= ======== =====================================================================

    Held fixed are the components of q, v, a, tau and f_ext, and the inertias in their body frames.
    Fixed joints are merged when a model is built and have no parameters; the names of their bodies
    are frames, whose placements move nothing else. A name of a joint and of another body is read as
    that of the joint.
    Joints of a coupled model that follow others have parameters as all have.
    Damping and stiffness act in `passive_forces` alone: derivatives of dynamics by them are zero.

    Args:
        model: the robot.
        kind: one of the above.
        names: of bodies or joints; all that have the parameter by default. Placements of frames
            are asked for by name. Log-Cholesky coordinates have all bodies but those that could
            not be (a rod, no mass): by default these are refused, not left out.

    Returns:
        The parameters: `len` of them, ``values``, and ``moved(step)``, the model changed by a step.

    Raises:
        ArgumentError: an unknown kind, or one that a named joint does not have.
        UnknownNameError: an unknown name.

    Examples:
        >>> import jounce as jc
        >>> arm = jc.models.chain(3)
        >>> jc.parameters(arm, "mass") + jc.parameters(arm, "gravity")
        Parameters(6: mass of body0, mass of body1, mass of body2, gravity)
    """
    require_model(model)
    if model.expanded is not model:  # joints that follow others have parameters of their own
        return replace(parameters(model.expanded, kind, names), model=model)
    if not isinstance(kind, str) or kind not in KINDS:
        close = did_you_mean(map(repr, close_names(kind, KINDS)))
        known = ", ".join(KINDS)
        raise ArgumentError(f"unknown parameter {shown(kind)}; there are {known}{close}")
    if kind == "gravity":
        if names is not None:
            raise ArgumentError("gravity belongs to the model: it takes no names")
        return _gravity(model)
    some = [names] if isinstance(names, str) else names
    if some is not None:
        some = name_list("names", some)
        if not all(isinstance(name, str) for name in some):
            raise ArgumentTypeError("names must be names of bodies or joints")
    if kind in _INERTIAL or kind == "log_cholesky":
        return _of_bodies(model, kind, some)
    return _of_joints(model, kind, some)


def _of_items(model: Model, items: Any) -> Parameters:
    """The parameters of a model by their kinds, names and components."""
    require_model(model)
    if not isinstance(items, tuple) or not all(isinstance(item, Parameter) for item in items):
        raise ArgumentTypeError(f"items must be a tuple of parameters, got {shown(items)}")
    values, (rows, inertial) = np.zeros(len(items)), _empty(model.expanded, len(items))
    known: dict[tuple[str, str], Parameters] = {}
    for k, item in enumerate(items):
        kind, name = item.kind, item.name
        if not (isinstance(kind, str) and isinstance(name, str)):
            raise ArgumentTypeError(f"a parameter has a kind and a name, got {shown(item)}")
        if (kind, name) not in known:
            known[kind, name] = parameters(model, kind, None if kind == "gravity" else name)
        own = known[kind, name]
        if not isinstance(item.component, int) or item not in own:
            raise ArgumentError(f"the model has no parameter {item!r:.200}")
        at = own.items.index(item)
        values[k], rows[k], inertial[k] = own.values[at], own._directions[at], own._inertial[at]
    return Parameters(model, items, values, rows, inertial)


def _require_same(one: Model, other: Model) -> None:
    require_model(one)
    if one is not other and one != other:
        raise ArgumentError("the parameters belong to another model")


def _owner(model: Model, kind: str, name: str) -> str | int:
    """What has the parameter, the same for all names by which it is known."""
    if kind == "placement":
        body = placed_body(model, name)
        return name if body is None else body
    return model.joint_index(name) if kind in ("axis", "pitch", *RATES) else name


def _empty(model: Model, count: int) -> tuple[Array, Array]:
    return np.zeros((count, model.nodes.tangent_size)), np.zeros((count, 10 * model.n_bodies))


def _gravity(model: Model) -> Parameters:
    rows, inertial = _empty(model, 3)
    rows[:, -9:-6] = np.eye(3)
    items = tuple(Parameter("gravity", "", k) for k in range(3))
    return Parameters(model, items, model.gravity.copy(), rows, inertial)


def _of_bodies(model: Model, kind: str, names: Sequence[str] | None) -> Parameters:
    bodies = range(model.n_bodies) if names is None else [_body_index(model, n) for n in names]
    per = len(_INERTIAL.get(kind, range(10)))
    rows, inertial = _empty(model, per * len(bodies))
    items, values = [], []
    for at, b in enumerate(bodies):
        name = model.body_names[b]
        if kind == "log_cholesky":
            try:
                own = inertia.log_cholesky(model.inertias[b])
            except ArgumentError as error:
                others = "; names= chooses bodies" if names is None else ""
                raise ArgumentError(f"body {name!r}: {error}{others}") from None
            changes = inertia.log_cholesky_derivatives(own).T
        else:
            own = model.inertias[b, _INERTIAL[kind]]
            changes = np.eye(10)[_INERTIAL[kind]]
        part = slice(at * per, (at + 1) * per)
        inertial[part, 10 * b : 10 * b + 10] = changes
        node = int(model._body_nodes[b])
        seen = inertia.transform(changes, lie.inverse(model.nodes.alignment[node]))
        rows[part, NODE * node + 10 : NODE * node + 20] = seen
        items += [Parameter(kind, name, k) for k in range(per)]
        values.append(own)
    return Parameters(model, tuple(items), _joined(values), rows, inertial)


def _body_index(model: Model, name: str) -> int:
    """Of a body; a refusal of what is merged into one names that one."""
    try:
        return model.body_index(name)
    except UnknownNameError as error:
        if name not in model.frames:
            raise
        at = model.frames[name].body
        into = f"body {model.body_names[at]!r}" if at >= 0 else "the world"
        ask = f"ask for {model.body_names[at]!r}" if at >= 0 else "and has no parameters"
        whole = f"what is fixed to {into} is merged into it, {ask}"
        raise UnknownNameError(f"{error} ({name!r} is no body of its own: {whole})") from None


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([np.zeros(0), *parts])


def _of_joints(model: Model, kind: str, names: Sequence[str] | None) -> Parameters:
    make: Callable[[Model, str], list[Row]]
    if kind in RATES:
        make = rate_rows(kind)
    else:
        make = {"placement": placement_rows, "axis": axis_rows, "pitch": pitch_rows}[kind]
    if names is None:
        found = [(name, make(model, name)) for name in model.joint_names]
    else:
        found = [(name, make(model, name)) for name in names]
        without = [name for name, own in found if not own]
        if without and kind == "axis":
            _require_directions(model, without[0])
        if without:
            have = [name for name in model.joint_names if make(model, name)]
            raise ArgumentError(
                f"joint {without[0]!r} has no {kind} of its own; those that have: "
                f"{', '.join(have) or 'none'}"
            )
    pairs = [(name, row) for name, own in found for row in own]
    rows, inertial = _empty(model, len(pairs))
    items = []
    for k, (name, row) in enumerate(pairs):
        items.append(Parameter(kind, name, row.component))
        for start, numbers in row.changes:
            rows[k, start : start + len(numbers)] += numbers
    values = np.array([row.value for _, row in pairs], float)
    return Parameters(model, tuple(items), values, rows, inertial)


def _require_directions(model: Model, name: str) -> None:
    """Refuse the axis of a planar joint where its directions jump."""
    if has_no_directions(model.joints[model.joint_index(name)]):
        raise ArgumentError(
            f"the directions of the planar joint {name!r} jump where its axis is (0, 0, -1), so "
            "that there is no derivative by it: let the joint have the axis (0, 0, 1), with a "
            "placement turned by half a turn about x"
        )


def _moved(p: Parameters, step: Array) -> Model:
    model = p.model.expanded
    new: dict[str, dict[str, Array]] = {kind: {} for kind in KINDS}  # by kind and name
    for item, value, change in zip(p.items, p.values, step, strict=True):
        of_name = new[item.kind].setdefault(item.name, _unmoved(p.model, item))
        of_name[item.component] = value + change
    inertias = _moved_inertias(p, new)
    rates = {field: getattr(model, field).copy() for field in RATES}
    for item, value, change in zip(p.items, p.values, step, strict=True):
        if item.kind in RATES:
            rates[item.kind][model.v_slice(item.name).start + item.component] = value + change
    gravity = new["gravity"].get("", model.gravity)[:3]
    if any(new[kind] for kind in ("placement", "axis", "pitch")):
        model = _with_geometry(model, new)
    changed = model.replace(gravity=gravity, inertias=inertias, **rates)
    return changed.coupled() if p.model.expanded is not p.model else changed


def _unmoved(model: Model, item: Parameter) -> Array:
    """All components of a parameter's kind as they are; those that are steps from there are 0."""
    own = np.zeros(10)
    if item.kind == "gravity":
        own[:3] = model.gravity
    elif item.kind == "log_cholesky":
        own[:] = inertia.log_cholesky(model.inertias[model.body_index(item.name)])
    return own


def _moved_inertias(p: Parameters, new: dict[str, dict[str, Array]]) -> Array:
    model, rows = p.model, p.model.inertias.copy()
    for item in p.items:
        if item.kind in _INERTIAL:
            at = model.body_index(item.name)
            value = new[item.kind][item.name][item.component]
            rows[at, _INERTIAL[item.kind][item.component]] = value
    for name, x in new["log_cholesky"].items():
        if any(name in new[kind] for kind in _INERTIAL):
            raise ArgumentError(f"the inertia of body {name!r} is given twice, by two kinds")
        try:
            rows[model.body_index(name)] = inertia.from_log_cholesky(x)
        except ArgumentError as error:
            raise ModelError(f"body {name!r} cannot exist: {error}") from None
    inertial = zip(p.items, p.are_inertial.tolist(), strict=True)
    changed = sorted({model.body_index(item.name) for item, own in inertial if own})
    for at, why in inertia.violations(rows[changed]).items():
        raise ModelError(f"body {model.body_names[changed[at]]!r} cannot exist: {why}")
    return rows


def _with_geometry(model: Model, new: dict[str, dict[str, Array]]) -> Model:
    """The model with other placements, axes and pitches."""
    bodies, frames = [], dict(model.frames)
    twists: dict[int, Array] = {}
    for name, x in new["placement"].items():
        at = placed_body(model, name)
        if at is None:
            moved = frames[name].placement @ _moving(name, x[:6])
            frames[name] = Frame(frames[name].body, moved)
        else:  # a body and its joint may each be named for some of the components
            twists[at] = twists.get(at, np.zeros(6)) + x[:6]
    for at, body in enumerate(model.bodies):
        pose = body.placement
        if at in twists:
            pose = pose @ _moving(body.name, twists[at])
        joints = tuple(_other_joint(joint, new) for joint in body.joints)
        bodies.append(body._replace(placement=pose, joints=joints))
    named = {name: frame for name, frame in frames.items() if name not in model._body_index}
    made_of = (model.name, model.gravity, bodies, named, model.visuals, dict(model.poses))
    return Model(*made_of, model.fixed_inertia, model.constraints)


def _moving(name: str, twist: Array) -> Array:
    try:
        return lie.exp(twist)
    except ArgumentError as error:
        raise ArgumentError(f"step of the placement of {name!r}: {error}") from None


def _other_joint(joint: Joint, new: dict[str, dict[str, Array]]) -> Joint:
    changes: dict[str, Any] = {}
    if joint.name in new["pitch"]:
        changes["pitch"] = float(new["pitch"][joint.name][0])
    if joint.name in new["axis"]:
        steps = new["axis"][joint.name].reshape(5, 2)
        for field, step in zip(("axis", "axis2"), steps, strict=False):
            axis = np.array(getattr(joint, field))
            turn = np.cross(axis, frames_along([axis], [(0.0, 0.0, 0.0)])[0, :3, :2] @ step)
            changes[field] = lie.exp(turn) @ axis
    return replace(joint, **changes) if changes else joint


def require_parameters(value: object) -> Parameters:
    """The value, which must be what `parameters` returns."""
    if not isinstance(value, Parameters):
        raise ArgumentTypeError(
            f"parameters must be those of jounce.parameters, got {type(value).__name__}"
        )
    return value
