"""What the curator shows and writes, and what a party does with its ledger in a run."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sottovoce.cli.parties.data import synthetic_table
from sottovoce.cli.parties.report import report_page
from sottovoce.cli.parties.results import Release
from sottovoce.cli.parties.spending import Spending
from sottovoce.errors import FileError, GuaranteeError
from sottovoce.parties.budget import Ledger
from sottovoce.plot.parties import interval_svg
from sottovoce.study.parties import PartyStudy
from sottovoce.transport.network import Played

from .party_runs import COLUMNS, ROWS, Folder

pytestmark = pytest.mark.fast

HOSTILE = '<script>alert(1)</script> & \\"so on\\"'


def study_of(path: Path, text: str = ROWS) -> PartyStudy:
    Folder(path, text).prepare()
    return PartyStudy.load(path / "study.toml")


def page_of(study: PartyStudy) -> str:
    tables = {party: synthetic_table(study, party, 300) for party in study.parties}
    run = study.protocol.simulate(tables)
    about = {
        "study": study.digest.hex(),
        "session": "00" * 16,
        "bytes_sent": 10,
        "bytes_received": 20,
        "spent": study.protocol.spent(None),
    }
    return report_page(study, run, about, 0.95)


class Tags(HTMLParser):
    """The tags of a page, which must all be closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_is_whole_and_needs_nothing_else(tmp_path: Path) -> None:
    study = study_of(tmp_path, ROWS.replace("Smoking in", HOSTILE).replace('"no"', f'"{HOSTILE}"'))
    page = page_of(study)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert not tags.names & {"script", "link", "img", "iframe", "object", "base", "form", "a"}
    assert not {name for name in tags.attributes if name.startswith("on")} | (
        tags.attributes & {"src", "href", "style"}
    )
    assert "url(" not in page
    assert "alert(1)" in page  # as text
    for party, epsilon in (("A", "0.5"), ("B", "1"), ("C", "2")):
        assert f"To the people in the data of {party}" in page
        assert f"epsilon = {epsilon}: differential privacy" in page
    assert page.count("works with the curator") == 1  # said once for all
    assert "<svg" in page
    assert "Rehearsal" not in page
    assert "Rehearsal" in page_of(study.rehearsed())


def test_the_report_of_columns_has_a_promise_for_the_whole_person(tmp_path: Path) -> None:
    page = page_of(study_of(tmp_path, COLUMNS))
    assert "To every person" in page
    assert re.search(r"all that .{1,9}A.{1,9} holds about one person", page)
    assert "<th>travels</th>" in page


def test_the_picture_is_well_formed_whatever_is_in_it() -> None:
    rows = [
        ("a < b & c", 0.3, 0.2, 0.4),
        ("below", -0.01, -0.2, 0.1),
        ("unknown " * 9, 0.2, float("nan"), float("nan")),
    ]
    picture = interval_svg(rows, 'title with "quotes" & <tags>')
    root = ElementTree.fromstring(picture)
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag == "text"]
    assert "a < b & c" in texts
    assert "0%" in texts
    assert any("\N{MINUS SIGN}" in text for text in texts)
    assert len([element for element in root.iter() if element.tag == "circle"]) == 3
    for number in re.findall(r'(?:x|width|cx)="(-?[\d.]+)"', picture):
        assert 0 <= float(number) <= 640
    assert interval_svg([("nobody", 0.0, 0.0, 0.0)], "empty").endswith("</svg>")


def test_a_method_without_standard_errors_shows_its_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_of(tmp_path, ROWS.replace("collusion = 1", 'collusion = 1\nmethod = "sth"'))
    tables = {party: synthetic_table(study, party, 300) for party in study.parties}
    release = Release(study, None, None, confidence=0.95, force=False)
    run, played = study.protocol.simulate(tables), Played(None, session=b"1")
    release.show(run, played, full=False, as_json=False)
    assert "95 % interval" in capsys.readouterr().out
    release.show(run, played, full=False, as_json=True)
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["values"][0]["std_error"] is None
    assert table["values"][0]["low"] < table["values"][0]["high"]
    assert table["assuming"]


def test_none_of_several_tables_is_replaced_unless_asked(tmp_path: Path) -> None:
    one, other = '[[marginal]]\nattributes = ["smoker"]\n', '[[marginal]]\nattributes = ["age"]\n'
    study = study_of(tmp_path, f"{ROWS}{one}{other}")
    table = tmp_path / "out.csv"
    release = Release(study, None, None, confidence=0.95, force=False, csv=table)
    release.check_files()
    (tmp_path / "out-2.csv").write_text("from an earlier run")
    with pytest.raises(FileError, match="out-2"):
        release.check_files()
    replaced = Release(study, None, None, confidence=0.95, force=True, csv=table)
    replaced.check_files()


def test_synthetic_rows_are_of_the_public_values_alone(tmp_path: Path) -> None:
    study = study_of(tmp_path, COLUMNS.replace("[0, 40, 65, inf]", "[-inf, 40, 65, inf]"))
    for party in study.parties:
        table = synthetic_table(study, party, 400)
        assert study.protocol.check(party, table) == 400
        assert len(set(table["person_id"])) == 400
    ages = set(synthetic_table(study, "B", 400)["age"])
    assert ages == {39.0, 52.5, 66.0}


def test_a_session_is_not_released_twice_for_one_charge(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    ledger = tmp_path / "budgets"
    Ledger(ledger).set_budget("A", Fraction(10))

    def spending(*, resumed: bool = False) -> Spending:
        return Spending(study, "A", "A", ledger, resumed=resumed)

    first = spending()
    first.join(b"1")
    first._charge()
    again = spending(resumed=True)
    again.join(b"1")
    # From an older copy of the journal the vector would be drawn anew: a second release.
    with pytest.raises(GuaranteeError):
        again._charge()
    assert "the journal does not have what was sent" in str(again.refusal)
    with pytest.raises(GuaranteeError, match="no journal to continue it from"):
        spending().join(b"1")
    spending().join(b"2")
    (account,) = Ledger(ledger).accounts()
    assert len(account.charges) == 1


def test_others_hear_nothing_about_a_ledger(tmp_path: Path) -> None:
    study = study_of(tmp_path)
    spending = Spending(study, "A", "secret project", tmp_path / "budgets")
    spending.join(b"1")
    Ledger(tmp_path / "budgets").set_budget("secret project", Fraction(1, 100))
    # Not a ShareError, after which the others would wait for this party until their time is up.
    with pytest.raises(GuaranteeError) as heard:
        spending._charge()
    assert str(heard.value) == "its budget does not allow the run"
    assert "secret project" in str(spending.refusal)


def test_a_rehearsal_has_no_ledger(tmp_path: Path) -> None:
    spending = Spending(study_of(tmp_path).rehearsed(), "A", "A", tmp_path / "budgets")
    about: Any = spending.as_dict()
    spending.check_before()
    spending.join(b"1")
    spending._charge()
    assert (about["spent"], about["data_set"]) == (0.0, None)
    assert not (tmp_path / "budgets").exists()
