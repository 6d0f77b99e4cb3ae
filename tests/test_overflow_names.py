"""A result that overflows is told by the function that people called, and by its place in a batch.

Of errors of functions that it calls, and of places in batches of its own, nothing is left.
"""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import jounce as jc

SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}
LEAD = (2, 3)
WRONG = (1, 2)
SIZES = (1e100, 1e160, 1e200, 1.7e308)
every_lead = pytest.mark.parametrize("lead", [(), LEAD], ids=["one", "batch"])


def slides():
    """Far away inertias overflow, still further away positions do."""
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=(0, 1, 0), damping=0.1, **SOLID)
    for k, parent in enumerate(("arm", "slide0", "slide1")):
        axis = (0, 0, 1) if k == 2 else (1, 0, 0)
        builder.add_body(f"slide{k}", parent, joint="prismatic", axis=axis, stiffness=9.0, **SOLID)
    return builder.build()


MODEL = slides()


def arguments(lead):
    """Values for all parameters by name, with these leading axes."""
    rng, n = np.random.default_rng(0), MODEL.nv
    wrench = rng.standard_normal((*lead, 6))
    return {
        "model": MODEL,
        **{key: rng.standard_normal((*lead, n)) for key in ("q", "q0", "q1", "v", "v0", "dv", "a")},
        "tau": rng.standard_normal((*lead, n)),
        "weights": rng.standard_normal((*lead, n)),
        "motion": rng.standard_normal((*lead, 3, n)),
        "f_ext": rng.standard_normal((*lead, MODEL.n_bodies, 6)),
        "prescribed": np.arange(n) == 0,
        "body": MODEL.n_bodies - 1,
        "dt": 0.01,
        "s": rng.uniform(0, 1, lead),
        "wrenches": {MODEL.n_bodies - 1: wrench},
        "constraints": jc.Constraints(MODEL, [jc.Distance("slide2")], tolerance=np.inf),
    }


def chosen(name, lead):
    """The arguments that a function takes, those of series as it takes them."""
    known = arguments(lead)
    wanted = inspect.signature(getattr(jc, name)).parameters
    given = {key: known[key] for key in wanted if key in known}
    if not name.startswith(("constrained", "impulse", "project")):
        given.pop("constraints", None)
    if name.startswith(("constrained_inverse", "linearize_step")):
        given.pop("weights", None)
    if name == "rollout_vjp":
        given["weights"] = tuple(np.ones((2, *lead, 3, MODEL.nv)))
    if "dynamics_series" in name or name.startswith("rollout"):
        for key in ("a", "tau", "f_ext"):
            if key in given:
                given[key] = np.stack([given[key]] * 2, -3 if key == "f_ext" else -2)
    return given


def enlarged(x, size, lead):
    """The same with one state that is so large; a column of its own stays what it was."""
    x = np.array(x)
    at = WRONG if lead else ()
    x[at] = np.where(np.arange(x.shape[-1]) > 0, size, x[at])
    return x


def functions():
    """Those whose arguments are known, which overflow."""
    known = arguments(())
    for name in jc.__all__:
        function = getattr(jc, name)
        if not callable(function) or isinstance(function, type) or name in CANNOT:
            continue
        parameters = inspect.signature(function).parameters.values()
        needed = {x.name for x in parameters if x.default is x.empty}
        if needed <= set(known) and needed - {"model"}:
            yield name


CANNOT = {
    "coordinate_rates",
    "difference_derivatives",
    "integrate_derivatives",
    "normalize",
    "passive_forces_derivatives",
}
"""Their results are bounded, of this model."""
SINGULAR = {
    "constrained_dynamics_input_derivatives",
    "inverse_mass_matrix",
    "inverse_mass_matrix_derivatives",
    "project",
}
"""Of inertias that overflow these say that they are singular."""
STEPS = {"linearize_step", "rollout", "rollout_vjp"}
"""These say that a step leads to numbers that are not finite."""


def told(call):
    """The text of the error, none if there is none."""
    try:
        call()
    except jc.Error as error:
        return str(error)
    return ""


def require_own(text, name, lead):
    """That no other function is named, and no state of one."""
    assert set(re.findall(r"([\w.]+)\(\)", text)) <= {name}, text
    places = re.findall(r"in state (\[.*?\])", text)
    if motion := re.search(r"motion of state (\d+)", text):  # by its number
        assert int(motion[1]) == (np.ravel_multi_index(WRONG, lead) if lead else 0), text
        assert not places, text
    else:
        assert places == ([str(list(WRONG))] if lead else []), text


