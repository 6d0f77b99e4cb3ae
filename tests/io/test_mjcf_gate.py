"""What our reader of MJCF does before MuJoCo: includes, files, meshes, one handler of warnings."""

from __future__ import annotations

import os
import re
import struct
import threading

import numpy as np
import pytest

import jounce as jc
from jounce import cli
from jounce.errors import ModelError, ModelWarning
from jounce.io import _mjcf_gate
from jounce.io._folder import Folder
from jounce.io._mjcf_tree import expand
from jounce.io._source import read_source

mujoco = pytest.importorskip("mujoco")

BODY = '<body name="b"><joint name="j"/>\n{}</body>'
INERTIAL = '<inertial pos="0 0 0.1" mass="2" diaginertia="1 2 2.5"/>'
GEOM = '<geom type="mesh" mesh="m"/>'


def mjcf(inside: str, before: str = "") -> str:
    return f"<mujoco>\n{before}<worldbody>\n{BODY.format(inside)}\n</worldbody>\n</mujoco>"


def stl(size: float) -> bytes:
    """A tetrahedron as a binary STL file."""
    p = [np.zeros(3), *(size * np.eye(3))]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    rows = [struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in p[k]), 0) for face in faces]
    return b"\0" * 80 + struct.pack("<I", 4) + b"".join(rows)


@pytest.fixture
def save(tmp_path):
    def write(name: str, data: str | bytes):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


def test_every_element_begins_a_line_of_its_own(save):
    save("part.xml", '<x><body name="a &amp; b" pos="0&#10;0 1"><geom size=".1"/></body></x>')
    world = '<worldbody><include file="part.xml"/><geom size="1"/></worldbody>'
    text = f'<mujoco model="é">{world}</mujoco>'
    path = save("m.xml", text)
    tree = expand(read_source(path), Folder(path.parent, None, 10**6), 10**6)
    lines = tree.text({}).split("\n")
    assert len(lines) == len(tree.pieces) == 5
    for line, piece in zip(lines, tree.pieces, strict=True):
        assert f"<{piece.tag}" in line
    compiled = mujoco.MjModel.from_xml_string(tree.text({}))
    assert compiled.body(1).name == "a & b"
    np.testing.assert_array_equal(compiled.body_pos[1], [0, 0, 1])
    dropped = tree.text({2: None}).split("\n")
    assert len(dropped) == 5
    assert mujoco.MjModel.from_xml_string("\n".join(dropped)).nbody == 1


def test_errors_in_included_files_name_that_file_and_its_line(save):
    main = save("m.xml", '<mujoco>\n<include file="parts/arm.xml"/></mujoco>')
    save("parts/arm.xml", '<mujoco>\n\n<include file="tool.xml"/></mujoco>')  # beside itself
    save("parts/tool.xml", "<x>\n\n\n" + mjcf('<geom size="0"/>')[8:-9] + "</x>")
    with pytest.raises(ModelError, match=r"parts.tool\.xml:7: <geom> in <body name='b'>"):
        jc.load(main)
    save("parts/tool.xml", "<x>\n" + mjcf('<geom size=".1"/>')[8:-9] + "</x>")
    assert jc.load(main).joint_names == ("j",)
    save("parts/tool.xml", "<x>\n<y></x>")
    with pytest.raises(
        ModelError, match=r"arm\.xml:3: <include>: cannot .*tool\.xml:2: <y>: not well"
    ):
        jc.load(main)


def test_a_file_is_included_once(save):
    main = save("m.xml", '<mujoco>\n<include file="a.xml"/>\n<include file="a.xml"/></mujoco>')
    save("a.xml", mjcf('<geom size=".1"/>'))
    with pytest.raises(ModelError, match=r"m\.xml:3: <include>: 'a\.xml' is included twice"):
        jc.load(main)


@pytest.mark.parametrize("file", ["none.stl", "empty.stl", "broken.stl"])
def test_a_mesh_that_no_inertia_needs_is_not_read(file, save):
    save("empty.stl", b"")
    save("broken.stl", b"solid nonsense")
    asset = f'<asset>\n<mesh name="m" file="{file}" scale="0.001 0.001 0.001"/></asset>'
    model = jc.load(save("m.xml", mjcf(INERTIAL + GEOM, asset)))
    np.testing.assert_allclose(model.inertias[0, [0, 3]], [2, 0.2])
    for free in ('mass="0" ', 'density="0" '):
        inside = '<geom size="0.1"/>' + GEOM.replace("type", free + "type")
        other = jc.load(save("m.xml", mjcf(inside, asset)))
        np.testing.assert_allclose(other.inertias[0, 0], 4000 / 3 * np.pi * 1e-3)


