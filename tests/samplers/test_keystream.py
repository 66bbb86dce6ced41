"""The keystream of Python's own OpenSSL: nothing is written or read where it must not be."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys

import numpy as np
import pytest

from sottovoce import keystream
from sottovoce.keystream import FreeKeystream, Keystream
from sottovoce.randomness import SYSTEM

pytestmark = [
    pytest.mark.fast,
    pytest.mark.skipif(not keystream._works(), reason="this Python's OpenSSL cannot be reached"),
]


def test_calls_of_any_length_continue_the_same_stream() -> None:
    key, lengths = os.urandom(16), [1, 15, 0, 17, 3, (1 << 19) + 1, 524_287, 33]
    whole = np.zeros(sum(lengths), np.uint8)
    Keystream(key).fill(whole.data)
    free = FreeKeystream(key)
    parts = [np.zeros(length, np.uint8) for length in lengths]
    for part in parts:
        free.fill(part.data)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("kind", [Keystream, FreeKeystream])
@pytest.mark.parametrize(
    "target",
    [
        memoryview(bytes(32)),
        memoryview(bytearray(64))[::2],
        memoryview(np.zeros(8, np.uint64)),
    ],
    ids=["read-only", "not contiguous", "not bytes"],
)
def test_only_bytes_that_can_be_written_are_filled(kind, target: memoryview) -> None:
    before = target.tobytes()
    with pytest.raises((ValueError, BufferError, TypeError)):
        kind(bytes(16)).fill(target)
    assert target.tobytes() == before


@pytest.mark.parametrize("length", [0, 15, 17, 24, 33])
def test_a_key_has_16_or_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="allowed are 16 and 32"):
        FreeKeystream(bytes(length))


@pytest.mark.parametrize("works", [True, False])
@pytest.mark.parametrize("many", [0, 1, 16, 100, (1 << 19) + 3])
@pytest.mark.parametrize("key_bytes", [16, 32])
def test_first_bytes_are_those_of_each_keystream(
    key_bytes: int, many: int, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keystream, "_works", lambda: works)
    keys = np.frombuffer(os.urandom(6 * key_bytes), np.uint8).reshape(6, key_bytes)[::2]
    expected = np.zeros((3, many), np.uint8)
    for key, row in zip(keys, expected, strict=True):
        Keystream(key.tobytes()).fill(row.data)
    np.testing.assert_array_equal(keystream.first_bytes(keys, many), expected)


def test_a_copy_outlives_the_original() -> None:
    key, block = os.urandom(16), bytearray(4096)
    original = FreeKeystream(key)
    second = copy.copy(original)
    del original
    gc.collect()
    others = [FreeKeystream(os.urandom(16)) for _ in range(50)]  # would take the freed memory
    second.fill(memoryview(block))
    expected = bytearray(4096)
    Keystream(key).fill(memoryview(expected))
    assert block == expected
    assert len(others) == 50


@pytest.mark.parametrize("missing", ["EVP_CIPHER_CTX_new", "EVP_aes_128_ctr", "EVP_EncryptInit_ex"])
def test_where_openssl_refuses_the_library_draws(missing: str, monkeypatch) -> None:
    library = keystream._openssl()

    class Refusing:
        def __getattr__(self, name: str):
            return (lambda *arguments: None) if name == missing else getattr(library, name)

    monkeypatch.setattr(keystream, "_openssl", Refusing)
    keystream._works.cache_clear()
    try:
        with pytest.raises(OSError, match="could not set up AES"):
            FreeKeystream(bytes(16))
        draws = SYSTEM.draws()
        draws.fill(np.zeros(1000, np.uint64))
        assert isinstance(draws._source._stream, Keystream)
    finally:
        keystream._works.cache_clear()


def test_a_failed_draw_is_an_error_and_no_silence(monkeypatch) -> None:
    stream = FreeKeystream(bytes(16))

    class Failing:
        EVP_EncryptUpdate = staticmethod(lambda *arguments: 0)

    monkeypatch.setattr(stream, "_library", Failing)
    with pytest.raises(OSError, match="could not encrypt"):
        stream.fill(memoryview(bytearray(16)))


EXIT = """
import atexit
from sottovoce import keystream
def check():  # functions that were registered later run before it, those of weakref among them
    block = bytearray(16)
    alive.fill(memoryview(block))
    print(block.hex() == keystream._KNOWN[16])
atexit.register(check)
alive = keystream.FreeKeystream(bytes(16))
"""


def test_streams_in_use_are_not_freed_when_python_exits() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
