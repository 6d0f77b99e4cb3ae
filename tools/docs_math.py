"""A Markdown extension: TeX between dollar signs becomes drawings while the site is built.

``$a$`` in a line and ``$$a$$`` on lines of its own, as on GitHub; indented formulas of docstrings
are drawn too (`docs_formulas`). ziamath draws glyphs of its own font as SVG, so that readers need
no script, font or network.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element

import ziamath
from docs_formulas import tex, tex_lines
from markdown import Markdown
from markdown.blockprocessors import BlockProcessor
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor

ziamath.config.svg2 = False  # no symbols shared by name: each drawing stands alone
SIZE = 20.0
"""Size of the drawing; pages scale it to their own letters."""
EM = 17.0
"""How many units of the drawing are as wide as 1em of text, so that letters look equally large."""
INLINE = r"(?<![\\$])\$(?![\s$])([^$\n]*[^\s$\\])\$(?![\d$])"
POWERS = r"(?<!`)(`{1,2})((?!.*==)[^`\n]*\^[^`\n]*)\1(?!`)"
"""Code in a line that has a power, which Python writes otherwise: a formula of a docstring."""
DISPLAY = re.compile(r"^\$\$(.+)\$\$$", re.DOTALL)


class MathExtension(Extension):
    """Formulas of both kinds."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register the patterns: in lines after code, before escapes."""
        md.inlinePatterns.register(_InLine(INLINE, md), "docs-math", 185)
        md.inlinePatterns.register(_Powers(POWERS, md), "docs-powers", 195)
        md.parser.blockprocessors.register(_Display(md.parser), "docs-math", 85)
        md.parser.blockprocessors.register(_Indented(md.parser), "docs-formulas", 84)


class _InLine(InlineProcessor):
    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]
        return self.md.htmlStash.store(drawing(m[1], inline=True)), m.start(0), m.end(0)


class _Powers(InlineProcessor):
    def handleMatch(  # type: ignore[override]
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int] | tuple[None, None, None]:
        written = tex(m[2])
        if written is None:
            return None, None, None
        return self.md.htmlStash.store(drawing(written, inline=True)), m.start(0), m.end(0)


class _Display(BlockProcessor):
    def test(self, parent: Element, block: str) -> bool:
        return DISPLAY.match(block.strip()) is not None

    def run(self, parent: Element, blocks: list[str]) -> None:
        found = DISPLAY.match(blocks.pop(0).strip())
        assert found
        _append(self, parent, [found[1]])


class _Indented(BlockProcessor):
    """Indented lines that are formulas; words that end with ``::`` come before code."""

    def test(self, parent: Element, block: str) -> bool:
        return block.startswith(" " * 4) and tex_lines(block) is not None

    def run(self, parent: Element, blocks: list[str]) -> bool | None:
        before = self.lastChild(parent)
        if before is not None and (before.tag == "pre" or (before.text or "").endswith("::")):
            return False
        _append(self, parent, tex_lines(blocks.pop(0)) or [])
        return None


def _append(processor: BlockProcessor, parent: Element, lines: list[str]) -> None:
    """Put formulas below each other at the end of what was read so far."""
    drawn = "".join(f"<div>{drawing(line, inline=False)}</div>" for line in lines)
    paragraph = Element("p")
    paragraph.text = processor.parser.md.htmlStash.store(f'<div class="formula">{drawn}</div>')
    parent.append(paragraph)


@cache
def drawing(tex: str, *, inline: bool) -> str:
    """SVG of a formula, as large as the text around it; its TeX is the label for readers by ear."""
    tex = " ".join(tex.split())
    drawn = ziamath.Latex(tex, size=SIZE, inline=inline, color="currentColor")
    svg = drawn.svgxml()
    svg.set("width", f"{float(svg.get('width', 0)) / EM:.3f}em")
    svg.set("height", f"{float(svg.get('height', 0)) / EM:.3f}em")
    _, top, _, high = (float(x) for x in svg.get("viewBox", "0 0 0 0").split())
    svg.set("style", f"vertical-align: {-(top + high) / EM:.3f}em")
    svg.set("class", "math")
    svg.set("role", "img")
    text = ziamath.zmath.ET.tostring(svg, encoding="unicode")
    return text.replace("<svg ", f'<svg aria-label="{html.escape(tex)}" ', 1)


def makeExtension(**options: Any) -> MathExtension:  # the name that Markdown asks for
    """Make the extension."""
    return MathExtension(**options)