def test_a_missing_mesh_that_an_inertia_needs_is_refused_at_its_element(save):
    asset = '<asset><mesh name="n" file="no.stl"/>\n<mesh file="m.stl"/></asset>'
    other = GEOM.replace('"m"', '"n"').replace("type", 'mass="0" type')
    path = save("m.xml", mjcf(GEOM + other, asset))
    with pytest.raises(ModelError, match=r"m\.xml:3: <mesh> in <asset>: there is no file 'm\.stl'"):
        jc.load(path)
    save("m.stl", stl(0.1))
    np.testing.assert_allclose(jc.load(path).inertias[0, 0], 1000 * 0.1**3 / 6, rtol=1e-6)
    fixed = path.read_text().replace('<joint name="j"/>', "")
    (path.parent / "m.stl").unlink()
    assert jc.load(save("m.xml", fixed)).n_bodies == 0  # fixed to the world: not needed
    with pytest.raises(ModelError, match=r"there is no file 'm\.stl'"):
        jc.load(path, base="free")


def test_meshes_come_out_as_in_mujoco_wherever_it_looks_for_them(save):
    for folder in ("a", "b/c"):
        save(f"{folder}/m.stl", stl(0.1 if folder == "a" else 0.2))
    for compiler, file in (
        ('meshdir="a"', "m.stl"),
        ('assetdir="b"', "c/m.stl"),
        ('assetdir="b" meshdir="a"', "m.stl"),
        ('meshdir="b/c" strippath="true"', "elsewhere/m.stl"),
        ("", "b/c/m.stl"),
        ("", "b\\c\\m.stl"),
    ):
        asset = f'<compiler {compiler}/><asset><mesh file="{file}" scale="1 2 1"/></asset>'
        path = save("m.xml", mjcf(GEOM, asset))
        if "\\" not in file:
            compiled = mujoco.MjModel.from_xml_path(str(path))
            np.testing.assert_allclose(jc.load(path).inertias[0, 0], compiled.body_mass[1])
        size = 0.1 if 'meshdir="a"' in compiler else 0.2
        np.testing.assert_allclose(jc.load(path).inertias[0, 0], 2000 * size**3 / 6, rtol=1e-6)


def test_files_are_those_of_the_project_or_of_a_given_folder(save, tmp_path):
    asset = '<asset><mesh name="m" file="../shapes/m.stl"/></asset>'
    path = save("robots/arm/m.xml", mjcf(GEOM, asset))
    save("robots/shapes/m.stl", stl(0.1))
    with pytest.raises(ModelError, match=r"m\.xml:2: <mesh name='m'> in <asset>: '\.\./shapes"):
        jc.load(path)
    assert jc.load(path, folder=tmp_path / "robots").nv == 1
    with pytest.raises(ModelError, match="outside of the model's folder"):
        jc.load(path, folder=tmp_path / "robots" / "arm")
    with pytest.raises(ValueError, match="folder must be a directory"):
        jc.load(path, folder=tmp_path / "nowhere")
    save("robots/package.xml", "<package/>")
    assert jc.load(path).nv == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
def test_pipes_and_devices_are_never_opened(save, tmp_path):
    os.mkfifo(tmp_path / "pipe.stl")
    os.mkfifo(tmp_path / "pipe.xml")
    for file in ("pipe.stl", "/dev/zero"):
        asset = f'<asset>\n<mesh name="m" file="{file}"/></asset>'
        path = save("m.xml", mjcf(GEOM, asset))
        with pytest.raises(ModelError, match=r"m\.xml:3: <mesh name='m'>"):
            jc.load(path, folder="/")
    for file in ("pipe.xml", "."):
        path = save("m.xml", f'<mujoco>\n<include file="{file}"/></mujoco>')
        message = rf"m\.xml:2: <include>: '{re.escape(file)}' is not a regular"
        with pytest.raises(ModelError, match=message):
            jc.load(path)
    for name in (tmp_path / "pipe.xml", "/dev/zero"):
        for read in (jc.load, jc.load_mjcf, jc.load_urdf):
            with pytest.raises(ModelError, match="not a regular file"):
                read(name)


