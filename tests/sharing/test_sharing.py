"""Sharing: what comes back, and that too few shares are independent of the secret."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from sottovoce import testing
from sottovoce.errors import ParameterError, ShareError
from sottovoce.keystream import first_bytes
from sottovoce.sharing import PrimeField, additive, seeds, shamir

FIELDS = [PrimeField(q) for q in (5, 1009, (1 << 31) + 11, (1 << 32) + 15, (1 << 61) - 1)]
fields = pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.modulus))


def listed(monkeypatch, q, n):
    """Every outcome of n uniform elements, one after the other, in place of random ones."""
    for outcome in product(range(q), repeat=n):
        numbers = np.array(outcome, np.uint64)
        monkeypatch.setattr(
            PrimeField, "uniform", lambda self, shape, source=None, u=numbers: u.reshape(shape)
        )
        yield


@fields
@pytest.mark.parametrize("parties", [1, 2, 3, 7])
def test_all_additive_shares_reconstruct(field, parties):
    secret = field.uniform((4, 9))
    shares = additive.share(field, secret, parties)
    assert shares.shape == (parties, 4, 9)
    assert additive.reconstruct(field, shares).tolist() == secret.tolist()


@fields
@pytest.mark.parametrize(("parties", "threshold"), [(1, 1), (3, 2), (4, 4), (4, 1)])
def test_any_threshold_of_shamir_shares_reconstructs(field, parties, threshold):
    secret = field.uniform((3, 5))
    shares = shamir.share(field, secret, parties, threshold=threshold)
    for some in combinations(range(parties), threshold):
        points = [i + 1 for i in some]
        back = shamir.reconstruct(field, points, shares[list(some)], threshold=threshold)
        assert back.tolist() == secret.tolist()
    every = list(range(1, parties + 1))
    back = shamir.reconstruct(field, every, shares, threshold=threshold)
    assert back.tolist() == secret.tolist()


@pytest.mark.parametrize("q", [5, 7])
def test_additive_shares_but_one_are_uniform_whatever_the_secret(q, monkeypatch):
    field, parties = PrimeField(q), 3
    for missing in range(parties):
        views = []
        for secret in range(q):
            view: Counter = Counter()
            for _ in listed(monkeypatch, q, parties - 1):
                shares = additive.share(field, np.array([secret], np.uint64), parties)
                view[tuple(np.delete(shares[:, 0], missing).tolist())] += 1
            views.append(view)
        assert all(view == views[0] for view in views)
        assert set(views[0].values()) == {1}
        assert len(views[0]) == q ** (parties - 1)


@pytest.mark.parametrize(
    ("q", "parties", "threshold"), [(5, 4, 3), (7, 4, 3), (5, 3, 2), (7, 5, 2)]
)
def test_fewer_shamir_shares_than_the_threshold_are_uniform(q, parties, threshold, monkeypatch):
    field = PrimeField(q)
    views: dict = {}
    for secret in range(q):
        for _ in listed(monkeypatch, q, threshold - 1):
            shares = shamir.share(
                field, np.array([secret], np.uint64), parties, threshold=threshold
            )[:, 0]
            for some in combinations(range(parties), threshold - 1):
                key = (some, secret)
                views.setdefault(key, Counter())[tuple(shares[list(some)].tolist())] += 1
    for some in combinations(range(parties), threshold - 1):
        assert all(views[some, secret] == views[some, 0] for secret in range(q))
        assert set(views[some, 0].values()) == {1}


def test_a_planted_share_that_depends_on_the_secret_is_noticed(monkeypatch):
    # The same enumeration with a coefficient that is never 0: two shares then rule secrets out.
    field = PrimeField(5)
    views = []
    for secret in (0, 1):
        view: Counter = Counter()
        for coefficient in range(1, 5):
            monkeypatch.setattr(
                PrimeField,
                "uniform",
                lambda self, shape, source=None, c=coefficient: np.full(shape, c, np.uint64),
            )
            shares = shamir.share(field, np.array([secret], np.uint64), 3, threshold=2)
            view[int(shares[0, 0])] += 1
        views.append(view)
    assert views[0] != views[1]


def test_a_missing_share_leaves_a_uniform_element(monkeypatch):
    # Why the layer above must count shares: nothing here could notice.
    field, seen = PrimeField(7), Counter()
    for _ in listed(monkeypatch, 7, 2):
        shares = additive.share(field, np.array([3], np.uint64), 3)
        seen[int(additive.reconstruct(field, shares[1:])[0])] += 1
    assert seen == dict.fromkeys(range(7), 7)


def test_altered_shamir_shares_are_noticed_where_there_are_more_than_needed():
    field = PrimeField(1009)
    shares = shamir.share(field, field.uniform(6), 5, threshold=3)
    shares[1, 4] = (int(shares[1, 4]) + 1) % 1009
    with pytest.raises(ShareError, match="altered"):
        shamir.reconstruct(field, [1, 2, 3, 4], shares[:4], threshold=3)
    with pytest.raises(ShareError, match="too few"):
        shamir.reconstruct(field, [1, 3], shares[[0, 2]], threshold=3)
    with pytest.raises(ShareError, match="differ"):
        shamir.reconstruct(field, [1, 1, 3], shares[:3], threshold=3)
    with pytest.raises(ShareError, match="2 points"):
        shamir.reconstruct(field, [1, 2], shares[:3], threshold=2)


def test_sums_of_shares_are_shares_of_sums():
    field = PrimeField.for_total(50)
    values = np.arange(50) % 2
    rows = [shamir.share(field, field.encode([v]), 5, threshold=3) for v in values]
    totals = np.stack([field.add_rows(np.stack([row[k] for row in rows])) for k in range(5)])
    back = shamir.reconstruct(field, [2, 4, 5], totals[[1, 3, 4]], threshold=3)
    assert field.decode(back).tolist() == [25]


@pytest.mark.parametrize(
    ("parties", "threshold", "message"), [(3, 4, "threshold"), (5, 2, "field"), (0, 1, "parties")]
)
def test_impossible_sharings_are_refused(parties, threshold, message):
    with pytest.raises(ParameterError, match=message):
        shamir.share(PrimeField(5), np.array([1], np.uint64), parties, threshold=threshold)
    with pytest.raises(ShareError, match="no shares"):
        additive.reconstruct(PrimeField(5), np.empty((0, 3), np.uint64))


# --- seeds ---------------------------------------------------------------------------------------


def expanded(seed: bytes, q: int, length: int) -> list[int]:
    """The documented expansion in plain integers."""
    bits = 32 if q <= 1 << 32 else 64
    stream = Cipher(AES(seed), CTR(bytes(16))).encryptor().update(bytes(64 * length + 800))
    words = np.frombuffer(stream, f"<u{bits // 8}").tolist()
    kept = [w * q >> bits for w in words if w * q % (1 << bits) >= (1 << bits) % q]
    return kept[:length]


@fields
def test_a_seed_expands_as_documented(field):
    with testing.seeded(8) as source:
        rows = np.empty((5, seeds.SEED_BYTES), np.uint8)
        source.fill(rows)
    for length in (1, 40, 300):
        vectors = seeds.expand(field, rows, length)
        for seed, vector in zip(rows, vectors, strict=True):
            assert vector.tolist() == expanded(seed.tobytes(), field.modulus, length)


def test_a_seed_of_zeros_is_pinned():
    zero = np.zeros((1, 32), np.uint8)
    # AES-256 of 0 under the key 0 begins dc95c078a2408989 (NIST, known answers).
    assert first_bytes(zero, 8).tobytes().hex() == "dc95c078a2408989"
    assert seeds.expand(PrimeField(100_003), zero, 3).tolist() == [expanded(bytes(32), 100_003, 3)]


@fields
@pytest.mark.parametrize("helpers", [2, 3, 5])
def test_seeded_shares_add_up(field, helpers):
    secret = field.uniform((6, 11))
    shares = seeds.share(field, secret, helpers)
    assert shares.seeds.shape == (helpers - 1, 6, 32)
    rows = [seeds.expand(field, of_helper, 11) for of_helper in shares.seeds]
    assert additive.reconstruct(field, np.stack([*rows, shares.rest])).tolist() == secret.tolist()
    total = field.add_rows(shares.rest)
    for of_helper in shares.seeds:
        total = seeds.add_expanded(field, of_helper, 11, total)
    assert total.tolist() == field.add_rows(secret).tolist()


def test_seeds_are_fresh_for_every_sender_and_call():
    field = PrimeField(1009)
    secret = np.zeros((3, 4), np.uint64)
    first, second = seeds.share(field, secret, 3), seeds.share(field, secret, 3)
    every = np.concatenate([first.seeds.reshape(-1, 32), second.seeds.reshape(-1, 32)])
    assert len({row.tobytes() for row in every}) == 12


def test_malformed_seeds_are_refused():
    field = PrimeField(1009)
    for wrong in (np.zeros((2, 31), np.uint8), np.zeros(32, np.uint8), np.zeros((2, 32))):
        with pytest.raises(ShareError, match="32 bytes"):
            seeds.expand(field, wrong, 3)
    with pytest.raises(ParameterError, match="one row per sender"):
        seeds.share(field, np.zeros(4, np.uint64), 2)
    with pytest.raises(ParameterError, match="helpers"):
        seeds.share(field, np.zeros((1, 4), np.uint64), 1)
