"""Questions with too many values to count, and texts that nobody declared."""

from __future__ import annotations

import json
import os
import string
import weakref
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.errors import EstimateError, ParameterError
from sottovoce.service import collector as collecting
from sottovoce.service import estimating
from sottovoce.service.collector import Collector, Entry
from sottovoce.service.server import Running
from sottovoce.service.submission import pack, unpack
from tests.service.conftest import Opener
from tests.service.serving import client, post, running

PRODUCT = sv.Attribute("product", 2**31)
DRINK = sv.HeavyHitters(string.ascii_lowercase, 8, epsilon=8.0, name="drink")
STUDY = sv.Study(
    "Shopping",
    (sv.Levels.of(sv.OLH, PRODUCT, {"strong": 2.0, "light": 8.0}), DRINK),
)
PRODUCTS = [1_234_567_890, 42, 42, 2**31 - 1]
DRINKS = ["tea", "tea", "coffee", ""]


def body(n: int = 1000) -> bytes:
    product, drink = STUDY
    parts = [product.randomise(PRODUCTS * n, level="light"), drink.randomise(DRINKS * n)]
    return pack(os.urandom(16), [part.to_bytes() for part in parts])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(STUDY, tmp_path_factory.mktemp("large")) as one, client(one) as anyone:
        for _ in range(2):
            assert post(anyone, body()).status_code == 200
        yield one


def test_chosen_values_are_counted(server: Running) -> None:
    with client(server, analyst=True) as one:
        query = {"question": "product", "values": "42\n\n1234567890\n7\n42"}
        found = one.get("/api/v1/estimate", params=query).json()
        assert [row["value"] for row in found["values"]] == [42, 1234567890, 7]
        assert found["people"] == 8000
        assert found["turnout"][1]["reported"] == 8000
        assert set(found["levels"]) == {"light"}
        for row, truth in zip(found["values"], (0.5, 0.25, 0.0), strict=True):
            assert abs(row["estimate"] - truth) < 8 * row["std_error"]
        file = one.get("/results/1/counts.sva", params={"values": "42\n7"}).content
        counts = sv.Aggregate.from_bytes(file, expect=STUDY.collection("product"))
        assert counts.candidates is not None
        assert counts.candidates.tolist() == [42, 7]
        table = one.get("/results/1/estimate.csv", params={"values": "42\n7"}).text
        assert table.splitlines()[1].startswith("42,")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ({"question": "product"}, "too many values to count them all"),
        ({"question": "product", "values": "x"}, "not in the domain"),
        ({"question": "product", "values": str(2**31)}, "not in the domain"),
        ({"question": "product", "values": "\n".join(map(str, range(1001)))}, "at most 1,000"),
        ({"question": "drink", "values": "tea"}, "cannot count some values alone"),
    ],
)
def test_other_values_are_refused(server: Running, query: dict[str, str], why: str) -> None:
    with client(server, analyst=True) as one:
        answer = one.get("/api/v1/estimate", params=query)
        assert answer.status_code == 422
        assert why in answer.json()["detail"]
        page = one.get("/results", params={**query, "question": "1"})
        assert page.status_code == 200


def test_reports_are_exported_and_counts_of_texts(server: Running, tmp_path: Path) -> None:
    def pull(question: str, out: Path, code: int = 0) -> str:
        arguments = [server.address, "--token", server.token, "--question", question]
        result = CliRunner().invoke(main, ["pull", *arguments, "--out", str(out), "--json"])
        assert result.exit_code == code, result.output
        return result.stdout if not code else result.stderr

    file = tmp_path / "reports.svr"
    assert json.loads(pull("product", file))["reports"] == 8000
    product = STUDY.collection("product")
    reports = sv.Reports.from_bytes(file.read_bytes(), expect=STUDY)
    counts = product.aggregate(reports, values=[42])
    assert counts.reports == 8000
    assert "too many values" in pull("product", tmp_path / "counts.sva", 1)
    assert "are counted" in pull("drink", tmp_path / "other.svr", 1)
    assert json.loads(pull("drink", tmp_path / "drink.sva"))["reports"] == 8000
    candidates = tmp_path / "candidates.txt"
    candidates.write_text("42\n7\n")
    STUDY.save(tmp_path / "study.toml")
    command = ["estimate", file, "--study", tmp_path / "study.toml", "--question", "product"]
    shown = CliRunner().invoke(main, [*map(str, command), "--candidates", str(candidates)])
    assert shown.exit_code == 0, shown.output


