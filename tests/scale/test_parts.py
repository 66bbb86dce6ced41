"""One seam for every engine: parts, counted anywhere and in any order, each merged once."""

from __future__ import annotations

import io
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow.dataset
import pyarrow.parquet
import pytest

import sottovoce as sv
from sottovoce import testing
from sottovoce.collect import counting
from sottovoce.collect.counting import Job, Part, Partial, count_files, count_part
from sottovoce.contract.parquet import to_table
from sottovoce.contract.reports import Reports, cut_file, read_batches
from sottovoce.errors import (
    DigestError,
    FileError,
    MergeError,
    MissingExtraError,
    ParameterError,
    SeededError,
    SkippedWarning,
    TransportError,
    WireError,
)
from sottovoce.files import check_output, files_of, read_file
from sottovoce.scale import spark
from sottovoce.scale.dataset import count_task, tasks_of

from .datasets import dataset, kinds, reports_of, write


@pytest.mark.parametrize("kind", kinds())
def test_threads_give_the_same_bytes(every_kind, small_parts, kind) -> None:
    collection, folder, whole = every_kind[kind]
    assert sv.scale.aggregate(collection, folder).to_bytes() == whole.to_bytes()


def test_large_files_are_cut_and_the_parts_add_up(grr) -> None:
    collection, folder, whole = grr
    count = count_files(files_of(folder), collection)
    assert (count.files, count.parts, count.skipped) == (3, 7, {})
    assert count.aggregate == whole


def test_a_part_of_costly_reports_has_few_of_them() -> None:
    # Hashing a report takes a step for each value, so that few of them make a task of a second.
    few = counting.part_rows(Job(sv.OLH(1 << 24, epsilon=1.0)))
    assert few == counting.PART_STEPS >> 24
    many = counting.part_rows(Job(sv.GRR(5, epsilon=1.0)))
    assert many == counting.PART_BYTES
    both = {"a": sv.OLH(1 << 20, epsilon=0.5), "b": sv.OLH(1 << 20, epsilon=2.0)}
    assert counting.part_rows(Job(sv.Levels(both))) == counting.PART_STEPS >> 20
    chosen = Job(sv.OLH(1 << 31, epsilon=1.0), np.arange(1 << 10))  # as many steps as are chosen
    assert counting.part_rows(chosen) == counting.PART_BYTES // 13


def test_small_files_share_a_task_and_large_parts_do_not() -> None:
    collection = sv.GRR(5, epsilon=1.0)
    sizes = [10] * 5 + [4 * counting.PART_BYTES] * 2 + [10] * 3
    parts = [Part(k, "x", "svr", None, size) for k, size in enumerate(sizes)]
    tasks = tasks_of(Job(collection), parts)
    assert [part for task in tasks for part in task] == parts
    assert [len(task) for task in tasks] == [6, 1, 3]
    many = [Part(k, "x", "svr", None, 10) for k in range(10_000)]
    assert max(map(len, tasks_of(Job(collection), many))) == 256  # every worker opens some


def test_a_task_has_few_parts_where_their_tables_are_large() -> None:
    # A task of a hundred small files would give back a hundred tables at once.
    parts = [Part(k, "x", "svr", None, 10) for k in range(40)]
    large = Job(sv.OLH(1 << 20, epsilon=1.0))
    assert [len(task) for task in tasks_of(large, parts)] == [4] * 10
    chosen = Job(sv.OLH(1 << 31, epsilon=1.0), np.arange(10))
    assert [len(task) for task in tasks_of(chosen, parts)] == [40]
    assert {len(task) for task in tasks_of(Job(sv.OLH(1 << 24, epsilon=1.0)), parts)} == {1}


class Session:
    """Executors in this process, and what the driver asked of them."""

    def __init__(self) -> None:
        self.jobs: list[int] = []

    def range(self, start: int, end: int, step: int, pieces: int):
        self.jobs.append(end)
        return Frame(end)


