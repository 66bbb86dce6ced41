"""The report of a run as one HTML page, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from ...checks import printable, rounded_up
from ..support.command import percent, plural
from ..support.estimates import decimals_for

if TYPE_CHECKING:
    from ...estimate.table import Table
    from ...parties.run import Run
    from ...study.parties import PartyStudy

_MOST_BARS, _MOST_ROWS = 30, 500
_CSS = """
:root { color-scheme: light dark; }
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 54rem; padding: 1.5rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .2em 0; }
h2 { font-size: 1.2rem; margin: 2em 0 .4em; }
h3 { font-size: 1rem; margin: 1.4em 0 .2em; }
p, li { margin: .4em 0; max-width: 44rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; padding: .3em 0; color: #777; }
th, td { padding: .25em .9em .25em 0; text-align: left; border-bottom: 1px solid #8884; }
th.n, td.n { text-align: right; white-space: nowrap; }
svg { width: 100%; min-width: 22rem; max-width: 46rem; height: auto; display: block; }
code { overflow-wrap: anywhere; font-size: .88em; }
.note { border-left: 4px solid #e69f00; padding: .3em .9em; }
.muted { color: #777; }
@media (max-width: 480px) { body { padding: 1rem; } th, td { padding-right: .6em; } }
@media print { body { max-width: none; } }
"""


def report_page(study: PartyStudy, run: Run, about: Mapping[str, Any], confidence: float) -> str:
    """The whole page."""
    parts = [
        f"<h1>{_text(study.title)}</h1>",
        f'<p class="muted">{_text(_subtitle(study, run))}</p>',
    ]
    if study.rehearsal:
        parts.append(
            '<p class="note"><strong>Rehearsal.</strong> All rows were synthetic and drawn '
            "uniformly: these numbers say nothing about anybody, and no budget was spent.</p>"
        )
    if run.dropped:
        names = ", ".join(run.dropped)
        parts.append(f'<p class="note">Without the rows of {_text(names)}, who dropped out.</p>')
    for table in run.estimates:
        parts.append(_table_section(table, confidence))
    parts.append(_guarantee_section(run))
    parts.append(_run_section(study, about))
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(study.title)}</title>\n<style>{_CSS}</style>\n</head>\n<body>\n"
    )
    return head + "\n".join(parts) + "\n</body>\n</html>\n"


def _subtitle(study: PartyStudy, run: Run) -> str:
    people = plural(run.estimates[0].n, "person", "people")
    split = "with rows of their own" if study.rows_split else "with attributes of their own"
    return f"{people}, {len(study.parties)} parties {split}. Nobody has seen a row of another."


def _table_section(table: Table, confidence: float) -> str:
    from ...plot.parties import interval_svg

    low, high = table.interval(confidence)
    cells = list(zip(table.values.tolist(), low.tolist(), high.tolist(), strict=True))
    largest = sorted(range(len(cells)), key=lambda k: -cells[k][0])
    drawn, listed = sorted(largest[:_MOST_BARS]), sorted(largest[:_MOST_ROWS])
    labels = [str(label) for label in table.labels]
    picture = interval_svg([(labels[k], *cells[k]) for k in drawn], f"Fractions of {table.name}")
    about = f"Fractions of {table.n:,} people; method {table.method}."
    if table.assuming:
        about += f" Assuming: {table.assuming.rstrip('.')}."
    parts = [f"<h2>{_text(table.name)}</h2>", f"<p>{_text(about)}</p>"]
    parts.append(f'<div class="wide">{picture}</div>')
    some = f'<p class="muted">The {len(drawn)} largest of {len(cells):,} cells.</p>'
    parts.append(some if len(drawn) < len(cells) else "")
    return "\n".join([*parts, _cell_table(table, cells, listed, confidence)])


def _cell_table(
    table: Table, cells: list[tuple[float, float, float]], listed: list[int], confidence: float
) -> str:
    import numpy as np

    shape = [attribute.size for attribute in table.attributes]
    places = np.array(np.unravel_index(listed, shape)).T
    errors = [abs(cells[k][2] - cells[k][1]) / 4 for k in listed]
    decimals = decimals_for(max(errors))
    heads = "".join(f"<th>{_text(name)}</th>" for name in table.names)
    heads += f'<th class="n">fraction</th><th class="n">{100 * confidence:g} % interval</th>'
    rows = []
    for k, place in zip(listed, places.tolist(), strict=True):
        names = [
            attribute.labels[at] for attribute, at in zip(table.attributes, place, strict=True)
        ]
        value, low, high = cells[k]
        ends = f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f} %"
        rows.append(
            "<tr>"
            + "".join(f"<td>{_text(name)}</td>" for name in names)
            + f'<td class="n">{percent(value, decimals)}</td><td class="n">{ends}</td></tr>'
        )
    some = f"<caption>The {len(listed)} largest of {len(cells):,} cells.</caption>"
    note, body = some if len(listed) < len(cells) else "", "\n".join(rows)
    return (
        f'<div class="wide"><table>{note}<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _guarantee_section(run: Run) -> str:
    from ...promise.words import promise_words

    parts = ["<h2>What is promised</h2>"]
    promises = run.guarantee.promises
    if not promises:
        parts.append(f"<p>No privacy is promised: {_text(run.guarantee.reason)}</p>")
    # What all promises assume is said once, at the end.
    shared = [
        one
        for one in (promises[0].assuming if promises else ())
        if all(one in promise.assuming for promise in promises)
    ]
    for promise in promises:
        group = promise.unit.group
        title = f"To the people in the data of {group}" if group else "To every person"
        parts.append(f"<h3>{_text(title)}</h3>")
        own = tuple(one for one in promise.assuming if one not in shared)
        words = promise_words(replace(promise, assuming=own), 1 << 20).splitlines()
        parts += [f"<p>{_text(line)}</p>" for line in words]
    if shared:
        parts.append("<h3>All of this assumes</h3>\n<ul>")
        parts += [f"<li>{_text(one)}</li>" for one in shared]
        parts.append("</ul>")
    return "\n".join(parts)


def _run_section(study: PartyStudy, about: Mapping[str, Any]) -> str:
    rows = {
        "study": about["study"],
        "session": about["session"],
        "received by the curator": f"{about['bytes_received']:,} bytes",
        "sent by the curator": f"{about['bytes_sent']:,} bytes",
    }
    cells = "\n".join(
        f"<tr><th>{name}</th><td><code>{_text(value)}</code></td></tr>"
        for name, value in rows.items()
    )
    budgets = "\n".join(
        f'<tr><td>{_text(party)}</td><td class="n">{rounded_up(spent, 6)}</td>'
        f'<td class="n">{float(study.budgets[party]):g}</td></tr>'
        for party, spent in about["spent"].items()
    )
    return (
        "<h2>What it cost</h2>\n"
        '<div class="wide"><table><thead><tr><th>party</th><th class="n">ε spent</th>'
        '<th class="n">ε of the study</th></tr></thead>'
        f"<tbody>\n{budgets}\n</tbody></table></div>\n"
        "<h2>The run</h2>\n"
        f'<div class="wide"><table><tbody>\n{cells}\n</tbody></table></div>\n'
        "<p>Everyone who took part compares the digest of the study with their own copy: "
        "<code>sottovoce parties plan study.toml</code> prints it.</p>"
    )


def _text(given: object) -> str:
    return escape(printable(given), quote=True)
