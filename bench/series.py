"""Time derivatives of inverse and forward dynamics on the aerial manipulator of ali."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import numpy.typing as npt
import pinocchio as pin

import jounce as jc
from bench import baselines, casadi_graph, memory, robots
from bench.functions import fastest
from bench.report import Report, Steps
from bench.robots import Robot
from bench.timing import Call, Effort, exponent, measure, ratio

Array = npt.NDArray[np.float64]

DIRECTIONS = ("inverse", "forward")
KINDS = tuple(casadi_graph.FORMULATIONS)
SIZES = {7: (2, 3), 101: (5, 20)}
"""Branches and bodies per branch by number of bodies N."""


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("series")
    orders = effort.pick(range(11), (0, 1, 2, 5, 10), (0, 1, 5, 10))
    for n in SIZES:
        against_one_call(report, effort, step, n, orders)
    batch(report, effort, step)
    growth_in_bodies(report, effort, step)
    growth_in_order(report, effort, step)
    other_ways(report, effort, step)
    memory_per_thread(report, effort, step)
    return report


def motion(model: jc.Model, order: int, *lead: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Random q, motion of the given order, and the forces that belong to it."""
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, lead)
    rates = rng.standard_normal((*lead, order + 2, model.nv))
    return q, rates, jc.inverse_dynamics_series(model, q, rates)


def series_call(direction: str, model: jc.Model, order: int, *lead: int) -> Call:
    """Call of the inverse or forward series of an order."""
    q, rates, tau = motion(model, order, *lead)
    if direction == "inverse":
        return Call(jc.inverse_dynamics_series, (model, q, rates))
    v = np.ascontiguousarray(rates[..., 0, :])
    return Call(jc.forward_dynamics_series, (model, q, v, tau))


def pinocchio_calls(direction: str, robot: Robot, check: bool = True) -> dict[str, Call]:
    """One call of `rnea` or `aba` in the state of `motion`, compared with order 0 of the series."""
    model, there = robot.model, robot.there
    q, rates, tau = motion(model, 0)
    v, a = rates
    common = (robot.pin_model, robot.data, there.to_q(q), there.to_v(q, v))
    if direction == "inverse":
        calls = {"pinocchio": Call(pin.rnea, (*common, there.to_a(q, v, a)))}
        ours = there.to_tau(q, tau[0])
    else:
        arguments = (*common, there.to_tau(q, tau[0]))
        calls = {
            "pinocchio": Call(pin.aba, arguments),
            "pinocchio, world": Call(pin.aba, (*arguments, pin.Convention.WORLD)),
        }
        ours = there.to_a(q, v, jc.forward_dynamics_series(model, q, v, tau)[0])
    robots.check(f"{direction} series of order 0, {robot.name}", ours, calls["pinocchio"]())
    return calls


def against_one_call(
    report: Report, effort: Effort, step: Steps, n: int, orders: range | tuple[int, ...]
) -> None:
    """The series of order r over one call of Pinocchio's plain algorithm."""
    robot = robots.aerial_manipulator(*SIZES[n])
    table = report.table(
        f"Aerial manipulator, N = {n}: our series of order r over one plain call of Pinocchio",
        *("r", "inverse, us", "/ pin.rnea", "forward, us", "/ pin.aba"),
        note="In brackets: 10% to 90% of the block-by-block ratios. Order 0 is the plain dynamics.",
    )
    for r in orders:
        cells: list[object] = []
        for direction in DIRECTIONS:
            step(f"series, N = {n}, r = {r}: {direction}")
            calls = {"jounce": series_call(direction, robot.model, r)}
            timings = measure({**calls, **pinocchio_calls(direction, robot)}, effort)
            report.keep(f"orders/{direction}, N = {n}/{r}", timings)
            cost = ratio(timings["jounce"], fastest(timings))
            cells += [1e6 * timings["jounce"].best, cost]
            if r in (5, 10):
                peer = "pin.rnea" if direction == "inverse" else "pin.aba"
                promise = "<= 3" if r == 5 else "<= 6"
                name = f"{direction} series / {peer}, r = {r}, N = {n}"
                report.target(name, promise, cost.value)
        table.add(r, *cells)


