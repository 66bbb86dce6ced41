"""Running the jobs of a figure: those that are not cached, on several cores."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import __version__
from ..files import whole_file
from . import papers
from .data import KNOWN, Data
from .figure import Curve, Figure, Job, Measure, Measured
from .results import Results, Row, rows_of


def run(
    paper: str,
    figure: Figure,
    *,
    fast: bool,
    data: Data,
    store: Path,
    workers: int = 1,
    fresh: bool = False,
    done: Callable[[Job], None] = lambda job: None,
) -> Results:
    """Measure every job of a figure, or of the short run, or read what an earlier run measured.

    Jobs whose data set is missing are left out, with the reason. `store` has the cached jobs: one
    is computed again after a change of its setting, of the paper's code, of the data set or of the
    version, and with `fresh` always. `done` is called after each job.
    """
    jobs = figure.jobs_of(fast=fast)
    skipped = {job.key: why for job in jobs if (why := data.lacks(job.needs))}
    runnable = [job for job in jobs if job.key not in skipped]
    store.mkdir(parents=True, exist_ok=True)
    paths = {job.key: store / _cache_name(paper, figure, job, fast) for job in runnable}
    rows: dict[Any, list[Row]] = {}

    def add(job: Job, measured: Mapping[str, Measured | Curve]) -> None:
        rows[job.key] = rows_of(job, measured, _seed(paper, figure, job))
        done(job)

    open_jobs = []
    for job in runnable:
        cached = None if fresh else _read(paths[job.key])
        if cached is None:
            open_jobs.append(job)
        else:
            add(job, cached)
    for job, measured in _measure(paper, figure, open_jobs, fast, data, workers):
        with whole_file(paths[job.key]) as stream:
            stream.write(_to_json(measured))
        add(job, measured)
    return Results((row for job in runnable for row in rows[job.key]), skipped)


def _seed(paper: str, figure: Figure, job: Job) -> int:
    """A job's own seed, the same in every run and whatever other jobs there are."""
    point = "" if job.same_seed else job.x
    text = f"{paper}/{figure.name}/{job.panel}/{point}/{figure.seed}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:6], "big")


def _measure(
    paper: str, figure: Figure, jobs: list[Job], fast: bool, data: Data, workers: int
) -> Iterator[tuple[Job, dict[str, Measured | Curve]]]:
    """Jobs with what they measured, in the order in which they finish."""
    if workers == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, _plain(paper, figure, job, fast, data)
        return
    # Fresh processes: threads of compiled kernels do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context) as pool:
        where = str(data.folder) if data.folder else None
        open_jobs = {
            pool.submit(_in_worker, paper, figure.name, figure.jobs.index(job), fast, where): job
            for job in jobs
        }
        try:
            for future in as_completed(open_jobs):
                yield open_jobs[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _in_worker(
    paper: str, name: str, index: int, fast: bool, folder: str | None
) -> dict[str, Measured | Curve]:
    figure = papers.load(paper).figure(name)
    return _plain(paper, figure, figure.jobs[index], fast, _data(folder))


@cache
def _data(folder: str | None) -> Data:
    """Once for all jobs of a worker."""
    return Data(Path(folder) if folder else None)


def _plain(
    paper: str, figure: Figure, job: Job, fast: bool, data: Data
) -> dict[str, Measured | Curve]:
    """What a job measured, as plain numbers."""
    repeats = figure.repeats_of(job, fast=fast)
    measured = figure.measure(job.setting, repeats, _seed(paper, figure, job), data)
    return {
        series: {x: _numbers(at) for x, at in values.items()}
        if isinstance(values, Mapping)
        else _numbers(values)
        for series, values in measured.items()
    }


def _numbers(values: Measured) -> Measured:
    return float(values) if isinstance(values, float | int) else [float(v) for v in values]


def _cache_name(paper: str, figure: Figure, job: Job, fast: bool) -> str:
    """A name that changes with everything that the outcome depends on."""
    parts: list[Any] = [
        paper,
        figure.name,
        *job.key,
        dict(job.setting),
        figure.repeats_of(job, fast=fast),
        _seed(paper, figure, job),
        [KNOWN[name].sha256 for name in job.needs],
        __version__,
        _code(figure.measure),
    ]
    text = json.dumps(parts, sort_keys=True, default=str).encode()
    return hashlib.sha256(text).hexdigest()[:24] + ".json"


@cache
def _code(measure: Measure) -> str:
    """The code that measures: its module, and what that imports from the paper's folder."""
    package = measure.__module__.rpartition(".")[0]
    modules, unread = set[str](), {measure.__module__}
    while unread:
        name = unread.pop()
        modules.add(name)
        for value in vars(sys.modules[name]).values():
            origin = value.__name__ if isinstance(value, ModuleType) else value.__class__.__module__
            origin = getattr(value, "__module__", None) or origin
            if origin.startswith(f"{package}.") and origin not in modules:
                unread.add(origin)
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(Path(sys.modules[name].__file__ or "").read_bytes())
    return digest.hexdigest()


def _to_json(measured: Mapping[str, Measured | Curve]) -> bytes:
    """A curve is a list of pairs: the keys of a JSON object would all be strings."""
    content = [
        [series, list(values.items()) if isinstance(values, Mapping) else values]
        for series, values in measured.items()
    ]
    return json.dumps(content).encode()


def _read(path: Path) -> dict[str, Measured | Curve] | None:
    """A cached job; one that cannot be read is computed again."""
    try:
        content = json.loads(path.read_text("utf-8"))
        return {series: dict(values) if _is_curve(values) else values for series, values in content}
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _is_curve(values: Any) -> bool:
    return isinstance(values, list) and any(isinstance(value, list) for value in values)


def count(figures: Iterable[Figure], *, fast: bool) -> int:
    """How many jobs there are, for a progress bar."""
    return sum(len(figure.jobs_of(fast=fast)) for figure in figures)
