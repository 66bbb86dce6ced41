"""Receipts: what was randomised, and every release of it.

A receipt is read strictly: it decides whether anyone is released a second time, so that one that
is damaged or altered stops the run instead of being guessed at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..files import read_file

FORMAT = 2
RECORDS = "records"  # stands for the column where whole records were randomised
_MOST_BYTES = 1 << 24
_KEPT = re.compile(r"(reports-[1-9][0-9]{0,8}\.(svr|parquet))?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Release:
    """One draw of noise: on which day, how many reports, and the digest of each form they have.

    `kept` names the file of the reports; it is empty for all but the latest release. `choices` says
    where everyone's level and rate came from, `chosen` is a keyed digest of them, and `counts` has
    [people, reports] of each of them.
    """

    day: str
    reports: int
    kept: str
    sha256: dict[str, str]
    choices: dict[str, str] = field(default_factory=dict)
    chosen: str = ""
    counts: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Receipt:
    """What was randomised under which question, from which files, and every release of it.

    `answers`, `columns` and `prefixes` are keyed digests; see `sottovoce.collect.fingerprint`.
    """

    study: str
    question: str
    mechanism: str
    mechanism_digest: str
    answers: str
    column: str
    inputs: tuple[str, ...]
    rows: int
    columns: dict[str, str]
    prefixes: dict[int, str]
    certain: bool
    releases: tuple[Release, ...] = ()
    guarantee: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def latest(self) -> Release:
        """The last release."""
        return self.releases[-1]

    def shared_rows(self, prefixes: Mapping[int, str]) -> int:
        """How many people both begin with, as far as digests of the same length show it."""
        same = (n for n, digest in prefixes.items() if self.prefixes.get(n) == digest)
        return max(same, default=0)

    def with_release(self, release: Release) -> Receipt:
        """The receipt with one more release, whose reports are now the ones that are kept."""
        superseded = tuple(replace(old, kept="") for old in self.releases)
        return replace(self, releases=(*superseded, release))

    def of_file(self, path: str) -> Receipt:
        """The receipt with this file added to those that hold the answers."""
        return replace(self, inputs=tuple(dict.fromkeys((*self.inputs, path))))

    def to_json(self) -> bytes:
        """The stored form."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=True).encode()

    @classmethod
    def read(cls, path: Path) -> Receipt | None:
        """The receipt in a file, None where there is none."""
        if not path.exists():
            return None
        try:
            return cls._parse(json.loads(read_file(path, most=_MOST_BYTES)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = "too deeply nested" if isinstance(error, RecursionError) else error
            raise FileError(
                f"the receipt {str(path)!r} cannot be read ({reason}); remove its folder only if "
                "you are sure that the reports were never given to anyone"
            ) from error

    @classmethod
    def _parse(cls, about: Any) -> Receipt:
        if about["format"] != FORMAT:
            raise ValueError(f"format {about['format']!r}, this release reads {FORMAT}")
        releases = tuple(Release(**release) for release in about["releases"])
        columns, inputs = about["columns"], about["inputs"]
        prefixes = {int(n): digest for n, digest in about["prefixes"].items()}
        parts = {"releases": releases, "inputs": tuple(inputs), "prefixes": prefixes}
        receipt = cls(**{**about, **parts})
        texts = (receipt.study, receipt.question, receipt.mechanism, receipt.column, *inputs)
        digests = (receipt.mechanism_digest, receipt.answers, *columns.values(), *prefixes.values())
        _require(isinstance(inputs, list) and all(map(_is_text, texts)), "a field is not text")
        _require(all(map(_is_text, columns)), "a column's name is not text")
        _require(all(map(_is_digest, digests)), "a digest is malformed")
        _require(_is_count(receipt.rows) and isinstance(receipt.certain, bool), "rows, certain")
        _require(isinstance(receipt.guarantee, dict), "the guarantee")
        for release in releases:
            _check_release(release)
        return receipt


def _check_release(release: Release) -> None:
    _require(_is_text(release.day) and _is_count(release.reports), "a release's day or reports")
    kept = isinstance(release.kept, str) and _KEPT.fullmatch(release.kept) is not None
    _require(kept, "the name of kept reports")
    forms = release.sha256
    _require(set(forms) <= {"svr", "parquet"} and all(map(_is_digest, forms.values())), "a digest")
    _require(all(map(_is_text, (*release.choices, *release.choices.values()))), "choices")
    _require(release.chosen == "" or _is_digest(release.chosen), "the digest of choices")
    for rows in release.counts.values():
        for name, pair in rows.items():
            whole = isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair))
            _require(_is_text(name) and whole, "counts")


def _require(true: bool, what: str) -> None:
    if not true:
        raise ValueError(f"of the wrong shape: {what}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None
