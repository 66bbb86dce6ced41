"""A copy of the page in one file: it works without a connection, and cannot make one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from sottovoce import Reports

from .collector import Visit
from .conftest import MENU
from .test_participant import answer, arrived, press_send, shown_bytes

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(visit: Visit, tmp_path: Path) -> Path:
    """The file, saved."""
    path = tmp_path / "take-part.html"
    path.write_bytes(httpx.get(f"{visit.url}offline").content)
    return path


def test_a_report_made_with_the_copy_is_sent_from_the_page(
    chromium: Any, visit: Visit, copy: Path, tmp_path: Path
) -> None:
    context = chromium.new_context(offline=True)
    page = context.new_page()
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text))
    page.goto(copy.as_uri())
    answer(page)
    shown = shown_bytes(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this report").click()
    download.value.save_as(tmp_path / "report.bin")
    assert (tmp_path / "report.bin").read_bytes() == shown
    assert trouble == []
    context.close()

    page = visit.open()
    page.get_by_text("already made my report elsewhere").click()
    page.get_by_label("The file with your report").set_input_files(tmp_path / "report.bin")
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    press_send(page)
    arrived(page)
    assert [body for body, _ in visit.posts] == [shown]
    assert visit.counted == 1
    assert visit.trouble == []


def test_the_copy_cannot_connect(chromium: Any, visit: Visit, copy: Path) -> None:
    context = chromium.new_context()
    page = context.new_page()
    page.goto(copy.as_uri())
    page.get_by_role("button", name="Randomise my answers").wait_for()
    tried = f"fetch('{visit.url}health').then(() => 'sent', () => 'refused')"
    assert page.evaluate(tried) == "refused"
    image = (
        "new Promise(done => { const i = new Image(); i.onload = () => done('sent');"
        f" i.onerror = () => done('refused'); i.src = '{visit.url}static/x.png'; }})"
    )
    assert page.evaluate(image) == "refused"
    context.close()


def test_reports_from_the_command_line_are_taken_over(visit: Visit, tmp_path: Path) -> None:
    reports = MENU.mechanism().randomise(["Car"], level="Strong")
    path = tmp_path / "reports.svr"
    path.write_bytes(reports.to_bytes())
    page = visit.open()
    page.get_by_text("already made my report elsewhere").click()
    page.get_by_label("The file with your report").set_input_files(path)
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    press_send(page)
    arrived(page)
    ((body, _),) = visit.posts
    assert body[16:] == reports.to_bytes()


def test_other_files_are_refused(visit: Visit, tmp_path: Path) -> None:
    two = MENU.mechanism().randomise(["Car", "Bicycle"], level="Strong")
    assert len(Reports.from_bytes(two.to_bytes(), expect=MENU)) == 2
    page = visit.open()
    page.get_by_text("already made my report elsewhere").click()
    for data, words in ((b"nothing of the kind", "not a report"), (two.to_bytes(), "one report")):
        path = tmp_path / "file"
        path.write_bytes(data)
        page.get_by_label("The file with your report").set_input_files(path)
        page.locator("#file-error", has_text=words).wait_for()
    assert visit.posts == []
