"""The operation counts on docs/formulations.md are those that the benchmark counts."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import pytest

import jounce as jc

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from bench import counting, formulations, papers  # noqa: E402

PAGE = (ROOT / "docs" / "formulations.md").read_text(encoding="utf-8")

INVERSE = {
    "body-fixed (mueller, eq. 66, 67)": "mueller, body",
    "body-fixed (kim, Table 2)": "kim, Table 2",
    "mixed (mueller, eq. 56, 57)": "mueller, mixed",
    "hybrid (mueller, eq. 75, 76)": "mueller, hybrid",
    "spatial (mueller, eq. 70, 71)": "mueller, spatial",
    "spatial (ali, Alg. 2, order 0)": "ali, Algorithm 2",
    "ground frame (singh, RNEA)": "singh, RNEA",
    "body-fixed, extended (bos, Table 4)": "bos, Table 4",
    "body frames, series of order 0 (mueller, Sec. 6.3)": "mueller, Sec. 6.3",
    "body frames, Taylor series (what the core does, in NumPy)": "Taylor series, body frames",
}
PARTIALS = {
    "inverse: singh, IDSVA": "singh, IDSVA",
    "inverse: singh, IDSVA in body coordinates": "singh, IDSVA in body coordinates",
    "inverse: bos, Tables 4 to 8": "bos, Tables 4 to 8",
    "inverse: chain rule on RNEA": "singh, RNEA by chain rule",
    "forward: IDSVA and DMM": "singh, IDSVA and DMM",
    "forward: IDSVA and AZA": "singh, IDSVA and AZA",
    "forward: chain rule on ABA": "singh, ABA by chain rule",
}


FORWARD = {
    "body-fixed": "mueller, body",
    "mixed": "mueller, mixed",
    "hybrid": "mueller, hybrid",
    "spatial": "mueller, spatial",
    "body-fixed (singh, ABA)": "singh, ABA",
    "body-fixed (kim, Table 3)": "kim, Table 3",
    "spatial (ali, Alg. 3)": "ali, Algorithm 3",
    "inverse mass matrix (bos, eq. 19)": "bos, eq. 19",
}
FORMS = ("mueller, Sec. 6.3", "mixed, order r", "hybrid, order r", "ali, Algorithm 2")


def rows(heading):
    """Cells of the first table below a line of the page that begins so."""
    below = PAGE[PAGE.index(heading) :].splitlines()
    first = next(i for i, line in enumerate(below) if line.startswith("| ---"))
    table = []
    for line in below[first + 1 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip().replace(",", "") for cell in line.strip("| ").split(" | ")])
    return table


def counts(methods):
    """Multiplications and additions of each method but the core."""
    found = {m.name: counting.count(m.call.function, *m.call.args) for m in methods[1:]}
    return {name: (c.multiplications, c.additions) for name, c in found.items()}


def aerial(order):
    return formulations.random_state(jc.models.aerial_manipulator(), order)


def general(order):
    return formulations.random_state(papers.general_frames(), order)


def test_counts_of_inverse_dynamics():
    found = counts(formulations.inverse(aerial(0)))
    shown = {row[0]: (int(row[1]), int(row[2])) for row in rows("| formulation |")[:-1]}
    expected = {label.replace(",", ""): found[name] for label, name in INVERSE.items()}
    assert shown == expected


def test_counts_of_partials():
    found = counts(formulations.inverse_partials(aerial(0)))
    found |= counts(formulations.forward_partials(aerial(0)))
    shown = {row[0]: row[1] for row in rows("| method | N = 7")}
    for label, name in PARTIALS.items():
        assert int(shown[label.replace(",", "")]) == sum(found[name]), label


@functools.cache
def series_of(robot, order):
    """Methods of inverse series by name."""
    state = aerial(order) if robot == "aligned" else general(order)
    return {method.name: method.call for method in formulations.inverse_series(state)}


@functools.cache
def of_series(name, order, robot="aligned"):
    """Operations of one of them, counted once."""
    call = series_of(robot, order)[name]
    found = counting.count(call.function, *call.args)
    return found.multiplications + found.additions


@pytest.mark.parametrize("order", range(6))
def test_counts_of_series(order):
    row = rows("## Time derivatives")[order]
    names = ("ali, Algorithm 2", "mueller, Sec. 6.3", "Taylor series, body frames")
    assert [int(row[k]) for k in (1, 3, 5)] == [of_series(name, order) for name in names]
    shown = rows("Forward dynamics of order r")[order]
    forward = counts(formulations.forward_series(aerial(order)))
    assert int(shown[1]) == sum(forward["ali, Algorithm 3"])


@pytest.mark.parametrize(
    ("column", "model"),
    [(1, jc.models.aerial_manipulator), (3, jc.models.mixed_tree), (4, papers.general_frames)],
    ids=["aerial manipulator", "mixed tree", "general frames"],
)
def test_counts_of_forward_dynamics(column, model):
    found = counts(formulations.forward(formulations.random_state(model(), 0)))
    shown = {row[0]: int(row[column]) for row in rows("## Forward dynamics: the four")}
    expected = {label.replace(",", ""): sum(found[name]) for label, name in FORWARD.items()}
    assert shown == expected


@pytest.mark.long
@pytest.mark.parametrize("order", [0, 2, 5])
def test_counts_of_series_in_four_forms(order):
    """On the aligned robot, and with general frames, where the Taylor series stands beside them."""
    row = [int(cell) for cell in rows("all four can be counted")[order]]
    assert row[1:5] == [of_series(name, order) for name in FORMS]
    all_five = (*FORMS, "Taylor series, body frames")
    assert row[5:] == [of_series(name, order, "general") for name in all_five]
