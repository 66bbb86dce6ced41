"""Measure everything in one run and write the page: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from . import accuracy, audits, first_use, memory, ours, peers, personal, scaling, secure
from .machine import FULL, QUICK, Effort, cores, describe

HEADER = """# Benchmarks

Written by `make bench`; every figure comes from one run of it. Sottovoce draws from the system's
cryptographic randomness and samples exactly, throughout.
"""
PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"


def page(effort: Effort, picture: Path) -> str:
    """Measure, and return the page; the plot goes to `picture`."""
    start = time.perf_counter()
    machine = describe()
    figures, beside = ours.measure(effort)
    with cores(1):
        differing = personal.measure(effort)
        rivals = peers.installed()
        results = peers.race(rivals, effort)
        lines = scaling.measure(effort)
        known = any(peer.name == "multi-freq-ldpy" for peer in rivals)
        clipping = accuracy.against_clipping(effort) if known else None
        likely = accuracy.likelihood(effort)
        many = accuracy.many_values(effort)
    heavy, cached = ours.decode(effort), ours.cached_gain(effort)
    with cores(1):
        guesses = peers.guesses(rivals, heavy.n, effort)
    examined = audits.measure(effort)
    files = memory.measure(effort)
    first = first_use.measure(effort)
    protocols, client = secure.measure(effort), secure.client_side(effort.people(100_000))
    scaling.plot(lines, picture)
    parts = [
        HEADER,
        ours.section(figures, beside, heavy, cached, personal.slow(differing)),
        personal.section(differing),
        peers.section(rivals, results, heavy, guesses),
        accuracy.section(clipping, likely, many),
        scaling.section(lines, f"{picture.parent.name}/{picture.name}"),
        memory.section(*files),
        first_use.section(first),
        audits.section(examined),
        secure.section(protocols, client),
        f"Machine: {machine}. The run took {time.perf_counter() - start:.0f} s.\n",
    ]
    return "\n".join(parts)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    if options.quick and options.write == PAGE:
        parser.error("--quick measures nothing worth keeping; say where with --write")
    picture = options.write.parent / "img" / "bench-scaling.png"
    text = page(QUICK if options.quick else FULL, picture)
    options.write.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
