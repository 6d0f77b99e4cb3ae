"""What the flags of an MJCF file switch on and off."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Acting", "acting", "first_of"]


class Acting(NamedTuple):
    """What acts in a `mujoco.MjModel`."""

    gravity: bool
    springs: bool
    dampers: bool
    passive: bool
    """Compensation of gravity, fluids, plugins: off if neither springs nor dampers act."""
    friction: bool
    limits: bool
    equalities: bool
    actuators: bool
    clamps: bool
    """Whether controls are kept in their ranges."""
    sleep: bool
    """Whether bodies may be asleep."""


def acting(compiled: Any) -> Acting:
    """Read the flags by their names: before MuJoCo 3.3.6 the bits were others."""
    import mujoco

    def off(*names: str) -> bool:
        return _has(compiled.opt.disableflags, mujoco.mjtDisableBit, "mjDSBL_", names)

    springs, dampers = not off("SPRING", "PASSIVE"), not off("DAMPER", "PASSIVE")
    return Acting(
        gravity=not off("GRAVITY"),
        springs=springs,
        dampers=dampers,
        passive=springs or dampers,
        friction=not off("CONSTRAINT", "FRICTIONLOSS"),
        limits=not off("CONSTRAINT", "LIMIT"),
        equalities=not off("CONSTRAINT", "EQUALITY"),
        actuators=not off("ACTUATION"),
        clamps=not off("CLAMPCTRL"),
        sleep=_has(compiled.opt.enableflags, mujoco.mjtEnableBit, "mjENBL_", ["SLEEP"]),
    )


def _has(flags: int, bits: Any, prefix: str, names: Any) -> bool:
    """Whether one of the bits is set; versions of MuJoCo that lack one never set it."""
    return any(int(flags) & int(getattr(bits, prefix + name, 0)) for name in names)


def first_of(compiled: Any, field: str, k: int) -> int:
    """Where what actuator k has several of begins; before MuJoCo 4 it has one of each."""
    return int(getattr(compiled, field, range(k + 1))[k])
