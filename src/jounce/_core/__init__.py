"""The compiled core, in the variant for the best instruction set that the processor has.

The environment variable ``JOUNCE_ISA`` forces a variant (for example ``v2``).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import operator
import os
import platform
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from jounce import errors

__all__ = [
    "MOST_THREADS",
    "Compiled",
    "Tree",
    "await_long_calls",
    "begin_long_call",
    "branched_nodes",
    "clear_cache",
    "compiled",
    "compiled_functions",
    "core_info",
    "directional",
    "doubtful_inertias",
    "end_long_call",
    "forget_long_calls",
    "get_cmake_dir",
    "get_include",
    "get_library",
    "kernel",
    "kernel_names",
    "model_address",
    "raw",
    "signature",
    "spoil",
    "start_long_call",
    "workspace_bytes",
]

_VARIANTS = ("v4", "v3", "v2", "native", "generic")
"""From the widest registers to the narrowest; "native" is a build for this machine alone."""

_NEEDS = {
    "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "v3": {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "v2": {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"},
}
"""Processor flags, as Linux names them, behind the levels x86-64-v2, -v3 and -v4."""


def _processor_flags() -> set[str] | None:
    """Flags of the processor, or None where they cannot be learned."""
    try:
        return cast("set[str] | None", importlib.import_module(f"{__name__}._processor").flags())
    except ImportError:
        return None


def _available() -> list[str]:
    return [v for v in _VARIANTS if importlib.util.find_spec(f"{__name__}._core_{v}")]


def _needs(variant: str) -> set[str]:
    """Processor flags that a variant needs: those of its level and of the levels below it."""
    levels = [level for level in ("v2", "v3", "v4") if level <= variant <= "v4"]
    return set().union(*(_NEEDS[level] for level in levels))


def _choose(available: list[str]) -> str:
    forced = os.environ.get("JOUNCE_ISA")
    if forced:
        if forced not in available:
            raise ImportError(
                f"JOUNCE_ISA is {forced!r}, but this build has {', '.join(available)}"
            )
        missing = _needs(forced) - (_processor_flags() or _needs(forced))
        if missing:
            raise ImportError(
                f"JOUNCE_ISA is {forced!r}, but this processor lacks {', '.join(sorted(missing))}"
            )
        return forced
    if "native" in available:
        return "native"
    flags = _processor_flags()
    for variant in available:
        if variant == "generic" or (flags is not None and _needs(variant) <= flags):
            return variant
    if available:
        return available[-1]
    raise ImportError("the compiled core of jounce is missing; install the package with pip")


_available_variants = _available()
_variant = _choose(_available_variants)
_module: Any = importlib.import_module(f"{__name__}._core_{_variant}")
_module.use_errors(errors)

MOST_THREADS: int = _module.most_threads
"""How many threads a call may ask for."""

# Of calls of other libraries, see `jounce._core.long_calls`.
begin_long_call: Callable[[], None] = _module.begin_long_call
start_long_call: Callable[[Any, Any], None] = _module.start_long_call
end_long_call: Callable[[], None] = _module.end_long_call
await_long_calls: Callable[[], None] = _module.await_long_calls
forget_long_calls: Callable[[], None] = _module.forget_long_calls

if TYPE_CHECKING:

    class Tree:
        """What the kernels know of a model: its tree of elementary joints, and names."""

        nq: int
        nv: int

        def __init__(self, *arguments: Any) -> None: ...

else:
    Tree = _module.Tree

F = TypeVar("F", bound=Callable[..., Any])


class Compiled(NamedTuple):
    """What a function of Python is in the core."""

    name: str
    result: type[tuple[Any, ...]] | None
    """The named tuple that it returns, if it does."""


_compiled: dict[Any, Compiled] = {}


def compiled(function: Any) -> Compiled | None:
    """Say which kernel a function is, or None."""
    try:
        return _compiled.get(function)
    except TypeError:  # it cannot be a key
        return None


def compiled_functions() -> dict[str, Any]:
    """Public functions that are kernels, by name."""
    return {known.name: function for function, known in _compiled.items()}


def kernel(function: F, result: type[tuple[Any, ...]] | None = None) -> F:
    """Replace a documented Python signature, which has no body, by the kernel of the same name.

    The result is a built-in function: calling it costs no Python frame. Its documentation and
    its text signature are those of the function it replaces. `result` is the named tuple that it
    returns, if it does.

    Raises:
        ImportError: the kernel takes or returns something else than the function says.
    """
    name = function.__name__
    _compare(function, _module.signature(name), ["model"], getattr(result, "_fields", None))
    bound = _module.bind(name, name, _text(function), function.__module__, result)
    _compiled[bound] = Compiled(name, result)
    return cast(F, bound)


def _text(function: Callable[..., Any]) -> str:
    """Documentation of a built-in function, which begins with its signature."""
    signature = inspect.signature(function)
    bare = signature.replace(
        parameters=[
            p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()
        ],
        return_annotation=inspect.Signature.empty,
    )
    doc = textwrap.dedent("    " + (function.__doc__ or ""))
    return f"{function.__name__}{bare}\n--\n\n{doc}"


_DEFAULTS = {"twist": "body", "out": None, "threads": 1}
"""What a kernel uses where nothing is given; optional inputs are None."""


def _compare(
    function: Callable[..., Any],
    own: dict[str, list[str]],
    first: list[str],
    fields: tuple[str, ...] | None,
) -> None:
    """Require that a definition in Python and the kernel agree."""
    name = function.__name__
    inputs = [*first, *own["inputs"]]
    expected = [*inputs, *own["options"], *own["optional_inputs"], "out", "threads"]
    parameters = inspect.signature(function).parameters.values()
    defined = [p.name for p in parameters]
    if defined != expected:
        raise ImportError(f"{name} is defined with {defined}, but its kernel takes {expected}")
    given = {*own["options_with_defaults"], *own["optional_inputs"], "out", "threads"}
    optional = {key: _DEFAULTS.get(key) for key in expected if key in given}
    empty = inspect.Parameter.empty
    defaults = {p.name: p.default for p in parameters if p.default is not empty}
    if repr(defaults) != repr(optional):  # by their text, since True == 1
        raise ImportError(f"{name} has the defaults {defaults}, its kernel {optional}")
    for p in parameters:
        kind = p.KEYWORD_ONLY if p.name in ("out", "threads") else p.POSITIONAL_OR_KEYWORD
        if p.kind is not kind:
            raise ImportError(f"{name}: {p.name} is {p.kind.description}, not {kind.description}")
    outputs = tuple(own["outputs"])
    if (fields or outputs[:1]) != outputs:
        raise ImportError(f"{name} returns {fields}, but its kernel {outputs}")


def directional(known: dict[Any, Callable[..., Any]]) -> Callable[[F], F]:
    """Let calls ``function(f, model, arguments, tangents)`` with two tuples go to a kernel at once.

    Of the functions f in `known`, which are kernels, these are the kernels of their directional
    derivatives. All other calls go to the Python function that is replaced.
    """

    def replace(function: F) -> F:
        name, home = function.__name__, function.__module__
        return cast(F, _module.bind_directional(name, _text(function), home, function, known))

    return replace


_SHOWN: dict[str, str] = {}


def shown_name(kernel: str) -> str:
    """What messages call a kernel: the function that people know, if it is behind one alone."""
    return _SHOWN.get(kernel, kernel)


def raw(
    kernel: str,
    function: str | None = None,
    result: Any = None,
    part: Any = None,
    *,
    inputs: str = "",
) -> Any:
    """Return a kernel as it is, for a function that prepares its arguments in Python.

    Messages name the function, which people know, where it is not the kernel's own name. `result`
    is the named tuple that it returns, if it does; of a derivative, `part` is that of the value and
    of the derivative in it. `inputs` names what callers give by position after the model, in their
    order; a test compares it with the kernel and with the calls.
    """
    if function and _SHOWN.setdefault(kernel, function) != function:
        _SHOWN[kernel] = kernel
    shown = function or kernel
    text = f"Kernel behind jounce.{shown}, by position: model {inputs}".rstrip()
    return _module.bind(kernel, shown, text, __name__, result, part)


def kernel_names() -> tuple[str, ...]:
    """Names of all kernels of the core."""
    return tuple(_module.kernel_names())


def signature(name: str) -> dict[str, Any]:
    """What a kernel takes and gives, by name: inputs, options, outputs, and what axes count."""
    return dict(_module.signature(name))


def workspace_bytes(name: str, model: Any, order: int = 0, pack: bool = False) -> int:
    """Memory in bytes that a kernel needs for one state, or for one pack of states.

    Packs hold several states, and their results until these are written.
    """
    return int(_module.workspace_bytes(name, model, order, pack))


def branched_nodes(model: Any) -> int:
    """Nodes that a recursion visits if branches of one state fill the lanes of a register.

    0 where it would visit about as many as the robot has, so that one state runs without.
    """
    return int(_module.branched_nodes(model))


def doubtful_inertias(parameters: Any) -> list[int]:
    """Which rows of ten inertial parameters, (n, 10), may belong to bodies that cannot exist."""
    rows: list[int] = _module.doubtful_inertias(parameters)
    return rows


_SPOILED_AT_ONCE = 2**19
"""Numbers: some milliseconds."""


def spoil(array: Any, threads: int = 1) -> None:
    """Fill an array of float64 with NaN: what a failed call leaves in out.

    In portions: where its memory is new that takes long, and Ctrl-C shall be heard.
    """
    flat, count = array.reshape(-1), operator.index(threads)
    for start in range(0, flat.size, _SPOILED_AT_ONCE):
        _module.spoil(flat[start : start + _SPOILED_AT_ONCE], count)


def model_address(model: Any) -> int:
    """Address of a model's ``jounce_model``, for callers of the library that `get_library` names.

    Args:
        model: the robot, which must outlive the use of the address.

    Returns:
        The pointer as an integer.

    Raises:
        ArgumentTypeError: it is no model.

    Examples:
        >>> jc.model_address(jc.models.panda_like()) > 0
        True
    """
    try:
        return int(_module.model_address(model))
    except TypeError:
        raise errors.ArgumentTypeError(
            f"model must be a jounce.Model, got {type(model).__name__}"
        ) from None


def get_include() -> str:
    """Directory to include from: ``<jounce/jounce.h>`` for C, ``<jounce/...hpp>`` for C++20.

    Examples:
        >>> from pathlib import Path
        >>> Path(jc.get_include(), "jounce").is_dir()
        True
    """
    return str(_root() / "include")


def get_cmake_dir() -> str:
    """Directory of the CMake package, for ``find_package(jounce)``.

    Examples:
        >>> jc.get_cmake_dir().split("/")[-1]
        'cmake'
    """
    return str(_root() / "cmake")


def get_library() -> str:
    """Path of the shared library in use, whose functions ``<jounce/jounce.h>`` declares.

    Raises:
        MissingFileError: it was not installed with the package, or has been removed.

    Examples:
        >>> import ctypes
        >>> ctypes.CDLL(jc.get_library()) is not None
        True
    """
    names = (f"libjounce_{_variant}.so", f"libjounce_{_variant}.dylib", f"jounce_{_variant}.dll")
    directory = _root() / "_core"
    for name in names:
        if (directory / name).exists():
            return str(directory / name)
    raise errors.MissingFileError(
        f"the shared library of jounce, one of {', '.join(names)}, is not in {directory}; "
        "install the package again"
    )


def _root() -> Path:
    """Where the compiled part of the package is installed."""
    return Path(_module.__file__).parent.parent


@functools.cache
def _info() -> dict[str, Any]:
    return {
        "isa": _variant,
        "available": tuple(_available_variants),
        "pack_width": int(_module.pack_width),
        "machine": platform.machine(),
    }


def core_info() -> dict[str, Any]:
    """Say which variant of the compiled core runs.

    Returns:
        A dict: ``isa`` (the variant in use), ``available`` (those built), ``pack_width`` (how
        many states of a batch one register holds), ``machine`` and ``cores`` (those that this
        process may use, as ``threads=0`` does; `os.sched_setaffinity` changes them),
        ``cache_limit`` and ``cached`` (bytes that may be kept for results, and that are; see
        `clear_cache`).

    Examples:
        >>> jc.core_info()["pack_width"] > 0  # states of a batch in one register
        True
    """
    cache = {"cache_limit": int(_module.cache_limit()), "cached": int(_module.cached())}
    return {**_info(), "cores": int(_module.cores()), **cache}


def clear_cache(*, limit: int | None = None) -> None:
    """Give memory that is kept for results back to the system.

    New memory costs more time than to fill it: the system clears each page when it is first used.
    So the memory of a result of 64 KB or more is kept when the last array that uses it dies, for
    the next one of about that size: a loop of ``M = jc.mass_matrix(model, Q)`` is as fast as with
    ``out=``. At most 256 MB wait in this way, in blocks of at most a quarter of it; the oldest go
    first.

    Arrays of up to 32 KB that single states returned are given again once nobody holds them any
    more, up to eight of a shape. This holds a reference to each, so that to resize such a result
    in place, ``ndarray.resize`` has to be told ``refcheck=False``.

    Args:
        limit: how many bytes may wait from now on; 0 switches it off. The environment variable
            ``JOUNCE_CACHE_MB`` sets the limit from the start. It stays as it is by default.

    Raises:
        ArgumentError: the limit is not a number of bytes.

    Examples:
        >>> clear_cache()
        >>> clear_cache(limit=64 * 2**20)  # from now on at most 64 MB
        >>> clear_cache(limit=256 * 2**20)
    """
    if limit is not None:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < 2**60:
            given = errors.shown(limit)
            raise errors.ArgumentError(f"limit must be a number of bytes, 0 or more, got {given}")
        _module.set_cache_limit(limit)
    _module.clear_cache()


def _read_cache_limit() -> None:
    text = os.environ.get("JOUNCE_CACHE_MB")
    if text is None:
        return
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        given = errors.shown(text)
        raise ImportError(f"JOUNCE_CACHE_MB must be a whole number of megabytes, got {given}")
    _module.set_cache_limit(int(text) * 2**20)


_read_cache_limit()
