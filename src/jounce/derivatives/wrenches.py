"""Derivatives of `external_wrenches`: sums of those of the wrenches at each frame.

A wrench w at a frame is the wrench A(q)^T w on its body, so that along a direction

    (1)  d f_ext = sum_i d(A_i^T) w_i + A_i^T d w_i,

where the kernel of one frame gives each term by dual numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jounce._core.out import Given, Shape, deliver, deliver_all
from jounce._types import Array
from jounce.derivatives.jvp import Jvp, jvp, let_compose, let_differentiate
from jounce.derivatives.parameters import parameter_derivatives
from jounce.dynamics.wrenches import (
    common_axes,
    external_wrenches,
    frame_wrench,
    on_bodies,
    require_wrenches,
)
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.kinematics import center_of_mass
from jounce.model import Model
from jounce.model.parameters import Parameters

__all__: list[str] = []

let_differentiate(frame_wrench, "q wrench body twist", "frame_wrench", None, dict)


class _Given(Given):
    """Coordinates, wrenches, their tangents, and a direction of parameters."""

    def own_axes(self, name: str) -> Shape:
        kind = name.split()[0]
        if kind == "d_wrench":
            return (6,)
        if kind == "direction":
            return (int(name.split()[1]),)
        return (self.model.nv,) if kind == "d_q" else super().own_axes(name)


def _along(
    model: Model,
    q: Any = None,
    wrenches: Any = None,
    twist: str = "hybrid",
    *,
    d_q: Any = None,
    d_wrenches: Any = None,
    parameters: tuple[Parameters, Any] | None = None,
    out: tuple[Any, ...] | None = None,
    threads: int = 1,
) -> Jvp:
    """Value and derivative along tangents and a direction of parameters."""
    _require_arguments(model, q, wrenches, twist)
    _require_tangents(wrenches, d_wrenches)
    p, direction = parameters or (None, None)

    def compute(q: Any, d_q: Any, direction: Any, *pairs: Any) -> Jvp:
        def along(function: Any, given: tuple[Any, ...], tangents: tuple[Any, ...]) -> Jvp:
            moving = None if p is None else (p, direction)
            return jvp(function, model, given, tangents, parameters=moving, threads=threads)

        at, by = pairs[: len(wrenches)], pairs[len(wrenches) :]
        parts = {
            name: along(frame_wrench, (q, w, name, twist), (d_q, dw))
            for name, w, dw in zip(wrenches, at, by, strict=True)
        }
        any_part = parts or {"q": along(center_of_mass, (q,), (d_q,))}
        lead = common_axes({name: part.value for name, part in any_part.items()})
        values = {name: part.value for name, part in parts.items()}
        changes = {name: part.derivative for name, part in parts.items()}
        return Jvp(on_bodies(model, values, lead), on_bodies(model, changes, lead))  # (1)

    named = _named("wrench", wrenches, wrenches) | _named("d_wrench", wrenches, d_wrenches or {})
    arrays = {"q": q, "d_q": d_q, f"direction {0 if p is None else len(p)}": direction, **named}
    given = _Given("external_wrenches", model, threads, **arrays)
    return deliver_all(compute, out, ((model.n_bodies, 6),) * 2, given)


def _by_parameters(
    model: Model, given: Mapping[str, Any], parameters: Parameters, out: Any, threads: int
) -> Array:
    """Derivatives by parameters, which are the last axis."""
    q, wrenches = given.get("q"), given.get("wrenches")
    twist = given.get("twist", "hybrid")
    _require_arguments(model, q, wrenches, twist)
    assert wrenches is not None

    def compute(q: Any, *values: Any) -> Array:
        parts = {}
        for name, w in zip(wrenches, values, strict=True):
            own = {"q": q, "wrench": w, "body": name, "twist": twist}
            parts[name] = parameter_derivatives(
                frame_wrench, model, own, parameters, threads=threads
            )
        whole = parts or {"q": center_of_mass(model, q, threads=threads)[..., None]}
        lead = common_axes({name: part[..., 0, :] for name, part in whole.items()})
        return on_bodies(model, parts, lead, (len(parameters),))

    own = (model.n_bodies, 6, len(parameters))
    arrays = {"q": q, **_named("wrench", wrenches, wrenches)}
    return deliver(compute, out, own, Given("parameter_derivatives", model, threads, **arrays))


def _named(kind: str, wrenches: Mapping[Any, Any], values: Mapping[Any, Any]) -> dict[str, Any]:
    return {f"{kind} {name!r}": values.get(name) for name in wrenches}


def _require_arguments(model: Model, q: Any, wrenches: Any, twist: Any) -> None:
    for name, value in (("q", q), ("wrenches", wrenches)):
        if value is None:
            raise ArgumentTypeError(f"external_wrenches() needs the argument {name!r}")
    require_wrenches(model, wrenches, twist)


def _require_tangents(wrenches: Mapping[Any, Any], tangents: Any) -> None:
    """Refuse tangents that are no dict, or of wrenches that do not act."""
    if tangents is None:
        return
    if not isinstance(tangents, Mapping):
        raise ArgumentTypeError(
            "the tangent of wrenches must be a dict by frame, as they are, got "
            f"{type(tangents).__name__}"
        )
    for name in tangents:
        if name not in wrenches:
            known = ", ".join(map(repr, wrenches)) or "none"
            raise ArgumentError(
                f"the tangent of wrenches has {name!r}, where no wrench acts, only {known}"
            )


let_compose(
    external_wrenches,
    {"q": "d_q", "wrenches": "d_wrenches", "twist": None},
    _along,
    _by_parameters,
)
