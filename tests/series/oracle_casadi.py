"""Inverse dynamics in CasADi's symbols, differentiated in time by nested automatic differentiation.

The forces are written as Luh, Walker and Paul (1980) did, along the world's axes: positions of the
centers of mass, Newton's and Euler's equations. Then `jtimes` along the motion is applied again
and again: with x = (joint positions, v, dv/dt, ..., wrenches, ...) and dx/dt known in the same
symbols, d tau/dt = (d tau/dx) dx/dt.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import casadi as ca
import numpy as np

from jounce import lie
from jounce.model import Model
from jounce.model.joints import ELEMENTARY

Symbol = Any


class Joint(NamedTuple):
    """Motion of an elementary joint in the frame it acts in, and how its position changes."""

    position: list[Symbol]  # symbols: an angle or a length, or a rotation, then a displacement
    position_rate: list[Symbol]
    turn: Symbol  # (3, 3)
    spin: Symbol  # in the moved axes, and its rate
    spin_rate: Symbol
    shift: Symbol  # along the axes before the turn, and its two rates
    shift_rate: Symbol
    shift_rate2: Symbol


class Frame(NamedTuple):
    """A moving frame: rotation, origin, spin, rate of the spin, acceleration of the origin."""

    R: Symbol
    p: Symbol
    w: Symbol
    alpha: Symbol
    a: Symbol

    def carried(self, pose: np.ndarray) -> Frame:
        """A frame fixed to this one."""
        arm = self.R @ pose[:3, 3]
        a = self.a + ca.cross(self.alpha, arm) + ca.cross(self.w, ca.cross(self.w, arm))
        return Frame(self.R @ pose[:3, :3], self.p + arm, self.w, self.alpha, a)

    def moved(self, joint: Joint) -> Frame:
        """The frame that a joint moves in this one."""
        R, arm, rate = self.R @ joint.turn, self.R @ joint.shift, self.R @ joint.shift_rate
        spin = R @ joint.spin
        a = self.a + ca.cross(self.alpha, arm) + ca.cross(self.w, ca.cross(self.w, arm))
        return Frame(
            R,
            self.p + arm,
            self.w + spin,
            self.alpha + ca.cross(self.w, spin) + R @ joint.spin_rate,
            a + 2 * ca.cross(self.w, rate) + self.R @ joint.shift_rate2,
        )


def about_z(angle: Symbol) -> Symbol:
    c, s = ca.cos(angle), ca.sin(angle)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def single_joint(kind: str, pitch: float, v: Symbol, a: Symbol) -> Joint:
    x = ca.SX.sym("x")
    axis, none = ca.DM([0, 0, 1]), ca.SX.zeros(3)
    turns = 0.0 if kind == "prismatic" else 1.0
    advance = {"revolute": 0.0, "prismatic": 1.0, "helical": pitch}[kind]
    shifts = (none + axis * advance * y for y in (x, v, a))
    return Joint([x], [v], about_z(turns * x), axis * turns * v, axis * turns * a, *shifts)


def group_joint(kind: str, v: Symbol, a: Symbol) -> Joint:
    R, w, dw, none = ca.SX.sym("R", 3, 3), v[:3], a[:3], ca.SX.zeros(3)
    R_rate = R @ ca.skew(w)
    if kind == "spherical":
        return Joint([R], [R_rate], R, w, dw, none, none, none)
    p = ca.SX.sym("p", 3)
    p_rate, p_rate2 = R @ v[3:], R @ (a[3:] + ca.cross(w, v[3:]))
    return Joint([R, p], [R_rate, p_rate], R, w, dw, p, p_rate, p_rate2)


def weight_and_inertia(parameters: np.ndarray, frame: Frame, gravity: np.ndarray):
    """Force, and moment about the frame's origin, that move a body against gravity."""
    m, *first, xx, xy, yy, xz, yz, zz = parameters
    if m == 0:
        return ca.SX.zeros(3), ca.SX.zeros(3)
    center = np.array(first) / m
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    own = about_origin - m * (center @ center * np.eye(3) - np.outer(center, center))
    c, inertia, w = frame.R @ center, frame.R @ own @ frame.R.T, frame.w
    a = frame.a + ca.cross(frame.alpha, c) + ca.cross(w, ca.cross(w, c))
    force = m * (a - gravity)
    return force, inertia @ frame.alpha + ca.cross(w, inertia @ w) + ca.cross(c, force)


