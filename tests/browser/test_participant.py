"""A participant answers, reloads, sends twice, loses the network and returns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sottovoce import Attribute, Records, Reports, Study

from .collector import Visit, serving, visiting
from .conftest import ABOUT, ELSEWHERE, MANY, MENU, TRIPS

pytestmark = pytest.mark.slow


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


def test_an_answer_is_randomised_shown_and_sent(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("heading", name=MENU.title, level=1, exact=True).wait_for()
    assert ABOUT["owner"] in page.locator("header").text_content()
    assert ABOUT["description"] in page.locator("header").text_content()
    answer(page)
    assert visit.posts == []
    shown = shown_bytes(page)
    press_send(page)
    arrived(page)
    ((body, code),) = visit.posts
    assert body == shown
    assert code is None
    reports = Reports.from_bytes(body[16:], expect=MENU)
    assert reports.columns["way"].tolist() == [1]
    value = MENU.mechanism().domain.labels[int(reports.columns["value"][0])]
    assert f"“{value}”" in page.locator("#words").text_content()
    assert visit.trouble == []


def test_reloading_going_back_and_sending_twice_send_the_same_bytes(visit: Visit) -> None:
    page = visit.open()
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
    assert [body for body, _ in visit.posts] == [shown] * 3
    assert visit.counted == 1
    assert visit.trouble == []


def test_two_tabs_draw_one_report(visit: Visit) -> None:
    one, other = visit.open(), visit.open()
    other.get_by_label("Car").check()
    answer(one)
    other.get_by_role("heading", name="This is what will be sent").wait_for()
    assert shown_bytes(one) == shown_bytes(other)


def test_the_answer_is_not_kept(visit: Visit) -> None:
    page = visit.open()
    answer(page)
    kept = json.loads(page.evaluate("JSON.stringify(Object.values(localStorage))"))
    (record,) = map(json.loads, kept)
    assert set(record) == {"body", "wanted", "code", "receipt"}
    assert record["body"] == shown_bytes(page).hex()
    assert page.evaluate("document.querySelectorAll('input:checked').length") == 0


def test_a_lost_network_is_waited_for(visit: Visit) -> None:
    page = visit.open()
    answer(page)
    shown = shown_bytes(page)
    visit.context.set_offline(True)
    press_send(page)
    page.get_by_text("There is no connection.").wait_for()
    assert visit.counted == 0
    visit.context.set_offline(False)
    arrived(page)
    assert {body for body, _ in visit.posts} == {shown}
    assert visit.counted == 1


def test_a_report_on_its_way_is_sent_after_a_return(visit: Visit) -> None:
    page = visit.open()
    answer(page)
    shown = shown_bytes(page)
    visit.refuse(503)
    press_send(page)
    page.get_by_text("cannot take it right now").wait_for()
    page.close()
    assert visit.counted == 0
    visit.restore()
    arrived(visit.open())
    assert [body for body, _ in visit.posts] == [shown] * 2
    assert visit.counted == 1


def test_a_refusal_is_shown_and_not_repeated(visit: Visit) -> None:
    page = visit.open()
    answer(page)
    visit.refuse(422)
    press_send(page)
    page.get_by_text("these bytes are not wanted").wait_for()
    assert page.get_by_role("button", name="Send this report").is_enabled()


def test_the_receipt_can_be_saved(visit: Visit, tmp_path: Path) -> None:
    page = visit.open()
    answer(page)
    press_send(page)
    arrived(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the receipt").click()
    download.value.save_as(tmp_path / "receipt.json")
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    ((body, _),) = visit.posts
    assert receipt["digest"] == MENU.digest.hex()
    assert receipt["submission"] == body[:16].hex()
    assert receipt["receipt"] == page.locator("#receipt").text_content()


def answer_everything(page: Any) -> None:
    page.get_by_label("Train").check()
    page.get_by_label("Hours of sleep last night").fill("7.5")
    page.get_by_label("Which district?").select_option("39")
    for label in ("Boat or ferry", "Tram or underground"):
        page.get_by_label(label).check()
    for label in ("Yes", "18 to below 40", "no answer"):
        page.get_by_label(label, exact=True).check()


def test_questions_of_every_kind(chromium: Any, many_server: Any) -> None:
    with visiting(chromium, many_server) as visit:
        page = visit.open()
        page.get_by_role("button", name="Randomise my answers").click()
        assert "Please answer" in page.locator("#form-error").text_content()
        answer_everything(page)
        page.get_by_label("How often should people like you report?").select_option("50%")
        page.get_by_text("Divide it yourself").click()
        page.get_by_role("slider", name="Do you smoke?").fill("0.5")
        page.get_by_label("How much privacy do you want?").last.fill("1")
        sliders = page.get_by_role("group").get_by_role("slider").all()
        parts = [float(slider.input_value()) for slider in sliders]
        assert sum(parts) == pytest.approx(3 * 2.0, abs=0.15)  # the larger level, same division
        assert parts[0] == pytest.approx(0.5 * 2.0 / 0.8, abs=0.05)
        assert "All your answers together" in page.locator("#total").text_content()
        page.get_by_role("button", name="Randomise my answers").click()
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        press_send(page)
        arrived(page)
        asked = [visit.server.collector.aggregate(name).people for name in MANY.names]
        assert len(set(asked)) == 1
        assert 3 <= visit.counted <= 5  # a question and the records are sampled
        ((body, _),) = visit.posts
        reports = {
            MANY.match(one.collection, one.digest).name: one.columns for one in envelopes(body)
        }
        assert reports["Habits"]["level"].tolist() == [1]
        assert set(reports[TRIPS.name]) == {"bits"}
        assert visit.trouble == []


PARTS = [
    Attribute("Do you smoke?", ["Yes", "No"]),
    Attribute("Where do you live?", 1200, missing="value"),  # a field, which may be empty
    Attribute("Do you do sport?", ["Often", "Never"], missing="public"),
]
DIVIDED = Study("Parts", (Records(PARTS, epsilon_average=2.01, public=True, floor=0.0),))


@pytest.fixture(scope="module")
def divided_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Records whose division is sent along, so that it can be seen."""
    with serving(DIVIDED, ABOUT, tmp_path_factory.mktemp("divided")) as served:
        yield served


