"""Invitation codes: used once, and kept so that no code can be linked to a report.

Codes are stored hashed, on sheets of up to 4,096 in the order of the hashes. Using a code rewrites
its whole sheet, so that a row's age or version shows at most that *some* code of the sheet was used
last, and there is no time, submission or report beside a code. Unknown and used codes get the same
answer: otherwise anyone with somebody's code could ask whether they took part.
"""

from __future__ import annotations

import secrets
from base64 import b32encode
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from .stores import Store

SHEET = 4096
MOST_CODES = 1_000_000
_START = "sheet/"
_ALPHABET = bytes.maketrans(  # no letters that look like digits
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", b"0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)
_ROW = np.dtype([("code", "V16"), ("people", "<u4"), ("used", "u1")])


def make_codes(store: Store, digest: bytes, many: int, *, people: int = 1) -> list[str]:
    """Draw new codes, keep them hashed, and return them; runs inside a transaction.

    `digest` is that of the study: a code is of no use in another one. Each code is good for one
    submission of so many people.
    """
    if not 1 <= many <= MOST_CODES or not 1 <= people <= 10_000:
        raise ParameterError(
            f"{many:,} codes for {people:,} people each were asked for; 1 to {MOST_CODES:,} codes "
            "for 1 to 10,000 people each can be made at a time"
        )
    codes: dict[bytes, str] = {}
    while len(codes) < many:
        code = b32encode(secrets.token_bytes(10)).translate(_ALPHABET).decode()  # 16 signs
        codes[hash_code(code, digest)] = "-".join(code[k : k + 4] for k in range(0, 16, 4))
    hashes = sorted(codes)
    first = store.count_facts(_START)
    for start in range(0, many, SHEET):
        some = hashes[start : start + SHEET]
        sheet = np.zeros(len(some), _ROW)
        sheet["code"] = np.frombuffer(b"".join(some), "V16")
        sheet["people"] = people
        store.put_fact(f"{_START}{first + start // SHEET:06d}", sheet.tobytes())
    return [codes[code] for code in hashes]


def hash_code(code: str, digest: bytes) -> bytes:
    """What is stored of a code; hyphens, spaces and small letters make no difference."""
    plain = code.upper().replace("-", "").replace(" ", "").encode("utf-8", "replace")
    return blake2b(plain, digest_size=16, key=digest, person=b"sottovoce code").digest()


class Codes:
    """The codes of a study, as the server keeps them in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sheets: dict[str, NDArray[np.void]] = {}
        self._where: dict[bytes, tuple[str, int]] = {}
        self._changed: dict[tuple[str, int], None] = {}

    @property
    def needed(self) -> bool:
        """Whether the study is by invitation."""
        return bool(self._sheets)

    def refresh(self) -> None:
        """Read sheets that were added since; runs inside a transaction."""
        if self._store.count_facts(_START) == len(self._sheets):
            return
        for key, data in self._store.facts(_START):
            if key not in self._sheets:
                if len(data) % _ROW.itemsize:
                    raise self._store.damaged("a sheet of codes is cut off")
                sheet = np.frombuffer(data, _ROW).copy()
                self._sheets[key] = sheet
                for k, code in enumerate(sheet["code"]):
                    self._where[bytes(code)] = (key, k)

    def use(self, code: bytes | None, people: int) -> bool:
        """Mark a code as used, if it is good for so many people."""
        where = self._where.get(code) if code is not None else None
        if where is None:
            return False
        row = self._sheets[where[0]][where[1]]
        if row["used"] or people > row["people"]:
            return False
        row["used"] = 1
        self._changed[where] = None
        return True

    def write(self) -> bool:
        """Rewrite the sheets of codes that were used; whether there were any."""
        for key in {key for key, _ in self._changed}:
            self._store.put_fact(key, self._sheets[key].tobytes())
        return bool(self._changed)

    def settle(self, *, committed: bool) -> None:
        """After the commit: the codes stay used, or are free again."""
        if not committed:
            for key, k in self._changed:
                self._sheets[key][k]["used"] = 0
        self._changed.clear()

    @property
    def numbers(self) -> tuple[int, int]:
        """(codes, used codes)."""
        sheets = self._sheets.values()
        return sum(map(len, sheets)), sum(int(sheet["used"].sum()) for sheet in sheets)
