"""Marginals between parties: ``python -m benchmarks.parties`` writes docs/parties-benchmarks.md.

The data sets are read from the folder that SOTTOVOCE_DATA names. Every part is a section of its
own, so that ``--only speed`` measures one again and leaves the others.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path

from .machine import describe
from .parties_accuracy import columns_section, rows_section
from .parties_configurations import grid_section, schemas_section
from .parties_coverage import coverage_section
from .parties_speed import speed_section
from .parties_steps import steps_section

PAGE = Path(__file__).parents[1] / "docs" / "parties-benchmarks.md"
HEADER = """# Benchmarks of marginals between parties

Written by `python -m benchmarks.parties`. TV is half the sum of absolute differences between the
released and the true table; ± is one standard error over the repeats. "One noise" is noise that
the parties generate together, once (`noise="oblivious"`); noise made of shares that tolerate t of
K colluding parties has K/(K − t) times its variance. "Known" figures are another implementation's.
Each section comes from the latest run of its part (`--only`). The machine was busy with other work,
so times are upper limits.
"""


#: Sections in the order of the page.
PARTS: dict[str, Callable[[], str]] = {
    "rows-nltcs": lambda: rows_section("nltcs", (3,), 200),
    "rows-adult": lambda: rows_section("adult", (2, 3), 40),
    "rows-adult-all": lambda: rows_section(
        "adult-all", (2, 3), 40, ("sjs", "mhst", "mh", "independent", "sah", "sth")
    ),
    "grid": lambda: grid_section(100, 100),
    "columns-nltcs": lambda: columns_section("nltcs", 100),
    "columns-adult": lambda: columns_section("adult", 40),
    "schemas": lambda: schemas_section(50, 20),
    "coverage": lambda: coverage_section(20_000, 2_000),
    "steps": steps_section,
    "speed": speed_section,
}


def main() -> None:
    """Measure some parts, or all, and write them into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.parties", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, help="measure these parts again")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    text = options.write.read_text() if options.write.exists() else ""
    marks = "<!-- {} -->"
    sections = dict(re.findall(r"<!-- (\S+) -->\n(.*?)(?=<!-- |\Z)", text, re.S))
    for part in options.only or PARTS:
        start = time.perf_counter()
        body = PARTS[part]()
        took = f"Took {time.perf_counter() - start:.0f} s on {describe()}.\n"
        sections[part] = f"{body}\n{took}\n"
        ordered = [name for name in (*PARTS, *sections) if name in sections]
        parts = [f"{marks.format(name)}\n{sections[name]}" for name in dict.fromkeys(ordered)]
        options.write.write_text(f"{HEADER}\n{''.join(parts)}".rstrip() + "\n")
        print(body, took, sep="\n", flush=True)


if __name__ == "__main__":
    main()
