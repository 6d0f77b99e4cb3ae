"""Contacts come and go where closed forms say, with the impulses of impacts."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

G, FOOT, BODY, STIFFNESS, REST = 9.81, 0.1, 1.0, 500.0, 0.5
TIMES = np.linspace(0.0, 0.8, 33)
OPTIONS = {"dop853": {}, "rkmk4": {"dt": 2e-3}, "taylor": {}}


def hopper():
    """A foot, and a body above it on a spring."""
    builder = jc.ModelBuilder().add_body("foot", joint="prismatic", axis=(0, 0, 1), mass=FOOT)
    return builder.add_body("body", "foot", "prismatic", axis=(0, 0, 1), mass=BODY).build()


def spring(t, q, v):
    return np.array([0.0, STIFFNESS * (REST - q[1])])


def spring_series(t, q, v):
    """The same with a first derivative: the rest is an error of each step."""
    return [spring(t, q, v), [0.0, -STIFFNESS * v[1]]]


@pytest.mark.parametrize("method", ["dop853", "rkmk4"])
def test_a_hopper_lands_and_leaves_where_it_should(method):
    """It falls freely; the impact takes the foot's energy; the spring lifts the foot's weight."""
    model = hopper()
    got = jc.simulate(
        model,
        [0.5, REST],
        [0, 0],
        TIMES,
        spring,
        method,
        contacts=[jc.Contact("foot")],
        **OPTIONS[method],
    )
    names = [event.name for event in got.events]
    assert names == ["touch-down of foot", "lift-off of foot"]
    down, off = got.events
    assert abs(down.t - np.sqrt(2 * 0.5 / G)) < 1e-8
    assert abs(off.q[1] - (REST + FOOT * G / STIFFNESS)) < 1e-6
    assert abs(off.q[0]) < 1e-9
    bent = 0.5 * STIFFNESS * (got.q[:, 1] - REST) ** 2
    energy = got.energy + bent
    after = got.t > down.t
    lost = 0.5 * FOOT * (G * down.t) ** 2
    np.testing.assert_allclose(energy[~after], energy[0], rtol=1e-6)
    np.testing.assert_allclose(energy[after], energy[0] - lost, rtol=1e-6)
    standing = after & (got.t < off.t)
    assert np.abs(got.q[standing, 0]).max() < 1e-9
    assert got.q[-1, 0] > 0.01


def test_a_series_as_control_gives_its_first_row_to_contacts():
    model = hopper()
    got = jc.simulate(
        model, [0.5, REST], [0, 0], TIMES[:20], spring_series, "taylor", contacts=jc.Contact("foot")
    )
    assert abs(got.events[0].t - np.sqrt(2 * 0.5 / G)) < 1e-9


def body_with_points(points, inertia):
    """A free body of 1 kg, and frames on it."""
    model = jc.ModelBuilder().add_body("body", joint="free", mass=1.0, inertia=inertia).build()
    for k, point in enumerate(points):
        pose = np.eye(4)
        pose[:3, 3] = point
        model = model.with_frame(f"point{k}", "body", pose)
    return model, [jc.Contact(f"point{k}") for k in range(len(points))]


def lowest(motion, contacts):
    return min(motion.frame(x.frame)[:, 2, 3].min() for x in contacts)


def test_a_bar_that_falls_flat_stands_on_both_feet():
    model, contacts = body_with_points([(-0.5, 0, 0), (0.5, 0, 0)], np.eye(3) / 12)
    q = jc.neutral(model)
    q[6] = 0.2
    got = jc.simulate(model, q, np.zeros(6), np.linspace(0, 1.0, 6), contacts=contacts)
    assert [event.name for event in got.events] == [
        "touch-down of point0",
        "touch-down of point1",
    ]
    assert {round(event.t, 9) for event in got.events} == {round(np.sqrt(0.4 / G), 9)}
    assert lowest(got, contacts) > -1e-9
    np.testing.assert_allclose(got.v[2:], 0.0, atol=1e-9)


def test_a_bar_that_turns_lands_foot_by_foot():
    model, contacts = body_with_points([(-0.5, 0, 0), (0.5, 0, 0)], np.eye(3) / 12)
    q, v = jc.neutral(model), np.zeros(6)
    q[6], v[1] = 0.2, -0.5
    got = jc.simulate(model, q, v, np.linspace(0, 0.3, 7), contacts=contacts)
    first = got.events[0]
    side = contacts[int(first.name[-1])]
    after = jc.impulse(model, first.q, first.v, jc.Constraints(model, [jc.Point(side.frame)])).v
    k = np.searchsorted(got.t, first.t)
    assert jc.kinetic_energy(model, first.q, after) < jc.kinetic_energy(model, first.q, first.v)
    assert lowest(got, contacts) > -1e-8
    assert abs(got.frame(side.frame)[k, 2, 3]) < 1e-9


CORNERS = [(x, y, -0.1) for x in (0.3, -0.3) for y in (0.3, -0.3)]


def test_a_box_that_falls_on_a_corner_comes_to_rest_on_all():
    """It rocks ever faster, in a finite time."""
    model, contacts = body_with_points(CORNERS, 0.1 * np.eye(3))
    q = jc.neutral(model)
    q[6] = 0.12
    q = jc.integrate(model, q, [0.03, 0.0, 0, 0, 0, 0])
    options = {"rtol": 1e-6, "atol": 1e-6, "contacts": contacts}
    got = jc.simulate(model, q, np.zeros(6), [0.0, 0.1, 0.5], method="dopri5", **options)
    assert lowest(got, contacts) > -1e-6
    np.testing.assert_allclose(got.v[-1], 0.0, atol=1e-9)
    assert abs(got.q[-1, 6] - 0.1) < 2e-6
    stands = {}
    for event in got.events:  # each contact comes and goes in turn
        kind, name = event.name.split(" of ")
        assert stands.get(name, "lift-off") != kind
        stands[name] = kind
    assert len(stands) == 4


def test_standing_at_the_start_is_found_and_below_the_ground_refused():
    model = hopper()
    contact = jc.Contact("foot", height=0.1, name="sole")
    bent = REST - BODY * G / STIFFNESS
    for error in (0.0, 1e-8, -1e-8, -5e-7):
        q = [0.1 + error, bent]
        rest = jc.simulate(model, q, [0, 0], [0, 0.2, 0.4], spring, contacts=contact)
        np.testing.assert_allclose(rest.q, [[0.1, bent]] * 3, atol=2 * abs(error) + 1e-9)
        assert rest.events == ()
    with pytest.raises(jc.ArgumentError, match=r"'sole' starts 0.1 m below its plane"):
        jc.simulate(model, [0.0, bent], [0, 0], [0, 0.2], spring, contacts=contact)


@pytest.mark.parametrize("speed", [(1, 0, 0), (1e-8, 0, 0), (0, -2e-8, 0), (0.5, 0, -1)])
def test_what_slides_or_moves_into_its_plane_at_the_start_lands_there(speed):
    model, contacts = body_with_points([(0, 0, 0)], np.eye(3))
    v = np.array([0, 0, 0, *speed], float)
    got = jc.simulate(model, jc.neutral(model), v, [0, 0.1], contacts=contacts)
    np.testing.assert_allclose(got.v, 0.0, atol=1e-8)
    np.testing.assert_allclose(got.q[-1], jc.neutral(model), atol=1e-8)
    names = ["touch-down of point0"] if max(np.abs(speed)) > 1e-6 else []
    assert [event.name for event in got.events] == names
    for event in got.events:
        assert event.t == 0.0
        np.testing.assert_array_equal(event.v, v)
    v[5] = 2.0
    up = jc.simulate(model, jc.neutral(model), v, [0, 0.1], contacts=contacts)
    assert up.events == ()
    assert up.q[-1, 6] > 0.1


FEET = ["front_left_foot", "front_right_foot", "rear_left_foot", "rear_right_foot"]


def dropped_quadruped(turn, times):
    """A quadruped that holds its legs by servos, let go above the ground."""
    dog = jc.models.quadruped()
    standing = dog.poses["standing"]
    start = jc.integrate(dog, standing, np.concatenate([[*turn, 0, 0, 0.05], np.zeros(12)]))

    def servos(t, q, v):
        return np.concatenate([np.zeros(6), 200 * (standing[7:] - q[7:]) - 5 * v[6:]])

    contacts = [jc.Contact(foot) for foot in FEET]
    options = {"method": "dopri5", "rtol": 1e-5, "atol": 1e-5, "contacts": contacts}
    return dog, servos, jc.simulate(dog, start, np.zeros(dog.nv), times, servos, **options)


@pytest.mark.long
@pytest.mark.parametrize("pitch", [0.0, 0.03])
def test_a_quadruped_falls_on_its_feet_and_stands(pitch):
    dog, servos, got = dropped_quadruped((0, pitch, 0), [0.0, 0.3, 0.7])
    assert sorted(event.name for event in got.events) == [f"touch-down of {x}" for x in FEET]
    assert lowest(got, [jc.Contact(foot) for foot in FEET]) > -1e-6
    assert np.abs(got.v[-1]).max() < 0.1
    feet = jc.Constraints(dog, [jc.Point(foot) for foot in FEET])
    tau = np.array([servos(*x) for x in zip(got.t, got.q, got.v, strict=True)])
    force = jc.constrained_dynamics(dog, got.q, got.v, tau, feet).force.reshape(-1, 4, 3)
    assert force[1:, :, 2].min() > 0
    weight = jc.total_mass(dog) * G
    assert abs(force[-1, :, 2].sum() - weight) < 0.05 * weight


def test_states_of_a_batch_have_their_own_modes():
    model = hopper()
    q = np.array([[0.5, REST], [0.1, REST]])

    def springs(t, q, v):
        return np.stack([0 * q[..., 0], STIFFNESS * (REST - q[..., 1])], axis=-1)

    got = jc.simulate(model, q, np.zeros(2), TIMES[:10], springs, contacts=[jc.Contact("foot")])
    times = {event.state: event.t for event in got.events if "down" in event.name}
    assert list(times) == [(1,)]
    assert abs(times[(1,)] - np.sqrt(0.2 / G)) < 1e-8


BAD = {
    "no contact": (["foot"], "contacts must be jounce.Contact"),
    "no frame": ([jc.Contact("hoof")], "hoof"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_contacts_are_named(mistake):
    contacts, message = BAD[mistake]
    with pytest.raises(jc.Error, match=message):
        jc.simulate(hopper(), [0.5, REST], [0, 0], TIMES, contacts=contacts)


def test_a_normal_must_have_a_direction():
    with pytest.raises(jc.ArgumentError, match="normal must not be zero"):
        jc.Contact("foot", normal=(0, 0, 0))


@pytest.mark.long
@pytest.mark.parametrize("method", ["dop853", "rkmk4", "taylor"])
def test_constraints_that_move_go_on_through_impacts(method):
    """A cart is driven by a series of time, beside a hopper that lands and leaves."""
    builder = jc.ModelBuilder(hopper()).add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=2)
    model = builder.build()
    (joint,) = (x for x in model.joint_names if "cart" in x)
    drive = jc.Constraints(
        model, [jc.Coupling({joint: 1.0}, offset=None, motion=[0.0, 1.0, 2.0])]
    ).stabilized(3.0)

    def forces(t, q, v):
        both = spring_series(t, q[:2], v[:2]) if method == "taylor" else [spring(t, q[:2], v[:2])]
        rows = np.array([[*row, 0.0] for row in both])
        return rows if method == "taylor" else rows[0]

    got = jc.simulate(
        model,
        [0.5, REST, 0.0],
        np.zeros(3),
        TIMES,
        forces,
        method,
        constraints=drive,
        contacts=[jc.Contact("foot")],
        **OPTIONS[method],
    )
    assert [event.name for event in got.events] == ["touch-down of foot", "lift-off of foot"]
    np.testing.assert_allclose(got.q[:, 2], TIMES**2 / 2 + TIMES**3 / 3, atol=1e-8)
    seen = jc.simulate(
        model,
        [0.5, REST, 0.0],
        np.zeros(3),
        TIMES[:9],
        forces,
        method,
        constraints=drive,
        events=jc.Event(lambda t, q, v: q[2] - 0.01, False, name="cart passes"),
        **OPTIONS[method],
    )
    (passing,) = seen.events
    assert abs(passing.t**2 / 2 + passing.t**3 / 3 - 0.01) < 1e-8
