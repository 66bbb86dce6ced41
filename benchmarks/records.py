"""Joint distributions from records, and their speed: ``python -m benchmarks.records``.

The data sets are read from the folder that SOTTOVOCE_DATA names. Every part is a section of its
own, so that ``--only car`` measures one again and leaves the others.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sottovoce.records.joint.evidence import FewTogetherWarning

from .records_accuracy import RUNS, accuracy
from .records_choice import choice
from .records_intervals import intervals
from .records_joint import joint
from .records_speed import speed

PAGE = Path(__file__).parents[1] / "docs" / "records-benchmarks.md"
HEADER = """# Benchmarks of records

Written by `python -m benchmarks.records`. Each section comes from the latest run of its part
(`--only`): they were not measured in one run, nor all with the same version of the code.

AVD is half the sum of absolute differences between the estimated and the true table, averaged over
all sets of k attributes and all runs. Everyone reports m of five attributes (m uniform on 1 to 5,
attributes uniform) and allocates a total of 2m at random (Dirichlet(1)); the allocation is hidden.
`lasso` is the published method (PLDP), made to sum to one; `lopub-1` to `lopub-3` are the methods
its paper compares with. `kronecker` is projected, and for at most two attributes. t* is the number
of steps of `em-ll2` chosen by held-out likelihood; `em-ll2`, stop=500 takes 500 steps from
unsmoothed attributes. The reference is the mean of three (Car) or four (Adult) earlier runs; the sd
between runs shows its own error. The last row is the fraction of cells inside the default's 95 %
intervals in the first two runs.
"""
#: The sections in order, and what writes each.
PARTS: dict[str, Callable[[], str]] = {
    **{name: partial(accuracy, name) for name in RUNS},
    "choice": choice,
    "intervals": intervals,
    "speed": speed,
    "joint": joint,
}


def sections(text: str) -> dict[str, str]:
    """The sections of the page by their headings."""
    parts = re.split(r"(?m)^(?=## )", text)[1:]
    return {part.splitlines()[0][3:].lower(): part.rstrip("\n") + "\n" for part in parts}


def main() -> None:
    """Measure what was asked for, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.records", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="parts to measure")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", FewTogetherWarning)  # of Car, whose pairs tell little
    for part in options.only or PARTS:
        section = PARTS[part]()
        print(section)
        page = options.write
        kept = sections(page.read_text(encoding="utf-8")) if page.exists() else {}
        kept[part] = section
        ordered = [kept[name] for name in PARTS if name in kept]
        page.write_text("\n".join([HEADER, *ordered]), encoding="utf-8")


if __name__ == "__main__":
    main()
