"""Fixtures of the tests of derivatives."""

from __future__ import annotations

import pytest
from partials_cases import MODELS, some_long, states_of


@pytest.fixture(params=some_long(MODELS))
def case(request):
    """Each robot with its states."""
    return states_of(request.param)


@pytest.fixture
def one_dof():
    """The robot without spherical and free joints."""
    return states_of("one_dof")


@pytest.fixture
def free_root():
    """A robot with a free base and other group joints."""
    return states_of("free_root")
