"""Functions inside JAX, PyTorch and CasADi beside the package's own calls, and beside peers there.

What a call costs besides its kernel is measured where it is used: inside a compiled loop (`scan` of
JAX, a graph of CasADi), less the same loop without the call, less the kernel through the C entry
point, which a compiled program runs. PyTorch has no such loop: there it is the call less that of
the package. Peers in JAX (`pip install frax mujoco-mjx`) run in the same loops, in 64 bits, on one
thread, with the XLA flags that frax asks for; MJX runs the smooth dynamics alone (no contacts,
limits, actuators). Programs of JAX run on the thread that calls them, peers' too: to hand a
program of 0.2 ms to another thread and to wait for it costs a tenth of it.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc
from bench import bridge_peers, compiled, robots
from bench.report import Report, Steps, Table
from bench.robots import Robot
from bench.timing import Call, Effort, Timing, measure, ratio

FLAGS = (
    "--xla_cpu_multi_thread_eigen=false",
    "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED",
)
LOOP = 1000
BATCH = 1024
TURNS = 8
NODES = 50
SECONDS = 3.0
"""For what is compared with native batches: ratios near one need the best of many blocks."""
KINDS = "value", "gradient"
ODD_VALUES = (
    "Values are compared with values and gradients with gradients; where XLA compiles a peer's "
    "value to something slower than its gradient, which contains it, the value has no target."
)


def run(effort: Effort, step: Steps) -> Report:
    """Each library that is installed."""
    report = Report("bridges")
    robot = robots.load("Panda")
    step("kernels by a compiled program")
    kernel = _kernel(robot, effort)
    report.numbers["kernel"] = kernel
    if _has("jax"):
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *FLAGS])
        _in_jax(report, robot, effort, step, kernel)
    if _has("torch"):
        _in_torch(report, robot, effort, step)
    if _has("casadi"):
        _in_casadi(report, robot, effort, step, kernel)
    return report


def _has(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _kernel(robot: Robot, effort: Effort) -> float | None:
    """Seconds of forward dynamics through the C entry point, the least of some runs."""
    if compiled.compiler() is None or effort.tiny:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = compiled.ours(robot, robots.states(robot, 64), Path(folder))
        times = [program.run(["forward_dynamics"], effort.pick(0.05, 0.02, 0.0)) for _ in range(8)]
    return min(found["forward_dynamics"] for found in times)


def _in_jax(
    report: Report, robot: Robot, effort: Effort, step: Steps, kernel: float | None
) -> None:
    """Single calls and batches inside `scan`, values and gradients, beside peers."""
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    with jax.enable_x64(True):
        _single_in_jax(report, robot, effort, step, kernel)
        _batch_in_jax(report, robot, effort, step)


def _scan(function: Any) -> Any:
    """A compiled loop over states."""
    import jax

    def loop(*arrays: Any) -> Any:
        return jax.lax.scan(lambda carry, x: (carry, function(*x)), 0.0, arrays)[1]

    run = jax.jit(loop)
    return lambda *arrays: jax.block_until_ready(run(*arrays))


def _gradient(function: Any) -> Any:
    """Gradient of the sum of accelerations by q, v and tau."""
    import jax

    return jax.grad(lambda q, v, tau: function(q, v, tau).sum(), (0, 1, 2))


def _single_in_jax(
    report: Report, robot: Robot, effort: Effort, step: Steps, kernel: float | None
) -> None:
    step("JAX, one by one")
    _overhead_in_jax(report, robot.model, effort, kernel)
    peers = bridge_peers.contenders(robot, effort)
    if not peers:
        return
    table = report.table(
        "Forward dynamics of the Panda inside a compiled loop of JAX, one state at a time",
        *("who", "value, us", "gradient, us", "times ours, value", "times ours, gradient"),
        note="States are vectors (q, v, tau), gradients too. Loops include reading the states and "
        f"writing the results. {ODD_VALUES}",
    )
    for name, model, theirs in peers:
        step(f"JAX, one by one: {name}")
        calls = _single_beside_peer(name, model, theirs)
        times = measure(calls, effort)
        report.keep(f"jax/single/{name}", times)
        per = {key: timing.best * 1e6 / LOOP for key, timing in times.items()}
        found = _times_ours(per, name)
        table.add("jounce", *(per[f"ours, {kind}"] for kind in KINDS), "", "")
        table.add(name, *(per[f"{name}, {kind}"] for kind in KINDS), *found[:2])
        _aim(report, f"in JAX against {name}, one state", *found)


def _overhead_in_jax(report: Report, model: jc.Model, effort: Effort, kernel: float | None) -> None:
    """A call inside a loop, less the loop and the kernel."""
    import jax.numpy as jnp

    arrays = [jnp.asarray(x) for x in bridge_peers.states(model, LOOP)]
    calls = {
        "empty": Call(_scan(lambda q, v, tau: tau), arrays),
        "ours": Call(_scan(bridge_peers.ours(model)), arrays),
    }
    times = measure(calls, effort)
    report.keep("jax/overhead", times)
    if kernel is not None:
        overhead = ((times["ours"].best - times["empty"].best) / LOOP - kernel) * 1e6
        report.numbers["overhead"] = overhead
        report.target("call inside a loop of JAX, us besides the kernel", "<= 1", overhead)


def _single_beside_peer(name: str, model: jc.Model, theirs: Any) -> dict[str, Call]:
    """Loops over states as vectors; XLA runs loops of many small steps by a slower executor."""
    import jax
    import jax.numpy as jnp

    at, n = bridge_peers.states(model, LOOP), model.nv
    x = jnp.asarray(np.concatenate(at, -1))
    expected = jc.forward_dynamics(model, *at)
    by = jc.vjp(jc.forward_dynamics, model, tuple(at), np.ones((LOOP, n)))
    calls = {}
    for who, function in (("ours", bridge_peers.ours(model)), (name, theirs)):

        def of_vector(x: Any, function: Any = function) -> Any:
            return function(x[:n], x[n : 2 * n], x[2 * n :])

        gradient = jax.grad(lambda x, f=of_vector: f(x).sum())
        calls[f"{who}, value"] = Call(_scan(of_vector), (x,))
        calls[f"{who}, gradient"] = Call(_scan(gradient), (x,))
        robots.check(f"{who} in JAX", calls[f"{who}, value"](), expected, 1e-9)
        robots.check(f"{who} in JAX, by q", calls[f"{who}, gradient"]()[:, :n], by.q, 1e-7)
    return calls


def _times_ours(per: dict[str, float], name: str) -> tuple[float, float, bool]:
    """How many times longer a peer takes for values and gradients; whether its value is odd."""
    value, gradient = (per[f"{name}, {kind}"] for kind in KINDS)
    return value / per["ours, value"], gradient / per["ours, gradient"], value > gradient


def _aim(report: Report, what: str, value: float, gradient: float, odd: bool) -> None:
    """At least ten times as fast as a peer."""
    if not odd:
        report.target(f"forward dynamics {what}", ">= 10", value)
    report.target(f"gradient of forward dynamics {what}", ">= 10", gradient)


def _batch_in_jax(report: Report, robot: Robot, effort: Effort, step: Steps) -> None:
    size = effort.pick(BATCH, BATCH, 8)
    step("JAX, batches beside native ones")
    _batch_beside_native(report, robot.model, size, effort)
    peers = bridge_peers.contenders(robot, effort)
    if not peers:
        return
    table = report.table(
        f"Batches of {size} in a loop over stacked ones, time per state",
        *("who", "value, us", "gradient, us", "times ours, value", "times ours, gradient"),
        note=f"Ours runs {TURNS} batches in a loop, peers one. {ODD_VALUES}",
    )
    for name, model, theirs in peers:
        step(f"JAX, batches: {name}")
        _batch_beside_peer(report, table, name, model, theirs, size, effort)


def _batch_beside_native(report: Report, model: jc.Model, size: int, effort: Effort) -> None:
    """Batches in `jit`, and one after the other in `scan`: of results, and of slices."""
    import jax
    import jax.numpy as jnp

    at = [np.reshape(x, (TURNS, size, -1)) for x in bridge_peers.states(model, TURNS * size)]
    arrays, ours = [jnp.asarray(x) for x in at], bridge_peers.ours(model)
    firsts, single = [x[0] for x in at], jax.jit(ours)

    def chain(q: Any, v: Any, tau: Any) -> Any:
        return jax.lax.scan(lambda tau, _: (ours(q, v, tau), None), tau, length=TURNS)[0]

    def native_chain() -> Any:
        q, v, tau = firsts
        for _ in range(TURNS):
            tau = jc.forward_dynamics(model, q, v, tau)
        return tau

    one, many = [x[0] for x in arrays], jax.jit(chain)
    robots.check("JAX, batches in scan", many(*one), native_chain(), 1e-9)
    calls = {
        "one call": Call(jc.forward_dynamics, (model, *firsts), keep=True),
        "in jit": Call(lambda: single(*one).block_until_ready(), keep=True),
        "calls of results": Call(native_chain),
        "scan of results": Call(lambda: many(*one).block_until_ready()),
        "calls of slices": Call(_natively, (model, at)),
        "calls of copied slices": Call(_natively_copied, (model, at)),
        "scan of slices": Call(_scan(ours), arrays),
        "scan of slices, their sum alone": Call(_scan(lambda q, v, tau: q + v + tau), arrays),
    }
    times = {}
    for names in (list(calls)[:2], list(calls)[2:4], list(calls)[4:]):
        some = {name: calls[name] for name in names}
        times |= measure(some, effort, effort.pick(SECONDS, 0.0, 0.0))
    report.keep("jax/native", times)
    table = report.table(
        f"Forward dynamics of the Panda, batches of {size}, time per state",
        *("how", "native, us", "JAX, us", "ratio"),
        note="Results: a batch takes what the last one gave. Slices: batches are parts of one "
        "array, and their results too. XLA copies them in and out, since a custom call has "
        "arrays of its own; beside that stand native calls which use slices where they are, and "
        "such which copy them as XLA must. The last row is XLA's copying alone.",
    )
    pairs = {
        "in jit": "one call",
        "scan of results": "calls of results",
        "scan of slices": "calls of copied slices",
    }
    for here, native in (*pairs.items(), ("scan of slices", "calls of slices")):
        own, per = ratio(times[here], times[native]), size * (1 if here == "in jit" else TURNS)
        table.add(f"{here} / {native}", *(times[k].best * 1e6 / per for k in (native, here)), own)
        if pairs[here] == native:
            report.target(f"batch of JAX, {here}, over native {native}", "<= 1.1", own.value)
    copies = "scan of slices, their sum alone"
    table.add(copies, "", times[copies].best * 1e6 / (size * TURNS), "")


def _batch_beside_peer(
    report: Report,
    table: Table,
    name: str,
    model: jc.Model,
    theirs: Any,
    size: int,
    effort: Effort,
) -> None:
    import jax
    import jax.numpy as jnp

    at = [np.reshape(x, (TURNS, size, -1)) for x in bridge_peers.states(model, TURNS * size)]
    arrays, ours = [jnp.asarray(x) for x in at], bridge_peers.ours(model)
    calls = {}
    for who, function, n in (("ours", ours, TURNS), (name, jax.vmap(theirs), 1)):
        some = [x[:n] for x in arrays]
        calls[f"{who}, value"] = Call(_scan(function), some)
        calls[f"{who}, gradient"] = Call(_scan(_gradient(function)), some)
    times = measure(calls, effort)
    report.keep(f"jax/batch/{name}", times)
    per = {
        key: timing.best * 1e6 / (size * (1 if key.startswith(name) else TURNS))
        for key, timing in times.items()
    }
    table.add("jounce", *(per[f"ours, {kind}"] for kind in KINDS), "", "")
    found = _times_ours(per, name)
    table.add(name, *(per[f"{name}, {kind}"] for kind in KINDS), *found[:2])
    _aim(report, f"in JAX against {name}, batches", *found)


def _natively(model: jc.Model, at: list[Any]) -> list[Any]:
    """Batch after batch, without JAX; results are kept."""
    return [jc.forward_dynamics(model, *x) for x in zip(*at, strict=True)]


def _natively_copied(model: jc.Model, at: list[Any]) -> Any:
    """The same with each batch copied out of, and its result into, one array."""
    found = np.empty((*at[0].shape[:2], model.nv))
    for k, x in enumerate(zip(*at, strict=True)):
        found[k] = jc.forward_dynamics(model, *(part.copy() for part in x))
    return found


def _in_torch(report: Report, robot: Robot, effort: Effort, step: Steps) -> None:
    """Calls of PyTorch beside those of the package."""
    import torch

    from jounce.interop import torch as jtorch

    step("PyTorch")
    torch.set_num_threads(1)
    table = report.table(
        "Forward dynamics of the Panda in PyTorch",
        *("states", "jounce, us", "PyTorch, us", "with backward, us", "ratio of values"),
    )
    for size in (1, effort.pick(BATCH, BATCH, 8)):
        at = robots.states(robot, *(() if size == 1 else (size,))).ours("q v tau")
        tensors = [torch.tensor(x) for x in at]
        leaves = [x.clone().requires_grad_() for x in tensors]

        def backward(leaves: Any = leaves) -> Any:
            return torch.autograd.grad(jtorch.forward_dynamics(robot.model, *leaves).sum(), leaves)

        times: dict[str, Timing] = measure(
            {
                "ours": Call(jc.forward_dynamics, (robot.model, *at), keep=True),
                "torch": Call(jtorch.forward_dynamics, (robot.model, *tensors), keep=True),
                "backward": Call(backward),
            },
            effort,
        )
        report.keep(f"torch/{size}", times)
        own = ratio(times["torch"], times["ours"])
        table.add(size, *(times[k].best * 1e6 for k in ("ours", "torch", "backward")), own)
        if size == 1:
            over = (times["torch"].best - times["ours"].best) * 1e6
            report.target("call of PyTorch, us more than the package's", "<= 25", over)
        else:
            report.target("batch in PyTorch over a native batch", "<= 1.1", own.value)


def _in_casadi(
    report: Report, robot: Robot, effort: Effort, step: Steps, kernel: float | None
) -> None:
    """Nodes of a graph: callbacks and compiled functions, values and sparse Jacobians."""
    import casadi as ca

    from jounce.interop import casadi as jca

    step("CasADi")
    model = robot.model
    at = robots.states(robot).ours("q v tau")
    ways = {"callback": jca.function("forward_dynamics", model)}
    if compiled.compiler() is not None and not effort.tiny:
        ways["compiled"] = jca.function("forward_dynamics", model, compiled=True)
    ways["graph of CasADi (SX)"] = bridge_peers.casadi_graph(model)
    x = [ca.MX.sym(name, len(value)) for name, value in zip("qvt", at, strict=True)]
    calls = {"empty": Call(ca.Function("empty", x, [x[2]]), at)}
    for name, function in ways.items():
        tau = x[2]
        for _ in range(NODES):
            tau = function(x[0], x[1], tau)
        jacobian = ca.horzcat(*(ca.jacobian(function(*x), part) for part in x))
        calls[f"{name}, value"] = Call(ca.Function("value", x, [tau]), at)
        calls[f"{name}, Jacobian"] = Call(ca.Function("jacobian", x, [jacobian]), at)
        expected = jc.forward_dynamics(model, *at)
        robots.check(f"CasADi, {name}", np.array(function(*at)).ravel(), expected, 1e-9)
    times = measure(calls, effort)
    report.keep("casadi", times)
    empty = times["empty"].best
    table = report.table(
        "Forward dynamics of the Panda as a node of a graph of CasADi",
        *("how", "value, us", "besides the kernel, us", "Jacobian by q, v, tau, us"),
        note="The graph of scalar expressions (SX) is evaluated by CasADi's virtual machine.",
    )
    for name in ways:
        value = (times[f"{name}, value"].best - empty) / NODES * 1e6
        over = value - kernel * 1e6 if kernel is not None and "graph" not in name else ""
        table.add(name, value, over, (times[f"{name}, Jacobian"].best - empty) * 1e6)
        if name == "compiled" and kernel is not None:
            report.target("compiled node of CasADi, us besides the kernel", "<= 0.5", over)
    best = "compiled" if "compiled" in ways else "callback"
    for kind in ("value", "Jacobian"):
        times_ours = times[f"graph of CasADi (SX), {kind}"].best / times[f"{best}, {kind}"].best
        report.numbers[f"SX graph over {best}, {kind}"] = times_ours
