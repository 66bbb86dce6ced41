"""What is to be seen on axes."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer

from sottovoce.plot.paint import VERMILLION


def bars(ax: Axes) -> BarContainer:
    (found,) = (c for c in ax.containers if isinstance(c, BarContainer))
    return found


def filled(ax: Axes) -> list[bool]:
    return [to_hex(bar.get_facecolor()) != "#ffffff" for bar in bars(ax)]


def whiskers(ax: Axes) -> list[np.ndarray]:
    """For each set of error bars the low and high ends, one row per value."""
    bars = [c for c in ax.containers if isinstance(c, ErrorbarContainer)]
    return [np.array([s[:, 0] for s in c.lines[2][0].get_segments()]) for c in bars]


def truth(ax: Axes) -> list[np.ndarray]:
    """Where the marks of the truth stand, one array for each group of marks."""
    return [
        np.asarray(c.get_offsets())
        for c in ax.collections
        if isinstance(c, PathCollection) and to_hex(c.get_facecolor()[0]) == VERMILLION.lower()
    ]


def band(ax: Axes) -> PolyCollection:
    (found,) = (c for c in ax.collections if isinstance(c, PolyCollection))
    return found


def rows(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def ticks(ax: Axes) -> list[str]:
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_xticklabels()]


def legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def title(ax: Axes) -> str:
    return ax.get_title(loc="left")


def legend_is_clear(ax: Axes) -> bool:
    """Whether the legend lies above the data, and below the title, and the figure holds it all."""
    ax.figure.canvas.draw()
    box, data = ax.get_legend().get_window_extent(), ax.get_window_extent()
    head = ax._left_title.get_window_extent()
    page = ax.figure.bbox
    within = head.y1 <= page.y1 and box.x0 >= page.x0 and max(box.x1, head.x1) <= page.x1
    return bool(box.y0 >= data.y1 - 1 and head.y0 >= box.y1 - 1 and within)
