"""Counts and estimates of parts: of each level, of each rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import ParameterError
from .screen import decimals_for, percent, plural, printable, show_table, table_of

if TYPE_CHECKING:
    from rich.console import Console

    from ...contract.aggregate import Aggregate
    from ...estimate.estimate import Estimate
    from ...mechanisms.mechanism import Mechanism

_MOST_LABEL = 20
_MOST_ROWS = 12


def sent(mechanism: Mechanism, counts: Aggregate) -> int:
    """How many reports there are; an aggregate's n also counts people who stayed silent."""
    from ...participation import Levels, Sampled

    if isinstance(mechanism, Sampled):
        return int(counts.tables["reported"].sum())
    if isinstance(mechanism, Levels):
        parts = ((level, mechanism.part(counts, name)) for name, level in mechanism.menu.items())
        return sum(sent(level, part) for level, part in parts)
    return counts.n


def shares_of(mechanism: Mechanism, counts: Aggregate) -> list[tuple[str, str]]:
    """Facts about who is in the counts, by level and by rate."""
    rows = []
    people = by_level(mechanism, counts)
    if people:
        shown = [f"{printable(name)} {n:,}" for name, n in list(people.items())[:_MOST_ROWS]]
        rows.append(("levels", ", ".join(shown) + (", …" if len(people) > _MOST_ROWS else "")))
    rates = by_rate(mechanism, counts)
    if rates:
        asked = sum(row["asked"] for row in rates)
        rows.append(("asked", plural(asked, "person", "people")))
    return rows


def by_level(mechanism: Mechanism, counts: Aggregate) -> dict[str, int]:
    """People of each level; under sampling those who reported, since silence has no level."""
    from ...participation import Levels, Sampled

    if isinstance(mechanism, Sampled) and isinstance(mechanism.inner, Levels):
        found = counts.tables["in/people"].sum(axis=0)
        return dict(zip(mechanism.inner.menu, found.tolist(), strict=True))
    if isinstance(mechanism, Levels):
        return dict(zip(mechanism.menu, counts.tables["people"].tolist(), strict=True))
    return {}


def by_rate(mechanism: Mechanism, counts: Aggregate) -> list[dict[str, Any]]:
    """How many people were asked at each rate, and how many of them reported."""
    from ...participation import Levels, Sampled

    if isinstance(mechanism, Levels):
        return [
            {"level": name, **row}
            for name, level in mechanism.menu.items()
            for row in by_rate(level, mechanism.part(counts, name))
        ]
    if not isinstance(mechanism, Sampled):
        return []
    asked, reported = (counts.tables[name].tolist() for name in ("asked", "reported"))
    rows = zip(mechanism.rates, asked, reported, strict=True)
    return [{"rate": rate, "asked": n, "reported": s} for rate, n, s in rows]


def each_level(mechanism: Mechanism, counts: Aggregate) -> dict[str, Estimate]:
    """The estimate of each level on its own; under sampling of those who reported."""
    from ...participation import Levels, Sampled

    if isinstance(mechanism, Sampled) and isinstance(mechanism.inner, Levels):
        inner = mechanism.inner.bind(mechanism.digest)
        first, *others = (mechanism.part(counts, rate) for rate in mechanism.rates)
        return inner.estimates(sum(others, first))
    if isinstance(mechanism, Levels):
        return mechanism.estimates(counts)
    return {}


def refuse_absent(mechanism: Mechanism, *, levels: bool, rate: bool) -> None:
    """Refuse to show levels or rates where there are none."""
    from ...participation.choices import menu_of, rates_of

    name = getattr(mechanism.domain, "name", "")
    if levels and not menu_of(mechanism):
        raise ParameterError(f"the question {name!r} has no levels to show; leave --levels out")
    if rate and not rates_of(mechanism):
        raise ParameterError(
            f"the question {name!r} has no rates to show, everyone reports; leave --rate out"
        )


def show_levels(out: Console, parts: dict[str, Estimate], confidence: float) -> None:
    """A column per level where they fit, else a table per level."""
    from .tables import estimate_table

    columns = _level_columns(out, parts, confidence)
    if columns is not None:
        show_table(out, columns)
        return
    for name, part in parts.items():
        out.print(f"\n{printable(name)}: {plural(part.n, 'report')}")
        show_table(out, estimate_table(out, part, confidence))


def _level_columns(out: Console, parts: dict[str, Estimate], confidence: float) -> Any:
    first = next(iter(parts.values()))
    if len(first.labels) > _MOST_ROWS:
        return None
    labels = [printable(label)[:_MOST_LABEL] for label in first.labels]
    columns = {
        printable(name): [f"{part.n:,}", *_cells(part, confidence)] for name, part in parts.items()
    }
    widths = [max(len(name), *map(len, cells)) + 2 for name, cells in columns.items()]
    if max(map(len, [*labels, "reports"])) + 2 + sum(widths) > out.width:
        return None
    table = table_of(out, [("", "left"), *((name, "right") for name in columns)])
    for k, label in enumerate(["reports", *labels]):
        table.add_row(label, *(cells[k] for cells in columns.values()))
    return table


def _cells(part: Estimate, confidence: float) -> list[str]:
    low, high = part.interval(confidence)
    half = (high - low) / 2
    if not part.shares:
        return [f"{v:.4g} ± {h:.3g}" for v, h in zip(part.values, half, strict=True)]
    decimals = decimals_for(float(part.std_error.max()))
    return [
        f"{percent(v, decimals).removesuffix(' %')} ± {percent(h, decimals)}"
        for v, h in zip(part.values.tolist(), half.tolist(), strict=True)
    ]


def show_rates(out: Console, rows: list[dict[str, Any]]) -> None:
    """Asked and reported, a line per rate."""
    named = "level" in rows[0]
    columns = [("level", "left")] * named
    columns += [("rate", "right"), ("asked", "right"), ("reported", "right"), ("share", "right")]
    table = table_of(out, columns)
    for row in rows:
        share = percent(row["reported"] / row["asked"], 1) if row["asked"] else "–"
        level = [printable(row["level"])] if named else []
        numbers = (f"{row['rate']:g}", f"{row['asked']:,}", f"{row['reported']:,}")
        table.add_row(*level, *numbers, share)
    show_table(out, table)
