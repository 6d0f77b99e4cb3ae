"""The examples of second derivatives and of series show what they claim."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import jounce as jc

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory, sketches: None) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def ddp() -> ModuleType:
    return load("ddp_arm")


@pytest.fixture(scope="module")
def swing(ddp: ModuleType, figures: Path) -> Any:
    return ddp.main(["--quick", "--out", str(figures)])


@pytest.fixture(scope="module")
def elastic() -> ModuleType:
    return load("elastic_joints")


@pytest.fixture(scope="module")
def runs(elastic: ModuleType, figures: Path) -> Any:
    return elastic.main(["--quick", "--out", str(figures)])


@pytest.fixture(scope="module")
def limits() -> ModuleType:
    return load("torque_rate_limits")


@pytest.fixture(scope="module")
def fastest(limits: ModuleType, figures: Path) -> Any:
    pytest.importorskip("scipy")
    return limits.main(["--quick", "--out", str(figures)])


def test_both_methods_swing_up(ddp: ModuleType, swing: Any) -> None:
    for s in swing.solutions.values():
        assert np.abs(s.path.q[-1] - ddp.GOAL).max() < 0.05
        assert all(np.diff(s.costs) <= 0)


def test_both_methods_reach_the_same_optimum(swing: Any) -> None:
    costs = [s.costs[-1] for s in swing.solutions.values()]
    assert max(costs) - min(costs) < 1e-9 * min(costs)
    paths = [s.path for s in swing.solutions.values()]
    assert np.abs(paths[0].q - paths[1].q).max() < 1e-4


def test_second_derivatives_save_iterations(swing: Any) -> None:
    """Newton's last steps double the digits; Gauss and Newton's gain a constant factor."""
    assert swing.iterations("DDP", 1e-10) < swing.iterations("iLQR", 1e-10)
    last = np.abs(swing.solutions["DDP"].slopes[-4:])
    assert last[-1] < 1e-6 * last[0]


def test_feedback_linearization_does_not_care_how_soft_the_joints_are(runs: Any) -> None:
    for controllers in runs.values():
        assert controllers["linearizing"].worst < 1e-4
        assert np.abs(controllers["linearizing"].error[-1]).max() < 1e-5
    errors = [x["linearizing"].error for x in runs.values()]
    assert np.abs(errors[0] - errors[1]).max() < 1e-4
    softest = runs[min(runs)]
    assert softest["rigid"].worst > 100 * softest["linearizing"].worst


def test_forces_and_series_of_the_elastic_arm_agree(elastic: ModuleType) -> None:
    """On the reference itself the linearizing controller asks for what the motion takes."""
    model = elastic.build_arm()
    robot = elastic.Robot(model, 1000.0 * elastic.STIFFNESS, elastic.MOTOR_INERTIA)
    wanted = elastic.reference(0.4)
    tau = jc.inverse_dynamics_series(model, wanted[0], wanted[1:])
    theta, omega = wanted[0] + tau[0] / robot.K, wanted[1] + tau[1] / robot.K
    x = elastic.State(wanted[0], wanted[1], theta, omega)
    u = elastic.linearizing(robot, x, wanted)
    rate = robot.rate(x, u)
    np.testing.assert_allclose(rate.v, wanted[2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rate.omega, wanted[2] + tau[2] / robot.K, rtol=0, atol=1e-6)


def test_derivatives_of_the_limits_are_exact(limits: ModuleType) -> None:
    model, shapes = limits.build_arm(), limits.Shapes.of(4, 7)
    rng = np.random.default_rng(0)
    c, h = 0.3 * rng.standard_normal((4, 3)), 1e-6
    J = limits.force_derivatives(model, limits.Motion(c, 1.3), shapes)
    change = rng.standard_normal(13)

    def at(s: float) -> np.ndarray:
        moved = limits.Motion(c + s * change[1:].reshape(4, 3), 1.3 + s * change[0])
        return limits.forces(model, moved.rows(shapes))

    np.testing.assert_allclose((at(h) - at(-h)) / (2 * h), J @ change, rtol=0, atol=1e-7)


def test_limits_of_rates_cost_time_and_are_kept(fastest: Any) -> None:
    torque, both = (fastest.solutions[x] for x in ("torques", "torques and rates"))
    assert torque.motion.T < both.motion.T < 0.7 * torque.durations[0]
    for s in (torque, both):
        assert s.unbalanced < 1e-4  # no small change of the motion is faster
        assert (np.diff(s.durations) < 0).all()
    assert fastest.worst("torques")[1] > 1.2
    assert np.abs(fastest.worst("torques and rates") - 1).max() < 1e-6


def test_figures_and_tables(
    ddp: ModuleType,
    elastic: ModuleType,
    limits: ModuleType,
    swing: Any,
    runs: Any,
    fastest: Any,
    figures: Path,
) -> None:
    shown = (ddp, swing, "ddp_arm"), (elastic, runs, "elastic_joints")
    for example, result, name in (*shown, (limits, fastest, "torque_rate_limits")):
        assert (figures / f"{name}.png").stat().st_size > 10_000
        assert len(example.table(result).splitlines()) > 3
