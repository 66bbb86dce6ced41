"""Study files between parties: everything in them is in the digest, and defects are refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from sottovoce.errors import StudyError, WireError
from sottovoce.parties.receipts import Receipt
from sottovoce.study.parties import PartyStudy
from sottovoce.transport.batch import Role
from sottovoce.transport.keys import KeyPair, Party

pytestmark = pytest.mark.fast

ROWS = """\
format = 1
title = "Three hospitals"

[protocol]
split = "rows"
collusion = 1

[budgets]
A = 0.1
B = 0.5
C = 1

[[attribute]]
name = "smoker"
values = ["yes", "no"]

[[attribute]]
name = "age"
edges = [0, 40, 65, inf]

[[attribute]]
name = "ward"
values = 4

[[marginal]]
attributes = ["smoker", "age"]
fraction = 0.75

[[marginal]]
attributes = ["ward"]
fraction = 0.25

"""
COLUMNS = """\
format = 1

[protocol]
split = "columns"
engine = "dealer"
key = "person_id"

[budgets]
A = 0.1
B = "1/3"

[[attribute]]
name = "smoker"
values = ["yes", "no"]
holder = "A"

[[attribute]]
name = "age"
edges = [0, 40, inf]
holders = ["B", "A"]
holder = "B"

"""

TWICE = '[[marginal]]\nattributes = ["age", "smoker"]\n' * 2


def entry(name: str, role: Role) -> str:
    keys = KeyPair.generate()
    relay = role is Role.CURATOR
    certificate = keys.certificate(name)
    return Party(name, role, keys.public, relay=relay, certificate=certificate).to_toml()


def entries(*parties: str, dealer: bool = False) -> str:
    roles = dict.fromkeys(parties, Role.PARTY) | {"institute": Role.CURATOR}
    roles |= {"randomness": Role.DEALER} if dealer else {}
    return "\n".join(entry(name, role) for name, role in roles.items())


def test_a_study_of_rows_says_who_has_what() -> None:
    study = PartyStudy.from_toml(ROWS)
    assert study.parties == study.protocol.parties == ("A", "B", "C")
    assert study.protocol.name == "horizontal"
    assert [a.name for a in study.attributes_of("B")] == ["smoker", "age", "ward"]
    assert study.budgets["A"] == Fraction(1, 10)  # as it is written, not as a float is stored
    assert [m.fraction for m in study.marginals] == [Fraction(3, 4), Fraction(1, 4)]
    assert study.protocol.fractions == (Fraction(3, 4), Fraction(1, 4))
    assert study.cost_of("A") <= Fraction(1, 10)
    with pytest.raises(StudyError, match="no party 'D' in the study; there are A, B, C"):
        study.attributes_of("D")


def test_a_study_of_columns_says_whose_values_count() -> None:
    study = PartyStudy.from_toml(COLUMNS)
    assert study.protocol.name == "vertical"
    assert study.protocol.dealer
    assert study.key == study.protocol.key == "person_id"
    assert [a.name for a in study.attributes_of("A")] == ["smoker"]
    assert [a.name for a in study.attributes_of("B")] == ["age"]
    assert study.budgets["B"] == Fraction(1, 3)


def test_without_marginals_the_table_of_all_attributes_is_released() -> None:
    study = PartyStudy.from_toml(ROWS.partition("[[marginal]]")[0])
    assert [m.attributes for m in study.marginals] == [("smoker", "age", "ward")]
    assert study.marginals[0].fraction == 1


def test_keys_come_later_and_the_order_is_that_of_the_roster() -> None:
    with pytest.raises(StudyError, match="keygen"):
        _ = PartyStudy.from_toml(ROWS).digest
    study = PartyStudy.from_toml(ROWS + entries("C", "A", "B"))
    assert study.parties == study.protocol.parties == ("C", "A", "B")
    for k, party in enumerate(study.parties):
        assert study.roster.members(party) == range(k, k + 1)
    assert set(study.verify_keys) == {"A", "B", "C", "curator"}


def test_everything_is_in_the_digest() -> None:
    text = ROWS + entries("A", "B", "C")
    changes = [
        ("Three hospitals", "Four hospitals"),
        ("collusion = 1", "collusion = 2"),
        ("A = 0.1", "A = 0.2"),
        ('"no"', '"never"'),
        ("40, 65", "45, 65"),
        ('["smoker", "age"]', '["age", "smoker"]'),
        ("0.75", "0.7"),
        ("collusion = 1", 'collusion = 1\nneighbours = "add-remove"'),
        ("collusion = 1", 'collusion = 1\nmethod = "mh"'),
    ]
    digests = {PartyStudy.from_toml(text).digest}
    for old, new in changes:
        assert old in text
        digests.add(PartyStudy.from_toml(text.replace(old, new)).digest)
    digests.add(PartyStudy.from_toml(ROWS + entries("A", "B", "C")).digest)  # other keys
    assert len(digests) == 2 + len(changes)
    assert PartyStudy.from_toml(text).digest in digests


def test_a_rehearsal_never_mixes_with_a_run() -> None:
    study = PartyStudy.from_toml(ROWS + entries("A", "B", "C"))
    assert study.rehearsed().digest != study.digest
    assert study.rehearsed().rehearsed().digest == study.rehearsed().digest
    assert study.rehearsed().subject == study.subject


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("format = 1", "format = 2", "the format is 2"),
        ("[budgets]", "[budget]", "unknown entries 'budget'"),
        ('split = "rows"', 'split = "both"', 'split = "rows"'),
        ("collusion = 1", 'engine = "dealer"', "unknown entries 'engine'"),
        ("collusion = 1", "collusion = 1.5", "text and whole numbers"),
        ("collusion = 1", "collusion = 3", "collusion is 3"),
        ("collusion = 1", 'collusion = "1"', "collusion is '1'"),
        ("collusion = 1", 'method = "magic"', "no method 'magic'"),
        ("A = 0.1", "A = 0", "the budget of A is 0"),
        ("A = 0.1", 'A = "a lot"', "the budget of A is 'a lot'"),
        ("A = 0.1", "A = nan", "the budget of A is nan"),
        ("A = 0.1", "A = true", "the budget of A is True"),
        ("A = 0.1", "A = 21", "20"),
        ("B = 0.5\nC = 1\n", "", "at least 2"),
        ('values = ["yes", "no"]', "edges = [0, 1]\nvalues = 3", "one of values and edges"),
        ('values = ["yes", "no"]', 'values = ["yes", "no"]\nholder = "A"', "'holder'"),
        ('attributes = ["ward"]', 'attributes = ["wards"]', "no attribute 'wards'"),
        ('attributes = ["ward"]', 'attributes = ["ward", "ward"]', "twice"),
        ("fraction = 0.25", "", "one for every marginal"),
        ("fraction = 0.25", "fraction = 0.5", "sum to 1.25"),
        ('"Three hospitals"', '"Three\\nhospitals"', "one line"),
    ],
)
def test_defects_of_studies_of_rows_are_refused(old: str, new: str, match: str) -> None:
    assert old in ROWS
    with pytest.raises(StudyError, match=match):
        PartyStudy.from_toml(ROWS.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('key = "person_id"', "", "lacks key"),
        ('key = "person_id"', 'key = "age"', "key and an attribute"),
        ('key = "person_id"', 'key = "id"\ndropouts = 1', "unknown entries 'dropouts'"),
        ('holders = ["B", "A"]\nholder = "B"', 'holders = ["B", "A"]', "say whose count"),
        ('holders = ["B", "A"]\nholder = "B"', "", "needs its holder"),
        ('holders = ["B", "A"]\nholder = "B"', 'holders = ["A"]\nholder = "B"', "not among A"),
        ('holders = ["B", "A"]\nholder = "B"', 'holder = "D"', "not in .budgets.: A, B"),
        ('holders = ["B", "A"]\nholder = "B"', 'holder = "A"', "B holds none"),
        ('engine = "dealer"', 'engine = "magic"', "magic"),
        ('engine = "dealer"', "engine = 1", "engine is 1; engines are"),
        ("[budgets]", '[[marginal]]\nattributes = ["age"]\n\n[budgets]', "A holds none"),
        ("[budgets]", f"{TWICE}\n[budgets]", "a study for every table"),
    ],
)
def test_defects_of_studies_of_columns_are_refused(old: str, new: str, match: str) -> None:
    assert old in COLUMNS
    with pytest.raises(StudyError, match=match):
        PartyStudy.from_toml(COLUMNS.replace(old, new, 1))


@pytest.mark.parametrize("number", ['"1e999999999"', '"1e-999999999"', '"1e1_000_000_000"'])
def test_a_short_number_with_billions_of_digits_is_refused_at_once(number: str) -> None:
    for old in ("B = 0.5", "fraction = 0.75"):
        with pytest.raises(StudyError, match="must be a number above 0"):
            PartyStudy.from_toml(ROWS.replace(old, f"{old.partition(' =')[0]} = {number}"))
    spent = {"A": number.strip('"')}
    text = {"study": "", "session": "", "parties": [], "spent": spent, "sums": "", "signature": ""}
    with pytest.raises(WireError, match="malformed"):
        Receipt.from_bytes(json.dumps(text, sort_keys=True).encode())


def test_tables_that_no_message_can_carry_are_refused_before_anyone_is_charged() -> None:
    large = ROWS.replace('values = ["yes", "no"]', "values = 800_000")
    assert PartyStudy.from_toml(large).protocol.blocks(None)[0].cells == 2_400_000
    with pytest.raises(StudyError, match="in one message"):
        PartyStudy.from_toml(large.replace("800_000", "3_000_000"))


def test_the_roster_must_fit_the_study() -> None:
    with pytest.raises(StudyError, match="they must be the same"):
        PartyStudy.from_toml(ROWS + entries("A", "B"))
    with pytest.raises(StudyError, match="this protocol needs 0"):
        PartyStudy.from_toml(ROWS + entries("A", "B", "C", dealer=True))
    with pytest.raises(StudyError, match="this protocol needs 1"):
        PartyStudy.from_toml(COLUMNS + entries("A", "B"))
    assert PartyStudy.from_toml(COLUMNS + entries("A", "B", dealer=True)).roster.certified
    no_certificate = "\n".join(
        line for line in entries("A", "B", "C").splitlines() if "certificate" not in line
    )
    with pytest.raises(StudyError, match="have no certificates"):
        PartyStudy.from_toml(ROWS + no_certificate)
    curator = entry("second", Role.CURATOR).replace("relay = true\n", "")
    with pytest.raises(StudyError, match="curator"):
        PartyStudy.from_toml(ROWS + entries("A", "B", "C") + curator)
