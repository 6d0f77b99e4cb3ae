"""Pickles of models in which something was changed, as no constructor would have let it be."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

from fuzz_arguments import MODELS, Arguments

import jounce as jc
from jounce.model.coupled import CoupledModel
from jounce.model.joints import JOINT_TYPES, Elementary

NAMES = (*JOINT_TYPES, "", "x", "\ud800", "body0", "body1", "joint0", "joint1", "tool")
LONG = Elementary(0, (0.0, 2.0, 0.0), (0.0, 0.0, 0.0))
ELEMENTS = ((LONG,), (LONG._replace(kind=77),), 3)


class Pickled:
    """Pickled as a call, and a state that is set after it."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], state: Any = None) -> None:
        self.made = function, arguments, state

    def __reduce__(self) -> tuple[Any, ...]:
        """What the pickle shall say."""
        return self.made


def samples() -> list[jc.Model]:
    """Models of which every part has something."""
    arm = jc.models.panda_like()
    held = (jc.Weld("tool"), jc.Coupling({"joint1": 1.0, "joint2": -2.0}), jc.Distance("link3", 0))
    rolls = jc.Rolling("link5", 0.2, (0.0, 1.0, 0.0))
    kind, made_of = arm.__reduce__()
    follow = jc.Mimic("a", -2.0, 0.1)
    builder = jc.ModelBuilder().add_body("a", joint="revolute", joint_name="a", mass=1.0)
    builder.add_body("b", "a", "prismatic", (0, 0, 1), mimic=follow, mass=1.0)
    return [*MODELS, kind(*made_of[:-1], (*held, rolls)), builder.build()]


def honest(model: Any) -> Any:
    """The same, if it is what its parts say: made of them anew it must be equal."""
    if not isinstance(model, jc.Model):
        return model
    whole = model.expanded
    kind, (name, gravity, bodies, *others) = whole.__reduce__()
    fresh = [b._replace(joints=tuple(map(dataclasses.replace, b.joints))) for b in bodies]
    if kind(name, gravity, fresh, *others) != whole:
        raise AssertionError("a model that is not what its parts say")
    if pickle.loads(pickle.dumps(model)) != model:
        raise AssertionError("a pickle that is not the model")
    if jc.ModelBuilder(whole).build(warn=False) != whole:
        raise AssertionError("a builder that does not build the model again")
    if any(joint.mimic for joint in whole.joints):
        model.coupled()
    return model


class Pickles:
    """Makes pickles from the random numbers of `fitting`."""

    def __init__(self, fitting: Arguments, numbers: tuple[float, ...]) -> None:
        self.fitting, self.damaged = fitting, fitting.damage
        self.pick, self.chance = fitting.pick, fitting.chance
        self.numbers = numbers
        self.models = samples()

    def model(self) -> bytes | None:
        """A model with one or two changes; None if that cannot be pickled."""
        names = ("name", "gravity", "bodies", "frames", "visuals", "poses", "fixed_inertia")
        kind, made_of = self.pick(self.models).__reduce__()
        parts = dict(zip((*names, "constraints"), made_of, strict=True))
        for name in ("bodies", "visuals", "constraints"):
            parts[name] = list(parts[name])
        for _ in range(self.fitting.whole(1, 3)):
            self.tamper(parts)
        state = {self.pick([*parts, "nv", "nodes"]): self.pick(self.numbers)}
        model = Pickled(kind, tuple(parts.values()), state if self.chance(0.02) else None)
        if self.chance(0.05):
            expanded = self.damaged(None) if self.chance(0.3) else model
            model = Pickled(CoupledModel, (expanded,))
        try:
            return pickle.dumps(model)
        except Exception:
            return None

    def tamper(self, parts: dict[str, Any]) -> None:
        """Change one of what a model is made of, or something within it."""
        key = self.pick(["bodies"] * 8 + list(parts))
        whole = parts[key]
        if whole.__class__ not in (list, dict) or not whole or self.chance(0.1):
            parts[key] = self.changed(whole)
            return
        at = self.pick(list(whole) if isinstance(whole, dict) else range(len(whole)))
        if isinstance(whole, dict) and self.chance(0.1):
            whole[self.pick((*NAMES, 3, None))] = whole.pop(at)
        elif key == "bodies" and hasattr(whole[at], "joints") and self.chance(0.7):
            whole[at] = self.with_other_joint(whole[at])
        else:
            whole[at] = self.with_field(whole[at])

    def with_other_joint(self, body: Any) -> Any:
        """A body with a change in one of its joints."""
        joints = body.joints
        if not isinstance(joints, tuple) or not joints:
            return body
        k = self.fitting.whole(0, len(joints))
        return body._replace(joints=(*joints[:k], self.with_field(joints[k]), *joints[k + 1 :]))

    def with_field(self, thing: Any) -> Any:
        """With another value of one of its fields, which no constructor has seen."""
        if isinstance(thing, tuple) and hasattr(thing, "_fields"):
            field = self.pick(thing._fields)
            return thing._replace(**{field: self.changed(getattr(thing, field))})
        if not dataclasses.is_dataclass(thing):
            return self.changed(thing)
        state = dict(vars(thing))
        field = self.pick([*state, "no such"])
        state[field] = self.changed(state.get(field))
        if "_elements" in state and self.chance(0.3):
            state["_elements"] = self.pick(ELEMENTS)
        if self.chance(0.05):
            del state[field]
        return Pickled(object.__new__, (type(thing),), None if self.chance(0.02) else state)

    def changed(self, value: Any) -> Any:
        """The value with something changed: names, numbers that stand alone or in tuples."""
        if isinstance(value, str) and self.chance(0.5):
            return self.pick(NAMES)
        if isinstance(value, float) and self.chance(0.7):
            return self.pick(self.numbers)
        if isinstance(value, tuple) and value and self.chance(0.7):
            k = self.fitting.whole(0, len(value))
            new = (*value[:k], self.changed(value[k]), *value[k + 1 :])
            return type(value)(*new) if hasattr(value, "_fields") else new
        return self.damaged(value)
