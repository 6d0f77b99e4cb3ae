"""Robots and their motions in the browser, in one HTML file, or as a picture (extra ``view``).

`jounce.view` opens a page with sliders for the joints, or plays a motion with plots beside it;
`Viewer.save` and `export` write one file that opens without a server; `draw_robot` draws with
matplotlib.
"""

from jounce.viewer.picture import draw_robot
from jounce.viewer.viewer import Viewer, export, view

__all__ = ["Viewer", "draw_robot", "export", "view"]


def __dir__() -> list[str]:
    return sorted(__all__)
