"""What a data set may spend, and what was charged to it: exact sums of ε and δ.

Both add up over releases about the same people (basic composition), and both have a limit: ε the
data set's budget, δ 1e-9 unless the owner sets another one. Ledgers of earlier versions did not
state δ; a charge in them counts as 2^−50, since no study that costs more could be run.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..checks import float_above, printable, rounded_up
from ..errors import GuaranteeError, ParameterError

#: δ of a charge that does not state it, and the most that a study may cost.
UNSTATED_DELTA = Fraction(1, 1 << 50)
#: The most δ that a data set may spend in all, where its owner has set nothing else.
DELTA_LIMIT = Fraction(1, 10**9)


@dataclass(frozen=True)
class Charge:
    """One run that spent from a data set's budget; study, session, receipt in hexadecimal."""

    study: str
    session: str
    epsilon: Fraction
    date: str  # the day, in UTC
    receipt: str = ""  # signed by the curator; empty where none came
    delta: Fraction = UNSTATED_DELTA

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study,
            "session": self.session,
            "epsilon": float(self.epsilon),
            "exact": str(self.epsilon),
            "delta": float_above(self.delta),
            "date": self.date,
            "receipt": self.receipt or None,
        }


@dataclass(frozen=True)
class Account:
    """One data set: its name, all that may be spent, and what was charged to it in order."""

    data: str
    budget: Fraction
    charges: tuple[Charge, ...] = ()
    delta_limit: Fraction = DELTA_LIMIT

    @property
    def spent(self) -> Fraction:
        """The sum of all charges: ε adds up over releases about the same people."""
        return sum((charge.epsilon for charge in self.charges), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; 0 where the budget was lowered below what is spent."""
        return max(self.budget - self.spent, Fraction(0))

    @property
    def delta_spent(self) -> Fraction:
        """The sum of the δ of all charges, which adds up as ε does."""
        return sum((charge.delta for charge in self.charges), Fraction(0))

    @property
    def delta_left(self) -> Fraction:
        """What of δ may still be spent."""
        return max(self.delta_limit - self.delta_spent, Fraction(0))

    def of(self, session: bytes) -> Charge | None:
        """The charge of a session, if there is one."""
        return next((one for one in self.charges if one.session == session.hex()), None)

    def check(self, epsilon: Fraction, delta: Fraction = Fraction(0)) -> None:
        """Refuse to spend more than is left, of ε or of δ."""
        if epsilon > self.left:
            raise GuaranteeError(
                f"the run would spend ε = {shown(epsilon)} of the data set "
                f"{printable(self.data)!r}, and {shown(self.left, down=True)} of its budget of "
                f"{shown(self.budget)} is left ({shown(self.spent)} was spent before); nothing was "
                "sent. `sottovoce parties budget` lists the runs"
            )
        if delta > self.delta_left:
            raise GuaranteeError(
                f"the run would spend δ = {shown(delta)} of the data set "
                f"{printable(self.data)!r}, and {shown(self.delta_left, down=True)} of the "
                f"{shown(self.delta_limit)} that it may spend in all is left "
                f"({shown(self.delta_spent)} was spent before); nothing was sent. Its owner can "
                "allow more with `sottovoce parties budget --total-delta`"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "data": self.data,
            "budget": float(self.budget),
            "spent": float(self.spent),
            "left": float(self.left),
            "delta_limit": float(self.delta_limit),
            "delta_spent": float_above(self.delta_spent),
            "delta_left": -float_above(-self.delta_left),
            "charges": [charge.as_dict() for charge in self.charges],
        }


def amount_of(epsilon: Fraction, what: str) -> Fraction:
    """An exact amount above 0; anything else is refused."""
    if not isinstance(epsilon, Fraction) or epsilon <= 0:
        raise ParameterError(f"{what} is {epsilon!r}; it must be a fraction above 0")
    return epsilon


def delta_of(delta: Fraction, what: str) -> Fraction:
    """An exact δ from 0 to 1; anything else is refused."""
    if not isinstance(delta, Fraction) or not 0 <= delta <= 1:
        raise ParameterError(f"{what} is {delta!r}; it must be a fraction from 0 to 1")
    return delta


def shown(amount: Fraction, *, down: bool = False) -> str:
    """An amount in six digits: what is spent is rounded up, what is left is rounded down."""
    if down:
        text = rounded_up(float(-amount), 6)
        return text.removeprefix("-") if amount else "0"
    return rounded_up(float(amount), 6)
