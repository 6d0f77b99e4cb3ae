"""Paper against paper against core: one number, computed by all that have it.

Robots with a free base and 1-DoF joints (compound joints are chains of those), to which all five
papers apply; 20 random states each. `agree` compares every result with the core's, so that any
two of them differ by no more than twice the tolerance. The other files compare each paper with
oracles of its own; here the formulations hold each other.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import jounce as jc
from jounce import lie, twists
from jounce.papers import ali, bos, kim, mueller, singh

STATES = 20
TOLERANCE = 1e-11
ORDER = 8
PAPERS = {"ali": ali, "bos": bos, "kim": kim, "mueller": mueller, "singh": singh}
ONE_DOF = ("revolute", "prismatic", "helical")
MODELS = {
    "aerial_manipulator": jc.models.aerial_manipulator,
    "mixed_tree": lambda: jc.models.mixed_tree(2),
    "one_dof_tree": lambda: jc.models.random_tree(8, 1, joints=ONE_DOF, first="free"),
    "chains_tree": lambda: jc.models.random_tree(
        7, 2, joints=(*ONE_DOF, "universal", "cylindrical", "planar"), first="free"
    ),
}


class State:
    """A random state, in the arrays of jounce, of ali and of bos."""

    def __init__(self, model: jc.Model, rng: np.random.Generator) -> None:
        self.q = jc.random_configuration(model, rng)
        self.motion = rng.standard_normal((ORDER + 2, model.nv))
        self.v, self.a = self.motion[:2]
        # forces whose accelerations are of order one, so that no order swamps the next
        self.tau = rng.standard_normal((ORDER + 1, model.nv)) @ jc.mass_matrix(model, self.q)
        self.tau[0] += jc.bias_forces(model, self.q, self.v)
        self.direction = rng.standard_normal((2, model.nv))
        self.given = rng.uniform(size=model.nv - 6) < 0.5
        self.C_1, self.V_1, self.joints, _ = ali.from_jounce(model, self.q, self.motion)
        self.state = bos.state_of(model, self.q, self.v)


class Case(NamedTuple):
    """A robot, its states, and how its rates become those of ali and bos."""

    model: jc.Model
    tree: ali.Tree
    T: np.ndarray
    states: list[State]


@functools.cache
def case(name):
    model, rng = MODELS[name](), np.random.default_rng(0)
    states = [State(model, rng) for _ in range(STATES)]
    return Case(model, ali.initialize(model), bos.velocity_matrix(model), states)


@pytest.fixture(params=MODELS)
def robot(request):
    return case(request.param)


def agree(core, others, tolerance=TOLERANCE, floor=0.0):
    """Every named result is the core's, relative to its largest entry (or to the floor)."""
    core = np.asarray(core)
    scale = max(np.max(np.abs(core)), floor)
    for name, result in others.items():
        assert np.shape(result) == core.shape, name
        difference = np.max(np.abs(result - core))
        assert difference <= tolerance * scale, f"{name}: {difference:.1e} of {scale:.1e}"


def prescribe(model, s):
    """Random joints whose acceleration is given, never the base, and their mask."""
    joints = [i for i in range(1, len(model.joints)) if s.given[i - 1]]
    mask = np.zeros(model.nv, bool)
    for i in joints:
        mask[model.v_slice(i)] = True
    return joints, mask


def spatial_rates(model, s):
    """The matrix X of ali's nu = (V_1, q') = X v, and its time derivative."""
    X, X_dot = np.eye(model.nv), np.zeros((model.nv, model.nv))
    X[:6, :6] = lie.Ad(s.C_1) @ model.nodes.screws[:, :6]
    X_dot[:6, :6] = lie.ad(s.V_1[0]) @ X[:6, :6]
    return X, X_dot


# Dynamics


