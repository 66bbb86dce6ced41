"""Messages of the library in the words of the command line: options instead of parameters.

The library says ``missing='value'`` or ``n is 0``; a user of the command line knows ``--missing
value`` and ``--people``. Which option a parameter is, the running command says itself; what is
declared in a study is an option of ``study new``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

_SAME = {"n": "people", "level": "levels", "epsilon_average": "epsilon"}
_OF_STUDIES = {
    name: f"--{name}"
    for name in (
        *("missing", "clip", "values", "edges", "rate", "levels", "prior"),
        *("longer", "other"),
    )
}
_SET = re.compile(r"(?<![\w.('\"])([a-z_]+)=('[^']*'|…|\{[^}]*\}|[\w+-]+(?:\.\d+)?)")
_NAMED = re.compile(r"the parameter '([a-z_]+)'")
_PHRASES = {
    "sottovoce.plan": "sottovoce plan",
    "as Range('age', 0, 120) or (0, 120)": "such as --range 0 120",
    "(Attribute.bins)": "(--edges)",
}
_IS = re.compile(r"([a-z_]+)(?= is )")


def running(main: click.Group, words: Sequence[str]) -> click.Command:
    """The command that a command line names."""
    command: click.Command = main
    for word in words:
        if not isinstance(command, click.Group) or word not in command.commands:
            break
        command = command.commands[word]
    return command


def in_options(message: str, command: click.Command) -> str:
    """The message with options of the command for parameters of the library."""
    options = [one for one in command.params if isinstance(one, click.Option)]
    own = {one.name or "": max(one.opts, key=len) for one in options}
    flags = {one.name for one in options if one.is_flag}
    known = {**_OF_STUDIES, **own}

    def option(match: re.Match[str]) -> str:
        name, value = match[1], match[2].strip("'")
        called = known.get(name) or known.get(_SAME.get(name, ""))
        if called is None:
            return match[0]
        return called if value in ("True", "…") or name in flags else f"{called} {value}"

    subject = _IS.match(message)
    if subject is not None:
        name = subject[1]
        called = own.get(name) or own.get(_SAME.get(name, "")) or name
        message = called + message[subject.end() :]
    message = _NAMED.sub(lambda match: own.get(match[1], match[0]), _SET.sub(option, message))
    for words, others in _PHRASES.items():
        message = message.replace(words, others)
    return message
