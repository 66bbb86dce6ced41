"""From a column or a table to an estimate in one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..domain.schema import Schema
from ..domain.values import Attribute, Domain, Label, Missing
from ..errors import AnswerError, ParameterError
from ..estimate.estimate import Estimate
from ..mechanisms.mechanism import Mechanism
from ..participation import Levels
from ..planning.choose import best_kind
from ..records import Records

Values = Sequence[Label] | int | Domain


def ask(
    answers: Any,
    *,
    epsilon: float | None = None,
    levels: Mapping[str, float] | None = None,
    level: Any = None,
    values: Values | Mapping[str, Values] | Schema | None = None,
    name: str | None = None,
    missing: Missing = "refuse",
    public_data: bool = False,
) -> Estimate:
    """Randomise answers and estimate from the reports alone: fractions, a mean, or a joint table.

    This plays every role on one machine, to try things out. In a real collection `randomise` runs
    on each participant's side.

    Parameters
    ----------
    answers : array-like, data frame or mapping of columns
        One answer per person, or a table with one row per person.
    epsilon : float
        Privacy parameter, above 0 and at most 20; 1 is a common choice. For a table, that of each
        attribute: all answers of a person together have it times the number of attributes.
    levels : mapping of str to float
        Instead of `epsilon`: a menu of levels with an epsilon each.
    level : str or array-like of str
        Which of them each person chose.
    values : sequence, int, Domain or Range; for a table a mapping of them by column, or a Schema
        The possible answers, declared beforehand; a `Range` for numbers whose mean is wanted.
    name : str, optional
        What was asked; by default the name of the column, if it has one.
    missing : {"refuse", "value", "public"}
        What a missing answer is, where `values` does not say it; see `Domain`.
    public_data : bool
        Allows leaving `values` out: they are then inferred from the answers.

    Returns
    -------
    Estimate
        By the mechanism with the lowest error, as `choose` finds it, or for thousands of values
        one with nearly that error, short reports and fast decoding; over levels, "james-stein".
        For a table the joint `Table` of its attributes, whose `marginal` gives fewer of them.

    Examples
    --------
    >>> import sottovoce as sv
    >>> sv.ask(["yes", "no", "yes"] * 1000, values=["yes", "no"], epsilon=1.0).n
    3000
    >>> sv.ask([20, 30, 70] * 1000, values=sv.Range("age", 0, 120), epsilon=1.0).labels
    ('mean',)
    >>> table = {"smokes": ["yes", "no"] * 500, "age": [20, 70] * 500}
    >>> known = {"smokes": ["yes", "no"], "age": sv.Attribute.bins("age", [0, 40, 120])}
    >>> sv.ask(table, values=known, epsilon=2.0).names
    ['smokes', 'age']
    """
    if isinstance(values, (Mapping, Schema)):
        return _table(answers, values, missing, epsilon, levels)
    title = getattr(answers, "name", None) if name is None else name
    if values is None:
        values = list(Domain.infer(answers, public_data=public_data).values)
    many = len(answers) if hasattr(answers, "__len__") else 0
    domain = _domain(title, values, missing)
    mechanism = _mechanism(domain, many or None, epsilon, levels, level)
    try:
        reports = mechanism.randomise(answers, level=level)
    except AnswerError as error:
        raise AnswerError(f"{error}{_bounds_hint(domain)}") from error
    return mechanism.estimate(mechanism.aggregate(reports))


def _bounds_hint(domain: Domain) -> str:
    """What to give instead, where two numbers may have been meant as bounds."""
    numbers = [value for value in domain.labels if isinstance(value, (int, float))]
    if domain.edges is not None or domain.size != 2 or len(numbers) != 2:
        return ""
    low, high = sorted(numbers)
    if high - low <= 1:  # 0 and 1 stand for no and yes
        return ""
    return f"; for the mean of a number between them, give values=sv.Range('name', {low}, {high})"


def _domain(title: Any, values: Values, missing: Missing) -> Domain:
    if isinstance(values, Domain):
        return values
    if isinstance(title, str) and title:
        return Attribute(title, values, missing=missing)
    return Domain(values, missing=missing)


def _mechanism(
    domain: Domain,
    n: int | None,
    epsilon: float | None,
    levels: Mapping[str, float] | None,
    level: Any,
) -> Mechanism:
    if levels is not None and epsilon is None:
        return Levels.of(best_kind(domain, levels.values(), n), domain, levels)
    if levels is None and level is None and epsilon is not None:
        return best_kind(domain, [epsilon], n)(domain, epsilon=epsilon)
    raise ParameterError(
        f"epsilon is {epsilon!r} and levels are {levels!r}; give epsilon=1.0, or a menu as "
        "levels={'strong': 0.5, 'normal': 2} and who chose what as level=…"
    )


def _table(
    answers: Any,
    values: Mapping[str, Values] | Schema,
    missing: Missing,
    epsilon: float | None,
    levels: Mapping[str, float] | None,
) -> Estimate:
    if epsilon is None or levels is not None:
        raise ParameterError("a table is asked with one epsilon for each attribute: epsilon=1.0")
    if isinstance(values, Mapping):
        values = Schema([_attribute(name, one, missing) for name, one in values.items()])
    records = Records(values, epsilon_average=epsilon)
    counts = records.aggregate(records.randomise(answers))
    return records.joint(counts, records.names)


def _attribute(name: str, values: Values, missing: Missing) -> Attribute:
    domain = _domain(name, values, missing)
    if not isinstance(domain, Attribute) or domain.name != name:
        raise ParameterError(
            f"the column {name!r} has the values {domain!r}; give a list of values, or an "
            "Attribute of the same name"
        )
    return domain
