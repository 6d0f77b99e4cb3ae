"""bos, item by item: against the core, against complex steps, and its own validation (Sec. 5)."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from papers_cases import (
    STATES,
    STEP,
    TOLERANCE,
    as_printed,
    batch,
    close,
    imaginary,
    in_v,
    relative,
    samples,
    with_rotors,
)

import jounce as jc
from jounce import lie
from jounce.papers import bos


@pytest.fixture(params=["aerial_manipulator", "mixed_tree", "floating_chains", "anchored_base"])
def name(request):
    return request.param


def by_state(model, state, function):
    """Columns of the derivative of function(state) along the algebra of the state's group."""
    steps = 1j * STEP * np.eye(2 * model.nv)
    return np.moveaxis(imaginary(function(bos.moved(state, steps))), 0, -1)


def split(model, columns):
    return np.split(columns, [6, model.nv, model.nv + 6], axis=1)


def test_operators_satisfy_their_definitions():
    """Eq. 18, Table 2, and jounce's operators with both halves exchanged."""
    rng = np.random.default_rng(0)
    halves = np.kron([[0, 1], [1, 0]], np.eye(3))  # (angular, linear) <-> (linear, angular)
    for v, w, f in rng.standard_normal((STATES, 3, 6)):
        linear, angular = lie.hat(v[:3]), lie.hat(v[3:])
        assert np.array_equal(bos.cross(v), np.block([[angular, linear], [0 * linear, angular]]))
        assert np.array_equal(bos.cross(v), halves @ jc.lie.ad(halves @ v) @ halves)
        close((bos.cross_dual(v) @ f) @ w, -f @ (bos.cross(v) @ w))
        close(bos.bar(f) @ v, bos.cross_dual(v) @ f)
        H = lie.exp(w)
        R, o = H[:3, :3], lie.hat(H[:3, 3])
        close(bos.X(H), np.block([[R, o @ R], [0 * R, R]]))
        close(bos.X(H), halves @ jc.lie.Ad(H) @ halves)
        assert np.array_equal(bos.reorder(v), halves @ v)


def test_EIDAmb_is_inverse_dynamics(name):
    """Table 4, whose base twist is inertial, and eq. 39, whose is body-fixed."""
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    for q, v, a in samples(name):
        state, nudot, tau = bos.state_of(model, q, v), T @ a, jc.inverse_dynamics(model, q, v, a)
        A_v = bos.X(state.H) @ state.v
        e = bos.EIDAmb(model, state.s, state.r, nudot[6:], state.H, A_v, nudot[:6])
        close(T.T @ e.tau_bar, tau)
        close(T.T @ bos.extended(model, state, nudot[:6], nudot[6:]).tau_bar, tau)
        close(T.T @ bos.ID(model, state, nudot), tau)


def test_EIDAmb_blocks_are_those_of_the_equations_of_motion(name):
    """Eq. 54, 56, 57 and 40: M_11, M_12 and h_1; the two bias wrenches differ by F rdot."""
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    T_inv = np.linalg.inv(T)
    for q, v, a in samples(name):
        nudot = T @ a
        e = bos.extended(model, bos.state_of(model, q, v), nudot[:6], nudot[6:])
        M = T_inv.T @ (jc.mass_matrix(model, q) - np.diag(model.armature)) @ T_inv
        h = T_inv.T @ jc.bias_forces(model, q, v)
        F = np.array([e.F[i][0] for i in range(1, len(e.F))]).T
        close(e.M_c[0], M[:6, :6])
        close(F, M[:6, 6:])
        close(e.b_vp[0], h[:6])
        close(e.b_vp[0] + F @ nudot[6:], e.b_c[0])


def test_consistent_acceleration_needs_no_wrench_on_the_base(name):
    """The base acceleration of hybrid dynamics with all joints prescribed and no base wrench."""
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    joints = np.arange(model.nv) >= 6
    for q, v, a in samples(name):
        state = bos.state_of(model, q, v)
        vdot = bos.consistent_acceleration(model, state, a[6:])
        e = bos.extended(model, state, vdot, a[6:])
        close(e.tau_b, np.zeros(6), floor=np.abs(e.b_c[0]).max())
        core, _ = jc.hybrid_dynamics(model, q, v, a, np.zeros(model.nv), joints)
        close(np.concatenate([vdot, a[6:]]), T @ core)


