"""Never publish realised sample sizes in SAH, nor |D_k| if neighbours are add/remove.

Messages have the same form, lengths and public numbers whatever was sampled, and whatever the
numbers of rows are where these are not public.
"""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.errors import AnswerError
from sottovoce.parties.counting import counts
from sottovoce.randomness import SYSTEM
from sottovoce.transport import Role

SCHEMA = [sv.Attribute("ward", 4)]
BUDGETS = {"A": 0.5, "B": 2.0}


def shown(run: sv.parties.Run) -> list[tuple[object, ...]]:
    """Everything in messages and receipt that is neither masked nor random."""
    said: list[tuple[object, ...]] = []
    for role in (Role.CURATOR, Role.PARTY):
        for batch in run.views.of(role):
            lengths = {
                name: column.shape for name, column in batch.payload.items() if name != "text"
            }
            rows = batch.payload["rows"].tolist() if "rows" in batch.payload else None
            said.append((batch.kind, batch.round, tuple(batch.sender), lengths, rows))
    return said


@pytest.mark.parametrize("method", ["sah", "sjs", "mh"])
def test_messages_do_not_depend_on_hidden_numbers_of_rows(method: str) -> None:
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, method=method, neighbours="add-remove")
    few, many = (
        study.simulate({"A": {"ward": np.zeros(n, int)}, "B": {"ward": np.arange(8) % 4}})
        for n in (1, 5000)
    )
    assert shown(few) == shown(many)
    assert all(
        a.people == max(0, int(a.dense(n).sum())) for a in few.aggregates[:1] for n in a.tables
    )


@pytest.mark.parametrize("method", ["sah", "sjs", "mh"])
def test_a_party_whose_last_row_is_gone_takes_part_all_the_same(method: str) -> None:
    """Staying away would show that a record is missing: there is a neighbour without any rows."""
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, method=method, neighbours="add-remove")
    none, one = (
        study.simulate({"A": {"ward": [0] * n}, "B": {"ward": np.arange(8) % 4}}) for n in (0, 1)
    )
    assert shown(none) == shown(one)
    assert study.check("A", {"ward": []}) == 0
    public = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, method=method)
    with pytest.raises(AnswerError, match="no rows"):
        public.check("A", {"ward": []})


def test_sample_sizes_vary_and_appear_nowhere() -> None:
    study = sv.parties.Horizontal(SCHEMA, ["ward"], BUDGETS, method="sah")
    rows = {"ward": np.arange(400) % 4}
    ((release,),) = study.releases(None)
    cells = rows["ward"]
    sizes = {int(counts(cells, (4,), release, "A", SYSTEM).sum()) for _ in range(20)}
    assert len(sizes) > 1
    assert max(sizes) < 400
    runs = [study.simulate(dict.fromkeys("AB", rows)) for _ in range(3)]
    assert all(shown(run) == shown(runs[0]) for run in runs)
    hellos = [b for b in runs[0].views.of(Role.CURATOR) if b.kind == "hello"]
    assert [int(b.payload["rows"][0]) for b in hellos] == [400, 400]
