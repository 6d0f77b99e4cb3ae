"""Formulas of the paper that do not hold as printed (in the text we have), next to ones that do.

Each function returns the relative errors of the printed and of the corrected formula. The table in
docs/papers/mueller.md shows what ``python tests/papers/test_mueller_errata.py`` prints. The model
is a chain with 1-DoF joints, the case the paper is about; the oracle is the core or a complex step.
"""

import itertools

import numpy as np
import pytest
from papers_cases import STEP, along, imaginary, relative

import jounce as jc
from jounce import inertia, lie, twists
from jounce.papers import mueller
from jounce.papers.mueller import Ad_R, Ad_r, ad_omega, ad_v, angular, bracket, linear

N = 6
KINDS = ("revolute", "helical", "prismatic", "revolute", "helical", "revolute")


def chain(seed=0):
    """A chain of six bodies with random 1-DoF joints."""
    rng = np.random.default_rng(seed)
    builder = jc.ModelBuilder()
    for i, kind in enumerate(KINDS):
        builder.add_body(
            f"b{i}",
            f"b{i - 1}" if i else None,
            joint=kind,
            axis=rng.standard_normal(3),
            pitch=0.3 if kind == "helical" else 0.0,
            placement=lie.exp(rng.standard_normal(6)),
            mass=rng.uniform(1, 2),
            com=rng.standard_normal(3),
            inertia=np.diag(rng.uniform(1, 1.5, 3)),
        )
    return builder.build()


MODEL = chain()
_rng = np.random.default_rng(1)
Q0 = jc.random_configuration(MODEL, _rng)
V0, A0, J0 = _rng.standard_normal((3, N))
F_EXT = _rng.standard_normal((N, 6))
LAST = N - 1
C = mueller.configurations(MODEL, Q0)
R, r = C[:, :3, :3], C[:, :3, 3]
JB, JS, JH, JM = (mueller.system_jacobian(MODEL, Q0, t)[LAST] for t in mueller.TWISTS)
VB, VS, VH, VM = (mueller.system_twist(MODEL, Q0, V0, t) for t in mueller.TWISTS)
DVB, DVS, DVH, DVM = (mueller.accelerations(MODEL, Q0, V0, A0, t) for t in mueller.TWISTS)
MB = mueller.inertia_matrices(MODEL)


def rate(function):
    """Time derivative of function(q, v) along the motion."""
    return along(function, MODEL, Q0, V0, (V0, A0))


def jerk(twist):
    def acceleration(q, v, a):
        return mueller.accelerations(MODEL, q, v, a, twist)

    return along(acceleration, MODEL, Q0, V0, (V0, A0), (A0, J0))[LAST]


def wrench(twist):
    """Wrench on the last body from the core's accelerations."""
    dV = jc.body_accelerations(MODEL, Q0, V0, A0, "body")[LAST]
    W = mueller.newton_euler_body(MB[LAST], VB[LAST], dV)
    return twists.convert_wrench(W, C[LAST], "body", twist)


def eq_4():
    """Derivative of the relative pose by the coordinate in between."""
    j, k = 1, 3
    between = lie.inverse(C[j]) @ C[LAST]

    def pose(q):
        poses = mueller.configurations(MODEL, q)
        return lie.inverse(poses[j]) @ poses[LAST]

    exact = along(pose, MODEL, Q0, np.eye(N)[k])
    printed = between @ lie.hat(JB[:, j])
    return relative(printed, exact), relative(between @ lie.hat(JB[:, k]), exact)


def eq_13():
    """Body-fixed jerk: the cubic terms with two equal indices count once."""
    printed = JB @ J0
    for j in range(N):
        for k in range(j + 1, N):
            pair = bracket(JB[:, j], JB[:, k])
            printed = printed + pair * (2 * A0[j] * V0[k] + V0[j] * A0[k])
            for m in range(k, N):
                printed = printed + 2 * bracket(pair, JB[:, m]) * V0[j] * V0[k] * V0[m]
    exact = jerk("body")
    return relative(printed, exact), relative(mueller.jerks(MODEL, Q0, V0, A0, J0)[LAST], exact)


