"""TOML as data, whatever is wrong with it an error of ours; and what may be answered, from it."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Any

from ..domain.ranges import Range
from ..domain.values import Attribute
from ..errors import ParameterError, StudyError
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


def refuse_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse entries that mean nothing: a typing error must not become another contract."""
    unknown = sorted(data.keys() - known)
    if unknown:
        raise StudyError(
            f"{where} has unknown entries {', '.join(map(repr, unknown))}; "
            f"known are {', '.join(sorted(known))}"
        )


def read_attribute(about: Mapping[str, Any]) -> Attribute:
    """What may be answered: values, bins or a range."""
    missing, name = about.get("missing", "refuse"), about.get("name", "")
    if "range" not in about:
        edges = about.get("edges")
        if edges is not None and not _numbers(edges):
            raise ParameterError(
                f"edges is {edges!r}; edges are a list of numbers, such as [0, 18, 65, inf]"
            )
        return Attribute(name, about.get("values", ()), edges=edges, missing=missing)
    bounds = about["range"]
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ParameterError(f"range is {bounds!r}; it must be two numbers, such as [0, 120]")
    return Range(name, *bounds, clip=about.get("clip", False), missing=missing)


def _numbers(edges: Any) -> bool:
    return isinstance(edges, list) and all(type(edge) in (int, float) for edge in edges)
