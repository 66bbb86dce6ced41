"""The command line: one file per command, with common parts in `support`.

Nothing but click is imported until a command runs, so that ``--help`` answers at once. What
commands raise becomes one line and an exit code.
"""

from __future__ import annotations

import codecs
import os
import shlex
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import IO, Any

import click

from .. import __version__
from ..checks import printable, text_width
from ..errors import SottovoceError, StudyError
from .support.wording import in_options, running

__all__ = ["main"]

#: In the order of a collection; each has a module of its own, with a command of the same name.
COMMANDS = (
    *("demo", "plan", "lip", "study", "randomise", "aggregate", "estimate", "joint", "compare"),
    *("serve", "invite", "send", "pull", "collection", "secure", "parties", "guarantee"),
    *("account", "audit", "reproduce"),
)
INTERRUPTED = 130
NOBODY_READS = 141  # as of a program that SIGPIPE ends
_ELSEWHERE = {
    "records": "records are part of a study: make one with `sottovoce study new FILE --records "
    "NAME --attribute …`, add them to one with `sottovoce study add`, and estimate their joint "
    "distribution with `sottovoce joint`",
}


_WORDS = "sottovoce.words"  # where a context keeps its command line


class Failure(click.ClickException):
    """An error that the user can fix: one line on stderr, exit code 1."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line; red where stderr is a terminal that shows colours."""
        start = click.style("error:", fg="red", bold=True)
        color = False if "NO_COLOR" in os.environ else None  # None: decided by the terminal
        click.echo(f"{start} {printable(self.message)}", file=file, err=True, color=color)


class Commands(click.Group):
    """Lists commands in the order of a collection, and handles what they raise."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As they were added, not alphabetically."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say where its job is done."""
        ctx.meta[_WORDS] = list(args)
        if args[0] in _ELSEWHERE:
            raise click.UsageError(_ELSEWHERE[args[0]], ctx)
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line; --help and --version print here, which may also fail."""
        with _in_one_line():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        _never_fail_to_print()

        def translate(message: str) -> str:
            return in_options(message, running(self, ctx.meta.get(_WORDS, ())))

        with _in_one_line(translate), warnings.catch_warnings():
            warnings.showwarning = _Once(translate)
            try:
                return super().invoke(ctx)
            except click.MissingParameter as error:
                if error.param is None or "--study" not in error.param.opts:
                    raise
                advice = _how_to_name_a_study(ctx.meta.get(_WORDS, ()))
                raise click.MissingParameter(advice, error.ctx, error.param) from None


def _how_to_name_a_study(words: Sequence[str]) -> str:
    """Some commands take a study as an argument, and others as an option."""
    study = next((word for word in words if word.endswith(".toml")), None)
    if study is None:
        return "It is the file that `sottovoce study new` writes."
    return f"Write: --study {shlex.quote(study)}"


@contextmanager
def _in_one_line(translate: Callable[[str], str] = str) -> Iterator[None]:
    """Turn what is raised into a failure that click shows as one line."""
    try:
        yield
    except BrokenPipeError:
        _forget_output()
        raise click.exceptions.Exit(NOBODY_READS) from None
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # how rich ends
            raise click.exceptions.Exit(NOBODY_READS) from None
        raise
    except StudyError as error:
        raise Failure(str(error)) from error  # of the entries of a file, not of options
    except SottovoceError as error:
        raise Failure(translate(str(error))) from error
    except OSError as error:
        _forget_output()
        where = f"{error.filename!r}: " if error.filename else ""
        raise Failure(f"{where}{error.strerror or error}") from error
    except MemoryError as error:
        raise Failure("there is not enough memory for this") from error
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def _forget_output() -> None:
    """Discard what could not be printed; otherwise the interpreter fails on it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class _Once:
    """One line on stderr, only once, without the location in the code.

    Estimates of many parts all give the same warning.
    """

    def __init__(self, translate: Callable[[str], str]) -> None:
        self._translate = translate
        self._shown_before: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) in self._shown_before:
            return
        self._shown_before.add(str(message))
        coloured = sys.stderr.isatty() and "NO_COLOR" not in os.environ
        start = click.style("warning:", fg="yellow", bold=True) if coloured else "warning:"
        # Not click.echo: it overrides the encoding.
        print(start, printable(self._translate(str(message))), file=sys.stderr)


_PLAIN = {"ε": "epsilon", "δ": "delta", "−": "-", "–": "-", "—": "-", "×": "x", "±": "+-"}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """A sign that the terminal's encoding lacks: without its accent, else '?' as wide as it is."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = ""
    for place in range(error.start, error.end):
        sign = error.object[place]
        words = _PLAIN.get(sign) or unicodedata.normalize("NFKD", sign)
        if "\N{FRACTION SLASH}" in words:  # 1½ is neither 112 nor 11/2
            gap = " " * error.object[place - 1 : place].isdecimal()
            words = gap + words.replace("\N{FRACTION SLASH}", "/")
        ascii_only = "".join(one for one in words if one.isascii())
        shown += ascii_only or "?" * text_width(sign)
    return shown, error.end


def _never_fail_to_print() -> None:
    """Show a replacement where the terminal's encoding lacks a sign, instead of failing."""
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="plain")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done; 1 an error you can fix (the message says how); "
    "2 wrong usage; 130 interrupted; 141 the program that reads the output ended.",
)
@click.version_option(
    __version__, "--version", prog_name="sottovoce", message="%(prog)s %(version)s"
)
def main() -> None:
    """Learn statistics about many people without anyone handing over raw data.

    Each answer is randomised on the participant's own side; only statistics of the whole population
    can be estimated.

    \b
    See it work:
      sottovoce demo

    \b
    A collection, step by step:
      sottovoce study new study.toml --title "How we get to work" \\
          --question commute --values car,bicycle,train --epsilon 1
      sottovoce randomise answers.csv --study study.toml --out reports.svr
      sottovoce aggregate reports.svr --study study.toml --out counts.sva
      sottovoce estimate counts.sva --study study.toml
    """  # noqa: D301


for name in COMMANDS:
    main.add_command(getattr(import_module(f".{name}", __name__), name))
