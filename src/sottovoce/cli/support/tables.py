"""Estimates as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...files import check_output, whole_file
from .options import PATH

if TYPE_CHECKING:
    from rich.console import Console

    from ...estimate.estimate import Estimate

csv_option = click.option(
    "--csv",
    "csv_path",
    type=PATH,
    metavar="FILE",
    help="Save a tidy table: what each value is, estimate, std_error, low, high.",
)


def check_csv(path: Path | None, *inputs: Path, force: bool = False) -> None:
    """Refuse a table that cannot be saved, before any work; None means no table."""
    if path is not None:
        check_output(path, *inputs, force=force, ends=(".csv",))


def save_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Save columns of equal length; numbers in full, nothing where there is none."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    lists = [x.tolist() if hasattr(x, "tolist") else list(x) for x in columns.values()]
    for row in zip(*lists, strict=True):
        writer.writerow(["" if cell != cell else cell for cell in row])
    with whole_file(path) as stream:
        stream.write(text.getvalue().encode())


def show_csv(out: Console, path: Path | None) -> None:
    """Where the table is, if there is one."""
    if path is not None:
        out.print(f"The table is in {path}.")


def tidy_rows(
    estimate: Estimate, confidence: float, *, simultaneous: bool = False
) -> list[dict[str, Any]]:
    """The same as rows for JSON, where what is not a number is null."""
    rows = estimate.rows(confidence, simultaneous=simultaneous)
    return [{key: None if x != x else x for key, x in row.items()} for row in rows]
