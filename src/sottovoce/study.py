"""The contract of one collection: questions, values and privacy, in a TOML file.

::

    format = 1
    title = "How we get to work"

    [[question]]
    name = "commute"
    values = ["car", "bike", "train", "foot"]    # or edges = [0, 18, 65, inf] or range = [0, 120]
    missing = "value"                            # or "refuse" (the default), or "public"
    mechanism = "oue"
    epsilon = 1.0

The digest of the canonical form is bound into every report, so that reports made under one
contract are never counted under another.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .domain import Attribute, Schema
from .errors import DigestError, FileError, ParameterError, SottovoceError, StudyError
from .files import read_file, whole_file
from .guarantee import Guarantee, composed
from .mechanism import Mechanism, canonical_digest
from .mechanisms import REGISTRY, by_id
from .ranges import Range

FORMAT = 1
ALL_ANSWERS = "all answers of one person to the study"
_STUDY_KEYS = {"format", "title", "question"}
_ANSWERS = ("values", "edges", "range")
_QUESTION_KEYS = {"name", *_ANSWERS, "clip", "missing", "mechanism", "epsilon"}
_EXTRAS = {name for kind in REGISTRY.values() for name in kind.extras}


@dataclass(frozen=True)
class Study:
    """A collection's contract: what is asked, and how each answer is randomised.

    Attributes
    ----------
    title : str
        What the study is about.
    unbound : tuple of Mechanism
        One per question, each over an `Attribute`; `mechanism` gives them bound to the study.

    Examples
    --------
    >>> from sottovoce import OUE, Attribute, Study
    >>> mode = Attribute("commute", ["car", "bike", "train", "foot"])
    >>> study = Study("How we get to work", (OUE(mode, epsilon=1.0),))
    >>> study.mechanism("commute").id
    'oue'
    """

    title: str
    unbound: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not self.title.strip():
            raise StudyError(f"a study needs a title, a non-empty text; {self.title!r} was given")
        object.__setattr__(self, "unbound", tuple(self.unbound))
        for mechanism in self.unbound:
            if not isinstance(mechanism, Mechanism) or not isinstance(mechanism.domain, Attribute):
                raise StudyError(
                    f"a question is a mechanism over a named Attribute; {mechanism!r} was given"
                )
        try:
            self.schema  # noqa: B018, checks that there are questions with distinct names
        except ParameterError as error:
            raise StudyError(f"a study's questions: {error}") from error

    @cached_property
    def schema(self) -> Schema:
        """The questions' attributes in order."""
        return Schema(m.domain for m in self.unbound if isinstance(m.domain, Attribute))

    def __iter__(self) -> Iterator[Mechanism]:
        return (self.mechanism(attribute.name) for attribute in self.schema)

    def __len__(self) -> int:
        return len(self.unbound)

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that change whenever anything a participant relies on changes."""
        questions = [
            {"mechanism": m.id, "domain": m.domain.canonical(), "parameters": m.parameters}
            for m in self.unbound
        ]
        return canonical_digest(
            "study", {"format": FORMAT, "title": self.title, "questions": questions}
        )

    def mechanism(self, question: str | None = None) -> Mechanism:
        """The mechanism of a question, its reports bound to this study and this question.

        Without a name, that of the only question.
        """
        if question is None:
            if len(self) != 1:
                names = ", ".join(repr(attribute.name) for attribute in self.schema)
                raise ParameterError(f"the study has several questions; name one of {names}")
            question = self.schema.attributes[0].name
        position = self.schema.attributes.index(self.schema[question])
        binding = canonical_digest("question", {"study": self.digest.hex(), "question": question})
        return self.unbound[position].bind(binding)

    def match(self, mechanism: str, digest: bytes) -> Mechanism:
        """The question that reports of this id and digest answer, or DigestError."""
        for bound in self:
            if bound.id == mechanism and bound.digest == digest:
                return bound
        raise DigestError(
            f"reports of {mechanism!r} with the digest {digest.hex()[:12]}… do not belong to the "
            f"study {self.title!r} ({self.digest.hex()[:12]}…); even a small change to a study "
            "makes it another one"
        )

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to someone who answers every question once."""
        if len(self) == 1:
            return self.unbound[0].guarantee
        total = composed(mechanism.guarantee for mechanism in self.unbound)
        return total.about(ALL_ANSWERS, "any two ways to answer")

    @classmethod
    def from_toml(cls, text: str) -> Study:
        """Read a study; the error names what is wrong and where."""
        try:
            data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise StudyError(f"the study is not valid TOML: {error}") from error
        if data.get("format") != FORMAT:
            raise StudyError(
                f"format is {data.get('format')!r}; this release reads format = {FORMAT}"
            )
        _refuse_unknown(data, _STUDY_KEYS, "the study")
        questions = data.get("question")
        if not isinstance(questions, list) or not questions:
            raise StudyError("the study asks nothing; add a [[question]] with name, values, …")
        return cls(
            data.get("title", ""), tuple(map(_question, range(1, len(questions) + 1), questions))
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study file."""
        data = read_file(path)
        try:
            return cls.from_toml(data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise StudyError(f"{os.fspath(path)!r} is not text in UTF-8") from error
        except StudyError as error:
            raise StudyError(f"{os.fspath(path)!r}: {error}") from error

    def to_toml(self) -> str:
        """The study as a file that `from_toml` reads back to an equal study."""
        parts = [f"format = {FORMAT}\ntitle = {_toml(self.title)}\n"]
        for mechanism in self.unbound:
            about: dict[str, Any] = {"name": getattr(mechanism.domain, "name", "")}
            if isinstance(mechanism.domain, Range):
                about |= {"range": [mechanism.domain.low, mechanism.domain.high]}
                about |= {"clip": mechanism.domain.clip}
            elif mechanism.domain.edges is not None:
                about["edges"] = list(mechanism.domain.edges)
            elif isinstance(mechanism.domain.values, range):
                about["values"] = len(mechanism.domain.values)
            else:
                about["values"] = list(mechanism.domain.values)
            about["missing"] = mechanism.domain.missing
            about |= {"mechanism": mechanism.id, **mechanism.parameters}
            lines = [f"{key} = {_toml(value)}\n" for key, value in about.items()]
            parts.append("[[question]]\n" + "".join(lines))
        return "\n".join(parts)

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the study file; an existing file is kept unless `replace`."""
        if Path(path).exists() and not replace:
            raise FileError(f"{os.fspath(path)!r} exists already; choose another name")
        data = self.to_toml().encode()
        with whole_file(path) as stream:
            stream.write(data)


def _question(number: int, about: Any) -> Mechanism:
    where = f"question {number}"
    if not isinstance(about, Mapping):
        raise StudyError(f"{where} is {about!r}; it must be a [[question]] table")
    if isinstance(about.get("name"), str):
        where += f" ({about['name']!r})"
    _refuse_unknown(about, _QUESTION_KEYS | _EXTRAS, where)
    absent = sorted({"name", "mechanism", "epsilon"} - about.keys())
    answers = [key for key in _ANSWERS if key in about]
    if absent or len(answers) != 1:
        needed = ", ".join(absent + ([] if answers else ["values (or edges, or range)"]))
        both = " and ".join(answers)
        raise StudyError(
            f"{where} lacks {needed}" if needed else f"{where} has both {both}; give one"
        )
    if not isinstance(about["mechanism"], str):
        raise StudyError(f"{where}: mechanism is {about['mechanism']!r}; it must be a name")
    if "clip" in about and "range" not in about:
        raise StudyError(f"{where} has clip, which goes with range; leave it out")
    try:
        kind = by_id(about["mechanism"])
        extras = {key: about[key] for key in _EXTRAS if key in about}
        _refuse_unknown(extras, set(kind.extras), f"{where}, mechanism {kind.id!r}")
        return kind(_attribute(about), epsilon=about["epsilon"], **extras)
    except SottovoceError as error:
        raise StudyError(f"{where}: {error}") from error


def _attribute(about: Mapping[str, Any]) -> Attribute:
    missing = about.get("missing", "refuse")
    if "range" not in about:
        values, edges = about.get("values", ()), about.get("edges")
        return Attribute(about["name"], values, edges=edges, missing=missing)
    bounds = about["range"]
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise ParameterError(f"range is {bounds!r}; it must be two numbers, such as [0, 120]")
    return Range(about["name"], *bounds, clip=about.get("clip", False), missing=missing)


def _refuse_unknown(data: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(data.keys() - known)
    if unknown:
        raise StudyError(
            f"{where} has unknown entries {', '.join(map(repr, unknown))}; "
            f"known are {', '.join(sorted(known))}"
        )


def _toml(value: Any) -> str:
    """TOML of text, numbers and lists of them; JSON's text is also TOML's."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)  # inf, -inf, 1.0 and 3 are written the same way in TOML
