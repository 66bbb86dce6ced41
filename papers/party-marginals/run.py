"""Paper 002: what the parties' methods reach, figure by figure."""

from __future__ import annotations

from sottovoce.reproduce import Axis, Figure, Job, Paper

from . import columns, example, rows
from .column_claims import EXAMPLE, FIGURE_2, PARTIES_COLUMNS
from .row_claims import FIGURE_1, FRACTIONS, PARTIES_ROWS

_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5)
_TITLES = {"nltcs": "NLTCS", "adult": "Adult", "synthetic": "synthetic"}
_PEOPLE = {"nltcs": 21_574, "adult": 48_842, "synthetic": 20_000}
_ALIKE = {"iid": "identically distributed", "not-iid": "not identically distributed"}
_DISTANCE = Axis("total variation distance", log=True)
_EPSILON = Axis("smallest ε among the parties, ε_min")
_BR2000 = (
    "BR2000 is an extract of IPUMS whose terms do not let it be passed on, so Adult (15 "
    "attributes, numbers in 16 ranges of equal width as in the paper) and a synthetic data set "
    "stand beside NLTCS. "
)
_NOISE = (
    "All methods protect a changed row with discrete Laplace noise of the paper's scale. The noise "
    "of an opened sum is drawn with numpy from its exact law, without the messages between "
    "parties; a test compares the law with that of real runs. Except where colluders are named, "
    "the noise is generated once and nobody knows any part of it. "
)
_SPLITS = (
    "The paper does not say how rows are divided: here among ten parties with equally many rows, "
    "at random or sorted by a random linear score with some noise. It does not say where EM "
    "starts either; the three starts that need no true local table are shown. Every repeat draws "
    "a marginal and a split, the same for all methods. MM from equal tables lies under STH."
)


def _needs(name: str) -> tuple[str, ...]:
    return () if name == "synthetic" else (name,)


def _rows_job(name: str, split: str, x: float, *, fast: bool, **setting: object) -> Job:
    about = {"data": name, "split": split, "ways": 3, "least": 0.1, "groups": (3, 4, 3)}
    panel = f"{_TITLES[name]}, {_ALIKE[split]}"
    return Job(panel, x, about | setting, _PEOPLE[name], _needs(name), fast)


_FIGURE_1 = Figure(
    "figure-1",
    "Marginals over split rows, by how much privacy the strictest parties want",
    tuple(
        _rows_job(name, split, least, least=least,
                  fast=least == 0.1 or (least == 0.5 and name != "adult"))
        for split in _ALIKE
        for name in _TITLES
        for least in _LEVELS
    ),
    rows.measure,
    _EPSILON,
    _DISTANCE,
    repeats=100,
    fast_repeats=12,
    claims=FIGURE_1,
    differences=_BR2000 + _NOISE + _SPLITS,
)  # fmt: skip

_FRACTIONS = Figure(
    "fractions",
    "Marginals over split rows, by how many parties are strict",
    tuple(
        _rows_job(name, "not-iid", strict / 10, groups=(strict, 4, 6 - strict),
                  fast=strict in (1, 5) and name != "adult")
        for name in _TITLES
        for strict in range(1, 6)
    ),
    rows.measure,
    Axis("fraction of the rows at parties with ε_min, f_min"),
    _DISTANCE,
    repeats=100,
    fast_repeats=10,
    claims=FRACTIONS,
    differences="The paper describes this experiment in words only. ε_min = .1, f_mid = .4 and "
    "f_max = 1 − f_min − f_mid (its plus sign is a misprint). As for Figure 1 otherwise.",
)  # fmt: skip

_FIGURE_2 = Figure(
    "figure-2",
    "Marginals over split columns, by how much privacy the strictest party wants",
    tuple(
        Job(_TITLES[name], least, {"data": name, "least": least, "groups": (1, 1, 1)},
            _PEOPLE[name], _needs(name), least in (0.1, 0.5))
        for name in _TITLES
        for least in _LEVELS
    ),
    columns.measure,
    _EPSILON,
    _DISTANCE,
    repeats=100,
    fast_repeats=10,
    claims=FIGURE_2,
    differences=_BR2000 + _NOISE + "Three parties with one attribute each, drawn anew in every "
    "repeat. PBS divides by the public number of people, and clips negative cells at the end.",
)  # fmt: skip


def _groups(parties: int) -> tuple[int, int, int]:
    """How many parties want ε_min, ε_mid and 1: about .3, .4 and .3 of them."""
    outer = max(1, round(0.3 * parties))
    return outer, parties - 2 * outer, outer


_PARTIES_ABOUT = (
    "The paper varies the number of parties without showing the results. ε_min = .1; about .3, .4 "
    "and .3 of the parties want ε_min, ε_mid and 1. "
)

_PARTIES_ROWS = Figure(
    "parties-rows",
    "Marginals over split rows, by the number of parties",
    tuple(
        _rows_job(name, "not-iid", k, groups=_groups(k), fast=k == 4 and name != "adult")
        for name in _TITLES
        for k in range(2, 11, 2)
    ),
    rows.measure,
    Axis("parties"),
    _DISTANCE,
    repeats=100,
    fast_repeats=10,
    claims=PARTIES_ROWS,
    differences=_PARTIES_ABOUT + "As for Figure 1 otherwise.",
)

_PARTIES_COLUMNS = Figure(
    "parties-columns",
    "Tables over split columns, one attribute of each party",
    tuple(
        Job(_TITLES[name], k, {"data": name, "least": 0.1, "groups": _groups(k)},
            _PEOPLE[name], _needs(name), k in (2, 6))
        for name, most in (("nltcs", 10), ("synthetic", 6))
        for k in range(2, most + 1, 2)
    ),
    columns.measure,
    Axis("parties"),
    _DISTANCE,
    repeats=100,
    fast_repeats=10,
    claims=PARTIES_COLUMNS,
    differences=_PARTIES_ABOUT + "The table has one attribute of each party, and so grows with "
    "their number; it would be too large for Adult.",
)  # fmt: skip

_EXAMPLE = Figure(
    "example-1",
    "Three parties with 50, 30 and 20 patients among 100 people each, without noise",
    (
        Job("sampling rates", "ε = .1, .3, .5", {"what": "rates"}, 300),
        Job("fraction of patients", "ε = .1, .3, .5", {"what": "patients"}, 300),
    ),
    example.measure,
    Axis("budgets"),
    Axis("value"),
    repeats=1,
    fast_repeats=1,
    claims=EXAMPLE,
    kind="table",
)

PAPER = Paper(
    "party-marginals",
    "Marginal Release under Multi-Party Personalized Differential Privacy",
    "P. Tang, R. Chen, C. Jin, G. Liu and S. Guo, ECML PKDD 2022",
    (_EXAMPLE, _FIGURE_1, _FRACTIONS, _FIGURE_2, _PARTIES_ROWS, _PARTIES_COLUMNS),
)
