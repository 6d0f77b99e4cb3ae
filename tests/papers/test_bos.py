"""bos, item by item: against the core, against complex steps, and its own validation (Sec. 5)."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

import jounce as jc
from jounce import lie
from jounce.papers import bos

STATES = 20
TOLERANCE = 1e-11
STEP = 1e-30  # of complex steps: no difference is formed, so it can be this small

CASCADES = ("revolute", "prismatic", "helical", "cylindrical", "planar", "universal")
MODELS = {
    "aerial_manipulator": lambda: jc.models.aerial_manipulator(),
    "mixed_tree": lambda: jc.models.mixed_tree(3),
    "random_tree": lambda: jc.models.random_tree(9, 1, joints=CASCADES, first="free"),
    "anchored_base": lambda: jc.models.random_tree(8, 8, joints=CASCADES, first="free"),
}


@functools.cache
def model_of(name):
    model = MODELS[name]()
    return model.replace(armature=np.random.default_rng(5).uniform(0, 0.2, model.nv))


@functools.cache
def samples(name):
    """Random (q, v, a) in jounce's coordinates."""
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


def complex_step(function, size):
    """Columns of the derivative of function(z) at z = 0."""
    return np.array([function(1j * STEP * e).imag / STEP for e in np.eye(size)]).T


def split(model, columns):
    return np.split(columns, [6, model.nv, model.nv + 6], axis=1)


def as_printed(function, right, printed):
    """The function with one line as the paper prints it."""
    source = inspect.getsource(function)
    assert source.count(right) == 1, right
    scope = dict(function.__globals__)
    exec(source.replace(right, printed), scope)
    return scope[function.__name__]


def test_operators_satisfy_their_definitions():
    rng = np.random.default_rng(0)
    v, w, f = rng.standard_normal((3, 6))
    linear, angular = v[:3], v[3:]
    expected = np.block([[lie.hat(angular), lie.hat(linear)], [np.zeros((3, 3)), lie.hat(angular)]])
    assert np.array_equal(bos.cross(v), expected)  # eq. 18
    assert np.allclose((bos.cross_dual(v) @ f) @ w, -f @ (bos.cross(v) @ w), atol=1e-14)
    assert np.allclose(bos.bar(f) @ v, bos.cross_dual(v) @ f, atol=1e-14)
    H = lie.exp(w)
    R, o = H[:3, :3], H[:3, 3]
    assert np.allclose(bos.X(H), np.block([[R, lie.hat(o) @ R], [np.zeros((3, 3)), R]]))
    assert np.array_equal(bos.reorder(bos.reorder(v)), v)


def test_EIDAmb_is_inverse_dynamics(name):
    model = model_of(name)
    T = bos.velocity_matrix(model)
    for q, v, a in samples(name):
        tau = T.T @ bos.ID(model, bos.state_of(model, q, v), T @ a)
        assert relative(tau, jc.inverse_dynamics(model, q, v, a)) < TOLERANCE


def test_EIDAmb_blocks_are_those_of_the_equations_of_motion(name):
    """Eq. 54, 56, 57 and 40: M_11, M_12 and h_1; the two bias wrenches differ by F rdot."""
    model = model_of(name)
    T = bos.velocity_matrix(model)
    T_inv = np.linalg.inv(T)
    for q, v, a in samples(name):
        nudot = T @ a
        e = bos.extended(model, bos.state_of(model, q, v), nudot[:6], nudot[6:])
        M = T_inv.T @ (jc.mass_matrix(model, q) - np.diag(model.armature)) @ T_inv
        h = T_inv.T @ jc.bias_forces(model, q, v)
        F = np.array([e.F[i][0] for i in range(1, len(e.F))]).T
        assert relative(e.M_c[0], M[:6, :6]) < TOLERANCE
        assert relative(F, M[:6, 6:]) < TOLERANCE
        assert relative(e.b_vp[0], h[:6]) < TOLERANCE
        assert relative(e.b_vp[0] + F @ nudot[6:], e.b_c[0]) < TOLERANCE


