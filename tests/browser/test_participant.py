"""A participant answers, reloads, sends twice, loses the network and returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce import Reports

from .collector import Collector, serving
from .conftest import ABOUT, MENU

pytestmark = pytest.mark.slow


def opened(context: Any, url: str) -> Any:
    """The page; errors of its scripts, of its policy, and requests to third parties are noted."""
    page = context.new_page()
    page.trouble = []
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on("console", lambda m: page.trouble.append(m.text) if "Policy" in m.text else None)

    def look(request: Any) -> None:
        if not request.url.startswith((url, "data:", "blob:")):
            page.trouble.append(f"a request to {request.url}")

    page.on("request", look)
    page.goto(url)
    return page


def answer(page: Any, choice: str = "Bicycle", level: int = 1) -> None:
    page.get_by_label(choice).check()
    page.get_by_label("How much privacy do you want?").fill(str(level))
    page.get_by_role("button", name="Randomise my answers").click()
    page.get_by_role("heading", name="This is what will be sent").wait_for()


def shown_bytes(page: Any) -> bytes:
    return bytes.fromhex(page.locator("#bytes").text_content())


def press_send(page: Any) -> None:
    page.get_by_role("button", name="Send this report").click()


def arrived(page: Any) -> None:
    page.get_by_role("heading", name="your report has arrived").wait_for()


def test_an_answer_is_randomised_shown_and_sent(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    assert page.get_by_role("heading", level=1).text_content() == MENU.title
    assert ABOUT["owner"] in page.locator("header").text_content()
    assert ABOUT["description"] in page.locator("header").text_content()
    answer(page)
    assert collector.posts == []
    shown = shown_bytes(page)
    press_send(page)
    arrived(page)
    ((body, code),) = collector.posts
    assert body == shown
    assert code is None
    reports = Reports.from_bytes(body[16:], expect=MENU)
    assert reports.columns["way"].tolist() == [1]
    value = MENU.mechanism().domain.labels[int(reports.columns["value"][0])]
    assert f"“{value}”" in page.locator("#words").text_content()
    assert page.trouble == []


def test_reloading_going_back_and_sending_twice_send_the_same_bytes(
    context: Any, collector: Collector
) -> None:
    page = opened(context, collector.url)
    answer(page)
    shown, words = shown_bytes(page), page.locator("#words").text_content()
    page.reload()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    assert (shown_bytes(page), page.locator("#words").text_content()) == (shown, words)
    page.goto("about:blank")
    page.go_back()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    press_send(page)
    arrived(page)
    page.get_by_role("button", name="Send the same report again").click()
    page.get_by_text("counted once.", exact=False).last.wait_for()
    page.reload()
    arrived(page)
    page.get_by_role("button", name="Send the same report again").click()
    page.get_by_text("were sent again").wait_for()
    assert [body for body, _ in collector.posts] == [shown] * 3
    assert page.trouble == []


def test_two_tabs_draw_one_report(context: Any, collector: Collector) -> None:
    one, other = opened(context, collector.url), opened(context, collector.url)
    other.get_by_label("Car").check()
    answer(one)
    other.get_by_role("heading", name="This is what will be sent").wait_for()
    assert shown_bytes(one) == shown_bytes(other)


def test_the_answer_is_not_kept(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    answer(page)
    kept = json.loads(page.evaluate("JSON.stringify(Object.values(localStorage))"))
    (record,) = map(json.loads, kept)
    assert set(record) == {"body", "wanted", "code", "receipt"}
    assert record["body"] == shown_bytes(page).hex()
    assert page.evaluate("document.querySelectorAll('input:checked').length") == 0


def test_a_lost_network_is_waited_for(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    answer(page)
    shown = shown_bytes(page)
    context.set_offline(True)
    press_send(page)
    page.get_by_text("There is no connection.").wait_for()
    assert collector.posts == []
    context.set_offline(False)
    arrived(page)
    assert [body for body, _ in collector.posts] == [shown]


def test_a_report_on_its_way_is_sent_after_a_return(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    answer(page)
    shown = shown_bytes(page)
    collector.status = 503
    press_send(page)
    page.get_by_text("cannot take it right now").wait_for()
    page.close()
    collector.status = 200
    arrived(opened(context, collector.url))
    assert [body for body, _ in collector.posts] == [shown]


def test_a_refusal_is_shown_and_not_repeated(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    answer(page)
    collector.status = 422
    press_send(page)
    page.get_by_text("the collector is busy").wait_for()
    assert page.get_by_role("button", name="Send this report").is_enabled()


def test_the_receipt_can_be_saved(context: Any, collector: Collector, tmp_path: Path) -> None:
    page = opened(context, collector.url)
    answer(page)
    press_send(page)
    arrived(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the receipt").click()
    download.value.save_as(tmp_path / "receipt.json")
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    ((body, _),) = collector.posts
    assert receipt["digest"] == MENU.digest.hex()
    assert receipt["submission"] == body[:16].hex()
    assert receipt["receipt"] == page.locator("#receipt").text_content()


def test_questions_of_every_kind(context: Any, many: Collector) -> None:
    page = opened(context, many.url)
    page.get_by_role("button", name="Randomise my answers").click()
    assert "Please answer" in page.locator("#form-error").text_content()
    page.get_by_label("Train").check()
    page.get_by_label("Hours of sleep last night").fill("7.5")
    page.get_by_label("Which district?").select_option("39")
    for label in ("Yes", "18 to below 40", "no answer"):
        page.get_by_label(label, exact=True).check()
    page.get_by_label("How often should people like you report?").select_option("50%")
    page.get_by_text("Divide it yourself").click()
    page.get_by_role("slider", name="Do you smoke?").fill("0.5")
    assert "All your answers together" in page.locator("#total").text_content()
    page.get_by_role("button", name="Randomise my answers").click()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    press_send(page)
    arrived(page)
    ((body, _),) = many.posts
    names, at = [], 16
    while at < len(body):
        size = int.from_bytes(body[at : at + 4])
        reports = Reports.from_bytes(body[at + 4 : at + 4 + size], expect=many.study)
        names.append(many.study.match(reports.collection, reports.digest).name)
        at += 4 + size
    assert names == list(many.study.names)
    assert page.trouble == []


def test_everything_by_keyboard(context: Any, collector: Collector) -> None:
    page = opened(context, collector.url)
    page.get_by_role("button", name="Randomise my answers").wait_for()
    for key in (
        "Tab",
        "Tab",
        "Space",
        "ArrowDown",
        "Tab",
        "ArrowRight",
        "ArrowRight",
        "Tab",
        "Enter",
    ):
        page.keyboard.press(key)
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    assert page.evaluate("document.activeElement.id") == "review-title"
    for key in ("Tab", "Tab", "Enter"):
        page.keyboard.press(key)
    arrived(page)
    ((body, _),) = collector.posts
    assert Reports.from_bytes(body[16:], expect=MENU).columns["way"].tolist() == [2]


def test_an_invitation_code_goes_along(context: Any) -> None:
    with serving(Collector(MENU, ABOUT, invitation=True)) as collector:
        page = opened(context, f"{collector.url}#code=abc-def")
        answer(page)
        assert page.get_by_label("Your invitation code").input_value() == "abc-def"
        press_send(page)
        arrived(page)
        assert [code for _, code in collector.posts] == ["abc-def"]


def test_a_contract_that_breaks_its_promise_is_refused(context: Any) -> None:
    collector = Collector(MENU, ABOUT)
    mechanism = collector.contract["collections"][0]["levels"][0]["mechanism"]
    mechanism["keep"] = f"{int(mechanism['keep'], 16) * 2:032x}"
    with serving(collector):
        page = opened(context, collector.url)
        page.get_by_role("heading", name="This study does not keep its promise").wait_for()
        assert page.locator("#form").is_hidden()


def test_a_closed_study_says_so(context: Any) -> None:
    with serving(Collector(MENU, ABOUT, closed=True)) as collector:
        page = opened(context, collector.url)
        page.get_by_role("heading", name="This study is closed").wait_for()


def test_without_javascript_the_command_line_is_offered(
    chromium: Any, collector: Collector
) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(collector.url)
    text = page.locator("main").inner_text()
    assert "needs JavaScript" in text
    assert "sottovoce randomise" in text
    assert page.locator("form").is_hidden()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wrong_for_assistive_technology(
    chromium: Any, many: Collector, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = chromium.new_context(
        viewport={"width": width, "height": 740}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = opened(context, many.url)
    page.get_by_role("button", name="Randomise my answers").wait_for()
    for summary in page.locator("summary").all():
        if summary.is_visible():
            summary.click()

    def check() -> None:
        results = axe.run(page)
        assert results.violations_count == 0, results.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    check()
    page.get_by_label("Train").check()
    page.get_by_label("Hours of sleep last night").fill("7.5")
    page.get_by_label("Which district?").select_option("39")
    for label in ("Yes", "18 to below 40", "no answer"):
        page.get_by_label(label, exact=True).check()
    page.get_by_role("button", name="Randomise my answers").click()
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    page.get_by_text("The same in bytes").click()
    check()
    press_send(page)
    arrived(page)
    check()
    context.close()
