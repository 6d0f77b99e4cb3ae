"""Benchmarks of jounce beside its peers, in one process: ``python -m bench``.

BLAS is held to one thread before NumPy loads, so that "one thread" means one thread everywhere.
"""

import os

for _name in ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR"):
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")
