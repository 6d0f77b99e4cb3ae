"""Plots of series show the numbers that they are given."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce import plot, twists

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def lines(panel) -> list[np.ndarray]:
    return [line.get_ydata() for line in panel.get_lines()]


@pytest.fixture
def flight():
    """A few instants of the paper's flight: model, t, q, motion, tau."""
    model = jc.models.aerial_manipulator()
    t = np.linspace(0, 30, 40)
    q, motion = jc.trajectories.aerial_manipulator_reference(model).evaluate(t, 2)
    yield model, t, q, motion, jc.inverse_dynamics_series(model, q, motion)
    plot.pyplot().close("all")


@pytest.mark.parametrize("twist", twists.REPRESENTATIONS)
def test_plots_show_the_asked_representation(flight, twist):
    model, t, q, motion, tau = flight
    T = jc.body_pose(model, q, "B1")
    figure = plot.motion(model, t, q, motion, compare=motion[:, 1:], twist=twist)
    axes = np.array(figure.axes).reshape(5, 3)
    expected = twists.convert_series(motion[..., :6], T, "body", twist)
    for order in range(4):
        for half in range(2):
            shown = lines(axes[order + 1, half])
            np.testing.assert_allclose(shown[1], expected[:, order, 3 * half + 1])
            assert len(shown) == 6
    figure = plot.forces(model, t, tau, q=q, motion=motion, twist=twist, title="forces")
    axes = np.array(figure.axes).reshape(3, 3)
    expected = twists.convert_wrench_series(tau[..., :6], motion[..., :6], T, "body", twist)
    np.testing.assert_allclose(lines(axes[2, 1])[0], expected[:, 2, 3])
    np.testing.assert_array_equal(lines(axes[1, 2])[5], tau[:, 1, 11])


def test_every_rate_of_every_joint_type_is_drawn_once(all_joints):
    for columns in (plot.motion_columns(all_joints), plot.force_columns(all_joints)):
        index = [i for column in columns for i in column.components]
        assert sorted(index) == list(range(all_joints.nv))
        assert all(len(column.components) == len(column.labels) for column in columns)
    q = jc.random_configuration(all_joints, 0, shape=3)
    motion = np.random.default_rng(0).standard_normal((3, 2, all_joints.nv))
    figure = plot.motion(all_joints, [0, 1, 2], q, motion)
    assert len(figure.axes) == 3 * len(plot.motion_columns(all_joints))
    plot.pyplot().close(figure)


def test_labels_have_dots_and_units(flight):
    model, t, q, motion, tau = flight
    axes = np.array(plot.motion(model, t, q, motion).axes).reshape(5, 3)
    labels = [panel.get_ylabel() for panel in axes[:, 2]]
    assert labels[0] == "$q$ (rad)"
    assert labels[1] == "$\\dot q$ (rad/s)"
    assert labels[2] == "$\\ddot q$ (rad/s$^2$)"
    assert labels[3] == "$q^{(3)}$ (rad/s$^3$)"
    axes = np.array(plot.forces(model, t, tau).axes).reshape(3, 3)
    assert [panel.get_ylabel() for panel in axes[:, 1]] == [
        "$f$ (N)",
        "$\\dot f$ (N/s)",
        "$\\ddot f$ (N/s$^2$)",
    ]


def test_plots_refuse_what_does_not_fit(flight):
    model, t, q, motion, tau = flight
    with pytest.raises(
        ValueError, match=r"motion must have shape \(n, orders, 12\), got \(40, 12\)"
    ):
        plot.motion(model, t, q, motion[:, 0])
    with pytest.raises(ValueError, match=r"q must have shape \(n, 13\)"):
        plot.motion(model, t, q[:, :12], motion)
    with pytest.raises(ValueError, match="q and motion: needed"):
        plot.forces(model, t, tau, twist="spatial")


def spoiled(values, number):
    """With another number at the end; None hides it."""
    array = np.array(values, float)
    if number is None:
        mask = np.zeros(array.shape, bool)
        mask.flat[-1] = True
        return np.ma.array(array, mask=mask)
    array.flat[-1] = number
    return array


SERIES = plot.Column("all", "q", "rad", range(2), "ab")
DRAWS = {
    "t": lambda x: plot.series(x[:, 0, 0], np.zeros((3, 1, 2)), [SERIES]),
    "values": lambda x: plot.series(range(3), x, [SERIES]),
    "compare": lambda x: plot.series(range(3), np.zeros((3, 1, 2)), [SERIES], compare=x),
    "q": lambda x: plot.motion(jc.models.chain(2), range(3), x[:, 0], np.zeros((3, 1, 2))),
    "motion": lambda x: plot.motion(jc.models.chain(2), range(3), np.zeros((3, 2)), x),
    "tau": lambda x: plot.forces(jc.models.chain(2), range(3), x),
    "costs of 'a'": lambda x: plot.work_precision({"a": (x[:, 0, 0], [1, 2, 3])}),
    "errors of 'a'": lambda x: plot.work_precision({"a": ([1, 2, 3], x[:, 0, 0])}),
    "matrix 'M'": lambda x: plot.sparsity(jc.models.chain(2), {"M": x[1:, 0]}),
}
GAPS = ("compare", "errors of 'a'")


@pytest.mark.parametrize("name", DRAWS)
def test_what_cannot_be_drawn_is_refused_by_its_name(name):
    draw = DRAWS[name]

    def last(number):
        """Ones, with this number at the end of all that is used of them."""
        x = spoiled(np.ones((3, 1, 2)), number)
        return x[..., ::-1]

    draw(np.ones((3, 1, 2)))
    with pytest.raises(jc.ArgumentError, match=f"^{name} must be finite real numbers, got inf"):
        draw(last(np.inf))
    with pytest.raises(jc.ArgumentError, match=f"^{name} must have no masked entries, got 1 of"):
        draw(last(None))
    with pytest.raises(jc.ArgumentError, match=f"^{name} must be real numbers, got complex128"):
        draw(np.ones((3, 1, 2)) + 0j)
    if name in GAPS:
        draw(last(np.nan))
    else:
        with pytest.raises(jc.ArgumentError, match=f"^{name} must be finite real numbers, got nan"):
            draw(last(np.nan))
    plot.pyplot().close("all")
