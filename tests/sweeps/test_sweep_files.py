"""Sweeps in files: they are continued after a crash, and only by the same sweep."""

from __future__ import annotations

import functools
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sweep_work as work
from sweep_work import ROBOT, STATES, inputs

import jounce as jc
from jounce.errors import ArgumentError
from jounce.sweeps import _store
from jounce.sweeps._digest import fingerprint

Q, V, _ = inputs()
HERE = Path(__file__).parent
HANGS = 3600


@pytest.fixture(params=["npy", "zarr"])
def file(request, tmp_path):
    """A path of each kind."""
    if request.param == "zarr":
        pytest.importorskip("zarr")
    return tmp_path / f"result.{request.param}"


def test_a_file_holds_the_result(file, threads):
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, threads, file=file, block=256)
    expected = jc.gravity_forces(ROBOT, Q)
    assert np.asarray(found[:]).tobytes() == expected.tobytes()
    if file.suffix == ".npy":
        assert isinstance(found, np.memmap)
        assert np.load(file).tobytes() == expected.tobytes()
    again = jc.sweep(jc.gravity_forces, ROBOT, Q, file=file, block=256)
    assert np.asarray(again[:]).tobytes() == expected.tobytes()


def test_several_results_have_files_of_their_own(file):
    for _ in range(2):  # the second finds everything in the file
        found = jc.sweep(work.energies, ROBOT, (Q, V), file=file, block=512)
        assert isinstance(found, work.Energies)
        for mine, expected in zip(found, work.energies(ROBOT, Q, V), strict=True):
            assert np.asarray(mine[:]).tobytes() == expected.tobytes()
    if file.suffix == ".npy":
        assert file.with_suffix(".kinetic.npy").exists()


CRASH = """
import sys
import sweep_work as work
import jounce as jc
from jounce.sweeps import _chunks, _store

_store.CHECKPOINT_SECONDS = float(sys.argv[3])
_chunks.TASK_SECONDS = 0.0
q = work.inputs()[0]
constants = {"state": q[2000, -1], "mark": sys.argv[2]}
jc.sweep(work.ends_its_process, work.ROBOT, q, file=sys.argv[1], constants=constants, block=64)
"""

CRASH_WITH_DASK = """
import os
import signal
import sys
import sweep_work as work
import jounce as jc
from jounce.sweeps import _chunks, _store

def end(done, states):
    if done > 1000:
        os.killpg(0, signal.SIGKILL)  # with its scheduler and workers

if __name__ == "__main__":
    _store.CHECKPOINT_SECONDS = 0.0
    _chunks.TASK_SECONDS = 0.0
    options = {"file": sys.argv[1], "block": 64, "workers": 1, "progress": end}
    jc.sweep(jc.gravity_forces, work.ROBOT, work.inputs()[0], "dask", **options)
"""


