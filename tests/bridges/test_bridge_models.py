"""Front ends refuse models and options that they do not know, whatever was called before."""

from __future__ import annotations

import numpy as np
import pytest
from bridge_cases import gripper

import jounce as jc
from jounce.interop._bridge.functions import functions

ARM = jc.models.chain(3)


def front_end(name):
    pytest.importorskip(name, reason=f"{name} is not installed")
    return pytest.importorskip(f"jounce.interop.{name}", exc_type=ImportError)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["jax", "casadi"])
def test_models_with_coupled_joints_are_refused(name):
    bridge, model = front_end(name), gripper()
    text = r"gravity_forces\(\): models with coupled joints are not known here; use model.expanded"
    with pytest.raises(jc.ModelError, match=text):
        bridge.gravity_forces(model, [0.0])
    if name == "casadi":
        with pytest.raises(jc.ModelError, match=text):
            bridge.function("gravity_forces", model)
    assert bridge.gravity_forces(model.expanded, [0.0, 0.0]).shape[0] == 2


@pytest.mark.filterwarnings("error")
def test_what_is_no_model_is_told():
    with pytest.raises(jc.ArgumentTypeError, match=r"must be a jounce\.Model, got str"):
        functions()["gravity_forces"].split("arm", ([0.0],), {})


MASK = (True, False, True)
RATES = ("q", "v", "a", "tau")


class Mask:
    """A mask that may change, and is known by its identity alone, as tensors are."""

    def __init__(self, content):
        self.content = content

    def __array__(self, dtype=None, copy=None):
        return np.array(self.content, dtype)


def operation(name, inputs, threads=1, **options):
    return functions()[name].operation(ARM, dict.fromkeys(inputs, (3,)), options, threads)


@pytest.mark.parametrize("body", [True, 1.0, np.True_, "1"])
def test_bodies_are_checked_whatever_was_called_before(body):
    good = operation("jacobian", "q", body=1)
    with pytest.raises(jc.UnknownNameError):
        operation("jacobian", "q", body=body)
    assert operation("jacobian", "q", body=np.int64(1)) is good


@pytest.mark.parametrize("mask", [(1, 0, 1), (1.0, 0.0, 1.0), (True, 0, True)])
def test_masks_are_checked_whatever_was_called_before(mask):
    good = operation("hybrid_dynamics", RATES, prescribed=MASK)
    with pytest.raises(jc.ArgumentError, match="prescribed must be a bool array"):
        operation("hybrid_dynamics", RATES, prescribed=mask)
    for same in (list(MASK), np.array(MASK), tuple(np.array(MASK))):
        assert operation("hybrid_dynamics", RATES, prescribed=same) is good


def test_masks_that_change_are_read_again():
    mask = Mask(MASK)
    before = operation("hybrid_dynamics", RATES, prescribed=mask)
    mask.content = (False, False, True)
    assert operation("hybrid_dynamics", RATES, prescribed=mask) is not before


@pytest.mark.parametrize("threads", [True, 1.0, -1, 2000, "1", None, [1]])
def test_threads_are_checked_whatever_was_called_before(threads):
    good = operation("gravity_forces", "q", 1)
    with pytest.raises(jc.ArgumentError, match="threads must be an integer from 0 to 1024"):
        operation("gravity_forces", "q", threads)
    assert operation("gravity_forces", "q", np.int64(1)) is good
