"""What the parts of a `mujoco.MjModel` are called in ours: the one place that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jounce.io._mjcf_extension import EQUALITY, Extension
from jounce.io._parts import fresh

__all__ = ["Names", "body_names", "joint_names", "key_names", "names_of"]


class Names(NamedTuple):
    """Names by the ids of MuJoCo."""

    bodies: list[str]
    """Frames of the bodies; the first is the world, which is none here."""
    joints: list[str]
    """Joints as in the file; those that `jounce.save` split are parts of others in the model."""
    sites: list[str]
    """Frames of the sites; empty for those that only carry constraints that `jounce.save` kept."""


def names_of(compiled: Any, extension: Extension) -> Names:
    """Name bodies, joints and sites; `extension` knows those that are called otherwise in MJCF."""
    bodies = [extension.names.get(name, name) for name in body_names(compiled)]
    return Names(bodies, joint_names(compiled), _site_names(compiled, bodies, extension))


def body_names(compiled: Any) -> list[str]:
    """Names of the bodies in the file, the world first; unnamed ones get a name."""
    names = [str(compiled.body(i).name) for i in range(compiled.nbody)]
    return _filled(names, [f"body{i}" for i in range(compiled.nbody)])


def joint_names(compiled: Any) -> list[str]:
    """Names of the joints in the file; unnamed ones get that of their body."""
    bodies = body_names(compiled)
    names = [str(compiled.joint(k).name) for k in range(compiled.njnt)]
    spare = []
    for k in range(compiled.njnt):
        body = int(compiled.jnt_bodyid[k])
        number = k - int(compiled.body_jntadr[body]) if compiled.body_jntnum[body] > 1 else ""
        spare.append(f"{bodies[body]}_joint{number}")
    return _filled(names, spare)


def key_names(compiled: Any) -> list[str]:
    """Names of the keyframes; unnamed ones are "key<number>"."""
    names = [str(compiled.key(k).name) for k in range(compiled.nkey)]
    return _filled(names, [f"key{k}" for k in range(compiled.nkey)])


def _site_names(compiled: Any, bodies: Sequence[str], extension: Extension) -> list[str]:
    """Sites keep their names; one that is called like a body, or not at all, gets a new one."""
    names = [str(compiled.site(k).name) for k in range(compiled.nsite)]
    saved = extension.constraints is not None
    own = [saved and name.startswith(EQUALITY) and name not in extension.names for name in names]
    known = [extension.names.get(name, name) for name in names]
    reserved = set(bodies)
    taken = reserved.union(known)
    for k, name in enumerate(known):
        if own[k]:
            known[k] = ""
        elif not name:
            known[k] = fresh(f"site{k}", taken)
        elif name in reserved and names[k] not in extension.names:
            known[k] = fresh(f"{name}_site", taken)
    return known


def _filled(names: Sequence[str], spare: Sequence[str]) -> list[str]:
    """Names, with a fresh one made of the spare ones where there is none."""
    taken = set(names)
    return [name or fresh(other, taken) for name, other in zip(names, spare, strict=True)]
