"""Pictures in files, written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import MissingExtraError, ParameterError
from ...files import check_output, whole_file

PICTURES = (".png", ".svg", ".pdf")


def check_picture(path: Path | None, *inputs: Path, force: bool) -> None:
    """Refuse a picture that cannot be drawn or saved, before any work; None means no picture."""
    if path is None:
        return
    if path.suffix.lower() not in PICTURES:
        raise ParameterError(
            f"a picture cannot be saved as {path.name!r}; its name must end in "
            f"{', '.join(PICTURES)}"
        )
    check_output(path, *inputs, force=force)


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
