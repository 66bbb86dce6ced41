"""Levels and Sampled, alone and nested, keep every law at every public level and rate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sottovoce import GRR, OUE, SUE, Duchi, Levels, Piecewise, Reports, Sampled
from sottovoce.errors import EstimateError
from sottovoce.mechanisms import REGISTRY

from . import laws
from .entries import answers, example
from .wrapped import GIVEN, Given, apply, wrappers


@pytest.mark.parametrize("law", laws.LAWS.values(), ids=laws.LAWS.keys())
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_law(given: Given, law: laws.Law) -> None:
    apply(law, given)


def test_every_registered_kind_is_wrapped_both_ways() -> None:
    for outer in ("levels", "sampled"):
        assert {given.id for given in wrappers() if given.wrapper.id == outer} == set(REGISTRY)


def test_at_rate_0_the_law_is_silence() -> None:
    given = Given(Sampled(GRR(3, epsilon=1.0), rate=[0, 0.5]), rate=0)
    assert given.channel().exact == ((1,),) * 3
    aggregate = given.aggregate(given.randomise([0, 1, 2] * 5))
    assert aggregate.n == 15
    with pytest.raises(EstimateError, match="none of the 15 people"):
        given.wrapper.estimate(aggregate)


# --- wrappers as people make them, with everyone choosing for themselves ------------------------


class Varied(Given):
    """Everyone chooses their own level and rate."""

    def randomise(self, values: Any) -> Reports:
        rng = np.random.default_rng(len(values))
        choice = {
            name: rng.choice(list(options), len(values)) for name, options in self.menus().items()
        }
        return self.wrapper.randomise(values, **choice)

    def menus(self) -> dict[str, Any]:
        wrapper = self.wrapper
        if isinstance(wrapper, Levels):
            rates = {m.rates for m in wrapper.menu.values() if isinstance(m, Sampled)}
            return {"level": wrapper.menu} | ({"rate": rates.pop()} if rates else {})
        levels = {"level": wrapper.inner.menu} if isinstance(wrapper.inner, Levels) else {}
        return {"rate": wrapper.rates} | levels

    def __str__(self) -> str:
        menus = ".".join(str(len(options)) for options in self.menus().values())
        return f"{self.wrapper.id}-{self.wrapper.layout[-1].name}-{menus}-{self.domain.size}"


MIXED = {"grr": GRR(300, epsilon=1), "oue": OUE(300, epsilon=2), "sue": SUE(300, epsilon=0.1)}
NUMBERS = Levels.of(Piecewise, (-5, 10), {"strong": 0.5, "weak": 4})
VARIED = [
    *(Varied(Sampled(example(kind), rate=[0.1, 0.5, 1])) for kind in REGISTRY.values()),
    *(Varied(Levels({"a": example(k, 0.5), "b": example(k, 4)})) for k in REGISTRY.values()),
    Varied(Levels(MIXED)),
    Varied(NUMBERS),
    Varied(Sampled(Levels(MIXED), rate=[0.5, 0.1])),
    Varied(Sampled(NUMBERS, rate=[0, 0.1, 0.5, 1])),
    Varied(Levels({name: Sampled(m, rate=[0.5, 0.1]) for name, m in MIXED.items()})),
    Varied(Levels({"some": Sampled(MIXED["grr"], rate=[0.5, 1]), "all": MIXED["oue"]})),
    Varied(Levels({f"level {k}": GRR(4, epsilon=1 + k / 300) for k in range(300)})),
    Varied(Sampled(GRR(4, epsilon=1), rate=np.linspace(0, 1, 1024))),
]
varied = pytest.mark.parametrize("given", VARIED, ids=str)


@varied
def test_decoding_inverts_encoding(given: Varied) -> None:
    laws.decoding_inverts_encoding(given, (0, 1, 2, 7, 1001))


@varied
def test_parquet_inverts_too(given: Varied, tmp_path: Path) -> None:
    laws.parquet_inverts_too(given, (0, 1, 1001), tmp_path)


@varied
def test_aggregates_merge_and_are_stored(given: Varied) -> None:
    """As the laws of every report, for reports of people at all levels and rates at once."""
    reports = given.randomise(answers(given, 600))
    whole, cut = given.aggregate(reports), len(reports) // 3
    a, b = given.aggregate(reports[:cut]), given.aggregate(reports[cut:])
    assert whole.n == 600
    assert a + b == b + a == whole
    back = type(whole).from_bytes(whole.to_bytes(), expect=given)
    assert back == whole


@varied
def test_tiny_is_the_same_wrapper_in_small(given: Varied) -> None:
    tiny = given.wrapper.tiny()
    assert type(tiny) is type(given.wrapper)
    assert len(tiny.channel().inputs) <= 4
    assert len(tiny.every_report()) <= 4097  # and silence
    assert set(Varied(tiny).menus()) == set(given.menus())
    wide, narrow = (w.guarantee.promises[0] for w in (given.wrapper, tiny))
    assert narrow.epsilon == wide.epsilon


@varied
def test_two_that_are_made_alike_are_equal(given: Varied) -> None:
    wrapper = given.wrapper
    bound = wrapper.bind(bytes(32))
    assert bound != wrapper
    assert bound == wrapper.bind(bytes(32))
    assert hash(bound) == hash(wrapper.bind(bytes(32)))
    assert wrapper.tiny() == wrapper.tiny()


def test_what_decides_the_law_decides_the_digest() -> None:
    grr, oue = GRR(3, epsilon=1.0), OUE(3, epsilon=1.0)
    made = [
        Levels({"a": grr, "b": oue}),
        Levels({"b": oue, "a": grr}),
        Levels({"a": grr, "c": oue}),
        Levels({"a": grr}),
        Levels({"a": GRR(3, epsilon=2.0), "b": oue}),
        Sampled(grr, rate=0.5),
        Sampled(grr, rate=[0.5, 0.1]),
        Sampled(grr, rate=[0.1, 0.5]),
        Sampled(oue, rate=0.5),
        Sampled(Levels({"a": grr}), rate=0.5),
        Levels({"a": Sampled(grr, rate=0.5)}),
        Sampled(Duchi((0, 1), epsilon=1.0), rate=0.5),
        grr,
    ]
    assert len({mechanism.digest for mechanism in made}) == len(made)
