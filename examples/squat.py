"""A humanoid squats: torques and contact forces of a planned motion, with their rates.

Torso, two legs of six joints, both feet welded to the ground. The knees bend by a smooth motion;
`constrained_inverse_dynamics_series` gives the smallest torques for it, the wrenches at the feet,
and the time derivatives of both, from one factorization for each instant. A planner that bounds
force rates (slipping feet, compliant drives) needs exactly these numbers; here differences of the
forces confirm them.

Run: ``python examples/squat.py [--quick] [--out DIR]``; needs matplotlib. The quick form looks at
fewer instants.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jounce as jc

LINK = 0.4
ORDERS = 3
SECONDS = 2.0
DEPTH = 1.0


class Result(NamedTuple):
    """Along the motion."""

    t: np.ndarray
    normal: np.ndarray
    """(instants, ORDERS) force of one foot along the vertical, and its derivatives."""
    knee: np.ndarray
    """(instants, ORDERS) torque of a knee, and its derivatives."""
    weight: float
    error: float
    """Of the rates against differences, as a part of the largest one."""


def build() -> tuple[jc.Model, jc.Constraints]:
    """A torso on two legs, and the feet that stand."""
    builder = jc.ModelBuilder(name="humanoid")
    builder.add_body("torso", None, "free", mass=30.0, com=(0, 0, 0.25), inertia=(1.5, 1.3, 0.4))
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    for side, y in (("left", 0.1), ("right", -0.1)):
        parts = (
            ("hip_yaw", "z", (0, y, 0), 1.0),
            ("hip_roll", "x", (0, 0, 0), 1.0),
            ("thigh", "y", (0, 0, 0), 6.0),
            ("shin", "y", (0, 0, -LINK), 4.0),
            ("ankle", "y", (0, 0, -LINK), 0.5),
            ("foot", "x", (0, 0, 0), 1.0),
        )
        parent = "torso"
        for name, axis, place, mass in parts:
            long = name in ("thigh", "shin")
            com = (0, 0, -LINK / 2) if long else (0, 0, 0)
            inertia = (mass * LINK**2 / 12,) * 2 + (1e-2,) if long else (1e-2,) * 3
            body = {"mass": mass, "com": com, "inertia": inertia}
            builder.add_body(f"{side}_{name}", parent, "revolute", place, axis=axes[axis], **body)
            parent = f"{side}_{name}"
    model = builder.build()
    return model, jc.Constraints(model, [jc.Weld("left_foot"), jc.Weld("right_foot")])


def bend(t: float, count: int) -> np.ndarray:
    """Angle of the thighs and its time derivatives: down and up again."""
    w = 2 * np.pi / SECONDS
    k = np.arange(count)
    wave = np.cos(w * t + k * np.pi / 2) * w**k
    return 0.3 * (k == 0) + DEPTH / 2 * ((k == 0) - wave)


def height_rates(angle: np.ndarray) -> np.ndarray:
    """Height of the hip, 2 l cos(angle), and its derivatives, by Taylor coefficients."""
    factorial = np.cumprod([1.0, *range(1, len(angle))])
    x = angle / factorial
    cosine, sine = np.zeros_like(x), np.zeros_like(x)
    cosine[0], sine[0] = np.cos(x[0]), np.sin(x[0])
    for k in range(1, len(x)):
        j = np.arange(1, k + 1)
        cosine[k] = -(j * x[j] * sine[k - j]).sum() / k
        sine[k] = (j * x[j] * cosine[k - j]).sum() / k
    return 2 * LINK * cosine * factorial


def planned(model: jc.Model, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and (ORDERS + 1, nv) rates and their derivatives."""
    angle = bend(t, ORDERS + 2)
    height = height_rates(angle)
    share = {"thigh": -1.0, "shin": 2.0, "ankle": -1.0}
    names = {f"{side}_{part}_joint": x for side in ("left", "right") for part, x in share.items()}
    base = np.eye(4)
    base[2, 3] = height[0]
    q = jc.configuration(model, base=base, joints={n: x * angle[0] for n, x in names.items()})
    motion = np.zeros((ORDERS + 1, model.nv))
    motion[:, 5] = height[1:]
    for name, x in names.items():
        motion[:, model.v_slice(name).start] = x * angle[1:]
    return q, motion


def run(quick: bool = False) -> Result:
    """Squat once."""
    model, c = build()
    t = np.linspace(0.0, SECONDS, 9 if quick else 201)
    driven = np.arange(model.nv) >= 6
    knee = model.v_slice("left_shin_joint").start

    def at(instants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, motion = (np.stack(x) for x in zip(*(planned(model, s) for s in instants), strict=True))
        found = jc.constrained_inverse_dynamics_series(model, q, motion, c, actuated=driven)
        return found.force, found.tau

    force, tau = at(t)
    h = 1e-3
    ahead, back = at(t + h)[0], at(t - h)[0]
    slope = (ahead[:, :-1] - back[:, :-1]) / (2 * h)
    error = np.abs(slope - force[:, 1:]).max() / np.abs(force[:, 1:]).max()
    weight = float(model.inertias[:, 0].sum() * 9.81)
    return Result(t, force[..., 5], tau[..., knee], weight, float(error))


def figure(result: Result) -> Any:
    """The force of a foot and its first two rates."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(10, 3), layout="constrained")
    units = ("N", "N/s", "N/s^2")
    for k, axes in enumerate(fig.subplots(1, ORDERS)):
        axes.plot(result.t, result.normal[:, k])
        axes.set(title=f"force of one foot, derivative {k}", xlabel="s", ylabel=units[k])
    return fig


def main() -> None:
    """Print what was found; save the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="fewer instants")
    options = parser.parse_args()
    print("a squat, with contact forces and their rates", flush=True)
    result = run(options.quick)
    low, high = result.normal[:, 0].min(), result.normal[:, 0].max()
    print(f"weight {result.weight:.0f} N; one foot carries {low:.0f} to {high:.0f} N")
    most = np.abs(result.normal[:, 1]).max()
    print(f"rates up to {most:.0f} N/s; differences agree to {result.error:.1e}")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "squat.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
