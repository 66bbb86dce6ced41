"""How work that takes long says how far it is: whoever shows it passes a function in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

#: Told how much is done, in the unit of the total.
Done: TypeAlias = Callable[[int], None]
#: ``with progress(label, total) as done``
Progress: TypeAlias = Callable[[str, int], AbstractContextManager[Done]]


@contextmanager
def silent(label: str, total: int) -> Iterator[Done]:
    """Show nothing."""
    yield lambda done: None
