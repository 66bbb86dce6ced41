"""Methods between parties compared on random configurations."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sottovoce.estimate.projection import simplex
from sottovoce.parties.design import Design
from sottovoce.parties.methods.registry import COLUMNS
from sottovoce.parties.methods.row_sums import minimum, surplus
from sottovoce.parties.methods.shrinkage import MHST, SJS

from .parties_data import Integers, column_sums, noise

#: What `pbs-gls` is compared with.
_OTHERS = ("mv", "sav", "pbs", "gls")


def random_rows(cells: int, rng: np.random.Generator) -> tuple[Design, Integers]:
    """A random design, and the parties' tables (parties × cells)."""
    parties = int(rng.integers(2, 11))
    epsilons = np.exp(rng.uniform(math.log(0.02), math.log(3), parties))
    budgets = {f"P{k}": Fraction(f"{e:.4f}") for k, e in enumerate(epsilons)}
    people = int(np.exp(rng.uniform(math.log(500), math.log(1e6))))
    sizes = rng.multinomial(people - parties, rng.dirichlet(np.full(parties, 2.0))) + 1
    base = rng.dirichlet(np.full(cells, np.exp(rng.uniform(math.log(0.05), math.log(10)))))
    kind, strength = rng.integers(4), rng.choice([0.03, 0.1, 0.3, 1.0])
    tables = []
    for k, size in enumerate(sizes):
        moves = kind == 1 or (kind == 2 and k == 0) or (kind == 3 and k == int(np.argmin(epsilons)))
        own = rng.dirichlet(np.full(cells, 0.5))
        p = (1 - strength) * base + strength * own if moves else base
        tables.append(rng.multinomial(size, p / p.sum()))
    rows = {party: int(size) for party, size in zip(budgets, sizes, strict=True)}
    design = Design((cells,), budgets, int(rng.integers(1, parties)), rows=rows)
    return design, np.array(tables)


def rmse_of(
    design: Design, tables: Integers, repeats: int, rng: np.random.Generator
) -> dict[str, float]:
    """Root mean square errors over all cells and repeats; all repeats at once."""
    people, truth = design.total, tables.sum(axis=0) / design.total
    y1, y2 = minimum(design), surplus(design)
    shape = y1.shares / y1.honest
    u = truth + noise(y1.scale, shape, (repeats, truth.size), rng) / people
    tables_of = {"mh": simplex(u)}
    if y2 is None or truth.size <= 3:
        tables_of["sjs"] = tables_of["mh"]
    if y2 is not None:
        weights = np.array([y2.weights.get(p, 0) for p in design.parties])
        rows = float(weights @ tables.sum(axis=1))
        drawn = noise(y2.scale, shape, (repeats, truth.size), rng)
        s, v1, v2 = (
            (weights @ tables + drawn) / rows,
            y1.variance / people**2,
            y2.variance / rows**2,
        )
        tables_of["mhst"] = MHST.combine(u, s, v1, v2)
        tables_of.setdefault("sjs", SJS.combine(u, s, v1, v2))
    return {n: float(np.sqrt(((t - truth) ** 2).mean())) for n, t in tables_of.items()}


