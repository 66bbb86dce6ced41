"""Study files as data, and questions and records read from them; every defect is a StudyError."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..contract.collection import Collection
from ..domain.options import Options
from ..domain.ranges import Range
from ..domain.values import Attribute
from ..errors import ParameterError, SottovoceError, StudyError
from ..files import read_file
from ..heavy import HeavyHitters
from ..mechanisms import REGISTRY, by_id
from ..mechanisms.choose_all import ChooseAll
from ..mechanisms.mechanism import Mechanism
from ..mechanisms.registry import extra_parameters
from ..participation import Levels, Sampled
from ..records import Records

T = TypeVar("T")
Kind = Literal["people", "parties", "secure"]

#: What each kind of study is, and who reads it.
_KINDS: dict[Kind, tuple[str, str]] = {
    "people": ("a study of people's answers", "`sottovoce randomise` and what follows it"),
    "parties": ("a study between organisations", "`sottovoce parties`"),
    "secure": ("the study of a secure protocol", "`sottovoce secure`"),
}

_MOST_BYTES = 1 << 26
_MANY_DOTS = re.compile(r"(?:\.[^.,=\n]{0,200}){65}")  # Python reads long keys in quadratic time
_LIKE_TOML = re.compile(rb"\s*(#|\[|[\w.-]+\s*=|\Z)")
_ANSWERS = ("values", "edges", "range", "alphabet")
_KNOWN = {name: set(extra_parameters(kind)) for name, kind in REGISTRY.items()}
_EXTRAS = {name for extras in _KNOWN.values() for name in extras}
_OWN = {"mechanism", "epsilon", "rate", *_EXTRAS}  # of a level, too
_TEXT = {"alphabet", "length", "longer", "other", "step"}
_KEYS = {"name", *_ANSWERS, *_TEXT, "labels", "clip", "most", "missing", "levels", *_OWN}
_SETTINGS = ("epsilon_average", "levels", "public", "floor", "rate")  # of records
_ATTRIBUTE_KEYS = {"name", "values", "edges", "labels", "missing"}


def parse_toml(text: str) -> dict[str, Any]:
    """The data of a text; the error says what is wrong and where."""
    if _MANY_DOTS.search(text):
        raise StudyError("a key has more than 64 parts, or a text 65 dots and no comma; shorten it")
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
    except (UnicodeDecodeError, StudyError) as error:
        name = repr(os.fspath(path))
        if instead := _something_else(data, Path(path).suffix.lower() == ".toml"):
            raise StudyError(f"{name} {instead}") from error
        if isinstance(error, UnicodeDecodeError):
            raise StudyError(f"{name} is not text in UTF-8; save it so") from error
        raise StudyError(f"{name}: {error}") from error


def load_study(path: str | os.PathLike[str], read: Callable[[dict[str, Any]], T]) -> T:
    """The study that `read` makes of the data of a file; an error names the file."""
    data = load_toml(path)
    try:
        return read(data)
    except StudyError as error:
        raise StudyError(f"{os.fspath(path)!r}: {error}") from error


def check_format(data: Mapping[str, Any], known: int) -> None:
    """Refuse the format of another version."""
    version = data.get("format")
    if version != known or isinstance(version, bool):
        raise StudyError(f"the format is {version!r}; this version reads {known}")


def _something_else(data: bytes, toml: bool) -> str:
    """What a file is that is not a study; empty where it may be one with an error in it."""
    parquet = data[:4] == b"PAR1"
    if data[:4] in (b"SVRP", b"SVAG") or (parquet and b"sottovoce" in data):
        what = "counts" if data[:4] == b"SVAG" else "reports"
        return f"holds {what}, not a study; name the study that they were made under"
    if (parquet or not _LIKE_TOML.match(data)) and not toml:
        return "is a table, not a study; make a study with `sottovoce study new`"
    return ""


def refuse_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    """Refuse unknown entries: a typing error must not change the contract."""
    unknown = sorted(data.keys() - known)
    if unknown:
        raise StudyError(
            f"{where} has unknown entries {', '.join(map(repr, unknown))}; "
            f"known are {', '.join(sorted(known))}"
        )


def refuse_other_entries(data: Mapping[str, Any], known: set[str], kind: Kind) -> None:
    """Refuse a study of another kind, and entries that this kind does not have."""
    other = _kind_of(data)
    if other is not None and other != kind:
        what, command = _KINDS[other]
        raise StudyError(f"this is {what}, not {_KINDS[kind][0]}; it is for {command}")
    refuse_unknown(data, known, "the study")


def _kind_of(data: Mapping[str, Any]) -> Kind | None:
    """What a study is by its entries, if that is clear."""
    if "protocol" not in data:
        listed = any(isinstance(data.get(key), list) for key in ("question", "records"))
        return "people" if listed else None
    return "parties" if "question" not in data else "secure"


def read_attribute(about: Mapping[str, Any]) -> Attribute:
    """What may be answered: values, bins or a range."""
    missing, name = about.get("missing", "refuse"), about.get("name", "")
    if "range" not in about:
        edges = about.get("edges")
        if edges is not None and not _numbers(edges):
            raise ParameterError(
                f"edges is {edges!r}; edges are a list of numbers, such as [0, 18, 65, inf]"
            )
        values, labels = about.get("values", ()), about.get("labels")
        if "most" not in about:
            return Attribute(name, values, edges=edges, missing=missing, wording=labels)
        if edges is not None:
            raise ParameterError("most is for options to choose from, not for edges")
        return Options(name, values, most=about["most"], missing=missing, wording=labels)
    if "labels" in about:
        raise ParameterError("labels go with values or edges; a number between bounds has none")
    bounds = about["range"]
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ParameterError(f"range is {bounds!r}; it must be two numbers, such as [0, 120]")
    return Range(name, *bounds, clip=about.get("clip", False), missing=missing)


def _numbers(edges: Any) -> bool:
    return isinstance(edges, list) and all(type(edge) in (int, float) for edge in edges)


@contextmanager
def at_place(where: str) -> Iterator[None]:
    """Say where an error is; a StudyError says so itself."""
    try:
        yield
    except StudyError:
        raise
    except SottovoceError as error:
        raise StudyError(f"{where}: {error}") from error


def _place(where: str, about: Any, table: str) -> str:
    """Where a table of the file is, with its name if it has one."""
    if not isinstance(about, Mapping):
        raise StudyError(f"{where} is {about!r}; it must be a [[{table}]] table")
    return where + (f" ({about['name']!r})" if isinstance(about.get("name"), str) else "")


def _refuse_gaps(
    about: Mapping[str, Any], where: str, needed: Sequence[str], *one_of: tuple[str, ...]
) -> None:
    """Refuse a table that lacks an entry, or has not exactly one of several."""
    absent = [key for key in needed if key not in about]
    for first, *others in one_of:
        present = [key for key in (first, *others) if key in about]
        if len(present) > 1:
            raise StudyError(f"{where} has both {' and '.join(present)}; give one")
        if not present:
            absent.append(f"{first} (or {' or '.join(', '.join(others).rsplit(', ', 1))})")
    if absent:
        raise StudyError(f"{where} lacks {', '.join(absent)}")


def read_question(number: int, about: Any) -> Collection:
    """The mechanism of a [[question]] table, or the search for frequent texts."""
    where = _place(f"question {number}", about, "question")
    refuse_unknown(about, _KEYS, where)
    levels = about.get("levels")
    own = isinstance(levels, Mapping) and levels and all(map(_names_mechanism, levels.values()))
    needed = ["name"] if own else ["name", "mechanism"]
    _refuse_gaps(about, where, needed, _ANSWERS, ("epsilon", "levels"))
    if "clip" in about and "range" not in about:
        raise StudyError(f"{where} has clip, which goes with range; leave it out")
    with at_place(where):
        if "alphabet" in about:
            return _read_text(about, where)
        refuse_unknown(about, _KEYS - _TEXT, f"{where} without an alphabet")
        attribute = read_attribute(about)
        if "levels" not in about:
            return _sample(_plain(attribute, about, where), about, where)
        if not isinstance(levels, Mapping) or not levels:
            raise StudyError(
                f"{where}: levels is {levels!r}; give names with an epsilon each, such as "
                "levels = {strong = 0.5, normal = 2}"
            )
        menu = {
            name: _level(attribute, about, entry, f"{where}, level {name!r}")
            for name, entry in levels.items()
        }
        return _sample(Levels(menu), about, where)


def _names_mechanism(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "mechanism" in entry


def _read_text(about: Mapping[str, Any], where: str) -> HeavyHitters:
    refuse_unknown(about, {"name", "mechanism", "epsilon", *_TEXT}, f"{where}, with an alphabet,")
    if "length" not in about:
        raise StudyError(f"{where} lacks length, the maximum number of symbols of a text")
    return HeavyHitters(**about)


def _level(attribute: Attribute, about: Mapping[str, Any], entry: Any, where: str) -> Mechanism:
    own = entry if isinstance(entry, Mapping) else {"epsilon": entry}
    refuse_unknown(own, _OWN, where)
    if "epsilon" not in own:
        raise StudyError(f"{where} lacks epsilon")
    common = () if "mechanism" in own else ("mechanism", *sorted(_EXTRAS))
    entries = {**{key: about[key] for key in common if key in about}, **own}
    return _sample(_plain(attribute, entries, where), own, where)


def _plain(attribute: Attribute, about: Mapping[str, Any], where: str) -> Mechanism:
    if not isinstance(about["mechanism"], str):
        raise StudyError(f"{where}: mechanism is {about['mechanism']!r}; it must be a name")
    with at_place(where):
        kind = REGISTRY.get(about["mechanism"]) or by_id(about["mechanism"])
        extras = {key: about[key] for key in _EXTRAS if key in about}
        refuse_unknown(extras, _KNOWN.get(kind.id, set()), f"{where}, mechanism {kind.id!r}")
        if isinstance(attribute, Options):
            return ChooseAll(attribute, epsilon=about["epsilon"], by=kind.id)
        return kind(attribute, epsilon=about["epsilon"], **extras)


def _sample(mechanism: Mechanism, about: Mapping[str, Any], where: str) -> Mechanism:
    if "rate" not in about:
        return mechanism
    rate = about["rate"]
    rates = rate if isinstance(rate, list) else [rate]
    if isinstance(rate, Mapping) and isinstance(about.get("levels"), Mapping):
        raise StudyError(
            f"{where}: rate is {rate!r}; a rate of its own is written into the level, such as "
            "levels = {strong = {epsilon = 0.5, rate = 0.1}}"
        )
    numbers = all(isinstance(r, (int, float)) and not isinstance(r, bool) for r in rates)
    if not isinstance(rate, Mapping) and not (numbers and rates):
        raise StudyError(
            f"{where}: rate is {rate!r}; a rate is a number above 0 and at most 1, such as "
            "rate = 0.1, or a list of them, such as rate = [0.05, 0.1, 0.5]"
        )
    with at_place(where):
        return Sampled(mechanism, rate=rate)


def read_records(number: int, about: Any) -> Records:
    """The collection of a [[records]] table."""
    where = _place(f"records {number}", about, "records")
    refuse_unknown(about, {"name", *_SETTINGS, "attribute"}, where)
    _refuse_gaps(about, where, ["name", "attribute"], ("epsilon_average", "levels"))
    attributes = about["attribute"]
    if not isinstance(attributes, list) or not all(isinstance(a, Mapping) for a in attributes):
        raise StudyError(
            f"{where}: attribute is {attributes!r}; every attribute begins with "
            "[[records.attribute]], and name and values (or edges) follow"
        )
    schema = []
    for k, one in enumerate(attributes, 1):
        place = _place(f"{where}, attribute {k}", one, "records.attribute")
        refuse_unknown(one, _ATTRIBUTE_KEYS, place)
        if ("values" in one) == ("edges" in one):
            raise StudyError(f"{place} needs values or edges; give one of them")
        with at_place(place):
            schema.append(read_attribute(one))
    with at_place(where):
        settings = {key: about[key] for key in _SETTINGS if key in about}
        return Records(schema, name=about["name"], **settings)
