"""The file of attributes that the commands of `sottovoce records` work with.

::

    title = "Health and habits"
    epsilon_average = 2.0
    public = false                  # the default: nobody's division of the budget is sent
    floor = 0.0                     # the least budget of an attribute

    [[attribute]]
    name = "smokes"
    values = ["yes", "no"]          # or edges = [0, 18, 65, inf]
    missing = "refuse"              # the default; or "value", or "public"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SottovoceError, StudyError

if TYPE_CHECKING:
    from ...domain.values import Attribute
    from ...records.records import Records

_KEYS = {"title", "epsilon_average", "public", "floor", "attribute"}
_ATTRIBUTE_KEYS = {"name", "values", "edges", "missing"}


def load_records(path: Path) -> tuple[str, Records]:
    """The title, and the records bound to it."""
    from ...contract.digest import canonical_digest
    from ...study.toml_text import load_toml

    given = load_toml(path)
    try:
        title, records = _read(given)
    except SottovoceError as error:
        raise StudyError(f"{str(path)!r}: {error}") from error
    except OverflowError as error:
        raise StudyError(f"{str(path)!r}: a number in it is too large") from error
    about = {"title": title, "records": records.digest.hex()}
    return title, records.bind(canonical_digest("records study", about))


def is_records(path: Path) -> bool:
    """Whether a file that is no study seems to be a file of attributes."""
    from ...study.toml_text import load_toml

    try:
        given = load_toml(path)
    except SottovoceError:
        return False
    return "format" not in given and bool({"attribute", "epsilon_average"} & set(given))


def _read(given: Mapping[str, Any]) -> tuple[str, Records]:
    from ...records.records import Records

    if "format" in given or "question" in given:
        raise StudyError(
            "this is a study, not a file of records (title, epsilon_average and an [[attribute]] "
            "for each); use sottovoce randomise, aggregate, estimate or study show with it"
        )
    _only(given, _KEYS, "the file")
    for key in ("title", "epsilon_average", "attribute"):
        if key not in given:
            raise StudyError(f"there is no {key!r}; it needs one")
    title, attributes = given["title"], given["attribute"]
    if not isinstance(title, str) or not title.strip():
        raise StudyError(f"title is {title!r}; it must be a text")
    if not isinstance(attributes, list) or not all(isinstance(a, Mapping) for a in attributes):
        raise StudyError(
            f"attribute is {attributes!r}; every attribute begins with [[attribute]], and name and "
            "values (or edges) follow"
        )
    made = [_attribute(k, about) for k, about in enumerate(attributes, 1)]
    more = {key: given[key] for key in ("epsilon_average", "public", "floor") if key in given}
    return title, Records(made, **more)


def _attribute(number: int, about: Mapping[str, Any]) -> Attribute:
    from ...domain.values import Attribute

    where = f"attribute {number}"
    if isinstance(about.get("name"), str):
        where += f" ({about['name']!r})"
    _only(about, _ATTRIBUTE_KEYS, where)
    if ("values" in about) == ("edges" in about):
        raise StudyError(f"{where} needs values or edges; give one of them")
    values, edges = about.get("values", ()), about.get("edges")
    if edges is not None and not _numbers(edges):
        raise StudyError(
            f"{where}: edges is {edges!r}; edges are a list of numbers, such as [0, 18, 65, inf]"
        )
    try:
        missing = about.get("missing", "refuse")
        return Attribute(about.get("name", ""), values, edges=edges, missing=missing)
    except SottovoceError as error:
        raise StudyError(f"{where}: {error}") from error


def _numbers(given: Any) -> bool:
    return isinstance(given, list) and all(type(edge) in (int, float) for edge in given)


def _only(given: Mapping[str, Any], allowed: set[str], where: str) -> None:
    unknown = sorted(set(given) - allowed)
    if unknown:
        raise StudyError(
            f"{where}: {unknown[0]!r} means nothing here; allowed: {', '.join(sorted(allowed))}"
        )
