"""Draw what torque rates are for, for the start page: ``python tools/docs_pictures.py``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import jounce as jc

IMAGES = Path(__file__).parent.parent / "docs" / "images"
LAG = 0.02
"""Time constant of the motors, s."""


def feedforward() -> Figure:
    """Torques of a fast motion, and what motors with a lag miss of them."""
    arm = jc.models.panda_like()
    home = arm.poses["home"]
    goal = home + np.array([0.6, 0.3, -0.4, 0.5, 0.3, -0.4, 0.6])
    path = jc.trajectories.RobotTrajectory.through(arm, [0.0, 0.8], [home, goal], degree=7)
    t, dt = np.linspace(0.0, 0.8, 8001, retstep=True)
    q, motion = path.evaluate(t, order=1)
    tau, rate = np.moveaxis(jc.inverse_dynamics_series(arm, q, motion), 1, 0)
    fig = Figure(figsize=(5.2, 4.6), layout="constrained")
    top, bottom = fig.subplots(2, 1, sharex=True)
    joints = [0, 1, 3]
    for joint in joints:
        top.plot(t, tau[:, joint], label=f"joint {joint + 1}")
    for told, style, name in ((tau, "-", "torques"), (tau + LAG * rate, "--", "torques and rates")):
        missed = _given(told, float(dt)) - tau
        for k, joint in enumerate(joints):
            label = f"{name} fed forward" if k == 0 else None
            bottom.plot(t, missed[:, joint], style, color=f"C{k}", label=label)
    top.set(ylabel="torque, N m", ylim=(-20, 34), title="an arm moves for 0.8 s")
    top.legend(ncols=3, fontsize="small", loc="upper right")
    bottom.set(
        xlabel="time, s",
        ylabel="given less needed, N m",
        ylim=(-0.6, 1.8),
        title="motors with a lag of 20 ms",
    )
    bottom.legend(fontsize="small", loc="upper right")
    return fig


def _given(told: Any, dt: float) -> Any:
    """What the motors give: a first-order lag of what they are told, linear in between."""
    out, decay = np.empty_like(told), np.exp(-dt / LAG)
    out[0] = told[0]
    for k in range(1, len(told)):
        out[k] = decay * out[k - 1] + (1 - decay) * (told[k - 1] + told[k]) / 2
    return out


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    target = IMAGES / "feedforward.svg"
    feedforward().savefig(target, metadata={"Date": None})
    print(f"wrote {target}")