@every_lead
@pytest.mark.parametrize("name", list(functions()))
def test_functions_tell_their_own_name(name, lead):
    given = chosen(name, lead)
    keys = {"q", "q0", "q1", "v", "v0", "dv", "a", "tau", "motion", "f_ext"} & set(given)
    texts = []
    for size in SIZES:
        large = {key: enlarged(given[key], size, lead) for key in keys}
        cases = [{key: x} for key, x in large.items()]
        if "wrenches" in given:
            each = given["wrenches"].items()
            cases.append({"wrenches": {body: enlarged(x, size, lead) for body, x in each}})
        opposite = {"q1": -large["q1"]} if "q1" in large else {}
        for case in [*cases, large | opposite]:
            text = told(lambda case=case: getattr(jc, name)(**given | case))
            if text:
                require_own(text, name, lead)
                texts.append(text)
    if name in STEPS:
        assert any("numbers that are not finite" in text for text in texts)
    elif name not in SINGULAR:
        assert any(text.startswith(f"the result of {name}() is not") for text in texts)


@every_lead
@pytest.mark.parametrize("method", ["euler", "variational", "momentum", "taylor"])
@pytest.mark.parametrize("name", ["step", "rollout"])
def test_steps_by_all_methods_tell_their_own_name_and_place(name, method, lead):
    texts = []
    for key in ("q", "v", "tau"):
        for size in SIZES:
            x = arguments(lead)
            x[key] = enlarged(x[key], size, lead)
            tau = x["tau"] if name == "step" else np.stack([x["tau"]] * 3, -2)
            given = MODEL, x["q"], x["v"], tau, 0.01
            texts.append(told(lambda given=given: getattr(jc, name)(*given, method=method)))
    for text in filter(None, texts):
        require_own(text, name, lead)
    assert any("moves vanishes" in text for text in texts)
    assert any("not finite" in text for text in texts)


PARAMETERS = jc.parameters(MODEL, "mass", ["slide2"])
PLACED = PARAMETERS + jc.parameters(MODEL, "placement", ["slide1_joint"])


def differentiated(function, names, parameters):
    """A call of parameter_derivatives with arguments of these names."""

    def call(x):
        given = tuple(x[name] for name in names.split())
        return jc.parameter_derivatives(function, MODEL, given, parameters)

    return call


OTHERS = {
    "parameter_derivatives of torques": differentiated(jc.inverse_dynamics, "q v a", PARAMETERS),
    "parameter_derivatives of torques by placements": differentiated(
        jc.inverse_dynamics, "q v a", PLACED
    ),
    "parameter_derivatives of accelerations": differentiated(
        jc.forward_dynamics, "q v a", PARAMETERS
    ),
    "parameter_derivatives of accelerations by placements": differentiated(
        jc.forward_dynamics, "q v a", PLACED
    ),
    "parameter_derivatives of energies": differentiated(jc.kinetic_energy, "q v", PARAMETERS),
    "parameter_derivatives of biases": differentiated(jc.bias_forces, "q v", PLACED),
    "vjp": lambda x: jc.vjp(jc.inverse_dynamics, MODEL, (x["q"], x["v"], x["a"]), x["weights"]),
    "inverse_kinematics": lambda x: jc.inverse_kinematics(MODEL, {3: np.eye(4)}, x["q0"]),
}


@every_lead
@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_functions_and_targets_tell_their_own_name(name, lead):
    given, texts = arguments(lead), []
    for key in ("q", "q0", "v", "a", "weights"):
        for size in SIZES:
            case = given | {key: enlarged(given[key], size, lead)}
            texts.append(told(lambda case=case: OTHERS[name](case)))
    texts = [text for text in texts if "not finite" in text]
    for text in texts:
        require_own(text, name.split()[0], lead)
    assert texts


FLYING = jc.models.aerial_manipulator()
LAST = FLYING.joint_names[-1]
SETS = {
    "none": [],
    "point": [jc.Point("B4")],
    "dependent": [jc.Weld("B4"), jc.Point("B4")],
    "curve": [jc.Coupling({LAST: (0.0, 0.0, 0.0, 1.0)}, offset=0.0)],
}
LARGE = {
    "wheel": [jc.Rolling("B2", 1e160)],
    "rod": [jc.Distance("B4", target=1e160)],
    "rod that shrinks": [jc.Distance("B4", target=1e308, motion=[[-1e308]])],
}


def at_rest(lead):
    q = np.broadcast_to(jc.neutral(FLYING), (*lead, FLYING.nq)).copy()
    q[..., 7:] = 0.3
    return q, np.zeros((*lead, FLYING.nv))