def test_size_is_limited_before_the_file_is_read(save):
    text = mjcf('<geom size=".1"/>' + "<!-- " + 2000 * "x" + " -->")
    path = save("m.xml", text)
    assert jc.load(path).nv == 1
    size = rf"has {len(text):,} bytes, more than the limit of 2,000; max_bytes= raises it"
    for read in (jc.load, jc.load_mjcf, jc.load_urdf):
        with pytest.raises(ModelError, match=size):
            read(path, max_bytes=2000)
    with pytest.raises(ModelError, match="<string>: the model has"):
        jc.load_mjcf(text, max_bytes=2000)
    save("part.xml", text)
    main = save("main.xml", '<mujoco>\n<include file="part.xml"/></mujoco>')
    with pytest.raises(ModelError, match=r"main\.xml:2: <include>: .*bytes, more than the limit"):
        jc.load(main, max_bytes=len(text) + 20)
    with pytest.raises(ValueError, match="max_bytes must be positive"):
        jc.load(path, max_bytes=0)
    with pytest.raises(TypeError, match="max_bytes must be an integer"):
        jc.load(path, max_bytes="all")


def test_text_that_is_not_what_it_says_is_refused_and_other_encodings_are_read(save):
    good = mjcf('<geom name="é" size=".1"/>')
    with pytest.raises(ModelError, match=r"m\.xml:4: <geom>: not well-formed XML"):
        jc.load(save("m.xml", good.encode("latin-1")), strict=True)
    assert jc.load(save("m.xml", good.encode("latin-1"))).nv == 1  # as URDF files are
    declared = '<?xml version="1.0" encoding="iso-8859-1"?>' + good
    assert jc.load(save("m.xml", declared.encode("latin-1"))).nv == 1
    assert jc.load(save("m.xml", good.replace("é", "a").encode("utf-16"))).nv == 1
    assert jc.load(save("m.xml", good.replace("<geom", "<!-- a -- b --><geom"))).nv == 1


def test_slips_of_xml_are_mended_as_in_urdf(save, capsys):
    text = mjcf('<geom size=".1"/>').replace("<mujoco>", '<mujoco model="a & b">')
    assert jc.load_mjcf(text).name == "a & b" == jc.load(save("m.xml", text)).name
    with pytest.raises(ModelError, match="not well-formed XML"):
        jc.load_mjcf(text, strict=True)
    save("part.xml", "\n<?xml version='1.0'?>" + text.replace("<joint", "<!-- --- --><joint"))
    main = save("main.xml", '<mujoco>\n<include file="part.xml"/></mujoco>')
    assert jc.load(main).nv == 1
    with pytest.raises(ModelError, match=r"main\.xml:2: .*part\.xml:2: not well-formed XML"):
        jc.load(main, strict=True)
    assert cli.main(["check", str(main)]) == 4
    told = capsys.readouterr().out
    assert "precedes the XML declaration" in told
    assert "ampersand" in told


@pytest.mark.parametrize("count", ["-1", "0", " -3 ", "+0"])
def test_copies_that_are_none_are_told(count, save, capsys):
    """MuJoCo makes none without a word."""
    body = '<body><joint/><geom size=".1"/></body>'
    copied = f"<replicate count='{{}}'>{body}</replicate>"
    text = f"<mujoco><worldbody>{body}\n{copied}</worldbody></mujoco>"
    path = save("m.xml", text.format(count))
    said = re.escape(count.strip())
    message = rf"m\.xml:2: <replicate> in <worldbody>: count is {said}, .*left out"
    with pytest.warns(ModelWarning, match=message):
        assert jc.load(path).nv == 1
    with pytest.raises(ModelError, match=message):
        jc.load(path, strict=True)
    assert cli.main(["check", str(path)]) == 3
    assert "physics" in capsys.readouterr().out
    assert jc.load(save("m.xml", text.format("2"))).nv == 3


@pytest.mark.parametrize("levels", [1200, 100_000])
def test_deep_nesting_is_refused_at_its_line(levels, save):
    text = "<mujoco><worldbody>\n" + "<body>\n" * levels + "</body>" * levels
    path = save("m.xml", text + "</worldbody></mujoco>")
    with pytest.raises(ModelError, match=r"m\.xml:1000: <body>: elements are nested more"):
        jc.load(path)


