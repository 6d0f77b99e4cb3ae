"""The viewer: a page in the browser that shows a robot, or plays its motion."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from jounce._core.arrays import reals
from jounce._types import Array, ArrayLike
from jounce.constraints import Constraints, constrained_inverse_dynamics
from jounce.constraints.constraints import constraints_on
from jounce.dynamics import external_wrenches, inverse_dynamics
from jounce.errors import ArgumentError, MissingFileError
from jounce.kinematics import center_of_mass, normalize
from jounce.model import Model
from jounce.model._checks import numbers
from jounce.viewer.drawing import NODES, Drawing, Overlays
from jounce.viewer.layers import LAYERS, Scales, State, size_of
from jounce.viewer.meshes import extra
from jounce.viewer.motions import Shown, at_rate, shown
from jounce.viewer.page import export_page
from jounce.viewer.panel import Panel

__all__ = ["Viewer", "export", "view"]

_GHOST = (0.35, 0.55, 0.95, 0.28)
_PORT = 8080
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
LAYER_NAMES = (*NODES, *LAYERS)


class Viewer:
    """A page that shows a robot; made by `jounce.view`.

    Use it in a ``with`` block, or call `close`; `wait` keeps a script alive until Ctrl-C.

    Attributes:
        model: the robot.
        motion: what is shown over time; one configuration is a motion with one time.
        server: viser's server, for whoever wants to add to the scene.

    Examples:
        >>> with jc.view(jc.models.chain(2), port=0, verbose=False) as viewer:
        ...     viewer.q = [0.5, 0.5]
        ...     viewer.show("frames").q
        array([0.5, 0.5])
    """

    def __init__(self, motion: Shown, acting: _Acting, host: str, port: int) -> None:
        viser = extra("viser")
        self.model, self.motion = motion.model, motion
        self._acting, self._host = acting, host
        self._time, self._q, self._v = 0, motion.q[0], motion.v[0]
        self._lock = threading.RLock()
        self._closed = threading.Event()
        with redirect_stdout(StringIO()):  # viser's own words on where it listens
            self.server = viser.ViserServer(host, port, label=self.model.name, verbose=False)
        # A page could ask for a public address, by a tunnel through another computer.
        self.server.request_share_url = _no_public_address
        size = size_of(self.model, self._q)
        scene = self.server.scene
        self.drawing = Drawing(scene, self.model, acting.search)
        self.overlays = Overlays(scene, self.drawing, size)
        self._ghosts: list[Drawing] = []
        self.panel: Panel | None = None
        self._set_stage(size)
        self._draw()

    def __enter__(self) -> Viewer:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.close()

    @property
    def url(self) -> str:
        """Where the page is."""
        host = "127.0.0.1" if self._host in ("0.0.0.0", "") else self._host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server.get_port()}"

    @property
    def q(self) -> Array:
        """(nq,) coordinates that are shown; set them to move the robot."""
        return np.array(self._q)

    @q.setter
    def q(self, value: ArrayLike) -> None:
        q = normalize(self.model, numbers("q", value, (self.model.nq,)))
        with self._lock:
            self._q, self._v = q, np.zeros(self.model.nv)
            self._draw()

    @property
    def time(self) -> float:
        """Time of the motion that is shown, s; set it to go there."""
        return float(self.motion.t[self._time])

    @time.setter
    def time(self, value: float) -> None:
        k = int(np.argmin(np.abs(self.motion.t - float(value))))
        with self._lock:
            self._time, self._q, self._v = k, self.motion.q[k], self.motion.v[k]
            self._draw()

    def show(self, *layers: str) -> Viewer:
        """Show layers by their names: those of the check boxes.

        Raises:
            ArgumentError: there is no such layer.

        Examples:
            >>> with jc.view(jc.models.chain(2), port=0, verbose=False) as viewer:
            ...     _ = viewer.show("see-through", "screw axes")
        """
        return self._show(layers, True)

    def hide(self, *layers: str) -> Viewer:
        """Hide layers by their names.

        Examples:
            >>> layers = ["frames", "names"]
            >>> with jc.view(jc.models.chain(2), show=layers, port=0, verbose=False) as viewer:
            ...     _ = viewer.hide("names")
        """
        return self._show(layers, False)

    def _show(self, layers: Iterable[str], visible: bool) -> Viewer:
        for name in layers:
            if name not in LAYER_NAMES:
                raise ArgumentError(f"unknown layer {name!r}; there are {', '.join(LAYER_NAMES)}")
        with self._lock, self.server.atomic():
            for name in layers:
                self.overlays.show(name, visible)
            self._draw()
        return self

    def add_ghost(self, q: ArrayLike, color: tuple[float, float, float, float] = _GHOST) -> Viewer:
        """Show the robot in another configuration as well, transparent.

        Args:
            q: (nq,) coordinates.
            color: red, green, blue, alpha between 0 and 1.

        Examples:
            >>> with jc.view(jc.models.chain(2), port=0, verbose=False) as viewer:
            ...     _ = viewer.add_ghost([0.5, 0.5], color=(1.0, 0.5, 0.0, 0.4))
        """
        coordinates = normalize(self.model, numbers("q", q, (self.model.nq,)))
        name = f"/ghost{len(self._ghosts)}"
        with self._lock:
            ghost = Drawing(self.server.scene, self.model, self._acting.search, name, color)
            ghost.update(coordinates)
            self._ghosts.append(ghost)
        return self

    def clear_ghosts(self) -> None:
        """Take the ghosts away.

        Examples:
            >>> arm, ghost = jc.models.chain(2), [0.5, 0.5]
            >>> with jc.view(arm, ghosts=ghost, port=0, verbose=False) as viewer:
            ...     viewer.clear_ghosts()
        """
        with self._lock:
            for ghost in self._ghosts:
                ghost.remove()
            self._ghosts.clear()

    def save(self, path: str | os.PathLike[str], rate: float = 30.0) -> Path:
        """Write the scene as one HTML file that opens without a server and without a network.

        A motion is played in it, with a slider for the time and plots below. Layers are those that
        are shown now.

        Args:
            path: of the file.
            rate: pictures of a motion per second of it.

        Raises:
            MissingFileError: there is no such folder.

        Examples:
            >>> from tempfile import TemporaryDirectory
            >>> with TemporaryDirectory() as folder:
            ...     with jc.view(jc.models.chain(2), port=0, verbose=False) as viewer:
            ...         viewer.save(f"{folder}/arm.html").stat().st_size > 100_000
            True
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise MissingFileError(f"there is no folder for {os.fspath(path)!r}")
        if not rate > 0:
            raise ArgumentError(f"rate must be positive, got {rate!r}")
        with self._lock:
            before = self._time, self._q, self._v
            recording = self.server.get_scene_serializer()
            motion = at_rate(self.motion, rate)
            torques = self._acting.torques(motion)
            if len(motion.t) > 1:
                self._record(motion, recording)
            target.write_text(export_page(recording, motion, torques), encoding="utf-8")
            self._time, self._q, self._v = before
            self._draw()
        return target

    def _record(self, motion: Shown, recording: Any) -> None:
        pauses = np.append(np.diff(motion.t), motion.t[-1] - motion.t[-2])
        everything = self.motion
        try:
            self.motion = motion
            for k, pause in enumerate(pauses):
                self._time, self._q, self._v = k, motion.q[k], motion.v[k]
                self._draw()
                recording.insert_sleep(float(pause))
        finally:
            self.motion = everything

    def wait(self) -> None:
        """Serve until Ctrl-C, then close; or until another thread closes it.

        Examples:
            >>> viewer = jc.view(jc.models.chain(2), port=0, verbose=False)
            >>> viewer.close()  # without this line it would serve until Ctrl-C
            >>> viewer.wait()
        """
        try:
            self._closed.wait()
        except KeyboardInterrupt:
            self.close()

    def close(self) -> None:
        """Stop serving; the page stays as it is in browsers that have it.

        Examples:
            >>> viewer = jc.view(jc.models.chain(2), port=0, verbose=False)
            >>> viewer.close()  # as the end of a with-block does
        """
        if self._closed.is_set():
            return
        self._closed.set()
        with redirect_stdout(StringIO()):
            self.server.stop()

    def _draw(self) -> None:
        with self._lock, self.server.atomic():
            self.drawing.update(self._q)
            self.overlays.update(self._state())

    def _state(self) -> State:
        k = self._time
        moving = self._q is self.motion.q[k] or np.array_equal(self._q, self.motion.q[k])
        a = self.motion.a[k] if moving else np.zeros(self.model.nv)
        acting = self._acting
        return State(
            self.model,
            self._q,
            self._v,
            a,
            acting.scales,
            self.overlays.size,
            acting.wrenches_at(self.motion.t[k]),
            acting.constraints,
            acting.tau_at(self.motion.t[k]),
        )

    def _set_stage(self, size: float) -> None:
        """Ground, light and camera."""
        server, q = self.server, self._q
        server.gui.configure_theme(show_logo=False, show_share_button=False, dark_mode=False)
        up = -self.model.gravity
        server.scene.set_up_direction(tuple(up) if np.linalg.norm(up) > 0 else "+z")
        server.scene.add_grid(
            "/ground", infinite_grid=True, cell_size=0.1, section_size=0.5, fade_distance=8 * size,
            cell_color=(225, 228, 232), section_color=(196, 201, 208), shadow_opacity=0.25,
        )  # fmt: skip
        center = center_of_mass(self.model, q)
        away = np.array([1.0, -1.15, 0.55])
        camera = server.initial_camera
        camera.look_at = tuple(center)
        camera.position = tuple(center + 1.3 * size * away)
        camera.fov = float(np.radians(45))


