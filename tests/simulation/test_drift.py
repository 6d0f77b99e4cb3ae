"""The program that looks for drifts, in short: what it finds, and that it would find one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from jounce.simulation.methods import GEOMETRIC

STEPS = 5000


@pytest.fixture(scope="module")
def drift():
    path = Path(__file__).parents[2] / "tools" / "drift.py"
    spec = importlib.util.spec_from_file_location("drift", path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


@pytest.fixture(scope="module")
def model(drift):
    return drift.floating_tree()


@pytest.fixture(scope="module")
def starts(drift, model):
    return drift.chaotic_starts(model, 64)


@pytest.mark.parametrize("method", GEOMETRIC)
def test_the_momentum_of_all_starts_is_kept(method, drift, model, starts):
    assert drift.lost_momentum(drift.kept(model, starts, method, STEPS)) == []


def test_slopes_of_the_variational_energy_cancel_over_starts(drift, model, starts, monkeypatch):
    """To what so short a run can tell: a drift by a fifth of the oscillation would be seen."""
    monkeypatch.setattr(drift, "ALLOWED_ERROR", 0.04)
    slope = drift.kept(model, starts, "variational", STEPS).relative_slope
    assert drift.drifts_on_average(slope) == []
    for more in (-0.2, 0.2):
        assert "energy drifts by" in drift.drifts_on_average(slope + more)[0]


def test_other_methods_drift(drift, model, starts, monkeypatch):
    """The energy of one to and fro, of one in one direction."""
    monkeypatch.setattr(drift, "ALLOWED_ERROR", 0.04)
    found = drift.kept(model, starts, "rkmk2", STEPS)
    assert "drift apart" in drift.drifts_on_average(found.relative_slope)[0]
    assert len(drift.lost_momentum(found)) == 2
    found = drift.kept(model, starts, "momentum", STEPS)
    assert "energy drifts by -" in drift.drifts_on_average(found.relative_slope)[0]
    assert drift.lost_momentum(found) == []


def test_regular_motions_have_no_slope_each_by_itself(drift, model):
    """It falls with the length of the run, here a fiftieth of that in the docs."""
    slope = drift.kept(model, drift.regular_starts(model, 8), "variational", 20_000).relative_slope
    assert np.abs(slope).max() < 0.03
    assert drift.drifts_alone(slope / 10) == []
    assert "3.00%" in drift.drifts_alone(np.append(slope, -0.03))[0]


def test_slopes_are_those_of_lines_and_the_oscillation_is_the_range(drift):
    t = np.linspace(0.0, 1.0, 100_001)
    energy = 2.0 + 0.3 * t + 0.1 * np.sin(2000 * np.pi * t)
    wide, slope = drift.oscillation_and_slope(np.stack([energy, energy[::-1]]))
    np.testing.assert_allclose(slope * [2.0, 2.3], [0.3, -0.3], atol=1e-3)
    np.testing.assert_allclose(wide * [2.0, 2.3], 0.5, atol=1e-2)


def test_the_program_ends_with_what_is_wrong(drift, monkeypatch, capsys):
    short = ["chaos", "--steps", "500", "--starts", "4"]
    assert drift.main(short) == 1
    assert "the run is too short" in capsys.readouterr().err
    monkeypatch.setattr(drift, "ALLOWED_ERROR", 1.0)
    assert drift.main(short) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    monkeypatch.setattr(drift, "ALLOWED_MOMENTUM", 0.0)
    assert drift.main(short) == 1
    assert "variational: linear momentum changes by" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        drift.main(["everything"])