def test_consistent_acceleration_needs_no_wrench_on_the_base(name):
    model = model_of(name)
    for q, v, a in samples(name):
        state = bos.state_of(model, q, v)
        vdot = bos.consistent_acceleration(model, state, a[6:])
        e = bos.extended(model, state, vdot, a[6:])
        assert np.abs(e.tau_b).max() < TOLERANCE * np.abs(e.b_c[0]).max()


@functools.cache
def id_oracle(name):
    """Extended inverse dynamics and its derivatives by the complex step, per state."""
    model, out = model_of(name), []
    for q, v, a in samples(name):
        state, nudot = bos.state_of(model, q, v), bos.velocity_matrix(model) @ a

        def shifted(z, state=state, nudot=nudot):
            return bos.ID(model, bos.moved(state, z), nudot)

        e = bos.extended(model, state, nudot[:6], nudot[6:])
        out.append((e, split(model, complex_step(shifted, 2 * model.nv))))
    return out


@pytest.mark.parametrize(
    ("table", "index"),
    [(bos.dID_dH, 0), (bos.dID_ds, 1), (bos.dID_dv, 2), (bos.dID_dr, 3)],
    ids=["Table5_H", "Table6_s", "Table7_v", "Table8_r"],
)
def test_tables_5_to_8_are_the_derivatives_of_extended_inverse_dynamics(name, table, index):
    for e, oracle in id_oracle(name):
        assert relative(table(e), oracle[index]) < TOLERANCE


def test_second_derivatives_are_symmetric(name):
    """A complex step through Tables 6 and 8, which accept complex arrays too."""
    model = model_of(name)
    q, v, a = samples(name)[0]
    state, nudot, n = bos.state_of(model, q, v), bos.velocity_matrix(model) @ a, model.nv

    def at(z):
        return bos.extended(model, bos.moved(state, z), nudot[:6], nudot[6:])

    steps = 1j * STEP * np.eye(2 * n)
    for table, columns in ((bos.dID_ds, range(6, n)), (bos.dID_dr, range(n + 6, 2 * n))):
        hessian = np.array([table(at(steps[k])).imag / STEP for k in columns])
        assert relative(hessian, np.swapaxes(hessian, 0, 2)) < TOLERANCE


def test_IMMAmb_is_the_inverse_mass_matrix(name):
    model = model_of(name)
    T_inv = np.linalg.inv(bos.velocity_matrix(model))
    for q, _, _ in samples(name):
        Minv = bos.IMMAmb(model, q[7:])
        assert np.array_equal(Minv[:6, 6:], Minv[6:, :6].T)
        assert relative(T_inv @ Minv @ T_inv.T, jc.inverse_mass_matrix(model, q)) < TOLERANCE
        assert relative(T_inv @ Minv @ T_inv.T @ jc.mass_matrix(model, q), np.eye(model.nv)) < 1e-10


def test_FD_is_forward_dynamics(name):
    model = model_of(name)
    T = bos.velocity_matrix(model)
    for q, v, tau in samples(name):
        tau_bar = np.linalg.solve(T.T, tau)
        nudot = bos.FD(model, bos.state_of(model, q, v), tau_bar[6:], tau_bar[:6])
        expected = jc.forward_dynamics(model, q, v, tau)
        assert relative(np.linalg.solve(T, nudot), expected) < TOLERANCE


def test_A_is_the_derivative_of_the_vector_field_less_its_adjoint(name):
    """Eq. 22 and 42 against 25: A = D_1 lambda o D L - ad_lambda."""
    model = model_of(name)
    for q, v, tau in samples(name):
        state = bos.state_of(model, q, v)

        def shifted(z, state=state, tau=tau):
            return bos.vector_field(model, bos.moved(state, z), tau[6:])

        oracle = complex_step(shifted, 2 * model.nv) - bos.ad_lambda(state)
        assert relative(bos.A(model, state, tau[6:]), oracle) < TOLERANCE


def test_B_is_the_derivative_of_the_vector_field_in_the_input(name):
    """Eq. 23 against 31."""
    model = model_of(name)
    q, v, tau = samples(name)[0]
    state = bos.state_of(model, q, v)
    oracle = complex_step(lambda w: bos.vector_field(model, state, tau[6:] + w), model.nv - 6)
    assert relative(bos.B(model, state.s), oracle) < TOLERANCE


