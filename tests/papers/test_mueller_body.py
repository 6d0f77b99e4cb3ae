"""One rigid body in every representation and frame, momenta, and Munthe-Kaas integration."""

import functools

import numpy as np
import pytest
from mueller_cases import every_model, states
from papers_cases import STATES, STEP, along, close, imaginary, robot

import jounce as jc
from jounce import inertia, lie, twists
from jounce.papers import mueller

SEEDS = range(STATES)


class Body:
    """A random rigid body in motion, with its twists and accelerations in all representations."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        points, masses = rng.standard_normal((6, 3)), rng.uniform(0.1, 1.0, 6)
        mass, com = masses.sum(), masses @ points / masses.sum()
        second = np.einsum("k,ki,kj->ij", masses, points - com, points - com)
        rotational = np.trace(second) * np.eye(3) - second
        self.parameters = inertia.from_com(mass, com, rotational)
        self.M = inertia.matrix(self.parameters)
        self.C = lie.exp(rng.standard_normal(6))
        self.R = self.C[:3, :3]
        series = rng.standard_normal((2, 6))  # body-fixed twist and its derivative
        self.V, self.dV = {}, {}
        for name in twists.REPRESENTATIONS:
            converted = twists.convert_series(series, self.C, "body", name)
            self.V[name], self.dV[name] = converted

    def wrench(self, name):
        """The core's wrench on a free body that moves so, converted."""
        free = jc.ModelBuilder(gravity=(0, 0, 0)).add_body("body", joint="free", mass=1.0).build()
        free = free.replace(inertias=self.parameters[None])
        W = jc.inverse_dynamics(free, jc.neutral(free), self.V["body"], self.dV["body"])
        return twists.convert_wrench(W, self.C, "body", name)

    def com_motion(self, name):
        """Pose, twist and acceleration of the frame at the center of mass."""
        S = mueller.com_placement(self.parameters)
        Ad = lie.Ad(lie.inverse(S))
        series = np.stack([Ad @ self.V["body"], Ad @ self.dV["body"]])
        C = self.C @ S
        return C, *twists.convert_series(series, C, "body", name)

    def com_wrench(self, name):
        S = mueller.com_placement(self.parameters)
        W = lie.Ad(S).T @ self.wrench("body")
        return twists.convert_wrench(W, self.C @ S, "body", name)

    def rate(self, function):
        """Time derivative of function(C, V^s) along the motion, by a complex step."""
        C = lie.exp(1j * STEP * self.V["spatial"]) @ self.C
        V = self.V["spatial"] + 1j * STEP * self.dV["spatial"]
        return imaginary(function(C, V))


every_body = pytest.mark.parametrize("body", [Body(seed) for seed in SEEDS])


# Appendix B


@every_body
def test_screws_and_co_screws_in_moving_frames(body):
    X, dX, Z = np.random.default_rng(0).standard_normal((3, 6))
    C = body.C @ lie.exp(1j * STEP * body.V["body"])
    world = imaginary(lie.Ad(C) @ (X + 1j * STEP * dX))
    rate = lie.Ad(body.C) @ mueller.screw_rate(body.V["body"], X, dX)
    close(rate, world)  # (117)
    Y = body.V["spatial"]
    cycle = [(X, Y, Z), (Y, Z, X), (Z, X, Y)]
    jacobi = sum(mueller.bracket(a, mueller.bracket(b, c)) for a, b, c in cycle)
    close(jacobi, np.zeros(6), floor=1.0)  # (116)
    for name in twists.REPRESENTATIONS:  # power is the same everywhere (120)
        power = body.wrench(name) @ body.V[name]
        close(power, body.wrench("body") @ body.V["body"])
        W = mueller.convert_wrenches(body.C[None], body.wrench("body")[None], name)[0]
        close(W, jc.twists.convert_wrench(body.wrench("body"), body.C, "body", name))
    parts = mueller.angular(X) + mueller.linear(X)
    close(parts, X, 0.0)  # (118)
    ad = mueller.ad_omega(X[:3]) + mueller.ad_v(X[3:])
    close(ad, lie.ad(X), 0.0)  # (119)
    Ad = mueller.Ad_r(body.C[:3, 3]) @ mueller.Ad_R(body.R)
    close(Ad, lie.Ad(body.C))  # (96)