@functools.cache
def id_oracle(name):
    """Extended inverse dynamics and its derivatives by the complex step, per state."""
    model, out = with_rotors(name), []
    for q, v, a in samples(name):
        state, nudot = bos.state_of(model, q, v), bos.velocity_matrix(model) @ a
        columns = by_state(model, state, lambda g, x=nudot: bos.ID(model, g, x))
        e = bos.extended(model, state, nudot[:6], nudot[6:])
        out.append((e, split(model, columns)))
    return out


@pytest.mark.parametrize(
    ("table", "index"),
    [(bos.dID_dH, 0), (bos.dID_ds, 1), (bos.dID_dv, 2), (bos.dID_dr, 3)],
    ids=["Table5_H", "Table6_s", "Table7_v", "Table8_r"],
)
def test_tables_5_to_8_are_the_derivatives_of_extended_inverse_dynamics(name, table, index):
    for e, oracle in id_oracle(name):
        close(table(e), oracle[index])


def test_second_derivatives_are_symmetric(name):
    """A complex step through Tables 6 and 8, which accept complex arrays too."""
    model = with_rotors(name)
    n, T = model.nv, bos.velocity_matrix(model)
    steps = 1j * STEP * np.eye(2 * n)
    for q, v, a in samples(name)[:3]:
        state, nudot = bos.state_of(model, q, v), T @ a
        for table, columns in ((bos.dID_ds, range(6, n)), (bos.dID_dr, range(n + 6, 2 * n))):
            later = (bos.moved(state, steps[k]) for k in columns)
            hessian = np.stack(
                [imaginary(table(bos.extended(model, g, nudot[:6], nudot[6:]))) for g in later]
            )
            close(hessian, np.swapaxes(hessian, 0, 2))


def test_IMMAmb_is_the_inverse_mass_matrix(name):
    model = with_rotors(name)
    T_inv = np.linalg.inv(bos.velocity_matrix(model))
    for q, _, _ in samples(name):
        Minv = bos.IMMAmb(model, q[7:])
        assert np.array_equal(Minv[:6, 6:], Minv[6:, :6].T)
        close(T_inv @ Minv @ T_inv.T, jc.inverse_mass_matrix(model, q))
        close(T_inv @ Minv @ T_inv.T @ jc.mass_matrix(model, q), np.eye(model.nv))


def test_FD_is_forward_dynamics(name):
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    for q, v, tau in samples(name):
        tau_bar = np.linalg.solve(T.T, tau)
        nudot = bos.FD(model, bos.state_of(model, q, v), tau_bar[6:], tau_bar[:6])
        expected = jc.forward_dynamics(model, q, v, tau)
        close(np.linalg.solve(T, nudot), expected)


def test_vector_field_is_the_velocity_and_forward_dynamics(name):
    """Eq. 24."""
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    for q, v, tau in samples(name):
        bar, n = np.linalg.solve(T.T, tau), model.nv
        found = bos.vector_field(model, bos.state_of(model, q, v), bar[6:], bar[:6])
        close(found[:n], T @ v)
        close(found[n:], T @ jc.forward_dynamics(model, q, v, tau))


def test_A_is_the_derivative_of_the_vector_field_less_its_adjoint(name):
    """Eq. 22 and 42 against 25: A = D_1 lambda o D L - ad_lambda, along a random direction."""
    model, rng = with_rotors(name), np.random.default_rng(0)
    for q, v, tau in samples(name):
        state, z = bos.state_of(model, q, v), rng.standard_normal(2 * model.nv)
        later = bos.moved(state, 1j * STEP * z)
        slope = imaginary(bos.vector_field(model, later, tau[6:]))
        close(bos.A(model, state, tau[6:]) @ z, slope - bos.ad_lambda(state) @ z)


