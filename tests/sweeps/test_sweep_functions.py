"""Functions that change what they get, return one buffer again and again, or names for results."""

from __future__ import annotations

import enum
import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sweep_work as work
from sweep_work import ROBOT, STATES, inputs

import jounce as jc
from jounce.errors import ArgumentError, ArgumentTypeError
from jounce.sweeps import _chunks, _digest, _work
from jounce.sweeps._digest import fingerprint

Q, V, _ = inputs()
GRAVITY = jc.gravity_forces(ROBOT, Q)


@pytest.fixture(params=["npy", "zarr"])
def file(request, tmp_path):
    """A path of each kind."""
    if request.param == "zarr":
        pytest.importorskip("zarr")
    return tmp_path / f"result.{request.param}"


@pytest.fixture
def one_thread():
    """Whose tasks share a buffer, one after another."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture(params=["here", "one_thread"])
def worker(request):
    """This thread, and one that is ahead of it."""
    return None if request.param == "here" else request.getfixturevalue(request.param)


def buffered():
    """A function that returns rows of one array."""
    buffer = np.empty((1024, ROBOT.nv))

    def function(model, q):
        return jc.gravity_forces(model, q, out=buffer[: len(q)])

    return function


@pytest.mark.parametrize("seconds", [0.0, 10.0])
def test_a_buffer_may_be_used_again(seconds, worker, monkeypatch):
    """By blocks of one task, and by tasks of one block."""
    monkeypatch.setattr(_chunks, "TASK_SECONDS", seconds)
    assert jc.sweep(buffered(), ROBOT, Q, worker).tobytes() == GRAVITY.tobytes()


def test_the_only_block_of_a_task_is_copied():
    buffer = np.zeros((16, 3))
    _work.know("buffer", _work.Job(lambda model, q: buffer, ROBOT, {}, None, 16, None, False))
    try:
        (found,) = _work.compute("buffer", None, _work.Piece(16, 32, [Q[:16]])).arrays
    finally:
        _work.forget("buffer")
    assert not np.shares_memory(found, buffer)


def test_a_buffer_may_be_used_again_where_states_fail():
    function = buffered()
    bad = Q[:320].copy()
    bad[[3, 100, 101], -1] = np.nan
    found = jc.sweep(function, ROBOT, bad, on_failure="mark")
    assert found.failed.tolist() == [3, 100, 101]
    assert np.isnan(found.result[found.failed]).all()
    good = np.delete(np.arange(320), found.failed)
    np.testing.assert_allclose(found.result[good], GRAVITY[good], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("out", [np.empty((16, ROBOT.nv)), (np.empty(16), np.empty(16))])
def test_one_array_for_all_results_is_refused(out):
    with pytest.raises(ArgumentError, match="constants must not have an array for 'out'"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, constants={"out": out})


def test_another_constant_may_be_called_out():
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, constants={"out": None})
    assert found.tobytes() == GRAVITY.tobytes()
    assert jc.sweep(lambda model, q, out: q, ROBOT, Q, constants={"out": "folder"}).shape == Q.shape


def doubles(model, q):
    """Changes its argument before it looks at it."""
    q *= 2
    if (q[:, -1] > 1e6).any():
        raise ValueError("too far")
    return q


@pytest.mark.parametrize("by_name", [False, True])
def test_a_function_may_change_its_arguments(by_name, worker):
    mine = Q.copy()
    found = jc.sweep(doubles, ROBOT, {"q": mine} if by_name else mine, worker)
    assert found.tobytes() == (2 * Q).tobytes()
    assert mine.tobytes() == Q.tobytes()


def test_neighbors_of_a_state_that_fails_are_computed_from_what_was_given(worker):
    mine = Q.copy()
    mine[[5, 40], -1] = 1e9
    found = jc.sweep(doubles, ROBOT, mine, worker, on_failure="mark")
    assert found.failed.tolist() == [5, 40]
    good = np.delete(np.arange(STATES), found.failed)
    assert found.result[good].tobytes() == (2 * Q)[good].tobytes()
    assert (mine[[5, 40], -1] == 1e9).all()


@pytest.mark.parametrize(
    "given",
    [Q.T.copy().T, np.broadcast_to(Q[0], Q.shape), Q[::-1]],
    ids=["columns", "repeated", "reversed"],
)
def test_arguments_lie_in_memory_alike_for_every_executor(given, worker):
    """Products of NumPy may round as it demands; arrays that were sent are in C order."""

    def function(model, q):
        return np.full(len(q), q.flags.c_contiguous and q.flags.writeable and q.flags.owndata)

    assert jc.sweep(function, ROBOT, given, worker).all()


def test_nested_dicts_have_fingerprints_of_their_own():
    values = [
        {"a": {}, "b": 1},
        {"a": {"b": 1}},
        {"a": {"b": {}}},
        {"a": {"b": {}, "c": {}}},
        {"a": {"b": {"c": {}}}},
        [{}, "a", 1],
        [{"a": 1}, 2],
    ]
    assert len({fingerprint(x) for x in values}) == len(values)


def test_names_that_a_function_uses_do_not_run_together():
    def made(*named):
        return b"".join(_digest._Walk(None).loosely(named, (), None))

    value = made(("", 1)).decode().rpartition("'")[2]
    assert made(("a", 1), ("b", 1)) != made((f"a{value}b", 1))
    assert made() != b""


def test_constants_that_differ_in_their_nesting_are_another_sweep(tmp_path):
    call = {"function": lambda model, q, options: q, "model": ROBOT, "arrays": Q}
    call["file"] = tmp_path / "result.npy"
    jc.sweep(**call, constants={"options": {"a": {}, "b": 1}})
    with pytest.raises(ArgumentError, match="another sweep: one of the constants differs"):
        jc.sweep(**call, constants={"options": {"a": {"b": 1}}})


@pytest.mark.parametrize("state", [1000, 5])
def test_a_state_that_ended_a_sweep_is_tried_again(state, file):
    mark, seen = file.with_name("mark"), []

    def function(model, q):
        seen.append(len(q))
        if (q == Q[state]).all(axis=1).any() and not os.path.exists(mark):
            raise ValueError("not yet")
        return q

    call = {"function": function, "model": ROBOT, "arrays": Q, "file": file, "block": 128}
    for _ in range(2):
        seen.clear()
        with pytest.raises(jc.SweepError, match=f"state {state} .* not yet"):
            jc.sweep(**call)
        assert seen
    mark.touch()
    seen.clear()
    found = jc.sweep(**call)
    assert np.asarray(found[:]).tobytes() == Q.tobytes()
    if state > 128:
        assert sum(seen) < STATES  # what was done was not computed again


def test_states_that_were_marked_are_not_tried_again(file):
    mark = file.with_name("mark")
    call = {"function": work.refuses_while, "model": ROBOT, "arrays": Q, "file": file}
    call["constants"] = {"mark": str(mark)}
    assert jc.sweep(**call, on_failure="mark").failed.tolist() == [1000]
    mark.touch()
    assert jc.sweep(**call, on_failure="mark").failed.tolist() == [1000]
    with pytest.raises(jc.SweepError, match=r"state 1000 .* not yet"):
        jc.sweep(**call)
    found = jc.sweep(**call, overwrite=True)
    assert np.asarray(found[:]).tobytes() == Q.tobytes()


WRONG = [
    "tip/x",
    "tip\\x",
    "c:x",
    "../x",
    "..",
    ".",
    "",
    "a\nb",
    "a\0b",
    "\ud800",
    "\u4e00" * 90,
    "zarr.json",
]


@pytest.mark.parametrize("name", WRONG)
def test_names_that_no_file_can_have_are_refused(name, file):
    with pytest.raises(ArgumentError, match=r"must be parts of file names.*got") as e:
        jc.sweep(lambda model, q: {name: q}, ROBOT, Q, file=file)
    assert repr(name) in str(e.value)
    assert list(file.parent.iterdir()) == []
    assert jc.sweep(lambda model, q: {name: q}, ROBOT, Q)[name].tobytes() == Q.tobytes()


def test_records_do_not_name_files_elsewhere(file):
    """A sweep that begins anew deletes what its record names."""
    beside = file.parent / "beside"
    beside.mkdir()
    jc.sweep(work.energies, ROBOT, (Q, V), file=file)
    record = file / "sweep.json" if file.suffix == ".zarr" else file.with_name("result.npy.sweep")
    changed = {**json.loads(record.read_text()), "names": ["../beside", "potential"]}
    record.write_text(json.dumps(changed))
    with pytest.raises(ArgumentError, match="is damaged"):
        jc.sweep(work.energies, ROBOT, (Q, V), file=file)
    jc.sweep(work.energies, ROBOT, (Q, V), file=file, overwrite=True)
    assert beside.is_dir()


@pytest.mark.parametrize("names", [(1,), (1, "1"), (None,), (b"a",), (("a", "b"),)])
def test_names_that_are_no_strings_are_refused(names, tmp_path):
    def function(model, q):
        return dict.fromkeys(names, q)

    message = r"names of results must be strings, got .*, which is (int|NoneType|bytes|tuple)$"
    for file in (None, tmp_path / "result.npy"):
        with pytest.raises(ArgumentTypeError, match=message):
            jc.sweep(function, ROBOT, Q, file=file)
    with pytest.raises(ArgumentTypeError, match="names of arrays must be strings"):
        jc.sweep(jc.gravity_forces, ROBOT, dict.fromkeys(names, Q))


class Name(str, enum.Enum):
    TIP = "tip"


def test_names_may_be_of_a_kind_of_string(file):
    for _ in range(2):
        found = jc.sweep(lambda model, q: {Name.TIP: q}, ROBOT, Q, file=file)
        assert list(found) == ["tip"]
        assert np.asarray(found[Name.TIP][:]).tobytes() == Q.tobytes()


LISTS = {
    "one batch": [Q],
    "two batches": [Q, V],
    "a number of each state, and a batch": [Q[:, 0], Q],
    "rows of several lengths": [Q[0], Q[:, 0]],
    "a number and a row": [np.float64(1.0), Q[0]],
}


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_arrays_are_refused(what):
    with pytest.raises(ArgumentError, match=r"list of arrays, got some of shape .*: give a tuple"):
        jc.sweep(jc.gravity_forces, ROBOT, LISTS[what])


@pytest.mark.parametrize("rows", [list(Q[:40]), Q[:40].tolist(), [Q[0].tolist(), *Q[1:40]]])
def test_lists_of_rows_are_one_array(rows):
    assert jc.sweep(jc.gravity_forces, ROBOT, rows).tobytes() == GRAVITY[:40].tobytes()


@pytest.mark.parametrize("numbers", [[1.0, 2.0, 3], list(np.arange(3.0))])
def test_lists_of_numbers_are_one_array(numbers):
    found = jc.sweep(lambda model, x: 2 * x, ROBOT, numbers)
    assert found.tolist() == [2 * x for x in numbers]


def test_lists_of_states_with_several_axes_go_with_names():
    found = jc.sweep(
        lambda model, x: x.sum(axis=(1, 2)), ROBOT, {"x": [np.eye(3), np.ones((3, 3))]}
    )
    assert found.tolist() == [3.0, 9.0]
