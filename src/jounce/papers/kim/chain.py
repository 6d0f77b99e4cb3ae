"""Bodies, multi-DoF joints with S(q), and the scalar p that they depend on (kim, Sec. 2.1, 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jounce import lie
from jounce._types import AnyArray, ArrayLike
from jounce.errors import ArgumentError
from jounce.model import Model, inertia
from jounce.model.joints import ELEMENTARY
from jounce.papers.joints import apply, joint_motion, spans

_OWN_SCREWS = {
    "revolute": np.eye(6)[:, 2:3],
    "prismatic": np.eye(6)[:, 5:6],
    "helical": np.eye(6)[:, 2:3],
    "spherical": np.eye(6)[:, :3],
    "free": np.eye(6),
}


class System(NamedTuple):
    """What the tables know of a robot: body i and the joint i, of any DoF, that carries it.

    There is one body for each of ``model.joints``. A compound joint (universal, cylindrical,
    planar) is one joint here, whose Jacobian S_i(q_i) varies. It is built of elementary steps, the
    entries of ``model.nodes``, which `steps` lists. A spherical or free joint has rates that are
    not derivatives of coordinates; its S is constant and all formulas hold with tangent vectors in
    place of coordinates.

    All numbers may be complex, so that a complex step differentiates by any of them, and may have
    batch axes, like those of a state: behind the axis of bodies or steps, before that of rates.
    """

    parent: tuple[int, ...]
    """(n,) lambda(i), -1 for the ground."""
    steps: tuple[range, ...]
    """(n,) the elementary steps of joint i, from parent to child."""
    body: tuple[int, ...]
    """(n_bodies,) joint that carries each body of the model."""
    kind: tuple[str, ...]
    """(m,) kind of each step."""
    q_slice: tuple[slice, ...]
    """(m,) coordinates of each step."""
    v_slice: tuple[slice, ...]
    """(m,) rates of each step."""
    I: AnyArray  # noqa: E741
    """(n, 6, 6) generalized inertias (eq. 20), body-fixed."""
    placement: AnyArray
    """(m, 4, 4) pose of each step's frame in the one before, at the neutral coordinates."""
    alignment: AnyArray
    """(m, 4, 4) pose of the frame in which the step acts about and along z."""
    pitch: AnyArray
    """(m,) advance of a helical step."""
    armature: AnyArray
    """(nv,) rotor inertias; not in the paper, they add armature q'' to tau."""
    V_0_dot: AnyArray
    """(6,) acceleration of the ground, (0, -gravity)."""

    def rates(self, i: int) -> slice:
        """Where the rates of joint i sit."""
        first, last = self.steps[i][0], self.steps[i][-1]
        return slice(self.v_slice[first].start, self.v_slice[last].stop)


def system(model: Model | System) -> System:
    """Read bodies and joints off a model; a `System` is returned as it is."""
    if isinstance(model, System):
        return model
    nodes, n = model.nodes, len(model.joints)
    of_joint = [np.flatnonzero(nodes.joint == i) for i in range(n)]
    first = [int(nodes.parent[s[0]]) for s in of_joint]
    return System(
        parent=tuple(int(nodes.joint[p]) if p >= 0 else -1 for p in first),
        steps=tuple(range(int(s[0]), int(s[-1]) + 1) for s in of_joint),
        body=tuple(int(j) for j in nodes.joint[nodes.body >= 0]),
        kind=tuple(ELEMENTARY[k] for k in nodes.kind),
        q_slice=tuple(spans(nodes.q_index, model.nq)),
        v_slice=tuple(spans(nodes.v_index, model.nv)),
        I=inertia.matrix(nodes.parameters[[s[-1] for s in of_joint]]),
        placement=nodes.placement,
        alignment=nodes.alignment,
        pitch=nodes.pitch,
        armature=model.armature,
        V_0_dot=np.concatenate([np.zeros(3), -model.gravity]),
    )