class Frame:
    def __init__(self, items: int) -> None:
        self.items = items

    def mapInArrow(self, run, schema):  # noqa: N802, a name of Spark
        self.run, self.schema = run, schema
        return self

    def collect(self):
        batch = pyarrow.RecordBatch.from_pydict({"id": list(range(self.items))})
        rows = [row for one in self.run(iter([batch])) for row in one.to_pylist()]
        named = [name.split()[0] for name in self.schema.split(", ")]
        assert all(list(row) == named for row in rows)
        return [Row(row) for row in rows]


class Row(dict):
    def asDict(self):  # noqa: N802, a name of Spark
        return dict(self)


def test_large_counts_come_from_spark_in_pieces_and_small_jobs(grr, monkeypatch) -> None:
    collection, folder, whole = grr
    sizes: list[int] = []

    def engine(size: int):
        def run(job, parts):
            session = Session()
            yield from spark.on_spark(session, count_task, job, [[part] for part in parts], size)
            sizes.append(max(session.jobs))

        return run

    for piece, size in ((7, 0), (1 << 22, 1 << 24), (1 << 22, 1 << 30)):
        monkeypatch.setattr(spark, "_PIECE", piece)
        assert count_files(files_of(folder), collection, engine=engine(size)).aggregate == whole
    assert sizes == [7, 2, 1]


def test_a_bad_file_whose_name_is_no_text_is_listed_by_spark(tmp_path) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    reports_of(collection).to_parquet(tmp_path / "a.parquet")
    name = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.svr"))
    try:
        name.write_text("commute\ncar\n")
    except OSError:
        pytest.skip("names of files are text here")

    def engine(job, parts):
        return spark.on_spark(Session(), count_task, job, [[part] for part in parts])

    counted = count_files(files_of(tmp_path), collection, engine=engine, skip_bad=True)
    assert counted.aggregate.reports > 0
    (reason,) = counted.skipped.values()
    assert r"\udcff.svr' is a table of answers" in reason


def test_whatever_spark_raises_is_one_of_our_errors() -> None:
    class Lost:
        def range(self, *_: int):
            raise RuntimeError("An error occurred.\njava.lang.OutOfMemoryError: Java heap space")

    with pytest.raises(TransportError, match=r"^Spark failed: .*OutOfMemoryError: Java heap"):
        list(spark.on_spark(Lost(), count_task, Job(sv.GRR(5, epsilon=1.0)), [[]]))


# --- each part once ------------------------------------------------------------------------------


def several_times(job: Job, parts: list[Part]) -> Iterator[Partial]:
    """An engine that starts tasks again, and delivers what each of them gives."""
    for part in reversed(parts):
        yield count_part(job, part)
        yield count_part(job, part)
    yield count_part(job, parts[0])


def test_a_part_that_is_delivered_twice_counts_once(grr) -> None:
    collection, folder, whole = grr
    assert count_files(files_of(folder), collection, engine=several_times).aggregate == whole


def test_without_that_the_count_would_be_wrong(grr, monkeypatch) -> None:
    class Forgetful(dict):
        def setdefault(self, key, value):
            self[key] = value
            return value

    class Merging(counting._Merging):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            self._results = Forgetful()

    collection, folder, whole = grr
    monkeypatch.setattr(counting, "_Merging", Merging)
    assert count_files(files_of(folder), collection, engine=several_times).aggregate != whole


def test_two_different_results_for_a_part_are_an_error(grr) -> None:
    collection, folder, _ = grr

    def other(job, parts):
        yield from (count_part(job, part) for part in parts)
        data = collection.aggregate(reports_of(collection)).to_bytes()
        yield Partial(0, 600, counting.hashlib.sha256(data).digest(), data)

    with pytest.raises(MergeError, match="counted twice with different results"):
        count_files(files_of(folder), collection, engine=other)


