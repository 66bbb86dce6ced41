"""Choose all that apply: exact privacy, bias and variance of small questions; the sampler."""

import json
import math
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import chisquare

import sottovoce as sv
from sottovoce import testing
from sottovoce.cli import main
from sottovoce.errors import AnswerError, EstimateError, ParameterError
from sottovoce.study import Study
from tests.laws.entries import PURE

KINDS = [by for by in PURE if by != "olh"]  # whose reports are too many to enumerate
SMALL = [sv.Options("tools", list("abc"), most=most) for most in (1, 2, 3)]
CASES = [(q, by, e) for q in SMALL for by in KINDS for e in (0.1, 1.0, 4.0, 20.0)]


def sets_of(question: sv.Options) -> list[tuple[int, ...]]:
    sizes = range(question.most + 1)
    return [s for many in sizes for s in combinations(range(len(question.values)), many)]


@pytest.mark.fast
@pytest.mark.parametrize(("question", "by", "epsilon"), CASES, ids=str)
def test_exact_epsilon_expectation_and_variance(question, by, epsilon) -> None:
    m = sv.ChooseAll(question, epsilon=epsilon, by=by)
    channel = m.channel()
    assert all(sum(row) == 1 for row in channel.exact)
    ratio = max(max(column) / min(column) for column in zip(*channel.exact, strict=True))
    assert math.log(float(ratio)) <= epsilon + 1e-12
    every = m.every_report()
    counts = [m.aggregate(every[k : k + 1]).dense("support").tolist() for k in range(len(every))]
    p, q = m.p, m.q
    for chosen, row in zip(sets_of(question), channel.exact, strict=True):
        for v in range(len(question.values)):
            supported = sum(c for c, has in zip(row, counts, strict=True) if has[v])
            truth = int(v in chosen)
            assert (supported - q) / (p - q) == truth  # unbiased
            exact = supported * (1 - supported) / (p - q) ** 2
            f = np.eye(len(question.values))[v] * truth
            assert m.variance(f, 1)[v] == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.fast
@pytest.mark.parametrize("by", KINDS)
def test_a_report_supports_the_options_that_it_is_counted_for(by) -> None:
    m = sv.ChooseAll(SMALL[1], epsilon=1.0, by=by)
    every, options = m.every_report(), np.arange(3)
    counts = [m.aggregate(every[k : k + 1]).dense("support").tolist() for k in range(len(every))]
    assert m.supports(every.columns, options).astype(int).tolist() == counts


@pytest.mark.fast
def test_the_bound_is_an_upper_bound_of_the_covariance() -> None:
    """For people with fixed sets, enumerated exactly: bound − covariance has no negative value."""
    question = SMALL[1]
    m = sv.ChooseAll(question, epsilon=1.0)
    sets = sets_of(question)
    every = m.every_report()
    counts = np.array([m.aggregate(every[k : k + 1]).dense("support") for k in range(len(every))])
    rows = np.array(m.channel().exact, float)
    people = [1, 0, 2, 3, 1, 0, 2]
    n = sum(people)
    exact = np.zeros((3, 3))
    for many, row in zip(people, rows, strict=True):
        mean = row @ counts
        exact += many * ((counts - mean).T * row) @ (counts - mean)
    exact /= (n * float(m.p - m.q)) ** 2
    held = [[v in chosen for v in range(3)] for chosen in sets]
    f = np.average(np.array(held, float), weights=people, axis=0)
    assert np.linalg.eigvalsh(m.covariance(f, n) - exact).min() > -1e-12
    assert np.diag(exact) == pytest.approx(m.variance(f, n))


@pytest.mark.statistical
@pytest.mark.parametrize("fault", [False, True])
def test_the_sampler_follows_the_channel(fault) -> None:
    """A chi-square test with a false-alarm rate of 1e-8; padding left out must be noticed."""
    question = SMALL[1]
    m = sv.ChooseAll(question, epsilon=1.0)
    n = 40_000
    with testing.seeded(3) as source:
        answers = ["a"] * n if not fault else ["a;b"] * n
        reports = m.randomise(answers, source=source)
    every = m.every_report().columns["bits"][:, 0].tolist()
    seen = np.array([np.sum(reports.columns["bits"][:, 0] == y) for y in every])
    row = np.array(m.channel().exact[1], float)
    p = chisquare(seen, n * row).pvalue
    assert (p < 1e-8) == fault


@pytest.mark.slow
@pytest.mark.parametrize("by", ["oue", "olh", "subset", "grr"])
def test_intervals_cover(by) -> None:
    """300 runs × 4 options at 95 %; below 90 % has a chance of less than 1e-8."""
    question = sv.Options("q", list("abcd"), most=2)
    m = sv.ChooseAll(question, epsilon=2.0, by=by)
    answers = ["a"] * 200 + ["a;b"] * 300 + [""] * 200 + ["c;b"] * 100
    truth = np.array([500, 400, 100, 0]) / 800
    inside = 0
    with testing.seeded(8) as source:
        for _ in range(300):
            e = m.estimate(m.aggregate(m.randomise(answers, source=source)))
            low, high = e.interval()
            inside += int(((low <= truth) & (truth <= high)).sum())
    assert inside >= 1080


