"""Methods over split rows: examples with all digits, budgets, what is not identifiable."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from sottovoce.errors import EstimateError, ParameterError
from sottovoce.estimate.projection import simplex
from sottovoce.parties.design import Design
from sottovoce.parties.methods.evidence import Cells, Margin
from sottovoce.parties.methods.numbers import reach
from sottovoce.parties.methods.registry import ROWS
from sottovoce.parties.methods.row_sums import surplus
from sottovoce.parties.methods.sampling import rate
from sottovoce.parties.methods.shrinkage import MHST, SJS, block_edges
from sottovoce.parties.methods.stretching import fit, stretched
from sottovoce.parties.releases import deltas
from sottovoce.promise import Neighbours

BUDGETS = {"A": Fraction(1, 10), "B": Fraction(1, 2), "C": Fraction(1)}
ROWS_OF = {"A": 300, "B": 400, "C": 300}
Y1 = np.array([455, 262, 148, 97])
BOTH = (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE)
V1, V2, W = 799.8334, 32767.83, 27100  # of the example, without slack for colluders


def random_design(rng: np.random.Generator, neighbours: Neighbours) -> Design:
    parties = int(rng.integers(2, 11))
    budgets = {
        f"p{k}": Fraction(int(rng.integers(1, 3000)), int(rng.integers(900, 1100)))
        for k in range(parties)
    }
    shape = tuple(int(s) for s in rng.integers(1, 5, rng.integers(1, 4)))
    collusion = int(rng.integers(1, parties))
    rows = {party: int(rng.integers(1, 1000)) for party in budgets}
    public = rows if neighbours is Neighbours.SUBSTITUTION else None
    dropouts = int(rng.integers(0, parties - collusion))
    return Design(shape, budgets, collusion, dropouts, neighbours, public)


def test_example_3_mhst() -> None:
    values = MHST.combine(Y1 / 1000, np.array([150, 140, 80, 62]) / 430, 8e-4, 8 / 430**2)
    np.testing.assert_allclose(values, [0.424715, 0.279989, 0.167929, 0.127367], atol=5e-7)
    y2 = np.array([9600, 8960, 5120, 3968])
    values = MHST.combine(Y1 / 1000, y2 / W, V1 / 1e6, V2 / W**2)
    np.testing.assert_allclose(values, [0.424566, 0.279897, 0.168057, 0.127480], atol=5e-7)


def test_example_3_sjs() -> None:
    y2 = np.array([9600, 8960, 5120, 3968])
    values = SJS.combine(Y1 / 1000, y2 / W, V1 / 1e6, V2 / W**2)
    np.testing.assert_allclose(values, [0.459413, 0.273885, 0.158663, 0.108038], atol=5e-7)
    low, high = Cells(Y1.astype(float), V1, 1000).interval(Margin.whole((4,)), 0.95)
    np.testing.assert_allclose((high - low) / 2, 0.060)
    assert reach(0.95) * np.sqrt(8e-4) == pytest.approx(0.0599146, abs=5e-8)


def test_nine_cells() -> None:
    y1 = np.array([300, 150, -20, 90, 200, 60, 10, 40, 130])
    y2 = np.array([4000, 5000, 900, 2600, 6000, 2500, 600, 1500, 3500])
    expected = [0.291239, 0.150407, 0.005332, 0.090681, 0.199764]
    expected += [0.074402, 0.013914, 0.045588, 0.128673]
    values = SJS.combine(y1 / 1000, y2 / W, V1 / 1e6, V2 / W**2)
    np.testing.assert_allclose(values, expected, atol=5e-7)
    many = SJS.combine(np.stack([y1, y1[::-1]]) / 1000, np.stack([y2, y2[::-1]]) / W, 8e-4, 4e-5)
    np.testing.assert_allclose(many[0], many[1, ::-1])


def test_blocks() -> None:
    assert block_edges(7) == [0, 7]
    assert block_edges(8) == [0, 4, 8]
    assert block_edges(9) == [0, 4, 9]
    assert block_edges(12) == [0, 4, 8, 12]
    assert block_edges(64) == [0, 4, 8, 16, 32, 64]


def test_releases_of_the_example() -> None:
    design = Design((4,), BUDGETS, 1, rows=ROWS_OF)
    y1, y2 = ROWS["sjs"].releases(design)
    assert dict(y1.weights) == {"A": 1, "B": 1, "C": 1}
    assert dict(y2.weights) == {"B": 25, "C": 57}
    assert (y1.scale, y2.scale, y1.honest, y1.shares) == (20, 128, 2, 3)
    assert y1.variance == pytest.approx(V1 * 1.5, abs=1e-3)
    assert y2.variance == pytest.approx(V2 * 1.5, abs=1e-1)
    assert ROWS["sjs"].spent(design)["B"] == Fraction(1, 10) + Fraction(25, 64)
    assert len(ROWS["sjs"].releases(Design((3,), BUDGETS, 1, rows=ROWS_OF))) == 1
    alike = Design((4,), dict.fromkeys("ABC", Fraction(1, 2)), 1, rows=ROWS_OF)
    assert len(ROWS["sjs"].releases(alike)) == 1


def test_fine_weights_where_a_surplus_is_small() -> None:
    budgets = {"A": Fraction("0.1"), "B": Fraction("0.13"), "C": Fraction(1)}
    y2 = surplus(Design((4,), budgets, 1))
    assert y2 is not None
    assert dict(y2.weights) == {"B": 30, "C": 921}
    assert y2.scale == 2048
    huge = {"A": Fraction("0.1"), "B": Fraction("0.13"), "C": Fraction(10**5)}
    coarser = surplus(Design((4,), huge, 1))
    assert coarser is not None
    assert coarser.scale == 128  # the ring has no room for finer weights


@pytest.mark.parametrize("neighbours", BOTH)
def test_no_party_pays_more_than_its_budget(neighbours: Neighbours) -> None:
    rng = np.random.default_rng(14)
    for _ in range(60):
        design = random_design(rng, neighbours)
        for name, method in ROWS.items():
            if name == "mm-random" and neighbours is Neighbours.ADD_REMOVE:
                with pytest.raises(ParameterError, match="rows to be public"):
                    method.releases(design)  # refused before anything is spent
                continue
            spent = method.spent(design)
            assert all(spent[p] <= design.budgets[p] for p in design.parties), name
            assert set(deltas(method.releases(design), design.parties).values()) == {Fraction(0)}
            for release in method.releases(design):
                assert release.honest <= release.shares
                assert release.kept is not None or all(
                    release.cost(p, neighbours) <= design.budgets[p] for p in design.parties
                )
        y2 = surplus(design)
        least = min(design.budgets.values())
        if y2 is not None:  # never rounded up
            for party, weight in y2.weights.items():
                unit = y2.scale / (2 if neighbours is Neighbours.SUBSTITUTION else 1)
                assert 0 <= unit * (design.budgets[party] - least) - weight < 1


@pytest.mark.parametrize("neighbours", BOTH)
def test_sampling_rates_cost_at_most_the_budget(neighbours: Neighbours) -> None:
    rng = np.random.default_rng(15)
    with localcontext() as context:
        context.prec = 90
        for _ in range(200):
            most = Fraction(int(rng.integers(2, 3000)), 1000)
            own = most * int(rng.integers(1, 1000)) / 1000
            p = rate(own, most, neighbours)
            kept = Decimal(p.numerator) / Decimal(p.denominator)
            full = (Decimal(most.numerator) / Decimal(most.denominator)).exp()
            if neighbours is Neighbours.ADD_REMOVE:
                ratio = kept * full + 1 - kept
                other = 1 / (kept / full + 1 - kept)
                assert other <= ratio
            else:
                b = full.sqrt()
                ratio = (kept * b + 1 - kept) / (kept / b + 1 - kept)
            cost = Decimal(own.numerator) / Decimal(own.denominator)
            assert cost - Decimal(10) ** -15 < ratio.ln() <= cost
    assert float(rate(Fraction(1, 10), Fraction(1), BOTH[0])) == pytest.approx(0.097, abs=5e-4)
    assert float(rate(Fraction(1, 10), Fraction(1), BOTH[1])) == pytest.approx(0.061, abs=5e-4)


def test_mm_returns_what_its_start_implies() -> None:
    """Example 1 of the paper without noise: truth .3333, sth .2667, mm(uniform) .2667."""
    patients, rows = np.array([50, 30, 20]), np.full(3, 100.0)
    weights = np.array([0.2, 0.6, 1.0])
    target = np.array([(weights * patients).sum(), (weights * (rows - patients)).sum()])
    target = target / target.sum()
    assert target[0] == pytest.approx(0.2667, abs=5e-5)
    rng = np.random.default_rng(16)
    results, likelihoods = [], []
    for _ in range(300):
        tables, _ = fit(rng.dirichlet([1, 1], 3), weights * rows, target)
        results.append(rows @ tables[:, 0] / rows.sum())
        mixture = weights * rows @ tables / (weights * rows).sum()
        likelihoods.append(target @ np.log(mixture))
    assert min(results) < 0.2
    assert max(results) > 0.43
    assert max(likelihoods) - min(likelihoods) < 1e-12
    true = np.stack([patients, rows - patients], axis=1) / 100
    tables, converged = fit(true, weights * rows, target)
    assert converged
    assert rows @ tables[:, 0] / rows.sum() == pytest.approx(1 / 3)


@pytest.mark.parametrize("neighbours", BOTH)
def test_mm_from_equal_tables_is_sth(neighbours: Neighbours) -> None:
    rows = ROWS_OF if neighbours is Neighbours.SUBSTITUTION else None
    design = Design((2, 3), BUDGETS, 2, neighbours=neighbours, rows=rows)
    sums = [np.array([[90_000, -4000, 50_000], [100_000, 120_000, 200_000]])]
    sth, mm = ROWS["sth"].solve(design, sums), ROWS["mm"].solve(design, sums)
    np.testing.assert_allclose(mm.values, sth.values, atol=1e-9)
    other = ROWS["mm-random"]
    if neighbours is Neighbours.ADD_REMOVE:
        with pytest.raises(ParameterError, match="numbers of rows"):
            other.solve(design, sums)
    else:
        assert np.abs(other.solve(design, sums).values - sth.values).max() > 0.01


@pytest.mark.parametrize("neighbours", BOTH)
@pytest.mark.parametrize("name", [name for name in ROWS if name != "mm-random"])
def test_exact_sums_give_the_table(name: str, neighbours: Neighbours) -> None:
    """Without noise and with alike parties every method is right, up to its own assumptions."""
    rows = {"A": 60_000, "B": 80_000, "C": 60_000}
    public = rows if neighbours is Neighbours.SUBSTITUTION else None
    design = Design((2, 3), BUDGETS, 2, neighbours=neighbours, rows=public)
    truth = np.multiply.outer([0.4, 0.6], [0.2, 0.3, 0.5])
    method, sums = ROWS[name], []
    for release in method.releases(design):
        others = tuple(a for a in (0, 1) if a not in release.axes)
        kept = release.kept or {}
        total = sum(w * rows[p] * float(kept.get(p, 1)) for p, w in release.weights.items())
        sums.append(np.rint(total * truth.sum(axis=others)).astype(np.int64))
    solved = method.solve(design, sums)
    np.testing.assert_allclose(solved.values, truth.reshape(-1), atol=2e-4)
    low, high = solved.interval(0.95)
    assert (low <= truth.reshape(-1)).all()
    assert (high >= truth.reshape(-1)).all()


def test_after_a_drop_out() -> None:
    """N, W and the variances are of those who are present; weights and scales stay."""
    design = Design((4,), BUDGETS, 1, dropouts=1, rows=ROWS_OF)
    left = design.of(["A", "B"])
    before, after = ROWS["sjs"].releases(design), ROWS["sjs"].releases(left)
    assert [r.scale for r in before] == [r.scale for r in after]
    assert dict(after[1].weights) == {"B": 25}
    assert after[0].variance == pytest.approx(before[0].variance * 2 / 3)
    solved = ROWS["sjs"].solve(left, [Y1, np.array([4000, 3000, 2000, 1000])])
    np.testing.assert_allclose(solved.raw, Y1 / 700)
    alone = design.of(["A", "C"])
    np.testing.assert_allclose(
        ROWS["sjs"].solve(design.of(["A"]), [Y1, Y1]).values, simplex(Y1 / 300)
    )
    locals_ = [Y1, Y1 + 1, Y1 + 2]
    every = ROWS["independent"].solve(alone, locals_)  # all releases, one of them empty
    some = ROWS["independent"].solve(alone, [Y1, Y1 + 2])
    np.testing.assert_array_equal(every.raw, some.raw)
    with pytest.raises(EstimateError, match="needs"):
        ROWS["independent"].solve(alone, [Y1])


def test_sizes_are_not_used_where_neighbours_add_or_remove() -> None:
    design = Design((4,), BUDGETS, 1, neighbours=Neighbours.ADD_REMOVE, rows=ROWS_OF)
    hidden = Design((4,), BUDGETS, 1, neighbours=Neighbours.ADD_REMOVE)
    for name, method in ROWS.items():
        if name == "mm-random":
            continue
        sums = [np.array([400, 300, 200, 100])[: r.cells] for r in method.releases(design)]
        np.testing.assert_array_equal(
            method.solve(design, sums).values, method.solve(hidden, sums).values
        )
    assert ROWS["sjs"].releases(hidden)[0].scale == 10
    assert ROWS["sjs"].releases(hidden)[1].scale == 64


def test_a_party_without_weight_is_not_in_the_sum() -> None:
    tiny = {"A": Fraction(1, 10_000), "B": Fraction(1)}
    release = stretched(Design((2,), tiny, 1, rows={"A": 10, "B": 10}))
    assert dict(release.weights) == {"B": 1024}
    assert release.noise_from == ("A", "B")
