"""What a participant sends: a random id, and reports.

::

    offset  bytes  content
    0       16     submission id, random; a retry sends the same id and the same bytes
    16             either the envelopes of one question, as in a file of reports (`.svr`),
                   or for each question its length (4 bytes, big-endian) and its envelopes

Reports begin with "SVRP", which as a length would be over a gigabyte, so the two forms cannot be
confused. A submission has 1 to 10,000 reports of each question that it names.

The id stays with the sender. A store keeps one hash of it, to know a retry, and a hash of the bytes
keyed by the id, to refuse other bytes under the same id; without the id, which has 128 random
bits, neither says anything about the reports.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.codec import REPORTS_MAGIC, decode_stream
from ..contract.collection import Collection
from ..contract.reports import Column, Reports
from ..errors import WireError
from ..randomness import refuse_seeded
from ..study import Study

ID_BYTES = 16
MOST_REPORTS = 10_000
MOST_REFUSED = 100  # more bad reports than these, and the whole submission is refused
_HEAD = 512  # at most, of an envelope with its length
_MOST_BYTES = 1 << 26
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True)
class Refused:
    """One report that was not accepted."""

    question: str
    position: int
    reason: str


@dataclass(frozen=True)
class Submission:
    """Valid reports by question, and those that were refused."""

    key: bytes  # hash of the submission id: what a store keeps, and the sender's receipt
    tag: bytes  # hash of all bytes, keyed by the id
    reports: Mapping[str, Reports]
    refused: tuple[Refused, ...]
    people: int  # how many the submission speaks for
    nbytes: int

    @property
    def accepted(self) -> int:
        """How many reports are valid."""
        return sum(map(len, self.reports.values()))


def key_of(identifier: bytes) -> bytes:
    """What a store keeps of a submission id."""
    return blake2b(identifier, digest_size=16, person=b"sottovoce id").digest()


def most_bytes(study: Study) -> int:
    """The size of the largest submission that a study allows."""
    each = sum(one.report_bytes * MOST_REPORTS + _HEAD for one in study)
    return min(ID_BYTES + each, _MOST_BYTES)


def pack(identifier: bytes, parts: list[bytes]) -> bytes:
    """A submission: the id, and the envelopes of one question or of several."""
    if len(parts) == 1:
        return identifier + parts[0]
    return identifier + b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def unpack(data: bytes, study: Study) -> Submission:
    """Read a submission; reports that nobody can have sent are named by their positions.

    WireError if nothing of it can be accepted.
    """
    if len(data) <= ID_BYTES:
        raise WireError(
            f"a submission has an id of {ID_BYTES} bytes and then reports; {len(data)} bytes came"
        )
    identifier = data[:ID_BYTES]
    reports: dict[str, Reports] = {}
    refused: list[Refused] = []
    people = 0
    for part in _parts(memoryview(data)[ID_BYTES:]):
        batch = _batch(part, study)
        collection = study.match(batch.collection, batch.digest)
        if collection.name in reports:
            raise WireError(f"the question {collection.name!r} appears twice in one submission")
        batch, bad = _split(collection, batch)
        reports[collection.name] = batch
        refused += (Refused(collection.name, where, why) for where, why in bad.items())
        people = max(people, int(collection.headcount(batch)[0].sum()))
    tag = blake2b(data, digest_size=16, key=identifier, person=b"sottovoce bytes").digest()
    return Submission(key_of(identifier), tag, reports, tuple(refused), people, len(data))


def _parts(body: memoryview) -> Iterator[memoryview]:
    if body[:4] == REPORTS_MAGIC:
        yield body
        return
    while body:
        if len(body) < _LENGTH.size:
            raise WireError("the submission ends within the length of a question's reports")
        (size,) = _LENGTH.unpack_from(body)
        part, body = body[_LENGTH.size : _LENGTH.size + size], body[_LENGTH.size + size :]
        if len(part) != size:
            raise WireError(
                f"a question's reports take {size:,} bytes and {len(part):,} are left; the "
                "submission was cut off, send it again"
            )
        yield part


@dataclass(frozen=True)
class _Unchecked:
    """A study whose reports are read without looking at their values."""

    study: Study
    layout: tuple[Column, ...] = ()

    def match(self, collection: str, digest: bytes) -> _Unchecked:
        return _Unchecked(self.study, self.study.match(collection, digest).layout)

    def check(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """The values are checked later, to find the position of a bad one."""


def _batch(part: memoryview, study: Study) -> Reports:
    batches: list[Reports] = []
    many = 0
    for batch in decode_stream(io.BytesIO(part), expect=_Unchecked(study)):
        batches.append(batch)
        many += len(batch)
        if many > MOST_REPORTS or len(batches) > MOST_REPORTS:
            raise WireError(
                f"a submission has more than {MOST_REPORTS:,} reports of a question; send them "
                "in several submissions, each with an id of its own"
            )
        if batch.kind != batches[0].kind:
            raise WireError("envelopes of different questions follow each other; see docs/wire.md")
        if batch.seeded:
            refuse_seeded("these reports are")
    if not many:
        raise WireError("the submission has no reports; send at least one")
    return Reports.concatenate(batches)


def _split(collection: Collection, batch: Reports) -> tuple[Reports, dict[int, str]]:
    """The valid reports, and the positions of the others with what is wrong with each."""
    try:
        collection.check(batch.columns)
    except WireError:
        bad = _bad_positions(collection, batch)
        keep = np.ones(len(batch), bool)
        keep[list(bad)] = False
        columns = {name: column[keep] for name, column in batch.columns.items()}
        return Reports(batch.collection, batch.digest, columns), bad
    return batch, {}


def _bad_positions(collection: Collection, batch: Reports) -> dict[int, str]:
    """By halving: a few bad reports among many cost a few checks."""
    bad: dict[int, str] = {}
    waiting = [(0, len(batch))]
    while waiting:
        start, stop = waiting.pop()
        try:
            collection.check(batch[start:stop].columns)
        except WireError as error:
            if stop - start > 1:
                middle = (start + stop) // 2
                waiting += [(middle, stop), (start, middle)]
                continue
            bad[start] = str(error)
            if len(bad) > MOST_REFUSED:
                raise WireError(
                    f"more than {MOST_REFUSED} reports are malformed, the first at position "
                    f"{min(bad)}: {bad[min(bad)]}; nothing was stored"
                ) from error
    return bad
