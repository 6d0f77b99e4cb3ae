"""Xacro files: bounded work, files that may be named, errors with file, line and element."""

from __future__ import annotations

import collections
import gc
import os
import signal
import sys
import threading
import types
from pathlib import Path

import pytest

import jounce as jc
from jounce.errors import ModelError
from jounce.io import _xacro_bounds

pytest.importorskip("xacro")
MODELS = Path(__file__).parent / "models"
XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.fixture
def load(tmp_path):
    """Load a robot with these elements, from the third line on, and a link."""

    def load(inside, **options):
        path = tmp_path / "r.xacro"
        path.write_text(f'<robot name="r" {XACRO}>\n\n{inside}\n<link name="base"/></robot>')
        return jc.load(path, **options)

    return load


def name_of(expression):
    """A frame with the value of an expression as its name."""
    joint = '<joint name="j" type="fixed"><parent link="base"/>'
    return f'<link name="{expression}"/>{joint}<child link="{expression}"/></joint>'


CALLS = "".join(
    f'<xacro:macro name="m{k + 1}">{10 * f"<xacro:m{k}/>"}</xacro:macro>' for k in range(8)
)
BOMBS = {
    "macros": '<xacro:macro name="m0"><gazebo/></xacro:macro>' + CALLS + "<xacro:m8/>",
    "empty macros": '<xacro:macro name="m0"/>' + CALLS + "<xacro:m8/>",
    "what is left out again": '<xacro:macro name="m0"><xacro:if value="0">' + 200 * "<a/>"
    + "</xacro:if></xacro:macro>" + CALLS + "<xacro:m8/>",
    "blocks": '<xacro:property name="b0"><a/></xacro:property>' + "".join(
        f'<xacro:property name="b{k + 1}">{10 * insert}</xacro:property>'
        for k, insert in enumerate(f'<xacro:insert_block name="b{k}"/>' for k in range(8))
    ) + '<xacro:insert_block name="b8"/>',
}  # fmt: skip


@pytest.mark.parametrize("inside", BOMBS.values(), ids=BOMBS)
def test_copies_that_explode_are_refused_at_their_element(load, inside, monkeypatch):
    monkeypatch.setattr(_xacro_bounds, "MOST_ELEMENTS", 1000)
    with pytest.raises(ModelError, match=r"r\.xacro:3: <xacro:\w+.*more than 1,000 elements"):
        load(inside)


def test_includes_that_explode_are_refused_at_their_element(load, tmp_path, monkeypatch):
    monkeypatch.setattr(_xacro_bounds, "MOST_ELEMENTS", 1000)
    include = '<xacro:include filename="i{}.xacro"/>'
    for k in range(8):
        text = 10 * include.format(k + 1)
        (tmp_path / f"i{k}.xacro").write_text(f"<robot {XACRO}>\n{text}</robot>")
    (tmp_path / "i8.xacro").write_text("<robot><gazebo/></robot>")
    with pytest.raises(ModelError, match=r"i\d\.xacro:2: <xacro:include>: .*more than 1,000"):
        load(include.format(0))
    with pytest.raises(ModelError, match="nested too deep"):
        load(include.format(0).replace("i0", "r"))


