"""Threads, forks and signals around batched calls for some time; made for the thread sanitizer.

python tools/stress.py --seconds 600
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import jounce as jc

Job = Callable[[int], Any]


def jobs() -> list[tuple[Job, tuple[np.ndarray, ...]]]:
    """Calls with what they give on one thread."""
    made: list[Job] = []
    for model, count in ((jc.models.chain(7), 400), (jc.models.random_tree(8, 1), 300)):
        rng = np.random.default_rng(0)
        q = jc.random_configuration(model, rng, count)
        v, tau = rng.standard_normal((2, count, model.nv))
        made += dynamics(model, q, v, tau) + motions(model, q[:80], v[:80], tau[:80])
    return [(job, arrays(job(1))) for job in made]


def arrays(result: Any) -> tuple[np.ndarray, ...]:
    """All arrays of a result."""
    return tuple(result) if isinstance(result, tuple) else (result,)


def agree(result: Any, expected: tuple[np.ndarray, ...]) -> bool:
    """Whether a result has the bits of another."""
    return all(map(np.array_equal, arrays(result), expected))


def dynamics(model: jc.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[Job]:
    """Single kernels, and directions of one."""
    return [
        lambda t: jc.forward_dynamics(model, q, v, tau, threads=t),
        lambda t: jc.inverse_mass_matrix(model, q, threads=t),
        lambda t: jc.coriolis_matrix(model, q, v, threads=t),
        lambda t: jc.integrate(model, q, v, threads=t),
        lambda t: jc.jvp(jc.inverse_dynamics, model, (q, v, tau), (v, tau), threads=t),
        lambda t: jc.inverse_dynamics_hessian(model, q, v, tau, v, threads=t),
        lambda t: jc.forward_dynamics_series(model, q, v, tau[:, None, :], threads=t),
    ]


def motions(model: jc.Model, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> list[Job]:
    """Steps, constraints, memory that is used again, and threads that call."""
    held = jc.Constraints(model, [jc.Point(model.n_bodies - 1)])
    rows = np.repeat(0.1 * tau[:, None, :], 5, axis=1)

    def fresh(t: int) -> np.ndarray:
        jc.clear_cache(limit=2**20 * t)  # which other threads are about to use
        return jc.mass_matrix(model, q, threads=t)

    return [
        lambda t: jc.rollout(model, q, 0.1 * v, rows, 1e-3, threads=t),
        lambda t: jc.constrained_dynamics(model, q, v, tau, held, threads=t),
        lambda t: jc.constrained_dynamics_derivatives(model, q, v, tau, held, threads=t),
        fresh,
        lambda t: jc.sweep(
            jc.mass_matrix, model, q, "threads" if t > 1 else None, workers=t, block=16
        ),
    ]


def check(todo: list[Any], seed: int, end: float, bad: list[int]) -> int:
    """Random jobs on random numbers of threads until the time is over."""
    rng, done = np.random.default_rng(seed), 0
    while time.monotonic() < end and not bad:
        job, expected = todo[int(rng.integers(len(todo)))]
        if not agree(job(int(rng.integers(1, 5))), expected):
            bad.append(seed)
        done += 1
    return done


def main() -> int:
    """Four threads that call, and the main one that also handles signals and forks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    todo, bad, total = jobs(), [], []
    end = time.monotonic() + options.seconds

    def handler(number: int, frame: object) -> None:
        job, expected = todo[0]
        if not agree(job(2), expected):
            bad.append(-1)

    signal.signal(signal.SIGALRM, handler)
    others = [
        threading.Thread(target=lambda k=k: total.append(check(todo, k, end, bad)))
        for k in range(4)
    ]
    for thread in others:
        thread.start()
    forks = 0
    while time.monotonic() < end and not bad:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        total.append(check(todo, 99, min(end, time.monotonic() + 0.5), bad))
        signal.setitimer(signal.ITIMER_REAL, 0)
        pid = os.fork()
        if pid == 0:
            os._exit(not all(agree(job(2), expected) for job, expected in todo[:3]))
        forks += 1
        if os.waitpid(pid, 0)[1]:
            bad.append(-2)
    for thread in others:
        thread.join()
    print(f"{sum(total)} calls on 5 threads, {forks} forks, {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
