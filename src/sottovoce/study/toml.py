"""What questions and records have in common in a study file: attributes, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..contract.collection import Collection
from ..domain.ranges import Range
from ..domain.values import Attribute, Domain
from ..errors import ParameterError, StudyError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


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


# --- and back ---------------------------------------------------------------------------------


def write_collection(collection: Collection) -> str:
    """The table of a question, or those of records and of each of their attributes."""
    answers = [_answers(one) for one in collection.attributes]
    head = f"[[{collection.section}]]\n"
    if collection.section == "question":
        return head + _lines({**answers[0], **collection.entries()})
    head += _lines({"name": collection.name, **collection.entries()})
    return head + "".join("\n[[records.attribute]]\n" + _lines(one) for one in answers)


def _lines(entries: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {toml(value)}\n" for key, value in entries.items())


def _answers(domain: Domain) -> dict[str, Any]:
    about: dict[str, Any] = {"name": domain.name}
    if isinstance(domain, Range):
        about |= {"range": [domain.low, domain.high], "clip": domain.clip}
    elif domain.edges is not None:
        about["edges"] = list(domain.edges)
    elif isinstance(domain.values, range):
        about["values"] = len(domain.values)
    else:
        about["values"] = list(domain.values)
    return {**about, "missing": domain.missing}


def toml(value: Any) -> str:
    """TOML of text, numbers, lists and tables of them; JSON's text is also TOML's."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {toml(entry)}" for key, entry in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)  # inf, -inf, 1.0 and 3 are written the same way in TOML


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml(name)
