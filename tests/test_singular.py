"""A joint that moves no inertia is named in an error; results never hold nan; and small, large
or long robots are not mistaken for singular ones."""

from __future__ import annotations

import numpy as np
import pytest

import jounce as jc

EPS = np.finfo(float).eps
X, Y, Z = np.eye(3)
SOLID = {"mass": 1.3, "com": (0.1, 0.2, -0.3), "inertia": (0.05, 0.04, 0.03)}


def massless_leaf():
    builder = jc.ModelBuilder()
    builder.add_body("upper", joint="revolute", axis=Y, **SOLID)
    builder.add_body("hand", "upper", joint="revolute", axis=X, placement=(0, 0, -0.5))
    return builder.build(), "hand_joint"


def massless_slider():
    builder = jc.ModelBuilder()
    builder.add_body("upper", joint="revolute", axis=Y, **SOLID)
    builder.add_body("hand", "upper", joint="prismatic", axis=(1, 2, 3), placement=(0, 0, -0.5))
    return builder.build(), "hand_joint"


def massless_chain():
    builder = jc.ModelBuilder()
    builder.add_body("upper", joint="revolute", axis=Y, **SOLID)
    for k in range(4):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "upper", joint="revolute", axis=(1, k, 2))
    return builder.build(), "b3_joint"


def massless_free_body():
    return jc.ModelBuilder().add_body("ghost", joint="free").build(), "ghost_joint"


def massless_ball():
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="free", **SOLID)
    builder.add_body("ball", "base", joint="spherical", placement=(0.1, 0, 0))
    return builder.build(), "ball_joint"


def coincident_axes():
    """Two revolute joints about one line with nothing between them."""
    builder = jc.ModelBuilder()
    builder.add_body("first", joint="revolute", axis=(1, 2, 3))
    builder.add_body("second", "first", joint="revolute", axis=(1, 2, 3), **SOLID)
    return builder.build(), "first_joint"


def opposite_sliders():
    builder = jc.ModelBuilder()
    builder.add_body("base", joint="revolute", axis=X, **SOLID)
    builder.add_body("first", "base", joint="prismatic", axis=(1, 2, 3), placement=(0.3, 0, 0))
    builder.add_body("second", "first", joint="prismatic", axis=(-1, -2, -3), **SOLID)
    return builder.build(), "first_joint"


def point_mass_on_the_axis():
    axis = np.array([1.0, 2.0, 3.0])
    builder = jc.ModelBuilder()
    builder.add_body("arm", joint="revolute", axis=Y, **SOLID)
    builder.add_body("tip", "arm", joint="revolute", axis=axis, mass=2.0, com=0.3 * axis)
    return builder.build(), "tip_joint"


def rod_about_itself():
    builder = jc.ModelBuilder()
    builder.add_body("rod", joint="spherical", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0))
    return builder.build(), "rod_joint"


def four_sliders():
    """Four prismatic joints in a space of three directions."""
    builder = jc.ModelBuilder()
    for k, axis in enumerate([X, Y, Z, (1, 1, 1)]):
        solid = SOLID if k == 3 else {}
        builder.add_body(f"b{k}", f"b{k - 1}" if k else None, joint="prismatic", axis=axis, **solid)
    return builder.build(), "b0_joint"


SINGULAR = [
    massless_leaf,
    massless_slider,
    massless_chain,
    massless_free_body,
    massless_ball,
    coincident_axes,
    opposite_sliders,
    point_mass_on_the_axis,
    rod_about_itself,
    four_sliders,
]
COUNTS = [1, 2, 8, 11]


def gimbal():
    """Three axes through one point, the first two massless: singular when 1 and 3 align."""
    builder = jc.ModelBuilder()
    builder.add_body("yaw", joint="revolute", axis=Z)
    builder.add_body("pitch", "yaw", joint="revolute", axis=Y)
    builder.add_body("roll", "pitch", joint="revolute", axis=X, **SOLID)
    return builder.build()


