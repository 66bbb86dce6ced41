"""The analyst's page: rendered on the server, complete without a script.

A script only fetches the same page again and puts it in place, so that the estimate is live.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from html import escape

from ..checks import printable, rounded_up
from ..contract.collection import Collection
from ..errors import EstimateError, SottovoceError
from ..estimate.estimate import Estimate
from ..promise.words import (
    AGAINST,
    NOTIONS,
    common_promise,
    meaning,
    unit_words,
)
from .collector import HOUR, Collector
from .estimating import Estimates, attributes_of, more_people, pairs_of
from .static import Bundle
from .svg import columns, interval_bar

_MOST_ROWS = 60
_SHADES = 9
_LOOKING = (
    "You may look as often as you like. Every report was randomised on the participant's own "
    "device before it was sent, and what is promised to them holds for the report itself, whatever "
    "is computed from it and however often. So looking at the estimate while it fills costs nobody "
    "any privacy. It can still mislead you: a study that stops when a result looks good has "
    "intervals that cover the truth too rarely. Decide beforehand when to stop."
)
_NOT_PROMISED = (
    "The page that randomises answers comes from this server, so a dishonest collector could send "
    "another one; participants who do not rely on it use the fixed bundle, an offline copy, or "
    "sottovoce randomise.",
    "People may give wrong answers. Without invitation codes they may also answer several times.",
    "The network sees that someone took part, though not what they answered.",
)


def results_page(
    collector: Collector,
    estimates: Estimates,
    bundle: Bundle,
    about: Mapping[str, str],
    pair: str = "",
) -> str:
    """The whole page.

    Parameters
    ----------
    pair : str
        The table of records to show, as ``question.attribute.attribute`` by number.
    """
    study = collector.study
    owner = f"<p>by {_text(about['owner'])}</p>" if about["owner"] else ""
    words = f"<p>{_text(about['description'])}</p>" if about["description"] else ""
    parts = [
        f"<header><h1>{_text(study.title)}</h1>{owner}{words}{_state(collector)}</header>",
        *(
            _question(number, study.collection(name), collector, estimates, pair)
            for number, name in enumerate(study.names, 1)
        ),
        _participants(collector),
        _privacy(collector),
        f"<section><h2>Looking often</h2><p>{_LOOKING}</p></section>",
        "<section><h2>What is not promised</h2><ul>"
        + "".join(f"<li>{line}</li>" for line in _NOT_PROMISED)
        + "</ul></section>",
    ]
    return _PAGE.format(title=_text(study.title), base=bundle.base, main="".join(parts))


_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}: results</title>'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
    '<link rel="stylesheet" href="{base}results.css">'
    '<script type="module" src="{base}results.js"></script></head>'
    '<body><main id="results">{main}</main>'
    '<footer class="live"><p><button type="button" id="pause" hidden>Pause</button> '
    '<span id="live-text">Reload the page to see what has come in since.</span></p></footer>'
    "</body></html>\n"
)


def _text(text: object) -> str:
    return escape(printable(text))


def _state(collector: Collector) -> str:
    people = max(map(collector.people, collector.study.names))
    facts = [f"<strong>{people:,}</strong> {'person' if people == 1 else 'people'}"]
    facts.append("closed" if collector.closed else "open")
    if collector.by_invitation:
        codes, used = collector.codes
        facts.append(f"{used:,} of {codes:,} invitations used")
    return f'<p class="state">{" · ".join(facts)}</p>'


# --- questions --------------------------------------------------------------------------------


def _question(
    number: int, collection: Collection, collector: Collector, estimates: Estimates, pair: str
) -> str:
    head = f"<h2>{_text(collection.name)}</h2>"
    try:
        body = "".join(
            _attribute(number, collection, estimates, attribute)
            for attribute in attributes_of(collection)
        )
        body += _levels(collection, estimates) + _turnout(collection, estimates)
        body += _joint(number, collection, estimates, pair)
    except EstimateError:
        body = "<p>No reports yet.</p>"
    except SottovoceError as error:
        body = f"<p>{_text(error)}</p>"
    return f"<section>{head}{body}</section>"


def _attribute(number: int, collection: Collection, estimates: Estimates, attribute: str) -> str:
    result = estimates.marginal(collection, attribute)
    sent = result.n if result.reports is None else result.reports
    of = "" if sent == result.n else f" from {result.n:,} people"
    biased = ", slightly biased; the interval is that of the unbiased estimate" * result.biased
    head = f"<h3>{_text(attribute)}</h3>" if attribute else ""
    lines = [
        f"<p>{sent:,} reports{of}, {_text(collection.words)}; {_text(result.method)}{biased}.</p>",
        _estimate(result, attribute or collection.name),
    ]
    more = more_people(result)
    if more is not None:
        lines.append(
            "<p>Every interval is ±1 percentage point or less.</p>"
            if not more
            else f"<p>About <strong>{_rounded(more):,} more people</strong> would narrow every "
            "interval to ±1 percentage point.</p>"
        )
    if result.assuming:
        lines.append(f"<p>Assuming: {_text(result.assuming)}.</p>")
    lines.append(_downloads(number, attribute))
    return head + "".join(lines)


def _rounded(number: int) -> int:
    """Two digits: it is a forecast."""
    scale: int = 10 ** max(len(str(number)) - 2, 0)
    return math.ceil(number / scale) * scale


def _estimate(result: Estimate, name: str) -> str:
    rows = result.rows()
    if not result.fractions:
        return _plain_table(
            name,
            ("quantity", "estimate", "95 % interval"),
            [(r["value"], f"{r['estimate']:.5g}", f"{r['low']:.5g} to {r['high']:.5g}")
             for r in rows],
        )  # fmt: skip
    hidden = len(rows) - _MOST_ROWS
    if hidden > 0:
        largest = sorted(rows, key=lambda row: -row["estimate"])[:_MOST_ROWS]
        rows = [row for row in rows if row in largest]
    right = max(max(row["high"], row["estimate"]) for row in rows)
    left = min(0.0, *(min(row["low"], row["estimate"]) for row in rows))
    right = max(right, left + 0.01)
    body = "".join(
        f'<div role="row" class="row"><span role="rowheader">{_text(row["value"])}</span>'
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
    rest = f"<p>The {_MOST_ROWS} largest; the files have {hidden:,} more.</p>" if hidden > 0 else ""
    return (
        f'<div role="table" class="chart" aria-label="Estimated fractions of {_text(name)}">'
        f'<div role="row" class="row head">{titles}</div>{body}</div>{rest}'
    )


def _plain_table(
    caption: str, titles: Sequence[str], rows: Sequence[Sequence[object]], kind: str = ""
) -> str:
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in titles)
    body = "".join(
        f'<tr><th scope="row">{_text(first)}</th>'
        + "".join(f"<td>{_text(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{_text(caption)}">'
        f'<table class="{kind}"><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _downloads(number: int, attribute: str) -> str:
    from urllib.parse import quote

    query = f"?attribute={quote(attribute)}" if attribute else ""
    files = {"counts": "counts.sva", "CSV": "estimate.csv", "Parquet": "estimate.parquet",
             "picture (SVG)": "estimate.svg", "picture (PNG)": "estimate.png"}  # fmt: skip
    links = ", ".join(
        f'<a href="/results/{number}/{file}{query}" download>{name}</a>'
        for name, file in files.items()
    )
    return f'<p class="files">Download: {links}</p>'


def _levels(collection: Collection, estimates: Estimates) -> str:
    levels = estimates.levels(collection)
    if not levels:
        return ""
    labels = next(iter(levels.values())).labels
    scale, sign = (100, " %") if next(iter(levels.values())).fractions else (1, "")
    rows = []
    for k, label in enumerate(labels[:_MOST_ROWS]):
        cells = []
        for part in levels.values():
            low, high = part.interval()
            half = (high[k] - low[k]) / 2
            cells.append(f"{scale * part.values[k]:.1f} ± {scale * half:.1f}{sign}")
        rows.append((label, *cells))
    rows.insert(0, ("people", *(f"{part.n:,}" for part in levels.values())))
    table = _plain_table("Each privacy level on its own", ("value", *levels), rows)
    return f"<details><summary>By privacy level</summary>{table}</details>"


def _turnout(collection: Collection, estimates: Estimates) -> str:
    if not collection.sampled:
        return ""
    rows = [
        (row["level"] or "everyone", f"{row['rate']:g}", f"{row['asked']:,}",
         f"{row['reported']:,}")
        for row in estimates.turnout(collection)
    ]  # fmt: skip
    titles = ("level", "rate", "asked", "reported")
    table = _plain_table("Who was asked, and who reported", titles, rows)
    return f"<details><summary>By rate</summary>{table}</details>"


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
        f'<option value="{number}.{k}"{" selected" * (k == chosen)}>{_text(a)} and {_text(b)}'
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
    for i, name in enumerate(down.labels):
        cells = ""
        for j in range(across.size):
            value = float(table.table[i, j])
            shade = round(_SHADES * max(value, 0.0) / most)
            cells += (
                f'<td class="h{shade}">{100 * value:.1f}'
                f"<small>{low[i, j]:.0f} to {high[i, j]:.0f}</small></td>"
            )
        body += f'<tr><th scope="row">{_text(name)}</th>{cells}</tr>'
    titles = "".join(f'<th scope="col">{_text(name)}</th>' for name in across.labels)
    caption = f"{down.name} (down) and {across.name} (across), % of people with 95 % intervals"
    return (
        f'<h3>Two attributes together</h3>{form}<p class="quiet">{_text(caption)}:</p>'
        f'<div class="wide" tabindex="0" role="region" aria-label="{_text(caption)}">'
        f'<table class="heat"><thead><tr><td></td>{titles}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
        f'<p class="quiet">Method: {_text(table.method)}.</p>'
    )


# --- everything -------------------------------------------------------------------------------


def _participants(collector: Collector) -> str:
    people = collector.hours()
    head = "<section><h2>Participants by hour</h2>"
    if not people:
        return head + "<p>Nobody yet.</p></section>"
    ends = dict.fromkeys((_hour(min(people)), _hour(max(people))))
    axis = "".join(f"<span>{end}</span>" for end in ends)
    rows = [(_hour(hour), f"{n:,}") for hour, n in people.items()]
    table = _plain_table("Participants by hour (UTC)", ("hour", "people"), rows[-240:])
    return (
        f"{head}<p>Whole hours in UTC; nothing finer is kept. At most {max(people.values()):,} in "
        f'one hour.</p>{columns(people)}<p class="axis">{axis}</p>'
        f"<details><summary>As a table</summary>{table}</details></section>"
    )


def _hour(hour: int) -> str:
    return time.strftime("%Y-%m-%d %H:00", time.gmtime(hour * HOUR))


def _privacy(collector: Collector) -> str:
    guarantee = collector.study.guarantee
    shared = common_promise(guarantee)
    if shared is None:
        paragraphs = guarantee.words(10_000).split("\n\n")
        full = "".join(f"<p>{'<br>'.join(map(_text, p.splitlines()))}</p>" for p in paragraphs)
    else:
        rows = [
            (p.unit.level, rounded_up(p.epsilon, 6), rounded_up(p.ratio, 3), f"{p.guess} %")
            for p in guarantee.promises
        ]
        titles = ("level", "epsilon", "times as likely", "sure at most")
        lines = [
            f"Each line: {NOTIONS[shared.notion]}.",
            f"Protected: {unit_words(shared.unit, 'that level')}, against "
            f"{AGAINST[shared.against]}.",
            f"Meaning: {meaning(shared, 'so many', 'so')}",
            *(f"Assuming: {words}." for words in shared.assuming),
        ]
        full = _plain_table("What each privacy level promises", titles, rows)
        full += "".join(f"<p>{_text(line)}</p>" for line in lines)
    return (
        f"<section><h2>What is promised to participants</h2><p>{_text(guarantee.line())}."
        f"</p><details><summary>In full</summary>{full}</details></section>"
    )
