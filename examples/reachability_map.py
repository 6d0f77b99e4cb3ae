"""A reachability map: where the tool of an arm can be, and how well it moves there.

A million configurations within the joint limits are drawn and evaluated by `jc.sweep`: the tool's
position and its manipulability, sqrt(det J J^T) of the linear velocity. Workers draw their states
themselves, so that nothing but block numbers travels to them, and each draws the same whoever it
is: the map is the same to the last bit on one core, on two, or on a cluster.

Run: ``python examples/reachability_map.py [--quick] [--out DIR] [--executor dask]``; needs
matplotlib and distributed (``pip install 'jounce[plot,dask]'``). The quick form draws 20,000
configurations. With ``--executor threads`` Dask is not needed.
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

Array = npt.NDArray[np.float64]

H = np.pi / 2
LINKS = (  # roll of the frame (rad), offset (m), limits (rad): about a Franka Panda
    (0.0, (0.0, 0.0, 0.333), (-2.9, 2.9)),
    (-H, (0.0, 0.0, 0.0), (-1.8, 1.8)),
    (H, (0.0, -0.316, 0.0), (-2.9, 2.9)),
    (H, (0.0825, 0.0, 0.0), (-3.1, -0.1)),
    (-H, (-0.0825, 0.384, 0.0), (-2.9, 2.9)),
    (H, (0.0, 0.0, 0.0), (0.0, 3.8)),
    (H, (0.088, 0.0, 0.0), (-2.9, 2.9)),
)
SIZE = 0.02  # m, of the cells of the map
REACH = 1.3  # m


class Reach(NamedTuple):
    """Of each configuration."""

    position: Array
    """(states, 3) of the tool, m."""
    manipulability: Array
    """(states,) volume of the ellipsoid of velocities, m^3."""


class Result(NamedTuple):
    """The map over distance from the first axis and height."""

    count: Array
    """How often the tool was in a cell."""
    best: Array
    """Largest manipulability there; NaN where it never was."""
    reach: Reach


def arm() -> jc.Model:
    """Seven joints with limits and a frame "tool"."""
    builder = jc.ModelBuilder(name="arm")
    parent = None
    for k, (roll, offset, (lower, upper)) in enumerate(LINKS, start=1):
        placement = np.eye(4)
        placement[:3, :3] = jc.lie.rpy_to_matrix((roll, 0.0, 0.0))
        placement[:3, 3] = offset
        solid = {"mass": 2.0, "com": (0.0, 0.0, 0.05), "inertia": (0.02, 0.02, 0.01)}
        link = f"link{k}"
        builder.add_body(link, parent, "revolute", placement, lower=lower, upper=upper, **solid)
        parent = link
    return builder.add_frame("tool", parent, (0.0, 0.0, 0.2)).build()


def reach(model: jc.Model, rng: np.random.Generator, count: int) -> Reach:
    """Draw configurations and evaluate them: what a worker does for each block."""
    q = jc.random_configuration(model, rng, count)
    position = jc.body_pose(model, q, "tool")[:, :3, 3]
    J = jc.jacobian(model, q, "tool", "hybrid")[:, 3:]
    squares = np.linalg.det(J @ J.swapaxes(-1, -2))
    return Reach(position, np.sqrt(np.maximum(squares, 0.0)))


def run(states: int, executor: Any = "dask", file: Path | None = None) -> Result:
    """Sweep, then sort what was found into cells."""
    found = jc.sweep(reach, arm(), None, executor, states=states, seed=0, file=file)
    position, manipulability = (np.asarray(x[:]) for x in found)
    radius, height = np.hypot(position[:, 0], position[:, 1]), position[:, 2]
    rows, columns = int(2 * REACH / SIZE), int(REACH / SIZE)
    cell = ((height + REACH) / SIZE).astype(int), (radius / SIZE).astype(int)
    count, best = np.zeros((2, rows, columns))
    np.add.at(count, cell, 1.0)
    np.maximum.at(best, cell, manipulability)
    return Result(count, np.where(count > 0, best, np.nan), Reach(position, manipulability))


def figure(result: Result) -> Any:
    """Density and manipulability over distance and height."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, 6), layout="constrained")
    panels = fig.subplots(1, 2, sharey=True)
    extent = (0.0, REACH, -REACH, REACH)
    with np.errstate(divide="ignore"):
        maps = (np.log10(result.count), result.best)
    titles = ("log10 of configurations in a cell", "largest manipulability, m^3")
    for panel, values, title in zip(panels, maps, titles, strict=True):
        shown = np.where(np.isfinite(values), values, np.nan)
        image = panel.imshow(shown, origin="lower", extent=extent, aspect="equal")
        fig.colorbar(image, ax=panel, shrink=0.8)
        panel.set(title=title, xlabel="distance from the first axis, m")
    panels[0].set_ylabel("height, m")
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Sweep, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="20,000 configurations")
    parser.add_argument("--executor", default="dask", help="dask, processes or threads")
    options = parser.parse_args(arguments)
    states = 20_000 if options.quick else 1_000_000
    begin = time.perf_counter()
    print(f"{states} configurations on {options.executor}", flush=True)
    result = run(states, options.executor)
    farthest = np.linalg.norm(result.reach.position - [0.0, 0.0, LINKS[0][1][2]], axis=1).max()
    print(f"{states} configurations, {int((result.count > 0).sum())} cells of {SIZE} m reached")
    print(f"farthest from the shoulder: {farthest:.3f} m")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "reachability_map.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}  ({time.perf_counter() - begin:.1f} s)")
    return result


if __name__ == "__main__":
    main()
