"""The analyst's page: rendered on the server, complete without a script.

A script only fetches the same page again and puts it in place, so that the estimate is live.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from ..promise.words import common_promise, level_cells, levels_words
from .collector import HOUR, Collector
from .estimating import Estimates
from .results_questions import columns, details, plain_table, question_section, safe
from .static import Bundle

_LOOKING = (
    "You may look as often as you like. Every report was randomised on the participant's own "
    "device before it was sent, and what is promised to them holds for the report itself, whatever "
    "is computed from it and however often. So watching the estimates while reports come in costs "
    "nobody any privacy. It can still mislead you: a study that stops when a result looks good has "
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
    query: Mapping[str, str],
) -> str:
    """The whole page.

    `query` may choose a table of records (``pair``, as the numbers of the question and of the
    table), and of one ``question`` by number the ``values`` to count, one on each line.
    """
    study = collector.study
    owner = f"<p>by {safe(about['owner'])}</p>" if about["owner"] else ""
    words = f"<p>{safe(about['description'])}</p>" if about["description"] else ""
    parts = [
        f"<header><h1>{safe(study.title)}</h1>{owner}{words}{_state(collector)}</header>",
        *(
            question_section(
                number,
                study.collection(name),
                estimates,
                query.get("pair", ""),
                query.get("values", "") if query.get("question") == str(number) else "",
            )
            for number, name in enumerate(study.names, 1)
        ),
        _participants(collector),
        _privacy(collector),
        f"<section><h2>Looking often</h2><p>{_LOOKING}</p></section>",
        "<section><h2>What is not promised</h2><ul>"
        + "".join(f"<li>{line}</li>" for line in _NOT_PROMISED)
        + "</ul></section>",
    ]
    return _PAGE.format(title=safe(study.title), base=bundle.base, main="".join(parts))


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


def _state(collector: Collector) -> str:
    people = max(map(collector.people, collector.study.names))
    facts = [f"<strong>{people:,}</strong> {'person' if people == 1 else 'people'}"]
    facts.append("closed" if collector.closed else "open")
    if collector.codes.needed:
        codes, used = collector.codes.numbers
        facts.append(f"{used:,} of {codes:,} invitations used")
    return f'<p class="state">{" · ".join(facts)}</p>'


def _participants(collector: Collector) -> str:
    people = collector.hours()
    head = "<section><h2>Participants by hour</h2>"
    if not people:
        return head + "<p>Nobody yet.</p></section>"
    ends = dict.fromkeys((_hour(min(people)), _hour(max(people))))
    axis = "".join(f"<span>{end}</span>" for end in ends)
    rows = [(_hour(hour), f"{n:,}") for hour, n in people.items()]
    table = plain_table("Participants by hour (UTC)", ("hour", "people"), rows[-240:])
    return (
        f"{head}<p>Whole hours in UTC; nothing finer is kept. At most {max(people.values()):,} in "
        f'one hour.</p>{columns(people)}<p class="axis">{axis}</p>'
        f"{details('As a table', table)}</section>"
    )


def _hour(hour: int) -> str:
    return time.strftime("%Y-%m-%d %H:00", time.gmtime(hour * HOUR))


def _privacy(collector: Collector) -> str:
    guarantee = collector.study.guarantee
    shared = common_promise(guarantee)
    if shared is None:
        paragraphs = guarantee.words(10_000).split("\n\n")
        full = "".join(f"<p>{'<br>'.join(map(safe, p.splitlines()))}</p>" for p in paragraphs)
    else:
        rows = [(promise.unit.level, *level_cells(promise)) for promise in guarantee.promises]
        titles = ("level", "epsilon", "times as likely", "sure at most")
        full = plain_table("What each privacy level promises", titles, rows)
        full += "".join(f"<p>{safe(line)}</p>" for line in levels_words(shared))
    return (
        f"<section><h2>What is promised to participants</h2><p>{safe(guarantee.line())}."
        f"</p>{details('In full', full)}</section>"
    )