def eq_25():
    """Hybrid Jacobian by a coordinate inward of the column: not zero."""
    j, k = 4, 1

    def column(q):
        return mueller.jacobian(MODEL, q, LAST, "hybrid")[:, j]

    exact = along(column, MODEL, Q0, np.eye(N)[k])
    corrected = bracket(angular(JH[:, k]), JH[:, j])
    return relative(np.zeros(6), exact), relative(corrected, exact)


def eq_28():
    """Hybrid acceleration from brackets alone."""
    printed = JH @ A0
    for j in range(N):
        for k in range(j, N):
            printed = printed + bracket(JH[:, j], linear(JH[:, k])) * V0[j] * V0[k]
    exact = jc.body_accelerations(MODEL, Q0, V0, A0, "hybrid")[LAST]
    corrected = mueller.hybrid_accelerations_brackets(MODEL, Q0, V0, A0)[LAST]
    return relative(printed, exact), relative(corrected, exact)


def eq_26():
    """Hybrid Jacobian rate summed over k <= j."""
    j = 3
    printed = sum(bracket(JH[:, j], linear(JH[:, k])) * V0[k] for k in range(j + 1))
    outward = sum(JH[:, k] * V0[k] for k in range(j + 1, N))
    corrected = bracket(JH[:, j], linear(outward)) + bracket(angular(VH[j]), JH[:, j])
    exact = jc.jacobian_rate(MODEL, Q0, V0, LAST, "hybrid")[:, j]
    return relative(printed, exact), relative(corrected, exact)


def eq_27():
    """Hybrid Jacobian rate with r_{i,j-1} and the spatial twist."""
    j = 3
    X = mueller.instantaneous_screws(MODEL, C)[:, j]
    dr = VH[:, 3:]
    printed = Ad_r(r[j - 1] - r[LAST]) @ (lie.ad(VS[j]) - ad_v(dr[LAST])) @ X
    corrected = Ad_r(r[j] - r[LAST]) @ (lie.ad(VH[j]) - ad_v(dr[LAST])) @ X
    exact = jc.jacobian_rate(MODEL, Q0, V0, LAST, "hybrid")[:, j]
    return relative(printed, exact), relative(corrected, exact)


def _mixed(hybrid):
    return np.concatenate([R[LAST].T @ hybrid[:3], hybrid[3:]])


def eq_33_jacobian():
    """Mixed Jacobian rate converted from the hybrid one."""
    exact = jc.jacobian_rate(MODEL, Q0, V0, LAST, "mixed")
    printed = _mixed(jc.jacobian_rate(MODEL, Q0, V0, LAST, "hybrid"))
    corrected = mueller.system_jacobian_rate(MODEL, Q0, V0, "mixed")[LAST]
    return relative(printed, exact), relative(corrected, exact)


def eq_33_jerk():
    """Mixed jerk converted from the hybrid one."""
    exact = jerk("mixed")
    corrected = mueller.jerks(MODEL, Q0, V0, A0, J0, "mixed")[LAST]
    return relative(_mixed(jerk("hybrid")), exact), relative(corrected, exact)


def eq_52():
    """Hybrid momentum balance at a frame away from the center of mass."""

    def momentum(q, v):
        R = mueller.configurations(MODEL, q)[LAST, :3, :3]
        V = mueller.system_twist(MODEL, q, v, "hybrid")[LAST]
        return mueller.hybrid_inertia(MB[LAST], R) @ V

    Pi = mueller.hybrid_inertia(MB[LAST], R[LAST]) @ VH[LAST]
    corrected = rate(momentum) - lie.ad(linear(VH[LAST])).T @ Pi
    return relative(rate(momentum), wrench("hybrid")), relative(corrected, wrench("hybrid"))