# Section 3.1 to 3.4


@every_body
def test_inertia_matrices(body):
    S = mueller.com_placement(body.parameters)
    M_c = mueller.com_inertia(body.parameters)
    close(mueller.inertia_in_frame(M_c, lie.inverse(S)), body.M)  # (40)
    M_h = mueller.hybrid_inertia(body.M, body.R)
    d = body.R @ S[:3, 3]
    M_ch = mueller.hybrid_inertia(M_c, body.R)
    shift = mueller.Ad_r(-d)
    close(shift.T @ M_ch @ shift, M_h)  # (51)
    close(M_ch[:3, 3:], np.zeros((3, 3)), floor=1.0)  # (47)
    B = mueller.binet_inertia(body.parameters)
    pseudo = inertia.pseudo_inertia(body.parameters)
    close(B[3:, 3:], pseudo[3, 3] * np.eye(3))
    theta = inertia.about_com(body.parameters)[2]
    at_com = mueller.inertia_in_frame(B, S)[:3, :3]
    close(at_com, np.trace(theta) / 2 * np.eye(3) - theta)


@every_model
def test_inertia_matrices_of_a_robot(name):
    """Those of its bodies, moved from the centers of mass (eq. 39, 40)."""
    model = robot(name)
    M = mueller.inertia_matrices(model)[mueller.nodes_of_bodies(model)]
    at_com = mueller.com_inertia(model.inertias)
    placement = mueller.com_placement(model.inertias)
    close(mueller.inertia_in_frame(at_com, lie.inverse(placement)), M)
    close(jc.inertia.matrix(model.inertias), M)


@every_body
def test_spatial_equation_is_the_rate_of_the_spatial_momentum(body):
    def momentum(C, V):
        return mueller.momentum(mueller.spatial_inertia(body.M, C), V)

    M = mueller.spatial_inertia(body.M, body.C)
    V, dV = body.V["spatial"], body.dV["spatial"]
    W = mueller.newton_euler_spatial(M, V, dV)
    close(W, body.rate(momentum))  # (36), (38)
    close(W, body.wrench("spatial"))  # (41)
    rate = mueller.spatial_inertia_rate(M, V)
    close(rate, body.rate(lambda C, V: mueller.spatial_inertia(body.M, C)))  # (37)
    skew = rate + 2 * lie.ad(V).T @ M  # remark 2: dM - 2 C with C = -ad^T M
    close(skew, -skew.T)


@every_body
def test_body_fixed_equations(body):
    V, dV = body.V["body"], body.dV["body"]
    close(mueller.newton_euler_body(body.M, V, dV), body.wrench("body"))  # (41)
    parts = mueller.newton_euler_body_parts(body.parameters, V, dV)
    close(parts, body.wrench("body"))  # (42), (43)
    _, V_c, dV_c = body.com_motion("body")
    com = mueller.newton_euler_com(body.parameters, V_c, dV_c)
    close(com, body.com_wrench("body"))  # (44) to (46)


@every_body
def test_hybrid_equations(body):
    V, dV = body.V["hybrid"], body.dV["hybrid"]
    M = mueller.hybrid_inertia(body.M, body.R)
    close(mueller.newton_euler_hybrid(M, V, dV), body.wrench("hybrid"))  # (53)
    parts = mueller.newton_euler_hybrid_parts(body.parameters, body.R, V, dV)
    close(parts, body.wrench("hybrid"))  # (54), (55)
    C_c, V_c, dV_c = body.com_motion("hybrid")
    com = mueller.newton_euler_hybrid_com(body.parameters, C_c[:3, :3], V_c, dV_c)
    close(com, body.com_wrench("hybrid"))  # (48) to (50)
    rate = mueller.hybrid_inertia_rate(M, V[:3])
    expected = body.rate(lambda C, V: mueller.hybrid_inertia(body.M, C[:3, :3]))
    close(rate, expected)


