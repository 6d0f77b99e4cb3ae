"""Slips of files in use that leave no doubt about what is meant: what XML refuses is mended.

Lines stay where they are.
"""

from __future__ import annotations

import re

__all__ = ["mended"]

_DECLARED = re.compile(rb"(\xef\xbb\xbf)?(\s+)(<\?xml\s[^>]*\?>)")
_ENCODING = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<\?xml\s[^>]*encoding")
_VERBATIM = re.compile(rb"<!\[CDATA\[|<!--|<\?")
_END = {b"<![CDATA[": b"]]>", b"<!--": b"-->", b"<?": b"?>"}
_AMPERSAND = re.compile(rb"&(?!#?\w+;)")


def mended(data: bytes, encoding: str | None) -> tuple[bytes, list[str]]:
    """Return bytes that can be parsed, and what was mended in them.

    Args:
        data: of a file that is not well-formed.
        encoding: of `data`, if that is known without its declaration.
    """
    told: list[str] = []
    if b"\0" in data[:4]:  # UTF-16 or UTF-32
        return data, told
    if declared := _DECLARED.match(data):
        mark, blank, declaration = declared.groups()
        data = (mark or b"") + declaration + blank + data[declared.end() :]
        told.append("something precedes the XML declaration")
    if encoding is None and not _ENCODING.match(data) and not _is_utf8(data):
        data = data.decode("latin-1").encode()
        told.append("the file is neither UTF-8 nor says what it is; it is read as Latin-1")
    data, count = _plain(data)
    if count:
        told.append("an ampersand stands for itself where XML wants &amp;")
    return data, told


def _plain(data: bytes) -> tuple[bytes, int]:
    """Without what comments say, which may be hyphens, and with so many ampersands written out."""
    parts: list[bytes] = []
    at = ampersands = 0
    while begin := _VERBATIM.search(data, at):
        end = data.find(_END[begin.group()], begin.end())
        if end < 0:
            break
        text, count = _AMPERSAND.subn(b"&amp;", data[at : begin.start()])
        at = end + len(_END[begin.group()])
        inside = data[begin.start() : at]
        is_comment = begin.group() == b"<!--"
        parts += [text, b"\n" * inside.count(b"\n") if is_comment else inside]
        ampersands += count
    text, count = _AMPERSAND.subn(b"&amp;", data[at:])
    return b"".join([*parts, text]), ampersands + count


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
