"""The examples of constraints, in their quick form."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(module, result):
    """Whether the figure can be drawn."""
    pytest.importorskip("matplotlib")
    assert len(module.figure(result).axes) >= 2


def test_a_four_bar_is_driven_let_go_and_dead_where_crank_and_rod_are_in_line():
    module = example("four_bar")
    result = module.run(quick=True)
    assert result.error < 1e-12
    assert result.opening < 1e-9
    assert result.energy < 1e-9
    dead = np.isin(result.crank, result.dead)
    assert result.drives["rocker"][dead].max() < 1e-12
    assert result.drives["rocker"][~dead].min() > 1e-3
    assert result.drives["crank"].min() > 0.1  # a full turn of the crank meets no dead point
    assert result.flat == (1, 2)
    drawn(module, result)


def test_a_stewart_platform_is_driven_and_singular_at_a_quarter_turn():
    module = example("stewart_platform")
    result = module.run(quick=True)
    assert result.error < 1e-11
    at = np.rad2deg(np.abs(result.yaw))
    assert result.stiffness[np.abs(at - 90) < 1e-9].max() < 1e-12
    assert result.stiffness[np.abs(at - 90) > 1e-9].min() > 1e-3
    drawn(module, result)


def test_a_quadruped_shifts_its_weight_on_the_manifold():
    pytest.importorskip("scipy")
    module = example("standing_quadruped")
    result = module.run(quick=True)
    assert result.states == 12
    assert result.error[-1] < 0.05 * result.error[0]
    model, _ = module.build()
    weight = 9.81 * model.inertias[:, 0].sum()
    assert abs(result.normal[-1].sum() - weight) < 0.01 * weight
    assert result.normal[-1, :2].sum() > 0.7 * weight
    assert abs(result.trunk[-1, 1] - module.SHIFT) < 1e-3
    drawn(module, result)


def test_a_humanoid_squats_and_its_force_rates_are_slopes():
    module = example("squat")
    result = module.run(quick=True)
    assert result.error < 1e-4  # of second differences
    # at both ends the motion turns, and both feet carry the weight and what accelerates it
    assert abs(result.normal[:, 0].mean() * 2 - result.weight) < 0.1 * result.weight
    assert np.abs(result.normal[[0, -1], 1]).max() < 1e-6 * np.abs(result.normal[:, 1]).max()
    drawn(module, result)
