"""Counting chosen values on the command line, over the largest domain."""

from __future__ import annotations

from pathlib import Path

import pytest

USUAL = ("--study", "big.toml")
MOST = 2147483648


@pytest.fixture
def reports(run, request) -> str:
    """Reports of 3,000 people, a third of whom have the last value."""
    new = ("--title", "Big", "--question", "id", "--values", str(MOST), "--epsilon", "4")
    run("study", "new", "big.toml", *new, "--mechanism", getattr(request, "param", "olh"))
    rows = "".join(f"{MOST - 1 if k % 3 else k * 1000}\n" for k in range(3000))
    Path("ids.csv").write_text("id\n" + rows)
    run("randomise", "ids.csv", *USUAL, "--out", "r.svr")
    Path("some.txt").write_text(f"{MOST - 1}\n7\n")
    return "r.svr"


@pytest.mark.parametrize("reports", ["olh", "hadamard"], indirect=True)
def test_chosen_values_from_study_to_estimate(reports, run, json_of) -> None:
    assert "values = 2147483648" in Path("big.toml").read_text()
    about = json_of("aggregate", reports, *USUAL, "--candidates", "some.txt", "--out", "c.sva")
    assert about["candidates"] == [MOST - 1, 7]
    shown = run("aggregate", reports, *USUAL, "--candidates", "some.txt", "--out", "d.sva").stdout
    assert "2 chosen of 2,147,483,648" in shown
    estimate = json_of("estimate", "c.sva", *USUAL)
    assert [row["value"] for row in estimate["values"]] == [MOST - 1, 7]
    assert abs(estimate["values"][0]["estimate"] - 2 / 3) < 0.2
    direct = json_of("estimate", reports, *USUAL, "--candidates", "some.txt")
    assert direct["values"] == estimate["values"]
    projected = json_of("estimate", "c.sva", *USUAL, "--project")
    assert min(row["estimate"] for row in projected["values"]) >= 0
    assert "chosen" not in run("estimate", "c.sva", *USUAL).stdout


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("7\n\n8\n", "line 2 of 'wrong.txt' is blank"),
        ("", "line 1 of 'wrong.txt' is blank"),
        ("7\n8\n7\n", "'wrong.txt': chosen values must differ; given more than once: 7"),
        ("7\nx\n", "'wrong.txt': chosen values that are not in the domain: 'x'"),
        ("007\n", "not in the domain: '007'"),
        (f"{MOST}\n", "not in the domain: 2147483648"),
        ("9" * 5000, "not in the domain: '999"),
        (b"\xff\xfe7\n", "not text in UTF-8"),
    ],
    ids=range(8),
)
def test_files_that_name_no_values(reports, fails, content, says) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    Path("wrong.txt").write_bytes(raw)
    command = ("aggregate", reports, *USUAL, "--out", "c.sva", "--candidates", "wrong.txt")
    assert says in fails(*command)
    assert not Path("c.sva").exists()


def test_what_is_counted_already_cannot_be_chosen_from(reports, run, fails) -> None:
    run("aggregate", reports, *USUAL, "--candidates", "some.txt", "--out", "c.sva")
    Path("other.txt").write_text("\ufeff7\r\n8\r\n", newline="")
    said = fails("estimate", "c.sva", *USUAL, "--candidates", "other.txt")
    assert "'c.sva' holds counts of other values" in said
    run("randomise", "ids.csv", *USUAL, "--out", "r2.svr", "--again")
    said = fails("estimate", "c.sva", "r2.svr", *USUAL)
    assert "--candidates" in said
    command = ("aggregate", "r.svr", *USUAL, "--out", "some.txt", "--force")
    assert "some.txt" in fails(*command, "--candidates", "some.txt")


def test_texts_are_chosen_by_their_text(run, json_of, fails) -> None:
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "t.svr")
    Path("some.txt").write_text("foot\ncar")
    command = ("aggregate", "t.svr", "--study", "study.toml", "--out", "t.sva")
    assert json_of(*command, "--candidates", "some.txt")["candidates"] == ["foot", "car"]
    run("aggregate", "t.svr", "--study", "study.toml", "--out", "all.sva")
    said = fails("estimate", "all.sva", "--study", "study.toml", "--candidates", "some.txt")
    assert "holds counts of all values" in said
    said = fails("estimate", "t.sva", "--study", "study.toml", "--method", "mle")
    assert "only 2 chosen values were counted" in said
