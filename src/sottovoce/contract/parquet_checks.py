"""Checksums of Parquet files of reports, so that no damaged byte reaches the Parquet library.

Pages of a Parquet file may carry checksums, but their heads and the footer cannot, and a damaged
one can make a reader count other reports, or end the process. So a file that is written here has a
table of checksums between its last page and its footer, where other readers do not look::

    "SVRPSUMS"                       8 bytes
    CRC-32 of every block            4 bytes each; blocks are of 256 KiB, the last one shorter
    number of blocks                 8 bytes
    CRC-32 of the footer             4 bytes; the footer is all that follows this table
    CRC-32 of the table so far       4 bytes
    "SUMSPRVS"                       8 bytes

Numbers are little-endian. A program that writes the reports again leaves the table out; then
nothing is checked but the pages that have checksums.
"""

from __future__ import annotations

import io
import os
import struct
from typing import Any, BinaryIO
from zlib import crc32

from ..errors import WireError

BLOCK = 1 << 18
_START, _END = b"SVRPSUMS", b"SUMSPRVS"
_NUMBERS = struct.Struct("<QII")
_LEAST = len(_START) + _NUMBERS.size + len(_END)
_PARQUET_END = struct.Struct("<I4s")
_TAIL = 1 << 16  # bytes at the end that are read at once; enough for most footers
_DAMAGED = "the file is damaged: {}; fetch it again, or restore it from a copy"


class CheckingSink:
    """What a Parquet file is written through; `finish` adds the checksums of what went by."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._sums: list[int] = []
        self._sum = 0
        self._size = 0

    @property
    def closed(self) -> bool:
        """As of a file."""
        return self._stream.closed

    def tell(self) -> int:
        """As of a file."""
        return self._size

    def flush(self) -> None:
        """As of a file."""
        self._stream.flush()

    def close(self) -> None:
        """Nothing: whoever opened the stream closes it."""

    def write(self, data: Any) -> int:
        """Write bytes and add them to the checksum of their block."""
        view = memoryview(data).cast("B")
        self._stream.write(view)
        done = 0
        while done < len(view):
            part = view[done : done + BLOCK - self._size % BLOCK]
            self._sum = crc32(part, self._sum)
            self._size += len(part)
            done += len(part)
            if self._size % BLOCK == 0:
                self._sums.append(self._sum)
                self._sum = 0
        return len(view)

    def finish(self) -> None:
        """Put the table of checksums before the footer."""
        self._stream.flush()
        handle = self._stream.fileno()
        ending = os.pread(handle, _PARQUET_END.size, self._size - _PARQUET_END.size)
        length, _ = _PARQUET_END.unpack(ending)
        data_end = self._size - _PARQUET_END.size - length
        footer = os.pread(handle, self._size - data_end, data_end)
        whole = data_end // BLOCK
        sums = self._sums[:whole]
        if data_end % BLOCK:
            sums.append(crc32(os.pread(handle, data_end % BLOCK, whole * BLOCK)))
        self._stream.seek(data_end)
        self._stream.write(_table(sums, footer) + footer)


def _table(sums: list[int], footer: bytes) -> bytes:
    start = _START + struct.pack(f"<{len(sums)}I", *sums)
    start += struct.pack("<QI", len(sums), crc32(footer))
    return start + struct.pack("<I", crc32(start)) + _END


def checked_source(stream: BinaryIO) -> CheckedSource | None:
    """The file, of which no damaged byte is read; None where it has no table of checksums."""
    size = stream.seek(0, os.SEEK_END)
    tail = _read(stream, max(0, size - _TAIL), size)
    if len(tail) < _PARQUET_END.size:
        return None
    length, magic = _PARQUET_END.unpack(tail[-_PARQUET_END.size :])
    footer_at = size - _PARQUET_END.size - length
    if magic == b"PAR1" and footer_at >= _LEAST:
        ending = _read(stream, footer_at - _LEAST + len(_START), footer_at)
        if ending.endswith(_END):
            return _checked(stream, size, footer_at, ending)
    if _START in tail or _END in tail:
        raise WireError(_DAMAGED.format("its footer is not where its end says"))
    return None


def _checked(stream: BinaryIO, size: int, footer_at: int, ending: bytes) -> CheckedSource:
    many, footer_sum, own_sum = _NUMBERS.unpack_from(ending)
    start = footer_at - _LEAST - 4 * many
    if start < 0 or -(-start // BLOCK) != many:
        raise WireError(_DAMAGED.format("its table of checksums has another size"))
    rest = _read(stream, start, size)
    table, footer = rest[: footer_at - start], rest[footer_at - start :]
    if not table.startswith(_START) or crc32(table[: -len(_END) - 4]) != own_sum:
        raise WireError(_DAMAGED.format("its table of checksums was changed"))
    if crc32(footer) != footer_sum:
        raise WireError(_DAMAGED.format("its footer was changed"))
    sums = struct.unpack_from(f"<{many}I", table, len(_START))
    return CheckedSource(stream, sums, start, rest)


def _read(stream: BinaryIO, start: int, end: int) -> bytes:
    stream.seek(start)
    return stream.read(end - start)


class CheckedSource(io.RawIOBase):
    """A file whose blocks are compared with their checksums before anything of them is returned."""

    def __init__(self, stream: BinaryIO, sums: tuple[int, ...], data: int, rest: bytes) -> None:
        self._stream = stream
        self._sums = sums
        self._data = data  # where the blocks end
        self._rest = rest  # what follows, checked already
        self._size = data + len(rest)
        self._at = 0
        self._last = (-1, b"")  # the block that was read last, which the next read may begin in

    def readable(self) -> bool:
        """As of every file that is read."""
        return True

    def seekable(self) -> bool:
        """As of every file that is read."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Read on from another place."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes, fewer at the end of the file."""
        left = max(0, self._size - self._at)
        many = left if size is None or size < 0 else min(size, left)
        start, end = self._at, self._at + many
        self._at = end
        parts = [self._blocks(start, min(end, self._data))] if start < self._data else []
        if end > self._data:
            parts.append(self._rest[max(0, start - self._data) : end - self._data])
        return b"".join(parts)

    def _blocks(self, start: int, end: int) -> bytes:
        """Bytes of the blocks, all of which are compared."""
        first, last = start // BLOCK, (end - 1) // BLOCK
        known = self._last[1] if self._last[0] == first else b""
        begin = first * BLOCK + len(known)
        stop = min((last + 1) * BLOCK, self._data)
        fresh = _read(self._stream, begin, stop) if stop > begin else b""
        view = memoryview(fresh)
        for number in range(first + bool(known), last + 1):
            at = number * BLOCK - begin
            if crc32(view[at : at + BLOCK]) != self._sums[number]:
                raise WireError(_DAMAGED.format(f"bytes near {number * BLOCK:,} were changed"))
        data = known + fresh
        self._last = (last, data[last * BLOCK - first * BLOCK :])
        return data[start - first * BLOCK : end - first * BLOCK]
