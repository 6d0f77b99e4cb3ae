"""The functions that front ends offer, and a call of one as an operation of the C entry point."""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jounce import _core, constraints, derivatives, dynamics, kinematics, series, simulation
from jounce._types import Array
from jounce.errors import ArgumentError, ArgumentTypeError, ModelError
from jounce.interop._bridge import entry
from jounce.lie.twists import REPRESENTATIONS
from jounce.model import Model
from jounce.model._checks import bool_mask, check_choice
from jounce.simulation.methods import find_method

__all__ = [
    "Argument",
    "Function",
    "Operation",
    "Options",
    "c_options",
    "dressed",
    "functions",
    "operation",
]

_ROOMS = kinematics, dynamics, series, derivatives, constraints, simulation
_OPTIONS = {"body", "twist", "prescribed"}
_NOT_BRIDGED = {"inverse_dynamics_second_derivatives", "inverse_dynamics_series_derivatives"}


class Options(NamedTuple):
    """What is the same for all states of a call."""

    order: int = -1
    frame: int = -1
    twist: int = 0
    prescribed: bytes | None = None
    tableau: bytes | None = None
    threads: int = 1
    marks: bool = False
    """States that fail become NaN."""


class Argument(NamedTuple):
    """An input or an output of a kernel."""

    name: str
    position: int
    shape: tuple[int, ...]
    """Of one state."""
    tangent: tuple[int, ...]
    """Shape of its tangents, which differs for configurations."""

    @property
    def is_configuration(self) -> bool:
        """Whether its changes are coordinates, its tangents rates."""
        return self.shape != self.tangent


class Operation:
    """A kernel with a model and options, given some of its inputs. There is one of each."""

    __slots__ = (
        "__weakref__",
        "function",
        "inputs",
        "kernel",
        "model",
        "options",
        "outputs",
        "partials",
    )

    def __init__(
        self, function: str, kernel: str, model: Model, given: tuple[str, ...], options: Options
    ) -> None:
        ins, outs = entry.shapes(kernel, model, options.order)
        moved = _tangent_shapes(kernel, model, options.order)
        self.function, self.kernel, self.model, self.options = function, kernel, model, options
        self.inputs = tuple(
            Argument(name, at, shape, moved.get(f"d_{name}", shape))
            for at, (name, shape) in enumerate(ins.items())
            if name in given
        )
        self.outputs = tuple(
            Argument(name, at, shape, moved.get(f"d_{name}:out", shape))
            for at, (name, shape) in enumerate(outs.items())
        )
        self.partials: dict[str, Any] | None = None
        """Filled by `partials.closed_forms`."""


