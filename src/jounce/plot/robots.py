"""Stick figures of robots, still and moving."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.errors import ArgumentError, MissingExtraError, MissingFileError
from jounce.kinematics import body_pose, body_poses, neutral, normalize
from jounce.model import Model, inertia
from jounce.model.model import require_model
from jounce.plot._common import label_text, pyplot
from jounce.plot.trees import KINDS, OTHER
from jounce.simulation import SimulatedMotion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["animate", "robot"]

_MOST_GHOSTS = 200


class _Sticks(NamedTuple):
    """A robot as points and lines, for a number of configurations."""

    joints: Array
    """(n, bodies, 3) where the bodies' joints are."""
    lines: Array
    """(n, lines, 2, 3) ends of sticks: from joint to joint, and to the tips of the last bodies."""
    com: Array
    """(n, 3) center of mass."""

    def span(self) -> tuple[Array, Array]:
        """Middle and halves of the sides of a box around everything that is not too flat."""
        points = np.concatenate([x.reshape(-1, 3) for x in self])
        low, high = points.min(axis=0), points.max(axis=0)
        half = 0.54 * (high - low)
        return (low + high) / 2, np.maximum(half, max(0.4 * float(half.max()), 0.05))


def robot(
    model: Model,
    q: ArrayLike | None = None,
    *,
    frames: Sequence[str] = (),
    title: str | None = None,
    view: tuple[float, float] = (18, -55),
) -> Figure:
    """Draw a robot as a stick figure, or several configurations of it as fading ghosts.

    Sticks go from joint to joint, and from the last joints to the tips of their bodies: the
    farthest frame on them, or twice as far as the center of mass. Marks tell types of joints; the
    cross is the center of mass.

    Args:
        model: the robot.
        q: (nq,) coordinates, or (n, nq): the last ones are drawn in full; by default the neutral
            ones.
        frames: names of frames and bodies whose axes are drawn, x red, y green, z blue.
        title: of the figure; by default the robot's name.
        view: elevation and azimuth of the viewer, degrees.

    Raises:
        ArgumentError: q has another shape, or holds more than 200 configurations.
        UnknownNameError: there is no such frame.

    Examples:
        >>> from jounce import plot
        >>> dog = jc.models.quadruped()
        >>> figure = plot.robot(dog, dog.poses["standing"])
        >>> figure.axes[0].name
        '3d'
    """
    require_model(model)
    given = _configurations(model, neutral(model) if q is None else q)
    if len(given) > _MOST_GHOSTS:
        raise ArgumentError(f"q must hold at most {_MOST_GHOSTS} configurations, got {len(given)}")
    sticks = _sticks(model, given)
    figure, panel = _scene(sticks, view)
    for k in range(len(given)):
        strength = 0.12 + 0.5 * (k / len(given)) if k < len(given) - 1 else 1.0
        _draw(panel, model, sticks, k, strength)
    length = 0.12 * float(sticks.span()[1].max())
    for name in frames:
        _draw_axes(panel, model, given[-1], name, length)
    panel.legend(loc="upper left", bbox_to_anchor=(0.02, 0.98), frameon=False, fontsize="small")
    figure.suptitle(label_text(model.name) if title is None else title, y=0.98)
    return figure