def test_B_is_the_derivative_of_the_vector_field_in_the_input(name):
    """Eq. 23 against 31."""
    model = with_rotors(name)
    for q, v, tau in samples(name):
        state = bos.state_of(model, q, v)
        oracle = in_v(tau[6:], lambda w, g=state: bos.vector_field(model, g, w))
        close(bos.B(model, state.s), oracle)


def separation(model, state, tau, z, time):
    """log(g^-1 g_eps) / eps at a time, of trajectories that are eps z apart at time zero.

    The derivative by eps is a complex step; midpoint steps on the group carry both along.
    """

    def flow(g):
        middle = bos.moved(g, time / 2 * bos.vector_field(model, g, tau))
        return bos.moved(g, time * bos.vector_field(model, middle, tau))

    near, far = flow(state), flow(bos.moved(state, 1j * STEP * z))
    turn = lie.vee(lie.inverse(near.H) @ imaginary(far.H))
    return np.concatenate([bos.reorder(turn), *(imaginary(x) for x in far[1:])], axis=-1)


def test_linearization_predicts_how_neighboring_trajectories_separate(name):
    """Eq. 11 to 13: z' = A z for z = log(g^-1 g_eps) / eps; without the adjoint it would not hold.

    The rate in time by central differences, three of them extrapolated to a step of zero.
    """
    model, rng = with_rotors(name), np.random.default_rng(1)
    q, v, tau = batch(name)
    tau = tau[:, 6:]  # no wrench on the base
    states, z = bos.state_of(model, q, v), rng.standard_normal((STATES, 2 * model.nv))
    rates = []
    for h in (4e-3, 2e-3, 1e-3):
        ends = [separation(model, states, tau, z, time) for time in (h, -h)]
        rates.append((ends[0] - ends[1]) / (2 * h))
    first, second = (4 * rates[1] - rates[0]) / 3, (4 * rates[2] - rates[1]) / 3
    rate = (16 * second - first) / 15
    for k in range(STATES):
        state = bos.State(*(x[k] for x in states))
        predicted = bos.A(model, state, tau[k]) @ z[k]
        close(rate[k], predicted)
        assert relative(rate[k], predicted + bos.ad_lambda(state) @ z[k]) > 1e-3


def test_linearization_is_that_of_the_core(name):
    model = with_rotors(name)
    T = bos.velocity_matrix(model)
    T2 = np.kron(np.eye(2), T)
    for q, v, tau in samples(name):
        state, tau_bar = bos.state_of(model, q, v), np.linalg.solve(T.T, tau)
        ours = bos.A(model, state, tau_bar[6:], tau_bar[:6])
        core = jc.linearize(model, q, v, tau)
        close(np.linalg.solve(T2, ours @ T2), core.A)
        joints = core.B[:, -(model.nv - 6) :]
        close(np.linalg.solve(T2, bos.B(model, state.s)), joints)


@functools.cache
def section_5():
    """The 100 systems of Sec. 5 and the derivatives that the algorithm finds."""
    rng, systems = np.random.default_rng(0), []
    for seed in range(100):
        model = jc.models.mixed_tree(seed)
        state, tau = bos.random_system(model, rng)
        systems.append((model, state, tau, bos.dFD(model, state, tau)))
    return systems


def section_5_errors(delta):
    """Largest and average errors against geometric differences with step delta."""
    algorithm = [found for *_, found in section_5()]
    return bos.errors(algorithm, [bos.finite_differences(*x, delta) for *x, _ in section_5()])


@pytest.mark.long
def test_section_5_errors_against_forward_differences_do_not_exceed_eq_88_to_91():
    """What remains is the error of the differences, 2e-7 to 2e-5: never more than the paper's."""
    largest, average = section_5_errors(1e-6)
    paper_largest = np.array([4.1023e-5, 4.6853e-3, 1.8230e-5, 1.5693e-4])
    paper_average = np.array([2.3560e-6, 1.3604e-4, 1.3021e-6, 1.3766e-6])
    assert (np.array(largest) < paper_largest).all()
    assert (np.array(average) < paper_average).all()
    assert (np.array(largest) > 1e-6).all()
    assert (np.array(average) > 1e-7).all()


