"""Small inputs that would take a machine's memory or hours: refused at once, or bounded work."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce import GRR, OUE, Aggregate, Reports, Study
from sottovoce.contract.codec import encode_reports
from sottovoce.contract.collection import Collection
from sottovoce.contract.sparse import Sparse
from sottovoce.errors import ParameterError, StudyError, WireError
from sottovoce.study.reading import parse_toml

USUAL = ("--study", "study.toml")
GIB = 1 << 30


def study(mechanism: str, rest: str) -> None:
    Path("study.toml").write_text(
        f'format = 1\ntitle = "T"\n[[question]]\nname = "q"\nmechanism = "{mechanism}"\n'
        f"epsilon = 1.0\n{rest}\n"
    )


def bounded(*arguments: str, memory: int = 3 * GIB, seconds: float = 60) -> tuple[int, str]:
    """Run a command in little memory and time; gives its exit code and what it says."""
    result = subprocess.run(
        [sys.executable, "-m", "sottovoce.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory)),
    )
    said = result.stdout + result.stderr
    assert "Traceback" not in said
    assert "not enough memory" not in said
    return result.returncode, said


HUGE = {
    "2^63": ("grr", 'values = 9223372036854775807\nmissing = "value"', "too large"),
    "10^30": ("grr", "values = 1" + "0" * 30, "too large"),
    "digits": ("grr", "values = " + "9" * 5000, "not valid TOML"),
    "edges": ("grr", "edges = [0, 1, 1" + "0" * 400 + "]", "too large for a float"),
    "range": ("duchi", "range = [0, 1" + "0" * 400 + "]", "too large for a float"),
    "nested": ("grr", "values = " + "[" * 5000, "nested too deeply"),
    "tables": ("grr", "values = " + "{a=" * 3000 + "1" + "}" * 3000, "nested too deeply"),
    "prior": ("lip", "values = 2147483647", "at most 16,384"),
}


@pytest.mark.parametrize(("mechanism", "rest", "says"), HUGE.values(), ids=HUGE)
def test_studies_of_huge_numbers(folder, mechanism, rest, says) -> None:
    study(mechanism, rest)
    with pytest.raises(StudyError, match=says):
        Study.load("study.toml")


@pytest.mark.parametrize("mechanism", ["grr", "olh", "hadamard"])
def test_domains_of_very_many_values(folder, mechanism) -> None:
    study(mechanism, 'values = 2147483647\nmissing = "value"')
    assert bounded("study", "show", "study.toml")[0] == 0
    assert bounded("study", "show", "study.toml", "--json")[0] == 0
    Path("a.csv").write_text("q\n1\n2147483646\n\n")
    assert bounded("randomise", "a.csv", *USUAL, "--out", "r.svr")[0] == 0


@pytest.mark.parametrize("mechanism", ["oue", "sue", "subset"])
def test_mechanisms_that_would_need_gigabytes_for_one_person(folder, mechanism) -> None:
    study(mechanism, 'values = 2147483647\nmissing = "value"')
    with pytest.raises(
        StudyError, match=r"takes at most 16,777,216; use 'olh', 'hadamard' or 'grr'"
    ):
        Study.load("study.toml")


@pytest.mark.parametrize("text", ["[" + "a." * 500_000 + "a]", "a = {" + "a . " * 65 + "a = 1}"])
def test_keys_of_very_many_parts(text) -> None:
    with pytest.raises(StudyError, match="more than 64 parts"):
        parse_toml(text)


def test_many_numbers_in_a_row_are_no_long_key() -> None:
    numbers = ", ".join(f"{k}.5" for k in range(500))
    assert len(parse_toml(f"edges = [{numbers}]\ntext = 'a. b. c.'")["edges"]) == 500


def test_a_long_header_is_not_unpacked(folder) -> None:
    study("grr", 'values = ["a", "b"]')
    with gzip.open("a.csv.gz", "wb", 9) as stream:
        for _ in range(256):
            stream.write(b"a" * (1 << 20))
    code, said = bounded("randomise", "a.csv.gz", *USUAL, "--out", "r.svr", memory=2 * GIB)
    assert code == 1
    assert "the first line is longer than" in said


def test_wide_reports_are_read_by_bytes(folder) -> None:
    study("oue", "values = 1048576")
    mechanism = Study.load("study.toml").mechanism()
    (column,) = mechanism.layout
    about = {"version": 1, "collection": "oue", "digest": mechanism.digest.hex(), "seeded": False}
    kind = pa.binary(column.nbytes)
    schema = pa.schema([(column.name, kind)]).with_metadata({b"sottovoce": json.dumps(about)})
    rows = pa.array([bytes(column.nbytes)] * 2048, kind)
    pq.write_table(pa.table([rows], schema=schema), "b.parquet", compression="zstd")
    assert Path("b.parquet").stat().st_size < 20_000
    code, said = bounded("aggregate", "b.parquet", *USUAL, "--out", "c.sva", memory=2 * GIB)
    assert (code, "2,048 reports" in said) == (0, True)


def test_wide_answers_are_read_by_bytes(folder) -> None:
    study("grr", 'values = ["a", "b"]')
    cells = [f"{k}" + "x" * 100_000 for k in range(2048)]
    pq.write_table(pa.table({"q": cells}), "a.parquet", compression="zstd", use_dictionary=False)
    code, said = bounded("randomise", "a.parquet", *USUAL, "--out", "r.svr", memory=2 * GIB)
    assert code == 1
    assert "row 1 (header not counted): the answer '0xxx" in said
    assert len(said) < 500


def test_empty_envelopes_are_counted_together(folder, monkeypatch) -> None:
    study("oue", "values = 1048576")
    mechanism = Study.load("study.toml").mechanism()
    nobody = mechanism.randomise(np.zeros(0, int))
    Path("e.svr").write_bytes(encode_reports(nobody, more=True) * 200 + encode_reports(nobody))
    from sottovoce.contract.reports import read_batches

    assert len(list(read_batches("e.svr", expect=mechanism))) == 1


def test_very_many_attributes(folder) -> None:
    many = 10_000
    names = [f"a{k}" for k in range(many)]
    each = "".join(f'[[records.attribute]]\nname = "{name}"\nvalues = 2\n' for name in names)
    head = 'format = 1\ntitle = "W"\n[[records]]\nname = "w"\nepsilon_average = 1.0\n'
    Path("w.toml").write_text(head + each)
    row = ",".join("01"[k % 2] for k in range(many))
    Path("w.csv").write_text(",".join(names) + "\n" + f"{row}\n" * 20)
    line = ("randomise", "w.csv", "--study", "w.toml", "--out", "w.svr")
    assert bounded(*line, memory=6 * GIB, seconds=100)[0] == 0


def test_pipes_and_devices_are_no_inputs(folder) -> None:
    os.mkfifo("pipe")
    for line in (
        ("randomise", "pipe", *USUAL, "--out", "r.svr"),
        ("aggregate", "/dev/zero", *USUAL, "--out", "c.sva"),
        ("study", "show", "pipe"),
    ):
        code, said = bounded(*line)
        assert code == 1
        assert "not a plain file" in said


def test_names_and_bytes_that_are_not_utf8(folder, fails) -> None:
    study("grr", 'values = ["a", "b"]')
    name = os.fsdecode(b"caf\xe9.csv")
    Path(name).write_text("q\nc\n")
    assert "'caf\\udce9.csv', column 'q', row 1" in fails(
        "randomise", name, *USUAL, "--out", "r.svr"
    )
    Path("b.csv").write_bytes(b"n,q\n\xff,a\n1,b\n1,\xff\n")
    said = fails("randomise", "b.csv", *USUAL, "--out", "r.svr")
    assert "column 'q', row 3 (header not counted): not text in UTF-8" in said
    Path("study.toml").write_bytes(b'title = "\xff"')
    assert "not text in UTF-8" in fails("randomise", "b.csv", *USUAL, "--out", "r.svr")


@pytest.mark.parametrize("cut", [11, 30, -5])
def test_broken_gzip(folder, fails, cut) -> None:
    study("grr", 'values = ["a", "b"]')
    whole = gzip.compress(b"q\n" + b"a\nb\n" * 1000)
    Path("a.csv.gz").write_bytes(whole[:cut] + b"\xff" * 8)
    said = fails("randomise", "a.csv.gz", *USUAL, "--out", "r.svr")
    assert "gzip compression is broken" in said


def test_rows_of_other_columns_are_never_shown(folder, fails) -> None:
    study("grr", 'values = ["a", "b"]')
    rows = "a,1,2\n" * 5 + "a,SECRET \x1b[31m\n"
    Path("a.csv").write_text("q,name,n\n" + rows)
    said = fails("randomise", "a.csv", *USUAL, "--out", "r.svr")
    assert "row 6 (header not counted): the number of cells is 2" in said
    assert "SECRET" not in said
    Path("a.csv").write_text("q,name\n\x1b]0;c\u202e,SECRET\n")
    said = fails("randomise", "a.csv", *USUAL, "--out", "r.svr")
    assert "row 1 (header not counted): the answer '\\x1b]0;c\\u202e' is not among" in said
    assert "SECRET" not in said


# --- bytes ------------------------------------------------------------------------------------


def test_views_that_skip_bytes() -> None:
    mechanism = GRR(4, epsilon=1.0)
    reports = mechanism.randomise([0, 1, 2, 3])
    data = reports.to_bytes()
    spread = memoryview(bytes(byte for pair in zip(data, data, strict=True) for byte in pair))[::2]
    assert Reports.from_bytes(spread, expect=mechanism).to_bytes() == data
    counts = mechanism.aggregate(reports)
    stored = counts.to_bytes()
    spread = memoryview(bytes(b for pair in zip(stored, stored, strict=True) for b in pair))[::2]
    assert Aggregate.from_bytes(spread, expect=mechanism) == counts
    assert Reports.from_bytes(memoryview(data + data[:0]).cast("B"), expect=mechanism)


def test_counts_that_wrap_around_are_refused() -> None:
    mechanism = GRR(4, epsilon=1.0)
    # 4 · 2^62 = 2^64 wraps around to 0, and so would seem to be the counts of nobody.
    n = (1 << 62) - 1
    for counts in ([n, n, n, n - 1], [n, n, 5, 0]):
        forged = Aggregate("grr", mechanism.digest, {mechanism.table: np.array(counts)}, n, n)
        with pytest.raises(WireError):
            Aggregate.from_bytes(forged.to_bytes(), expect=mechanism)
    wide = GRR(5, epsilon=1.0)
    cells = np.array([1 << 62, 1 << 62, 1 << 62, (1 << 62) - 7, 7 + 3])  # 2^64 + 3
    most = (1 << 62) - 1
    forged = Aggregate("grr", wide.digest, {wide.table: np.minimum(cells, n)}, most, most)
    with pytest.raises(WireError, match="sum"):
        Aggregate.from_bytes(forged.to_bytes(), expect=wide)


RECORDS = """format = 1
title = "J"
[[records]]
name = "j"
epsilon_average = 2.0
[[records.attribute]]
name = "a"
values = 2
[[records.attribute]]
name = "b"
values = 2
"""


def patterns() -> tuple[Collection, Aggregate]:
    Path("j.toml").write_text(RECORDS)
    records = Study.load("j.toml").collection()
    return records, records.aggregate(records.randomise({"a": [0, 1] * 300, "b": [0, 1] * 300}))


def test_patterns_without_bytes(folder) -> None:
    records, counts = patterns()
    empty = np.zeros((1, 0), np.uint8)
    table = {"patterns": Sparse(empty, np.array([5]))}
    forged = Aggregate(counts.collection, counts.digest, table, 5, 5)
    with pytest.raises(WireError, match="0 bytes"):
        Aggregate.from_bytes(forged.to_bytes(), expect=records)


def test_a_count_of_billions_in_a_joint(folder, run) -> None:
    _, counts = patterns()
    rows, many = counts.sparse("patterns").rows, counts.sparse("patterns").counts.copy()
    many[0] = 1 << 31
    n = int(many.sum())
    table = {"patterns": Sparse(rows.copy(), many)}
    Aggregate(counts.collection, counts.digest, table, n, n).save("j.sva")
    run("joint", "j.sva", "--study", "j.toml", "--attribute", "a", "--attribute", "b")


# --- what is shown ----------------------------------------------------------------------------

EVIL = "x\x1b[31m\u202egnp"


def test_labels_never_steer_what_shows_them(folder, run) -> None:
    from sottovoce import Attribute

    mechanism = OUE(Attribute(f"q{EVIL}", [EVIL, "plain"]), epsilon=4.0)
    estimate = mechanism.estimate(mechanism.aggregate(mechanism.randomise([EVIL] * 500)))
    assert r"x\x1b[31m\u202egnp" in str(estimate)
    shown = [str(estimate), estimate._repr_html_()]
    study("oue", f"values = {json.dumps([EVIL, 'plain'])}")
    Path("a.csv").write_text(f"q\n{EVIL}\n" * 50 + "plain\n" * 50)
    Path("a.csv").write_text("q\n" + f"{EVIL}\n" * 500 + "plain\n" * 500, encoding="utf-8")
    shown.append(run("randomise", "a.csv", *USUAL, "--out", "r.svr").output)
    shown.append(run("estimate", "r.svr", *USUAL, "--plot", "p.svg").output)
    shown.append(run("study", "show", "study.toml").output)
    shown.append(Path("p.svg").read_text(encoding="utf-8"))
    for text in shown:
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_a_prior_for_too_many_values() -> None:
    from sottovoce import LIP

    with pytest.raises(ParameterError, match="at most 16,384"):
        LIP(1 << 31, epsilon=1.0)