def test_inverse_dynamics(robot):
    model, tree, T, states = robot
    system = kim.system(model)
    for s in states:
        x = ali.inverse_dynamics(tree, s.C_1, s.V_1[:2], s.joints[:3])
        four = {
            f"mueller, {twist}": mueller.inverse_dynamics(model, s.q, s.v, s.a, None, twist)
            for twist in mueller.TWISTS
        }
        agree(
            jc.inverse_dynamics(model, s.q, s.v, s.a),
            {
                "ali, Alg. 2": ali.forces_to_jounce(model, s.C_1, s.V_1, x.W_prop, x.tau)[0],
                "kim, Table 2": kim.inverse_dynamics(system, s.q, s.v, s.a).tau,
                "bos, Table 4": T.T @ bos.ID(model, s.state, T @ s.a),
                "singh, RNEA": singh.RNEA(model, s.q, s.v, s.a),
                "mueller, eq. 1": mueller.motion_equations(model, s.q, s.v, s.a),
                "mueller, eq. 78": mueller.euler_jourdain(model, s.q, s.v, s.a),
                "mueller, eq. 79": mueller.momentum_balance(model, s.q, s.v, s.a),
                **four,
            },
        )


def test_forward_dynamics(robot):
    model, tree, T, states = robot
    system = kim.system(model)
    for s in states:
        tau = s.tau[0]
        bar = np.linalg.solve(T.T, tau)
        body = np.linalg.solve(model.nodes.screws[:, :6].T, tau[:6])
        W_prop = [lie.Ad(lie.inverse(s.C_1)).T @ body]
        x = ali.forward_dynamics(tree, s.C_1, s.V_1[0], s.joints[:2], W_prop, tau[None, 6:])
        V = np.vstack([s.V_1[:1], x.V_1])
        agree(
            jc.forward_dynamics(model, s.q, s.v, tau),
            {
                "ali, Alg. 3": ali.accelerations_to_jounce(model, s.C_1, V, x.q)[0],
                "kim, Table 3": kim.forward_dynamics(system, s.q, s.v, tau).q_ddot,
                "bos, eq. 19": np.linalg.solve(T, bos.FD(model, s.state, bar[6:], bar[:6])),
                "singh, ABA": singh.ABA(model, s.q, s.v, tau),
            },
        )


def test_hybrid_dynamics(robot):
    """kim's Table 4 with the joints that ali's Algorithm 4 prescribes, base wrench given."""
    model, _, _, states = robot
    for s in states:
        prescribed, mask = prescribe(model, s)
        a, tau = jc.hybrid_dynamics(model, s.q, s.v, s.a, s.tau[0], mask)
        x = kim.hybrid_dynamics(model, s.q, s.v, s.a, s.tau[0], prescribed)
        a_ali, tau_ali = alg_4(robot, s, mask, a[None], tau[None])
        agree(a, {"kim, Table 4": x.q_ddot, "ali, Alg. 4": a_ali[0]})
        agree(tau, {"kim, Table 4": x.tau, "ali, Alg. 4": tau_ali[0]})


def test_mass_matrix_and_its_inverse(robot):
    model, tree, T, states = robot
    T_inv = np.linalg.inv(T)
    for s in states:
        X, _ = spatial_rates(model, s)
        M_bar = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints).M_bar
        three = {
            f"mueller, {twist}": mueller.mass_matrix(model, s.q, twist)
            for twist in ("body", "spatial", "hybrid")
        }
        M = jc.mass_matrix(model, s.q)
        agree(M, {"ali, eq. 5": X.T @ M_bar @ X, **three})
        inertial = singh.torque_terms(singh.first_pass(model, s.q, s.v, s.a))[0]
        agree(M @ s.a, {"singh, eq. 12": inertial + model.armature * s.a})
        agree(
            jc.inverse_mass_matrix(model, s.q),
            {
                "bos, Table 9": T_inv @ bos.IMMAmb(model, s.state.s) @ T_inv.T,
                "singh, AZA": singh.inverse_mass_matrix(model, s.q),
            },
        )


