"""Small pictures for the analyst's page: shapes only, since text belongs into the page.

They stretch to the width of their place, take their colours from the page's style sheet, and are
hidden from screen readers, which have the numbers beside them.
"""

from __future__ import annotations

from collections.abc import Mapping


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
