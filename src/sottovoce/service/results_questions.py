"""The questions of the analyst's page: estimates, levels, rates and tables of two attributes."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from typing import cast
from urllib.parse import quote, urlencode

from ..checks import label_words, printable
from ..contract.collection import Collection
from ..errors import SottovoceError
from ..estimate.display import Format
from ..estimate.estimate import Estimate
from ..heavy import HeavyHitters
from ..heavy.result import FrequentTexts
from .estimating import Estimates, Values, attributes_of, pairs_of, values_of
from .largest import MOST_ROWS, Shown

_SHADES = 9


def safe(text: object, *, lines: bool = False) -> str:
    """A text as HTML, without characters that reorder or hide others; with its lines if asked."""
    if lines:
        return "\n".join(map(safe, str(text).splitlines()))
    return escape(printable(text))


def question_section(
    number: int, collection: Collection, estimates: Estimates, pair: str, chosen: str = ""
) -> str:
    """Everything about one question or records.

    `pair` chooses a table of two attributes, `chosen` the values of a question that has too many.
    """
    parts: list[Callable[[], str]]
    if estimates.by_values(collection):
        parts = [
            partial(_choice, number, collection, chosen),
            partial(_chosen_values, number, collection, estimates, chosen),
        ]
    elif isinstance(collection, HeavyHitters):
        parts = [partial(_texts, number, collection, estimates)]
    else:
        parts = [
            *(
                partial(_attribute, number, collection, estimates, attribute)
                for attribute in attributes_of(collection)
            ),
            partial(_levels, collection, estimates),
            partial(_turnout, collection, estimates),
            partial(_joint, number, collection, estimates, pair),
        ]
    body = (
        "".join(map(_or_why_not, parts)) if estimates.any(collection) else "<p>No reports yet.</p>"
    )
    return f"<section><h2>{safe(collection.name)}</h2>{body}</section>"


def _or_why_not(part: Callable[[], str]) -> str:
    """A part of the page, or why there is none: few people allow some estimates and not others."""
    try:
        return part()
    except SottovoceError as error:
        return f"<p>{safe(error)}</p>"


def _choice(number: int, collection: Collection, chosen: str) -> str:
    """A form for the values to count, where there are too many to count them all."""
    return (
        f"<p>There are {collection.attributes[0].size:,} possible values, too many to count them "
        "all. Name those that you want to know about; choose them without looking at the reports. "
        "</p>"
        f'<form method="get" action="/results"><input type="hidden" name="question" '
        f'value="{number}"><label for="values-{number}">Values to count, one on each line</label>'
        f'<textarea id="values-{number}" name="values" rows="5">{safe(chosen, lines=True)}'
        "</textarea><button>Count</button></form>"
        + details(
            "On the command line",
            "<p>For any number of values, download the reports:</p>",
            '<pre tabindex="0">sottovoce pull ADDRESS --token TOKEN --question ',
            f"{safe(shlex.quote(collection.name))} --out reports.svr\n",
            "sottovoce estimate reports.svr --study study.toml --candidates values.txt</pre>",
        )
    )


def _chosen_values(number: int, collection: Collection, estimates: Estimates, chosen: str) -> str:
    """The estimates of the values that were named."""
    values = values_of(collection, chosen)
    if not values:
        return ""
    return (
        _attribute(number, collection, estimates, "", values)
        + _levels(collection, estimates, values)
        + _turnout(collection, estimates, values)
    )


def _texts(number: int, collection: HeavyHitters, estimates: Estimates) -> str:
    """The frequent texts, and how frequent a text must be to be found."""
    result = cast(FrequentTexts, estimates.marginal(collection))
    least = estimates.found_from(collection, result.n)
    sentence = (
        "Even a text that everyone gave would be missed too often: more people are needed."
        if least > 1
        else f"A text that at least {100 * least:.2g} % of people gave is listed with a "
        "probability of at least 95 %."
    )
    wrong = 100 * result.false_positive_rate
    lines = [
        f"<p>{result.n:,} report{'s' * (result.n != 1)}, {safe(collection.words)}.</p>",
        _estimate(result, estimates.shown(collection), collection.name)
        if result.labels
        else "<p>No text is frequent enough to be listed.</p>",
        f"<p>{sentence} The probability that the list has any text which nobody gave is at most "
        f"{wrong:.2g} %, and all intervals hold together with 95 %.</p>",
        f"<p>Assuming: {safe(result.assuming)}.</p>",
        _downloads(number),
    ]
    return "".join(lines)


def _attribute(
    number: int,
    collection: Collection,
    estimates: Estimates,
    attribute: str,
    values: Values = (),
) -> str:
    result = estimates.marginal(collection, attribute, values)
    shown = estimates.shown(collection, attribute, values)
    sent = result.n if result.reports is None else result.reports
    of = "" if sent == result.n else f" from {result.n:,} people"
    biased = ", slightly biased; the interval is that of the unbiased estimate" * result.biased
    head = f"<h3>{safe(attribute)}</h3>" if attribute else ""
    lines = [
        f"<p>{sent:,} report{'s' * (sent != 1)}{of}, {safe(collection.words)}; "
        f"{safe(result.method)}{biased}.</p>",
        _estimate(result, shown, attribute or collection.name),
    ]
    if result.fractions:
        lines.append(_precision(result.n, shown.widest))
    if result.assuming:
        lines.append(f"<p>Assuming: {safe(result.assuming)}.</p>")
    lines.append(_downloads(number, attribute=attribute, values="\n".join(map(str, values))))
    return head + "".join(lines)


def _precision(people: int, width: float) -> str:
    """How many people more would make the widest interval ±1 percentage point.

    Widths fall with the root of the number of people: n · (width / wanted)² − n.
    """
    few = "<p>So far too few people: an interval is wider than the whole range.</p>" * (width > 1)
    more = max(0, round(people * ((width / 0.02) ** 2 - 1)))
    if not more:
        return f"{few}<p>Every interval is ±1 percentage point or less.</p>"
    scale: int = 10 ** max(len(str(more)) - 2, 0)  # two digits: it is a forecast
    return (
        f"{few}<p>About <strong>{math.ceil(more / scale) * scale:,} more people</strong> would "
        "narrow every interval to ±1 percentage point.</p>"
    )


def _estimate(result: Estimate, shown: Shown, name: str) -> str:
    rows, hidden = shown.rows, shown.hidden
    if not result.fractions:
        written = Format.of(result)
        return plain_table(
            name,
            ("quantity", "estimate", "95 % interval"),
            [(r["value"], written.number(r["estimate"]), written.interval(r["low"], r["high"]))
             for r in rows],
        )  # fmt: skip
    left = min(0.0, *(row[end] for row in rows for end in ("low", "estimate")))
    right = max(left + 0.01, *(row[end] for row in rows for end in ("high", "estimate")))
    body = "".join(
        f'<div role="row" class="row">'
        f'<span role="rowheader">{safe(label_words(row["value"]))}</span>'
        f'<span role="cell" class="picture">'
        f"{interval_bar(row['estimate'], row['low'], row['high'], left, right)}</span>"
        f'<span role="cell" class="number">{100 * row["estimate"]:.1f} %</span>'
        f'<span role="cell" class="number quiet">{100 * row["low"]:.1f} to '
        f"{100 * row['high']:.1f} %</span></div>"
        for row in rows
    )
    titles = "".join(
        f'<span role="columnheader" class="{kind}">{title}</span>'
        for title, kind in (
            ("value", ""), ("estimate", "picture"), ("fraction", "number"),
            ("95 % interval", "number"),
        )
    )  # fmt: skip
    rest = f"<p>The {MOST_ROWS} largest; the files have {hidden:,} more.</p>" if hidden > 0 else ""
    return (
        f'<div role="table" class="chart" aria-label="Estimated fractions of {safe(name)}">'
        f'<div role="row" class="row head">{titles}</div>{body}</div>{rest}'
    )


def plain_table(caption: str, titles: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table that scrolls where it is too wide."""
    head = "".join(f'<th scope="col">{safe(title)}</th>' for title in titles)
    body = "".join(
        f'<tr><th scope="row">{safe(first)}</th>'
        + "".join(f"<td>{safe(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    table = f"<table><caption>{safe(caption)}</caption><thead><tr>{head}</tr></thead>"
    return _wide(caption, f"{table}<tbody>{body}</tbody></table>")


def _wide(caption: str, table: str) -> str:
    label = f'tabindex="0" role="region" aria-label="{safe(caption)}"'
    return f'<div class="wide" {label}>{table}</div>'


def details(summary: str, *parts: str) -> str:
    """What is shown to those who ask for it."""
    return f"<details><summary>{summary}</summary>{''.join(parts)}</details>"


def _downloads(number: int, **query: str) -> str:
    chosen = urlencode({key: text for key, text in query.items() if text}, quote_via=quote)
    tail = f"?{safe(chosen)}" if chosen else ""
    files = {"counts": "counts.sva", "CSV": "estimate.csv", "Parquet": "estimate.parquet",
             "picture (SVG)": "estimate.svg", "picture (PNG)": "estimate.png"}  # fmt: skip
    links = ", ".join(
        f'<a href="/results/{number}/{file}{tail}" download>{name}</a>'
        for name, file in files.items()
    )
    return f'<p class="files">Download: {links}</p>'


def _levels(collection: Collection, estimates: Estimates, values: Values = ()) -> str:
    levels = estimates.levels(collection, values)
    if not levels:
        return ""
    labels, columns = estimates.level_columns(collection, values)
    rows = [
        ("people", *(f"{part.n:,}" for part in levels.values())),
        *zip(labels, *columns, strict=True),
    ]
    table = plain_table("Each privacy level on its own", ("value", *levels), rows)
    return details("By privacy level", table)


def _turnout(collection: Collection, estimates: Estimates, values: Values = ()) -> str:
    if not collection.sampled:
        return ""
    rows = [
        (row["level"] or "everyone", f"{row['rate']:g}", f"{row['asked']:,}",
         f"{row['reported']:,}")
        for row in estimates.turnout(collection, values)
    ]  # fmt: skip
    titles = ("level", "rate", "asked", "reported")
    table = plain_table("Who was asked, and who reported", titles, rows)
    return details("By rate", table)


def _joint(number: int, collection: Collection, estimates: Estimates, pair: str) -> str:
    """A heat map of two attributes, and a choice of which."""
    pairs = pairs_of(collection) if collection.allocations else []
    if not pairs:
        return ""
    chosen = 0
    head, _, position = pair.partition(".")
    if head == str(number) and position.isdecimal() and int(position) < len(pairs):
        chosen = int(position)
    options = "".join(
        f'<option value="{number}.{k}"{" selected" * (k == chosen)}>{safe(a)} and {safe(b)}'
        "</option>"
        for k, (a, b) in enumerate(pairs)
    )
    form = (
        f'<form method="get" action="/results"><label for="pair-{number}">Attributes</label> '
        f'<select id="pair-{number}" name="pair">{options}</select> '
        "<button>Show</button></form>"
    )
    table = estimates.joint(collection, pairs[chosen])
    down, across = table.attributes
    most = max(float(table.table.max()), 1e-12)
    low, high = table.interval(0.95)
    low, high = (100 * end.reshape(table.table.shape) for end in (low, high))
    body = ""
    for name, *row in zip(down.labels, table.table, low, high, strict=True):
        cells = "".join(
            f'<td class="h{round(_SHADES * max(value, 0.0) / most)}">{100 * value:.1f}'
            f"<small>{least:.0f} to {largest:.0f}</small></td>"
            for value, least, largest in zip(*row, strict=True)
        )
        body += f'<tr><th scope="row">{safe(name)}</th>{cells}</tr>'
    titles = "".join(f'<th scope="col">{safe(name)}</th>' for name in across.labels)
    caption = f"{down.name} (down) and {across.name} (across), % of people with 95 % intervals"
    heat = f'<table class="heat"><thead><tr><td></td>{titles}</tr></thead><tbody>{body}</tbody>'
    return (
        f'<h3>Two attributes together</h3>{form}<p class="quiet">{safe(caption)}:</p>'
        f"{_wide(caption, f'{heat}</table>')}"
        f'<p class="quiet">Method: {safe(table.method)}.</p>'
        f"<p>Assuming: {safe(table.assuming)}.</p>"
    )


# --- small pictures: shapes only, since text belongs into the page --------------------------------
# They stretch to the width of their place, take their colours from the page's style sheet, and are
# hidden from screen readers, which have the numbers beside them.


def _picture(kind: str, height: int, shapes: str) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 1000 {height}" preserveAspectRatio="none" '
        f'aria-hidden="true" focusable="false">{shapes}</svg>'
    )


def interval_bar(value: float, low: float, high: float, left: float, right: float) -> str:
    """A bar from zero to the value, and a line from `low` to `high`, on a scale shared by rows."""

    def x(number: float) -> float:
        return round(1000 * (min(max(number, left), right) - left) / (right - left), 1)

    zero, end = x(0.0), x(value)
    shapes = (
        f'<rect class="bar" x="{min(zero, end)}" y="5" width="{abs(end - zero)}" height="14"/>'
        f'<rect class="range" x="{x(low)}" y="10.5" width="{max(x(high) - x(low), 2)}" height="3"/>'
        f'<rect class="end" x="{x(low)}" y="6" width="3" height="12"/>'
        f'<rect class="end" x="{max(x(high) - 3, 0)}" y="6" width="3" height="12"/>'
        f'<rect class="zero" x="{zero}" y="0" width="1.5" height="24"/>'
    )
    return _picture("interval", 24, shapes)


def columns(people: Mapping[int, int]) -> str:
    """A column per hour, from the first to the last."""
    first, last = min(people), max(people)
    many = last - first + 1
    most = max(people.values())
    width = 1000 / max(many, 12)
    shapes = "".join(
        f'<rect class="bar" x="{(hour - first) * width:.2f}" y="{120 - 116 * n / most:.1f}" '
        f'width="{max(width * 0.86, 0.6):.2f}" height="{116 * n / most:.1f}"/>'
        for hour, n in people.items()
    )
    return _picture("columns", 120, shapes + '<rect class="zero" y="119" width="1000" height="1"/>')