def eq_53_identity():
    """Commutator form of the derivative of Ad_d^-1 (text before eq. 53)."""
    d, w = R[LAST] @ inertia.about_com(MODEL.inertias[LAST])[1], VH[LAST, :3]
    exact = -ad_v(np.cross(w, d))
    commutator = Ad_r(-d) @ ad_omega(w) - ad_omega(w) @ Ad_r(-d)
    return relative(commutator, exact), relative(-commutator, exact)


def hybrid_twist_text():
    """Hybrid twist of the center of mass as Ad_R^-1 V^b (text of Sec. 3.3)."""
    exact = jc.body_twists(MODEL, Q0, V0, "hybrid")[LAST]
    Ad = Ad_R(R[LAST])
    return relative(Ad.T @ VB[LAST], exact), relative(Ad @ VB[LAST], exact)


def mixed_acceleration_text():
    """Acceleration of the origin as dv^b + w^b x v^b (text before eq. 56)."""
    exact = DVM[LAST, 3:]
    body = DVB[LAST, 3:] + np.cross(VB[LAST, :3], VB[LAST, 3:])
    return relative(body, exact), relative(R[LAST] @ body, exact)


def _in_frame(j):
    """Components of the last body's twist in F_j, their rate, the inertia and the wrench."""

    def components(q, v):
        poses = mueller.configurations(MODEL, q)
        return lie.Ad(lie.inverse(poses[j])) @ mueller.system_twist(MODEL, q, v, "spatial")[LAST]

    M = mueller.inertia_in_frame(mueller.spatial_inertia(MB[LAST], C[LAST]), C[j])
    return components(Q0, V0), rate(components), M, lie.Ad(C[j]).T @ wrench("spatial")


def eq_60():
    """Newton-Euler equations in F_j without the transpose of the last ad."""
    V, dV, M, W = _in_frame(2)
    printed = M @ (dV + bracket(VB[2], V)) - lie.ad(V) @ M @ V
    return relative(printed, W), relative(mueller.newton_euler_in_frame(M, V, dV, VB[2]), W)


def eq_63():
    """The same resolved in F_k, with full twists in both ad matrices."""
    j, k = 2, 4

    def components(q, v):
        poses = mueller.configurations(MODEL, q)
        V = mueller.system_twist(MODEL, q, v, "spatial")[LAST]
        R_kj = poses[k, :3, :3].T @ poses[j, :3, :3]
        return Ad_R(R_kj) @ lie.Ad(lie.inverse(poses[j])) @ V

    *_, M, W = _in_frame(j)
    Ad = Ad_R(R[j].T @ R[k])  # R_{j,k}
    V, dV, M, W = components(Q0, V0), rate(components), Ad.T @ M @ Ad, Ad.T @ W
    V_j, V_k = Ad.T @ VB[j], Ad.T @ lie.Ad(lie.inverse(C[j])) @ VS[k]
    printed = M @ (dV + bracket(V_j + V_k, V)) - lie.ad(V).T @ M @ V
    corrected = mueller.newton_euler_resolved(M, V, dV, V_j, VB[k, :3])
    return relative(printed, W), relative(corrected, W)


def eq_64():
    """Inertia resolved in F_k, with the rotation R_{k,j}; the oracle is the kinetic energy."""
    j, k = 2, 4
    V, _, M, _ = _in_frame(j)
    Ad = Ad_R(R[j].T @ R[k])
    V_k = Ad.T @ V
    exact = VB[LAST] @ MB[LAST] @ VB[LAST]
    return relative(V_k @ Ad @ M @ Ad.T @ V_k, exact), relative(V_k @ Ad.T @ M @ Ad @ V_k, exact)


def eq_67():
    """Body-fixed recursion from i = n - 1: the last body's own terms are missing."""
    return _recursion(first=N - 2, sign=-1.0), _recursion(first=N - 1, sign=-1.0)


def eq_67_sign():
    """Applied wrenches added, as printed in eq. 67a, 71b, 76b."""
    return _recursion(first=N - 1, sign=1.0), _recursion(first=N - 1, sign=-1.0)


