"""What the core knows of a model by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from jounce._types import Array, Index
from jounce.model.nodes import frozen

if TYPE_CHECKING:
    from jounce.model.model import Model

__all__ = ["Named", "named"]


class Named(NamedTuple):
    """What the core knows by name: joints of nodes, and frames, those of the bodies first."""

    joints: list[str]
    frames: dict[str, int]
    body: Index
    pose: Array


def named(model: Model) -> Named:
    """Names of a model's joints and frames."""
    joints = [model.joint_names[k] for k in model.nodes.joint.tolist()]
    index = model._body_index.copy()
    extra = [(name, frame) for name, frame in model.frames.items() if name not in index]
    index.update((name, model.n_bodies + k) for k, (name, _) in enumerate(extra))
    body = np.array([frame.body for _, frame in extra], np.int32)
    pose = np.array([frame.placement for _, frame in extra], float).reshape(-1, 4, 4)
    return Named(joints, index, frozen(body), frozen(pose))