def test_bias_and_gravity_forces(robot):
    model, tree, T, states = robot
    zero = np.zeros(model.nv)
    for s in states:
        X, _ = spatial_rates(model, s)
        eom = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints)
        _, coriolis, gravity = singh.torque_terms(singh.first_pass(model, s.q, s.v, zero))
        C = mueller.coriolis_matrix(model, s.q, s.v)
        # M of ali acts on the derivative of nu = X v, of which X' v is a part
        turning = X.T @ eom.M_bar @ spatial_rates(model, s)[1] @ s.v
        agree(
            jc.bias_forces(model, s.q, s.v),
            {
                "ali, eq. 5": X.T @ (eom.h + eom.g) + turning,
                "kim, eq. 32": kim.inverse_dynamics(model, s.q, s.v, zero).tau,
                "bos, eq. 39": T.T @ bos.ID(model, s.state, zero),
                "singh, eq. 13, 14": coriolis + gravity,
                "mueller, eq. 84": C @ s.v + gravity,
            },
        )
        agree(
            jc.gravity_forces(model, s.q),
            {
                "ali, eq. 5": X.T @ eom.g,
                "singh, eq. 14": gravity,
                "mueller, eq. 77": mueller.euler_jourdain(model, s.q, zero, zero),
            },
        )


def test_coriolis_matrices(robot):
    """All give C v; dM/dt - 2 C is skew for ali's and the core's, not for mueller's eq. 84."""
    model, tree, _, states = robot
    for s in states:
        X, X_dot = spatial_rates(model, s)
        M_bar = ali.equations_of_motion(tree, s.C_1, s.V_1[0], s.joints).M_bar
        C_bar = ali.coriolis_matrix(tree, s.C_1, s.V_1[0], s.joints[:2])
        matrices = {
            "ali, Lemma 1": X.T @ (C_bar @ X + M_bar @ X_dot),
            "core": jc.coriolis_matrix(model, s.q, s.v),
            "mueller, eq. 84": mueller.coriolis_matrix(model, s.q, s.v),
            "mueller, eq. 86": mueller.christoffel_symbols(model, s.q) @ s.v,
        }
        quadratic = jc.bias_forces(model, s.q, s.v) - jc.gravity_forces(model, s.q)
        agree(quadratic, {name: C @ s.v for name, C in matrices.items()})
        M_dot = jc.mass_matrix_derivatives(model, s.q) @ s.v
        for name in ("ali, Lemma 1", "core"):
            agree(M_dot, {name: matrices[name] + matrices[name].T})
        C = matrices["mueller, eq. 84"]
        assert np.max(np.abs(M_dot - C - C.T)) > 1e-3 * np.max(np.abs(M_dot))


# Partial derivatives


def test_partials_of_inverse_dynamics(robot):
    model, _, T, states = robot
    system = kim.system(model)
    for s in states:
        core = jc.inverse_dynamics_derivatives(model, s.q, s.v, s.a)
        nudot = T @ s.a
        e = bos.extended(model, s.state, nudot[:6], nudot[6:])
        five, six = np.hstack([bos.dID_dH(e), bos.dID_ds(e)]), [bos.dID_dv(e), bos.dID_dr(e)]
        x, y = singh.IDSVA(model, s.q, s.v, s.a), mueller.linearized_equations(model, s.q, s.v, s.a)
        z = singh.RNEACR(model, s.q, s.v, s.a)
        dq = {"bos, Tables 5, 6": T.T @ five @ T, "singh, IDSVA": x.dq, "singh, RNEACR": z.dq}
        dv = {"bos, Tables 7, 8": T.T @ np.hstack(six) @ T, "singh, IDSVA": x.dqd}
        agree(core.dq, {**dq, "mueller, Sec. 6.1": y.dq})
        agree(core.dv, {**dv, "singh, RNEACR": z.dqd, "mueller, Sec. 6.1": y.dv})
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        along = core.dq @ s.direction[0] + core.dv @ s.direction[1]
        agree(
            along,
            {"kim, Table 5": kim.inverse_dynamics_derivative(system, s.q, s.v, s.a, p)},
        )


