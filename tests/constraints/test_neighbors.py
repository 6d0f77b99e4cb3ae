"""What a state of a batch gets does not depend on the other states of the batch."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}
LEADS = pytest.mark.parametrize("lead", [(2,), (1, 2), (2, 1)])


@pytest.fixture(scope="module")
def slides():
    builder = jc.ModelBuilder()
    builder.add_body("x", joint="prismatic", axis=(1, 0, 0), **SOLID)
    return builder.add_body("y", joint="prismatic", axis=(0, 1, 0), **SOLID).build()


def held_at(*offsets):
    return [jc.Coupling({"y_joint": 1.0}, offset=x) for x in offsets]


def place(k, lead):
    return f"in state [{', '.join(map(str, np.unravel_index(k, lead)))}] of the batch"


@LEADS
@pytest.mark.parametrize(("gap", "far"), [(1e-3, 1e13), (1e-8, 1e6)])
@pytest.mark.parametrize("first", [True, False])
def test_states_that_cannot_be_projected_are_refused_beside_far_ones(slides, gap, far, first, lead):
    c = jc.Constraints(slides, held_at(0.0, gap))
    near, other = np.zeros(2), np.array([far, 0.0])
    with pytest.raises(jc.ArgumentError, match=rf"is still {gap / 2:.3g} rad or m") as alone:
        jc.project(slides, near, c)
    assert "of the batch" not in str(alone.value)
    jc.project(slides, other, c)  # as near as its coordinates are known
    batch = np.array([near, other] if first else [other, near]).reshape(*lead, 2)
    with pytest.raises(jc.ArgumentError, match=rf"is still {gap / 2:.3g} rad or m") as caught:
        jc.project(slides, batch, c)
    assert place(0 if first else 1, lead) in str(caught.value)


@LEADS
def test_states_that_violate_constraints_are_refused_beside_far_ones(slides, lead):
    c, still = jc.Constraints(slides, held_at(0.0)), np.zeros(2)
    for k in range(2):
        q = np.array([[0.0, 1e-3], [1e13, 0.0]])[[k, 1 - k]].reshape(*lead, 2)
        with pytest.raises(jc.ArgumentError, match=r"^q violates") as caught:
            jc.linearize(slides, q, still, still, constraints=c)
        assert place(k, lead) in str(caught.value)


class Counted(jc.Constraints):
    """Remembers the coordinates that residuals were asked for."""

    def residual(self, q, *, threads=1):
        self.__dict__.setdefault("asked", []).append(np.array(q).reshape(-1, self.model.nq))
        return super().residual(q, threads=threads)


def steps(model, items, q):
    """How many residuals Newton's method took for each state, and where it led."""
    c = Counted(model, items)
    found = jc.project(model, q, c)
    return len(c.asked), [len(x) for x in c.asked], found


def test_states_take_as_many_steps_as_they_take_alone():
    """Those that are done are left alone."""
    model = jc.models.quadruped()
    stands, rng = model.poses["standing"], np.random.default_rng(0)
    feet = [jc.Point("front_left_foot"), jc.Point("rear_right_foot")]
    items = jc.Constraints(model, feet).at(stands).items
    size = np.array([0.0, 1e-9, 1e-4, 0.3, 0.1])[:, None]
    q = jc.integrate(model, stands, size * rng.standard_normal((5, model.nv)))
    counts = [steps(model, items, x)[0] for x in q]
    most, each, found = steps(model, items, q)
    assert counts[0] <= 2 <= counts[1] < counts[3]
    assert each[0] == len(q) > each[-1]
    assert each == sorted(each, reverse=True)
    assert abs(most - max(counts)) <= 1  # what rounding leaves may take one more, in packs or alone
    assert abs(sum(each) - sum(counts)) <= len(q)
    for x, y in zip(q, found, strict=True):
        np.testing.assert_allclose(
            y, jc.project(model, x, jc.Constraints(model, items)), atol=1e-14
        )


def test_a_state_that_needs_no_step_needs_no_inertia():
    """Its own overflows; it is returned as it is, alone and beside another one."""
    builder = jc.ModelBuilder().add_body("x", joint="revolute", axis=(0, 0, 1), **SOLID)
    model = builder.add_body("y", "x", joint="prismatic", axis=(1, 0, 0), **SOLID).build()
    c = jc.Constraints(model, [jc.Coupling({"x_joint": 1.0}, offset=0.0)])
    done, away = np.array([0.0, 1e200]), np.array([0.1, 0.0])
    with pytest.raises(jc.Error, match=r"not finite|overflow"):
        jc.mass_matrix(model, done)
    np.testing.assert_array_equal(jc.project(model, done, c), done)
    found = jc.project(model, [done, away], c)
    np.testing.assert_array_equal(found[0], done)
    assert abs(found[1, 0]) <= 1e-12


