"""Studies with levels and rates: TOML there and back, and what they promise."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce import (
    GRR,
    OLH,
    OUE,
    Attribute,
    Duchi,
    Levels,
    Piecewise,
    Range,
    Reports,
    Sampled,
    Study,
)
from sottovoce.errors import DigestError, StudyError
from sottovoce.mechanisms import REGISTRY
from sottovoce.promise import Protected, Unit
from tests.laws.entries import CATEGORICAL

MODE = Attribute("commute", ["car", "bike"], missing="value")
MENU = {"strong": 0.5, "normal": 2.0}
NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)
EPSILON = st.floats(min_value=1e-6, max_value=20)
RATE = st.one_of(st.floats(1e-9, 1.0), st.just(0.0))


@st.composite
def plain(draw: st.DrawFn) -> GRR | OUE | OLH:
    return draw(st.sampled_from([GRR, OUE, OLH]))(MODE, epsilon=draw(EPSILON))


@st.composite
def rates(draw: st.DrawFn) -> list[float]:
    rates = draw(st.lists(RATE, min_size=1, max_size=4, unique=True))
    return rates if max(rates) > 0 else [*rates, 0.5]


@st.composite
def questions(draw: st.DrawFn) -> Levels | Sampled:
    """Every shape that wrappers can be nested in."""
    shape = draw(st.sampled_from(["sampled", "levels", "mixed", "sampled levels", "of sampled"]))
    if shape == "sampled":
        return Sampled(draw(plain()), rate=draw(rates()))
    names = draw(st.lists(NAME, min_size=1, max_size=4, unique=True))
    if shape == "mixed":
        return Levels({name: draw(plain()) for name in names})
    if shape == "of sampled":
        menu = {name: Sampled(draw(plain()), rate=draw(rates())) for name in names}
        return Levels({**menu, "everyone reports": draw(plain())})
    menu = Levels.of(draw(st.sampled_from([GRR, OLH])), MODE, {n: draw(EPSILON) for n in names})
    return menu if shape == "levels" else Sampled(menu, rate=draw(rates()))


@given(questions())
def test_toml_there_and_back(question: Levels | Sampled) -> None:
    study = Study("t", (question,))
    text = study.to_toml()
    back = Study.from_toml(text)
    assert back == study
    assert back.digest == study.digest
    assert back.to_toml() == text
    assert back.mechanism().layout == study.mechanism().layout


def test_files_are_as_short_as_people_would_write_them() -> None:
    study = Study("t", (Sampled(Levels.of(OUE, MODE, MENU), rate=[0.05, 0.5]),))
    (question,) = tomllib.loads(study.to_toml())["question"]
    assert question["mechanism"] == "oue"
    assert question["levels"] == MENU
    assert question["rate"] == [0.05, 0.5]
    assert "levels = {strong = 0.5, normal = 2.0}\n" in study.to_toml()
    one = Study("t", (Sampled(GRR(MODE, epsilon=1.0), rate=0.1),))
    assert "\nepsilon = 1.0\nrate = 0.1\n" in one.to_toml()


def test_extras_are_kept_for_every_level() -> None:
    number = Range("q", 0, 1)
    common = Study("t", (Levels.of(Piecewise, number, MENU, steps=64),))
    assert "steps = 64\nlevels = {strong = 0.5," in common.to_toml()
    assert Study.from_toml(common.to_toml()) == common
    own = {"a": Piecewise(number, epsilon=1.0, steps=64), "b": Duchi(number, epsilon=1.0)}
    mixed = Study("t", (Levels(own),))
    assert Study.from_toml(mixed.to_toml()) == mixed


def test_a_mechanism_that_files_cannot_name_stays_in_memory() -> None:
    class Mine(GRR):
        id = "mine"

    study = Study("t", (Levels({"a": Mine(MODE, epsilon=1.0), "b": GRR(MODE, epsilon=2.0)}),))
    assert len(study.digest) == 32
    with pytest.raises(StudyError, match="Mine is not among the mechanisms"):
        study.to_toml()


@pytest.mark.parametrize("kind", CATEGORICAL.values(), ids=CATEGORICAL)
def test_every_kind_counts_its_levels_apart(kind) -> None:
    """Subsets of one epsilon are larger than of another, and still one report each."""
    menu = Study("t", (Levels.of(kind, Attribute("q", 9), {"a": 0.25, "b": 1.0, "c": 4.0}),))
    mechanism = menu.mechanism()
    counts = mechanism.aggregate(mechanism.randomise([0] * 600, level=["a", "b", "b"] * 200))
    assert (counts.people, counts.reports) == (600, 600)
    asked, reported = mechanism.turnout(counts)
    assert asked.tolist() == reported.tolist() == [200, 400, 0]


def test_the_wrappers_are_no_registered_mechanisms() -> None:
    assert not {"levels", "sampled", "participation"} & set(REGISTRY)


HEAD = 'format = 1\ntitle = "t"\n[[question]]\nname = "q"\nvalues = 3\n'
LEVELS = HEAD + 'mechanism = "grr"\nlevels = {strong = 0.5, normal = 2}\n'
BASE = LEVELS + "rate = [0.05, 0.5]\n"

SAME = {
    "a table of its own": LEVELS.replace(
        "levels = {strong = 0.5, normal = 2}", "[question.levels]\nstrong = 0.5\nnormal = 2.0"
    ),
    "levels as tables": LEVELS.replace("strong = 0.5", "strong = {epsilon = 0.5}"),
    "with mechanisms": LEVELS.replace("= 0.5", '= {mechanism = "grr", epsilon = 0.5}'),
    "quoted": LEVELS.replace("strong", '"strong"'),
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_spelling_the_same_menu_otherwise(text: str) -> None:
    assert Study.from_toml(text) == Study.from_toml(LEVELS)


def test_a_list_of_one_rate_is_one_rate() -> None:
    one, listed = (Study.from_toml(LEVELS + f"rate = {text}\n") for text in ("0.1", "[0.1]"))
    assert one.digest == listed.digest


CHANGES = [
    ("strong = 0.5", "strong = 0.25"),
    ("strong", "Strong"),
    ("{strong = 0.5, normal = 2}", "{normal = 2, strong = 0.5}"),
    ("{strong = 0.5, normal = 2}", "{strong = 0.5}"),
    ("normal = 2", "normal = {epsilon = 2, mechanism = 'oue'}"),
    ("[0.05, 0.5]", "[0.05, 0.25]"),
    ("[0.05, 0.5]", "[0.5, 0.05]"),
    ("[0.05, 0.5]", "0.05"),
    ("rate = [0.05, 0.5]\n", ""),
    ("levels = {strong = 0.5, normal = 2}", "epsilon = 0.5"),
]


@pytest.mark.parametrize(("old", "new"), CHANGES, ids=[new for _, new in CHANGES])
def test_every_change_is_another_study(old: str, new: str) -> None:
    assert old in BASE
    base, other = Study.from_toml(BASE), Study.from_toml(BASE.replace(old, new))
    assert base.digest != other.digest
    assert base.mechanism().digest != other.mechanism().digest


PLAIN = HEAD + 'mechanism = "grr"\nepsilon = 1.0\n'
BAD = {
    "both": (LEVELS + "epsilon = 1.0", r"question 1 \('q'\) has both epsilon and levels"),
    "neither": (HEAD + 'mechanism = "grr"', r"lacks epsilon \(or levels\)"),
    "no levels": (LEVELS.replace("{strong = 0.5, normal = 2}", "{}"), "levels is {}"),
    "levels as list": (LEVELS.replace("{strong = 0.5, normal = 2}", "[0.5, 2]"), "levels is"),
    "levels as number": (LEVELS.replace("{strong = 0.5, normal = 2}", "2"), "strong = 0.5"),
    "a level as text": (LEVELS.replace("0.5", '"much"'), "level 'strong': epsilon is 'much'"),
    "a level of 0": (LEVELS.replace("0.5", "0"), "level 'strong': epsilon is 0"),
    "a level of 21": (LEVELS.replace("= 2}", "= 21}"), "level 'normal': epsilon is 21"),
    "a level of nan": (LEVELS.replace("0.5", "nan"), "level 'strong': epsilon is nan"),
    "a level of true": (LEVELS.replace("0.5", "true"), "level 'strong': epsilon is True"),
    "an empty level": (LEVELS.replace("0.5", "{}"), "level 'strong' lacks epsilon"),
    "a nameless level": (LEVELS.replace("strong", '" "'), "cannot name a level"),
    "a level with values": (LEVELS.replace("0.5", "{epsilon = 1, values = 2}"), "'values'"),
    "levels within levels": (LEVELS.replace("0.5", "{epsilon = 1, levels = {a = 1}}"), "'levels'"),
    "unknown mechanism": (
        LEVELS.replace("0.5", '{epsilon = 1, mechanism = "xyz"}'),
        "level 'strong': there is no mechanism 'xyz'",
    ),
    "mechanism as number": (LEVELS.replace("0.5", "{epsilon = 1, mechanism = 3}"), "be a name"),
    "no mechanism": (LEVELS.replace('mechanism = "grr"\n', ""), "lacks mechanism"),
    "extras of another": (LEVELS + "steps = 4\n", "'steps'"),
    "rate 0": (PLAIN + "rate = 0", "nobody would ever report"),
    "rate above 1": (PLAIN + "rate = 1.5", "rate is 1.5"),
    "rate below 0": (PLAIN + "rate = -0.1", "rate is -0.1"),
    "rate nan": (PLAIN + "rate = nan", "rate is nan"),
    "rate as text": (PLAIN + 'rate = "0.1"', "rate is '0.1'"),
    "rate true": (PLAIN + "rate = true", "rate is True"),
    "rates of text": (PLAIN + 'rate = ["0.1", "0.5"]', r"such as rate = \[0.05, 0.1, 0.5\]"),
    "rates of true": (PLAIN + "rate = [true]", r"rate is \[True\]"),
    "no rates": (PLAIN + "rate = []", r"rate is \[\]"),
    "rates twice": (PLAIN + "rate = [0.1, 0.1]", "1 of them different"),
    "rates by answer": (PLAIN + "rate = {yes = 0.9, no = 0.1}", "depend on people's own answers"),
    "rates by level": (LEVELS + "rate = {strong = 0.9}", "written into the level"),
    "sampled twice": (
        LEVELS.replace("0.5", "{epsilon = 1, rate = 0.5}") + "rate = 0.5",
        "sampled already",
    ),
}


@pytest.mark.parametrize(("text", "says"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_a_contract_is_refused(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=f"(?s){says}"):
        Study.from_toml(text)
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=r"s\.toml"):
        Study.load(tmp_path / "s.toml")


def test_reports_belong_to_their_study_and_question() -> None:
    twins = Study("t", tuple(Levels.of(GRR, Attribute(n, 3), MENU) for n in ("before", "after")))
    before, after = twins
    reports = before.randomise([0, 1, 2], level="strong")
    assert len(Reports.from_bytes(reports.to_bytes(), expect=twins)) == 3
    with pytest.raises(DigestError):
        after.aggregate(reports)
    with pytest.raises(DigestError):
        twins.unbound[0].aggregate(reports)


# --- what is promised ---------------------------------------------------------------------------

AGE = Attribute("age", 3)


def test_one_question_promises_what_its_menu_does() -> None:
    menu = Levels.of(GRR, MODE, MENU)
    study = Study("t", (menu,))
    assert study.guarantee == menu.guarantee
    assert study.levels == ("strong", "normal")


def test_the_same_levels_everywhere_are_composed_level_by_level() -> None:
    turned = {"normal": 1.0, "strong": 0.25}
    study = Study("t", (Levels.of(GRR, MODE, MENU), Sampled(Levels.of(OUE, AGE, turned), rate=0.1)))
    strong, normal = study.guarantee.promises
    assert study.levels == ("strong", "normal")
    assert (strong.epsilon, normal.epsilon) == (0.75, 3.0)
    assert strong.unit == Unit(Protected.STUDY, level="strong")
    assert "chose the level 'strong' wherever levels" in " ".join(strong.words().split())
    assert any("public rate" in words for words in strong.assuming)
    assert any("which level someone chose is public" in words for words in strong.assuming)


def test_questions_without_levels_count_for_everyone() -> None:
    study = Study("t", (Levels.of(GRR, MODE, MENU), GRR(AGE, epsilon=1.0)))
    strong, normal = study.guarantee.promises
    assert (strong.epsilon, normal.epsilon) == (1.5, 3.0)
    assert strong.unit == Unit(Protected.STUDY, level="strong")


def test_different_menus_have_one_promise_that_always_holds() -> None:
    other = Levels.of(GRR, AGE, {"strong": 0.5, "weak": 4.0})
    study = Study("t", (Levels.of(GRR, MODE, MENU), other, GRR(Attribute("z", 2), epsilon=1.0)))
    assert study.levels == ()
    assert study.guarantee.epsilon == 7.0
    assert study.guarantee.promises[0].unit == Unit(Protected.STUDY)
    assert "whatever levels they chose" in " ".join(str(study.guarantee).split())


def test_rates_change_no_promise() -> None:
    study = Study("t", (Sampled(GRR(MODE, epsilon=1.0), rate=0.01), GRR(AGE, epsilon=0.5)))
    assert study.guarantee.epsilon == 1.5
    assert study.levels == ()


def test_what_can_be_chosen() -> None:
    grr = GRR(MODE, epsilon=1.0)
    both = Sampled(Levels.of(GRR, MODE, MENU), rate=[0.1, 0.5])
    within = Levels({"a": Sampled(grr, rate=0.3), "b": grr, "c": Sampled(grr, rate=0.6)})
    assert both.level_names == ("strong", "normal")
    assert both.menu["strong"] == GRR(MODE, epsilon=0.5)
    assert (grr.level_names, grr.menu, grr.rates, grr.sampled) == ((), {}, (1.0,), False)
    assert (both.rates, within.rates) == ((0.1, 0.5), (0.3, 1.0, 0.6))
    assert [(way.level, way.rate) for way in within.ways()] == [("a", 0.3), ("b", 1.0), ("c", 0.6)]
    assert both.guarantee_at().epsilon == 2.0
    assert both.guarantee_at("strong").epsilon == 0.5
    assert grr.guarantee_at() == grr.guarantee == grr.guarantee_at("any")
