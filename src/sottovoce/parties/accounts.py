"""What a data set has spent: its account in a party's budget ledger."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..checks import printable, rounded_up
from ..errors import GuaranteeError


@dataclass(frozen=True)
class Charge:
    """One run that spent from a data set's budget.

    Attributes
    ----------
    study, session : str
        Digest of the study and name of the run, in hexadecimal digits.
    epsilon : Fraction
        What it cost.
    date : str
        The day, in UTC.
    receipt : str
        The curator's signed receipt in hexadecimal digits; empty where none came.
    """

    study: str
    session: str
    epsilon: Fraction
    date: str
    receipt: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "study": self.study,
            "session": self.session,
            "epsilon": float(self.epsilon),
            "exact": str(self.epsilon),
            "date": self.date,
            "receipt": self.receipt or None,
        }


@dataclass(frozen=True)
class Account:
    """One data set: its budget, and what was charged to it.

    Attributes
    ----------
    data : str
        Name of the data set.
    budget : Fraction
        All that may be spent.
    charges : tuple of Charge
        In the order in which they were made.
    """

    data: str
    budget: Fraction
    charges: tuple[Charge, ...] = ()

    @property
    def spent(self) -> Fraction:
        """The sum of all charges: ε adds up over releases about the same people."""
        return sum((charge.epsilon for charge in self.charges), Fraction(0))

    @property
    def left(self) -> Fraction:
        """What may still be spent; 0 where the budget was lowered below what is spent."""
        return max(self.budget - self.spent, Fraction(0))

    def of(self, session: bytes) -> Charge | None:
        """The charge of a session, if there is one."""
        return next((one for one in self.charges if one.session == session.hex()), None)

    def check(self, epsilon: Fraction) -> None:
        """Refuse to spend more than is left."""
        if epsilon > self.left:
            raise GuaranteeError(
                f"the run would spend ε = {shown(epsilon)} of the data set "
                f"{printable(self.data)!r}, and {shown(self.left, down=True)} of its budget of "
                f"{shown(self.budget)} is left ({shown(self.spent)} was spent before); nothing was "
                "sent. `sottovoce parties budget` lists the runs"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "data": self.data,
            "budget": float(self.budget),
            "spent": float(self.spent),
            "left": float(self.left),
            "charges": [charge.as_dict() for charge in self.charges],
        }


def shown(epsilon: Fraction, *, down: bool = False) -> str:
    """Epsilon in six digits: what is spent is rounded up, what is left is rounded down."""
    if down:
        text = rounded_up(float(-epsilon), 6)
        return text.removeprefix("-") if epsilon else "0"
    return rounded_up(float(epsilon), 6)
