"""Load MJCF files through MuJoCo's own compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jounce import lie
from jounce._types import Array, ArrayLike
from jounce.errors import ModelError
from jounce.io._common import displacement, named, warn
from jounce.io._constraint_data import constraints_from_data
from jounce.io._equalities import with_equalities
from jounce.io._folder import Folder
from jounce.io._mjcf_compile import compile_tree
from jounce.io._mjcf_extension import Extension, read_extension, restored
from jounce.io._mjcf_flags import acting
from jounce.io._mjcf_gate import admit
from jounce.io._mjcf_keys import read_poses
from jounce.io._mjcf_left_out import left_out, not_copied
from jounce.io._mjcf_names import Names, names_of
from jounce.io._mjcf_place import blamed_piece, first_piece
from jounce.io._mjcf_rest import driven_joints, joint_limits, joint_spring, joint_terms
from jounce.io._mjcf_shapes import mesh_files, visuals
from jounce.io._mjcf_tree import Piece, Tree
from jounce.io._parts import fresh
from jounce.io._source import MAX_BYTES, Source, read_source
from jounce.model import Model, inertia
from jounce.model._checks import check_flag
from jounce.model.builder import ModelBuilder
from jounce.model.joints import Joint
from jounce.model.roots import Base, root_joint

__all__ = ["from_compiled", "load_mjcf"]

_TYPES = ("free", "spherical", "prismatic", "revolute")  # mjtJoint


def load_mjcf(
    source: str | bytes | os.PathLike[str],
    base: Base = "fixed",
    *,
    gravity: ArrayLike | None = None,
    strict: bool = False,
    max_bytes: int = MAX_BYTES,
    folder: str | os.PathLike[str] | None = None,
) -> Model:
    """Load a robot from an MJCF file or from its text, as MuJoCo compiles it.

    Defaults, includes, frames, inertias from geoms and several joints on one body come out as in
    MuJoCo, and so do the frames of the bodies. A hinge's or slide's q is MuJoCo's `qpos`, its
    `ref` included; for the layout of ball and free joints see `jounce.interop.mujoco`. Bodies
    without joints (mocap bodies too) are merged into their parent; their names remain frames, and
    sites become frames, "<name>_site" if a body has that name. Keyframes become ``model.poses``,
    unnamed ones as "key<number>". Unnamed bodies are called "body<id>", unnamed joints after their
    body. Geoms become ``model.visuals``, those of groups that MuJoCo hides (3 and above) as
    collision shapes; height fields and meshes without a file do not.

    Joints are actuated if an actuator of the file drives them (itself, or by a tendon); in a file
    without such actuators all are but free joints. An actuator's armature and damping count as
    the joint's.

    Meshes are read only where an inertia depends on one; others may be missing. Textures, height
    fields and skins are never read. Counts that MuJoCo would not finish (`replicate`), numbers
    that are not finite or beyond 1e50, and files outside of `folder` are refused.

    Equalities between bodies, sites and joints become ``model.constraints``, see
    `jounce.Constraints`: they act only when passed. What the model cannot hold (springs and
    damping that are not linear, springs that yield, tendons, their equalities, fluids, gravity
    compensation, plugins) is left out with a warning. Contacts, and what actuators make of their
    controls, are left out without one. What flags of the file disable is not in the model.

    Args:
        source: path of the file, or the XML text itself.
        base: "fixed": the file as it is; a free joint in it stays a free joint. "free": a free
            joint named "root_joint" connects the root body to the world, at the world's origin
            when q is neutral, unless a root body has a free joint already. Any other joint type
            ("planar"), or a `Joint`, connects it likewise, at the body's own pose when q is
            neutral.
        gravity: acceleration of gravity, m/s^2; by default that of the file.
        strict: refuse what is otherwise a warning.
        max_bytes: largest size of the file with all that it includes, and of each mesh.
        folder: where includes and meshes must be; by default the project that the file belongs
            to (the nearest folder above it with a ``package.xml``, ``.git``, ``pyproject.toml``
            or ``__init__.py``), or the file's own folder if there is none.

    Returns:
        The robot.

    Raises:
        ModelError: the file is wrong; the message names file, line and element.
        MissingFileError: there is no such file.
        MissingExtraError: the mujoco package is missing.
        ArgumentError: `base` is none of the above.

    Warns:
        ModelWarning: once per file, naming what is left out.

    Examples:
        >>> body = '<body name="a"><joint/><geom size="1"/></body>'
        >>> text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
        >>> jc.load_mjcf(text).nv
        1
    """
    text = read_source(source, max_bytes)
    return from_source(
        text, base, gravity=gravity, strict=strict, max_bytes=max_bytes, folder=folder
    )


def from_source(
    source: Source,
    base: Base,
    *,
    gravity: ArrayLike | None,
    strict: bool,
    max_bytes: int,
    folder: str | os.PathLike[str] | None,
) -> Model:
    """Load a robot from bytes that were read already; see `load_mjcf`."""
    check_flag("strict", strict)
    joint = root_joint(base)
    place = Folder(source.directory, folder, max_bytes)
    tree = admit(source, place, max_bytes, forgiving=not strict)
    if tree.pieces[0].tag != "mujoco":
        raise tree.pieces[0].error("expected <mujoco> as root element")
    compiled, remarks = compile_tree(tree, joint.type != "fixed")
    return from_compiled(source.name, compiled, remarks, joint, gravity, strict, tree)


def from_compiled(
    name: str,
    compiled: Any,
    remarks: list[str],
    base: Joint,
    gravity: ArrayLike | None,
    strict: bool,
    tree: Tree | None = None,
) -> Model:
    """Make a robot of a `mujoco.MjModel`; see `load_mjcf`. Name and tree are for messages."""
    names = Names([], [], [])
    try:
        extension = read_extension(compiled)
        names = names_of(compiled, extension)
        findings = left_out(compiled, names, extension)
        model = None if strict and findings else _build(compiled, base, gravity, tree, names)
    except ModelError as error:
        place = None if tree is None else blamed_piece(tree, compiled, names, str(error))
        raise _error(name, place, str(error)) from None
    if model is None:
        root = None if tree is None else first_piece(tree, "mujoco")
        raise _error(name, root, f"the model cannot hold {'; '.join(findings)}")
    for empty in () if tree is None else not_copied(tree):
        if strict:
            raise ModelError(str(empty))
        remarks.append(f"{empty}. strict=True refuses such a file.")
    if findings:
        remarks.insert(
            0,
            f"left out, so that the robot moves otherwise in MuJoCo: {'; '.join(findings)}. "
            "strict=True refuses such a file.",
        )
    if remarks:
        warn(named(name, " ".join(remarks)))
    return model


def _error(name: str, place: Piece | None, message: str) -> ModelError:
    """Build the exception that names an element of the file, if there is one."""
    return ModelError(f"{name}: {message}") if place is None else place.error(message)


def _build(
    compiled: Any, base: Joint, gravity: ArrayLike | None, tree: Tree | None, names: Names
) -> Model:
    extension = read_extension(compiled)
    joints = _joints(compiled, names.joints)
    freed = -1 if base.type == "fixed" else _body_to_free(compiled, names.bodies, joints, base)
    if gravity is None:
        gravity = np.array(compiled.opt.gravity) if acting(compiled).gravity else np.zeros(3)
    builder = ModelBuilder(gravity=gravity, name=_model_name(compiled))
    _add_bodies(builder, compiled, names.bodies, joints, extension, (freed, base))
    of_world = _add_sites(builder, compiled, names)
    _add_shapes(builder, compiled, names, of_world, tree)
    model = builder.build(warn=False)
    if compiled.nkey:
        model = model.replace(poses=read_poses(model, compiled, names.joints, extension, freed))
    saved = extension.constraints
    if not compiled.neq and saved is None:
        return model
    kept = None if saved is None else constraints_from_data(saved)
    return with_equalities(model, compiled, names, kept)


def _add_bodies(
    builder: ModelBuilder,
    compiled: Any,
    names: Sequence[str],
    joints: Sequence[list[Joint]],
    extension: Extension,
    freed: tuple[int, Joint],
) -> None:
    """Add all bodies; one of them is freed by a joint that the file does not have."""
    parameters = _parameters(compiled)
    for i in range(1, compiled.nbody):
        placement = _pose(compiled.body_pos[i], compiled.body_quat[i])
        own = [freed[1]] if i == freed[0] else joints[i]
        if own and own[0].type == "free":
            own, placed = restored(own, extension)
            placement = placement if placed else np.eye(4)  # qpos is the pose in the world
        elif i != freed[0]:
            own, placement = _absorb_references(own, _references(compiled, i), placement)
            own, _ = restored(own, extension)
        parent = int(compiled.body_parentid[i])
        builder.add_body(
            names[i],
            names[parent] if parent > 0 else None,
            own or "fixed",
            placement,
            parameters=parameters[i],
        )


def _model_name(compiled: Any) -> str:
    """The attribute `model` of the root element, first of all names."""
    return bytes(compiled.names).split(b"\0", 1)[0].decode("utf-8", "replace") or "robot"


def _pose(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Pose from MuJoCo's position and quaternion (w, x, y, z)."""
    pose = np.eye(4)
    pose[:3, :3] = lie.quat_to_matrix(np.roll(np.asarray(quaternion, float), -1))
    pose[:3, 3] = position
    return pose


