"""Every benchmark runs, in a mode too short to mean anything, and saves a well-formed file."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

for package in ("pinocchio", "casadi", "matplotlib", "rich", "lxml"):
    pytest.importorskip(package)
ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench import __main__ as cli  # noqa: E402
from bench import counting, isa, timing  # noqa: E402
from bench.report import Report  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


def saved(name, folder):
    """The file of a benchmark, which runs if no test before did."""
    path = folder / f"{name}.json"
    if not path.exists():
        assert cli.main([name, "--tiny", "--save", str(path)]) == 0
    return path


SLOW = {"series", "kernels", "papers", "partials"}
"""Those that take seconds even in this mode."""
NAMES = [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in cli.NAMES]


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_and_saves_json(name, folder, capsys):
    path = folder / f"{name}.json"
    assert cli.main([name, "--tiny", "--save", str(path)]) == 0
    run = json.loads(path.read_text("utf-8"))
    assert {"date", "effort", "machine", "versions", "core_info"} < run.keys()
    report = run["reports"][name]
    for timed in report["timings"].values():
        assert 0 < timed["best"] <= timed["median"]
    for target in report["targets"]:
        measured = target["measured"]
        assert target["met"] is None if measured is None else math.isfinite(measured)
    for table in report["tables"]:
        assert table["rows"]
        assert all(len(row) == len(table["columns"]) for row in table["rows"])
    assert "Targets" in capsys.readouterr().out


def test_a_saved_run_compares_with_itself(folder, capsys):
    path = str(saved("dynamics", folder))
    assert cli.main(["--load", path, "--compare", path]) == 0
    assert "Old time over new time" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit):
        cli.main(["dynamic"])
    assert "dynamics" in capsys.readouterr().err


def test_timing_sees_which_call_is_slower():
    """On a clock that only the calls advance."""
    now = [0.0]

    def work(seconds):
        now[0] += seconds

    calls = {us: timing.Call(work, (1e-6 * us,)) for us in (1, 100)}
    times = timing.measure(calls, timing.QUICK, clock=lambda: now[0])
    assert now[0] >= timing.QUICK.seconds
    assert all(len(timed.blocks) >= timing.QUICK.rounds for timed in times.values())
    for us, timed in times.items():
        assert timed.best == pytest.approx(1e-6 * us)
    assert timing.ratio(times[100], times[1]).value == pytest.approx(100)


def test_batches_stand_beside_both_of_pinocchios_ways(folder):
    path = saved("dynamics", folder)
    tables = json.loads(path.read_text("utf-8"))["reports"]["dynamics"]["tables"]
    (table,) = (table for table in tables if "Pinocchio's time per state" in table["title"])
    labels = [row[0].strip() for row in table["rows"]]
    for name in ("rnea", "aba", "crba", "computeMinverse"):
        assert f"a Python loop over pin.{name}" in labels
    for name in ("rnea", "aba"):
        assert f"pin.{name}InParallel, 1 thread" in labels


@pytest.mark.parametrize("built", [True, False])
def test_the_other_instruction_set_has_rows(built, monkeypatch):
    """Those of the other process, or a word that the build lacks it."""
    available = ("v3", isa.ISA) if built else ("native",)
    info = {"isa": available[0], "available": available}
    monkeypatch.setattr(isa.jc, "core_info", lambda: info)
    other = Report("dynamics")
    other.table("Ratios", "function", "UR5").add("inverse dynamics", 2.0)
    other.timings["single/jounce"] = {"best": 1.0}
    printed = json.dumps(other.as_dict())
    monkeypatch.setattr(isa.child, "run", lambda *arguments, **environment: printed)
    report = Report("dynamics")
    table = report.table("Ratios", "function", "UR5")
    table.add("inverse dynamics", 3.0)
    isa.add_rows(report, timing.TINY, lambda text: None)
    if built:
        assert [row[1] for row in table.rows] == ["3", "", "2"]
        assert report.timings == {"v2/single/jounce": {"best": 1.0}}
    else:
        assert table.rows[1:] == [["JOUNCE_ISA=v2: not built (make bench ISA=all)", ""]]


def test_a_disassembly_tells_the_instruction_set():
    plain = "0: <Symmetric>\n 1:\tmulpd  %xmm0,%xmm1\n"
    assert isa.level(plain) == isa.PLAIN
    lines = ("\tpopcnt %rax,%rdx\n", "\tvaddpd %ymm0,%ymm1,%ymm2\n", "\tvaddpd %zmm0,%zmm1,%zmm2\n")
    for line, expected in zip(lines, ("v2", "v3", "v4"), strict=True):
        plain += line
        assert f"x86-64-{expected}" in isa.level(plain)


def test_fitted_exponents_and_means():
    sizes = [1.0, 10.0, 100.0]
    assert timing.exponent(sizes, [3 * n**1.5 for n in sizes]) == pytest.approx(1.5)
    assert timing.geometric_mean([1.0, 4.0]) == pytest.approx(2.0)


def test_counts_leave_out_zeros_and_ones():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(2, 3, (2, 3, 3))
    dense = counting.count(lambda x, y: x @ y, a, b)
    assert (dense.multiplications, dense.additions) == (27, 18)
    sparse = counting.count(lambda x, y: x @ y, np.diag([2.0, 1.0, 0.0]), b)
    assert (sparse.multiplications, sparse.additions) == (3, 0)
    cross = counting.count(np.cross, a[0], b[0])
    assert (cross.multiplications, cross.additions) == (6, 3)
    one = counting.count(lambda x: np.einsum("ij,j->i", x, np.ones(3)) + 0.0 * x[0], a)
    assert (one.multiplications, one.additions) == (0, 6)
    assert counting.count(np.sin, a).functions == 9


def test_counts_do_not_depend_on_how_sums_round():
    rng = np.random.default_rng(0)
    exact, b = np.kron(np.eye(2), rng.uniform(2, 3, (2, 2))), rng.uniform(2, 3, (4, 4))
    exact[3] = [0, 1, 0, -1]
    rounded = exact + 4 * np.finfo(float).eps * rng.uniform(-1, 1, exact.shape)
    for operation in (np.matmul, np.multiply, np.add, lambda x, y: x.sum(axis=0) + y):
        assert counting.count(operation, rounded, b) == counting.count(operation, exact, b)


def test_figures_are_drawn_from_a_saved_run(tmp_path):
    from bench import figures

    paths = {
        "dynamics": [
            f"{part}/{function}/UR5/{who}"
            for part in ("single", "batch")
            for function in figures.FUNCTIONS
            for who in ("jounce", "pinocchio")
        ],
        "series": [
            f"orders/{way}, N = 7/{order}/{who}"
            for way in ("inverse", "forward")
            for order in (0, 1, 5)
            for who in ("jounce", "pinocchio")
        ],
    }
    run = {
        "date": "2026-01-01T00:00:00",
        "effort": "tiny",
        "machine": {"processor": "some", "load": 3.0},
        "reports": {
            name: {"timings": {x: {"best": 1e-6 if x.endswith("jounce") else 3e-6} for x in listed}}
            for name, listed in paths.items()
        },
    }
    drawn = figures.draw(run, tmp_path)
    assert [path.name for path in drawn] == ["bench-peers.svg", "bench-series.svg"]
    peers = figures.peers(run)
    bars = [bar.get_height() for bar in peers.axes[0].patches]
    assert bars == pytest.approx([3.0] * len(figures.FUNCTIONS))
    assert "busy" in peers.get_suptitle()
    cost = figures.series(run).axes[0].lines[0].get_ydata()
    assert cost == pytest.approx([1 / 3] * 3)
