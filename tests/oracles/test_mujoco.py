"""MJCF models agree with MuJoCo: our own with what readers get wrong, and real ones."""

from __future__ import annotations

import functools
import importlib.util
import warnings
from pathlib import Path
from types import SimpleNamespace

import mjcf_models
import numpy as np
import pytest
from comparison import RELATIVE, relative_error, scaled_condition

import jounce as jc
from jounce.interop.mujoco import Converter
from jounce.interop.mujoco import model as without_file
from jounce.io._mjcf_names import body_names, joint_names
from jounce.io.mjcf import load_mjcf

mujoco = pytest.importorskip("mujoco")

STATES = 20
OWN = {name: getattr(mjcf_models, name) for name in ("TREE", "FOREST", "DRIVEN")}
REAL = {
    "dm_control": (
        "locomotion/walkers/assets/build_fruitfly/assets/drosophila_fused.xml",
        "locomotion/walkers/assets/dog_v2/dog.xml",
        "locomotion/walkers/assets/fruitfly_v2/fruitfly.xml",
        "locomotion/walkers/assets/humanoid_CMU_V2020.xml",
        "locomotion/walkers/assets/rodent.xml",
        "mujoco/testing/assets/model_with_ball_joints.xml",
        "suite/acrobot.xml",
        "suite/cheetah.xml",
        "suite/dog.xml",
        "suite/fish.xml",
        "suite/humanoid.xml",
        "suite/humanoid_CMU.xml",
        "suite/manipulator.xml",
        "suite/quadruped.xml",
        "suite/stacker.xml",
        "suite/walker.xml",
        "third_party/kinova/jaco_arm.xml",
    ),
    "gymnasium_robotics": (
        "envs/assets/adroit_hand/adroit_door.xml",
        "envs/assets/adroit_hand/adroit_relocate.xml",
        "envs/assets/fetch/pick_and_place.xml",
        "envs/assets/hand/manipulate_block.xml",
        "envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml",
        "envs/mujoco/assets/ant.xml",
        "envs/mujoco/assets/humanoid.xml",
        "envs/mujoco/assets/walker2d.xml",
    ),
}
LARGE = {"dog", "drosophila_fused", "fruitfly", "kitchen_env_model"}
"""Files that take MuJoCo's compiler a second or two."""


def real_models():
    for package, names in REAL.items():
        spec = importlib.util.find_spec(package)
        for name in names if spec and spec.origin else ():
            path = Path(spec.origin).parent / name
            marks = [pytest.mark.long] if path.stem in LARGE else []
            if path.is_file():
                yield pytest.param(path, id=f"{package}/{path.stem}", marks=marks)


MODELS = [pytest.param(text, id=name.lower()) for name, text in OWN.items()] + list(real_models())
every_model = pytest.mark.parametrize("source", MODELS)


@pytest.fixture(autouse=True, scope="module")
def silence():
    """MuJoCo would write its remarks on old files to a log in the working directory."""
    mujoco.set_mju_user_warning(lambda text: None)
    yield
    mujoco.set_mju_user_warning(None)


