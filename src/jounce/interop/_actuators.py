"""Actuators of MuJoCo as the servos of a rollout."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ModelError
from jounce.io._mjcf_flags import acting, first_of
from jounce.io._mjcf_names import joint_names
from jounce.kinematics import neutral
from jounce.model import Model
from jounce.model._checks import check_flag
from jounce.simulation import Control

__all__ = ["Actuation", "actuation"]

_JOINTS = (0, 1)  # mjTRN_JOINT, mjTRN_JOINTINPARENT
_SIMPLE = (2, 3)  # mjJNT_SLIDE, mjJNT_HINGE
_LAST_GROUP = 30  # that can be disabled


class Actuation(NamedTuple):
    """What `rollout` takes for the controls of MuJoCo's actuators.

    Examples:
        >>> import mujoco
        >>> from jounce.interop.mujoco import control
        >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
        >>> more = '<actuator><motor joint="hinge"/></actuator>'
        >>> text = f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"
        >>> robot, theirs = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
        >>> tau, servo = control(robot, theirs, ctrl=np.ones((10, 1)))
        >>> jc.rollout(robot, [0], [0], tau, dt=0.01, control=servo).q.shape
        (11, 1)
    """

    tau: Array
    """(..., T, nv) forces that do not depend on the state."""
    control: Control
    """Servos, force limits and whether passive forces act."""


def actuation(model: Model, mj_model: Any, ctrl: ArrayLike, passive: bool) -> Actuation:
    """Return the forces of actuators for rows of controls, ctrl (..., T, nu).

    With the gear g, an actuator on a joint with coordinate q acts with

        g clip(gain ctrl + b_0 + b_1 g q + b_2 g v, force range),

    and controls are clipped to their range before. Motors have a gain, position servos gain = -b_1,
    velocity servos gain = -b_2. So kp = -g^2 b_1 and kd = -g^2 b_2 of `jounce.Control`. Actuators
    and clips that the model disables do not act. Springs, damping and friction of the joints act
    beside, unless they are not to; the damping of actuators is part of the joints' in `model`, so
    it is not in kd.
    """
    check_flag("passive", passive)
    rows = reals("ctrl", ctrl)
    count = int(mj_model.nu)
    if rows.ndim < 1 or rows.shape[-1] != count or not np.isfinite(rows).all():
        raise ArgumentError(
            f"ctrl must be finite numbers of shape (..., T, {count}), got {rows.shape}"
        )
    nv = model.nv
    tau, kp, kd = np.zeros((*rows.shape[:-1], nv)), np.zeros(nv), np.zeros(nv)
    low, high = np.full(nv, -np.inf), np.full(nv, np.inf)
    driven: dict[int, bool] = {}
    names, acts = joint_names(mj_model), acting(mj_model)
    for k in range(len(mj_model.actuator_trntype)):
        if not acts.actuators or _group_is_off(mj_model, k):
            continue
        _require_simple(mj_model, k)
        joint = int(mj_model.actuator_trnid[k, 0])
        column, output = (first_of(mj_model, f"actuator_{x}adr", k) for x in ("ctrl", "out"))
        i, gear = model.v_slice(names[joint]).start, float(mj_model.actuator_gear[output, 0])
        given = rows[..., column]
        if mj_model.actuator_ctrllimited[column] and acts.clamps:
            given = np.clip(given, *mj_model.actuator_ctrlrange[column])
        limited = bool(mj_model.actuator_forcelimited[k]) or _joint_limited(mj_model, joint)
        if i in driven and (limited or driven[i]):
            raise ModelError(
                f"{_name(mj_model, k)}: several actuators with force limits drive joint "
                f"{names[joint]!r}"
            )
        driven[i] = limited
        b0, b1, b2 = mj_model.actuator_biasprm[k, :3] * bool(mj_model.actuator_biastype[k])
        tau[..., i] += gear * (float(mj_model.actuator_gainprm[k, 0]) * given + b0)
        kp[i] -= gear**2 * b1
        kd[i] -= gear**2 * b2
        low[i], high[i] = _force_range(mj_model, k, joint, gear)
    if (kp < 0).any() or (kd < 0).any():
        raise ModelError("an actuator pushes away from its reference: its gains are negative")
    limits = (low, high) if np.isfinite([low, high]).any() else None
    reference = neutral(model)
    for joint, name in enumerate(names):
        if int(mj_model.jnt_type[joint]) in _SIMPLE:
            reference[model.q_slice(name)] = 0.0
    passive = passive and any(map(np.any, (model.stiffness, model.damping, model.friction)))
    servo = Control(kp=kp, kd=kd, q_ref=reference, force_limits=limits, passive=passive)
    return Actuation(tau, servo)


def _require_simple(mj_model: Any, k: int) -> None:
    """Refuse actuators that are no motors or servos of 1-DoF joints."""
    reason = ""
    joint = int(mj_model.actuator_trnid[k, 0])
    if int(mj_model.actuator_trntype[k]) not in _JOINTS:
        reason = "does not drive a joint"
    elif int(mj_model.jnt_type[joint]) not in _SIMPLE:
        reason = "drives a joint of several rates"
    elif int(mj_model.actuator_dyntype[k]) != 0:
        reason = "has states of its own"
    elif int(mj_model.actuator_gaintype[k]) != 0 or int(mj_model.actuator_biastype[k]) > 1:
        reason = "has forces that are not linear"
    elif np.any(getattr(mj_model, "actuator_delay", np.zeros(k + 1))[k]):
        reason = "acts with a delay"
    if reason:
        raise ModelError(
            f"{_name(mj_model, k)} {reason}; motors, position and velocity servos of joints with "
            "one rate are known"
        )


def _group_is_off(mj_model: Any, k: int) -> bool:
    group, off = int(mj_model.actuator_group[k]), int(mj_model.opt.disableactuator)
    return 0 <= group <= _LAST_GROUP and bool(off >> group & 1)


def _joint_limited(mj_model: Any, joint: int) -> bool:
    return bool(mj_model.jnt_actfrclimited[joint])


def _force_range(mj_model: Any, k: int, joint: int, gear: float) -> tuple[float, float]:
    """The range of the force along a joint, its own limit included."""
    low, high = -np.inf, np.inf
    if mj_model.actuator_forcelimited[k]:
        low, high = sorted(float(gear * x) for x in mj_model.actuator_forcerange[k])
    if _joint_limited(mj_model, joint):
        least, most = (float(x) for x in mj_model.jnt_actfrcrange[joint])
        low, high = float(np.clip(low, least, most)), float(np.clip(high, least, most))
    return low, high


def _name(mj_model: Any, k: int) -> str:
    return f"actuator {str(mj_model.actuator(k).name) or k!r}"
