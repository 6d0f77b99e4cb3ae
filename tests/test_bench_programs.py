"""What benchmarks without Python rest on: models as numbers, operations, compared results."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

for package in ("pinocchio", "casadi", "matplotlib", "rich", "lxml"):
    pytest.importorskip(package)
ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

import pinocchio as pin  # noqa: E402
from bench import compare, compiled, kernels, native, robots, summary  # noqa: E402

import jounce as jc  # noqa: E402

compiles = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")
JOINTS = {
    "JointModelRX": lambda axis: pin.JointModelRX(),
    "JointModelRY": lambda axis: pin.JointModelRY(),
    "JointModelRZ": lambda axis: pin.JointModelRZ(),
    "JointModelPY": lambda axis: pin.JointModelPY(),
    "JointModelPrismaticUnaligned": lambda axis: pin.JointModelPrismaticUnaligned(axis),
    "JointModelFreeFlyer": lambda axis: pin.JointModelFreeFlyer(),
}


def rebuilt(text):
    """A model of Pinocchio from the numbers, as by_pinocchio.cpp builds it."""
    gravity, count, *lines = text.splitlines()
    model = pin.Model()
    model.gravity.linear = np.array(gravity.split(), float)
    assert len(lines) == int(count)
    for k, line in enumerate(lines):
        parent, joint, *words = line.split()
        x = np.array(words, float)
        placement = pin.SE3(x[:9].reshape(3, 3), x[9:12])
        index = model.addJoint(int(parent), JOINTS[joint](x[12:15]), placement, f"joint {k}")
        inertia = pin.Inertia.FromDynamicParameters(x[15:])
        model.appendBodyToJoint(index, inertia, pin.SE3.Identity())
    return model


@pytest.mark.parametrize("name", robots.FILES)
def test_pinocchios_model_survives_as_numbers(name):
    robot = robots.load(name)
    state = robots.states(robot)
    model = rebuilt(compiled.their_model(robot.pin_model))
    torques = pin.rnea(model, model.createData(), state.pin_q, state.pin_v, state.pin_a)
    np.testing.assert_allclose(torques, state.pin_tau, rtol=0, atol=1e-11 * abs(state.tau).max())


def test_every_joint_of_the_robots_is_known_to_the_program():
    source = (compiled.SOURCES / "by_pinocchio.cpp").read_text("utf-8")
    for name in robots.FILES:
        for joint in list(robots.load(name).pin_model.joints)[1:]:
            assert f'"{joint.shortname()}"' in source


def test_the_programs_check_as_many_states_as_are_read():
    header = (compiled.SOURCES / "measure.hpp").read_text("utf-8")
    assert f"kChecked = {compiled.CHECKED};" in header


@compiles
def test_our_program_gives_our_numbers(tmp_path):
    robot = robots.load("HyQ")
    state = robots.states(robot, 64)
    contender = compiled.ours(robot, state, tmp_path)
    times = contender.run([*kernels.FUNCTIONS, "inverse_dynamics*64", "peak"], 0.0)
    assert list(times) == [*kernels.FUNCTIONS, "inverse_dynamics*64", "peak"]
    assert min(times.values()) > 0
    expected = []
    for name, inputs in kernels.FUNCTIONS.items():
        for k in range(compiled.CHECKED):
            result = getattr(jc, name)(robot.model, *(x[k] for x in state.ours(inputs)))
            parts = result if isinstance(result, tuple) else (result,)
            expected += [np.ravel(part) for part in parts]
    np.testing.assert_array_equal(contender.results, np.concatenate(expected))


@compiles
def test_operations_of_inverse_dynamics_grow_by_the_same_number_for_each_link():
    counts = [kernels.counted(jc.models.chain(n)) for n in (5, 6, 7)]
    assert list(counts[0]) == list(kernels.FUNCTIONS)
    for name in ("inverse_dynamics", "forward_dynamics"):
        first, second, third = (count[name] for count in counts)
        assert 0 < second - first == third - second
    assert all(count["mass_matrix"] > count["inverse_dynamics"] for count in counts)


def results_of(robot, state):
    """What both programs write for one function of each kind, by the two libraries from Python."""
    # Fresh: what constrained derivatives leave in Pinocchio's data changes later ones of RNEA.
    ours, theirs, data = [], [], robot.pin_model.createData()
    some = range(compiled.CHECKED)
    ours += [jc.inverse_dynamics(robot.model, state.q[k], state.v[k], state.a[k]) for k in some]
    theirs += [state.pin_tau[k] for k in some]
    ours += [jc.mass_matrix(robot.model, state.q[k]) for k in some]
    theirs += [np.triu(pin.crba(robot.pin_model, data, state.pin_q[k])) for k in some]
    for k in some:
        ours += jc.inverse_dynamics_derivatives(robot.model, state.q[k], state.v[k], state.a[k])
        arguments = state.pin_q[k], state.pin_v[k], state.pin_a[k]
        *matrices, mass = pin.computeRNEADerivatives(robot.pin_model, data, *arguments)
        theirs += [*(matrix.copy() for matrix in matrices), np.triu(mass)]
    return tuple(np.concatenate([np.ravel(x) for x in results]) for results in (ours, theirs))


@pytest.mark.parametrize("name", ["UR5", "HyQ"])
def test_results_of_the_programs_are_compared(name, monkeypatch):
    chosen = ("inverse_dynamics", "mass_matrix", "inverse_dynamics_derivatives")
    pairs = [replace(p, theirs=p.theirs[:1]) for p in native.PAIRS if p.ours in chosen]
    monkeypatch.setattr(native, "PAIRS", pairs)
    robot = robots.load(name)
    state = robots.states(robot, compiled.CHECKED)
    ours, theirs = results_of(robot, state)
    native.check(robot, state, ours, theirs)
    for k in (0, len(theirs) - 1):
        wrong = theirs.copy()
        wrong[k] += 1e-6 * abs(theirs).max()
        with pytest.raises(RuntimeError, match="differ"):
            native.check(robot, state, ours, wrong)
    with pytest.raises(RuntimeError, match="more than was asked"):
        native.check(robot, state, np.append(ours, 0.0), theirs)


def saved(times):
    """A run with one report of these times."""
    timings = {path: {"best": time} for path, time in times.items()}
    return {
        "date": "2026-11-16",
        "effort": "full",
        "machine": {"processor": "any"},
        "versions": {"pin": "4.1.0"},
        "reports": {"dynamics": {"timings": timings}},
    }


def two_runs(own, peers):
    """Twelve robots before and after: our times and those of a peer grow by these factors."""
    runs = []
    for ours, theirs in ((1.0, 1.0), (own, peers)):
        times = {f"single/inverse dynamics/{k}/jounce": ours * (k + 1) for k in range(12)}
        times |= {f"single/inverse dynamics/{k}/pinocchio": theirs * (k + 1) for k in range(12)}
        runs.append(saved(times))
    return runs


@pytest.mark.parametrize(
    ("own", "peers", "code"),
    [(1.0, 1.0, 0), (1.3, 1.0, 1), (1.3, 1.3, 0), (1.0, 1 / 1.3, 1), (1.05, 1.0, 0), (0.5, 1.0, 0)],
)
def test_what_became_slower_is_told_by_the_exit_code(own, peers, code, tmp_path, capsys):
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for path, run in zip(files, two_runs(own, peers), strict=True):
        path.write_text(json.dumps(run), "utf-8")
    assert compare.main([*map(str, files)]) == code
    printed = capsys.readouterr().out
    assert ("Slower by more than 10%" in printed) == bool(code)
    assert compare.main([*map(str, files), "--tolerance", "0.5"]) == 0


def test_the_table_for_the_readme_has_means_over_robots():
    dynamics, partials = {}, {}
    for robot, factor in (("UR5", 4.0), ("Talos", 9.0)):
        for _, benchmark, function in summary.ROWS:
            target = dynamics if benchmark == "dynamics" else partials
            one, batch = (
                ("single", "batch") if benchmark == "dynamics" else ("one call", "batch of 1024")
            )
            target[f"{one}/{function}/{robot}/jounce"] = 1e-6
            target[f"{one}/{function}/{robot}/pinocchio"] = factor * 1e-6
            target[f"{batch}/{function}/{robot}/jounce"] = 1e-6
            target[f"{batch}/{function}/{robot}/pinocchio"] = 4 * factor * 1e-6
    for robot in ("UR5", "Talos"):
        dynamics[f"single/mass matrix/{robot}/pinocchio, world"] = 1e-6
        dynamics[f"batch/inverse dynamics/{robot}/pinocchio, parallel"] = 3e-6
    run = saved(dynamics)
    assert summary.table(run) is None
    run["reports"]["partials"] = saved(partials)["reports"]["dynamics"]
    table = summary.table(run)
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["inverse dynamics, against `pin.rnea`"] == ["6", "24", "3"]
    assert rows["mass matrix, against `pin.crba`"] == ["1", "24", "-"]
    assert rows["partial derivatives of forward dynamics"] == ["6", "24", "-"]
    lines = table.markdown().splitlines()
    assert lines[1] == "| --- | --- | --- | --- |"
    assert len(lines) == 2 + len(summary.ROWS)