def test_lost_and_damaged_results_are_errors(grr) -> None:
    collection, folder, _ = grr
    files = files_of(folder)
    with pytest.raises(TransportError, match="1 of 7 parts came back without a result"):
        count_files(
            files, collection, engine=lambda c, parts: [count_part(c, part) for part in parts[1:]]
        )

    def damaged(job, parts):
        for part in parts:
            result = count_part(job, part)
            yield Partial(result.part, result.rows, result.checksum, result.counts[:-1] + b"x")

    with pytest.raises(MergeError, match="arrived damaged"):
        count_files(files, collection, engine=damaged)
    for number, rows in ((7, 0), (-1, 0), (0, 7)):
        right = count_part(Job(collection), Part(0, files[0], "svr", None, 1))
        result = replace(right, part=number, rows=right.rows + rows)
        with pytest.raises((TransportError, MergeError), match=r"of 60\d reports|are 7 parts"):
            count_files(files, collection, engine=lambda job, parts, it=result: [it])


def test_progress_goes_part_by_part_to_the_end(grr) -> None:
    collection, folder, _ = grr
    steps: list[int] = []
    totals: list[int] = []

    class Bar:
        def __init__(self, label: str, total: int) -> None:
            totals.append(total)

        def __enter__(self):
            return steps.append

        def __exit__(self, *_: object) -> None:
            pass

    sv.scale.aggregate(collection, folder, progress=Bar)
    assert len(steps) == 7
    assert steps == sorted(steps)
    assert steps[-1] == totals[0]


# --- files that cannot be read -------------------------------------------------------------------


@pytest.fixture
def broken(grr) -> tuple[sv.GRR, Path, sv.Aggregate]:
    """A folder with four files that cannot be read."""
    collection, folder, whole = grr
    good = folder / "date=2025-06-01" / "a.svr"
    (folder / "cut.svr").write_bytes(good.read_bytes()[:-5])
    write(folder / "damaged.parquet", reports_of(collection, seed=9))
    data = bytearray((folder / "damaged.parquet").read_bytes())
    data[4 + 30 : 4 + 60] = bytes([255] * 30)  # in the first row group: the others are sound
    (folder / "damaged.parquet").write_bytes(data)
    write(folder / "other.svr", reports_of(sv.GRR(5, epsilon=2.0)))
    (folder / "empty.parquet").write_bytes(b"")
    return collection, folder, whole


def test_all_files_that_cannot_be_read_are_named_at_once(broken) -> None:
    # Some are seen when the files are cut, and one only when its reports are read.
    collection, folder, _ = broken
    with pytest.raises(WireError) as error:
        sv.scale.aggregate(collection, folder)
    assert "4 of 7 files cannot be read, and nothing was counted" in str(error.value)
    for name in ("cut.svr", "other.svr", "empty.parquet", "damaged.parquet"):
        assert name in str(error.value)


def test_files_that_cannot_be_read_are_listed_in_the_order_of_files(broken) -> None:
    # Their parts come back in any order; here, in the opposite one.
    collection, folder, _ = broken

    def backwards(job, parts):
        return [count_part(job, part) for part in reversed(parts)]

    files = sorted(str(path) for path in folder.rglob("*.*") if path.suffix in (".svr", ".parquet"))
    count = count_files(files, collection, skip_bad=True, engine=backwards)
    assert len(count.skipped) == 4
    assert list(count.skipped) == sorted(count.skipped)


def test_skip_bad_leaves_whole_files_out_and_lists_them(broken) -> None:
    collection, folder, whole = broken
    with pytest.warns(SkippedWarning, match="4 files were skipped") as warned:
        counts = sv.scale.aggregate(collection, folder, skip_bad=True)
    assert counts == whole
    for name in ("cut.svr", "other.svr", "empty.parquet", "damaged.parquet"):
        assert name in str(warned[0].message)


def test_one_bad_file_keeps_its_error(grr) -> None:
    collection, folder, _ = grr
    write(folder / "other.svr", reports_of(sv.GRR(5, epsilon=2.0)))
    with pytest.raises(DigestError, match=r"other\.svr.*digest"):
        sv.scale.aggregate(collection, folder / "other.svr")
    with pytest.raises(FileError, match=r"missing\.svr"):
        sv.scale.aggregate(collection, folder / "missing.svr")
    with pytest.raises(FileError, match=r"missing\.svr"):
        sv.scale.aggregate(collection, folder / "missing.svr", skip_bad=True)
    with pytest.raises(WireError, match="nothing was counted: "):  # there are no others to count
        sv.scale.aggregate(
            collection, [folder / "missing.svr", folder / "other.svr"], skip_bad=True
        )


