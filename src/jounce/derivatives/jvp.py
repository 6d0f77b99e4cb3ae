"""Directional derivatives of every function of the core, by dual numbers.

Each kernel is compiled a second time, for numbers ``x + e d`` with ``e^2 = 0``: what it computes
then has the exact derivative along the direction as its second part. Several directions fill the
lanes of a register.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jounce import _core
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.model import Model
from jounce.model.parameters import Parameters, require_parameters

__all__ = ["Jvp", "Plan", "jvp", "let_compose", "let_differentiate", "plan_of"]


class Jvp(NamedTuple):
    """A result and its derivative along a direction.

    Examples:
        >>> arm = jc.models.chain(2)
        >>> q, v, a = np.ones((3, 2))
        >>> tau, rate = jc.jvp(jc.inverse_dynamics, arm, (q, v, a), (v, a, 0 * a))  # in time
        >>> bool(np.allclose(rate, jc.inverse_dynamics_series(arm, q, [v, a, 0 * a])[1]))
        True
    """

    value: Any
    """What the function returns."""
    derivative: Any
    """The derivative of it, of the same form; of configurations, tangent vectors (..., nv)."""


class Plan(NamedTuple):
    """How the derivative of a function is asked for."""

    name: str
    names: tuple[str, ...]
    """Of the arguments after the model."""
    tangents: Mapping[str, str | None]
    """What the kernel calls their tangents, by name; None where there is none."""
    kernel: Callable[..., Jvp]
    result: type[tuple[Any, ...]] | None
    """The named tuple that the function returns, if it does."""
    prepare: Callable[..., dict[str, Any]] | None
    """Turns arguments by name into those of the kernel."""
    ranks: Mapping[str, int]
    """Axes of one state's arrays, by name."""
    derivative: Callable[[Mapping[str, Any]], str]
    """The name of the kernel of the derivative, of arguments by name."""
    by_parameters: Callable[..., Any] | None = None
    """What gives derivatives by parameters, if the function calls a kernel several times."""

    def tangent(self, name: str) -> str:
        """What the kernel calls the tangent of an argument."""
        known = self.tangents[name]
        if known is None:
            raise ArgumentError(
                f"{self.name}() has no derivative by {name}: its tangent must be None"
            )
        return known

    def by_name(self, what: str, given: Any) -> dict[str, Any]:
        """Arguments or tangents with the names of the function's arguments."""
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in self.names]
            if unknown:
                raise ArgumentTypeError(
                    f"{what}: {self.name}() has no argument {unknown[0]!r}, only "
                    f"{', '.join(self.names)}{self._instead(unknown[0])}"
                )
            return dict(given)
        if not isinstance(given, (tuple, list)):
            raise ArgumentTypeError(
                f"{what} must be a tuple of those of "
                f"{self.name}({', '.join(self.names)}), or a dict "
                f"by name, got {type(given).__name__}"
            )
        if len(given) > len(self.names):
            raise ArgumentTypeError(
                f"{what}: {self.name}() takes {len(self.names)} after the model "
                f"({', '.join(self.names)}), got {len(given)}"
            )
        return dict(zip(self.names, given, strict=False))

    def demand(self, function: Callable[..., Any], given: Mapping[str, Any]) -> None:
        """Refuse that an argument is missing that the function has no default for."""
        missing = [name for name in self.names if name not in given]
        known = inspect.signature(function).parameters if missing else {}
        for name in missing:
            if name in known and known[name].default is inspect.Parameter.empty:
                raise ArgumentTypeError(f"arguments: {self.name}() needs the argument {name!r}")

    def prepared(self, given: dict[str, Any]) -> dict[str, Any]:
        """Arguments of the kernel; a refusal of a method says what to use instead."""
        if self.prepare is None:
            return given
        try:
            return self.prepare(**given)
        except ArgumentError as error:
            method = given.get("method")
            instead = self._instead(method)
            if not instead or repr(method) not in str(error):
                raise
            raise ArgumentError(f"{error}{instead}") from None

    def _instead(self, name: Any) -> str:
        """What to use for an argument, or a method, that jvp() does not take; mostly nothing."""
        known = _INSTEAD_OF.get(self.name, {})
        return f"; {known[name]}" if isinstance(name, str) and name in known else ""