def _no_public_address(*_: object, **__: object) -> None:
    return None


def _of_any_motion(model: Model, constraints: Constraints) -> Constraints:
    """The constraints, whose forces are shown for motions that violate them, too."""
    c = constraints_on(model, constraints)
    return Constraints(model, c.items, stabilization=c.stabilization, tolerance=np.inf)


class _Acting:
    """What acts on the robot besides its motion, and where meshes may be."""

    def __init__(
        self,
        motion: Shown,
        wrenches: Mapping[str | int, ArrayLike] | None,
        constraints: Constraints | None,
        tau: ArrayLike | None,
        search: Iterable[str | Path],
    ) -> None:
        model, count = motion.model, len(motion.t)
        self.t = motion.t
        self.wrenches = {
            name: _per_time(f"wrench {name!r}", value, count, 6)
            for name, value in (wrenches or {}).items()
        }
        for name in self.wrenches:
            model.frame(name)
        self.constraints = None if constraints is None else _of_any_motion(model, constraints)
        self.tau = None if tau is None else _per_time("tau", tau, count, model.nv)
        self.search = (search,) if isinstance(search, (str, Path)) else tuple(search)
        self.scales = self._scales(motion)

    def wrenches_at(self, t: float) -> dict[str | int, Array]:
        """Wrenches (6,) at a time."""
        k = int(np.searchsorted(self.t, t))
        return {name: rows[k] for name, rows in self.wrenches.items()}

    def tau_at(self, t: float) -> Array | None:
        """Torques (nv,) at a time."""
        return None if self.tau is None else self.tau[int(np.searchsorted(self.t, t))]

    def torques(self, motion: Shown) -> Array:
        """Torques (T, nv) at the times of a motion: as given, else those that it needs."""
        model, t, q, v, a = motion
        k = np.searchsorted(self.t, t)
        if self.tau is not None:
            return self.tau[k]
        f_ext = external_wrenches(model, q, {name: w[k] for name, w in self.wrenches.items()})
        if self.constraints is not None:
            return constrained_inverse_dynamics(model, q, v, a, self.constraints, f_ext).tau
        return inverse_dynamics(model, q, v, a, f_ext)

    def _scales(self, motion: Shown) -> Scales:
        """Weight and largest speed are drawn as parts of the robot's size."""
        model, size = motion.model, size_of(motion.model, motion.q[0])
        weight = float(model.inertias[:, 0].sum() * max(np.linalg.norm(model.gravity), 1.0))
        fastest = float(np.abs(motion.v).max(initial=0.0))
        return Scales(0.7 * size / max(weight, 1e-9), 0.25 * size / max(fastest, 1e-9))


