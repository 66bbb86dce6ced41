"""Fractions with intervals as SVG text, for reports that need no other file and no package."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..checks import printable
from .paint import BLUE, FILL, GREY

_ROW, _TOP, _BOTTOM = 24, 6, 34
_LETTER, _WIDTH, _END = 7, 640, 24
_MOST_LABEL = 28
_STEPS = (1, 2, 5)


def interval_svg(rows: Sequence[tuple[str, float, float, float]], title: str) -> str:
    """Bars up to the estimates, with a line from the low to the high end of each interval.

    Parameters
    ----------
    rows : sequence of (label, estimate, low, high)
        Fractions; an end that is not a number is left out.
    title : str
        What screen readers say.

    Returns
    -------
    str
        An ``svg`` element as wide as its surroundings allow.

    Examples
    --------
    >>> interval_svg([("yes", 0.4, 0.35, 0.45)], "smoker")[:24]
    '<svg viewBox="0 0 640 64'
    """
    finite = [x for _, *ends in rows for x in ends if x == x]
    least, most = min(0.0, *finite), max(1e-9, *finite)
    step = _step(most - least)
    height = _TOP + _ROW * len(rows) + _BOTTOM
    labels = [_short(label) for label, *_ in rows]
    side = 14 + _LETTER * max(map(len, labels))

    def x(value: float) -> float:
        room = _WIDTH - side - _END
        return round(side + room * (value - least) / (most - least), 1)

    lines = [
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(printable(title), quote=True)}" '
        'font-family="system-ui, sans-serif" font-size="12">'
    ]
    bottom = height - _BOTTOM
    first = -int(-least / step) if least < 0 else 0
    for k in range(first, int(most / step) + 1):
        tick = f"{100 * k * step:.6g}%".replace("-", "\N{MINUS SIGN}")
        at = x(k * step)
        lines.append(
            f'<path d="M{at} {_TOP}V{bottom + 4}" stroke="{GREY}" stroke-opacity=".25"/>'
            f'<text x="{at}" y="{bottom + 18}" text-anchor="middle" fill="currentColor">'
            f"{tick}</text>"
        )
    for k, (label, (_, value, low, high)) in enumerate(zip(labels, rows, strict=True)):
        y = _TOP + _ROW * k + _ROW / 2
        start, end = sorted((x(0.0), x(value)))
        lines.append(
            f'<text x="{side - 8}" y="{y + 4}" text-anchor="end" fill="currentColor">'
            f"{escape(label)}</text>"
            f'<rect x="{start}" y="{y - 7}" width="{round(end - start, 1)}" height="14" '
            f'fill="{FILL}"/>'
        )
        if low == low and high == high:
            lines.append(
                f'<path d="M{x(low)} {y}H{x(high)}M{x(low)} {y - 4}v8M{x(high)} {y - 4}v8" '
                f'stroke="{BLUE}" stroke-width="1.6" fill="none"/>'
            )
        lines.append(f'<circle cx="{x(value)}" cy="{y}" r="3.2" fill="{BLUE}"/>')
    lines.append(f'<path d="M{x(0.0)} {_TOP}V{bottom}" stroke="{GREY}"/></svg>')
    return "\n".join(lines)


def _step(span: float) -> float:
    """A round distance of ticks, so that there are at most seven."""
    power = 1e-12
    while True:
        for factor in _STEPS:
            if span / (factor * power) <= 6:
                return factor * power
        power *= 10


def _short(label: str) -> str:
    line = printable(" ".join(label.split()))
    if len(line) <= _MOST_LABEL:
        return line
    return f"{line[: _MOST_LABEL - 12].rstrip()}…{line[-11:].lstrip()}"
