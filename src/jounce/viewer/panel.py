"""What stands beside the scene: sliders, check boxes, playback and plots."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce import lie
from jounce._types import Array
from jounce.kinematics import neutral
from jounce.viewer.curves import COLORS, Curves, curves_of, liveliest
from jounce.viewer.drawing import NODES
from jounce.viewer.layers import LAYERS

if TYPE_CHECKING:
    from jounce.viewer.viewer import Viewer

__all__ = ["Panel"]

_PICTURES_PER_SECOND = 30.0
_PLOTS_PER_SECOND = 5.0
_UNLIMITED_SLIDE = 1.0
"""Range, m, of a slider for a displacement without limits."""

_LATER = {"collisions", "wrenches", "constraint forces"}
"""Layers that only some robots have."""


class _Slider(NamedTuple):
    """A slider for a number of q."""

    handle: Any
    at: slice
    """Where the joint's coordinates are."""
    entry: int
    """Which one it is; negative: -1 less the component of the rotation vector of a quaternion."""


class Panel:
    """The controls of a viewer."""

    def __init__(self, viewer: Viewer, closed: threading.Event) -> None:
        self.viewer, self._closed = viewer, closed
        self._gui: Any = viewer.server.gui
        self._sliders: list[_Slider] = []
        self._busy = False
        tabs = self._gui.add_tab_group()
        moves = len(viewer.motion.t) > 1
        with tabs.add_tab("Motion" if moves else "Joints"):
            (self._add_playback if moves else self._add_joints)()
        with tabs.add_tab("Layers"):
            self._add_layers()

    def _add_layers(self) -> None:
        viewer = self.viewer
        acting, has = viewer._acting, set()
        has |= {"wrenches"} if acting.wrenches else set()
        has |= {"constraint forces"} if acting.constraints is not None else set()
        has |= {"collisions"} if viewer.drawing.collisions else set()
        moving = len(viewer.motion.t) > 1 or bool(viewer.motion.v.any())
        for name in (*NODES, *LAYERS):
            still = name in ("twists", "momentum") and not moving
            if not still and (name not in _LATER or name in has):
                self._add_layer(name)

    def _add_layer(self, name: str) -> None:
        box = self._gui.add_checkbox(name, name in self.viewer.overlays.shown)

        def switch(_: Any) -> None:
            (self.viewer.show if box.value else self.viewer.hide)(name)

        box.on_update(switch)

    def _add_joints(self) -> None:
        model = self.viewer.model
        poses = {"neutral": neutral(model), **model.poses}
        choice = self._gui.add_dropdown("pose", ["as given", *poses])
        given = self.viewer.q

        def take(_: Any) -> None:
            self._set_sliders(given if choice.value == "as given" else poses[choice.value])

        choice.on_update(take)

        for joint in model.joints:
            at = model.q_slice(joint.name)
            if at.stop > at.start:
                self._add_joint(joint, at)

    def _add_joint(self, joint: Any, at: slice) -> None:
        model, q = self.viewer.model, self.viewer.q
        if joint.type in ("free", "spherical"):
            turn = lie.quat_log(q[at][:4])
            for k, axis in enumerate("xyz"):
                self._add_slider(f"{joint.name} turn {axis}", -np.pi, np.pi, turn[k], at, -1 - k)
            for k in range(at.start + 4, at.stop):
                axis = "xyz"[k - at.start - 4]
                self._add_slider(f"{joint.name} {axis}", q[k] - 1, q[k] + 1, q[k], at, k)
            return
        for k in range(at.start, at.stop):
            name = joint.name if at.stop - at.start == 1 else f"{joint.name} {k - at.start}"
            slides = joint.type in ("prismatic",) or (joint.type == "cylindrical" and k > at.start)
            reach = _UNLIMITED_SLIDE if slides else np.pi
            low = model.lower[k] if np.isfinite(model.lower[k]) else -reach
            high = model.upper[k] if np.isfinite(model.upper[k]) else reach
            self._add_slider(name, min(low, q[k]), max(high, q[k]), q[k], at, k)

    def _add_slider(
        self, name: str, low: float, high: float, value: float, at: slice, entry: int
    ) -> None:
        """Add a slider, in steps that are round numbers."""
        step = 10.0 ** np.floor(np.log10(max(high - low, 1e-6) / 500))
        low, high = np.floor(low / step) * step, np.ceil(high / step) * step
        slider = self._gui.add_slider(name, low, high, step, float(np.clip(value, low, high)))
        self._sliders.append(_Slider(slider, at, entry))

        def move(_: Any) -> None:
            if not self._busy:
                self._read_sliders(at)

        slider.on_update(move)

    def _read_sliders(self, at: slice) -> None:
        """Move the joint whose slider was moved; the others keep their exact coordinates."""
        q, turn = self.viewer.q, np.zeros(3)
        own = [slider for slider in self._sliders if slider.at == at]
        for slider in own:
            if slider.entry < 0:
                turn[-1 - slider.entry] = slider.handle.value
            else:
                q[slider.entry] = slider.handle.value
        if own[0].entry < 0:
            q[at.start : at.start + 4] = lie.quat_exp(turn)
        self.viewer.q = q

    def _set_sliders(self, q: Array) -> None:
        self._busy = True
        try:
            for slider, at, entry in self._sliders:
                value = lie.quat_log(q[at][:4])[-1 - entry] if entry < 0 else q[entry]
                slider.value = float(np.clip(value, slider.min, slider.max))
        finally:
            self._busy = False
        self.viewer.q = q

    def _add_playback(self) -> None:
        t = self.viewer.motion.t
        gui = self._gui
        self._play = gui.add_checkbox("play", False)
        self._slider = gui.add_slider("t, s", 0.0, float(t[-1] - t[0]), 1e-3, 0.0)
        speeds = ["0.1", "0.25", "0.5", "1", "2", "4"]
        self._speed = gui.add_dropdown("speed", speeds, initial_value="1")
        self._slider.on_update(self._go)
        self._add_plots()
        threading.Thread(target=self._run, name="jounce-playback", daemon=True).start()

    def _go(self, _: Any) -> None:
        if not self._busy:
            self.viewer.time = float(self.viewer.motion.t[0]) + self._slider.value
            self._mark_time()

    def _run(self) -> None:
        """Advance the time while the box is checked."""
        last, marked = time.monotonic(), 0.0
        while not self._closed.wait(1 / _PICTURES_PER_SECOND):
            now = time.monotonic()
            passed, last = now - last, now
            if not self._play.value:
                continue
            elapsed = self._slider.value + passed * float(self._speed.value)
            elapsed = 0.0 if elapsed > self._slider.max else elapsed
            self._busy = True
            try:
                self._slider.value = elapsed
            finally:
                self._busy = False
            self.viewer.time = float(self.viewer.motion.t[0]) + elapsed
            if now - marked > 1 / _PLOTS_PER_SECOND:
                self._mark_time()
                marked = now

    def _add_plots(self) -> None:
        every = self._all_curves()
        self._curves = {curves.title: curves for curves in every}
        first = every[liveliest(every)].title
        self._choice = self._gui.add_dropdown("plot", list(self._curves), initial_value=first)
        self._plot: Any = None
        self._plot_folder = self._gui.add_folder(None)
        self._replace_plot(None)
        self._choice.on_update(self._replace_plot)

    def _all_curves(self) -> list[Curves]:
        motion = self.viewer.motion
        return curves_of(motion, self.viewer._acting.torques(motion))

    def _replace_plot(self, _: Any) -> None:
        if self._plot is not None:
            self._plot.remove()
        curves = self._curves[self._choice.value]
        series: list[dict[str, Any]] = [{"label": "t, s"}]
        for k, label in enumerate(curves.labels):
            series.append({"label": label, "stroke": COLORS[k], "width": 2})
        series.append({"label": "now", "stroke": "#333333", "width": 1})
        with self._plot_folder:
            self._plot = self._gui.add_uplot(
                self._data(curves),
                tuple(series),
                title=curves.unit,
                scales={"x": {"time": False, "auto": True}, "y": {"range": curves.span()}},
                aspect=1.4,
            )

    def _data(self, curves: Curves) -> tuple[Array, ...]:
        """Times, lines, and a vertical line at the time that is shown."""
        now = np.full(len(curves.t), np.nan)
        k = int(np.clip(np.searchsorted(curves.t, self.viewer.time), 0, len(now) - 2))
        now[k : k + 2] = curves.span()
        return (curves.t, *curves.lines, now)

    def _mark_time(self) -> None:
        self._plot.data = self._data(self._curves[self._choice.value])
