"""What a masked array hides is no number, wherever Python takes one before a kernel does."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce._core.arrays import refuse_masked

ARM, FREE = jc.models.chain(3), jc.models.chain(2, "free")
Z, ROWS, T = np.zeros(3), np.zeros((4, 3)), np.linspace(0.0, 0.1, 5)
MOTION = jc.simulate(ARM, Z, Z, T)


def coupled():
    """Two joints, of which one follows the other."""
    builder = jc.ModelBuilder().add_body("a", joint="revolute", mass=1, inertia=(1, 1, 1))
    follows = jc.Joint("revolute", mimic=jc.Mimic("a_joint", 2.0))
    return builder.add_body("b", "a", follows, mass=1, inertia=(1, 1, 1)).build().coupled()


def after_event(x):
    event = jc.Event(lambda t, q, v: t - 0.05, map=lambda t, q, v: (x, v))
    return jc.simulate(ARM, Z, Z, T, events=[event])


def scipy_motion(tau=None, **more):
    return pytest.importorskip("jounce.interop.scipy").RightHandSide(ARM, tau, **more)


def residuals(q=Z, target=0.0, weights=1.0):
    made = pytest.importorskip("jounce.interop.scipy").Residuals
    return made(jc.gravity_forces, ARM, {"q": q}, "q", target, weights)


def operator(name, q):
    return getattr(pytest.importorskip("jounce.interop.scipy"), name)(ARM, q)


def mujoco_control(ctrl):
    module = pytest.importorskip("jounce.interop.mujoco")
    body = '<body><joint name="hinge"/><geom size="0.1"/></body>'
    more = '<actuator><motor joint="hinge"/></actuator>'
    text = f"<mujoco><worldbody>{body}</worldbody>{more}</mujoco>"
    theirs = pytest.importorskip("mujoco").MjModel.from_xml_string(text)
    return module.control(jc.load_mjcf(text), theirs, ctrl)


PATH = jc.trajectories.RobotTrajectory.through(ARM, [0, 1], [Z, Z + 1])
PATH_DYNAMICS = jc.path_dynamics(ARM, PATH, [0.2, 0.5])
TAKES = {
    "dt of step": ([0.1, 0.2], lambda x: jc.step(ARM, Z, Z, Z, x)),
    "dt of a Taylor step": ([0.1, 0.2], lambda x: jc.step(ARM, Z, Z, Z, x, method="taylor")),
    "dt of rollout": ([0.1, 0.2], lambda x: jc.rollout(ARM, Z, Z, ROWS, x)),
    "dt of linearize_step": ([0.1, 0.2], lambda x: jc.linearize_step(ARM, Z, Z, Z, x)),
    "q0 of rollout": (Z, lambda x: jc.rollout(ARM, x, Z, ROWS, 0.1, method="variational")),
    "tau of rollout": (ROWS, lambda x: jc.rollout(ARM, Z, Z, x, 0.1)),
    "f_ext of rollout": (np.zeros((4, 3, 6)), lambda x: jc.rollout(ARM, Z, Z, ROWS, 0.1, x)),
    "weights of linearize_step": (
        np.ones(6),
        lambda x: jc.linearize_step(ARM, Z, Z, Z, 0.1, weights=x),
    ),
    "actuation": (np.eye(3), lambda x: jc.linearize(ARM, Z, Z, Z, actuation=x)),
    "a twist": (np.zeros(6), jc.lie.exp),
    "twists in a list": (np.zeros(6), lambda x: jc.lie.exp([x, x])),
    "base": (np.eye(4), lambda x: jc.configuration(FREE, base=x)),
    "joints": ([0.0, 1.0], lambda x: jc.configuration(ARM, joints={ARM.joint_names[0]: x})),
    "targets": (np.eye(4), lambda x: jc.inverse_kinematics(ARM, {2: x}, Z)),
    "weights of targets": (
        np.ones(6),
        lambda x: jc.inverse_kinematics(ARM, {2: np.eye(4)}, Z, weights={2: x}),
    ),
    "times between": (T[:3], MOTION.at),
    "control": (Z, lambda x: jc.simulate(ARM, Z, Z, T, control=lambda t, q, v: x)),
    "series of a control": (
        ROWS,
        lambda x: jc.simulate(ARM, Z, Z, T, control=lambda t, q, v: x, method="taylor"),
    ),
    "map of an event": (Z, after_event),
    "parameter derivatives": (
        Z,
        lambda x: jc.parameter_derivatives(jc.mass_matrix, ARM, (x,), jc.parameters(ARM, "mass")),
    ),
    "limits of s_curve": ([1.0, 2.0], lambda x: jc.trajectories.s_curve([0, 0], [1, 1], x, 1)),
    "limits of forces": (
        np.full(3, 1e3),
        lambda x: jc.trajectories.largest_speed_factor(PATH_DYNAMICS, x),
    ),
    "SciPy: tau": (Z, scipy_motion),
    "SciPy: tau of a function": (Z, lambda x: scipy_motion(lambda t, q, v: x)(0.0, np.zeros(6))),
    "SciPy: tau_derivatives": (
        np.eye(3),
        lambda x: scipy_motion(lambda t, q, v: Z, tau_derivatives=lambda t, q, v: (x, 0.0)).jac(
            0.0, np.zeros(6)
        ),
    ),
    "SciPy: pack": (Z, lambda x: scipy_motion().pack(Z, x)),
    "SciPy: y": (np.zeros(6), lambda x: scipy_motion()(0.0, x)),
    "SciPy: q of an operator": (Z, lambda x: operator("mass_operator", x)),
    "SciPy: matrix": (np.eye(3), lambda x: operator("mass_operator", Z).matmat(np.ma.asarray(x))),
    "SciPy: unknown": (Z, residuals),
    "SciPy: target": (Z, lambda x: residuals(target=x)),
    "SciPy: weights": (Z, lambda x: residuals(weights=x)),
    "SciPy: x": (Z, lambda x: residuals()(x)),
    "ctrl of MuJoCo": ([[0.0]], mujoco_control),
    "coupled model": ([0.0], lambda x: jc.step(COUPLED, x, [0.0], [0.0], 0.1)),
}
COUPLED = coupled()


def masked(values):
    """An array whose last entry is hidden."""
    array = np.array(values, float)
    mask = np.zeros(array.shape, bool)
    mask.flat[-1] = True
    return np.ma.array(array, mask=mask)


@pytest.mark.parametrize("name", TAKES)
def test_hidden_entries_are_refused(name):
    values, take = TAKES[name]
    take(np.array(values))
    take(np.ma.array(np.array(values)))
    with pytest.raises(jc.ArgumentError, match=r"must have no masked entries, got 1 of \d"):
        take(masked(values))


@pytest.mark.parametrize("name", [name for name, (x, _) in TAKES.items() if np.ndim(x) > 1])
def test_hidden_entries_of_lists_of_arrays_are_refused(name):
    """NumPy makes an array of the rows and drops what hides their entries."""
    values, take = TAKES[name]
    take(list(np.array(values)))
    with pytest.raises(jc.ArgumentError, match=r"must have no masked entries, got 1 of \d"):
        take(list(masked(values)))


def test_lists_of_any_depth_are_searched():
    hidden = masked([1.0, 2.0])
    refuse_masked("x", [[[0.0, 1.0]], ((2.0, 3.0),), [np.zeros(2), np.ma.array([1.0])]])
    with pytest.raises(jc.ArgumentError, match="x must have no masked entries, got 1 of 2"):
        refuse_masked("x", [[np.zeros(2)], ([hidden],)])
    around: list[object] = []
    around += [around] * 50  # a list in itself ends
    refuse_masked("x", around)


TASK = {2: jc.body_poses(ARM, Z)[2]}
WRITES = {
    "linearize": lambda **o: jc.linearize(ARM, Z, Z, Z, **o),
    "linearize_step": lambda **o: jc.linearize_step(ARM, Z, Z, Z, 0.1, **o),
    "jacobian_derivatives": lambda **o: jc.jacobian_derivatives(ARM, Z, 2, 3, **o),
    "vjp": lambda **o: jc.vjp(jc.kinetic_energy, ARM, (Z, Z), 1.0, **o),
    "inverse_kinematics": lambda **o: jc.inverse_kinematics(ARM, TASK, Z, **o),
    "coupled model": lambda **o: jc.mass_matrix(COUPLED, [0.0], **o),
}


@pytest.mark.parametrize("mask", [True, False, np.ma.nomask], ids=["all", "none", "no mask"])
@pytest.mark.parametrize("name", WRITES)
def test_functions_in_python_write_to_no_masked_array(name, mask):
    """What it hides nobody would see, and a hard mask lets nothing in."""
    call = WRITES[name]
    expected = call()
    several = isinstance(expected, tuple)
    plain = [np.zeros_like(x) for x in (expected if several else (expected,))]
    call(out=tuple(plain) if several else plain[0])
    for k, x in enumerate(plain):
        out = [np.zeros_like(y) for y in plain]
        out[k] = np.ma.array(np.zeros_like(x), mask=mask, hard_mask=True)
        with pytest.raises(
            jc.ArgumentError, match=r"^out must be a plain array, got a masked one$"
        ):
            call(out=tuple(out) if several else out[0])
        assert all((np.asarray(y) == 0).all() for y in out)
