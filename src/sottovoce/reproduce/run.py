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
from .results import Results, Row, rows_of, seed_of


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
    """Measure every job of a figure, or read what an earlier run measured.

    Parameters
    ----------
    paper : str
        The paper's name.
    figure : Figure
        What to measure.
    fast : bool
        The short run: some of the jobs, with fewer repeats.
    data : Data
        The data sets; jobs whose data set is missing are left out, with the reason.
    store : path
        The folder of cached jobs. A job is computed again after a change of its setting, of the
        paper's code, of the data set or of the version.
    workers : int
        Processes to use.
    fresh : bool
        Compute everything again.
    done : callable
        Called after each job.
    """
    jobs = jobs_of(figure, fast=fast)
    skipped = {(job.panel, job.x): why for job in jobs if (why := data.lacks(job.needs))}
    runnable = [job for job in jobs if (job.panel, job.x) not in skipped]
    store.mkdir(parents=True, exist_ok=True)
    rows: dict[Any, list[Row]] = {}
    open_jobs = []
    for job in runnable:
        path = store / _cache_name(paper, figure, job, fast)
        cached = None if fresh else _read(path)
        if cached is None:
            open_jobs.append(job)
        else:
            rows[_key(job)] = rows_of(job, cached, _seed(paper, figure, job))
            done(job)
    for job, measured in _measured(paper, figure, open_jobs, fast, data, workers):
        with whole_file(store / _cache_name(paper, figure, job, fast)) as stream:
            stream.write(_to_json(measured))
        rows[_key(job)] = rows_of(job, measured, _seed(paper, figure, job))
        done(job)
    return Results((row for job in runnable for row in rows[_key(job)]), skipped)


def jobs_of(figure: Figure, *, fast: bool) -> list[Job]:
    """The jobs of the full or of the short run."""
    return [job for job in figure.jobs if job.fast or not fast]


def repeats_of(figure: Figure, job: Job, *, fast: bool) -> int:
    """How often a job is repeated."""
    if fast:
        return figure.fast_repeats
    return job.repeats or figure.repeats


def _key(job: Job) -> Any:
    return job.panel, job.x


def _seed(paper: str, figure: Figure, job: Job) -> int:
    return seed_of(paper, figure.name, job, figure.seed)


def _measured(
    paper: str, figure: Figure, jobs: list[Job], fast: bool, data: Data, workers: int
) -> Iterator[tuple[Job, dict[str, Measured | Curve]]]:
    """Jobs with what they measured, in the order in which they finish."""
    if workers == 1 or len(jobs) < 2:
        for job in jobs:
            yield job, _plain(figure, job, fast, _seed(paper, figure, job), data)
        return
    # Fresh processes: threads of compiled kernels do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context) as pool:
        where = str(data.folder) if data.folder else None
        index = {_key(job): k for k, job in enumerate(figure.jobs)}
        open_jobs = {
            pool.submit(_in_worker, paper, figure.name, index[_key(job)], fast, where): job
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
    job = figure.jobs[index]
    return _plain(figure, job, fast, _seed(paper, figure, job), _data(folder))


@cache
def _data(folder: str | None) -> Data:
    """Once for all jobs of a worker."""
    return Data(Path(folder) if folder else None)


def _plain(
    figure: Figure, job: Job, fast: bool, seed: int, data: Data
) -> dict[str, Measured | Curve]:
    """What a job measured, as plain numbers."""
    repeats = repeats_of(figure, job, fast=fast)
    measured = figure.measure(job.setting, repeats, seed, data)
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
        job.panel,
        job.x,
        dict(job.setting),
        repeats_of(figure, job, fast=fast),
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
    return sum(len(jobs_of(figure, fast=fast)) for figure in figures)
