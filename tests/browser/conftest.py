"""A real Chromium, driven by Playwright; without it these tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import Attribute, Study

from .collector import Collector, serving


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        pytest.skip("Chromium is not installed; on Debian: apt-get install chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    """A new profile: nothing is kept from other tests."""
    made = chromium.new_context()
    yield made
    made.close()


COMMUTE = Attribute("How do you get to work?", ["Car", "Bicycle", "Train", "On foot"])
MENU = Study(
    "How we get to work",
    (sv.Levels.of(sv.GRR, COMMUTE, {"Whisper": 0.5, "Low voice": 1.5, "Speaking": 4.0}),),
)
ABOUT = {
    "owner": "Office of Transport, City of Example",
    "description": "We plan cycle paths and trains for next year and want to know how people "
    "travel, without knowing how you do.",
}
HABITS = [
    Attribute("Do you smoke?", ["Yes", "No"]),
    Attribute.bins("How old are you?", [0, 18, 40, 65, float("inf")]),
    Attribute("Do you do sport?", ["Often", "Sometimes", "Never"], missing="value"),
]
MANY = Study(
    "Health and habits",
    (
        sv.Levels.of(sv.OUE, COMMUTE, {"Whisper": 0.5, "Speaking": 3.0}),
        sv.Hybrid(sv.Range("Hours of sleep last night", 0, 24), epsilon=1.0),
        sv.Sampled(sv.OLH(Attribute("Which district?", 40), epsilon=1.0), rate=[0.25, 0.5]),
        sv.Records(HABITS, epsilon_average=1.5, name="Habits"),
    ),
)


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A study with a menu of three levels."""
    with serving(Collector(MENU, ABOUT)) as one:
        yield one


@pytest.fixture
def many() -> Iterator[Collector]:
    """A study with questions of every kind."""
    with serving(Collector(MANY, ABOUT)) as one:
        yield one
