"""Plots show names, numbers and limits of real robots, and nothing covers anything else."""

from __future__ import annotations

import functools
import shutil

import numpy as np
import pytest

import jounce as jc
from jounce import plot
from jounce.plot.columns import MOST_IN_PANEL, limbs, motion_columns

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plot.pyplot().close("all")


@functools.cache
def robot(name: str) -> jc.Model:
    if name in jc.models.__all__:
        return getattr(jc.models, name)()
    real_robots = pytest.importorskip("real_robots")
    file, base = {
        "Talos": ("talos_data/robots/talos_full_v2.urdf", "free"),
        "Panda": ("panda_description/urdf/panda.urdf", "fixed"),
    }[name]
    return real_robots.load_quietly(str(real_robots.DIRECTORY / file), base=base)


@pytest.fixture(params=["panda_like", "quadruped", "humanoid", "Talos", "Panda"])
def real(request) -> jc.Model:
    """Robots of the package, and two that people have."""
    return robot(request.param)


some = pytest.mark.parametrize("real", ["quadruped", "Talos"], indirect=True)
"""For what does not depend on how names and limbs fill a page."""


def swing(model: jc.Model, times: int = 20):
    """A motion with derivatives to order 2: t, q, motion."""
    t = np.linspace(0, 1, times)
    x = np.random.default_rng(0).standard_normal(model.nv)
    q = jc.integrate(model, jc.random_configuration(model, 0), np.sin(3 * t)[:, None] * x)
    rates = [3 * np.cos(3 * t), -9 * np.sin(3 * t), -27 * np.cos(3 * t)]
    return t, q, np.stack([rate[:, None] * x for rate in rates], axis=1)


def boxes(figure) -> list:
    """Where legends, axes' labels and titles are, in pixels."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    found = []
    for panel in figure.axes:
        parts = [panel.get_legend(), panel.yaxis.label, panel.title]
        found += [part.get_window_extent(renderer) for part in parts if part is not None]
        found.append(panel.get_window_extent(renderer))
    return [box for box in found if box.width > 1 and box.height > 1]


def overlap(a, b) -> float:
    """Pixels that two boxes share in the direction in which they share least."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return min(width, height)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "orders"),
    [(name, 0) for name in ("panda_like", "humanoid", "Talos")]
    + [("quadruped", 3), ("Talos", 1), ("Panda", 3)],
)
def test_nothing_overlaps_and_names_are_whole(name, orders):
    """Of forces, or of a motion with so many orders: rows are alike, two of many panels do."""
    real = robot(name)
    t, q, motion = swing(real)
    if orders:
        figure = plot.motion(real, t, q, motion[:, :orders], title="a title")
    else:
        tau = jc.inverse_dynamics(real, q, motion[:, 0], motion[:, 1])
        figure = plot.forces(real, t, tau[:, None])
    _nothing_overlaps(figure)
    texts = [text for a in figure.axes if a.get_legend() for text in a.get_legend().texts]
    single = [joint.name for joint in real.joints if joint.type in ("revolute", "prismatic")]
    assert set(single) <= {text.get_text() for text in texts}


def _nothing_overlaps(figure) -> None:
    found, canvas = boxes(figure), figure.bbox
    for k, box in enumerate(found):
        assert canvas.x0 - 1 <= box.x0, "it leaves the picture"
        assert box.x1 <= canvas.x1 + 1, "it leaves the picture"
        assert box.y1 <= canvas.y1 + 1, "it leaves the picture"
        for other in found[:k]:
            assert overlap(box, other) < 2


def test_limbs_hold_every_joint_once_and_few_at_a_time(real, all_joints):
    for model in (real, all_joints, jc.models.chain(40), jc.models.tree(40, 3)):
        found = limbs(model)
        nodes = model.coordinates
        single = np.flatnonzero(nodes.kind < 3)
        assert sorted(k for limb in found for k in limb) == list(single)
        assert max(map(len, found)) <= MOST_IN_PANEL


def test_panels_have_different_titles(real):
    titles = [column.title for column in motion_columns(real)]
    assert len(set(titles)) == len(titles)


def test_limbs_are_those_that_people_see():
    quadruped = jc.models.quadruped()
    titles = [column.title for column in plot.motion_columns(quadruped)]
    legs = [f"{end}_{side}" for end in ("front", "rear") for side in ("left", "right")]
    assert titles[2:] == [f"{leg} (turning)" for leg in legs]
    assert len(plot.motion_columns(jc.models.panda_like())) <= 2


def test_names_that_matplotlib_would_change_are_shown_as_they_are():
    builder = jc.ModelBuilder()
    for k, name in enumerate(("_hidden", "a$b$c", "x" * 80)):
        builder.add_body(f"b{k}", joint="revolute", joint_name=name, mass=1, inertia=(1, 1, 1))
    model = builder.build()
    t, q, motion = swing(model)
    figure = plot.motion(model, t, q, motion)
    figure.draw_without_rendering()
    legend = next(panel.get_legend() for panel in figure.axes if panel.get_legend())
    hidden, money, long = [text.get_text() for text in legend.texts]
    assert hidden.lstrip("\u200b") == "_hidden"
    assert money == r"a\$b\$c"
    assert long.startswith("xxxxxxxx")
    assert "…" in long


