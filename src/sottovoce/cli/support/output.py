"""How a result is shown, and the files it goes to: each is written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ...errors import ParameterError
from ...files import check_output
from .estimates import estimate_json, show_estimate
from .options import (
    PATH,
    allow_equal_option,
    confidence_option,
    csv_option,
    force_option,
    gather,
    guarantee_option,
    json_option,
    together,
)
from .saving import PICTURES, save_csv, save_figure
from .show import console, heading, print_json, show_outcome

if TYPE_CHECKING:
    from rich.console import Console

    from ...estimate.estimate import Estimate

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Output:
    """The options below, as far as a command has them."""

    as_json: bool
    full: bool = False
    force: bool = False
    out: Path = Path()
    picture: Path | None = None
    csv_path: Path | None = None
    confidence: float = 0.95
    simultaneous: bool = False
    sort: bool = False

    @property
    def intervals(self) -> dict[str, Any]:
        """Which intervals are shown."""
        return {"confidence": self.confidence, "simultaneous": self.simultaneous}

    def check(self, *inputs: Path, ends: tuple[str, ...] = ()) -> None:
        """Refuse files that cannot be written, before any work; `ends` are those of --out."""
        if ends:
            check_output(self.out, *inputs, force=self.force, ends=ends)
        if self.picture is not None:
            if self.picture.suffix.lower() not in PICTURES:
                raise ParameterError(
                    f"a picture cannot be saved as {self.picture.name!r}; its name must end in "
                    f"{', '.join(PICTURES)}"
                )
            check_output(self.picture, *inputs, force=self.force)
        if self.csv_path is not None:
            check_output(self.csv_path, *inputs, force=self.force, ends=(".csv",))

    def save(self, draw: Callable[[], Any], estimate: Estimate | None = None) -> None:
        """Write the picture that `draw` makes, and the table of the estimate, where asked for."""
        if self.picture is not None:
            save_figure(draw, self.picture)
        if self.csv_path is not None and estimate is not None:
            save_csv(self.csv_path, estimate.columns(**self.intervals))

    def begin(self, about: dict[str, Any], title: str = "") -> Console | None:
        """The screen, with the title on it; None where one JSON object was printed instead."""
        if self.as_json:
            print_json(about)
            return None
        screen = console()
        if title:
            screen.print(heading(title))
        return screen

    def show(self, about: dict[str, Any], title: str, *rows: Any, **more: Any) -> None:
        """What a command has done: one JSON object, or a text of the parts of `show_outcome`."""
        screen = self.begin(about, title)
        if screen is not None:
            show_outcome(screen, *rows, **more)

    def plot(self) -> dict[str, str | None]:
        """Where the picture is, for JSON."""
        return {"plot": None if self.picture is None else str(self.picture)}

    def estimate_json(self, estimate: Estimate, reports: int) -> dict[str, Any]:
        """An estimate as plain data."""
        shown = {"simultaneous": self.simultaneous}
        return estimate_json(estimate, self.confidence, reports, self.picture, **shown)

    def show_estimate(self, out: Console, estimate: Estimate, **more: Any) -> None:
        """An estimate as a table."""
        show_estimate(out, estimate, **self.intervals, sort=self.sort, **more)

    def show_files(self, out: Console) -> None:
        """Where picture and table are, if there are any."""
        for what, path in (("picture", self.picture), ("table", self.csv_path)):
            if path is not None:
                out.print(f"The {what} is in {path}.")


#: Passes --json and whatever other options of a result there are as one `Output`.
with_output = gather("output", Output)

simultaneous_option = click.option(
    "--simultaneous",
    is_flag=True,
    help="Wider intervals, which hold for all values at once and not each on its own.",
)
sort_option = click.option(
    "--sort", is_flag=True, help="Largest first, in table and picture; else as declared."
)


def plot_option(words: str = "Save a picture: .png, .svg, .pdf.") -> Callable[[F], F]:
    """--plot FILE."""
    return click.option("--plot", "picture", type=PATH, metavar="FILE", help=words)


json_output = together(json_option, with_output)
file_output = together(force_option, json_output)
full_output = together(guarantee_option, file_output)
#: All options of a command that estimates.
result_options = together(
    confidence_option,
    simultaneous_option,
    sort_option,
    plot_option(),
    csv_option,
    allow_equal_option,
    full_output,
)
