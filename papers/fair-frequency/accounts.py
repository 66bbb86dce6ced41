"""What the published parameters promise, and what is true: exact numbers, nothing is drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sottovoce import accounting
from sottovoce.estimate.combine import person_weights
from sottovoce.reproduce import Data

from .people import draw
from .sampling import rate_of

CLAIMED = "claimed: Theorem 3.1"
ADDED = "true, record added or removed"
CHANGED = "true, record changed"
PRINTED = "true, DPDG with the printed noise G σ/n for δ = 1e-7"
HOLDERS, KEPT = "holders of the rarest item", "ε that DPDS keeps with δ = 1e-7"
ALONE = "S2 alone: at most as DPDS"
OUTPUT = "{}, with the published result"


def sampled(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, float]:
    """δ of DPDS: one data set, one size, one ε; the rarest item of the sample decides."""
    people, epsilon = draw(setting["people"], setting["size"], data), setting["epsilon"]
    # n users with standard deviation G σ/n each: the sum has σ/√n instead of σ.
    sigma = math.sqrt(2 * math.log(1.25 / 1e-7)) / epsilon / math.sqrt(setting["size"])
    return {
        **deltas(epsilon, people.least, people.items),
        PRINTED: accounting.delta_gaussian(epsilon, sigma),
    }


def kept(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, float]:
    """The ε that DPDS really keeps with δ = 1e-7; nothing where no finite ε does."""
    people = draw(setting["people"], setting["size"], data)
    epsilon = accounting.sampled_counts_epsilon(1e-7, people.least, rate_of(setting["epsilon"]))
    measured = {HOLDERS: float(people.least)}
    return measured | ({KEPT: epsilon} if math.isfinite(epsilon) else {})


def deltas(epsilon: float, count: int, items: int) -> dict[str, float]:
    """What (2) claims for so many holders of every item, and what is true."""
    by_change = accounting.published_sampled_counts(epsilon, count, items, bound="yang-3.1")
    by_record = accounting.published_sampled_counts(
        epsilon, count, items, bound="yang-3.1", neighbours="add-remove"
    )
    return {
        CLAIMED: by_change.claimed_delta,
        ADDED: by_record.true_delta,
        CHANGED: by_change.true_delta,
    }


def two_stage(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, float]:
    """δ of TSS at ε = −ln(1 − p): against S2 alone, and against S1 or an elected user."""
    people = draw(setting["people"], 1000, data)
    rate, reported = setting["rate"], round(setting["alpha"] * people.items)
    epsilon = -math.log1p(-rate)
    uniform = accounting.TwoStage(rate, people.items, reported)
    measured = {
        ALONE: uniform.delta_alone(epsilon, people.least),
        OUTPUT.format("US"): uniform.delta_with_output(epsilon, people.least),
    }
    for star in setting["stars"]:
        design = accounting.TwoStage(rate, people.items, reported, math.exp(star))
        name = OUTPUT.format(f"AS, ε* = {star:g}")
        measured[name] = design.delta_with_output(epsilon, people.least)
    return measured


def group(setting: Mapping[str, Any], repeats: int, seed: int, data: Data) -> dict[str, float]:
    """One privacy group of Table 2: its weight per person, and its true δ."""
    epsilons, place = setting["epsilons"], setting["place"]
    noise = [(1 - rate_of(e)) / rate_of(e) for e in epsilons]
    sizes = [setting["size"]] * len(epsilons)
    holders = setting["size"] // setting["items"]
    return {
        "weight OWA": float(person_weights(noise, sizes, method="yang-optimised")[place]),
        "weight VWA": float(person_weights(noise, sizes, method="yang-variance")[place]),
        **{f"δ {name}": value
           for name, value in deltas(epsilons[place], holders, setting["items"]).items()},
    }  # fmt: skip
