"""Kinematic calibration: where the joints of an arm really are, from measured poses of its tool.

The joints of a real arm stand a few millimeters and milliradians from where the drawing has them,
and so does the tool. A tracker measures the tool's pose at some configurations. Gauss-Newton with
the exact derivatives of the pose by the placement of every joint and of the tool
(`jc.parameter_derivatives`) finds an arm that has these poses. Some placements do the same as
others (along an axis, about an axis): of all steps the shortest is taken, so that none of them
drifts.

Run: ``python examples/calibration.py [--quick] [--out DIR]``; needs matplotlib. The quick form has
fewer poses and reaches the same conclusions.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import jounce as jc
from jounce import lie

Array = npt.NDArray[np.float64]

POSES, OTHERS = 120, 200
TURN_ERROR, SHIFT_ERROR = 5e-3, 3e-3  # of the arm: rad, m
TURN_NOISE, SHIFT_NOISE = 1e-4, 5e-5  # of the tracker
WEIGHTS = 1.0 / np.array([TURN_NOISE] * 3 + [SHIFT_NOISE] * 3)
STEPS = 6
H = np.pi / 2
TWISTS = ((0.0, 0.333), (-H, 0.0), (H, 0.316), (H, 0.0), (-H, 0.384), (H, 0.0), (H, 0.0))
SIDEWAYS = (0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088)


class Result(NamedTuple):
    """What was found, and how large errors are at other configurations."""

    model: jc.Model
    shift: list[Array]
    """Errors of the tool's position after each step, m."""
    turn: list[Array]
    """Errors of its orientation, rad."""
    seen: int
    """Combinations of parameters that poses tell apart."""
    parameters: int


def nominal_arm() -> jc.Model:
    """The arm of the drawing, with a tool."""
    builder = jc.ModelBuilder(name="arm")
    parent = None
    for k, ((roll, along), sideways) in enumerate(zip(TWISTS, SIDEWAYS, strict=True)):
        pose = np.eye(4)
        pose[:3, :3] = lie.exp(np.array([roll, 0.0, 0.0]))
        pose[:3, 3] = pose[:3, :3] @ [0.0, 0.0, along] + [sideways, 0.0, 0.0]
        name = f"link{k + 1}"
        builder.add_body(name, parent=parent, placement=pose, joint="revolute", mass=1.0)
        parent = name
    tool = np.eye(4)
    tool[:3, 3] = 0.0, 0.0, 0.21
    return builder.build().with_frame("tool", "link7", tool)


def geometry(model: jc.Model) -> jc.Parameters:
    """The placements of all joints and of the tool."""
    return jc.parameters(model, "placement") + jc.parameters(model, "placement", ["tool"])


def real_arm(model: jc.Model) -> jc.Model:
    """The arm that was built."""
    p, rng = geometry(model), np.random.default_rng(5)
    scale = np.tile([TURN_ERROR] * 3 + [SHIFT_ERROR] * 3, len(p) // 6)
    return p.moved(scale * rng.standard_normal(len(p)))


def configurations(model: jc.Model, count: int, seed: int) -> Array:
    """Random ones."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.8, 1.8, (count, model.nq))


def measured(model: jc.Model, q: Array) -> Array:
    """Poses of the tool as the tracker has them."""
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((len(q), 6)) / WEIGHTS
    poses: Array = jc.body_pose(model, q, "tool") @ lie.exp(noise)
    return poses


def errors(model: jc.Model, q: Array, poses: Array) -> Array:
    """Twists that lead from the model's poses to others, (..., 6)."""
    twists: Array = lie.log(lie.inverse(jc.body_pose(model, q, "tool")) @ poses)
    return twists


def pose_twists(model: jc.Model, q: Array, p: jc.Parameters) -> Array:
    """How the tool moves with each parameter, along its own axes, (..., 6, number)."""
    T = jc.body_pose(model, q, "tool")
    dT = jc.parameter_derivatives(jc.body_pose, model, (q, "tool"), p)
    moving = np.einsum("...ji,...jkp->...ikp", T[..., :3, :3], dT[..., :3, :, :])
    turn = np.stack([moving[..., 2, 1, :], moving[..., 0, 2, :], moving[..., 1, 0, :]], axis=-2)
    return np.concatenate([turn, moving[..., :, 3, :]], axis=-2)


def calibrate(model: jc.Model, q: Array, poses: Array) -> tuple[list[jc.Model], int]:
    """The model after each step, and how many combinations the poses tell apart."""
    models, rank = [model], 0
    for _ in range(STEPS):
        p = geometry(models[-1])
        J = WEIGHTS[:, None] * pose_twists(models[-1], q, p)
        away = WEIGHTS * errors(models[-1], q, poses)
        step, _, found, _ = np.linalg.lstsq(J.reshape(-1, len(p)), away.ravel(), rcond=1e-9)
        models.append(p.moved(step))
        rank = int(found)
    return models, rank


def run(quick: bool = False) -> Result:
    """Measure, calibrate, judge at other configurations."""
    nominal = nominal_arm()
    real = real_arm(nominal)
    q = configurations(nominal, POSES // 3 if quick else POSES, 1)
    models, rank = calibrate(nominal, q, measured(real, q))
    others = configurations(nominal, OTHERS, 2)
    away = [errors(model, others, jc.body_pose(real, others, "tool")) for model in models]
    return Result(
        models[-1],
        [np.linalg.norm(x[:, 3:], axis=1) for x in away],
        [np.linalg.norm(x[:, :3], axis=1) for x in away],
        rank,
        len(geometry(nominal)),
    )


def table(result: Result) -> str:
    """Errors at configurations that were not measured."""
    lines = [
        f"{result.parameters} parameters, of which poses tell {result.seen} combinations apart",
        "step   position: mean, largest      orientation: mean, largest",
    ]
    for k, (shift, turn) in enumerate(zip(result.shift, result.turn, strict=True)):
        lines.append(
            f"{k:4d} {1e3 * shift.mean():10.4f} {1e3 * shift.max():9.4f} mm "
            f"{1e3 * turn.mean():12.4f} {1e3 * turn.max():9.4f} mrad"
        )
    return "\n".join(lines)


def figure(result: Result) -> Any:
    """Errors after each step, and before and after as histograms."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(10, 4), layout="constrained")
    steps, spread = fig.subplots(1, 2)
    steps.semilogy([1e3 * x.mean() for x in result.shift], "o-", label="position, mm")
    steps.semilogy([1e3 * x.mean() for x in result.turn], "s-", label="orientation, mrad")
    steps.set(title="Mean error at other configurations", xlabel="Gauss-Newton step")
    steps.legend()
    for x, label in ((result.shift[0], "drawing"), (result.shift[-1], "calibrated")):
        spread.hist(np.log10(1e3 * x), 30, alpha=0.7, label=label)
    spread.set(title="Errors of the position", xlabel="log10 of mm")
    spread.legend()
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Calibrate, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="a third of the poses")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    print("measured poses, then Gauss-Newton steps on all placements", flush=True)
    result = run(options.quick)
    print(table(result))
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "calibration.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
