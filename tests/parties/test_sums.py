"""The masked sum: exact, bound to its session, and everything else refused by name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sottovoce.errors import ParameterError, ShareError, WireError
from sottovoce.parties.sums import Block, Held, MaskedSum, Opened, OpenedSum, SumDesign
from sottovoce.randomness import SYSTEM
from sottovoce.sharing import masks
from sottovoce.transport import Batch, Role

STUDY = bytes(range(32))
BLOCKS = [Block("0/y1", 3, 32), Block("0/y2", 2, 64), Block("1/y1", 1, 32)]


class Sum:
    """Parties who have said hello, and a curator, by hand."""

    def __init__(self, parties=3, blocks=BLOCKS):
        self.blocks = blocks
        self.design = SumDesign(STUDY, tuple("ABCDEFGH"[:parties]))
        self.members = [MaskedSum(self.design, k) for k in range(parties)]
        self.states = [Held() for _ in self.members]
        self.curator = OpenedSum(self.design)
        self.opened = Opened()
        self.hellos = [member.hello(10 + k, SYSTEM) for k, member in enumerate(self.members)]
        for k, batches in enumerate(self.hellos):
            for batch in batches:
                if batch.sent_to is Role.CURATOR:
                    self.opened = self.curator.take(self.opened, batch)
                    continue
                for i, member in enumerate(self.members):
                    if batch.kind == "hello" or i == k:
                        self.states[i] = member.take(self.states[i], batch)

    def masked(self, vectors):
        return [
            m.mask(state, self.blocks, own)[0]
            for m, state, own in zip(self.members, self.states, vectors, strict=True)
        ]

    def take(self, *batches):
        for batch in batches:
            self.opened = self.curator.take(self.opened, batch, self.blocks)
        return self.curator.sums(self.opened, self.blocks)


def vectors_of(parties):
    return [
        [np.array([k, -(10**6) * k, 7]), np.array([-(2**40) * k, 5]), np.array([-1])]
        for k in range(parties)
    ]


@pytest.mark.parametrize("parties", [2, 3, 4, 5])
def test_the_sum_is_exact_in_both_rings_also_below_zero(parties):
    between, vectors = Sum(parties), vectors_of(parties)
    sums = between.take(*between.masked(vectors))
    for j, total in enumerate(sums):
        assert total.tolist() == sum(own[j] for own in vectors).tolist()
    assert between.opened.rows == {k: 10 + k for k in range(parties)}


def test_shares_of_a_table_count_modulo_the_ring():
    # Additive shares of 5 modulo 2^32 and 2^64, as columns that are split give them.
    blocks = [Block("a", 1, 32), Block("b", 1, 64)]
    between = Sum(2, blocks)
    small, large = np.array([2**32 - 7], np.uint32), np.array([2**64 - 7], np.uint64)
    vectors = [[small, large], [np.array([12], np.uint32), np.array([12], np.uint64)]]
    assert [total.tolist() for total in between.take(*between.masked(vectors))] == [[5], [5]]


def test_nothing_is_opened_while_a_vector_is_missing():
    between = Sum(3)
    sent = between.masked(vectors_of(3))
    with pytest.raises(ShareError, match="masked vector of 'C' is missing"):
        between.take(*sent[:2])


def altered(batch, **payload):
    return replace(batch, payload={**batch.payload, **payload})


def test_messages_that_do_not_fit_are_refused_by_name():
    between = Sum(3)
    a, b, _ = between.masked(vectors_of(3))
    between.opened = between.curator.take(between.opened, a, BLOCKS)
    with pytest.raises(ShareError, match="'A' sent its masked vector twice"):
        between.take(a)
    with pytest.raises(ShareError, match="'B' masked for another session"):
        between.take(altered(b, session=np.zeros((1, 32), np.uint8)))
    with pytest.raises(WireError, match=r"shape \(3,\)"):
        between.take(altered(b, words32=b.payload["words32"][:, :3]))
    with pytest.raises(WireError, match="type int64"):
        between.take(altered(b, words64=b.payload["words64"].view(np.int64)))
    with pytest.raises(WireError, match="party 3, who is not among"):
        between.take(replace(b, sender=np.array([3])))
    with pytest.raises(WireError, match="came from 'dealer'"):
        between.take(replace(b, sent_by=Role.DEALER))
    with pytest.raises(WireError, match="round 1"):
        between.take(replace(b, round=1))
    between.opened, _ = between.curator.close(between.opened, 2)
    with pytest.raises(ShareError, match="came late"):
        between.take(b)


def test_hellos_that_do_not_fit_are_refused_by_name():
    between = Sum(3)
    member, fresh = between.members[0], Held()
    hello, _, kept = between.hellos[1]
    with pytest.raises(ShareError, match="'B' said hello twice"):
        member.take(between.states[0], hello)
    with pytest.raises(ShareError, match="to itself alone"):
        member.take(fresh, kept)
    held = member.take(fresh, hello)
    with pytest.raises(ShareError, match="'C' said hello with the key of another party"):
        member.take(held, replace(hello, sender=np.array([2])))
    with pytest.raises(ShareError, match="'B' says that it has -2 rows"):
        member.take(fresh, altered(hello, rows=np.array([-2])))
    with pytest.raises(ShareError, match="'A', 'C' sent no hello"):
        member.mask(held, BLOCKS, vectors_of(1)[0])
    weak = altered(hello, key=np.zeros((1, 32), np.uint8))
    held = member.take(member.take(fresh, between.hellos[0][0]), weak)
    held = member.take(member.take(held, between.hellos[2][0]), between.hellos[0][2])
    with pytest.raises(ShareError, match="not a usable X25519 key"):
        member.mask(held, BLOCKS, vectors_of(1)[0])


def test_parties_who_heard_different_hellos_are_found_out():
    between = Sum(3)
    other = between.members[1].hello(11, SYSTEM)[0]
    hellos = dict(between.states[0].hellos)
    del hellos[1]
    between.states[0] = between.members[0].take(replace(between.states[0], hellos=hellos), other)
    with pytest.raises(ShareError, match="'A' masked for another session"):
        between.take(*between.masked(vectors_of(3)))


def test_wrong_vectors_and_designs_are_refused():
    between = Sum(2, [Block("a", 2, 32)])
    member, held = between.members[0], between.states[0]
    for vectors in ([np.array([1])], [np.array([1.0, 2.0])], []):
        with pytest.raises(ParameterError):
            member.mask(held, between.blocks, vectors)
    twice = [Block("a", 1, 32), Block("a", 1, 32)]
    with pytest.raises(ParameterError, match="one keystream is never used twice"):
        member.mask(held, twice, [np.array([1])] * 2)
    for wrong in (("A",), ("A", "A")):
        with pytest.raises(ParameterError):
            SumDesign(STUDY, wrong)
    with pytest.raises(ParameterError):
        SumDesign(STUDY, ("A", "B"), hello=2, masked=2)
    with pytest.raises(ParameterError):
        Block("a", 1, 16)


def test_no_two_contexts_or_pairs_have_a_keystream_in_common():
    def context(**change):
        base = {"study": STUDY, "session": bytes(32), "roster": ("A", "B", "C"), "block": "0/y1"}
        return masks.Context(**{**base, **change})

    contexts = [
        context(),
        context(study=bytes(32)),
        context(session=STUDY),
        context(block="0/y2"),
        context(block="1/y1"),
        context(roster=("B", "A", "C")),
        context(roster=("AB", "", "C")),
    ]
    names = [c.pair(i, j) for c in contexts for i, j in ((0, 1), (0, 2), (1, 2))]
    names += [c.own(k) for c in contexts for k in range(3)]
    streams = {
        masks.keystream(b"one secret", c, name, 4, 32).tobytes() for c in contexts for name in names
    }
    assert len(streams) == len(names) * len({c.session for c in contexts})
    for i, j in ((1, 1), (1, 0), (0, 3)):
        with pytest.raises(ParameterError):
            context().pair(i, j)


def test_the_keystream_is_aes_256_in_counter_mode_under_an_hkdf_key():
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    context = masks.Context(STUDY, bytes(32), ("A", "B"), "y")
    information = context.pair(0, 1)
    key = HKDF(SHA256(), 32, salt=bytes(32), info=information).derive(b"secret")
    cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    expected = np.frombuffer(cipher.update(bytes(8 * 70_000)), "<u8")
    words = masks.keystream(b"secret", context, information, 70_000, 64)
    assert (words == expected).all()


def test_messages_to_oneself_are_no_cost_and_stay_with_the_party():
    between = Sum(2)
    kept = between.hellos[0][2]
    assert isinstance(kept, Batch)
    assert kept.sent_to is Role.PARTY
    assert kept.receiver.tolist() == kept.sender.tolist() == [0]
