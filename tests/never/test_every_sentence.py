"""Every sentence is tested, or waits for a room that does not exist yet."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from .sentences import TESTED, WAITING


def test_all_are_accounted_for() -> None:
    assert sorted([*TESTED, *WAITING]) == list(range(1, 34))


@pytest.mark.parametrize("number", TESTED)
def test_a_tested_sentence_has_its_file(number: int) -> None:
    files = list(Path(__file__).parent.glob(f"test_never_{number:02d}_*.py"))
    assert len(files) == 1
    assert TESTED[number].split(":")[0][:30] in files[0].read_text(encoding="utf-8")


@pytest.mark.parametrize("number", WAITING)
def test_a_waiting_sentence_waits_for_a_room_that_is_not_there(number: int) -> None:
    # When the room is built this fails, and the sentence needs its test.
    room = WAITING[number][0].replace("/", ".")
    try:
        spec = find_spec(f"sottovoce.{room}")
    except ModuleNotFoundError:
        spec = None
    assert spec is None, f"{room} is there now: test sentence {number}"
