"""Not everyone is asked, or reports: rates from the study to the estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce import Sampled, Study

from .conftest import STUDY

USUAL = ("--study", "study.toml")
RATES = STUDY + "rate = [0.05, 0.1, 0.5]\n"
ONE = STUDY + "rate = 0.25\n"
BOTH = RATES.replace("epsilon = 1.0", "levels = {strong = 0.5, normal = 2}")
GIVEN = ("randomise", "answers.csv", *USUAL, "--rate", "chance", "--out", "r.svr")
NEW = ("study", "new", "new.toml", "--title", "T", "--question", "q", "--values", "a,b,c")


def write(people: int = 30_000) -> None:
    modes, chances = ["car", "bike", "foot", "car"], ["0.05", "0.1", "0.50"]
    levels = ["strong", "normal"]
    lines = (f"{modes[k % 4]},{chances[k // 4 % 3]},{levels[k // 12 % 2]}" for k in range(people))
    Path("answers.csv").write_text("\n".join(["commute,chance,privacy", *lines]) + "\n")


@pytest.fixture
def rates(folder):
    Path("study.toml").write_text(RATES)
    write()
    return folder


def near(row, truth: float) -> bool:
    return abs(row["estimate"] - truth) < 8 * row["std_error"]


# --- study ------------------------------------------------------------------------------------


def test_new_studies(folder, run, json_of):
    said = run(*NEW, "--epsilon", "1", "--rate", "0.05, 0.1,0.5").stdout
    assert "3 rates from 0.05 to 0.5" in said
    assert "--rate COLUMN" in said
    (mechanism,) = Study.load("new.toml").unbound
    assert isinstance(mechanism, Sampled)
    assert mechanism.rates == (0.05, 0.1, 0.5)
    (question,) = json_of("study", "show", "new.toml", "--people", "1000")["questions"]
    assert question["rate"] == [0.05, 0.1, 0.5]
    said = run(*NEW, "--levels", "a=0.5,b=2", "--rate", "0.1", "--force").stdout
    assert "at 2 levels, epsilon 0.5 to 2, rate 0.1" in said
    assert "--levels COLUMN --out" in said
    run("study", "check", "new.toml")


def test_fewer_reports_larger_errors(folder, run, json_of):
    errors = []
    for rate in (None, "1", "0.25", "0.01", "0,1"):
        run(*NEW, "--epsilon", "1", "--force", *(() if rate is None else ("--rate", rate)))
        about = json_of("study", "show", "new.toml", "--people", "10000")
        errors.append(about["questions"][0]["std_error"])
    assert errors[0] == pytest.approx(errors[1])
    assert errors[1] < errors[2] / 1.9 < errors[3] / 9
    assert errors[4] is None
    assert "people with rate 0 never report" in " ".join(
        run("study", "show", "new.toml", "--people", "10000").stdout.split()
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x", "such as 0.05,0.1,0.5"),
        ("0.1,,0.5", "such as 0.05,0.1,0.5"),
        ("", "such as 0.05,0.1,0.5"),
        ("0", "nobody would ever report"),
        ("1.5", "rate is 1.5"),
        ("-0.1", "rate is -0.1"),
        ("nan", "rate is nan"),
        ("0.1,nan", "nan"),
        ("0.1,0.1", "1 of them different"),
    ],
)
def test_rates_that_are_refused(folder, fails, text, reason):
    assert reason in fails(*NEW, "--epsilon", "1", "--rate", text)
    assert not Path("new.toml").exists()


# --- randomise --------------------------------------------------------------------------------


def test_a_column_of_rates(rates, run, json_of):
    said = run(*GIVEN, "--guarantee").stdout
    about = json_of(*GIVEN)
    assert about["people"] == 30_000
    assert [row["rate"] for row in about["rates"]] == [0.05, 0.1, 0.5]
    assert [row["people"] for row in about["rates"]] == [10_000] * 3
    assert sum(row["reports"] for row in about["rates"]) == about["reports"]
    for row in about["rates"]:
        spread = (10_000 * row["rate"] * (1 - row["rate"])) ** 0.5
        assert abs(row["reports"] - 10_000 * row["rate"]) < 6 * spread
    assert f"{about['reports']:,} reports in r.svr" in said
    assert "of 10,000 report" in said
    assert "so sampling adds no protection" in " ".join(said.split())
    assert about["guarantee"]["promises"][0]["epsilon"] == 1.0


def test_one_rate_needs_no_option(rates, json_of, fails):
    Path("study.toml").write_text(ONE)
    about = json_of("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    assert about["rates"][0]["people"] == 30_000
    same = ("randomise", "answers.csv", *USUAL, "--out", "s.svr", "--receipts", "elsewhere")
    assert json_of(*same, "--rate", "0.25")["people"] == 30_000
    assert "no such rate in the study, which has 0.25" in fails(*same, "--rate", "0.3")


def test_one_of_several_rates_for_everyone(rates, json_of):
    about = json_of(*GIVEN[:-3], "0.5", "--out", "r.svr")
    assert [row["people"] for row in about["rates"]] == [0, 0, 30_000]


def test_what_is_said_where_rates_are_missing(rates, fails):
    usual = ("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    assert "give --rate with the column" in fails(*usual)
    for text in ("chances", "0.2", "nan", "inf"):
        said = fails(*usual, "--rate", text)
        assert f"--rate {text}: there is no such column" in said
        assert "which has 0.05, 0.1, 0.5" in said
    assert "would reveal them" in fails(*usual, "--rate", "commute")
    Path("study.toml").write_text(STUDY)
    said = fails(*usual, "--rate", "chance")
    assert "has no rates: everyone reports, so --rate chance has no meaning" in said


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("car,0.2,strong", "row 30,001 (header not counted): there is no rate 0.2; the study has"),
        ("car,nan,strong", "row 30,001 (header not counted): there is no rate, and everyone"),
        ("car,,strong", "row 30,001 (header not counted): there is no rate, and everyone"),
        ("car,-0.1,strong", "there is no rate -0.1; the study has 0.05, 0.1, 0.5; correct"),
        ("car,often,strong", "'often' is not a number, and rates are numbers; correct the file"),
    ],
)
def test_rows_that_are_refused(rates, fails, line, reason):
    with Path("answers.csv").open("a") as stream:
        stream.write(line + "\n")
    assert reason in fails(*GIVEN)
    assert not Path("r.svr").exists()
    assert not list(Path("receipts").glob("*/*"))


def test_rates_from_parquet(rates, json_of, fails):
    table = {"commute": ["car", "bike"] * 500, "chance": [0.05] * 400 + [0.5] * 600}
    pq.write_table(pa.table(table), "a.parquet")
    usual = ("randomise", "a.parquet", *USUAL, "--rate", "chance", "--out", "p.svr")
    assert [row["people"] for row in json_of(*usual)["rates"]] == [400, 0, 600]
    pq.write_table(pa.table({**table, "chance": ["0.05"] * 1000}), "b.parquet")
    said = fails("randomise", "b.parquet", *usual[2:-1], "q.svr")
    assert "the column 'chance' holds string, and rates are numbers" in said


def test_rates_of_32_bits_are_those_of_the_study(rates, json_of, fails):
    # 0.1 of 32 bits is another number than 0.1, and means the same.
    modes = ["car", "bike", "foot"] * 400
    chances = [(0.05, 0.1, 0.5)[k // 3 % 3] for k in range(1200)]
    for name, column in (("a", chances), ("b", [*chances[:-1], 0.2])):
        table = pa.table({"commute": modes, "chance": pa.array(column, pa.float32())})
        pq.write_table(table, f"{name}.parquet")
    about = json_of("randomise", "a.parquet", *USUAL, "--rate", "chance", "--out", "a.svr")
    assert [row["people"] for row in about["rates"]] == [402, 399, 399]
    words = fails("randomise", "b.parquet", *USUAL, "--rate", "chance", "--out", "b.svr")
    assert "row 1,200" in words


def test_rates_that_follow_the_answers_are_refused(rates, fails):
    lines = ["car,0.5,strong", "bike,0.05,strong"] * 500
    Path("answers.csv").write_text("\n".join(["commute,chance,privacy", *lines]) + "\n")
    said = fails(*GIVEN)
    assert "these rates depend on people's own answers" in said
    assert not Path("r.svr").exists()


def test_silence_of_everyone_is_written_down(rates, json_of, fails):
    Path("study.toml").write_text(STUDY + "rate = 1e-9\n")
    about = json_of("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    assert about["people"] == 30_000  # somebody reports once in 33,000 runs of this test
    if about["reports"] == 0:
        assert "none of the 30,000 people asked reported" in fails("estimate", "r.svr", *USUAL)


def test_the_same_command_gives_the_same_bytes(rates, run, fails):
    run(*GIVEN)
    run(*GIVEN[:-1], "again.svr")
    assert Path("again.svr").read_bytes() == Path("r.svr").read_bytes()
    said = fails(*GIVEN[:-3], "0.5", "--out", "other.svr")
    assert "with rate: column 'chance', and now rate: 0.5 for everyone" in said


# --- aggregate, estimate ----------------------------------------------------------------------


def test_estimates_speak_of_everyone_who_was_asked(rates, run, json_of):
    run(*GIVEN)
    run("aggregate", "r.svr", *USUAL, "--out", "c.sva")
    counted = json_of("aggregate", "c.sva", *USUAL, "--out", "d.sva")
    assert counted["people"] == 30_000
    about = json_of("estimate", "c.sva", *USUAL, "--rate")
    assert (about["people"], about["reports"]) == (30_000, counted["reports"])
    assert about["method"] == "post-stratified"
    assert [row["asked"] for row in about["rates"]] == [10_000] * 3
    assert sum(row["reported"] for row in about["rates"]) == about["reports"]
    assert all(near(*pair) for pair in zip(about["values"], (0.5, 0.25, 0.25), strict=True))
    said = run("estimate", "c.sva", *USUAL, "--rate").stdout
    assert f"{about['reports']:,} reports from 30,000 people" in said
    assert "Who was asked, and who reported" in said
    assert "privacy and sampling add" in said


@pytest.mark.parametrize(
    "method", ["hajek", "hajek-ipw", "horvitz-thompson", "adaptive", "biswas-g", "biswas-c-hat"]
)
def test_every_method_by_name(rates, run, json_of, method):
    run(*GIVEN)
    about = json_of("estimate", "r.svr", *USUAL, "--method", method)
    assert about["method"] == method
    assert ("nothing to do with their answers" in about["assuming"]) == (method == "hajek")


def test_an_unknown_method_lists_those_there_are(rates, run, fails):
    run(*GIVEN)
    said = fails("estimate", "r.svr", *USUAL, "--method", "x")
    assert "'post-stratified', 'hajek', 'hajek-ipw', 'horvitz-thompson'" in said
    assert "no levels to show" in fails("estimate", "r.svr", *USUAL, "--levels")


@pytest.mark.filterwarnings("default::sottovoce.errors.AlikeWarning")
def test_levels_and_rates_together(rates, run, json_of, fails):
    Path("study.toml").write_text(BOTH)
    both = ("randomise", "answers.csv", *USUAL, "--rate", "chance", "--levels", "privacy")
    about = json_of(*both, "--out", "r.svr")
    assert [row["people"] for row in about["levels"]] == [15_000, 15_000]
    assert sum(row["reports"] for row in about["levels"]) == about["reports"]
    assert [row["people"] for row in about["rates"]] == [10_000] * 3
    said = run(*both, "--out", "r.svr", "--guarantee").stdout
    assert "people  reports  epsilon" in said
    output = json_of("estimate", "r.svr", *USUAL, "--levels", "--rate")
    assert (output["method"], output["reports"]) == ("james-stein", about["reports"])
    assert "shrunk towards each other" in output["assuming"]
    assert [row["people"] for row in output["levels"]] == [15_000, 15_000]
    assert [row["asked"] for row in output["rates"]] == [5_000] * 6
    assert sum(row["reported"] for row in output["rates"]) == about["reports"]
    assert all(near(*pair) for pair in zip(output["values"], (0.5, 0.25, 0.25), strict=True))
    said = " ".join(run("estimate", "r.svr", *USUAL, "--guarantee").stdout.split())
    assert "; james-stein, biased" in said
    assert "level people reports epsilon" in said
    hajek = json_of("estimate", "r.svr", *USUAL, "--method", "hajek")
    assert (hajek["method"], hajek["method_of_each_level"]) == ("james-stein", "hajek")
    result = run("estimate", "r.svr", *USUAL, "--method", "pooled", "--json")
    pooled = json.loads(result.stdout)
    assert pooled["method"] == "pooled"
    assert "answer alike" in pooled["assuming"]
    assert result.stderr.count("\n") == 1, "one warning, not one per rate"
    said = fails("estimate", "r.svr", *USUAL, "--method", "x")
    assert "'james-stein', 'random-effects', 'post-stratified'" in said
    assert "'horvitz-thompson'" in said
    name = "the column 'privacy' cannot hold both"
    assert name in fails(*both[:-3], "privacy", "--levels", "privacy", "--out", "x.svr")


def test_levels_that_sample_themselves(rates, run, json_of):
    own = "levels = {strong = {epsilon = 0.5, rate = 0.5}, normal = 2}"
    Path("study.toml").write_text(STUDY.replace("epsilon = 1.0", own))
    arguments = ("randomise", "answers.csv", *USUAL, "--levels", "privacy", "--out", "r.svr")
    about = json_of(*arguments)
    strong, normal = about["levels"]
    assert (strong["people"], normal["people"], normal["reports"]) == (15_000, 15_000, 15_000)
    assert abs(strong["reports"] - 7_500) < 6 * 61.3
    output = json_of("estimate", "r.svr", *USUAL, "--levels", "--rate")
    assert output["reports"] == about["reports"]
    assert output["rates"] == [
        {"level": "strong", "rate": 0.5, "asked": 15_000, "reported": strong["reports"]},
        {"level": "normal", "rate": 1.0, "asked": 15_000, "reported": 15_000},
    ]
    assert "strong   0.5  15,000" in run("estimate", "r.svr", *USUAL, "--rate").stdout


def test_damaged_files_are_refused_by_name(rates, run, fails):
    run(*GIVEN)
    data = Path("r.svr").read_bytes()
    for damaged in (data[:-3], data + b"\0", data[:40]):
        Path("bad.svr").write_bytes(damaged)
        assert "'bad.svr'" in fails("estimate", "bad.svr", *USUAL)


def test_silence_is_audited(rates, json_of):
    about = json_of("audit", *USUAL, "--trials", "20000", "--confidence", "0.9999999")
    assert [row["choice"] for row in about["findings"]] == ["rate 0.05", "rate 0.1", "rate 0.5"]
    assert about["broken"] is False
