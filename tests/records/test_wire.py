"""The order of bits in a record; `vectors/v1` freezes the bytes."""

from __future__ import annotations

import sottovoce as sv
from sottovoce import testing

SCHEMA = [sv.Attribute("a", ["x", "y", "z"]), sv.Attribute.bins("b", [0, 1, 2])]


def test_bits_lie_least_significant_first_attribute_after_attribute() -> None:
    # With the largest epsilon hardly any but the true bits are ever set; none by this seed.
    records = sv.Records(SCHEMA, epsilon_average=20.0)
    many = {"a": ["z"] * 400, "b": [1.5] * 400}
    with testing.seeded(1) as source:
        sent = records.randomise(many, source=source)
    assert set(sent.columns["bits"][:, 0].tolist()) <= {0b00000, 0b00100, 0b10000, 0b10100}
    assert set(sent.columns["reported"][:, 0].tolist()) == {0b11}