@pytest.mark.slow
@pytest.mark.parametrize("wrapped", ["levels", "sampled", "rates"])
def test_levels_and_rates(wrapped) -> None:
    question = sv.Options("q", list("abcd"), most=2)
    strong, weak = (sv.ChooseAll(question, epsilon=e) for e in (1.0, 3.0))
    answers = ["a"] * 200 + ["a;b"] * 300 + [""] * 200 + ["c;b"] * 100
    truth = np.array([500, 400, 100, 0]) / 800
    rng = np.random.default_rng(1)
    level, rate = rng.choice(["strong", "weak"], 800), rng.choice([0.5, 1.0], 800)
    collection, options = {
        "levels": (sv.Levels({"strong": strong, "weak": weak}), {"level": level}),
        "sampled": (sv.Sampled(weak, rate=0.5), {}),
        "rates": (sv.Sampled(weak, rate=[0.5, 1.0]), {"rate": rate}),
    }[wrapped]
    inside = 0
    with testing.seeded(9) as source:
        for _ in range(200):
            reports = collection.randomise(answers, source=source, **options)
            e = collection.estimate(collection.aggregate(reports))
            low, high = e.interval()
            inside += int(((low <= truth) & (truth <= high)).sum())
    assert inside >= 0.89 * 800
    assert not e.exclusive
    assert e.covariance is None


@pytest.mark.fast
def test_answers_in_every_form() -> None:
    question = sv.Options("q", ["R", "Python", "SAS"], most=2)
    forms = [
        [["R"], [], ["SAS", "R"]],
        [("R",), (), {"SAS", "R"}],
        ["R", "", "SAS; R"],
        np.array(["R", "", "R;SAS"], object),
    ]
    for answers in forms:
        assert question.sets(answers) == [("R",), (), ("R", "SAS")]
    import pandas as pd
    import pyarrow as pa

    assert question.sets(pd.Series(["R", "", "SAS;R"])) == question.sets(forms[0])
    assert question.sets(pa.array(forms[0])) == question.sets(forms[0])


REFUSED = {
    "unknown": ([["R", "Julia"]], "'Julia' .* is not one of the 3 options"),
    "unknown in text": (["R; Julia"], "'Julia'"),
    "too many": ([["R", "Python", "SAS"]], "more than 2 options"),
    "missing": (["R", None], "1 of 2 answers are missing"),
    "numbers": ([1, 2], "a list of options for everyone"),
}


@pytest.mark.fast
@pytest.mark.parametrize(("answers", "says"), REFUSED.values(), ids=REFUSED)
def test_refused_answers(answers, says) -> None:
    m = sv.ChooseAll(sv.Options("q", ["R", "Python", "SAS"], most=2), epsilon=1.0)
    with pytest.raises(AnswerError, match=says):
        m.randomise(answers)


BAD_QUESTIONS = {
    "most": (["a", "b"], {"most": 3}, "from 1 to 2"),
    "zero": (["a", "b"], {"most": 0}, "from 1 to 2"),
    "separator": (["a;b", "c"], {"most": 1}, "without ';'"),
    "numbers": ([1, 2], {"most": 1}, "must be texts"),
    "many": ([f"o{k}" for k in range(64)], {"most": 1}, "at most 63"),
    "value": (["a", "b"], {"most": 1, "missing": "value"}, "none may be chosen"),
}


@pytest.mark.fast
@pytest.mark.parametrize(("options", "more", "says"), BAD_QUESTIONS.values(), ids=BAD_QUESTIONS)
def test_refused_questions(options, more, says) -> None:
    with pytest.raises(ParameterError, match=says):
        sv.Options("q", options, **more)


@pytest.mark.fast
def test_refused_mechanisms() -> None:
    question = sv.Options("q", ["a", "b"], most=1)
    with pytest.raises(ParameterError, match="cannot report a drawn option"):
        sv.ChooseAll(question, epsilon=1.0, by="hadamard")
    for kind in (sv.GRR, sv.OUE, sv.OLH, sv.HadamardResponse):
        with pytest.raises(ParameterError, match="allows several options"):
            kind(question, epsilon=1.0)
    with pytest.raises(ParameterError, match="allows several options"):
        sv.LIP(question, prior=[0.5, 0.5], epsilon=1.0)
    with pytest.raises(ParameterError, match="says how many"):
        sv.ChooseAll(sv.Attribute("q", ["a", "b"]), epsilon=1.0)


