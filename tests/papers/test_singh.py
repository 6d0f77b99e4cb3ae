"""singh, item by item: against the core, complex steps and Pinocchio."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import jounce as jc
from jounce import inertia, lie
from jounce.joints import ELEMENTARY
from jounce.papers import singh

STATES = 20
TOLERANCE = 1e-11
STEP = 1e-30  # of complex steps: no difference is formed, so it can be this small

MODELS = {
    "aerial_manipulator": lambda: jc.models.aerial_manipulator(),
    "mixed_tree": lambda: jc.models.mixed_tree(3),
    "all_joints": lambda: jc.models.random_tree(11, 1),
    "groups_in_mid_tree": lambda: jc.models.random_tree(
        6, 2, joints=("spherical", "free", "revolute")
    ),
}


FORWARD = {
    "FDSVA_DMM": lambda *state: singh.FDSVA(*state, method="DMM"),
    "FDSVA_AZA": lambda *state: singh.FDSVA(*state, method="AZA"),
    "FDCR": singh.FDCR,
    "ABACR": singh.ABACR,
}


@functools.cache
def model_of(name):
    model = MODELS[name]()
    return model.replace(armature=np.random.default_rng(5).uniform(0, 0.2, model.nv))


@functools.cache
def samples(name):
    """Random (q, v, a)."""
    model, rng = model_of(name), np.random.default_rng(6)
    return [
        (jc.random_configuration(model, rng), *rng.standard_normal((2, model.nv)))
        for _ in range(STATES)
    ]


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def relative(x, y):
    return np.abs(np.asarray(x) - y).max() / max(np.abs(y).max(), 1e-300)


def integrate(model, q, dv):
    """jc.integrate for a complex tangent vector."""
    nodes, out = model.nodes, np.array(q, complex)
    for kind, k, w in zip(nodes.kind, nodes.q_index, nodes.v_index, strict=True):
        if ELEMENTARY[kind] not in ("spherical", "free"):
            out[k] += dv[w]
            continue
        out[k : k + 4] = lie.quat_multiply(q[k : k + 4], lie.quat_exp(dv[w : w + 3]))
        if ELEMENTARY[kind] == "free":
            shift = lie.exp(dv[w : w + 6])[:3, 3]
            out[k + 4 : k + 7] += lie.quat_to_matrix(q[k : k + 4]) @ shift
    return out


def in_q(model, q, function):
    """Derivative of function(q) in the tangent space, directions last, by the complex step."""
    steps = 1j * STEP * np.eye(model.nv)
    columns = [function(integrate(model, q, e)).imag / STEP for e in steps]
    return np.moveaxis(np.array(columns), 0, -1)


def in_v(v, function):
    """Derivative of function(v), directions last, by the complex step."""
    columns = [function(v + e).imag / STEP for e in 1j * STEP * np.eye(len(v))]
    return np.moveaxis(np.array(columns), 0, -1)


def as_printed(function, right, printed):
    """The function with one line as the paper prints it."""
    source = inspect.getsource(function)
    assert source.count(right) == 1, right
    scope = dict(function.__globals__)
    exec(source.replace(right, printed), scope)
    return scope[function.__name__]


@functools.cache
def id_oracle(name):
    """Derivatives of RNEA in q and qd by the complex step, per state."""
    model = model_of(name)
    return [
        (
            in_q(model, q, lambda x, v=v, a=a: singh.RNEA(model, x, v, a)),
            in_v(v, lambda x, q=q, a=a: singh.RNEA(model, q, x, a)),
        )
        for q, v, a in samples(name)
    ]


@functools.cache
def fd_oracle(name):
    """Derivatives of ABA in q, qd and tau by the complex step, per state."""
    model = model_of(name)
    return [
        (
            in_q(model, q, lambda x, v=v, tau=tau: singh.ABA(model, x, v, tau)),
            in_v(v, lambda x, q=q, tau=tau: singh.ABA(model, q, x, tau)),
            in_v(tau, lambda x, q=q, v=v: singh.ABA(model, q, v, x)),
        )
        for q, v, tau in samples(name)
    ]


def test_complex_moves_are_those_of_jounce(name):
    model, rng = model_of(name), np.random.default_rng(0)
    q = samples(name)[0][0]
    dv = rng.standard_normal(model.nv)
    ours, core = integrate(model, q, dv).real, jc.integrate(model, q, dv)
    assert np.abs(jc.difference(model, core, ours)).max() < 1e-14


def test_RNEA_is_inverse_dynamics(name):
    model = model_of(name)
    for q, v, a in samples(name):
        assert relative(singh.RNEA(model, q, v, a), jc.inverse_dynamics(model, q, v, a)) < TOLERANCE


def test_torque_terms_are_inertial_coriolis_and_gravity_forces(name):
    """Eq. 12 to 14."""
    model = model_of(name)
    for q, v, a in samples(name):
        mass, coriolis, gravity = singh.torque_terms(singh.first_pass(model, q, v, a))
        g = jc.gravity_forces(model, q)
        assert relative(mass + model.armature * a, jc.mass_matrix(model, q) @ a) < TOLERANCE
        assert relative(coriolis, jc.bias_forces(model, q, v) - g) < TOLERANCE
        assert relative(gravity, g) < TOLERANCE


def test_IDSVA_is_the_derivative_of_inverse_dynamics(name):
    """Algorithm 1."""
    model = model_of(name)
    for (q, v, a), (dq, dqd) in zip(samples(name), id_oracle(name), strict=True):
        ours = singh.IDSVA(model, q, v, a)
        assert relative(ours.dq, dq) < TOLERANCE
        assert relative(ours.dqd, dqd) < TOLERANCE


def test_closed_forms_are_the_derivative_of_inverse_dynamics(name):
    """Eq. 30 to 32."""
    model = model_of(name)
    for (q, v, a), (dq, dqd) in zip(samples(name), id_oracle(name), strict=True):
        g = singh.first_pass(model, q, v, a)
        assert relative(singh.torque_dq(g), dq) < TOLERANCE
        assert relative(singh.torque_dqd(g), dqd) < TOLERANCE


@pytest.mark.parametrize(
    ("closed_form", "term"),
    [(singh.mass_dq, 0), (singh.coriolis_dq, 1), (singh.gravity_dq, 2)],
    ids=["eq25_mass", "eq26_27_coriolis", "eq29_gravity"],
)
def test_closed_forms_of_the_three_terms(name, closed_form, term):
    model = model_of(name)
    for q, v, a in samples(name)[:3]:

        def part(x, v=v, a=a):
            return singh.torque_terms(singh.first_pass(model, x, v, a))[term]

        g = singh.first_pass(model, q, v, a)
        assert relative(closed_form(g), in_q(model, q, part)) < TOLERANCE


def test_RNEACR_is_the_derivative_of_inverse_dynamics(name):
    model = model_of(name)
    for (q, v, a), (dq, dqd) in zip(samples(name), id_oracle(name), strict=True):
        ours = singh.RNEACR(model, q, v, a)
        assert relative(ours.dq, dq) < TOLERANCE
        assert relative(ours.dqd, dqd) < TOLERANCE


@pytest.mark.parametrize("method", ["IDSVA", "RNEACR"])
def test_second_derivatives_in_the_rates_are_symmetric(name, method):
    """A complex step through the partials, which accept complex arrays too."""
    model = model_of(name)
    q, v, a = samples(name)[0]
    hessian = in_v(v, lambda x: getattr(singh, method)(model, q, x, a).dqd)
    assert relative(hessian, np.swapaxes(hessian, 1, 2)) < TOLERANCE


@pytest.mark.parametrize("method", FORWARD)
def test_second_derivatives_of_forward_dynamics_are_symmetric(name, method):
    model = model_of(name)
    q, v, tau = samples(name)[0]
    hessian = in_v(v, lambda x: FORWARD[method](model, q, x, tau).dqd)
    assert relative(hessian, np.swapaxes(hessian, 1, 2)) < TOLERANCE


def test_partials_vanish_for_bodies_on_different_branches(name):
    model = model_of(name)
    q, v, a = samples(name)[0]
    g = singh.first_pass(model, q, v, a)
    ours = singh.IDSVA(model, q, v, a)
    for i, k in enumerate(g.joint):
        for j, other in enumerate(g.joint):
            if not (g.is_ancestor(i, j) or g.is_ancestor(j, i)):
                assert not ours.dq[k, other].any()
                assert not ours.dqd[k, other].any()


def test_operators_satisfy_properties_P1_to_P7():
    rng = np.random.default_rng(0)
    v, m, f = rng.standard_normal((3, 6))
    assert np.allclose(singh.bar(f) @ v, singh.cross_dual(v) @ f, atol=1e-14)  # eq. 43
    sides = singh.P(v, m, f)
    assert sorted(sides) == [f"P{k}" for k in range(1, 8)]
    for left, right in sides.values():
        assert np.allclose(left, right, rtol=0, atol=1e-13)


FIXED = np.random.default_rng(7).standard_normal(6)

# What is differentiated, in q or in the rates, and the right-hand side of the identity.
IDENTITIES = {
    "J1": ("q", lambda g, i: g.S[:, g.joint[i]], singh.J1),
    "J2": ("q", lambda g, i: singh.cross_dual(g.v[i]) @ FIXED, singh.J2),
    "J3": ("q", lambda g, i: g.S[:, g.joint[i]].T @ FIXED, singh.J3),
    "J4": ("q", lambda g, i: g.I[i] @ FIXED, singh.J4),
    "J5": ("q", lambda g, i: g.I[i] @ g.v[i], singh.J5),
    "J6": ("q", lambda g, i: g.xi[i], singh.J6),
    "J7": ("q", lambda g, i: g.gamma[i], singh.J7),
    "J8": ("qd", lambda g, i: g.v[i], singh.J8),
    "J9": ("qd", lambda g, i: g.xi[i], singh.J9),
}


@pytest.mark.parametrize("identity", IDENTITIES)
def test_identities_J1_to_J9_for_all_pairs_of_bodies(name, identity):
    model = model_of(name)
    variable, left, right = IDENTITIES[identity]
    fixed = (FIXED,) if identity in ("J2", "J3", "J4") else ()
    for q, v, a in samples(name)[:2]:
        g = singh.first_pass(model, q, v, a)
        for i in range(len(g.parent)):
            moved = _passes(model, name, variable, tuple(q))
            columns = np.array([left(h, i).imag / STEP for h in moved])
            scale = max(np.abs(columns).max(), 1.0)
            for j, k in enumerate(g.joint):
                ours = right(g, i, j, *fixed)
                expected = columns[k] if identity == "J1" else np.moveaxis(columns[k], 0, -1)
                assert np.abs(ours - expected).max() < TOLERANCE * scale


@functools.cache
def _passes(model, name, variable, q):
    """First passes at the state with this q, moved by an imaginary step in every direction."""
    v, a = next((v, a) for x, v, a in samples(name) if tuple(x) == q)
    steps = 1j * STEP * np.eye(model.nv)
    q = np.array(q)
    if variable == "q":
        return [singh.first_pass(model, integrate(model, q, e), v, a) for e in steps]
    return [singh.first_pass(model, q, v + e, a) for e in steps]


def test_ABA_is_forward_dynamics(name):
    model = model_of(name)
    for q, v, tau in samples(name):
        ours = singh.ABA(model, q, v, tau)
        assert relative(ours, jc.forward_dynamics(model, q, v, tau)) < TOLERANCE


def test_AZA_and_DMM_multiply_by_the_inverse_mass_matrix(name):
    """Eq. 34."""
    model, rng = model_of(name), np.random.default_rng(0)
    for q, _, _ in samples(name):
        b = rng.standard_normal((model.nv, 4))
        M_inv = jc.inverse_mass_matrix(model, q)
        assert relative(singh.inverse_mass_matrix(model, q), M_inv) < TOLERANCE
        assert relative(singh.AZA(singh.articulated(model, q), b), M_inv @ b) < TOLERANCE
        assert relative(singh.DMM(M_inv, b), M_inv @ b) < TOLERANCE


@pytest.mark.parametrize("method", FORWARD)
def test_forward_partials_are_the_derivative_of_forward_dynamics(name, method):
    """Eq. 5, Table II."""
    model = model_of(name)
    for (q, v, tau), oracle in zip(samples(name), fd_oracle(name), strict=True):
        ours = FORWARD[method](model, q, v, tau)
        for x, y in zip(ours, oracle, strict=True):
            assert relative(x, y) < TOLERANCE
        assert relative(ours.dtau, jc.inverse_mass_matrix(model, q)) < TOLERANCE


def test_unknown_method_is_refused():
    model = jc.models.chain(2)
    with pytest.raises(ValueError, match="method must be 'DMM' or 'AZA', got 'LU'"):
        singh.FDSVA(model, np.zeros(2), np.zeros(2), np.zeros(2), method="LU")


@pytest.mark.skipif(
    not hasattr(jc, "inverse_dynamics_derivatives"), reason="the core's partials are not built"
)
def test_partials_are_those_of_the_core(name):
    model = model_of(name)
    for q, v, a in samples(name):
        core, ours = jc.inverse_dynamics_derivatives(model, q, v, a), singh.IDSVA(model, q, v, a)
        assert relative(ours.dq, core.dq) < TOLERANCE
        assert relative(ours.dqd, core.dv) < TOLERANCE
        core, ours = jc.forward_dynamics_derivatives(model, q, v, a), singh.FDSVA(model, q, v, a)
        for x, y in zip(ours, core, strict=True):
            assert relative(x, y) < TOLERANCE


def chain_about_z(n):
    """The chain of Sec. V: every joint revolute about its local z axis."""
    builder = jc.ModelBuilder()
    for i in range(n):
        builder.add_body(
            f"link{i}",
            f"link{i - 1}" if i else None,
            joint="revolute",
            placement=(1, 0, 0) if i else (0, 0, 0),
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0.01, 0.1, 0.1),
        )
    return builder.build()


def rms(x, y):
    """Root mean square error over the root mean square value."""
    return np.sqrt(np.mean((x - y) ** 2) / np.mean(y**2))


def test_accuracy_at_100_links_is_that_of_section_V_A(record_property):
    """1e-12 for FDSVA and FDCR, less for ABACR, as the paper reports."""
    model, rng = chain_about_z(100), np.random.default_rng(0)
    q, (v, tau) = jc.random_configuration(model, rng), rng.uniform(size=(2, 100))
    oracle = (
        in_q(model, q, lambda x: singh.ABA(model, x, v, tau)),
        in_v(v, lambda x: singh.ABA(model, q, x, tau)),
    )
    for method, function in FORWARD.items():
        errors = [rms(x, y) for x, y in zip(function(model, q, v, tau), oracle, strict=False)]
        record_property(method, errors)
        assert max(errors) < (1e-13 if method == "ABACR" else 1e-12)


def test_accuracy_on_the_chain_of_100_links_with_axes_in_all_directions(record_property):
    """Inverse dynamics at rounding; eq. 5 then loses up to eps * cond(M) of it, ABACR does not."""
    model, rng = jc.models.chain(100), np.random.default_rng(0)
    q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 100))
    oracle = (
        in_q(model, q, lambda x: singh.RNEA(model, x, v, a)),
        in_v(v, lambda x: singh.RNEA(model, q, x, a)),
    )
    for function in (singh.IDSVA, singh.RNEACR):
        errors = [rms(x, y) for x, y in zip(function(model, q, v, a), oracle, strict=True)]
        record_property(function.__name__, errors)
        assert max(errors) < 1e-13
    oracle = (
        in_q(model, q, lambda x: singh.ABA(model, x, v, a)),
        in_v(v, lambda x: singh.ABA(model, q, x, a)),
    )
    for method, function in FORWARD.items():
        errors = [rms(x, y) for x, y in zip(function(model, q, v, a), oracle, strict=False)]
        record_property(method, errors)
        assert max(errors) < (1e-12 if method == "ABACR" else 1e-11)


def to_pinocchio(pin, model):
    """The same robot in Pinocchio, and where jounce's coordinates and rates sit in its own."""
    robot, q_of, v_of = pin.Model(), [], []
    nodes = model.nodes
    robot.gravity.linear = model.gravity
    joints = {
        "revolute": lambda h: pin.JointModelRZ(),
        "prismatic": lambda h: pin.JointModelPZ(),
        "helical": lambda h: pin.JointModelHZ(float(h)),
        "spherical": lambda h: pin.JointModelSpherical(),
        "free": lambda h: pin.JointModelFreeFlyer(),
    }
    back = {-1: np.eye(4)}
    for i, kind in enumerate(nodes.kind):
        parent = int(nodes.parent[i])
        pose = back[parent] @ nodes.placement[i] @ nodes.alignment[i]
        back[i] = lie.inverse(nodes.alignment[i])
        joint = joints[ELEMENTARY[kind]](nodes.pitch[i])
        index = robot.addJoint(parent + 1, joint, pin.SE3(pose), f"joint{i}")
        parameters = inertia.transform(nodes.parameters[i], back[i])
        if parameters[0] > 0:
            body = pin.Inertia.FromDynamicParameters(parameters)
            robot.appendBodyToJoint(index, body, pin.SE3.Identity())
        q0, v0 = robot.joints[index].idx_q, robot.joints[index].idx_v
        free = ELEMENTARY[kind] == "free"
        q_of += [q0 + k for k in ((3, 4, 5, 6, 0, 1, 2) if free else range(joint.nq))]
        v_of += [v0 + k for k in ((3, 4, 5, 0, 1, 2) if free else range(joint.nv))]
    return robot, np.array(q_of), np.array(v_of)


