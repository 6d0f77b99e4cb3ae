"""Public names: where they come from, and what a wrong one is told."""

from __future__ import annotations

import inspect
import operator

import pytest

import jounce as jc
from jounce.interop import names

WORDS = {
    "rnea": "inverse_dynamics",
    "aba": "forward_dynamics",
    "crba": "mass_matrix",
    "forward_kinematics": "body_poses",
    "fk": "body_pose",
    "mj_step": "step",
    "ik": "inverse_kinematics",
    "gravity": "gravity_forces",
    "nle": "bias_forces",
    "com": "center_of_mass",
    "ccrba": "centroidal_momentum_matrix",
    "minverse": "inverse_mass_matrix",
    "frames": "Model",
    "load_model": "load",
    "random": "random_configuration",
    "Jacobian": "jacobian",
    "jacobian_derivative": "jacobian_rate",
    "jacobian_partials": "jacobian_derivatives",
    "centroidal_momentum_matrix_derivative": "centroidal_momentum_matrix_rate",
    "computeMinverse": "inverse_mass_matrix",
    "getFrameJacobian": "jacobian",
    "mj_differentiatePos": "difference",
    "CalcMassMatrix": "mass_matrix",
    "MjModel": "load_mjcf",
    "jacobianCenterOfMass": "center_of_mass_jacobian",
    "dIntegrate": "integrate_derivatives",
    "MapVelocityToQDot": "coordinate_rates",
    "mj_applyFT": "external_wrenches",
    "inverse_dynamic": "inverse_dynamics",
    "singularerror": "SingularError",
    "rneaDerivatives": "inverse_dynamics_derivatives",
    "forwardDynamics": "forward_dynamics",
    "nonlinear_effects": "bias_forces",
    "hessian": "forward_dynamics_hessian",
    "add_body": "ModelBuilder",
}


@pytest.mark.parametrize("word", WORDS)
def test_a_word_from_elsewhere_names_ours(word):
    with pytest.raises(AttributeError) as caught:
        getattr(jc, word)
    message = str(caught.value)
    assert message.startswith(f"jounce has no {word!r}")
    assert f"jc.{WORDS[word]}" in message


def test_a_word_that_means_one_thing_gets_one_answer():
    with pytest.raises(AttributeError, match=r"'rnea'; did you mean jc\.inverse_dynamics\?$"):
        jc.rnea  # noqa: B018
    with pytest.raises(AttributeError, match=r"'Jacobian'; did you mean jc\.jacobian\?$"):
        jc.Jacobian  # noqa: B018


INSIDE = {
    "hat": "lie.hat",
    "Ad": "lie.Ad",
    "quat_to_matrix": "lie.quat_to_matrix",
    "skew": "lie.hat",
    "exp6": "lie.exp",
    "log": "lie.log",
    "convert": "twists.convert",
    "from_com": "inertia.from_com",
    "chain": "models.chain",
    "RobotTrajectory": "trajectories.RobotTrajectory",
    "mueller": "papers.mueller",
    "pinocchio": "interop.pinocchio",
}


@pytest.mark.parametrize("word", INSIDE)
def test_a_name_of_a_public_module_is_found_in_it(word):
    with pytest.raises(AttributeError, match=rf"{word!r}; did you mean jc\.{INSIDE[word]}\?$"):
        getattr(jc, word)


def test_a_word_like_nothing_is_only_refused():
    with pytest.raises(AttributeError, match=r"^jounce has no 'xyzzy'$"):
        jc.xyzzy  # noqa: B018
    assert not hasattr(jc, "__wrapped__")


def test_what_is_recommended_exists():
    for ours, words in names.ELSEWHERE.items():
        assert operator.attrgetter(ours)(jc) is not None
        assert words == words.lower()
        assert not {w for w in words.split() if w in dir(jc)}, "a word that is a public name"
    for word, note in names.NOTES.items():
        assert word not in dir(jc)
        assert note in names.no_such_name(word, ()), "a key that no word has"
        for mentioned in note.replace(",", " ").replace(";", " ").split():
            if mentioned.startswith("jc."):
                assert hasattr(jc, mentioned.removeprefix("jc."))


def test_no_time_derivative_is_called_a_derivative():
    """`_rate` is a time derivative, `_derivatives` are partial ones."""
    papers = [getattr(jc.papers, paper) for paper in jc.papers.__all__]
    names = [name for module in (jc, *papers) for name in dir(module)]
    assert not [name for name in names if name.endswith(("_derivative", "_partials", "_dot"))]


def functions():
    for name in jc.__all__:
        value = getattr(jc, name)
        if callable(value) and not isinstance(value, type):
            yield name, value


def test_accelerations_are_called_a():
    for name, function in functions():
        parameters = inspect.signature(function).parameters
        assert not {"acc", "acceleration", "ddq", "qdd"} & parameters.keys(), name


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda m, q, v, t: jc.hybrid_dynamics(m, q, v, v, v, t), jc.HybridDynamics),
        (
            lambda m, q, v, t: jc.hybrid_dynamics_series(m, q, v, v[None], v[None], t),
            jc.HybridDynamicsSeries,
        ),
        (lambda m, q, v, t: jc.linearize(m, q, v, v), jc.Linearization),
        (lambda m, q, v, t: jc.linearize_step(m, q, v, v, 0.01), jc.LinearizedStep),
        (lambda m, q, v, t: jc.inertia.about_com(m.inertias), jc.MassProperties),
        (
            lambda m, q, v, t: jc.trajectories.RobotTrajectory(m, {}).evaluate(0.0),
            jc.TrajectorySample,
        ),
    ],
    ids=["hybrid", "hybrid series", "linearize", "step", "about_com", "trajectory"],
)
def test_several_results_are_a_named_tuple(call, expected):
    model = jc.models.aerial_manipulator()
    q = jc.neutral(model)
    v = q[: model.nv] * 0 + 0.5
    result = call(model, q, v, model.actuated)
    assert type(result) is expected
    assert result._fields == expected._fields
    assert len(result) > 1


def test_functions_say_which_named_tuple_they_return():
    """No public function is annotated with a bare tuple."""
    for name, function in functions():
        annotation = str(inspect.signature(function).return_annotation)
        assert not annotation.startswith("tuple"), name


def test_functions_that_compute_say_what_they_return_and_raise():
    about_the_core = {"clear_cache", "core_info", "get_cmake_dir", "get_include", "get_library"}
    for name, function in functions():
        if name not in about_the_core:
            for section in ("Args:", "Returns:", "Raises:"):
                assert f"\n{section}\n" in inspect.getdoc(function), f"{name} has no {section}"
