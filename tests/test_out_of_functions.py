"""`out=` of functions that take functions, paths or targets behaves as that of all others."""

from __future__ import annotations

import numpy as np
import pytest
from test_out import BAD, MODEL, arguments, arrays, as_given, given

import jounce as jc

KNOWN = arguments()
BODY = MODEL.body_names[-1]
PARAMETERS = jc.parameters(MODEL, "mass") + jc.parameters(MODEL, "placement", ["joint1"])
PATH = jc.trajectories.RobotTrajectory.through(MODEL, [0, 1], list(KNOWN["q"][:2]))


def by_parameters(function, *names):
    def call(q, out=None, **options):
        x = tuple(q if name == "q" else KNOWN.get(name, name) for name in names)
        return jc.parameter_derivatives(function, MODEL, x, PARAMETERS, out=out, **options)

    return call


def gradient(function, *names):
    def call(q, out=None, **options):
        x = tuple(q if name == "q" else KNOWN[name] for name in names)
        weights = KNOWN["s" if "energy" in function.__name__ else "weights"]
        return jc.vjp(function, MODEL, x, weights, out=out, **options)

    return call


def along_a_path(q, out=None, **options):
    """Places instead of coordinates."""
    return jc.path_dynamics(MODEL, PATH, q[:, 0], out=out, **options)


CALLS = {
    "forces by parameters": by_parameters(jc.inverse_dynamics, "q", "v", "a", "f_ext"),
    "accelerations by parameters": by_parameters(jc.forward_dynamics, "q", "v", "tau"),
    "poses by parameters": by_parameters(jc.body_poses, "q"),
    "series by parameters": by_parameters(jc.inverse_dynamics_series, "q", "motion"),
    "partials by parameters": by_parameters(jc.inverse_dynamics_derivatives, "q", "v", "a"),
    "Hessians by parameters": by_parameters(jc.inverse_dynamics_hessian, "q", "v", "a", "weights"),
    "partials of series by parameters": by_parameters(
        jc.inverse_dynamics_series_derivatives, "q", "motion"
    ),
    "forward series by parameters": by_parameters(jc.forward_dynamics_series, "q", "v", "motion"),
    "hybrid series by parameters": by_parameters(
        jc.hybrid_dynamics_series, "q", "v", "motion", "motion", "prescribed"
    ),
    "series of Jacobians by parameters": by_parameters(jc.jacobian_series, "q", "motion", BODY),
    "steps by parameters": by_parameters(jc.step, "q", "v", "tau", "dt"),
    "frames by parameters": by_parameters(jc.jacobian, "q", BODY),
    "of Jacobians by parameters": by_parameters(jc.jacobian_derivatives, "q", BODY),
    "second ones by parameters": by_parameters(jc.jacobian_derivatives, "q", BODY, 2),
    "vjp of inverse dynamics": gradient(jc.inverse_dynamics, "q", "v", "a"),
    "vjp of forward dynamics": gradient(jc.forward_dynamics, "q", "v", "tau"),
    "vjp of kinetic energy": gradient(jc.kinetic_energy, "q", "v"),
    "vjp of potential energy": gradient(jc.potential_energy, "q"),
    "path_dynamics": along_a_path,
}
every_call = pytest.mark.parametrize("what", CALLS)


def start(what):
    """Coordinates, or places on a path between 0 and 1 in the first column."""
    q = KNOWN["q"].copy()
    if what == "path_dynamics":
        q[:, 0] = [0.1, 0.5, 0.9]
    return q


def places(expected, fill=7.0):
    return as_given(expected, [np.full_like(x, fill) for x in arrays(expected)])


@every_call
def test_results_are_written_to_out_and_returned(what):
    expected = CALLS[what](start(what))
    out = places(expected)
    result = CALLS[what](start(what), out)
    assert type(result) is type(expected)
    for x, y, z in zip(arrays(result), arrays(out), arrays(expected), strict=True):
        assert x is y
        np.testing.assert_allclose(x, z, rtol=1e-13, atol=1e-13)


@every_call
def test_a_bad_array_is_refused_in_the_same_words(what):
    expected = CALLS[what](start(what))
    for bad, (make, words) in BAD.items():
        good = [np.full_like(y, 7.0) for y in arrays(expected)]
        x = arrays(expected)[-1]
        out = as_given(expected, [*good[:-1], make(x)])
        with pytest.raises(ValueError, match="out must be") as caught:
            CALLS[what](start(what), out)
        must = f"out must be a writable C-contiguous float64 array of shape {x.shape}, got "
        assert str(caught.value).startswith(must), bad
        assert words in str(caught.value), bad
        assert all((y == 7.0).all() for y in good), bad
    if isinstance(expected, tuple):
        with pytest.raises(ValueError, match=f"out must be a tuple of {len(expected)} arrays"):
            CALLS[what](start(what), places(expected)[:-1])


@every_call
def test_a_failure_leaves_nan_and_the_arguments(what):
    expected = CALLS[what](start(what))
    out, q = places(expected), start(what)
    q[1] = np.nan
    with pytest.raises(ValueError, match=r"finite|nan"):
        CALLS[what](q, out)
    assert all(np.isnan(x).all() for x in arrays(out))