class Parameter(NamedTuple):
    """How everything moves with the scalar p: the partial derivatives that Tables 5 to 7 take.

    Make one with `parameter`, which fills in zeros. Several entries may be nonzero: p may be any
    scalar on which state, input, inertia and geometry depend.
    """

    q: AnyArray
    """(nv,) dq/dp in the tangent space."""
    q_dot: AnyArray
    """(nv,)."""
    q_ddot: AnyArray
    """(nv,) read where the acceleration is an input."""
    tau: AnyArray
    """(nv,) read where the force is an input."""
    I: AnyArray  # noqa: E741
    """(n, 6, 6)."""
    F_ext: AnyArray
    """(n_bodies, 6)."""
    placement: AnyArray
    """(m, 6) twist by which a step's placement moves, P exp(p twist)."""
    alignment: AnyArray
    """(m, 6) twist by which a joint's axis or center moves in the body, exp(p twist) A."""
    pitch: AnyArray
    """(m,)."""
    armature: AnyArray
    """(nv,)."""
    V_0_dot: AnyArray
    """(6,)."""


def parameter(
    model: Model,
    *,
    q: ArrayLike | None = None,
    q_dot: ArrayLike | None = None,
    q_ddot: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    inertias: ArrayLike | None = None,
    F_ext: ArrayLike | None = None,
    placement: ArrayLike | None = None,
    alignment: ArrayLike | None = None,
    pitch: ArrayLike | None = None,
    armature: ArrayLike | None = None,
    gravity: ArrayLike | None = None,
) -> Parameter:
    """Describe p by the derivatives of what depends on it; everything not named does not.

    Batch axes are allowed, behind the axis of bodies or steps and before that of rates.

    Args:
        model: the robot.
        q: (nv,) dq/dp as a tangent vector; a unit vector is Corollary 2 (eq. 62).
        q_dot: (nv,).
        q_ddot: (nv,).
        tau: (nv,).
        inertias: (n_bodies, 10) derivatives of the inertial parameters.
        F_ext: (n_bodies, 6) of the body-fixed external wrenches.
        placement: (m, 6) body-fixed twists of the placements of ``model.nodes``.
        alignment: (m, 6) twists, in the body's frame, of the joint axes and centers.
        pitch: (m,) of the pitches of helical joints.
        armature: (nv,) of the rotor inertias.
        gravity: (3,).
    """
    links, nv, m = system(model), model.nv, len(model.nodes.parent)
    change = inertia.matrix(_given(inertias, model.n_bodies, 10))
    I = np.zeros((len(links.I), *change.shape[1:]), change.dtype)  # noqa: E741
    I[list(links.body)] = change
    g = _given(gravity, 3)
    return Parameter(
        q=_given(q, nv),
        q_dot=_given(q_dot, nv),
        q_ddot=_given(q_ddot, nv),
        tau=_given(tau, nv),
        I=I,
        F_ext=_given(F_ext, model.n_bodies, 6),
        placement=_given(placement, m, 6),
        alignment=_given(alignment, m, 6),
        pitch=_per_step(pitch, m),
        armature=_given(armature, nv),
        V_0_dot=np.concatenate([np.zeros_like(g), -g], axis=-1),
    )


def _given(value: ArrayLike | None, *shape: int) -> AnyArray:
    """The value, or zeros; its first axes and its last are those of the shape."""
    array = np.zeros(shape) if value is None else np.asarray(value)
    expected = (*shape[:-1], *array.shape[len(shape) - 1 : -1], shape[-1])
    if array.shape != expected:
        raise ArgumentError(f"expected an array of shape {shape}, got {array.shape}")
    return array


def _per_step(value: ArrayLike | None, m: int) -> AnyArray:
    """One number for each step, or zeros; the steps come first."""
    array = np.zeros(m) if value is None else np.asarray(value)
    if array.shape[:1] != (m,):
        raise ArgumentError(f"expected an array of shape {(m,)}, got {array.shape}")
    return array


class JointState(NamedTuple):
    """A joint at its coordinates and rates (kim, Sec. 2.1)."""

    T: AnyArray
    """(4, 4) pose of the body in its parent."""
    S: AnyArray
    """(6, n_i) joint Jacobian."""
    S_dot: AnyArray
    """(6, n_i) its time derivative."""


