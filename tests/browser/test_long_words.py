"""Long words and long forms: both pages fit a narrow phone, and what is missing is said in view."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

import sottovoce as sv
from sottovoce import Attribute, Study
from sottovoce.service.submission import pack
from tests.service.serving import OCTETS, running

from .collector import opened

pytestmark = pytest.mark.slow

WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"
TOOL = Attribute(f"Which {WORD}?", [WORD, f"no {WORD}", "another"])
SIZE = sv.Options(f"Sizes of {WORD}", [WORD, "small"], most=1)
LONG = Study(
    f"The {WORD} survey",
    (
        sv.Levels.of(sv.GRR, TOOL, {f"strong {WORD}": 0.5, "weak": 2.0}),
        *(sv.GRR(Attribute(f"Question {k}", 5), epsilon=1.0) for k in range(6)),
        sv.ChooseAll(SIZE, epsilon=1.0),
    ),
)
NARROW = {"viewport": {"width": 320, "height": 640}}


def width(page: Any) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth"))


def test_long_words_fit_a_narrow_phone(chromium: Any, tmp_path: Path) -> None:
    first, *others, last = map(LONG.collection, LONG.names)
    reports = [
        first.randomise([WORD], level="weak"),
        *(one.randomise([0]) for one in others),
        last.randomise([[WORD]]),
    ]
    data = pack(os.urandom(16), [part.to_bytes() for part in reports])
    with running(LONG, tmp_path) as server:
        context = chromium.new_context(**NARROW)
        page = opened(context, server.address)
        page.get_by_role("button", name="Randomise my answers").wait_for()
        assert width(page) == 320
        sent = httpx.post(f"{server.address}/api/v1/reports", content=data, headers=OCTETS)
        assert sent.is_success
        page.goto(server.link)
        page.get_by_text("1 person").wait_for()
        assert width(page) == 320
        context.close()


def test_what_is_missing_is_said_beside_the_question(chromium: Any, tmp_path: Path) -> None:
    def seen(page: Any) -> str:
        """The complaint, if it is in view and in the question that has the focus."""
        shown = page.evaluate(
            """() => {
              const words = document.getElementById("form-error");
              const { top, bottom } = words.getBoundingClientRect();
              const box = document.activeElement.closest("fieldset");
              return top >= 0 && bottom <= innerHeight && box.contains(words) && words.textContent;
            }"""
        )
        return str(shown)

    with running(LONG, tmp_path) as server:
        context = chromium.new_context(**NARROW)
        page = opened(context, server.address)
        draw = page.get_by_role("button", name="Randomise my answers")
        draw.click()
        assert "Please answer “Which" in seen(page)
        page.get_by_role("radio", name="another").check()
        draw.click()
        assert "Please answer “Question 0”" in seen(page)
        assert page.trouble == []
        context.close()