def test_seeded_reports_are_never_skipped(grr) -> None:
    collection, folder, _ = grr
    with testing.seeded(1) as source:
        write(folder / "seeded.svr", collection.randomise([1] * 50, source=source))
        sv.scale.aggregate(collection, folder)  # the permission reaches the threads
    with pytest.raises(SeededError):
        sv.scale.aggregate(collection, folder, skip_bad=True)


@pytest.mark.parametrize("form", ["svr", "parquet"])
@pytest.mark.parametrize(("people", "pieces"), [(2400, 12), (300, 2), (1201, 6), (1200, 6)])
def test_a_file_that_changes_meanwhile_is_no_mixture(
    tmp_path, small_parts, form, people, pieces
) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    file = tmp_path / f"a.{form}"
    write(file, reports_of(collection, 1200))

    def rewriting(job, parts):
        yield count_part(job, parts[0])
        write(file, reports_of(collection, people), pieces)
        yield from (count_part(job, part) for part in parts[1:])

    with pytest.raises(FileError, match=rf"a\.{form}' changed while it was counted"):
        count_files([file], collection, engine=rewriting)


def test_a_file_that_is_removed_meanwhile_is_named(tmp_path, small_parts, monkeypatch) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    file = tmp_path / "a.svr"
    write(file, reports_of(collection, 1200))

    def removing(job, parts):
        file.unlink()
        yield from (count_part(job, part) for part in parts)

    with pytest.raises(FileError, match=r"a\.svr"):
        count_files([file], collection, engine=removing)


def test_an_error_of_an_unknown_kind_is_one_of_transport(grr) -> None:
    collection, folder, _ = grr
    for kind in ("FutureError", "annotations"):
        with pytest.raises(TransportError, match="new"):
            count_files(
                files_of(folder),
                collection,
                engine=lambda job, parts, kind=kind: [Partial(0, kind=kind, reason="new")],
            )


def test_an_executor_of_another_version_counts_nothing(monkeypatch) -> None:
    class Session:
        """Executors whose package is replaced before they start."""

        def range(self, *_: int):
            return self

        def mapInArrow(self, count, schema):  # noqa: N802, a name of Spark
            monkeypatch.setattr(sv, "__version__", "0.0")
            self.count = count
            return self

        def collect(self):
            return list(self.count(iter(())))

    with pytest.raises(RuntimeError, match=r"has Sottovoce 0\.0, and \d.* is needed"):
        list(spark._rows(Session(), count_task, Job(sv.GRR(5, epsilon=1.0)), [[]]))


def test_equal_files_are_refused_however_they_are_cut(grr) -> None:
    collection, folder, _ = grr
    again = folder / "again"
    reports = reports_of(collection, seed=5)
    write(again / "a.svr", reports, pieces=2)
    write(again / "b.parquet", reports, pieces=5)
    with pytest.raises(MergeError, match="have the same content"):
        sv.scale.aggregate(collection, again)
    twice = sv.scale.aggregate(collection, again, allow_equal=True)
    assert twice.reports == 1200
    with pytest.raises(MergeError, match="given twice"):
        sv.scale.aggregate(collection, [again, again / "a.svr"])


@pytest.mark.parametrize("kind", ["OUE", "Levels of Sampled", "Records"])
def test_a_total_among_its_parts_is_refused_on_every_kind(every_kind, tmp_path, kind) -> None:
    collection, folder, whole = every_kind[kind]
    whole.save(tmp_path / "total.sva")
    with pytest.raises(MergeError, match=r"total\.sva' has the counts of all other files"):
        sv.scale.aggregate(collection, [folder, tmp_path])
    twice = sv.scale.aggregate(collection, [folder, tmp_path], allow_equal=True)
    assert twice == whole + whole