def test_partials_of_forward_dynamics(robot):
    model, _, T, states = robot
    system = kim.system(model)
    for s in states:
        tau = s.tau[0]
        core = jc.forward_dynamics_derivatives(model, s.q, s.v, tau)
        bar = np.linalg.solve(T.T, tau)
        x = singh.FDSVA(model, s.q, s.v, tau)
        d = bos.dFD(model, s.state, bar[6:], bar[:6])
        dq, dv = (np.linalg.solve(T, np.hstack(pair) @ T) for pair in ((d.H, d.s), (d.v, d.r)))
        agree(core.dq, {"bos, eq. 53": dq, "singh, FDSVA": x.dq})
        agree(core.dv, {"bos, eq. 53": dv, "singh, FDSVA": x.dqd})
        agree(core.dtau, {"singh, FDSVA": x.dtau})
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        along = core.dq @ s.direction[0] + core.dv @ s.direction[1]
        agree(along, {"kim, Table 6": kim.forward_dynamics_derivative(system, s.q, s.v, tau, p)})


def test_partials_of_hybrid_dynamics(robot):
    model, _, _, states = robot
    system = kim.system(model)
    for s in states:
        prescribed, mask = prescribe(model, s)
        core = jc.hybrid_dynamics_derivatives(model, s.q, s.v, s.a, s.tau[0], mask)
        p = kim.parameter(model, q=s.direction[0], q_dot=s.direction[1])
        x = kim.hybrid_dynamics_derivative(system, s.q, s.v, s.a, s.tau[0], prescribed, p)
        for found, dq, dv in ((x[0], core.a_dq, core.a_dv), (x[1], core.tau_dq, core.tau_dv)):
            agree(dq @ s.direction[0] + dv @ s.direction[1], {"kim, Table 7": found})


def test_parts_of_the_partials_of_inverse_dynamics(robot):
    """singh's three terms: M' a, and the core's partials at rest and without acceleration."""
    model, _, _, states = robot
    zero = np.zeros(model.nv)
    for s in states:
        g = singh.first_pass(model, s.q, s.v, s.a)
        dM = jc.mass_matrix_derivatives(model, s.q)
        agree(dM, {"mueller, before eq. 86": mueller.mass_matrix_partials(model, s.q)})
        agree(np.einsum("ijk,j->ik", dM, s.a), {"singh, eq. 25": singh.mass_dq(g)})
        still = jc.inverse_dynamics_derivatives(model, s.q, zero, zero).dq
        moving = jc.inverse_dynamics_derivatives(model, s.q, s.v, zero).dq
        agree(still, {"singh, eq. 29": singh.gravity_dq(g)})
        agree(moving - still, {"singh, eq. 26": singh.coriolis_dq(g)}, floor=np.max(np.abs(still)))
        energy = jc.kinetic_energy_derivatives(model, s.q, s.v)
        agree(energy.dq, {"mueller": mueller.kinetic_energy_gradient(model, s.q, s.v)})
        agree(energy.dv, {"mueller": mueller.conjugate_momentum(model, s.q, s.v)})


def test_linearization(robot):
    """A and B of bos, carried to jounce's rates, are those of the core."""
    model, _, T, states = robot
    T2 = np.kron(np.eye(2), T)
    for s in states:
        bar = np.linalg.solve(T.T, s.tau[0])
        core = jc.linearize(model, s.q, s.v, s.tau[0])
        A = bos.A(model, s.state, bar[6:], bar[:6])
        agree(core.A, {"bos, eq. 42": np.linalg.solve(T2, A @ T2)})
        B = np.linalg.solve(T2, bos.B(model, s.state.s))
        agree(core.B[:, -(model.nv - 6) :], {"bos, eq. 31": B})


@pytest.mark.parametrize("twist", mueller.TWISTS)
def test_jacobian_partials(robot, twist):
    """Orders 1 and 2; the derivative along the motion is the core's Jacobian rate."""
    model, _, _, states = robot
    body = model.n_bodies - 1
    for s in states:
        for order in (1, 2):
            found = mueller.jacobian_partials(model, s.q, body, order, twist)
            agree(jc.jacobian_partials(model, s.q, body, order, twist), {"mueller": found})
        rate = mueller.jacobian_partials(model, s.q, body, 1, twist) @ s.v
        agree(jc.jacobian_derivative(model, s.q, s.v, body, twist), {"mueller": rate})


