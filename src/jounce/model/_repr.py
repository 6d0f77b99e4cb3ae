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
        *_legend(model),
        *_tree_lines(model, most),
    ]
    return "\n".join(lines)


def _legend(model: Model) -> list[str]:
    """What q and v hold, for joints whose coordinates are not simply their rates' integrals."""
    kinds = {joint.type for joint in model.joints}
    q = {
        "spherical": "spherical quaternion (x, y, z, w)",
        "free": "free quaternion (x, y, z, w), position",
    }
    v = {
        "spherical": "spherical angular velocity in the child frame",
        "free": "free body-fixed twist (angular, linear)",
    }
    if not kinds & q.keys():
        return []
    plain = bool(kinds - q.keys())
    return [
        "  q: " + "; ".join(["1-DoF joints one number"] * plain + [q[k] for k in q if k in kinds]),
        "  v: " + "; ".join(["rates"] * plain + [v[k] for k in v if k in kinds]),
    ]


def _tree_lines(model: Model, most: int) -> list[str]:
    depth = np.zeros(model.n_bodies, int)
    lines, k = [], 0
    for i, body in enumerate(model.bodies):
        depth[i] = depth[body.parent] + 1 if body.parent >= 0 else 1
        if i >= most:
            continue
        joints = []
        for joint in body.joints:
            q, v = model.q_slice(k), model.v_slice(k)
            places = f"q[{q.start}:{q.stop}], v[{v.start}:{v.stop}]"
            joints.append(f"{joint.name} ({joint.type}, {places})")
            k += 1
        indent = "  " * min(int(depth[i]), 30)
        lines.append(f"{indent}{i} {body.name}: {', '.join(joints)}")
    if model.n_bodies > most:
        lines.append(f"  ... {model.n_bodies - most} more bodies")
    return lines


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