def killed(code, *arguments):
    """Run a script in a group of processes of its own, which is killed."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=HANGS,
        start_new_session=True,
    )
    assert done.returncode == -9, done.stderr


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """Files of runs that were killed, and the mark that says so, by suffix; made once."""
    made = {}

    def crash(suffix):
        if suffix not in made:
            folder = tmp_path_factory.mktemp("crashed")
            file, mark = folder / f"result{suffix}", str(folder / "killed")
            killed(CRASH, file, mark, 0.0)
            made[suffix] = folder, mark
        return made[suffix]

    return crash


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".npy", ".zarr"])
def test_a_run_that_was_killed_is_continued(suffix, tmp_path, executor, crashed):
    if suffix == ".zarr":
        pytest.importorskip("zarr")
    folder, mark = crashed(suffix)
    shutil.copytree(folder, tmp_path / "copy")
    file, constants = tmp_path / "copy" / f"result{suffix}", {"state": Q[2000, -1], "mark": mark}
    told = []
    found = jc.sweep(
        work.ends_its_process,
        ROBOT,
        Q,
        executor,
        file=file,
        block=64,
        constants=constants,
        progress=lambda done, states: told.append(done),
    )
    assert told[0] >= 1984  # 31 blocks were there
    assert told[-1] == STATES
    assert np.asarray(found[:]).tobytes() == jc.gravity_forces(ROBOT, Q).tobytes()


def test_a_run_that_was_killed_in_its_first_second_is_continued(file, tmp_path):
    mark = str(tmp_path / "killed")
    killed(CRASH, file, mark, 3600.0)  # there was no checkpoint
    assert file.exists()
    constants = {"state": Q[2000, -1], "mark": mark}
    found = jc.sweep(work.ends_its_process, ROBOT, Q, file=file, block=64, constants=constants)
    assert np.asarray(found[:]).tobytes() == jc.gravity_forces(ROBOT, Q).tobytes()


def test_a_run_that_was_killed_before_its_files_were_made_is_continued(file, monkeypatch):
    class Killed(BaseException):
        pass

    def die(*arguments):
        raise Killed

    kind = _store.ZarrStore if file.suffix == ".zarr" else _store.NpyStore
    for where, name in ((_store.os, "fsync"), (kind, "make")):  # of the record, of the files
        with monkeypatch.context() as patch:
            patch.setattr(where, name, die)
            with pytest.raises(Killed):
                jc.sweep(jc.gravity_forces, ROBOT, Q, file=file)
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, file=file)
    assert np.asarray(found[:]).tobytes() == jc.gravity_forces(ROBOT, Q).tobytes()


@pytest.mark.long
def test_a_run_on_dask_that_was_killed_with_its_workers_is_continued(tmp_path, dask_crew):
    file = tmp_path / "result.npy"
    killed(CRASH_WITH_DASK, file)
    told = []
    found = jc.sweep(
        jc.gravity_forces,
        ROBOT,
        Q,
        dask_crew,
        file=file,
        block=64,
        progress=lambda done, states: told.append(done),
    )
    assert told[0] > 64  # more than the first block: some were in the record
    assert found.tobytes() == jc.gravity_forces(ROBOT, Q).tobytes()


def test_failures_are_remembered(file):
    bad = Q.copy()
    bad[[5, 2500], -1] = 1e9
    for _ in range(2):
        found = jc.sweep(work.refuses, ROBOT, bad, file=file, on_failure="mark", block=512)
        assert found.failed.tolist() == [5, 2500]
        assert found.messages == ("ValueError: too far",) * 2
        assert np.isnan(found.result["tau"][5]).all()
    with pytest.raises(jc.SweepError, match="state 5"):
        jc.sweep(work.refuses, ROBOT, bad, file=file, block=512)


@pytest.mark.parametrize("failing", [slice(0, 1024), slice(1000, 2100)])
def test_blocks_that_failed_are_nan_in_files(failing, file):
    bad = Q.copy()
    bad[failing, -1] = 1e9
    for _ in range(2):
        found = jc.sweep(work.refuses, ROBOT, bad, file=file, on_failure="mark", block=128)
        assert found.failed.tolist() == list(range(STATES))[failing]
        tau = np.asarray(found.result["tau"][:])
        assert np.isnan(tau[failing]).all()
        assert np.isfinite(np.delete(tau, found.failed, axis=0)).all()


def test_a_resumed_sweep_forgets_failures_that_did_not_come_back(file):
    call = {"function": work.refuses_while, "model": ROBOT, "file": file, "block": 128}
    call["constants"] = {"mark": str(file.with_name("mark"))}
    with pytest.raises(jc.SweepError, match="state 1000"):
        jc.sweep(arrays=Q, **call)
    file.with_name("mark").touch()
    found = jc.sweep(arrays=Q, **call, on_failure="mark")
    assert found.failed.tolist() == []
    assert np.asarray(found.result[:]).tobytes() == Q.tobytes()


def test_what_was_done_before_a_failure_is_kept(file):
    bad = Q.copy()
    bad[2500, -1] = 1e9
    with pytest.raises(jc.SweepError, match="state 2500"):
        jc.sweep(work.refuses, ROBOT, bad, file=file, block=256)
    told = []
    jc.sweep(
        work.refuses,
        ROBOT,
        bad,
        file=file,
        on_failure="mark",
        block=256,
        progress=lambda done, states: told.append(done),
    )
    assert told[0] > 256


def other(model, q):
    return jc.gravity_forces(model, q) + 1


OTHERS = {
    "the function": {"function": other},
    "the model": {"model": ROBOT.replace(gravity=(0.0, 0.0, -1.62))},
    "the arrays": {"arrays": np.concatenate([Q[:-1], Q[:1]])},
    "the constants": {"constants": {"f_ext": None}},
    "the number of states": {"arrays": Q[:-1]},
    "the size of blocks": {"block": 32},
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_sweep_is_refused(what, tmp_path):
    call = {"function": jc.gravity_forces, "model": ROBOT, "arrays": Q, "file": tmp_path / "a.npy"}
    jc.sweep(**call)
    before = np.load(call["file"])
    with pytest.raises(ArgumentError, match=f"another sweep: .*{what}"):
        jc.sweep(**{**call, **OTHERS[what]})
    assert np.load(call["file"]).tobytes() == before.tobytes()
    if what == "the model":
        found = jc.sweep(**{**call, **OTHERS[what]}, overwrite=True)
        assert found.tobytes() != before.tobytes()


def test_a_file_of_something_else_is_not_touched(file):
    file.write_text("mine")
    with pytest.raises(ArgumentError, match="not begun by a sweep"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, file=file)
    assert file.read_text() == "mine"


def test_files_beside_the_results_are_not_touched(tmp_path):
    file, beside = tmp_path / "mine.npy", tmp_path / "mine.other.npy"
    np.save(beside, np.arange(5.0))
    jc.sweep(work.energies, ROBOT, (Q, V), file=file)
    jc.sweep(jc.gravity_forces, ROBOT, Q, file=file, overwrite=True)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"mine.npy", "mine.npy.sweep", "mine.other.npy"}  # the energies are gone
    assert np.load(beside).tolist() == [0, 1, 2, 3, 4]


def test_a_folder_keeps_what_is_not_of_the_sweep(tmp_path):
    zarr = pytest.importorskip("zarr")
    file = tmp_path / "mine.zarr"
    jc.sweep(work.energies, ROBOT, (Q, V), file=file)
    zarr.open_group(str(file), mode="a").create_array("other", data=np.arange(5.0))
    jc.sweep(jc.gravity_forces, ROBOT, Q, file=file, overwrite=True)
    group = zarr.open_group(str(file), mode="r")
    assert not (file / "kinetic").exists()
    assert group["result"].shape == (STATES, ROBOT.nv)
    assert group["other"][:].tolist() == [0, 1, 2, 3, 4]
    folder = tmp_path / "folder.npy"
    folder.mkdir()
    with pytest.raises(ArgumentError, match="is a folder"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, file=folder, overwrite=True)


def test_only_true_replaces_the_file_of_somebody_else(tmp_path):
    file = tmp_path / "mine.npy"
    np.save(file, np.arange(5.0))
    for answer in ("no", 1, None):
        with pytest.raises(ArgumentError, match="overwrite must be True or False"):
            jc.sweep(jc.gravity_forces, ROBOT, Q, file=file, overwrite=answer)
    assert np.load(file).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ArgumentError, match="workers needs an executor"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, workers=2)


def test_a_named_result_does_not_replace_the_file_of_somebody_else(tmp_path):
    theirs = tmp_path / "mine.kinetic.npy"
    np.save(theirs, np.arange(7.0))
    call = {"function": work.energies, "model": ROBOT, "arrays": (Q, V)}
    with pytest.raises(ArgumentError, match=r"mine\.kinetic\.npy.* was not made by this sweep"):
        jc.sweep(**call, file=tmp_path / "mine.npy")
    assert len(np.load(theirs)) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["mine.kinetic.npy"]
    found = jc.sweep(**call, file=tmp_path / "mine.npy", overwrite=True)
    assert np.load(theirs).tobytes() == found.kinetic.tobytes()


def damaged_record(file):
    record = file / "sweep.json" if file.suffix == ".zarr" else file.with_name("result.npy.sweep")
    record.write_bytes(record.read_bytes()[:50])


def other_record(file):
    record = file / "sweep.json" if file.suffix == ".zarr" else file.with_name("result.npy.sweep")
    record.write_text('["a list"]')


def no_data(file):
    if file.suffix == ".zarr":
        shutil.rmtree(file / "result")
    else:
        file.unlink()


def half_of_the_data(file):
    if file.suffix == ".zarr":
        (file / "result" / "zarr.json").write_text("{")
    else:
        file.write_bytes(file.read_bytes()[:500])


def other_data(file):
    no_data(file)
    if file.suffix == ".zarr":
        import zarr

        zarr.open_group(str(file), mode="a").create_array("result", data=np.arange(5.0))
    else:
        np.save(file, np.arange(5.0))


@pytest.mark.long
@pytest.mark.parametrize(
    "damage", [damaged_record, other_record, no_data, half_of_the_data, other_data]
)
def test_damaged_files_are_refused_with_the_remedy(damage, file):
    jc.sweep(jc.gravity_forces, ROBOT, Q, file=file)
    damage(file)
    with pytest.raises(ArgumentError, match=r"result\..*overwrite=True"):
        jc.sweep(jc.gravity_forces, ROBOT, Q, file=file)
    found = jc.sweep(jc.gravity_forces, ROBOT, Q, file=file, overwrite=True)
    assert np.asarray(found[:]).tobytes() == jc.gravity_forces(ROBOT, Q).tobytes()


def test_fingerprints_tell_values_apart():
    array = np.arange(6.0)
    k = 2.0

    def scaled(x, by=1.0):
        return k * x * by

    def rescaled(x, by=2.0):
        return k * x * by

    values = [
        None,
        True,
        1,
        1.0,
        -0.0,
        0.0,
        "1",
        b"1",
        array,
        array.astype(np.float32),
        array.reshape(2, 3),
        [array],
        {"a": array},
        {"a": array, "b": 1},
        jc.mass_matrix,
        jc.gravity_forces,
        scaled,
        rescaled,
        functools.partial(scaled, by=1.0),
        functools.partial(scaled, by=3.0),
        other,
        ROBOT,
        jc.models.chain(2),
        {1, 2},
        np,
        work.Energies,
        np.float64(2.0),
    ]
    assert len({fingerprint(x) for x in values}) == len(values)
    cycle = []
    cycle.append(cycle)
    assert fingerprint(cycle) == fingerprint(cycle)


def test_fingerprints_are_the_same_in_every_process(python):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import sweep_work as w\n"
        "from jounce.sweeps._digest import fingerprint as f\n"
        "print(f(w.ROBOT), f(w.drawn), f(w.inputs()), f({'b', 'a', 'c'}))\n"
        "print(f(w.energies), f(w.Telling), f(w.Telling('a').__reduce__))"
    )
    mine = (ROBOT, work.drawn, inputs(), {"b", "a", "c"})
    mine += (work.energies, work.Telling, work.Telling("a").__reduce__)
    assert python(code, str(HERE)).split() == list(map(fingerprint, mine))
    assert fingerprint(pickle.loads(pickle.dumps(ROBOT))) == fingerprint(ROBOT)


def named(text):
    """The fingerprint of f in a module of this text."""
    space = {"__name__": "somewhere"}
    exec(text, space)
    return fingerprint(space["f"])


CONTAINERS = "C = {'g': [1.0, 2.0]}\nL = [C, {3}]\ndef f(x): return x * C['g'][0] + L[1]"
OBJECTS = """
import functools, threading
LOCK = threading.Lock()
class Base:
    offset = 1
    def shifted(self, x): return x + 10
