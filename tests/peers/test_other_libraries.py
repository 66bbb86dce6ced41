"""The page for people who come from other libraries: its snippets run and agree."""

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "other-libraries.md"
TRUTH = [0.5, 0.1, 0.3, 0.1]
#: 6 standard errors of OUE at ε = 1 with 20,000 people; GRR's are smaller.
MARGIN = 6 * 2 * np.sqrt(np.e) / (np.e - 1) / np.sqrt(20_000)
LIBRARIES = {"pure-ldp": "pure_ldp", "multi-freq-ldpy": "multi_freq_ldpy", "OpenDP": "opendp"}


def snippets(section: str) -> list[str]:
    text = PAGE.read_text("utf-8")
    part = text.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```(?:python|py)\n(.*?)```", part, re.DOTALL)


@pytest.mark.parametrize("section", LIBRARIES)
def test_the_same_task_gives_the_same_fractions(section) -> None:
    pytest.importorskip(LIBRARIES[section])
    space: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0], space)
    with contextlib.redirect_stdout(io.StringIO()):
        exec(snippets(section)[0], space)
    assert np.abs(np.asarray(space["fractions"]) - TRUTH).max() < MARGIN
