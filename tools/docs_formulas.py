"""Formulas as docstrings write them, for readers of ``help``, in TeX for readers of the site.

``M da_k = dtau_k - K_k dq`` and ``Gamma_ijk = (dM_ij/dq_k + dM_ik/dq_j) / 2`` are understood: names
of Greek letters, subscripts and superscripts (of several signs in parentheses), primes, quotients
without spaces around the slash, sums, words. What is not understood stays as it was written.
"""

from __future__ import annotations

import re

GREEK = frozenset({
    "alpha", "beta", "gamma", "Gamma", "delta", "Delta", "epsilon", "zeta", "theta", "lambda",
    "Lambda", "mu", "nu", "xi", "pi", "tau", "omega",
})  # fmt: skip
FUNCTIONS = frozenset({
    "Ad", "ad", "clip", "cos", "cot", "dexp", "dexp_inv", "exp", "expand", "log", "sign",
    "sin",
})  # fmt: skip
WORDS = frozenset({"ext", "max", "min", "ref", "total"})
"""Subscripts that are words; other letters there are indices."""
OPERATORS = {
    ".": r"\cdot ",
    "*": r"\,",
    "...": r"\ldots ",
    "<=": r"\le ",
    ">=": r"\ge ",
    "->": r"\to ",
    "cross": r"\times ",
}
PLAIN = set("+-=()[]|,:;!/<>")
TOKEN = re.compile(
    r"(?P<gap> {2,})|(?P<space> )|(?P<operator>\.\.\.|<=|>=|->|\*|(?<= )\.(?= )|\bcross\b)"
    r"|(?P<atom>dexp_inv|[A-Za-z]+(?:'[a-z]+)?|\d+(?:\.\d+)?)|(?P<plain>.)"
)
GROUP = r"\([^()]*\)"
HANGS = re.compile(
    rf"_(?P<below>{GROUP}|[<>]?[A-Za-z0-9]+(?:,[A-Za-z]+(?:_[A-Z])?|_[a-z]+)*)"
    rf"|(?P<primes>'+)|\^(?P<above>-?[A-Za-z0-9]+|{GROUP})|(?P<jump>\+)(?=[ ,.)]|$)"
)
"""Indices, primes, powers, and a plus that ends a name, as in v+: the value after an impulse."""
CODE = re.compile(
    r"\s*(?:import|from|def|return|if|for|with)\b|.*\b[a-z]+ [a-z]+ [a-z]+ [a-z]+ [a-z]+"
)
"""Statements, and prose."""


def tex_lines(block: str) -> list[str] | None:
    """TeX of each line of an indented block; None if it has anything but formulas."""
    lines = [line for line in block.splitlines() if line.strip()]
    if any(CODE.match(line) for line in lines):
        return None
    found = [tex(line) for line in lines]
    return [line for line in found if line] if found and all(found) else None


def tex(text: str) -> str | None:
    """TeX of one line; None if it is not a formula that is understood."""
    text = re.sub(r" +(?==)", " ", text.strip())  # blanks that align equations
    written, at, after_word = "", 0, False
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token
        kind, found = token.lastgroup, token[0]
        if kind == "atom":
            atom, at = _quotient(text, at)
            is_word = atom.startswith(r"\mathrm{")
            written += (r"\ " if is_word or after_word else "") + atom + " "
            after_word = is_word
            continue
        at = token.end()
        if kind == "plain" and found not in PLAIN and not (found == "." and at == len(text)):
            return None
        written += {"gap": r" \quad ", "space": " ", "operator": OPERATORS.get(found, "")}.get(
            kind or "", found
        )
        after_word = after_word and kind == "space"
        if found in ")]|":
            hung, at = _hangs(text, at)
            written += hung + " "
    return " ".join(written.split())


def _quotient(text: str, at: int) -> tuple[str, int]:
    """An atom, or one over another: dM/dq."""
    top, at = _atom(text, at)
    if re.match(r"/[A-Za-z0-9]", text[at : at + 2]):
        below, at = _atom(text, at + 1)
        return rf"\frac{{{top}}}{{{below}}}", at
    return top, at


def _atom(text: str, at: int) -> tuple[str, int]:
    """A name or number with what hangs on it."""
    token = TOKEN.match(text, at)
    assert token
    name, at = token[0], token.end()
    if name == "hat" and (group := re.match(GROUP, text[at:])):
        written, at = rf"\hat{{{tex(group[0][1:-1])}}}", at + group.end()
    else:
        written = name if name[0].isdigit() else _name(name)
    if name[0].isalpha() and (digits := re.match(r"\d+", text[at:])):  # q1, s12
        written, at = f"{written}_{{{digits[0]}}}", at + digits.end()
    hung, at = _hangs(text, at)
    return written + hung, at


def _hangs(text: str, at: int) -> tuple[str, int]:
    """Indices, primes and powers that follow a name or a bracket."""
    below, above = "", ""
    while found := HANGS.match(text, at):
        at = found.end()
        if found["below"]:
            below = _indices(found["below"])
        elif found["above"]:
            above += " " + _indices(found["above"], power=True)
        else:
            above += r"\prime" * len(found["primes"] or "") or "+"
    return (f"_{{{below}}}" if below else "") + (f"^{{{above.strip()}}}" if above else ""), at


def _name(name: str) -> str:
    """A name without what hangs on it."""
    if name == "sum":
        return r"\sum"
    if name == "dexp_inv":
        return r"\operatorname{dexp}^{-1}"
    if name in FUNCTIONS:
        return rf"\operatorname{{{name}}}"
    if name in GREEK:
        return rf"\{name}"
    if name[0] == "d" and (name[1:] in GREEK or len(name) == 2):
        return f"d {_name(name[1:])}"
    return name if len(name) == 1 else rf"\mathrm{{{name}}}"


def _indices(text: str, power: bool = False) -> str:
    """What stands below or above a name; a^(k), a derivative, keeps its parentheses."""
    if text.startswith("("):
        inner = " ".join(text[1:-1].split())
        return f"({inner})" if power and len(inner) == 1 else inner
    parts = [part for part in re.split(r"[_,]", text) if part]
    return ", ".join(
        rf"\{p}"
        if p in GREEK
        else rf"\mathrm{{{p}}}"
        if p in WORDS or (len(p) > 3 and p.isalpha())
        else p
        for p in parts
    )