def batch(report: Report, effort: Effort, step: Steps) -> None:
    """A batch on one thread against single calls, per state."""
    size = effort.pick(1024, 1024, 16)
    table = report.table(
        f"Batch of {size} on one thread: a single call over the time per state",
        *("robot", "r", "inverse", "forward", "us per state", "us per state"),
    )
    for n, shape in SIZES.items():
        model = jc.models.aerial_manipulator(*shape)
        for r in effort.pick((0, 2, 5, 10), (5,), (1,)):
            gains, each = [], []
            for direction in DIRECTIONS:
                step(f"series, batch, N = {n}, r = {r}: {direction}")
                calls = {
                    "single": series_call(direction, model, r),
                    "jounce": series_call(direction, model, r, size),
                }
                timings = measure(calls, effort)
                report.keep(f"batch/{direction}, N = {n}/{r}", timings)
                gains.append(size * ratio(timings["single"], timings["jounce"]).value)
                each.append(1e6 * timings["jounce"].best / size)
                name = f"{direction} series, batch of {size} per state, r = {r}, N = {n}"
                report.target(name, ">= 3", gains[-1])
            table.add(f"N = {n}", r, *gains, *each)


def growth_in_bodies(report: Report, effort: Effort, step: Steps) -> None:
    """Table 4 of ali: five branches, N up to 996, orders 0 to 5."""
    bodies = effort.pick((1, 2, 5, 10, 20, 50, 100, 199), (5, 50, 199), (1, 2, 4))
    sizes = [1 + 5 * b for b in bodies]
    table = report.table(
        "Growth with N: us per call, and exponent fitted from N = 50 on",
        *("series", "r", *(f"N = {n}" for n in sizes), "exponent"),
    )
    models = {n: jc.models.aerial_manipulator(5, b) for n, b in zip(sizes, bodies, strict=True)}
    for direction in DIRECTIONS:
        powers = []
        for r in effort.pick(range(6), (0, 5), (0, 1)):
            times = []
            for n, model in models.items():
                step(f"series, growth in bodies: {direction}, r = {r}, N = {n}")
                calls = {"jounce": series_call(direction, model, r)}
                timings = measure(calls, effort, effort.seconds / 4)
                report.keep(f"bodies/{direction}, r = {r}/{n}", timings)
                times.append(timings["jounce"].best)
            large = [k for k, n in enumerate(sizes) if n >= 50] or list(range(len(sizes)))
            powers.append(exponent([sizes[k] for k in large], [times[k] for k in large]))
            table.add(direction, r, *(1e6 * t for t in times), powers[-1])
        report.numbers[f"exponents in N/{direction}"] = powers
        name = f"{direction} series: growth in N, largest exponent"
        report.target(name, "<= 1.15", max(powers), "(linear: 1)")


def growth_in_order(report: Report, effort: Effort, step: Steps) -> None:
    """Time against the number of orders r + 1, up to r = 20."""
    orders = effort.pick(
        (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20), (0, 5, 10, 20), (0, 1, 2)
    )
    table = report.table(
        "Growth with r, N = 101: us per call, and exponent of r + 1 fitted from r = 10 on",
        *("series", *(f"r = {r}" for r in orders), "exponent"),
    )
    model = jc.models.aerial_manipulator(*SIZES[101])
    for direction in DIRECTIONS:
        times = []
        for r in orders:
            step(f"series, growth in order: {direction}, r = {r}")
            timings = measure({"jounce": series_call(direction, model, r)}, effort)
            report.keep(f"order/{direction}/{r}", timings)
            times.append(timings["jounce"].best)
        large = [k for k, r in enumerate(orders) if r >= 10] or list(range(len(orders)))
        power = exponent([orders[k] + 1 for k in large], [times[k] for k in large])
        table.add(direction, *(1e6 * t for t in times), power)
        report.numbers[f"exponent in r/{direction}"] = power
        report.target(f"{direction} series: growth in r, exponent", "<= 2", power)