_plans: dict[Any, Plan] = {}
_composites: dict[Any, Plan] = {}
"""Of functions that call a kernel several times: jvp() and parameter_derivatives() know them."""
_kernels: dict[Any, Callable[..., Jvp]] = {}
"""Of functions that are kernels, those of their derivatives: calls in tuples go there at once."""

_INSTEAD = {
    "rollout": "rollout_vjp() gives the gradient by its start and forces, jvp() of step goes along "
    "a direction step by step",
    "simulate": "linearize_step(), jvp() of step and rollout_vjp() are there for fixed steps",
    "linearize": "forward_dynamics_hessian() has the second derivatives of the dynamics",
    "linearize_step": "it gives second derivatives with weights=",
    "constrained_dynamics": "see constrained_dynamics_derivatives()",
    "impulse": "see impulse_derivatives()",
    "torque_regressor_blocks": "torque_regressor() holds the same numbers and has one",
    "external_wrenches": "jvp() and parameter_derivatives() alone add up those of its wrenches",
}
"""What to use of functions that are no kernels."""

_UNDER_CONSTRAINTS = "linearize_step(..., constraints=...) has the derivatives under constraints"
_INSTEAD_OF = {
    "step": {
        "passive": "linearize_step(..., passive=True) has the derivatives with the joints' own "
        "forces, rollout_vjp(..., control=Control(passive=True), parameters=...) gradients",
        "constraints": _UNDER_CONSTRAINTS,
        "projection": _UNDER_CONSTRAINTS,
        "taylor": 'linearize_step(..., method="taylor") has the derivatives of this step',
        "order": 'linearize_step(..., method="taylor", order=...) has the derivatives of such a '
        "step",
    }
}
"""What to use of arguments and methods that jvp() does not take, by function."""


@_core.directional(_kernels)
def jvp(
    function: Callable[..., Any],
    model: Model,
    arguments: Sequence[Any] | Mapping[str, Any],
    tangents: Sequence[Any] | Mapping[str, Any],
    *,
    parameters: tuple[Parameters, ArrayLike] | None = None,
    out: tuple[Any, Any] | None = None,
    threads: int = 1,
) -> Jvp:
    """Value and directional derivative of a function of the core, exact to rounding.

    ``d/de function(model, x + e d) at e = 0``. A configuration q moves as
    ``integrate(model, q, e dq)``, so tangents of q have nv entries, and so have derivatives of
    configurations. Derivatives of poses are those of the 4x4 entries.

    Args:
        function: of this package: dynamics, series, energies, momenta, poses, twists, Jacobians,
            `integrate`, `difference`, `step`, regressors, `external_wrenches`, and their
            ``_derivatives``.
        model: the robot.
        arguments: those of the function after the model, in its order, or by name.
        tangents: the direction, one for each argument or fewer, or by name; None is zero. Leading
            axes broadcast with those of the arguments: q (..., 1, nq) with dq (..., K, nv) gives K
            directions of each state. That of the wrenches of `external_wrenches` is a dict of
            the same names; those that it lacks are zero.
        parameters: what `jounce.parameters` returns and the direction in which the model changes,
            (..., number of parameters).
        out: arrays to write the value and the derivative to, as a pair.
        threads: number of threads for a batch; 0 uses all cores.

    Returns:
        Named tuple ``value``, ``derivative``: each what the function returns.

    Raises:
        ArgumentError: the function has no compiled derivative, an argument or a tangent has a wrong
            shape or is not finite.
        ArgumentTypeError: there are more arguments than the function takes, or fewer than it needs.

    Examples:
        >>> import numpy as np, jounce as jc
        >>> arm = jc.models.chain(3)
        >>> q, v, a = np.ones((3, 3))
        >>> by_q = jc.jvp(jc.inverse_dynamics, arm, (q, v, a), (np.eye(3), None, None)).derivative
        >>> bool(np.allclose(by_q.T, jc.inverse_dynamics_derivatives(arm, q, v, a).dq))
        True
    """
    plan = plan_of(function, composites=True)
    moving = {}
    for name, tangent in plan.by_name("tangents", tangents).items():
        if tangent is not None:
            moving[plan.tangent(name)] = tangent
    given = plan.prepared(plan.by_name("arguments", arguments))
    given.update(moving)
    if parameters is not None and plan.by_parameters is not None:
        given["parameters"] = _pair(parameters)
    elif parameters is not None:
        given["d_model"] = _model_tangent(model, parameters, given.get("body"))
    if out is not None:
        given["out"] = _flat_out(out)
    return plan.kernel(model, **given, threads=threads)


