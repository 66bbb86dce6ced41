"""Never let two processes draw from copied generator state: fresh entropy for every release.

A fork in C runs none of Python's hooks, and so leaves two processes with the same memory: just what
a snapshot of a virtual machine, or CRIU, gives. Both then randomise the same answers. The twin is a
source that keeps its keystream between calls, which the same comparison must catch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from sottovoce.mechanisms import REGISTRY

CLONE = """
import ctypes, hashlib, json, os
import numpy as np
import sottovoce as sv
from sottovoce import randomness
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import answers, example

libc = ctypes.PyDLL(None)  # keeps the interpreter's lock, so that the child holds it

def fill():
    words = np.zeros(64, np.uint64)
    randomness.SYSTEM.fill(words)
    return words.tobytes()

def releases():
    found = {"fill": fill, "below": lambda: randomness.SYSTEM.below(1 << 32, 2000).tobytes()}
    for name, kind in REGISTRY.items():
        m = example(kind, 0.1, 1000)
        for n in (200, 5000):
            found[f"{name} {n}"] = lambda m=m, a=answers(m, n): m.randomise(a).to_bytes()
    few, many = sv.GRR(50, epsilon=0.1), sv.GRR(50, epsilon=1.0)
    codes = np.arange(2000) % 50
    levels, sampled = sv.Levels({"few": few, "many": many}), sv.Sampled(few, rate=0.5)
    found["levels"] = lambda: levels.randomise(codes, level=["few"] * 2000).to_bytes()
    found["sampled"] = lambda: sampled.randomise(codes).to_bytes()
    return found

def digest(release):
    return hashlib.sha256(release()).hexdigest()

def compare(releases):
    for release in releases.values():
        release()  # whatever is kept between calls exists before the fork
    read, write = os.pipe()
    child = libc.fork()
    own = {name: digest(release) for name, release in releases.items()}
    if child == 0:
        os.write(write, json.dumps(own).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        copy = json.load(pipe)
    os.waitpid(child, 0)
    return [name for name in own if own[name] == copy[name]], sorted(own)

repeated, names = compare(releases())
kept = randomness._OneRelease()
randomness.SystemSource._fill = lambda self, target: kept._fill(target)
randomness.SystemSource.draws = lambda self: randomness.Draws(kept)
randomness._FEW_BYTES = 0
repeated_by_twin, _ = compare(releases())
print(json.dumps({"names": names, "repeated": repeated, "twin": sorted(repeated_by_twin)}))
"""


@pytest.fixture(scope="module")
def compared() -> dict[str, list[str]]:
    # In a process of its own, with as few threads as can be: a fork copies only one of them.
    done = subprocess.run(
        [sys.executable, "-c", CLONE],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, list[str]] = json.loads(done.stdout)
    return result


def test_a_copied_process_repeats_no_release(compared) -> None:
    assert compared["repeated"] == []
    assert {name.split()[0] for name in compared["names"]} >= {*REGISTRY, "levels", "sampled"}


def test_state_kept_between_releases_is_caught(compared) -> None:
    assert compared["twin"] == compared["names"]
