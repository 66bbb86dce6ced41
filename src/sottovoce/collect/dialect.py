"""How a table was saved: the separator and encoding of a CSV file, the sheet of a workbook."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields
from typing import BinaryIO

from ..errors import ParameterError

_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}


@dataclass(frozen=True)
class Dialect:
    """How to read a table.

    `separator` is one sign, or "tab"; `encoding` a name that Python knows; `decimal` the decimal
    sign; all of them of a CSV file. `sheet` is that of a workbook, the first one where empty.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    sheet: str = ""

    def __post_init__(self) -> None:
        sign = _NAMES.get(self.separator.lower(), self.separator)
        if len(sign) != 1 or not sign.isascii() or sign.isalnum() or sign in '"\n\r\0':
            raise ParameterError(
                f"--separator is {self.separator!r}; it must be one sign, such as ';' or '|', or "
                "the word tab"
            )
        if self.decimal not in (".", ","):
            raise ParameterError(f"--decimal is {self.decimal!r}; it must be '.' or ','")
        if self.decimal == sign:
            raise ParameterError(
                f"--decimal and --separator are both {sign!r}; with a decimal comma the separator "
                "is mostly --separator ';'"
            )
        try:
            "a".encode(self.encoding)  # a codec that is not for text is refused, too
            name = codecs.lookup(self.encoding).name
        except (LookupError, ValueError) as error:
            raise ParameterError(
                f"--encoding is {self.encoding!r}, which is not known; common ones are utf-8, "
                "latin-1, cp1252 (Western Windows) and utf-16"
            ) from error
        object.__setattr__(self, "separator", sign)
        object.__setattr__(self, "encoding", name)

    def refuse_unused(self, where: str, *names: str) -> None:
        """Refuse options (all, if none is named) that would be ignored there."""
        for name in names or [field.name for field in fields(self)]:
            if getattr(self, name) != getattr(PLAIN, name):
                raise ParameterError(f"--{name} has no meaning for {where}; leave it out")

    @property
    def mark(self) -> bytes:
        """What distinguishes it from a plain CSV file in UTF-8, for digests."""
        return b"" if self == PLAIN else repr(self).encode()

    @property
    def is_utf8(self) -> bool:
        """Whether every byte may be read as it is."""
        return self.encoding in ("utf-8", "utf-8-sig")

    def start_of(self, stream: BinaryIO, size: int) -> tuple[str, bool]:
        """The text at the beginning of a stream, and whether that is all of it.

        Of UTF-8 every byte stands for itself, so that one that is malformed spoils only the name
        that it is in.
        """
        data = stream.read(size)
        whole = len(data) < size
        if self.is_utf8:
            return data.removeprefix(codecs.BOM_UTF8).decode("latin-1"), whole
        return codecs.getincrementaldecoder(self.encoding)().decode(data, whole), whole


PLAIN = Dialect()
