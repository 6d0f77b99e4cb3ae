"""`body_acceleration`: the derivative of a body's or frame's twist, in every representation."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps
TWISTS = ("body", "spatial", "hybrid", "mixed")
every_twist = pytest.mark.parametrize("twist", TWISTS)


def with_frames():
    """A robot with every joint type, and frames away from its bodies' origins."""
    model, rng = jc.models.random_tree(12, 1), np.random.default_rng(3)
    builder = jc.ModelBuilder(model)
    for k, body in enumerate(model.body_names[::4]):
        builder.add_frame(f"tool{k}", body, jc.lie.exp(rng.standard_normal(6)))
    return builder.build()


MODEL = with_frames()
PLACES = [MODEL.body_names[0], MODEL.n_bodies - 1, "tool0", "tool2"]


def product(matrix, x):
    return np.einsum("...ij,...j->...i", matrix, x)


def close(got, expected, size=1.0):
    atol = 1e3 * EPS * (size + np.abs(expected).max())
    np.testing.assert_allclose(got, expected, rtol=0, atol=atol)


@every_twist
@pytest.mark.parametrize("place", PLACES, ids=str)
@pytest.mark.parametrize("lead", [(), (5,), (2, 9)], ids=str)
def test_it_is_the_derivative_of_jacobian_times_rates(place, twist, lead, state):
    at = state(MODEL, *lead)
    J = jc.jacobian(MODEL, at.q, place, twist)
    rate = jc.jacobian_rate(MODEL, at.q, at.v, place, twist)
    expected = product(J, at.a) + product(rate, at.v)
    got = jc.body_acceleration(MODEL, at.q, at.v, at.a, place, twist)
    assert got.shape == (*lead, 6)
    close(got, expected, np.abs(J).max() * np.abs(at.a).max() * MODEL.nv)


@every_twist
def test_it_is_one_of_those_of_all_bodies(robot, twist, state):
    at = state(robot, 9)
    every = jc.body_accelerations(robot, at.q, at.v, at.a, twist)
    for body in range(robot.n_bodies):
        got = jc.body_acceleration(robot, at.q, at.v, at.a, body, twist)
        close(got, every[:, body], np.abs(every).max())


@every_twist
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_it_is_the_second_row_of_the_series(place, twist, state):
    at = state(MODEL, 7)
    series = jc.body_motion_series(MODEL, at.q, np.stack([at.v, at.a], axis=-2), place, twist)
    got = jc.body_acceleration(MODEL, at.q, at.v, at.a, place, twist)
    close(got, series[:, 1], np.abs(series).max())


def test_a_frame_feels_the_acceleration_of_its_origin(state):
    """p'' of a point of a rigid body: a + alpha x r + omega x (omega x r)."""
    at = state(MODEL, 9)
    frame = MODEL.frames["tool2"]
    T, S = (jc.body_pose(MODEL, at.q, x) for x in (frame.body, "tool2"))
    r = (S - T)[:, :3, 3]
    omega = jc.body_twist(MODEL, at.q, at.v, frame.body, "hybrid")[:, :3]
    body = jc.body_acceleration(MODEL, at.q, at.v, at.a, frame.body, "hybrid")
    moved = body[:, 3:] + np.cross(body[:, :3], r) + np.cross(omega, np.cross(omega, r))
    got = jc.body_acceleration(MODEL, at.q, at.v, at.a, "tool2", "hybrid")
    close(got, np.hstack([body[:, :3], moved]), np.abs(body).max())


@pytest.mark.parametrize("twist", ["body", "hybrid", "mixed"])
@pytest.mark.parametrize("lead", [(), (9,)], ids=str)
def test_far_from_the_origin_no_digit_is_lost(twist, lead, state):
    """All but "spatial" say nothing of where the world's origin is."""
    model = jc.models.aerial_manipulator()
    at = state(model, *lead)
    far = at.q.copy()
    far[..., model.q_slice("root_joint")][..., 4:] += 1e6
    for place in ("B1", "B7", "B4_com"):
        near = jc.body_acceleration(model, at.q, at.v, at.a, place, twist)
        got = jc.body_acceleration(model, far, at.v, at.a, place, twist)
        close(got, near)


def test_gravity_plays_no_part(state):
    at = state(MODEL)
    weightless = MODEL.replace(gravity=(0, 0, 0))
    got, expected = (
        jc.body_acceleration(m, at.q, at.v, at.a, "tool0") for m in (MODEL, weightless)
    )
    np.testing.assert_array_equal(got, expected)


@every_twist
def test_what_is_fixed_to_the_world_does_not_accelerate(twist):
    builder = jc.ModelBuilder()
    builder.add_body("ground", placement=(1, 2, 3), mass=5.0)
    builder.add_body("arm", "ground", joint="revolute", mass=1.0, inertia=(1, 1, 1))
    x = np.ones((5, 1))
    assert not jc.body_acceleration(builder.build(), x, x, x, "ground", twist).any()


Q, V = jc.neutral(MODEL), np.zeros(MODEL.nv)
NAN = np.full(MODEL.nv, np.nan)
MISTAKES = {
    "short q": ((Q[1:], V, V, 0), jc.ArgumentError, "q must have shape"),
    "short v": ((Q, V[1:], V, 0), jc.ArgumentError, "v must have shape"),
    "short a": ((Q, V, V[1:], 0), jc.ArgumentError, "a must have shape"),
    "not finite": ((Q, V, NAN, 0), jc.ArgumentError, "a must be finite"),
    "quaternion": ((0 * Q, V, V, 0), jc.ArgumentError, "quaternion"),
    "batch": (
        (Q, np.zeros((2, *V.shape)), np.zeros((3, *V.shape)), 0),
        jc.ArgumentError,
        "broadcast",
    ),
    "body": ((Q, V, V, "tol0"), jc.UnknownNameError, "did you mean 'tool0'"),
    "index": ((Q, V, V, MODEL.n_bodies), jc.UnknownNameError, "body index"),
    "world": ((Q, V, V, "world"), jc.UnknownNameError, "the world is not a body"),
    "representation": ((Q, V, V, 0, "LOCAL"), jc.ArgumentError, "called 'body' here"),
    "no body": ((Q, V, V), jc.ArgumentTypeError, "body"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named(mistake):
    arguments, error, message = MISTAKES[mistake]
    with pytest.raises(error, match=message):
        jc.body_acceleration(MODEL, *arguments)
