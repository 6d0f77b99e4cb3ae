"""The examples of constraints show what they claim."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("sketches")
EXAMPLES = Path(__file__).parent.parent / "examples"


def test_a_leg_hops_and_every_impact_costs_what_the_formula_says(tmp_path):
    spec = importlib.util.spec_from_file_location("hopping_leg", EXAMPLES / "hopping_leg.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    result = module.main(["--quick", "--out", str(tmp_path)])
    names = [event.name for event in result.motion.events]
    assert names[:2] == ["touch-down of foot", "lift-off of foot"]
    assert all(abs(x.lost - x.formula) < 1e-9 for x in result.landings)
    assert result.balance < 0.02  # J, of trapezoids of 2.5 ms
    assert result.force.min() >= 0.0
    assert result.motion.frame("foot")[:, 2, 3].min() > -1e-8
    assert (tmp_path / "hopping_leg.png").exists()
