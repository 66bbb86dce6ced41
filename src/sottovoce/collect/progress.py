"""How long work reports its progress: the caller that shows it passes in a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeAlias

#: Called with how much is done, in the unit of the total.
Done: TypeAlias = Callable[[int], None]
#: ``with progress(label, total) as done``
Progress: TypeAlias = Callable[[str, int], AbstractContextManager[Done]]


@contextmanager
def silent(label: str, total: int) -> Iterator[Done]:
    """Show nothing."""
    yield lambda done: None
