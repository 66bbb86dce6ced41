"""Public rates: what is allowed, whose they are, and which are best under a budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..domain import code_dtype
from ..encoding import Coded
from ..errors import GuaranteeError, ParameterError
from ..estimate import Floats
from ..mechanism import LinearMechanism, Mechanism, PureMechanism
from .wrapper import MOST_CHOICES

_LEAST = 1e-9
_SURE = 60.0  # nats: rates that follow the answers by chance once in 1e26 collections


def checked_rates(given: Any, epsilon: float) -> tuple[float, ...]:
    """One rate or a grid of them, as floats; rates per value are refused with what they cost."""
    if isinstance(given, Mapping) or callable(given):
        raise _follows(list(given.values()) if isinstance(given, Mapping) else [], epsilon)
    if isinstance(given, str):
        raise ParameterError(f"rate is {given!r}; it must be a number from 0 to 1, or a list")
    try:
        rates = tuple(float(rate) for rate in np.atleast_1d(np.asarray(given, float)))
    except (TypeError, ValueError) as error:
        raise ParameterError(f"rate is {given!r}; it must be numbers from 0 to 1") from error
    bad = [r for r in rates if not (r == 0 or _LEAST <= r <= 1)]
    if bad or not rates or isinstance(given, bool):
        raise ParameterError(
            f"rate is {given!r}; a rate is a probability: 0, or from {_LEAST:g} to 1"
        )
    if len(set(rates)) != len(rates) or len(rates) > MOST_CHOICES:
        raise ParameterError(
            f"the grid has {len(rates)} rates, {len(set(rates))} of them different; give each "
            f"once, and at most {MOST_CHOICES}"
        )
    if max(rates) == 0:
        raise ParameterError("every rate is 0, so nobody would ever report; give a positive one")
    return rates


def rate_codes(given: Any, rates: Sequence[float], people: int) -> NDArray[Any]:
    """Positions in the grid of each person's rate."""
    if isinstance(given, Mapping) or callable(given):
        raise _follows(list(given.values()) if isinstance(given, Mapping) else [], math.inf)
    dtype = code_dtype(len(rates))
    if given is None:
        if len(rates) > 1:
            raise ParameterError(
                f"no rates were given; say rate=…, one of {_few(rates)} per person"
            )
        return np.zeros(people, dtype)
    try:
        asked = np.asarray(given, float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"rate is {given!r:.80}; rates are numbers of the grid") from error
    if asked.ndim == 0:
        asked = np.full(people, float(asked))
    grid = np.argsort(rates)
    found = np.searchsorted(np.asarray(rates)[grid], asked)
    codes = grid[np.minimum(found, len(rates) - 1)]
    strange = asked[np.asarray(rates)[codes] != asked]
    if strange.size:
        raise ParameterError(
            f"{strange.size} people have rates outside the public grid, such as {strange[0]!r}; "
            f"allowed are {_few(rates)}"
        )
    return codes.astype(dtype)


def refuse_following(
    coded: Coded, group: NDArray[Any], rates: Sequence[float], epsilon: float
) -> None:
    """Refuse rates that are a function of the answers, beyond what chance could do.

    If everyone with the same answer has the same rate, then whether someone reports gives the
    answer away. Were rates assigned regardless of answers, this would happen with probability
    about Π share(rate)^(people − 1) over the answers.
    """
    codes = coded.codes
    if codes.dtype.kind != "u" or codes.size < 2:
        return  # positions of numbers hardly ever repeat
    size = int(codes.max()) + 1
    first = np.full(size, -1, np.int64)
    first[codes[::-1]] = group[::-1]
    if (first[codes] != group).any():
        return
    used = np.unique(first[first >= 0])
    if used.size < 2:
        return
    people = np.bincount(codes, minlength=size)
    share = np.bincount(group, minlength=len(rates)) / group.size
    held = people > 0
    chance = float(((people[held] - 1) * -np.log(share[first[held]])).sum())
    if chance > _SURE:
        raise _follows([rates[h] for h in used.tolist()], epsilon)


def _follows(rates: Sequence[Any], epsilon: float) -> GuaranteeError:
    from ..accounting.sampling import value_dependent_loss

    try:
        loss = value_dependent_loss(epsilon, [float(rate) for rate in rates])
        true = f"the true epsilon is {loss:.3g}, not {epsilon:.3g}"
    except (ParameterError, TypeError, ValueError):
        true = "the true loss is max(ε + ln(π_max/π_min), ln((1 − π_min)/(1 − π_max)))"
    return GuaranteeError(
        f"these rates depend on people's own answers: whether someone reports then tells the "
        f"answer, and {true}; set rates by something public, such as a region"
    )


def _few(rates: Sequence[float]) -> str:
    shown = ", ".join(f"{rate:g}" for rate in rates[:8])
    return shown + (", …" if len(rates) > 8 else "")


def best_rates(
    mechanisms: Sequence[Mechanism],
    people: ArrayLike,
    *,
    budget: float,
    costs: ArrayLike | None = None,
) -> Floats:
    """Rates with the least error by inverse rates under a communication budget.

    π_h = min(1, λ √(V_h / c_h)), with λ such that Σ n_h c_h π_h = budget, where
    V_h = d q (1 − q) / (p − q)² + (1 − 2q) / (p − q) for a pure protocol: the noise of one report
    and the answer itself, total over the values.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        One per group of people.
    people : array-like
        How many people each group has.
    budget : float
        What may be spent in all: bytes, or with `costs` in their unit.
    costs : array-like, optional
        Of one report of each group; by default its bytes.

    Examples
    --------
    >>> import sottovoce as sv
    >>> strong, weak = sv.OUE(8, epsilon=0.5), sv.OUE(8, epsilon=4)
    >>> best_rates([strong, weak], [500, 500], budget=200, costs=[1, 1]).round(3).tolist()
    [0.342, 0.058]
    """
    n = np.asarray(people, float)
    v = np.array([_second_moment(mechanism) for mechanism in mechanisms])
    c = (
        np.array([m.report_bytes for m in mechanisms], float)
        if costs is None
        else np.asarray(costs, float)
    )
    if not (n.shape == v.shape == c.shape and (n > 0).all() and (c > 0).all()):
        raise ParameterError(
            f"{len(mechanisms)} mechanisms, people {people!r} and costs {costs!r}; give one "
            "positive number per mechanism"
        )
    if not (isinstance(budget, (int, float)) and 0 < budget < math.inf):
        raise ParameterError(f"budget is {budget!r}; it must be a positive number")
    if budget >= float(n @ c):
        return np.ones(n.size)
    shape = np.sqrt(v / c)
    low, high = 0.0, 1 / float(shape.min())
    for _ in range(200):
        middle = (low + high) / 2
        spent = float((n * c) @ np.minimum(1.0, middle * shape))
        low, high = (middle, high) if spent <= budget else (low, middle)
    return np.asarray(np.minimum(1.0, low * shape))


def _second_moment(mechanism: Mechanism) -> float:
    """E‖U‖² of one report's score, averaged over a uniform population."""
    if isinstance(mechanism, PureMechanism):
        p, q, d = float(mechanism.p), float(mechanism.q), mechanism.domain.size
        return d * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q)
    if isinstance(mechanism, LinearMechanism):
        return mechanism.total_variance(1) + 1
    noise = getattr(mechanism, "variance_at", None)
    if noise is None:
        raise ParameterError(f"{mechanism!r} has no variance to plan with")
    places = np.linspace(0, 1, 65)
    return float((noise(places) + places**2).mean())
