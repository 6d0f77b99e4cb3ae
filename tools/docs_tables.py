"""A Markdown extension: simple tables of reStructuredText, which docstrings have, become tables.

A line of equal signs in columns begins the head, another one the rows, a third one ends them. A row
whose first cell is empty goes on with the row above it, as does one after a comma.
"""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor

RULE = re.compile(r"^\s*=+(?: +=+)+\s*$")


class TableExtension(Extension):
    """Simple tables."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Run before anything takes a rule for the underline of a heading."""
        md.preprocessors.register(_Tables(md), "docs-tables", 40)


class _Tables(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        k = 0
        while k < len(lines):
            rules = [i for i in range(k, len(lines)) if RULE.match(lines[i])][:3]
            if not RULE.match(lines[k]) or len(rules) < 3:
                out.append(lines[k])
                k += 1
                continue
            _, head_end, end = rules
            rows = lines[k + 1 : head_end] + lines[head_end + 1 : end]
            out += ["", *_table(lines[k], rows), ""]
            k = end + 1
        return out


def _table(rule: str, lines: list[str]) -> list[str]:
    starts = [match.start() for match in re.finditer("=+", rule)]
    rows: list[list[str]] = []
    for line in filter(str.strip, lines):
        cells = _cells(line, starts)
        if rows and (not cells[0] or rows[-1][0].endswith(",")):
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
        else:
            rows.append(cells)
    rows.insert(1, ["---"] * len(starts))
    return [f"| {' | '.join(row)} |" for row in rows]


def _cells(line: str, starts: list[int]) -> list[str]:
    """Cut a line into columns; text that runs over the gap before a column stays whole."""
    cells = []
    for a, b in zip(starts, [*starts[1:], None], strict=True):
        if cells and line[a - 2 : a].strip():
            cells[-1] += line[a - 2 : b]
            cells.append("")
        else:
            cells.append(line[a : None if b is None else b - 2])
    return [cell.strip().replace("|", "\\|") for cell in cells]


def makeExtension(**options: Any) -> TableExtension:  # the name that Markdown asks for
    """Make the extension."""
    return TableExtension(**options)