def _recursion(first, sign):
    motion = mueller.forward_kinematics(MODEL, Q0, V0, A0)
    applied = mueller.applied_wrenches(MODEL, C, F_EXT)
    W, Q = np.zeros((N + 1, 6)), np.zeros(N)
    for i in range(first, -1, -1):
        if i + 1 < N:
            W[i] = lie.Ad(lie.inverse(C[i + 1]) @ C[i]).T @ W[i + 1]
        W[i] += mueller.newton_euler_body(MB[i], motion.V[i], motion.V_dot[i]) + sign * applied[i]
        Q[i] = motion.screws[:, i] @ W[i]
    return relative(Q, jc.inverse_dynamics(MODEL, Q0, V0, A0, F_EXT))


def eq_69():
    """Spatial acceleration recursion, second line: the joint acceleration is missing."""
    J = mueller.spatial_screws(MODEL, C)[:, LAST]
    exact = jc.body_accelerations(MODEL, Q0, V0, A0, "spatial")[LAST]
    printed = DVS[LAST - 1] + bracket(VS[LAST], J * V0[LAST])
    corrected = DVS[LAST - 1] + bracket(VS[LAST - 1], VS[LAST]) + J * A0[LAST]
    return relative(printed, exact), relative(corrected, exact)


def eq_75b():
    """Hybrid joint screw from the reference screw Y (also eq. 107)."""
    exact = mueller.instantaneous_screws(MODEL, C)[:, LAST]
    Y = mueller.joint_screws(MODEL, "reference")[:, LAST]
    J = mueller.spatial_screws(MODEL, C)[:, LAST]
    return relative(Ad_r(-r[LAST]) @ Y, exact), relative(Ad_r(-r[LAST]) @ J, exact)


def _christoffel(function, model=MODEL):
    """Errors over the index ranges of eq. 86, 87, relative to the largest symbol."""
    exact = mueller.christoffel_from_mass_matrix(model, Q0)
    J = mueller.system_jacobian(model, Q0)
    worst = 0.0
    for i, j, k in np.ndindex(N, N, N):
        if i < j <= k or j <= i < k:
            value = sum(function(J[m], m, i, j, k) for m in range(k, N))
            worst = max(worst, abs(value - exact[i, j, k]))
    return worst / np.abs(exact).max()


def eq_86():
    """Christoffel symbols with r, s the larger and smaller of i and j."""

    def term(J, m, i, j, k, r, s):
        first = J[:, k] @ MB[m] @ bracket(J[:, i], J[:, j])
        second = J[:, j] @ MB[m] @ bracket(J[:, i], J[:, k])
        return (first + second + J[:, i] @ MB[m] @ bracket(J[:, s], J[:, r])) / 2

    printed = _christoffel(lambda J, m, i, j, k: term(J, m, i, j, k, max(i, j), min(i, j)))
    corrected = _christoffel(lambda J, m, i, j, k: term(J, m, i, j, k, max(j, k), min(j, k)))
    return printed, corrected


def binet(order, factor, part, model=MODEL):
    """Error of eq. 87 read as factor * J_a^T M ad_{part(J_b)} J_c; (a, b, c) sorts i, j, k."""
    B = mueller.binet_inertia(model.nodes.parameters)

    def term(J, m, *indices):
        a, b, c = (J[:, indices[p]] for p in order)
        return factor * a @ B[m] @ bracket(part(b), c)

    return _christoffel(term, model)


def eq_87():
    """Christoffel symbols with Binet's inertia, (j, k, i) and the factor 1/2."""
    exact = mueller.christoffel_from_mass_matrix(MODEL, Q0)
    printed = binet((1, 2, 0), 0.5, lambda x: x)
    return printed, relative(mueller.christoffel_binet(MODEL, Q0), exact)


def eq_87_angular():
    """Reading: factor 1 and the angular part of J_k."""
    return binet((1, 2, 0), 1.0, angular), eq_87()[1]


