"""singh, item by item: forward dynamics, its partials, accuracy (Sec. V-A), and Pinocchio."""

from __future__ import annotations

import numpy as np
import pytest
from papers_cases import (
    close,
    in_q_and_v,
    in_v,
    one_by_one,
    robot,
    samples,
    stepped,
    with_rotors,
)
from singh_chain import chain_about_z, rms

import jounce as jc
from jounce import inertia, lie
from jounce.model.joints import ELEMENTARY
from jounce.papers import singh

MODELS = ["aerial_manipulator", "mixed_tree", "all_joints", "groups_in_mid_tree"]
FORWARD = {
    "FDSVA_DMM": lambda *state: singh.FDSVA(*state, method="DMM"),
    "FDSVA_AZA": lambda *state: singh.FDSVA(*state, method="AZA"),
    "FDCR": singh.FDCR,
    "ABACR": singh.ABACR,
}


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def test_ABA_is_forward_dynamics(name):
    model = with_rotors(name)
    for q, v, tau in samples(name):
        ours = singh.ABA(model, q, v, tau)
        close(ours, jc.forward_dynamics(model, q, v, tau))


def test_AZA_and_DMM_multiply_by_the_inverse_mass_matrix(name):
    """Eq. 34."""
    model, rng = with_rotors(name), np.random.default_rng(0)
    for q, _, _ in samples(name):
        b = rng.standard_normal((model.nv, 4))
        M_inv = jc.inverse_mass_matrix(model, q)
        close(singh.inverse_mass_matrix(model, q), M_inv)
        close(singh.AZA(singh.articulated(model, q), b), M_inv @ b)
        close(singh.DMM(M_inv, b), M_inv @ b)


@pytest.mark.parametrize("method", FORWARD)
def test_forward_partials_are_the_derivative_of_forward_dynamics(name, method):
    """Eq. 5, Table II: the complex step through ABA, and the core."""
    model = with_rotors(name)
    for (q, v, tau), oracle in zip(samples(name), stepped(name, singh.ABA), strict=True):
        ours = FORWARD[method](model, q, v, tau)
        core = jc.forward_dynamics_derivatives(model, q, v, tau)
        for x, by_step in zip(ours[:2], oracle, strict=True):
            close(x, by_step)
        for x, expected in zip(ours, core, strict=True):
            close(x, expected)


@pytest.mark.parametrize("method", FORWARD)
def test_second_derivatives_of_forward_dynamics_are_symmetric(name, method):
    model = with_rotors(name)
    q, v, tau = samples(name)[0]
    hessian = in_v(v, one_by_one(lambda x: FORWARD[method](model, q, x, tau).dqd))
    close(hessian, np.swapaxes(hessian, 1, 2))


def test_unknown_method_is_refused():
    model = jc.models.chain(2)
    with pytest.raises(ValueError, match="method must be 'DMM' or 'AZA', got 'LU'"):
        singh.FDSVA(model, np.zeros(2), np.zeros(2), np.zeros(2), method="LU")


def test_accuracy_at_100_links_is_that_of_section_V_A(record_property):
    """1e-12 for FDSVA and FDCR, less for ABACR, as the paper reports."""
    model, rng = chain_about_z(100), np.random.default_rng(0)
    q, (v, tau) = jc.random_configuration(model, rng), rng.uniform(size=(2, 100))
    oracle = in_q_and_v(singh.ABA, model, q, v, tau)
    for method, function in FORWARD.items():
        errors = [rms(x, y) for x, y in zip(function(model, q, v, tau), oracle, strict=False)]
        record_property(method, errors)
        assert max(errors) < (1e-13 if method == "ABACR" else 1e-12)


def test_accuracy_on_the_chain_of_100_links_with_axes_in_all_directions(record_property):
    """Inverse dynamics at rounding; eq. 5 then loses up to eps * cond(M) of it, ABACR does not."""
    model, rng = jc.models.chain(100), np.random.default_rng(0)
    q, (v, a) = jc.random_configuration(model, rng), rng.standard_normal((2, 100))
    oracle = in_q_and_v(singh.RNEA, model, q, v, a)
    for function in (singh.IDSVA, singh.RNEACR):
        errors = [rms(x, y) for x, y in zip(function(model, q, v, a), oracle, strict=True)]
        record_property(function.__name__, errors)
        assert max(errors) < 1e-13
    oracle = in_q_and_v(singh.ABA, model, q, v, a)
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
    model = robot(name)
    model = model.replace(armature=np.zeros(model.nv))
    peer, q_of, v_of = to_pinocchio(pin, model)
    data, square = peer.createData(), np.ix_(v_of, v_of)
    for q, v, a in samples(name):
        q_, v_, a_ = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        q_[q_of], v_[v_of], a_[v_of] = q, v, a
        theirs = pin.computeRNEADerivatives(peer, data, q_, v_, a_)
        for x, y in zip(singh.IDSVA(model, q, v, a), theirs[:2], strict=True):
            close(x, np.array(y)[square])
        theirs = pin.computeABADerivatives(peer, data, q_, v_, a_)
        for x, y in zip(singh.FDSVA(model, q, v, a), theirs[:2], strict=False):
            close(x, np.array(y)[square])
