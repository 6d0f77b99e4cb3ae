"""Run the xacro library on files that are looked at first, with limits, and say where it fails.

Each run has a copy of the library's module: it keeps the file in work in global variables, and what
is put in the place of some of its functions here must not change those of others.
"""

from __future__ import annotations

import functools
import glob
import importlib.util
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, NoReturn
from xml.dom import expatbuilder, minidom
from xml.parsers import expat

from jounce.errors import MissingExtraError, ModelError
from jounce.io._folder import Folder
from jounce.io._source import Source, after_prolog, read_source
from jounce.io._xacro_bounds import Bounds
from jounce.io._xml import malformed, refuse_deep

__all__ = ["Run"]


class _AbsentError(FileNotFoundError):
    """A file that is included or loaded is missing."""


_NEEDED = (
    "parse safe_eval eval_extension load_yaml message warning error create_global_symbols "
    "_global_symbols process_file XacroException Table"
)
_INTEGER = re.compile(r"\s*[-+]?\d{1,4000}\s*")
_NUMBER = re.compile(r"\s*[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|inf|infinity|nan)\s*", re.IGNORECASE)
_YAML = 20  # what a character of a YAML file counts: it takes as long as so many of others
_INCLUDE = 10  # what an include counts besides its elements

# What wrong files bring about; all else, such as an exception of a signal handler, is none of ours.
_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NameError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    expat.ExpatError,
    _AbsentError,
)


class _Element(minidom.Element):
    """An element that knows its file and line, and counts what is made when it is copied."""

    run: Run
    file = ""
    line = 0

    def cloneNode(self, deep: bool) -> Any:
        self.run.count_nodes(self)
        clone: Any = super().cloneNode(deep)
        for old, new in zip(_elements(self), _elements(clone), strict=True):
            _mark(new, old.run, old.file, old.line)
        return clone

    def label(self) -> str:
        """What messages call it."""
        name = f" name={self.getAttribute('name')!r}" if self.hasAttribute("name") else ""
        return f"<{self.tagName}{name}>"


def _mark(element: Any, run: Run, file: str, line: int) -> None:
    element.__class__ = _Element
    element.run, element.file, element.line = run, file, line


def _nodes(top: Any) -> Iterator[Any]:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.childNodes


def _elements(top: Any) -> Iterator[Any]:
    return (node for node in _nodes(top) if node.nodeType == minidom.Node.ELEMENT_NODE)


class _Builder(expatbuilder.ExpatBuilderNS):
    """Makes a document of elements that know their lines."""

    def __init__(self, run: Run, file: str) -> None:
        super().__init__()
        self._run, self._file = run, file

    def start_element_handler(self, name: str, attributes: Any) -> None:
        super().start_element_handler(name, attributes)
        _mark(self.curNode, self._run, self._file, self.getParser().CurrentLineNumber)


@functools.lru_cache(2)
def _code(name: str) -> CodeType:
    spec = importlib.util.find_spec(name)
    code = getattr(spec.loader, "get_code")(name) if spec is not None else None  # noqa: B009
    assert isinstance(code, CodeType)
    return code


def _copy(name: str) -> Any:
    module = ModuleType(name)
    module.__package__ = "xacro"
    exec(_code(name), vars(module))
    return module


