"""Commands for one state or many: ``id``, ``fd``, ``series`` and ``linearize``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

import jounce
from jounce._types import Array
from jounce.cli._common import (
    OK,
    Commands,
    add_robot,
    add_states,
    load_robot,
    read_numbers,
    read_state,
)
from jounce.cli._output import Result, Table, add_output, deliver
from jounce.errors import ArgumentError
from jounce.model import Model
from jounce.model.labels import coordinate_names, rate_names, rate_units
from jounce.simulation.methods import METHODS

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the commands of this group."""
    inverse = commands.add_parser(
        "id",
        help="inverse dynamics: the forces of a motion",
        description="Generalized forces tau = M(q) a + b(q, v) of a state, or of many.",
    )
    _add_common(inverse, "v", "a")
    inverse.set_defaults(run=_inverse)
    forward = commands.add_parser(
        "fd",
        help="forward dynamics: the acceleration that forces give",
        description="The derivative of the rates, a = M(q)^-1 (tau - b(q, v)).",
    )
    _add_common(forward, "v", "tau")
    forward.set_defaults(run=_forward)
    _add_series(commands)
    _add_linearize(commands)


def _add_common(command: argparse.ArgumentParser, *names: str) -> None:
    add_robot(command)
    add_states(command, *names)
    command.add_argument(
        "--threads", type=int, default=1, help="for many states; 0: all cores (default: 1)"
    )
    add_output(command)


def _add_series(commands: Commands) -> None:
    series = commands.add_parser(
        "series",
        help="time derivatives of forces, or of accelerations, of any order",
        description="Forces and their time derivatives to order r along a motion that is given by "
        "its rates and their derivatives; with --forward, accelerations and theirs along forces "
        "and their derivatives.",
    )
    add_robot(series)
    add_states(series, "v")
    series.add_argument(
        "--order", type=int, default=2, metavar="R", help="highest order (default: %(default)s)"
    )
    series.add_argument(
        "--forward", action="store_true", help="from forces to accelerations, instead of back"
    )
    series.add_argument(
        "--given",
        default="zero",
        metavar="VALUES",
        help="R+1 rows of a, da/dt, ... (with --forward: tau, dtau/dt, ...): zero, random or a "
        "file of shape (..., R+1, nv) (default: %(default)s)",
    )
    add_output(series)
    series.set_defaults(run=_series)


def _add_linearize(commands: Commands) -> None:
    linearize = commands.add_parser(
        "linearize",
        help="linearize the dynamics about a state, or one step of it",
        description="A and B of d/dt (dq, dv) = A (dq, dv) + B dtau about a state, on the tangent "
        "space; with --dt, of one step of a method. The table has the eigenvalues of A.",
    )
    add_robot(linearize)
    add_states(linearize, "v", "tau")
    linearize.add_argument("--dt", type=float, metavar="S", help="linearize a step of this length")
    linearize.add_argument(
        "--method", choices=METHODS, default="rkmk4", metavar="METHOD", help="of the step"
    )
    linearize.add_argument(
        "--passive", action="store_true", help="with springs, damping and friction"
    )
    add_output(linearize)
    linearize.set_defaults(run=_linearize)