def test_numbers_that_become_too_large_are_refused_at_the_body(save):
    for inside in ('<geom size="1e40"/>', '<geom size="1e9" density="1e45"/>'):
        with pytest.raises(ModelError, match=r"m\.xml:3: <body name='b'> in <worldbody>: its mass"):
            jc.load(save("m.xml", mjcf(inside)))


def test_unlimited_ranges_are_no_absurd_numbers():
    model = jc.load_mjcf(mjcf('<geom size=".1"/>').replace("<joint", '<joint range="-inf inf"'))
    assert (model.lower[0], model.upper[0]) == (-np.inf, np.inf)


def test_attached_models_pass_the_same_gate(save):
    main = save("m.xml", '<mujoco><asset>\n<model name="o" file="o.xml"/></asset></mujoco>')
    save("o.xml", mjcf('<geom size="nan"/>'))
    with pytest.raises(ModelError, match=r"o\.xml:4: <geom> in <body name='b'>"):
        jc.load(main)
    save("o.xml", main.read_text().replace("o.xml", "m.xml"))
    with pytest.raises(ModelError, match="attach each other without end"):
        jc.load(main)


def test_what_only_is_seen_asks_for_nothing(save):
    asset = """<size memory="900G" nkey="1000000000"/><visual><map znear="x"/></visual>
<custom><numeric name="n" size="2000000000"/></custom><statistic extent="1"/>
<asset><texture name="t" type="2d" builtin="flat" width="100000" height="100000"/>
<texture type="2d" file="none.png"/><hfield name="h" nrow="60000" ncol="60000" size="1 1 1 1"/>
<material name="m" texture="none"/><skin name="s" file="none.skn"/></asset>"""
    geom = '<geom size=".1" material="m"/>'
    assert jc.load(save("m.xml", mjcf(geom, asset))).nv == 1


TOUCH = """<plugin plugin="mujoco.sensor.touch_grid" objtype="site" objname="s">
<config key="size" value="{0} {0}"/><config key="fov" value="45 45"/>
<config key="gamma" value="0"/><config key="nchannel" value="6"/></plugin>"""
COSTLY = (
    "".join(f'<user name="u{k}" dim="1000000"/>' for k in range(200)),
    "".join(f'<jointpos joint="j" nsample="1000000" delay="1" name="j{k}"/>' for k in range(200)),
    "".join(f'<contact geom1="g" num="1000000" name="c{k}"/>' for k in range(200)),
    '<rangefinder camera="c"/>',
    '<rangefinder camera="d"/>',
    TOUCH.format(10_000),
)


@pytest.mark.parametrize("sensors", COSTLY, ids=range(len(COSTLY)))
def test_sensors_ask_for_nothing(sensors, monkeypatch):
    """Not even for a stack, which is as large as MuJoCo makes it without <size>."""
    inside = """<geom name="g" size=".1"/><site name="s"/>
<camera name="c" resolution="30000 30000"/><camera name="d" class="d"/>"""
    before = """<size memory="2G"/>
<extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
<default><default class="d"><camera resolution="1280 720"/></default></default>
<custom><tuple name="t"><element objtype="sensor" objname="u0"/></tuple></custom>"""
    sizes = []
    compile_text = mujoco.MjModel.from_xml_string

    class Watching(mujoco.MjModel):
        @staticmethod
        def from_xml_string(text):
            compiled = compile_text(text)
            sizes.append(compiled.nsensordata + getattr(compiled, "nhistory", 0))
            return compiled

    monkeypatch.setattr(mujoco, "MjModel", Watching)
    text = mjcf(inside, before).replace("</mujoco>", f"<sensor>{sensors}</sensor></mujoco>")
    assert jc.load_mjcf(text).nv == 1
    assert max(sizes) < 2000


def test_mistakes_of_sensors_are_refused_as_before():
    text = mjcf('<geom size=".1"/><camera name="c" resolution="{}"/>').replace(
        "</mujoco>", "<sensor>{}</sensor></mujoco>"
    )
    for resolution, sensor in (
        ("1 1", '<jointpos joint="nothing"/>'),
        ("1 1", '<user dim="x"/>'),
        ("1280", '<rangefinder camera="c"/>'),
        ("1 1", '<user dim="1000000000"/>'),
    ):
        with pytest.raises(ModelError, match=r"<string>:\d: <(jointpos|user|camera)"):
            jc.load_mjcf(text.format(resolution, sensor))