def constrained(c, q, v):
    """Calls of all functions that take constraints, of this room."""
    tau, n = np.zeros(FLYING.nv), FLYING.nv
    rows, more = np.stack([v, 0 * v, 0 * v], -2), np.stack([tau, tau])
    every = {"actuated": np.ones(n, bool)}
    held, w = np.arange(n) == n - 1, np.ones(n)
    given = (FLYING, q, v)
    return {
        "constrained_dynamics": lambda: jc.constrained_dynamics(*given, tau, c),
        "constrained_dynamics_derivatives": lambda: jc.constrained_dynamics_derivatives(
            *given, tau, c
        ),
        "constrained_dynamics_hessian": lambda: jc.constrained_dynamics_hessian(*given, tau, c, w),
        "constrained_dynamics_input_derivatives": lambda: jc.constrained_dynamics_input_derivatives(
            FLYING, q, c
        ),
        "constrained_dynamics_series": lambda: jc.constrained_dynamics_series(*given, more, c),
        "constrained_dynamics_series_derivatives": (
            lambda: jc.constrained_dynamics_series_derivatives(*given, more, c)
        ),
        "constrained_hybrid_dynamics_series": lambda: jc.constrained_hybrid_dynamics_series(
            *given, more, more, held, c
        ),
        "constrained_inverse_dynamics": lambda: jc.constrained_inverse_dynamics(
            *given, tau, c, **every
        ),
        "constrained_inverse_dynamics_series": lambda: jc.constrained_inverse_dynamics_series(
            FLYING, q, rows, c, **every
        ),
        "constrained_inverse_dynamics_series_derivatives": (
            lambda: jc.constrained_inverse_dynamics_series_derivatives(FLYING, q, rows, c, **every)
        ),
        "impulse": lambda: jc.impulse(*given, c),
        "impulse_derivatives": lambda: jc.impulse_derivatives(*given, c),
        "linearize": lambda: jc.linearize(*given, tau, constraints=c),
        "linearize_step": lambda: jc.linearize_step(*given, tau, 0.01, constraints=c),
        "project": lambda: jc.project(FLYING, q, c),
        "project_velocity": lambda: jc.project_velocity(*given, c),
        "rollout": lambda: jc.rollout(*given, more, 0.01, method="taylor", constraints=c),
        "simulate": lambda: jc.simulate(*given, [0.0, 0.01], constraints=c, method="dopri5"),
        "step": lambda: jc.step(*given, tau, 0.01, method="taylor", constraints=c),
        "Constraints.residual": lambda: c.residual(q),
        "Constraints.velocity": lambda: c.velocity(q, v),
        "Constraints.acceleration": lambda: c.acceleration(q, v, v),
        "Constraints.bias": lambda: c.bias(q, v),
        "Constraints.jacobian": lambda: c.jacobian(q),
        "Constraints.rank": lambda: c.rank(q),
        "Constraints.regular": lambda: c.regular(q),
        "Constraints.inverse_inertia": lambda: c.inverse_inertia(q),
    }


NAMES = list(constrained(None, *at_rest(())))


def told_under(items, name, q, v):
    """By a set that knows nothing yet of its rows."""
    c = jc.Constraints(FLYING, items, tolerance=np.inf)
    return told(constrained(c, q, v)[name])


def some_long(names):
    """A simulation that overflows tries ever shorter steps: seconds for all sets."""
    return [pytest.param(x, marks=pytest.mark.long) if x == "simulate" else x for x in names]


@pytest.mark.parametrize("lead", [pytest.param((), marks=pytest.mark.long), LEAD])
@pytest.mark.parametrize("name", some_long(NAMES))
def test_functions_under_constraints_tell_their_own_name(name, lead):
    at, texts = WRONG if lead else (), []
    for items in SETS.values():
        for size in SIZES:
            q, v = at_rest(lead)
            v[at] = size
            texts.append(told_under(items, name, q, v))
            q, v = at_rest(lead)
            q[(*at, -1)] = size
            texts.append(told_under(items, name, q, v))
    texts = [text for text in texts if text and "different dimensions" not in text]
    for text in texts:
        require_own(text, name, lead)
    assert any(f"the result of {name}() is not finite" in text for text in texts)


@every_lead
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("which", LARGE)
def test_sets_that_overflow_are_told_by_the_function_called(which, name, lead):
    """In the first state, or nowhere if that is known before the states are looked at."""
    text = told_under(LARGE[which], name, *at_rest(lead))
    assert set(re.findall(r"([\w.]+)\(\)", text)) <= {name}, text
    assert set(re.findall(r"in state (\[.*?\])", text)) <= {str([0] * len(lead))} - {"[]"}, text
    if which == "wheel" and name in ("Constraints.rank", "constrained_dynamics_derivatives"):
        assert text.startswith(f"the result of {name}() is not finite")


