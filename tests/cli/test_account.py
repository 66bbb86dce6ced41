"""`account` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sottovoce.accounting import (
    compare,
    dummies,
    fixed_size,
    largest_rate,
    poisson,
    rounds,
    sampled_counts,
    sampled_counts_delta,
    shuffle,
    smallest_count,
)
from sottovoce.cli import main
from sottovoce.promise import DP, LDP, Promise

ACCOUNTS = {
    "poisson --epsilon 1 --rate 0.1 --delta 1e-6": poisson(1.0, 0.1, delta=1e-6),
    "poisson --epsilon 1 --rate 0.1,0.1": poisson(1.0, 0.1),
    "fixed --epsilon 1 --sampled 10 --people 100": fixed_size(1.0, 10, 100),
    "dummies --epsilon 1 --values 4 --rate 0.1": dummies(1.0, 4, 0.1),
    "shuffle --epsilon 2 --people 5000 --delta 1e-6": shuffle(2.0, 5000, 1e-6),
    "shuffle --epsilon 2 --people 5000 --delta 1e-6 --bound grr --values 9": shuffle(
        2.0, 5000, 1e-6, bound="grr", d=9
    ),
    "shuffle --epsilon 1 --people 5000 --delta 1e-6 --bound closed-form": shuffle(
        1.0, 5000, 1e-6, bound="closed-form"
    ),
    "shuffle --epsilon 2 --people 5000 --delta 1e-6 --labelled --crowd 50": shuffle(
        2.0, 5000, 1e-6, labelled=True, crowd=50
    ),
    "rounds --epsilon 0.1 --rounds 100 --slack 1e-6": rounds(Promise(LDP, 0.1), 100, slack=1e-6),
}
REFUSED = {
    "poisson --epsilon 1 --rate 0.1,0.9": "the loss is 3.2, not 1",
    "poisson --epsilon 1 --rate 1,0.9": "the loss is inf",
    "poisson --epsilon 1 --rate 0.1 --sample seen": "the server sees who reported",
    "fixed --epsilon 1 --sampled 1 --people 10 --sample picked": "the server picks the sample",
    "fixed --epsilon 1 --sampled 11 --people 10": "cannot be larger than the population",
    "dummies --epsilon 1 --values 1 --rate 0.1": "whole number of at least 2",
    "poisson --epsilon nan --rate 0.1": "epsilon is nan",
    "poisson --epsilon 1 --rate often": "give a number",
    "poisson --epsilon 1 --rate 0": "nobody reports",
    "shuffle --epsilon 2 --people 1000 --delta 1e-6 --bound closed-form": "use the numerical",
    "shuffle --epsilon 2 --people 1000 --delta 0": "delta is 0",
    "shuffle --epsilon 2 --people 1 --delta 1e-6": "nobody to hide among",
    "shuffle --epsilon 2 --people 1000 --delta 1e-6 --labelled": "same label",
    "shuffle --epsilon 2 --people 1000 --delta 1e-6 --bound grr": "needs d",
    "rounds --epsilon 1 --rounds 0": "--rounds is 0",
    "rounds --epsilon 1 --delta -1 --rounds 2": "delta is -1",
    "compare --values 4 --people 1000 --delta 1e-6 --epsilons 1;2": "give a number",
    "compare --values 4 --people 1000 --delta 0.99": "far below 1/people",
    "compare --values 4 --people 1000 --delta 1e-6 --plot p.exe": "must end in",
    "compare --values 4 --people 1000 --delta 1e-6 --plot p.png --epsilons 1": "at least two",
}


def run(line: str):
    return CliRunner().invoke(main, ["account", *line.split()])


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", ACCOUNTS)
def test_accounts_are_those_of_the_library(line: str) -> None:
    result = run(f"{line} --json")
    assert result.exit_code == 0, result.output
    about = json.loads(result.stdout)
    assert about["account"] == line.split()[0]
    assert about["given"]["epsilon"] == float(line.split()[2])
    assert about["guarantee"]["promises"] == [ACCOUNTS[line].as_dict()]


@pytest.mark.parametrize("line", ACCOUNTS)
def test_accounts_are_said_in_plain_words(line: str) -> None:
    said = " ".join(run(line).stdout.split())
    promise = ACCOUNTS[line]
    assert " ".join(promise.words(10_000).split()) in said
    for assumption in promise.assuming:
        assert f"Assuming: {assumption}." in said


def test_central_rounds_are_not_called_local() -> None:
    about = json.loads(run("rounds --epsilon 0.1 --rounds 2 --central --json").stdout)
    (promise,) = about["guarantee"]["promises"]
    assert promise["notion"] == DP.value
    assert promise["against"] == "result"


@pytest.mark.parametrize("line", REFUSED)
def test_what_does_not_hold_is_refused(line: str) -> None:
    result = run(line)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert REFUSED[line] in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(Path().iterdir())


def test_the_comparison_with_a_picture() -> None:
    line = "compare --values 4 --people 1000 --delta 1e-6 --epsilons 1,2 --plot p.png"
    result = run(line)
    assert result.exit_code == 0, result.output
    assert "trusted server" in result.stdout
    assert "The picture is in p.png." in result.stdout
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    assert "exists already" in run(line).stderr
    about = json.loads(run(f"{line} --force --json").stdout)
    assert about["rows"] == [row.as_dict() for row in compare(4, 1000, 1e-6, [1, 2])]
    assert about["plot"] == "p.png"


# --- counts of a secret sample -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "asked", "answer"),
    [
        ("--epsilon .5 --count 100 --rate .39", "delta", sampled_counts_delta(0.5, 100, 0.39)),
        ("--delta 1e-6 --count 100 --rate .39", "epsilon", sampled_counts(100, 0.39, 1e-6).epsilon),
        ("--epsilon .5 --delta 1e-6 --rate .39", "count", smallest_count(0.5, 1e-6, 0.39)),
        ("--epsilon .5 --delta 1e-6 --count 100", "rate", largest_rate(0.5, 1e-6, 100)),
        (
            "--epsilon .5 --count 100 --rate .39 --neighbours add-remove --insiders 20 --rounds 2",
            "delta",
            sampled_counts_delta(0.5, 100, 0.39, neighbours="add-remove", insiders=20, rounds=2),
        ),
    ],
)
def test_the_fourth_number_of_sampled_counts(line: str, asked: str, answer: float) -> None:
    about = json.loads(run(f"sampled-counts {line} --json").stdout)
    assert (about["asked"], about[asked]) == (asked, answer)
    (promise,) = about["guarantee"]["promises"]
    assert {name: promise[name] for name in ("epsilon", "delta")} == {
        name: about[name] if name == asked else about["given"][name]
        for name in ("epsilon", "delta")
    }
    assert f"{asked}: " in run(f"sampled-counts {line}").stdout


def test_sampled_counts_that_promise_nothing_are_refused() -> None:
    assert "delta is 1" in run("sampled-counts --epsilon 1 --count 10 --rate 1").stderr
    assert run("sampled-counts --epsilon 1 --count 10").exit_code == 2
