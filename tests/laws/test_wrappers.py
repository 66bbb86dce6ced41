"""Levels and Sampled as people make them, with everyone choosing for themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, OUE, SUE, Duchi, Levels, Mechanism, Piecewise, Sampled
from sottovoce.errors import EstimateError
from sottovoce.mechanisms import REGISTRY

from . import laws
from .entries import answers, example


def test_at_rate_0_the_law_is_silence() -> None:
    wrapper = Sampled(GRR(3, epsilon=1.0), rate=[0, 0.5])
    never, _ = wrapper.ways()
    assert wrapper.channel(never).exact == ((1,),) * 3
    aggregate = wrapper.aggregate(wrapper.randomise([0, 1, 2] * 5, way=never))
    assert (aggregate.people, aggregate.reports) == (15, 0)
    with pytest.raises(EstimateError, match="none of the 15 people"):
        wrapper.estimate(aggregate)


MIXED = {"grr": GRR(300, epsilon=1), "oue": OUE(300, epsilon=2), "sue": SUE(300, epsilon=0.1)}
NUMBERS = Levels.of(Piecewise, (-5, 10), {"strong": 0.5, "weak": 4})
SEVERAL = [0.1, 0.5, 1]
VARIED: dict[str, Mechanism] = {
    **{f"sampled {name}": Sampled(example(k), rate=SEVERAL) for name, k in REGISTRY.items()},
    **{
        f"{name}s": Levels({"a": example(k, 0.5), "b": example(k, 4)})
        for name, k in REGISTRY.items()
    },
    "several kinds": Levels(MIXED),
    "levels of numbers": NUMBERS,
    "sampled kinds": Sampled(Levels(MIXED), rate=[0.5, 0.1]),
    "sampled levels of numbers": Sampled(NUMBERS, rate=[0, 0.1, 0.5, 1]),
    "kinds that are sampled": Levels({n: Sampled(m, rate=[0.5, 0.1]) for n, m in MIXED.items()}),
    "300 levels": Levels({f"level {k}": GRR(4, epsilon=1 + k / 300) for k in range(300)}),
    "1024 rates": Sampled(GRR(4, epsilon=1), rate=np.linspace(0, 1, 1024)),
}
#: Rates differ from level to level: everyone's rate is one that all levels have.
OWN_RATES = Levels(
    {
        "some": Sampled(MIXED["grr"], rate=[0.5, 1]),
        "few": Sampled(MIXED["sue"], rate=[0.1, 0.2, 0.5]),
        "all": MIXED["oue"],
    }
)
varied = pytest.mark.parametrize(
    "wrapper", [*VARIED.values(), OWN_RATES], ids=[*VARIED, "own rates"]
)


def menus(wrapper: Mechanism) -> dict[str, list[Any]]:
    """What there is to choose, for everyone alike."""
    if wrapper is OWN_RATES:
        return {"level": list(OWN_RATES.menu), "rate": [0.5]}
    levels = list(dict.fromkeys(way.level for way in wrapper.ways()))
    rates = list(dict.fromkeys(way.rate for way in wrapper.ways()))
    choice = {"level": levels, "rate": rates}
    return {name: menu for name, menu in choice.items() if menu not in ([None], [1.0])}


@varied
def test_decoding_inverts_encoding(wrapper: Mechanism) -> None:
    laws.decoding_inverts_encoding(wrapper, (0, 1, 2, 7, 1001), **menus(wrapper))


@varied
def test_parquet_inverts_too(wrapper: Mechanism, tmp_path: Path) -> None:
    laws.parquet_inverts_too(wrapper, (0, 1, 1001), tmp_path, **menus(wrapper))


@varied
def test_aggregates_merge_and_are_stored(wrapper: Mechanism) -> None:
    """As the laws of every report, for reports of people at all levels and rates at once."""
    choice = laws.choices(menus(wrapper), 600)
    reports = wrapper.randomise(answers(wrapper, 600), **choice)
    whole, cut = wrapper.aggregate(reports), len(reports) // 3
    a, b = wrapper.aggregate(reports[:cut]), wrapper.aggregate(reports[cut:])
    assert whole.people == 600
    assert a + b == b + a == whole
    back = type(whole).from_bytes(whole.to_bytes(), expect=wrapper)
    assert back == whole
    asked, reported = wrapper.turnout(whole)
    chosen = choice.get("level", np.full(600, None))
    for level in dict.fromkeys(way.level for way in wrapper.ways()):
        own = [way.index for way in wrapper.ways() if way.level == level]
        assert asked[own].sum() == (chosen == level).sum()
    assert (reported <= asked).all()


@varied
def test_the_parts_of_the_ways_are_the_whole(wrapper: Mechanism) -> None:
    """Each way's counts are those that its own mechanism has from the same reports."""
    reports = wrapper.randomise(answers(wrapper, 600), **laws.choices(menus(wrapper), 600))
    whole = wrapper.aggregate(reports)
    _, reported = wrapper.turnout(whole)
    for way in wrapper.ways()[:8]:
        part = wrapper.part(whole, way)
        assert part.reports == part.people == reported[way.index]
        way.mechanism.check_aggregate(part)
    for level in wrapper.menu:
        own = [way for way in wrapper.ways() if way.level == level]
        assert wrapper.level_part(whole, level) == sum(wrapper.part(whole, way) for way in own)


@varied
def test_tiny_is_the_same_wrapper_in_small(wrapper: Mechanism) -> None:
    tiny = wrapper.tiny()
    assert type(tiny) is type(wrapper)
    assert len(tiny.channel().inputs) <= 4
    assert len(tiny.every_report()) <= 4097  # and silence
    assert [way.level is None for way in tiny.ways()[:1]] == [wrapper.ways()[0].level is None]
    wide, narrow = (w.guarantee.promises[0] for w in (wrapper, tiny))
    assert narrow.epsilon == wide.epsilon


@varied
def test_two_that_are_made_alike_are_equal(wrapper: Mechanism) -> None:
    bound = wrapper.bind(bytes(32))
    assert bound != wrapper
    assert bound == wrapper.bind(bytes(32))
    assert hash(bound) == hash(wrapper.bind(bytes(32)))
    assert wrapper.tiny() == wrapper.tiny()


def test_what_decides_the_law_decides_the_digest() -> None:
    grr, oue = GRR(3, epsilon=1.0), OUE(3, epsilon=1.0)
    wrappers = [
        Levels({"a": grr, "b": oue}),
        Levels({"b": oue, "a": grr}),
        Levels({"a": grr, "c": oue}),
        Levels({"a": grr}),
        Levels({"a": GRR(3, epsilon=2.0), "b": oue}),
        Sampled(grr, rate=0.5),
        Sampled(grr, rate=[0.5, 0.1]),
        Sampled(grr, rate=[0.1, 0.5]),
        Sampled(oue, rate=0.5),
        Levels({"a": Sampled(grr, rate=0.5)}),
        Levels({"a": Sampled(grr, rate=0.5), "b": oue}),
        Levels({"a": grr, "b": Sampled(oue, rate=0.5)}),
        Sampled(Levels({"a": grr, "b": oue}), rate=0.5),
        Sampled(Duchi((0, 1), epsilon=1.0), rate=0.5),
        grr,
    ]
    assert len({wrapper.digest for wrapper in wrappers}) == len(wrappers)