def test_christoffel_symbols(robot):
    """mueller's are symmetric in j and k; those of the core hold the base's structure constants."""
    model, _, _, states = robot
    for s in states:
        core = jc.christoffel_symbols(model, s.q)
        symmetric = (core + core.transpose(0, 2, 1)) / 2
        found = {
            "mueller, eq. 86": mueller.christoffel_symbols(model, s.q),
            "mueller, eq. 87": mueller.christoffel_binet(model, s.q),
        }
        agree(symmetric, found)
        joints = np.s_[6:, 6:, 6:]
        defined = mueller.christoffel_from_mass_matrix(model, s.q)[joints]
        agree(core[joints], {"mueller, eq. 85": defined}, floor=np.max(np.abs(core)))


# Time derivatives


def of_order(k):
    return TOLERANCE if k <= 5 else 1e-8


def alg_4(robot, s, mask, acc, tau):
    """Algorithm 4 with the base wrench given; accelerations and forces as jounce writes them.

    The derivatives of the base wrench go from body to spatial coordinates along the core's motion.
    """
    model, tree, _, _ = robot
    motion = np.vstack([s.v, acc])
    C, V, q, _ = ali.from_jounce(model, s.q, motion)
    screws = model.nodes.screws[:, :6]
    wrench = twists.convert_wrench_series(
        np.linalg.solve(screws.T, tau[:, :6].T).T, motion[:, :6] @ screws.T, C, "body", "spatial"
    )
    x = ali.hybrid_dynamics(tree, C, V[0], q[:2], mask[6:], q[2:], tau[:, 6:], wrench)
    V = np.vstack([V[:1], x.V_1])
    a_paper = ali.accelerations_to_jounce(model, C, V, x.q)
    return a_paper, ali.forces_to_jounce(model, C, V, x.W_prop, x.tau)


def test_series_of_inverse_dynamics(robot):
    model, tree, _, states = robot
    for s in states:
        x = ali.inverse_dynamics(tree, s.C_1, s.V_1, s.joints)
        found = {
            "ali, Alg. 2": ali.forces_to_jounce(model, s.C_1, s.V_1, x.W_prop, x.tau),
            "mueller, Sec. 6.3": mueller.inverse_dynamics_series(model, s.q, s.motion),
        }
        core = jc.inverse_dynamics_series(model, s.q, s.motion)
        for k in range(ORDER + 1):
            agree(core[k], {name: series[k] for name, series in found.items()}, of_order(k))


@pytest.mark.parametrize("algorithm", ["Alg. 3", "Alg. 4"])
def test_series_of_forward_and_hybrid_dynamics(robot, algorithm):
    model, _, _, states = robot
    for s in states:
        mask = np.concatenate([np.zeros(6, bool), s.given & (algorithm == "Alg. 4")])
        if mask.any():
            acc, tau = jc.hybrid_dynamics_series(model, s.q, s.v, s.motion[1:], s.tau, mask)
        else:
            acc, tau = jc.forward_dynamics_series(model, s.q, s.v, s.tau), s.tau
        a_paper, tau_paper = alg_4(robot, s, mask, acc, tau)
        M = jc.mass_matrix(model, s.q)
        for k in range(ORDER + 1):
            agree(acc[k], {f"ali, {algorithm}": a_paper[k]}, of_order(k))
            if mask.any():  # given forces only went from body to spatial coordinates and back
                terms = np.max(np.abs(M) @ np.abs(acc[k]))  # that forces are made of
                agree(tau[k][mask], {"ali, Alg. 4": tau_paper[k][mask]}, of_order(k), terms)


