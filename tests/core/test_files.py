"""Files are whole or not there, and report files are read and refused like the wire form."""

from __future__ import annotations

import errno
import gc
import io
import os
import stat
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce import GRR, OLH, OUE, Mechanism, Reports, files
from sottovoce.contract.parquet import parquet_batches, to_table
from sottovoce.contract.reports import ReportWriter, read_batches
from sottovoce.errors import (
    DigestError,
    FileError,
    MergeError,
    MissingExtraError,
    ParameterError,
    WireError,
)
from sottovoce.files import read_file, whole_file

M = OUE(10, epsilon=1.0)
FORMS = pytest.mark.parametrize("name", ["r.svr", "r.parquet"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestWholeFile:
    def test_it_appears_at_the_end(self, tmp_path: Path) -> None:
        target = tmp_path / "a"
        with whole_file(target) as stream:
            stream.write(b"one")
            assert not target.exists()
        assert target.read_bytes() == b"one"
        assert names(tmp_path) == ["a"]

    def test_a_link_stays_and_its_target_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "a").symlink_to("data/b")
        for text in (b"one", b"two"):  # the target is not there, then it is
            with whole_file(tmp_path / "a") as stream:
                stream.write(text)
            assert (tmp_path / "a").is_symlink()
            assert (tmp_path / "data" / "b").read_bytes() == text
        assert names(tmp_path / "data") == ["b"]

    def test_what_is_no_plain_file_stays(self, tmp_path: Path) -> None:
        pipe, loop = tmp_path / "pipe", tmp_path / "loop"
        os.mkfifo(pipe)
        loop.symlink_to("loop")
        (tmp_path / "to-pipe").symlink_to("pipe")
        for name in ("pipe", "to-pipe", "loop"):
            with pytest.raises(FileError, match="is not a plain file"), whole_file(tmp_path / name):
                pass
        assert stat.S_ISFIFO(pipe.lstat().st_mode)
        assert names(tmp_path) == ["loop", "pipe", "to-pipe"]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, FileError])
    def test_an_error_leaves_everything_as_it_was(self, tmp_path: Path, error) -> None:
        target = tmp_path / "a"
        target.write_bytes(b"old")

        def write() -> None:
            with whole_file(target) as stream:
                stream.write(b"new")
                raise error("stop")

        with pytest.raises(error):
            write()
        assert target.read_bytes() == b"old"
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
    def test_a_full_disk_leaves_everything_as_it_was(self, tmp_path, monkeypatch, step) -> None:
        target = tmp_path / "a"
        target.write_bytes(b"old")

        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, step)), full)
        said = pytest.raises(FileError, match=r"No space left.*nothing was left")
        with said, whole_file(target) as stream:
            stream.write(b"new")
        assert target.read_bytes() == b"old"
        assert names(tmp_path) == ["a"]

    def test_a_write_that_fails_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="No space left"), whole_file(tmp_path / "a"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        assert names(tmp_path) == []

    @pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
    def test_the_mode_follows_the_umask(self, tmp_path: Path, mask: int) -> None:
        before = os.umask(mask)
        try:
            with whole_file(tmp_path / "a"):
                pass
            assert os.umask(mask) == mask  # asking for it has not changed it
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o666 & ~mask

    def test_a_folder_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(FileError, match="nowhere"), whole_file(tmp_path / "nowhere" / "a"):
            pass

    def test_a_folder_cannot_be_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        with pytest.raises(FileError, match="folder"), whole_file(tmp_path / "a"):
            pass
        assert names(tmp_path) == ["a"]

    def test_reading_says_why_not(self, tmp_path: Path) -> None:
        for path, says in ((tmp_path / "x", "No such file"), (tmp_path, "directory")):
            with pytest.raises(FileError, match=says):
                read_file(path)
            with pytest.raises(FileError, match=says), files.opened(path):
                pass


def batches(n: int = 3) -> list[Reports]:
    return [M.randomise(np.arange(size) % 10) for size in (5, 0, 1000)[:n]]


@FORMS
def test_several_batches_come_back(tmp_path: Path, name: str) -> None:
    written = batches()
    with ReportWriter(tmp_path / name) as writer:
        for batch in written:
            writer.append(batch)
    whole = Reports.concatenate(list(read_batches(tmp_path / name, expect=M)))
    assert np.array_equal(whole.columns["bits"], Reports.concatenate(written).columns["bits"])
    assert M.aggregate(whole) == M.aggregate(Reports.concatenate(written))


@FORMS
def test_an_error_while_writing_leaves_no_file(tmp_path: Path, name: str) -> None:
    def write() -> None:
        with ReportWriter(tmp_path / name) as writer:
            for batch in batches():
                writer.append(batch)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write()
    gc.collect()  # a writer that complains when it is collected would be heard here
    assert names(tmp_path) == []


@FORMS
def test_no_reports_make_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileError, match="no reports"), ReportWriter(tmp_path / name):
        pass
    assert names(tmp_path) == []


