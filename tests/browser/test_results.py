"""The analyst's page with the real server: it fills while people answer, and suits everyone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sottovoce.service.app import About
from sottovoce.service.demo import COMMUTE, TOGETHER, demo_study
from sottovoce.service.server import Running
from sottovoce.service.submission import pack
from tests.service.serving import OCTETS, running

from .collector import opened
from .conftest import ABOUT, MENU
from .test_participant import answer, arrived, press_send

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    """The real service of the study with a menu."""
    words = About(ABOUT["description"], ABOUT["owner"])
    with running(MENU, tmp_path, settings={"about": words}) as one:
        yield one


def test_an_answer_in_the_browser_changes_the_estimate(context: Any, server: Running) -> None:
    results = context.new_page()
    results.goto(server.link)
    assert results.url == f"{server.address}/results"
    results.get_by_text("No reports yet").wait_for()
    assert ABOUT["owner"] in results.locator("header").text_content()
    page = opened(context, server.address)
    answer(page)
    press_send(page)
    arrived(page)
    assert page.trouble == []
    assert server.collector.people(MENU.names[0]) == 1
    results.bring_to_front()
    results.get_by_text("1 person").wait_for(timeout=15_000)  # without a reload
    results.get_by_role("table", name="Estimated fractions").wait_for()


def test_a_pause_stops_and_details_stay_open(context: Any, server: Running) -> None:
    data = pack(os.urandom(16), [MENU.mechanism().randomise(["Car"], level="Strong").to_bytes()])
    httpx.post(f"{server.address}/api/v1/reports", content=data, headers=OCTETS)
    page = context.new_page()
    page.goto(server.link)
    page.get_by_text("In full").click()
    page.evaluate("document.activeElement.blur()")
    with page.expect_response("**/results", timeout=15_000):
        pass
    page.wait_for_timeout(200)
    assert page.locator("details", has_text="In full").evaluate("element => element.open")
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Paused.").wait_for()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(6000)
    assert asked == []


def test_without_a_token_there_is_nothing(context: Any, server: Running) -> None:
    page = context.new_page()
    answer_ = page.goto(f"{server.address}/results")
    assert answer_.status == 404
    page.get_by_role("heading", name="Nothing here").wait_for()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with many reports of a question with levels, and of records."""
    study = demo_study()
    people = np.arange(10_000)
    mode = np.resize(np.repeat(np.arange(5), list(COMMUTE.values())), people.size)
    both = np.resize(np.repeat(np.arange(9), np.rint(100 * TOGETHER.ravel()).astype(int)), 10_000)
    commute, habits = study.collection("commute"), study.collection("habits")
    modes, sports, ages = (one.labels for one in (*commute.attributes, *habits.attributes))
    parts = [
        commute.randomise(
            [modes[k] for k in mode],
            level=[commute.level_names[k % 4] for k in people],
        ),
        habits.randomise(
            {"sport": [sports[k // 3] for k in both], "age": [ages[k % 3] for k in both]}
        ),
    ]
    data = pack(os.urandom(16), [part.to_bytes() for part in parts])
    with running(study, tmp_path_factory.mktemp("full")) as one:
        assert httpx.post(f"{one.address}/api/v1/reports", content=data, headers=OCTETS).is_success
        yield one


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_and_axe_finds_nothing(
    chromium: Any, full: Running, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is missing")
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = opened(context, full.address)
    page.goto(full.link)
    page.locator("#pause").wait_for()
    for element in page.locator("details").all():
        element.evaluate("element => { element.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = axe.Axe().run(page)
    assert violations.violations_count == 0, violations.generate_report()
    assert page.trouble == []
    pictures = os.environ.get("SOTTOVOCE_PICTURES")  # how those in the docs were made
    if pictures:
        for element in page.locator("details").all():
            element.evaluate("element => { element.open = false; }")
        name = f"results-{width}-{scheme}.png"
        height = 1500 if width == 360 else 1250
        clip = {"x": 0, "y": 0, "width": width, "height": height}
        page.screenshot(path=Path(pictures) / name, clip=clip, full_page=True)
    context.close()
