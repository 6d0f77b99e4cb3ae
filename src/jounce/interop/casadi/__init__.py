"""The functions of jounce for graphs of CasADi, with exact sparse derivatives.

They have the names and the arguments of those of the package, for one state::

    import casadi as ca, jounce as jc
    from jounce.interop import casadi as jca

    opti = ca.Opti()
    q, v, tau = opti.variable(model.nq), opti.variable(model.nv), opti.variable(model.nv)
    a = jca.forward_dynamics(model, q, v, tau)

Vectors are columns. IPOPT and other solvers get the Jacobian with the zeros that the tree of joints
has, and the Hessian of the Lagrangian: of the dynamics in closed form, contracted with the
multipliers. A function is one node of a graph, ``jca.function("forward_dynamics", model)`` the
`casadi.Function` itself. Functions of a whole trajectory: ``function(...).map(N)``.

Derivatives by q are those by its components, as in `jounce.interop.jax`; a quaternion may leave
unit length by a thousandth. In an optimization, let tangent steps be the variables and use
``integrate(model, q, dv)``, or ask for unit length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jounce._core.arrays import reals
from jounce.errors import ArgumentError, ArgumentTypeError, MissingExtraError

try:
    import casadi as ca
except ImportError:
    raise MissingExtraError(
        "jounce.interop.casadi needs CasADi: pip install 'jounce[casadi]'"
    ) from None

from jounce.errors import unknown_name
from jounce.interop._bridge.functions import Function, Operation, dressed, functions
from jounce.interop.casadi._external import external_of
from jounce.interop.casadi._graph import function_of
from jounce.model._checks import check_flag

_NOTE = """For matrices of CasADi (MX, DM) and one state; the rest is as in the function of
`jounce` of this name. There are no `out` and `threads`."""

_TOO_DEEP = {"body_poses", "christoffel_symbols", "mass_matrix_derivatives", "jacobian_series"} | {
    "inverse_mass_matrix_derivatives",
    "body_pose_series",
}
"""Their results have three axes, matrices two."""


def _known() -> dict[str, Function]:
    return {
        name: function
        for name, function in functions().items()
        if name not in _TOO_DEEP and "_series" not in name
    }


def function(name: str, model: Any, *, compiled: bool = False, **options: Any) -> ca.Function:
    """The `casadi.Function` of a function of the package, for one state.

    Args:
        name: for example "forward_dynamics".
        model: the robot.
        compiled: make a library that CasADi calls without Python: for one call some tenths of a
            microsecond instead of some. Takes a C compiler, and about a second.
        options: those of the function, for example ``body="hand"``; ``f_ext=True`` if external
            wrenches are an argument.

    Returns:
        The function: its inputs and outputs have the order of those of the package.

    Raises:
        UnknownNameError: there is no such function here.
        ArgumentError: an option has a wrong value.
        ArgumentTypeError: `model` is no model, an option is missing or none of the function, or is
            one of its arguments.
        MissingExtraError: it shall be compiled and there is no C compiler.

    Examples:
        >>> from jounce.interop.casadi import function
        >>> arm = jc.models.chain(3)
        >>> f = function("gravity_forces", arm)
        >>> bool(np.allclose(f([1, 2, 3]).full().ravel(), jc.gravity_forces(arm, [1, 2, 3])))
        True
    """
    known = _known()
    if name not in known:
        raise unknown_name("function", name, known)
    check_flag("compiled", compiled)
    own = known[name]
    wanted = _arguments(own, options)
    rest = {key: value for key, value in options.items() if key not in own.inputs}
    given, chosen = own.split(model, (), {**dict.fromkeys(wanted, True), **rest})
    operation = _operation(own, model, list(given), chosen)
    return external_of(operation) if compiled else function_of(operation)


def _arguments(own: Function, options: dict[str, Any]) -> list[str]:
    """Arguments that the function for CasADi shall have: all that are needed, others if asked for.

    Raises:
        ArgumentError: it is not said by True or False whether it shall have one.
        ArgumentTypeError: the value of one is given.
    """
    for name in options.keys() & own.needed & {*own.inputs}:
        raise ArgumentTypeError(
            f"function({own.name!r}): {name} is no option, but an argument of what is returned: "
            f"function({own.name!r}, model)({', '.join(x for x in own.inputs if x in own.needed)})"
        )
    asked = {x: options.get(x, False) for x in own.inputs if x not in own.needed}
    for name, value in asked.items():
        check_flag(name, value)
    return [x for x in own.inputs if x in own.needed or asked[x]]


def _operation(own: Function, model: Any, names: list[str], options: dict[str, Any]) -> Operation:
    """The operation for one state of a model."""
    sizes = {"q": "nq", "q0": "nq", "q1": "nq"}
    shapes: dict[str, tuple[int, ...]] = {}
    for name in names:
        if own.ranks[name] == 2:
            shapes[name] = (model.n_bodies, 6)
        elif own.ranks[name] == 1:
            shapes[name] = (getattr(model, sizes.get(name, "nv")),)
        else:
            shapes[name] = ()
    return own.operation(model, shapes, options)


def _bridged(own: Function) -> Callable[..., Any]:
    """A function of the package for matrices of CasADi."""

    def run(model: Any, *args: Any, **kwargs: Any) -> Any:
        given, options = own.split(model, args, kwargs)
        operation = _operation(own, model, list(given), options)
        arrays = []
        for x in operation.inputs:
            value = given[x.name]
            value = value if isinstance(value, (ca.MX, ca.DM)) else _as_matrix(own.name, x, value)
            rows, columns = (*x.shape, 1, 1)[:2]
            if value.shape != (rows, columns):
                raise ArgumentError(
                    f"{own.name}(): {x.name} must be {rows}x{columns}, got {value.shape}"
                )
            arrays.append(value)
        results = function_of(operation)(*arrays)
        return own.result(*results) if own.result else results

    return dressed(run, own, __name__, _NOTE)


def _as_matrix(name: str, x: Any, value: Any) -> Any:
    if isinstance(value, ca.SX):
        raise ArgumentError(
            f"{name}(): {x.name} is SX; compiled functions are nodes of MX graphs: use MX.sym"
        )
    array = reals(x.name, value)
    if array.ndim > 2:
        raise ArgumentError(
            f"{name}(): {x.name} must be one state, of shape {x.shape}, got {array.shape}"
        )
    return ca.DM(array)


_functions = {name: _bridged(own) for name, own in _known().items()}
globals().update(_functions)
__all__ = ["function", *_functions]


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module 'jounce.interop.casadi' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
