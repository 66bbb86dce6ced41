"""The contract of one collection."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..contract.digest import canonical_digest
from ..domain.values import Attribute, Schema
from ..errors import DigestError, ParameterError, StudyError
from ..files import whole_file
from ..mechanisms.mechanism import Mechanism
from ..promise.guarantee import Guarantee
from .promises import promised, shared_levels
from .questions import read, refuse_unknown, toml, written
from .toml_text import load_toml, parse_toml

FORMAT = 1
_STUDY_KEYS = {"format", "title", "question"}


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
        return promised(self.unbound)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that someone can choose for the whole study, in the order of `guarantee`.

        Empty where no question has any, or where menus have different names.
        """
        return shared_levels(self.unbound)

    @classmethod
    def from_toml(cls, text: str) -> Study:
        """Read a study; the error names what is wrong and where."""
        return cls._from_data(parse_toml(text))

    @classmethod
    def _from_data(cls, data: Mapping[str, Any]) -> Study:
        if data.get("format") != FORMAT:
            raise StudyError(
                f"format is {data.get('format')!r}; this release reads format = {FORMAT}"
            )
        refuse_unknown(data, _STUDY_KEYS, "the study")
        questions = data.get("question")
        if not isinstance(questions, list) or not questions:
            raise StudyError("the study asks nothing; add a [[question]] with name, values, …")
        return cls(data.get("title", ""), tuple(map(read, range(1, len(questions) + 1), questions)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study file."""
        data = load_toml(path)
        try:
            return cls._from_data(data)
        except StudyError as error:
            raise StudyError(f"{os.fspath(path)!r}: {error}") from error

    def to_toml(self) -> str:
        """The study as a file that `from_toml` reads back to an equal study."""
        head = f"format = {FORMAT}\ntitle = {toml(self.title)}\n"
        return "\n".join([head, *map(written, self.unbound)])

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the study file; an existing file is kept unless `replace`."""
        data = self.to_toml().encode()
        with whole_file(path, replace=replace) as stream:
            stream.write(data)
