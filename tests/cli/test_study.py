"""Making, checking and showing studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce import Study

from .conftest import STUDY


def new(*more: str, path: str = "new.toml", epsilon: str = "1") -> tuple[str, ...]:
    usual = ("--title", "T", "--question", "q", "--epsilon", epsilon)
    return ("study", "new", path, *usual, *more)


def test_a_new_study_can_be_used(folder, run):
    said = run(*new("--values", "car, bike ,foot", "--missing", "value")).stdout
    assert "the study is in new.toml" in said
    study = Study.load("new.toml")
    assert study.title == "T"
    domain = study.mechanism("q").domain
    assert list(domain.labels) == ["car", "bike", "foot", "no answer"]
    run("study", "check", "new.toml")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,3", [1, 2, 3]),
        ("-1,0", [-1, 0]),
        ("007,7", ["007", "7"]),
        ("1,b", ["1", "b"]),
        ("4", [0, 1, 2, 3]),
        ('"a, b",c', ["a, b", "c"]),
        ("é,ü", ["é", "ü"]),
    ],
)
def test_values(folder, run, text, values):
    run(*new("--values", text))
    assert list(Study.load("new.toml").mechanism().domain.values) == values


def test_edges(folder, run):
    run(*new("--edges", "0,18,65,inf"))
    assert Study.load("new.toml").mechanism().domain.edges == (0.0, 18.0, 65.0, float("inf"))


@pytest.mark.parametrize(("d", "best"), [(3, "grr"), (5, "grr"), (9, "subset"), (200, "subset")])
def test_the_mechanism_with_the_smaller_error(folder, run, d, best):
    run(*new("--values", str(d)))
    assert Study.load("new.toml").mechanism().id == best
    run(*new("--values", str(d), "--mechanism", "oue", "--force"))
    assert Study.load("new.toml").mechanism().id == "oue"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (new("--values", "a,,b"), "empty entry"),
        (new("--values", ""), "empty entry"),
        (new("--values", "a"), "1 value"),
        (new("--values", "a,a"), "given twice: 'a'"),
        (new("--edges", "0,x"), "such as 0,18,65,inf"),
        (new("--edges", "0,5,3"), "increase"),
        (new("--values", "a,b", "--mechanism", "laplace"), "no mechanism 'laplace'; available:"),
        (new("--values", "a,b", epsilon="0"), "epsilon is 0.0"),
        (new("--values", "a,b", epsilon="21"), "epsilon is 21.0"),
        (new("--values", "a,b", epsilon="nan"), "epsilon is nan"),
        (new("--values", "a,b", path="study.toml"), "exists already"),
        (new("--values", "a,b", path="no/s.toml"), "no folder"),
        (new("--values", "a,b", path="."), "is a folder"),
    ],
)
def test_what_is_refused(folder, fails, arguments, reason):
    assert reason in fails(*arguments)
    assert not Path("new.toml").exists()
    assert Path("study.toml").read_text() == STUDY


def test_wrong_usage(folder, run):
    assert "one of --values, --edges, --range and --codebook" in run(*new(), code=2).stderr
    assert "one of" in run(*new("--values", "a,b", "--edges", "0,1,2"), code=2).stderr
    run(*new("--values", "a,b", "--missing", "drop"), code=2)
    run(*new("--values", "a,b", epsilon="one"), code=2)


def test_check_says_what_is_wrong(folder, run, fails):
    assert "is a valid study: 'How we get to work', 1 question" in run(
        "study", "check", "study.toml"
    ).stdout.replace("\n", " ")
    for text, reason in [
        ("", "format"),
        ("format = 1\ntitle =", "not valid TOML"),
        ("format = 2", "format is 2"),
        ('format = 1\ntitle = "x"', "asks nothing"),
        (STUDY.replace("epsilon = 1.0", ""), "lacks epsilon"),
        (STUDY.replace("grr", "xyz"), "no mechanism 'xyz'"),
        (STUDY + "colour = 1\n", "unknown entries 'colour'"),
    ]:
        Path("study.toml").write_text(text)
        said = fails("study", "check", "study.toml")
        assert "'study.toml'" in said
        assert reason in said
    Path("study.toml").write_bytes(b"\xff\xfe")
    assert "UTF-8" in fails("study", "check", "study.toml")
    assert "No such file" in fails("study", "check", "no.toml")


def test_check_advises(folder, run, json_of):
    Path("study.toml").write_text(STUDY.replace("grr", "oue"))
    assert "grr promises the same with" in run("study", "check", "study.toml").stdout
    (advice,) = json_of("study", "check", "study.toml")["advice"]
    assert "less error than oue" in advice


def test_show(folder, run, json_of):
    said = run("study", "show", "study.toml", "--people", "10000").stdout
    for part in ("commute", "car, bike, foot", "grr, epsilon = 1", "standard error", "10,000"):
        assert part in said
    about = json_of("study", "show", "study.toml", "--people", "10000")
    (question,) = about["questions"]
    mechanism = Study.load("study.toml").mechanism()
    assert question["std_error"] == pytest.approx(mechanism.variance([1 / 3], 10000)[0] ** 0.5)
    assert question["question_digest"] == mechanism.digest.hex()
    assert about["guarantee"]["promises"][0]["epsilon"] == 1.0
    run("study", "show", "study.toml", "--people", "0", code=2)


def test_show_is_short_for_many_values(folder, run):
    Path("study.toml").write_text(STUDY.replace('["car", "bike", "foot"]', "5000"))
    said = " ".join(run("study", "show", "study.toml").stdout.split())
    assert "… and 4,988 more" in said
