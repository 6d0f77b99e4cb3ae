"""Rollouts beside MuJoCo's own, contacts off, and beside a loop over Pinocchio.

MuJoCo steps a batch in C++ (``mujoco.rollout``); a user of Pinocchio writes a loop with ``pin.aba``
and ``pin.integrate``. All step the same chain, which MuJoCo gets as text. Per state and step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import motions, robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, measure

METHODS = {"semi_implicit_euler": "Euler", "rkmk4": "RK4"}
DT = 1e-3


def chain_text(model: jc.Model, integrator: str) -> str:
    """The chain as MJCF: the same axes, placements and inertias, nothing else."""
    flags = '<flag contact="disable" constraint="disable" eulerdamp="disable"/>'
    option = (
        f'<option timestep="{DT}" integrator="{integrator}" gravity="0 0 -9.81">{flags}</option>'
    )
    text = ""
    for i in reversed(range(model.n_bodies)):
        place = model.nodes.placement[i]
        axis = _numbers(model.nodes.screws[:3, i])
        m, *h = model.inertias[i, :4].tolist()
        com = np.array(h) / m
        # about the center of mass: MuJoCo's fullinertia is Ixx, Iyy, Izz, Ixy, Ixz, Iyz
        xx, xy, yy, xz, yz, zz = model.inertias[i, 4:].tolist()
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about -= m * (com @ com * np.eye(3) - np.outer(com, com))
        full = [about[0, 0], about[1, 1], about[2, 2], about[0, 1], about[0, 2], about[1, 2]]
        text = (
            f'<body pos="{_numbers(place[:3, 3])}" xyaxes="{_numbers(place[:3, :2].T.ravel())}">'
            f'<joint type="hinge" axis="{axis}"/><inertial pos="{_numbers(com)}" mass="{m!r}" '
            f'fullinertia="{_numbers(np.array(full))}"/>{text}</body>'
        )
    return f"<mujoco>{option}<worldbody>{text}</worldbody></mujoco>"


def _numbers(x: Any) -> str:
    return " ".join(map(repr, x.tolist()))


def pinocchio_loop(model: Any, q: Any, v: Any, steps: int) -> Callable[[], Any]:
    """Semi-implicit Euler as a user of Pinocchio writes it."""
    data, zero = model.createData(), np.zeros(model.nv)

    def loop() -> Any:
        ends = np.empty((len(q), model.nq))
        for k in range(len(q)):
            x, rates = q[k], v[k]
            for _ in range(steps):
                rates = rates + DT * pin.aba(model, data, x, rates, zero)
                x = pin.integrate(model, x, DT * rates)
            ends[k] = x
        return ends

    return loop


def mujoco_rollout(
    model: jc.Model, integrator: str, q: Any, v: Any, steps: int
) -> Callable[[], Any]:
    """MuJoCo's rollout of the batch, one thread, arrays reused."""
    import mujoco
    from mujoco import rollout

    theirs = mujoco.MjModel.from_xml_string(chain_text(model, integrator))
    data = mujoco.MjData(theirs)
    start = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
    states = np.empty((len(q), steps, start.shape[1]))

    def run() -> Any:
        rollout.rollout(theirs, data, initial_state=start, nstep=steps, state=states)
        return states[:, -1, 1 : 1 + model.nq]

    return run


def contenders(robot: robots.Robot, method: str, count: int, steps: int) -> dict[str, Call]:
    """The same rollout by each library; they must end at the same place."""
    model, rng = robot.model, np.random.default_rng(0)
    q, v = jc.random_configuration(model, rng, count), rng.standard_normal((count, model.nv))
    tau = np.zeros((steps, model.nv))
    out = np.empty((count, steps + 1, model.nq)), np.empty((count, steps + 1, model.nv))
    calls = {
        "jounce": Call(jc.rollout, (model, q, v, tau, DT), {"method": method, "out": out}),
        "mujoco": Call(mujoco_rollout(model, METHODS[method], q, v, steps)),
    }
    if method == "semi_implicit_euler":
        calls["pinocchio"] = Call(pinocchio_loop(robot.pin_model, q, v, steps))
    ends = {name: call() for name, call in calls.items()}
    for name in calls.keys() - {"jounce"}:
        robots.check(f"rollout of {name}", out[0][:, -1], ends[name], 1e-6)
    return calls


def run(effort: Effort, step: Steps) -> Report:
    """Measure rollouts of chains."""
    report = Report("simulation")
    columns = "chain, method", "jounce, us", "MuJoCo", "times", "Pinocchio loop", "times"
    table = report.table("Rollouts, per state and step, one thread", *columns)
    count, steps = effort.pick((256, 200), (64, 50), (4, 3))
    for bodies in effort.pick((7, 35), (7, 35), (3,)):
        robot = robots.twin(jc.models.chain(bodies))
        for method in METHODS:
            name = f"chain({bodies}), {method}"
            step(name)
            times = measure(contenders(robot, method, count, steps), effort)
            report.keep(f"rollout/{name}", times)
            each = {key: 1e6 * timing.best / count / steps for key, timing in times.items()}
            ratios = {key: value / each["jounce"] for key, value in each.items()}
            loop = each.get("pinocchio", "-"), ratios.get("pinocchio", "-")
            table.add(name, each["jounce"], each["mujoco"], ratios["mujoco"], *loop)
            report.target(f"{name} beside MuJoCo", ">= 6", ratios["mujoco"])
            if "pinocchio" in ratios:
                report.target(f"{name} beside a Pinocchio loop", ">= 10", ratios["pinocchio"])
    motions.single_states(report, effort, step)
    motions.planar_chains(report, effort, step)
    return report