def joint(links: System, i: int, q: AnyArray, q_dot: AnyArray) -> JointState:
    """Pose of body i in its parent, joint Jacobian and its time derivative (kim, Sec. 2.1).

    S_i = T^-1 dT/dq (the paper prints T^-1 dT^-1/dq), viewed in the frame of body i.

    Multiplies the steps from the child's end: B is the pose of the child in step k. With
    w = B^-1 dB/dt the columns of a step are S = Ad(B^-1) s, and S_dot = -ad(w) S (Corollary 1).

    Args:
        links: the robot.
        i: the joint.
        q: (..., nq) all coordinates.
        q_dot: (..., nv) all rates.

    Returns:
        T (..., 4, 4), S (..., 6, n_i), S_dot (..., 6, n_i).
    """
    B, w = np.eye(4), np.zeros(6)
    columns: list[AnyArray] = []
    rates: list[AnyArray] = []
    for k in reversed(links.steps[i]):
        s = screws(links, k)
        S = lie.Ad(lie.inverse(B)) @ s
        columns.insert(0, S)
        rates.insert(0, -lie.ad(w) @ S)
        w = w + apply(S, q_dot[..., links.v_slice[k]])
        B = links.placement[k] @ _motion(links, k, q, s) @ B
    return JointState(B, _side_by_side(columns), _side_by_side(rates))


class JointDerivative(NamedTuple):
    """Derivatives of a joint by p (kim, eq. 61 and 64)."""

    dh: AnyArray
    """(6,) T^-1 dT/dp."""
    dS: AnyArray  # noqa: N815
    """(6, n_i)."""
    dS_dot: AnyArray  # noqa: N815
    """(6, n_i)."""


def joint_sensitivity(
    links: System, i: int, q: AnyArray, q_dot: AnyArray, p: Parameter
) -> JointDerivative:
    """Derivatives of a joint by p: three of the quantities of eq. 64.

    The recursion of `joint` with dh = B^-1 dB/dp beside it: dS = -ad(dh) S + Ad(B^-1) ds.

    Args:
        links: the robot.
        i: the joint.
        q: (..., nq) all coordinates.
        q_dot: (..., nv) all rates.
        p: what depends on the scalar.

    Returns:
        dh/dp = T^-1 dT/dp (6,) (eq. 61), dS/dp (6, n_i), dS_dot/dp (6, n_i). For p = q_i^k the
        first is the k-th column of S_i (eq. 62), for p not of this joint it is zero (eq. 63).
    """
    B, w, dh, dw = np.eye(4), np.zeros(6), np.zeros(6), np.zeros(6)
    columns: list[AnyArray] = []
    rates: list[AnyArray] = []
    for k in reversed(links.steps[i]):
        X, s = lie.Ad(lie.inverse(B)), screws(links, k)
        E = _motion(links, k, q, s)
        S, v = X @ s, q_dot[..., links.v_slice[k]]
        e, ds = _step_sensitivity(links, k, q, E, s, p)
        dS = X @ ds - lie.ad(dh) @ S
        columns.insert(0, dS)
        rates.insert(0, -lie.ad(dw) @ S - lie.ad(w) @ dS)
        dh, w = dh + apply(X, e), w + apply(S, v)
        dw = dw + apply(dS, v) + apply(S, p.q_dot[..., links.v_slice[k]])
        B = links.placement[k] @ E @ B
    return JointDerivative(dh, _side_by_side(columns), _side_by_side(rates))


def _side_by_side(columns: list[AnyArray]) -> AnyArray:
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in columns))
    return np.concatenate([np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in columns], axis=-1)


def _step_sensitivity(
    links: System, k: int, q: AnyArray, E: AnyArray, s: AnyArray, p: Parameter
) -> tuple[AnyArray, AnyArray]:
    """(P E)^-1 d(P E)/dp and ds/dp of step k, for its placement P, motion E and screws s."""
    back, axis = lie.Ad(lie.inverse(E)), p.alignment[k]
    e = apply(back, p.placement[k]) + apply(s, p.q[..., links.v_slice[k]])
    e, ds = e + apply(back, axis) - axis, lie.ad(axis) @ s
    if links.kind[k] == "helical":
        along = lie.Ad(links.alignment[k])[..., 5] * np.asarray(p.pitch[k])[..., None]
        e, ds = e + along * q[..., links.q_slice[k]], ds + along[..., None]
    return e, ds


def screws(links: System, k: int) -> AnyArray:
    """Constant screws of step k in its own frame, as columns, (..., 6, n)."""
    adjoint = lie.Ad(links.alignment[k])
    pitch = np.asarray(links.pitch[k])[..., None, None]
    s: AnyArray = adjoint @ _OWN_SCREWS[links.kind[k]] + pitch * adjoint[..., 5:]
    return s


def _motion(links: System, k: int, q: AnyArray, s: AnyArray) -> AnyArray:
    """Pose that step k with screws s adds at its coordinates, (..., 4, 4)."""
    return joint_motion(q[..., links.q_slice[k]], s[..., 0], links.alignment[k])
