"""Statements of Python files, which laws about the sources look at."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


@functools.cache
def statements(path: Path) -> list[ast.AST]:
    """The module and all statements in it, at any depth, without their expressions: some 8 %."""
    return list(within(ast.parse(path.read_text(encoding="utf-8"))))


def within(node: ast.AST) -> list[ast.AST]:
    """A node and the statements in it."""
    found = [node]
    for one in found:
        for name in BLOCKS:
            block = getattr(one, name, None)
            found += block if isinstance(block, list) else ()
    return found