@pytest.mark.fast
def test_fractions_need_not_sum_to_one() -> None:
    m = sv.ChooseAll(sv.Options("q", ["a", "b", "nothing else"], most=3), epsilon=20.0)
    e = m.estimate(m.aggregate(m.randomise([["a", "b", "nothing else"]] * 500)))
    assert e.values.sum() > 2.5
    projected = e.project()
    assert (projected.values <= 1).all()
    assert projected.values.sum() > 2.5
    assert e.error([1, 1, 1]).max < 0.3
    with pytest.raises(ParameterError, match="fractions from 0 to 1"):
        e.error([1, 1, 2])
    assert pickle.loads(pickle.dumps(projected)).labels == e.labels


@pytest.mark.fast
def test_whole_path_and_bytes() -> None:
    m = sv.ChooseAll(sv.Options("q", ["a", "b", "c"], most=2), epsilon=1.0)
    reports = m.randomise(["a;b", "", "c"])
    assert sv.Reports.from_bytes(reports.to_bytes(), expect=m).to_bytes() == reports.to_bytes()
    aggregate = m.aggregate(reports)
    assert sv.Aggregate.from_bytes(aggregate.to_bytes(), expect=m) == aggregate
    assert pickle.loads(pickle.dumps(m)) == m
    other = sv.ChooseAll(sv.Options("q", ["a", "b", "c"], most=3), epsilon=1.0)
    assert other.digest != m.digest
    with pytest.raises(EstimateError, match="no reports"):
        m.estimate(m.aggregate(reports[:0]))
    assert m.p == m.q + Fraction(1, 2) * (m.inner.p - m.inner.q)


@pytest.mark.slow
def test_the_command_line(tmp_path) -> None:
    question = sv.Options("tools", ["R", "Python", "SAS"], most=2)
    study = tmp_path / "study.toml"
    menu = sv.Levels({e: sv.ChooseAll(question, epsilon=float(e)) for e in ("1", "4")})
    cells = ["R", "R;Python", "", "SAS;R"] * 200
    lines = [f"{tools},{1 if k % 2 else 4}" for k, tools in enumerate(cells)]
    (tmp_path / "people.csv").write_text("tools,level\n" + "\n".join(lines) + "\n")

    def run(*arguments: str, code: int = 0) -> str:
        outcome = CliRunner().invoke(main, [str(a) for a in arguments])
        assert outcome.exit_code == code, outcome.output
        return outcome.output

    asked = ("--question", "tools", "--values", "R,Python,SAS", "--most", "2")
    run("study", "new", study, "--title", "Tools", *asked, "--levels", "1=1,4=4")
    assert Study.load(study).digest == Study("Tools", [menu]).digest
    reports, counts = tmp_path / "r.svr", tmp_path / "c.sva"
    people = tmp_path / "people.csv"
    run("randomise", people, "--study", study, "--levels", "level", "--out", reports)
    run("aggregate", reports, "--study", study, "--out", counts)
    rows = json.loads(run("estimate", counts, "--study", study, "--json"))
    assert "SAS" in json.dumps(rows)
    people.write_text("tools,level\nR,1\nJulia,4\n")
    text = run(
        "randomise", people, "--study", study, "--levels", "level", "--out", reports, "--force",
        code=1,
    )  # fmt: skip
    assert "'Julia' (row 2)" in " ".join(text.split())


# --- sums of options, and several estimates together ----------------------------------------------


def two_options(most: int = 1) -> tuple[sv.ChooseAll, sv.Aggregate]:
    """Half of the people choose a, half b; the counts are the expected ones."""
    question = sv.Options("q", list("abc"), most=most)
    m = sv.ChooseAll(question, epsilon=3.0, by="grr")
    n = 1_000_000
    counts = [round(n * (float(m.q) + f * float(m.p - m.q))) for f in (0.5, 0.5, 0.0)]
    return m, sv.Aggregate(m.id, m.digest, {"support": np.array(counts)}, n, n)


@pytest.mark.fast
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("weights", [{"a": 1, "b": 1}, {"a": 1, "b": -1}])
def test_errors_of_sums_and_differences_of_options_are_at_least_the_exact_ones(most, weights):
    m, agg = two_options(most)
    law = m.channel()
    reports = ["a", "b", "c", "nothing else"]
    value = np.array([weights.get(y, 0) for y in reports])
    exact = 0.0
    for chosen in ("a", "b"):  # with fixed answers, the variances of people's reports add up
        row = np.array(law.exact[list(law.inputs).index(chosen)], float)
        exact += 0.5 * (row @ value**2 - (row @ value) ** 2)
    exact = math.sqrt(exact / agg.reports) / float(m.p - m.q)
    stated = m.estimate(agg).contrast(weights)
    low, high = stated.interval()
    assert stated.std_error[0] >= 0.999 * exact
    assert high[0] - low[0] >= 0.999 * 2 * 1.96 * exact


