"""Write docs/errata.md: ``python -m tests.papers``."""

from __future__ import annotations

from .errata import PAGE
from .page import page

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