@pytest.mark.long
def test_section_5_errors_against_the_exact_oracle_are_rounding():
    """A complex step in place of the difference, on all 100 systems."""
    largest, average = section_5_errors(1j * STEP)
    assert max(largest) < TOLERANCE
    assert max(average) < 1e-13


def test_finite_differences_are_those_of_the_core(name):
    """Eq. 82 to 85; the step is so long that rounding does not matter."""
    model, delta = with_rotors(name), 1e-2
    T = bos.velocity_matrix(model)
    directions = delta * np.linalg.inv(T).T  # of jounce's tangent space, one per row
    for q, v, tau in samples(name):
        tau = np.append(np.zeros(6), tau[6:])
        found = bos.finite_differences(model, bos.state_of(model, q, v), tau[6:], delta)
        nominal = jc.forward_dynamics(model, q, v, tau)
        in_q = jc.forward_dynamics(model, jc.integrate(model, q, directions), v, tau) - nominal
        in_v = jc.forward_dynamics(model, q, v + directions, tau) - nominal
        close(np.hstack([found.H, found.s]), T @ in_q.T / delta)
        close(np.hstack([found.v, found.r]), T @ in_v.T / delta)


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
        model = with_rotors(self.name)
        q, v, a = samples(self.name)[0]
        state, nudot = bos.state_of(model, q, v), bos.velocity_matrix(model) @ a
        A_v = bos.X(state.H) @ state.v

        def at_fixed_A_v(z):
            H = state.H @ lie.exp(bos.reorder(z))
            e = bos.EIDAmb(model, state.s, state.r, nudot[6:], H, A_v, nudot[:6])
            return e.tau_bar

        e, oracle = id_oracle(self.name)[0]
        printed = bos.dID_dH(e, "inertial")
        close(printed, in_v(np.zeros(6), at_fixed_A_v))
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
        model = with_rotors(self.name)
        q = samples(self.name)[0][0]
        right = "X_T @ (F[i][..., sub] + _outer(U[i], Minv[..., i + 5, sub]))"
        wrong = "X_T @ F[i][..., sub] + _outer(U[i], Minv[..., i + 5, sub])"
        printed = as_printed(bos.IMMAmb, right, wrong)(model, q[7:])
        assert relative(printed, bos.IMMAmb(model, q[7:])) > 0.05

    def test_table_9_leaves_out_the_block_below_the_base(self):
        model = with_rotors(self.name)
        q = samples(self.name)[0][0]
        filled = "Minv[..., 6:, :6] = transposed(Minv[..., :6, 6:])"
        printed = as_printed(bos.IMMAmb, filled, "")(model, q[7:])
        assert not printed[6:, :6].any()
        assert np.abs(printed[:6, 6:]).max() > 0.05

    def test_tables_4_and_5_put_the_joints_first_but_eq_42_needs_the_base_first(self):
        model = with_rotors(self.name)
        e, oracle = id_oracle(self.name)[0]
        Minv = bos.IMMAmb(model, e.s)
        joints_first = np.roll(oracle[0], -6, axis=0)
        assert relative(Minv @ joints_first, Minv @ oracle[0]) > 0.05

    def test_gravitational_acceleration_points_up(self):
        model = with_rotors(self.name)
        q, _, _ = samples(self.name)[0]
        T, zero = bos.velocity_matrix(model), np.zeros(model.nv)
        state = bos.state_of(model, q, zero)
        arguments = (model, state.s, state.r, zero[6:], state.H, zero[:6], zero[:6])
        down = bos.EIDAmb(*arguments, a_grav=-bos.gravity(model)).tau_bar
        close(T.T @ down, -jc.gravity_forces(model, q))

    def test_the_bias_wrench_of_eq_58_does_not_depend_on_accelerations(self):
        model = with_rotors(self.name)
        q, v, a = samples(self.name)[0]
        state = bos.state_of(model, q, v)
        one, other = (bos.extended(model, state, x[:6], x[6:]).b_vp[0] for x in (a, 0 * a))
        assert np.array_equal(one, other)
