"""A leg that hops on a vertical rail: modes, impulses at touch-down, forces until lift-off.

In the air the leg is an open chain; on the ground its foot sticks. `jc.Contact` switches between
these: at touch-down the rates jump by the impulse that stops the foot, and the foot leaves when the
ground would have to pull. What each impact takes of the energy is compared with
(J v)^T (J M^-1 J^T)^-1 (J v) / 2, and what the servos give with the work that is done by them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

THIGH, SHANK = 0.3, 0.3
CROUCHED = 0.7
"""Angle of the thigh, rad, when the leg is bent; the knee has twice that."""
KP, KD = 120.0, 1.5


def build_leg() -> jc.Model:
    """A body on a rail, a thigh, a shank, and the foot as a frame."""
    builder = jc.ModelBuilder(name="hopping leg")
    builder.add_body("body", joint="prismatic", axis=(0, 0, 1), mass=3.0)
    parts = (("thigh", "body", 0.0, THIGH, 0.5), ("shank", "thigh", -THIGH, SHANK, 0.25))
    for name, parent, z, length, mass in parts:
        pose = np.eye(4)
        pose[2, 3] = z
        inertia = mass * length**2 / 12 * np.diag([1.0, 1.0, 0.02])
        body = {"mass": mass, "com": (0, 0, -length / 2), "inertia": inertia}
        builder.add_body(name, parent, "revolute", pose, axis=(0, 1, 0), **body)
    foot = np.eye(4)
    foot[2, 3] = -SHANK
    return builder.build().with_frame("foot", "shank", foot)


def thrust(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Servos at hip and knee: a bent leg, stretched while the body goes up."""
    height = THIGH * np.cos(q[1]) + SHANK * np.cos(q[1] + q[2])
    standing = 0.5 * (1 - np.tanh((q[0] - height - 0.02) / 0.01))  # the foot is near the ground
    rising = 0.5 * (1 + np.tanh(v[0] / 0.4))
    angle = CROUCHED - 0.15 * standing * rising
    wanted = np.array([angle, -2 * angle])
    return np.concatenate([[0.0], KP * (wanted - q[1:]) - KD * v[1:]])


class Landing(NamedTuple):
    """An impact."""

    t: float
    impulse: np.ndarray
    """(3,) on the foot, N s."""
    lost: float
    """Energy, J."""
    formula: float
    """The same by the inertia that the ground feels."""


class Result(NamedTuple):
    """A motion, and what happened on the way."""

    model: jc.Model
    motion: jc.SimulatedMotion
    landings: list[Landing]
    force: np.ndarray
    """(T,) normal force of the ground, N."""
    balance: float
    """Largest difference between change of the energy, work and losses, J."""


def work_of_servos(model: jc.Model, motion: jc.SimulatedMotion) -> np.ndarray:
    """(T,) by trapezoids that end where the rates jump."""
    states = [(t, q, v, True) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]
    foot = jc.Constraints(model, [jc.Point("foot")])
    for x in motion.events:
        states.append((x.t, x.q, x.v, False))
        if x.name.startswith("touch-down"):
            states.append((x.t, x.q, jc.impulse(model, x.q, x.v, foot).v, False))
    states.sort(key=lambda state: state[0])
    t, kept = (np.array([state[k] for state in states]) for k in (0, 3))
    power = np.array([thrust(*state[:3]) @ state[2] for state in states])
    pieces = np.diff(t) * (power[1:] + power[:-1]) / 2
    return np.concatenate([[0.0], np.cumsum(pieces)])[kept]


def landing(model: jc.Model, event: jc.EventRecord) -> Landing:
    """What an impact does."""
    foot = jc.Constraints(model, [jc.Point("foot")])
    after = jc.impulse(model, event.q, event.v, foot)
    speed = foot.velocity(event.q, event.v)
    felt = np.linalg.pinv(foot.inverse_inertia(event.q), rcond=1e-9)
    before, left = (jc.kinetic_energy(model, event.q, x) for x in (event.v, after.v))
    return Landing(event.t, after.impulse, float(before - left), float(speed @ felt @ speed / 2))


def on_ground(motion: jc.SimulatedMotion) -> np.ndarray:
    """At which times the foot stands."""
    stands = np.zeros(len(motion), bool)
    for event in motion.events:
        stands[motion.t >= event.t] = event.name.startswith("touch-down")
    return stands


def hop(model: jc.Model, seconds: float, rate: float) -> Result:
    """Simulate, and account for the energy."""
    q = np.array([0.55, CROUCHED, -2 * CROUCHED])
    times = np.linspace(0.0, seconds, int(seconds * rate) + 1)
    ground = [jc.Contact("foot")]
    motion = jc.simulate(model, q, np.zeros(3), times, thrust, "dopri5", contacts=ground)
    landings = [landing(model, x) for x in motion.events if x.name.startswith("touch-down")]
    foot = jc.Constraints(model, [jc.Point("foot")])
    tau = np.array([thrust(*x) for x in zip(motion.t, motion.q, motion.v, strict=True)])
    forces = jc.constrained_dynamics(model, motion.q, motion.v, tau, foot).force[:, 2]
    force = np.where(on_ground(motion), forces, 0.0)
    work = work_of_servos(model, motion)
    lost = sum(x.lost * (times > x.t) for x in landings)
    balance = np.abs(motion.energy - motion.energy[0] - work + lost).max()
    return Result(model, motion, landings, force, float(balance))


def table(result: Result) -> str:
    """One line for each impact."""
    lines = ["touch-down   impulse     lost        by the formula"]
    for x in result.landings:
        lines.append(f"{x.t:8.4f} s {x.impulse[2]:7.3f} N s {x.lost:8.4f} J {x.formula:10.4f} J")
    lines.append(f"energy, work (by trapezoids) and losses agree to {result.balance:.1e} J")
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """Heights, the force of the ground, the energy."""
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    drawn, panels = pyplot.subplots(3, 1, figsize=(9, 9), layout="constrained", sharex=True)
    motion = result.motion
    panels[0].plot(motion.t, motion.q[:, 0], label="body")
    panels[0].plot(motion.t, motion.frame("foot")[:, 2, 3], label="foot")
    panels[0].set(ylabel="height in m")
    panels[0].legend()
    panels[1].plot(motion.t, result.force)
    panels[1].set(ylabel="ground force in N")
    panels[2].plot(motion.t, motion.energy)
    panels[2].set(ylabel="energy in J", xlabel="t in s")
    for panel in panels:
        for x in result.landings:
            panel.axvline(x.t, color="0.6", linewidth=0.7)
        panel.grid(alpha=0.25, linewidth=0.6)
    return drawn


def main(arguments: Sequence[str] | None = None) -> Result:
    """Hop; print the impacts, save the figure."""
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="one hop instead of several")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("a leg hops on a rail", flush=True)
    result = hop(build_leg(), *((0.5, 400.0) if options.quick else (2.0, 1000.0)))
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "hopping_leg.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
