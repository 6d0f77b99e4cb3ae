"""What the tests of `jc.save` share: robots, states, and how results are compared."""

from __future__ import annotations

import io
import warnings

import numpy as np

import jounce as jc
from jounce.model.joints import COORDINATE_FIELDS, JOINT_TYPES, RATE_FIELDS

EPS = np.finfo(float).eps
MOVING = tuple(kind for kind in JOINT_TYPES if kind != "fixed")
STATES = 20
PROMISED = 1e-12
"""Of inverse dynamics before and after, relative to the largest force of a state."""


def quietly(function, *args, **options):
    """Call a function without the warnings about robots that are unusual."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        return function(*args, **options)


def text_of(model, kind):
    """The file as text."""
    file = io.StringIO()
    quietly(jc.save, model, file, format=kind)
    return file.getvalue()


def has_left_out_root(model):
    """Whether URDF leaves the joint of the root out."""
    roots = [body for body in model.bodies if body.parent < 0]
    placed = any(not np.array_equal(body.placement, np.eye(4)) for body in roots)
    kinds = [joint.type for body in roots for joint in body.joints]
    return kinds == ["free"] and not placed and not any(roots[0].joints[0].anchor)


def read(model, text, kind):
    """Load the file of a model again."""
    if kind == "mjcf":
        return quietly(jc.load_mjcf, text)
    return quietly(jc.load_urdf, text, base="free" if has_left_out_root(model) else "fixed")


def states(model, seed=3):
    rng = np.random.default_rng(seed)
    q = jc.random_configuration(model, rng, STATES)
    return q, *rng.standard_normal((2, STATES, model.nv))


def relative(ours, theirs):
    """Largest difference of a state, relative to the largest entry of that state."""
    if not ours.size:
        return 0.0
    scale = np.abs(ours).max(axis=1)
    return float((np.abs(ours - theirs).max(axis=1) / np.where(scale > 0, scale, 1.0)).max())


def assert_same(model, again):
    """All names and limits exactly, dynamics and frames to rounding."""
    assert again._key()[:3] == model._key()[:3]
    assert {n: f.body for n, f in again.frames.items()} == {
        n: f.body for n, f in model.frames.items()
    }
    for field in ("gravity", "actuated", *RATE_FIELDS, *COORDINATE_FIELDS):
        assert np.array_equal(getattr(again, field), getattr(model, field)), field
    q, v, a = states(model)
    tau = jc.inverse_dynamics(model, q, v, a)
    assert relative(tau, jc.inverse_dynamics(again, q, v, a)) < PROMISED
    for name, frame in model.frames.items():
        difference = np.abs(again.frames[name].placement - frame.placement).max()
        assert difference <= 16 * EPS * max(1.0, np.abs(frame.placement).max()), name
    assert again.poses.keys() == model.poses.keys()
    for name, pose in model.poses.items():
        difference = jc.difference(model, pose, again.poses[name])  # quaternions have two signs
        assert np.abs(difference).max(initial=0.0) <= 32 * EPS * max(1.0, *np.abs(pose)), name