@FORMS
def test_a_full_disk_at_the_end_leaves_no_file(tmp_path: Path, name: str, monkeypatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="No space"), ReportWriter(tmp_path / name) as writer:
        writer.append(batches()[0])
    gc.collect()
    assert names(tmp_path) == []


@FORMS
def test_one_file_holds_one_kind(tmp_path: Path, name: str) -> None:
    def write(other: Mechanism) -> None:
        with ReportWriter(tmp_path / name) as writer:
            writer.append(batches()[0])
            writer.append(other.randomise([1]))

    for other in (GRR(10, epsilon=1.0), OUE(10, epsilon=2.0)):
        with pytest.raises(MergeError, match="one collection"):
            write(other)
    gc.collect()
    assert names(tmp_path) == []


@FORMS
def test_another_study_is_refused_and_the_file_named(tmp_path: Path, name: str) -> None:
    with ReportWriter(tmp_path / name) as writer:
        writer.append(batches()[0])
    for other in (
        OUE(10, epsilon=2.0),
        OUE(11, epsilon=1.0),
        GRR(10, epsilon=1.0),
        M.bind(bytes(32)),
    ):
        with pytest.raises(DigestError, match=name):
            list(read_batches(tmp_path / name, expect=other))


@FORMS
def test_every_cut_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with ReportWriter(path) as writer:
        for batch in batches(2):
            writer.append(batch)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        with pytest.raises(WireError, match=name):
            list(read_batches(path, expect=M))


def test_damaged_parquet_is_a_wire_error(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    whole = M.every_report()[::205]  # five, not drawn: the same damage every time
    whole.to_parquet(path)
    data = path.read_bytes()
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(600):
        other = bytearray(data)
        other[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(other)
        try:
            reports = Reports.from_parquet(path, expect=M)
        except WireError:
            refused += 1
            continue
        assert reports.to_bytes() == whole.to_bytes()  # the damage does not matter
    assert refused > 200


def altered(path: Path, columns: dict, about: dict | None) -> None:
    import json

    table = pa.table(columns)
    if about is not None:
        table = table.replace_schema_metadata({b"sottovoce": json.dumps(about)})
    pq.write_table(table, path)


class TestForeignParquet:
    G = GRR(10, epsilon=1.0)
    ABOUT = {"version": 1, "collection": "grr", "digest": G.digest.hex(), "seeded": False}  # noqa: RUF012

    @pytest.mark.parametrize(
        ("columns", "change", "says"),
        [
            ({"value": pa.array([1, 2], pa.uint8())}, None, "does not say"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"version": 2}, "version 2"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"digest": "00"}, "malformed"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"digest": "xyz"}, "does not say"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"digest": 5}, "does not say"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"seeded": 1}, "malformed"),
            ({"value": pa.array([1, 2], pa.uint8())}, {"collection": 7}, "malformed"),
            ({"value": pa.array([1, 10], pa.uint8())}, {}, "value 10"),
            ({"value": pa.array([1, None], pa.uint8())}, {}, "empty cells"),
            ({"value": pa.array([1, 2], pa.int8())}, {}, "columns"),
            ({"value": pa.array([1, 2], pa.uint16())}, {}, "columns"),
            ({"other": pa.array([1, 2], pa.uint8())}, {}, "columns"),
            ({"value": pa.array([1], pa.uint8()), "more": pa.array([1])}, {}, "columns"),
        ],
    )
    def test_what_is_not_exactly_ours_is_refused(self, tmp_path, columns, change, says) -> None:
        path = tmp_path / "r.parquet"
        altered(path, columns, None if change is None else self.ABOUT | change)
        with pytest.raises(WireError, match=says):
            Reports.from_parquet(path, expect=self.G)

    def test_what_is_exactly_ours_is_read(self, tmp_path: Path) -> None:
        altered(tmp_path / "r.parquet", {"value": pa.array([1, 2], pa.uint8())}, self.ABOUT)
        reports = Reports.from_parquet(tmp_path / "r.parquet", expect=self.G)
        assert reports.columns["value"].tolist() == [1, 2]

    @pytest.mark.parametrize("kind", [OLH, OUE])
    def test_order_encoding_and_pages_do_not_matter(self, tmp_path: Path, kind) -> None:
        collection, path = kind(12, epsilon=1.0), tmp_path / "r.parquet"
        reports = collection.randomise(np.arange(300) % 12)
        table = to_table(reports)
        schema = pa.schema(
            [field.with_nullable(False) for field in table.schema], table.schema.metadata
        )
        coded = pa.table({n: table[n].dictionary_encode() for n in table.column_names})
        for other in (
            table.select(table.column_names[::-1]),
            table.cast(schema),
            coded.replace_schema_metadata(table.schema.metadata),
        ):
            for compression in ("zstd", "snappy", "none"):
                pq.write_table(other, path, compression=compression, row_group_size=7)
                again = Reports.from_parquet(path, expect=collection)
                assert again.to_bytes() == reports.to_bytes()
        pq.write_table(table.append_column("y2", table.column(0)), path)
        with pytest.raises(WireError, match="the columns are"):
            Reports.from_parquet(path, expect=collection)


