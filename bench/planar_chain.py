"""A chain of rods in a plane: the model, and its equations for any kind of number.

With the absolute angles phi_i of the rods, hanging at 0, and the lengths L, centers c, masses m and
moments of inertia I of the rods,

    (1)  sum_j A_ij cos(phi_i - phi_j) phi_j'' + A_ij sin(phi_i - phi_j) phi_j'^2
         + B_i sin(phi_i) = 0,
    A_ii = I_i + m_i c_i^2 + L_i^2 sum_(k>i) m_k,
    A_ij = L_i (m_j c_j + L_j sum_(k>j) m_k) for i < j,
    B_i = g (m_i c_i + L_i sum_(k>i) m_k).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import jounce as jc

GRAVITY = 9.81
LENGTH, CENTER, MASS, INERTIA = 0.7, 0.3, 1.2, 0.05


def model(count: int) -> jc.Model:
    """Return the chain as a model; its joint angles are differences of the absolute ones."""
    builder = jc.ModelBuilder(gravity=(0, 0, -GRAVITY))
    place = np.eye(4)
    for k in range(count):
        builder.add_body(
            f"rod{k}",
            None if k == 0 else f"rod{k - 1}",
            "revolute",
            place,
            axis=(0, 1, 0),
            mass=MASS,
            com=(0, 0, -CENTER),
            inertia=np.diag([INERTIA, INERTIA, 1e-3]),
        )
        place = np.eye(4)
        place[2, 3] = -LENGTH
    return builder.build()


def accelerations(phi: Any, rate: Any, sin: Any, cos: Any) -> list[Any]:
    """Solve (1) by elimination without pivoting, M being positive definite."""
    n = len(phi)
    beyond = [MASS * (n - 1 - i) for i in range(n)]
    M: list[list[Any]] = [[None] * n for _ in range(n)]
    right: list[Any] = [
        -GRAVITY * (MASS * CENTER + LENGTH * beyond[i]) * sin(phi[i]) for i in range(n)
    ]
    for i in range(n):
        M[i][i] = INERTIA + MASS * CENTER**2 + LENGTH**2 * beyond[i]
        for j in range(i + 1, n):
            A = LENGTH * (MASS * CENTER + LENGTH * beyond[j])
            M[i][j] = M[j][i] = A * cos(phi[i] - phi[j])
            s = A * sin(phi[i] - phi[j])
            right[i] = right[i] - s * rate[j] * rate[j]
            right[j] = right[j] + s * rate[i] * rate[i]
    for i in range(n):
        for k in range(i + 1, n):
            factor = M[k][i] / M[i][i]
            M[k] = [None] * (i + 1) + [M[k][j] - factor * M[i][j] for j in range(i + 1, n)]
            right[k] = right[k] - factor * right[i]
    out: list[Any] = [None] * n
    for i in reversed(range(n)):
        rest = right[i]
        for j in range(i + 1, n):
            rest = rest - M[i][j] * out[j]
        out[i] = rest / M[i][i]
    return out
