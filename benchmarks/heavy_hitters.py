"""Frequent texts: speed, memory, and a peer's lists: ``python -m benchmarks.heavy_hitters``."""

from __future__ import annotations

import argparse
import resource
import string
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import sottovoce as sv

from .machine import FULL, QUICK, Effort, cores, describe, number, table

PAGE = Path(__file__).parents[1] / "docs" / "texts-benchmarks.md"
HEADER = """# Benchmarks of frequent texts

Written by `python -m benchmarks.heavy_hitters`, on one core.
"""
LETTERS, LENGTH, EPSILON = "abcd", 4, 3.0
PEOPLE, HELD = 5_000, 30
RATE = 0.025  # `false_positive_rate` of an estimate at the default confidence


def words(n: int) -> np.ndarray:
    """One of 5,000 random words of 3 to 12 letters for each of n people, by Zipf's law."""
    rng = np.random.default_rng(1)
    letters = np.array(list(string.ascii_lowercase))
    lengths = rng.integers(3, 13, 5_000)
    lexicon = np.array(["".join(rng.choice(letters, length)) for length in lengths])
    chance = 1 / np.arange(1, lexicon.size + 1)
    return rng.choice(lexicon, n, p=chance / chance.sum())


def timed(action: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds of one run, and its result."""
    start = time.perf_counter()
    result = action(*arguments)
    return time.perf_counter() - start, result


def speed(effort: Effort) -> str:
    """Every step for 1 and 10 million people."""
    rows = []
    for many in (1_000_000, 10_000_000):
        n = effort.people(many)
        answers = words(n)
        hh = sv.HeavyHitters(string.ascii_lowercase, 12, 2.0)
        warm = hh.aggregate(hh.randomise(answers[:1000]))
        hh.estimate(warm)
        drawn, reports = timed(hh.randomise, answers)
        counted, counts = timed(hh.aggregate, reports)
        searched, estimate = timed(hh.estimate, counts)
        examined = sum(depth.candidates for depth in estimate.depths)
        stored = len(counts.to_bytes()) / n
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        times = [f"{number(s)} s" for s in (drawn, counted, searched)]
        rest = [f"{examined:,}", f"{len(estimate.labels)}", f"{stored:.0f}", f"{peak:.1f} GiB"]
        rows.append([f"{n:,}", *times, *rest])
    head = ["people", "randomise", "aggregate", "estimate", "candidates", "texts listed"]
    head += ["bytes per person", "peak memory"]
    return (
        "## Speed\n\nWords of 3 to 12 letters by Zipf's law, 26 letters, length 12, ε = 2. Bytes "
        "are those of the stored aggregate; the peak is that of the whole process, with the "
        f"answers.\n\n{table(head, rows, text=0)}\n"
    )


@dataclass
class Score:
    """How good the lists of several runs are."""

    right: int = 0  # of the ten most frequent texts, how many are listed
    false: int = 0  # listed texts that nobody holds
    squares: float = 0.0  # errors of listed texts
    listed: int = 0
    seconds: float = 0.0

    def add(self, listed: dict[str, float], truth: dict[str, float], seconds: float) -> None:
        """One more run."""
        top = sorted(truth, key=truth.__getitem__, reverse=True)[:10]
        self.right += len(set(top) & set(listed))
        self.false += len(set(listed) - set(truth))
        self.squares += sum((f - truth.get(text, 0)) ** 2 for text, f in listed.items())
        self.listed += len(listed)
        self.seconds += seconds


def ours(people: list[str]) -> dict[str, float]:
    """The texts that Sottovoce lists."""
    hh = sv.HeavyHitters(LETTERS, LENGTH, EPSILON, step=2)
    estimate = hh.estimate(hh.aggregate(hh.randomise(people)))
    return dict(zip(estimate.labels, estimate.values.tolist(), strict=True))


def pem(people: list[str], **rule: float) -> dict[str, float]:
    """The texts that PEM of pure-ldp lists: the k largest, or all above a threshold."""
    from pure_ldp.heavy_hitters.prefix_extending import PEMClient, PEMServer

    def position(text: str) -> int:
        return int("0" + "".join(str(LETTERS.index(symbol)) for symbol in text), len(LETTERS))

    about = {"alphabet": list(LETTERS), "index_mapper": position}
    client, server = (kind(EPSILON, 0, LENGTH, 2, **about) for kind in (PEMClient, PEMServer))
    for text in people:
        server.aggregate(client.privatise(text))
    texts, counts = server.find_heavy_hitters(**rule)
    return {text: count / len(people) for text, count in zip(texts, counts, strict=True)}


def peer(effort: Effort) -> str:
    """Our lists beside those of PEM, at the same ε, depths and people."""
    n, runs = effort.people(PEOPLE), 100 if effort is FULL else 1
    rng = np.random.default_rng(2)
    every = np.array(
        [a + b + c + d for a in LETTERS for b in LETTERS for c in LETTERS for d in LETTERS]
    )
    held = rng.choice(every, HELD, replace=False)
    chance = 1 / np.arange(1, HELD + 1)
    least = sv.HeavyHitters(LETTERS, LENGTH, EPSILON, step=2).threshold(n, miss=0.5)
    lists = {
        "Sottovoce": ours,
        "pure-ldp PEM, the 10 largest": lambda people: pem(people, k=10),
        f"pure-ldp PEM, above {least:.3f}": lambda people: pem(people, threshold=least),
    }
    for rule in lists.values():
        rule(held.tolist())  # compiles, warms up
    scores = {name: Score() for name in lists}
    for _ in range(runs):
        people = rng.choice(held, n, p=chance / chance.sum()).tolist()
        truth = {text: count / n for text, count in Counter(people).items()}
        for name, rule in lists.items():
            seconds, listed = timed(rule, people)
            scores[name].add(listed, truth, seconds)
    rows = [
        [
            name,
            f"{score.listed / runs:.1f}",
            f"{score.right / runs:.1f}",
            f"{score.false / runs:.2f}",
            f"{(score.squares / max(score.listed, 1)) ** 0.5:.4f}",
            f"{number(score.seconds / runs)} s",
        ]
        for name, score in scores.items()
    ]
    head = ["", "listed", "of the 10 most frequent", "held by nobody", "RMSE of listed", "time"]
    return (
        f"## Beside PEM\n\n{n:,} people, texts of {LENGTH} of {len(LETTERS)} symbols, {HELD} of "
        f"{len(every)} texts held, by Zipf's law; ε = {EPSILON:g}, two depths of two symbols; "
        f"means of {runs} runs. PEM (Wang, Li, Jha 2018) lists a given number of texts or "
        "those above a given threshold, and states no error; Sottovoce states that at most "
        f"{RATE:.1%} of its lists have a text held by nobody.\n\n" + table(head, rows) + "\n"
    )


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heavy_hitters", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it runs")
    parser.add_argument("--write", type=Path, default=PAGE, help="the page to write")
    options = parser.parse_args()
    effort = QUICK if options.quick else FULL
    with cores(1):
        parts = [HEADER, speed(effort)]
        try:
            parts.append(peer(effort))
        except ImportError:
            parts.append("PEM: pure-ldp is not installed here.\n")
    options.write.write_text("\n".join([*parts, f"Machine: {describe()}.\n"]))


if __name__ == "__main__":
    main()
