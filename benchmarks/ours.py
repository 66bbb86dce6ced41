"""How fast every mechanism is, beside what the machine can do at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np

import sottovoce as sv
from sottovoce.kernels.count.bits import column_counts
from sottovoce.mechanisms.subset import bit_planes, starting_64ths
from sottovoce.randomness import SYSTEM, Source

from .machine import (
    EPSILON,
    Effort,
    Limits,
    best,
    cores,
    limits,
    number,
    once,
    products,
    read_by_all,
    table,
)

NEAR_HALF = 0.6  # of one core's time, on two
GAIN = 1.7  # times as fast on two cores
READING = 0.7  # of the speed at which two cores can read, where that is the limit
LEAST = {"randomise": 0.5, "aggregate": 0.4}  # of the limit
#: What an operation spends its time on beyond the limit.
BEYOND = {
    "GRR": "checking and narrowing the answers, a coin and a pick",
    "LIP": "checking and narrowing the answers, and a look-up in a table of 16 KiB",
    "OUE": "comparing random bits with a threshold, plane by plane, and settling ties",
    "SUE": "comparing random bits with a threshold, plane by plane, and settling ties",
    "SubsetSelection": "comparing random bits, counting each set, and not foreseeing its last pick",
    "HadamardResponse": "a coin, a parity and another block, in vectors of 64 bits (reports), or "
    "the transform and the errors of its values (estimates)",
    "ProjectiveGeometryResponse": "a product modulo a prime for each coordinate (reports), or sums "
    "over hyperplanes and the errors of its values (estimates)",
    "OLH": "checking and narrowing the answers, a look-up of codes, the hash, a coin and a pick",
    "Duchi": "rounding to the grid and a coin",
    "Piecewise": "rounding to the grid, a coin and a pick, some 30 vector instructions of 64 bits",
    "Hybrid": "rounding to the grid, two coins and a pick, some 40 vector instructions of 64 bits",
}
ONE_COUNTER = (
    "grr",
    "lip",
    "hadamard",
    "projective",
    "piecewise",
    "hybrid",
)  # raised by each report


@dataclass(frozen=True)
class Timed:
    """An operation on one core and on two, and only reading as many bytes there, in turn."""

    one: float  # seconds, the best of all runs
    two: float
    read_by_one: float
    read_by_two: float

    @property
    def gain(self) -> float:
        """How many times faster two cores are."""
        return self.one / self.two

    @property
    def read_gain(self) -> float:
        """How many times faster two cores read."""
        return self.read_by_one / self.read_by_two


@dataclass(frozen=True)
class Figure:
    """One measured operation."""

    operation: str
    n: int
    seconds: float
    random_bytes: float | None
    report_bytes: float
    least_seconds: float  # what the machine needs for the part that cannot be avoided
    wanted: float | None  # reports per second
    cores: Timed  # without estimates

    @property
    def per_second(self) -> float:
        """Reports per second."""
        return self.n / self.seconds

    @property
    def met(self) -> bool:
        """Whether it is as fast as wanted."""
        return self.wanted is None or self.per_second >= self.wanted

    @property
    def fraction(self) -> float:
        """Of the limit."""
        return self.least_seconds / self.seconds

    @property
    def reading(self) -> float:
        """How fast two cores aggregate, as a fraction of how fast they can read the reports."""
        return 0.0 if self.random_bytes else self.cores.read_by_two / self.cores.two

    @property
    def divided(self) -> bool:
        """Whether two cores are as much faster as wanted, or memory cannot let them be."""
        return self.cores.gain >= GAIN or (self.reading >= READING and self.cores.read_gain < GAIN)

    @property
    def reason(self) -> str | None:
        """Why it is far from its limit, where it is."""
        name, step = self.operation.split()[0], self.operation.split(" + ")[0].split()[-1]
        if self.fraction >= LEAST[step] or name not in BEYOND:
            return None
        rest = (self.seconds - self.least_seconds) / self.n * 1e9
        return f"{self.operation}, {rest:.2f} ns per person for {BEYOND[name]}"


class Counted(Source):
    """The system's randomness, with a count of the bytes drawn."""

    drawn = 0

    def _fill(self, target: memoryview) -> None:
        self.drawn += len(target)
        SYSTEM.fill(np.frombuffer(target, np.uint8))


def title(mechanism: Any) -> str:
    """Name and size, as the tables write them."""
    name = type(mechanism).__name__
    return name if mechanism.domain.edges else f"{name} d={mechanism.domain.size:,}"


def answers(mechanism: Any, n: int) -> np.ndarray:
    """Made-up answers: values, or numbers between the bounds."""
    if mechanism.domain.edges:
        return SYSTEM.below(1 << 20, n) / float(1 << 20)
    return SYSTEM.below(mechanism.domain.size, n).astype(np.int64)


def picks(mechanism: Any, drawn: float) -> float:
    """Values that one person's subset picks, from the random bytes that are not its first bits."""
    if mechanism.id != "subset":
        return 0.0
    planes = bit_planes(starting_64ths(mechanism.omega, mechanism.domain.size))
    return (drawn - planes * mechanism.report_bytes) / 4