def solvers(model, q, v, tau):
    nothing = np.zeros(model.nv, bool)
    return {
        "forward_dynamics": lambda: jc.forward_dynamics(model, q, v, tau),
        "hybrid_dynamics": lambda: jc.hybrid_dynamics(model, q, v, tau, tau, nothing),
        "inverse_mass_matrix": lambda: jc.inverse_mass_matrix(model, q),
    }


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("make", SINGULAR)
def test_the_joint_that_moves_no_inertia_is_named(make, count, state):
    model, joint = make()
    at = state(model, *([count] if count > 1 else []))
    for solve in solvers(model, at.q, at.v, at.tau).values():
        with pytest.raises(jc.SingularError, match=f"joint '{joint}' moves vanishes"):
            solve()


@pytest.mark.parametrize("make", SINGULAR)
def test_what_needs_no_inverse_works_all_the_same(make, state):
    model, _ = make()
    at = state(model, 9)
    M = jc.mass_matrix(model, at.q)
    tau = jc.inverse_dynamics(model, at.q, at.v, at.a)
    expected = np.einsum("...ij,...j", M, at.a) + jc.bias_forces(model, at.q, at.v)
    scale = 1 + np.abs(tau).max() + np.abs(M).max()
    np.testing.assert_allclose(tau, expected, rtol=0, atol=64 * EPS * scale)
    eigenvalues = np.linalg.eigvalsh(M)
    assert (eigenvalues[:, 0] <= 64 * EPS * eigenvalues[:, -1]).all()


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("make", SINGULAR)
def test_prescribing_the_joint_removes_the_error(make, count, state):
    """One rate at a time, following the error, until what is left is regular."""
    model, _ = make()
    at = state(model, *([count] if count > 1 else []))
    mask = np.zeros(model.nv, bool)
    for _ in range(model.nv + 1):
        try:
            a, tau = jc.hybrid_dynamics(model, at.q, at.v, at.a, at.tau, mask)
            break
        except jc.SingularError as error:
            named = next(name for name in model.joint_names if repr(name) in str(error))
            rates = mask[model.v_slice(named)]
            assert not rates.all(), "a joint that is prescribed is called singular"
            rates[np.argmin(rates)] = True
    expected = jc.inverse_dynamics(model, at.q, at.v, a)
    np.testing.assert_allclose(tau, expected, rtol=1e-8, atol=1e-8 * (1 + np.abs(a).max()))
    np.testing.assert_array_equal(a[..., mask], at.a[..., mask])


@pytest.mark.parametrize("make", SINGULAR)
def test_armature_removes_the_error(make, state):
    model, _ = make()
    model = model.replace(armature=np.full(model.nv, 1e-3))
    at = state(model, 9)
    a = jc.forward_dynamics(model, at.q, at.v, at.tau)
    tau = jc.inverse_dynamics(model, at.q, at.v, a)
    np.testing.assert_allclose(tau, at.tau, rtol=0, atol=1e-8 * (1 + np.abs(a).max()))


def test_only_the_singular_state_of_a_batch_is_named():
    model = gimbal()
    q = np.tile([0.3, 0.4, 0.5], (3, 20, 1))
    zero = np.zeros(3)
    assert np.isfinite(jc.forward_dynamics(model, q, zero, zero)).all()
    for at in [(0, 0), (1, 7), (2, 19)]:
        for pitch in (np.pi / 2, -np.pi / 2, 5 * np.pi / 2):
            locked = q.copy()
            locked[(*at, 1)] = pitch
            message = rf"joint 'yaw_joint' moves vanishes in state \[{at[0]}, {at[1]}\]"
            for solve in solvers(model, locked, zero, zero).values():
                with pytest.raises(jc.SingularError, match=message):
                    solve()