def grid_section(configurations: int, repeats: int) -> str:
    """Random configurations of split rows."""
    rng = np.random.default_rng(143)
    lines = [
        "## Rows: random configurations",
        "",
        f"For each number of cells {configurations} random configurations: K from 2 to 10, ε from "
        ".02 to 3, N from 500 to 10⁶ (both log-uniform), t from 1 to K − 1, even to sparse tables; "
        "parties alike, all different, or only one different, a little or a lot. Ratio of root "
        f"mean square errors to `mh`, {repeats} repeats each; the five largest of `sjs` are "
        f"measured again with {10 * repeats} fresh repeats, and the largest of these is shown.",
        "",
        "| cells | `sjs`, largest (target: ≤ 1.15) | median | `mhst`, largest | median |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for cells in (2, 3, 4, 5, 8, 16, 64, 512):
        candidates, mhst_ratios = [], []
        for _ in range(configurations):
            design, tables = random_rows(cells, rng)
            errors = rmse_of(design, tables, repeats, rng)
            candidates.append((errors["sjs"] / errors["mh"], len(candidates), design, tables))
            if "mhst" in errors:
                mhst_ratios.append(errors["mhst"] / errors["mh"])
        worst = sorted(candidates, key=lambda item: item[:2])[-5:]
        remeasured = []
        for _, _, design, tables in worst:
            errors = rmse_of(design, tables, 10 * repeats, rng)
            remeasured.append(errors["sjs"] / errors["mh"])
        median = float(np.median([item[0] for item in candidates]))
        lines.append(
            f"| {cells} | {max(remeasured):.2f} | {median:.2f} | {max(mhst_ratios):.2f} | "
            f"{np.median(mhst_ratios):.2f} |"
        )
    return "\n".join([*lines, ""])


def random_columns(rng: np.random.Generator) -> tuple[Design, Integers]:
    """A random design over columns, and the true table."""
    parties = int(rng.integers(2, 5))
    shape = tuple(int(size) for size in rng.integers(2, 7 if parties < 4 else 4, parties))
    epsilons = np.exp(rng.uniform(math.log(0.02), math.log(3), parties))
    budgets = {f"P{k}": Fraction(f"{e:.4f}") for k, e in enumerate(epsilons)}
    people = int(np.exp(rng.uniform(math.log(500), math.log(1e6))))
    p = rng.dirichlet(np.full(math.prod(shape), np.exp(rng.uniform(-3, 2))))
    table = rng.multinomial(people, p).reshape(shape)
    rows = dict.fromkeys(budgets, people)
    return Design(shape, budgets, int(rng.integers(1, parties)), rows=rows), table


def column_ratios(
    design: Design, table: Integers, repeats: int, rng: np.random.Generator
) -> tuple[dict[str, float], int]:
    """RMSE of pbs-gls relative to the mhst_ratios, the same noise where they open the same sum."""
    truth = table.reshape(-1) / table.sum()
    errors = dict.fromkeys(("pbs-gls", *_OTHERS), 0.0)
    uncertified = 0
    for seed in rng.integers(1 << 62, size=repeats).tolist():
        sums = column_sums(COLUMNS["pbs-gls"], design, table, np.random.default_rng(seed))
        solved = COLUMNS["pbs-gls"].solve(design, sums)
        uncertified += not solved.converged
        tables = {
            "pbs-gls": solved.values,
            "gls": simplex(solved.raw),
            "pbs": COLUMNS["pbs"].solve(design, sums).values,
        }
        for name in ("mv", "sav"):
            method = COLUMNS[name]
            sums = column_sums(method, design, table, np.random.default_rng(seed))
            tables[name] = method.solve(design, sums).values
        for name, values in tables.items():
            errors[name] += float(((values - truth) ** 2).sum())
    return {name: math.sqrt(errors["pbs-gls"] / errors[name]) for name in _OTHERS}, uncertified


def schemas_section(schemas: int, repeats: int) -> str:
    """Random configurations of split columns."""
    rng = np.random.default_rng(144)
    designs = [random_columns(rng) for _ in range(schemas)]
    measured = [column_ratios(design, table, repeats, rng) for design, table in designs]
    uncertified = sum(count for _, count in measured)
    lines = [
        "## Columns: random configurations",
        "",
        f"{schemas} random schemas (2 to 4 parties, axes of 2 to 6 values, ε from .02 to 3, N from "
        f"500 to 10⁶, t from 1 to K − 1), {repeats} repeats each. Ratio of the root mean square "
        "error of `pbs-gls` to that of the other (target for `mv` and `sav`: at most 1); `gls` is "
        "the unconstrained least-squares table, projected. The three largest of each are measured "
        f"again with {10 * repeats} fresh repeats, and the largest of these is shown. Tables "
        f"without a certificate: {uncertified}.",
        "",
        "| `pbs-gls` / | smallest | median | largest |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name in _OTHERS:
        values = [ratios[name] for ratios, _ in measured]
        worst = np.argsort(values)[-3:]
        remeasured = [column_ratios(*designs[k], 10 * repeats, rng)[0][name] for k in worst]
        lines.append(
            f"| `{name}` | {min(values):.2f} | {np.median(values):.2f} | {max(remeasured):.3f} |"
        )
    return "\n".join([*lines, ""])
