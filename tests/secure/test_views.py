"""What coalitions see, enumerated over all randomness of shares on tiny fields.

Given what people drew (coins and sets), a view must depend only on what the account says it shows:
nothing for shares alone, the honest people's total for whoever adds up or sees the result.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from sottovoce.accounting import TwoStage
from sottovoce.secure.committee import CommitteeElector, CommitteeSummer, CommitteeUsers
from sottovoce.secure.elected import Elector, ReportingUsers, Summer
from sottovoce.secure.everyone import Aggregator, SharingUsers
from sottovoce.secure.helpers import Helper, SeedingUsers
from sottovoce.sharing import PrimeField, seeds
from sottovoce.testing import SeededSource
from sottovoce.transport import Batch, Driven, Role, drive

from .tiny import Scripted, law, laws

AGGREGATOR, S1, S2 = (Role.AGGREGATOR, 0), (Role.S1, 0), (Role.S2, 0)
Tamper = Callable[[Batch], list[Batch]]


def user(k: int) -> tuple[Role, int]:
    return Role.USER, k


def helper(k: int) -> tuple[Role, int]:
    return Role.HELPER, k


def rows(bits: tuple[int, ...]) -> NDArray[np.uint64]:
    return np.array(bits, np.uint64)[:, None]


# --- every user shares with every user ---------------------------------------------------------


def letter(
    bits: tuple[int, ...], modulus: int, tamper: Tamper | None = None
) -> Callable[..., Driven]:
    field, n = PrimeField(modulus), len(bits)

    def run(script: tuple[int, ...]) -> Driven:
        source = Scripted(script, modulus)
        setting = (n, 1, field, source)
        users = SharingUsers(*setting, members=range(n), secrets=rows(bits))
        return drive([users, Aggregator(*setting)], 2, tamper=tamper)

    return run


def test_users_of_dpds_learn_nothing_and_the_aggregator_the_total() -> None:
    # Three users draw two elements each: 3^6 scripts.
    parties = [[user(0), user(1)], [AGGREGATOR], [AGGREGATOR, user(0)]]
    by_bits = {bits: laws(letter(bits, 3), 3, 6, parties) for bits in product((0, 1), repeat=3)}
    for bits, (pair, alone, helped) in by_bits.items():
        # Two of three users, whatever the third person's answer is.
        assert pair == by_bits[(*bits[:2], 1 - bits[2])][0]
        for other, (_, other_alone, other_helped) in by_bits.items():
            assert (alone == other_alone) == (sum(bits) % 3 == sum(other) % 3)
            if bits[0] == other[0]:
                assert (helped == other_helped) == (sum(bits) == sum(other))


def test_after_a_lost_share_the_aggregator_of_dpds_learns_nothing() -> None:
    def lost(batch: Batch) -> list[Batch]:
        arrives = (batch.sender != 0) | (batch.receiver != 1) | (batch.kind != "share")
        return [batch.select(np.asarray(arrives))]

    # The user who did not hear everyone sends nothing, so that a share of everyone is missing.
    views = [law(letter(bits, 5, lost), 5, 2, [AGGREGATOR]) for bits in ((0, 0), (1, 0), (1, 1))]
    assert views[0] == views[1] == views[2]


def test_a_second_run_with_the_same_coins_and_senders_shows_nothing_new() -> None:
    def lost(batch: Batch) -> list[Batch]:
        return [] if batch.kind == "sum" else [batch]

    def twice(bits: tuple[int, ...]) -> Callable[..., Driven]:
        def run(script: tuple[int, ...]) -> Driven:
            first = letter(bits, 3)(script[:2])
            second = letter(bits, 3, lost)(script[2:])
            joint = (*first.views.batches, *second.views.batches)
            return Driven([], type(first.views)(joint, True), {})

        return run

    for party in ([AGGREGATOR], [user(0), AGGREGATOR], [user(0)]):
        views = {bits: law(twice(bits), 3, 4, party) for bits in product((0, 1), repeat=2)}
        if party == [AGGREGATOR]:
            assert views[(0, 1)] == views[(1, 0)]
        if party == [user(0)]:
            assert views[(0, 1)] == views[(0, 0)]


def test_two_sums_over_different_senders_with_the_same_coins_show_an_answer() -> None:
    """The planted fault: this is what sessions and committees must never do."""

    def totals(bits: tuple[int, ...]) -> int:
        whole = letter(bits, 5)((0,) * 6).states[-1].outcome.totals
        without = letter(bits[:2], 5)((0, 0)).states[-1].outcome.totals
        return int(whole[0] - without[0])

    assert [totals((1, 0, bit)) for bit in (0, 1)] == [0, 1]


# --- helpers -----------------------------------------------------------------------------------


@pytest.fixture
def tiny_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A seed stands for the element in its first byte: the ideal that AES approximates."""

    def expand(field: PrimeField, given: NDArray[np.uint8], length: int) -> NDArray[np.uint64]:
        return np.repeat(given[:, :1].astype(np.uint64), length, axis=1)

    monkeypatch.setattr(seeds, "expand", expand)