def animate(
    motion: SimulatedMotion,
    path: str | os.PathLike[str],
    *,
    fps: float = 25.0,
    speed: float = 1.0,
    trail: str | None = None,
    view: tuple[float, float] = (18, -55),
    dpi: int = 90,
) -> Path:
    """Write a motion as a moving stick figure, a GIF or a film.

    Args:
        motion: what `jounce.simulate` returns; of a batch the first motion.
        path: ends in .gif (needs Pillow, which matplotlib brings) or .mp4 (needs ffmpeg).
        fps: pictures per second.
        speed: seconds of the motion per second of the film.
        trail: a body or frame whose way is drawn.
        view: elevation and azimuth of the viewer, degrees.
        dpi: resolution.

    Returns:
        The path.

    Raises:
        ArgumentError: another ending, or a rate or speed that is not positive.
        MissingFileError: there is no such folder.
        MissingExtraError: matplotlib or ffmpeg is missing.

    Examples:
        >>> from jounce import plot
        >>> from tempfile import TemporaryDirectory
        >>> motion = jc.simulate(jc.models.chain(2), [0, 0], [1, 0], np.linspace(0, 1, 11))
        >>> with TemporaryDirectory() as folder:
        ...     path = plot.animate(motion, f"{folder}/swing.gif", fps=5, dpi=20)
        ...     path.read_bytes()[:3]
        b'GIF'
    """
    file = Path(path)
    plt, writer = pyplot(), _writer(file, fps)
    if not (fps > 0 and speed > 0):
        raise ArgumentError(f"fps and speed must be positive, got {fps!r} and {speed!r}")
    model = motion.model
    q, v = (x.reshape(-1, *x.shape[-2:])[0] for x in (motion.q, motion.v))
    one = SimulatedMotion(model, motion.t, q, v)
    count = max(1, round((one.t[-1] - one.t[0]) / speed * fps) + 1)
    times = np.linspace(one.t[0], one.t[-1], count)
    shown = one.at(times, approximate=one.dense is None).q
    sticks = _sticks(model, shown)
    way = None if trail is None else body_pose(model, shown, trail)
    figure, panel = _scene(sticks, view)
    lines = _draw(panel, model, sticks, 0, 1.0)
    (path_line,) = panel.plot([], [], [], color="C1", linewidth=1.2)

    def show(k: int) -> None:
        for artist, points in zip(lines, _pieces(model, sticks, k), strict=True):
            artist.set_data_3d(*points.T)
        if way is not None:
            path_line.set_data_3d(*way[: k + 1, :3, 3].T)
        panel.set_title(f"{label_text(model.name)}, t = {times[k]:.2f} s", y=0.94)

    animation = importlib.import_module("matplotlib.animation")
    film = animation.FuncAnimation(figure, show, frames=count, interval=1000 / fps)
    film.save(file, writer=writer, dpi=dpi)
    plt.close(figure)
    return file


def _writer(file: Path, fps: float) -> Any:
    animation = importlib.import_module("matplotlib.animation")
    if file.suffix.lower() not in (".gif", ".mp4"):
        raise ArgumentError(f"path must end in .gif or .mp4, got {str(file)!r}")
    if not file.parent.is_dir():
        raise MissingFileError(f"there is no folder {str(file.parent)!r} to write a film in")
    if file.suffix.lower() == ".gif":
        return animation.PillowWriter(fps=fps)
    if shutil.which("ffmpeg") is None:
        raise MissingExtraError(".mp4 files need ffmpeg, which is not installed; .gif files do not")
    return animation.FFMpegWriter(fps=fps, extra_args=["-pix_fmt", "yuv420p"])


def _configurations(model: Model, q: ArrayLike) -> Array:
    given = reals("q", q)
    if given.ndim not in (1, 2) or given.shape[-1] != model.nq or not given.size:
        raise ArgumentError(
            f"q must have shape ({model.nq},) or (n, {model.nq}), got {given.shape}"
        )
    return normalize(model, np.atleast_2d(given))


def _sticks(model: Model, q: Array) -> _Sticks:
    poses = body_poses(model, q)  # (n, bodies, 4, 4)
    joints = poses[..., :3, 3]
    lines = [
        np.stack([joints[:, p], joints[:, k]], 1) for k, p in enumerate(model.parents) if p >= 0
    ]
    lines += [
        np.stack([np.zeros_like(joints[:, k]), joints[:, k]], 1)
        for k, p in enumerate(model.parents)
        if p < 0 and model.bodies[k].joints[0].type != "free"
    ]
    for body, tip in _tips(model).items():
        end = joints[:, body] + np.einsum("nij,j->ni", poses[:, body, :3, :3], tip)
        lines.append(np.stack([joints[:, body], end], 1))
    masses, centers, _ = inertia.about_com(model.inertias)
    places = joints + np.einsum("nbij,bj->nbi", poses[..., :3, :3], centers)
    total = max(float(masses.sum()), np.finfo(float).tiny)
    com = np.einsum("b,nbi->ni", masses / total, places)
    drawn = np.stack(lines, 1) if lines else np.zeros((len(q), 0, 2, 3))
    return _Sticks(joints, drawn, com)


