"""A question about texts in a study file, by the command line from answers to the list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.errors import StudyError
from sottovoce.service.contract_for_clients import describe

pytestmark = pytest.mark.slow

HH = sv.HeavyHitters("abcdefghijklmnopqrstuvwxyz", 8, 8.0, longer="cut", other="?", name="word")
STUDY = sv.Study("Words", (HH,))


def run(*words: str) -> str:
    result = CliRunner().invoke(main, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_studies_with_texts_are_written_and_read() -> None:
    again = sv.Study.from_toml(STUDY.to_toml())
    assert again == STUDY
    assert again.digest == STUDY.digest
    assert again.collection("word").digest == STUDY.collection("word").digest


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"values": '["a"]'}, "both values and alphabet"),
        ({"length": None}, "lacks length"),
        ({"levels": "{a = 1}"}, "both epsilon and levels"),
        ({"rate": "0.5"}, "unknown entries 'rate'"),
        ({"missing": '"public"'}, "unknown entries 'missing'"),
        ({"length": "0"}, "length is 0"),
        ({"alphabet": None, "values": '["a", "b"]'}, "unknown entries 'length'"),
        ({"mechanism": "3"}, "no mechanism 3"),
    ],
)
def test_defects_of_such_a_question_are_named(entries: dict[str, str | None], says: str) -> None:
    plain = {"name": '"w"', "alphabet": '"ab"', "length": "4", "mechanism": '"olh"', "epsilon": "1"}
    lines = [f"{key} = {value}" for key, value in {**plain, **entries}.items() if value is not None]
    text = "\n".join(["format = 1", 'title = "T"', "[[question]]", *lines])
    with pytest.raises(StudyError, match=says):
        sv.Study.from_toml(text)


def test_from_answers_to_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOTTOVOCE_RECEIPTS", str(tmp_path / "receipts"))
    STUDY.save("s.toml")
    words = ["tea"] * 6000 + ["a very long word"] * 4000 + ['""'] * 2000
    Path("a.csv").write_text("word\n" + "\n".join(words) + "\n")
    assert "text of up to 8 symbols" in run("study", "show", "s.toml", "--people", "12000")
    run("randomise", "a.csv", "--study", "s.toml", "--out", "r.parquet")
    first = Path("r.parquet").read_bytes()
    run("randomise", "a.csv", "--study", "s.toml", "--out", "same.parquet")
    assert Path("same.parquet").read_bytes() == first  # the same answers give the same release
    run("aggregate", "r.parquet", "--study", "s.toml", "--out", "c.sva")
    shown = run("estimate", "c.sva", "--study", "s.toml")
    assert "The list has a text that nobody holds" in shown
    listed = json.loads(run("estimate", "c.sva", "--study", "s.toml", "--json"))["values"]
    assert [row["value"] for row in listed][:3] == ["tea", "a?very?l", ""]
    Path("few.csv").write_text("word\ntea\n")
    run("randomise", "few.csv", "--study", "s.toml", "--out", "few.svr")
    assert "No text is frequent enough" in run("estimate", "few.svr", "--study", "s.toml")


def test_a_served_study_tells_clients_how_a_prefix_is_reported() -> None:
    (about,) = describe(STUDY)["collections"]
    (level,) = about["levels"]
    assert level["mechanism"]["id"] == "heavy-hitters"
    assert level["mechanism"]["by"]["id"] == "olh"
