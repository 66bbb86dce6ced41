"""Damaged Parquet files of reports: an error that names the file, never other counts or a crash."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.contract.parquet_checks import BLOCK
from sottovoce.contract.reports import ReportWriter, cut_file, read_batches
from sottovoce.errors import WireError

MECHANISMS = {
    "grr": sv.GRR(sv.Attribute("commute", 3), epsilon=1.0),
    "oue": sv.OUE(sv.Attribute("commute", 3), epsilon=1.0),
    "olh": sv.OLH(sv.Attribute("commute", 3), epsilon=1.0),
}


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    return MECHANISMS[request.param]


def written(mechanism, path, *, batches=1, each=1000):
    with ReportWriter(path) as writer:
        for _ in range(batches):
            writer.append(mechanism.randomise(np.arange(each) % 3))
    return path.read_bytes()


def damage(good: bytes, chance: random.Random) -> bytes:
    """One realistic accident: changed, lost, repeated or zeroed bytes, or a file cut off."""
    bytes_ = bytearray(good)
    # The end, where the footer is, is as likely as all the rest.
    at = chance.choice([chance.randrange(len(good)), len(good) - 1 - chance.randrange(2000)])
    match chance.randrange(6):
        case 0:
            bytes_[at] ^= 1 << chance.randrange(8)
        case 1:
            bytes_[at : at + 8] = chance.randbytes(len(bytes_[at : at + 8]))
        case 2:
            del bytes_[at:]
        case 3:
            del bytes_[at : at + chance.randint(1, 64)]
        case 4:
            bytes_[at:at] = bytes_[at : at + chance.randint(1, 64)]
        case _:
            bytes_[at : at + 32] = bytes(len(bytes_[at : at + 32]))
    return bytes(bytes_)


def same(some: sv.Reports, others: sv.Reports) -> bool:
    return all(np.array_equal(others.columns[name], some.columns[name]) for name in some.columns)


def test_every_damage_is_an_error_that_names_the_file(mechanism, tmp_path):
    good = written(mechanism, tmp_path / "good.parquet")
    path = tmp_path / "bad.parquet"
    chance = random.Random(20)
    table = good.index(b"SVRPSUMS"), good.index(b"SUMSPRVS") + 8
    for _ in range(300):
        bad = damage(good, chance)
        if (
            good[: table[0]] == bad[: table[0]]
            and good[table[1] :] == bad[-len(good[table[1] :]) :]
        ):
            continue  # nothing happened, or at most the checksums themselves are damaged
        path.write_bytes(bad)
        with pytest.raises(WireError, match=r"bad\.parquet"):
            list(read_batches(path, expect=mechanism))


def test_where_the_checksums_are_lost_the_pages_still_have_their_own(mechanism, tmp_path):
    path = tmp_path / "lost.parquet"
    good = written(mechanism, path)
    reports = sv.Reports.from_parquet(path, expect=mechanism)
    start, end = good.index(b"SVRPSUMS"), good.index(b"SUMSPRVS") + 8
    path.write_bytes(good[:start] + bytes(end - start) + good[end:])
    assert same(sv.Reports.from_parquet(path, expect=mechanism), reports)
    page = 500
    path.write_bytes(good[:page] + b"?" + good[page + 1 : start] + bytes(end - start) + good[end:])
    with pytest.raises(WireError, match=r"lost\.parquet"):
        sv.Reports.from_parquet(path, expect=mechanism)


@pytest.mark.parametrize("program", ["pyarrow", "polars"])
def test_other_programs_read_the_file_and_what_they_write_is_read(mechanism, tmp_path, program):
    written(mechanism, tmp_path / "own.parquet", batches=3)
    own = sv.Reports.from_parquet(tmp_path / "own.parquet", expect=mechanism)
    copy = tmp_path / "copy.parquet"
    if program == "polars":
        assert pl.read_parquet(tmp_path / "own.parquet").height == 3000
        return
    pq.write_table(pq.read_table(tmp_path / "own.parquet"), copy)
    assert same(sv.Reports.from_parquet(copy, expect=mechanism), own)


def test_changed_bytes_in_the_middle_of_a_long_file_are_found_by_the_part_that_has_them(tmp_path):
    olh = MECHANISMS["olh"]
    path = tmp_path / "long.parquet"
    good = written(olh, path, batches=4, each=60_000)
    assert len(good) > 4 * BLOCK
    whole = sv.Reports.concatenate(list(read_batches(path, expect=olh)))
    cuts = cut_file(path, expect=olh, form="parquet", rows=60_000)
    assert len(cuts) == 4
    parts = [batch for cut in cuts for batch in read_batches(path, expect=olh, cut=cut)]
    assert same(sv.Reports.concatenate(parts), whole)
    place = len(good) * 5 // 8
    path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
    assert list(read_batches(path, expect=olh, cut=cuts[0]))
    with pytest.raises(WireError, match=f"bytes near {place // BLOCK * BLOCK:,} were changed"):
        list(read_batches(path, expect=olh, cut=cuts[2]))


def test_pages_with_checksums_of_other_programs_are_checked(tmp_path):
    olh = MECHANISMS["olh"]
    path = tmp_path / "other.parquet"
    written(olh, path)
    pq.write_table(pq.read_table(path), path, write_page_checksum=True, compression="none")
    good = path.read_bytes()
    path.write_bytes(good[:2000] + bytes([good[2000] ^ 1]) + good[2001:])
    with pytest.raises(WireError, match=r"other\.parquet"):
        list(read_batches(path, expect=olh))


def test_a_file_of_no_reports_has_checksums_too(tmp_path):
    grr = MECHANISMS["grr"]
    path = tmp_path / "none.parquet"
    good = written(grr, path, each=0)
    assert len(sv.Reports.from_parquet(path, expect=grr)) == 0
    path.write_bytes(good[:-40] + bytes([good[-40] ^ 4]) + good[-39:])
    with pytest.raises(WireError, match=r"its footer was changed"):
        sv.Reports.from_parquet(path, expect=grr)
