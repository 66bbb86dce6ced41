"""Never publish a total or remainder beside suppressed counts, and never set a suppression
threshold without adding the colluding holders.
"""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.accounting import thresholded_delta
from sottovoce.errors import MergeError

PARAMETERS = {"rate": 0.3, "epsilon": 1.0, "delta": 1e-5, "neighbours": "add-remove"}


def test_colluding_holders_raise_the_threshold() -> None:
    protocol = sv.secure.Suppressed(3, collusion=20, **PARAMETERS)
    assert protocol.threshold == sv.secure.Suppressed(3, collusion=0, **PARAMETERS).threshold + 20
    about = {"neighbours": "add-remove", "insiders": 20}
    assert thresholded_delta(1.0, 0.3, protocol.threshold, **about) <= 1e-5
    assert thresholded_delta(1.0, 0.3, protocol.threshold - 20, **about) > 1e-4  # the fault


def test_nothing_that_is_published_tells_suppressed_counts() -> None:
    protocol = sv.secure.Suppressed(3, **PARAMETERS)
    results, sampled = [], []
    for rare in (0, 1):
        values = [0] * 200 + [1] * 24 + [2] * 16 * rare
        with testing.seeded(5) as source:
            session = protocol.session([*values, *[0] * 16 * (1 - rare)], source=source)
            run = session.run()
        sampled.append(session._prepared.rows.sum(axis=0)[1:].tolist())
        assert set(run.aggregate.tables) == {"support"}
        results.append(run.aggregate.dense("support")[1:].tolist())
        assert run.estimate.interval()[0][2] == 0
        assert run.estimate.interval()[1][2] > 14 / 240
        assert "suppressed" in run.estimate.assuming
        with pytest.raises(MergeError, match="suppressed"):
            run.aggregate + run.aggregate
    assert results == [[0, 0], [0, 0]]
    # The fault: these were in the sample, and would be seen.
    assert 2 < sampled[0][0] < protocol.threshold
    assert sampled[0][1] == 0
    assert 2 < sampled[1][1] < protocol.threshold
    sentences = " ".join(protocol.guarantee.promises[0].assuming)
    assert "no total, remainder or further count" in sentences
    assert "keeps them to itself" in sentences