def test_a_huge_row_group_is_read_piece_by_piece(tmp_path: Path) -> None:
    # The files of other programs may have one of gigabytes.
    collection, path = GRR(5, epsilon=1.0), tmp_path / "r.parquet"
    column = {"value": np.arange(3_000_000, dtype=np.uint8) % 5}
    table = to_table(Reports(collection.id, collection.digest, column))
    pq.write_table(table, path, row_group_size=1 << 26, compression="none", use_dictionary=False)
    assert pq.read_metadata(path).num_row_groups == 1
    sizes: list[int] = []

    class Watched(io.FileIO):
        def read(self, size: int = -1) -> bytes:
            data = super().read(size)
            sizes.append(len(data))
            return data

    with Watched(path) as stream:
        batches = list(parquet_batches(stream, collection))
    assert sum(map(len, batches)) == 3_000_000
    assert 12_000_000 < sum(sizes) < 13_000_000  # Parquet has no smaller integers than of 4 bytes
    assert max(sizes) < 1_500_000  # a page of the file, or a piece of it


def test_a_damaged_number_of_rows_loses_no_report(tmp_path: Path) -> None:
    collection, path = OUE(12, epsilon=1.0), tmp_path / "r.parquet"
    collection.randomise(np.arange(100) % 12).to_parquet(path)
    data = path.read_bytes()
    for k in range(len(data) - 900, len(data)):
        path.write_bytes(data[:k] + bytes([data[k] ^ 6]) + data[k + 1 :])  # 100 becomes 97
        with suppress(WireError):
            assert len(Reports.from_parquet(path, expect=collection)) == 100


def test_the_form_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    batches()[0].to_parquet(tmp_path / "misnamed.svr")
    assert len(next(read_batches(tmp_path / "misnamed.svr", expect=M))) == 5


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"sottovoce\[files\]"):
        batches()[0].to_parquet(tmp_path / "r.parquet")
    assert names(tmp_path) == []


class TestReports:
    def test_cutting_and_joining(self) -> None:
        whole = M.randomise(np.arange(10))
        assert len(whole[2:5]) == 3
        again = Reports.concatenate([whole[:4], whole[4:]])
        assert again.to_bytes() == whole.to_bytes()
        assert whole.nbytes == 20
        with pytest.raises(TypeError, match="by a slice"):
            whole[3]
        with pytest.raises(MergeError, match="at least one"):
            Reports.concatenate([])
        with pytest.raises(MergeError, match="cannot be concatenated"):
            Reports.concatenate([whole, OUE(10, epsilon=2.0).randomise([1])])

    def test_every_other_report_can_be_counted_and_written(self) -> None:
        whole = M.randomise(np.arange(1000) % 10)
        half = whole[::2]
        bits = np.unpackbits(whole.columns["bits"][::2], axis=1, bitorder="little")[:, :10]
        assert M.aggregate(half).tables["support"].tolist() == bits.sum(axis=0).tolist()
        back = Reports.from_bytes(half.to_bytes(), expect=M)
        assert M.aggregate(back) == M.aggregate(half)

    def test_ragged_columns_are_refused(self) -> None:
        with pytest.raises(WireError, match="equal length"):
            Reports("x", bytes(32), {"a": np.zeros(2), "b": np.zeros(3)})
        with pytest.raises(WireError, match="32 bytes"):
            Reports("x", bytes(31), {"a": np.zeros(2)})

    def test_columns_cannot_be_exchanged(self) -> None:
        with pytest.raises(TypeError):
            M.randomise([1]).columns["bits"] = np.zeros((1, 2), np.uint8)


@pytest.mark.parametrize("dataset", [5, None, [5], GRR(2, epsilon=1.0)])
def test_what_is_no_name_of_a_data_set_is_refused(dataset) -> None:
    with pytest.raises(ParameterError, match="give the name of a file, folder or pattern"):
        files.files_of(dataset)