def test_states_of_actuators_are_limited():
    general = '<general joint="j" dyntype="user" actdim="{}"/>'
    text = mjcf('<geom size=".1"/>').replace("</mujoco>", "<actuator>{}</actuator></mujoco>")
    assert jc.load_mjcf(text.format(general.format(100) * 10)).nv == 1
    with pytest.raises(ModelError, match="'actdim': 100000000 is more than 1,000,000"):
        jc.load_mjcf(text.format(general.format(100_000_000)))
    default = text.replace("<worldbody>", "<default>" + general.format(600_000) + "</default>\\g")
    default = default.replace(' joint="j" dyntype', " dyntype", 1).replace("\\g", "<worldbody>")
    message = "buffers of sensors and actuators hold more than 1,000,000"
    for many in (
        text.format(general.format(600_000) * 2),
        default.format('<motor joint="j"/>' * 2),
    ):
        with pytest.raises(ModelError, match=message):
            jc.load_mjcf(many)


def test_what_names_a_copy_counts_as_copied():
    """MuJoCo copies equalities, tendons, sensors and actuators with the joints that they name."""
    body = '<replicate count="100"><body><joint name="j"/><geom size=".1"/></body></replicate>'
    text = f"<mujoco><worldbody>{body}</worldbody>{{}}</mujoco>"
    equality = "<equality>{}</equality>".format('<joint joint1="j"/>' * 90)
    compiled = mujoco.MjModel.from_xml_string(text.format(equality))
    assert compiled.neq == 9000
    for section, element in (
        ("equality", '<joint joint1="j"/>'),
        ("sensor", '<jointpos joint="j"/>'),
        ("actuator", '<motor joint="j"/>'),
        ("tendon", '<fixed><joint joint="j" coef="1"/></fixed>'),
    ):
        asked = f"<{section}>{200 * element}</{section}>"
        with pytest.raises(ModelError, match="elements or more by copying"):
            jc.load_mjcf(text.format(asked))
    states = '<actuator><general joint="j" dyntype="user" actdim="100000"/></actuator>'
    with pytest.raises(ModelError, match="by copying"):
        jc.load_mjcf(text.format(states))


def test_classes_are_no_copies():
    body = '<replicate count="100"><body name="a"><joint/><geom size=".1"/></body></replicate>'
    text = f"""<mujoco><default><default class="a"/></default><worldbody>{body}
<body><joint name="j"/><geom size=".1" pos="0 0 9"/></body></worldbody>
<actuator>{200 * '<motor class="a" joint="j"/>'}</actuator></mujoco>"""
    assert jc.load_mjcf(text).nv == 101


def test_sensors_of_attached_models_are_limited(save):
    inside = '<geom size=".1"/><site name="s"/><camera name="c" resolution="1000 1001"/>'
    attach = '<attach model="o" body="b" prefix="p"/>'
    asset = '<asset><model name="o" file="o.xml"/></asset>'
    main = save("m.xml", mjcf('<geom size=".1"/>' + attach, asset))
    sensors = (
        "<extension><plugin plugin='mujoco.sensor.touch_grid'/></extension><sensor>{}</sensor>"
    )
    text = mjcf(inside).replace("</mujoco>", sensors + "</mujoco>")
    save("o.xml", text.format('<user objtype="site" objname="s" dim="9"/>'))
    assert jc.load(main).nv == 2
    for sensor in (
        '<user dim="999999"/><user dim="2"/>',
        '<jointpos joint="j" nsample="600000"/><jointpos joint="j" nsample="600000"/>',
        '<rangefinder camera="c"/>',
        TOUCH.format(1001),
    ):
        save("o.xml", text.format(sensor))
        with pytest.raises(ModelError, match=r"o\.xml:\d+: <.*hold more than 1,000,000 numbers"):
            jc.load(main)
    save("o.xml", text.format('<user objtype="site" objname="s" dim="900000"/>'))
    many = "".join(attach.replace('"p"', f'"p{k}"') for k in range(20))
    save("m.xml", mjcf('<geom size=".1"/>' + many, asset))
    with pytest.raises(ModelError, match="attach make"):
        jc.load(main)


