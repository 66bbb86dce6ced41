"""Counting and estimating: many files, wrong files, tables and pictures."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from sottovoce import Study
from sottovoce.contract.aggregate import Aggregate

from .conftest import STUDY

USUAL = ("--study", "study.toml")


@pytest.fixture
def reports(folder, run):
    """Reports of three places, in both forms: 1000, 500 and 500 people."""
    Path("b.csv").write_text("commute\n" + "car\n" * 500)
    Path("c.csv").write_text("commute\n" + "bike\n" * 500)
    for source, out in (("answers.csv", "a.svr"), ("b.csv", "b.parquet"), ("c.csv", "c.svr")):
        run("randomise", source, *USUAL, "--out", out)
    return ("a.svr", "b.parquet", "c.svr")


# --- aggregate --------------------------------------------------------------------------------


def test_reports_and_counts_merge_in_any_order(reports, run, json_of):
    a, b, c = reports
    run("aggregate", a, "--out", "a.sva", *USUAL)
    about = json_of("aggregate", c, "a.sva", b, "--out", "all.sva", *USUAL)
    assert about["reports"] == 2000
    assert about["files"] == 3
    assert sum(about["tables"]["support"]) == 2000
    run("aggregate", a, b, c, "--out", "direct.sva", *USUAL)
    assert Path("direct.sva").read_bytes() == Path("all.sva").read_bytes()
    said = run("aggregate", a, "--out", "a.sva", "--force", *USUAL).stdout
    assert "1,000 reports counted in a.sva" in said


def test_what_was_given_twice_is_refused(reports, run, fails):
    a, b, _ = reports
    end = ("--out", "x.sva", *USUAL)
    assert "given twice" in fails("aggregate", a, b, a, *end)
    assert "given twice" in fails("aggregate", a, f"./{a}", *end)
    Path("link.svr").symlink_to(a)
    assert "given twice, also as 'a.svr'," in fails("aggregate", a, "link.svr", *end)
    Path("hard.svr").hardlink_to(a)
    for other in ("link.svr", "hard.svr", f"file://{Path(a).absolute()}"):
        assert "given twice" in fails("aggregate", a, other, "--allow-equal", *end)
    shutil.copy(a, "copy.svr")
    said = fails("aggregate", a, "copy.svr", *end)
    assert "'a.svr' and 'copy.svr' have the same content" in said
    assert not Path("x.sva").exists()
    run("aggregate", a, "copy.svr", "--allow-equal", *end)


def test_a_total_beside_its_parts_is_refused(reports, run, fails, json_of):
    # As where the counts were written into the folder of the reports, and that is counted again.
    run("aggregate", *reports, "--out", "total.sva", *USUAL)
    said = fails("aggregate", *reports, "total.sva", "--out", "x.sva", *USUAL)
    assert "'total.sva' has the counts of all other files together" in said
    assert "all other files" in fails("estimate", *reports, "total.sva", *USUAL)
    assert not Path("x.sva").exists()
    both = json_of("estimate", *reports, "total.sva", "--allow-equal", *USUAL)
    assert both["reports"] == 4000


def test_the_same_reports_in_another_form_are_recognised(reports, run, fails):
    run("randomise", "answers.csv", *USUAL, "--out", "a.parquet")
    end = ("--out", "x.sva", *USUAL)
    assert "have the same content" in fails("aggregate", "a.svr", "a.parquet", *end)
    run("aggregate", "a.svr", "--out", "a.sva", *USUAL)
    shutil.copy("a.sva", "copy.sva")
    assert "have the same content" in fails("aggregate", "a.sva", "copy.sva", *end)


def test_reports_and_their_counts_are_not_counted_together(reports, run, fails, json_of):
    run("aggregate", "a.svr", "--out", "a.sva", *USUAL)
    twice = "the reports in 'a.svr' give the counts in 'a.sva'"
    assert twice in fails("estimate", "a.svr", "a.sva", *USUAL)
    assert twice in fails("aggregate", "a.sva", "b.parquet", "a.svr", "--out", "x.sva", *USUAL)
    assert not Path("x.sva").exists()
    both = json_of("estimate", "a.svr", "a.sva", "--allow-equal", *USUAL)
    assert both["reports"] == 2 * json_of("estimate", "a.sva", *USUAL)["reports"]
    run("estimate", "a.sva", "b.parquet", *USUAL)


def test_outputs_that_are_refused(reports, fails):
    a = reports[0]
    assert "one of the inputs" in fails("aggregate", a, "--out", a, "--force", *USUAL)
    Path("b.sva").touch()
    assert "exists already" in fails("aggregate", a, "--out", "b.sva", *USUAL)
    assert "no folder 'no'" in fails("aggregate", a, "--out", "no/x.sva", *USUAL)


def damaged(data: bytes, how: str) -> bytes:
    return {
        "cut": data[:-5],
        "cut in the head": data[:20],
        "trailing": data + b"\0",
        "empty": b"",
        "text": b"commute\ncar\n",
        "version": data[:4] + b"\x09" + data[5:],
    }[how]


DAMAGES = ["cut", "cut in the head", "trailing", "empty", "text", "version"]
DAMAGED = [(name, how) for name in ("a.svr", "b.parquet", "counts.sva") for how in DAMAGES]
DAMAGED.remove(("b.parquet", "version"))  # that byte is no version there


@pytest.mark.parametrize(("name", "how"), DAMAGED)
@pytest.mark.parametrize("command", ["aggregate", "estimate"])
def test_damaged_files_are_refused_by_name(reports, run, fails, name, how, command):
    run("aggregate", "c.svr", "--out", "counts.sva", *USUAL)
    data = damaged(Path(name).read_bytes(), how)
    Path(name).write_bytes(data)
    out = ("--out", "x.sva") if command == "aggregate" else ()
    said = fails(command, name, *out, *USUAL)
    assert f"'{name}'" in said
    assert not Path("x.sva").exists()


def test_reports_of_another_study_are_refused(reports, fails):
    Path("study.toml").write_text(STUDY.replace("epsilon = 1.0", "epsilon = 2.0"))
    for name in reports:
        assert f"'{name}'" in fails("estimate", name, *USUAL)


def test_counts_of_another_study_are_refused(reports, run, fails):
    run("aggregate", "a.svr", "--out", "a.sva", *USUAL)
    Path("study.toml").write_text(STUDY.replace("How", "Why"))
    assert "'a.sva'" in fails("estimate", "a.sva", *USUAL)


def test_true_answers_are_not_reports(folder, fails):
    assert "not reports" in fails("estimate", "answers.csv", *USUAL)


def test_missing_files_and_folders(folder, fails):
    assert "cannot read 'no.svr'" in fails("estimate", "no.svr", *USUAL)
    assert "no file of reports or counts (.svr, .parquet, .pq, .sva)" in fails(
        "estimate", ".", *USUAL
    )
    assert "it is a directory" in fails("estimate", "no.svr", "--study", ".")


# --- estimate ---------------------------------------------------------------------------------


def test_a_table_with_intervals_and_the_promise(reports, run):
    said = run("estimate", *reports, *USUAL).stdout
    assert "2,000 reports, grr, epsilon = 1; unbiased" in said
    assert "95 % interval" in said
    for value in ("car", "bike", "foot"):
        assert value in said
    assert "epsilon = 1" in said


def test_json_lists_every_value(reports, json_of):
    about = json_of("estimate", *reports, *USUAL, "--confidence", "0.9")
    assert about["reports"] == 2000
    assert about["confidence"] == 0.9
    assert [row["value"] for row in about["values"]] == ["car", "bike", "foot"]
    assert abs(sum(row["estimate"] for row in about["values"]) - 1) < 1e-9
    assert all(row["low"] < row["estimate"] < row["high"] for row in about["values"])
    assert about["biased"] is False


def test_estimates_are_near_the_truth(folder, run, json_of):
    Path("study.toml").write_text(STUDY.replace("1.0", "20.0"))
    run("randomise", "answers.csv", *USUAL, "--out", "sure.svr")
    shares = [row["estimate"] for row in json_of("estimate", "sure.svr", *USUAL)["values"]]
    assert shares == pytest.approx([0.5, 0.25, 0.25], abs=0.01)


def test_projection_is_marked_as_biased(reports, run, json_of):
    about = json_of("estimate", "c.svr", *USUAL, "--project")
    assert about["biased"] is True
    assert min(row["estimate"] for row in about["values"]) >= 0
    assert "biased" in run("estimate", "c.svr", *USUAL, "--project").stdout


@pytest.mark.parametrize("confidence", ["0", "1", "95", "nan"])
def test_wrong_confidence(reports, fails, confidence):
    assert "confidence is" in fails("estimate", "a.svr", *USUAL, "--confidence", confidence)


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_pictures(reports, run, fails, form):
    name = f"shares.{form}"
    run("estimate", "a.svr", *USUAL, "--plot", name)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert Path(name).read_bytes().startswith(starts[form])
    assert "exists already" in fails("estimate", "a.svr", *USUAL, "--plot", name)
    run("estimate", "a.svr", *USUAL, "--plot", name, "--force")


def test_pictures_that_cannot_be_drawn(reports, fails):
    assert "must end in .png, .svg, .pdf" in fails("estimate", "a.svr", *USUAL, "--plot", "x.doc")
    assert "no folder" in fails("estimate", "a.svr", *USUAL, "--plot", "no/x.png")


def test_many_values_are_shortened_in_the_table_only(folder, run, json_of):
    Path("study.toml").write_text(STUDY.replace('["car", "bike", "foot"]', "500"))
    Path("n.csv").write_text("commute\n" + "".join(f"{k % 500}\n" for k in range(5000)))
    run("randomise", "n.csv", *USUAL, "--out", "n.svr")
    said = run("estimate", "n.svr", *USUAL).stdout
    assert "The 40 largest of 500 values; --csv and --json have all" in said
    assert len(json_of("estimate", "n.svr", *USUAL)["values"]) == 500


def test_sorted_fractions_begin_with_the_largest(folder, run):
    Path("study.toml").write_text(STUDY.replace('["car", "bike", "foot"]', "100"))
    mechanism = Study.load("study.toml").mechanism()
    counts = [1000 + (0, 900, -900)[k % 3] + k for k in range(100)]
    whole = Aggregate(mechanism.id, mechanism.digest, {"support": counts}, sum(counts), sum(counts))
    whole.save(Path("n.sva"))
    said = run("estimate", "n.sva", *USUAL, "--sort").stdout
    shown = [line.split()[:2] for line in said.splitlines() if line[:1].isdigit() and "%" in line]
    estimates = [float(estimate) for _, estimate in shown]
    assert [value for value, _ in shown[:2]] == ["97", "94"]
    assert len(shown) == 40
    assert estimates == sorted(estimates, reverse=True)
    # Without --sort the same forty, as declared.
    said = run("estimate", "n.sva", *USUAL).stdout
    declared = [line.split()[0] for line in said.splitlines() if line[:1].isdigit() and "%" in line]
    assert declared == sorted((value for value, _ in shown), key=int)


def test_labels_cannot_steer_the_terminal(folder, run):
    Path("study.toml").write_text(
        STUDY.replace('"car", "bike"', '"[red]car[/red]", "\\u001b[31mbike", "' + "x" * 60 + '"')
    )
    Path("n.csv").write_text("commute\nfoot\n")
    run("randomise", "n.csv", *USUAL, "--out", "n.svr")
    said = run("estimate", "n.svr", *USUAL).stdout
    assert "[red]car[/red]" in said
    assert "\x1b" not in said
    assert "x" * 27 + "…" in said


def test_bins_are_shown_as_they_are(folder, run):
    edges = "edges = [0, 18, 65, inf]"
    Path("study.toml").write_text(STUDY.replace('values = ["car", "bike", "foot"]', edges))
    Path("n.csv").write_text("commute\n" + "3\n40\n80\n" * 100)
    run("randomise", "n.csv", *USUAL, "--out", "n.svr")
    said = run("estimate", "n.svr", *USUAL).stdout
    for label in ("[0, 18)", "[18, 65)", "[65, inf]"):
        assert label in said


# --- guarantee --------------------------------------------------------------------------------


def test_guarantee_in_words(folder, run, json_of):
    assert "epsilon = 1: local differential privacy" in run("guarantee", *USUAL).stdout
    said = run("guarantee", *USUAL, "--releases", "3").stdout
    assert "released 3 times with fresh noise" in said
    assert "epsilon = 3" in said
    about = json_of("guarantee", *USUAL, "--releases", "1000")
    assert about["guarantee"]["promises"][0]["epsilon"] == 1000.0


def test_guarantee_of_several_questions(folder, run, json_of, fails):
    other = '\n[[question]]\nname = "age"\nvalues = 3\nmechanism = "oue"\nepsilon = 0.5\n'
    Path("study.toml").write_text(STUDY + other)
    assert json_of("guarantee", *USUAL)["guarantee"]["promises"][0]["epsilon"] == 1.5
    one = json_of("guarantee", *USUAL, "--question", "age")
    assert one["guarantee"]["promises"][0]["epsilon"] == 0.5
    assert "all answers to the study given by one person" in run("guarantee", *USUAL).stdout
    assert "'commute', 'age'" in fails("guarantee", *USUAL, "--question", "x")


def test_guarantee_usage(folder, run):
    run("guarantee", *USUAL, "--releases", "0", code=2)


# --- seeds ------------------------------------------------------------------------------------


def test_seeded_reports_are_refused(folder, fails):
    from sottovoce import testing

    mechanism = Study.load("study.toml").mechanism()
    with testing.seeded(1) as source:
        batch = mechanism.randomise(["car"] * 10, source=source)
        counts: Aggregate = mechanism.aggregate(batch)
    Path("s.svr").write_bytes(batch.to_bytes())
    counts.save("s.sva")
    assert "drawn from a seed" in fails("estimate", "s.svr", *USUAL)
    assert "drawn from a seed" in fails("aggregate", "s.sva", "--out", "x.sva", *USUAL)


def test_json_is_plain_ascii(reports, run):
    text = run("estimate", "a.svr", *USUAL, "--json").stdout
    assert text.isascii()
    json.loads(text)
    assert os.linesep in text
