"""Conversions to and from the conventions of other libraries.

One module for each library, each with a `Converter` made from the two models::

    from jounce.interop import pinocchio

    there = pinocchio.Converter(model, pin_model)
    q_pin, v_pin = there.to_q(q), there.to_v(q, v)
    tau = there.from_tau(q_pin, tau_pin)

`jounce.interop.pinocchio`, `jounce.interop.mujoco` and `jounce.interop.drake` import the library
only where they need it; `import jounce` never does.
"""