def _tips(model: Model) -> dict[int, Array]:
    """Where bodies without children end, in their frames."""
    _, centers, _ = inertia.about_com(model.inertias)
    parents = set(map(int, model.parents))
    out = {k: 2 * centers[k] for k in range(model.n_bodies) if k not in parents}
    for frame in model.frames.values():
        point = frame.placement[:3, 3]
        if frame.body in out and np.linalg.norm(point) > np.linalg.norm(out[frame.body]):
            out[frame.body] = point
    return out


def _scene(sticks: _Sticks, view: tuple[float, float]) -> tuple[Figure, Any]:
    """An empty room of equal axes around everything."""
    figure = pyplot().figure(figsize=(6.4, 6.4))
    panel = figure.add_axes((0.0, 0.0, 0.97, 0.97), projection="3d")
    middle, half = sticks.span()
    for axis, c, h in zip("xyz", middle, half, strict=True):
        panel.set(**{f"{axis}lim": (c - h, c + h)})
    panel.set_box_aspect(half, zoom=0.66 * float(np.linalg.norm(half) / half.max()))
    panel.view_init(*view)
    panel.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
    panel.tick_params(labelsize="x-small")
    panel.locator_params(nbins=5)
    return figure, panel


def _kinds(model: Model) -> dict[str, list[int]]:
    """Bodies by the type of their last joint."""
    out: dict[str, list[int]] = {}
    for k, body in enumerate(model.bodies):
        out.setdefault(body.joints[-1].type if body.joints else "fixed", []).append(k)
    return out


def _pieces(model: Model, sticks: _Sticks, k: int) -> list[Array]:
    """Points of everything that is drawn of one configuration: sticks, joints by type, center."""
    lines = sticks.lines[k]
    gaps = np.full((len(lines), 1, 3), np.nan)
    shadow = np.concatenate([lines, gaps], axis=1).reshape(-1, 3)
    marks = [sticks.joints[k, bodies] for bodies in _kinds(model).values()]
    return [shadow, *marks, sticks.com[k : k + 1]]


def _draw(panel: Any, model: Model, sticks: _Sticks, k: int, strength: float) -> list[Any]:
    """Draw one configuration; return its lines, in the order of `_pieces`."""
    shadow, *marks, com = _pieces(model, sticks, k)
    line = {"color": "0.25", "linewidth": 2.6, "solid_capstyle": "round", "alpha": strength}
    artists = list(panel.plot(*shadow.T, **line))
    for kind, points in zip(_kinds(model), marks, strict=True):
        color, mark = KINDS.get(kind, OTHER)
        size = 5 if strength == 1 else 3
        style = {"color": color, "alpha": strength, "markersize": size, "linestyle": "none"}
        label = kind if strength == 1 else None
        artists += panel.plot(*points.T, marker=mark, label=label, **style)
    label = "center of mass" if strength == 1 else None
    style = {"color": "k", "alpha": strength, "markersize": 8, "linestyle": "none"}
    artists += panel.plot(*com.T, marker="+", label=label, **style)
    return artists


def _draw_axes(panel: Any, model: Model, q: Array, name: str, length: float) -> None:
    pose = body_pose(model, q, name)
    for k, color in enumerate(("tab:red", "tab:green", "tab:blue")):
        ends = np.stack([pose[:3, 3], pose[:3, 3] + length * pose[:3, k]])
        panel.plot(*ends.T, color=color, linewidth=1.6)
    panel.text(*pose[:3, 3], f" {label_text(name)}", fontsize="x-small")
