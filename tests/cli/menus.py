"""A study with two levels, and people who chose them."""

from __future__ import annotations

from pathlib import Path

from .conftest import STUDY

MENU = STUDY.replace("epsilon = 1.0", "levels = {strong = 0.5, normal = 2}")
USUAL = ("--study", "study.toml")
GIVEN = ("randomise", "answers.csv", *USUAL, "--levels", "privacy", "--out", "r.svr")
SAME = "the same reports were returned"


def rows(people: int = 1200) -> list[tuple[str, str]]:
    modes, levels = ["car", "bike", "foot", "car"], ["strong", "normal", "normal"]
    return [(modes[k % 4], levels[k // 4 % 3]) for k in range(people)]


def write(lines: list[tuple[str, ...]], path: str = "answers.csv", head: str = "") -> None:
    text = "\n".join([head or "commute,privacy", *(",".join(line) for line in lines)])
    Path(path).write_text(text + "\n")
