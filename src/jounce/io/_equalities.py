"""Equalities of model files as constraints: those of MJCF, and joints that follow others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.constraints import Coupling, Point, Weld
from jounce.io._mjcf_extension import EQUALITY
from jounce.io._mjcf_flags import acting
from jounce.io._mjcf_names import Names
from jounce.model import Model

__all__ = [
    "LAST_EQUALITY_READ",
    "ON_SITE",
    "mimic_couplings",
    "with_constraints",
    "with_equalities",
    "with_mimic_couplings",
]

_CONNECT, _WELD, _JOINT = range(3)  # mjtEq
LAST_EQUALITY_READ = _JOINT
ON_SITE = 6  # mjtObj
_TORQUE_SCALE = 10  # of a weld, in eq_data


def mimic_couplings(model: Model) -> list[Coupling]:
    """A coupling for each joint that follows another one."""
    items = []
    for joint in model.joints:
        leader, multiplier, offset = joint.mimic or ("", 0.0, 0.0)
        if leader in model.joint_names and leader != joint.name:
            items.append(Coupling({joint.name: 1.0, leader: -multiplier}, offset))
    return items


def with_mimic_couplings(model: Model) -> Model:
    """The model with a coupling for each joint that follows another one."""
    return with_constraints(model, mimic_couplings(model))


def with_constraints(model: Model, items: Sequence[Any]) -> Model:
    """The model with those constraints that hold something of it."""
    items = [item for item in items if _holds_something(model, item)]
    if not items:
        return model
    made_of = (model.name, model.gravity, model.bodies, dict(model.frames), model.visuals)
    return Model(*made_of, dict(model.poses), model.fixed_inertia, items)


def with_equalities(
    model: Model,
    compiled: Any,
    names: Names,
    saved: Sequence[Any] | None = None,
) -> Model:
    """The model with the active equalities of a `mujoco.MjModel`, under the names of its parts.

    A file that disables equalities has none.

    Args:
        model: without them.
        compiled: the `mujoco.MjModel`.
        names: what its bodies, joints and sites are called in the model.
        saved: the constraints that `jounce.save` kept, for which some of the equalities stand.
    """
    if not acting(compiled).equalities:
        return model
    items = list(saved or ())
    for k in range(compiled.neq):
        kind = int(compiled.eq_type[k])
        stands_for_saved = saved is not None and str(compiled.eq(k).name).startswith(EQUALITY)
        if not compiled.eq_active0[k] or kind > _JOINT or stands_for_saved:
            continue
        if kind == _JOINT:  # whose joints are no joints of ours if `jounce.save` split them
            items.append(_coupling(compiled, k, names.joints))
            continue
        model, item = _between(model, compiled, k, names)
        items.append(item)
    return with_constraints(model, items)


def _holds_something(model: Model, item: Any) -> bool:
    """Whether the model has its joints, or its frames on different bodies."""
    if isinstance(item, Coupling):
        return all(joint in model.joint_names for joint, _ in item.coefficients)
    if item.first not in model.frames or not (item.second is None or item.second in model.frames):
        return False
    other = -1 if item.second is None else model.frame(item.second).body
    return model.frame(item.first).body != other


def _coupling(compiled: Any, k: int, joints: Sequence[str]) -> Coupling:
    """One joint by another: y - y0 = c0 + c1 (x - x0) + ... + c4 (x - x0)^4."""
    first, second = int(compiled.eq_obj1id[k]), int(compiled.eq_obj2id[k])
    c = np.array(compiled.eq_data[k][:5])
    rest = compiled.qpos0[compiled.jnt_qposadr[first]]
    if second < 0:
        return Coupling({joints[first]: 1.0}, float(rest + c[0]))
    shift = np.polynomial.Polynomial([-compiled.qpos0[compiled.jnt_qposadr[second]], 1.0])
    expanded = np.zeros(5)
    powers = np.polynomial.Polynomial(c)(shift).coef
    expanded[: len(powers)] = powers
    terms = {joints[first]: 1.0, joints[second]: tuple((-expanded[1:]).tolist())}
    return Coupling(terms, float(rest + expanded[0]))


def _between(model: Model, compiled: Any, k: int, names: Names) -> tuple[Model, Any]:
    """A point or a weld, and the model with a frame at the point."""
    ids = [int(compiled.eq_obj1id[k]), int(compiled.eq_obj2id[k])]
    data, is_weld = np.array(compiled.eq_data[k]), int(compiled.eq_type[k]) == _WELD
    if is_weld and data[_TORQUE_SCALE] == 0:  # it holds a point and lets the bodies turn
        data[:6], is_weld = data[[3, 4, 5, 0, 1, 2]], False
    if int(compiled.eq_objtype[k]) == ON_SITE:
        first, second = (names.sites[i] for i in ids)
        if is_weld:
            return model, Weld(first, second, target=np.eye(4))
        return model, Point(first, second, target=np.zeros(3))
    bodies: list[str | None] = [names.bodies[i] if i > 0 else None for i in ids]
    if is_weld:
        second_in_first = np.eye(4)
        second_in_first[:3, :3] = lie.quat_to_matrix(data[[7, 8, 9, 6]])
        second_in_first[:3, 3] = data[3:6] - second_in_first[:3, :3] @ data[:3]
        if bodies[0] is None:
            return model, Weld(bodies[1] or "", None, target=second_in_first)
        return model, Weld(bodies[0], bodies[1], target=lie.inverse(second_in_first))
    points = [data[:3], data[3:6]]
    if bodies[0] is None:
        bodies.reverse()
        points.reverse()
    frame = _fresh(model, f"{compiled.eq(k).name or f'equality{k}'}_anchor")
    model = model.with_frame(frame, bodies[0] or "", _shifted(points[0]))
    return model, Point(frame, bodies[1], target=points[1])


def _shifted(position: Array) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def _fresh(model: Model, name: str) -> str:
    while name in model.frames:
        name += "_"
    return name