def _tangent_shapes(kernel: str, model: Model, order: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the tangents of a kernel's inputs and, marked, of its outputs."""
    twice = f"{kernel.removesuffix('_jvp')}_second"
    if kernel.endswith("_jvp") and entry.kernel_address(twice):
        ins, outs = entry.shapes(twice, model, order)
        moved = {f"d_{name[2:]}": shape for name, shape in ins.items() if name[:2] == "e_"}
        ends = {f"d_{name[2:]}:out": shape for name, shape in outs.items() if name[:2] == "e_"}
        return {**moved, **ends}
    if not entry.kernel_address(f"{kernel}_jvp"):
        nq, nv = (model.nq,), (model.nv,)  # then coordinates that go in are configurations
        axes = _core.signature(kernel)["input_axes"]
        return {f"d_{name}": nv for name, own in axes.items() if own == ["nq"] and nq != nv}
    ins, outs = entry.shapes(f"{kernel}_jvp", model, order)
    return {**ins, **{f"{name}:out": shape for name, shape in outs.items()}}


_operations: dict[tuple[Any, ...], Operation] = {}
_MOST_OPERATIONS = 4096


def operation(
    function: str, kernel: str, model: Model, given: tuple[str, ...], options: Options
) -> Operation:
    """The operation of these; the same object for the same model."""
    key = (id(model), kernel, given, options, function)  # an operation keeps its model alive
    found = _operations.get(key)
    if found is None:
        found = Operation(function, kernel, model, given, options)
        while len(_operations) >= _MOST_OPERATIONS:
            _operations.pop(next(iter(_operations)), None)
        _operations[key] = found
    return found


class Function:
    """A public function, with the names and the order of its arguments."""

    def __init__(self, name: str, kernel: str, original: Any, names: tuple[str, ...]) -> None:
        own = _core.signature(kernel)
        known = _core.compiled(original)
        self.name, self.kernel, self.original, self.names = name, kernel, original, names
        self.inputs = tuple(x for x in names if x in own["input_axes"])
        self.needed = {*own["inputs"], *own["options"]} - {*own["options_with_defaults"], "tableau"}
        self.ranks: dict[str, int] = own["input_ranks"]
        self.series = tuple(x for x in self.inputs if own["input_axes"][x][:1] == ["order"])
        self.defaults = {"method": "rkmk4"} if "method" in names else {}
        self._known: dict[tuple[Any, ...], Operation] = {}
        self.result: Any = known.result if known else simulation.Step

    def split(
        self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sort arguments into arrays and options, by name."""
        if not isinstance(model, Model):
            raise ArgumentTypeError(f"model must be a jounce.Model, got {type(model).__name__}")
        if model.expanded is not model:
            raise ModelError(
                f"{self.name}(): models with coupled joints are not known here; use model.expanded"
            )
        if len(args) > len(self.names):
            raise ArgumentTypeError(
                f"{self.name}() takes {len(self.names)} arguments after the model "
                f"({', '.join(self.names)}), got {len(args)}"
            )
        given = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names:
                known = ", ".join(self.names)
                raise ArgumentTypeError(f"{self.name}() has no argument {name!r}, only {known}")
            if name in given:
                raise ArgumentTypeError(f"{self.name}() got {name} twice")
            given[name] = value
        given = {name: value for name, value in given.items() if value is not None}
        missing = [name for name in self.names if name in self.needed and name not in given]
        if missing:
            raise ArgumentTypeError(f"{self.name}() needs the argument {missing[0]!r}")
        arrays = {name: given.pop(name) for name in self.inputs if name in given}
        return arrays, given

    def operation(
        self,
        model: Model,
        shapes: Mapping[str, tuple[int, ...]],
        options: Mapping[str, Any],
        threads: int = 1,
        marks: bool = False,
    ) -> Operation:
        """What a call with arrays of these shapes computes."""
        if type(threads) is not int or not all(map(_is_plain, options.values())):
            return self._checked(model, shapes, options, threads, marks)
        key = (id(model), *shapes.items(), *options.items(), threads, marks)
        found = self._known.get(key)
        if found is None:  # it keeps its model, so that no other has this identity
            found = self._checked(model, shapes, options, threads, marks)
            if len(self._known) >= _MOST_OPERATIONS:
                self._known.clear()
            self._known[key] = found
        return found

    def _checked(
        self,
        model: Model,
        shapes: Mapping[str, tuple[int, ...]],
        options: Mapping[str, Any],
        threads: int,
        marks: bool,
    ) -> Operation:
        """The same, after a look at the shapes."""
        order = self._order(model, shapes)
        chosen = _chosen(model, {**self.defaults, **options})._replace(
            order=order, threads=_number_of_threads(threads), marks=marks
        )
        found = operation(self.name, self.kernel, model, tuple(shapes), chosen)
        for own in found.inputs:
            shape = shapes[own.name]
            if shape[len(shape) - len(own.shape) :] != own.shape or len(shape) < len(own.shape):
                expected = ", ".join(["...", *map(str, own.shape)])
                raise ArgumentError(
                    f"{self.name}(): {own.name} must have shape ({expected}), got {shape}"
                )
        leads = [shapes[x.name][: len(shapes[x.name]) - len(x.shape)] for x in found.inputs]
        if len(set(leads)) > 1:
            try:
                np.broadcast_shapes(*leads)
            except ValueError:
                pairs = zip(leads, found.inputs, strict=True)
                given = ", ".join(f"{lead} of {x.name}" for lead, x in pairs)
                raise ArgumentError(
                    f"{self.name}(): the leading (batch) axes {given} do not broadcast"
                ) from None
        return found

    def _order(self, model: Model, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """The order r of a series, by the rows of an input."""
        if not self.series:
            return -1
        name = self.series[0]
        rows = entry.shapes(self.kernel, model, 0)[0][name][0]
        if len(shapes[name]) < self.ranks[name] or shapes[name][-self.ranks[name]] < rows:
            raise ArgumentError(
                f"{self.name}(): {name} must have at least {rows} rows, got shape {shapes[name]}"
            )
        return shapes[name][-self.ranks[name]] - rows


def _is_plain(option: Any) -> bool:
    """Whether it cannot change, and equals no option of another type, as 1 equals True."""
    own = type(option)
    return own is str or own is int or (own is tuple and {*map(type, option)} == {bool})


def _number_of_threads(threads: Any) -> int:
    try:
        number = -1 if isinstance(threads, bool) else operator.index(threads)
    except TypeError:
        number = -1
    if not 0 <= number <= 1024:
        raise ArgumentError(f"threads must be an integer from 0 to 1024, got {threads!r}")
    return number


def _chosen(model: Model, given: Mapping[str, Any]) -> Options:
    """Options as the C entry point takes them."""
    chosen = Options()
    if "body" in given:
        chosen = chosen._replace(frame=_frame(model, given["body"]))
    if "twist" in given:
        check_choice("twist", given["twist"], REPRESENTATIONS)
        chosen = chosen._replace(twist=REPRESENTATIONS.index(given["twist"]))
    if "prescribed" in given:
        mask = bool_mask("prescribed", given["prescribed"], model.nv)
        chosen = chosen._replace(prescribed=mask.tobytes())
    if "method" in given:
        numbers: Array = find_method(given["method"]).packed()
        chosen = chosen._replace(tableau=numbers.tobytes())
    return chosen


def c_options(own: Operation, kept: list[Any]) -> entry.Call:
    """The options of an operation as a call in C has them; what it points to is added to `kept`."""
    options = own.options
    call = entry.Call(
        order=options.order,
        prescribed=options.prescribed,
        frame=options.frame,
        twist=options.twist,
        threads=options.threads or int(_core.core_info()["cores"]),
    )
    numbers = np.frombuffer(options.tableau or b"")
    call.tableau, call.tableau_size = numbers.ctypes.data, numbers.size
    kept += [numbers, options]
    return call


def _frame(model: Model, body: Any) -> int:
    """Position of a body or frame among those of the model, bodies first."""
    if isinstance(body, (list, tuple)):
        raise ArgumentTypeError("body must be one name or index here, not a list")
    if not isinstance(body, str):
        return model.body_index(body)
    model.frame(body)
    return list(model.frames).index(body)


@functools.cache
def functions() -> dict[str, Function]:
    """All functions that front ends offer, by name."""
    public = {name for room in _ROOMS for name in room.__all__}
    found = {}
    for name, original in _core.compiled_functions().items():
        own = _core.signature(name)
        if own["internal"] or name not in public or name in _NOT_BRIDGED:
            continue
        if {*own["options"]} <= _OPTIONS and entry.kernel_address(f"{name}_jvp"):
            names = (*own["inputs"], *own["options"], *own["optional_inputs"])
            found[name] = Function(name, name, original, names)
    names = ("q", "v", "tau", "dt", "f_ext", "method")
    found["step"] = Function("step", "explicit_step", simulation.step, names)
    return dict(sorted(found.items()))


def dressed(
    run: Callable[..., Any], function: Function, module: str, note: str, **last: Any
) -> Callable[..., Any]:
    """Give what computes a function the name, signature and documentation of it.

    Args:
        run: takes the model, the function's arguments, and those of `last` by name.
        function: the one of the package.
        module: where it is found.
        note: what differs, which comes after the first line of the documentation.
        last: arguments that take the place of `out` and `threads`, with their defaults.
    """
    own = inspect.signature(function.original)
    kept = [own.parameters[name] for name in ("model", *function.names)]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in last.items()
    ]
    text = inspect.cleandoc(function.original.__doc__ or "")
    first, _, rest = re.split(r"\n(?:Examples?:|>>>)", text)[0].partition("\n")
    run.__name__ = run.__qualname__ = function.name
    run.__module__ = module
    run.__doc__ = f"{first}\n\n{note}\n\n{rest.strip()}"
    run.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
    return run
