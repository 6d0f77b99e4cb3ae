"""Named configurations of a model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from jounce._core.arrays import shown
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError
from jounce.model._checks import numbers
from jounce.model.joints import ELEMENTARY, SIZES
from jounce.model.nodes import Nodes, frozen

__all__ = ["checked_poses", "neutral_coordinates"]

_QUATERNION_SLACK = 1e-3
"""How far the norm of a quaternion may be from 1, as everywhere in jounce."""


def checked_poses(poses: Mapping[str, ArrayLike], nodes: Nodes) -> Mapping[str, Array]:
    """Configurations by name, read-only; an error names the pose that is none."""
    if not isinstance(poses, Mapping):
        raise ArgumentError(
            f"poses must be a mapping of names to configurations, got {shown(poses)}"
        )
    quaternions = nodes.q_index[nodes.kind >= ELEMENTARY.index("spherical")]
    nq = int(SIZES[nodes.kind, 0].sum())
    out = {}
    for name, value in poses.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"a pose's name must be a non-empty string, got {shown(name)}")
        q = numbers(f"pose {name!r}", value, (nq,))
        norms = np.linalg.norm(q[quaternions[:, None] + np.arange(4)], axis=1)
        wrong = np.abs(norms - 1.0) > _QUATERNION_SLACK
        if wrong.any():
            start = int(quaternions[wrong][0])
            raise ArgumentError(
                f"pose {name!r}: expected a unit quaternion (x, y, z, w) at q[{start}:{start + 4}]"
                f", got one of norm {norms[wrong][0]:g}"
            )
        out[name] = frozen(q)
    return MappingProxyType(out)


def neutral_coordinates(nodes: Nodes) -> Array:
    """The neutral configuration: zeros and unit quaternions."""
    q = np.zeros(int(SIZES[nodes.kind, 0].sum()))
    q[nodes.q_index[nodes.kind >= ELEMENTARY.index("spherical")] + 3] = 1.0
    return q
