"""Inverse and forward dynamics, mass matrix and its inverse, against Pinocchio."""

from __future__ import annotations

import numpy as np

import jounce as jc
from bench import batches, isa, robots
from bench.functions import ASKED, FUNCTIONS, Function, fastest
from bench.report import Report, Steps
from bench.timing import Call, Effort, exponent, geometric_mean, measure, ratio


def run(effort: Effort, step: Steps) -> Report:
    """Run all parts."""
    report = Report("dynamics")
    beside_pinocchio(report, effort, step)
    isa.add_rows(report, effort, step)
    batches.two_threads(report, effort, step, robots.names(effort))
    overhead(report, effort, step)
    growth(report, effort, step)
    return report


def beside_pinocchio(report: Report, effort: Effort, step: Steps) -> None:
    """The parts that are run again at another instruction set."""
    single(report, effort, step, robots.names(effort))
    batches.one_thread(report, effort, step, robots.names(effort))


def single(report: Report, effort: Effort, step: Steps, names: tuple[str, ...]) -> None:
    """One call from Python for one state."""
    table = report.table(
        "One call: Pinocchio's time over ours",
        *("function", *names, "geometric mean"),
        note="In brackets: 10% to 90% of the block-by-block ratios. Below: ours / Pinocchio's, us.",
    )
    for function in FUNCTIONS:
        ratios, times = [], []
        for name in names:
            step(f"one call: {function.name}, {name}")
            robot = robots.load(name)
            state = robots.states(robot)
            calls = function.contenders(robot, state)
            ours = function.converted(robot, state, calls["jounce"]())
            robots.check(f"{function.name}, {name}", ours, calls["pinocchio"]())
            timings = measure(calls, effort)
            report.keep(f"single/{function.name}/{name}", timings)
            rival = fastest(timings)
            ratios.append(ratio(rival, timings["jounce"]))
            times.append(f"{1e6 * timings['jounce'].best:.2f} / {1e6 * rival.best:.2f}")
        mean = geometric_mean(r.value for r in ratios)
        table.add(function.name, *ratios, mean)
        table.add("", *times, "")
        least = min(r.value for r in ratios)
        promise = f">= {ASKED.get(function.name, (2.0,))[0]:g}"
        report.target(f"one call, {function.name}: geometric mean", promise, mean)
        report.target(f"one call, {function.name}: slowest robot", ">= 1", least)


def overhead(report: Report, effort: Effort, step: Steps) -> None:
    """What a call costs beside its kernel: chains of 1 to 6 links, extrapolated to none."""
    lengths = range(1, 7)
    table = report.table(
        "Cost of a call beside its kernel, ns",
        *("function", "jounce", "pinocchio"),
        note="Constant of a line through the times of chains of 1 to 6 links.",
    )
    for function in FUNCTIONS[:2]:
        step(f"call overhead: {function.name}")
        best: dict[str, list[float]] = {"jounce": [], "pinocchio": []}
        for n in lengths:
            robot = robots.twin(jc.models.chain(n))
            timings = measure(function.contenders(robot, robots.states(robot)), effort)
            report.keep(f"overhead/{function.name}/{n}", timings)
            best["jounce"].append(timings["jounce"].best)
            best["pinocchio"].append(fastest(timings).best)
        constant = {key: 1e9 * np.polyfit(lengths, times, 1)[1] for key, times in best.items()}
        table.add(function.name, *(f"{x:.0f}" for x in constant.values()))
        report.numbers[f"overhead ns/{function.name}"] = constant
        report.target(f"call overhead, {function.name}, ns", "<= 300", constant["jounce"])


def growth(report: Report, effort: Effort, step: Steps) -> None:
    """Time against the number of bodies."""
    sizes = effort.pick(
        (10, 30, 100, 300, 1000, 3000, 10_000), (10, 100, 1000, 10_000), (10, 20, 40)
    )
    table = report.table(
        "Growth with the number of bodies: us per call, and exponent fitted from 100 on",
        *("robot", *map(str, sizes), "exponent"),
    )
    for label, branching in (("chain", 1), ("tree", 2)):
        models = {n: jc.models.tree(n, branching) for n in sizes}
        for function in FUNCTIONS[:2]:
            times = {}
            for n, model in models.items():
                step(f"growth: {function.name}, {label} of {n}")
                timings = measure({"jounce": _one(function, model)}, effort, effort.seconds / 2)
                report.keep(f"growth/{label}/{function.name}/{n}", timings)
                times[n] = timings["jounce"].best
            large = [n for n in sizes if n >= 100] or list(sizes)
            power = exponent(large, [times[n] for n in large])
            name = f"{label}, {function.name}"
            table.add(name, *(1e6 * t for t in times.values()), power)
            report.numbers[f"growth exponent/{name}"] = power
            report.target(f"growth in bodies: {name}", "<= 1.15", power, "(linear: 1)")


def _one(function: Function, model: jc.Model) -> Call:
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng)
    v, a = 0.1 * rng.standard_normal((2, model.nv))
    values = {"q": q, "v": v, "a": a, "tau": jc.inverse_dynamics(model, q, v, a)}
    return Call(function.ours, (model, *(values[name] for name in function.inputs.split())))