def test_one_state_has_no_place_in_a_batch_of_samples():
    c = jc.Constraints(FLYING, LARGE["wheel"])
    q, v = at_rest(())
    words = r"^the result of constrained_dynamics_derivatives\(\) is not finite: an input is too"
    with pytest.raises(jc.ArgumentError, match=words):
        jc.constrained_dynamics_derivatives(FLYING, q, v, v, c)


def test_why_a_step_fails_is_told_where_there_is_no_rank():
    """The rank of rows that overflow is looked for to explain the failure, and is not another."""
    c = jc.Constraints(FLYING, LARGE["wheel"])
    q, v = at_rest(())
    with pytest.raises(jc.DivergenceError, match="step 0 of the rollout leads to numbers that are"):
        jc.rollout(FLYING, q, v, np.zeros((2, FLYING.nv)), 0.01, constraints=c)


@every_lead
@pytest.mark.parametrize("method", ["dopri5", "rkmk4", "taylor"])
def test_motions_that_leave_their_constraints_by_overflow_quote_no_other_function(method, lead):
    c = jc.Constraints(FLYING, LARGE["rod"], tolerance=np.inf)
    options = {"dt": 0.01} if method == "rkmk4" else {}
    words = r"^the motion of state 0 leaves its constraints: the result of simulate\(\) is not"
    with pytest.raises(jc.DivergenceError, match=words) as caught:
        jc.simulate(FLYING, *at_rest(lead), [0.0, 0.01], constraints=c, method=method, **options)
    assert "of the batch" not in str(caught.value)


@every_lead
def test_forces_of_a_control_that_overflow_are_told_by_simulate(lead):
    given = arguments(lead)
    force = enlarged(given["tau"], 1.7e308, lead)
    state = given["q"], given["v"], [0.0, 0.01]
    text = told(lambda: jc.simulate(MODEL, *state, lambda t, q, v: force, method="dopri5"))
    require_own(text, "simulate", lead)
    assert text.startswith("the result of simulate() is not finite")


@pytest.mark.parametrize(
    "item", [jc.Point("slide1"), jc.Coupling({"slide1_joint": (0.0, 0.0, 0.0, 1.0)}, offset=None)]
)
def test_targets_that_overflow_are_told_by_the_method(item):
    c = jc.Constraints(MODEL, [item])
    with pytest.raises(jc.ArgumentError, match=r"^the result of Constraints\.at\(\) is not finite"):
        c.at(np.full(MODEL.nq, 1.7e308))


@pytest.mark.parametrize(
    "item",
    [
        jc.Coupling({"slide1_joint": 1.0}, offset=0.1, motion=[1.0, 1e200]),
        jc.Weld("slide1", target=np.eye(4), motion=[[1e200] * 6]),
        jc.Point("slide1", target=np.zeros(3), motion=np.full((3, 3), 1e10)),
        jc.Rolling("slide1", 0.1, point=np.zeros(3), motion=[[0.0, 0.0, 1e200]]),
    ],
)
def test_targets_that_move_too_far_are_told_by_the_method(item):
    c = jc.Constraints(MODEL, [item])
    words = r"^the result of Constraints\.at_time\(\) is not finite"
    with pytest.raises(jc.ArgumentError, match=words):
        c.at_time(1e300)


def test_gains_whose_squares_overflow_are_refused():
    drive = jc.Coupling({"slide1_joint": 1.0}, motion=[1e200, 0.0])
    with pytest.raises(jc.ArgumentError, match=r"^stabilization must be at most 1e\+150, got"):
        jc.Constraints(MODEL, [drive]).stabilized(1.0, 1e151)
    with pytest.raises(jc.ArgumentError, match=r"^motion and stabilization are so large"):
        jc.Constraints(MODEL, [drive]).stabilized(1e149)


@pytest.mark.parametrize("lead", [(), (5,), (11,)])
def test_derivatives_of_a_step_that_overflows_name_the_step_and_blame_no_joint(lead):
    """In packs as well, where other states or directions are finite."""
    arm = jc.models.chain(3)
    q, v, tau = np.zeros((3, *lead, 3))
    v[(3,) if lead else ()] = 1e150
    given = {"q": q, "v": v, "tau": tau, "dt": 0.1}
    where = r" in state \[3\] of the batch" if lead else ""
    words = rf"^the result of {{}}\(\) is not finite{where}: an input"
    with pytest.raises(jc.ArgumentError, match=words.format("step")):
        jc.jvp(jc.step, arm, given, {"v": np.ones(3)})
    with pytest.raises(jc.ArgumentError, match=words.format("parameter_derivatives")):
        jc.parameter_derivatives(jc.step, arm, given, jc.parameters(arm, "mass"))
