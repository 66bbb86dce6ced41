"""The masked sum: exact, uniform given the sum, and everything else refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.errors import ShareError
from sottovoce.parties.sums import Block, MaskedSum, OpenedSum, SumDesign
from sottovoce.randomness import SYSTEM
from sottovoce.transport import Role

STUDY = bytes(range(32))


def run(vectors, blocks, parties=None, masked=2):
    """All parties' messages by hand: (party states, their masked batches, the curator's state)."""
    names = parties or tuple("ABCDEFGH"[: len(vectors)])
    design = SumDesign(STUDY, names, masked=masked)
    members = [MaskedSum(design, k) for k in range(len(names))]
    states = [member.start() for member in members]
    curator, opened = OpenedSum(design), OpenedSum(design).start()
    for k, member in enumerate(members):
        for batch in member.hello(10 + k, SYSTEM):
            if batch.sent_to is Role.CURATOR:
                opened = curator.take(opened, batch, blocks)
                continue
            for i, other in enumerate(members):
                if batch.kind == "hello" or i == k:
                    states[i] = other.take(states[i], batch)
    sent = [m.mask(states[k], blocks, vectors[k])[0] for k, m in enumerate(members)]
    return members, states, sent, curator, opened


@pytest.mark.parametrize("parties", [2, 3, 4, 5])
def test_the_sum_is_exact_in_both_rings_also_below_zero(parties):
    blocks = [Block("a/y1", 3, 32), Block("a/y2", 2, 64), Block("b/y1", 1, 32)]
    vectors = [
        [np.array([k, -(10**6) * k, 7]), np.array([-(2**40) * k, 5]), np.array([-1])]
        for k in range(parties)
    ]
    *_, sent, curator, opened = run(vectors, blocks)
    for batch in sent:
        opened = curator.take(opened, batch, blocks)
    for j, total in enumerate(curator.sums(opened, blocks)):
        assert total.tolist() == sum(v[j] for v in vectors).tolist()


def test_nothing_is_opened_while_a_vector_is_missing():
    blocks = [Block("y1", 2, 32)]
    *_, sent, curator, opened = run([[np.array([1, 2])]] * 3, blocks)
    for batch in sent[:2]:
        opened = curator.take(opened, batch, blocks)
    with pytest.raises(ShareError, match="masked vector of 'C' is missing"):
        curator.sums(opened, blocks)