def other_ways(report: Report, effort: Effort, step: Steps) -> None:
    """Inverse dynamics by CasADi's nested differentiation and by Taylor series in NumPy."""
    n, most = effort.pick((101, 5), (101, 5), (7, 1))
    others = {"casadi, spatial": "CasADi", "casadi, body": "CasADi, lean", "numpy": "NumPy Taylor"}
    table = report.table(
        f"Inverse series by other ways, N = {n}: time over ours",
        *("r", *others.values(), *(f"{name}, us" for name in others.values()), "jounce, us"),
        note=(
            "CasADi: jtimes in SX, no JIT, built outside the timed loop. First the paper's "
            "recursion with spatial twists, then the leanest that we found, in body frames."
        ),
    )
    model = jc.models.aerial_manipulator(*SIZES[n])
    q, rates, tau = motion(model, most)
    plain = baselines.TaylorModel(model)
    rows = zip_longest(*(casadi_graph.graphs(k, model, most, effort.budget) for k in KINDS))
    slower: dict[str, float] = {}
    step(f"CasADi: graphs of order 0, N = {n}")
    for r, row in enumerate(rows):
        few = np.ascontiguousarray(rates[: r + 2])
        calls = {"jounce": Call(jc.inverse_dynamics_series, (model, q, few))}
        for kind, graph in zip(KINDS, row, strict=True):
            if graph is not None:
                inputs = casadi_graph.arguments(kind, model, q, rates)
                calls[f"casadi, {kind}"] = Call(graph.function, inputs)
                report.numbers[f"casadi, {kind}/{r}"] = {
                    "nodes": graph.nodes,
                    "build seconds": graph.seconds,
                }
        calls["numpy"] = Call(baselines.inverse_dynamics_series, (plain, q, few))
        for name in calls:
            result = np.array(calls[name]())
            found = result.T if name.startswith("casadi") else result
            robots.check(f"{name}, r = {r}", found, tau[: r + 1])
        timings = measure(calls, effort)
        report.keep(f"other ways/N = {n}/{r}", timings)
        slower = {k: ratio(timings[k], timings["jounce"]).value for k in calls}
        times = [1e6 * timings[k].best if k in timings else "" for k in others]
        cells = [slower.get(k, "not built") for k in others]
        table.add(r, *cells, *times, 1e6 * timings["jounce"].best)
        step(f"CasADi: graphs of order {r + 1}, N = {n}")
    if most == 5:
        target = f"CasADi (the paper's graph) / inverse series, r = 5, N = {n}"
        report.target(target, ">= 500", slower.get("casadi, spatial") if r == most else None)


def memory_per_thread(report: Report, effort: Effort, step: Steps) -> None:
    """Workspace of a call that fills the registers once, against N and r."""
    states = jc.core_info()["pack_width"]
    points = [(199, 5), (199, 10), (199, 20), (100, 10), (50, 10)]
    points = effort.pick(points, [(199, 5), (199, 20), (50, 20)], [(20, 10), (20, 20)])
    table = report.table(
        "Workspace of one thread, measured as the rise of resident memory",
        *("N", "r", "inverse, kB", "forward, kB", "bytes per body, order and state", ""),
        note=f"{states} states at once, as many as a register holds.",
    )
    used: dict[tuple[str, int, int], float] = {}
    for bodies, r in points:
        n, cells = 1 + 5 * bodies, []
        for direction in DIRECTIONS:
            step(f"memory: {direction}, N = {n}, r = {r}")
            function = f"{direction}_dynamics_series"
            spent = memory.workspace(function, 5, bodies, r, states)
            if spent is None:
                report.target("memory per thread: exponent in N r", "<= 1.05", None)
                return
            used[direction, n, r] = spent
            cells.append(spent)
        each = [x / (n * (r + 2) * states) for x in cells]
        table.add(n, r, *(x / 1000 for x in cells), *each)
    report.numbers["workspace bytes"] = {str(key): value for key, value in used.items()}
    for direction in DIRECTIONS:
        rows = [(n * (r + 2), x) for (d, n, r), x in used.items() if d == direction and x > 0]
        power = exponent(*zip(*rows, strict=True)) if len(rows) > 1 else None
        name = f"{direction} series, memory per thread: exponent in N r"
        report.target(name, "<= 1.05", power, "(linear: 1)")
