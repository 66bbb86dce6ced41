"""Every route with every token, from the one table; and what answers look like."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import sottovoce as sv
from sottovoce.contract.aggregate import Aggregate
from sottovoce.service.access import Access, make_token
from sottovoce.service.codes import make_codes
from sottovoce.service.metrics import Metrics
from sottovoce.service.routes import REPORTS, ROUTES, Entry, Token, Who
from sottovoce.service.server import Running
from sottovoce.service.stores import open_store
from sottovoce.service.submission import pack
from tests.service.serving import client, post, running
from tests.service.studies import body, commute, several

STUDY = commute()


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Token, str]]:
    """A server, and one token of each kind."""
    folder = tmp_path_factory.mktemp("routes")
    kinds: dict[Token, str] = {Token.NONE: "", Token.WRONG: "A" * 43}
    store = open_store(folder / "own", STUDY.digest)
    with store.transaction():
        long_ago = time.time() - 10 * 86_400
        kinds[Token.EXPIRED], _ = make_token(store, 1, clock=lambda: long_ago)
    store.close()
    other_study = commute("Another study")
    other = open_store(folder / "other", other_study.digest)
    with other.transaction():
        kinds[Token.OTHER], _ = make_token(other, 1)
        (kinds[Token.PARTICIPANT],) = make_codes(other, other_study.digest, 1)
    other.close()
    with running(STUDY, folder / "own") as server:
        with client(server) as one:
            assert post(one, body(STUDY, 50)).status_code == 200
        kinds[Token.ANALYST] = server.token
        SERVER.append(server)
        yield kinds
        SERVER.clear()


SERVER: list[Running] = []


def path_of(entry: Entry) -> str:
    path = entry.path.replace("{number}", "1").replace("{kind}", "counts.sva")
    if "{digest}" in path:
        with client(SERVER[0], analyst=True) as one:
            page = one.get("/results").text
        path = page.split('"stylesheet" href="')[1].split('"')[0]
    return path


@pytest.mark.parametrize("entry", ROUTES, ids=lambda entry: f"{entry.method} {entry.path}")
def test_every_route_with_every_token(entry: Entry, tokens: dict[Token, str]) -> None:
    path = path_of(entry)
    content = body(STUDY) if entry.method == "POST" else None
    with client(SERVER[0]) as one:
        unknown = one.request(entry.method, "/no-such-thing")
        for token, text in tokens.items():
            ways: list[dict[str, dict[str, str]]] = [
                {"headers": {"authorization": f"Bearer {text}"}},
                {"headers": {"cookie": f"sottovoce-analyst={text}"}},
            ]
            if entry.handler == "results":
                ways.append({"params": {"key": text}})
            for way in [{}] if token is Token.NONE else ways:
                answer = one.request(entry.method, path, content=content, **way)
                one.cookies.clear()
                if entry.answers(token):
                    # The values of this study are all counted, so there is nothing to export.
                    done = 422 if entry.handler == "export" else 200
                    assert answer.status_code == (303 if "params" in way else done), (token, way)
                    continue
                assert answer.status_code == 404, (token, way)
                assert answer.content == unknown.content
                assert dict(answer.headers) == dict(unknown.headers)


def test_a_table_with_a_fault_would_be_noticed(tokens: dict[Token, str]) -> None:
    """The twin: were metrics for anyone, the answer without a token would be 200."""
    entry = next(entry for entry in ROUTES if entry.path == "/metrics")
    open_to_all = Entry("GET", "/metrics", Who.ANYONE, "metrics", "")
    with client(SERVER[0]) as one:
        status = one.get("/metrics").status_code
    assert (status == 200) is entry.answers(Token.NONE)
    assert (status == 200) is not open_to_all.answers(Token.NONE)


def test_tokens_end() -> None:
    access = Access([(b"x" * 32, 5.0)], clock=lambda: 6.0)
    assert not access.allows("anything")
    assert not access.allows(None)


def test_metrics_count_people_of_whole_hours_only() -> None:
    """A monitor that asks every few seconds must not learn when a report came."""
    text = Metrics().render({5: 10, 6: 3}, 6, True)
    assert "sottovoce_people 10\n" in text
    assert Metrics().render({5: 10, 6: 4}, 6, True).split("memory")[0] == text.split("memory")[0]


def test_the_study_is_what_clients_need(tokens: dict[Token, str]) -> None:
    with client(SERVER[0]) as one:
        about = one.get("/api/v1/study").json()
    assert about["digest"] == STUDY.digest.hex() == about["client"]["digest"]
    assert about["study"]["title"] == STUDY.title
    assert about["guarantee"] == STUDY.guarantee.as_dict()
    assert (about["invitation"], about["closed"]) == (False, False)


def test_a_link_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(
    tokens: dict[Token, str],
) -> None:
    with client(SERVER[0]) as one:
        answer = one.get(f"/results?key={tokens[Token.ANALYST]}")
        assert answer.headers["location"] == "/results"
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        page = one.get("/results")
    assert page.status_code == 200
    assert tokens[Token.ANALYST] not in page.text


def test_every_answer_has_the_headers(tokens: dict[Token, str]) -> None:
    with client(SERVER[0], analyst=True) as one:
        answers = [one.get("/results"), one.get("/health"), one.get("/nothing"),
                   post(one, b""), one.put("/results")]  # fmt: skip
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "date" not in answer.headers
        assert "server" not in answer.headers


def test_no_page_has_a_script_or_style_inside_or_asks_a_third_party(
    tokens: dict[Token, str],
) -> None:
    with client(SERVER[0], analyst=True) as one:
        pages = [one.get("/results").text]
        pages.append(one.get("/nothing", headers={"accept": "text/html"}).text)
    for page in pages:
        assert "<script>" not in page
        assert " style=" not in page
        assert "<style" not in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page


def test_problems_say_what_is_wrong(tokens: dict[Token, str]) -> None:
    with client(SERVER[0]) as one:
        bad = post(one, body(STUDY)[:-1])
        assert bad.status_code == 422
        assert bad.headers["content-type"] == "application/problem+json"
        assert "cut off" in bad.json()["detail"]
        assert one.get(REPORTS).status_code == 405
        assert post(one, b"{}", **{"content-type": "application/json"}).status_code == 415
        assert post(one, b"x", **{"content-encoding": "gzip"}).status_code == 415
        data = body(STUDY)
        assert post(one, data).json()["accepted"] == 1
        conflict = post(one, data[:16] + body(STUDY, 2)[16:])
        assert conflict.status_code == 409


def test_the_openapi_document_has_every_route(tokens: dict[Token, str]) -> None:
    with client(SERVER[0]) as one:
        document = one.get("/api/v1/openapi.json").json()
    assert set(document["paths"]) == {entry.path for entry in ROUTES}
    for entry in ROUTES:
        operation = document["paths"][entry.path][entry.method.lower()]
        assert ("security" in operation) is (entry.who is Who.ANALYST)
    assert "413" in document["paths"][REPORTS]["post"]["responses"]


def test_aggregate_estimate_and_files_agree(tmp_path: Path) -> None:
    study = several()
    with running(study, tmp_path) as server, client(server, analyst=True) as one:
        assert one.get("/results").text.count("No reports yet") == len(study)
        assert one.get("/api/v1/aggregate?question=commute").status_code == 422
        first = post(one, body(study, 1)).json()["accepted"]
        assert first == len(study)
        page = one.get("/results").text
        assert "No reports yet" not in page
        assert "too few people" in page
        assert post(one, body(study, 1_999)).json()["accepted"] >= 1_999
        for number, collection in enumerate(study, 1):
            name = collection.name
            data = one.get("/api/v1/aggregate", params={"question": name}).content
            counts = Aggregate.from_bytes(data, expect=study)
            assert counts.people == 2_000
            assert one.get(f"/results/{number}/counts.sva").content == data
            attribute = {"attribute": "smokes"} if name == "health" else {}
            shown = one.get("/api/v1/estimate", params={"question": name, **attribute}).json()
            result = collection.marginal(
                counts, tuple(attribute.values()), method=collection.shown_method
            )
            assert [row["estimate"] for row in shown["values"]] == pytest.approx(result.values)
            table = one.get(f"/results/{number}/estimate.csv", params=attribute).text
            assert len(table.splitlines()) == 1 + len(shown["values"])
            for kind, start in (("parquet", b"PAR1"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
                file = one.get(f"/results/{number}/estimate.{kind}", params=attribute)
                assert file.content.startswith(start), file.text
        page = one.get("/results").text
        for words in ("By privacy level", "By rate", "Two attributes together", "In full",
                      "more people", "as often as you like", "What is not promised"):  # fmt: skip
            assert words in page
        assert page.count("they come from a bootstrap") == 1  # of the joint table
        assert one.get("/results/9/counts.sva").status_code == 404
        assert one.get("/results/1/other").status_code == 404
        assert one.get("/api/v1/estimate?question=none").status_code == 422


def test_a_downloaded_table_has_no_formulas_and_keeps_numbers(tmp_path: Path) -> None:
    labels = [-5, 5, "=1+1", "@home"]
    change = sv.GRR(sv.Attribute("change", labels), epsilon=8.0)
    study = sv.Study("Change", (change,))
    (asked,) = study
    with running(study, tmp_path) as server, client(server, analyst=True) as one:
        reports = asked.randomise(labels * 50)
        assert post(one, pack(os.urandom(16), [reports.to_bytes()])).status_code == 200
        table = one.get("/results/1/estimate.csv").text.splitlines()
    exact = asked.estimate(asked.aggregate(reports))
    assert [line.split(",")[0] for line in table[1:]] == ["-5", "5", "'=1+1", "'@home"]
    assert [float(line.split(",")[1]) for line in table[1:]] == exact.values.tolist()


def test_https_cookies_are_for_https_only(tmp_path: Path) -> None:
    from sottovoce.service.app import About

    with (
        running(STUDY, tmp_path, settings={"about": About(secure=True)}) as server,
        httpx.Client(base_url=server.address) as one,
    ):
        assert "secure" in one.get(f"/results?key={server.token}").headers["set-cookie"].lower()
