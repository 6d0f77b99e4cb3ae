"""Rollouts of a humanoid beside MuJoCo's own, contacts off, and beside a loop over Pinocchio.

The robot has 35 rates: a free base and 29 hinges in legs, arms and a waist. MuJoCo steps the batch
in C++ (``mujoco.rollout``); a user of Pinocchio writes a loop over ``pin.aba``, ``pin.integrate``.
Per state and step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

import jounce as jc
from bench import robots
from bench.report import Report, Steps
from bench.timing import Call, Effort, measure
from jounce.interop.mujoco import Converter
from jounce.interop.mujoco import model as mujoco_model

METHODS = {"semi_implicit_euler": "Euler", "rkmk4": "RK4"}
DT = 1e-3
LIMBS = {"waist": 3, "left_leg": 6, "right_leg": 6, "left_arm": 7, "right_arm": 7}
AXES = ("0 0 1", "1 0 0", "0 1 0")


def humanoid_text(integrator: str) -> str:
    """Limbs of hinges on a free trunk, as MJCF."""
    flags = '<flag contact="disable" constraint="disable" eulerdamp="disable"/>'
    option = f'<option timestep="{DT}" integrator="{integrator}">{flags}</option>'
    shape = '<inertial pos="0.02 0.01 -0.1" mass="1.5" diaginertia="0.02 0.018 0.004"/>'
    limbs = ""
    for place, (name, joints) in enumerate(LIMBS.items()):
        text = ""
        for k in reversed(range(joints)):
            at = f"0 {0.1 * (place - 2)} 0.2" if k == 0 else "0 0.01 -0.15"
            joint = f'<joint name="{name}{k}" type="hinge" axis="{AXES[k % 3]}"/>'
            text = f'<body name="{name}{k}" pos="{at}">{joint}{shape}{text}</body>'
        limbs += text
    trunk = '<freejoint name="root"/><inertial pos="0 0 0.1" mass="12" diaginertia="0.3 0.25 0.1"/>'
    world = f'<worldbody><body name="trunk">{trunk}{limbs}</body></worldbody>'
    return f"<mujoco>{option}{world}</mujoco>"


def mujoco_rollout(
    model: jc.Model, integrator: str, q: Any, v: Any, steps: int
) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """MuJoCo's rollout of the batch, one thread, arrays reused; and how to read its coordinates."""
    import mujoco
    from mujoco import rollout

    theirs = _compiled(integrator)
    there, data = Converter(model, theirs), mujoco.MjData(theirs)
    begin = np.concatenate([np.zeros((len(q), 1)), there.to_q(q), there.to_v(q, v)], axis=1)
    states = np.empty((len(q), steps, begin.shape[1]))

    def run() -> Any:
        rollout.rollout(theirs, data, initial_state=begin, nstep=steps, state=states)
        return states[:, -1, 1 : 1 + model.nq]

    return run, there.from_q


def pinocchio_loop(robot: robots.Robot, q: Any, v: Any, steps: int) -> Callable[[], Any]:
    """Semi-implicit Euler as a user of Pinocchio writes it."""
    model, zero = robot.pin_model, np.zeros(robot.pin_model.nv)
    data, qs, vs = model.createData(), robot.there.to_q(q), robot.there.to_v(q, v)

    def loop() -> Any:
        ends = np.empty((len(q), model.nq))
        for k in range(len(q)):
            x, rates = qs[k], vs[k]
            for _ in range(steps):
                rates = rates + DT * pin.aba(model, data, x, rates, zero)
                x = pin.integrate(model, x, DT * rates)
            ends[k] = x
        return ends

    return loop


def contenders(model: jc.Model, method: str, count: int, steps: int) -> dict[str, Call]:
    """The same rollout by each library, and ours with two threads and backward."""
    rng = np.random.default_rng(0)
    q, v = jc.random_configuration(model, rng, count), 0.3 * rng.standard_normal((count, model.nv))
    tau = np.zeros((steps, model.nv))
    out = np.empty((count, steps + 1, model.nq)), np.empty((count, steps + 1, model.nv))
    given, options = (model, q, v, tau, DT), {"method": method, "out": out}
    theirs, read = mujoco_rollout(model, METHODS[method], q, v, steps)
    weights = rng.standard_normal((2, count, steps + 1, model.nv))
    calls = {
        "jounce": Call(jc.rollout, given, options),
        "two threads": Call(jc.rollout, given, {**options, "threads": 2}),
        "adjoint": Call(jc.rollout_vjp, (*given, tuple(weights)), {"method": method}),
        "mujoco": Call(theirs),
    }
    if method == "semi_implicit_euler":
        calls["pinocchio"] = Call(pinocchio_loop(robots.twin(model), q, v, steps))
    calls["jounce"]()
    moved = jc.difference(model, out[0][:, -1], read(theirs()))
    robots.check("rollout of MuJoCo", out[1][:, -1] + moved, out[1][:, -1], 1e-6)
    return calls


def run(effort: Effort, step: Steps) -> Report:
    """Measure rollouts of a humanoid."""
    report = Report("rollouts")
    model = mujoco_model(_compiled("Euler"))
    columns = (
        "method",
        "jounce, us",
        "MuJoCo",
        "times",
        "Pinocchio loop",
        "times",
        "adjoint",
        "rollouts",
    )
    table = report.table("Rollouts of a humanoid of 35 rates, per state and step", *columns)
    count, steps = effort.pick((1024, 1000), (256, 50), (4, 3))
    effort = replace(effort, rounds=min(effort.rounds, 4))  # of seconds each
    for method in METHODS:
        step(method)
        times = measure(contenders(model, method, count, steps), effort)
        report.keep(f"rollouts/{method}", times)
        each = {key: 1e6 * timing.best / count / steps for key, timing in times.items()}
        ratios = {key: value / each["jounce"] for key, value in each.items()}
        loop = each.get("pinocchio", "-"), ratios.get("pinocchio", "-")
        back = each["adjoint"], ratios["adjoint"]
        table.add(method, each["jounce"], each["mujoco"], ratios["mujoco"], *loop, *back)
        report.target(f"{method} beside MuJoCo", ">= 6", ratios["mujoco"])
        report.target(f"{method}, two threads", ">= 1.9", 1 / ratios["two threads"])
        report.target(f"adjoint of {method}, rollouts", "<= 5", ratios["adjoint"])
        if "pinocchio" in ratios:
            report.target(f"{method} beside a Pinocchio loop", ">= 10", ratios["pinocchio"])
    return report


def _compiled(integrator: str) -> Any:
    import mujoco

    return mujoco.MjModel.from_xml_string(humanoid_text(integrator))