@every_call
def test_what_is_refused_before_it_is_computed_leaves_out_alone(what):
    out = places(CALLS[what](start(what)))
    bad = start(what)[None, :, :-1] if what != "path_dynamics" else start(what) * 1j
    for q, options in ((bad, {}), (start(what), {"threads": -1})):
        with pytest.raises(ValueError, match=r"must|expected"):
            CALLS[what](q, out, **options)
        assert all((x == 7.0).all() for x in arrays(out))


@pytest.mark.parametrize("what", [what for what in CALLS if what != "path_dynamics"])
def test_out_may_overlap_an_argument(what):
    expected = CALLS[what](start(what))
    target, q = arrays(expected)[0], start(what)
    buffer = np.zeros(max(target.size, q.size))
    argument = buffer[: q.size].reshape(q.shape)
    argument[...] = q
    out = [np.empty_like(x) for x in arrays(expected)]
    out[0] = buffer[: target.size].reshape(target.shape)
    result = CALLS[what](argument, as_given(expected, out))
    for x, y in zip(arrays(result), arrays(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


@every_call
def test_states_one_by_one_are_as_all_at_once(what, monkeypatch):
    from jounce._core import out as delivery

    expected = CALLS[what](start(what))
    monkeypatch.setattr(delivery, "_PORTION", 1)
    out = places(expected)
    assert type(CALLS[what](start(what), out)) is type(expected)
    for x, y in zip(arrays(out), arrays(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-12 * np.abs(y).max(initial=1.0))


@pytest.mark.parametrize(
    "name",
    [
        "constrained_dynamics_series",
        "constrained_hybrid_dynamics_series",
        "constrained_inverse_dynamics_series",
        "constrained_dynamics_series_derivatives",
        "constrained_dynamics_hessian",
        "linearize_step",
    ],
)
def test_calls_with_axes_of_their_own_are_written_state_by_state(name, monkeypatch):
    """Series have one row more or less, and weights are those of a step or of a result."""
    from jounce._core import out as delivery

    chosen = given(name)
    if name == "linearize_step":
        chosen["weights"] = np.random.default_rng(1).standard_normal((3, 2 * MODEL.nv))
    expected = getattr(jc, name)(**chosen)
    monkeypatch.setattr(delivery, "_PORTION", 1)
    out = places(expected)
    getattr(jc, name)(**chosen, out=out)
    for x, y in zip(arrays(out), arrays(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-12 * np.abs(y).max(initial=1.0))


def test_a_large_batch_is_written_a_portion_at_a_time(monkeypatch):
    from jounce._core import out as delivery

    model, rng = jc.models.chain(4), np.random.default_rng(0)
    p = jc.parameters(model, "armature") + jc.parameters(model, "log_cholesky")
    x = (rng.standard_normal((5, 20, 4)), rng.standard_normal((20, 4)), np.ones(4))
    expected = jc.parameter_derivatives(jc.inverse_dynamics, model, x, p)
    monkeypatch.setattr(delivery, "_PORTION", 17 * expected[0, 0].nbytes)
    out = np.empty_like(expected)
    jc.parameter_derivatives(jc.inverse_dynamics, model, x, p, out=out)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)
    x[0][3, 7, 1] = np.inf
    with pytest.raises(jc.ArgumentError, match="q must be finite, got inf"):
        jc.parameter_derivatives(jc.inverse_dynamics, model, x, p, out=out)
    assert np.isnan(out).all()


def test_inverse_kinematics():
    q0 = KNOWN["q0"]
    targets = {BODY: jc.body_pose(MODEL, jc.integrate(MODEL, q0, 0.1 * KNOWN["dv"]), BODY)}
    expected = jc.inverse_kinematics(MODEL, targets, q0)
    out = tuple(np.ones_like(x) for x in expected)
    found = jc.inverse_kinematics(MODEL, targets, q0, out=out)
    for x, y, z in zip(found, out, expected, strict=True):
        assert x is y
        np.testing.assert_array_equal(x, z)
    shared = q0.copy()  # its own place
    again = jc.inverse_kinematics(MODEL, targets, shared, out=(shared, *out[1:]))
    np.testing.assert_array_equal(again.q, expected.q)
    with pytest.raises(jc.ArgumentError, match=r"out\[1\] must be .* bool array of shape \(3,\)"):
        jc.inverse_kinematics(MODEL, targets, q0, out=(out[0], out[2], out[2].copy()))
    with pytest.raises(jc.ArgumentError, match=r"float64 array of shape \(3, \d+\), got"):
        jc.inverse_kinematics(MODEL, targets, q0, out=(out[0][:2], *out[1:]))
    with pytest.raises(jc.ArgumentError, match="out must be a tuple of 3 arrays"):
        jc.inverse_kinematics(MODEL, targets, q0, out=out[:2])
    bad = q0.copy()
    bad[1] = np.nan
    with pytest.raises(jc.ArgumentError, match="finite"):
        jc.inverse_kinematics(MODEL, targets, bad, out=out)
    assert np.isnan(out[0]).all()
    assert np.isnan(out[2]).all()
    assert not out[1].any()
    kept = tuple(np.ones_like(x) for x in expected)
    with pytest.raises(jc.ArgumentError, match="q0 must have shape"):
        jc.inverse_kinematics(MODEL, targets, q0[:, :-1], out=kept)
    assert all((x == 1).all() for x in kept)
