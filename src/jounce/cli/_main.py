"""Parse the command line, run the command, and turn errors into messages and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence

import jounce
from jounce.cli import completion, dynamics, models, motion, tools
from jounce.cli._common import CANNOT, INTERRUPTED, OK, WRONG, complain
from jounce.errors import DivergenceError, Error, LayoutWarning, ModelError, SingularError

__all__ = ["main", "parser"]

_NEGATIVE = re.compile(r"-[\d.]")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Args:
        arguments: by default those of the process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    if not given:
        parser().print_help(sys.stderr)
        return CANNOT
    with _names_in_codes(sys.stdout), _names_in_codes(sys.stderr):
        return _run(given)


@contextlib.contextmanager
def _names_in_codes(stream: object) -> Iterator[None]:
    """Let a stream write in codes what it cannot hold."""
    if not isinstance(stream, io.TextIOWrapper):
        yield
        return
    before = stream.errors
    stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        stream.reconfigure(errors=before)


def _run(given: Sequence[str]) -> int:
    options = parser().parse_args(_with_negative_numbers(given))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", jounce.ModelWarning)
            warnings.simplefilter("always", LayoutWarning)
            warnings.showwarning = _tell_warning
            code: int = options.run(options)
        sys.stdout.flush()
    except (ModelError, SingularError, DivergenceError) as error:
        return complain(error, WRONG)
    except BrokenPipeError:  # the reader, for example head, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except (Error, ImportError, OSError, MemoryError) as error:
        return complain(str(error) or type(error).__name__, CANNOT)
    except KeyboardInterrupt:
        return complain("interrupted", INTERRUPTED)
    return code


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    main_parser = argparse.ArgumentParser(
        prog="jounce",
        description="Rigid-body dynamics on Lie groups.",
        epilog="Exit codes: 0 all well, 1 a model or a result is wrong, 2 the command cannot be "
        "carried out, 130 interrupted.",
    )
    main_parser.add_argument("--version", action="version", version=f"jounce {jounce.__version__}")
    commands = main_parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for group in (models, dynamics, motion, tools):
        group.add_commands(commands)
    completion.add_command(commands, main_parser)
    return main_parser


def _with_negative_numbers(arguments: Sequence[str]) -> list[str]:
    """Join ``--q -1,2`` to ``--q=-1,2``, which argparse would take for an unknown option."""
    out: list[str] = []
    for argument in arguments:
        last = out[-1] if out else ""
        if _NEGATIVE.match(argument) and last.startswith("--") and "=" not in last and last != "--":
            out[-1] = f"{last}={argument}"
        else:
            out.append(argument)
    return out


def _tell_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"jounce: warning: {message}", file=sys.stderr)
