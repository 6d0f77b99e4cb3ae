"""Models one of whose numbers is complex, for complex steps through the oracle."""

from __future__ import annotations

import copy

import numpy as np
import partials_oracle as oracle

import jounce as jc
from jounce import lie
from jounce.model.joints import ELEMENTARY

KINDS = (
    "mass",
    "first_moment",
    "inertia",
    "log_cholesky",
    "placement",
    "axis",
    "pitch",
    "gravity",
    "armature",
)
"""Those of the dynamics; damping and stiffness are passive."""


class Changed:
    """A model whose numbers are complex, for the oracle."""

    def __init__(self, model, **numbers):
        self.nq, self.nv, self.n_bodies = model.nq, model.nv, model.n_bodies
        self.body_index = model.body_index
        self.changed = frozenset(numbers)
        self.changed_nodes = self.changed & {*model.nodes._fields}
        self.nodes = model.nodes._replace(**{key: numbers[key] for key in self.changed_nodes})
        self.gravity = numbers.get("gravity", model.gravity)
        self.armature = numbers.get("armature", model.armature)


def frame_along(n):
    """The shortest rotation from z to n by its quaternion; n may be complex."""
    q = np.array([-n[1], n[0], 0 * n[0], 1 + n[2]])
    return lie.quat_to_matrix(q / np.sqrt((q * q).sum()))


def screws_along(model, node, axis, pitch):
    """(6,) of an elementary joint of one rate about an axis of its body."""
    anchor = model.nodes.alignment[node][:3, 3]
    if ELEMENTARY[model.nodes.kind[node]] == "prismatic":
        return np.concatenate([0 * axis, axis])
    return np.concatenate([axis, np.cross(anchor, axis) + pitch * axis])


def changed(model, item, h):
    """The model with one parameter moved by h, which may be imaginary."""
    kind, name, k = item
    nodes = model.nodes
    if kind == "gravity":
        return Changed(model, gravity=model.gravity + h * np.eye(3)[k])
    if kind == "armature":
        return Changed(
            model, armature=model.armature + h * np.eye(model.nv)[model.v_slice(name)][k]
        )
    if kind in ("mass", "first_moment", "inertia", "log_cholesky"):
        parameters = nodes.parameters.astype(complex)
        node = int(np.flatnonzero(nodes.body == model.body_index(name))[0])
        if kind == "log_cholesky":
            parameters[node] = complex_ten(
                jc.inertia.log_cholesky(model.inertias[nodes.body[node]]), k, h
            )
        else:
            parameters[node, {"mass": 0, "first_moment": 1, "inertia": 4}[kind] + k] += h
        return Changed(model, parameters=parameters)
    own = np.flatnonzero(nodes.joint == model.joint_index(name))
    if kind == "placement":
        placement = nodes.placement.astype(complex)
        placement[own[0]] = placement[own[0]] @ lie.exp(h * np.eye(6)[k])
        return Changed(model, placement=placement)
    screws = nodes.screws.astype(complex)
    joint = model.joints[model.joint_index(name)]
    if kind == "pitch":
        screws[:, nodes.v_index[own[0]]] += h * np.concatenate([np.zeros(3), joint.axis])
        return Changed(model, screws=screws)
    first = np.array([joint.axis, joint.axis2][k // 2])
    R = frame_along(first)
    moved = first + h * R[:, k % 2]
    F = frame_along(moved)
    which = own[k // 2 : k // 2 + 1] if joint.type == "universal" else own
    for at, node in enumerate(which):
        # the slides of a planar joint are along x and y, all others along the axis
        axis = F[:, at] if joint.type == "planar" and at < 2 else moved
        screws[:, nodes.v_index[node]] = screws_along(model, node, axis, nodes.pitch[node])
    return Changed(model, screws=screws)


def complex_ten(x, k, h):
    """Ten parameters by the definition of the coordinates."""
    a, d1, d2, d3, s12, s23, s13, t1, t2, t3 = x + h * np.eye(10)[k]
    U = np.exp(a) * np.array(
        [[np.exp(d1), s12, s13, t1], [0, np.exp(d2), s23, t2], [0, 0, np.exp(d3), t3], [0, 0, 0, 1]]
    )
    J = U @ U.T
    S = J[:3, :3]
    I = np.trace(S) * np.eye(3) - S  # noqa: E741
    return np.array([J[3, 3], *J[:3, 3], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def together(models):
    """Models with one and the same number changed as one, whose numbers have axes (models, 1)."""
    first = models[0]
    out = copy.copy(first)
    out.nodes = first.nodes._replace(**{key: stacked(models, key) for key in first.changed_nodes})
    for key in first.changed - first.changed_nodes:
        setattr(out, key, np.stack([getattr(m, key) for m in models])[:, None])
    return out


def stacked(models, key):
    return np.stack([getattr(m.nodes, key) for m in models])[:, None]


def by_steps(model, p, function):
    """Derivatives of function(model), parameters last; all that change the same at once.

    What the function returns has an axis of models in front, if it depends on them.
    """
    moved = [changed(model, item, 1j * oracle.STEP) for item in p.items]
    groups = {}
    for k, m in enumerate(moved):
        groups.setdefault(m.changed, []).append(k)
    values = [function(together([moved[k] for k in rows])).imag for rows in groups.values()]
    out = np.zeros((len(moved), *max((x.shape for x in values), key=len)[1:]))
    for rows, x in zip(groups.values(), values, strict=True):
        out[rows] = x / oracle.STEP
    return np.moveaxis(out, 0, -1)


def all_parameters(model, kinds=KINDS):
    p = jc.parameters(model, kinds[0])
    for kind in kinds[1:]:
        p = p + jc.parameters(model, kind)
    return p