def _parameters(compiled: Any) -> Array:
    """Inertial parameters of all bodies, from principal moments in the inertial frame."""
    rotation = lie.quat_to_matrix(np.roll(np.asarray(compiled.body_iquat), -1, axis=-1))
    moments = np.asarray(compiled.body_inertia)[:, None, :]
    about_com = (rotation * moments) @ rotation.swapaxes(-1, -2)
    about_com = 0.5 * (about_com + about_com.swapaxes(-1, -2))
    return inertia.from_com(compiled.body_mass, compiled.body_ipos, about_com)


def _joints(compiled: Any, names: Sequence[str]) -> list[list[Joint]]:
    """The joints of each body, with axes and anchors in its frame at the reference qpos0."""
    out: list[list[Joint]] = [[] for _ in range(compiled.nbody)]
    driven = driven_joints(compiled)
    armature, damping, friction = joint_terms(compiled)
    for k, name in enumerate(names):
        kind = _TYPES[int(compiled.jnt_type[k])]
        dof = int(compiled.jnt_dofadr[k])
        joint = Joint(
            kind,
            name,
            axis=tuple(map(float, compiled.jnt_axis[k])),
            anchor=(0.0, 0.0, 0.0) if kind == "free" else tuple(map(float, compiled.jnt_pos[k])),
            armature=float(armature[dof]),
            damping=float(damping[dof]),
            friction=float(friction[dof]),
            **joint_spring(compiled, k),
            **joint_limits(compiled, k),
            effort_limit=_effort_limit(compiled, k),
            actuated=None if driven is None else k in driven,
        )
        out[int(compiled.jnt_bodyid[k])].append(joint)
    return out


