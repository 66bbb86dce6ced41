"""Real words: those of our own pages, and names and numbers in public data sets."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce import testing

pytestmark = pytest.mark.statistical

PAGES = Path(__file__).parents[2] / "docs"
SURE = 1 - 1e-8
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def judge(hh: sv.HeavyHitters, answers: list[str], seed: int) -> sv.Estimate:
    """Every listed text is real, every interval holds, and nothing frequent is missing.

    Seeded, and at a confidence of 1 − 1e-8, because the words of our pages change.
    """
    with testing.seeded(seed) as source:
        estimate = hh.estimate(hh.aggregate(hh.randomise(answers, source=source)), confidence=SURE)
    counts = Counter(answers)
    truth = np.array([counts[text] / len(answers) for text in estimate.labels])
    low, high = estimate.interval(SURE)
    assert (truth > 0).all()
    assert ((low <= truth) & (truth <= high)).all()
    threshold = hh.threshold(len(answers), confidence=SURE, miss=1 - SURE)
    frequent = {text for text, c in counts.items() if c / len(answers) >= threshold}
    assert frequent
    assert frequent <= set(estimate.labels)
    return estimate


def test_frequent_english_words_are_found_in_our_own_pages() -> None:
    text = " ".join(page.read_text() for page in sorted(PAGES.glob("*.md")))
    counts = Counter(word[:10] for word in re.findall("[a-z]+", text.lower()))
    words, often = list(counts), np.array(list(counts.values()), float)
    # One word of a random place in the pages for each of 200,000 people.
    people = np.random.default_rng(5).choice(words, 200_000, p=often / often.sum())
    estimate = judge(sv.HeavyHitters(LETTERS, 10, 4.0), people.tolist(), seed=11)
    assert estimate.labels[0] == "the"


def column(name: str, field: str) -> list[str]:
    folder = os.environ.get("SOTTOVOCE_DATA")
    if not folder:
        pytest.skip(f"SOTTOVOCE_DATA does not name a folder with {name}")
    with gzip.open(Path(folder) / name, "rt") as stream:
        return [row[field] for row in csv.DictReader(stream)]


def test_occupations_of_the_census() -> None:
    jobs = [job.lower() for job in column("adult.csv.gz", "occupation")]
    hh = sv.HeavyHitters(LETTERS, 8, 4.0, longer="cut", other="?")
    estimate = judge(hh, [job[:8].replace("-", "?") for job in jobs], seed=1)
    assert "prof?spe" in estimate.labels
    with testing.seeded(1) as source:  # the public rules do the same to the answers as they are
        same = hh.estimate(hh.aggregate(hh.randomise(jobs, source=source)), confidence=SURE)
        assert same.labels == estimate.labels


def test_pages_that_visitors_open_first() -> None:
    pages = [clicks.split()[0] for clicks in column("kosarak.csv.gz", "items")]
    estimate = judge(sv.HeavyHitters("0123456789", 6, 4.0), pages, seed=2)
    assert len(estimate.labels) >= 3
