"""Aggregates that must be refused."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import sottovoce as sv

from .bad_reports import Of, Raw
from .describe import Vector, changed

HEAD = 56  # magic, version, flags, number of tables, people, reports, digest
PEOPLE, REPORTS, DIGEST = 8, 16, 24


def bad(of: Of, raw: Raw, made: Mapping[str, Vector]) -> Iterator[tuple[str, Vector]]:
    """Aggregates that must be refused, with the error and a part of what it says."""
    yield from bad_heads(of, raw)
    yield from bad_tables(of, raw)
    yield from bad_routes(of, raw)
    yield from bad_candidates(of, raw)
    for name, (data, error, says) in bad_sparse(raw("aggregate_records")).items():
        yield f"aggregate_records_{name}", of("aggregate_records", data, error, says)
    for name, (good_one, tables, people, says) in bad_wrapped_counts().items():
        whole = {key: np.array(table) for key, table in made[good_one]["tables"].items()}
        tables = {key: table for key, table in (whole | tables).items() if table is not None}
        digest = bytes.fromhex(made[good_one]["digest"])
        wrong = sv.Aggregate(made[good_one]["collection"], digest, tables, *people)
        yield f"aggregate_{name}", of(good_one, wrong.to_bytes(), "WireError", says)


def bad_heads(of: Of, raw: Raw) -> Iterator[tuple[str, Vector]]:
    """Wrong magic, version, flags, numbers, digest and id."""
    counts = raw("aggregate_grr")
    for name, at, new, error, says in (
        ("magic", 0, b"SVRP", "WireError", "SVAG"),
        ("version", 4, b"\2", "WireError", "version 2"),
        ("flag", 5, b"\4", "WireError", "flags"),
        ("route_without_one", 5, b"\2", "WireError", "a route of"),
        ("people_huge", PEOPLE, struct.pack("<Q", 1 << 62), "WireError", "2^62"),
        ("people_more", PEOPLE, struct.pack("<Q", 5), "WireError", "everyone reports"),
        ("reports_more", REPORTS, struct.pack("<Q", 5), "WireError", "5 reports of 4 people"),
        ("digest", DIGEST, bytes(32), "DigestError", "0000"),
        ("id", HEAD + 1, b"xyz", "DigestError", "'xyz'"),
        ("id_not_ascii", HEAD + 1, b"\xff", "WireError", "ASCII"),
        ("id_empty", HEAD, b"\0", "WireError", "empty"),
    ):
        yield f"aggregate_{name}", of("aggregate_grr", changed(counts, at, new), error, says)
    fewer = changed(counts, PEOPLE, struct.pack("<QQ", 3, 3))
    yield "aggregate_people_fewer", of("aggregate_grr", fewer, "WireError", "3 reports give 1 each")
    cells_off = changed(raw("aggregate_hybrid"), PEOPLE, struct.pack("<QQ", 9, 9))
    yield "aggregate_hybrid_people", of("aggregate_hybrid", cells_off, "WireError", "9")
    short = changed(raw("aggregate_lip"), PEOPLE, struct.pack("<QQ", 6, 6))
    yield "aggregate_lip_people", of("aggregate_lip", short, "WireError", "give 1 each")


def bad_tables(of: Of, raw: Raw) -> Iterator[tuple[str, Vector]]:
    """Tables that are missing, twice there, of another shape or impossible."""
    counts = raw("aggregate_grr")
    first = HEAD + 1 + len("grr")  # lengths of the table's name and shape
    label, cells = first + 2, first + 2 + len("support") + 8

    def of_counts(data: bytes, says: str) -> Vector:
        return of("aggregate_grr", data, "WireError", says)

    yield "aggregate_no_table", of_counts(changed(counts, 6, b"\0"), "follow")
    yield "aggregate_two_tables", of_counts(changed(counts, 6, b"\2"), "too early")
    twice = changed(counts, 6, b"\2") + counts[first:]
    yield "aggregate_table_twice", of_counts(twice, "twice")
    yield "aggregate_other_table", of_counts(changed(counts, label, b"S"), "Support")
    many = changed(counts, first + 1, b"\5")
    yield "aggregate_many_dimensions", of_counts(many, "5 dimensions")
    for name, size, says in (
        ("two_cells", 2, "follow"),
        ("huge", 1 << 60, "too early"),
        ("no_cells", 0, "shape"),
    ):
        shape = changed(counts, cells - 8, struct.pack("<Q", size))
        yield f"aggregate_{name}", of_counts(shape, says)
    empty = changed(counts, cells - 8, struct.pack("<Q", 0))[:cells]
    yield "aggregate_empty_table", of_counts(empty, "shape")
    flat = struct.pack("<BB7sQQ", 7, 2, b"support", 1 << 63, 0)
    yield "aggregate_flat_table", of_counts(counts[:first] + flat, "shape")
    sparse = struct.pack("<BB7sIQ", 7, 0, b"support", 1, 1) + b"\1" + struct.pack("<q", 4)
    yield "aggregate_sparse_table", of_counts(counts[:first] + sparse, "'grr' has 'support'")
    below, above = struct.pack("<q", -1), struct.pack("<q", 5)
    yield "aggregate_negative", of_counts(changed(counts, cells, below), "outside")
    yield "aggregate_above_people", of_counts(changed(counts, cells, above), "outside")
    yield "aggregate_truncated", of_counts(counts[:-1], "too early")
    yield "aggregate_trailing", of_counts(counts + b"\0", "follow")


def bad_candidates(of: Of, raw: Raw) -> Iterator[tuple[str, Vector]]:
    """Chosen values that are none, outside the domain or twice, and counts that differ."""
    name = "aggregate_olh_candidates"
    data = raw(name)
    start = HEAD + 1 + len("olh")  # how many, then 4 bytes each
    rest = data[start + 8 + 3 * 4 :]
    for what, positions in (("twice", (5, 0, 5)), ("outside", (1 << 31, 0, 1)), ("none", ())):
        numbers = struct.pack(f"<Q{len(positions)}I", len(positions), *positions)
        wrong = of(name, data[:start] + numbers + rest, "WireError", "the chosen values are none")
        yield f"{name}_{what}", wrong
    huge = changed(data, start, struct.pack("<Q", 1 << 60))
    yield f"{name}_huge", of(name, huge, "WireError", "too early")
    all_of_them = changed(data, 5, b"\0")[:start] + rest
    yield f"{name}_without", of(name, all_of_them, "WireError", "2147483648 are expected")
    other = "aggregate_hadamard_candidates"
    uneven = raw(other)[:-8] + struct.pack("<q", 9)
    yield f"{other}_above", of(other, uneven, "WireError", "outside what 3 reports allow")
    uneven = raw(other)[:-8] + struct.pack("<q", struct.unpack("<q", raw(other)[-8:])[0] ^ 1)
    yield f"{other}_uneven", of(other, uneven, "WireError", "reports in it")
    numbers = changed(raw("aggregate_lip"), 5, b"\x08")
    start = HEAD + 1 + len("lip")
    forged = numbers[:start] + struct.pack("<QI", 1, 0) + numbers[start:]
    yield "aggregate_lip_candidates", of("aggregate_lip", forged, "WireError", "cannot count some")


def bad_routes(of: Of, raw: Raw) -> Iterator[tuple[str, Vector]]:
    """Routes that are malformed, not canonical, or do not allow the counts."""
    name = "aggregate_route_bounded"
    data = raw(name)
    start = HEAD + 1 + len("grr")
    (size,) = struct.unpack_from("<I", data, start)
    route, tables = data[start + 4 : start + 4 + size], data[start + 4 + size :]

    def with_route(new: bytes) -> bytes:
        return data[:start] + struct.pack("<I", len(new)) + new + tables

    malformed = "the route of an aggregate is malformed"
    for what, new, says in (
        ("not_json", route[:-1], "not JSON"),
        ("not_canonical", route.replace(b'"kept":', b'"kept": '), "canonical"),
        ("list", b"[]", malformed),
        ("kept_more", route.replace(b'"kept":1.0', b'"kept":1.5'), malformed),
        ("kept_none", route.replace(b'"kept":1.0', b'"kept":0.0'), malformed),
        ("kept_text", route.replace(b'"kept":1.0', b'"kept":"1"'), malformed),
        ("no_name", route.replace(b'"protocol":"dpdg"', b'"protocol":""'), malformed),
        ("variance", route.replace(b'"variance":2.5', b'"variance":-1.0'), malformed),
        ("bound_negative", route.replace(b'"bound":10', b'"bound":-1'), malformed),
        ("bound_true", route.replace(b'"bound":10', b'"bound":true'), malformed),
        ("more", route[:-1] + b',"z":0}', malformed),
        ("tight", route.replace(b'"bound":10', b'"bound":9'), "outside"),
        ("epsilon", route.replace(b'"epsilon":1.0', b'"epsilon":-1.0'), malformed),
    ):
        if new == route:
            raise ValueError(f"the route has changed; {what} no longer changes it")
        yield f"aggregate_route_{what}", of(name, with_route(new), "WireError", says)
    long = data[:start] + struct.pack("<I", 1 << 20) + data[start + 4 :]
    yield "aggregate_route_long", of(name, long, "WireError", "a route of 1,048,576 bytes")
    thinned = raw("aggregate_route_thinned")
    negative = thinned[:-8] + struct.pack("<q", -1)
    yield (
        "aggregate_route_no_noise",
        of("aggregate_route_thinned", negative, "WireError", "outside"),
    )


def bad_sparse(good_one: bytes) -> dict[str, tuple[bytes, str, str]]:
    """Aggregates of records that no records can have given."""
    shape = HEAD + 1 + len("pmoue") + 2 + len("patterns")
    head, width, different = shape + 12, 3, 3
    counts = head + width * different
    rows = [good_one[head + width * k : head + width * (k + 1)] for k in range(different)]
    dense = changed(good_one, HEAD + 1 + len("pmoue") + 1, b"\1")
    nobody = changed(good_one, counts, struct.pack("<q", 0))
    return {
        "dense": (dense, "WireError", "too early"),
        "order": (changed(good_one, head, rows[1] + rows[0]), "WireError", "rising order"),
        "twice": (changed(good_one, head, rows[0] * 2), "WireError", "each once"),
        "no_count": (nobody, "WireError", "below 1"),
        "negative": (changed(good_one, counts, b"\xff" * 8), "WireError", "below 1"),
        "one_more": (changed(good_one, counts, struct.pack("<q", 2)), "WireError", "hold"),
        "row": (changed(good_one, head, b"\0"), "WireError", "reports no attribute"),
        "no_width": (changed(good_one, shape, struct.pack("<I", 0)), "WireError", "0 bytes"),
        "wide": (changed(good_one, shape, struct.pack("<I", width + 1)), "WireError", ""),
        "huge": (changed(good_one, shape + 4, struct.pack("<Q", 1 << 60)), "WireError", "early"),
        "truncated": (good_one[:-1], "WireError", "too early"),
        "trailing": (good_one + b"\0", "WireError", "follow"),
    }


def bad_wrapped_counts() -> dict[str, tuple[str, dict[str, Any], tuple[int, int], str]]:
    """Counts that no people at such levels and rates can have given."""
    levels, sampled, rates = (f"aggregate_{n}" for n in ("levels", "sampled", "sampled_rates"))
    both = {"asked": [1, 1], "reported": [1, 1]}
    return {
        "levels_asked": (levels, both, (3, 3), "2 people and 2 reports"),
        "levels_people": (levels, {}, (4, 3), "the aggregate has 4 and 3"),
        "levels_reports": (levels, {}, (3, 2), "the aggregate has 3 and 2"),
        "levels_silent": (levels, {"reported": [1, 1]}, (3, 2), "silent at rate 1"),
        "levels_negative": (
            levels,
            {"asked": [-1, 4], "reported": [-1, 4]},
            (3, 3),
            "more people report",
        ),
        "levels_one_way": (levels, {"asked": [3], "reported": [3]}, (3, 3), "for 2 ways"),
        "levels_not_asked": (levels, {"asked": None}, (3, 3), "for 2 ways"),
        "levels_missing": (levels, {"0/support": None}, (3, 3), "'grr' has 'support'"),
        "levels_strange": (levels, {"2/support": [[1, 0, 0, 0]]}, (3, 3), "belongs to no level"),
        "levels_counts": (
            levels,
            {"0/support": [[1, 1, 0, 0], [1, 0, 1, 0]]},
            (3, 3),
            "sum to 2",
        ),
        "sampled_reported": (
            sampled,
            {"asked": [1], "reported": [2]},
            (2, 2),
            "more people report than were asked",
        ),
        "sampled_negative": (sampled, {"reported": [-1]}, (260, 0), "more people report"),
        "sampled_people": (sampled, {}, (259, 2), "260 people and 2 reports"),
        "sampled_wrap_around": (
            rates,
            {"asked": [(1 << 63) - 1, (1 << 63) - 1, 2], "reported": [0, 1, 2]},
            (3, 3),
            "the aggregate has 3 and 3",
        ),
        "sampled_silent_at_1": (rates, {"asked": [7, 2, 2]}, (11, 2), "silent at rate 1"),
        "sampled_report_at_0": (rates, {"reported": [1, 0, 1]}, (10, 2), "reports at rate 0"),
        "sampled_rows": (rates, {"0/support": [[0, 0, 1]]}, (10, 2), "one per way"),
        "sampled_counts": (sampled, {"0/support": [[1, 0, 0]]}, (260, 2), "sum to 1"),
        "sampled_flat": (sampled, {"0/support": [1]}, (260, 2), "shape ()"),
        "sampled_not_asked": (sampled, {"asked": None}, (260, 2), "no counts of asked"),
        "sampled_strange": (sampled, {"support": [1]}, (260, 2), "belongs to no level"),
    }
