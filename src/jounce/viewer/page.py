"""One HTML file of a scene: viser's player with what it plays inside, and plots over it."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from jounce.viewer.curves import Curves, curves_of
from jounce.viewer.motions import Shown

__all__ = ["export_page", "picture_of"]

_WIDTH, _HEIGHT = 340, 150
_LEFT, _TOP, _RIGHT, _BOTTOM = 46, 20, 8, 20
_COLORS = ("#2e86de", "#e55039", "#27ae60", "#8e44ad", "#f39c12", "#16a085", "#2c3e50", "#d6336c")

_STYLE = """
<style>
#jounce-plots { position: fixed; left: 10px; bottom: 50px; z-index: 900; width: 342px;
  background: rgba(255, 255, 255, .92); border: 1px solid #d5d9de; border-radius: 6px;
  padding: 4px 8px; font: 12px system-ui, sans-serif; color: #333; }
#jounce-plots summary { cursor: pointer; }
#jounce-plots > div { display: none; }
#jounce-plots > div.chosen { display: block; }
</style>
"""

_SCRIPT = """
<script>
(() => {
  const plots = [...document.querySelectorAll("#jounce-plots > div")];
  const choice = document.querySelector("#jounce-plots select");
  const choose = () => plots.forEach((p, k) => p.classList.toggle("chosen", k == choice.value));
  choice.addEventListener("change", choose);
  choose();
  // The player tells its time in a field; without it there is no line at the time.
  setInterval(() => {
    const field = document.querySelector("input.mantine-NumberInput-input");
    const elapsed = field ? parseFloat(field.value) : NaN;
    if (!isNaN(elapsed)) plots.forEach(p => {
      const line = p.querySelector("line"), span = parseFloat(line.dataset.span);
      const x = LEFT + Math.min(elapsed / span, 1) * (RIGHT - LEFT);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    });
  }, 100);
})();
</script>
""".replace("LEFT", str(_LEFT)).replace("RIGHT", str(_WIDTH - _RIGHT))


def export_page(recording: Any, motion: Shown) -> str:
    """The page with the scene of a recording of viser, and of a motion the plots."""
    page: str = recording.as_html()
    if len(motion.t) < 2:
        return page
    plots = curves_of(motion)
    choices = "".join(
        f"<option value='{k}'>{escape(c.title)}</option>" for k, c in enumerate(plots)
    )
    pictures = "\n".join(map(picture_of, plots))
    box = (
        "<details id='jounce-plots' open><summary>plot of "
        f"<select>{choices}</select></summary>{pictures}</details>"
    )
    end = page.rindex("</body>")
    return page[:end] + _STYLE + box + _SCRIPT + page[end:]


def picture_of(curves: Curves) -> str:
    """Lines over time as an SVG picture with a frame, ticks at its ends and a legend."""
    t, lines = curves.t, curves.lines
    low, high = float(np.min(lines)), float(np.max(lines))
    margin = 0.05 * (high - low) or 1e-3 + 0.05 * abs(high)
    low, high = low - margin, high + margin
    x = _LEFT + (t - t[0]) / (t[-1] - t[0]) * (_WIDTH - _LEFT - _RIGHT)
    y = _TOP + (high - lines) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
    rows = []
    for k, line in enumerate(y):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, line, strict=True))
        color = _COLORS[k % len(_COLORS)]
        name = f"<title>{escape(curves.labels[k])}</title>"
        rows.append(
            f"<polyline points='{points}' fill='none' stroke='{color}' stroke-width='1.6'>{name}"
            "</polyline>"
        )
    box = (
        f"<rect x='{_LEFT}' y='{_TOP}' width='{_WIDTH - _LEFT - _RIGHT}' "
        f"height='{_HEIGHT - _TOP - _BOTTOM}' fill='none' stroke='#c3c8ce'/>"
        f"<line x1='{_LEFT}' x2='{_LEFT}' y1='{_TOP}' y2='{_HEIGHT - _BOTTOM}' stroke='#888' "
        f"data-span='{t[-1] - t[0]:.6g}'/>"
    )
    return (
        f"<div><svg width='{_WIDTH}' height='{_HEIGHT}' role='img'>{box}{''.join(rows)}"
        f"{_texts(curves, low, high)}</svg><div>{_legend(curves)}</div></div>"
    )


def _texts(curves: Curves, low: float, high: float) -> str:
    bottom = _HEIGHT - _BOTTOM
    texts = [
        (_LEFT, _TOP - 7, "start", f"{curves.title}, {curves.unit}"),
        (_LEFT - 4, _TOP + 8, "end", f"{high:.3g}"),
        (_LEFT - 4, bottom, "end", f"{low:.3g}"),
        (_LEFT, bottom + 13, "start", f"{curves.t[0]:.3g}"),
        (_WIDTH - _RIGHT, bottom + 13, "end", f"{curves.t[-1]:.3g} s"),
    ]
    return "".join(
        f"<text x='{x}' y='{y}' text-anchor='{anchor}' font-size='11'>{escape(text)}</text>"
        for x, y, anchor, text in texts
    )


def _legend(curves: Curves) -> str:
    words = (
        f"<span style='color:{_COLORS[k % len(_COLORS)]}'>&#9644; {escape(label)}</span>"
        for k, label in enumerate(curves.labels)
    )
    return " ".join(words)
