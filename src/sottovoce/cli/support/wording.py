"""Messages of the library in the words of the command line: options instead of parameters.

The library says ``missing='value'`` or ``n is 0``; a user of the command line knows ``--missing
value`` and ``--people``. Which option a parameter is, the running command says itself; what is
declared in a study is an option of ``study new``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

_SAME = {"n": "people", "rates": "rate", "level": "levels", "epsilon_average": "epsilon"}
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
    "a question of 1 value was given": (
        "a question of 1 value was given (several are separated by commas, such as yes,no)"
    ),
    "give one of d (the number of values), bounds (of a number) and attributes (of a record)": (
        "give one of --values, --range and --attributes"
    ),
    "give two of these: how many people, epsilon (or levels), and the error": (
        "give two of --people, --epsilon (or --levels) and --error"
    ),
    "d (a question has two values or more)": "--values",
    "give n and epsilon (or levels) with it, and no rate": (
        "give --people and --epsilon (or --levels) with it, and no --rate"
    ),
    "give d, one epsilon for everyone and a delta above 0 with them": (
        "give --values, one --epsilon for everyone and a --delta above 0 with them"
    ),
}
#: Where the command itself declares the question, which a study does otherwise.
_DECLARED_HERE = {
    'begin a study with --missing value ("no answer" is then a value like the others), or '
    "--missing public if who did not answer is publicly known": (
        'add --missing value ("no answer" is then a value like the others)'
    ),
    "or begin a study that declares the answer": "or add it to the values",
    "is planned from count,": "is planned from --count,",
    "or use BinomialNoise,": "or --protocol binomial,",
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
    here = _DECLARED_HERE if "protocol" in own else {}
    for words, others in {**_PHRASES, **here}.items():
        message = message.replace(words, others)
    return message
