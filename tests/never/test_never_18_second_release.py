"""Never randomise the same answer twice by accident: fresh noise is a second release and composes;
a retry resends the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from sottovoce import GRR, OUE, Attribute, Guarantee, Reports, Study
from sottovoce.cli import main
from sottovoce.mechanisms import REGISTRY
from sottovoce.promise import OWN_DEVICE, Protected, Unit, composed
from tests.laws.entries import answers, example

each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


@each
def test_two_releases_cost_twice(kind) -> None:
    once = example(kind, 0.5).guarantee
    assert (once + once).epsilon == 1.0
    assert once.times(3).epsilon == 1.5
    assert composed([once, once, once]).epsilon == 1.5


@each
def test_randomising_again_draws_again(kind) -> None:
    # So it really is a second release: the library keeps no memory that would make it free.
    mechanism = example(kind, 0.5, 1000)
    first, second = (mechanism.randomise(answers(mechanism, 200)).to_bytes() for _ in range(2))
    assert first != second


@each
def test_a_retry_resends_the_same_bytes(kind) -> None:
    mechanism = example(kind, 0.5, 100)
    reports = mechanism.randomise(answers(mechanism, 100))
    first = reports.to_bytes()
    assert reports.to_bytes() == first
    assert Reports.from_bytes(first, expect=mechanism).to_bytes() == first


def test_the_command_line_draws_once_for_the_same_people_and_anew_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study("S", (GRR(Attribute("q", ["a", "b", "c"]), epsilon=0.5),))
    study.save("s.toml")
    people = ["a", "b", "c", "a"] * 25
    files = {"first": people, "copy": people, "others": ["b", *people], "changed": people[1:]}
    files["longer"] = [*people, "c"]
    for name, column in files.items():
        Path(f"{name}.csv").write_text("\n".join(["q", *column, ""]))

    def reports(name: str, out: str, *options: str) -> bytes:
        line = ["randomise", f"{name}.csv", "--study", "s.toml", "--receipts", "r", *options]
        done = CliRunner().invoke(main, [*line, "--out", out])
        return Path(out).read_bytes() if done.exit_code == 0 else done.stderr.encode()

    first = reports("first", "1.svr")
    assert first == reports("first", "2.svr") == reports("copy", "3.svr")
    assert len({first, reports("others", "4.svr"), reports("changed", "5.svr")}) == 3
    Path("first.csv").write_text("\n".join(["q", "c", *people[1:], ""]))
    assert b"released twice" in reports("first", "6.svr")
    assert b"released twice" in reports("longer", "7.svr")
    assert reports("copy", "8.svr", "--again") not in (first, b"")


@each
def test_the_promise_assumes_that_each_report_is_sent_once(kind) -> None:
    promise = example(kind, 0.5).guarantee.promises[0]
    assert OWN_DEVICE in promise.assuming
    assert "once" in OWN_DEVICE


def test_several_questions_of_one_study_add_up() -> None:
    study = Study(
        "s",
        (
            GRR(Attribute("a", 3), epsilon=0.5),
            OUE(Attribute("b", 3), epsilon=1.0),
            OUE(Attribute("c", 3), epsilon=0.25),
        ),
    )
    assert study.guarantee.epsilon == 1.75
    assert study.guarantee.promises[0].unit == Unit(Protected.STUDY)


def test_no_promise_plus_a_promise_is_no_promise() -> None:
    once = GRR(4, epsilon=0.5).guarantee
    for total in (once + Guarantee.none("a seed"), Guarantee.none("a seed") + once):
        assert total.promises == ()
        assert "a seed" in str(total)
