"""One HTML file of a scene: viser's player with what it plays inside, and plots over it."""

from __future__ import annotations

from html import escape
from typing import Any

from jounce._types import Array
from jounce.viewer.curves import COLORS, Curves, curves_of, liveliest
from jounce.viewer.motions import Shown

__all__ = ["export_page", "picture_of"]

_WIDTH, _HEIGHT = 340, 150
_LEFT, _TOP, _RIGHT, _BOTTOM = 46, 20, 8, 20

_STYLE = """
<style>
#jounce-plots { position: fixed; left: 10px; bottom: 50px; z-index: 900;
  box-sizing: content-box; width: 342px; max-width: calc(100vw - 40px);
  background: rgba(255, 255, 255, .92); border: 1px solid #d5d9de; border-radius: 6px;
  padding: 4px 8px; font: 12px system-ui, sans-serif; color: #333; }
#jounce-plots summary { cursor: pointer; }
#jounce-plots select { max-width: 100%; }
#jounce-plots svg { max-width: 100%; }
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
  const follow = () => {
    const field = document.querySelector("input.mantine-NumberInput-input");
    const elapsed = field ? parseFloat(field.value) : NaN;
    if (!isNaN(elapsed)) plots.forEach(p => {
      const line = p.querySelector("line"), span = parseFloat(line.dataset.span);
      const x = LEFT + Math.min(elapsed / span, 1) * (RIGHT - LEFT);
      line.setAttribute("x1", x);
      line.setAttribute("x2", x);
    });
    requestAnimationFrame(follow);
  };
  follow();
})();
</script>
""".replace("LEFT", str(_LEFT)).replace("RIGHT", str(_WIDTH - _RIGHT))


def export_page(recording: Any, motion: Shown, torques: Array) -> str:
    """The page with the scene of a recording of viser, and plots of a motion and its torques."""
    page: str = recording.as_html()
    if len(motion.t) < 2:
        return page
    plots = curves_of(motion, torques)
    first = liveliest(plots)
    choices = "".join(
        f"<option value='{k}'{' selected' if k == first else ''}>{escape(c.title)}</option>"
        for k, c in enumerate(plots)
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
    low, high = curves.span()
    x = _LEFT + (t - t[0]) / (t[-1] - t[0]) * (_WIDTH - _LEFT - _RIGHT)
    y = _TOP + (high - lines) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)
    rows = []
    for k, line in enumerate(y):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, line, strict=True))
        color = COLORS[k]
        name = f"<title>{escape(curves.labels[k])}</title>"
        rows.append(
            f"<polyline points='{points}' fill='none' stroke='{color}' stroke-width='1.6'>{name}"
            "</polyline>"
        )
    box = (
        f"<rect x='{_LEFT}' y='{_TOP}' width='{_WIDTH - _LEFT - _RIGHT}' "
        f"height='{_HEIGHT - _TOP - _BOTTOM}' fill='none' stroke='#c3c8ce'/>"
        f"<line x1='{_LEFT}' x2='{_LEFT}' y1='{_TOP}' y2='{_HEIGHT - _BOTTOM}' stroke='#333' "
        f"data-span='{t[-1] - t[0]:.6g}'/>"
    )
    return (
        f"<div><svg width='{_WIDTH}' height='{_HEIGHT}' viewBox='0 0 {_WIDTH} {_HEIGHT}' "
        f"role='img'>{box}{''.join(rows)}"
        f"{_texts(curves, low, high)}</svg><div>{_legend(curves)}</div></div>"
    )


def _texts(curves: Curves, low: float, high: float) -> str:
    bottom = _HEIGHT - _BOTTOM
    texts = [
        (_LEFT, _TOP - 7, "start", curves.unit),
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
        f"<span style='white-space:nowrap;color:{COLORS[k]}'>&#9644; {escape(label)}</span>"
        for k, label in enumerate(curves.labels)
    )
    return " ".join(words)
