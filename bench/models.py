"""What comes before the first call: importing, building, loading and copying models."""

from __future__ import annotations

from typing import Any

import numpy as np

import jounce as jc
from bench import child
from bench.report import Report, Steps
from bench.timing import Call, Effort, Timing, exponent, measure

IMPORT = """
import numpy, numpy.linalg, numpy.random, sys, time
start = time.perf_counter()
__import__(sys.argv[1])
print(time.perf_counter() - start)
"""

LINK = """
<link name="link{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial></link>
<joint name="joint{k}" type="continuous"><parent link="link{parent}"/><child link="link{k}"/>
<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/></joint>"""


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("models")
    imports(report, effort, step)
    growth(report, effort, step)
    copies(report, effort, step)
    small_calls(report, effort, step)
    return report


def imports(report: Report, effort: Effort, step: Steps) -> None:
    """Time to import, in processes of their own, in turns."""
    table = report.table(
        "Import, ms", "module", "best", "median", note="Beyond the time of NumPy's own import."
    )
    blocks: dict[str, list[float]] = {"jounce": [], "pinocchio": []}
    for _ in range(effort.pick(10, 3, 1)):
        for name, times in blocks.items():
            step(f"import {name}")
            times.append(float(child.run("-c", IMPORT, name)))
    timings = {name: Timing(tuple(times)) for name, times in blocks.items()}
    report.keep("import", timings)
    for name, timing in timings.items():
        table.add(name, 1e3 * timing.best, 1e3 * float(np.median(timing.blocks)))
    report.target("import jounce, ms beyond NumPy", "<= 300", 1e3 * timings["jounce"].best)


def chain_urdf(n: int) -> str:
    """A chain of n links and a root as URDF."""
    links = "".join(LINK.format(k=k, parent=k - 1) for k in range(1, n + 1))
    return f'<robot name="chain"><link name="link0"/>{links}</robot>'


def growth(report: Report, effort: Effort, step: Steps) -> None:
    """Building and loading, against the number of bodies."""
    sizes = effort.pick((1000, 3000, 10_000), (1000, 10_000), (10, 20))
    table = report.table(
        "Building and loading models: ms against bodies, and exponent",
        *("model", *map(str, sizes), "exponent"),
    )
    ways: dict[str, Any] = {
        "chain, built": lambda n: Call(jc.models.tree, (n, 1)),
        "tree, built": lambda n: Call(jc.models.tree, (n, 3)),
        "chain, URDF": lambda n: Call(jc.load_urdf, (chain_urdf(n),)),
    }
    for name, way in ways.items():
        times = []
        for n in sizes:
            step(f"{name}, {n} bodies")
            timings = measure({"jounce": way(n)}, effort)
            report.keep(f"growth/{name}/{n}", timings)
            times.append(timings["jounce"].best)
        power = exponent(sizes, times)
        table.add(name, *(1e3 * t for t in times), power)
        report.target(f"growth in bodies: {name}", "<= 1.15", power, "(linear: 1)")
        if name.endswith("URDF"):
            each = 1e6 * times[-1] / sizes[-1]
            report.target("us per link to load a URDF", "<= 200", each)
    if effort.full:
        step("chain, 100,000 bodies")
        seconds = measure({"jounce": ways["chain, built"](100_000)}, effort)["jounce"].best
        report.target("a chain of 100,000 bodies, s to build", "<= 2", seconds)


def copies(report: Report, effort: Effort, step: Steps) -> None:
    """`Model.replace` beside building the model."""
    n = effort.pick(2000, 2000, 20)
    model = jc.models.tree(n)
    table = report.table(
        f"Model.replace on a tree of {n} bodies", "changed", "ms", "over the time to build"
    )
    changes = {"gravity": (0, 0, 0), "damping": 0.1, "inertias": 2 * model.inertias}
    for name, value in changes.items():
        step(f"replace {name}")
        calls = {
            "jounce": Call(model.replace, (), {name: value}),
            "build": Call(jc.models.tree, (n,)),
        }
        timings = measure(calls, effort)
        report.keep(f"replace/{name}/{n}", timings)
        share = timings["jounce"].best / timings["build"].best
        table.add(name, 1e3 * timings["jounce"].best, share)
        report.target(f"replace {name} / build", "<= 0.5", share)


def small_calls(report: Report, effort: Effort, step: Steps) -> None:
    """Configurations, and the names that an error suggests."""
    model, large = jc.models.chain(30, "free"), jc.models.chain(effort.pick(5000, 5000, 50))
    rng = np.random.default_rng(0)
    calls = {
        "neutral": (Call(jc.neutral, (model,)), 20),
        "random_configuration": (Call(jc.random_configuration, (model, rng)), 90),
        "random_configuration, 1000 states": (
            Call(jc.random_configuration, (model, rng, 1000)),
            3000,
        ),
        f"error with a name close to one of {large.n_bodies}": (
            Call(_unknown, (large, "Joint7")),
            250_000,
        ),
        f"error with a name far from all of {large.n_bodies}": (
            Call(_unknown, (large, "wrist")),
            250_000,
        ),
    }
    table = report.table("Other calls", "call", "us")
    for name, (call, most) in calls.items():
        step(name)
        timings = measure({"jounce": call}, effort)
        report.keep(f"calls/{name}", timings)
        table.add(name, 1e6 * timings["jounce"].best)
        report.target(f"{name}, us", f"<= {most}", 1e6 * timings["jounce"].best)


def _unknown(model: jc.Model, name: str) -> None:
    try:
        model.q_slice(name)
    except KeyError:
        return
    raise RuntimeError(f"{name} is a joint")
