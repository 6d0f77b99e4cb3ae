"""How the tests of front ends run."""

from __future__ import annotations

import pytest


@pytest.fixture
def in_64_bits(request):
    """JAX with 64 bits; where all functions are compiled, with little optimization of the rest."""
    jax = pytest.importorskip("jax")
    all_of_them = request.node.get_closest_marker("jax") is not None
    jax.config.update("jax_disable_most_optimizations", all_of_them)
    try:
        with jax.enable_x64(True):
            yield
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
