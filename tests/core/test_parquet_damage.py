"""Damaged Parquet files of reports: an error that names the file, never other counts."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.contract.reports import ReportWriter, read_batches
from sottovoce.errors import WireError

MECHANISMS = {
    "grr": sv.GRR(sv.Attribute("commute", 3), epsilon=1.0),
    "oue": sv.OUE(sv.Attribute("commute", 3), epsilon=1.0),
    "olh": sv.OLH(sv.Attribute("commute", 3), epsilon=1.0),
}
CASES = 300


def damage(good: bytes, chance: random.Random) -> bytes:
    """One realistic accident: changed, lost, repeated or zeroed bytes, or a file cut off."""
    data = bytearray(good)
    # The end, where the footer is, is as likely as all the rest.
    at = chance.choice([chance.randrange(len(good)), len(good) - 1 - chance.randrange(2000)])
    match chance.randrange(6):
        case 0:
            data[at] ^= 1 << chance.randrange(8)
        case 1:
            data[at : at + 8] = chance.randbytes(len(data[at : at + 8]))
        case 2:
            del data[at:]
        case 3:
            del data[at : at + chance.randint(1, 64)]
        case 4:
            data[at:at] = data[at : at + chance.randint(1, 64)]
        case _:
            data[at : at + 32] = bytes(len(data[at : at + 32]))
    return bytes(data)


def outcomes(mechanism: sv.Mechanism, good: Path) -> dict[str, int]:
    """How often damage was refused, changed nothing that is counted, or changed the counts."""
    bad, chance, expected = good.with_name("bad.parquet"), random.Random(20), count(mechanism, good)
    seen = {"refused": 0, "harmless": 0, "other counts": 0}
    for _ in range(CASES):
        bad.write_bytes(damage(good.read_bytes(), chance))
        try:
            counts = count(mechanism, bad)
        except WireError as error:
            seen["refused"] += "bad.parquet" in str(error)
        else:
            seen["harmless" if counts == expected else "other counts"] += 1
    return seen


def count(mechanism: sv.Mechanism, path: Path) -> sv.Aggregate:
    return mechanism.aggregate(sv.Reports.concatenate([*read_batches(path, expect=mechanism)]))


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_damage_changes_the_counts(name: str, tmp_path: Path) -> None:
    mechanism, path = MECHANISMS[name], tmp_path / "good.parquet"
    with ReportWriter(path) as writer:
        writer.append(mechanism.randomise(np.arange(1000) % 3))
    seen = outcomes(mechanism, path)
    assert seen["other counts"] == 0
    assert seen["refused"] + seen["harmless"] == CASES
    assert seen["refused"] > 0.8 * CASES

    # The fault: without checksums of pages, damage is counted.
    pq.write_table(pq.read_table(path), path, compression="none", use_dictionary=False)
    assert outcomes(mechanism, path)["other counts"] > 0


def test_checksums_of_other_programs_are_verified(tmp_path: Path) -> None:
    olh, path = MECHANISMS["olh"], tmp_path / "other.parquet"
    with ReportWriter(path) as writer:
        writer.append(olh.randomise(np.arange(1000) % 3))
    pq.write_table(pq.read_table(path), path, write_page_checksum=True, compression="none")
    good = path.read_bytes()
    path.write_bytes(good[:2000] + bytes([good[2000] ^ 1]) + good[2001:])
    with pytest.raises(WireError, match=r"other\.parquet"):
        count(olh, path)
