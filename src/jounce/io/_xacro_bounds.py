"""Evaluate the Python expressions of a xacro file with a limit on their work.

Python itself computes ``10**10**8`` for minutes and cannot be interrupted. So every operation of
an expression that can ask for much (powers, products, calls, loops) is replaced by a function here,
which counts what goes in before it works and what comes out. Functions are those that xacro offers,
and methods of numbers, strings and containers; everything else is refused.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from string import Formatter
from typing import Any

from jounce.errors import ModelError

__all__ = ["Bounds"]

MOST_WORK = 20_000_000
"""Characters, numbers and items that the expressions of a file may take in and make."""

MOST_ELEMENTS = 50_000
"""Elements that macros, blocks and includes of a file may make."""

MOST_BITS = 65_536
MOST_COUNT = 10_000
"""For ranges, widths of formats, and functions whose results grow with the number."""

_STEP = 25  # what an operation counts besides its numbers
_LOOP = 1000  # what a turn of a loop counts: 20,000 turns are the most
_TYPES = (str, list, tuple, dict, set, frozenset, int, float, complex, range)
_UNBOUNDED = ("translate", "format_map", "to_bytes")  # of what they make, arguments say nothing
_GROWING = (math.factorial, math.comb, math.perm)
_FORMAT = re.compile(r"%(?:\([^)]*\))?[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}


class Bounds:
    """Counts the work of one expansion; what exceeds a limit raises `ModelError`."""

    def __init__(self) -> None:
        self.elements = 0
        self._left = MOST_WORK
        self._functions: set[int] = set()
        self._opaque: tuple[type, ...] = ()
        # Names with a dot are none that an expression could use itself.
        self._guards = {
            "jounce.keep": self.keep,
            "jounce.part": self._part,
            "jounce.each": self._each,
            "jounce.call": self._call,
            "jounce.binary": self._binary,
        }

    def allow(self, symbols: Mapping[str, Any]) -> None:
        """Let expressions call the functions of xacro's table of symbols."""
        self._opaque = (*self._opaque, type(symbols)) if type(symbols) is not dict else self._opaque
        for name in list(symbols):
            value: Any = symbols[name]
            if isinstance(value, dict):
                self.allow(value)
            elif callable(value) and name != "vars":
                self._functions.add(id(value))

    def charge(self, work: int) -> None:
        """Count work that is about to be done."""
        self._left -= work
        if self._left < 0:
            raise ModelError(
                "its expressions and texts make too much: the limit is "
                f"{MOST_WORK:,} characters and numbers"
            )

    def add_elements(self, count: int) -> None:
        """Count elements that are about to be made."""
        self.elements += count
        if self.elements > MOST_ELEMENTS:
            raise ModelError(
                f"macros, blocks and includes make more than {MOST_ELEMENTS:,} elements, which is "
                "the limit"
            )

    def evaluate(self, text: str, names: dict[str, Any], local: Any = None) -> Any:
        """Return the value of an expression; takes the place of `eval`."""
        code = _compiled(text.strip())
        names.update(__builtins__=self._guards)
        return self.keep(eval(code, names, local))

    def keep(self, value: Any) -> Any:
        """Count a value with all that it holds, and return it."""
        self.charge(self._size(value))
        return value

    def _part(self, value: Any) -> Any:
        """Count a part of what was counted before, which may be a copy."""
        self.charge(1 + (len(value) if isinstance(value, (str, list, tuple, dict)) else 0))
        return value

    def _size(self, value: Any) -> int:
        waiting, total = [value], 0
        while waiting and total <= self._left:
            x = waiting.pop()
            total += 1
            if isinstance(x, (str, bytes)):
                total += len(x)
            elif isinstance(x, int):
                total += x.bit_length() >> 3
            elif isinstance(x, list):
                waiting += list.__iter__(x)  # not what xacro's lists make of it
            elif isinstance(x, (tuple, set, frozenset)):
                waiting += x
            elif isinstance(x, dict) and not isinstance(x, self._opaque):
                waiting += dict.keys(x)
                waiting += dict.values(x)
        return total

    def _each(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.charge(_LOOP)
            yield value

    def _binary(self, name: str, a: Any, b: Any) -> Any:
        self.charge(_STEP)
        self.keep(a)
        self.keep(b)
        whole = isinstance(a, int) and isinstance(b, int)
        if name == "Pow" and whole and abs(a) > 1 and b > 0:
            self._check_bits(a.bit_length() * b)
        elif name == "LShift" and whole:
            self._check_bits(a.bit_length() + b)
        elif name == "Mult" and whole:
            self._check_bits(a.bit_length() + b.bit_length())
        elif name == "Mult":
            for many, times in ((a, b), (b, a)):
                if isinstance(times, int) and not isinstance(many, (int, float, complex)):
                    self.charge(self._size(many) * max(times, 0))
        elif name == "Mod" and isinstance(a, str):
            widths = [width for match in _FORMAT.findall(a) for width in match if width]
            if any(width == "*" or int(width) > MOST_COUNT for width in widths):
                raise ModelError(f"the width of a format must be at most {MOST_COUNT:,}")
        return self.keep(_OPERATORS[name](a, b))

    def _check_bits(self, bits: int) -> None:
        if bits > MOST_BITS:
            raise ModelError(f"a number of {bits:,} bits is too large, the limit is {MOST_BITS:,}")

    def _call(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """Call what may be called, with arguments that are not too large for it."""
        values = (*arguments, *named.values())
        self.charge(2 * _STEP)
        self.keep(values)
        if _is_lambda(function):
            return self.keep(function(*arguments, **named))
        if id(function) not in self._functions:
            self._check_method(function, values)
        if function in (sum, math.prod):
            return self._fold(function, *arguments, **named)
        self._check_function(function, values)
        if function not in (isinstance, issubclass):
            arguments = tuple(map(self._callback, arguments))
            named = {name: self._callback(value) for name, value in named.items()}
        result = self.keep(function(*arguments, **named))
        if isinstance(result, range) and len(result) > MOST_COUNT:
            raise ModelError(f"a range must have at most {MOST_COUNT:,} numbers")
        return result

    def _callback(self, value: Any) -> Any:
        """Guard a function that the one that is called will call itself."""
        if not callable(value):
            return value

        def guarded(*arguments: Any) -> Any:
            self.charge(_LOOP)
            return self._call(value, *arguments)

        return guarded

    def _fold(self, function: Any, values: Iterable[Any], start: Any = None) -> Any:
        name = "Add" if function is sum else "Mult"
        total = start if start is not None else int(function is not sum)
        for value in values:
            total = self._binary(name, total, value)
        return total

    def _check_function(self, function: Any, values: tuple[Any, ...]) -> None:
        if function is type and len(values) != 1:
            raise ModelError("classes cannot be made in an expression")
        last = values[-1:] if function is round and len(values) > 1 else ()
        for value in values if function in _GROWING else last:
            if isinstance(value, int) and abs(value) > MOST_COUNT:
                raise ModelError(f"{value:,} is too large here, the limit is {MOST_COUNT:,}")
        if function in (set, frozenset, dict):
            for value in values:  # equal hashes take the square of the time
                self.charge(len(value) ** 2 >> 6 if hasattr(value, "__len__") else 0)

    def _check_method(self, function: Any, values: tuple[Any, ...]) -> None:
        """Refuse what is no method of a plain object, and what makes too much of its arguments."""
        own: Any = getattr(function, "__self__", None)
        kind = own if isinstance(own, type) else type(own)
        if isinstance(function, types.MethodDescriptorType):
            kind, own = function.__objclass__, values[0] if values else None
        method = isinstance(function, (types.BuiltinMethodType, types.MethodDescriptorType))
        name = getattr(function, "__name__", "")
        if not (method and issubclass(kind, _TYPES)) or issubclass(kind, self._opaque):
            raise ModelError(f"{name or repr(function)[:60]!r} cannot be called in an expression")
        if name in _UNBOUNDED or name.startswith("_"):
            raise ModelError(f"the method {name!r} cannot be called in an expression")
        self.keep(own)
        if issubclass(kind, str):
            if name == "format":
                _check_format(str(own))
            sizes = [len(x) if hasattr(x, "__len__") else _magnitude(x) for x in (own, *values)]
            self.charge(math.prod(max(size, 1) for size in sizes))


def _magnitude(value: Any) -> int:
    return abs(value) if isinstance(value, int) else 1


def _is_lambda(value: Any) -> bool:
    return isinstance(value, types.FunctionType) and value.__code__.co_filename == "<expression>"


def _check_format(text: str) -> None:
    """Refuse widths that are large or come from elsewhere."""
    for _, field, spec, _ in Formatter().parse(text):
        if spec and ("{" in spec or re.search(r"\d{5,}", spec)):
            raise ModelError(f"the width of a format must be at most {MOST_COUNT:,}")
        if field and "._" in field:
            raise ModelError("a format cannot use private attributes")


_NODES = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.BinOp, ast.UnaryOp),
    *(ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword, ast.Starred, ast.Attribute),
    *(ast.Subscript, ast.Slice, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp),
    *(ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.Lambda, ast.arguments, ast.arg),
    *(ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_MAKING = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)


class _Guarding(ast.NodeTransformer):
    """Replaces operations by calls of the guards."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, _NODES):
            raise ModelError(f"{type(node).__name__} is not supported in an expression")
        for word in ("id", "attr", "arg"):
            name = getattr(node, word, None)
            if isinstance(name, str) and name.startswith("__"):
                raise ModelError(f"the name {name!r} cannot be used in an expression")
        super().generic_visit(node)
        if isinstance(node, (ast.List, ast.Tuple)) and isinstance(node.ctx, ast.Store):
            return node
        if isinstance(node, ast.BinOp):
            if type(node.op).__name__ not in _OPERATORS:
                raise ModelError("@ is not supported in an expression")
            return _guard("binary", ast.Constant(type(node.op).__name__), node.left, node.right)
        if isinstance(node, ast.Call):
            called = ast.Name("jounce.call", ast.Load())
            return ast.Call(called, [node.func, *node.args], node.keywords)
        if isinstance(node, ast.Compare):
            node.left = _guard("keep", node.left)
            node.comparators = [_guard("keep", value) for value in node.comparators]
        elif isinstance(node, ast.comprehension):
            node.iter = _guard("each", node.iter)
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            return _guard("part", node)
        elif isinstance(node, _MAKING):
            return _guard("keep", node)
        return node


def _guard(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"jounce.{name}", ast.Load()), list(arguments), [])


@functools.lru_cache(4096)
def _compiled(text: str) -> types.CodeType:
    if len(text) > MOST_COUNT:
        raise ModelError(f"an expression must have at most {MOST_COUNT:,} characters")
    try:
        tree = ast.parse(text, "<expression>", "eval")
    except MemoryError:  # which is what Python says of deep nesting
        raise ModelError("the expression is nested too deep") from None
    guarded = ast.fix_missing_locations(_Guarding().visit(tree))
    code: types.CodeType = compile(guarded, "<expression>", "eval")
    return code
