"""From a column to an estimate in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..domain.values import Attribute, Domain, Label, Missing
from ..errors import ParameterError
from ..estimate.estimate import Estimate
from ..participation import Levels
from ..planning.choose import best_kind, choose


def ask(
    answers: Any,
    *,
    epsilon: float | None = None,
    levels: Mapping[str, float] | None = None,
    level: Any = None,
    values: Sequence[Label] | int | None = None,
    name: str | None = None,
    missing: Missing = "refuse",
    public_data: bool = False,
) -> Estimate:
    """Randomise a column of answers and estimate the fractions from the reports alone.

    This plays every role on one machine, to try things out. In a real collection `randomise` runs
    on each participant's side.

    Parameters
    ----------
    answers : array-like
        One answer per person.
    epsilon : float
        Privacy parameter, above 0 and at most 20; 1 is a common choice.
    levels : mapping of str to float
        Instead of `epsilon`: a menu of levels with an epsilon each.
    level : str or array-like of str
        Which of them each person chose.
    values : sequence or int
        The possible answers, declared beforehand.
    name : str, optional
        What was asked; taken from the column where it has a name.
    missing : {"refuse", "value", "public"}
        What a missing answer is; see `Domain`.
    public_data : bool
        Allows leaving `values` out: they are then read off the data.

    Returns
    -------
    Estimate
        By the mechanism with the lowest error, as `choose` finds it; over levels, "james-stein".

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.ask(["yes", "no", "yes"] * 1000, values=["yes", "no"], epsilon=1.0).n
    3000
    """
    title = getattr(answers, "name", None) if name is None else name
    if values is None:
        values = list(Domain.infer(answers, public_data=public_data).values)
    attribute = (
        Attribute(title, values, missing=missing)
        if isinstance(title, str) and title
        else Domain(values, missing=missing)
    )
    if levels is not None and epsilon is None:
        menu = Levels.of(best_kind(attribute, levels.values()), attribute, levels)
        return menu.estimate(menu.aggregate(menu.randomise(answers, level=level)))
    if levels is None and level is None and epsilon is not None:
        mechanism = choose(attribute, epsilon).mechanism
        return mechanism.estimate(mechanism.aggregate(mechanism.randomise(answers)))
    raise ParameterError(
        f"epsilon is {epsilon!r} and levels are {levels!r}; give epsilon=1.0, or a menu as "
        "levels={'strong': 0.5, 'normal': 2} and who chose what as level=…"
    )
