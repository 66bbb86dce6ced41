"""Methods over split columns: the example, dense least squares, the optimum, budgets."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sottovoce.accounting import gaussian_shares_delta
from sottovoce.errors import EstimateError, ParameterError
from sottovoce.parties.design import Design
from sottovoce.parties.methods import nested as nested_module
from sottovoce.parties.methods.evidence import LeastSquares, Margin
from sottovoce.parties.methods.nested import CertificateWarning, Nested, constrained, solve_tree
from sottovoce.parties.methods.registry import COLUMNS
from sottovoce.parties.methods.segmentation import PBSGaussian
from sottovoce.parties.methods.teams import noise_of
from sottovoce.parties.releases import deltas
from sottovoce.promise import Neighbours

EXAMPLE = Nested(
    (0, 1, 2),
    (2, 2, 2),
    {
        0: np.array([120, -15, 60, 40, 85, 30, -22, 150.0]).reshape(2, 2, 2),
        1: np.array([[180, 20], [45, 205.0]]),
        2: np.array([232, 212.0]),
    },
    {0: 800, 1: 8 / 0.3**2, 2: 8 / 0.6**2},
    450,
)


def random_design(rng: np.random.Generator) -> Design:
    parties = int(rng.integers(2, 6))
    budgets = {
        f"p{k}": Fraction(int(rng.integers(1, 3000)), int(rng.integers(900, 1100)))
        for k in range(parties)
    }
    if rng.random() < 0.4:  # equal budgets: a level without a release
        budgets["p1"] = budgets["p0"]
    shape = tuple(int(s) for s in rng.integers(2, 5, parties))
    return Design(shape, budgets, int(rng.integers(1, parties)), rows=dict.fromkeys(budgets, 500))


def random_sums(design: Design, name: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Sums of a table with a few empty cells, plus noise."""
    n = next(iter((design.rows or {}).values()))
    table = rng.multinomial(n, rng.dirichlet(np.full(design.cells, 0.3))).reshape(design.shape)
    sums = []
    for release in COLUMNS[name].releases(design):
        others = tuple(a for a in range(len(design.shape)) if a not in release.axes)
        noise = rng.normal(0, math.sqrt(release.variance), release.shape)
        sums.append(np.rint(table.sum(axis=others) + noise).astype(np.int64))
    return sums


def test_example_4() -> None:
    table, taus = EXAMPLE.least_squares()
    np.testing.assert_allclose(taus, [800, 84.21053, 19.63190], rtol=5e-7)
    expected = [110.1588, -14.60615, 65.31668, 45.13069, 75.15878, 30.39385, -16.68332, 155.1307]
    np.testing.assert_allclose(table.reshape(-1), expected, rtol=1e-6)
    evidence = LeastSquares(table.reshape(-1), 450, (0, 1, 2), (2, 2, 2), tuple(taus))
    whole = Margin.whole((2, 2, 2))
    for kept, variance in [((0, 1, 2), 411.1398), ((1, 2), 44.55925), ((2,), 9.815951)]:
        assert evidence.variance(whole.of(kept))[0] * 450**2 == pytest.approx(variance, rel=5e-7)
    low, high = evidence.interval(whole, 0.95)
    np.testing.assert_allclose((high - low) / 2, 43.5 / 450)  # 42.95 = .0954488 · 450, rounded up
    best = constrained(EXAMPLE, table / 450)
    expected = [0.243854, 0, 0.109989, 0.099451, 0.166076, 0.036735, 0, 0.343896]
    np.testing.assert_allclose(best.table.reshape(-1), expected, atol=5e-7)
    assert best.objective == pytest.approx(1.868061e-4, rel=5e-7)
    assert best.steps == 66
    assert best.certified


