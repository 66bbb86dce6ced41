"""Every sentence is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from .sentences import TESTED


def test_all_are_accounted_for() -> None:
    assert sorted(TESTED) == list(range(1, 34))


@pytest.mark.parametrize("number", TESTED)
def test_a_tested_sentence_has_its_file(number: int) -> None:
    files = list(Path(__file__).parent.glob(f"test_never_{number:02d}_*.py"))
    assert len(files) == 1
    assert TESTED[number].split(":")[0][:30] in files[0].read_text(encoding="utf-8")
