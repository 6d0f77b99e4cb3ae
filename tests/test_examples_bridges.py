"""The examples in other libraries show what they claim."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("sketches")
EXAMPLES = Path(__file__).parent.parent / "examples"
PACKAGES = {"trajectory_casadi": "casadi", "swing_up_jax": "jax", "identification_torch": "torch"}


def result_of(name: str, folder: Path) -> Any:
    pytest.importorskip(PACKAGES[name], reason=f"{PACKAGES[name]} is not installed")
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        pytest.skip(str(error))
    result = module.main(["--quick", "--out", str(folder)])
    assert (folder / f"{name}.png").stat().st_size > 10_000
    return result


def test_exact_derivatives_solve_what_differences_do_not(tmp_path: Path) -> None:
    ways = result_of("trajectory_casadi", tmp_path).solutions
    exact, differences = ways["exact"], ways["differences, BFGS"]
    assert exact.solved
    assert exact.defect < 1e-6
    assert np.abs(exact.tau).max() < 12.0 + 1e-6
    assert exact.iterations < differences.iterations
    assert not differences.solved or differences.cost > 0.99 * exact.cost


def test_gradients_through_rollouts_are_exact_and_lower_the_cost(tmp_path: Path) -> None:
    result = result_of("swing_up_jax", tmp_path)
    assert result.gradient_error < 1e-7
    assert result.costs[-5:].mean() < 0.7 * result.costs[0]
    assert np.isfinite(result.q).all()


def test_descent_is_least_squares_and_finds_offsets(tmp_path: Path) -> None:
    fits = result_of("identification_torch", tmp_path).fits
    least, descent, offsets = (fits[k] for k in ("least squares", "descent", "descent, offsets"))
    assert abs(descent.error / least.error - 1.0) < 0.01
    assert least.error < 0.2 * fits["guess"].error
    assert offsets.error < 0.3 * least.error
    assert np.abs(np.rad2deg(offsets.offsets) - [8.0, -6.0, 0.0]).max() < 1.5
