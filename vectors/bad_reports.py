"""Reports that must be refused."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from sottovoce.contract.codec import encode_reports

from .describe import HIDDEN, KINDS, MENU, PUBLIC, RATES, SAMPLED, STUDY, Vector, changed, forged

#: From the name of a good vector, other bytes, the error and a part of its words: a bad vector.
Of = Callable[[str, bytes, str, str], Vector]
Raw = Callable[[str], bytes]


def bad(of: Of, raw: Raw) -> Iterator[tuple[str, Vector]]:
    """Reports that must be refused, with the error and a part of what it says."""
    grr, oue = raw("grr"), raw("oue")
    yield "magic", of("grr", changed(grr, 0, b"SVRQ"), "WireError", "SVRP")
    yield "aggregate_as_reports", of("grr", raw("aggregate_grr"), "WireError", "SVRP")
    yield "version_0", of("grr", changed(grr, 4, b"\0"), "WireError", "version 0")
    yield "version_2", of("grr", changed(grr, 4, b"\2"), "WireError", "version 2")
    yield "unknown_flag", of("grr", changed(grr, 5, b"\4"), "WireError", "flags")
    yield "reserved_byte", of("grr", changed(grr, 7, b"\1"), "WireError", "flags")
    yield "padding", of("grr", changed(grr, 63, b"\1"), "WireError", "padded")
    yield "empty_id", of("grr", changed(grr, 6, b"\0"), "WireError", "id")
    yield "id_not_ascii", of("grr", changed(grr, 48, b"\xff"), "WireError", "ASCII")
    yield "id_cut", of("grr", changed(grr, 6, b"\2"), "WireError", "id")
    yield "other_id", of("grr", changed(grr, 48, b"oue"), "DigestError", "'oue'")
    yield "unknown_id", of("grr", changed(grr, 48, b"xyz"), "DigestError", "'xyz'")
    yield "other_digest", of("grr", changed(grr, 16, bytes(32)), "DigestError", "0000")
    study = changed(raw("grr_study"), 16, STUDY.mechanism("commute").digest)
    yield "other_question", of("grr_study", study, "DigestError", "digest")
    yield (
        "study_itself",
        of("grr_study", changed(raw("grr_study"), 16, STUDY.digest), "DigestError", "digest"),
    )
    yield "value_out_of_range", of("grr", changed(grr, 65, b"\3"), "WireError", "value 3")
    large = changed(raw("grr_four_bytes"), 64, struct.pack("<I", 70_000))
    yield "value_out_of_range_four", of("grr_four_bytes", large, "WireError", "70000")
    yield "bit_beyond_the_values", of("oue", changed(oue, 65, b"\4"), "WireError", "beyond")
    yield (
        "subset_too_large",
        of("subset", changed(raw("subset"), 64, b"\7"), "WireError", "names 3 values"),
    )
    yield "subset_beyond", of("subset", changed(raw("subset"), 65, b"\2"), "WireError", "beyond")
    yield "olh_even_a", of("olh", changed(raw("olh"), 64, b"\2"), "WireError", "even")
    yield "olh_bucket", of("olh", changed(raw("olh"), 90, b"\4"), "WireError", "bucket 4")
    output = changed(raw("hadamard"), 64, struct.pack("<H", 1024))
    yield "hadamard_output", of("hadamard", output, "WireError", "1024")
    yield "lip_value", of("lip", changed(raw("lip"), 65, b"\4"), "WireError", "value 4")
    two = changed(raw("lip_box"), 64, struct.pack("<H", 300))
    yield "lip_box_value", of("lip_box", two, "WireError", "value 300")
    cell = changed(raw("piecewise"), 64, struct.pack("<H", 1401))
    yield "piecewise_cell", of("piecewise", cell, "WireError", "cell")
    yield "hybrid_grid", of("hybrid", changed(raw("hybrid"), 64, b"\2"), "WireError", "grid 2")
    coarse = changed(raw("hybrid"), 68, struct.pack("<H", 2))
    yield "hybrid_cell", of("hybrid", coarse, "WireError", "cell")
    count = struct.unpack_from("<Q", grr, 8)[0]
    for name, wrong in (("one_more", count + 1), ("huge", count + (1 << 60)), ("all", 2**64 - 1)):
        data = changed(grr, 8, struct.pack("<Q", wrong))
        yield f"n_{name}", of("grr", data, "WireError", "end too early")
    yield (
        "n_one_less",
        of("grr", changed(grr, 8, struct.pack("<Q", count - 1)), "WireError", "1 bytes follow"),
    )
    yield "empty", of("grr", b"", "WireError", "end too early")
    yield "truncated", of("grr", grr[:-1], "WireError", "end too early")
    yield "trailing", of("grr", grr + b"\0", "WireError", "1 bytes follow")
    yield "twice", of("grr", grr + grr, "WireError", "follow")
    envelopes = raw("grr_envelopes")
    yield "cut_between_envelopes", of("grr_envelopes", envelopes[:65], "WireError", "too early")
    yield (
        "second_envelope_of_another",
        of("grr_envelopes", envelopes[:65] + oue, "DigestError", "'oue'"),
    )
    for name, (good_one, collection, columns, says) in (bad_wrapped() | bad_records()).items():
        yield name, of(good_one, encode_reports(forged(collection, **columns)), "WireError", says)


def bad_wrapped() -> dict[str, tuple[str, Any, dict[str, list[Any]], str]]:
    """Reports that nobody at such a level or rate can have sent."""
    silent, rates = "people who are silent have content in 'value'", "silent at rate 1, or reports"
    unused = "that its kind does not use"
    return {
        "levels_unknown": ("levels", MENU, {"way": [0, 2], "value": [0, 0]}, "names way 2"),
        "levels_value": ("levels", MENU, {"way": [0, 1], "value": [0, 4]}, "value 4"),
        "levels_unused_column": (
            "levels_kinds",
            KINDS,
            {"way": [1], "a": [1], "b": [0], "y": [0]},
            f"content in 'a' {unused}",
        ),
        "levels_unused_bytes": (
            "levels_kinds",
            KINDS,
            {"way": [0], "a": [7], "b": [5], "y": [256 + 3]},
            f"content in 'y' {unused}",
        ),
        "levels_even_a": (
            "levels_kinds",
            KINDS,
            {"way": [0], "a": [6], "b": [5], "y": [3]},
            "even",
        ),
        "sampled_value": ("sampled", SAMPLED, {"silent": [0], "value": [3]}, "value 3"),
        "sampled_silent_content": ("sampled", SAMPLED, {"silent": [2], "value": [1]}, silent),
        "sampled_unknown_rate": (
            "sampled_rates",
            RATES,
            {"way": [3], "silent": [1], "value": [0]},
            "names way 3; there are 3",
        ),
        "sampled_silent_at_1": (
            "sampled_rates",
            RATES,
            {"way": [1, 2], "silent": [1, 1], "value": [0, 0]},
            rates,
        ),
        "sampled_report_at_0": (
            "sampled_rates",
            RATES,
            {"way": [0], "silent": [0], "value": [0]},
            rates,
        ),
    }


def bad_records() -> dict[str, tuple[str, Any, dict[str, list[Any]], str]]:
    """Records that nobody can have sent."""
    one = {"reported": [[3]], "bits": [[4, 0]]}
    public = ("records_public", PUBLIC)
    return {
        "records_nothing": ("records", HIDDEN, {**one, "reported": [[0]]}, "reports no attribute"),
        "records_unreported": ("records", HIDDEN, {**one, "bits": [[132, 0]]}, "does not report"),
        "records_spare_bit": ("records", HIDDEN, {**one, "bits": [[4, 2]]}, "unused bits"),
        "records_spare_name": ("records", HIDDEN, {**one, "reported": [[11]]}, "unused reported"),
        "records_total": (*public, {**one, "steps": [[2048, 2049, 65_535]]}, "more than its total"),
        "records_floor": (*public, {**one, "steps": [[510, 2048, 65_535]]}, "allowed is 0.5"),
        "records_budget": (*public, {**one, "steps": [[2048, 65_535, 65_535]]}, "do not agree"),
        "records_no_budget": (*public, {**one, "steps": [[2048, 1024, 1024]]}, "do not agree"),
    }
