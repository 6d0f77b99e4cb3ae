"""Model files in which something was changed: characters, numbers, attributes, whole elements."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import jounce as jc

SDF = """<sdf version="1.9">
<model name="arm"><pose>0.3 0.2 0.1 0.1 0.2 0.3</pose>
<frame name="mount"><pose>1 2 3 0.3 0.2 0.1</pose></frame>
<link name="base"><pose relative_to="mount">0.1 0.2 0.3 0.5 0.6 0.7</pose></link>
<link name="upper"><pose relative_to="base">0.5 0 1 0.1 -0.2 0.3</pose>
<inertial><pose>0.1 0.1 -0.2 0.3 0.4 0.5</pose><mass>2.0</mass>
<inertia><ixx>0.2</ixx><ixy>0.01</ixy><iyy>0.3</iyy><izz>0.25</izz><ixz>0</ixz><iyz>0</iyz></inertia>
</inertial></link>
<link name="lower"><pose degrees="true">10 20 -30 45 60 90</pose>
<inertial><mass>1.5</mass><inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.25</izz></inertia></inertial>
</link>
<frame name="grip" attached_to="lower"><pose>0.1 0.2 0.3 1 0 0</pose></frame>
<joint name="weld" type="fixed"><parent>world</parent><child>base</child></joint>
<joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child>
<axis><xyz>1 2 3</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort></limit>
<dynamics><damping>0.5</damping><friction>0.25</friction></dynamics></axis></joint>
<joint name="elbow" type="universal"><parent>upper</parent><child>lower</child>
<axis><xyz expressed_in="__model__">1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
</model></sdf>"""
XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="length" default="0.5"/>
<xacro:property name="length" value="$(arg length)"/>
<xacro:property name="masses" value="${[1.5, 2 * length, 0.25]}"/>
<xacro:macro name="inertial" params="mass *origin">
<inertial><xacro:insert_block name="origin"/><mass value="${mass}"/>
<inertia ixx="${mass * length**2 / 12}" iyy="${mass / 10}" izz="0.1" ixy="0" ixz="0" iyz="0"/>
</inertial></xacro:macro>
<xacro:macro name="arm" params="name parent k:=0 tool:=false">
<link name="${name}"><xacro:inertial mass="${masses[k]}"><origin xyz="0 0 ${length / 2}"/>
</xacro:inertial></link>
<joint name="${name}_joint" type="revolute"><parent link="${parent}"/><child link="${name}"/>
<origin xyz="0 0 ${length}" rpy="${pi / 3} 0 0"/><axis xyz="0 1 0"/>
<limit lower="${-pi}" upper="${radians(90)}" effort="3" velocity="4"/></joint>
<xacro:if value="${tool and k &lt; 2}"><link name="${name}_tool"/>
<joint name="${'_'.join([name, 'mount'])}" type="fixed"><parent link="${name}"/>
<child link="${name}_tool"/></joint></xacro:if></xacro:macro>
<link name="base"/>
<xacro:arm name="upper" parent="base"/>
<xacro:arm name="lower" parent="upper" k="${len('a')}" tool="true"/>
</robot>"""
SRDF = """<robot name="arm">
<group name="all"><chain base_link="base" tip_link="finger"/></group>
<virtual_joint name="root" type="fixed" parent_frame="world" child_link="base"/>
<group_state name="raised" group="all"><joint name="shoulder" value="0.5"/>
<joint name="elbow" value="-0.25"/></group_state>
<group_state name="closed" group="all"><joint name="grip" value="0.01"/></group_state>
<group_state name="raised" group="hand"><joint name="grip" value="0.02"/></group_state>
</robot>"""
SAMPLES = Path(__file__).resolve().parent.parent / "tests" / "io" / "models"
NUMBERS = ("nan", "inf", "-1", "0", "1e308", "1e-320", "1e999", "", "x", "1,5", "1e40", "-0.1", "7")
NUMBERS += ("1 2", "${m}", "1e9", "1000000000", "0.3", "2.5kg", "3.14159")
NUMBER = re.compile(r"(?<=[\s\">])-?\d+\.?\d*(?:e-?\d+)?(?=[\s\"<])")
ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(\w+)[^<>/]*>[^<>]*</\2>")
WORD = re.compile(r"(?<=[<\"\s])[a-z_]{2,}(?=[\s=\"/>])")
TAG = re.compile(r"</?(\w+)")
PLACE = re.compile(r"[^\n]+?:\d+: <[^ >]+[ >]")


