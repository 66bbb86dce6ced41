"""Paper 004 again, in the short mode."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from sottovoce import testing
from sottovoce.reproduce import Data, papers

from .reproduction import assert_as_recorded, reproduced

pytestmark = pytest.mark.slow

PAPER = papers.load("personal-records")
collecting = sys.modules["sottovoce_papers.personal_records.collecting"]


@pytest.mark.parametrize("figure", PAPER.figures, ids=lambda figure: figure.name)
def test_short_run_is_as_expected(figure, tmp_path):
    assert_as_recorded(reproduced(PAPER.name, figure, tmp_path))


def test_a_wrong_estimator_is_noticed(tmp_path, monkeypatch):
    honest = collecting.Collection.estimate

    def reversed_values(self, names, method):
        return np.asarray(honest(self, names, "product")).ravel()[::-1]

    monkeypatch.setattr(collecting.Collection, "estimate", reversed_values)
    figure = PAPER.figure("figure-5a")
    only = tuple(job for job in figure.jobs if job.fast and job.x == 2)
    wrong = reproduced(PAPER.name, replace(figure, jobs=only), tmp_path)
    assert not wrong.comparison.agrees


def test_algorithm_2_multiplies_the_parts_in_their_places():
    """The division of four attributes of which two are reported has two tables of two."""
    collection = collecting.Collection(Data(None), "synthetic", 4, 2, 4.0, 3)
    names = collection.records.names
    with testing.seeded(1):
        table = collection.estimate(names, "pldp")
        assert table.shape == collection.truth.shape
        pairs = [
            np.abs(table.sum(axis=rest) - collection.estimate([names[a] for a in kept], "pldp"))
            for kept, rest in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
        ]
    # One of the three pairs with the first attribute is a part itself.
    assert min(pair.sum() for pair in pairs) < 1e-9
    assert table.sum() == pytest.approx(1)