@pytest.mark.fast
def test_combined_options_are_options_still() -> None:
    m, agg = two_options()
    north, south = m.estimate(agg), m.estimate(two_options()[1])
    strata = {"north": north, "south": south}
    for whole in (
        sv.combine([north, south], method="post-stratified"),
        sv.combine([north, south]),
        sv.stratified(strata, weights={"north": 3, "south": 1}),
    ):
        assert not whole.exclusive
        assert whole.project().values.sum() == pytest.approx(whole.values.clip(0).sum())
        for refused in (lambda e=whole: e.mean([1, 2, 3]), whole.median):
            with pytest.raises(EstimateError, match="several"):
                refused()
    single = sv.GRR(sv.Attribute("q", list("abc")), epsilon=1.0)
    other = single.estimate(single.aggregate(single.randomise(["a", "b"] * 500)))
    with pytest.raises(EstimateError, match="other values"):
        sv.combine([north, other])


@pytest.mark.fast
def test_levels_of_which_one_is_sampled_at_two_rates() -> None:
    question = sv.Options("q", list("abcd"), most=2)
    strong, weak = (sv.ChooseAll(question, epsilon=e) for e in (1.0, 3.0))
    both = sv.Levels({"strong": sv.Sampled(strong, rate=[0.5, 1.0]), "weak": weak})
    with testing.seeded(3) as source:
        reports = both.randomise(
            ["a;b", "c", "c"] * 400,
            level=["strong", "weak"] * 600,
            rate=[0.5, 1.0] * 600,
            source=source,
        )
        e = both.estimate(both.aggregate(reports))
    assert (e.exclusive, e.covariance) == (False, None)


@pytest.mark.fast
@pytest.mark.parametrize("by", ["oue", "grr", "subset"])
@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 20.0])
@pytest.mark.parametrize("weights", [{"a": 1, "b": -1}, {"a": 1, "b": 1}])
@pytest.mark.filterwarnings("ignore::sottovoce.errors.UselessEstimateWarning")
def test_a_single_report_does_not_settle_a_difference(by, epsilon, weights) -> None:
    m = sv.ChooseAll(sv.Options("q", list("abc"), most=2), epsilon=epsilon, by=by)
    every, law = m.every_report(), m.channel()
    for chosen in ((), (0,), (0, 1)):
        row = law.exact[sets_of(m.domain).index(chosen)]
        truth = sum(weights["abc"[v]] for v in chosen)
        covered = 0.0
        for k, chance in enumerate(row):
            low, high = m.estimate(m.aggregate(every[k : k + 1])).contrast(weights).interval()
            covered += float(chance) * bool(low[0] <= truth <= high[0])
        assert covered >= 0.93


@pytest.mark.fast
def test_nothing_else_reads_a_set_of_options_as_one_value() -> None:
    question = sv.Options("q", list("abc"), most=2)
    for kind in (sv.GRR, sv.OUE, sv.SubsetSelection):
        with pytest.raises(ParameterError, match="ChooseAll"):
            kind(question, epsilon=1.0)
    with pytest.raises(ParameterError, match="ChooseAll"):
        sv.Records([question, sv.Attribute("b", 2)], epsilon_average=1.0)
    answers = [["a"], ["a", "c"]] * 200
    assert not sv.ask(answers, values=question, epsilon=2.0).exclusive
    level = ["weak", "strong"] * 200
    both = sv.ask(answers, values=question, levels={"strong": 1.0, "weak": 4.0}, level=level)
    assert not both.exclusive


@pytest.mark.fast
def test_answers_that_are_no_lists_are_refused() -> None:
    import pandas as pd

    question = sv.Options("q", ["R", "SAS"], most=1)
    for answers, why in (
        ([["R"], 5], r"5 \(row 1\) is neither"),
        ([{"R": 1}], r"\(row 0\) is neither"),
        ([["R"], pd.NA], "missing"),
    ):
        with pytest.raises(AnswerError, match=why):
            question.coded(answers)


def test_sums_of_options_are_not_cut_off_at_one() -> None:
    """Everyone chooses both: the sum is 2, also of an estimate that was moved to fractions."""
    m = sv.ChooseAll(sv.Options("tools", ["a", "b"], most=2), epsilon=6.0)
    with testing.seeded(1) as source:
        estimate = m.estimate(m.aggregate(m.randomise([["a", "b"]] * 500, source=source)))
    for one in (estimate, estimate.project()):
        both = one.contrast({"a": 1, "b": 1})
        low, high = both.interval(0.999)
        assert low[0] <= 2 <= high[0]
        assert both.unit == ""
        assert one.contrast({"a": 1}).unit == "fraction"
        assert one.contrast({"a": 1, "b": -1}).unit == "points"