EXPRESSIONS = [
    "10**10**8",
    "9**9**9 % 7",
    "1&lt;&lt;10**10",
    "'a'*10**10",
    "10**10*[0]",
    "list(range(10**10))",
    "python.sum(range(10**12))",
    "math.factorial(10**7)",
    "math.comb(10**6, 5*10**5)",
    "max(map(math.factorial, [10**7]))",
    "math.prod([2**60000]*10000)",
    "'a'.ljust(10**10)",
    "('a'*10000).replace('a', 'b'*10000)",
    "'-'.join(['a'*10000]*10000)",
    "'%1000000000d' % 1",
    "'%*d' % (10**9, 1)",
    "round(1, -10**9)",
    "[x for x in range(10**4) for y in range(10**4)]",
    "str([[[[1]*1000]*1000]*1000]*1000)",
    "(lambda f: f(f))(lambda f: f(f))",
    "python.type('A', (), dict())",
    "().__class__",
    "math.update()",
    "-" * 9000 + "1",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_that_ask_for_much_are_refused(load, expression, monkeypatch):
    monkeypatch.setattr(_xacro_bounds, "MOST_WORK", 1_000_000)
    with pytest.raises(ModelError, match=r"r\.xacro:3: <link name=.*xacro cannot expand it"):
        load(name_of(f"${{{expression}}}"))
    if "(" not in expression:
        with pytest.raises(ModelError, match=r"r\.xacro:3: <link name=.*xacro cannot expand it"):
            load(name_of(f"$(eval {expression})"))


def test_texts_that_double_are_refused(load):
    texts = "".join(
        f'<xacro:property name="a{k + 1}" value="${{a{k}}}${{a{k}}}"/>' for k in range(40)
    )
    with pytest.raises(ModelError, match=r"r\.xacro:3: <link.*make too much"):
        load('<xacro:property name="a0" value="xy"/>' + texts + name_of("${a40}"))


@pytest.mark.parametrize("lines", ["{{<<: [{}]}}", "[{}]"])
def test_yaml_that_explodes_is_refused(load, tmp_path, lines, monkeypatch):
    pytest.importorskip("yaml")
    monkeypatch.setattr(_xacro_bounds, "MOST_WORK", 1_000_000)
    text = "a0: &a0 {k: 1, l: 2}\n"
    for k in range(9):
        text += f"a{k + 1}: &a{k + 1} {lines.format(','.join(10 * [f'*a{k}']))}\n"
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ModelError, match=r"r\.xacro:3: <link.*make too much"):
        load(name_of("${xacro.load_yaml('a.yaml')}"))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 * (1 + 0.5) ** 2 / 3 // 1 % 5", "1.0"),
        ("'%s_%03d' % ('a', 7) if 1 &lt; 2 and not False else 'b'", "a_007"),
        ("' '.join([str(x + 1) for x in [1, 2]] + list(map(str, (3,))))", "2 3 3"),
        ("max([1, 5, 3], key=lambda x: -x) + len('abc'.upper().split('B'))", "3"),
        ("round(math.sin(pi / 2) + sqrt(4) + radians(180), 3)", "6.142"),
        ("python.sum([1, 2]) + math.prod([2, 3]) + python.sorted([3, 1])[0]", "10"),
        ("list(python.range(3))[1:]", "[1, 2]"),
        ("python.isinstance(3, int)", "True"),
        ("xacro.load_yaml('u.yaml')['limits'].f_max[1]", "7"),
        ("round(xacro.load_yaml('u.yaml')['turn'], 4)", "3.1416"),
    ],
)
def test_expressions_mean_what_they_mean_in_python(load, tmp_path, expression, value):
    pytest.importorskip("yaml")
    (tmp_path / "u.yaml").write_text("turn: !degrees 180\nlimits: {f_max: [3, 7]}\n")
    assert value in load(name_of(f"${{{expression}}}")).frames


def test_units_of_xacro_do_not_get_into_the_yaml_of_others(load, tmp_path):
    yaml = pytest.importorskip("yaml")
    (tmp_path / "u.yaml").write_text("turn: !degrees 180\n")
    before = dict(yaml.SafeLoader.yaml_constructors)
    load(name_of("${xacro.load_yaml('u.yaml')['turn']}"))
    assert yaml.SafeLoader.yaml_constructors == before


