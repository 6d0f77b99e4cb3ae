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
    """The same with a first derivative, for series: the rest is a small error of each step."""
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


def test_a_bar_that_falls_flat_stands_on_both_feet():
    builder = jc.ModelBuilder()
    inertia = np.eye(3) / 12
    model = builder.add_body("bar", joint="free", mass=1.0, inertia=inertia).build()
    for name, x in (("left", -0.5), ("right", 0.5)):
        pose = np.eye(4)
        pose[0, 3] = x
        model = model.with_frame(name, "bar", pose)
    q = jc.neutral(model)
    q[6] = 0.2
    v = np.zeros(6)
    v[1] = -0.5  # it turns a little: one foot comes first
    contacts = [jc.Contact("left"), jc.Contact("right")]
    got = jc.simulate(model, q, v, np.linspace(0, 1.0, 41), contacts=contacts)
    names = [event.name for event in got.events]
    assert names[0] == "touch-down of left" or names[0] == "touch-down of right"
    first = got.events[0]
    side = names[0].split()[-1]
    point = jc.Constraints(model, [jc.Point(side)])
    after = jc.impulse(model, first.q, first.v, point).v
    k = np.searchsorted(got.t, first.t)
    assert jc.kinetic_energy(model, first.q, after) < jc.kinetic_energy(model, first.q, first.v)
    gaps = [got.frame(name)[:, 2, 3] for name in ("left", "right")]
    assert min(gap.min() for gap in gaps) > -1e-9
    held = got.frame(side)[k : k + 2, :3, 3]
    np.testing.assert_allclose(held[:, 2], 0.0, atol=1e-9)


def test_standing_at_the_start_is_found_and_below_the_ground_refused():
    model = hopper()
    contact = jc.Contact("foot", height=0.1, name="sole")
    bent = REST - BODY * G / STIFFNESS
    rest = jc.simulate(model, [0.1, bent], [0, 0], [0, 0.2, 0.4], spring, contacts=contact)
    np.testing.assert_allclose(rest.q, [[0.1, bent]] * 3, atol=1e-9)
    assert rest.events == ()
    with pytest.raises(jc.ArgumentError, match=r"'sole' starts 0.1 m below its plane"):
        jc.simulate(model, [0.0, bent], [0, 0], [0, 0.2], spring, contacts=contact)
    with pytest.raises(jc.ArgumentError, match="moves into it at 1 m/s"):
        jc.simulate(model, [0.1, bent], [-1, 0], [0, 0.2], spring, contacts=contact)


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
