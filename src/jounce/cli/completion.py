"""Completion of commands, options, robots and files in bash, zsh and fish.

The scripts are made from the parser, so that they know what it knows.
"""

from __future__ import annotations

import argparse
import functools
from typing import NamedTuple

from jounce.cli._common import OK, Commands, shipped_robots

__all__ = ["add_command"]

_HINT = """Put it where the shell looks, for example

  bash: jounce completion bash > ~/.local/share/bash-completion/completions/jounce
  zsh:  jounce completion zsh > ~/.zfunc/_jounce       (with ~/.zfunc in $fpath)
  fish: jounce completion fish > ~/.config/fish/completions/jounce.fish
"""


class _Command(NamedTuple):
    name: str
    help: str
    options: dict[str, list[str]]
    """Option to its choices; [] for a free value, ["-"] for none."""
    helps: dict[str, str]
    robots: bool
    words: list[str]
    """Choices of its positional argument."""


def add_command(commands: Commands, parser: argparse.ArgumentParser) -> None:
    """Add the command, which reads all others from the parser."""
    command = commands.add_parser(
        "completion",
        help="print a script that completes commands in a shell",
        description="Print the script that completes commands, options, robots and files.",
        epilog=_HINT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("shell", choices=tuple(_SCRIPTS), help="bash, zsh or fish")
    command.set_defaults(run=functools.partial(_print_script, parser))


def _print_script(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    print(_SCRIPTS[options.shell](_commands(parser)), end="")
    return OK


def _commands(parser: argparse.ArgumentParser) -> list[_Command]:
    groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    helps = {choice.dest: choice.help or "" for choice in groups[0]._choices_actions}
    return [_command(name, helps[name], sub) for name, sub in groups[0].choices.items()]


def _command(name: str, help_: str, parser: argparse.ArgumentParser) -> _Command:
    options, helps, robots, words = {}, {}, False, []
    for action in parser._actions:
        choices = [str(choice) for choice in action.choices or ()]
        if action.option_strings:
            option = action.option_strings[-1]
            options[option] = ["-"] if action.nargs == 0 else choices
            helps[option] = " ".join((action.help or "").replace("%%", "%").split())
        elif action.dest in ("robot", "robots"):
            robots = True
        else:
            words += choices
    return _Command(name, help_, options, helps, robots, words)


def _bash(commands: list[_Command]) -> str:
    cases = []
    for command in commands:
        for option, choices in command.options.items():
            if choices and choices != ["-"]:
                cases.append(f'        {command.name}:{option}) words="{" ".join(choices)}" ;;')
            elif not choices:
                cases.append(f"        {command.name}:{option}) files=1 ;;")
    for command in commands:
        words = [*command.options, *command.words, *(shipped_robots() if command.robots else ())]
        files = "" if command.words else " files=1"
        cases.append(f'        {command.name}:*) words="{" ".join(words)}"{files} ;;')
    names = " ".join(command.name for command in commands)
    lines = "\n".join(cases)
    return f"""\
# bash completion for jounce
_jounce() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} words="" files=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))
        return
    fi
    case "${{COMP_WORDS[1]}}:$prev" in
{lines}
    esac
    [ -n "$words" ] && COMPREPLY+=($(compgen -W "$words" -- "$cur"))
    [ -n "$files" ] && [[ "$cur" != -* ]] && COMPREPLY+=($(compgen -f -- "$cur"))
}}
complete -o filenames -F _jounce jounce
"""


def _zsh(commands: list[_Command]) -> str:
    names = "\n".join(f"        {_quoted(f'{c.name}:{c.help}')}" for c in commands)
    cases = []
    for command in commands:
        specs = []
        for option, choices in command.options.items():
            text = command.helps[option].replace("[", "(").replace("]", ")").replace(":", ",")
            value = "" if choices == ["-"] else f":value:({' '.join(choices)})"
            value = ":value:_files" if not choices else value
            specs.append(_quoted(f"{option}[{text}]{value}"))
        if command.robots:
            specs.append(_quoted("*:robot:_jounce_robots"))
        elif command.words:
            specs.append(_quoted(f"1:word:({' '.join(command.words)})"))
        cases.append(f"        {command.name}) _arguments {' '.join(specs)} ;;")
    lines = "\n".join(cases)
    return f"""\
#compdef jounce
# zsh completion for jounce
_jounce_robots() {{
    compadd -- {" ".join(shipped_robots())}
    _files
}}
_jounce() {{
    local -a names
    names=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe command names
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
{lines}
    esac
}}
if [ "$funcstack[1]" = "_jounce" ]; then _jounce "$@"; else compdef _jounce jounce; fi
"""


def _fish(commands: list[_Command]) -> str:
    lines = ["# fish completion for jounce"]
    for command in commands:
        lines.append(
            f"complete -c jounce -n __fish_use_subcommand -f -a {command.name} "
            f"-d {_quoted(command.help)}"
        )
    for command in commands:
        given = f"complete -c jounce -n '__fish_seen_subcommand_from {command.name}'"
        for option, choices in command.options.items():
            text = _quoted(command.helps[option])
            flag = {"-": ""}.get("".join(choices[:1]), " -r")
            listed = f" -f -a {_quoted(' '.join(choices))}" if flag and choices else ""
            lines.append(f"{given} -l {option.removeprefix('--')}{flag}{listed} -d {text}")
        words = [*command.words, *(shipped_robots() if command.robots else ())]
        if words:
            lines.append(f"{given} -a {_quoted(' '.join(words))}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
