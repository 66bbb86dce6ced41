"""Errors of randomised response that knows a prior, against ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..published.information_privacy import Curve
from .paint import BLUE, GREEN, GREY, ORANGE, SKY, need_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Solid lines promise ε under the prior or without one; dashed ones are at half of it, or do not
# use the prior at all.
_LOOK: dict[str, dict[str, Any]] = {
    "ε-LIP": {"color": BLUE, "marker": "o", "linewidth": 2.2, "zorder": 5},
    "ε/2-LIP": {"color": SKY, "marker": "s", "linestyle": "--"},
    "symmetric LIP": {"color": GREEN, "marker": "^", "linestyle": (0, (4, 1)), "zorder": 6},
    "Opt-LDP": {"color": ORANGE, "marker": "v", "linewidth": 2.2},
    "context-free LDP": {"color": GREY, "marker": "P", "linestyle": "--"},
}


def lip(what: Curve | Sequence[Curve], *, ax: Any = None) -> Any:
    """Draw √(average squared error per person) against ε, one panel per prior.

    Parameters
    ----------
    what : Curve, or sequence of them
        Made by `prior_curve`.
    ax : matplotlib Axes, or one for each curve, optional
        Where; a new figure by default.

    Returns
    -------
    matplotlib Axes, or a list of them
        As curves were given.

    Examples
    --------
    >>> import sottovoce as sv
    >>> from sottovoce.published import prior_curve
    >>> ax = sv.plot.lip(prior_curve(0.1))
    >>> ax.get_title(loc="left")
    'P(yes) = 0.1'
    """
    need_matplotlib()
    one = isinstance(what, Curve)
    curves: list[Curve] = [what] if isinstance(what, Curve) else list(what)
    if not curves or not all(isinstance(curve, Curve) for curve in curves):
        raise ParameterError("only curves can be drawn: give one from prior_curve, or several")
    axes = _panels(len(curves)) if ax is None else ([ax] if one else list(ax))
    if len(axes) != len(curves):
        raise ParameterError(f"{len(curves)} curves need as many axes; {len(axes)} were given")
    for curve, each in zip(curves, axes, strict=True):
        _panel(each, curve)
    axes[0].set_ylabel("error per person, √(average MSE)")
    if ax is None:
        names = axes[0].get_legend_handles_labels()
        columns = 3 if len(axes) < 3 else len(names[0])  # two panels are too narrow for one row
        axes[0].figure.legend(*names, loc="outside upper left", ncols=columns, frameon=False)
    else:
        axes[-1].legend(frameon=False, fontsize="small")
    return axes[0] if one else axes


def _panels(many: int) -> list[Axes]:
    import matplotlib.pyplot as plt

    size = (6.4, 4.8) if many == 1 else (min(3.5 * many, 14), 4.3)
    _, axes = plt.subplots(1, many, figsize=size, layout="constrained", squeeze=False)
    return list(axes[0])


def _panel(ax: Axes, curve: Curve) -> None:
    from matplotlib.ticker import FuncFormatter

    every = len(curve.errors)
    for k, (name, error) in enumerate(curve.errors.items()):
        # Marks alternate, so that overlapping curves are all visible.
        at = (k % curve.epsilons.size, every)
        ax.plot(curve.epsilons, error, label=name, markersize=5, markevery=at, **_LOOK[name])
    ax.axhline(
        curve.unasked, color=GREY, linewidth=1, linestyle=":", label="the prior, without asking"
    )
    least = min(float(error.min()) for error in curve.errors.values())
    ax.set(yscale="log", xlabel="ε", ylim=(least / 1.3, 3.2 * curve.unasked))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_title(curve.prior, loc="left", fontsize="medium")
    ax.grid(which="major", color="#E6E6E6", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)