def eq_89():
    """Spatial twist of C_{k-1} exp(X): the increment must multiply from the left."""
    X, dX = np.random.default_rng(3).standard_normal((2, 6))
    start = C[LAST]
    V = lie.dexp(X) @ dX

    def spatial_twist(right):
        step = lie.exp(X + 1j * STEP * dX)
        pose = start @ step if right else step @ start
        return lie.vee(imaginary(pose) @ lie.inverse(pose.real))

    return relative(V, spatial_twist(right=True)), relative(V, spatial_twist(right=False))


def eq_99():
    """Spatial twist as Ad_r of the body-fixed one."""
    exact = jc.body_twists(MODEL, Q0, V0, "spatial")[LAST]
    return relative(Ad_r(r[LAST]) @ VB[LAST], exact), relative(Ad_r(r[LAST]) @ VH[LAST], exact)


ERRATA = [
    eq_4, eq_13, eq_25, eq_26, eq_27, eq_28, eq_33_jacobian, eq_33_jerk, hybrid_twist_text, eq_52,
    eq_53_identity, mixed_acceleration_text, eq_60, eq_63, eq_64, eq_67, eq_67_sign, eq_69, eq_75b,
    eq_86, eq_87, eq_87_angular, eq_89, eq_99,
]  # fmt: skip


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda e: e.__name__)
def test_printed_formula_fails_and_corrected_formula_holds(erratum):
    printed, corrected = erratum()
    assert printed > 1e-3
    assert corrected < 1e-12


def test_coriolis_matrix_of_eq_84_is_not_skew():
    """dM/dt - 2 C has the symmetric part J^T (b^T M + M b) J."""
    dM = along(lambda q: mueller.mass_matrix(MODEL, q), MODEL, Q0, V0)
    S = dM - 2 * mueller.coriolis_matrix(MODEL, Q0, V0)
    J, b = mueller.system_jacobian(MODEL, Q0), lie.ad(VB)
    inner = np.swapaxes(b, 1, 2) @ MB + MB @ b
    expected = np.einsum("naj,nab,nbk->jk", J, inner, J)
    assert relative((S + S.T) / 2, expected) < 1e-12
    assert np.abs(S + S.T).max() > 1e-3 * np.abs(S).max()


def test_no_reading_of_eq_87_holds_beyond_pure_rotations():
    """All orders of the indices, factors and accents; without translations one of them is right."""
    parts = (lambda x: x, angular, linear)
    for order in itertools.permutations(range(3)):
        for factor in (0.5, 1.0, -0.5, -1.0):
            assert min(binet(order, factor, part) for part in parts) > 0.5
    rng = np.random.default_rng(0)
    builder = jc.ModelBuilder()
    for i in range(N):  # axes and centers of mass meet in one fixed point
        pose = np.eye(4)
        pose[:3, :3] = lie.exp(rng.standard_normal(3))
        axis, moments = rng.standard_normal(3), np.diag(rng.uniform(1, 1.5, 3))
        builder.add_body(
            f"b{i}", f"b{i - 1}" if i else None, placement=pose, axis=axis,
            joint="revolute", mass=1.0, inertia=moments,
        )  # fmt: skip
    assert binet((1, 2, 0), 1.0, angular, builder.build()) < 1e-14


def test_formulas_with_shifted_ranges_hold():
    """Eq. 21 and 22 are right with j <= i in both sums (eq. 21 prints j < i)."""
    exact = jerk("spatial")
    assert relative(mueller.jerks(MODEL, Q0, V0, A0, J0, "spatial")[LAST], exact) < 1e-12
    assert relative(mueller.spatial_jerks_nested(MODEL, Q0, V0, A0, J0)[LAST], exact) < 1e-12


if __name__ == "__main__":
    for entry in ERRATA:
        print(f"{entry.__name__:28s} {entry()[0]:9.2e} {entry()[1]:9.2e}  {entry.__doc__}")