@every_body
def test_mixed_equations(body):
    W = mueller.newton_euler_mixed(body.parameters, body.R, body.V["mixed"], body.dV["mixed"])
    close(W, body.wrench("mixed"))  # (56), (57)
    _, V_c, dV_c = body.com_motion("mixed")
    com = mueller.newton_euler_mixed_com(body.parameters, V_c, dV_c)
    close(com, body.com_wrench("mixed"))  # (58)


# Section 3.5: arbitrary frames


def moving_frames(name, seed):
    """A state, three different nodes i, j, k, and motions of all bodies."""
    model, q, v, a, *_ = list(states(name))[seed]
    rng = np.random.default_rng(seed)
    return model, q, v, a, rng.choice(len(model.nodes.parent), 3, replace=False)


def twist_in_frame(model, q, v, i, j, k):
    """Twist of body i measured at F_j and resolved in F_k, and the rotation R_{j,k}."""
    C = mueller.configurations(model, q)
    V = mueller.system_twist(model, q, v, "spatial")[i]
    R = C[j, :3, :3].T @ C[k, :3, :3]
    return mueller.Ad_R(R.T) @ lie.Ad(lie.inverse(C[j])) @ V


@pytest.mark.parametrize("seed", SEEDS)
@every_model
def test_equations_in_an_arbitrary_moving_frame(name, seed):
    model, q, v, a, (i, j, k) = moving_frames(name, seed)
    C = mueller.configurations(model, q)
    M = mueller.inertia_matrices(model)[i]
    motion = mueller.forward_kinematics(model, q, v, a, "spatial")
    spatial = mueller.newton_euler_spatial(
        mueller.spatial_inertia(M, C[i]), motion.V[i], motion.V_dot[i]
    )
    M_j = mueller.inertia_in_frame(mueller.spatial_inertia(M, C[i]), C[j])  # (61)
    V = mueller.system_twist(model, q, v)

    def rate(resolved):
        def components(q, v):
            return twist_in_frame(model, q, v, i, j, resolved)

        return components(q, v), along(components, model, q, v, (v, a))

    V_i, dV_i = rate(j)
    W_j = lie.Ad(C[j]).T @ spatial  # (59)
    size = np.abs(M_j).max() * max(np.abs(dV_i).max(), np.abs(V_i).max() ** 2) or 1.0
    found = mueller.newton_euler_in_frame(M_j, V_i, dV_i, V[j])
    close(found, W_j, floor=size)  # (60)
    R = C[j, :3, :3].T @ C[k, :3, :3]  # R_{j,k}
    Ad = mueller.Ad_R(R)
    V_i, dV_i = rate(k)
    found = mueller.newton_euler_resolved(Ad.T @ M_j @ Ad, V_i, dV_i, Ad.T @ V[j], V[k, :3])
    close(found, Ad.T @ W_j, floor=size)  # (62), (63)


@every_body
def test_arbitrary_frames_contain_the_four_representations(body):
    zero = np.zeros(6)
    V, dV = body.V["body"], body.dV["body"]
    close(mueller.newton_euler_in_frame(body.M, V, dV, V), body.wrench("body"))
    V, dV = body.V["spatial"], body.dV["spatial"]
    M = mueller.spatial_inertia(body.M, body.C)
    close(mueller.newton_euler_in_frame(M, V, dV, zero), body.wrench("spatial"))
    V, dV = body.V["hybrid"], body.dV["hybrid"]
    M = mueller.hybrid_inertia(body.M, body.R)  # i = j and k the world
    found = mueller.newton_euler_resolved(M, V, dV, V, zero[:3])
    close(found, body.wrench("hybrid"))


# Section 7: Munthe-Kaas integration


