"""How many modules a reader passes through: ``python -m benchmarks.hops``.

Counts the modules of sottovoce in which a function is entered, with `sys.setprofile`. Everything
is run once before, with compiled kernels, so that importing and compiling are not counted;
functions made by dataclasses count for the module of their class.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from sottovoce.kernels.compiling import compile_at_once

#: The most that a reader should have to follow.
MOST = {"estimate of Levels(Sampled(GRR))": 12, "sottovoce aggregate": 18}

STUDY = """\
format = 1
title = "How we get to work"

[[question]]
name = "commute"
values = ["car", "bike", "foot"]
mechanism = "grr"
epsilon = 1.0
"""


def entered(run: Callable[[], Any]) -> list[str]:
    """The modules of sottovoce in which `run` enters a function, in order."""
    run()
    modules: dict[str, None] = {}

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_globals.get("__name__", "")
        if event == "call" and name.split(".")[0] == "sottovoce":
            modules[name] = None

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(modules)


def estimate() -> list[str]:
    """An estimate over levels and rates."""
    import sottovoce as sv

    menu = {
        name: sv.Sampled(sv.GRR(["car", "bike", "foot"], epsilon=epsilon), rate=[0.1, 0.5])
        for name, epsilon in {"strong": 0.5, "weak": 4.0}.items()
    }
    levels = sv.Levels(menu)
    many = 12_000
    reports = levels.randomise(
        ["car", "bike", "foot"] * (many // 3),
        level=["strong", "weak"] * (many // 2),
        rate=[0.1, 0.1, 0.5, 0.5] * (many // 4),
    )
    counts = levels.aggregate(reports)
    return entered(lambda: levels.estimate(counts).values)


def aggregate() -> list[str]:
    """The command that counts a file of reports."""
    from click.testing import CliRunner

    from sottovoce import Study
    from sottovoce.cli import main
    from sottovoce.contract.reports import ReportWriter

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "study.toml").write_text(STUDY)
        mechanism = Study.load(folder / "study.toml").mechanism()
        with ReportWriter(folder / "reports.svr") as writer:
            writer.append(mechanism.randomise(["car", "bike", "foot"] * 100))
        words = ["aggregate", str(folder / "reports.svr"), "--study", str(folder / "study.toml")]
        words += ["--out", str(folder / "counts.sva"), "--force"]

        def run() -> None:
            result = CliRunner().invoke(main, words)
            if result.exit_code:
                raise RuntimeError(result.output)

        return entered(run)


def main() -> None:
    """Print both lists; the exit code says whether they are short enough."""
    compile_at_once()
    lists = dict(zip(MOST, (estimate(), aggregate()), strict=True))
    for name, modules in lists.items():
        print(f"{name}: {len(modules)} modules, at most {MOST[name]}")
        for module in modules:
            print(f"  {module.removeprefix('sottovoce.')}")
    sys.exit(any(len(modules) > MOST[name] for name, modules in lists.items()))


if __name__ == "__main__":
    main()
