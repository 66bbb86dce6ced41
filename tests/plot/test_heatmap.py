"""Heat maps: every cell is drawn where it belongs, and says its share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.errors import ParameterError
from sottovoce.promise import Guarantee

A = np.arange(3000) % 3
TABLE = {"a": A, "b": np.where(A > 0, 1, 0), "c": A % 2}
RECORDS = sv.Records(
    [sv.Attribute(n, k) for n, k in (("a", 3), ("b", 2), ("c", 2))], epsilon_average=3.0
)


@pytest.fixture(scope="module")
def found():
    with testing.seeded(5) as source:
        aggregate = RECORDS.aggregate(RECORDS.randomise(TABLE, source=source))
        yield {m: RECORDS.joint(aggregate, ["a", "b"], method=m) for m in ("em-ll2", "kronecker")}


@pytest.mark.parametrize("method", ["em-ll2", "kronecker"])
def test_cells_and_labels(found, method: str) -> None:
    joint = found[method]
    ax = sv.plot.heatmap(joint)
    np.testing.assert_allclose(ax.images[0].get_array(), joint.table)
    shown = {tuple(map(int, t.get_position()[::-1])): t.get_text() for t in ax.texts}
    low, high = (end.reshape(joint.table.shape) for end in joint.interval())
    for (row, column), fraction in np.ndenumerate(joint.table):
        half = (high - low)[row, column] / 2
        assert shown[row, column] == f"{100 * fraction:.1f}\n±{100 * half:.1f}"
    # Cells whose interval reaches zero are hatched.
    assert len(ax.patches) == (~(low > 0)).sum()
    assert ("hatched" in ax.get_title("left")) == bool(ax.patches)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0", "1", "2"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "a")
    low, high = ax.images[0].get_clim()
    assert low == (-high if (joint.table < 0).any() else 0)


def test_given_axes_are_used(found) -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert sv.plot.heatmap(found["em-ll2"], ax=ax) is ax


@pytest.mark.parametrize("what", ["one", "estimate"])
def test_anything_but_two_attributes_is_refused(found, what: str) -> None:
    joint = found["em-ll2"].marginal(["a"]) if what == "one" else sv.ask(A, values=3, epsilon=1.0)
    with pytest.raises(ParameterError, match="a heat map shows two attributes"):
        sv.plot.heatmap(joint)


def title(joint: sv.Estimate) -> str:
    return " ".join(sv.plot.heatmap(joint).get_title("left").split())


def test_a_picture_promises_whole_records_or_nothing() -> None:
    """Between parties a person may be in the data of several, which then add up: 1 + 2, not 2."""
    schema = [sv.Attribute("a", 2), sv.Attribute("b", 2)]
    table = {"a": [0, 1] * 2000, "b": [0, 1, 1, 0] * 1000}
    rows = sv.parties.Horizontal(schema, ["a", "b"], {"north": 1.0, "south": 2.0})
    run = rows.simulate({"north": table, "south": table})
    assert "ε" not in title(run.estimates[0])
    records = sv.Records(schema, epsilon_average=1.5)
    joint = records.joint(records.aggregate(records.randomise(table)), ["a", "b"])
    assert "ε = 3 for all answers" in title(joint)
    total = replace(joint.guarantee.promises[0], delta=1e-5)
    joint = replace(joint, guarantee=Guarantee((total,)))
    assert "ε = 3, δ = 1e-05 for all answers" in title(joint)


@pytest.mark.parametrize("method", ["model-average", "kronecker"])
def test_pictures_of_joint_tables_say_that_intervals_are_approximate(method: str) -> None:
    records = sv.Records([sv.Attribute("a", 2), sv.Attribute("b", 3)], epsilon_average=4.0)
    with testing.seeded(1) as source:
        answers = {"a": [0, 1] * 300, "b": [0, 1, 2] * 200}
        counts = records.aggregate(records.randomise(answers, source=source))
    joint = records.joint(counts, ["a", "b"], method=method)
    assert "approximate 95% intervals" in title(joint)
    assert "approximate 95% intervals" in title(joint.conditional(["b"], ["a"]))
    bars = joint.marginal(["a"]).plot().get_legend().get_texts()
    assert any("approximate 95% interval" in text.get_text() for text in bars)
    alone = records.marginal(counts, ["a"])
    bars = alone.plot().get_legend().get_texts()
    assert not any("approximate" in text.get_text() for text in bars)


def test_long_names_leave_room_for_the_title() -> None:
    long = [24 * letter + " and more" for letter in "MW"]
    asked = "How do you usually get to work on a rainy day in November?"
    attributes = [sv.Attribute(asked, long), sv.Attribute("age with a long name", 3)]
    records = sv.Records(attributes, epsilon_average=4.0)
    answers = {asked: long * 300, attributes[1].name: [0, 1, 2] * 200}
    counts = records.aggregate(records.randomise(answers))
    joint = records.joint(counts, [one.name for one in attributes])
    ax = sv.plot.heatmap(joint)
    ax.figure.canvas.draw()
    head = ax._left_title.get_window_extent()
    assert head.x1 <= ax.figure.bbox.x1
    assert head.y1 <= ax.figure.bbox.y1
    assert "ε = 8" in ax.get_title("left")  # not at the end of a line: "ε" and below "= 8"
