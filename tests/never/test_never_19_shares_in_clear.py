"""Never relay shares in clear: a share is sealed to its receiver.

What a relay sees is recorded: every parcel that passes. Who sends how many bytes to whom is the
same whatever people answer; the rest of the transcript looks like random bytes, and no share is in
it. The twin relays the same parcels unsealed, which both comparisons must catch.

False alarm: the byte counts of ciphertext are compared with uniform ones at 1e-9.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from sottovoce.testing import seeded
from sottovoce.transport import Machine, drive
from sottovoce.transport.keys import Roster
from sottovoce.transport.network import Played
from sottovoce.transport.relay import Patience, Relay
from sottovoce.transport.sealing import Head, read_head
from tests.transport import stage
from tests.transport.parties import PROTOCOL, through
from tests.transport.summing import ROUNDS, cast, machine

PEOPLE = (60, 40)
ROSTER, KEYS = cast(list(PEOPLE), 3)
ANSWERS = {
    "nothing": np.zeros(100, np.uint64),
    "all": np.ones(100, np.uint64),
    "one": np.eye(1, 100, 7, dtype=np.uint64)[0],
    "large": np.arange(100, dtype=np.uint64) << np.uint64(40),
}


class Recording(Relay):
    """A relay that keeps what passes."""

    def __init__(self, roster: Roster = ROSTER, rounds: int = ROUNDS) -> None:
        super().__init__(roster, roster.bind(PROTOCOL), bytes(16), rounds, Patience(10, 10))
        self.transcript: list[bytes] = []

    def accept(self, name: str, parcel: bytes) -> None:
        super().accept(name, parcel)
        self.transcript.append(parcel)


def machines(values: Any) -> dict[str, Machine[Any]]:
    parts = {}
    for k, party in enumerate(ROSTER):
        with seeded(k) as source:
            parts[party.id] = machine(ROSTER, party.id, values, source)
    return parts


def transcript(values: Any) -> list[bytes]:
    relay = Recording()
    curator = through(relay, KEYS, machines(values))["curator"]
    assert isinstance(curator, Played)
    assert curator.state.result == int(values.sum())
    return relay.transcript


def shares(values: Any) -> list[bytes]:
    """All that is sent in the same run with the same coins, as bytes."""
    views = drive(list(machines(values).values()), ROUNDS).views
    columns = [batch.payload["share"] for batch in views.batches]
    return [share.tobytes() for column in columns for share in column]


def pattern(parcels: list[bytes]) -> list[tuple[Head, int]]:
    return sorted(((read_head(p), len(p)) for p in parcels), key=repr)


def sealed_part(parcel: bytes) -> bytes:
    return parcel[4 + int.from_bytes(parcel[:4], "little") :]


def p_value(parcels: list[bytes]) -> float:
    counts = np.bincount(
        np.frombuffer(b"".join(map(sealed_part, parcels)), np.uint8), minlength=256
    )
    expected = counts.sum() / 256
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 255))


def test_the_pattern_of_traffic_does_not_depend_on_answers() -> None:
    patterns = [pattern(transcript(values)) for values in ANSWERS.values()]
    assert all(seen == patterns[0] for seen in patterns)
    assert len(patterns[0]) == 2 * 3 + 3  # each host to each helper, each helper to the curator


@pytest.mark.parametrize("name", stage.PROTOCOLS)
def test_nor_does_it_in_any_protocol(name: str) -> None:
    """With the same coins; which items people report, and so who writes to whom, are coins."""
    protocol = stage.PROTOCOLS[name]
    roster, keys = stage.cast(protocol)
    patterns = []
    for answers in (stage.PEOPLE, np.zeros_like(stage.PEOPLE), stage.PEOPLE[::-1].copy()):
        parts = {}
        for party in roster:
            with seeded(stage.SEED) as source:
                parts[party.id] = stage.part_of(protocol, roster, party.id, source, answers)
        relay = Recording(roster, next(iter(parts.values())).rounds)
        ends = through(relay, keys, {who: part.machine for who, part in parts.items()})
        assert all(isinstance(end, Played) for end in ends.values())
        patterns.append(pattern(relay.transcript))
        assert p_value(relay.transcript) > 1e-9
    assert patterns[0] == patterns[1] == patterns[2]


@pytest.mark.parametrize("name", ANSWERS)
def test_no_share_is_in_the_transcript_and_the_rest_looks_random(name: str) -> None:
    parcels = transcript(ANSWERS[name])
    everything = b"".join(parcels)
    assert not any(share in everything for share in shares(ANSWERS[name]))
    assert p_value(parcels) > 1e-9


def test_parcels_that_are_not_sealed_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsealed(text: bytes, head: Head, *_: Any) -> bytes:
        raw = head.to_bytes()
        return len(raw).to_bytes(4, "little") + raw + bytes(32) + text

    def text_of(parcel: bytes, *_: Any) -> bytes:
        return sealed_part(parcel)[32:]

    monkeypatch.setattr("sottovoce.transport.post.seal", unsealed)
    monkeypatch.setattr("sottovoce.transport.post.unseal", text_of)
    parcels = transcript(ANSWERS["one"])
    everything = b"".join(parcels)
    assert all(share in everything for share in shares(ANSWERS["one"]))
    assert p_value(parcels) < 1e-9