def helped(
    bits: tuple[int, ...], modulus: int, tamper: Tamper | None = None
) -> Callable[..., Driven]:
    field, n, parts = PrimeField(modulus), len(bits), 3

    def run(script: tuple[int, ...]) -> Driven:
        source = Scripted(script, modulus, seeds=True)
        setting = (n, 1, field, source)
        users = SeedingUsers(*setting, members=range(n), helpers=parts, secrets=rows(bits))
        servers = [Helper(*setting, index=k, helpers=parts) for k in range(parts)]
        last = Aggregator(*setting, helpers=parts)
        return drive([users, *servers, last], 3, tamper=tamper)

    return run


@pytest.mark.usefixtures("tiny_seeds")
def test_helpers_but_one_learn_nothing_and_the_aggregator_the_total() -> None:
    pairs = [[helper(0), helper(1)], [helper(0), helper(2)], [helper(1), helper(2)], [AGGREGATOR]]
    views = {bits: laws(helped(bits, 3), 3, 4, pairs) for bits in product((0, 1), repeat=2)}
    for k in range(3):
        assert len({frozenset(view[k].items()) for view in views.values()}) == 1
    assert views[(0, 1)][3] == views[(1, 0)][3] != views[(1, 1)][3]
    # With the result, two helpers know the total and nothing else.
    joint = [[helper(0), helper(2), AGGREGATOR]]
    one, other = (laws(helped(bits, 3), 3, 4, joint)[0] for bits in ((0, 1), (1, 0)))
    assert one == other


@pytest.mark.usefixtures("tiny_seeds")
def test_a_dropped_user_is_not_seen_by_the_aggregator() -> None:
    def lost(batch: Batch) -> list[Batch]:
        gone = (batch.sender == 1) & (batch.receiver == 2) & (batch.kind == "share")
        return [batch.select(~np.asarray(gone))]

    views = {
        bits: law(helped(bits, 3, lost), 3, 4, [AGGREGATOR]) for bits in product((0, 1), repeat=2)
    }
    assert views[(0, 0)] == views[(0, 1)] != views[(1, 0)] == views[(1, 1)]


# --- two-stage sampling with elected users -----------------------------------------------------


def staged(
    answers: tuple[int, ...],
    sets: NDArray[np.bool_],
    collusion: int | None,
    modulus: int = 3,
    tamper: Tamper | None = None,
    election: int = 5,
) -> Callable[..., Driven]:
    """Answers: 0 or 1 for the item, 2 outside the sample; the election is always the same."""
    field, n, items = PrimeField(modulus), len(answers), sets.shape[1]
    secrets = np.zeros((n, items), np.uint64)
    for k, answer in enumerate(answers):
        if answer < items:
            secrets[k, answer] = 1

    def run(script: tuple[int, ...]) -> Driven:
        source = Scripted(script, modulus)
        drawn, reported = SeededSource(election), int(sets[0].sum())
        elector = Elector(n, items, field, drawn, reported=reported, collusion=collusion)
        setting = (n, items, field, source)
        users = ReportingUsers(*setting, members=range(n), secrets=secrets, sets=sets)
        return drive([elector, users, Summer(*setting)], 4, tamper=tamper)

    return run


SETS = np.array([[1, 0], [1, 0], [0, 1]], bool)


def draws_of(run: Callable[..., Driven]) -> int:
    """How many elements a run draws."""
    return run((0,) * 64).costs[Role.USER].sampled


def test_tss_prime_hides_answers_from_s1_and_from_phi_users() -> None:
    everyone = list(product((0, 1, 2), repeat=3))
    length = draws_of(staged(everyone[0], SETS, 1))
    assert length == 3  # two elected users for every item, three reports
    coalitions = [[S1], [user(0)], [user(1)], [user(2)], [S1, user(0)]]
    views = [laws(staged(answers, SETS, 1), 3, length, coalitions) for answers in everyone]
    assert len({frozenset(view[0].items()) for view in views}) == 1
    for k, who in enumerate((0, 1, 2), start=1):
        # A single user's view depends on nothing but their own answer.
        for own in range(3):
            mine = [v[k] for a, v in zip(everyone, views, strict=True) if a[who] == own]
            assert len(mine) == 9
            assert all(view == mine[0] for view in mine)
    # S1 together with one user still learns nothing about the others.
    for answers, view in zip(everyone, views, strict=True):
        assert view[4] == views[everyone.index((answers[0], 2, 2))][4]