class Run:
    """One expansion.

    Args:
        source: the file, which was read already.
        path: what messages call it.
        folder: where files that it names must be.
        max_bytes: largest size of each of them.

    Attributes:
        said: what the library printed.
    """

    def __init__(self, source: Source, path: str, folder: Folder, max_bytes: int) -> None:
        self._source, self._path = source, path
        self._folder, self._max_bytes = folder, max_bytes
        self._bounds = Bounds()
        self.said = io.StringIO()
        self._library = library = _copy("xacro")
        missing = [name for name in _NEEDED.split() if not hasattr(library, name)]
        if missing:
            raise MissingExtraError(
                f"this version of xacro has no {missing[0]}; xacro 2.1 has: pip install -U xacro"
            )
        library.parse = self._parse
        library.safe_eval = self._bounds.evaluate
        library.eval_extension = self._extension
        library.load_yaml = self._load_yaml
        library.Table._eval_literal = staticmethod(_literal)
        library.glob = SimpleNamespace(glob=self._glob)
        library.sys = SimpleNamespace(stderr=self.said)
        for name in ("message", "warning", "error"):
            setattr(library, name, _told(getattr(library, name), self.said))
        library._global_symbols = library.create_global_symbols()
        self._bounds.allow(library._global_symbols)

    def text(self, mappings: dict[str, str]) -> str:
        """Return the expanded file.

        Raises:
            ModelError: it cannot be expanded; the message names file, line and element.
        """
        try:
            document = self._library.process_file(self._path, mappings=mappings)
            return str(document.toprettyxml(indent="  "))
        except Exception as error:
            self._refuse(error)

    def count_nodes(self, top: Any) -> None:
        """Count what a copy of an element makes."""
        count = 0
        for node in _nodes(top):
            if node.nodeType == minidom.Node.ELEMENT_NODE:
                count += 1
                self._bounds.charge(sum(len(value) for _, value in node.attributes.items()))
            else:
                self._bounds.charge(1 + len(getattr(node, "data", "")))
        self._bounds.add_elements(count)

    def _parse(self, text: object, filename: str | None = None) -> Any:
        name = os.fspath(filename or self._path)
        source = self._source
        if name != self._path:
            try:
                source = self._file(name)
            except self._library.XacroException:
                self._library.filestack.pop()
                raise
        refuse_deep(source)
        try:
            document = _Builder(self, name).parseString(source.data)
        except expat.ExpatError as error:
            raise _malformed(name, source.data, error) from None
        if name != self._path:
            self._bounds.charge(len(source.data))
            self._bounds.add_elements(_INCLUDE + sum(1 for _ in _elements(document)))
        return document

    def _file(self, name: str) -> Source:
        """Read a file that the model names."""
        place = SimpleNamespace(error=ModelError)
        path = self._folder.find(place, name, [Path.cwd()])
        if path is None:
            error = self._library.XacroException(f"there is no file {name!r}", exc=_AbsentError())
            raise error  # which an include that is optional expects
        source = read_source(path, self._max_bytes)
        after_prolog(source)  # refuses declarations of entities
        return source

    def _glob(self, pattern: str) -> list[str]:
        """Look for files, only where they may be."""
        fixed = re.split(r"[*?[]", pattern)[0]
        folder = Path(os.path.abspath(os.path.dirname(fixed) or "."))
        if not self._folder.allows(folder / "any"):
            raise ModelError(f"{pattern!r} is outside of the model's folder")
        return glob.glob(pattern)

    @functools.cached_property
    def _substitution(self) -> Any:
        """The module for ``$(find package)`` and the like."""
        module = _copy("xacro.substitution_args")
        find = module._eval_find

        def found(package: str) -> Any:
            path = find(package)
            self._folder.add_package(path)
            return path

        module._eval_find = found
        module.eval = self._bounds.evaluate
        return module

    def _extension(self, text: str) -> Any:
        library = self._library
        if text == "$(cwd)":
            return os.path.abspath(library.root_dir)
        try:
            module = self._substitution
            context = library.substitution_args_context
            return self._bounds.keep(module.resolve_args(text, context=context))
        except ImportError as error:
            raise ModelError(f"{text} is not supported: {error}") from None
        except module.ArgException as error:
            raise ModelError(f"{text}: there is no argument {str(error)!r}") from None

    def _load_yaml(self, filename: str) -> Any:
        library = self._library
        try:
            yaml = importlib.import_module("yaml")
        except ImportError:
            raise MissingExtraError("YAML files need PyYAML: pip install pyyaml") from None
        name = library.abs_filename_spec(filename)
        data = self._file(name).data
        self._bounds.charge(_YAML * len(data))
        loader = _yaml_loader(yaml, library, self._bounds)
        library.filestack.append(name)
        try:
            return library.YamlListWrapper.wrap(yaml.load(data, loader))
        except yaml.YAMLError as error:
            raise ModelError(f"{name}: {error}") from None
        finally:
            library.filestack.pop()

    def _refuse(self, told: BaseException) -> NoReturn:
        """Raise what a wrong file is refused with; let all else through as it is."""
        wrapper: type[Any] = self._library.XacroException
        error = told
        while isinstance(error, wrapper) and (error.exc or error.__context__):
            error = error.exc or error.__context__
        faults = [wrapper, *_FAULTS]
        if "_substitution" in vars(self):
            faults.append(self._substitution.SubstitutionException)
        if isinstance(error, MissingExtraError) or not isinstance(error, tuple(faults)):
            raise error from None
        if isinstance(error, ModelError) and re.match(r"[^\n]+:\d+: ", str(error)):
            raise error from None  # which names its place
        reason = " ".join((str(told) or repr(told)).split())
        if isinstance(error, RecursionError):
            reason = "elements, macros or includes are nested too deep"
        raise ModelError(f"{self._place(told)}: xacro cannot expand it: {reason}") from error

    def _place(self, error: BaseException) -> str:
        """The innermost element that the library worked on."""
        found, trace = None, error.__traceback__
        while trace is not None:
            frame = trace.tb_frame
            if frame.f_code.co_filename == _code("xacro").co_filename:
                local = frame.f_locals
                node = local.get("node", local.get("elt"))
                while node is not None and not isinstance(node, _Element):
                    node = getattr(node, "parentNode", None)
                found = node or found
            trace = trace.tb_next
        return self._path if found is None else f"{found.file}:{found.line}: {found.label()}"


def _literal(value: Any) -> Any:
    """The number or truth value that a text stands for.

    The library tries `int` and `float`, and hides what a signal handler raises meanwhile.
    """
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if _INTEGER.fullmatch(value):
        return int(value)
    if _NUMBER.fullmatch(value):
        return float(value)
    return {"true": True, "True": True, "false": False, "False": False}.get(value, value)


def _told(tell: Callable[..., None], stream: io.StringIO) -> Callable[..., None]:
    @functools.wraps(tell)
    def told(*arguments: Any, **options: Any) -> None:
        tell(*arguments, **{**options, "file": stream})

    return told


def _malformed(name: str, data: bytes, error: expat.ExpatError) -> ModelError:
    text = f"xacro cannot expand it: {expat.ErrorString(error.code)}"
    fault = SimpleNamespace(line=error.lineno, column=error.offset, message=text)
    return malformed(name, data, [fault])


def _yaml_loader(yaml: Any, library: Any, bounds: Bounds) -> Any:
    """Return a loader with xacro's units that counts what merging makes."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        def flatten_mapping(self, node: Any) -> None:
            for key, value in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
                    for one in merged:
                        if isinstance(one, yaml.MappingNode):
                            self.flatten_mapping(one)
                            bounds.charge(_YAML * len(one.value))
            super().flatten_mapping(node)

    for unit in library.ConstructUnits:
        Loader.add_constructor(unit.value.tag, unit.constructor)
    return Loader
