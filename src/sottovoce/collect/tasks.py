"""Tasks of a cluster: parts that one worker counts together."""

from __future__ import annotations

from collections.abc import Sequence

from . import counting
from .counting import Job, Part, Partial, count_part

_PARTS = 4  # of a task, which itself costs milliseconds


def tasks_of(job: Job, parts: Sequence[Part]) -> list[list[Part]]:
    """Parts by task; many small files share one."""
    enough = _PARTS * counting.part_rows(job) * job.collection.report_bytes
    tasks: list[list[Part]] = []
    size = enough
    for part in parts:
        if size >= enough:
            tasks.append([])
            size = 0
        tasks[-1].append(part)
        size += part.size
    return tasks


def count_task(job: Job, parts: Sequence[Part]) -> list[Partial]:
    """The results of one task."""
    return [count_part(job, part) for part in parts]