def test_s2_sees_the_counts_and_how_many_reported_and_nothing_else() -> None:
    """Alone; with S1, which adds who reported; with a user, who knows their own coin."""
    everyone = list(product((0, 1, 2), repeat=3))
    coalitions = [[S2], [S1, S2], [S2, user(0)]]
    views = {a: laws(staged(a, SETS, 1), 3, 3, coalitions) for a in everyone}
    counts = {
        a: tuple(sum(SETS[k, j] and a[k] == j for k in range(3)) for j in range(2))
        for a in everyone
    }
    for a, b in product(everyone, repeat=2):
        assert (views[a][0] == views[b][0]) == (counts[a] == counts[b])
        assert (views[a][1] == views[b][1]) == (counts[a] == counts[b])
        if a[0] == b[0]:
            assert (views[a][2] == views[b][2]) == (counts[a] == counts[b])


def test_in_plain_tss_a_lone_elected_user_sees_the_answer() -> None:
    """Why collusion is asked for: with one report there is one elected user and one share."""
    answers = ((2, 2, 1), (2, 2, 2))
    runs = [staged(a, SETS, None) for a in answers]
    length = draws_of(runs[0])
    elected = next(b for b in runs[0]((0,) * 64).views.batches if b.kind == "elected")
    lone = int(elected.payload["elected"][elected.order == 1][0])
    views = [law(run, 3, length, [user(lone)]) for run in runs]
    assert views[0] != views[1]


def test_without_one_sum_s2_learns_nothing_about_that_item() -> None:
    def lost(batch: Batch) -> list[Batch]:
        if batch.kind != "sum":
            return [batch]
        keep = (batch.order != 0) | (np.arange(len(batch)) > 0)
        return [batch.select(keep)]

    views = [
        law(staged(a, SETS, 1, tamper=lost), 3, 3, [S2]) for a in ((0, 0, 2), (2, 0, 2), (2, 2, 2))
    ]
    assert views[0] == views[1] == views[2]


def test_the_sets_alone_show_exactly_epsilon_star() -> None:
    """S1 or elected users alone: the law of A by definition 3.1, with the coin of the sample."""
    from itertools import combinations
    from math import comb, exp, log

    items, reported, gamma, rate = 5, 2, 2.0, 0.5
    z = gamma * comb(items - 1, reported - 1) + comb(items - 1, reported)
    subsets = list(combinations(range(items), reported))
    laws_of = [
        [
            (1 - rate) / comb(items, reported) + rate * (gamma if own in chosen else 1.0) / z
            for chosen in subsets
        ]
        for own in range(items)
    ]
    assert all(abs(sum(one) - 1) < 1e-12 for one in laws_of)
    worst = max(
        log(p / q)
        for one, other in product(laws_of, repeat=2)
        for p, q in zip(one, other, strict=True)
    )
    star = TwoStage(rate, items, reported, gamma).epsilon_star
    assert worst <= star < worst + 1e-9
    assert round(star, 3) == 0.348
    assert exp(star) < gamma


# --- committees --------------------------------------------------------------------------------


def committee(
    bits: tuple[int, ...],
    size: int = 3,
    collusion: int = 1,
    modulus: int = 5,
    tamper: Tamper | None = None,
) -> Callable[..., Driven]:
    field, n = PrimeField(modulus), len(bits)
    sets = np.ones((n, 1), bool)

    def run(script: tuple[int, ...]) -> Driven:
        source = Scripted(script, modulus)
        setting, rules = (n, 1, field, source), {"committee": size, "collusion": collusion}
        mine = {"members": range(n), "secrets": rows(bits), "sets": sets, "reported": 1}
        machines = [
            CommitteeElector(n, 1, field, SeededSource(3), committee=size),
            CommitteeUsers(*setting, **rules, **mine),
            CommitteeSummer(*setting, **rules),
        ]
        return drive(machines, 5, tamper=tamper)

    return run


def test_a_committee_member_learns_nothing_and_s2_the_total() -> None:
    coalitions = [[user(0)], [S1], [S2], [S2, user(0)]]
    every = list(product((0, 1), repeat=3))
    views = {bits: laws(committee(bits), 5, 3, coalitions) for bits in every}
    for a, b in product(every, repeat=2):
        if a[0] == b[0]:
            assert views[a][0] == views[b][0]
            assert (views[a][3] == views[b][3]) == (sum(a) == sum(b))
        assert views[a][1] == views[b][1]
        assert (views[a][2] == views[b][2]) == (sum(a) == sum(b))


def test_without_one_member_the_total_is_right_and_nothing_else_is_seen() -> None:
    def gone(batch: Batch) -> list[Batch]:
        leaves = (batch.sender == 2) & (batch.kind in ("have", "agreed", "sum"))
        return [batch.select(~np.asarray(leaves) & np.ones(len(batch), bool))]

    every = [(0, 0, 0, 0), (0, 1, 1, 1), (1, 1, 1, 0)]
    views = {bits: law(committee(bits, 4, tamper=gone), 5, 4, [S2]) for bits in every}
    for a, b in product(every, repeat=2):
        assert (views[a] == views[b]) == (sum(a) == sum(b))
    ended = committee((1, 1, 0, 1), 4, tamper=gone)((1, 2, 3, 4))
    assert ended.states[-1].outcome.totals.tolist() == [3]
    assert not ended.states[-1].outcome.failed