def test_partials_are_those_of_pinocchio(name):
    pin = pytest.importorskip("pinocchio")
    model = MODELS[name]()
    model = model.replace(armature=np.zeros(model.nv))
    robot, q_of, v_of = to_pinocchio(pin, model)
    data, square = robot.createData(), np.ix_(v_of, v_of)
    for q, v, a in samples(name):
        q_, v_, a_ = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        q_[q_of], v_[v_of], a_[v_of] = q, v, a
        theirs = pin.computeRNEADerivatives(robot, data, q_, v_, a_)
        for x, y in zip(singh.IDSVA(model, q, v, a), theirs[:2], strict=True):
            assert relative(x, np.array(y)[square]) < TOLERANCE
        theirs = pin.computeABADerivatives(robot, data, q_, v_, a_)
        for x, y in zip(singh.FDSVA(model, q, v, a), theirs[:2], strict=False):
            assert relative(x, np.array(y)[square]) < 1e-10


class TestErrata:
    """What is printed fails by far where the corrected form agrees to rounding."""

    def test_gamma_collects_accelerations_not_rates(self):
        """Eq. 78 to 81: with qd instead of qdd the sum is the derivative of v, not of gamma."""
        model = model_of("all_joints")
        q, v, a = samples("all_joints")[0]
        g = singh.first_pass(model, q, v, a)
        i = len(g.parent) - 1
        left = in_q(model, q, lambda x: singh.first_pass(model, x, v, a).gamma[i])
        right = np.hstack([singh.J7(g, i, j) for j in range(len(g.parent))])
        rates = np.hstack([singh.J7(g._replace(gamma=g.v), i, j) for j in range(len(g.parent))])
        assert relative(right, left) < TOLERANCE
        assert relative(rates, left) > 0.05

    def test_third_term_of_line_15_is_needed_for_single_dof_joints_too(self):
        """Sec. IV-D drops it; S_i^T f xbar* S_i vanishes but S_j^T f xbar* S_i does not."""
        model = jc.models.chain(5)
        rng = np.random.default_rng(0)
        q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 5))
        oracle = in_q(model, q, lambda x: singh.RNEA(model, x, v, a))
        dropped = as_printed(singh.IDSVA, " + bar(f_C[i]) @ S_i", "")(model, q, v, a)
        assert relative(singh.IDSVA(model, q, v, a).dq, oracle) < TOLERANCE
        assert relative(np.tril(dropped.dq), np.tril(oracle)) < TOLERANCE
        assert relative(dropped.dq, oracle) > 0.05

    @pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
    def test_psi_is_the_derivative_of_the_screw_for_single_dof_joints(self, gravity):
        """Sec. IV-D: Psidot = Sdot holds; Psiddot = Sddot holds only without gravity in a."""
        model = jc.models.chain(5).replace(gravity=gravity)
        rng = np.random.default_rng(0)
        q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 5))
        g = singh.first_pass(model, q, v, a)
        later = singh.first_pass(model, q + 1j * STEP * v, v + 1j * STEP * a, a)
        Sdot, Sddot = later.S.imag / STEP, later.Sdot.imag / STEP
        assert relative(g.Psidot, Sdot) < TOLERANCE
        assert relative(g.Psiddot - singh.cross(g.a[-1]) @ g.S, Sddot) < TOLERANCE
        assert (relative(g.Psiddot, Sddot) < TOLERANCE) == (not any(gravity))

    def test_psi_is_not_the_derivative_of_the_screw_for_multi_dof_joints(self):
        model = model_of("groups_in_mid_tree")
        q, v, a = samples("groups_in_mid_tree")[0]
        g = singh.first_pass(model, q, v, a)
        assert relative(g.Psidot, g.Sdot) > 0.05
