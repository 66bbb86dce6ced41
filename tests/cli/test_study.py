"""Making, checking and showing studies."""

from __future__ import annotations

from pathlib import Path

import pytest

from sottovoce import HeavyHitters, Study

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
    assert (
        "one of --values, --edges, --range, --codebook and --alphabet" in run(*new(), code=2).stderr
    )
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


def test_the_bounds_of_a_number_are_no_values(folder, run):
    """They were shown as "values 1: [0, 2000000]"."""
    words = ["--title", "T", "--question", "income", "--range", "-5.5", "2000000", "--clip"]
    said = run("study", "new", "range.toml", *words, "--epsilon", "1").stdout
    assert "range      -5.5 to 2000000, and numbers outside count as the nearest of the two" in said
    assert "values" not in said


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


TEXTS = ("--alphabet", "a-c0-2-", "--length", "4")


def test_texts_that_nobody_declared(folder, run, json_of):
    said = run(*new(*TEXTS, "--longer", "cut", "--other", "?", "--step", "1")).stdout
    assert "text of up to 4 symbols" in said
    asked = HeavyHitters("abc012-?", 4, 1.0, longer="cut", other="?", step=1, name="q")
    assert Study.load("new.toml") == Study("T", (asked,))
    run(*new(*TEXTS, "--mechanism", "grr", path="plain.toml"))
    plain = HeavyHitters("abc012-", 4, 1.0, mechanism="grr", name="q")
    assert Study.load("plain.toml") == Study("T", (plain,))
    said = run("study", "show", "new.toml").stdout
    assert [line.split() for line in said.splitlines()[5:8]] == [
        ["alphabet", "abc012-?"],
        ["longer", "cut"],
        ["other", "?"],
    ]
    (shown,) = json_of("study", "show", "plain.toml")["questions"]
    texts = {"alphabet": "abc012-", "length": 4, "longer": "refuse", "other": None}
    assert shown.items() >= texts.items()
    run("study", "add", "study.toml", "--question", "q", *TEXTS, "--epsilon", "1")
    added = Study.load("study.toml").collection("q")
    assert added.entries() == {"mechanism": "olh", "epsilon": 1.0, "step": 3}


@pytest.mark.parametrize(
    ("text", "symbols"),
    [("abc", "abc"), ("-a", "-a"), ("a-", "a-"), ("a-a", "a"), ("x-z, .", "xyz, ."), ("é", "é")],
)
def test_alphabets(folder, run, text, symbols):
    run(*new("--alphabet", text, "--length", "3"))
    assert Study.load("new.toml").collection().attributes[0].alphabet == symbols


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--alphabet", "", "--length", "4"), "--alphabet is ''; give every symbol once"),
        (("--alphabet", "abca", "--length", "4"), "--alphabet is 'abca'; give every symbol once"),
        (("--alphabet", "a-zb", "--length", "4"), "--alphabet is 'a-zb'; give every symbol once"),
        (("--alphabet", "z-a", "--length", "4"), "from the first to the last, such as abc or a-z"),
        (
            ("--alphabet", "ab", "--length", "0"),
            "--length is 0; it must be a whole number from 1",
        ),
        (
            ("--alphabet", "ab", "--length", "256"),
            "is 256; it must be a whole number from 1 to 255",
        ),
        ((*TEXTS, "--other", "??"), "--other is '??'; it must be a single character"),
        ((*TEXTS, "--step", "0"), "--step is 0"),
        ((*TEXTS, "--mechanism", "hadamard"), "'hadamard' cannot report prefixes"),
    ],
)
def test_bad_texts_are_refused_in_options(folder, fails, more, reason):
    assert reason in fails(*new(*more))
    assert not Path("new.toml").exists()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--alphabet", "ab"), "--alphabet needs --length and --epsilon"),
        ((*TEXTS, "--values", "a,b"), "give one of --values"),
        (("--values", "a,b", "--length", "3"), "--length goes with --alphabet"),
        (("--values", "a,b", "--longer", "cut"), "--longer goes with --alphabet"),
        ((*TEXTS, "--rate", "0.5"), "--rate does not go with --alphabet"),
        ((*TEXTS, "--levels", "a=1"), "--levels does not go with --alphabet"),
        ((*TEXTS, "--most", "2"), "--most does not go with --alphabet"),
        ((*TEXTS, "--prior", "0.1"), "--prior does not go with --alphabet"),
        ((*TEXTS, "--missing", "value"), "--missing does not go with --alphabet"),
        ((*TEXTS, "--clip"), "--clip goes with --range"),
    ],
)
def test_what_does_not_go_with_texts(folder, run, more, reason):
    assert reason in run(*new(*more), code=2).stderr


def test_texts_are_no_records(folder, run):
    said = run("study", "new", "r.toml", "--title", "T", "--records", "r", *TEXTS, code=2).stderr
    assert "--alphabet goes with --question" in said


def test_answers_outside_the_alphabet_are_refused_in_options(folder, run, fails):
    run(*new("--alphabet", "a-z", "--length", "3"))
    usual = ("--study", "new.toml", "--column", "commute", "--out", "r.svr")
    assert "declare --longer cut to keep" in fails("randomise", "answers.csv", *usual)
    Path("short.csv").write_text("commute\nA\n")
    assert "a symbol for all others with --other" in fails("randomise", "short.csv", *usual)
