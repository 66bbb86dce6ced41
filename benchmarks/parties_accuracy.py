"""How far tables between parties lie from the truth, on real data sets."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from sottovoce.parties.design import Design
from sottovoce.parties.methods.registry import COLUMNS, ROWS

from .parties_data import (
    LEVELS,
    TITLES,
    OneNoise,
    budgets_of,
    column_sums,
    count_cells,
    read_codes,
    row_sums,
    split_rows,
)

#: TV on NLTCS that an independent implementation measured, with 100 repeats.
_KNOWN_ROWS = {
    ("mhst", "iid"): (0.00347, 0.00127, 0.00075),
    ("mhst", "strong"): (0.00368, 0.00121, 0.00077),
    ("mh", "iid"): (0.00355, 0.00120, 0.00076),
    ("mh", "strong"): (0.00344, 0.00121, 0.00073),
    ("sth", "iid"): (0.00398, 0.00261, 0.00169),
    ("sth", "strong"): (0.05398, 0.03556, 0.02205),
}
_KNOWN_COLUMNS = {"pbs-gls": (0.00279, 0.00100, 0.00066), "mv": (0.00364, 0.00117, 0.00071)}


def mean_and_error(values: list[float]) -> str:
    """A mean with its standard error."""
    return f"{np.mean(values):.5f} ± {np.std(values, ddof=1) / math.sqrt(len(values)):.5f}"


def rows_section(
    name: str, ways: tuple[int, ...], repeats: int, methods: tuple[str, ...] = tuple(ROWS)
) -> str:
    """Rows of a real data set between ten parties."""
    codes, sizes = read_codes(name)
    rng = np.random.default_rng(141)
    lines = [
        f"## Rows: {TITLES[name]}",
        "",
        f"{len(codes):,} rows between 10 parties of 10 % (3, 4 and 3 with ε = ε_min, (1 + ε_min)/2 "
        f"and 1), {repeats} repeats; each draws a split and a marginal that gets all "
        "of every party's ε, the same for all methods. iid: random rows. strong: rows sorted by a "
        "random linear score plus .3 normal noise and cut into parts. One noise, except where t is "
        f"named. Sizes of the attributes: {', '.join(map(str, sizes))}.",
        "",
    ]
    for way in ways:
        choices = list(combinations(range(len(sizes)), way))
        results: dict[tuple[str, str, float], list[float]] = {}
        for split in ("iid", "strong"):
            for _ in range(repeats):
                axes = choices[rng.integers(len(choices))]
                shape = tuple(sizes[a] for a in axes)
                parts = split_rows(codes.astype(float), split, 10, rng)
                local = [count_cells(codes[part][:, axes], shape) for part in parts]
                truth = sum(local) / len(codes)
                for least in LEVELS:
                    budgets = budgets_of(least, (3, 4, 3))
                    tables = dict(zip(budgets, local, strict=True))
                    rows = {party: int(table.sum()) for party, table in tables.items()}
                    one = OneNoise(shape, budgets, 1, rows=rows)
                    runs = [(n, ROWS[n], one) for n in methods]
                    for t in (1, 9):
                        design = Design(shape, budgets, t, rows=rows)
                        runs += [(f"{n}, t={t}", ROWS[n], design) for n in ("sjs", "mh")]
                    seed = int(rng.integers(1 << 62))  # the same noise for all methods
                    for row, method, design in runs:
                        sums = row_sums(method, design, tables, np.random.default_rng(seed))
                        values = method.solve(design, sums).values
                        gap = float(np.abs(values - truth).sum() / 2)
                        results.setdefault((row, split, least), []).append(gap)
        names = list(dict.fromkeys(row for row, _, _ in results))
        heads = [f"{split}, {least:g}" for split in ("iid", "strong") for least in LEVELS]
        lines += [
            f"| TV, {way}-way; split, ε_min | {' | '.join(heads)} |",
            "| --- |" + " ---: |" * len(heads),
        ]
        for row in names:
            cells = [mean_and_error(results[row, s, e]) for s in ("iid", "strong") for e in LEVELS]
            lines.append(f"| `{row}` | {' | '.join(cells)} |")
        ratios = [
            f"{np.mean(results['sjs', s, e]) / np.mean(results['mh', s, e]):.2f}"
            for s in ("iid", "strong")
            for e in LEVELS
        ]
        lines += [f"| `sjs` / `mh` | {' | '.join(ratios)} |", ""]
        if name == "adult-all":
            known = "iid .54, strong .77" if way == 2 else "iid .45, strong .55"
            lines += [f"Known ratios of `sjs` to `mh` at ε_min = .1: {known}.", ""]
        if name == "nltcs" and way == 3:
            lines += [_against_known(results), ""]
    return "\n".join(lines)


def _against_known(results: dict[tuple[str, str, float], list[float]]) -> str:
    """How many known figures lie within Monte-Carlo error of ours."""
    close, apart = 0, []
    for (row, split), known in _KNOWN_ROWS.items():
        for least, figure in zip(LEVELS, known, strict=True):
            values = results[row, split, least]
            own = np.std(values, ddof=1)
            error = own * math.sqrt(1 / len(values) + 1 / 100)  # theirs had 100 repeats
            if abs(np.mean(values) - figure) <= 3 * error:
                close += 1
            else:
                apart.append(f"{row} {split} ε_min={least:g} ({np.mean(values):.5f}, {figure:.5f})")
    total = close + len(apart)
    text = f"Of {total} known figures (another implementation, 100 repeats) {close} lie within "
    text += "three standard errors of the difference"
    return text + ("." if not apart else f"; not {', '.join(apart)}.")


def columns_section(name: str, repeats: int) -> str:
    """Columns of a real data set between three parties."""
    codes, sizes = read_codes(name)
    rng = np.random.default_rng(142)
    choices = list(combinations(range(len(sizes)), 3))
    results: dict[tuple[str, float], list[float]] = {}
    for _ in range(repeats):
        axes = rng.permutation(choices[rng.integers(len(choices))])
        shape = tuple(sizes[a] for a in axes)
        table = count_cells(codes[:, axes], shape).reshape(shape)
        truth = table.reshape(-1) / len(codes)
        for least in LEVELS:
            budgets = budgets_of(least, (1, 1, 1))
            rows = dict.fromkeys(budgets, len(codes))
            runs = [(n, m, OneNoise(shape, budgets, 1, rows=rows)) for n, m in COLUMNS.items()]
            two_collude = Design(shape, budgets, 2, rows=rows)
            runs += [(f"{n}, t=2", COLUMNS[n], two_collude) for n in ("pbs-gls", "mv")]
            seed = int(rng.integers(1 << 62))  # the same noise for all methods
            for row, method, design in runs:
                sums = column_sums(method, design, table, np.random.default_rng(seed))
                values = method.solve(design, sums).values
                results.setdefault((row, least), []).append(float(np.abs(values - truth).sum() / 2))
    lines = [
        f"## Columns: {TITLES[name]}",
        "",
        f"{len(codes):,} people, 3 parties with one attribute each, {repeats} repeats with a "
        "random 3-way table; one noise, except where t is named. `pbs-gaussian` promises only "
        "(ε, δ = 10⁻⁶ per level).",
        "",
        "| TV; ε_min | " + " | ".join(f"{e:g}" for e in LEVELS) + " |",
        "| --- |" + " ---: |" * len(LEVELS),
    ]
    for row in dict.fromkeys(row for row, _ in results):
        lines.append(
            f"| `{row}` | " + " | ".join(mean_and_error(results[row, e]) for e in LEVELS) + " |"
        )
    if name == "nltcs":
        for row, known in _KNOWN_COLUMNS.items():
            lines.append(f"| known, {row} | " + " | ".join(f"{x:.5f}" for x in known) + " |")
    return "\n".join([*lines, ""])