INCLUDE = '<xacro:include filename="{}"/>'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
def test_pipes_and_devices_are_never_opened(load, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file in ("pipe", "/dev/zero"):
        message = r"r\.xacro:3: <xacro:include>: .*not a regular file"
        with pytest.raises(ModelError, match=message):
            load(INCLUDE.format(file), folder="/")
        with pytest.raises(ModelError, match=r"r\.xacro:3: <link.*not a regular file"):
            load(name_of(f"${{xacro.load_yaml('{file}')}}"), folder="/")


def test_files_are_those_of_the_project_or_of_a_given_folder(load, tmp_path):
    load("")
    part = '<robot><link name="tool"/></robot>'
    (tmp_path / "part.xacro").write_text(part)
    inner = tmp_path / "urdf" / "arm.xacro"
    inner.parent.mkdir()
    inside = INCLUDE.format("../part.xacro")
    inner.write_text(f'<robot name="r" {XACRO}>\n{inside}</robot>')
    with pytest.raises(ModelError, match=r"arm\.xacro:2: <xacro:include>: .*outside of the model"):
        jc.load(inner)
    assert list(jc.load(inner, folder=tmp_path).frames) == ["tool"]
    (tmp_path / "package.xml").write_text("<package/>")
    assert list(jc.load(inner).frames) == ["tool"]
    with pytest.raises(ModelError, match=r"r\.xacro:3: <xacro:include>: .*outside of the model"):
        load(INCLUDE.format("/*/*.xacro"))
    (tmp_path / "part.xacro").write_text(part + 200 * " ")
    with pytest.raises(ModelError, match="more than the limit of 200; max_bytes= raises it"):
        load(INCLUDE.format("part.xacro"), max_bytes=200)


def test_packages_that_are_found_may_be_elsewhere(load, tmp_path, monkeypatch):
    pytest.importorskip("yaml")
    package = tmp_path / "elsewhere"
    (package / "urdf").mkdir(parents=True)
    (package / "urdf" / "part.xacro").write_text('<robot><link name="tool"/></robot>')
    found = types.ModuleType("ament_index_python.packages")
    found.get_package_share_directory = lambda name: str(package)
    monkeypatch.setitem(sys.modules, "ament_index_python", types.ModuleType("ament_index_python"))
    monkeypatch.setitem(sys.modules, found.__name__, found)
    inner = tmp_path / "here" / "arm.xacro"
    inner.parent.mkdir()
    inside = INCLUDE.format("$(find part)/urdf/part.xacro")
    inner.write_text(f'<robot name="r" {XACRO}>\n{inside}</robot>')
    assert list(jc.load(inner).frames) == ["tool"]


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("<xacro:foo/>", "<xacro:foo>: .*unknown macro name"),
        ('<link name="${foo}"/>', "<link name='\\${foo}'>: .*'foo' is not defined"),
        ('<xacro:if value="${[}"/>', "<xacro:if>: .*never closed"),
        ("<xacro:property/>", "<xacro:property>: .*missing attribute 'name'"),
        ('<link name="$(arg a)"/>', "<link .*there is no argument 'a'"),
        ('<link name="a"><mass value="${1/0}"/></link>', "<mass>: .*division"),
        ('<link name="a">\n', "<link>: .*mismatched tag"),
        (INCLUDE.format("none.xacro"), "<xacro:include>: .*there is no file '.*none.xacro'"),
        ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "<xacro:m>: .*too deep"),
        (1500 * "<a>" + 1500 * "</a>", "<a>: elements are nested more than"),
    ],
)
def test_refusals_name_file_line_and_element(load, inside, message):
    line = 5 if "mismatched" in message else 3  # where the other end tag stands
    with pytest.raises(ModelError, match=rf"r\.xacro:{line}: {message}"):
        load(inside)


def test_errors_in_included_files_and_macros_name_their_own_place(load, tmp_path):
    part = tmp_path / "part.xacro"
    part.write_text(
        f'<robot {XACRO}>\n<xacro:macro name="arm" params="x">\n\n<link name="${{y}}"/>'
        "</xacro:macro></robot>"
    )
    with pytest.raises(ModelError, match=r"part\.xacro:4: <link name='\${y}'>"):
        load(INCLUDE.format("part.xacro") + '<xacro:arm x="1"/>')
    part.write_text("<robot>\n<a></robot>")
    with pytest.raises(ModelError, match=r"part\.xacro:2: <a>: .*mismatched tag"):
        load(INCLUDE.format("part.xacro"))
    assert list(load(INCLUDE.format("none.xacro")[:-2] + ' optional="true"/>').frames) == ["base"]


