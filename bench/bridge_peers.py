"""Peers of the front ends: forward dynamics in JAX by MJX and frax, and as a graph of CasADi."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc
from bench.robots import Robot
from bench.timing import Effort

Dynamics = Callable[..., Any]


def states(model: jc.Model, count: int) -> list[Any]:
    """Random q, v, tau (count, n)."""
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, count)
    v, a = rng.standard_normal((2, count, model.nv))
    return [q, v, jc.inverse_dynamics(model, q, v, a)]


def ours(model: jc.Model) -> Dynamics:
    """Forward dynamics of jounce in JAX."""
    from jounce.interop import jax as jjax

    return lambda q, v, tau: jjax.forward_dynamics(model, q, v, tau)


def contenders(robot: Robot, effort: Effort) -> list[tuple[str, jc.Model, Dynamics]]:
    """Name, model and forward dynamics of one state, of each peer in JAX that is installed."""
    found: list[tuple[str, jc.Model, Dynamics]] = []
    if effort.tiny:  # they take a minute to compile
        return found
    if importlib.util.find_spec("mujoco.mjx"):
        found.append(("MJX", robot.model, _mjx(robot.model)))
    if importlib.util.find_spec("frax"):
        found.append(("frax", *_frax()))
    return found


def _mjx(model: jc.Model) -> Dynamics:
    """The smooth dynamics of MuJoCo in JAX: inertia, its factors, bias forces, a solve."""
    with contextlib.redirect_stdout(None):
        import mujoco
        from mujoco import mjx
        from mujoco.mjx._src import smooth
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jc.ModelWarning)
            jc.save(model, path)
        compiled = mjx.put_model(mujoco.MjModel.from_xml_path(str(path)))
    first = mjx.make_data(compiled)

    def dynamics(q: Any, v: Any, tau: Any) -> Any:
        data = first.replace(qpos=q, qvel=v)
        passes = (smooth.kinematics, smooth.com_pos, smooth.crb, smooth.factor_m)
        for pass_ in (*passes, smooth.com_vel, smooth.rne):
            data = pass_(compiled, data)
        return smooth.solve_m(compiled, data, tau - data.qfrc_bias)

    return dynamics


def _frax() -> tuple[jc.Model, Dynamics]:
    """frax's own Panda, of seven joints."""
    import frax
    from frax.assets import FRANKA_ASSETS_DIR

    robot = frax.load_panda()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        model = jc.load_urdf(str(FRANKA_ASSETS_DIR / "panda.urdf"))
    if model.nv > robot.num_joints:
        fingers = [name for name in model.joint_names if "finger" in name]
        model = model.lock(dict.fromkeys(fingers, 0.0))
    return model, lambda q, v, tau: robot.forward_dynamics(q, v, tau, None)


def casadi_graph(model: jc.Model) -> Any:
    """Forward dynamics as scalar expressions, for trees of revolute and prismatic joints.

    Inverse dynamics in body frames without what is zero. Forces are linear in accelerations, whose
    factor is the mass matrix; its Cholesky factorization is written out.
    """
    import casadi as ca

    n = model.nv
    q, v, tau = (ca.SX.sym(name, n) for name in ("q", "v", "tau"))
    bias = _newton_euler(model, q, v, ca.SX.zeros(n))
    a = ca.SX.sym("a", n)
    M = ca.jacobian(_newton_euler(model, q, ca.SX.zeros(n), a), a)
    return ca.Function("forward_dynamics", [q, v, tau], [_solved(M, tau - bias)])


def _solved(M: Any, b: Any) -> Any:
    """M^-1 b by M = L L^T, written out."""
    import casadi as ca

    n = b.shape[0]
    L = ca.SX.zeros(n, n)
    for j in range(n):
        L[j, j] = ca.sqrt(M[j, j] - ca.sumsqr(L[j, :j]))
        for i in range(j + 1, n):
            L[i, j] = (M[i, j] - ca.dot(L[i, :j], L[j, :j])) / L[j, j]
    x = ca.SX.zeros(n)
    for i in range(n):
        x[i] = (b[i] - ca.dot(L[i, :i].T, x[:i])) / L[i, i]
    for i in reversed(range(n)):
        x[i] = (x[i] - ca.dot(L[i + 1 :, i], x[i + 1 :])) / L[i, i]
    return x


def _newton_euler(model: jc.Model, q: Any, v: Any, a: Any) -> Any:
    """Inverse dynamics by twists and wrenches in body frames."""
    import casadi as ca

    from jounce import inertia

    nodes, n = model.nodes, model.nv
    V: list[Any] = []
    dV: list[Any] = []
    back: list[Any] = []
    for i in range(n):
        screw = nodes.screws[:, i]
        T = ca.SX(nodes.placement[i]) @ _moved(screw, q[i])
        R, p = T[:3, :3], T[:3, 3]
        inverse = ca.blockcat([[R.T, ca.SX(3, 3)], [-R.T @ ca.skew(p), R.T]])
        parent = nodes.parent[i]
        up = [V[parent], dV[parent]] if parent >= 0 else [ca.SX.zeros(6), _gravity(model)]
        S = ca.DM(screw)
        V.append(inverse @ up[0] + S * v[i])
        ad = ca.blockcat([[ca.skew(V[i][:3]), ca.SX(3, 3)], [ca.skew(V[i][3:]), ca.skew(V[i][:3])]])
        dV.append(inverse @ up[1] + S * a[i] + ad @ S * v[i])
        back.append((inverse, ad, S))
    W: list[Any] = []
    for i in range(n):
        M = ca.DM(inertia.matrix(nodes.parameters[i]))
        W.append(M @ dV[i] - back[i][1].T @ (M @ V[i]))
    tau: list[Any] = [None] * n
    for i in reversed(range(n)):
        inverse, _, S = back[i]
        tau[i] = ca.dot(S, W[i]) + model.armature[i] * a[i]
        if nodes.parent[i] >= 0:
            W[nodes.parent[i]] = W[nodes.parent[i]] + inverse.T @ W[i]
    return ca.vertcat(*tau)


def _gravity(model: jc.Model) -> Any:
    import casadi as ca

    return ca.SX(np.concatenate([np.zeros(3), -np.asarray(model.gravity)]))


def _moved(screw: Any, angle: Any) -> Any:
    """The pose of a revolute or prismatic joint."""
    import casadi as ca

    from jounce import lie

    T = ca.SX.eye(4)
    if not np.any(screw[:3]):
        T[:3, 3] = ca.SX(screw[3:]) * angle
        return T
    if np.any(screw[3:]):
        raise ValueError("joints through the origin of their frame only")
    W = lie.hat(screw[:3])
    T[:3, :3] = ca.SX(np.eye(3) + W @ W) + ca.sin(angle) * W - ca.cos(angle) * (W @ W)
    return T
