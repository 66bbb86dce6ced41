"""Engine `dealer`: exact, as many bytes as stated, and nothing in a view but uniform words."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from sottovoce.errors import ParameterError, ShareError
from sottovoce.sharing.triples import SEED_BYTES, Chain

SIZES = [(3, 2), (1, 4), (2, 3, 5), (4, 1, 2), (2, 3, 2, 4), (2, 2, 3, 2, 3)]


def seeds_of(many):
    return [bytes([k]) * SEED_BYTES for k in range(many)]


def compute(chain, codes, seeds):
    """Everyone's shares, what was sent as (step, sender, receiver, matrix), and the corrections."""
    own, sent, corrections = list(codes), [], {}
    for step in chain.steps:
        corrections[step] = chain.correction(step, seeds)
        from_holders = {i: chain.opened(step, i, own[i], seeds[i]) for i in range(step)}
        from_joiner = chain.opened(step, step, codes[step], seeds[step])
        sent += [(step, i, step, matrix) for i, matrix in from_holders.items()]
        sent += [(step, step, i, from_joiner) for i in range(step)]
        shares = [chain.held(step, seeds[i], from_joiner) for i in range(step)]
        shares.append(chain.joined(step, codes[step], from_holders, corrections[step]))
        own[: step + 1] = shares
    return own, sent, corrections


def plain(codes, sizes):
    table = np.zeros(sizes, np.int64)
    there = np.all([column >= 0 for column in codes], axis=0)
    np.add.at(table, tuple(column[there] for column in codes), 1)
    return table


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("sizes", SIZES)
def test_shares_add_up_to_the_table(sizes, bits):
    random, rows = np.random.default_rng(1), 97
    codes = [random.integers(-1, size, rows) for size in sizes]  # −1: a row of zeros
    chain = Chain("t", sizes, rows, bits)
    shares, sent, corrections = compute(chain, codes, seeds_of(len(sizes)))
    total = sum(shares[1:], shares[0]).astype(np.int64)
    assert (total.reshape(sizes) == plain(codes, sizes)).all()
    # ENGINES: b/8 n [l1 + l2 + Σ_{s≥3} (s−1)(Π_{k<s} l_k + l_s)]
    formula = sizes[0] + sizes[1]
    formula += sum(s * (int(np.prod(sizes[:s])) + sizes[s]) for s in range(2, len(sizes)))
    assert sum(matrix.nbytes for *_, matrix in sent) == bits // 8 * rows * formula
    assert chain.online_bytes == bits // 8 * rows * formula
    assert chain.dealt_bytes == sum(matrix.nbytes for matrix in corrections.values())


def test_the_order_of_the_stated_bytes():
    assert Chain("t", (16, 16), 20_000).online_bytes == 4 * 20_000 * 32 == 2_560_000
    assert Chain("t", (8, 8, 8), 20_000).online_bytes == 4 * 20_000 * (16 + 2 * 72)


class Counted(Chain):
    """A chain over the integers modulo 2 whose dealt bits are listed one after the other."""

    bits_left: list[int]

    def expand(self, seed, step, part, shape):
        dealt = self.dealt.setdefault((seed[0], step, part), None)
        if dealt is None:
            dealt = np.array([self.bits_left.pop() for _ in range(int(np.prod(shape)))])
            self.dealt[seed[0], step, part] = dealt
        return dealt.astype(self.words).reshape(shape).copy()


def views(sizes, codes, bits):
    """What every party sees, modulo 2, when the dealer draws these bits."""
    chain = Counted("t", sizes, len(codes[0]))
    object.__setattr__(chain, "bits_left", list(bits))
    object.__setattr__(chain, "dealt", {})
    _, sent, corrections = compute(chain, codes, seeds_of(len(sizes)))
    seen = [[] for _ in sizes]
    for (party, *_), matrix in sorted(chain.dealt.items()):
        seen[party] += (matrix % 2).ravel().tolist()
    for step, matrix in corrections.items():
        seen[step] += (matrix % 2).ravel().tolist()
    for _, _, receiver, matrix in sent:
        seen[receiver] += (matrix % 2).ravel().tolist()
    return [tuple(int(bit) for bit in one) for one in seen]


