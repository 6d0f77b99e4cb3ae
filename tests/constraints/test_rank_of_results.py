"""Results say the rank of the rows, and unpack as if they did not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from constraints_cases import robot, states

import jounce as jc

MODEL = robot("free_root")
TWICE = jc.Constraints(MODEL, [jc.Weld("tool"), jc.Point("tool"), jc.Point("other")])
RANK = 9
EVERY = {"actuated": np.ones(MODEL.nv, bool)}


def results(c, q, v, tau):
    rows = np.zeros((2, MODEL.nv))
    a = jc.constrained_dynamics_series(MODEL, q, v, rows, c).a
    motion = np.concatenate([np.broadcast_to(v, q.shape[:-1] + v.shape[-1:])[..., None, :], a], -2)
    return {
        "dynamics": jc.constrained_dynamics(MODEL, q, v, tau, c),
        "threads": jc.constrained_dynamics(MODEL, q, v, tau, c, threads=2),
        "derivatives": jc.constrained_dynamics_derivatives(MODEL, q, v, tau, c),
        "impulse": jc.impulse(MODEL, q, v, c),
        "impulse derivatives": jc.impulse_derivatives(MODEL, q, v, c),
        "inverse": jc.constrained_inverse_dynamics(MODEL, q, v, a[..., 0, :], c, **EVERY),
        "series": jc.constrained_dynamics_series(MODEL, q, v, rows, c),
        "hybrid series": jc.constrained_hybrid_dynamics_series(
            MODEL, q, v, rows, rows, np.zeros(MODEL.nv, bool), c
        ),
        "of series": jc.constrained_dynamics_series_derivatives(MODEL, q, v, rows, c),
        "inverse series": jc.constrained_inverse_dynamics_series(MODEL, q, motion, c, **EVERY),
        "of inverse series": jc.constrained_inverse_dynamics_series_derivatives(
            MODEL, q, motion, c, **EVERY
        ),
    }


@pytest.mark.parametrize("c", [TWICE, jc.Constraints(MODEL, [jc.Weld("tool")])], ids=len)
def test_of_one_state_and_of_a_batch(c):
    at = states(MODEL, count=3)
    v = jc.project_velocity(MODEL, at.q, at.v, c)
    expected = min(RANK, c.size)
    for name, one in results(c, at.q[0], v[0], at.tau[0]).items():
        assert (one.rank, type(one.rank)) == (expected, np.int64), name
    for name, many in results(c, at.q, v, at.tau).items():
        assert many.rank.dtype == np.int64, name
        np.testing.assert_array_equal(many.rank, [expected] * 3, name)
        assert len(many) == len(many._fields), name


def test_no_rows_and_empty_batches():
    none, at = jc.Constraints(MODEL, []), states(MODEL, count=1)
    for name, x in results(none, at.q[0], at.v[0], at.tau[0]).items():
        assert x.rank == 0, name
    empty = jc.constrained_dynamics(MODEL, at.q[:0], at.v[:0], at.tau[:0], TWICE)
    assert empty.rank.shape == (0,)


def test_many_loops_one_by_one():
    c = jc.Constraints(MODEL, [jc.Weld("tool")] * 4)  # more rows than are solved together
    at = states(MODEL, count=2)
    found = jc.constrained_dynamics(MODEL, at.q, at.v, at.tau, c)
    np.testing.assert_array_equal(found.rank, [6, 6])
    out = tuple(np.empty_like(x) for x in found)
    again = jc.constrained_dynamics(MODEL, at.q, at.v, at.tau, c, out=out)
    assert again.a is out[0]
    np.testing.assert_array_equal(again.rank, [6, 6])


def test_large_batches_and_out_of_functions_in_python():
    c, count = jc.Constraints(MODEL, [jc.Weld("tool")]), 1000
    at = states(MODEL, count=count)
    derivatives = jc.impulse_derivatives(MODEL, at.q, at.v, c)
    np.testing.assert_array_equal(derivatives.rank, np.full(count, 6))
    out = (np.empty((count, MODEL.nv)), np.empty((count, 6)))
    assert (jc.impulse(MODEL, at.q, at.v, c, out=out).rank == 6).all()


def test_it_is_pickled_and_missed_where_a_result_is_made_of_arrays():
    at = states(MODEL, count=1)
    found = jc.constrained_dynamics(MODEL, at.q[0], at.v[0], at.tau[0], TWICE)
    a, force = found
    assert pickle.loads(pickle.dumps(found)).rank == RANK
    assert found._replace(a=a).force is force
    with pytest.raises(AttributeError, match="without the rank"):
        _ = jc.constraints.ConstrainedDynamics(a, force).rank