def test_linearization_predicts_how_neighboring_trajectories_separate():
    """Eq. 11: z' = A z for z = log(g^-1 g_eps) / eps; without the adjoint it would not hold."""
    model = model_of("mixed_tree")
    q, v, tau = samples("mixed_tree")[0]
    state, rng, eps, dt = bos.state_of(model, q, v), np.random.default_rng(1), 1e-5, 1e-5
    z = rng.standard_normal(2 * model.nv)

    def flow(g, time):
        middle = bos.moved(g, time / 2 * bos.vector_field(model, g, tau[6:]))
        return bos.moved(g, time * bos.vector_field(model, middle, tau[6:]))

    def separation(time):
        near, far = flow(state, time), (flow(bos.moved(state, e * z), time) for e in (eps, -eps))
        logs = [
            np.concatenate([bos.reorder(lie.log(lie.inverse(near.H) @ g.H)), g.s - near.s])
            for g in far
        ]
        return (logs[0] - logs[1]) / (2 * eps)

    rate = (separation(dt) - separation(-dt)) / (2 * dt)
    predicted = bos.A(model, state, tau[6:]) @ z
    without = predicted + bos.ad_lambda(state) @ z
    assert relative(rate, predicted[: model.nv]) < 1e-4
    assert relative(rate, without[: model.nv]) > 0.1


def test_linearization_is_that_of_the_core(name):
    model = model_of(name)
    T = bos.velocity_matrix(model)
    T2 = np.kron(np.eye(2), T)
    for q, v, tau in samples(name):
        state, tau_bar = bos.state_of(model, q, v), np.linalg.solve(T.T, tau)
        ours = bos.A(model, state, tau_bar[6:], tau_bar[:6])
        core = jc.linearize(model, q, v, tau)
        assert relative(np.linalg.solve(T2, ours @ T2), core.A) < TOLERANCE
        joints = core.B[:, -(model.nv - 6) :]
        assert relative(np.linalg.solve(T2, bos.B(model, state.s)), joints) < TOLERANCE


def section_5(delta, systems=100):
    """Algorithm and geometric differences with step delta on the systems of Sec. 5."""
    rng, algorithm, differences = np.random.default_rng(0), [], []
    for seed in range(systems):
        model = jc.models.mixed_tree(seed)
        state, tau = bos.random_system(model, rng)
        algorithm.append(bos.dFD(model, state, tau))
        differences.append(bos.finite_differences(model, state, tau, delta))
    return algorithm, differences


def test_section_5_errors_against_forward_differences_do_not_exceed_eq_88_to_91():
    """What remains is the error of the differences, 2e-7 to 2e-5: never more than the paper's."""
    largest, average = bos.errors(*section_5(1e-6))
    paper_largest = np.array([4.1023e-5, 4.6853e-3, 1.8230e-5, 1.5693e-4])
    paper_average = np.array([2.3560e-6, 1.3604e-4, 1.3021e-6, 1.3766e-6])
    assert (np.array(largest) < paper_largest).all()
    assert (np.array(average) < paper_average).all()
    assert (np.array(largest) > 1e-6).all()
    assert (np.array(average) > 1e-7).all()


def test_section_5_errors_against_the_exact_oracle_are_rounding():
    """A complex step, on the first of the systems."""
    largest, average = bos.errors(*section_5(1j * STEP, STATES))
    assert max(largest) < 1e-10
    assert max(average) < 1e-12


def test_finite_difference_error_falls_with_the_step_until_rounding(record_property):
    """Fig. 5: first order in delta, then rounding."""
    model = jc.models.mixed_tree(0)
    state, tau = bos.random_system(model, np.random.default_rng(0))
    exact = [bos.dFD(model, state, tau)]
    average = {}
    for delta in (1e-2, 1e-4, 1e-6, 1e-8, 1e-12):
        average[delta] = bos.errors(exact, [bos.finite_differences(model, state, tau, delta)])[1]
    record_property("average_error", average)
    ratios = np.array(average[1e-4]) / np.array(average[1e-6])
    assert ((ratios > 80) & (ratios < 120)).all()
    assert (np.array(average[1e-12]) > np.array(average[1e-6])).all()


