"""A party is charged before its masked vector leaves it.

What a party sends before (a public key, its number of rows where that is public, sealed shares)
says nothing about its rows, or nothing without its own help. The masked vector is what sums are
opened from; from then on the party has no say in it, so it is charged whether or not the run ends
well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..transport import Batch, Inbox, Machine, Outbox

_MASKED = "masked"


class Charged(Machine[Any]):
    """A party's machine, with something that must be done before its masked vector is sent.

    Parameters
    ----------
    machine : Machine
        Of the party.
    charge : callable
        Raises where the budget does not allow it; then nothing is sent. A run that is continued
        from its journal sends the vector that is there, and does not call it again.
    """

    def __init__(self, machine: Machine[Any], charge: Callable[[], object]) -> None:
        self.role, self.members = machine.role, machine.members
        self._machine, self._charge = machine, charge

    def start(self) -> Any:
        """The state before the run."""
        return self._machine.start()

    def step(self, state: Any, inbox: Inbox) -> tuple[Any, Outbox]:
        """As the machine does; its masked vector is handed out after the charge."""
        state, outbox = self._machine.step(state, inbox)
        return state, replace(outbox, batches=self._after_charge(outbox.batches))

    def _after_charge(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        for batch in batches:
            if batch.kind == _MASKED:
                self._charge()
            yield batch
