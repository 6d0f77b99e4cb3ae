"""The C entry point lists the kernels, tells shapes, and computes what Python's functions do."""

from __future__ import annotations

import ctypes
import pathlib

import numpy as np
import pytest

import jounce as jc
from jounce import _core
from jounce.simulation.methods import find_method

MOST = 16


class Array(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("optional", ctypes.c_int),
        ("is_series", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("dims", ctypes.c_int64 * 4),
        ("size", ctypes.c_int64),
    )

    @property
    def shape(self):
        return tuple(self.dims[: self.rank])


STOP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Call(ctypes.Structure):
    _fields_ = (
        ("states", ctypes.c_int64),
        ("order", ctypes.c_int),
        ("inputs", ctypes.c_void_p * MOST),
        ("input_steps", ctypes.c_int64 * MOST),
        ("outputs", ctypes.c_void_p * MOST),
        ("output_steps", ctypes.c_int64 * MOST),
        ("prescribed", ctypes.c_void_p),
        ("frame", ctypes.c_int),
        ("twist", ctypes.c_int),
        ("method", ctypes.c_int),
        ("threads", ctypes.c_int),
        ("stop", STOP),
        ("data", ctypes.c_void_p),
        ("tableau", ctypes.c_void_p),
        ("tableau_size", ctypes.c_int64),
    )


class Failure(ctypes.Structure):
    _fields_ = (
        ("state", ctypes.c_int64),
        ("input", ctypes.c_int),
        ("entry", ctypes.c_int64),
        ("node", ctypes.c_int),
        ("reason", ctypes.c_char_p),
    )


DONE, NOT_FINITE, QUATERNION, SINGULAR, OVERFLOW, STOPPED, _, BAD_CALL, NOT_POSITIVE = range(9)


@pytest.fixture(scope="module")
def library():
    library = ctypes.CDLL(jc.get_library())
    for name in ("jounce_kernel_at", "jounce_find_kernel"):
        getattr(library, name).restype = ctypes.c_void_p
    for name in ("jounce_kernel_name", "jounce_option_name"):
        getattr(library, name).restype = ctypes.c_char_p
    library.jounce_workspace_bytes.restype = ctypes.c_size_t
    return library


class Kernel:
    """A kernel as a C program sees it."""

    def __init__(self, library, name, model, order=-1):
        self.library, self.model, self.order = library, model, order
        self.address = ctypes.c_void_p(library.jounce_find_kernel(name.encode()))
        self.tree = ctypes.c_void_p(_core.model_address(model))
        self.inputs, self.outputs = self.arrays("input"), self.arrays("output")

    def arrays(self, kind):
        count = getattr(self.library, f"jounce_{kind}_count")(self.address)
        found = [Array() for _ in range(count)]
        for k, array in enumerate(found):
            describe = getattr(self.library, f"jounce_{kind}")
            assert describe(self.address, k, self.tree, self.order, ctypes.byref(array))
        return found

    def options(self):
        count = self.library.jounce_option_count(self.address)
        return [self.library.jounce_option_name(self.address, k).decode() for k in range(count)]

    def run(self, states, given, **options):
        """Status, failure and outputs; outputs have gaps between states that must stay."""
        call, self.kept = Call(states=states, order=self.order), []
        for k, array in enumerate(self.inputs):
            value = given.get(array.name.decode())
            if value is None:
                continue
            value = np.ascontiguousarray(value, float)
            self.kept.append(value)
            call.inputs[k] = value.ctypes.data
            call.input_steps[k] = array.size if value.size > array.size else 0
        outputs = [np.full((states, array.size + 3), -7.0) for array in self.outputs]
        for k, value in enumerate(outputs):
            call.outputs[k], call.output_steps[k] = value.ctypes.data, value.shape[1]
        for name, value in options.items():
            setattr(call, name, value)
        failure = Failure()
        status = self.library.jounce_run(
            self.address, self.tree, ctypes.byref(call), ctypes.byref(failure)
        )
        assert all((value[:, -3:] == -7.0).all() for value in outputs)
        shaped = [
            value[:, :-3].reshape(states, *array.shape)
            for value, array in zip(outputs, self.outputs, strict=True)
        ]
        return status, failure, shaped


@pytest.fixture(scope="module")
def model():
    return jc.models.random_tree(8, 1)


MOTION = {"pair", "order", "every", "hold", "passive"}
IN_TIME = {
    name
    for name in _core.kernel_names()
    if MOTION & {*_core.signature(name)["options"]}
    or any({"times", "records"} & {*axes} for axes in _core.signature(name)["input_axes"].values())
}
"""Kernels that take what a C call cannot tell."""


def test_the_list_is_that_of_python(library):
    count = library.jounce_kernel_count()
    names = [
        library.jounce_kernel_name(ctypes.c_void_p(library.jounce_kernel_at(k))).decode()
        for k in range(count)
    ]
    assert names == [name for name in _core.kernel_names() if name not in IN_TIME]
    assert len(set(names)) == count
    assert library.jounce_kernel_at(count) is None
    assert library.jounce_find_kernel(b"rnea") is None


@pytest.mark.parametrize("name", sorted({*_core.kernel_names()} - IN_TIME))
def test_every_kernel_gives_the_numbers_of_its_python_function(name, library, model, state):
    r, states = 2, 7
    kernel = Kernel(library, name, model, r)
    rng = np.random.default_rng(0)
    x = state(model, states)
    x.lower, x.upper = np.full((2, states, model.nq), 10.0) * np.array([-1, 1])[:, None, None]
    given = {}
    for array in kernel.inputs:
        key = array.name.decode()
        q_like = array.shape == (model.nq,)
        given[key] = getattr(x, key) if q_like else rng.standard_normal((states, *array.shape))
    if "dt" in given:
        given["dt"] = np.abs(given["dt"])
    call, options = {}, kernel.options()
    mask = np.arange(model.nv) % 3 == 0
    if "prescribed" in options:
        call["prescribed"] = mask.ctypes.data
    if "body" in options:
        call["frame"] = 3
    if "twist" in options:
        call["twist"] = 2
    midpoint = find_method("midpoint").packed()
    if "tableau" in options:
        call["tableau"], call["tableau_size"] = midpoint.ctypes.data, midpoint.size
    status, failure, results = kernel.run(states, given, threads=2, **call)
    assert (status, failure.state) == (DONE, -1)
    values = {"prescribed": mask, "body": 3, "twist": "hybrid", "method": 0, "tableau": midpoint}
    expected = _core.raw(name)(model, **given, **{key: values[key] for key in options})
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert library.jounce_workspace_bytes(
        kernel.address, kernel.tree, r, 0
    ) == _core.workspace_bytes(name, model, r)


def test_one_state_may_serve_all(library, model, state):
    x = state(model, 5)
    kernel = Kernel(library, "inverse_dynamics", model)
    status, _, (tau,) = kernel.run(5, {"q": x.q[0], "v": x.v, "a": x.a[2]})
    assert status == DONE
    np.testing.assert_array_equal(tau, jc.inverse_dynamics(model, x.q[0], x.v, x.a[2]))


@pytest.mark.parametrize("bad", [0, 6, 40])
def test_a_failure_tells_which_state_and_entry(bad, library, model, state):
    x = state(model, 41)
    kernel = Kernel(library, "forward_dynamics", model)
    given = {"q": x.q.copy(), "v": x.v.copy(), "tau": x.tau}
    given["v"][bad, 3] = np.inf
    status, failure, _ = kernel.run(41, given)
    assert status == NOT_FINITE
    assert (failure.state, failure.input, failure.entry) == (bad, 1, 3)
    given = {"q": x.q.copy(), "v": x.v, "tau": x.tau}
    node = int(np.flatnonzero(model.nodes.kind >= 3)[0])
    given["q"][bad, model.nodes.q_index[node] + 1] += 0.5
    status, failure, _ = kernel.run(41, given)
    assert status == QUATERNION
    assert (failure.state, failure.input, failure.node) == (bad, 0, node)


def test_a_singular_state_names_its_node(library):
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    builder.add_body("leaf", "arm", joint="revolute")
    kernel = Kernel(library, "forward_dynamics", builder.build())
    zero = np.zeros((3, 2))
    status, failure, _ = kernel.run(3, {"q": zero, "v": zero, "tau": zero})
    assert (status, failure.state, failure.node) == (SINGULAR, 0, 1)


def test_results_that_overflow_are_told(library, model, state):
    x = state(model, 2)
    kernel = Kernel(library, "kinetic_energy", model)
    v = np.stack([x.v[0], np.full(model.nv, 1e200)])
    status, failure, _ = kernel.run(2, {"q": x.q, "v": v})
    assert (status, failure.state) == (OVERFLOW, 1)


def test_a_body_that_may_miss_is_minus_one(library, model, state):
    x = state(model, 3)
    kernel = Kernel(library, "center_of_mass_jacobian", model)
    status, _, (J,) = kernel.run(3, {"q": x.q}, frame=-1)
    assert status == DONE
    np.testing.assert_array_equal(J, jc.center_of_mass_jacobian(model, x.q))
    for frame in (-2, len(model.frames)):
        assert kernel.run(3, {"q": x.q}, frame=frame)[0] == BAD_CALL


def test_a_zero_quaternion_has_no_direction(library, model, state):
    q = state(model, 3).q
    kernel = Kernel(library, "normalize", model)
    node = int(np.flatnonzero(model.nodes.kind >= 3)[0])
    at = int(model.nodes.q_index[node])
    q[:, at : at + 4] *= 7.0
    assert kernel.run(3, {"q": q})[0] == DONE
    q[1, at : at + 4] = 0.0
    status, failure, _ = kernel.run(3, {"q": q})
    assert status == QUATERNION
    assert (failure.state, failure.input, failure.node) == (1, 0, node)


def test_a_call_that_misses_something_is_refused(library, model, state):
    x = state(model, 1)
    kernel = Kernel(library, "jacobian", model)
    status, failure, _ = kernel.run(1, {})
    assert (status, failure.input) == (BAD_CALL, 0)
    assert failure.reason == b"an input is missing"
    for options in (
        {"frame": -1},
        {"frame": len(model.frames)},
        {"twist": 4},
        {"order": 101},
        {"threads": 1025},
        {"threads": -1},
    ):
        status, failure, _ = kernel.run(1, {"q": x.q}, **options)
        assert status == BAD_CALL
        assert failure.reason
    assert kernel.run(1, {"q": x.q}, method=3)[0] == DONE  # which has no such option
    series = Kernel(library, "inverse_dynamics_series", model, 1)
    motion = np.zeros((1, 3, model.nv))
    assert series.run(1, {"q": x.q, "motion": motion}, order=-1)[0] == BAD_CALL
    assert series.run(1, {"q": x.q, "motion": motion})[0] == DONE
    hybrid = Kernel(library, "hybrid_dynamics", model)
    given = {"q": x.q, "v": x.v, "a": x.a, "tau": x.tau}
    assert hybrid.run(1, given)[0] == BAD_CALL  # no mask


def test_a_batch_can_be_stopped(library, model, state):
    """It is asked on the calling thread, again and again, until it says so."""
    x = state(model, 64)
    given = {"q": x.q, "v": x.v, "tau": x.tau}
    kernel = Kernel(library, "forward_dynamics", model)
    statuses = []
    while STOPPED not in statuses and len(statuses) < 4:  # until a batch takes long enough
        times = 1000 * 4 ** len(statuses)
        many = {key: np.concatenate([value] * times) for key, value in given.items()}
        statuses.append(kernel.run(len(many["q"]), many, stop=STOP(lambda _: 1))[0])
    assert statuses[-1] == STOPPED
    assert set(statuses[:-1]) <= {DONE}


def test_no_states_are_no_work(library, model):
    """Nor do they need arrays."""
    kernel = Kernel(library, "mass_matrix", model)
    status, _, (M,) = kernel.run(0, {})
    assert status == DONE
    assert M.shape == (0, model.nv, model.nv)


def test_null_pointers_are_refused(library, model):
    kernel = Kernel(library, "mass_matrix", model)
    call, failure, array = Call(), Failure(), Array()
    for arguments in ((None, kernel.tree), (kernel.address, None)):
        status = library.jounce_run(*arguments, ctypes.byref(call), ctypes.byref(failure))
        assert (status, failure.reason[:10]) == (BAD_CALL, b"the kernel")
    assert library.jounce_run(kernel.address, kernel.tree, None, None) == BAD_CALL
    assert library.jounce_find_kernel(None) is None
    assert library.jounce_kernel_name(None) is None
    assert library.jounce_input_count(None) == 0
    assert library.jounce_input(kernel.address, 0, None, -1, ctypes.byref(array)) == 0
    assert library.jounce_input(kernel.address, 0, kernel.tree, -1, None) == 0
    assert library.jounce_output(kernel.address, 1, kernel.tree, -1, ctypes.byref(array)) == 0
    message = ctypes.create_string_buffer(100)
    assert library.jounce_model_new(None, message, 100) == 0
    assert b"missing" in message.value
    assert library.jounce_model_nv(None) == 0


@pytest.mark.parametrize("order", [-50, -2, 101, 10**9])
def test_orders_that_there_are_not_are_refused(order, library, model):
    kernel = Kernel(library, "inverse_dynamics_series", model, 0)
    array = ctypes.byref(Array())
    assert library.jounce_input(kernel.address, 1, kernel.tree, order, array) == 0
    assert library.jounce_workspace_bytes(kernel.address, kernel.tree, order, 0) == 0


def test_internal_kernels_are_marked(library):
    for name in {*_core.kernel_names()} - IN_TIME:
        kernel = ctypes.c_void_p(library.jounce_find_kernel(name.encode()))
        assert library.jounce_kernel_is_internal(kernel) == _core.signature(name)["internal"]
    assert _core.signature("check_state")["internal"]
    assert not _core.signature("inverse_dynamics")["internal"]


def test_a_step_needs_a_method(library, model, state):
    x, numbers = state(model, 2), np.array([3.0, 1.0])
    kernel = Kernel(library, "explicit_step", model)
    given = {"q": x.q, "v": x.v, "tau": x.tau, "dt": np.full((2, 1), 0.01)}
    wrong = {"tableau": numbers.ctypes.data, "tableau_size": numbers.size}
    for options in ({}, wrong):
        status, failure, _ = kernel.run(2, given, **options)
        assert status == BAD_CALL
        assert b"numbers of the method" in failure.reason


@pytest.mark.parametrize("name", ["explicit_step", "explicit_step_jvp", "explicit_step_second"])
@pytest.mark.parametrize("bad", [0, 6, 40])
@pytest.mark.parametrize("dt", [0.0, -0.1])
def test_a_step_that_is_not_positive_is_told(library, model, state, name, bad, dt):
    x, midpoint = state(model, 41), find_method("midpoint").packed()
    given = {"q": x.q, "v": x.v, "tau": x.tau, "dt": np.full((41, 1), 0.01)}
    options = {"tableau": midpoint.ctypes.data, "tableau_size": midpoint.size}
    kernel = Kernel(library, name, model)
    assert kernel.run(41, given, **options)[0] == DONE
    given["dt"][bad] = dt
    status, failure, _ = kernel.run(41, given, **options)
    assert status == NOT_POSITIVE
    assert (failure.state, failure.input, failure.entry) == (bad, 3, 0)


def test_motions_of_many_steps_are_not_listed(library):
    assert {"explicit_rollout", "taylor_motion"} <= IN_TIME
    assert library.jounce_kernel_count() == len(_core.kernel_names()) - len(IN_TIME)
    for name in IN_TIME:
        assert not library.jounce_find_kernel(name.encode())


def test_the_version_of_the_structures_is_told(library):
    header = pathlib.Path(jc.get_include(), "jounce", "jounce.h").read_text(encoding="utf-8")
    assert f"#define JOUNCE_ABI {library.jounce_abi()}\n" in header
