"""A real Chromium, driven by Playwright; without it these tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import Attribute, Study

from .collector import Visit, serving, visiting

#: A name that the browser takes for another machine, as a phone would see the collector's.
ELSEWHERE = "collector.test"


@pytest.fixture(scope="module")  # Playwright's event loop must not outlast the tests in browsers
def chromium() -> Iterator[Any]:
    """The browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    arguments = [f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1"]
    arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        own = playwright.chromium.executable_path  # where Playwright has installed one itself
        named = map(shutil.which, ("chromium", "chromium-browser", "google-chrome", own))
        path = next(filter(None, named), None)
        if path is None:
            pytest.skip("Chromium is not installed; on Debian: apt-get install chromium")
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


COMMUTE = Attribute("How do you get to work?", ["Car", "Bicycle", "Train", "On foot"])
MENU = Study(
    "How we get to work",
    (sv.Levels.of(sv.GRR, COMMUTE, {"Strong": 0.5, "Medium": 1.5, "Light": 4.0}),),
)
ABOUT = {
    "owner": "Office of Transport, City of Example",
    "description": "We plan cycle paths and trains for next year and want to know how people "
    "travel, without knowing how you do.",
}
HABITS = [
    Attribute("Do you smoke?", [1, 2], wording=["Yes", "No"]),
    Attribute.bins("How old are you?", [0, 18, 40, 65, float("inf")]),
    Attribute("Do you do sport?", ["Often", "Sometimes", "Never"], missing="value"),
]
TRIPS = sv.Options(
    "Which of these did you use last week?",
    ["tram", "bus", "boat", "scooter", "taxi"],
    most=2,
    wording=["Tram or underground", "Bus", "Boat or ferry", "Electric scooter", "Taxi"],
)
MANY = Study(
    "Health and habits",
    (
        sv.Levels.of(sv.OUE, COMMUTE, {"Strong": 0.5, "Light": 3.0}),
        sv.Hybrid(sv.Range("Hours of sleep last night", 0, 24), epsilon=1.0),
        sv.Sampled(sv.OLH(Attribute("Which district?", 40), epsilon=1.0), rate=[0.25, 0.5]),
        sv.ChooseAll(TRIPS, epsilon=2.0),
        sv.Records(HABITS, levels={"Strong": 0.8, "Light": 2.0}, name="Habits", rate=0.9),
    ),
)


@pytest.fixture(scope="session")
def menu_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A study with a menu of three levels."""
    with serving(MENU, ABOUT, tmp_path_factory.mktemp("menu")) as served:
        yield served


@pytest.fixture(scope="session")
def many_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A study with questions of every kind."""
    with serving(MANY, ABOUT, tmp_path_factory.mktemp("many")) as served:
        yield served


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    """A new profile, for pages of other servers."""
    profile = chromium.new_context()
    yield profile
    profile.close()


@pytest.fixture
def visit(chromium: Any, menu_server: Any) -> Iterator[Visit]:
    """Somebody who opens the page of the menu for the first time."""
    with visiting(chromium, menu_server) as one:
        yield one
