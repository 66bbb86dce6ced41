"""Answers that are typed: texts that nobody declared, and one of very many values."""

from __future__ import annotations

import os
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.service.submission import pack, unpack
from tests.service.serving import client, post

from .collector import opened, serving, visiting
from .conftest import ABOUT
from .test_participant import arrived, press_send

pytestmark = pytest.mark.slow

DRINK, PRODUCT, TOWN = "What do you drink?", "Which product?", "Which town?"
TOWNS = [f"Town {k}" for k in range(1500)]
STUDY = sv.Study(
    "Shopping",
    (
        sv.HeavyHitters(string.ascii_lowercase + "é ", 12, epsilon=6.0, name=DRINK),
        sv.OLH(sv.Attribute(PRODUCT, 2**31), epsilon=6.0),
        sv.OLH(sv.Attribute(TOWN, TOWNS, missing="value"), epsilon=6.0),
    ),
)


@pytest.fixture(scope="module")
def typed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(STUDY, ABOUT, tmp_path_factory.mktemp("typed")) as served:
        yield served


def randomise(page: Any) -> None:
    page.get_by_role("button", name="Randomise my answers").click()


def test_what_is_typed_is_checked_before_anything_is_drawn(
    chromium: Any, typed_server: Any
) -> None:
    with visiting(chromium, typed_server) as visit:
        page = visit.open()
        page.get_by_text("Allowed: a to z, é and space.").wait_for()
        drink, product, town = (page.get_by_label(name) for name in (DRINK, PRODUCT, TOWN))
        error = page.locator("#form-error")
        for wrong, why in (("Tea", "“T” is not allowed"), ("a" * 13, "there are 13")):
            drink.fill(wrong)
            page.get_by_text(why).wait_for()
            randomise(page)
            assert error.text_content().startswith(f"Please correct “{DRINK}”. ")
            assert why in error.text_content()
            assert page.get_by_text(why).count() == 1
            assert page.evaluate("localStorage.length") == 0
        drink.fill("café crème".replace("è", "é"))
        product.fill(str(2**31))
        randomise(page)
        assert "from 0 to 2147483647" in error.text_content()
        product.fill(str(2**31 - 1))
        town.fill("Atlantis")
        randomise(page)
        assert "One of 1501 answers" in error.text_content()
        assert page.evaluate("localStorage.length") == 0
        town.fill("Town 1499")
        randomise(page)
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        page.get_by_text("characters of your text, a number picked at random").wait_for()
        assert visit.posts == []
        press_send(page)
        arrived(page)
        ((body, _),) = visit.posts
        assert {
            name: len(one) for name, one in unpack(body, STUDY).reports.items()
        } == dict.fromkeys(STUDY.names, 1)
        assert visit.server.collector.people(PRODUCT) == 1
        assert visit.trouble == []


def test_a_number_with_a_slip_is_not_taken_for_no_answer(chromium: Any, tmp_path: Path) -> None:
    study = sv.Study(
        "Shopping",
        (
            sv.OLH(sv.Attribute(PRODUCT, 2**31 - 1, missing="value"), epsilon=6.0),
            sv.Piecewise(sv.Range("How much?", 0, 10, missing="public", clip=True), epsilon=1.0),
        ),
    )
    with serving(study, ABOUT, tmp_path) as served, visiting(chromium, served) as visit:
        page = visit.open()
        product, much = page.get_by_label(PRODUCT), page.get_by_label("How much?")
        assert (
            page.locator("#q0-0-hint")
            .text_content()
            .endswith("An empty field means “no answer”, and is randomised like any other.")
        )
        assert page.locator("#q1-0-hint").text_content() == (
            "A number from 0 to 10. One outside counts as the nearest of the two. Leave the field "
            "empty to leave this out (others can see that)."
        )
        error = page.locator("#form-error")
        for field, hint in ((product, "from 0 to 2147483646"), (much, "from 0 to 10")):
            field.press_sequentially("4e")
            randomise(page)
            assert hint in error.text_content()
            assert page.evaluate("localStorage.length") == 0
            field.fill("4")
        assert page.evaluate("[...document.forms].every((form) => form.autocomplete === 'off')")
        assert product.get_attribute("autocomplete") == much.get_attribute("autocomplete") == "off"
        much.fill("")
        randomise(page)
        page.get_by_role("heading", name="This is what will be sent").wait_for()


