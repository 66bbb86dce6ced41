"""Files that cannot be read: what is wrong with each, and all of them in one error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..errors import FileError, SottovoceError, WireError

if TYPE_CHECKING:
    from ..contract.collection import Collection


def explained(collection: Collection, name: str, error: SottovoceError | OSError) -> SottovoceError:
    """The error, or one that says what the file is instead, where that can be seen."""
    if isinstance(error, WireError):
        from .recognise import not_reports, recognise

        try:
            columns = [column.name for column in collection.layout]
            what = not_reports(name, recognise(name), columns)
        except FileError as gone:  # meanwhile
            return gone
        return WireError(what) if what else error
    return (
        error if isinstance(error, SottovoceError) else FileError(f"cannot read {name!r}: {error}")
    )


def refuse_bad(bad: Mapping[str, SottovoceError], files: int) -> None:
    """Raise one error for all files that cannot be read."""
    if len(bad) == 1 == files:
        raise next(iter(bad.values()))
    kinds = {type(error) for error in bad.values()}
    kind = kinds.pop() if len(kinds) == 1 else WireError
    others = " (`sottovoce aggregate --skip-bad` counts the others)"
    raise kind(
        f"{len(bad):,} of {files:,} files cannot be read, and nothing was counted"
        + (others if len(bad) < files else "")
        + ": "
        + "; ".join(map(str, bad.values()))
    )