def test_what_fails_in_later_steps_is_told_by_its_place():
    """When others are done, those that are left have other numbers than in the batch."""
    builder = jc.ModelBuilder().add_body("x", joint="revolute", axis=(0, 0, 1), **SOLID)
    model = builder.add_body("y", "x", joint="prismatic", axis=(1, 0, 0), **SOLID).build()
    c = jc.Constraints(model, [jc.Coupling({"x_joint": 1.0}, offset=0.0)])
    q = np.zeros((2, 3, 2))
    q[1, 2] = 0.1, 1e200
    with pytest.raises(jc.Error, match=r"in state \[1, 2\] of the batch"):
        jc.project(model, q, c)
    with pytest.raises(jc.Error) as caught:
        jc.project(model, q[1, 2], c)
    assert "of the batch" not in str(caught.value)


@LEADS
def test_states_with_targets_of_their_own_are_told_by_their_place(slides, lead):
    """A coupling without a target holds what it holds in each state."""
    items = [*held_at(0.0, 1e-3), jc.Coupling({"x_joint": 1.0}, offset=None)]
    c = jc.Constraints(slides, items)
    q = np.array([[1e13, 0.0], [0.0, 0.0]]).reshape(*lead, 2)
    with pytest.raises(jc.ArgumentError, match="cannot be met") as caught:
        jc.project(slides, q, c)
    assert place(1, lead) in str(caught.value)


def moving(model, items, size):
    """States (2, 3) that constraints allow, with rates of these sizes."""
    rng = np.random.default_rng(0)
    q = model.poses["standing"]
    c = jc.Constraints(model, items).at(q)
    far = jc.integrate(model, q, 0.1 * rng.standard_normal((2, 3, model.nv)))
    q = jc.project(model, far, c)
    v = np.reshape(size, (2, 3, 1)) * rng.standard_normal((2, 3, model.nv))
    return c, q, jc.project_velocity(model, q, v, c)


@pytest.mark.parametrize("own", [True, False], ids=["targets of their own", "one target"])
def test_projected_steps_of_a_batch_are_those_of_its_states(own):
    """Some of them leave the manifold by much, others by rounding."""
    model, tau = jc.models.quadruped(), np.zeros(18)
    feet = [jc.Point("front_left_foot"), jc.Point("rear_right_foot")]
    c, q, v = moving(model, feet, [0.0, 1e-3, 1.0, 5.0, 1e-6, 0.1])
    c = jc.Constraints(model, feet) if own else c
    both = jc.linearize_step(model, q, v, tau, 0.02, constraints=c, method="midpoint")
    for at in np.ndindex(2, 3):
        one = jc.linearize_step(model, q[at], v[at], tau, 0.02, constraints=c, method="midpoint")
        for name in ("A", "B", "q", "v"):
            x, y = getattr(one, name), getattr(both, name)[at]
            np.testing.assert_allclose(y, x, rtol=0, atol=1e-13 * max(1.0, np.abs(x).max()))


def test_projected_steps_take_as_many_newton_steps_as_alone(monkeypatch):
    model, asked = jc.models.quadruped(), []
    feet = [jc.Point("front_left_foot"), jc.Point("rear_right_foot")]
    c, q, v = moving(model, feet, [0.0, 1e-3, 1.0, 5.0, 1e-6, 0.1])

    def counted(model, q, dv, *, threads):
        asked.append(len(q))
        return jc.integrate(model, q, dv, threads=threads)

    def sizes(q, v):
        asked.clear()
        jc.linearize_step(model, q, v, np.zeros(18), 0.02, constraints=c, method="midpoint")
        return list(asked)

    monkeypatch.setattr("jounce.simulation.projected_step.integrate", counted)
    counts = [len(sizes(q[at], v[at])) for at in np.ndindex(2, 3)]
    assert len(set(counts)) > 2
    assert abs(sum(sizes(q, v)) - sum(counts)) <= 2  # rounding of packs may ask for one more


@LEADS
@pytest.mark.parametrize("first", [True, False])
def test_steps_that_leave_their_constraints_are_refused_beside_far_ones(slides, first, lead):
    """Two targets that contradict each other; the far state is as near as its numbers are known."""
    c = jc.Constraints(slides, held_at(0.0, 1e-3), tolerance=np.inf)
    near, other, still = np.zeros(2), np.array([1e13, 0.0]), np.zeros(2)
    words = r"^the step leaves its constraints"
    with pytest.raises(jc.DivergenceError, match=rf"{words}: 0\.0005 is left"):
        jc.linearize_step(slides, near, still, still, 0.01, constraints=c)
    assert jc.linearize_step(slides, other, still, still, 0.01, constraints=c).q[0] == 1e13
    batch = np.array([near, other] if first else [other, near]).reshape(*lead, 2)
    with pytest.raises(jc.DivergenceError, match=words) as caught:
        jc.linearize_step(slides, batch, still, still, 0.01, constraints=c)
    assert f" {place(0 if first else 1, lead)}: 0.0005 is left" in str(caught.value)
