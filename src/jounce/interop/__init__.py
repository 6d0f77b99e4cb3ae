"""Conversions to and from the conventions of other libraries, and functions for their arrays.

One module for each library, each with a `Converter` made from the two models::

    from jounce.interop import pinocchio

    there = pinocchio.Converter(model, pin_model)
    q_pin, v_pin = there.to_q(q), there.to_v(q, v)
    tau = there.from_tau(q_pin, tau_pin)

`jounce.interop.pinocchio`, `jounce.interop.mujoco` and `jounce.interop.drake` import the library
only where they need it; `import jounce` never does.

`jounce.interop.jax`, `jounce.interop.torch` and `jounce.interop.casadi` have the functions of the
package for arrays of these libraries, with exact derivatives; `jounce.interop.scipy` has what its
solvers take. They import their library.
"""

import importlib
from types import ModuleType

__all__ = ["casadi", "drake", "jax", "mujoco", "pinocchio", "scipy", "torch"]


def __getattr__(name: str) -> ModuleType:
    """Import the module of a library when it is first used."""
    if name in __all__:
        return importlib.import_module(f"jounce.interop.{name}")
    raise AttributeError(f"module 'jounce.interop' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the modules, whether they are imported already or not."""
    return sorted(__all__)
