"""How a model is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jounce.model.model import Model

__all__ = ["describe"]


def describe(model: Model, most: int = 40) -> str:
    """Sizes, conventions and the tree, of which the first bodies are shown."""
    gravity = ", ".join(f"{g:g}" for g in model.gravity)
    lines = [
        f"Model {model.name!r}: {_count(model.n_bodies, 'body', 'bodies')}, "
        f"{_count(len(model.joints), 'joint', 'joints')}, "
        f"nq = {model.nq}, nv = {model.nv}, gravity ({gravity})",
        "  q: 1-DoF joints one number; spherical quaternion (x, y, z, w); "
        "free quaternion (x, y, z, w), position",
        "  v: rates; spherical angular velocity in the child frame; "
        "free body-fixed twist (angular, linear)",
        *_tree_lines(model, most),
    ]
    return "\n".join(lines)


def _tree_lines(model: Model, most: int) -> list[str]:
    depth = np.zeros(model.n_bodies, int)
    lines, k = [], 0
    for i, body in enumerate(model.bodies):
        depth[i] = depth[body.parent] + 1 if body.parent >= 0 else 1
        if i >= most:
            continue
        joints = []
        for joint in body.joints:
            q = model.q_slice(k)
            joints.append(f"{joint.name} ({joint.type}, q[{q.start}:{q.stop}])")
            k += 1
        indent = "  " * min(int(depth[i]), 30)
        lines.append(f"{indent}{i} {body.name}: {', '.join(joints)}")
    if model.n_bodies > most:
        lines.append(f"  ... {model.n_bodies - most} more bodies")
    return lines


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
