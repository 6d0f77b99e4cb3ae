"""How much memory there is: the least of what the machine has and control groups allow."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc
from jounce._core import memory

FREE = 8 * 2**30
FILES = {
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    2: ("sys/fs/cgroup", "memory.max", "memory.current"),
}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A folder in which a machine with 8 GB and no control groups is."""
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    own = tmp_path / "proc" / "self"
    own.mkdir(parents=True)
    own.with_name("meminfo").write_text(f"MemAvailable: {FREE // 1024} kB\nSwapFree: 0 kB\n")
    return tmp_path


def process_in(machine, *lines):
    (machine / "proc/self/cgroup").write_text("".join(f"{line}\n" for line in lines))


def limit(machine, version, group, allowed, used=0, cached=0):
    """Give a group a limit, and say what its processes use."""
    folder, most, usage = FILES[version]
    at = machine / folder / group.lstrip("/")
    at.mkdir(parents=True, exist_ok=True)
    (at / most).write_text(f"{allowed}\n")
    (at / usage).write_text(f"{used}\n")
    (at / "memory.stat").write_text(
        f"anon {used - cached}\ninactive_file {cached}\ntotal_inactive_file {cached}\n"
    )


LINES = {1: "4:cpu,memory:", 2: "0::"}


@pytest.mark.parametrize("version", FILES)
@pytest.mark.parametrize("where", ["/a/b.slice/job", "/a/b.slice", "/a", "/"])
def test_the_least_limit_on_the_way_to_the_root_counts(machine, version, where):
    process_in(machine, "9:name=systemd:/elsewhere", f"{LINES[version]}/a/b.slice/job")
    for group in ("/", "/a", "/a/b.slice", "/a/b.slice/job"):
        limit(machine, version, group, "max" if version == 2 else 2**63 - 4096)
    limit(machine, version, "/elsewhere", 1)
    limit(machine, version, "/a/b.slice/other", 1)
    assert memory.available() == FREE
    limit(machine, version, where, 3 * 10**9, used=10**9, cached=4 * 10**8)
    assert memory.available() == 24 * 10**8


@pytest.mark.parametrize("version", FILES)
def test_what_a_group_uses_counts_where_it_is_used(machine, version):
    process_in(machine, f"{LINES[version]}/slice/job")
    limit(machine, version, "/slice", 4 * 10**9, used=35 * 10**8)
    limit(machine, version, "/slice/job", 2 * 10**9, used=10**9)
    assert memory.available() == 5 * 10**8
    limit(machine, version, "/slice", 4 * 10**9, used=5 * 10**9)
    assert memory.available() == 0


@pytest.mark.parametrize("version", FILES)
@pytest.mark.parametrize("path", ["/docker/0123", "/../user.slice", "/docker/0123 (deleted)"])
def test_a_container_sees_its_group_as_the_root(machine, version, path):
    process_in(machine, f"{LINES[version]}{path}")
    limit(machine, version, "/", 10**9)
    limit(machine, version, "/user.slice", 1)
    assert memory.available() == 10**9


@pytest.mark.parametrize("lines", [None, (), ("", "x", "::", "0:"), ("4:memoryless:/a",)])
def test_what_nobody_can_read_limits_nothing(machine, lines):
    if lines is not None:
        process_in(machine, *lines)
    limit(machine, 1, "/a", 1)
    assert memory.available() == FREE
    limit(machine, 2, "/", 10**9)
    assert memory.available() == 10**9


def test_a_result_beyond_the_limit_of_a_job_is_refused(machine):
    process_in(machine, "0::/slurm/job_1")
    limit(machine, 2, "/slurm/job_1", 2 * 10**8, used=10**8)
    with pytest.raises(jc.TooLargeError, match="would take 120 MB and 100 MB of memory"):
        memory.require("f", 1.2e8, 1.2e8)
    memory.require("f", 0.9e8, 0.9e8)


ROBOTS = {
    "chain": lambda n: jc.models.chain(n),
    "chain on a free base": lambda n: jc.models.chain(n, "free"),
    "tree": lambda n: jc.models.tree(n, 3),
    "random_tree": lambda n: jc.models.random_tree(n),
    "aerial_manipulator": lambda n: jc.models.aerial_manipulator(n, 1),
    "arms of aerial_manipulator": lambda n: jc.models.aerial_manipulator(1, n),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("count", [10**9, 10**400, np.int64(2**62)], ids=["1e9", "1e400", "int64"])
def test_robots_that_do_not_fit_are_refused_before_they_are_made(name, count):
    function = name.split()[-1] if "of" in name else name.split()[0]
    words = rf"the result of {function}\(\) would take [\d.e+]+ [TP]B and .*with fewer links"
    with pytest.raises(jc.TooLargeError, match=words):
        ROBOTS[name](count)


@pytest.mark.parametrize("name", ROBOTS)
def test_robots_are_refused_where_they_would_take_more_than_there_is(name, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: memory.LARGE)
    with pytest.raises(jc.TooLargeError, match=r"and 67\.1 MB of memory"):
        ROBOTS[name](15_000)
    assert ROBOTS[name](np.int8(100)).n_bodies >= 100


def test_numbers_of_children_that_nobody_has_cost_nothing():
    assert jc.models.tree(3, 10**9).parents.tolist() == [-1, 0, 0]
    assert jc.models.aerial_manipulator(10**9, 0).n_bodies == 1
    with pytest.raises(jc.ArgumentError, match="branching must be an integer of at most"):
        jc.models.tree(3, 10**400)


def test_the_limit_of_the_process_counts(python):
    pytest.importorskip("resource")
    code = """
import resource, jounce as jc
from jounce._core import memory
before = memory._process()
resource.setrlimit(resource.RLIMIT_AS, (40 * 2**30, 40 * 2**30))
print(before, memory._process() < 40 * 2**30)
"""
    assert python(code).split() == ["None", "True"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "taylor"},
        {"method": "rkmk4", "dt": 0.1},
        {"control": lambda t, q, v: 0 * v},
        {"events": [jc.Event(lambda t, q, v: q[..., 0] - 10)]},
    ],
)
def test_motions_that_cannot_fit_are_refused(monkeypatch, options):
    monkeypatch.setattr(memory, "available", lambda: 10**8)
    model, t = jc.models.chain(3), np.linspace(0, 1, 10**4)
    words = r"^the result of simulate\(\) would take 480 MB and 100 MB .*; ask for fewer times"
    with pytest.raises(jc.TooLargeError, match=words):
        jc.simulate(model, np.zeros((1000, 3)), np.zeros(3), t, **options)
