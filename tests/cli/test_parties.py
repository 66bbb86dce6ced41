"""`parties` on the command line, one command at a time."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from sottovoce.parties.budget import Ledger
from sottovoce.study.parties import PartyStudy

from .party_runs import PARTIES, PEOPLE, Folder


@pytest.fixture
def party_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    monkeypatch.setenv("SOTTOVOCE_BUDGETS", str(folder / "budgets"))
    files = Folder(folder)
    files.prepare()
    yield files
    files.stop()


CHECK = ("parties", "check", "study.toml", "--party", "B", "--data", "B.csv")
JOIN = ("parties", "join", "study.toml", "--party", "B", "--curator", "127.0.0.1:9")


def test_keys_are_private_and_never_replaced_by_accident(
    party_folder: Folder, fails: Callable[..., str]
) -> None:
    key = party_folder.path / "A.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    before = key.read_bytes()
    assert "exists already" in fails("parties", "keygen", "A")
    assert key.read_bytes() == before
    assert before.splitlines()[1] not in (party_folder.path / "A.party.toml").read_bytes()
    assert "names have" in fails("parties", "keygen", "St. Mary")


def test_plan_shows_what_is_released_what_it_costs_and_the_digest(
    party_folder: Folder, run: Callable[..., Result], json_of: Any
) -> None:
    study = PartyStudy.load(party_folder.path / "study.toml")
    about = json_of("parties", "plan", "study.toml", "--rows", "A=600,B=600,C=700")
    assert about["digest"] == study.digest.hex()
    assert about["spent"] == {"A": 0.5, "B": 1.0, "C": 2.0}
    assert 0 < about["standard_errors"][0] < 0.1
    assert len(about["guarantee"]["promises"]) == 3
    assert json_of("parties", "plan", "study.toml")["standard_errors"] == [None]
    shown = run("parties", "plan", "study.toml", "--rows", "600").stdout
    assert study.digest.hex() in shown
    assert "smoker × age" in shown
    assert "ε = 0.5 for all that 'A' holds about a person" in shown
    assert "Assuming:" not in shown
    assert "Assuming:" in run("parties", "plan", "study.toml", "--guarantee").stdout


@pytest.mark.parametrize("rows", ["many", "0", "-5", "A=1", "A=1,B=2,C=0", "A=1,B=2,D=3"])
def test_rows_of_a_plan_are_numbers_of_all_parties(
    rows: str, party_folder: Folder, fails: Callable[..., str]
) -> None:
    assert "--rows" in fails("parties", "plan", "study.toml", "--rows", rows)


def test_a_study_can_be_planned_before_there_are_keys(
    party_folder: Folder, json_of: Any, fails: Callable[..., str]
) -> None:
    (party_folder.path / "study.toml").write_text(party_folder.study)
    assert json_of("parties", "plan", "study.toml")["digest"] is None
    assert "keygen" in fails(*CHECK)


def test_check_spends_nothing(
    party_folder: Folder, run: Callable[..., Result], json_of: Any
) -> None:
    about = json_of(*CHECK)
    assert about["rows"] == PEOPLE
    assert about["attributes"] == ["smoker", "age"]
    assert (about["cost"], about["left"], about["data_set"]) == (1.0, 1.0, "B")
    assert "Next: sottovoce parties join" in run(*CHECK).stdout
    assert not (party_folder.path / "budgets").exists()
    for name in ("study.toml", "B.csv"):
        (party_folder.path / name).rename(party_folder.path / f"our {name}")
    spaced = [f"our {word}" if word in ("study.toml", "B.csv") else word for word in CHECK]
    assert "join 'our study.toml' --party B --data 'our B.csv' --curator" in run(*spaced).stdout
    planned = run("parties", "plan", "our study.toml").stdout
    assert "Next: sottovoce parties check 'our study.toml' --party A --data FILE" in planned


def test_check_names_the_row_and_does_not_repeat_what_is_there(
    party_folder: Folder, fails: Callable[..., str]
) -> None:
    data = party_folder.path / "B.csv"
    lines = data.read_text().splitlines()
    lines[7] = "p6,sometimes,50,often"
    data.write_text("\n".join(lines) + "\n")
    said = fails(*CHECK)
    assert "column 'smoker', row 7" in said
    assert "sometimes" not in said
    lines[7] = "p6,,50,often"
    data.write_text("\n".join(lines) + "\n")
    assert "there is no answer" in fails(*CHECK)
    data.write_text("smoker,weight\nyes,3\n")
    assert "'age'" in fails(*CHECK)
    data.write_text("\n".join(lines[6:]) + "\n")  # without a header
    said = fails(*CHECK)
    assert "first line may be a row; name the columns" in said
    assert "often" not in said


def test_check_reads_tables_as_spreadsheets_save_them(
    party_folder: Folder, json_of: Callable[..., Any], fails: Callable[..., str]
) -> None:
    data = party_folder.path / "B.csv"
    rows = json_of(*CHECK)["rows"]
    data.write_bytes(data.read_text().replace(",", ";").encode("utf-16"))
    assert "UTF-8" in fails(*CHECK)
    about = json_of(*CHECK, "--separator", ";", "--encoding", "utf-16", "--dataset", "other")
    assert about["rows"] == rows


def test_a_table_without_rows_is_one_like_others_where_sizes_are_private(
    party_folder: Folder, fails: Callable[..., str], json_of: Any
) -> None:
    (party_folder.path / "B.csv").write_text("smoker,age\n")
    assert "no rows" in fails(*CHECK)
    study = party_folder.path / "study.toml"
    hidden = 'collusion = 1\nneighbours = "add-remove"'
    study.write_text(study.read_text().replace("collusion = 1", hidden))
    assert json_of(*CHECK)["rows"] == 0


def test_check_refuses_other_keys_clocks_and_budgets(
    party_folder: Folder, fails: Callable[..., str]
) -> None:
    path = party_folder.path
    assert "is the key of A, not of B" in fails(*CHECK, "--key", "A.key")
    assert "with --key" in fails(*CHECK, "--key", "nobody.key")
    assert "'D' is not in the roster, which has 'A', 'B'" in fails(*CHECK[:4], "D", *CHECK[5:])
    assert "no party 'institute'" in fails(*CHECK[:4], "institute", *CHECK[5:])
    Ledger(path / "budgets").set_budget("B", Fraction(1, 2))
    assert "would spend ε = 1" in fails(*CHECK)
    tomorrow = time.time() + 86400
    os.utime(path / "B.key", (tomorrow, tomorrow))
    assert "set the clock" in fails(*CHECK)


def test_a_study_that_renames_a_party_gives_its_data_no_second_budget(
    party_folder: Folder, fails: Callable[..., str], json_of: Any
) -> None:
    content = hashlib.sha256((party_folder.path / "B.csv").read_bytes()).digest()
    ledger, whole = Ledger(party_folder.path / "budgets"), Fraction(3)
    ledger.charge("clinic", whole / 3, study=b"s", session=b"1", budget=whole, content=content)
    for command in (CHECK, (*JOIN, "--data", "B.csv")):
        assert "--dataset clinic" in fails(*command)
    assert json_of(*CHECK, "--dataset", "clinic")["left"] == 2


def test_budget_shows_what_was_spent(
    party_folder: Folder, run: Callable[..., Result], json_of: Any, fails: Callable[..., str]
) -> None:
    assert "Nothing was spent yet" in run("parties", "budget").stdout
    run("parties", "budget", "--dataset", "clinic", "--total", "1.5")
    ledger = Ledger(party_folder.path / "budgets")
    session = bytes(range(16))
    third = Fraction(1, 3)
    ledger.charge("clinic", third, study=b"study", session=session, budget=third)
    (about,) = json_of("parties", "budget")["data_sets"]
    assert (about["data"], about["budget"]) == ("clinic", 1.5)
    assert about["charges"][0]["exact"] == "1/3"
    assert about["charges"][0]["session"] == session.hex()
    shown = run("parties", "budget", "--dataset", "clinic").stdout
    assert "ε = 0.333334 of 1.5 spent in 1 run; 1.16666 left" in shown
    assert "has no data set 'other'" in fails("parties", "budget", "--dataset", "other")
    assert "above 0" in fails("parties", "budget", "--dataset", "clinic", "--total", "-1")
    run("parties", "budget", "--total", "1", code=2)
    run("parties", "budget", "--total-delta", "1e-6", code=2)
    assert "δ = 0 of 1e-09 spent; 1e-09 left" in shown
    said = run("parties", "budget", "--dataset", "clinic", "--total-delta", "1e-6").stdout
    assert "ε = 0.333334 of 1.5 spent" in said
    assert "δ = 0 of 1e-06 spent" in said
    (about,) = json_of("parties", "budget")["data_sets"]
    assert (about["delta_limit"], about["delta_spent"], about["delta_left"]) == (1e-6, 0.0, 1e-6)


def test_noise_that_nobody_draws_costs_delta_which_has_a_limit(
    party_folder: Folder, json_of: Any, fails: Callable[..., str]
) -> None:
    study = party_folder.path / "study.toml"
    text = study.read_text().replace('split = "rows"', 'split = "rows"\nnoise = "oblivious"')
    places = (f'{name} = "127.0.0.1:{9101 + k}"' for k, name in enumerate((*PARTIES, "curator")))
    table = "\n".join(["[addresses]", *places, "", "[budgets]"])
    study.write_text(text.replace("collusion = 1\n", "").replace("[budgets]", table))
    about = json_of(*CHECK)
    assert 0 < about["delta"] <= 2.0**-50
    assert about["delta_left"] == pytest.approx(1e-9)
    ledger = Ledger(party_folder.path / "budgets")
    ledger.set_budget("B", Fraction(9), delta=Fraction(1, 10**30))
    assert "would spend δ" in fails(*CHECK)
    assert "would spend δ" in fails(*JOIN, "--data", "B.csv")


def test_join_refuses_before_it_calls_anybody(
    party_folder: Folder, run: Callable[..., Result], fails: Callable[..., str]
) -> None:
    run(*JOIN, code=2)
    run(*JOIN, "--data", "B.csv", "--dry-run", code=2)
    Ledger(party_folder.path / "budgets").set_budget("B", Fraction(1, 2))
    said = fails(*JOIN, "--data", "B.csv")
    assert "nothing was sent" in said
    said = fails(*JOIN, "--data", "B.csv", "--dataset", "fresh", "--timeout", "0.1")
    assert "did not answer" in said
    assert "use https" in fails(
        "parties", "join", "study.toml", "--party", "B", "--dry-run",
        "--curator", "http://institute.example:8765",
    )  # fmt: skip
    assert [account.data for account in Ledger(party_folder.path / "budgets").accounts()] == ["B"]


def test_curator_refuses_files_that_it_cannot_write(
    party_folder: Folder, fails: Callable[..., str]
) -> None:
    (party_folder.path / "old.html").write_text("old")
    curator = ("parties", "curator", "study.toml")
    assert "exists already" in fails(*curator, "--report", "old.html")
    assert ".html" in fails(*curator, "--report", "report.pdf")
    assert "no folder" in fails(*curator, "--out", "nowhere/sums.sva")
    assert "this study has no dealer" in fails(
        "parties", "dealer", "study.toml", "--curator", "127.0.0.1:9"
    )