def timed(action: Callable[[], object], size: int, repeat: int) -> Timed:
    """Time an operation beside the reading of so many bytes."""
    words = np.ones(size // 8, np.int64)
    runs: list[tuple[int, Callable[[], object], list[float]]] = [
        (1, action, []),
        (2, action, []),
        (1, partial(read_by_all, words), []),
        (2, partial(read_by_all, words), []),
    ]
    action()
    # Short runs are repeated more often: the machine is disturbed for longer than they take.
    for _ in range(max(repeat, int(0.35 * (repeat - 1) / once(action)))):
        for count, run, seconds in runs:
            with cores(count):
                seconds.append(once(run))
    return Timed(*(min(seconds) for *_, seconds in runs))


def measure(effort: Effort) -> tuple[list[Figure], list[Limits]]:
    """Every mechanism's two sides on one core and on two, and one core's limits before each."""
    figures: list[Figure] = []
    beside: list[Limits] = []

    def both(
        mechanism: Any,
        n: int,
        randomise: float | None = None,
        collect: float | None = None,
        *,
        decode: bool = False,
    ) -> None:
        n = effort.people(n)
        values = answers(mechanism, n)
        counted = Counted()
        reports = mechanism.randomise(values, source=counted)
        drawn, size = counted.drawn / n, reports.nbytes / n
        with cores(1):
            limit = limits(effort, reports.nbytes, max(1024, mechanism.cells if decode else 0))
        beside.append(limit)
        took = timed(lambda: mechanism.randomise(values), reports.nbytes, effort.repeat)
        least = n * (drawn / limit.keystream + values.itemsize / limit.read + size / limit.write)
        least += n * picks(mechanism, drawn) / limit.pick
        name = title(mechanism)
        about = Figure(f"{name} randomise", n, took.one, drawn, size, least, randomise, took)
        figures.append(about)
        least = n * size / limit.read
        if mechanism.id in ONE_COUNTER:
            least = max(least, n / limit.count)
        if mechanism.id == "olh":
            least = n * mechanism.domain.size / limit.multiply
        step = "aggregate + estimate" if decode else "aggregate"
        took = timed(lambda: mechanism.aggregate(reports), reports.nbytes, effort.repeat)
        one = took.one
        if decode:
            with cores(1):
                one = best(lambda: mechanism.estimate(mechanism.aggregate(reports)), effort.repeat)
        figures.append(Figure(f"{name} {step}", n, one, None, size, least, collect, took))

    both(sv.GRR(1024, epsilon=EPSILON), 100_000_000, 300e6, 1_000e6)
    half = [figure.per_second / 2 for figure in figures]  # of GRR's, measured just before
    falling = 1 / np.arange(1, 1025)
    both(sv.LIP(prior=falling / falling.sum(), epsilon=EPSILON), 100_000_000, *half)
    both(sv.OUE(128, epsilon=EPSILON), 50_000_000, 15e6)
    both(sv.OUE(1024, epsilon=EPSILON), 6_000_000, 2e6, 60e6)
    both(sv.SUE(1024, epsilon=EPSILON), 6_000_000)
    both(sv.SubsetSelection(1024, epsilon=EPSILON), 6_000_000, 2e6)
    both(sv.HadamardResponse(1 << 17, epsilon=EPSILON), 100_000_000, 150e6, 300e6, decode=True)
    projective = sv.ProjectiveGeometryResponse(1 << 17, epsilon=EPSILON)
    both(projective, 100_000_000, decode=True)
    both(sv.OLH(1024, epsilon=EPSILON), 20_000_000)
    both(sv.Duchi((0, 1), epsilon=EPSILON), 300_000_000)
    both(sv.Piecewise((0, 1), epsilon=EPSILON), 100_000_000)
    both(sv.Hybrid((0, 1), epsilon=EPSILON), 100_000_000)
    return figures, beside


@dataclass(frozen=True)
class Decode:
    """OLH at n = d: the heaviest decoder."""

    n: int
    seconds: tuple[float, float]  # on one core and on two
    least: tuple[float, float]  # what n d products take there

    @property
    def one_core(self) -> float:
        """Seconds on one core."""
        return self.seconds[0]


def decode(effort: Effort) -> Decode:
    """Time the decoder on one core and on two."""
    n = max(2_000, int(100_000 * effort.scale**0.5))
    mechanism = sv.OLH(n, epsilon=EPSILON)
    reports = mechanism.randomise(answers(mechanism, n))
    seconds, least = [], []
    for count in (1, 2):
        with cores(count):
            least.append(n * n / products(count, effort))
            seconds.append(best(lambda: mechanism.aggregate(reports), effort.repeat))
    return Decode(n, (seconds[0], seconds[1]), (least[0], least[1]))


def cached_gain(effort: Effort) -> float:
    """How many times faster two cores count bits than one, where nothing comes from memory."""
    rows = [SYSTEM.below(1 << 32, 1 << 17).view(np.uint8).reshape(-1, 128) for _ in range(2)]
    passes = max(1, int(20_000 * effort.scale))

    def run(threads: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            action = partial(_count_again, column_counts.code)
            return best(
                lambda: list(pool.map(action, rows[:threads], [passes] * threads)), effort.repeat
            )

    return 2 * run(1) / run(2)


@numba.njit(nogil=True)
def _count_again(count, rows, passes):
    for _ in range(passes):
        count(rows)


def section(
    figures: list[Figure],
    beside: list[Limits],
    heavy: Decode,
    cached: float,
    others: list[str],
) -> str:
    """The page's first part; `others` are slower than wanted in other parts."""
    spread = [
        [name, *(f"{end(getattr(one, key) for one in beside) / 1e9:.1f}" for end in (min, max))]
        for name, key in (
            ("AES keystream, GB/s", "keystream"),
            ("memory read, GB/s", "read"),
            ("new memory written, GB/s", "write"),
            ("counters raised, billion/s", "count"),
            ("32-bit products, billion/s", "multiply"),
            ("bits of a row set one by one, billion/s", "pick"),
        )
    ]
    rows = [
        [
            figure.operation,
            f"{figure.n:,}",
            number(figure.per_second / 1e6),
            "–" if figure.wanted is None else f"≥ {figure.wanted / 1e6:,.0f}",
            "–" if figure.random_bytes is None else number(figure.random_bytes),
            number(figure.report_bytes),
            number(figure.n / figure.least_seconds / 1e6),
            f"{figure.fraction:.0%}",
            f"{figure.cores.gain:.2f}",
            f"{figure.reading:.0%}" if figure.reading >= 0.5 else "–",
        ]
        for figure in figures
    ]
    head = ["operation", "n", "million/s", "target", "random bytes", "report bytes"]
    columns = ["cores", "seconds", "target", "limit, seconds", "fraction of limit"]
    cores_rows = [
        [name, f"{seconds:.2f}", wanted, f"{least:.2f}", f"{least / seconds:.0%}"]
        for name, seconds, wanted, least in zip(
            ("one", "two"),
            heavy.seconds,
            ("≤ 1", f"≤ {NEAR_HALF * heavy.one_core:.2f} (near half)"),
            heavy.least,
            strict=True,
        )
    ]
    slow = [figure.operation for figure in figures if not figure.met]
    slow += [f"{figure.operation} on two cores" for figure in figures if not figure.divided]
    if heavy.one_core > 1:
        slow.append("OLH decode on one core")
    if heavy.seconds[1] > NEAR_HALF * heavy.one_core:
        slow.append("OLH decode on two cores")
    slow += others
    missed = "Slower than the target: " + ", ".join(slow) + "." if slow else "Every target is met."
    bounded = [
        f"{figure.operation} ({figure.cores.gain:.2f} times, at {figure.reading:.0%} of reading, "
        f"which two cores do {figure.cores.read_gain:.2f} times as fast as one)"
        for figure in figures
        if figure.divided and figure.cores.gain < GAIN
    ]
    if bounded:
        missed += (
            f"\n\nBelow {GAIN} on two cores with memory as the limit: {', '.join(bounded)}. The "
            "same code counts the bits of reports that stay in the cache of each core "
            f"{cached:.2f} times as fast on two cores as on one."
        )
    reasons = [figure.reason for figure in figures if figure.reason]
    far = (
        "Below half of the limit when randomising, or 40 % when aggregating, and what the time "
        "beyond the limit is spent on: " + "; ".join(reasons) + ".\n\n"
    ) * bool(reasons)
    return f"""## Against the machine

One core, ε = {EPSILON:g}, integer answers in, the best of several runs. Random and report bytes are
per person. The limit is what the machine cannot avoid, measured again before each mechanism: for
randomising, drawing the random bytes as AES keystream, reading the answers and writing the reports
into new memory, and for subset selection the values that are added one by one until a set has
exactly its size, since a set must be stored before the next value is looked up in it; for
aggregating, reading the reports; for a table with one counter per value, also one counter to raise
for each report (read, add, write in the first-level cache), which takes longer than reading it; for
Hadamard response a counter in a table of its {1 << 18:,} outputs, which that cache cannot hold; and
for OLH one 32-bit product per report and value. How these speeds varied over the run shows how idle
the machine was. *Two cores* is how many times faster two cores randomise or aggregate than one, and
*of reading* is how fast they aggregate as a fraction of how fast they can read the reports at all,
measured in turn with it and shown from 50 % on. The target is {GAIN}. One core alone may read
more than half of what the memory delivers to two: memory is the limit where two cores reach
{READING:.0%} of reading, and reading itself is less than {GAIN} times as fast on two.

{table(["limit, one core", "least", "most"], spread)}

{table([*head, "limit, million/s", "fraction of limit", "two cores", "of reading"], rows)}

{far}OLH decode with n = d = {heavy.n:,}, and what as many products take at the same moment:

{table(columns, cores_rows)}

{missed}
"""
