"""The examples on parameters show what they claim."""

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
pytestmark = pytest.mark.usefixtures("sketches")
EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def result_of(name: str, folder: Path) -> Any:
    result = load(name).main(["--quick", "--out", str(folder)])
    assert (folder / f"{name}.png").stat().st_size > 10_000
    return result


def test_identification_finds_bodies_that_can_exist(tmp_path: Path) -> None:
    fits = result_of("identification", tmp_path).fits
    ordinary, consistent = fits["least squares"], fits["log-Cholesky"]
    assert ordinary.impossible > 0
    assert ordinary.least_mass < -0.5
    assert ordinary.least_eigenvalue < 0.0
    assert ordinary.distance > 0.01
    assert consistent.error < 0.2 * ordinary.error  # by consistency alone
    both = [fits[f"{name}, prior"] for name in ("least squares", "log-Cholesky")]
    assert both[0].impossible > 0
    for fit in both:
        assert fit.error < 0.2 * fits["guess"].error
    for fit in (consistent, both[1]):
        assert fit.impossible == 0
        assert fit.distance == 0.0
        assert fit.least_eigenvalue > 0.0
    assert fits["truth"].error < 1e-10


def test_calibration_ends_at_the_noise(tmp_path: Path) -> None:
    result = result_of("calibration", tmp_path)
    assert result.shift[0].mean() > 5e-3
    assert result.shift[-1].mean() < 1e-4
    assert result.turn[-1].mean() < 2e-4
    assert result.seen == 34  # 4 per revolute joint and 6 for the tool
    assert len(result.model.joints) == 7


def test_the_design_study_goes_downhill_along_exact_gradients(tmp_path: Path) -> None:
    result = result_of("design_study", tmp_path)
    assert result.gradient_error < 1e-10
    assert (np.diff(result.energies) < 0).all()
    assert result.energies[-1] < 0.7 * result.energies[0]
    study = load("design_study")
    assert (
        np.abs(study.gradient(result.lengths[-1])).max()
        < 1e-2 * np.abs(study.gradient(study.START)).max()
    )
    assert result.energies[-1] <= np.nanmin(result.grid[2])
    a, b, grid = result.grid
    assert np.isfinite(grid).all()  # the map has no holes, and ends where the arm reaches no more
    r = np.hypot(*study.wrist(study.task()))
    assert abs((a + b).min() - r.max()) < 1e-5
    assert abs(np.abs(a - b).max() - r.min()) < 1e-5
    work, heat = study.shares(study.START)
    assert abs(work) < 1e-10 * heat  # what is lifted comes back
    assert isinstance(study.arm(study.START), jc.Model)
    whole, end = study.figure(result).axes[:2]
    for panel, lengths in ((whole, result.lengths), (end, result.lengths[-1:])):
        low, high = np.transpose([panel.get_xlim(), panel.get_ylim()])
        assert ((low < lengths) & (lengths < high)).all()
    assert "optimum: 0.499 m, 0.262 m, 39.3 J" in [text.get_text() for text in end.texts]