class Policy(Base):
    def __init__(self): self.gain = 2
    @property
    def half(self): return self.gain / 20
    @staticmethod
    def twice(x): return x * 30
    @classmethod
    def name(cls): return 'policy'
    @functools.cached_property
    def costly(self): return 40
    def act(self, x):
        with LOCK: return self.twice(x) * self.half + self.offset
    def __call__(self, x): return super().shifted(self.act(x)) * 50
@functools.cache
def table(n): return n + 60
POLICY = Policy()
"""
FORMS = {
    "instance": "f = Policy()",
    "method": "f = Policy().__call__",
    "partial": "f = functools.partial(Policy())",
    "class": "f = Policy",
    "by name": "def f(x): return POLICY(x)",
    "made inside": "def f(x): return Policy()(x)",
    "enclosed": "def outer(p):\n    def f(x): return p(x)\n    return f\nf = outer(Policy())",
}
CHANGES = {
    **{"+ 10": "+ 11", "gain = 2": "gain = 3", "/ 20": "/ 21", "* 30": "* 31", "* 50": "* 51"},
    **{"'policy'": "'other'", "return 40": "return 41", "offset = 1": "offset = 2"},
}


@pytest.mark.parametrize("old", ["1.0", "2.0", "3", "'g'"])
def test_a_function_changes_with_containers_of_its_module(old):
    new = "'h'" if old == "'g'" else old + "7"
    assert named(CONTAINERS) == named("\n" + CONTAINERS)
    assert named(CONTAINERS) != named(CONTAINERS.replace(old, new))


@pytest.mark.parametrize("form", FORMS)
def test_a_callable_object_changes_with_the_code_of_its_class(form):
    text = OBJECTS + FORMS[form]
    assert named(text) == named("\n" + text)
    for old, new in CHANGES.items():
        assert named(OBJECTS.replace(old, new) + FORMS[form]) != named(text), old


def test_a_cached_function_is_compared_by_its_code_not_by_what_it_holds():
    text = OBJECTS + "def f(x): return table(x)"
    space = {"__name__": "somewhere"}
    exec(text, space)
    before = fingerprint(space["f"])
    space["f"](3)
    assert fingerprint(space["f"]) == before == named(text)
    assert named(text.replace("60", "70")) != before


def test_a_file_is_refused_after_the_class_of_a_constant_has_changed(tmp_path, monkeypatch):
    class Policy:
        def act(self, q):
            return q

    def function(model, q, policy):
        return policy.act(q)

    call = {"function": function, "model": ROBOT, "arrays": Q, "file": tmp_path / "a.npy"}
    call["constants"] = {"policy": Policy()}
    jc.sweep(**call)
    jc.sweep(**call)
    monkeypatch.setattr(Policy, "act", lambda self, q: 2 * q)
    with pytest.raises(ArgumentError, match="another sweep: one of the constants differs"):
        jc.sweep(**call)


def test_a_function_changes_with_what_it_uses():
    base = "C = 1\ndef g(x): return x + 1\ndef f(x): return g(x) + C"
    assert named(base) == named("\n" + base)
    assert named(base) != named(base.replace("x + 1", "x + 2"))
    assert named(base) != named(base.replace("C = 1", "C = 2"))
    assert named(base) != named(base.replace("g(x) + C", "g(x) - C"))
    inner = "C = 1\ndef g(x): return x + 1\ndef f(x): return [(lambda z: g(z) + C)(y) for y in x]"
    assert named(inner) == named("\n" + inner)
    assert named(inner) != named(inner.replace("x + 1", "x + 2"))
    assert named(inner) != named(inner.replace("C = 1", "C = 2"))
