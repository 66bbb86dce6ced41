"""A question's mechanism with its levels and rates: in words, made from options, predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ParameterError
from .screen import percent

if TYPE_CHECKING:
    from ...domain.values import Attribute
    from ...mechanisms.mechanism import Mechanism


# --- in words ---------------------------------------------------------------------------------


def words(mechanism: Mechanism) -> str:
    """Such as "grr, epsilon = 1" or "oue at 4 levels, epsilon 0.5 to 4, rate 0.1"."""
    from ...participation.choices import menu_of, unwrapped

    levels = list(menu_of(mechanism).values())
    if not levels:
        return f"{unwrapped(mechanism).id}, epsilon = {mechanism.epsilon:g}{_rates(mechanism)}"
    kinds = " or ".join(dict.fromkeys(unwrapped(level).id for level in levels))
    epsilons = sorted(level.epsilon for level in levels)
    many = "1 level" if len(levels) == 1 else f"{len(levels)} levels"
    to = f" {epsilons[0]:g} to {epsilons[-1]:g}" if len(levels) > 1 else f" = {epsilons[0]:g}"
    return f"{kinds} at {many}, epsilon{to}{_rates(mechanism)}"


def _rates(mechanism: Mechanism) -> str:
    from ...participation.choices import rates_of

    rates = rates_of(mechanism)
    if len(rates) > 1:
        return f", {len(rates)} rates from {min(rates):g} to {max(rates):g}"
    return f", rate {rates[0]:g}" if rates else ""


def short(mechanism: Mechanism) -> str:
    """The same without what needs no repeating: "grr", or the words of a wrapper."""
    from ...participation.choices import unwrapped

    return mechanism.id if unwrapped(mechanism) is mechanism else words(mechanism)


# --- from options -----------------------------------------------------------------------------


def made(
    attribute: Attribute,
    epsilon: float | None,
    levels: Mapping[str, float] | None,
    rate: float | list[float] | None,
    name: str | None,
) -> Mechanism:
    """The mechanism that a new study asks for; without a name the one with the least error."""
    from ...mechanisms import by_id
    from ...participation import Levels, Sampled
    from ...planning.choose import best_kind

    menu = levels or {}
    if epsilon is not None:
        menu = {"": epsilon}
    kind = best_kind(attribute, menu.values()) if name is None else by_id(name)
    mechanism: Mechanism = (
        Levels.of(kind, attribute, menu) if epsilon is None else kind(attribute, epsilon=epsilon)
    )
    return mechanism if rate is None else Sampled(mechanism, rate=rate)


# --- predicted --------------------------------------------------------------------------------


def error(mechanism: Mechanism, people: int) -> tuple[float | None, str]:
    """Predicted standard error, and of what; None where some people can never report.

    People are spread evenly over levels and rates, and each group is estimated on its own.
    """
    from ...mechanisms.numeric import NumericMechanism
    from ...participation.choices import unwrapped

    parts = [_person(part, rate) for part, rate in _groups(mechanism)]
    mean = sum(parts) / len(parts) / people
    if not math.isfinite(mean):
        return None, "not predictable: who has rate 0 never reports"
    found = math.sqrt(mean)
    if isinstance(unwrapped(mechanism), NumericMechanism):
        return found, f"at most {found:.3g} of the mean"
    return found, f"{percent(found, 2)} of each share"


def _groups(mechanism: Mechanism) -> list[tuple[Mechanism, float]]:
    """Every level at every rate."""
    from ...participation.choices import menu_of, rates_of, unwrapped

    return [
        (unwrapped(level), rate)
        for level in menu_of(mechanism).values() or [mechanism]
        for rate in rates_of(level) or (1.0,)
    ]


def _person(mechanism: Mechanism, rate: float) -> float:
    """Variance from one person who reports at a rate: an average share's, or a mean's at most."""
    from ...mechanisms.linear import LinearMechanism
    from ...mechanisms.numeric import NumericMechanism

    if rate == 0:
        return math.inf
    if isinstance(mechanism, LinearMechanism):
        d = mechanism.domain.size
        noise, answers = mechanism.total_variance(1) / d, (1 - 1 / d) / d
    elif isinstance(mechanism, NumericMechanism):
        span = mechanism.domain.high - mechanism.domain.low
        noise = span**2 * float(mechanism.variance_at([0.0, 0.5, 1.0]).max())
        answers = span**2 / 4
    else:
        raise ParameterError(f"no error can be predicted for {mechanism.id!r}")
    return (noise + (1 - rate) * answers) / rate


def advice(mechanism: Mechanism) -> str:
    """Which other mechanism would give a clearly smaller error, if any."""
    from ...participation import Levels
    from ...participation.choices import menu_of, unwrapped
    from ...planning.choose import best_kind

    levels = {name: unwrapped(m) for name, m in menu_of(mechanism).items()}
    plain = levels or {"": unwrapped(mechanism)}
    if not all(m.compared for m in plain.values()):
        return ""  # what a prior is worth cannot be told from epsilon alone
    kind = best_kind(mechanism.domain, [m.epsilon for m in plain.values()])
    best = Levels.of(kind, mechanism.domain, {n or "all": m.epsilon for n, m in plain.items()})
    mine = Levels({n or "all": m for n, m in plain.items()})
    ratio = (error(mine, 1)[0] or 0.0) / (error(best, 1)[0] or 1.0)
    if ratio <= 1.1:
        return ""
    names = " or ".join(dict.fromkeys(m.id for m in plain.values()))
    return (
        f"{getattr(mechanism.domain, 'name', '')!r}: {kind.id} promises the same with "
        f"{1 - 1 / ratio:.0%} less error than {names}"
    )


def about(mechanism: Mechanism) -> dict[str, Any]:
    """Plain data, for JSON: what a study file says of the mechanism."""
    from ...study.questions import privacy

    return privacy(mechanism)