def test_limits_are_drawn_where_they_are_near_and_marked_where_they_are_passed():
    arm = jc.ModelBuilder()
    for name in ("first", "second"):
        arm.add_body(name, joint="revolute", joint_name=name, mass=1, com=(0, 0, 0.1),
                     lower=-1.0 if name == "first" else -50.0, upper=1.0, velocity_limit=2.0,
                     effort_limit=5.0)  # fmt: skip
    model = arm.build()
    t = np.linspace(0, 1, 11)
    q = np.stack([1.5 * t, 0.5 * t], axis=1)
    motion = np.tile([1.5, 0.5], (11, 1, 1))
    panels = plot.motion(model, t, q, motion).axes
    levels = [{line.get_ydata()[0] for line in panel.get_lines() if len(set(line.get_xdata())) == 2
               and list(line.get_xdata()) == [0, 1]} for panel in panels]  # fmt: skip
    assert levels[0] == {-50.0, -1.0, 1.0}
    assert levels[1] == {-2.0, 2.0}
    low, high = panels[0].get_ylim()
    assert low > -50
    assert high > 1
    red = [line for line in panels[0].get_lines() if line.get_color() == "red"]
    assert len(red) == 1
    np.testing.assert_array_equal(np.isnan(red[0].get_ydata()), q[:, 0] <= 1)
    assert not [line for line in panels[1].get_lines() if line.get_color() == "red"]
    plain = plot.motion(model, t, q, motion, limits=False).axes[0]
    assert len(plain.get_lines()) == 2
    effort = plot.forces(model, t, np.zeros((11, 1, 2))).axes[0]
    assert {-5.0, 5.0} == {line.get_ydata()[0] for line in effort.get_lines()[2:]}


def test_drift_is_the_change_of_energy_and_momentum():
    model = jc.models.quadruped()
    v = np.random.default_rng(0).standard_normal(model.nv)
    t = np.linspace(0, 0.2, 11)
    start = jc.neutral(model), v
    motions = {
        "exact": jc.simulate(model, *start, t),
        "euler": jc.simulate(model, *start, t, method="euler", dt=0.01),
    }
    panels = plot.drift(motions, title="drift").axes
    assert [panel.get_yscale() for panel in panels] == ["log"] * 3
    legend = panels[0].get_legend()
    assert [text.get_text() for text in legend.texts] == ["exact", "euler"]
    energy = motions["euler"].energy
    shown = panels[0].get_lines()[1].get_ydata()
    np.testing.assert_array_equal(shown[1:], np.abs(energy - energy[0])[1:])
    assert np.isnan(shown[0])
    for panel in panels[1:]:  # gravity changes neither, once its impulse is taken off
        exact, euler = (line.get_ydata()[1:] for line in panel.get_lines())
        assert np.nanmax(exact) < 1e-6 < np.nanmax(euler)
    fixed = jc.models.chain(2)
    alone = jc.simulate(fixed, [0.1, 0.2], [0, 0], t)
    assert len(plot.drift(alone).axes) == 1
    with pytest.raises(ValueError, match="motions must be"):
        plot.drift({})