@pytest.mark.parametrize("sport", ["Often", "I leave this out (others can see that)"])
def test_a_division_is_kept_or_a_new_one_shown_first(
    chromium: Any, divided_server: Any, sport: str
) -> None:
    """Nobody's answer is drawn at another epsilon than their slider shows."""
    with visiting(chromium, divided_server) as visit:
        page = visit.open()
        meaning = page.locator(".meaning").text_content()
        assert "Divided equally, each answer has ε\u00a0=\u00a02.01:" in meaning
        assert "together have ε\u00a0=\u00a06.03." in meaning
        page.get_by_text("Divide it yourself").click()
        slider = page.get_by_role("slider", name="Do you smoke?")
        slider.fill("0.5")
        page.get_by_label("Yes", exact=True).check()
        page.get_by_label(sport, exact=True).check()
        draw = page.get_by_role("button", name="Randomise my answers")
        draw.click()
        parts = [0.5, 2.765, 2.765]
        if sport != "Often":
            assert "you left out an answer" in page.locator("#form-error").text_content().lower()
            shown = [page.locator(f"#part0-{a}").locator("..").text_content() for a in range(2)]
            assert all("ε\u00a0=\u00a02.01," in words for words in shown)
            parts = [2.01, 2.01]
            draw.click()
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        reports = Reports.from_bytes(shown_bytes(page)[16:], expect=DIVIDED)
        steps = reports.columns["steps"][0][: len(parts)]
        assert steps.tolist() == [int(1024 * part) for part in parts]
        assert visit.trouble == []


def envelopes(body: bytes) -> Iterator[Reports]:
    """The reports of a submission to a study with several questions."""
    at = 16
    while at < len(body):
        size = int.from_bytes(body[at : at + 4])
        yield Reports.from_bytes(body[at + 4 : at + 4 + size], expect=MANY)
        at += 4 + size


