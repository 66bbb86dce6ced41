"""A party's own data: read from a file and checked, or synthetic for a rehearsal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..support.command import progress

if TYPE_CHECKING:
    from ...collect.dialect import Dialect
    from ...domain.values import Attribute
    from ...study.parties import PartyStudy

_ROWS = 1 << 18


def read_table(path: Path, study: PartyStudy, party: str, dialect: Dialect) -> Any:
    """The columns that a party's part of the study needs, checked chunk by chunk.

    An error names column and row, and does not quote what is there.
    """
    import pyarrow as pa

    from ...collect.answers import Answers
    from ...collect.columns import Columns, Wanted
    from ...collect.release import check_plain

    check_plain(path)
    answers = [
        Answers(path, attribute.name, attribute, quoted=False)
        for attribute in study.attributes_of(party)
    ]
    remedy = "name the columns as the study does"
    wanted = {one.column: replace(one.wanted, remedy=remedy) for one in answers}
    if study.key is not None:
        wanted[study.key] = Wanted("text", why="the key is")
    parts = []
    # Whether there are rows is as private as how many there are.
    may_be_empty = not study.sizes_are_public
    columns = Columns(path, wanted, may_be_empty=may_be_empty, dialect=dialect)
    with progress("Reading rows", path.stat().st_size) as done:
        for first, chunk in columns.chunks(_ROWS, done):
            for one in answers:
                one.coded(chunk[one.column], first)
            parts.append(chunk)
    if not parts:
        return {name: [] for name in wanted}
    return pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()


def content_of(path: Path) -> bytes:
    """SHA-256 of a file, by which a party recognises its own data; it never leaves the party."""
    from ...collect.ledger import sha256
    from ...collect.release import check_plain

    check_plain(path)
    return bytes.fromhex(sha256(path))


def synthetic_table(study: PartyStudy, party: str, rows: int) -> Mapping[str, Any]:
    """Rows drawn uniformly from the public values: nothing in them is about anybody."""
    from ...checks import checked_count
    from ...randomness import SYSTEM

    checked_count(rows, "rows", 1)
    columns: dict[str, Any] = {}
    for attribute in study.attributes_of(party):
        codes = SYSTEM.below(len(attribute.values), rows)
        columns[attribute.name] = _values(attribute)[codes]
    if study.key is not None:
        columns[study.key] = [f"synthetic {k}" for k in range(rows)]
    return columns


def _values(attribute: Attribute) -> Any:
    """A value for every label; for bins a number inside."""
    import numpy as np

    if attribute.edges is None:
        return np.array(list(attribute.values), object)
    edges = np.array(attribute.edges)
    low, high = edges[:-1].copy(), edges[1:].copy()
    low[~np.isfinite(low)] = high[~np.isfinite(low)] - 2.0
    high[~np.isfinite(high)] = low[~np.isfinite(high)] + 2.0
    return (low + high) / 2
