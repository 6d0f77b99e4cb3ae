"""What the front ends for JAX, PyTorch and CasADi share.

`functions` lists what is bridged, with arguments and options as operations of the C entry point;
`partials` says which operation is the derivative of which; `tangents` maps changes of coordinates
to tangent vectors and back.
"""
