"""TOML as data, whatever is wrong with it an error of ours."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from ..errors import StudyError
from ..files import read_file

_MOST_BYTES = 1 << 26


def parse_toml(text: str) -> dict[str, Any]:
    """The data of a text; the error says what is wrong and where."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise StudyError("this is not valid TOML: it is nested too deeply") from error
    except ValueError as error:
        # Also for numbers of thousands of digits, which Python refuses to read.
        raise StudyError(f"this is not valid TOML: {error}") from error


def load_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The data of a file."""
    data = read_file(path, most=_MOST_BYTES)
    try:
        return parse_toml(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise StudyError(f"{os.fspath(path)!r} is not text in UTF-8") from error
    except StudyError as error:
        raise StudyError(f"{os.fspath(path)!r}: {error}") from error
