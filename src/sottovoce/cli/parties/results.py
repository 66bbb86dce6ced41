"""The curator's end of a run: everything is released, or nothing is."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...checks import printable
from ...files import check_output
from ..support.command import console, facts, heading, plural, print_json, show_table
from ..support.estimates import show_estimate, tidy_rows
from ..support.guarantees import show_guarantee
from ..support.saving import save_csv

if TYPE_CHECKING:
    from rich.console import Console

    from ...estimate.table import Table
    from ...parties.run import Run
    from ...promise import Guarantee
    from ...study.parties import PartyStudy
    from ...transport.network import Played


@dataclass
class Release:
    """What a run releases, and where to.

    Files are a page (`report`), the aggregates (`out`) and the tables (`csv`), numbered where there
    are several.
    """

    study: PartyStudy
    report: Path | None
    out: Path | None
    _: KW_ONLY
    confidence: float
    force: bool
    csv: Path | None = None
    run: Run | None = None  # with a result, at the end
    failure: Exception | None = None

    @property
    def outputs(self) -> list[Path]:
        """The files of the aggregates."""
        return _numbered_files(self.out, len(self.study.protocol.plan(None).releases))

    @property
    def tables(self) -> list[Path]:
        """The CSV files of the tables."""
        return _numbered_files(self.csv, len(self.study.marginals))

    def check_files(self, *inputs: Path) -> None:
        """Refuse what cannot be written before anyone has spent anything."""
        if self.report is not None:
            check_output(self.report, *inputs, force=self.force, ends=(".html",))
        for path in self.outputs:
            check_output(path, *inputs, force=self.force, ends=(".sva",))
        for path in self.tables:
            check_output(path, *inputs, force=self.force, ends=(".csv",))

    def finish(self, played: Played) -> None:
        """Compute everything, then write it; a crash before the end is resumed here."""
        from ...errors import ShareError
        from ...files import whole_file
        from .report import report_page

        try:
            self.run = self.study.protocol.outcome(played.state)
        except ShareError as error:
            self.failure = error
            return
        contents = [aggregate.to_bytes() for aggregate in self.run.aggregates]
        if self.report is not None:
            page = report_page(self.study, self.run, self.about(played), self.confidence)
            with whole_file(self.report) as stream:
                stream.write(page.encode())
        for path, content in zip(self.outputs, contents, strict=False):
            with whole_file(path) as stream:
                stream.write(content)
        for path, table in zip(self.tables, self.run.estimates, strict=False):
            save_csv(path, table.columns(self.confidence))

    def about(self, played: Played) -> dict[str, Any]:
        """The run itself, as plain data."""
        return {
            "title": self.study.title,
            "study": self.study.digest.hex(),
            "session": played.session.hex(),
            "rehearsal": self.study.rehearsal,
            "refused": list(played.refused),
            "too_late": list(played.missing),
            "bytes_sent": played.bytes_sent,
            "bytes_received": played.bytes_received,
            "spent": self.study.protocol.spent(None),
        }

    def require_result(self, played: Played) -> None:
        """Raise a ShareError where there is none."""
        from ...errors import ShareError

        if self.run is None:
            late = f". Too late: {', '.join(played.missing)}" if played.missing else ""
            refused = f". Refused: {'; '.join(played.refused)}" if played.refused else ""
            raise ShareError(f"{self.failure}{late}{refused}") from self.failure

    def show(self, run: Run, played: Played, *, full: bool, as_json: bool) -> None:
        """The tables, with each party's guarantee in a line."""
        if as_json:
            print_json(self._json(run, played))
            return
        screen = console()
        mark = " (rehearsal with synthetic rows)" if self.study.rehearsal else ""
        screen.print(heading(f"{self.study.title}{mark}"))
        for table in run.estimates:
            people = plural(table.n, "person", "people")
            screen.print(f"\n{printable(table.name)}: {people}; {printable(table.method)}")
            show_estimate(screen, table, self.confidence)
        for party in run.dropped:
            screen.print(f"\nDropped out: {printable(party)}", style="yellow")
        for reason in (*played.refused, *played.missing):
            screen.print(f"\nNot counted: {printable(reason)}", style="yellow")
        screen.print()
        show_promises(screen, run.guarantee, full=full)
        screen.print()
        files = [("report", self.report)] + [("aggregate", path) for path in self.outputs]
        files += [("table", path) for path in self.tables]
        show_table(screen, facts([(name, str(path)) for name, path in files if path is not None]))

    def _json(self, run: Run, played: Played) -> dict[str, Any]:
        return {
            **self.about(played),
            "tables": [self._table_json(table) for table in run.estimates],
            "dropped": list(run.dropped),
            "guarantee": run.guarantee.as_dict(),
            "report": None if self.report is None else str(self.report),
            "aggregates": [str(path) for path in self.outputs],
        }

    def _table_json(self, table: Table) -> dict[str, Any]:
        return {
            "attributes": table.names,
            "people": table.n,
            "method": table.method,
            "biased": table.biased,
            "assuming": table.assuming,
            "confidence": self.confidence,
            "values": tidy_rows(table, self.confidence),
        }


def _numbered_files(path: Path | None, n: int) -> list[Path]:
    """The files of n things, numbered where there are several."""
    if path is None or n == 1:
        return [] if path is None else [path]
    return [path.with_stem(f"{path.stem}-{k}") for k in range(1, n + 1)]


def show_promises(screen: Console, guarantee: Guarantee, *, full: bool) -> None:
    """A line for every party, or all words."""
    if full:
        show_guarantee(screen, guarantee)
        return
    for line in guarantee.lines():
        screen.print(printable(line), soft_wrap=True)
    screen.print("details: --guarantee", style="dim")