def test_near_gimbal_lock_there_is_an_answer():
    model = gimbal()
    for distance in (1e-2, 1e-4, 1e-6):
        q = np.array([0.3, np.pi / 2 - distance, 0.5])
        tau = np.array([0.1, 0.2, 0.3])
        a = jc.forward_dynamics(model, q, np.zeros(3), tau)
        residual = jc.inverse_dynamics(model, q, np.zeros(3), a) - tau
        assert np.abs(residual).max() < 64 * EPS * (1 + np.abs(a).max())


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_singular_state_is_named_whatever_the_threads(threads):
    model = gimbal()
    q = np.tile([0.3, 0.4, 0.5], (30000, 1))
    q[[29000, 15003, 15004, 20000], 1] = np.pi / 2
    for _ in range(5):
        with pytest.raises(jc.SingularError, match=r"in state \[15003\]"):
            jc.forward_dynamics(model, q, np.zeros(3), np.zeros(3), threads=threads)


def scaled(mass: float, length: float, n: int = 7):
    """An arm of rods with the given mass and length."""
    builder = jc.ModelBuilder()
    for k in range(n):
        moment = mass * length**2 / 12
        builder.add_body(
            f"b{k}",
            f"b{k - 1}" if k else None,
            joint="revolute",
            axis=(X, Y, Z)[k % 3],
            placement=(0, 0, length if k else 0),
            mass=mass,
            com=(0.1 * length, 0, 0.5 * length),
            inertia=(moment, moment, 0.01 * moment),
        )
    return builder.build()


SIZES = [
    (1e-9, 1e-3),
    (1e-9, 1.0),
    (1e-12, 1.0),
    (1e-30, 1e-6),
    (1e9, 1.0),
    (1e6, 1e4),
    (1e30, 1e6),
]


@pytest.mark.parametrize(("mass", "length"), SIZES)
def test_tiny_and_huge_robots_are_not_singular(mass, length, state):
    model = scaled(mass, length)
    at = state(model, 20)
    tau = at.tau * mass * length**2
    for solve in solvers(model, at.q, 0 * at.v, tau).values():
        assert np.isfinite(solve()).all()
    a = jc.forward_dynamics(model, at.q, 0 * at.v, tau)
    back = jc.inverse_dynamics(model, at.q, 0 * at.v, a)
    scale = mass * length**2 * (np.abs(a).max() + 1) + mass * length * 9.81 * model.nv
    np.testing.assert_allclose(back, tau, rtol=0, atol=1e-12 * scale * model.nv)


@pytest.mark.parametrize("ratio", [1e-9, 1e-6, 1e6, 1e9])
def test_light_and_heavy_bodies_may_meet(ratio, state):
    builder = jc.ModelBuilder()
    for k in range(6):
        m = ratio if k % 2 else 1.0
        builder.add_body(
            f"b{k}",
            f"b{k - 1}" if k else None,
            joint="revolute",
            axis=(X, Y, Z)[k % 3],
            placement=(0.1, 0, 0.3),
            mass=m,
            com=(0.02, 0.01, 0.2),
            inertia=(0.02 * m, 0.02 * m, 0.01 * m),
        )
    model = builder.build()
    at = state(model, 50)
    for solve in solvers(model, at.q, at.v, at.tau).values():
        assert np.isfinite(solve()).all()
    a = jc.forward_dynamics(model, at.q, at.v, at.tau)
    back = jc.inverse_dynamics(model, at.q, at.v, a)
    terms = np.abs(jc.mass_matrix(model, at.q)) @ np.abs(a)[..., None]
    scale = terms[..., 0].max(-1, keepdims=True) + np.abs(jc.bias_forces(model, at.q, at.v))
    assert (np.abs(back - at.tau) <= 64 * model.nv * EPS * (scale + np.abs(at.tau))).all()


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_chain_of_ten_thousand_links_is_not_singular(base):
    model = jc.models.chain(10000, base)
    rng = np.random.default_rng(0)
    q = jc.neutral(model)
    q[-9999:] = 0.01 * rng.standard_normal(9999)
    zero = np.zeros(model.nv)
    for tau in (zero, rng.standard_normal(model.nv)):
        a = jc.forward_dynamics(model, q, zero, tau)
        weight = np.abs(jc.gravity_forces(model, q)).max()
        back = jc.inverse_dynamics(model, q, zero, a)
        np.testing.assert_allclose(back, tau, rtol=0, atol=model.nv * EPS * weight)