class Stop(Exception):
    """What a signal handler of somebody else raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX")
@pytest.mark.parametrize("kind", [TimeoutError, MemoryError, Stop, KeyboardInterrupt])
def test_exceptions_of_signal_handlers_come_through_as_they_are(load, kind):
    def stop(number, frame):
        if "xacro" in frame.f_code.co_filename:  # not what Python itself calls in between
            raise kind("time is over")
        signal.setitimer(signal.ITIMER_REAL, 0.001)

    calls = 400 * f'<xacro:m x="{"1 + " * 50}1"/>'
    inside = f'<xacro:macro name="m" params="x"><a b="${{x}}"/></xacro:macro>{calls}'
    consume = collections.deque(maxlen=0).extend
    gc.disable()  # what other packages do when it runs swallows exceptions
    before = signal.signal(signal.SIGALRM, stop)
    try:
        for _ in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(kind, match="time is over") as caught:
                consume(load(inside) for _ in range(100))
            assert type(caught.value) is kind
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def test_an_exception_inside_an_expression_comes_through(load, monkeypatch):
    """The library wraps whatever an expression raises."""

    def late(*arguments):
        raise TimeoutError("time is over")

    monkeypatch.setattr(_xacro_bounds.Bounds, "_binary", late)
    with pytest.raises(TimeoutError, match="time is over"):
        load(name_of("${1 + 1}"))


def test_what_a_wrong_file_may_raise_too_stays_the_cause(load, monkeypatch):
    """A ValueError may be that of a handler of somebody else."""
    raised = ValueError("not of the file")

    def wrong(*arguments):
        raise raised

    monkeypatch.setattr(_xacro_bounds.Bounds, "_binary", wrong)
    with pytest.raises(ModelError, match=r"r\.xacro:3: .*not of the file") as caught:
        load(name_of("${1 + 1}"))
    assert caught.value.__cause__ is raised


def test_loads_of_several_threads_and_of_others_do_not_disturb_each_other(load):
    import xacro

    before = {name: value for name, value in vars(xacro).items() if not name.startswith("__")}
    lengths, models = [0.5 + 0.1 * k for k in range(8)], {}

    def work(length):
        for _ in range(5):
            arguments = {"length": str(length)}
            models[length] = jc.load(MODELS / "arm.xacro", arguments=arguments)

    threads = [threading.Thread(target=work, args=(length,)) for length in lengths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for length in lengths:
        assert models[length].nodes.placement[1, 2, 3] == length
    after = {name: value for name, value in vars(xacro).items() if not name.startswith("__")}
    assert after == before


@pytest.mark.parametrize("uri", ["http://www.ros.org/wiki/xacro", "urn:unknown"])
@pytest.mark.parametrize("tag", ["arm", "if", "macro"])
def test_leftovers_of_xacro_are_refused_by_their_prefix(uri, tag):
    text = (
        f'<robot name="r" xmlns:xacro="{uri}">\n<link name="a"/>\n<xacro:{tag} name="x"/></robot>'
    )
    with pytest.raises(ModelError, match=rf"<string>:3: <xacro:{tag} name='x'>: xacro is not exp"):
        jc.load_urdf(text)
    model = f'<model name="m"><link name="a"/>\n<xacro:{tag}/></model>'
    text = f'<sdf version="1.9" xmlns:xacro="{uri}">\n{model}</sdf>'
    with pytest.raises(ModelError, match=rf"<string>:3: <xacro:{tag}>.*xacro is not expanded"):
        jc.load_sdf(text)


def test_the_text_of_a_file_is_no_path():
    with pytest.raises(jc.ArgumentError, match="must be the path of a xacro file, got the text"):
        jc.load_xacro(f'<robot name="r" {XACRO}/>')
