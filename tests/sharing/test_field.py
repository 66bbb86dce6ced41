"""Fields: primes, ranges that cannot overflow, uniform elements, 64-bit products."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.errors import ParameterError, ShareError
from sottovoce.kernels import field as kernel
from sottovoce.noise import Binomial, DiscreteLaplace, Polya
from sottovoce.randomness import Source
from sottovoce.sharing import PrimeField, smallest_prime_above
from sottovoce.sharing.field import is_prime

LARGE = (1 << 62) - 57  # the largest prime below 2^62
PRIMES = [3, 5, 7, 1009, 100_003, (1 << 31) + 11, (1 << 32) - 5, (1 << 32) + 15, LARGE]


def test_primes_are_those_of_a_sieve():
    sieve = np.ones(20_000, bool)
    sieve[:2] = False
    for p in range(2, 142):
        sieve[p * p :: p] &= not sieve[p]
    assert [is_prime(n) for n in range(20_000)] == sieve.tolist()
    # Products that fool fewer or other witnesses.
    for composite in (3215031751, 3825123056546413051, (1 << 62) - 1):
        assert not is_prime(composite)
    assert is_prime((1 << 61) - 1)
    assert smallest_prime_above(1 << 61) == (1 << 61) + 15
    assert smallest_prime_above(LARGE - 1) == LARGE


@pytest.mark.parametrize("low", [0, -1, -40])
@pytest.mark.parametrize("high", [0, 1, 97, 1000])
def test_every_total_of_the_range_is_decoded(low, high):
    field = PrimeField.covering(low, high)
    totals = np.arange(low, high + 1)
    assert field.decode(field.encode(totals)).tolist() == totals.tolist()
    assert field.modulus > high - low
    # It is the smallest odd prime that is large enough.
    assert all(not is_prime(q) for q in range(max(high - low + 1, 3), field.modulus))


def test_the_field_is_sized_by_people_multiplicity_and_noise():
    assert PrimeField.for_total(1000).modulus == 1009
    assert PrimeField.for_total(1009).modulus == 1013  # a total of 1009 would be 0 modulo 1009
    assert PrimeField.for_total(1000, multiplicity=5).high >= 5000
    coins = PrimeField.for_total(1000, noise=Binomial(62))
    assert coins.low == 0
    assert coins.high >= 1062
    many = PrimeField.for_total(1000, noise=Binomial(1), draws=300)
    assert many.high >= 1300
    signed = PrimeField.for_total(1000, noise=DiscreteLaplace(10))
    assert signed.low <= -690  # 100 bits of tail
    assert signed.high >= 1690
    shares = PrimeField.for_total(1000, noise=Polya(10, 4), draws=5)
    assert shares.low <= 5 * signed.low
    for field in (coins, many, signed, shares):
        assert field.decode(field.encode([field.low, field.high])).tolist() == [
            field.low,
            field.high,
        ]


def test_totals_outside_the_range_are_refused():
    field = PrimeField.covering(-3, 10)
    for values in ([field.high + 1], [-4]):
        with pytest.raises(ParameterError, match="this field holds"):
            field.encode(values)
    with pytest.raises(ParameterError, match="integers"):
        field.encode([0.5])
    with pytest.raises(ParameterError, match="contain 0"):
        PrimeField.covering(1, 5)
    for modulus in (2, 9, (1 << 62) + 135):
        with pytest.raises(ParameterError, match="modulus"):
            PrimeField(modulus)


def test_what_is_no_element_is_refused_and_named():
    field = PrimeField(7)
    with pytest.raises(ShareError, match=r"at \(1, 0\) is 7"):
        field.check(np.array([[0, 6], [7, 1]], np.uint64))
    with pytest.raises(ShareError, match="int64"):
        field.check(np.array([1, 2]))
    with pytest.raises(ShareError):
        field.decode(np.array([9], np.uint64))


def reference(words: list[int], q: int, bits: int) -> list[int]:
    limit = (1 << bits) % q
    return [w * q >> bits for w in words if w * q % (1 << bits) >= limit]


@pytest.mark.parametrize("q", PRIMES)
def test_uniform_elements_are_the_reference(q):
    rng = np.random.default_rng(q % 1000)
    bits = 32 if q <= 1 << 32 else 64
    # Words just around the places where words are left out, and any others.
    edges = [(k << bits) // q + d for k in range(40) for d in (0, 1, 2)]
    words = [w for w in edges if w < 1 << bits] + rng.integers(0, 1 << 32, 500).tolist()
    if bits == 64:
        words += rng.integers(0, (1 << 64) - 1, 500, np.uint64).tolist()
    expected = reference(words, q, bits)
    out = np.zeros((1, len(words)), np.uint64)
    row = np.array([words], np.uint32 if bits == 32 else np.uint64)
    counts = PrimeField(q).elements(row, out)
    assert counts.tolist() == [len(expected)]
    assert out[0, : len(expected)].tolist() == expected


@pytest.mark.parametrize(("q", "bits"), [(3, 8), (5, 8), (7, 8), (251, 8), (641, 10)])
def test_the_reference_is_exactly_uniform(q, bits):
    drawn = reference(list(range(1 << bits)), q, bits)
    assert np.bincount(drawn, minlength=q).tolist() == [(1 << bits) // q] * q


class Recorded(Source):
    """Remembers every byte that it hands out."""

    def __init__(self, rng):
        self.rng, self.filled = rng, []

    def _fill(self, target):
        self.filled.append(self.rng.bytes(len(target)))
        target[:] = self.filled[-1]


def test_uniform_goes_on_through_words_that_are_left_out():
    q = (1 << 31) + 11  # almost every second word is left out
    rng = np.random.default_rng(3)
    source = Recorded(rng)
    field = PrimeField(q)
    drawn = field.uniform((70, 2000), source)
    assert drawn.shape == (70, 2000)
    assert len(source.filled) > 3
    words = np.frombuffer(b"".join(source.filled), np.uint32).tolist()
    assert drawn.reshape(-1).tolist() == reference(words, q, 32)[: drawn.size]


@pytest.mark.parametrize("q", PRIMES)
def test_products_and_sums_are_those_of_plain_integers(q):
    field = PrimeField(q)
    rng = np.random.default_rng(11)
    numbers = [0, 1, q - 1, q // 2, *(int(x) % q for x in rng.integers(0, 1 << 62, 60))]
    rows = np.array([numbers, numbers[::-1], numbers[1:] + numbers[:1]], np.uint64)
    weights = [q - 1, int(rng.integers(0, 1 << 62)) % q, 1]
    out = np.empty(rows.shape[1], np.uint64)
    kernel.combine(rows, field.prepared(weights), field.word, field.negative_inverse, out)
    expected = [
        sum(w * int(x) for w, x in zip(weights, column, strict=True)) % q for column in rows.T
    ]
    assert out.tolist() == expected
    assert field.add_rows(rows).tolist() == [sum(map(int, column)) % q for column in rows.T]
    points = [1, 2, q - 1]
    values = np.empty((3, rows.shape[1]), np.uint64)
    kernel.evaluate(rows, field.prepared(points), field.word, field.negative_inverse, values)
    for x, row in zip(points, values, strict=True):
        assert row.tolist() == [(int(a) + int(b) * x + int(c) * x * x) % q for a, b, c in rows.T]
