"""Pictures and tables as files, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import MissingExtraError
from ...files import whole_file

PICTURES = (".png", ".svg", ".pdf")


def picture_of(name: str, *what: Any, **about: Any) -> Any:
    """The axes of a picture, by its name in `sottovoce.plot`, which is only loaded for one."""
    from ... import plot

    return getattr(plot, name)(*what, **about)


def save_figure(draw: Callable[[], Any], path: Path) -> None:
    """Save the figure of the axes (one, or several) that `draw` returns."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError.of("matplotlib", "plot", "a picture") from error
    import warnings

    mpl.use("Agg")  # no window: the command line may run where there is no display
    from matplotlib import pyplot

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a label in a script the font lacks
        axes = draw()
        figure = (axes if hasattr(axes, "get_figure") else axes[0]).get_figure()
        with whole_file(path) as stream:
            figure.savefig(stream, format=path.suffix[1:].lower(), dpi=160)
    pyplot.close(figure)


def save_csv(path: Path, columns: Mapping[str, Any]) -> None:
    """Save columns of equal length."""
    from ...estimate.display import to_csv

    with whole_file(path) as stream:
        stream.write(to_csv(columns))
