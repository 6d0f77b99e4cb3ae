"""The control examples show what they claim, and their own formulas are right."""

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
def lqr() -> ModuleType:
    return load("lqr_on_se3")


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory, sketches: None) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def sweeps(lqr: ModuleType, figures: Path) -> dict[str, Any]:
    return lqr.main(["--quick", "--out", str(figures)])


@pytest.fixture(scope="module")
def ilqr() -> ModuleType:
    return load("ilqr_arm")


@pytest.fixture(scope="module")
def lift(ilqr: ModuleType, figures: Path) -> Any:
    return ilqr.main(["--quick", "--out", str(figures)])


@pytest.mark.parametrize("name", ["group", "Euler", "Euler, body rates"])
def test_errors_of_controllers_have_the_stated_jacobians(lqr: ModuleType, name: str) -> None:
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(0)
    q = jc.random_configuration(model, rng, 20)
    q = q[np.abs(lqr.roll_pitch_yaw(q)[:, 1]) < 1.2]
    v = rng.standard_normal((len(q), model.nv))
    error, jacobian = lqr.CONTROLLERS[name]
    h, n = 1e-5, model.nv
    steps = np.concatenate([np.eye(2 * n), -np.eye(2 * n)])[:, None] * h
    e = error(model, q, v, jc.integrate(model, q, steps[..., :n]), v + steps[..., n:])
    slope = (e[: 2 * n] - e[2 * n :]) / (2 * h)
    np.testing.assert_allclose(np.moveaxis(slope, 0, -1), jacobian(q, v), rtol=0, atol=1e-6)


def test_the_simulation_has_order_four(lqr: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    model = jc.models.aerial_manipulator()
    rng = np.random.default_rng(1)
    q0 = jc.random_configuration(model, rng)
    v0, tau = rng.standard_normal((2, model.nv))

    def end(steps: int) -> np.ndarray:
        monkeypatch.setattr(lqr, "DT", 0.2 / steps)
        q, v = q0, v0
        for _ in range(steps):
            q, v = lqr.simulate_step(model, q, v, tau)
        return q

    exact = end(320)
    errors = [np.abs(jc.difference(model, exact, end(n))).max() for n in (20, 40)]
    assert 3.5 < np.log2(errors[0] / errors[1]) < 4.6


def test_lqr_on_the_group_recovers_from_any_attitude(sweeps: dict[str, Any]) -> None:
    for result in sweeps.values():
        np.testing.assert_allclose(result.reach("group"), 179)
        assert result.runs["group"].recovered.all()


def test_lqr_on_euler_angles_fails_at_their_singularity(
    lqr: ModuleType, sweeps: dict[str, Any]
) -> None:
    reach = dict(zip(lqr.AXES, sweeps["nose up"].reach("Euler"), strict=True))
    assert reach["y (pitch)"] <= 20
    assert reach["x+y"] <= 20
    assert reach["y+z"] <= 20
    assert sweeps["nose up"].runs["Euler"].recovered.mean() < 0.6
    assert sweeps["level"].reach("Euler").min() < 179


def test_euler_angles_make_detours_even_with_body_rates(sweeps: dict[str, Any]) -> None:
    after = {name: runs.angle[50:] for name, runs in sweeps["nose up"].runs.items()}  # 0.5 s
    assert np.nanmax(after["group"]) < np.deg2rad(30)
    assert np.nanmax(after["Euler, body rates"]) > np.deg2rad(90)


def test_all_controllers_recover_from_small_errors_when_level(sweeps: dict[str, Any]) -> None:
    for runs in sweeps["level"].runs.values():
        assert runs.recovered[..., :2].all()


def test_ilqr_lifts_the_load_within_the_limits(lift: Any) -> None:
    path = lift.solution.path
    assert lift.solution.converged
    assert lift.miss < 1e-3
    assert np.abs(path.v[-1]).max() < 1e-2
    assert np.abs(path.u).max() <= 1
    assert np.abs(lift.straight.u).max() > 1.3  # the task is not feasible without planning


def test_ilqr_lowers_the_cost(ilqr: ModuleType, lift: Any) -> None:
    costs = lift.solution.costs
    assert costs[-1] < 1e-4 * costs[0]
    np.testing.assert_allclose(ilqr.cost(lift.model, lift.solution.path), costs[-1], rtol=1e-12)


def test_ilqr_ends_on_a_path_of_the_dynamics(ilqr: ModuleType, lift: Any) -> None:
    q, v, u = lift.solution.path
    dt = lift.solution.path.dt
    knots = lift.model, q[:-1], v[:-1], u * ilqr.LIMITS, dt
    step = jc.linearize_step(*knots, method="semi_implicit_euler")
    np.testing.assert_allclose(step.q, q[1:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(step.v, v[1:], rtol=0, atol=1e-11)


def test_derivatives_of_all_methods_agree(lift: Any) -> None:
    assert lift.timings["finite differences"].error < 1e-7
    if "Pinocchio" in lift.timings:
        assert lift.timings["Pinocchio"].error < 1e-12


def test_figures_and_tables(
    lqr: ModuleType, ilqr: ModuleType, sweeps: dict[str, Any], lift: Any, figures: Path
) -> None:
    for example, result, name in ((lqr, sweeps, "lqr_on_se3"), (ilqr, lift, "ilqr_arm")):
        assert (figures / f"{name}.png").stat().st_size > 10_000
        assert len(example.table(result).splitlines()) > 5


def test_examples_with_a_quick_form_have_a_test_here_or_beside() -> None:
    """The others take a fraction of a second and run with the documentation."""
    quick = {path.stem for path in EXAMPLES.glob("*.py") if "--quick" in path.read_text("utf-8")}
    tests = [path.read_text("utf-8") for path in Path(__file__).parent.glob("**/test_*.py")]
    assert {"lqr_on_se3", "ilqr_arm"} <= quick
    assert [name for name in quick if not any(f'"{name}' in text for text in tests)] == []
