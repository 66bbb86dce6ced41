"""AES in counter mode: bytes that nobody can tell from random ones without the key.

Both classes give the same bytes. `Keystream` is that of the package cryptography, which keeps the
interpreter's lock meanwhile, so that threads would draw one after the other; `FreeKeystream` asks
the OpenSSL that Python itself has loaded, which does not need the lock.
"""

from __future__ import annotations

import ctypes
import weakref
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 22  # between two times that a thread needs the interpreter's lock
_ZEROS = memoryview(bytes(_BLOCK_BYTES))
_REKEY_BYTES = 1 << 36
_CIPHERS = {16: "EVP_aes_128_ctr", 32: "EVP_aes_256_ctr"}  # by the bytes of their keys
#: What a block of zeros becomes under a key of zeros.
_KNOWN = {16: "66e94bd4ef8a2c3b884cfa59ca342b2e", 32: "dc95c078a2408989ad48a21492842087"}


class Keystream:
    """The AES-CTR keystream of one key; the same key gives the same bytes."""

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self.left = _REKEY_BYTES

    def fill(self, target: memoryview) -> None:
        """Overwrite with the bytes that follow."""
        for start in range(0, len(target), _BLOCK_BYTES):
            part = target[start : start + _BLOCK_BYTES]
            self._encryptor.update_into(_ZEROS[: len(part)], part)
        self.left -= len(target)


class _Context(ctypes.c_void_p):
    """Where OpenSSL keeps key and counter; freed with the last reference, whoever has it."""


class FreeKeystream:
    """The same keystream of a key of 16 or 32 bytes, drawn without the interpreter's lock.

    For one thread at a time: two would change the counter together.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) not in _CIPHERS:
            raise ValueError(f"the key has {len(key)} bytes; allowed are 16 and 32")
        library = _openssl()
        cipher = getattr(library, _CIPHERS[len(key)])()
        self._context = library.EVP_CIPHER_CTX_new()
        if not self._context or not cipher:  # no memory, or an OpenSSL without AES
            raise OSError("OpenSSL could not set up AES")
        free = weakref.finalize(self._context, library.EVP_CIPHER_CTX_free, self._context.value)
        free.atexit = False  # a daemon thread may still be drawing then
        if not library.EVP_EncryptInit_ex(self._context, cipher, None, key, bytes(16)):
            raise OSError("OpenSSL could not set up AES")
        self._library = library
        self._zeros = np.frombuffer(_ZEROS, np.uint8).ctypes.data
        self.left = _REKEY_BYTES

    def fill(self, target: memoryview) -> None:
        """Overwrite with the bytes that follow."""
        if target.readonly or target.itemsize != 1:  # OpenSSL would write there all the same
            raise ValueError("bytes that can be written are needed")
        place, written = np.frombuffer(target, np.uint8).ctypes.data, ctypes.c_int()
        for start in range(0, len(target), _BLOCK_BYTES):
            many = min(_BLOCK_BYTES, len(target) - start)
            if not self._library.EVP_EncryptUpdate(
                self._context, place + start, written, self._zeros, many
            ):
                raise OSError("OpenSSL could not encrypt")
        self.left -= len(target)

    def first_bytes(self, keys: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
        """The beginnings of the keystreams of other keys, a row for each; `out` is contiguous."""
        restart, encrypt = self._library.EVP_EncryptInit_ex, self._library.EVP_EncryptUpdate
        context, zeros, start = self._context, self._zeros, bytes(16)
        written = ctypes.pointer(ctypes.c_int())
        key, place = keys.ctypes.data, out.ctypes.data
        key_bytes, many = keys.shape[1], out.shape[1]
        for _ in range(len(keys)):  # no array operation does it; the schedule is that of OpenSSL
            if not (
                restart(context, None, None, key, start)
                and encrypt(context, place, written, zeros, many)
            ):
                raise OSError("OpenSSL could not encrypt")
            key += key_bytes
            place += many


AnyKeystream: TypeAlias = Keystream | FreeKeystream


def first_bytes(keys: NDArray[np.uint8], many: int) -> NDArray[np.uint8]:
    """The first bytes of the keystream of every key, keys × 16 or 32 bytes; a row for each."""
    rows = np.ascontiguousarray(keys, np.uint8)
    out = np.empty((len(rows), many), np.uint8)
    if many <= _BLOCK_BYTES and _works():
        FreeKeystream(bytes(rows.shape[1])).first_bytes(rows, out)
    else:
        for key, row in zip(rows, out, strict=True):
            Keystream(key.tobytes()).fill(row.data)
    return out


def fastest_keystream(key: bytes) -> AnyKeystream:
    """The keystream that leaves other threads alone, where Python's OpenSSL can be reached."""
    return FreeKeystream(key) if _works() else Keystream(key)


@cache
def _works() -> bool:
    """Whether OpenSSL is there, and gives what is known of AES."""
    blocks = {size: bytearray(16) for size in _CIPHERS}
    try:
        for size, block in blocks.items():
            FreeKeystream(bytes(size)).fill(memoryview(block))
    except (ImportError, OSError, AttributeError):  # a Python without, or with its symbols hidden
        return False
    return {size: block.hex() for size, block in blocks.items()} == _KNOWN


@cache
def _openssl() -> Any:
    """The functions of the library that hashlib is linked with.

    Only encrypting lets other threads go on. Setting up a cipher takes locks of OpenSSL: another
    thread that forks meanwhile would leave them locked for ever in the child, and cannot as long as
    the interpreter's lock is kept.
    """
    import _hashlib

    library: Any = ctypes.PyDLL(_hashlib.__file__)
    pointer = ctypes.c_void_p
    library.EVP_CIPHER_CTX_new.restype = _Context
    library.EVP_CIPHER_CTX_free.argtypes = [pointer]
    for cipher in _CIPHERS.values():
        getattr(library, cipher).restype = pointer
    library.EVP_EncryptInit_ex.argtypes = [pointer] * 5
    library.EVP_EncryptUpdate = ctypes.CDLL(_hashlib.__file__).EVP_EncryptUpdate
    library.EVP_EncryptUpdate.argtypes = [
        pointer, pointer, ctypes.POINTER(ctypes.c_int), pointer, ctypes.c_int
    ]  # fmt: skip
    return library
