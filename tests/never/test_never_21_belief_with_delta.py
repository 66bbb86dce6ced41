"""Never say of (ε, δ) that a belief is bounded "except with probability δ": it is not implied.

What the words do say is compared with exact laws: two distributions of what is seen, under one
input and under the other.
"""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.accounting import rounds, shuffle
from sottovoce.promise import DP, LDP, Against, Guarantee, Neighbours, Promise, Protected, Unit
from tests.accounting.exact import binomial

SURE = r"at most (\d+(?:\.\d+)?)% sure of either\."
GUESS = r"guesses which is true correctly with a probability of at most (\d+(?:\.\d+)?)%\."
CERTAIN = "guesses which is true correctly with a probability of at most 100%."
EVENT = r"any event is at most (\S+) times as likely .*, plus a probability of (\S+)\. "


def repeated() -> tuple[Promise, np.ndarray, np.ndarray]:
    """Binary GRR four times: the law of how many reports are true."""
    truth = 1 / (1 + math.exp(-0.5))
    law = np.array(binomial(4, truth))
    return rounds(Promise(LDP, 0.5), 4, slack=0.05), law, law[::-1]


def shuffled() -> tuple[Promise, np.ndarray, np.ndarray]:
    """One of 50 people whose binary GRR reports are shuffled; all others hold the same answer."""
    truth = 1 / (1 + math.exp(-1.0))
    others = np.array(binomial(49, 1 - truth))
    laws = (np.convolve(others, row) for row in ([1 - truth, truth], [truth, 1 - truth]))
    return (shuffle(1.0, 50, 1e-5, bound="grr", d=2), *laws)


LAWS = {"repeated": repeated(), "shuffled": shuffled()}


def largest_excess(first: np.ndarray, second: np.ndarray, ratio: float) -> float:
    """The largest P(S) − ratio Q(S) over all events, either way round."""
    return max(np.maximum(a - ratio * b, 0).sum() for a, b in ((first, second), (second, first)))


def sentence_holds(words: str, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether the numbers in the words are true of two exact laws."""
    flat = " ".join(words.split())
    # Where nothing is bounded, the words say so instead of "at most 100%".
    flat = flat.replace("may always guess which is true.", CERTAIN)
    event, guess = re.search(EVENT, flat), re.search(GUESS, flat)
    if event is None or guess is None:
        raise AssertionError(f"the words do not say what is implied: {flat}")
    ratio, plus = float(event[1]), float(event[2])
    right = (1 + np.abs(first - second).sum() / 2) / 2  # of the best guess there is
    return largest_excess(first, second, ratio) <= plus and right <= float(guess[1]) / 100 + 1e-15


def old_sentence_holds(promise: Promise, first: np.ndarray, second: np.ndarray) -> bool:
    """At most e^ε / (e^ε + 1) sure of one, except with probability δ: the planted fault."""
    return exceeded(promise, first, second) <= promise.delta


def exceeded(promise: Promise, first: np.ndarray, second: np.ndarray) -> float:
    """How often someone is surer of what is true than the old sentence allowed, at worst."""
    most = 1 / (1 + math.exp(-promise.epsilon))
    total = first + second
    return max(float(truth[truth / total > most].sum()) for truth in (first, second))


@pytest.mark.parametrize("name", LAWS)
def test_the_sentence_is_true_of_exact_laws(name: str) -> None:
    promise, first, second = LAWS[name]
    assert promise.delta > 0
    assert first.sum() == pytest.approx(1)
    assert sentence_holds(promise.words(), first, second)


@pytest.mark.parametrize("name", LAWS)
def test_the_old_sentence_is_noticed(name: str) -> None:
    promise, first, second = LAWS[name]
    assert not old_sentence_holds(promise, first, second)
    least = {"repeated": 0.150, "shuffled": 1.3e-4}[name]
    assert exceeded(promise, first, second) >= least > 2 * promise.delta


@given(
    st.integers(2, 6).flatmap(
        lambda size: st.tuples(*[st.lists(st.integers(1, 1000), min_size=size, max_size=size)] * 2)
    ),
    st.floats(0, 4),
)
def test_the_sentence_is_true_of_random_channels(
    rows: tuple[list[int], list[int]], epsilon: float
) -> None:
    first, second = (np.array(row) / sum(row) for row in rows)
    delta = largest_excess(first, second, math.exp(epsilon)) * (1 + 1e-12) + 1e-15
    promise = Promise(LDP, epsilon, min(1.0, delta))
    assert sentence_holds(promise.words(), first, second)


@given(st.floats(0, 10), st.floats(1e-4, 1))
def test_the_guess_is_attained_and_a_smaller_one_is_noticed(epsilon: float, delta: float) -> None:
    # With probability δ the answer itself, else randomised response: nothing guesses better.
    truth = 1 / (1 + math.exp(-epsilon))
    first = np.array([delta, 0, (1 - delta) * truth, (1 - delta) * (1 - truth)])
    promise = Promise(DP, epsilon, delta, against=Against.RESULT)
    assert sentence_holds(promise.words(), first, first[[1, 0, 3, 2]])
    best = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    assert best - 1e-12 <= promise.guess / 100 <= best + 0.01 + 1e-12
    words = " ".join(promise.words().split()).replace("may always guess which is true.", CERTAIN)
    less = words.replace(f"{promise.guess}%", f"{promise.guess - 2}%")
    assert not sentence_holds(less, first, first[[1, 0, 3, 2]])


def test_a_delta_left_out_of_the_words_is_noticed() -> None:
    promise, first, second = LAWS["repeated"]
    assert not sentence_holds(promise.words().replace("0.05", "0.02"), first, second)


@pytest.mark.parametrize("notion", [LDP, DP])
@pytest.mark.parametrize("neighbours", [n for n in Neighbours if n is not Neighbours.BELIEFS])
@pytest.mark.parametrize("protects", Protected)
def test_no_words_bound_a_belief_except_with_a_probability(notion, neighbours, protects) -> None:
    for delta in (0.0, 1e-12, 0.05, 1.0):
        promise = Promise(notion, 1.0, delta, neighbours=neighbours, unit=Unit(protects))
        guarantee = Guarantee((promise,))
        for text in (promise.words(), promise.line(), *guarantee.lines(), str(guarantee.as_dict())):
            assert "except" not in text
        flat = " ".join(promise.words().split())
        assert bool(re.search(SURE, flat)) == (delta == 0)
        assert bool(re.search(EVENT, flat)) == (delta > 0)
        assert bool(re.search(GUESS, flat)) == (0 < delta < 1)
        assert ("may always guess which is true." in flat) == (delta == 1)