def coalition_law(sizes, codes, coalition, dealt):
    law = Counter()
    for bits in itertools.product((0, 1), repeat=dealt):
        seen = views(sizes, codes, bits)
        law[tuple(seen[k] for k in coalition)] += 1
    return law


@pytest.mark.parametrize(("sizes", "dealt"), [((2, 2), 8), ((1, 1, 1), 8)])
def test_all_parties_but_one_learn_nothing(sizes, dealt):
    """Every outcome of the dealer's coins is listed: the law of a view is exact."""
    parties = range(len(sizes))
    values = range(-1, sizes[0])
    for honest in parties:
        coalition = [k for k in parties if k != honest]
        for own in itertools.product(values, repeat=len(coalition)):
            laws = []
            for hidden in values:
                codes = [np.array([0])] * len(sizes)
                for k, value in zip(coalition, own, strict=True):
                    codes[k] = np.array([value])
                codes[honest] = np.array([hidden])
                laws.append(coalition_law(sizes, codes, coalition, dealt))
            assert all(law == laws[0] for law in laws)


def test_without_masks_the_same_test_finds_the_columns():
    """The fault: the dealer's coins are all 0, and every view shows the other's row."""
    first = views((2, 2), [np.array([0]), np.array([0])], [0] * 8)
    other = views((2, 2), [np.array([0]), np.array([1])], [0] * 8)
    assert first[0] != other[0]


def test_reused_triples_reveal_rows():
    """Two products under one seed and label: the difference of what is opened is V − V′."""
    random, rows = np.random.default_rng(2), 50
    chain, seeds = Chain("t", (3, 4), rows), seeds_of(2)
    before, after = random.integers(0, 3, rows), random.integers(0, 3, rows)
    changed = chain.opened(1, 0, after, seeds[0]) - chain.opened(1, 0, before, seeds[0])
    moved = before != after
    assert (changed.view(np.int32)[moved].argmax(axis=1) == after[moved]).all()
    assert (changed.view(np.int32)[moved].argmin(axis=1) == before[moved]).all()
    # Another label takes other masks, and the difference is noise.
    other = Chain("u", (3, 4), rows).opened(1, 0, after, seeds[0])
    assert np.abs((other - chain.opened(1, 0, before, seeds[0])).view(np.int32)).min() > 1


def test_what_is_opened_is_uniform():
    """Chi-square over bytes; false alarms 1e-9 at most, and the columns themselves must fail."""
    from scipy.stats import chi2

    limit = chi2.isf(1e-9, 255)

    def statistic(words):
        counts = np.bincount(words.view(np.uint8).ravel(), minlength=256)
        return float(((counts - counts.mean()) ** 2 / counts.mean()).sum())

    codes = [np.zeros(20_000, np.int64)] * 3
    _, sent, corrections = compute(Chain("t", (2, 2, 8), 20_000), codes, seeds_of(3))
    assert all(statistic(matrix) < limit for *_, matrix in sent)
    assert statistic(corrections[1]) < limit
    hot = np.zeros((20_000, 2), np.uint32)
    hot[:, 0] = 1
    assert statistic(hot) > limit


def test_malformed_matrices_and_forms_are_refused():
    chain = Chain("t", (2, 2), 5)
    with pytest.raises(ShareError, match="opened matrix"):
        chain.held(1, bytes(32), np.zeros((4, 2), np.uint32))
    with pytest.raises(ShareError, match="missing"):
        chain.joined(1, np.zeros(5, np.int64), {}, np.zeros((2, 2), np.uint32))
    opened = {0: np.zeros((5, 2), np.uint32)}
    with pytest.raises(ShareError, match="correction"):
        chain.joined(1, np.zeros(5, np.int64), opened, np.zeros((2, 3), np.uint32))
    with pytest.raises(ShareError, match="32"):
        chain.correction(1, [b"short", bytes(32)])
    for bad in [{"sizes": (2,)}, {"rows": 0}, {"bits": 16}]:
        with pytest.raises(ParameterError):
            Chain(**{"label": "t", "sizes": (2, 2), "rows": 5, **bad})
