"""Memory of results that died is kept for those to come, within a limit."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import jounce as jc

MODEL = jc.models.chain(6)
BYTES = 36 * 8
LIMIT = 256 * 2**20


@pytest.fixture(autouse=True)
def usual_limit():
    jc.clear_cache(limit=LIMIT)
    yield
    jc.clear_cache(limit=LIMIT)


def states(count):
    return np.random.default_rng(0).standard_normal((count, MODEL.nv))


def cached():
    return jc.core_info()["cached"]


def test_a_dead_result_is_kept_for_the_next():
    q = states(1000)
    first = jc.mass_matrix(MODEL, q)
    address = first.ctypes.data
    assert cached() == 0
    del first
    assert BYTES * 1000 <= cached() <= 1.125 * BYTES * 1000
    second = jc.mass_matrix(MODEL, q)
    assert second.ctypes.data == address
    assert cached() == 0
    assert address % 64 == 0


def test_nothing_is_kept_after_clearing():
    jc.mass_matrix(MODEL, states(1000))
    assert cached() > 0
    jc.clear_cache()
    assert cached() == 0
    assert jc.core_info()["cache_limit"] == LIMIT


def test_small_results_are_not_kept():
    jc.mass_matrix(MODEL, states(2**16 // BYTES))
    assert cached() == 0


def test_a_view_keeps_the_memory_of_its_result():
    q = states(1000)
    row = jc.mass_matrix(MODEL, q)[999]
    before = row.copy()
    assert cached() == 0
    others = [jc.mass_matrix(MODEL, q + 1.0) for _ in range(3)]
    assert all(not np.shares_memory(row, other) for other in others)
    np.testing.assert_array_equal(row, before)


def test_no_stale_number_is_seen():
    """The block held other numbers; all entries of the new result are written."""
    q = states(1000)
    expected = jc.mass_matrix(MODEL, q, out=np.full((1000, 6, 6), np.nan))
    garbage = jc.mass_matrix(MODEL, q)
    garbage[:] = np.nan
    address = garbage.ctypes.data
    del garbage
    result = jc.mass_matrix(MODEL, q)
    assert result.ctypes.data == address
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("limit", [0, 2**20, 3 * 2**20])
def test_what_waits_never_exceeds_the_limit(limit):
    jc.clear_cache(limit=limit)
    alive = [jc.mass_matrix(MODEL, states(count)) for count in range(250, 2500, 250)]
    while alive:
        alive.pop()
        assert cached() <= limit
    assert (cached() > 0) == (limit > 0)


def test_the_oldest_goes_first():
    jc.clear_cache(limit=4 * 2**20)
    sizes = [1000, 1400, 2000, 2900, 3500, 3600]
    alive = [jc.mass_matrix(MODEL, states(count)) for count in sizes]
    addresses = [x.ctypes.data for x in alive]
    while alive:
        alive.pop(0)
    newest = jc.mass_matrix(MODEL, states(sizes[-1]))
    assert newest.ctypes.data == addresses[-1]


def test_large_blocks_never_wait():
    jc.clear_cache(limit=2**20)
    jc.mass_matrix(MODEL, states(2**18 // BYTES + 200))
    assert cached() == 0


def test_arrays_behave_as_others_do():
    q = states(1000)
    result = jc.mass_matrix(MODEL, q)
    copy = result.copy()
    assert result.flags.owndata
    assert result.base is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)), copy)
    result.resize((2000, 6, 6), refcheck=False)
    np.testing.assert_array_equal(result[:1000], copy)
    np.testing.assert_array_equal(result[1000:], 0.0)
    result.resize((10, 6, 6), refcheck=False)
    np.testing.assert_array_equal(result, copy[:10])


def test_arrays_of_numpy_are_not_touched():
    jc.mass_matrix(MODEL, states(1000))
    before = cached()
    np.zeros(10**6)
    assert cached() == before


def test_a_refused_call_gives_its_memory_back():
    q = states(1000)
    q[500] = np.nan
    with pytest.raises(jc.ArgumentError):
        jc.mass_matrix(MODEL, q)
    assert cached() > 0
    good = jc.mass_matrix(MODEL, states(1000))
    assert np.isfinite(good).all()


def test_many_threads():
    q = states(600)
    expected = jc.mass_matrix(MODEL, q)
    wrong = []

    def work():
        for _ in range(50):
            kept = [jc.mass_matrix(MODEL, q[: 300 + k]) for k in range(0, 300, 60)]
            if not all(np.array_equal(x, expected[: len(x)]) for x in kept):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cached() <= LIMIT


@pytest.mark.parametrize("limit", [-1, 1.5, "1", True, 2**70])
def test_bad_limits_are_refused(limit):
    with pytest.raises(jc.ArgumentError, match="limit must be a number of bytes"):
        jc.clear_cache(limit=limit)


def run(megabytes):
    code = "import jounce; print(jounce.core_info()['cache_limit'])"
    environment = {**os.environ, "JOUNCE_CACHE_MB": megabytes}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )


def test_the_environment_sets_the_limit():
    assert int(run("3").stdout) == 3 * 2**20
    assert int(run("0").stdout) == 0


def test_a_bad_limit_of_the_environment_is_said():
    assert "JOUNCE_CACHE_MB must be a whole number of megabytes, got 'many'" in run("many").stderr