def test_models_that_the_paper_excludes_are_refused():
    for model in (jc.models.chain(3), jc.models.random_tree(4, 0, ["spherical"], first="free")):
        with pytest.raises(jc.ModelError, match="bos needs one free joint at the base"):
            bos.IMMAmb(model, np.zeros(2))
    e, _ = id_oracle("mixed_tree")[0]
    with pytest.raises(ValueError, match="velocity must be 'body' or 'inertial', got 'A'"):
        bos.dID_dH(e, "A")


class TestErrata:
    """Each printed line fails by far where the corrected one agrees to rounding."""

    name = "mixed_tree"

    def test_table_5_line_1_belongs_to_a_velocity_in_the_inertial_frame(self):
        model = model_of(self.name)
        q, v, a = samples(self.name)[0]
        state, nudot = bos.state_of(model, q, v), bos.velocity_matrix(model) @ a
        A_v = bos.X(state.H) @ state.v

        def at_fixed_A_v(z):
            H = state.H @ lie.exp(bos.reorder(z))
            e = bos.EIDAmb(model, state.s, state.r, nudot[6:], H, A_v, nudot[:6])
            return e.tau_bar

        e, oracle = id_oracle(self.name)[0]
        printed = bos.dID_dH(e, "inertial")
        assert relative(printed, complex_step(at_fixed_A_v, 6)) < TOLERANCE
        assert relative(printed, oracle[0]) > 0.05

    def test_table_5_line_12_adds_to_the_parent(self):
        e, oracle = id_oracle(self.name)[0]
        printed = as_printed(bos.dID_dH, "db[lam[i]] + e.X[i].T", "db[i] + e.X[i].T")
        assert relative(printed(e), oracle[0]) > 0.05

    def test_table_6_line_18_ends_with_the_derivative_of_the_velocity_transformation(self):
        e, oracle = id_oracle(self.name)[0]
        printed = as_printed(bos.dID_ds, "half + half.T", "half + e.X[i].T @ e.M_c[i] @ dX[i].T")
        assert relative(printed(e), oracle[1]) > 0.05

    def test_table_9_line_11_transforms_both_terms(self):
        model = model_of(self.name)
        q = samples(self.name)[0][0]
        right = "X_[i].T @ (F[i][:, sub] + np.outer(U[i], Minv[i + 5, sub]))"
        wrong = "X_[i].T @ F[i][:, sub] + np.outer(U[i], Minv[i + 5, sub])"
        printed = as_printed(bos.IMMAmb, right, wrong)(model, q[7:])
        assert relative(printed, bos.IMMAmb(model, q[7:])) > 0.05

    def test_table_9_leaves_out_the_block_below_the_base(self):
        model = model_of(self.name)
        q = samples(self.name)[0][0]
        printed = as_printed(bos.IMMAmb, "Minv[6:, :6] = Minv[:6, 6:].T", "")(model, q[7:])
        assert not printed[6:, :6].any()
        assert np.abs(printed[:6, 6:]).max() > 0.05

    def test_tables_4_and_5_put_the_joints_first_but_eq_42_needs_the_base_first(self):
        model = model_of(self.name)
        e, oracle = id_oracle(self.name)[0]
        Minv = bos.IMMAmb(model, e.s)
        joints_first = np.roll(oracle[0], -6, axis=0)
        assert relative(Minv @ joints_first, Minv @ oracle[0]) > 0.05

    def test_gravitational_acceleration_points_up(self):
        model = model_of(self.name)
        q, _, _ = samples(self.name)[0]
        T, zero = bos.velocity_matrix(model), np.zeros(model.nv)
        state = bos.state_of(model, q, zero)
        arguments = (model, state.s, state.r, zero[6:], state.H, zero[:6], zero[:6])
        down = bos.EIDAmb(*arguments, a_grav=-bos.gravity(model)).tau_bar
        assert relative(T.T @ down, -jc.gravity_forces(model, q)) < TOLERANCE

    def test_the_bias_wrench_of_eq_58_does_not_depend_on_accelerations(self):
        model = model_of(self.name)
        q, v, a = samples(self.name)[0]
        state = bos.state_of(model, q, v)
        one, other = (bos.extended(model, state, x[:6], x[6:]).b_vp[0] for x in (a, 0 * a))
        assert np.array_equal(one, other)