def test_the_page_lists_frequent_texts_and_chosen_values(server: Running) -> None:
    with httpx.Client(base_url=server.address, follow_redirects=True, timeout=60) as one:
        page = one.get(server.link).text
        assert "2,147,483,648 possible values" in page
        assert ">tea<" in page
        assert ">coffee<" in page
        assert "A text that at least" in page
        assert "is at most 2.5 %" in page
        assert "--out reports.svr" in page
        chosen = {"question": "1", "values": "42\n<b>"}
        assert "&lt;b&gt;</textarea>" in one.get("/results", params=chosen).text
        assert "not in the domain" in one.get("/results", params=chosen).text
        page = one.get("/results", params={"question": "1", "values": "42\n7"}).text
        assert 'aria-label="Estimated fractions of product"' in page
        assert "/results/1/counts.sva?values=42%0A7" in page
        assert "By privacy level" in page


def test_many_texts_are_left_to_the_command_line(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimating, "_MOST_TEXTS", 100)
    with client(server, analyst=True) as one:
        page = one.get("/results").text
        assert "sottovoce pull --out counts.sva" in page


def test_kept_reports_survive_a_restart_and_are_joined(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_MOST_WAITING", 3)
    store = opened(STUDY.digest)
    collector = Collector(STUDY, store)
    assert collector.uncounted == {"product"}
    for name in STUDY.names:
        with pytest.raises(EstimateError, match="no reports"):
            (collector.reports if name == "product" else collector.aggregate)(name)
    for _ in range(5):
        collector.commit([Entry(unpack(body(2), STUDY))])
    reports = collector.reports("product")
    assert len(reports) == 40
    assert collector.reports("product") is reports
    with pytest.raises(ParameterError, match="too many values"):
        collector.aggregate("product")
    again = Collector(STUDY, store)
    assert sorted(map(bytes, _rows(again.reports("product")))) == sorted(map(bytes, _rows(reports)))
    assert again.people("product") == 40


def _rows(reports: sv.Reports) -> list[bytes]:
    return [reports[k : k + 1].to_bytes() for k in range(len(reports))]


def test_exported_reports_do_not_show_in_which_order_they_came(opened: Opener) -> None:
    """Forty submissions of one report each: by chance they keep their order once in 40! times."""
    collector = Collector(STUDY, opened(STUDY.digest))
    sent = []
    for _ in range(40):
        part = STUDY.collection("product").randomise([42], level="light")
        sent.append(part.to_bytes())
        collector.commit([Entry(unpack(pack(os.urandom(16), [part.to_bytes()]), STUDY))])
    exported = _rows(collector.reports("product"))
    assert sorted(exported) == sorted(sent)
    assert exported != sent


def test_earlier_reports_are_not_kept_for_every_list_of_values(opened: Opener) -> None:
    collector = Collector(STUDY, opened(STUDY.digest))
    estimates, product = estimating.Estimates(collector), STUDY.collection("product")
    earlier = []
    for value in range(4):
        collector.commit([Entry(unpack(body(2), STUDY))])
        earlier.append(weakref.ref(collector.reports("product")))
        assert estimates.counts(product, (value,)).reports == 8 * (value + 1)
    assert [one() is None for one in earlier] == [True, True, True, False]


def test_a_mechanism_that_has_to_count_all_values_is_refused(opened: Opener) -> None:
    study = sv.Study("Large", (sv.GRR(PRODUCT, epsilon=1.0),))
    with pytest.raises(ParameterError, match="counters"):
        Collector(study, opened(study.digest))
