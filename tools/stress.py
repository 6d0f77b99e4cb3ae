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

import numpy as np

import jounce as jc


def jobs() -> list[tuple[object, np.ndarray]]:
    """Calls with what they give on one thread."""
    made = []
    for model, count in ((jc.models.chain(7), 400), (jc.models.random_tree(8, 1), 300)):
        rng = np.random.default_rng(0)
        q = jc.random_configuration(model, rng, count)
        v, tau = rng.standard_normal((2, count, model.nv))
        some = [
            lambda t, m=model, q=q, v=v, x=tau: jc.forward_dynamics(m, q, v, x, threads=t),
            lambda t, m=model, q=q: jc.inverse_mass_matrix(m, q, threads=t),
            lambda t, m=model, q=q, v=v: jc.coriolis_matrix(m, q, v, threads=t),
            lambda t, m=model, q=q, v=v: jc.integrate(m, q, v, threads=t),
        ]
        made.extend((job, job(1)) for job in some)
    return made


def check(todo: list, seed: int, end: float, bad: list[int]) -> int:
    """Random jobs on random numbers of threads until the time is over."""
    rng, done = np.random.default_rng(seed), 0
    while time.monotonic() < end and not bad:
        job, expected = todo[int(rng.integers(len(todo)))]
        if not np.array_equal(job(int(rng.integers(1, 5))), expected):
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
        if not np.array_equal(job(2), expected):
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
            os._exit(not all(np.array_equal(job(2), expected) for job, expected in todo[:3]))
        forks += 1
        if os.waitpid(pid, 0)[1]:
            bad.append(-2)
    for thread in others:
        thread.join()
    print(f"{sum(total)} calls on 5 threads, {forks} forks, {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