def test_muscles_start_no_simulation_in_the_compiler():
    length = '<compiler><lengthrange mode="all" inttotal="1e9" timestep="1e-6"/></compiler>'
    text = mjcf('<geom size=".1"/>', length)
    muscle = '<actuator><muscle name="a" joint="j"/></actuator></mujoco>'
    assert jc.load_mjcf(text.replace("</mujoco>", muscle)).nv == 1


def test_the_handler_of_warnings_is_as_before_after_concurrent_loads():
    text = mjcf('<geom size=".1"/>')

    def mine(message: str) -> None:
        raise AssertionError(message)

    def work() -> None:
        for _ in range(20):
            jc.load_mjcf(text)
            with pytest.raises(ModelError):
                jc.load_mjcf(text.replace(".1", "0"))

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(mine)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert mujoco.get_mju_user_warning() is mine
    finally:
        mujoco.set_mju_user_warning(before)


def test_remarks_of_mujoco_are_warnings(monkeypatch):
    from jounce.io import _mjcf_compile

    compile_text = mujoco.MjModel.from_xml_string

    class Remarking:
        def __getattr__(self, name):
            return getattr(mujoco, name)

        class MjModel:
            @staticmethod
            def from_xml_string(text):
                mujoco.get_mju_user_warning()("old  file")
                return compile_text(text)

    tree = expand(read_source(mjcf('<geom size=".1"/>')), Folder(None, None, 10**6), 10**6)
    _, remarks = _mjcf_compile._compile(Remarking(), tree, {})
    assert remarks == ["MuJoCo remarks: old file"]
    assert issubclass(ModelWarning, UserWarning)


def test_copies_are_limited_and_what_is_written_out_is_not(monkeypatch):
    assert _mjcf_gate.MOST_COPIES == 10_000  # as docs/files.md says
    monkeypatch.setattr(_mjcf_gate, "MOST_COPIES", 300)
    body = '<body><joint/><geom size=".1"/></body>'
    copied = '<replicate count="{}" offset="1 0 0">' + body + "</replicate>"
    text = "<mujoco><worldbody>\n{}</worldbody></mujoco>"
    assert jc.load_mjcf(text.format(copied.format(100))).nv == 100
    assert jc.load_mjcf(text.format(340 * body)).nv == 340
    message = r"<string>:2: <geom> in .*make 303 elements .*limit is 300, elements that the file"
    with pytest.raises(ModelError, match=message):
        jc.load_mjcf(text.format(copied.format(101)))
    with pytest.raises(ModelError, match=r"<string>:2: <replicate> in <worldbody>: replicate, com"):
        jc.load_mjcf(text.format('<replicate count="1000000000"/>'))


def test_attached_models_that_explode_are_refused(save, tmp_path):
    """Nine files with ten models each, of which MuJoCo would read 10^8."""
    for k in range(9):
        models = "".join(f'<model name="m{k}_{i}" file="m{k + 1}.xml"/>\n' for i in range(10))
        save(f"m{k}.xml", f"<mujoco><asset>\n{models}</asset></mujoco>")
    save("m9.xml", mjcf('<geom size=".1"/>'))
    with pytest.raises(
        ModelError, match=r"m\d\.xml:\d+: <model name='m\d_\d'> in <asset>: the att"
    ):
        jc.load(tmp_path / "m0.xml")
    attach = '<replicate count="9000"><attach model="o" body="b" prefix="p"/></replicate>'
    asset = '<asset><model name="o" file="m9.xml"/></asset>'
    path = save("m.xml", mjcf('<geom size=".1"/>' + attach, asset))
    with pytest.raises(
        ModelError, match=r"m\.xml:\d+: <attach> in <replicate>.*attach make 45,000"
    ):
        jc.load(path)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_link_that_leads_outside_is_followed(save, tmp_path):
    """Whoever made the link decided that the file is part of the model."""
    outside = save("elsewhere/part.xml", mjcf('<geom size=".1"/>'))
    main = save("robot/m.xml", '<mujoco>\n<include file="part.xml"/></mujoco>')
    os.symlink(outside, tmp_path / "robot" / "part.xml")
    assert jc.load(main).nv == 1
    main.write_text('<mujoco>\n<include file="../elsewhere/part.xml"/></mujoco>')
    with pytest.raises(ModelError, match=r"m\.xml:2: <include>: .*outside of the model's folder"):
        jc.load(main)