def _per_time(name: str, value: ArrayLike, count: int, size: int) -> Array:
    """One row for all times, or one for each."""
    rows = reals(name, value)
    if rows.shape not in ((size,), (count, size)) or not np.isfinite(rows).all():
        raise ArgumentError(
            f"{name} must be finite numbers of shape ({size},) or ({count}, {size}), "
            f"got shape {rows.shape}"
        )
    return np.broadcast_to(rows, (count, size))


def view(
    what: object,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    t: ArrayLike | None = None,
    *,
    ghosts: ArrayLike | None = None,
    show: Iterable[str] = (),
    wrenches: Mapping[str | int, ArrayLike] | None = None,
    constraints: Constraints | None = None,
    tau: ArrayLike | None = None,
    search: Iterable[str | Path] = (),
    host: str = "127.0.0.1",
    port: int = _PORT,
    verbose: bool = True,
) -> Viewer:
    """Show a robot in the browser, with sliders for its joints, or play its motion.

    It draws the robot's shapes and meshes (STL, OBJ, DAE; of bodies whose mesh is missing the
    ellipsoid of their inertia), and layers over it:

    - "see-through": the robot is transparent;
    - "inertias": ellipsoids of uniform density that have the bodies' masses and inertias;
    - "frames", and their "names"; "collisions": the shapes for these;
    - "screw axes" of the joints; "center of mass";
    - "twists": velocities of the centers of mass (blue) and angular velocities (pink);
    - "joint wrenches", the given "wrenches", "constraint forces" (green): forces (red) and moments;
    - "momentum" over the mass, and angular momentum about the center of mass.

    The page is served on this computer only, unless a `host` is given. Meshes are read from the
    folders of the model and of `search`, from nowhere else. Needs ``pip install 'jounce[view]'``.

    Args:
        what: a `Model`, a `SimulatedMotion` of `jounce.simulate`, or a `RobotTrajectory`.
        q: of a model: (nq,) coordinates, by default its pose "home" or "standing", else neutral;
            or (T, nq) for a motion, as of `jounce.rollout`.
        v: of a model: (nv,) or (T, nv) rates; by default zero, or differences of q.
        t: times (T,) of a motion or of samples of a trajectory, s; one number is the step.
        ghosts: (nq,) or (K, nq) further configurations to show, transparent.
        show: names of layers to show at first.
        wrenches: (6,) or (T, 6) wrenches (moment, force) on bodies or frames by their names, about
            the frame's origin, along the world's axes.
        constraints: whose forces are to be shown.
        tau: (nv,) or (T, nv) torques that act under the constraints; by default those that the
            motion needs.
        search: folders where meshes may be, besides those of the model.
        host: address to listen on; "0.0.0.0" shows the page to the whole network.
        port: to listen on, or the next free one; 0 for any.
        verbose: print where it listens.

    Returns:
        The `Viewer`: its ``q`` and ``time`` can be set, ``add_ghost`` and ``show`` add to it,
        ``save`` writes it to a file, ``jounce.view(model).wait()`` serves until Ctrl-C.

    Raises:
        MissingExtraError: viser is not installed.
        ArgumentError: arrays that do not fit, or an unknown layer.
        ArgumentTypeError: something that is no model and no motion.

    Examples:
        >>> arm = jc.models.panda_like()
        >>> with jc.view(arm, port=0, verbose=False) as viewer:
        ...     viewer.q = jc.neutral(arm)
        ...     _ = viewer.show("screw axes").add_ghost(arm.poses["home"])
    """
    motion = shown(what, q, v, t)
    acting = _Acting(motion, wrenches, constraints, tau, search)
    layers = [show] if isinstance(show, str) else list(show)
    viewer = Viewer(motion, acting, host, port)
    try:
        for ghost in _rows(ghosts, motion.model.nq):
            viewer.add_ghost(ghost)
        viewer.show(*layers)
        viewer.panel = Panel(viewer, viewer._closed)
    except BaseException:
        viewer.close()
        raise
    if verbose:
        print(f"jounce viewer: {viewer.url}")
        if host not in _LOOPBACK:
            print(f"it listens on {host!r}: whoever reaches this computer can see it")
    return viewer


def export(
    what: object, path: str | os.PathLike[str], *, rate: float = 30.0, **options: Any
) -> Path:
    """Write what `view` would show as one HTML file that opens without a server.

    Args:
        what: a model, or a motion.
        path: of the file.
        rate: pictures of a motion per second of it.
        **options: of `view`.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     path = jc.viewer.export(jc.models.chain(2), f"{folder}/arm.html")
        ...     path.stat().st_size > 100_000
        True
    """
    with view(what, **{"port": 0, "verbose": False, **options}) as viewer:
        return viewer.save(path, rate)


def _rows(ghosts: ArrayLike | None, nq: int) -> Array:
    rows = np.zeros((0, nq)) if ghosts is None else np.atleast_2d(reals("ghosts", ghosts))
    if rows.ndim != 2 or rows.shape[1] != nq:
        raise ArgumentError(f"ghosts must have the shape (K, {nq}), got {rows.shape}")
    return rows
