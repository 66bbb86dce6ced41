"""Never send plain (count share + noise share) messages to the curator.

What the aggregator gets from anyone is uniform on the field; only the sum means something.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ParameterError
from sottovoce.transport import Role

VALUES = ["a", "b", "b", "c"] * 200


def spread(elements: np.ndarray) -> float:
    """Chi-square of the elements' sixteenths of the field."""
    bins = np.bincount((elements // (4_294_967_291 // 16 + 1)).astype(int).ravel(), minlength=16)
    expected = elements.size / 16
    return float(((bins - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(
    "protocol",
    [
        sv.secure.BinomialNoise(["a", "b", "c"], epsilon=1.0),
        sv.secure.DPDG(["a", "b", "c"], epsilon=1.0),
        sv.secure.DPDS(["a", "b", "c"], rate=0.4),
        sv.secure.TSS(["a", "b", "c"], rate=0.4, report=0.7, collusion=2),
    ],
    ids=lambda protocol: protocol.name,
)
def test_every_message_to_the_last_server_is_uniform(protocol: sv.secure.Protocol) -> None:
    with testing.seeded(1) as source:
        session = protocol.session(VALUES, source=source)
        run = session.run(views=True)
    last = Role.S2 if isinstance(protocol, sv.secure.TSS) else Role.AGGREGATOR
    sums = [b.payload["sum"] for b in run.views.of(last) if b.kind == "sum"]
    limit = chi2.isf(1e-9, 15)
    assert spread(np.concatenate(sums)) < limit
    # The fault: the plain rows would be seen at once.
    assert spread(session._prepared.rows.astype(np.uint64) % np.uint64(4_294_967_291)) > limit


def test_what_parties_send_to_the_curator_is_uniform() -> None:
    codes = np.arange(4000) % 2000
    study = sv.parties.Horizontal(
        [sv.Attribute("place", 2000)], ["place"], {"A": 1.0, "B": 1.0}, method="mh"
    )
    with testing.seeded(1) as source:
        run = study.simulate({key: {"place": codes} for key in "AB"}, source=source)
    words = [b.payload["words32"] for b in run.views.of(Role.CURATOR) if b.kind == "masked"]
    assert len(words) == 2
    limit = chi2.isf(1e-9, 15)
    assert all(spread(sent.astype(np.uint64)) < limit for sent in words)
    # The fault: counts with a share of noise are small numbers.
    assert spread(run.aggregates[0].dense("y1").astype(np.uint64) % np.uint64(2**32 - 5)) > limit


@pytest.mark.parametrize("committee", [None, 3])
def test_what_one_user_gets_of_another_is_uniform(committee: int | None) -> None:
    """With φ = 0 a share was the answer itself, which every member of a committee saw."""
    about = {"rate": 0.4, "report": 0.7, "count": 100, "committee": committee}
    with pytest.raises(ParameterError, match="one share is the whole answer"):
        sv.secure.TSS(["a", "b", "c"], collusion=0, **about)
    protocol = sv.secure.TSS(["a", "b", "c"], collusion=1, **about)
    with testing.seeded(1) as source:
        run = protocol.simulate(VALUES[:200], source=source, views=True)
    shares = [b.payload["share"] for b in run.views.of(Role.USER) if b.kind == "share"]
    assert spread(np.concatenate(shares)) < chi2.isf(1e-9, 15)
