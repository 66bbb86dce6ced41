"""Records in a study file: from TOML to `Records`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..domain.values import Attribute
from ..errors import SottovoceError, StudyError
from ..records import Records
from .reading import read_attribute, refuse_unknown

_SETTINGS = ("epsilon_average", "levels", "public", "floor", "rate")
_KEYS = {"name", *_SETTINGS, "attribute"}
_ATTRIBUTE_KEYS = {"name", "values", "edges", "labels", "missing"}


def read_records(number: int, about: Any) -> Records:
    """The collection of a [[records]] table."""
    where = f"records {number}"
    if not isinstance(about, Mapping):
        raise StudyError(f"{where} is {about!r}; it must be a [[records]] table")
    if isinstance(about.get("name"), str):
        where += f" ({about['name']!r})"
    refuse_unknown(about, _KEYS, where)
    absent = [key for key in ("name", "attribute") if key not in about]
    if ("epsilon_average" in about) == ("levels" in about):
        if "levels" in about:
            raise StudyError(f"{where} has both epsilon_average and levels; give one")
        absent.append("epsilon_average (or levels)")
    if absent:
        raise StudyError(f"{where} lacks {', '.join(absent)}")
    attributes = about["attribute"]
    if not isinstance(attributes, list) or not all(isinstance(a, Mapping) for a in attributes):
        raise StudyError(
            f"{where}: attribute is {attributes!r}; every attribute begins with "
            "[[records.attribute]], and name and values (or edges) follow"
        )
    schema = [_attribute(k, one, where) for k, one in enumerate(attributes, 1)]
    settings = {key: about[key] for key in _SETTINGS if key in about}
    try:
        return Records(schema, name=about["name"], **settings)
    except SottovoceError as error:
        raise StudyError(f"{where}: {error}") from error


def _attribute(number: int, about: Mapping[str, Any], where: str) -> Attribute:
    where += f", attribute {number}"
    if isinstance(about.get("name"), str):
        where += f" ({about['name']!r})"
    refuse_unknown(about, _ATTRIBUTE_KEYS, where)
    if ("values" in about) == ("edges" in about):
        raise StudyError(f"{where} needs values or edges; give one of them")
    try:
        return read_attribute(about)
    except SottovoceError as error:
        raise StudyError(f"{where}: {error}") from error
