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

_BLOCK_BYTES = 1 << 19
_ZEROS = memoryview(bytes(_BLOCK_BYTES))
_REKEY_BYTES = 1 << 36
_KEY_BYTES = 16
_KNOWN = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")  # of a block of zeros, under key zero


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
    """The same keystream of a key of 16 bytes, drawn without the interpreter's lock.

    For one thread at a time: two would change the counter together.
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != _KEY_BYTES:
            raise ValueError(f"the key has {len(key)} bytes; allowed are {_KEY_BYTES}")
        library = _openssl()
        self._context, cipher = library.EVP_CIPHER_CTX_new(), library.EVP_aes_128_ctr()
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


AnyKeystream: TypeAlias = Keystream | FreeKeystream


def fastest_keystream(key: bytes) -> AnyKeystream:
    """The keystream that leaves other threads alone, where Python's OpenSSL can be reached."""
    return FreeKeystream(key) if _works() else Keystream(key)


@cache
def _works() -> bool:
    """Whether OpenSSL is there, and gives what is known of AES."""
    try:
        block = bytearray(16)
        FreeKeystream(bytes(16)).fill(memoryview(block))
    except (ImportError, OSError, AttributeError):  # a Python without, or with its symbols hidden
        return False
    return bytes(block) == _KNOWN


@cache
def _openssl() -> Any:
    """The functions of the library that hashlib is linked with."""
    import _hashlib

    library = ctypes.CDLL(_hashlib.__file__)
    pointer = ctypes.c_void_p
    library.EVP_CIPHER_CTX_new.restype = _Context
    library.EVP_CIPHER_CTX_free.argtypes = [pointer]
    library.EVP_aes_128_ctr.restype = pointer
    library.EVP_EncryptInit_ex.argtypes = [pointer] * 3 + [ctypes.c_char_p] * 2
    library.EVP_EncryptUpdate.argtypes = [
        pointer, pointer, ctypes.POINTER(ctypes.c_int), pointer, ctypes.c_int
    ]  # fmt: skip
    return library
