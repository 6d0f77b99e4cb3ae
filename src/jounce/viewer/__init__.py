"""Robots and their motions in the browser, or in one HTML file (viser, extra ``view``).

viewer = jounce.view(model)          # a page with sliders for the joints
viewer = jounce.view(motion)         # plays a motion, with plots
viewer.save("motion.html")           # one file that opens without a server
"""

from jounce.viewer.viewer import Viewer, export, view

__all__ = ["Viewer", "export", "view"]


def __dir__() -> list[str]:
    return sorted(__all__)
