"""The files of a reproduction: results, pictures, and the tables in a paper's README."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..files import whole_file
from . import papers
from .compare import Comparison, compare, judged, recorded
from .draw import draw
from .figure import Figure, Paper, Verdict
from .results import Results, Row

_BEGIN, _END = "<!-- results: begin -->", "<!-- results: end -->"


@dataclass(frozen=True)
class Reproduced:
    """One figure, measured, compared and judged."""

    figure: Figure
    results: Results
    comparison: Comparison
    verdicts: list[Verdict]
    expected: Mapping[str, Any]

    @classmethod
    def of(cls, paper: Paper, figure: Figure, results: Results) -> Reproduced:
        """Compare and judge what was measured."""
        entry = papers.expected(paper.name).get(figure.name, {})
        return cls(figure, results, compare(figure, results, entry), judged(figure, results), entry)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "figure": self.figure.name,
            "title": self.figure.title,
            "rows": [row.as_dict() for row in self.results],
            "skipped": [
                {"panel": panel, "x": x, "reason": reason}
                for (panel, x), reason in self.results.skipped.items()
            ],
            "compared": self.comparison.compared,
            "differing": list(self.comparison.differing),
            "claims": _claims(self),
        }


def write(folder: Path, reproduced: Reproduced) -> list[Path]:
    """Write a figure's JSON, CSV and picture into a folder; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name = reproduced.figure.name
    table = io.StringIO(newline="")
    rows = [row.as_dict() for row in reproduced.results]
    if rows:
        writer = csv.DictWriter(table, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    paths = [folder / f"{name}.json", folder / f"{name}.csv"]
    contents = [json.dumps(reproduced.as_dict(), indent=1, ensure_ascii=False), table.getvalue()]
    for path, content in zip(paths, contents, strict=True):
        with whole_file(path) as stream:
            stream.write(content.encode())
    if reproduced.figure.kind != "table" and rows:
        paths.append(folder / f"{name}.png")
        picture(paths[-1], reproduced)
    return paths


def picture(path: Path, reproduced: Reproduced) -> None:
    """Draw a figure into a PNG file."""
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    drawn = draw(reproduced.figure, reproduced.results, reproduced.expected)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as stream:
        drawn.savefig(stream, format="png", dpi=110, metadata={"Software": None})
    plt.close(drawn)


def record(paper: Paper, reproduced: list[Reproduced], pictures: Path) -> None:
    """Make these results the expected ones: `expected.json`, README tables, and pictures.

    Published numbers in `expected.json` and the README's own words stay as they are.
    """
    folder = papers.home() / paper.name
    entries = papers.expected(paper.name)
    for item in reproduced:
        if item.results.skipped:
            raise FileError(
                f"{item.figure.name} is incomplete and is not recorded: "
                f"{next(iter(item.results.skipped.values()))}"
            )
        rows = [[_short(value) for value in row.as_dict().values()] for row in item.results]
        entry = entries.setdefault(item.figure.name, {"published": []})
        entry["ours"] = {"columns": [column.name for column in fields(Row)], "rows": rows}
        entry["claims"] = _claims(item)
        if item.figure.kind != "table":
            picture(pictures / f"{paper.name}-{item.figure.name}.png", item)
    ordered = {figure.name: entries[figure.name] for figure in paper.figures
               if figure.name in entries}  # fmt: skip
    content = {"paper": paper.title, "citation": paper.citation, "figures": ordered}
    with whole_file(folder / "expected.json") as stream:
        stream.write(_compact(content).encode())
    readme = folder / "README.md"
    text = readme.read_text("utf-8") if readme.exists() else f"{_BEGIN}\n{_END}\n"
    before, _, rest = text.partition(_BEGIN)
    after = rest.partition(_END)[2]
    block = f"{_BEGIN}\n{tables(paper, ordered)}{_END}"
    with whole_file(readme) as stream:
        stream.write(f"{before}{block}{after}".encode())


def tables(paper: Paper, entries: Mapping[str, Any]) -> str:
    """The part of a README that comes from `expected.json`: verdicts, and where to look."""
    lines = ["| | the paper says | our result | numbers |", "|---|---|---|---|"]
    for figure in paper.figures:
        for claim in entries.get(figure.name, {}).get("claims", []):
            said = f"{claim['text']} ({claim['where']})"
            cells = (label(figure.name), said, f"**{claim['outcome']}**", claim["because"])
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    for figure in paper.figures:
        entry = entries.get(figure.name)
        if entry is None:
            continue
        rows = recorded(entry)
        lines += ["", f"## {label(figure.name)}: {figure.title}", ""]
        if figure.kind == "table":
            lines += _table(figure, rows, entry)
        else:
            address = f"../../docs/img/papers/{paper.name}-{figure.name}.png"
            lines += [f"![{figure.title}]({address})", "", *_stated(rows, entry)]
        lines += [_about(figure, rows)]
        if figure.differences:
            lines += ["", figure.differences]
    return "\n".join(lines) + "\n"


def label(name: str) -> str:
    """`figure-1` → ``Figure 1``."""
    return name.replace("-", " ").capitalize()


def _about(figure: Figure, rows: list[Row]) -> str:
    """People, repeats, seeds and standard errors of a figure, in one line."""
    people = sorted({row.people for row in rows if row.people})
    repeats = sorted({row.repeats for row in rows})
    errors = [row.std_error / abs(row.value) for row in rows if row.repeats > 1 and row.value]
    parts = []
    if people:
        parts.append(f"n = {_range(people)}")
    if repeats[-1]:
        parts.append(f"{_range([r for r in repeats if r])} repeats")
        parts.append(f"seed {figure.seed} (each point derives its own; `expected.json` has them)")
    if errors:
        bars = "" if figure.kind == "table" else ", bars show ±2"
        parts.append(f"standard errors up to {100 * max(errors):.2g} % of the value{bars}")
    if repeats[0] == 0:
        parts.append("exact numbers have no repeats")
    text = "; ".join(parts) + "."
    return text if people else text[:1].upper() + text[1:]


def _range(numbers: list[int]) -> str:
    low, high = f"{numbers[0]:,}", f"{numbers[-1]:,}"
    return low if low == high else f"{low} to {high}"


def _table(figure: Figure, rows: list[Row], entry: Mapping[str, Any]) -> list[str]:
    """A table of all rows: a line for each panel and x, a column for each series."""
    series = list(dict.fromkeys(row.series for row in rows))
    cells = {row.key: _number(row.value, row.std_error) for row in rows}
    stated = {_key(one): one["value"] for one in entry.get("published", [])}
    lines = ["| | " + figure.x.label + " | " + " | ".join(series) + " |",
             "|---|---|" + "---:|" * len(series)]  # fmt: skip
    for panel, x in dict.fromkeys((row.panel, row.x) for row in rows):
        values = []
        for name in series:
            cell = cells.get((panel, x, name), "")
            if (panel, x, name) in stated:
                cell += f" (paper: {_number(stated[panel, x, name], 0.0)})"
            values.append(cell)
        lines.append(f"| {panel} | {_place(x)} | " + " | ".join(values) + " |")
    return [*lines, ""]


def _key(stated: Mapping[str, Any]) -> Any:
    """The row of ours that a published number stands beside."""
    return stated.get("panel"), stated.get("x"), stated.get("series")


def _stated(rows: list[Row], entry: Mapping[str, Any]) -> list[str]:
    """Numbers that the paper states, beside ours."""
    ours = {row.key: row for row in rows}
    lines = []
    for stated in entry.get("published", []):
        row = ours.get(_key(stated))
        value = "not measured" if row is None else _number(row.value, row.std_error)
        lines.append(
            f"| {stated.get('panel', '')} | {_place(stated.get('x', ''))} | "
            f"{stated.get('series', '')} | "
            f"{_number(stated['value'], 0.0)} ({stated['where']}) | {value} |"
        )
    head = ["| | at | series | published | ours |", "|---|---|---|---:|---:|"]
    return [*head, *lines, ""] if lines else []


def _place(x: float | str) -> str:
    return x if isinstance(x, str) else f"{x:g}"


def _number(value: float, error: float) -> str:
    whole = abs(value) >= 1000 and abs(value) < 1e9
    text = f"{value:,.0f}" if whole else f"{value:.4g}"
    if not error > 1e-12 * abs(value):  # also where there is no error to state
        return text
    return f"{text} ± {error:.2g}"


def _short(value: Any) -> Any:
    """Ten digits: the rest differs between machines."""
    return float(f"{value:.10g}") if isinstance(value, float) else value


def _claims(item: Reproduced) -> list[dict[str, str]]:
    return [
        {"text": claim.text, "where": claim.where, **asdict(verdict)}
        for claim, verdict in zip(item.figure.claims, item.verdicts, strict=True)
    ]


def _compact(content: Mapping[str, Any]) -> str:
    """JSON with each innermost list on one line, so that differences can be read."""
    text = json.dumps(content, indent=1, ensure_ascii=False)
    innermost = re.compile(r"\[\n\s+([^][{}]*?)\n\s+\]")
    return innermost.sub(lambda m: "[" + re.sub(r",\n\s+", ", ", m[1]) + "]", text) + "\n"