def dense(nested: Nested) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares table with the total fixed, and its covariance, by matrices."""
    size = math.prod(nested.sizes)
    rows, targets, precisions = [], [], []
    for i, table in nested.tables.items():
        for cell in np.ndindex(table.shape):
            indicator = np.zeros(nested.sizes)
            indicator[(slice(None),) * i + cell] = 1
            rows.append(indicator.reshape(-1))
            targets.append(table[cell])
            precisions.append(1 / nested.variances[i])
    matrix, weights = np.array(rows), np.array(precisions)
    information = matrix.T @ (weights[:, None] * matrix)
    inverse = np.linalg.inv(information)
    ones = np.ones(size)
    covariance = inverse - np.outer(inverse @ ones, inverse @ ones) / (ones @ inverse @ ones)
    free = inverse @ matrix.T @ (weights * np.array(targets))
    table = free + inverse @ ones * (nested.n - free.sum()) / (ones @ inverse @ ones)
    return table, covariance


def test_least_squares_equals_dense_matrices() -> None:
    rng = np.random.default_rng(17)
    for _ in range(12):
        design = random_design(rng)
        method = COLUMNS["pbs-gls"]
        sums = random_sums(design, "pbs-gls", rng)
        nested, raw, evidence = method.nested(design, sums)  # type: ignore[attr-defined]
        table, covariance = dense(nested)
        np.testing.assert_allclose(raw.reshape(-1), table, atol=1e-6)
        many = len(design.shape)
        in_order = covariance.reshape(nested.sizes * 2)
        back = np.argsort(nested.order)
        in_design = in_order.transpose([*back, *(back + many)])
        whole = Margin.whole(design.shape)
        for kept in product([False, True], repeat=many):
            axes = tuple(a for a in range(many) if kept[a])
            if not axes:
                continue
            margin = whole.of(axes)
            others = [a for a in range(many) if a not in axes]
            block = in_design.sum(axis=(*others, *(a + many for a in others)))
            size = math.prod(margin.shape)
            variances = np.diag(block.reshape(size, size))
            np.testing.assert_allclose(
                evidence.variance(margin) * 500**2, variances, rtol=1e-6, atol=1e-9
            )
            # A cell of the marginal and the sum that it is a part of
            first = in_design.sum(axis=tuple(a + many for a in others + list(axes[1:])))
            first = first.sum(axis=tuple(others))
            cov = first.reshape(size, -1)[0, 0]
            outer = whole.of(axes[:1])
            assert evidence.covariance(margin.merged, outer.merged) == pytest.approx(
                cov, rel=1e-6, abs=1e-9
            )


def test_parts_of_an_axis() -> None:
    """Several attributes of one party: groups of values of its axis."""
    design = Design((4, 2), {"A": Fraction(1, 10), "B": Fraction(1, 2)}, 1, rows={"A": 9, "B": 9})
    rng = np.random.default_rng(18)
    nested, _, evidence = COLUMNS["pbs-gls"].nested(  # type: ignore[attr-defined]
        design, random_sums(design, "pbs-gls", rng)
    )
    _, covariance = dense(nested)
    in_design = covariance.reshape(2, 2, 2, 2, 2, 2)  # attributes a, b of A, and c of B
    margin = Margin((2, 2, 2), ((0, 1), (2,)), (2, 1))
    block = in_design.sum(axis=(0, 3)).transpose(1, 0, 3, 2).reshape(4, 4)
    np.testing.assert_allclose(evidence.variance(margin) * 81, np.diag(block), rtol=1e-6)
    inside = Margin((2, 2, 2), ((0, 1), (2,)), (2,))
    cov = in_design.sum(axis=(0, 3, 4))[0, 0, 0]
    assert evidence.covariance(margin.merged, inside.merged) == pytest.approx(cov, rel=1e-6)


def test_the_constrained_optimum() -> None:
    """Against active-set non-negative least squares, the sum enforced by a heavy row."""
    from scipy.optimize import nnls

    rng = np.random.default_rng(19)
    for _ in range(12):
        design = random_design(rng)
        sums = random_sums(design, "pbs-gls", rng)
        nested, raw, _ = COLUMNS["pbs-gls"].nested(design, sums)  # type: ignore[attr-defined]
        best = constrained(nested, raw / nested.n)
        size, rows, targets = math.prod(nested.sizes), [], []
        top = max(1 / v for v in nested.variances.values())
        for i, table in nested.tables.items():
            weight = math.sqrt(1 / nested.variances[i] / top)
            for cell in np.ndindex(table.shape):
                indicator = np.zeros(nested.sizes)
                indicator[(slice(None),) * i + cell] = weight
                rows.append(indicator.reshape(-1))
                targets.append(weight * table[cell] / nested.n)
        heavy = 1e5
        matrix = np.vstack([*rows, np.full(size, heavy)])
        x, _ = nnls(matrix, np.array([*targets, heavy]), maxiter=100 * size)
        objective = 0.5 * float(((np.array(rows) @ x - targets) ** 2).sum())
        assert best.table.min() >= 0
        assert best.table.sum() == pytest.approx(1)
        assert best.certified
        assert best.objective - objective < best.gap + 1e-8


def test_the_certificate_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    table, _ = EXAMPLE.least_squares()
    monkeypatch.setattr(nested_module, "minimise", lambda *problem: problem[3])
    monkeypatch.setattr(nested_module, "_MOST_STEPS", 2)
    with pytest.warns(CertificateWarning, match="above the optimum"):
        stopped = constrained(EXAMPLE, table / 450)
    assert not stopped.certified
    monkeypatch.undo()
    best = constrained(EXAMPLE, table / 450)
    assert stopped.objective - best.objective <= stopped.gap  # the gap is a bound


def test_slow_tables_are_certified() -> None:
    """Several levels of very different precision need many steps."""
    budgets = {p: Fraction(b) for p, b in zip("ABCD", ("0.01", "0.1", "1", "4"), strict=True)}
    design = Design((5, 4, 3, 2), budgets, 1, rows=dict.fromkeys(budgets, 1_000_000))
    rng = np.random.default_rng(20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solved = COLUMNS["pbs-gls"].solve(design, random_sums(design, "pbs-gls", rng))
    assert solved.converged


def test_tree_systems() -> None:
    rng = np.random.default_rng(31)
    sizes, weights = (3, 2, 4), {0: 0.7, 2: 1.9}
    matrix = np.zeros((24, 24))
    for i, weight in weights.items():
        sums = np.eye(24).reshape(24, *sizes).sum(axis=tuple(range(1, i + 1))).reshape(24, -1)
        matrix += weight * sums @ sums.T
    d, b = rng.uniform(0.01, 5, 24), rng.normal(size=24)
    x = solve_tree(sizes, weights, d, b)
    np.testing.assert_allclose((np.diag(d) + matrix) @ x, b, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "pbs-gaussian"])
def test_no_party_pays_more_than_its_budget(name: str) -> None:
    rng = np.random.default_rng(21)
    for _ in range(60):
        design = random_design(rng)
        method = COLUMNS[name]
        spent = method.spent(design)
        assert all(spent[p] <= design.budgets[p] for p in design.parties)
        if name in ("pbs", "pbs-gls"):
            assert spent == design.budgets
            whole_person = sum(2 / r.scale for r in method.releases(design))
            assert whole_person == max(design.budgets.values())
        assert set(deltas(method.releases(design), design.parties).values()) == {Fraction(0)}


def test_gaussian_levels() -> None:
    """What the text promises holds for the noise that any honest parties add."""
    budgets = {"A": Fraction("0.2"), "B": Fraction("0.9"), "C": Fraction("1.8")}
    design = Design((2, 3, 2), budgets, 2, rows=dict.fromkeys(budgets, 1000))
    method = COLUMNS["pbs-gaussian"]
    assert method.spent(design) == budgets
    assert deltas(method.releases(design), design.parties) == {
        p: Fraction(k, 10**6) for p, k in zip("ABC", (1, 2, 3), strict=True)
    }
    for release in method.releases(design):
        assert release.gaussian is not None
        delta = gaussian_shares_delta(
            float(release.gaussian.epsilon), float(release.scale), release.honest
        )
        assert delta <= float(release.delta)
        assert release.variance == pytest.approx(float(release.scale) ** 2 * release.shares)
    with pytest.raises(ParameterError, match="ε < 1"):
        method.releases(Design((2, 2), {"A": Fraction(1), "B": Fraction(2)}, 1))


def test_gaussian_shares_of_many_parties_are_not_too_narrow() -> None:
    """25 shares of σ = ¼ are 0 almost always: δ = .996 at ε = 1, where the formula says .9."""
    budgets = {f"p{k}": Fraction("0.999") for k in range(26)}
    design = Design((2,) * 26, budgets, 1, rows=dict.fromkeys(budgets, 1000))
    for delta in (Fraction(9, 10), Fraction(1, 2)):
        with pytest.raises(ParameterError, match="choose a smaller delta"):
            PBSGaussian(delta).releases(design)
    (usual,) = PBSGaussian().releases(design)
    assert gaussian_shares_delta(0.999, float(usual.scale), usual.honest) <= 1e-6


def test_who_adds_noise() -> None:
    """All parties where that is better; a lone party its full noise; no lone share ever."""
    budgets = {p: Fraction(k + 1) for k, p in enumerate("ABCDE")}
    some = Design((2,) * 5, budgets, 2)
    assert noise_of(some, ("C", "D", "E")) == (tuple("ABCDE"), 3)
    assert noise_of(some, ("E",)) == (("E",), 1)
    most = Design((2,) * 5, budgets, 4)
    assert noise_of(most, ("D", "E")) == (("D", "E"), 1)


@pytest.mark.parametrize("name", COLUMNS)
def test_exact_sums_give_the_table(name: str) -> None:
    budgets = {"A": Fraction("0.9"), "B": Fraction("0.3"), "C": Fraction("0.8")}
    n = 1_000_000
    design = Design((2, 3, 2), budgets, 2, rows=dict.fromkeys(budgets, n))
    rng = np.random.default_rng(22)
    truth = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    sums = []
    for release in COLUMNS[name].releases(design):
        others = tuple(a for a in range(3) if a not in release.axes)
        kept = math.prod((release.kept or {"": 1}).values())
        sums.append(np.rint(float(kept) * n * truth.sum(axis=others)).astype(np.int64))
    solved = COLUMNS[name].solve(design, sums)
    np.testing.assert_allclose(solved.values, truth.reshape(-1), atol=1e-4)
    low, high = solved.interval(0.95)
    assert (low <= truth.reshape(-1)).all()
    assert (high >= truth.reshape(-1)).all()


def test_refusals() -> None:
    budgets = {"A": Fraction(1), "B": Fraction(2)}
    with pytest.raises(ParameterError, match="substitution"):
        COLUMNS["mv"].releases(Design((2, 2), budgets, 1, neighbours=Neighbours.ADD_REMOVE))
    with pytest.raises(ParameterError, match="axes"):
        COLUMNS["mv"].releases(Design((2, 2, 2), budgets, 1))
    unequal = Design((2, 2), budgets, 1, rows={"A": 3, "B": 4})
    with pytest.raises(EstimateError, match="same number"):
        COLUMNS["mv"].solve(unequal, [np.ones((2, 2), int)])
