"""The wire form is frozen: these bytes must be read, and written, for ever."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.personal.patterns import Patterns
from sottovoce.report import Reports

SCHEMA = [sv.Attribute("a", ["x", "y", "z"]), sv.Attribute.bins("b", [0, 1, 2])]
TABLE = {"a": ["x", "z", "y"], "b": [0.5, 1.5, 0.0]}
ALLOCATION = [[1.5, 2.5], [3.0, 1.0], [2.0, float("nan")]]
FROZEN = {
    False: (
        (
            "53565250010105000300000000000000ebd085c04d04a389f7d28511bdb7ecd065eba8c790a10144"
            "87054dd6bcf6c0c4706d6f75650000000000000000000000030301090404"
        ),
        (
            "5356505401010500020000000300000000000000ebd085c04d04a389f7d28511bdb7ecd065eba8c7"
            "90a1014487054dd6bcf6c0c4706d6f75650104030403090100000000000000010000000000000001"
            "00000000000000"
        ),
    ),
    True: (
        (
            "5356525001010500030000000000000015798f7238cbf1d1883dc4c29b40168d43ab1e878b41b25a"
            "62e5b39a7476ac8e706d6f756500000000000000000000000303010006000a000c00040008ffff09"
            "0404"
        ),
        (
            "535650540101050006000000030000000000000015798f7238cbf1d1883dc4c29b40168d43ab1e87"
            "8b41b25a62e5b39a7476ac8e706d6f7565010008ffff04030006000a0903000c0004040100000000"
            "00000001000000000000000100000000000000"
        ),
    ),
}


@pytest.mark.parametrize("public", [False, True])
def test_reports_and_aggregates_keep_their_bytes(public: bool) -> None:
    records = sv.Records(SCHEMA, epsilon_average=2.0, public=public)
    with testing.seeded(2024) as source:
        reports = records.randomise(TABLE, allocation=ALLOCATION, source=source)
        aggregate = records.aggregate(reports)
        report_hex, pattern_hex = FROZEN[public]
        assert reports.to_bytes().hex() == report_hex
        assert aggregate.to_bytes().hex() == pattern_hex
        assert Reports.from_bytes(bytes.fromhex(report_hex), expect=records).columns.keys()
        assert Patterns.from_bytes(bytes.fromhex(pattern_hex), expect=records) == aggregate


def test_bits_lie_least_significant_first_attribute_after_attribute() -> None:
    # With the largest epsilon only the true bits are ever set.
    records = sv.Records(SCHEMA, epsilon_average=20.0)
    many = {"a": ["z"] * 400, "b": [1.5] * 400}
    sent = records.randomise(many)
    assert set(sent.columns["bits"][:, 0].tolist()) <= {0b00000, 0b00100, 0b10000, 0b10100}
    assert set(sent.columns["reported"][:, 0].tolist()) == {0b11}