def test_work_precision_draws_points_and_slopes():
    costs = np.array([10.0, 20, 40])
    figure = plot.work_precision(
        {"rk4": (costs, 3 * costs**-4.0), "euler": (costs, 1 / costs)},
        orders={"rk4": 4},
        error="error (rad)",
    )
    panel = figure.axes[0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")
    assert panel.get_ylabel() == "error (rad)"
    rk4, euler, slope = panel.get_lines()
    np.testing.assert_array_equal(rk4.get_xdata(), costs)
    np.testing.assert_array_equal(euler.get_ydata(), 1 / costs)
    np.testing.assert_allclose(slope.get_ydata(), 3 * np.array([10.0, 40]) ** -4)
    assert [text.get_text() for text in panel.get_legend().texts] == ["rk4", "euler"]
    with pytest.raises(ValueError, match=r"errors of 'rk4' must have shape \(3,\)"):
        plot.work_precision({"rk4": (costs, costs[:2])})


@some
def test_sparsity_shows_size_and_number_of_entries(real):
    q, v, a = swing(real)[1][0], *np.random.default_rng(0).standard_normal((2, real.nv))
    partials = jc.inverse_dynamics_derivatives(real, q, v, a)
    figure = plot.sparsity(real, partials._asdict(), title="derivatives")
    panels = [panel for panel in figure.axes if panel.get_images()]
    assert len(panels) == 3
    for panel, name, matrix in zip(panels, ["dq", "dv", "da"], partials, strict=True):
        filled = np.count_nonzero(matrix)
        assert panel.get_title() == f"{name}: {filled} of {real.nv**2} entries"
        image = np.ma.filled(panel.get_images()[0].get_array(), np.nan)
        np.testing.assert_array_equal(np.isnan(image), matrix == 0)
        np.testing.assert_allclose(10 ** image[matrix != 0], np.abs(matrix[matrix != 0]))
    labels = [text.get_text() for text in panels[0].get_yticklabels()]
    assert real.joint_names[-1] in labels
    assert len(plot.sparsity(real, partials.da).axes) == 2
    with pytest.raises(ValueError, match="must have shape"):
        plot.sparsity(real, partials.da[:2])


@some
def test_the_tree_names_every_body_below_its_parent(real):
    panel = plot.tree(real).axes[0]
    texts = {text.get_text().split("  —  ")[0]: text.get_position() for text in panel.texts}
    for k, name in enumerate(real.body_names):
        parent = "world" if real.parents[k] < 0 else real.body_names[real.parents[k]]
        assert texts[name][1] == k + 1
        assert texts[name][1] > texts[parent][1]
        assert texts[name][0] == pytest.approx(texts[parent][0] + 1)
    told = " ".join(text.get_text() for text in panel.texts)
    assert all(name in told for name in real.joint_names)
    panel.figure.canvas.draw()
    right = max(text.get_window_extent().x1 for text in panel.texts)
    assert right <= panel.get_legend().get_window_extent().x0
    assert {text.get_text() for text in panel.get_legend().texts} == {
        joint.type for joint in real.joints
    }


def test_a_stick_figure_has_its_joints_where_the_robot_has_them(real):
    q = jc.random_configuration(real, 1)
    figure = plot.robot(real, q, frames=[real.body_names[-1]])
    panel = figure.axes[0]
    poses = jc.body_poses(real, q)
    marks = [line for line in panel.get_lines() if line.get_marker() not in ("None", "+")]
    points = np.concatenate([np.stack(line.get_data_3d(), axis=1) for line in marks])
    expected = poses[:, :3, 3]
    assert len(points) == len(expected)
    np.testing.assert_allclose(np.sort(points, axis=0), np.sort(expected, axis=0), atol=1e-12)
    (com,) = (line for line in panel.get_lines() if line.get_marker() == "+")
    np.testing.assert_allclose(np.ravel(com.get_data_3d()), jc.center_of_mass(real, q), atol=1e-12)
    axes = [line for line in panel.get_lines() if "tab:" in str(line.get_color())]
    directions = np.array([np.diff(line.get_data_3d(), axis=1)[:, 0] for line in axes])
    lengths = np.linalg.norm(directions, axis=1)
    np.testing.assert_allclose(directions.T / lengths, poses[-1, :3, :3], atol=1e-12)
    limits = np.array([panel.get_xlim(), panel.get_ylim(), panel.get_zlim()])
    assert ((expected >= limits[:, 0]) & (expected <= limits[:, 1])).all()


def test_ghosts_fade_and_only_the_last_is_named():
    model = jc.models.panda_like()
    q = jc.random_configuration(model, 0, shape=3)
    panel = plot.robot(model, q).axes[0]
    centers = [line for line in panel.get_lines() if line.get_marker() == "+"]
    strengths = [line.get_alpha() for line in centers]
    assert strengths == sorted(strengths)
    assert strengths[-1] == 1
    names = [text.get_text() for text in panel.get_legend().texts]
    assert len(names) == len(set(names))
    for wrong in (q[..., :2], q[None], np.zeros((0, model.nq)), "q"):
        with pytest.raises(ValueError, match=r"q must (have shape|be numbers)"):
            plot.robot(model, wrong)
    with pytest.raises(ValueError, match="at most 200"):
        plot.robot(model, np.zeros((201, model.nq)))
    with pytest.raises(KeyError, match="hnd"):
        plot.robot(model, frames=["hnd"])


@pytest.fixture
def falling() -> jc.SimulatedMotion:
    model = jc.models.chain(2)
    return jc.simulate(model, [0.5, 0.2], [0, 0], np.linspace(0, 0.4, 5))


def test_an_animation_has_a_picture_for_each_time(falling, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = plot.animate(falling, tmp_path / "fall.gif", fps=5, speed=0.5, trail="body1", dpi=40)
    with image.open(path) as film:
        assert film.n_frames == 5
        first = np.asarray(film.convert("RGB"), float)
        film.seek(4)
        assert np.abs(np.asarray(film.convert("RGB"), float) - first).max() > 50
    with pytest.raises(ValueError, match=r"must end in \.gif or \.mp4"):
        plot.animate(falling, tmp_path / "fall.avi")
    with pytest.raises(ValueError, match="fps and speed must be positive"):
        plot.animate(falling, tmp_path / "fall.gif", speed=0)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        plot.animate(falling, tmp_path / "no" / "fall.gif")


def test_films_need_ffmpeg(falling, tmp_path, monkeypatch):
    if shutil.which("ffmpeg"):
        path = plot.animate(falling, tmp_path / "fall.mp4", fps=5, dpi=40)
        assert b"ftyp" in path.read_bytes()[:16]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(ImportError, match=r"need ffmpeg.*\.gif files do not"):
        plot.animate(falling, tmp_path / "other.mp4")