def simulate(body, twist, method, steps, time=1.0, wrench=None):
    """Integrate a free body; returns the pose and the spatial momentum at the end."""
    zero = wrench or (lambda t, C: np.zeros(6))
    rates = mueller.rigid_body_rates(body.M, zero, twist)
    C, y = body.C, body.V["body"]
    if twist == "spatial":
        y = mueller.spatial_inertia(body.M, C) @ body.V["spatial"]
    h = time / steps
    for k in range(steps):
        C, y = mueller.munthe_kaas_step(rates, k * h, C, y, h, twist, method)
    if twist == "body":
        y = mueller.spatial_inertia(body.M, C) @ (lie.Ad(C) @ y)
    return C, y


@pytest.mark.parametrize("twist", ["body", "spatial"])
def test_reconstruction_inverts_the_twist_of_the_exponential(twist):
    rng = np.random.default_rng(0)
    X, dX = rng.standard_normal((2, 20, 6))
    step = lie.exp(X + 1j * STEP * dX)
    rate = imaginary(step)
    inverse = lie.inverse(step.real)
    V = lie.vee(inverse @ rate if twist == "body" else rate @ inverse)
    close(mueller.reconstruction(X, V, twist), dX)  # (89)
    inverse = jc.lie.dexp_inv(-X if twist == "body" else X)
    close(mueller.reconstruction(X, V, twist), (inverse @ V[..., None])[..., 0])


@functools.cache
def driven(twist, method, steps):
    """Pose of a body after a second under a wrench that depends on time and pose."""

    def wrench(t, C):
        return np.array([np.sin(t), 0.2, -0.1 * t, 0.3, np.cos(2 * t), C[0, 0]])

    return simulate(Body(3), twist, method, steps, 1.0, wrench)[0]


@pytest.mark.parametrize("twist", ["body", "spatial"])
@pytest.mark.parametrize("method", mueller.TABLEAUX)
def test_order_of_convergence(method, twist):
    exact = driven(twist, "rk4", 512)
    coarse, fine = (np.abs(driven(twist, method, n) - exact).max() for n in (64, 128))
    assert abs(np.log2(coarse / fine) - mueller.TABLEAUX[method].order) < 0.25


@pytest.mark.parametrize("twist", ["body", "spatial"])
def test_constant_twist_is_integrated_exactly(twist):
    V = np.random.default_rng(1).standard_normal(6)
    C, y = Body(1).C, np.zeros(0)
    C_new, _ = mueller.munthe_kaas_step(lambda t, C, y: (V, y), 0.0, C, y, 0.7, twist, "euler")
    close(C_new, C @ lie.exp(0.7 * V) if twist == "body" else lie.exp(0.7 * V) @ C)


def test_spatial_momentum_is_conserved_to_rounding():
    for seed in SEEDS:
        body = Body(seed)
        start = mueller.spatial_inertia(body.M, body.C) @ body.V["spatial"]
        C, end = simulate(body, "spatial", "euler", 50)
        close(end, start, 1e-15)
        close(C[:3, :3] @ C[:3, :3].T, np.eye(3), 1e-13)
        drift = simulate(body, "body", "euler", 50)[1] - start
        assert np.abs(drift).max() > 1e-6  # the same method without it loses momentum


def test_free_body_moves_as_in_the_core():
    """One small step agrees with the core's acceleration to the order of the method."""
    model = robot("aerial_manipulator")
    parameters = model.inertias[0]
    builder = jc.ModelBuilder(gravity=(0, 0, 0))
    mass, com, rotational = inertia.about_com(parameters)
    builder.add_body("body", joint="free", mass=mass, com=com, inertia=rotational)
    single = builder.build()
    M = mueller.inertia_matrices(single)[0]
    rng = np.random.default_rng(2)
    for _ in SEEDS:
        q = jc.random_configuration(single, rng)
        v, tau = rng.standard_normal((2, 6))
        rates = mueller.rigid_body_rates(M, lambda t, C, tau=tau: tau, "body")
        C = mueller.configurations(single, q)[0]
        V, dV = rates(0.0, C, v)
        close(V, v, 0.0)
        close(dV, jc.forward_dynamics(single, q, v, tau))