def test_no_more_options_are_chosen_than_the_question_allows(
    chromium: Any, many_server: Any
) -> None:
    with visiting(chromium, many_server) as visit:
        page = visit.open()
        group = page.get_by_role("group", name=TRIPS.name)
        group.get_by_text("Choose up to 2, or “None of these”.").wait_for()
        boxes = group.get_by_role("checkbox")
        assert boxes.count() == len(TRIPS.values) + 1
        status = group.get_by_role("status")

        def ticked() -> list[str]:
            return [box.locator("..").text_content() for box in boxes.all() if box.is_checked()]

        group.get_by_text("Bus").click()
        assert status.text_content() == "1 of at most 2 chosen."
        group.get_by_label("Taxi").focus()
        page.keyboard.press("Space")
        assert ticked() == ["Bus", "Taxi"]
        group.get_by_text("Electric scooter").click(force=True)  # refused, as by the keyboard
        group.get_by_label("Boat or ferry").focus()
        page.keyboard.press("Space")
        assert ticked() == ["Bus", "Taxi"]
        assert "No more than 2" in status.text_content()
        assert group.get_by_label("Boat or ferry").get_attribute("aria-disabled") == "true"
        group.get_by_text("None of these", exact=True).click()
        assert ticked() == ["None of these"]
        group.get_by_text("Boat or ferry").click()
        assert ticked() == ["Boat or ferry"]
        group.get_by_text("Boat or ferry").click()
        page.get_by_label("Train").check()
        page.get_by_label("Hours of sleep last night").fill("7.5")
        page.get_by_label("Which district?").select_option("39")
        page.get_by_role("button", name="Randomise my answers").click()
        error = page.locator("#form-error").text_content()
        assert TRIPS.name in error
        assert "up to 2, or “None of these”" in error
        assert visit.trouble == []


def test_plain_http_on_the_local_network_is_enough(visit: Visit) -> None:
    visit.url = visit.url.replace("127.0.0.1", ELSEWHERE)
    page = visit.open()
    assert page.evaluate("isSecureContext") is False  # so there is no crypto.subtle
    answer(page)
    press_send(page)
    arrived(page)
    assert visit.counted == 1
    assert visit.trouble == []


def test_everything_by_keyboard(visit: Visit) -> None:
    page = visit.open()
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
    ((body, _),) = visit.posts
    assert Reports.from_bytes(body[16:], expect=MENU).columns["way"].tolist() == [2]


def test_an_invitation_code_goes_along(visit: Visit) -> None:
    visit.alter(lambda about: about.update(invitation=True))
    page = visit.open("#code=abc-def")
    answer(page)
    assert page.get_by_label("Your invitation code").input_value() == "abc-def"
    press_send(page)
    arrived(page)
    assert [code for _, code in visit.posts] == ["abc-def"]


def test_a_contract_that_breaks_its_promise_is_refused(visit: Visit) -> None:
    def change(about: dict[str, Any]) -> None:
        mechanism = about["client"]["collections"][0]["levels"][0]["mechanism"]
        mechanism["keep"] = f"{int(mechanism['keep'], 16) * 2:032x}"

    visit.alter(change)
    page = visit.open()
    page.get_by_role("heading", name="This study does not keep its promise").wait_for()
    assert page.locator("#form").is_hidden()


def test_a_closed_study_says_so(visit: Visit) -> None:
    visit.alter(lambda about: about.update(closed=True))
    page = visit.open()
    page.get_by_role("heading", name="This study is closed").wait_for()
    assert page.locator("#form").is_hidden()


def test_without_javascript_the_command_line_is_offered(chromium: Any, menu_server: Any) -> None:
    with visiting(chromium, menu_server, java_script_enabled=False) as visit:
        page = visit.open()
        text = page.locator("main").inner_text()
        assert "needs JavaScript" in text
        assert "sottovoce randomise" in text
        assert page.locator("form").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wrong_for_assistive_technology(
    chromium: Any, many_server: Any, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    look = {"viewport": {"width": width, "height": 740}, "color_scheme": scheme}
    with visiting(chromium, many_server, reduced_motion="reduce", **look) as visit:
        page = visit.open()
        page.get_by_role("button", name="Randomise my answers").wait_for()
        for summary in page.locator("summary").all():
            if summary.is_visible():
                summary.click()

        def check() -> None:
            results = axe.run(page)
            assert results.violations_count == 0, results.generate_report()
            assert page.evaluate("document.documentElement.scrollWidth") <= width

        check()
        answer_everything(page)
        page.get_by_role("button", name="Randomise my answers").click()
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        page.get_by_text("The same in bytes").click()
        check()
        press_send(page)
        arrived(page)
        check()
