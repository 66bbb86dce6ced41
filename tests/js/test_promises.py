"""The client refuses a contract that breaks its promise, or is not what its digest says."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import sottovoce as sv
from sottovoce import Attribute, Study
from sottovoce.contract.collection import canonical_text
from sottovoce.mechanisms import REGISTRY
from sottovoce.records.allocation import slide
from sottovoce.service.contract_for_clients import describe
from tests.laws.entries import NUMERIC, PURE

from .node import JavaScriptError, ask, run

FOUR = Attribute("q", ["a", "b", "c", "d"])
RANGE = sv.Range("q", 0, 10)
#: Where the threshold stands whose change reveals more, and in which direction.
MORE = {
    "grr": (("keep",), 1),
    "sue": (("true_bit",), 1),
    "oue": (("other_bit",), -1),
    "subset": (("holds",), 1),
    "olh": (("keep",), 1),
    "hadamard": (("inside",), 1),
    "projective": (("inside",), 1),
    "duchi": (("grids", 0, "inside"), 1),
    "piecewise": (("grids", 0, "inside"), 1),
    "hybrid": (("grids", 1, "inside"), 1),
}
TOOLS = sv.Options("q", ["a", "b", "c"], most=2)
#: The same for questions with several options and for texts, by what reports an option or prefix.
MORE |= {
    f"{reporter} {by}": (("by", *MORE[by][0]), MORE[by][1])
    for reporter in ("choose-all", "heavy-hitters")
    for by in PURE
    if by in MORE
}


def test_every_mechanism_is_among_them() -> None:
    assert {*REGISTRY} <= {*MORE, "lip"}  # whose two promises are tested below


def one(identifier: str, **more: Any) -> Study:
    if identifier.startswith("heavy-hitters"):
        by = identifier.removeprefix("heavy-hitters ")
        return Study("T", (sv.HeavyHitters("ab", 2, 1.0, mechanism=by, name="q"),))
    if identifier.startswith("choose-all"):
        by = identifier.removeprefix("choose-all ")
        return Study("T", (sv.ChooseAll(TOOLS, epsilon=1.0, by=by),))
    kind = REGISTRY[identifier]
    return Study("T", (kind(RANGE if identifier in NUMERIC else FOUR, epsilon=1.0, **more),))


def changed(study: Study, change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    contract = copy.deepcopy(describe(study))
    change(contract)
    return contract


def mechanism_of(contract: dict[str, Any]) -> dict[str, Any]:
    return contract["collections"][0]["levels"][0]["mechanism"]


def moved(path: tuple[Any, ...], by: int) -> Callable[[dict[str, Any]], None]:
    def change(contract: dict[str, Any]) -> None:
        place = mechanism_of(contract)
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = f"{int(place[path[-1]], 16) + by:032x}"

    return change


def refusal(contract: dict[str, Any], **options: Any) -> str:
    with pytest.raises(JavaScriptError, match=r"^ContractError") as caught:
        ask("study", contract=contract, **options)
    return str(caught.value)


@pytest.mark.parametrize("identifier", MORE)
def test_one_unit_of_a_threshold_beyond_epsilon_is_refused(identifier: str) -> None:
    path, direction = MORE[identifier]
    study = one(identifier)
    # Rounding and slack leave a few units of room; find the last that keeps the promise.
    steps = [0, *(1 << k for k in range(12))]
    requests = [
        {"command": "study", "contract": changed(study, moved(path, direction * by))}
        for by in steps
    ]
    verdicts = ["ok" in answer for answer in run(requests)]
    assert verdicts[0]
    assert not verdicts[-1]
    assert verdicts == sorted(verdicts, reverse=True)
    assert "epsilon = 1," in refusal(changed(study, moved(path, direction * steps[-1])))


def test_the_last_threshold_that_keeps_the_promise_is_known_exactly() -> None:
    """For randomised response: keep / (1 - keep) * 3 against e, in exact fractions."""
    from mpmath import floor, mp, mpf

    with mp.workdps(120):
        last = int(floor(mp.e / (mp.e + 3) * mpf(2) ** 128))
    study = one("grr")

    def keep(value: int) -> Callable[[dict[str, Any]], None]:
        return lambda c: mechanism_of(c).update(keep=f"{value:032x}")

    assert ask("study", contract=changed(study, keep(last))) == study.digest.hex()
    refusal(changed(study, keep(last + 1)))


def test_an_understated_epsilon_is_refused() -> None:
    def less(contract: dict[str, Any]) -> None:
        contract["collections"][0]["levels"][0]["promises"][0]["epsilon"] = "1/2"

    for identifier in MORE:
        assert "promises epsilon = 0.5" in refusal(changed(one(identifier), less))


def test_an_overstated_epsilon_is_refused() -> None:
    def more(contract: dict[str, Any]) -> None:
        contract["collections"][0]["levels"][0]["promises"][0]["epsilon"] = "2"

    assert "digest covers" in refusal(changed(one("grr"), more))


@pytest.mark.parametrize(
    "more",
    [
        {"prior": [0.1, 0.2, 0.3, 0.4]},
        {"prior_low": [0.1, 0.1, 0.1, 0.1], "prior_high": [0.4, 0.5, 0.6, 0.3]},
        {"prior": [0.1, 0.2, 0.3, 0.4], "variant": "mmse-optimal"},
    ],
    ids=["prior", "bounds", "table"],
)
def test_a_promise_under_a_prior_is_checked_as_well(more: dict[str, Any]) -> None:
    study = one("lip", **more)
    assert ask("study", contract=describe(study)) == study.digest.hex()

    def understate(index: int) -> Callable[[dict[str, Any]], None]:
        def change(contract: dict[str, Any]) -> None:
            promise = contract["collections"][0]["levels"][0]["promises"][index]
            promise["epsilon"] = str(Fraction(promise["epsilon"]) * Fraction(99, 100))

        return change

    assert "under the stated prior" in refusal(changed(study, understate(0)))
    assert "under the stated prior" not in refusal(changed(study, understate(1)))

    def without(contract: dict[str, Any]) -> None:
        del contract["collections"][0]["levels"][0]["promises"][1]

    assert "promises nothing" in refusal(changed(study, without))


@pytest.mark.parametrize(
    "more",
    [
        {"prior": [0.1, 0.2, 0.3, 0.4]},
        {"prior": [0.1, 0.2, 0.3, 0.4], "variant": "opt-ldp"},
        {"prior": [0.1, 0.2, 0.3, 0.4], "variant": "mmse-optimal"},
        {"prior": [0.1, 0.2, 0.3, 0.4], "variant": "jiang-theorem2"},
        {"prior_low": [0.1, 0.1, 0.1, 0.1], "prior_high": [0.4, 0.5, 0.6, 0.3]},
        {},
    ],
    ids=["prior", "local", "table", "published", "bounds", "free"],
)
def test_a_channel_and_promises_of_a_larger_epsilon_are_refused(more: dict[str, Any]) -> None:
    """Probabilities that keep what is stated beside them, but not the epsilon of the study."""

    def study(epsilon: float) -> Study:
        return Study("T", (sv.LIP(FOUR, epsilon=epsilon, **more),))

    (level,) = describe(study(0.51))["collections"][0]["levels"]

    def weaker(contract: dict[str, Any]) -> None:
        contract["collections"][0]["levels"] = [level]

    assert ask("study", contract=describe(study(0.5))) == study(0.5).digest.hex()
    assert "digest covers" in refusal(changed(study(0.5), weaker))


@pytest.mark.parametrize(
    "more",
    [
        {"protects": "record", "epsilon": "1/100"},
        {"protects": "answer", "epsilon": "1/100"},
        {"protects": "study", "epsilon": "1/100"},
        {"protects": "answer", "notion": "dp"},
    ],
)
def test_a_second_smaller_promise_of_records_is_refused(more: dict[str, str]) -> None:
    study = Study("T", (sv.Records([FOUR, Attribute("r", 2)], epsilon_average=1.0),))

    def added(contract: dict[str, Any]) -> None:
        promises = contract["collections"][0]["levels"][0]["promises"]
        promises.append({**promises[0], **more})

    assert ask("study", contract=describe(study)) == study.digest.hex()
    refusal(changed(study, added))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: mechanism_of(c)["by"].update(id="grr", keep="f" * 32),
        lambda c: mechanism_of(c)["by"].update(id="choose-all"),
        lambda c: mechanism_of(c).update(by=None),
        lambda c: mechanism_of(c).update(mechanism_of(c)["by"]),
        lambda c: c.update(canonical=c["canonical"].replace('"most":2', '"most":1')),
    ],
)
def test_options_that_are_not_what_the_digest_covers_are_refused(change: Any) -> None:
    refusal(changed(one("choose-all oue"), change))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: mechanism_of(c)["by"].update(id="grr", keep="f" * 32),
        lambda c: mechanism_of(c)["by"].update(word_bits=40),
        lambda c: mechanism_of(c)["by"].update(bucket_bits=11),
        lambda c: mechanism_of(c).update(by=None),
        lambda c: mechanism_of(c).update(mechanism_of(c)["by"]),
        lambda c: c["collections"][0].update(id="olh"),
        lambda c: c.update(canonical=c["canonical"].replace('"length":2', '"length":1')),
    ],
)
def test_texts_that_are_not_what_the_digest_covers_are_refused(change: Any) -> None:
    refusal(changed(one("heavy-hitters olh"), change))


def test_more_outputs_than_can_be_drawn_uniformly_are_refused() -> None:
    """By the ratio alone 2^43 outputs keep the promise; 32 random bits would not reach them."""
    inside = int(2**128 / (2**12 / 2.7 + 1))

    def change(contract: dict[str, Any]) -> None:
        mechanism_of(contract).update(blocks=2**11, block_size=2**32, inside=f"{inside:032x}")

    assert "more reports than can be drawn" in refusal(changed(one("hadamard"), change))


def test_more_values_than_a_question_may_have_are_refused() -> None:
    study = Study("T", (sv.GRR(Attribute("q", 4), epsilon=1.0),))

    def change(contract: dict[str, Any]) -> None:
        canonical = contract["canonical"].replace('"values":4', f'"values":{2**33}')
        assert canonical != contract["canonical"]
        digest = hashlib.sha256(b"sottovoce study v1\n" + canonical.encode()).hexdigest()
        binding = canonical_text({"question": "q", "study": digest})
        question = hashlib.sha256(b"sottovoce question v1\n" + binding.encode()).hexdigest()
        contract.update(canonical=canonical, digest=digest)
        contract["collections"][0].update(digest=question)
        mechanism_of(contract).update(keep=f"{2**128 // 2**33:032x}")

    assert "has not 2 to 2147483648 values" in refusal(changed(study, change))


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ([4, 4, 4, 3, 1], "the rows of the channel are not over the same reports"),
        ([4, 4, 4, 3], "the probabilities of a row do not add up to 1"),
    ],
)
def test_a_channel_in_which_one_answer_alone_has_other_reports_is_refused(
    cells: list[int], why: str
) -> None:
    study = one("lip", prior=[0.1, 0.2, 0.3, 0.4], variant="mmse-optimal")

    def change(contract: dict[str, Any]) -> None:
        rows = [[4, 4, 4, 4], [4, 4, 4, 4], cells, [4, 4, 4, 4]]
        mechanism_of(contract)["rows"] = [[f"{c << 124:032x}" for c in row] for row in rows]

    assert why in refusal(changed(study, change))


def test_more_options_than_the_bound_are_never_drawn() -> None:
    answers = {"q": [["a", "b", "c"], {}]}
    with pytest.raises(JavaScriptError, match=r"AnswerError: 3 options .* at most 2"):
        ask("study", contract=describe(one("choose-all oue")), answers=answers)


LEVELS = sv.Records([FOUR, Attribute("v", 2)], levels={"s": 0.5, "w": 2.0}, rate=0.5)


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    "change",
    [
        lambda level: level["promises"][0].update(epsilon="1/2"),
        lambda level: level["promises"][1].update(epsilon="1"),
        lambda level: level["promises"].pop(0),
        lambda level: level["promises"].pop(1),
        lambda level: level.update(name="other"),
        lambda level: level.update(rates=["0.25"], coins=["4" + "0" * 31]),
        lambda level: level.update(coins=["4" + "0" * 31]),
        lambda level: level.update(rates=["1.0"], coins=[None]),
    ],
)
def test_levels_of_records_are_checked_one_by_one(change: Any, at: int) -> None:
    study = Study("T", (LEVELS,))
    assert ask("study", contract=describe(study)) == study.digest.hex()
    refusal(changed(study, lambda c: change(c["collections"][0]["levels"][at])))


def test_levels_of_records_that_are_exchanged_are_refused() -> None:
    study = Study("T", (LEVELS,))

    def exchange(contract: dict[str, Any]) -> None:
        first, second = contract["collections"][0]["levels"]
        first["promises"], second["promises"] = second["promises"], first["promises"]

    refusal(changed(study, exchange))
    refusal(changed(study, lambda c: c["collections"][0]["levels"].reverse()))


def test_records_with_other_thresholds_are_refused() -> None:
    study = Study("T", (sv.Records([FOUR, Attribute("v", 2)], epsilon_average=2.0),))
    assert ask("study", contract=describe(study)) == study.digest.hex()

    def factor(contract: dict[str, Any]) -> None:
        about = mechanism_of(contract)
        about["factor"] = f"{int(about['factor'], 16) + int(about['scale'], 16) // 10**20:x}"

    def total(contract: dict[str, Any]) -> None:
        contract["collections"][0]["levels"][0]["promises"][0]["epsilon"] = "3"

    for change in (factor, total):
        refusal(changed(study, change))


def test_records_whose_total_is_rounded_as_a_float_are_accepted() -> None:
    schema = [Attribute(f"a{k}", 2) for k in range(3)]
    for average in (0.7, 0.1, 1 / 3, 1.1):
        study = Study("T", (sv.Records(schema, epsilon_average=average),))
        answers = {"records": [[0, 1, 0], {}]}
        assert ask("study", contract=describe(study), answers=answers)


def test_a_wrong_digest_is_refused() -> None:
    study = one("grr")
    contract = describe(study)
    refusal({**contract, "digest": "00" * 32})
    refusal(contract, digest="00" * 32)
    refusal({**contract, "canonical": contract["canonical"].replace('"T"', '"U"')})
    refusal({**contract, "format": 2})


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["collections"][0].update(digest="00" * 32),
        lambda c: c["collections"][0].update(name="other"),
        lambda c: c["collections"][0].update(id="oue"),
        lambda c: c["collections"].append(c["collections"][0]),
        lambda c: c["collections"][0]["levels"].append(c["collections"][0]["levels"][0]),
        lambda c: c["collections"][0]["levels"][0].update(name="secret"),
        lambda c: c["collections"][0]["levels"][0].update(rates=["0.5"], coins=["8" + "0" * 31]),
        lambda c: mechanism_of(c).update(id="oue"),
        lambda c: mechanism_of(c).update(id="constructor"),
        lambda c: mechanism_of(c).update(keep="0" * 32),
        lambda c: mechanism_of(c).update(keep="f"),
        lambda c: c["collections"][0]["layout"].append(["value", "f8", 0]),
    ],
)
def test_a_contract_that_is_not_what_the_digest_covers_is_refused(change: Any) -> None:
    refusal(changed(one("grr"), change))


def test_bounds_of_exponentials_are_never_wrong() -> None:
    from mpmath import exp, floor, mp, mpf

    requests, wanted = [], []
    with mp.workdps(400):
        for epsilon in (Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(20)):
            power = exp(mpf(epsilon.numerator) / epsilon.denominator)
            for digits in (10, 50, 200):
                scaled = int(floor(power * mpf(10) ** digits))
                for number, verdict in ((scaled, True), (scaled + 1, False)):
                    ratio = f"{number}/{10**digits}"
                    requests.append({"command": "below", "epsilon": str(epsilon), "ratio": ratio})
                    wanted.append(verdict)
    assert [answer["ok"] for answer in run(requests)] == wanted
    assert ask("below", epsilon="0", ratio="1") is True
    assert ask("below", epsilon="0", ratio="2/1") is False


def test_sliders_move_as_in_python() -> None:
    rows = [
        ([2.0, 2.0, 2.0], 0, 4.0, 0.0),
        ([2.0, 1.0, 3.0], 1, 0.5, 0.5),
        ([10.0, 10.0, 19.0], 2, 5.0, 0.0),
    ]
    for row, which, value, floor in rows:
        moved_row = ask("slide", allocation=row, which=which, value=value, floor=floor)
        assert moved_row == pytest.approx(slide(row, which, value, floor=floor).tolist())
