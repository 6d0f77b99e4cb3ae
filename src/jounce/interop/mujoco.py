"""Conversions to and from MuJoCo.

========  ==========================================  =============================================
joint     MuJoCo                                      jounce
========  ==========================================  =============================================
free      position, quaternion (w, x, y, z);          quaternion (x, y, z, w), position;
          linear in world axes, angular in body axes  angular, linear, both in body axes
ball      quaternion (w, x, y, z);                    quaternion (x, y, z, w);
          angular velocity in body axes               the same
hinge     angle (the joint's `ref` is part of it)     the same
slide     displacement                                the same
========  ==========================================  =============================================

The accelerations of a free joint differ by more than a rotation: MuJoCo's linear ones are those of
the body's origin, jounce's are derivatives of the components in body axes.
"""

from __future__ import annotations

from typing import Any

from jounce._types import ArrayLike
from jounce.errors import ModelError
from jounce.interop._actuators import Actuation, actuation
from jounce.interop._common import Block, Chart, Group, Peer, Plain, match, require_models
from jounce.interop._models import require_peer
from jounce.io._mjcf_names import joint_names
from jounce.io.mjcf import from_compiled
from jounce.model import Model
from jounce.model.joints import Joint
from jounce.model.roots import Base, root_joint

__all__ = ["Actuation", "Converter", "control", "model"]


def __dir__() -> list[str]:
    return sorted(__all__)


_TYPES = ("free", "ball", "slide", "hinge")  # mjtJoint


class Converter(Peer):
    """Converts q, v, a, tau and square matrices over v between jounce and MuJoCo.

    Here q, v, a and tau are MuJoCo's `qpos`, `qvel`, `qacc` and `qfrc_*`.

    Args:
        model: the model of jounce, for example of `jounce.load_mjcf`.
        mj_model: the `mujoco.MjModel` of the same robot; joints are matched by name, unnamed ones
            by the name that `jounce.load_mjcf` gives them.

    Raises:
        ArgumentTypeError: one of the models is something else.
        ModelError: a joint of one model is missing in the other, or has another type there.

    Examples:
        >>> import mujoco
        >>> from jounce.interop.mujoco import Converter
        >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
        >>> text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
        >>> there = Converter(jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text))
        >>> there.to_q([0.5])
        array([0.5])
    """

    def __init__(self, model: Model, mj_model: Any) -> None:
        require_models(model, mj_model, "mujoco.MjModel", "jnt_type")
        index = {name: k for k, name in enumerate(joint_names(mj_model))}
        kinds = {name: _TYPES[int(mj_model.jnt_type[k])] for name, k in index.items()}
        blocks = {}
        for own, other in match(model, "MuJoCo", kinds, "free").items():
            chart = _chart(model.joints[model.joint_index(own)], kinds[other])
            k = index[other]
            blocks[own] = Block(int(mj_model.jnt_qposadr[k]), int(mj_model.jnt_dofadr[k]), chart)
        sizes = int(mj_model.nq), int(mj_model.nv)
        super().__init__(model, "MuJoCo", sizes, blocks)


def model(
    mj_model: Any,
    base: Base = "fixed",
    *,
    gravity: ArrayLike | None = None,
    strict: bool = False,
) -> Model:
    """Make a model of one of MuJoCo, as `jounce.load_mjcf` makes it of a file.

    Args:
        mj_model: a `mujoco.MjModel`, with what was changed in it since it was compiled, or a
            `mujoco.MjSpec`, which is compiled.
        base: the joint between the world and the root body; see `jounce.load_mjcf`.
        gravity: acceleration of gravity, m/s^2; by default the model's.
        strict: refuse what is otherwise a warning.

    Returns:
        The robot.

    Raises:
        ArgumentTypeError: it is neither.
        ModelError: MuJoCo cannot compile it, or there is not one root body for `base`.
        ArgumentError: `base` is no joint.

    Warns:
        ModelWarning: naming what is left out.

    Examples:
        >>> import mujoco
        >>> from jounce.interop.mujoco import model
        >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
        >>> text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
        >>> model(mujoco.MjModel.from_xml_string(text)).joint_names
        ('hinge',)
    """
    if hasattr(mj_model, "compile") and hasattr(mj_model, "worldbody"):
        try:
            mj_model = mj_model.compile()
        except ValueError as error:
            reason = " ".join(str(error).split()).removeprefix("Error: ")
            raise ModelError(f"MuJoCo refuses the model: {reason}") from None
    require_peer(mj_model, "mj_model", "mujoco.MjModel or mujoco.MjSpec", "jnt_type")
    return from_compiled("the MjModel", mj_model, [], root_joint(base), gravity, strict)


def control(model: Model, mj_model: Any, ctrl: ArrayLike, *, passive: bool = True) -> Actuation:
    """Make of controls of MuJoCo's actuators what `jounce.rollout` takes.

    Motors, position and velocity servos of joints with one rate, with their gear, the ranges of
    controls and forces, and the joints' own force ranges:
    ``jc.rollout(model, q0, v0, tau, dt, control=control)``.

    Springs and damping of the joints act, too, those of the model: they are MuJoCo's
    ``qfrc_passive``, and damping of actuators is in them. Deviation: dry friction is
    ``-friction sign(v)`` here, which lets go of a joint at rest; MuJoCo's `frictionloss` is a
    constraint that holds it. MuJoCo's integrators Euler and implicit take damping at the end of
    the step, RK4 and Euler with the flag ``eulerdamp="disable"`` at the state, as `jounce.rollout`.

    Args:
        model: the robot, for example of `jounce.load_mjcf`.
        mj_model: the `mujoco.MjModel` of the same robot.
        ctrl: (..., T, nu) controls for each step, MuJoCo's ``data.ctrl``.
        passive: whether springs, damping and friction of the model's joints act, see
            `jounce.passive_forces`.

    Returns:
        Named tuple (tau, control): (..., T, nv) forces and the `jounce.Control` that goes with
        them.

    Raises:
        ArgumentTypeError: one of the models is something else.
        ArgumentError: controls of a wrong shape, or not finite.
        ModelError: an actuator of another kind; it is named.

    Examples:
        >>> import mujoco
        >>> from jounce.interop.mujoco import control
        >>> body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
        >>> more = '<actuator><motor joint="hinge" gear="5"/></actuator>'
        >>> text = f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"
        >>> robot, theirs = jc.load_mjcf(text), mujoco.MjModel.from_xml_string(text)
        >>> control(robot, theirs, ctrl=[[2.0]]).tau
        array([[10.]])
    """
    require_models(model, mj_model, "mujoco.MjModel", "jnt_type")
    return actuation(model, mj_model, ctrl, passive)


def _chart(joint: Joint, kind: str) -> Chart:
    if kind == "hinge" and joint.type in ("revolute", "continuous"):
        return Plain()
    if kind == "slide" and joint.type == "prismatic":
        return Plain()
    if kind == "ball" and joint.type == "spherical":
        return Group(False, (3, 0, 1, 2), range(3))
    if kind == "free" and joint.type == "free":
        order = (4, 5, 6, 3, 0, 1, 2)
        return Group(True, order, (3, 4, 5, 0, 1, 2), linear_in_body=False)
    raise ModelError(
        f"joint {joint.name!r}: there is no conversion between {joint.type!r} and MuJoCo's {kind}"
    )
