"""Options that take a number: every refusal says what was given and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from sottovoce.cli import main
from sottovoce.cli.support.numbers import INT, PATIENCE, PORT, REAL, SECONDS, Int, Real

HOSTILE = ("nan", "inf", "-inf", "1e400", "-1", "9" * 5000, "", "many", "1,5")
REFUSED = r"'.{0,41}' was given; it must be a (whole )?number (of at least|from|above) \d"
NUMERIC = (click.types.FloatParamType, click.types.IntParamType, int, float)


def options(command: click.Command = main, path: str = "") -> Iterator[tuple[str, click.Option]]:
    for param in command.params:
        if isinstance(param, click.Option) and isinstance(param.type, NUMERIC):
            yield f"{path} {param.opts[0]}", param
    for name, member in getattr(command, "commands", {}).items():
        yield from options(member, f"{path} {name}")


EVERY = dict(options())


def refusal(option: click.Option, text: str) -> str | None:
    try:
        option.type.convert(text, option, click.Context(main))
    except click.BadParameter as error:
        return error.message
    return None


def test_there_are_many_options_with_numbers():
    assert len(EVERY) > 60


@pytest.mark.parametrize("name", EVERY)
def test_every_numeric_option_is_of_the_shared_types(name):
    assert type(EVERY[name].type).__module__ == "sottovoce.cli.support.numbers"


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "name", [n for n, o in EVERY.items() if not isinstance(o.type, Int | Real)]
)
def test_a_range_refuses_what_is_no_number_in_it(name, text):
    message = refusal(EVERY[name], text)
    assert message is not None
    assert re.match(REFUSED, message)


@pytest.mark.parametrize("name", [n for n, o in EVERY.items() if isinstance(o.type, Int | Real)])
def test_a_text_is_never_a_number(name):
    message = refusal(EVERY[name], "many")
    assert message is not None
    assert re.match(r"'many' was given; it must be a (whole )?number", message)


def test_what_is_allowed_passes():
    assert SECONDS.convert("0.5", None, None) == 0.5
    assert PATIENCE.convert("0", None, None) == 0
    assert PORT.convert("65535", None, None) == 65_535
    assert INT.convert("-3", None, None) == -3
    assert REAL.convert("1e-6", None, None) == 1e-6


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "-1", "0"])
@pytest.mark.parametrize(
    "words",
    [
        ("parties", "join", "study.toml", "--party", "A", "--curator", "x:1", "--timeout"),
        ("parties", "curator", "study.toml", "--wait"),
        ("secure", "aggregator", "--study", "study.toml", "--key", "k", "--gather"),
    ],
)
def test_a_wait_always_ends(run, words, value):
    said = run(*words, value, code=2).stderr
    assert f"'{value}' was given; it must be a number above 0 and at most 2,678,400" in said


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_patience_ends(run, value):
    said = run("pull", "http://x", "--token", "t", "--out", "c.sva", "--patience", value, code=2)
    assert (
        f"'{value}' was given; it must be a number from 0 to 2,678,400, such as 60" in said.stderr
    )


@pytest.mark.parametrize(
    "words",
    [
        ("estimate", "counts.sva", "--study", "study.toml", "--confidence"),
        ("audit", "--study", "study.toml", "--confidence"),
        ("account", "rounds", "--epsilon", "1", "--rounds", "2", "--slack"),
        ("account", "shuffle", "--epsilon", "1", "--people", "100", "--delta"),
        ("account", "dummies", "--epsilon", "1", "--values", "3", "--rate"),
        ("plan", "--values", "3", "--people", "100", "--error"),
        ("plan", "--values", "3", "--people", "100", "--epsilon"),
        ("plan", "--values", "3", "--people", "100", "--epsilon", "1", "--traffic"),
        ("study", "new", "x.toml", "--title", "T", "--question", "q", "--values", "3", "--epsilon"),
    ],
)
@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "-1"])
def test_the_library_refuses_what_a_type_without_range_lets_through(
    run, randomised, fails, words, value
):
    randomised()
    run("aggregate", "reports.svr", "--study", "study.toml", "--out", "counts.sva")
    said = fails(*words, value)
    assert f"{words[-1]} is {float(value)}; it must" in said