def samples() -> dict[str, tuple[Callable[..., jc.Model], str]]:
    """Good files of each format, with their readers."""
    return {
        "urdf": (jc.load_urdf, (SAMPLES / "arm.urdf").read_text()),
        "mjcf": (jc.load_mjcf, (SAMPLES / "arm.xml").read_text()),
        "sdf": (jc.load_sdf, SDF),
        "xacro": (read_xacro, XACRO),
        "srdf": (read_srdf, SRDF),
    }


def read_xacro(source: str | Path, strict: bool = False) -> jc.Model:
    """Load a xacro file, which must be one: its text alone is not read."""
    if isinstance(source, Path):
        return jc.load_xacro(source, strict=strict)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arm.xacro")
        path.write_text(source, "utf-8")
        return jc.load_xacro(path, strict=strict)


def read_srdf(source: str | Path, strict: bool = False) -> jc.Model:
    """Load an arm with poses of a file."""
    return jc.load(SAMPLES / "arm.urdf", strict=strict, srdf=source)


class Files:
    """Makes jobs from random numbers: what is read, and the reading."""

    def __init__(self) -> None:
        self.samples = list(samples().items())
        self.rng = np.random.default_rng(0)

    def pick(self, things: Any) -> Any:
        return things[int(self.rng.integers(len(things)))]

    def job(self, rng: np.random.Generator) -> tuple[str, Callable[[], Any]]:
        """One file with one to three changes, read and used."""
        self.rng = rng
        name, (read, text) = self.pick(self.samples)
        text = self.changed(text, rng)
        strict = bool(rng.random() < 0.1)

        def use() -> Any:
            model = read(text, strict=strict)
            q = jc.random_configuration(model, 0)
            v = np.ones(model.nv)
            return jc.inverse_dynamics(model, q, v, v), jc.mass_matrix(model, q)

        return f"file {name}", use

    def changed(self, text: str, rng: np.random.Generator) -> str:
        """The text with one to three changes."""
        self.rng = rng
        for _ in range(int(rng.integers(1, 4))):
            text = self.pick(CHANGES)(self, text)
        return text

    def some(self, pattern: re.Pattern[str], text: str) -> tuple[int, int]:
        """Where one of the matches of a pattern begins and ends."""
        spans = [match.span() for match in pattern.finditer(text)]
        return self.pick(spans) if spans else (0, 0)

    def character(self, text: str) -> str:
        """One character less, more, or another."""
        at = int(self.rng.integers(len(text) + 1))
        new = self.pick(['<>"/ =0e-.x\x00é&;', [""], ["<!--"], ["&amp;"], ["<![CDATA["]])
        return text[:at] + self.pick(new) + text[at + int(self.rng.integers(2)) :]

    def number(self, text: str) -> str:
        """Another number."""
        begin, end = self.some(NUMBER, text)
        return text[:begin] + self.pick(NUMBERS) + text[end:]

    def without(self, text: str) -> str:
        """An element less."""
        begin, end = self.some(ELEMENT, text)
        return text[:begin] + text[end:]

    def again(self, text: str) -> str:
        """An element once more, here or elsewhere."""
        begin, end = self.some(ELEMENT, text)
        other, after = self.some(ELEMENT, text)
        return text[:after] + text[begin:end] + text[self.pick((other, after)) :]

    def word(self, text: str) -> str:
        """A name, attribute or type that stands elsewhere in the file."""
        begin, end = self.some(WORD, text)
        other, after = self.some(WORD, text)
        return text[:begin] + text[other:after] + text[end:]

    def tag(self, text: str) -> str:
        """An element by the name of another."""
        tags = sorted({match[1] for match in TAG.finditer(text)} | {"body", "link", "replicate"})
        old, new = self.pick(tags), self.pick(tags)
        return re.sub(rf"(</?){old}\b", rf"\g<1>{new}", text, count=2)

    def cut(self, text: str) -> str:
        """A piece of the file is missing, or there twice."""
        a, b = sorted(int(k) for k in self.rng.integers(len(text) + 1, size=2))
        b = min(b, a + 80)
        return text[:a] + text[b:] if self.rng.random() < 0.5 else text[:b] + text[a:]


CHANGES = (
    Files.character,
    Files.number,
    Files.number,
    Files.without,
    Files.again,
    Files.word,
    Files.word,
    Files.tag,
    Files.cut,
)