def test_chosen_values_of_many_files(tmp_path) -> None:
    collection = sv.HadamardResponse(1 << 31, epsilon=1.0)
    reports = [reports_of(collection, 500 + k, seed=k) for k in range(3)]
    for k, some in enumerate(reports):
        write(tmp_path / f"{k}.parquet", some)
    chosen = [7, 0, (1 << 31) - 1]
    total = sv.scale.aggregate(collection, tmp_path, values=chosen)
    assert total == collection.aggregate(sv.Reports.concatenate(reports), values=chosen)
    with pytest.raises(ParameterError):
        sv.scale.aggregate(collection, tmp_path, values=[7, 7])


def test_equal_counts_of_other_reports_are_no_reason_to_refuse(grr) -> None:
    collection, folder, _ = grr
    reports = reports_of(collection, seed=5)
    turned = sv.Reports(
        reports.collection,
        reports.digest,
        {name: column[::-1].copy() for name, column in reports.columns.items()},
    )
    write(folder / "two" / "a.svr", reports)
    write(folder / "two" / "b.svr", turned)
    assert sv.scale.aggregate(collection, folder / "two").reports == 1200


# --- data sets -----------------------------------------------------------------------------------


def test_folders_patterns_and_names(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a.svr", "b.parquet", "x/c.pq", "x/y/d.sva", "x/_temporary/e.svr", ".f.svr", "g.txt"]
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(b"")
    assert files_of(".") == ["a.svr", "b.parquet", "x/c.pq", "x/y/d.sva"]
    assert files_of("*.svr") == ["a.svr"]
    assert files_of(["**/*.sva", "g.txt"]) == ["x/y/d.sva", "g.txt"]
    assert files_of("x*") == ["x/c.pq", "x/y/d.sva"]
    assert files_of("missing.svr") == ["missing.svr"]
    for nothing in ("z*", "x/y/*.svr", "x/_temporary/nothing*"):
        with pytest.raises(FileError, match="no file"):
            files_of(nothing)
    with pytest.raises(FileError, match="matches the pattern"):
        files_of("z?.svr")
    Path("[1].svr").write_bytes(b"")
    assert files_of("[1].svr") == ["[1].svr"]


def test_patterns_choose_as_folders_do(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a.svr", "_SUCCESS", "b.svr.tmp", "_b.svr", "_old/d=1/c.svr", "_old/d=1/_x.svr"]
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(b"")
    assert files_of("*") == files_of("**") == ["a.svr"]
    assert files_of(["_SUCCESS", "b.svr.tmp"]) == ["_SUCCESS", "b.svr.tmp"]  # as they are named
    assert files_of("_old/*/*.svr") == ["_old/d=1/c.svr"]
    assert files_of(f"{tmp_path}/_old/*") == [f"{tmp_path}/_old/d=1/c.svr"]


def test_nothing_is_left_out_of_a_folder_in_silence(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reports").mkdir()
    Path("elsewhere").mkdir()
    Path("elsewhere/c.svr").write_bytes(b"")
    Path("reports/gone.svr").symlink_to("nowhere")
    Path("reports/linked").symlink_to(tmp_path / "elsewhere")
    Path("elsewhere/around").symlink_to(tmp_path / "elsewhere")
    for names in ("reports", "reports/*"):
        assert files_of(names) == ["reports/gone.svr", "reports/linked/c.svr"]

    def scandir(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("os.scandir", scandir)
    for names in ("reports", "reports/*", "reports/**", "r[e]ports/**/*.svr"):
        with pytest.raises(FileError, match=r"cannot list '(reports|\.)': Permission denied"):
            files_of(names)


def test_a_pattern_names_a_folder_that_cannot_be_listed(tmp_path, monkeypatch) -> None:
    for name in ("day=1/a.svr", "day=2/b.svr"):
        Path(tmp_path, name).parent.mkdir()
        Path(tmp_path, name).write_bytes(b"")
    scandir = os.scandir

    def closed(path: object) -> object:
        if str(path).endswith("day=2"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr("os.scandir", closed)
    for pattern in ("**", "**/*.svr", "*/*.svr", "day=*", "day=2/*.svr"):
        with pytest.raises(FileError, match=r"cannot list '.*day=2': Permission denied"):
            files_of(f"{tmp_path}/{pattern}")
    assert files_of(f"{tmp_path}/day=1/*") == [f"{tmp_path}/day=1/a.svr"]


def test_a_folder_that_does_not_let_us_look_is_not_left_out(tmp_path, monkeypatch) -> None:
    for day in ("day=1", "day=2"):
        Path(tmp_path, day).mkdir()
        Path(tmp_path, day, "a.svr").write_bytes(b"")
    lstat, stat = os.lstat, os.stat

    def closed(look):
        def looked(path, **options):
            if "day=2/" in str(path):
                raise PermissionError(13, "Permission denied", str(path))
            return look(path, **options)

        return looked

    monkeypatch.setattr("os.lstat", closed(lstat))
    monkeypatch.setattr("os.stat", closed(stat))
    for pattern in ("*/a.svr", "day=2/?.svr/*"):
        with pytest.raises(FileError, match=r"cannot read '.*day=2/a.svr': Permission denied"):
            files_of(f"{tmp_path}/{pattern}")
    assert files_of(f"{tmp_path}/day=2/a.svr") == [f"{tmp_path}/day=2/a.svr"]  # reading says why


def test_names_that_no_file_can_have_are_refused() -> None:
    for name in ("a" * 5000, "*/" + "a" * 5000, "a\0.svr"):
        with pytest.raises(FileError):
            sv.scale.aggregate(sv.GRR(5, epsilon=1.0), [name])


def test_links_are_followed_but_not_in_circles(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, other in (("a", "b"), ("b", "a")):
        Path(folder).mkdir()
        Path(folder, f"{folder}.svr").write_bytes(b"")
        Path(folder, "other").symlink_to(tmp_path / other)
    Path("a/itself.svr").symlink_to("itself.svr")
    files = ["a/a.svr", "a/itself.svr", "a/other/b.svr"]
    for names in ("a", "a/**", "a*", "a/**/*.svr", "a/**/**/*"):
        assert files_of(names) == files


def test_a_link_to_itself_is_a_file_that_cannot_be_read(tmp_path) -> None:
    mechanism = sv.GRR(5, epsilon=1.0)
    reports = mechanism.randomise([1] * 10)
    reports.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "itself.svr").symlink_to("itself.svr")
    with pytest.raises(FileError, match="1 of 2 files cannot be read"):
        sv.scale.aggregate(mechanism, tmp_path)
    with pytest.warns(SkippedWarning, match="itself.svr"):
        counts = sv.scale.aggregate(mechanism, tmp_path, skip_bad=True)
    assert counts == mechanism.aggregate(reports)
    check_output(tmp_path / "new.sva", tmp_path / "itself.svr", force=False)


def test_a_link_out_of_reach_does_not_stop_the_others(tmp_path, monkeypatch) -> None:
    output = tmp_path / "counts.sva"
    output.write_bytes(b"")
    stat = os.stat

    def closed(path: object, **options: Any) -> object:
        if str(path).endswith("closed.svr"):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr("os.stat", closed)
    check_output(output, tmp_path / "closed.svr", force=True)
    with pytest.raises(FileError, match="is one of the inputs"):
        check_output(output, tmp_path / "closed.svr", output, force=True)


def test_a_number_sign_in_an_address_belongs_to_the_name(tmp_path) -> None:
    for name in ("a/1.svr", "a#b/2.svr", "a#c.svr", "a/c.svr"):
        Path(tmp_path, name).parent.mkdir(exist_ok=True)
        Path(tmp_path, name).write_text(name)
    store = f"file://{tmp_path}"
    assert files_of(f"{store}/a#b") == [f"{store}/a#b/2.svr"]
    assert files_of(f"{store}/a#b/*") == files_of(f"{store}/a#b")
    for address in (f"{store}/a#c.svr", f"{store}/a%23c.svr"):
        assert read_file(address) == b"a#c.svr"
    with pytest.raises(FileError, match="cannot read"):
        read_file(f"{store}/a/1.svr#2")


def test_hidden_folders_are_not_even_looked_into(tmp_path, monkeypatch) -> None:
    # Spark removes _temporary at the end of a job, perhaps while the folder is listed.
    scandir = os.scandir

    def gone(path: object) -> object:
        if Path(str(path)).name == "_temporary":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return scandir(path)

    (tmp_path / "_temporary").mkdir()
    (tmp_path / "a.svr").write_bytes(b"")
    monkeypatch.setattr("os.scandir", gone)
    assert files_of(tmp_path) == files_of(f"{tmp_path}/**") == [f"{tmp_path}/a.svr"]


def test_patterns_of_objects_are_those_of_files(tmp_path) -> None:
    for name in ("a.svr", "b c.svr", "d/a.svr", "d/e/b.svr", "d/100%.svr"):
        Path(tmp_path, name).parent.mkdir(parents=True, exist_ok=True)
        Path(tmp_path, name).write_bytes(b"")
    patterns = ["*", "**", "*.svr", "**/a.svr", "[!a]*.svr", "*/[a-c].svr", "d/**/*.svr", "a**.svr"]
    for pattern in patterns:
        here = files_of(f"{tmp_path}/{pattern}")
        there = files_of(f"file://{tmp_path}/{pattern}")
        assert [unquote(one.removeprefix("file://")) for one in there] == here, pattern
    assert files_of(f"file://{tmp_path}/b%20[c].svr") == [f"file://{tmp_path}/b%20c.svr"]
    for root in (str(tmp_path), f"file://{tmp_path}"):
        with pytest.raises(FileError, match="matches the pattern"):
            files_of(f"{root}/[z-a].svr")


def test_an_empty_name_is_not_this_folder(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.svr").write_bytes(b"")
    with pytest.raises(FileError, match="the name of a file is empty"):
        files_of("")


def test_small_objects_are_waited_for_together(tmp_path, monkeypatch) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    for k in range(16):
        write(tmp_path / f"{k}.svr", reports_of(collection, 10 + k))
    together = threading.Barrier(16)

    def waiting(job, part):
        together.wait(timeout=30)
        return count_part(job, part)

    monkeypatch.setenv("SOTTOVOCE_THREADS", "2")
    monkeypatch.setattr(counting, "count_part", waiting)
    assert sv.scale.aggregate(collection, f"file://{tmp_path}").reports == 16 * 10 + 120


def test_heads_of_envelopes_in_a_store_are_not_asked_for_one_by_one(tmp_path, monkeypatch) -> None:
    collection = sv.GRR(5, epsilon=1.0)
    reports = reports_of(collection, 600)
    write(tmp_path / "a.svr", reports, pieces=60)
    asked: list[int] = []

    class Stored(io.FileIO):
        def readinto(self, buffer) -> int:
            asked.append(len(buffer))
            return super().readinto(buffer)

    monkeypatch.setattr("sottovoce.contract.reports.opened", Stored)
    batches = list(read_batches(tmp_path / "a.svr", expect=collection, form="svr"))
    assert Reports.concatenate(batches).to_bytes() == reports.to_bytes()
    cuts = cut_file(tmp_path / "a.svr", expect=collection, form="svr", rows=100)
    assert len(cuts) == 6
    assert len(asked) < 9


def test_an_address_without_pyarrow_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.fs", None)
    with pytest.raises(MissingExtraError, match=r"sottovoce\[s3\]"):
        files_of("s3://bucket/reports")


def test_a_partition_column_stands_for_the_column_that_files_lack(tmp_path) -> None:
    collection = sv.Levels.of(sv.GRR, 5, {"strong": 0.5, "weak": 2.0})
    reports = reports_of(collection)
    pyarrow.dataset.write_dataset(
        to_table(reports),
        tmp_path / "hive",
        format="parquet",
        partitioning=["way"],
        partitioning_flavor="hive",
    )
    assert len(list((tmp_path / "hive").glob("way=*"))) == 2
    assert sv.scale.aggregate(collection, tmp_path / "hive") == collection.aggregate(reports)
    (tmp_path / "hive" / "way=0").rename(tmp_path / "hive" / "way=7")
    with pytest.raises(WireError, match="7"):
        sv.scale.aggregate(collection, tmp_path / "hive")
    (tmp_path / "hive" / "way=7").rename(tmp_path / "hive" / "way=strong")
    with pytest.raises(WireError, match="way=strong; the column 'way' has integers"):
        sv.scale.aggregate(collection, tmp_path / "hive")


def test_reports_that_lost_their_description_are_not_called_answers(tmp_path) -> None:
    collection = sv.Levels.of(sv.OLH, 5, {"strong": 0.5, "weak": 2.0})
    file = tmp_path / "a.parquet"
    to_table(reports_of(collection)).to_pandas().to_parquet(file)
    with pytest.raises(WireError, match=r"has the columns of reports \(way, a, b, y\), but not"):
        sv.scale.aggregate(collection, file)
    (tmp_path / "way=1").mkdir()
    rows = to_table(reports_of(collection)).drop_columns("way").replace_schema_metadata(None)
    pyarrow.parquet.write_table(rows, tmp_path / "way=1" / "a.parquet")
    with pytest.raises(WireError, match="columns of reports"):
        sv.scale.aggregate(collection, tmp_path / "way=1")
    pyarrow.parquet.write_table(rows, tmp_path / "b.parquet")
    with pytest.raises(WireError, match="is a table of answers"):
        sv.scale.aggregate(collection, tmp_path / "b.parquet")


def test_damage_of_any_byte_is_our_error(tmp_path) -> None:
    collection, file = sv.OUE(4, epsilon=1.0), tmp_path / "a.parquet"
    reports_of(collection, 20).to_parquet(file)
    data = file.read_bytes()
    for k in range(len(data)):
        file.write_bytes(data[:k] + bytes([data[k] ^ 0xA7]) + data[k + 1 :])
        with suppress(sv.SottovoceError):  # or only a report differs
            sv.scale.aggregate(collection, file)


def test_a_column_of_the_file_is_never_replaced_by_a_folder(tmp_path) -> None:
    collection = sv.Levels.of(sv.GRR, 5, {"strong": 0.5, "weak": 2.0})
    reports = reports_of(collection)
    write(tmp_path / "way=1" / "a.parquet", reports)
    assert sv.scale.aggregate(collection, tmp_path) == collection.aggregate(reports)


def test_a_study_is_no_collection() -> None:
    study = sv.Study("Work", (sv.GRR(sv.Attribute("commute", ["car", "bike"]), epsilon=1.0),))
    with pytest.raises(ParameterError, match=r"give a mechanism.*study\.collection\(name\)"):
        sv.scale.aggregate(study, "x.svr")


def test_engines_that_are_none() -> None:
    with pytest.raises(ParameterError, match=r"dask\.distributed\.Client, a SparkSession, or None"):
        sv.scale.aggregate(sv.GRR(5, epsilon=1.0), "x.svr", engine="dask")


def test_records_with_many_patterns_merge_in_any_order(tmp_path, small_parts) -> None:
    schema = [sv.Attribute(name, 6) for name in "abcd"]
    collection = sv.Records(schema, epsilon_average=2.0)
    whole = dataset(tmp_path, collection)
    rng = np.random.default_rng(1)

    def shuffled(job, parts):
        for k in rng.permutation(len(parts)):
            yield count_part(job, parts[k])

    with warnings.catch_warnings(action="error"):
        total = count_files(files_of(tmp_path), collection, engine=shuffled).aggregate
    assert total.to_bytes() == whole.to_bytes()
