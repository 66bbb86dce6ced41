"""Bins, quantiles, mean scores and errors for a population on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

SCORES = ("--scores", "car=1,bike=2,foot=3")
SURE = ("--confidence", "0.99999999")  # the noise is real


@pytest.fixture
def minutes(folder, run):
    """Reports on minutes, and on how people travel."""
    Path("minutes.csv").write_text("minutes\n" + "10\n20\n30\n90\n" * 500)
    number = ("--question", "minutes", "--range", "0", "120", "--epsilon", "4")
    run("study", "new", "minutes.toml", "--title", "Minutes", *number)
    run("randomise", "minutes.csv", "--study", "minutes.toml", "--out", "m.svr")
    return ("m.svr", "--study", "minutes.toml")


def test_the_distribution_and_quantiles_of_a_number(minutes, run, json_of):
    bins = ("--bins", "0,15,60,120", "--quantiles", "0.25,0.5")
    about = json_of("estimate", *minutes, *bins, *SURE)
    assert [row["value"] for row in about["values"]] == ["[0, 15)", "[15, 60)", "[60, 120]"]
    quartile, median = about["quantiles"]
    assert (quartile["q"], median["q"]) == (0.25, 0.5)
    assert median["low"] <= 20 <= median["high"]
    said = run("estimate", *minutes, *bins, "--plot", "h.png").stdout
    assert Path("h.png").exists()
    assert "25 % quantile" in said
    assert "median" in said
    assert "--quantiles 0.5" in run("estimate", *minutes).stdout
    shown = run("estimate", *minutes, "--quantiles", "0.5").stdout
    assert "--quantiles" not in shown
    assert shown.index("mean") < shown.index("median")  # the mean stays the first estimate


def test_a_mean_score_and_a_median_category(folder, run, json_of):
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "a.svr")
    usual = ("a.svr", "--study", "study.toml")
    about = json_of("estimate", *usual, *SCORES, "--quantiles", "0.9", *SURE)
    assert about["mean"]["low"] < 1.75 < about["mean"]["high"]
    assert about["quantiles"][0]["value"] in ("bike", "foot")
    same = json_of("estimate", *usual, "--scores", "1,2,3", *SURE)["mean"]
    assert same == about["mean"]
    plain = json_of("estimate", *usual, *SCORES)
    wider = json_of("estimate", *usual, *SCORES, "--for-population")
    within = json_of("estimate", *usual, *SCORES, "--population-size", "1000")
    assert plain["mean"]["std_error"] < wider["mean"]["std_error"]
    assert within["mean"]["std_error"] == pytest.approx(plain["mean"]["std_error"])
    said = run("estimate", *usual, "--for-population").stdout
    assert "the sampling of people" in " ".join(said.split())


def test_what_does_not_fit_is_refused(minutes, run, fails):
    run("randomise", "answers.csv", "--study", "study.toml", "--out", "a.svr")
    usual = ("a.svr", "--study", "study.toml")
    assert "--bins needs the distribution of a number" in fails("estimate", *usual, "--bins", "3")
    assert "not to 'variance'" in fails("estimate", *minutes, "--bins", "3", "--method", "variance")
    assert "--quantiles" in fails("estimate", *minutes, "--quantiles", "half")
    assert "between 0 and 1" in fails("estimate", *minutes, "--quantiles", "50")
    assert "people asked" in fails("estimate", *usual, "--population-size", "10")
    assert "3 values" in fails("estimate", *usual, "--scores", "1,2")


def test_bad_scores_are_not_called_probabilities(folder, randomised, fails):
    randomised()
    said = fails("estimate", "reports.svr", "--study", "study.toml", "--scores", "1,x,3")
    assert "--scores is '1,x,3'; give numbers in the order of the values, such as 1,2,3" in said
    assert "probability" not in said
