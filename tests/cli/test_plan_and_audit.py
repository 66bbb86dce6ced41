"""`plan` and `audit` on the command line."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path

import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main


def run(line: str, *words: str):
    return CliRunner().invoke(main, [*line.split(), *words])


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--values 6 --people 10000 --epsilon 1", "subset"),
        ("--values 6 --epsilon 1 --error 0.01", "24,793"),
        ("--values 6 --people 10000 --error 0.01", "epsilon"),
        ("--range 0 120 --people 1000 --epsilon 1", "hybrid"),
        ("--values 6 --people 1000 --levels strong=0.5,normal=2", "0.5–2"),
        ("--values 6 --people 1000 --levels strong=0.5:30%,normal=2:70%", "strong 300, normal 700"),
        ("--values 6 --people 1000 --levels a=1:33.3%,b=2:66.6%", "a 333, b 667"),
        ("--values 6 --people 1000 --levels a=1:0.5,b=2:1.5", "a 250, b 750"),
        ("--values 6 --levels strong=0.5:30%,normal=2:70% --error 0.01", "strong 10,566"),
        ("--values 6 --people 10000 --epsilon 1 --rate 0.1", "bytes sent"),
        ("--values 6 --people 10000 --levels strong=0.5,normal=2 --traffic 8000", "at rate 0.327"),
    ],
)
def test_plans_are_ranked(words, shown):
    result = run("plan", *words.split())
    assert result.exit_code == 0, result.output
    assert shown in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--range 5 1 --epsilon 1", "bounds (5.0, 1.0) were given; they must be finite and incr"),
        ("--range nan inf --epsilon 1", "bounds (nan, inf) were given"),
        ("--range 0 1e300 --epsilon 1", "measure in another unit"),
        ("--values 2147483649 --epsilon 1", "between 2 and 2^31 are allowed"),
        (
            "--values 4 --epsilon 1e-300",
            "no design can be drawn: ask more people, or choose a larger",
        ),
        (
            "--values 4 --levels a=0.5:30%,b=2:80%",
            "the fractions sum to 110 %, and they must sum",
        ),
        ("--values 4 --levels a=0.5:30%,b=2:70", "all fractions in % or none"),
        ("--values 4 --levels a=0.5:nan%,b=2:70%", "the fractions sum to nan %"),
        ("--values 4 --levels a=0.5,a=2", "names 'a' twice"),
    ],
)
def test_what_cannot_be_planned_is_refused(words, said):
    result = run("plan --people 10", *words.split())
    assert result.exit_code == 1, result.output
    assert said in result.stderr


def test_the_most_values_are_planned_at_once():
    about = json.loads(run("plan --values 2147483648 --people 100 --epsilon 1 --json").stdout)
    # Beyond 2^24 values there are no reports with a bit for each, and GRR cannot be counted.
    assert {design["name"] for design in about["designs"]} == {"olh", "hadamard"}
    about = json.loads(run("plan --values 16777216 --people 100 --epsilon 1 --json").stdout)
    assert {"subset", "hadamard", "grr"} <= {design["name"] for design in about["designs"]}


def test_a_plan_as_json_with_a_picture():
    words = "plan --values 6 --people 1000 --epsilon 1 --plot p.png --json"
    result = run(words)
    about = json.loads(result.stdout)
    assert about["designs"][0]["name"] == "subset"
    assert about["designs"][0]["guarantee"]["promises"][0]["epsilon"] == 1
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    again = run(words)
    assert again.exit_code == 1
    assert "exists already" in again.stderr


def test_columns_are_those_asked_for():
    plain = run("plan --values 6 --people 1000 --epsilon 1").output
    assert "interval" in plain
    assert "if alike" not in plain
    assert "reports" not in plain.replace("report.", "")
    levels = run("plan --values 6 --people 1000 --levels a=1,b=2").output
    assert "if alike" in levels
    assert "whatever people of each level answer" in levels


def test_a_personal_plan_as_json_with_a_picture():
    result = run(
        "plan --values 6 --people 9000 --levels a=1:1,b=2:2 --traffic 9000 --plot p.png --json"
    )
    about = json.loads(result.stdout)
    best = about["designs"][0]
    assert best["people_by_level"] == {"a": 3000, "b": 6000}
    assert best["std_error_alike"] < best["std_error"]
    assert best["reports"] * best["report_bytes"] == pytest.approx(9000, rel=0.01)
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--values 6 --people 1000", "two of"),
        ("--values 6 --people 1000 --levels a=1:30%,b=2", "for every level or for none"),
        ("--values 6 --people 1000 --levels a=1:x,b=2:1", "strong=0.5:30%"),
        ("--values 6 --people 1000 --levels a=1:0,b=2:1", "positive fraction"),
        ("--values 6 --people 1000 --epsilon 1 --rate 2", "at most 1"),
        ("--values 6 --people 1000 --epsilon 1 --rate 0.5 --traffic 9", "no --rate"),
        ("--people 1000 --epsilon 1", "give one of --values"),
        ("--values 6 --people 1000 --levels strong", "strong=0.5,normal=2"),
        ("--values 6 --people 1000 --epsilon 99", "at most 20"),
        ("--values 6 --people 10 --epsilon 1 --error 0.001", "no design reaches"),
        ("--values 6 --people 10 --epsilon 1 --plot p.exe", "must end in"),
    ],
)
def test_bad_plans_say_what_to_do(words, message):
    result = run("plan", *words.split())
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def make_study(*words: str) -> None:
    done = run("study new s.toml --title T --question q --epsilon 1", *words)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("answers", [["--values", "a,b,c"], ["--range", "0", "9"]])
def test_an_honest_study_passes(answers):
    make_study(*answers)
    words = "audit --study s.toml --trials 20000 --confidence 0.9999999"
    result = run(words)
    assert result.exit_code == 0, result.output
    assert "proves nothing" in result.output
    about = json.loads(run(words, "--json").stdout)
    assert about["broken"] is False
    assert about["findings"][0]["question"] == "q"


def test_an_audit_that_distinguishes_nothing_says_so():
    make_study("--values", "a,b,c,d,e", "--epsilon", "0.01")  # the last one counts
    said = run("audit --study s.toml --trials 1000 --confidence 0.9999999").output
    assert "epsilon is at least 0.0000" in said
    assert said.endswith("Nothing distinguished the answers.\n")


def test_a_broken_promise_is_an_error(monkeypatch):
    from sottovoce import GRR
    from sottovoce.randomness import Probability

    make_study("--values", "a,b,c", "--mechanism", "grr")
    monkeypatch.setattr(GRR, "keep", property(lambda self: Probability(11 << 124)))
    result = run("audit --study s.toml --trials 100000")
    assert result.exit_code == 1
    assert "BROKEN" in result.output


def test_too_few_people_are_warned_about(tmp_path, monkeypatch):
    make_study("--values", "a,b,c")
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    Path("a.csv").write_text("q\na\nb\nc\n")
    assert run("randomise a.csv --study s.toml --out r.svr").exit_code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONWARNINGS", "default")
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            result = run("estimate r.svr --study s.toml")
    assert result.exit_code == 0
    assert "warning: 3 reports are too few" in result.stderr
    assert "people would give" in result.stderr


# One draw in a million or so takes the likelihood more than its most steps: only a warning.
@pytest.mark.filterwarnings("ignore::sottovoce.estimate.likelihood.ConvergenceWarning")
def test_numbers_go_from_file_to_mean(tmp_path, monkeypatch):
    make_study("--range", "0", "10", "--clip")
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    Path("a.csv").write_text("q\n" + "2.5\n7.5\n99\n" * 20_000)
    assert run("randomise a.csv --study s.toml --out r.svr").exit_code == 0
    mean = json.loads(run("estimate r.svr --study s.toml --json").stdout)["values"][0]
    truth = (2.5 + 7.5 + 10) / 3
    assert abs(mean["estimate"] - truth) < 6 * mean["std_error"]
    bins = run("estimate r.svr --study s.toml --method distribution --json")
    assert len(json.loads(bins.stdout)["values"]) == 16


def test_numbers_outside_their_range_are_refused(tmp_path, monkeypatch):
    make_study("--range", "0", "10")
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    Path("a.csv").write_text("q\n5\n11\n")
    result = run("randomise a.csv --study s.toml --out r.svr")
    assert result.exit_code == 1
    assert "11.0 is not among the numbers from 0 to 10" in result.stderr
    assert not Path("r.svr").exists()


def test_the_help_of_an_audit_says_how_often_it_accuses_by_chance() -> None:
    from sottovoce.auditing.audit import _CHOOSING
    from sottovoce.cli.audit import audit

    defaults = {option.name: option.default for option in audit.params}
    words = " ".join(CliRunner().invoke(main, ["audit", "--help"]).output.replace("│", " ").split())
    assert f"{200 * _CHOOSING:.0f} % choose what to look at" in words
    assert f"at most 1 in {1 / (1 - defaults['confidence']):,.0f} audits" in words
    library = signature(sv.audit).parameters
    assert all(defaults[name] == library[name].default for name in ("confidence", "trials"))
