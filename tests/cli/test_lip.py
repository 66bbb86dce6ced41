"""`lip design`, `lip curve`, and a study with a prior on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest


def flat(text: str) -> str:
    return " ".join(text.split())


# --- design -------------------------------------------------------------------------------------


def test_a_design_shows_channel_levels_and_errors(run):
    said = flat(run("lip", "design", "--prior", "0.1", "--epsilon", "1").stdout)
    for part in (
        "yes 0.7311 0.2689",
        "no 0.2176 0.7824",
        "under the prior ε = 1: no answer becomes more than 2.72 times as likely",
        "without one ε = 1.212: no report distinguishes two answers by more than 3.36",
        "optimal, ε = 1 0.07914 0.008098",
        "randomised response, ε = 1 0.08199 0.009595",
        "localised information privacy",
        "local differential privacy",
    ):
        assert part in said


@pytest.mark.parametrize(
    "prior", ["0.1,0.9", "0.1", "infected=0.1,not=0.9", "not=0.9, infected=.1"]
)
def test_a_prior_is_written_in_several_ways(prior, json_of):
    about = json_of("lip", "design", "--prior", prior, "--epsilon", "1")
    assert sorted(about["parameters"]["prior"]) == pytest.approx([0.1, 0.9])
    levels = about["levels"]
    assert levels["lip"] == 1
    assert levels["ldp"] == pytest.approx(1.2119, abs=1e-4)
    mine, response, same_promise = about["errors"]
    assert mine["per_person"] == pytest.approx(0.07914, abs=1e-5)
    assert response["per_person"] == pytest.approx(0.08199, abs=1e-5)
    assert same_promise["per_person"] < mine["per_person"]  # it pays for the promise
    assert about["leakage_nats"] < 0.5


def test_bounds_and_variants(run, json_of):
    box = json_of("lip", "design", "--low", "0.05", "--high", "0.2", "--epsilon", "1")
    assert box["parameters"]["prior_low"] == pytest.approx([0.05, 0.8])
    assert box["errors"][0]["per_person"] is None
    said = run("lip", "design", "--prior", "a=0.1,b=0.2,c=0.7", "--epsilon", "1", "--variant",
               "a-optimal").stdout  # fmt: skip
    assert "report 0" in said
    published = json_of("lip", "design", "--prior", "0.01", "--epsilon", "1", "--variant",
                        "jiang-theorem2")  # fmt: skip
    assert published["levels"]["lip"] == pytest.approx(4.152, abs=1e-3)
    unclear = json_of("lip", "design", "--prior", "0.9,0.05,0.05", "--epsilon", "1", "--variant",
                      "mmse-optimal")  # fmt: skip
    assert unclear["errors"][0]["std_error"] is None
    response = json_of("lip", "design", "--prior", "0.1", "--epsilon", "1", "--variant", "opt-ldp")
    assert list(response["levels"]) == ["ldp"]


def test_many_values_are_not_listed(run, json_of):
    prior = ",".join(["0.1"] * 10)
    assert (
        "kept with probability" in run("lip", "design", "--prior", prior, "--epsilon", "1").stdout
    )
    assert json_of("lip", "design", "--prior", prior, "--epsilon", "1")["channel"] is None


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--prior", "foo"], "such as yes=0.1,no=0.9"),
        (["--prior", "yes=0.1,0.9"], "such as yes=0.1,no=0.9"),
        (["--prior", "a=0.1,a=0.9"], "such as yes=0.1,no=0.9"),
        (["--prior", ""], "such as yes=0.1,no=0.9"),
        (["--prior", "0.1,0.2"], "sum to 0.3"),
        (["--prior", "1.2"], "from 0 to 1"),
        (["--prior", "nan"], "finite"),
        (["--low", "x", "--high", "0.2"], "--low is 'x'"),
        (["--low", "0.3", "--high", "0.2"], "between 0 and its high"),
        (["--prior", "0.1", "--low", "0", "--high", "1"], "not both"),
        (["--prior", "0.1", "--variant", "unary"], "one bit per value"),
        (["--prior", "0.1", "--variant", "best"], "no variant 'best'"),
    ],
)
def test_what_cannot_be_designed_is_said_in_one_line(words, says, fails):
    assert says in fails("lip", "design", *words, "--epsilon", "1")


def test_a_bad_epsilon_and_wrong_usage(fails, run):
    assert "at most 20" in fails("lip", "design", "--prior", "0.1", "--epsilon", "99")
    assert "give --prior" in run("lip", "design", "--epsilon", "1", code=2).stderr
    assert "give --prior" in run("lip", "design", "--low", "0", "--epsilon", "1", code=2).stderr


# --- curve --------------------------------------------------------------------------------------


def test_a_curve_is_a_table(run):
    said = flat(run("lip", "curve", "--prior", "0.5", "--epsilon", "1,2").stdout)
    assert "P(yes) = 0.5" in said
    assert "1 0.3874 0.4597 0.3874 0.4434 0.9595" in said


def test_curves_as_json_with_a_picture(json_of, fails):
    words = ("lip", "curve", "--prior", "0.01", "--prior", "random", "--plot", "c.png")
    about = json_of(*words)
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    first, second = about["curves"]
    assert len(first["rows"]) == 20
    assert first["rows"][0]["epsilon"] == 0.5
    assert second["prior"] == "everyone with a prior of their own"
    assert second["unasked"] == pytest.approx((1 / 6) ** 0.5, abs=1e-6)
    for curve in about["curves"]:
        for row in curve["rows"]:
            assert row["ε-LIP"] <= row["Opt-LDP"] <= row["ε/2-LIP"] + 1e-12
            assert row["Opt-LDP"] <= row["context-free LDP"]
    assert "exists already" in fails(*words)


def test_by_default_the_priors_of_the_paper(json_of):
    about = json_of("lip", "curve", "--epsilon", "4")
    assert [c["prior"] for c in about["curves"]] == [
        "P(yes) = 0.01",
        "P(yes) = 0.5",
        "P(yes) = 0.99",
        "everyone with a prior of their own",
    ]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--prior", "2"], "from 0 to 1"),
        (["--prior", "often"], "--prior is 'often'"),
        (["--prior", "nan"], "from 0 to 1"),
        (["--epsilon", "one"], "--epsilon is 'one'"),
        (["--epsilon", "0"], "above 0"),
        (["--plot", "c.exe"], "must end in"),
    ],
)
def test_what_is_no_curve_is_said_in_one_line(words, says, fails):
    assert says in fails("lip", "curve", *words)


# --- a collection ---------------------------------------------------------------------------------


def test_a_study_with_a_prior_from_answers_to_shares(run, json_of):
    arguments = ("study", "new", "ill.toml", "--title", "T", "--question", "ill",
            "--values", "yes,no", "--prior", "yes=0.1,no=0.9", "--epsilon", "2")  # fmt: skip
    said = flat(run(*arguments, "--guarantee").stdout)
    assert "localised information privacy" in said
    assert "'yes' with probability 0.1" in said
    Path("a.csv").write_text("ill\n" + "yes\nno\nno\nno\nno\n" * 4000)
    usual = ("--study", "ill.toml")
    run("randomise", "a.csv", *usual, "--out", "r.svr")
    output = json_of("estimate", "r.svr", *usual)
    assert output["method"] == "mle"  # what pages and the command line show
    assert abs(output["values"][0]["estimate"] - 0.2) < 12 * output["values"][0]["std_error"] + 0.01
    assert json_of("estimate", "r.svr", *usual, "--method", "unbiased")["biased"] is False
    assert json_of("estimate", "r.svr", *usual, "--method", "mmse")["biased"] is True
    advice = json_of("study", "check", "ill.toml")["advice"]
    assert advice == []  # what another mechanism promises cannot be compared
    assert "std_error" in json_of("study", "show", "ill.toml", "--people", "100")["questions"][0]
    promised = flat(run("guarantee", *usual, "--releases", "2").stdout)
    assert "localised" in promised


def test_a_prior_goes_with_lip_alone(fails):
    words = ("study", "new", "s.toml", "--title", "T", "--question", "q", "--values", "a,b",
             "--epsilon", "1")  # fmt: skip
    assert "'lip'" in fails(*words, "--prior", "0.5", "--mechanism", "oue")
    assert "differs in" in fails(*words, "--prior", "a=0.5,c=0.5")
    numbers = ("study", "new", "s.toml", "--title", "T", "--question", "q", "--values", "1,2,3",
               "--epsilon", "1", "--prior", "1=0.2,2=0.3,3=0.5")  # fmt: skip
    assert not Path("s.toml").exists()
    from click.testing import CliRunner

    from sottovoce import Study
    from sottovoce.cli import main

    assert CliRunner().invoke(main, list(numbers)).exit_code == 0
    assert Study.load("s.toml").mechanism().prior == (0.2, 0.3, 0.5)
