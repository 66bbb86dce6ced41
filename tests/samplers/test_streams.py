"""System randomness never repeats: not across threads, forks, sources, keys or time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from sottovoce import GRR, keystream, randomness
from sottovoce.randomness import SYSTEM, SystemSource
from sottovoce.testing import SeededSource


def block(source: randomness.Source = SYSTEM, size: int = 4) -> bytes:
    words = np.zeros(size, np.uint64)
    source.fill(words)
    return words.tobytes()


def test_a_source_never_repeats_itself() -> None:
    # 32 bytes each: a repetition by chance is out of the question.
    assert len({block() for _ in range(2000)}) == 2000


def test_two_sources_differ() -> None:
    assert block(SystemSource()) != block(SystemSource())


def test_threads_have_streams_of_their_own() -> None:
    source, found = SystemSource(), []
    ready = threading.Barrier(8)

    def work() -> None:
        ready.wait()
        found.extend([block(source) for _ in range(50)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8 * 50


def test_one_mechanism_in_many_threads_gives_different_reports() -> None:
    mechanism = GRR(1000, epsilon=0.1)
    answers = np.zeros(2000, np.int64)
    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(mechanism.randomise(answers).to_bytes()))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8


FORK = """
import os, sys
import numpy as np
from sottovoce.randomness import SYSTEM
def block():
    words = np.zeros(4, np.uint64)
    SYSTEM.fill(words)
    return words.tobytes().hex()
block()  # the stream exists before the fork, so a child that kept it would repeat the parent
for _ in range(3):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        grandchild = os.fork()
        os.write(write, (block() + "\\n").encode())
        if grandchild:
            os.waitpid(grandchild, 0)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    print(os.read(read, 4096).decode(), end="")
    print(block())
"""


def test_forked_children_have_streams_of_their_own() -> None:
    # In a process of its own: forking one that has threads is not allowed.
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, check=True)
    lines = done.stdout.split()
    assert len(lines) == 9
    assert len(set(lines)) == 9


def keys_taken(monkeypatch) -> list[int]:
    """The sizes of everything asked of the operating system from now on."""
    sizes: list[int] = []
    real = os.urandom

    def urandom(size: int) -> bytes:
        sizes.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", urandom)
    return sizes


def test_a_new_key_is_taken_before_the_old_one_is_worn_out(monkeypatch) -> None:
    monkeypatch.setattr(keystream, "_REKEY_BYTES", 8192)
    keys = keys_taken(monkeypatch)
    draws = SYSTEM.draws()
    first, second, third = (block(draws._source, 512) for _ in range(3))
    assert keys == [16, 16]  # the third block would have gone beyond 8192 bytes
    assert len({first, second, third}) == 3


def test_every_release_takes_new_entropy_and_large_ones_a_key(monkeypatch) -> None:
    mechanism = GRR(1000, epsilon=1.0)
    mechanism.randomise([1])
    keys = keys_taken(monkeypatch)
    for n, size in ((1, 4), (1, 4), (5000, 16), (5000, 16)):
        mechanism.randomise(np.zeros(n, np.int64))
        assert keys[0] == size
        keys.clear()


def test_a_long_fill_is_one_stream_however_it_is_cut() -> None:
    size = (keystream._BLOCK_BYTES * 2 + 24) // 8
    whole = block(SeededSource(3), size)
    source = SeededSource(3)
    parts = b"".join(block(source, n) for n in (1, size // 2, size - size // 2 - 1))
    assert whole == parts
    assert len({whole[i : i + 16] for i in range(0, len(whole), 16)}) == -(-len(whole) // 16)


def test_fill_takes_any_shape_and_type() -> None:
    for array in (np.zeros((3, 5), np.uint8), np.zeros(7, np.uint32), np.zeros(0, np.uint64)):
        SYSTEM.fill(array)
    big = np.zeros((100, 100), np.uint8)
    SYSTEM.fill(big)
    assert (big != 0).mean() > 0.9


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        SeededSource(seed)


def test_the_name_of_the_system_source_says_what_it_is() -> None:
    assert repr(SYSTEM) == "SYSTEM"
    assert repr(SeededSource(7)) == "SeededSource(7)"
