"""Notebooks are the pages, cell by cell; what the pages show is run elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

import notebooks  # noqa: E402


@pytest.mark.fast
@pytest.mark.parametrize("name", notebooks.PAGES)
def test_a_notebook_fits_its_page(name):
    text = (DOCS / "notebooks" / f"{name}.ipynb").read_text("utf-8")
    wanted = notebooks.text_of(DOCS / f"{name}.md")
    assert text == wanted, "run: python docs/_ext/notebooks.py"


@pytest.mark.fast
@pytest.mark.parametrize("name", notebooks.PAGES)
def test_cells_are_code_with_outputs_and_text_between(name):
    cells = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert any(cell["outputs"] for cell in code)
    for cell in code:
        compile("\n".join(x for x in cell["source"].splitlines() if x[:1] != "!"), name, "exec")
    assert not any("```" in cell["source"] for cell in code)
