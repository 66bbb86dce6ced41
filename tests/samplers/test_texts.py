"""Reports of texts, in small, follow their channel: the depth, the hash and the bucket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sottovoce import HeavyHitters, Reports

from .budget import RejectedError, joined, judge, spend
from .statistics import fit
from .test_tiny import as_numbers, radices_of

N = 300_000  # per text
CASES = (0.5,)


def p_value(hh: HeavyHitters, sample: Callable[[list[str]], Reports]) -> float:
    """Reports of `sample`, for each text in turn, against the channel."""
    everything, channel = hh.every_report(), hh.channel()
    digits = radices_of(everything)
    names = as_numbers(everything, digits)
    assert (np.diff(names) > 0).all()
    values = []
    for text, row in zip(channel.inputs, channel.matrix, strict=True):
        drawn = as_numbers(sample([str(text)] * N), digits)
        where = np.searchsorted(names, drawn)
        assert np.array_equal(names[where], drawn)
        values.append(fit(np.bincount(where, minlength=names.size), row))
    return joined(values)


@pytest.mark.parametrize("epsilon", CASES)
def test_reports_follow_the_channel(epsilon: float) -> None:
    hh = HeavyHitters("a", 2, epsilon).tiny()
    spend("texts", f"{epsilon}", p_value(hh, hh.randomise))


def test_a_slightly_different_epsilon_is_noticed() -> None:
    hh, other = (HeavyHitters("a", 2, epsilon).tiny() for epsilon in (0.4, 0.5))
    with pytest.raises(RejectedError):
        judge(p_value(hh, other.randomise))


def test_a_depth_that_depends_on_the_text_is_noticed() -> None:
    hh = HeavyHitters("a", 2, 0.5).tiny()

    def shallow(texts: list[str]) -> Reports:
        """Short texts choose the first depth a little more often."""
        some = texts[:1] * (len(texts) // 10)
        more = hh.randomise(some)
        first = more.columns["depth"] == 0
        kept = {name: column[first] for name, column in more.columns.items()}
        rest = hh.randomise(texts[: len(texts) - int(first.sum())])
        return Reports.concatenate([rest, Reports(hh.id, hh.digest, kept)])

    with pytest.raises(RejectedError):
        judge(p_value(hh, shallow))