def _effort_limit(compiled: Any, k: int) -> float:
    limited = bool(compiled.jnt_actfrclimited[k])
    return float(np.abs(compiled.jnt_actfrcrange[k]).max()) if limited else np.inf


def _references(compiled: Any, body: int) -> list[float]:
    """qpos0 of the hinges and slides of a body; zero for its ball joints."""
    first, count = int(compiled.body_jntadr[body]), int(compiled.body_jntnum[body])
    return [
        float(compiled.qpos0[compiled.jnt_qposadr[k]])
        if _TYPES[int(compiled.jnt_type[k])] in ("prismatic", "revolute")
        else 0.0
        for k in range(first, first + count)
    ]


def _absorb_references(
    joints: Sequence[Joint], references: Sequence[float], placement: Array
) -> tuple[list[Joint], Array]:
    """Move the body's frame at q = 0 such that q = qpos, not qpos - qpos0.

    MuJoCo's pose of a body with joints 1 to m is P G_1(q_1 - r_1) ... G_m(q_m - r_m). With
    G_k(q_k - r_k) = G_k(-r_k) G_k(q_k) the constant factors move to the left, joint by joint from
    the last: P' = P G_1(-r_1) ... G_m(-r_m), and joint k is seen from the frame E_k =
    G_{k+1}(-r_{k+1}) ... G_m(-r_m). A ball joint is followed only by slides, hence its axes stay.
    """
    moved: list[Joint] = []
    shift = np.eye(4)
    for joint, reference in zip(reversed(joints), reversed(references), strict=True):
        anchor = np.asarray(joint.anchor, float)
        back = displacement(joint.type, joint.axis, -reference, joint.anchor)
        if not np.array_equal(shift, np.eye(4)):
            rotation, offset = shift[:3, :3], shift[:3, 3]
            joint = replace(
                joint,
                axis=tuple(rotation.T @ np.asarray(joint.axis, float)),
                anchor=tuple(rotation.T @ (anchor - offset)),
            )
        moved.insert(0, joint)
        shift = back @ shift
    return moved, placement @ shift


