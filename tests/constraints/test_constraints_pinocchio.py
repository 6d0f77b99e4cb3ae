"""Humanoids and quadrupeds on their feet, against Pinocchio's constrained dynamics."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import jounce as jc

sys.path.append(str(Path(__file__).parent.parent))
real_robots = pytest.importorskip("real_robots")
pin = pytest.importorskip("pinocchio")

STATES = 4
FEET = {
    "talos_data/robots/talos_full_v2.urdf": ("left_sole_link", "right_sole_link"),
    "hyq_description/robots/hyq_no_sensors.urdf": ("lf_foot", "rf_foot", "lh_foot", "rh_foot"),
}


LEGS_OF_SIX, LEGS_OF_THREE = FEET
"""How many joints a leg has: what three joints carry cannot be held in all directions."""
held = pytest.mark.parametrize(
    ("standing", "six"),
    [(LEGS_OF_SIX, True), (LEGS_OF_SIX, False), (LEGS_OF_THREE, False)],
    indirect=["standing"],
)


@pytest.fixture(scope="module", params=FEET)
def standing(request):
    path = real_robots.DIRECTORY / request.param
    if not path.exists():
        pytest.skip(f"{request.param} is not installed")
    return real_robots.setting(path, "free", STATES), FEET[request.param]


def contacts(s, feet, six):
    """The same contacts there, without stabilization."""
    kind = pin.ContactType.CONTACT_6D if six else pin.ContactType.CONTACT_3D
    axes = pin.ReferenceFrame.LOCAL if six else pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    models = pin.StdVec_RigidConstraintModel()
    for name in feet:
        frame = s.pin.frames[s.pin.getFrameId(name)]
        model = pin.RigidConstraintModel(kind, s.pin, frame.parentJoint, frame.placement, axes)
        models.append(model)
    return models


@held
def test_standing_robots_accelerate_as_in_pinocchio(standing, six):
    s, feet = standing
    kind = jc.Weld if six else jc.Point
    c = jc.Constraints(s.model, [kind(name) for name in feet])
    v = jc.project_velocity(s.model, s.q, s.v, c)
    tau = np.random.default_rng(0).standard_normal((STATES, s.model.nv))
    found = jc.constrained_dynamics(s.model, s.q, v, tau, c)
    models = contacts(s, feet, six)
    datas = pin.StdVec_RigidConstraintData()
    datas.extend([m.createData() for m in models])
    pin.initConstraintDynamics(s.pin, s.data, models, datas)
    settings = pin.ProximalSettings(1e-13, 0.0, 1)
    v_there = s.there.to_v(s.q, v)
    tau_there = np.array([s.there.to_tau(q, t) for q, t in zip(s.q, tau, strict=True)])
    a_there = s.there.to_a(s.q, v, found.a)
    for k in range(STATES):
        a = pin.constraintDynamics(
            s.pin, s.data, s.pin_q[k], v_there[k], tau_there[k], models, datas, settings
        )
        cond = np.linalg.cond(c.inverse_inertia(s.q[k]))
        scale = np.abs(a).max()
        assert np.abs(a - a_there[k]).max() < 1e-13 * cond * scale
        for i, data in enumerate(datas):
            wrench = data.contact_force
            mine = found.force[k, c.rows(i)]
            # theirs acts on the robot, as ours
            theirs = np.concatenate([wrench.angular, wrench.linear]) if six else wrench.linear
            size = np.abs(found.force[k]).max()
            assert np.abs(mine - theirs).max() < 1e-12 * cond * size


@pytest.mark.parametrize("standing", [LEGS_OF_SIX], indirect=True)
def test_redundant_contacts_accelerate_as_in_pinocchio(standing):
    """One foot held twice: accelerations and J^T force are unique, the forces are not."""
    s, feet = standing
    feet = [*feet, feet[0]]
    c = jc.Constraints(s.model, [jc.Weld(name) for name in feet])
    v = jc.project_velocity(s.model, s.q, s.v, c)
    tau = np.random.default_rng(0).standard_normal((STATES, s.model.nv))
    found = jc.constrained_dynamics(s.model, s.q, v, tau, c)
    assert (c.rank(s.q) <= c.size - 6).all()
    push = (found.force[:, None] @ c.jacobian(s.q))[:, 0]
    needed = jc.inverse_dynamics(s.model, s.q, v, found.a) - tau
    assert np.abs(push - needed).max() < 1e-9 * np.abs(push).max()
    models = contacts(s, feet, True)
    datas = pin.StdVec_RigidConstraintData()
    datas.extend([m.createData() for m in models])
    pin.initConstraintDynamics(s.pin, s.data, models, datas)
    v_there, a_there = s.there.to_v(s.q, v), s.there.to_a(s.q, v, found.a)
    for k in range(STATES):
        state = s.pin_q[k], v_there[k], s.there.to_tau(s.q[k], tau[k])
        settings = pin.ProximalSettings(1e-12, 1e-7, 200)  # iterates towards hard constraints
        a = pin.constraintDynamics(s.pin, s.data, *state, models, datas, settings)
        assert np.abs(a - a_there[k]).max() < 1e-6 * np.abs(a).max()
        theirs = pushed(s, models, datas, s.pin_q[k])
        mine = s.there.to_tau(s.q[k], push[k])
        assert np.abs(theirs - mine).max() < 1e-6 * np.abs(mine).max()


def pushed(s, models, datas, q):
    """J^T force of Pinocchio's contacts, which are welds, by its own Jacobians."""
    pin.computeJointJacobians(s.pin, s.data, q)
    total = np.zeros(s.pin.nv)
    for model, data in zip(models, datas, strict=True):
        J = pin.getConstraintJacobian(s.pin, s.data, model, data)
        total += J.T @ data.contact_force.vector
    return total


def test_derivatives_on_points_are_slopes_and_leave_the_feet_alone(standing):
    s, feet = standing
    c = jc.Constraints(s.model, [jc.Point(name) for name in feet])
    v = jc.project_velocity(s.model, s.q, s.v, c)
    tau = np.random.default_rng(0).standard_normal((STATES, s.model.nv))
    d = jc.constrained_dynamics_derivatives(s.model, s.q, v, tau, c)
    J, Minv = c.jacobian(s.q), jc.inverse_mass_matrix(s.model, s.q)
    K = J @ Minv @ J.swapaxes(-1, -2)
    left = Minv - Minv @ J.swapaxes(-1, -2) @ np.linalg.solve(K, J @ Minv)
    scale = np.abs(Minv).max()
    assert np.abs(d.a_dtau - left).max() < 1e-9 * scale
    assert np.abs(J @ d.a_dtau).max() < 1e-9 * scale * np.abs(J).max()
    h = 1e-4
    direction = np.random.default_rng(1).standard_normal((3, s.model.nv))

    def moved(k):
        return jc.constrained_dynamics(
            s.model,
            jc.integrate(s.model, s.q, k * h * direction[0]),
            v + k * h * direction[1],
            tau + k * h * direction[2],
            c,
        )

    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    for name in ("a", "force"):
        pairs = (
            (getattr(moved(k), name) - getattr(moved(-k), name), w) for k, w in weights.items()
        )
        slope = sum(x * w for x, w in pairs) / h
        parts = [getattr(d, f"{name}_{by}") for by in ("dq", "dv", "dtau")]
        found = sum(x @ y for x, y in zip(parts, direction, strict=True))
        assert np.abs(found - slope).max() < 1e-6 * np.abs(slope).max()
