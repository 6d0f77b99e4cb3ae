"""A policy that swings up a pole on a cart, trained through differentiable rollouts in JAX.

A small network gives the force on the cart from what is seen: position, sine and cosine of the
pole's angle, rates. The pole hangs at first and has no motor. A rollout is a `lax.scan` over
`jounce.interop.jax.step`; `jax.grad` takes the gradient of its cost through all steps by the exact
derivatives of the core, for a batch of starts at once. Adam does the rest. As a check the gradient
along one direction is compared with a difference of the cost.

Run: ``python examples/swing_up_jax.py [--quick] [--out DIR]``; needs jax and matplotlib. The quick
form trains for a few steps and only shows that the cost falls.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

import jounce as jc
from jounce.interop import jax as jjax

Array = npt.NDArray[np.float64]

DT, STEPS = 0.025, 100
STARTS, HIDDEN = 16, 32
FORCE = 20.0  # N
ITERATIONS, RATE = 600, 0.01


def build() -> jc.Model:
    """A cart on a rail along x, and a pole that hangs at q = 0 and turns about y."""
    builder = jc.ModelBuilder(name="cart and pole")
    small = (1e-3, 1e-3, 1e-3)
    builder.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=1.0, inertia=small)
    pole = {"mass": 0.3, "com": (0.0, 0.0, -0.5), "inertia": (0.025, 0.025, 1e-3)}
    builder.add_body("pole", "cart", joint="revolute", axis=(0, 1, 0), **pole)
    return builder.build()


class Result(NamedTuple):
    """How the training went, and motions of the trained policy from starts it has not seen."""

    costs: Array
    """Of each iteration."""
    q: Array
    v: Array
    """(starts, STEPS + 1, 2)."""
    gradient_error: float
    """Relative difference between the gradient along a direction and a difference of costs."""
    seconds: float

    @property
    def upright(self) -> Array:
        """Angle from upright over the last half second, the largest, for each start (rad)."""
        last = self.q[:, -int(0.5 / DT) :, 1]
        away: Array = np.abs((last + 2 * np.pi) % (2 * np.pi) - np.pi).max(1)
        return away


def network(rng: np.random.Generator) -> list[Any]:
    """Weights and offsets of three layers."""
    sizes = (5, HIDDEN, HIDDEN, 1)
    scale = (0.5, 0.5, 0.1)
    return [
        (jnp.asarray(s * rng.standard_normal((m, n)) / np.sqrt(m)), jnp.zeros(n))
        for m, n, s in zip(sizes[:-1], sizes[1:], scale, strict=True)
    ]


def force(weights: list[Any], q: Any, v: Any) -> Any:
    """What the motors give: a limited force on the cart, nothing on the pole."""
    x = jnp.stack([q[..., 0], jnp.sin(q[..., 1]), jnp.cos(q[..., 1]), *jnp.moveaxis(v, -1, 0)], -1)
    for matrix, offset in weights[:-1]:
        x = jnp.tanh(x @ matrix + offset)
    matrix, offset = weights[-1]
    pushed = FORCE * jnp.tanh(x @ matrix + offset)
    return jnp.concatenate([pushed, jnp.zeros_like(pushed)], -1)


def rollout(model: jc.Model, weights: list[Any], q: Any, v: Any) -> tuple[Any, Any]:
    """States (STEPS, ..., 2) after each step of a batch of starts."""

    def advance(state: Any, _: Any) -> Any:
        tau = force(weights, *state)
        state = tuple(jjax.step(model, *state, tau, DT, method="rkmk2"))
        return state, state

    _, path = jax.lax.scan(advance, (q, v), None, length=STEPS)
    return path


def cost(model: jc.Model, weights: list[Any], q: Any, v: Any) -> Any:
    """Mean over time and starts, later times weigh more: the angle, the rail, the rates."""
    qs, vs = rollout(model, weights, q, v)
    late = jnp.linspace(0.0, 1.0, STEPS)[:, None] ** 2
    price = 1.0 + jnp.cos(qs[..., 1]) + 0.1 * qs[..., 0] ** 2 + 0.01 * (vs**2).sum(-1)
    return (late * price).mean() * 3.0


def starts(rng: np.random.Generator) -> tuple[Any, Any]:
    """States near hanging at rest."""
    q, v = rng.standard_normal((2, STARTS, 2)) * [0.2, 0.3]
    return jnp.asarray(q), jnp.asarray(v)


def train(model: jc.Model, iterations: int) -> tuple[list[Any], Array]:
    """Adam, each iteration with other starts."""
    rng = np.random.default_rng(0)
    weights = network(rng)
    value_and_gradient = jax.value_and_grad(lambda w, q, v: cost(model, w, q, v))

    @jax.jit
    def improve(k: Any, weights: Any, m: Any, s: Any, q: Any, v: Any) -> Any:
        value, g = value_and_gradient(weights, q, v)
        norm = jnp.sqrt(sum((x**2).sum() for x in jax.tree.leaves(g)))
        g = jax.tree.map(lambda x: x * jnp.minimum(1.0, 1.0 / norm), g)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        s = jax.tree.map(lambda a, b: 0.99 * a + 0.01 * b**2, s, g)
        rate = RATE * jnp.minimum(1.0, 2.0 * (1.0 - k / iterations))

        def moved(w: Any, a: Any, b: Any) -> Any:
            return w - rate * (a / (1 - 0.9**k)) / (jnp.sqrt(b / (1 - 0.99**k)) + 1e-8)

        return jax.tree.map(moved, weights, m, s), m, s, value

    zeros = jax.tree.map(jnp.zeros_like, weights)
    m, s, costs = zeros, zeros, []
    for k in range(1, iterations + 1):
        weights, m, s, value = improve(float(k), weights, m, s, *starts(rng))
        costs.append(float(value))
    return weights, np.array(costs)


def checked_gradient(model: jc.Model) -> float:
    """How far the gradient is from differences of fourth order of the cost, along a direction."""
    rng = np.random.default_rng(1)
    weights, at = network(rng), starts(rng)
    along = jax.tree.map(lambda x: jnp.asarray(rng.standard_normal(x.shape)), weights)

    @jax.jit
    def line(t: Any) -> Any:
        moved = jax.tree.map(lambda w, d: w + t * d, weights, along)
        return cost(model, moved, *at)

    h = 1e-4
    difference = (8 * (line(h) - line(-h)) - (line(2 * h) - line(-2 * h))) / (12 * h)
    slope = jax.grad(line)(0.0)
    return float(abs(slope - difference) / abs(slope))


def run(iterations: int) -> Result:
    """Train, and try the policy on new starts."""
    with jax.enable_x64(True):
        model, begin = build(), time.perf_counter()
        error = checked_gradient(model)
        weights, costs = train(model, iterations)
        seconds = time.perf_counter() - begin
        q, v = starts(np.random.default_rng(99))
        path = jax.jit(lambda q, v: rollout(model, weights, q, v))(q, v)
        qs, vs = (
            np.concatenate([np.asarray(first)[:, None], np.moveaxis(np.asarray(x), 0, 1)], 1)
            for first, x in zip((q, v), path, strict=True)
        )
    return Result(costs, qs, vs, error, seconds)


def figure(result: Result) -> Any:
    """The training, and the angles and positions of the new starts."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    fig, (learned, angle, rail) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    learned.plot(result.costs)
    learned.set(title="training", xlabel="iteration", ylabel="cost")
    t = DT * np.arange(STEPS + 1)
    angle.plot(t, np.rad2deg(result.q[..., 1].T), color="C0", alpha=0.5)
    for up in (-180, 180):
        angle.axhline(up, color="gray", linestyle=":")
    angle.set(title="pole, new starts", xlabel="time, s", ylabel="degrees; upright is dotted")
    rail.plot(t, result.q[..., 0].T, color="C1", alpha=0.5)
    rail.set(title="cart, new starts", xlabel="time, s", ylabel="m")
    return fig


def main(arguments: Sequence[str] | None = None) -> Result:
    """Train, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=Path("demo_output"), help="for the figure")
    parser.add_argument("--quick", action="store_true", help="a few iterations")
    options = parser.parse_args(arguments)
    result = run(30 if options.quick else ITERATIONS)
    print(f"gradient through {STEPS} steps against differences: {result.gradient_error:.1e}")
    print(f"cost {result.costs[0]:.3f} -> {result.costs[-1]:.3f} in {result.seconds:.1f} s")
    away = np.rad2deg(result.upright)
    print(f"new starts: {(away < 15).sum()} of {len(away)} upright within 15 degrees at the end")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "swing_up_jax.png"
    figure(result).savefig(path, dpi=110)
    print(f"wrote {path}")
    return result


if __name__ == "__main__":
    main()
