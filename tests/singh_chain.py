"""The chain on which singh measures accuracy, and the measure."""

from __future__ import annotations

import numpy as np

import jounce as jc


def rms(ours, exact):
    """Root mean square error over the root mean square value (singh, Sec. V-A)."""
    return float(np.sqrt(np.mean((ours - exact) ** 2) / np.mean(exact**2)))


def chain_about_z(n):
    """The chain of singh, Sec. V: every joint revolute about its local z axis."""
    builder = jc.ModelBuilder()
    for i in range(n):
        builder.add_body(
            f"link{i}",
            f"link{i - 1}" if i else None,
            joint="revolute",
            placement=(1, 0, 0) if i else (0, 0, 0),
            mass=1.0,
            com=(0.5, 0, 0),
            inertia=(0.01, 0.1, 0.1),
        )
    return builder.build()
