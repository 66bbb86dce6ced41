"""A party's budget ledger: what its data sets have spent, across runs and studies.

Every release about the same people adds to what can be learned about them, whoever asks and in
whichever study. So the budget belongs to a **data set**, and its owner keeps one private file with
a line for every charge. A charge is on disk before the party sends anything that depends on its
data, and it stays there however the run ends. Amounts are exact fractions, of ε and of δ
(`accounts`).

::

    sottovoce budget ledger v1
    9f86d081… {"budget": "1/2", "data": "clinic", "date": "2026-03-01", "kind": "budget", …}
    1b4f0e98… {"data": "clinic", "delta": "0", "epsilon": "1/10", "kind": "charge", …}
    fd61a03a… {"data": "clinic", "kind": "receipt", "session": "…", …}
    60303ae2… {"data": "clinic", "digest": "…", "kind": "file", "salt": "…", …}

Files are recognised by a salted digest: one that was charged as one data set is refused as another,
so that a study which calls the party by another name does not give its people a second budget.

The word before each entry is a SHA-256 checksum of that entry and all before it: a ledger in which
something was changed, removed in between or cut off in the middle of a line is refused; an older
copy of the whole file is not recognised. A lock makes processes that charge at the same time wait
for each other.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from ..checks import printable
from ..errors import FileError, GuaranteeError, ParameterError
from ..files import state_path
from .accounts import Account, Charge, amount_of, delta_of, shown
from .book import Book

__all__ = ["Account", "Charge", "Ledger", "default_path", "shown"]

_MOST_NAME = 200
_NONE = Fraction(0)


class Ledger:
    """The budgets of a party's data sets, in one private file, made with the first entry.

    Examples
    --------
    >>> import tempfile
    >>> from fractions import Fraction
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "budgets")
    >>> tenth = Fraction(1, 10)
    >>> ledger.charge("clinic", tenth, study=b"s", session=b"1", budget=3 * tenth).left
    Fraction(1, 5)
    >>> ledger.charge("clinic", tenth, study=b"s", session=b"1", budget=3 * tenth).left
    Fraction(1, 5)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def accounts(self) -> tuple[Account, ...]:
        """All data sets, in the order of their first use."""
        if not self.path.exists():
            return ()
        with self._lock(write=False) as book:
            return tuple(book.accounts.values())

    def check(
        self,
        data: str,
        epsilon: Fraction,
        *,
        budget: Fraction,
        content: bytes = b"",
        delta: Fraction = _NONE,
    ) -> Account:
        """Refuse, without writing anything, what `charge` would refuse."""
        account = Account(_name(data), budget)
        if self.path.exists():
            with self._lock(write=False) as book:
                book.check_content(data, content)
                account = book.accounts.get(data, account)
        account.check(amount_of(epsilon, "epsilon"), delta_of(delta, "delta"))
        return account

    def charge(
        self,
        data: str,
        epsilon: Fraction,
        *,
        study: bytes,
        session: bytes,
        budget: Fraction,
        content: bytes = b"",
        delta: Fraction = _NONE,
    ) -> Account:
        """Spend what a run costs from a data set's budget; on disk before this returns.

        A session that was charged already is not charged again: it is the same run, continued.
        `budget` is all that may be spent, where the data set has none yet; `content` the SHA-256 of
        the file with the data. GuaranteeError, and nothing is written, where less is left (of ε or
        δ) or the file is another data set's.
        """
        amount_of(epsilon, "epsilon"), amount_of(budget, "budget"), delta_of(delta, "delta")
        with self._lock(write=True) as book:
            account = book.accounts.get(_name(data))
            before = None if account is None else account.of(session)
            if account is not None and before is not None:
                if (before.study, before.epsilon) != (study.hex(), epsilon):
                    raise GuaranteeError(
                        f"the session {session.hex()[:16]} was charged with another study or "
                        "amount; a run cannot change what it costs"
                    )
                return account
            known = book.check_content(data, content)
            (account or Account(data, budget)).check(epsilon, delta)
            if account is None:
                book.add("budget", data, budget=str(budget), by=study.hex())
            if content and not known:
                book.add_file(data, content)
            about = {"study": study.hex(), "session": session.hex()}
            book.add("charge", data, epsilon=str(epsilon), delta=str(delta), **about)
            return book.accounts[data]

    def set_budget(
        self, data: str, budget: Fraction | None = None, *, delta: Fraction | None = None
    ) -> Account:
        """The owner's decision how much may be spent in all; past charges stay.

        `budget` is of ε and `delta` the limit of δ; what is None stays as it is.
        """
        with self._lock(write=True) as book:
            account = book.accounts.get(_name(data))
            if budget is None:
                if account is None:
                    raise ParameterError(
                        f"the data set {printable(data)!r} has no budget of epsilon yet; set it "
                        "together with the limit of delta"
                    )
                budget = account.budget
            about = {"budget": str(amount_of(budget, "budget")), "by": "owner"}
            if delta is not None:
                about["delta"] = str(delta_of(delta, "the limit of delta"))
            book.add("budget", data, **about)
            return book.accounts[data]

    def keep_receipt(self, data: str, *, study: bytes, session: bytes, receipt: bytes) -> None:
        """Keep a receipt, whose signature the caller has checked, beside its charge."""
        with self._lock(write=True) as book:
            account = book.accounts.get(_name(data))
            charge = None if account is None else account.of(session)
            if charge is None or charge.study != study.hex():
                raise GuaranteeError(
                    f"a receipt came for the session {session.hex()[:16]}, which was not charged "
                    f"to the data set {printable(data)!r}; refused"
                )
            if charge.receipt == receipt.hex():
                return
            if charge.receipt:
                raise GuaranteeError(
                    f"a second, different receipt came for the session {session.hex()[:16]}; the "
                    "curator signed two results of one run. Refused; ask the curator"
                )
            about = {"study": study.hex(), "session": session.hex(), "receipt": receipt.hex()}
            book.add("receipt", data, **about)

    @contextmanager
    def _lock(self, *, write: bool) -> Iterator[Book]:
        try:
            if write:
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = (os.O_RDWR | os.O_CREAT) if write else os.O_RDONLY
            handle = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "r+b" if write else "rb") as stream:
                if os.fstat(handle).st_mode & 0o077:
                    raise FileError(
                        f"the budget ledger {str(self.path)!r} can be read or written by others; "
                        "it says which studies a data set is in. chmod 600 it"
                    )
                fcntl.flock(stream, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
                yield Book(self.path, stream)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(
                f"cannot use the budget ledger {str(self.path)!r}: {error.strerror or error}"
            ) from error


def default_path() -> Path:
    """Where the ledger is: as the environment says, else among this user's private files."""
    no_home = "for a budget ledger; choose a file with --ledger"
    return state_path("SOTTOVOCE_BUDGETS", "budgets", no_home)


def _name(data: str) -> str:
    if not isinstance(data, str) or not 0 < len(data) <= _MOST_NAME:
        raise ParameterError(
            f"a data set is named {data!r}; a name has 1 to {_MOST_NAME} characters"
        )
    return data
