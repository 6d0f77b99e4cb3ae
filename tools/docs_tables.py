"""A Markdown extension: simple tables of reStructuredText, which docstrings have, become tables.

A line of equal signs in columns begins the head, another one the rows, a third one ends them. A row
whose first cell is empty goes on with the row above it.
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
    spans = list(zip(starts, [*starts[1:], None], strict=True))
    rows: list[list[str]] = []
    for line in lines:
        cells = [line[a:b].strip().replace("|", "\\|") for a, b in spans]
        if rows and not cells[0] and line.strip():
            rows[-1] = [f"{old} {new}".strip() for old, new in zip(rows[-1], cells, strict=True)]
        elif line.strip():
            rows.append(cells)
    rows.insert(1, ["---"] * len(spans))
    return [f"| {' | '.join(row)} |" for row in rows]


def makeExtension(**options: Any) -> TableExtension:  # the name that Markdown asks for
    """Make the extension."""
    return TableExtension(**options)