def test_series_of_kinematics(robot):
    """Poses, twists and screws of ali, jerks and second Jacobian rates of mueller."""
    model, tree, _, states = robot
    nodes = mueller.nodes_of_bodies(model)
    body = model.n_bodies - 1
    column = np.flatnonzero(mueller.is_inward(model)[nodes[body]])[1:]
    for s in states:
        x = ali.forward_kinematics(tree, s.C_1, s.V_1, s.joints)
        V, C = x.V[:, nodes[body]], x.C[nodes[body]]
        twist = jc.body_motion_series(model, s.q, s.motion, body, "spatial")
        pose = jc.body_pose_series(model, s.q, s.motion, body)
        spatial = jc.jacobian_series(model, s.q, s.motion, body, "spatial")
        found = ali.pose_derivatives(C, V)
        for k in range(ORDER + 1):
            agree(twist[k], {"ali, Alg. 1": V[k]}, of_order(k))
            agree(pose[k], {"ali, Remark 1": found[k]}, of_order(k))
            columns = spatial[k][:, model.nodes.v_index[column]].T
            agree(columns, {"ali, Alg. 1": x.S[k, column]}, of_order(k), np.max(np.abs(spatial[k])))
        for name in mueller.TWISTS:
            jerk = mueller.jerks(model, s.q, s.v, s.a, s.motion[2], name)[nodes[body]]
            expected = jc.body_motion_series(model, s.q, s.motion[:3], body, name)[2]
            agree(expected, {f"mueller, {name}": jerk})
        rate2 = mueller.hybrid_jacobian_rate2(model, s.q, s.v, s.a)[nodes[body]]
        hybrid = jc.jacobian_series(model, s.q, s.motion[:3], body, "hybrid")
        agree(hybrid[2], {"mueller, eq. 30": rate2})


# Independence and the index of all items


@pytest.mark.parametrize("paper", PAPERS)
def test_no_paper_imports_another_paper_or_the_compiled_core(paper):
    own = f"papers.{paper}"
    allowed = {"errors", "inertia", "joints", "lie", "model", "nodes", "twists", own}
    for path in sorted(Path(PAPERS[paper].__file__).parent.glob("*.py")):
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            if name.split(".")[0] == "jounce":
                inner = name.removeprefix("jounce").removeprefix(".")
                assert any(inner == a or inner.startswith(f"{a}.") for a in allowed), (path, name)


def imported(tree):
    """Full names of all that a file imports, anywhere in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


HELPERS = {
    *(f"ali.{name}" for name in ("accelerations_to_jounce", "forces_to_jounce", "from_jounce")),
    *(f"bos.{name}" for name in ("gravity", "state_of", "velocity_matrix")),
    "kim.system",
    *(f"mueller.{name}" for name in ("apply", "column_nodes", "is_inward", "node_of_body")),
    *(f"mueller.{name}" for name in ("nodes_of_bodies", "scatter_wrenches")),
    "singh.joint_poses",
}
"""Functions that translate or look up, and are no items of a paper."""


@functools.cache
def index():
    """Cells of the table of items."""
    page = Path(__file__).parents[2] / "docs" / "papers" / "index.md"
    items = page.read_text(encoding="utf-8").split("## Items")[1].split("## Errata")[0]
    lines = [line for line in items.splitlines() if line.startswith("| [")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def resolve(name):
    """The object of a dotted name that begins with a paper, jounce or jc."""
    first, *rest = name.split(".")
    return functools.reduce(getattr, rest, PAPERS.get(first, jc))


def test_names_in_the_index_exist():
    folder = Path(__file__).parent
    defined = {
        node.name
        for path in folder.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    assert len(index()) > 120
    for row in index():
        _, item, _, functions, core, tests = row  # every row is complete
        for name in re.findall(r"`((?:ali|bos|kim|mueller|singh|jounce)\.[\w.]*\w)", functions):
            assert resolve(name) is not None, (item, name)
        for name in re.findall(r"`jc\.([\w.]*\w)", core):
            assert resolve(f"jc.{name}") is not None, (item, name)
        names = re.findall(r"`(\w+)`", tests)
        assert names, item
        for name in names:
            assert f"test_{name}" in defined, (item, name)


def test_every_function_of_the_papers_is_in_the_index():
    listed = {name for row in index() for name in re.findall(r"`(\w+\.\w+)", row[3])}
    public = {
        f"{paper}.{name}"
        for paper, module in PAPERS.items()
        for name in module.__all__
        if callable(getattr(module, name)) and not isinstance(getattr(module, name), type)
    }
    assert public - listed == HELPERS