def test_a_decimal_comma_is_read_and_one_between_thousands_refused(
    chromium: Any, tmp_path: Path
) -> None:
    """A field of type "number" keeps 125 of "12,5" in an English browser."""
    study = sv.Study("Rooms", (sv.Piecewise(sv.Range("How large?", -10, 5000), epsilon=20.0),))
    with serving(study, ABOUT, tmp_path) as served, visiting(chromium, served) as visit:
        page = visit.open()
        field, error = page.get_by_label("How large?"), page.locator("#form-error")
        for typed in ("1,234", "1.234,5", "1 234", "1e3", "0x10", "Infinity", "-", ",", "12,5 m"):
            field.fill(typed)
            randomise(page)
            assert f"“{typed}” is not clear" in error.text_content()
            assert page.evaluate("localStorage.length") == 0
        field.fill("")
        field.press_sequentially(" 4512,50 ")
        randomise(page)
        page.get_by_role("heading", name="This is what will be sent").wait_for()
        press_send(page)
        arrived(page)
        ((body, _),) = visit.posts
        question = study.mechanism()
        (report,) = unpack(body, study).reports.values()
        assert abs(question.estimate(question.aggregate(report)).values[0] - 4512.5) < 100


def test_who_has_no_level_to_choose_is_not_told_that_it_is_visible(
    chromium: Any, tmp_path: Path
) -> None:
    question = sv.Attribute("Tea?", ["yes", "no"])
    levels = sv.Levels.of(sv.GRR, question, {"strong": 0.5, "weak": 2.0})
    for asked, name in ((sv.GRR(question, epsilon=1.0), "one"), (levels, "menu")):
        study = sv.Study("Tea", (asked,))
        with serving(study, ABOUT, tmp_path / name) as served, visiting(chromium, served) as visit:
            page = visit.open()
            page.locator("#promise").wait_for()  # until the page knows the study
            shown = page.get_by_text("Which level you choose is visible").is_visible()
            assert shown == (asked is levels)


def test_what_an_analyst_has_typed_is_not_overwritten(context: Any, typed_server: Any) -> None:
    server, _ = typed_server
    product, town = list(STUDY)[1:]
    parts = [product.randomise([42]).to_bytes(), town.randomise(["Town 1"]).to_bytes()]
    with client(server) as one:
        assert post(one, pack(os.urandom(16), parts)).status_code == 200
    page = context.new_page()
    page.goto(server.link)
    field = page.get_by_label("Values to count, one on each line")
    field.fill("42")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(6000)  # the page is fetched every 5 seconds
    assert field.input_value() == "42"


@pytest.mark.parametrize("width", [360, 1280])
def test_typed_answers_and_chosen_values_fit_and_axe_finds_nothing(
    chromium: Any, typed_server: Any, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    server, _ = typed_server
    drink, product, town = STUDY
    parts = [
        drink.randomise(["tea", "tea", "coffee"] * 700),
        product.randomise([42, 42, 7] * 700),
        town.randomise(["Town 7", None, "Town 8"] * 700),
    ]
    with client(server) as one:
        data = pack(os.urandom(16), [part.to_bytes() for part in parts])
        assert post(one, data).status_code == 200
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = opened(context, server.address)

    def check(name: str) -> None:
        results = axe.run(page)
        assert results.violations_count == 0, results.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.trouble == []
        pictures = os.environ.get("SOTTOVOCE_PICTURES")
        if pictures:
            page.screenshot(path=Path(pictures) / f"{name}-{width}-light.png", full_page=True)

    page.get_by_label(DRINK).fill("Tea")
    page.get_by_text("“T” is not allowed").wait_for()
    check("typed")
    page.get_by_label(DRINK).fill("tea")
    page.get_by_label(PRODUCT).fill("42")
    randomise(page)
    page.get_by_role("heading", name="This is what will be sent").wait_for()
    check("typed-review")
    page.goto(server.link)
    page.get_by_label("Values to count, one on each line").fill("42\n7\n9")
    page.get_by_role("button", name="Count").click()
    page.get_by_role("table", name=f"Estimated fractions of {PRODUCT}").wait_for()
    page.get_by_text("On the command line").click()
    check("chosen")
    context.close()
