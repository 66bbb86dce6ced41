"""The outermost group: it turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from typing import IO, Any

import click

from ...errors import SottovoceError

INTERRUPTED = 130


class Failure(click.ClickException):
    """Something that the user can put right: one line on stderr, exit code 1."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line; red where stderr is a terminal that shows colours."""
        start = click.style("error:", fg="red", bold=True)
        color = False if "NO_COLOR" in os.environ else None  # None: decided by the terminal
        click.echo(f"{start} {self.message}", file=file, err=True, color=color)


class Commands(click.Group):
    """Lists commands in the order of a collection, and handles what they raise."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """As they were added, not by alphabet."""
        return list(self.commands)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Read the command line; --help and --version print here, which may fail, too."""
        with _in_one_line():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        _never_fail_to_print()
        with _in_one_line(), warnings.catch_warnings():
            warnings.showwarning = _Once()
            return super().invoke(ctx)


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Turn what is raised into a failure that click shows as one line."""
    try:
        yield
    except BrokenPipeError:
        raise  # whoever read our output has gone: click ends quietly
    except SottovoceError as error:
        raise Failure(str(error)) from error
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
    """Let what could not be printed go nowhere, or the interpreter fails over it at the end."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class _Once:
    """One line on stderr, without the place in the code that only developers want, and only once.

    Estimates of many parts all warn of the same.
    """

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) in self._told:
            return
        self._told.add(str(message))
        coloured = sys.stderr.isatty()
        start = click.style("warning:", fg="yellow", bold=True) if coloured else "warning:"
        print(start, message, file=sys.stderr)  # not click.echo: it overrides the encoding


def _never_fail_to_print() -> None:
    """Show a replacement where the terminal's encoding lacks a sign, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextmanager
def noted() -> Iterator[list[str]]:
    """What is warned of inside, each once, for JSON; it is shown as usual, too."""
    said: list[str] = []
    before = warnings.showwarning

    def show(message: Warning | str, *arguments: Any, **options: Any) -> None:
        if str(message) not in said:
            said.append(str(message))
        before(message, *arguments, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield said
