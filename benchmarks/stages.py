"""Where `sottovoce randomise` spends its time on a large CSV file, stage by stage.

Each stage runs alone over the whole file, in this process; its cost is CPU time of all threads.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sottovoce import Study
from sottovoce.collect.fingerprint import Fingerprint
from sottovoce.collect.ledger import sha256
from sottovoce.collect.source import Source
from sottovoce.contract.reports import ReportWriter
from sottovoce.domain.columns import as_column

_ROWS = 1 << 18


@dataclass(frozen=True)
class Stage:
    """One step of the command."""

    name: str
    cpu_seconds: float


def measure(answers: Path, study: Path, column: str) -> list[Stage]:
    """The stages in the order in which the command runs them."""
    collection = Study.load(study).collection(column)
    source = Source.of(answers, collection)
    (one,) = source.answers
    _randomise_some(source)
    times = dict.fromkeys(_STAGES, 0.0)

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        start = time.process_time()
        yield
        times[name] += time.process_time() - start

    fingerprint = Fingerprint(bytes(32), source.names)
    out = answers.parent / "stages.svr"
    chunks = source.columns.chunks(_ROWS, lambda done: None)
    with ReportWriter(out, "svr") as writer:
        while True:
            with timed(_PARSE):
                first, chunk = next(chunks, (0, None))
            if chunk is None:
                break
            with timed(_LOOK_UP):
                cells = as_column(chunk[column])
                coded = one.coded(cells, first)
            with timed(_FINGERPRINT):
                fingerprint.add([fingerprint.tags(one.domain, cells)])
            with timed(_DRAW):
                batch = collection.randomise(coded)
            with timed(_WRITE):
                writer.append(batch)
    with timed(_WRITE):
        sha256(out)
    return [Stage(name, seconds) for name, seconds in times.items()]


def _randomise_some(source: Source) -> None:
    """Compile what will be needed."""
    _, chunk = next(source.columns.chunks(_ROWS, lambda done: None))
    coded = source.answers[0].coded(as_column(chunk[source.names[0]]), 0)
    source.collection.randomise(coded)


_PARSE, _LOOK_UP = "parse the CSV file", "check answers, look up their codes"
_FINGERPRINT, _DRAW = "fingerprint for the receipt", "randomise"
_WRITE = "write reports and their digest"
_STAGES = (_PARSE, _LOOK_UP, _FINGERPRINT, _DRAW, _WRITE)


def section(stages: list[Stage], people: int) -> str:
    """The part of the page."""
    total = sum(stage.cpu_seconds for stage in stages)
    lines = [
        f"Where `randomise` spends its time on these {people:,} people, each stage measured alone.",
        "The file is parsed on one core while answers are looked up and fingerprinted on another;",
        "then the reports are drawn on all cores.",
        "",
        "| stage of randomise | s of CPU | of the total |",
        "| --- | ---: | ---: |",
    ]
    lines += [
        f"| {stage.name} | {stage.cpu_seconds:.2f} | {stage.cpu_seconds / total:.0%} |"
        for stage in stages
    ]
    return "\n".join(lines) + "\n"