def _inverse(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    q, v, a = (read_state(options, model, name) for name in ("q", "v", "a"))
    tau = jounce.inverse_dynamics(model, q, v, a, threads=options.threads)
    units = [unit.force for unit in rate_units(model)]
    _deliver_rates(options, model, {"q": q, "v": v, "a": a}, {"tau": tau}, units)
    return OK


def _forward(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    q, v, tau = (read_state(options, model, name) for name in ("q", "v", "tau"))
    a = jounce.forward_dynamics(model, q, v, tau, threads=options.threads)
    units = [f"{unit.rate}²" for unit in rate_units(model)]
    _deliver_rates(options, model, {"q": q, "v": v, "tau": tau}, {"a": a}, units)
    return OK


def _deliver_rates(
    options: argparse.Namespace,
    model: Model,
    inputs: dict[str, Array],
    outputs: dict[str, Array],
    units: Sequence[str],
) -> None:
    """A row for each rate; of many states the first is shown."""
    names = rate_names(model)
    lead = next(iter(outputs.values())).shape[:-1]
    shown = {
        name: np.broadcast_to(x, (*lead, model.nv)).reshape(-1, model.nv)[:1]
        for name, x in {**inputs, **outputs}.items()
        if name != "q"
    }
    rows = [
        [name, *(f"{x[0, k]:.6g}" if len(x) else "-" for x in shown.values()), units[k]]
        for k, name in enumerate(names)
    ]
    title = _first_of(lead)
    results = {**_inputs(model, inputs), **{name: Result(x, names) for name, x in outputs.items()}}
    tables = [
        *_coordinates(options, model, inputs["q"]),
        Table(["rate", *shown, "unit"], rows, title),
    ]
    deliver(options, results, tables)


def _inputs(model: Model, inputs: dict[str, Array]) -> dict[str, Result]:
    """What was given goes with the results: it may be random, or come from elsewhere."""
    names = {"q": coordinate_names(model)}
    return {name: Result(x, names.get(name, rate_names(model))) for name, x in inputs.items()}


def _coordinates(options: argparse.Namespace, model: Model, q: Array) -> list[Table]:
    """The coordinates of the first state, unless they are the neutral ones."""
    if options.q == "neutral" or not q.size:
        return []
    first = q.reshape(-1, model.nq)[0]
    rows = [
        [name, f"{x:.6g}"] for name, x in zip(coordinate_names(model), first.tolist(), strict=True)
    ]
    return [Table(["coordinate", "q"], rows, _first_of(q.shape[:-1]))]


def _first_of(lead: tuple[int, ...]) -> str:
    return f"the first of {int(np.prod(lead))} states" if lead else ""


def _series(options: argparse.Namespace) -> int:
    model, order = load_robot(options.robot, options.base), options.order
    if order < 0:
        raise ArgumentError(f"--order must be 0 or more, got {order}")
    q, v = read_state(options, model, "q"), read_state(options, model, "v")
    given = _given(options, model, order)
    lead = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], given.shape[:-2])
    if options.forward:
        out = jounce.forward_dynamics_series(model, q, v, given)
    else:
        first = np.broadcast_to(v[..., None, :], (*lead, 1, model.nv))
        rest = np.broadcast_to(given, (*lead, order + 1, model.nv))
        out = jounce.inverse_dynamics_series(model, q, np.concatenate([first, rest], axis=-2))
    name = "a" if options.forward else "tau"
    names = rate_names(model)
    heads = ["rate", *(_derivative(name, k) for k in range(order + 1))]
    one = out.reshape(-1, order + 1, model.nv)[:1]
    rows = [[rate, *(f"{x:.6g}" for x in one[:, :, k].ravel())] for k, rate in enumerate(names)]
    labels = [f"{k},{rate}" for k in range(order + 1) for rate in names]
    table = Table(heads, rows if len(one) else [], _first_of(lead))
    told = {"tau" if options.forward else "a": Result(given, labels, 2)}
    results = {**_inputs(model, {"q": q, "v": v}), **told, name: Result(out, labels, 2)}
    deliver(options, results, [*_coordinates(options, model, q), table])
    return OK


def _given(options: argparse.Namespace, model: Model, order: int) -> Array:
    shape = (*(() if options.states is None else (options.states,)), order + 1, model.nv)
    if options.given == "zero":
        return np.zeros(shape[-2:])
    if options.given == "random":
        return np.random.default_rng([options.seed, 9]).standard_normal(shape)
    got = read_numbers(options.given, "given")
    if got.shape[-2:] != shape[-2:]:
        raise ArgumentError(
            f"--given must have shape (..., {order + 1}, {model.nv}), got {got.shape}"
        )
    return got


def _derivative(name: str, order: int) -> str:
    return name if order == 0 else f"d{name}/dt" if order == 1 else f"d^{order}{name}/dt^{order}"


def _linearize(options: argparse.Namespace) -> int:
    model = load_robot(options.robot, options.base)
    q, v, tau = (read_state(options, model, name) for name in ("q", "v", "tau"))
    found: Any
    if options.dt is None:
        found = jounce.linearize(model, q, v, tau, passive=options.passive)
    else:
        found = jounce.linearize_step(
            model, q, v, tau, options.dt, method=options.method, passive=options.passive
        )
    A, B = found.A, found.B
    states = [f"{part}{name}" for part in ("dq ", "dv ") for name in rate_names(model)]
    results = {
        **_inputs(model, {"q": q, "v": v, "tau": tau}),
        "A": Result(A, [f"{a},{b}" for a in states for b in states], 2),
        "B": Result(B, [f"{a},{k}" for a in states for k in range(B.shape[-1])], 2),
    }
    one = A.reshape(-1, *A.shape[-2:])[:1]
    values = np.linalg.eigvals(one).ravel()
    values = values[np.lexsort((values.imag, -values.real))]
    rows = [[f"{x.real:.6g}", f"{x.imag:.6g}", f"{abs(x):.6g}"] for x in values]
    shapes = f"A {A.shape}, B {B.shape}; eigenvalues of A"
    title = "; ".join(filter(None, [shapes, _first_of(A.shape[:-2])]))
    eigenvalues = Table(["real", "imaginary", "size"], rows, title, left=0)
    deliver(options, results, [*_coordinates(options, model, q), eigenvalues])
    return OK
