"""``sottovoce reproduce``: run the experiments of the papers again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .support.command import Output, heading, progress, show_rows
from .support.numbers import IntRange
from .support.options import json_output

if TYPE_CHECKING:
    from rich.console import Console

    from ..reproduce.figure import Paper
    from ..reproduce.write import Reproduced


@click.command()
@click.argument("paper", required=False)
@click.argument("figure", required=False)
@click.option("--fast", is_flag=True, help="Fewer points and repeats: minutes instead of hours.")
@click.option(
    "--data",
    "data_folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder with the data sets; by default the one that SOTTOVOCE_DATA names.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduced"),
    show_default=True,
    help="The folder for results, pictures and the cache.",
)
@click.option(
    "--workers",
    type=IntRange(1, 1024),
    default=None,
    help="Number of processes; by default one for each core.",
)
@click.option("--fresh", is_flag=True, help="Compute again what an earlier run has cached.")
@click.option("--list", "only_list", is_flag=True, help="List papers, figures and tables.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Make this full run the expected one; pictures for the documentation go to this folder.",
)
@json_output
def reproduce(
    paper: str | None,
    figure: str | None,
    fast: bool,
    data_folder: Path | None,
    workers: int | None,
    fresh: bool,
    only_list: bool,
    record: Path | None,
    output: Output,
) -> None:
    """Reproduce the figures and tables of the papers.

    Runs all of them, those of one PAPER, or one FIGURE. Every point is compared with the results
    that come with Sottovoce, and every claim of the paper is judged. Finished points are
    cached, so an interrupted run continues where it stopped.

    \b
    Examples:
      sottovoce reproduce --list
      sottovoce reproduce node-sampling figure-1 --fast
      sottovoce reproduce --data folder --out results

    Results drawn from a seed show accuracy; they carry no guarantee. The exit code is 1 when
    results differ from the expected ones by more than chance explains.

    Next: the pictures and tables in the folder of --out.
    """  # noqa: D301
    from ..parallel import cores
    from ..reproduce import papers
    from ..reproduce.data import Data, folder_from
    from ..reproduce.run import count, run
    from ..reproduce.write import Reproduced, write
    from ..reproduce.write import record as record_results

    if record is not None and fast:
        raise click.UsageError("--record needs a full run, without --fast")
    chosen = [papers.load(name) for name in ([paper] if paper else papers.names())]
    if only_list:
        _show_list(chosen, output)
        return
    data = Data(folder_from(data_folder))
    figures = [[item.figure(figure)] if figure else list(item.figures) for item in chosen]
    outcome: list[tuple[Paper, list[Reproduced]]] = []
    total = sum(count(list_of, fast=fast) for list_of in figures)
    finished = 0
    with progress("reproducing", total) as advance:

        def step(jobs: int) -> None:
            nonlocal finished
            finished += jobs
            advance(finished)

        for item, list_of in zip(chosen, figures, strict=True):
            done = []
            for one in list_of:
                results = run(
                    item.name,
                    one,
                    fast=fast,
                    data=data,
                    store=output.out / "cache",
                    workers=workers or cores(),
                    fresh=fresh,
                    done=lambda job: step(1),
                )
                step(len(results.skipped))
                done.append(Reproduced.of(item, one, results))
                write(output.out / item.name, done[-1])
            if record is not None:
                record_results(item, done, record)
            outcome.append((item, done))
    about = {item.name: [one.as_dict() for one in done] for item, done in outcome}
    screen = output.begin(about)
    if screen is not None:
        _show(screen, outcome, fast)
        screen.print(f"Results and pictures are in {output.out}.", highlight=False)
    if record is None and any(not one.comparison.agrees for _, done in outcome for one in done):
        raise click.exceptions.Exit(1)


def _show_list(chosen: list[Paper], output: Output) -> None:
    """Papers, figures, and the data sets they need."""
    about: dict[str, Any] = {
        paper.name: [
            {
                "figure": figure.name,
                "title": figure.title,
                "needs": sorted({name for job in figure.jobs for name in job.needs}),
                "points": len(figure.jobs),
            }
            for figure in paper.figures
        ]
        for paper in chosen
    }
    screen = output.begin(about)
    if screen is None:
        return
    for paper in chosen:
        screen.print(heading(paper.name), paper.title, highlight=False)
        rows = about[paper.name]
        cells = ([x["figure"], x["title"], ", ".join(x["needs"]) or "synthetic"] for x in rows)
        show_rows(screen, ["figure", "shows", "data"], cells, left=3)


def _show(screen: Console, outcome: list[tuple[Paper, list[Reproduced]]], fast: bool) -> None:
    """What was run, how it compares, and what became of the claims."""
    for paper, done in outcome:
        screen.print(heading(f"{paper.name}: {paper.title}"))
        rows = []
        for one in done:
            points = f"{len(one.results)}"
            if one.results.skipped:
                points += f" ({len(one.results.skipped)} left out)"
            same = one.comparison.compared - len(one.comparison.differing)
            compared = f"{same} of {one.comparison.compared}" if one.comparison.compared else "–"
            judged = [v for v in one.verdicts if v.outcome != "cannot be checked"]
            hold = sum(v.outcome == "holds" for v in judged)
            verdicts = f"{hold} of {len(judged)}" if judged else "–"
            rows.append([one.figure.name, points, compared, verdicts])
        show_rows(screen, ["figure", "points", "as expected", "claims that hold"], rows)
        for reason in sorted({why for one in done for why in one.results.skipped.values()}):
            screen.print(f"Left out: {reason}.", highlight=False)
        for one in done:
            for line in one.comparison.differing[:5]:
                screen.print(f"{one.figure.name} differs: {line}", style="red", highlight=False)
    if fast:
        screen.print("A short run; without --fast every point of the paper is measured.")