def generalized(kind: str, pitch: float, moment: Symbol, force: Symbol) -> Symbol:
    """The forces of a joint from what acts in its own axes."""
    return {
        "revolute": moment[2],
        "prismatic": force[2],
        "helical": moment[2] + pitch * force[2],
        "spherical": moment,
        "free": ca.vertcat(moment, force),
    }[kind]


def frames(model: Model, v: Symbol, a: Symbol):
    """Joints with the symbols of their positions, the frames they move, and those of the nodes."""
    nodes, zero = model.nodes, ca.SX.zeros(3)
    world = Frame(ca.SX.eye(3), zero, zero, zero, zero)
    joints, moved, bodies = [], [], []
    for i, (start, end) in enumerate(itertools.pairwise([*nodes.v_index.tolist(), model.nv])):
        kind, own = ELEMENTARY[nodes.kind[i]], (v[start:end], a[start:end])
        if kind in ("spherical", "free"):
            joints.append(group_joint(kind, *own))
        else:
            joints.append(single_joint(kind, nodes.pitch[i], *own))
        carrier = bodies[nodes.parent[i]] if nodes.parent[i] >= 0 else world
        moved.append(carrier.carried(nodes.placement[i] @ nodes.alignment[i]).moved(joints[i]))
        bodies.append(moved[i].carried(lie.inverse(nodes.alignment[i])))
    return joints, moved, bodies


def inverse_dynamics(model: Model, v: Symbol, a: Symbol, wrenches: Symbol):
    """Generalized forces, and the joints with the symbols of their positions."""
    nodes = model.nodes
    joints, moved, bodies = frames(model, v, a)
    loads = [
        weight_and_inertia(parameters, body, model.gravity)
        for parameters, body in zip(nodes.parameters, bodies, strict=True)
    ]
    tau = [None] * len(joints)
    for i in reversed(range(len(joints))):
        (force, moment), body, joint = loads[i], bodies[i], moved[i]
        if nodes.body[i] >= 0:
            load = wrenches[6 * int(nodes.body[i]) :][:6]
            force, moment = force - body.R @ load[3:], moment - body.R @ load[:3]
        about_joint = moment + ca.cross(body.p - joint.p, force)
        seen = joint.R.T @ about_joint, joint.R.T @ force
        tau[i] = generalized(ELEMENTARY[nodes.kind[i]], nodes.pitch[i], *seen)
        up = nodes.parent[i]
        if up >= 0:
            arm = body.p - bodies[up].p
            loads[up] = loads[up][0] + force, loads[up][1] + moment + ca.cross(arm, force)
    return ca.vertcat(*tau) + ca.DM(model.armature) * a, joints


def column(symbols: list[Symbol]) -> Symbol:
    return ca.vertcat(*(ca.vec(s) for s in symbols))


@functools.cache
def series_function(model: Model, order: int):
    """A function of joint positions, motion and wrenches, all stacked: forces as columns."""
    motion = [ca.SX.sym(f"v{k}", model.nv) for k in range(order + 2)]
    wrenches = [ca.SX.sym(f"f{k}", 6 * model.n_bodies) for k in range(order + 1)]
    tau, joints = inverse_dynamics(model, motion[0], motion[1], wrenches[0])
    position = column([s for joint in joints for s in joint.position])
    slope = column([s for joint in joints for s in joint.position_rate])
    x = ca.vertcat(position, *motion[:-1], *wrenches[:-1])
    rate = ca.vertcat(slope, *motion[1:], *wrenches[1:])
    rows = [tau]
    for _ in range(order):
        rows.append(ca.jtimes(rows[-1], x, rate))
    return ca.Function("tau", [position, column(motion), column(wrenches)], [ca.horzcat(*rows)])


def positions(model: Model, q: np.ndarray) -> np.ndarray:
    """What stands for the symbols of the joint positions: rotations as matrices, by columns."""
    nodes, parts = model.nodes, []
    for i, (start, end) in enumerate(itertools.pairwise([*nodes.q_index, model.nq])):
        own = q[start:end]
        if ELEMENTARY[nodes.kind[i]] in ("spherical", "free"):
            own = np.concatenate([lie.quat_to_matrix(own[:4]).T.ravel(), own[4:]])
        parts.append(own)
    return np.concatenate(parts)


def inverse_series(model: Model, q, motion, f_ext=None) -> np.ndarray:
    """Forces (r+1, nv) of a motion (r+2, nv)."""
    order = len(motion) - 2
    if f_ext is None:
        f_ext = np.zeros((order + 1, model.n_bodies, 6))
    function = series_function(model, order)
    return np.array(function(positions(model, q), motion.ravel(), f_ext.ravel())).T