def _body_to_free(
    compiled: Any, names: Sequence[str], joints: Sequence[Sequence[Joint]], base: Joint
) -> int:
    """The root body that `base` lets go, or -1 if one is to float and one floats already."""
    roots = [i for i in range(1, compiled.nbody) if compiled.body_parentid[i] == 0]
    if base.type == "free" and any(joint.type == "free" for i in roots for joint in joints[i]):
        return -1
    moving = {int(compiled.body_rootid[i]) for i in compiled.jnt_bodyid}
    fixed = [i for i in roots if not joints[i] and compiled.body_mocapid[i] < 0]
    candidates = [i for i in fixed if i in moving] or fixed
    if len(candidates) != 1:
        raise ModelError(
            _no_root_to_free(base, [names[i] for i in candidates or roots], candidates)
        )
    if any(joint.name == base.name for own in joints for joint in own):
        raise ModelError(
            f'base="{base.type}" adds a joint named {base.name!r}, the file has one too'
        )
    return candidates[0]


def _no_root_to_free(base: Joint, names: Sequence[str], candidates: Sequence[int]) -> str:
    """What to do where `base` finds none or several bodies that are fixed to the world."""
    needs = f'base="{base.type}" needs one root body that is fixed to the world, the file has '
    if candidates:
        return f"{needs}{len(candidates)}{_listed(names)}: give the body its joint in the file"
    if not names:
        return f"{needs}no body at all"
    return (
        f"{needs}none{_listed(names)}: in MJCF the joints of a root body attach it to the world; "
        "load it without base=, or put <freejoint/> in the place of those joints"
    )


def _listed(names: Sequence[str]) -> str:
    return f" (among {', '.join(map(repr, names))})" if names else ""


def _add_sites(builder: ModelBuilder, compiled: Any, names: Names) -> dict[str, Array]:
    """Add sites as frames, and return those of the world with their poses."""
    of_world = {}
    for k, name in enumerate(names.sites):
        if not name:
            continue
        body = int(compiled.site_bodyid[k])
        pose = _pose(compiled.site_pos[k], compiled.site_quat[k])
        builder.add_frame(name, names.bodies[body] if body > 0 else None, pose)
        if body == 0:
            of_world[name] = pose
    return of_world


def _add_shapes(
    builder: ModelBuilder,
    compiled: Any,
    names: Names,
    of_world: dict[str, Array],
    tree: Tree | None,
) -> None:
    """Add geoms; those of the world to its first site, or to a frame "world" if it has none."""
    bodies = names.bodies[1:]
    if not of_world and (np.asarray(compiled.geom_bodyid) == 0).any():
        of_world = {fresh("world", {*bodies, *names.sites}): np.eye(4)}
        builder.add_frame(next(iter(of_world)), None)
    world, pose = next(iter(of_world.items()), ("", np.eye(4)))
    files = mesh_files(tree, compiled)
    builder.add_visuals(visuals(compiled, [world, *bodies], pose, files))
