"""The contract of one collection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..checks import html_table
from ..contract.collection import Collection, canonical_digest
from ..domain.values import Attribute
from ..errors import DigestError, ParameterError, StudyError
from ..files import read_file, whole_file
from ..mechanisms.mechanism import Mechanism
from ..promise import Guarantee, Promise, Protected, Unit, composed
from .reading import load_study, parse_toml, read_question, read_records, refuse_other_entries
from .writing import toml, write_collection

FORMAT = 1
_STUDY_KEYS = {"format", "title", "question", "records"}


@dataclass(frozen=True)
class Study:
    """A collection's contract: what is asked, and how each answer is randomised.

    Attributes
    ----------
    title : str
        What the study is about.
    unbound : tuple of Collection
        A mechanism over an `Attribute` for each question, then `Records`; `collection` and
        `mechanism` give them bound to the study.

    Examples
    --------
    >>> from sottovoce import OUE, Attribute, Study
    >>> mode = Attribute("commute", ["car", "bike", "train", "foot"])
    >>> study = Study("How we get to work", (OUE(mode, epsilon=1.0),))
    >>> study.mechanism("commute").id
    'oue'
    """

    title: str
    unbound: tuple[Collection, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.title, str) or not self.title.strip():
            raise StudyError(f"a study needs a title, a non-empty text; {self.title!r} was given")
        if not isinstance(self.unbound, Iterable):
            raise StudyError(
                f"questions are a list of them; {type(self.unbound).__name__} was given"
            )
        for one in self.unbound:
            attributes = one.attributes if isinstance(one, Collection) else ()
            if not (attributes and one.name and all(isinstance(a, Attribute) for a in attributes)):
                raise StudyError(
                    "a study asks questions, which are mechanisms over a named Attribute, and "
                    f"Records; {one!r} was given"
                )
        if not self.unbound:
            raise StudyError("a study needs at least one question; none was given")
        # A study file has questions first, too.
        in_order = sorted(self.unbound, key=lambda one: one.section)
        object.__setattr__(self, "unbound", tuple(in_order))
        twice = [name for name in self.names if self.names.count(name) > 1]
        if twice:
            raise StudyError(f"a study has two questions named {twice[0]!r}; names must differ")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the questions, then of the records."""
        return tuple(one.name for one in self.unbound)

    def _repr_html_(self) -> str:
        """For notebooks: every question, the digest, and the guarantee in one line."""
        rows: list[tuple[str, ...]] = [("question", "attributes", "mechanism")]
        for one in self:
            asked = (f"{a.name} ({a.size:,} values)" for a in one.attributes)
            rows.append((one.name, ", ".join(asked), one.words))
        end = f"digest {self.digest.hex()}; {self.guarantee.line()}"
        return html_table(self.title, rows, head=True, end=end)

    def __iter__(self) -> Iterator[Collection]:
        return iter(self._bound.values())

    def __len__(self) -> int:
        return len(self.unbound)

    def canonical(self) -> dict[str, Any]:
        """Plain data that decides what the study asks and promises; the digest is taken of it."""
        asked: dict[str, list[Any]] = {"question": [], "records": []}
        for one in self.unbound:
            asked[one.section].append({"name": one.name, **one.canonical()})
        return {"format": FORMAT, "title": self.title, **asked}

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that change whenever anything a participant relies on changes."""
        return canonical_digest("study", self.canonical())

    @cached_property
    def _bound(self) -> dict[str, Collection]:
        """Every collection by name, its reports bound to this study and this question."""
        return {one.name: one.bind(self._binding(one.name)) for one in self.unbound}

    @cached_property
    def _by_digest(self) -> dict[tuple[str, bytes], Collection]:
        return {(one.id, one.digest): one for one in self}

    def _binding(self, name: str) -> bytes:
        return canonical_digest("question", {"study": self.digest.hex(), "question": name})

    def collection(self, name: str | None = None) -> Collection:
        """A question's mechanism or records, their reports bound to this study and this name.

        Without a name, that of the only question.
        """
        known = ", ".join(map(repr, self.names))
        if name is None:
            if len(self) != 1:
                raise ParameterError(f"the study has several questions; name one of {known}")
            (name,) = self.names
        if name not in self._bound:
            raise ParameterError(f"there is no question {name!r}; the study has {known}")
        return self._bound[name]

    def mechanism(self, question: str | None = None) -> Mechanism:
        """The mechanism of a question, its reports bound to this study and this question."""
        collection = self.collection(question)
        if not isinstance(collection, Mechanism):
            raise ParameterError(
                f"{collection.name!r} are records, not a question; use "
                f"study.collection({collection.name!r})"
            )
        return collection

    def match(self, collection: str, digest: bytes) -> Collection:
        """What reports of this id and digest belong to, or DigestError."""
        try:
            return self._by_digest[collection, digest]
        except KeyError:
            raise DigestError(
                f"reports of {collection!r} with the digest {digest.hex()[:12]}… do not belong to "
                f"the study {self.title!r} ({self.digest.hex()[:12]}…); even a small change to a "
                "study makes it another one"
            ) from None

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to someone who answers everything once.

        One promise per level where all menus have the same levels, else one for everyone:
        different menus leave too many combinations; the largest epsilon of each holds for all.
        """
        every = self.unbound
        if len(every) == 1:
            return every[0].guarantee
        if not self.levels:
            return composed(one.guarantee_at().about(Unit(Protected.STUDY)) for one in every)
        promises: list[Promise] = []
        for name in self.levels:
            unit = Unit(Protected.STUDY, level=name)
            promises += composed(one.guarantee_at(name).about(unit) for one in every).promises
        return Guarantee(tuple(promises))

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that someone can choose for the whole study, in the order of `guarantee`.

        Empty where no question has any, or where menus have different names.
        """
        menus = [one.level_names for one in self.unbound if one.level_names]
        alike = all(set(menu) == set(menus[0]) for menu in menus)
        return menus[0] if menus and alike else ()

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
        refuse_other_entries(data, _STUDY_KEYS, "people")
        collections: list[Collection] = []
        for key, read in (("question", read_question), ("records", read_records)):
            tables: Any = data.get(key, [])
            if not isinstance(tables, list):
                raise StudyError(
                    f"the study asks nothing: {key} is {tables!r:.80}; write [[{key}]] above it"
                )
            try:
                collections += map(read, range(1, len(tables) + 1), tables)
            except OverflowError as error:
                raise StudyError("a number in the study is too large") from error
        if not collections:
            raise StudyError(
                "the study asks nothing; add a [[question]] with name, values, …, or [[records]]"
            )
        return cls(data.get("title", ""), tuple(collections))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study file."""
        return load_study(path, cls._from_data)

    def to_toml(self) -> str:
        """The study as a file that `from_toml` reads back to an equal study."""
        head = f"format = {FORMAT}\ntitle = {toml(self.title)}\n"
        return "\n".join([head, *map(write_collection, self.unbound)])

    def add_to_file(self, path: str | os.PathLike[str], collection: Collection) -> Study:
        """Append a question or records to this study's file; gives the study that it is then.

        Comments in the file stay. Its digest changes, so that reports made under this study are
        not counted under the new one.
        """
        study = Study(self.title, (*self.unbound, collection))
        text = read_file(path).decode().rstrip("\n") + f"\n\n{write_collection(collection)}"
        if Study.from_toml(text) != study:
            raise StudyError(
                f"{os.fspath(path)!r} is not the file of this study, or it changed; load it again"
            )
        with whole_file(path, replace=True) as stream:
            stream.write(text.encode())
        return study

    def save(self, path: str | os.PathLike[str], *, replace: bool = False) -> None:
        """Write the study file; an existing file is kept unless `replace`."""
        data = self.to_toml().encode()
        with whole_file(path, replace=replace) as stream:
            stream.write(data)