@functools.cache
def load_quietly(source, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        return load_mjcf(source, **options)


@functools.cache
def setting(source):
    """The robot in both libraries, MuJoCo's without what only it has, and random states."""
    model = load_quietly(source)
    text = isinstance(source, str)
    theirs = (mujoco.MjModel.from_xml_string if text else mujoco.MjModel.from_xml_path)(str(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jc.ModelWarning)
        straight = without_file(theirs)  # before anything is switched off
    flags = mujoco.mjtDisableBit
    theirs.opt.disableflags |= int(flags.mjDSBL_CONTACT) | int(flags.mjDSBL_CONSTRAINT)
    theirs.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    theirs.jnt_stiffness[:] = 0
    theirs.tendon_stiffness[:] = 0
    theirs.tendon_armature[:] = 0
    there = Converter(model, theirs)
    rng = np.random.default_rng(7)
    q = jc.random_configuration(model, rng, STATES)
    v, a = rng.standard_normal((2, STATES, model.nv))
    return SimpleNamespace(
        model=model,
        straight=straight,
        mj=theirs,
        there=there,
        names=body_names(theirs),
        q=q,
        v=v,
        a=a,
        qpos=there.to_q(q),
        qvel=there.to_v(q, v),
        qacc=there.to_a(q, v, a),
    )


def at_states(s, evaluate):
    """Evaluate something on MuJoCo's data at each state, and stack the results."""
    data, results = mujoco.MjData(s.mj), []
    for k in range(STATES):
        data.qpos, data.qvel = s.qpos[k], s.qvel[k]
        mujoco.mj_fwdPosition(s.mj, data)
        mujoco.mj_fwdVelocity(s.mj, data)
        results.append(evaluate(data, k))
    return [np.array(x) for x in zip(*results, strict=True)]


@pytest.mark.long
@every_model
def test_poses(source):
    """All bodies and sites, those without joints and without names too."""
    s = setting(source)
    position, rotation = at_states(s, lambda d, _: (d.xpos.copy(), d.xmat.copy()))
    for i in range(1, s.mj.nbody):
        pose = jc.body_pose(s.model, s.q, s.names[i])
        ours = np.broadcast_to(pose, (STATES, 4, 4))
        assert relative_error(ours[:, :3, 3], position[:, i], 1.0) < RELATIVE
        assert relative_error(ours[:, :3, :3].reshape(STATES, 9), rotation[:, i]) < RELATIVE


@every_model
def test_mass_matrix(source):
    """M with the armature of joints and actuators, and its inverse by forward dynamics."""
    s = setting(source)

    def full(data, _):
        M = np.zeros((s.mj.nv, s.mj.nv))
        mujoco.mj_fullM(s.mj, data, M)
        return (M,)

    (theirs,) = at_states(s, full)
    ours = s.there.to_matrix(s.q, jc.mass_matrix(s.model, s.q))
    assert relative_error(ours, theirs) < RELATIVE
    inverse = s.there.to_matrix(s.q, jc.inverse_mass_matrix(s.model, s.q))
    condition = scaled_condition(theirs)
    expected = np.linalg.inv(theirs)
    assert relative_error(inverse, expected) < max(RELATIVE, 100 * 2.2e-16 * condition)


@every_model
def test_inverse_dynamics(source):
    """mj_rne, which leaves armature out, and qfrc_bias, which is at MuJoCo's zero acceleration."""
    s = setting(source)
    bare = s.model.replace(armature=np.zeros(s.model.nv))

    def rne(data, k):
        data.qacc = s.qacc[k]
        result = np.zeros(s.mj.nv)
        mujoco.mj_rne(s.mj, data, 1, result)
        return result, data.qfrc_bias.copy()

    forces, bias = at_states(s, rne)
    tau = jc.inverse_dynamics(bare, s.q, s.v, s.a)
    assert relative_error(s.there.to_tau(s.q, tau), forces) < RELATIVE
    still = s.there.from_a(s.qpos, s.qvel, np.zeros(s.mj.nv))
    ours = jc.inverse_dynamics(bare, s.q, s.v, still)
    assert relative_error(s.there.to_tau(s.q, ours), bias) < RELATIVE


@every_model
def test_forward_dynamics(source):
    """mj_forward with applied forces, without its springs, dampers, actuators and constraints."""
    s = setting(source)
    heavy = (s.model.armature > 0) & np.repeat(
        [joint.type == "free" for joint in s.model.joints],
        [s.model.v_slice(k).stop - s.model.v_slice(k).start for k in range(len(s.model.joints))],
    )
    if heavy.any():
        pytest.skip("armature of a free joint acts in world axes in MuJoCo")
    tau = s.there.to_tau(s.q, jc.inverse_dynamics(s.model, s.q, s.v, s.a))

    def forward(data, k):
        data.qfrc_applied = tau[k]
        mujoco.mj_forward(s.mj, data)
        # what MuJoCo adds to the applied forces
        extra = data.qfrc_passive + data.qfrc_actuator + data.qfrc_constraint
        return data.qacc.copy(), tau[k] + extra

    accelerations, forces = at_states(s, forward)
    ours = jc.forward_dynamics(s.model, s.q, s.v, s.there.from_tau(s.qpos, forces))
    M = jc.mass_matrix(s.model, s.q)
    tolerance = max(RELATIVE, 100 * 2.2e-16 * scaled_condition(M))
    assert relative_error(s.there.to_a(s.q, s.v, ours), accelerations) < tolerance


@every_model
def test_jacobians(source):
    """mj_jacBody: linear and angular velocity of a body's origin, both in world axes."""
    s = setting(source)
    bodies = [i for i in range(1, s.mj.nbody) if s.model.frames[s.names[i]].body >= 0]
    for i in bodies[:: max(1, len(bodies) // 4)]:

        def jacobian(data, _, i=i):
            linear, angular = np.zeros((2, 3, s.mj.nv))
            mujoco.mj_jacBody(s.mj, data, linear, angular, i)
            return (np.concatenate([angular, linear]),)

        (theirs,) = at_states(s, jacobian)
        ours = jc.jacobian(s.model, s.q, s.names[i], twist="hybrid")
        assert relative_error(s.there.to_v(s.q[:, None], ours), theirs) < RELATIVE


@every_model
def test_energy_and_center_of_mass(source):
    """Energies and subtree_com; bodies fixed to the world count in MuJoCo's."""
    s = setting(source)
    moving = np.array([s.model.frames[n].body >= 0 if i else False for i, n in enumerate(s.names)])
    masses = np.where(moving, s.mj.body_mass, 0.0)
    gravity = s.model.gravity

    def evaluate(data, _):
        mujoco.mj_energyVel(s.mj, data)
        com = masses @ data.xipos / masses.sum()
        return data.energy[1], -masses.sum() * gravity @ com, com

    kinetic, potential, com = at_states(s, evaluate)
    assert relative_error(jc.kinetic_energy(s.model, s.q, s.v), kinetic) < RELATIVE
    assert relative_error(jc.potential_energy(s.model, s.q), potential, 1.0) < RELATIVE
    assert relative_error(jc.center_of_mass(s.model, s.q), com, 0.1) < RELATIVE


def test_coordinates_of_hinges_and_slides_are_qpos_with_their_references():
    """At q = qpos0 every body is where the file puts it."""
    s = setting(mjcf_models.TREE)
    q = s.there.from_q(s.mj.qpos0)
    assert q[s.model.q_slice("h1")] == 0.4
    assert q[s.model.q_slice("h2")] == -0.7
    pose = jc.body_pose(s.model, q, "elbow")
    shoulder = jc.body_pose(s.model, q, "shoulder")
    np.testing.assert_allclose(
        (np.linalg.inv(shoulder) @ pose)[:3, 3], (0.3, 0, 0.1), rtol=0, atol=1e-15
    )


def test_names_limits_and_joint_data():
    s = setting(mjcf_models.TREE)
    model = s.model
    assert model.name == "tree"
    assert model.body_names == ("torso", "shoulder", "elbow", "body5", "hip")
    assert model.joint_names[-4:] == ("body5_joint", "s2", "ball2", "s3")
    h1 = model.joints[model.joint_index("h1")]
    assert (h1.lower, h1.upper, h1.armature) == (-1.0, 2.0, 0.05)
    assert model.damping[model.v_slice("ball")].tolist() == [0.3] * 3
    assert model.friction[model.v_slice("h2")].tolist() == [0.1]
    assert model.gravity.tolist() == [0.3, -0.2, -9.5]
    assert {"plate", "chest", "tip", "mark"} <= set(model.frames)
    forest = load_mjcf(mjcf_models.FOREST)
    assert forest.frames["wall"].body == forest.frames["wall_site"].body == -1
    np.testing.assert_allclose(forest.frames["wall_site"].placement[:3, 3], (0, 0, 5))


def test_actuated_joints_are_those_with_an_actuator():
    model = load_mjcf(mjcf_models.DRIVEN)
    assert model.actuated.tolist() == [False, True, True, False]
    free = load_mjcf(mjcf_models.TREE)
    assert not free.actuated[:6].any()
    assert free.actuated[6:].all()


def test_armature_and_damping_of_actuators_belong_to_the_joint():
    text = mjcf_models.DRIVEN.replace('gear="3"', 'gear="3" armature="0.2" damping="0.5"')
    try:
        mujoco.MjModel.from_xml_string(text)
    except ValueError:
        pytest.skip("this MuJoCo has no armature of actuators")
    model = load_mjcf(text)
    at = model.v_slice("j2")
    np.testing.assert_allclose(model.armature[at], 0.1 + 9 * 0.2)
    np.testing.assert_allclose(model.damping[at], 9 * 0.5)


def test_free_base_is_added_to_the_one_fixed_root():
    model = load_mjcf(ARM, base="free")
    assert model.joint_names == ("root_joint", "j")
    assert load_mjcf(ARM).joint_names == ("j",)
    pose = jc.body_pose(model, jc.neutral(model), "arm")
    np.testing.assert_array_equal(pose, np.eye(4))
    assert load_mjcf(mjcf_models.TREE, base="free").joint_names[0] == "root"
    with pytest.raises(jc.ModelError, match="one root body"):
        load_mjcf(ARM.replace("</worldbody>", SECOND + "</worldbody>"), base="free")
    with pytest.raises(ValueError, match="base must be"):
        load_mjcf(ARM, base="floating")


ARM = """<mujoco><worldbody><body name="arm" pos="0 0 1"><geom size="0.1"/>
  <body name="hand" pos="1 0 0"><joint name="j"/><geom size="0.1"/></body>
  </body></worldbody></mujoco>"""
SECOND = '<body name="other"><geom size="1"/><body><joint/><geom size="1"/></body></body>'


def test_gravity_of_the_file_its_flag_and_the_argument():
    off = ARM.replace("<worldbody>", '<option><flag gravity="disable"/></option><worldbody>')
    assert load_mjcf(off).gravity.tolist() == [0, 0, 0]
    assert load_mjcf(off, gravity=(1, 2, 3)).gravity.tolist() == [1, 2, 3]
    assert load_mjcf(ARM).gravity.tolist() == [0, 0, -9.81]


LEFT_OUT = {
    "equality constraints of tendons and flexes \\('e'\\)": ARM.replace(
        "</mujoco>",
        '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
        '<equality><tendon name="e" tendon1="t"/></equality></mujoco>',
    ),
    "tendons \\('t'\\)": ARM.replace(
        "</mujoco>",
        '<tendon><fixed name="t" armature="0.1"><joint joint="j" coef="1"/></fixed></tendon>'
        "</mujoco>",
    ),
    "gravity compensation \\('hand'\\)": ARM.replace('"hand"', '"hand" gravcomp="1"'),
    "fluid": ARM.replace("<worldbody>", '<option density="1000"/><worldbody>'),
    "body axes here \\('f'\\)": ARM.replace(
        '<geom size="0.1"/>\n', '<joint name="f" type="free" armature="1"/><geom size="0.1"/>\n'
    ),
}


@pytest.mark.parametrize("message", LEFT_OUT)
def test_what_is_left_out_is_named_and_refused_if_strict(message):
    with pytest.warns(jc.ModelWarning, match=message) as caught:
        load_mjcf(LEFT_OUT[message])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with pytest.raises(jc.ModelError, match=message):
        load_mjcf(LEFT_OUT[message], strict=True)


def test_springs_that_the_file_disables_are_not_read():
    text = ARM.replace('name="j"', 'name="j" stiffness="3"')
    assert load_mjcf(text, strict=True).stiffness.tolist() == [3.0]
    flag = '<option><flag spring="disable"/></option><worldbody>'
    assert load_mjcf(text.replace("<worldbody>", flag), strict=True).stiffness.tolist() == [0.0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<mujoco><worldbody></mujoco>",
        "<mujoco><worldbody><bod/></worldbody></mujoco>",
        "<robot name='r'><link name='a'/></robot>",
        "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
        ARM.replace("0 0 1", "0 0 nan"),
        ARM.replace("0 0 1", "0 0"),
        ARM.replace('"hand"', '"arm"'),
    ],
)
def test_bad_files_are_refused_with_their_name(text, tmp_path, capfd):
    path = tmp_path / "bad.xml"
    path.write_text(text)
    with pytest.raises(jc.ModelError, match=r"bad\.xml"):
        load_mjcf(path)
    with pytest.raises(jc.ModelError):
        load_mjcf(text or "<")
    assert capfd.readouterr() == ("", "")


def test_a_missing_file_and_includes(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_mjcf(tmp_path / "none.xml")
    (tmp_path / "arm.xml").write_text(ARM)
    (tmp_path / "scene.xml").write_text('<mujoco><include file="arm.xml"/></mujoco>')
    assert load_mjcf(tmp_path / "scene.xml").joint_names == ("j",)
    assert jc.load(tmp_path / "scene.xml").joint_names == ("j",)


def test_unnamed_and_clashing_names_are_resolved():
    text = """<mujoco><worldbody>
      <body><joint/><joint axis="1 0 0"/><geom size="1"/><site/></body>
      <body name="body1"><joint name="body3_joint"/><geom size="1"/><site name="body1"/></body>
      <body><joint/><geom size="1"/></body></worldbody></mujoco>"""
    model = load_mjcf(text)
    assert model.body_names == ("body1_", "body1", "body3")
    assert model.joint_names == ("body1__joint0", "body1__joint1", "body3_joint", "body3_joint_")
    assert {"site0", "body1_site"} <= set(model.frames)
    assert joint_names(mujoco.MjModel.from_xml_string(text)) == list(model.joint_names)
