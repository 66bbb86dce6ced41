"""A question or records as TOML that `Study.from_toml` reads back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..contract.collection import Collection
from ..domain.options import Options
from ..domain.ranges import Range
from ..domain.text import Text
from ..domain.values import Domain
from ..errors import StudyError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


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
    if isinstance(domain, Text):
        about |= {"alphabet": domain.alphabet, "length": domain.length, "longer": domain.longer}
        return about if domain.other is None else {**about, "other": domain.other}
    if isinstance(domain, Range):
        about |= {"range": [domain.low, domain.high], "clip": domain.clip}
    elif domain.edges is not None:
        about["edges"] = list(domain.edges)
    elif isinstance(domain.values, range):
        about["values"] = len(domain.values)
    else:
        about["values"] = list(domain.values)
    if isinstance(domain, Options):
        about["most"] = domain.most
    if domain.wording is not None:
        about["labels"] = list(domain.wording)
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
        try:
            value.encode()
        except UnicodeEncodeError as error:  # half of a pair, or a byte that was not UTF-8
            raise StudyError(
                f"{value!r} has a sign that no file can hold ({value[error.start]!r}); write it in "
                "UTF-8"
            ) from error
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)  # inf, -inf, 1.0 and 3 are written the same way in TOML


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml(name)