def let_differentiate(
    function: Callable[..., Any],
    names: str,
    kernel: str,
    result: type[tuple[Any, ...]] | None,
    prepare: Callable[..., dict[str, Any]],
    run: Callable[..., Any] | None = None,
    derivative: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Let `jvp` take a function in Python that calls one kernel.

    Args:
        function: the function.
        names: of its arguments after the model.
        kernel: name of the kernel.
        result: the named tuple that it returns, if it does.
        prepare: turns its arguments, by name, into those of the kernel.
        run: what to call with them for a `Jvp`, if that is not the kernel's derivative.
        derivative: the name of the kernel that this calls, of arguments by name.
    """
    own = _core.signature(kernel)
    inputs = {*own["inputs"], *own["optional_inputs"]}
    split = tuple(names.split())
    _plans[function] = Plan(
        function.__name__,
        split,
        {name: f"d_{name}" if name in inputs else None for name in split},
        run or _core.raw(f"{kernel}_jvp", function.__name__, Jvp, result),
        result,
        prepare,
        own["input_ranks"],
        derivative or (lambda _: f"{kernel}_jvp"),
    )


def let_compose(
    function: Callable[..., Any],
    tangents: Mapping[str, str | None],
    run: Callable[..., Jvp],
    by_parameters: Callable[..., Any],
) -> None:
    """Let `jvp` and `parameter_derivatives` take a function that calls a kernel several times.

    Args:
        function: the function, which returns one array.
        tangents: what `run` calls the tangents of its arguments after the model, by name.
        run: gives a `Jvp` of a model, arguments and tangents by name, ``parameters=`` of `jvp`,
            ``out=`` as a tuple of two, and ``threads=``.
        by_parameters: gives the derivatives of a model, arguments by name, parameters, out and
            threads.
    """
    names, name = tuple(tangents), function.__name__
    _composites[function] = Plan(
        name, names, tangents, run, None, None, {}, lambda _: "", by_parameters
    )


def plan_of(function: Callable[..., Any], *, composites: bool = False) -> Plan:
    """How the derivative of a function is asked for; refuses one that has none."""
    try:
        if composites and function in _composites:
            return _composites[function]
        return _plans[function]
    except (KeyError, TypeError):
        pass
    known = _core.compiled(function)
    if known is None or f"{known.name}_jvp" not in _core.kernel_names():
        name = getattr(function, "__name__", repr(function))
        instead = _INSTEAD.get(name)
        raise ArgumentError(
            f"{name} has no compiled derivative; "
            + (f"{instead}. " if instead else "")
            + "jvp() takes the functions of this package that are kernels of the core, such as "
            "inverse_dynamics, body_pose or integrate"
        )
    own = _core.signature(known.name)
    names = (*own["inputs"], *own["options"], *own["optional_inputs"])
    tangents = {name: None if name in own["options"] else f"d_{name}" for name in names}
    derivative, ranks = f"{known.name}_jvp", own["input_ranks"]
    kernel = _core.raw(derivative, known.name, Jvp, known.result)
    made = (kernel, known.result, None, ranks, lambda _: derivative)
    plan = Plan(known.name, names, tangents, *made)
    _kernels[function], _plans[function] = kernel, plan
    return plan


def _pair(parameters: Any) -> tuple[Parameters, Any]:
    """Parameters and a direction."""
    if not isinstance(parameters, tuple) or len(parameters) != 2:
        got = type(parameters).__name__
        if isinstance(parameters, (tuple, list)):
            got = f"a {got} of {len(parameters)}"
        raise ArgumentTypeError(
            "parameters must be a tuple of two, those of jounce.parameters and a direction, got "
            + got
        )
    which, direction = parameters
    return require_parameters(which), direction


def _model_tangent(model: Model, parameters: Any, body: Any) -> Array:
    which, direction = _pair(parameters)
    return which.model_tangent(model, direction, body)


def _flat_out(out: Any) -> tuple[Any, ...]:
    """The arrays of a value and of a derivative in a row."""
    if not isinstance(out, tuple) or len(out) != 2:
        raise ArgumentError("out must be a pair: where the value and the derivative go")
    value, derivative = (part if isinstance(part, tuple) else (part,) for part in out)
    return (*value, *derivative)
