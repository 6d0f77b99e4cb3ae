"""The joint between the world and the root of a robot."""

from __future__ import annotations

from jounce._core.arrays import shown
from jounce.errors import ArgumentError, close_names, did_you_mean
from jounce.model.joints import JOINT_TYPES, Joint, check_joint

__all__ = ["ROOT_JOINT", "Base", "root_joint"]

ROOT_JOINT = "root_joint"
"""Name of the joint that `base` adds."""

Base = str | Joint
"""What connects the root to the world: "fixed", "free" or any joint type, or a `Joint`."""


def root_joint(base: Base) -> Joint:
    """Make the joint that `base` asks for, named "root_joint" unless it has a name.

    Types stand for joints at the root's frame with the default axes: "planar" moves in x and y and
    turns about z, "prismatic" slides along z.

    Raises:
        ArgumentError: it is neither a joint type nor a joint.

    Examples:
        >>> root_joint("planar").name
        'root_joint'
    """
    if isinstance(base, Joint):
        joint = base.named(ROOT_JOINT)
    elif isinstance(base, str) and base in JOINT_TYPES:
        joint = Joint(base, ROOT_JOINT)
    else:
        types = ", ".join(map(repr, JOINT_TYPES))
        meant = (
            ["free"] if str(base) in ("floating", "freeflyer") else close_names(base, JOINT_TYPES)
        )
        hint = did_you_mean(map(repr, meant))
        raise ArgumentError(
            f"base must be one of {types}, or a jounce.Joint, got {shown(base)}{hint}"
        )
    check_joint(joint)
    return joint
