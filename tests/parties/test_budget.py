"""The budget ledger: exact sums, nothing forgotten, nothing overspent, whatever happens."""

from __future__ import annotations

import hashlib
import json
import resource
import signal
import stat
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from sottovoce.errors import FileError, GuaranteeError, ParameterError
from sottovoce.parties.accounts import DELTA_LIMIT, UNSTATED_DELTA
from sottovoce.parties.budget import Ledger, default_path, shown
from sottovoce.parties.machines import Charged
from sottovoce.study.parties import _NEGLIGIBLE
from sottovoce.transport import Batch, Inbox, Machine, Outbox, Role

pytestmark = pytest.mark.fast

TENTH, NOTHING = Fraction(1, 10), Fraction(0)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "private" / "budgets")


def spend(
    ledger: Ledger, session: bytes, epsilon: Fraction = TENTH, *, data: str = "clinic"
) -> Fraction:
    budget = 3 * TENTH
    return ledger.charge(data, epsilon, study=b"s", session=session, budget=budget).left


def test_ten_times_a_tenth_is_exactly_one(ledger: Ledger) -> None:
    for k in range(10):
        ledger.charge("a", TENTH, study=b"s", session=bytes([k]), budget=Fraction(1))
    (account,) = ledger.accounts()
    assert (account.spent, account.left) == (
        Fraction(1),
        NOTHING,
    )  # as floats the sum is .9999999999999999
    with pytest.raises(GuaranteeError, match="0 of its budget of 1 is left"):
        ledger.charge("a", Fraction(1, 10**9), study=b"s", session=b"more", budget=Fraction(1))
    assert len(ledger.accounts()[0].charges) == 10


def test_a_budget_holds_across_studies_and_belongs_to_one_data_set(ledger: Ledger) -> None:
    ledger.charge("clinic", 2 * TENTH, study=b"one", session=b"1", budget=3 * TENTH)
    # Another study cannot raise it; its own, larger budget is for data sets without one.
    with pytest.raises(GuaranteeError, match=r"0\.1 of its budget of 0\.3 is left"):
        ledger.charge("clinic", 2 * TENTH, study=b"two", session=b"2", budget=Fraction(9))
    assert spend(ledger, b"3", data="other clinic") == 2 * TENTH
    assert [account.data for account in ledger.accounts()] == ["clinic", "other clinic"]


def test_the_deltas_of_all_runs_add_up_and_have_a_limit(ledger: Ledger) -> None:
    run = {"study": b"s", "budget": Fraction(9)}
    most = Fraction(1, 10**9)  # where the owner says nothing
    for k in range(3):
        ledger.charge("a", TENTH, session=bytes([k]), delta=most / 3, **run)
    (account,) = ledger.accounts()
    assert (account.delta_spent, account.delta_left, account.delta_limit) == (most, NOTHING, most)
    for ask in (
        lambda: ledger.check("a", TENTH, budget=Fraction(9), delta=most / 10**6),
        lambda: ledger.charge("a", TENTH, session=b"more", delta=most / 10**6, **run),
    ):
        with pytest.raises(GuaranteeError, match=r"δ = 1e-15 .* 0 of the 1e-09 .*--total-delta"):
            ask()
    assert len(ledger.accounts()[0].charges) == 3
    ledger.set_budget("a", delta=2 * most)
    (account,) = ledger.accounts()
    assert (account.budget, account.delta_left) == (Fraction(9), most)
    assert ledger.charge("a", TENTH, session=b"more", delta=most, **run).delta_left == NOTHING
    ledger.set_budget("a", Fraction(5))
    assert ledger.accounts()[0].delta_limit == 2 * most  # setting ε leaves it as it was
    said = ledger.accounts()[0].as_dict()
    assert (said["delta_limit"], said["delta_spent"], said["delta_left"]) == (2e-9, 2e-9, 0.0)
    assert said["charges"][-1]["delta"] == 1e-9


@pytest.mark.parametrize("delta", [0.1, Fraction(-1), Fraction(2)])
def test_a_delta_is_a_fraction_from_0_to_1(ledger: Ledger, delta: Fraction) -> None:
    with pytest.raises(ParameterError, match="fraction from 0 to 1"):
        ledger.charge("a", TENTH, study=b"s", session=b"1", budget=TENTH, delta=delta)
    with pytest.raises(ParameterError, match="fraction from 0 to 1"):
        ledger.set_budget("a", TENTH, delta=delta)
    with pytest.raises(ParameterError, match="has no budget of epsilon yet"):
        ledger.set_budget("a", delta=TENTH)


def test_a_charge_that_states_no_delta_counts_as_the_most_a_study_could_cost(
    ledger: Ledger,
) -> None:
    """Ledgers of earlier versions; what they do not say is not taken for nothing."""
    spend(ledger, b"1")
    _write_as_before(ledger.path)
    (account,) = ledger.accounts()
    assert (account.delta_spent, account.delta_limit) == (UNSTATED_DELTA, DELTA_LIMIT)
    assert float(UNSTATED_DELTA) >= _NEGLIGIBLE
    assert spend(ledger, b"2") == TENTH
    assert spend(ledger, b"1") == TENTH  # a run that began before goes on
    assert ledger.accounts()[0].delta_spent == UNSTATED_DELTA


def _write_as_before(path: Path) -> None:
    """The same ledger without any delta, with checksums that fit."""
    first, *lines = path.read_bytes().splitlines()
    checksum, written = hashlib.sha256(first + b"\n").digest(), [first]
    for line in lines:
        entry = json.loads(line.partition(b" ")[2])
        entry.pop("delta", None)
        text = json.dumps(entry, sort_keys=True).encode()
        checksum = hashlib.sha256(checksum + text).digest()
        written.append(checksum.hex().encode() + b" " + text)
    path.write_bytes(b"\n".join(written) + b"\n")


def test_a_file_has_one_budget_whatever_a_study_calls_its_party(ledger: Ledger) -> None:
    content, run = bytes(range(32)), {"study": b"s", "budget": 3 * TENTH}
    ledger.charge("clinic", TENTH, session=b"1", content=content, **run)
    for ask in (
        lambda: ledger.check("hospital", TENTH, budget=Fraction(1), content=content),
        lambda: ledger.charge("hospital", TENTH, session=b"2", content=content, **run),
    ):
        with pytest.raises(GuaranteeError, match="--dataset clinic"):
            ask()
    assert [account.data for account in ledger.accounts()] == ["clinic"]
    # The same name goes on, other files are other data, and the digest is not there to compare.
    assert ledger.charge("clinic", TENTH, session=b"3", content=content, **run).left == TENTH
    ledger.charge("hospital", TENTH, session=b"4", content=bytes(32), **run)
    text = ledger.path.read_text()
    assert text.count('"kind": "file"') == 2
    assert content.hex() not in text


def test_a_run_that_is_continued_is_charged_once(ledger: Ledger) -> None:
    assert spend(ledger, b"1") == spend(ledger, b"1") == 2 * TENTH
    with pytest.raises(GuaranteeError, match="another study or amount"):
        spend(ledger, b"1", 2 * TENTH)
    with pytest.raises(GuaranteeError, match="another study or amount"):
        ledger.charge("clinic", TENTH, study=b"t", session=b"1", budget=TENTH)


def test_a_refused_charge_leaves_nothing(ledger: Ledger) -> None:
    with pytest.raises(GuaranteeError, match="nothing was sent"):
        spend(ledger, b"1", Fraction(1))
    assert ledger.accounts() == ()
    with pytest.raises(GuaranteeError, match="nothing was sent"):
        ledger.check("clinic", Fraction(1), budget=TENTH)
    assert ledger.check("clinic", TENTH, budget=TENTH).left == TENTH
    assert ledger.accounts() == ()


def test_the_owner_decides_how_much_may_be_spent(ledger: Ledger) -> None:
    ledger.set_budget("clinic", TENTH)
    assert spend(ledger, b"1") == 0  # the owner's budget, not the study's three tenths
    ledger.set_budget("clinic", Fraction(1))
    assert spend(ledger, b"2") == 8 * TENTH
    ledger.set_budget("clinic", TENTH)
    (account,) = ledger.accounts()
    assert (account.spent, account.left) == (2 * TENTH, NOTHING)


def test_only_the_owner_can_read_it(ledger: Ledger) -> None:
    spend(ledger, b"1")
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    ledger.path.chmod(0o640)
    with pytest.raises(FileError, match="chmod 600"):
        ledger.accounts()


def test_receipts_are_kept_beside_their_charge(ledger: Ledger) -> None:
    spend(ledger, b"1")
    with pytest.raises(GuaranteeError, match="was not charged"):
        ledger.keep_receipt("clinic", study=b"s", session=b"2", receipt=b"signed")
    for _ in range(2):
        ledger.keep_receipt("clinic", study=b"s", session=b"1", receipt=b"signed")
    assert ledger.accounts()[0].charges[0].receipt == b"signed".hex()
    with pytest.raises(GuaranteeError, match="two results of one run"):
        ledger.keep_receipt("clinic", study=b"s", session=b"1", receipt=b"other")
    assert ledger.accounts()[0].as_dict()["charges"][0]["exact"] == "1/10"


def test_a_changed_byte_or_a_missing_line_is_noticed(ledger: Ledger) -> None:
    for session in (b"1", b"2"):
        spend(ledger, session)
    content = ledger.path.read_bytes()
    for at in range(0, len(content), 3):
        altered = bytearray(content)
        altered[at] ^= 1
        ledger.path.write_bytes(altered)
        with pytest.raises(FileError, match="cannot be used as a budget ledger"):
            ledger.accounts()
    lines = content.splitlines(keepends=True)
    for gone in range(len(lines) - 1):
        ledger.path.write_bytes(b"".join(lines[:gone] + lines[gone + 1 :]))
        with pytest.raises(FileError, match="cannot be used as a budget ledger"):
            ledger.accounts()
    ledger.path.write_bytes(content)
    assert spend(ledger, b"3") == 0


def test_a_line_cut_off_by_a_crash_is_refused_with_what_to_do(ledger: Ledger) -> None:
    spend(ledger, b"1")
    whole = ledger.path.read_bytes()
    spend(ledger, b"2")
    both = ledger.path.read_bytes()
    for end in range(len(whole) + 1, len(both), 5):
        ledger.path.write_bytes(both[:end])
        with pytest.raises(FileError, match=r"line 4 is incomplete.*Delete that line"):
            spend(ledger, b"3")
    ledger.path.write_bytes(whole)  # what the message says
    assert spend(ledger, b"3") == TENTH


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("room", [0, 20, 100])
def test_a_full_disk_leaves_no_half_of_a_line(ledger: Ledger, before: int, room: int) -> None:
    for _ in range(before):
        spend(ledger, b"1")
    size = ledger.path.stat().st_size if before else 0
    kind, (soft, hard) = resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(kind, (size + room, hard))
    try:
        with pytest.raises(FileError, match="cannot use the budget ledger"):
            spend(ledger, b"2")
    finally:
        resource.setrlimit(kind, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert ledger.path.stat().st_size == size
    assert spend(ledger, b"3") == 2 * TENTH - before * TENTH


def test_runs_at_the_same_time_cannot_overspend(ledger: Ledger) -> None:
    refused: list[str] = []

    def charge(k: int) -> None:
        try:
            ledger.charge("a", TENTH, study=b"s", session=bytes([k]), budget=5 * TENTH)
        except GuaranteeError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=charge, args=(k,)) for k in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (account,) = ledger.accounts()
    assert (len(account.charges), account.left, len(refused)) == (5, NOTHING, 7)


@pytest.mark.parametrize("amount", [0.1, 0, Fraction(0), Fraction(-1)])
def test_amounts_are_fractions_above_0(ledger: Ledger, amount: Fraction) -> None:
    with pytest.raises(ParameterError, match="fraction above 0"):
        spend(ledger, b"1", amount)
    with pytest.raises(ParameterError, match="fraction above 0"):
        ledger.set_budget("clinic", amount)


def test_other_files_and_names_are_refused(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="1 to 200 characters"):
        spend(ledger, b"1", data="")
    ledger.path.write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="does not begin like one"):
        spend(ledger, b"1")
    with pytest.raises(FileError, match="cannot use the budget ledger"):
        Ledger(tmp_path).set_budget("clinic", TENTH)


def test_rounding_never_hides_a_cost_or_invents_a_rest() -> None:
    third = Fraction(1, 3)
    assert (shown(third), shown(third, down=True)) == ("0.333334", "0.333333")
    assert shown(Fraction(0), down=True) == "0"


def test_where_the_ledger_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SOTTOVOCE_BUDGETS", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_path() == tmp_path / "sottovoce" / "budgets"
    monkeypatch.setenv("SOTTOVOCE_BUDGETS", str(tmp_path / "mine"))
    assert default_path() == tmp_path / "mine"


# --- charging in a run ----------------------------------------------------------------------------


class Sender(Machine[int]):
    """Sends one batch of each kind when a round is closed."""

    role, members = Role.PARTY, range(1)

    def start(self) -> int:
        return 0

    def step(self, state: int, inbox: Inbox) -> tuple[int, Outbox]:
        one = np.zeros(1, np.int64)
        to = (Role.PARTY, Role.CURATOR, one, one, {})
        return state + 1, Outbox(tuple(Batch(kind, 1, *to) for kind in ("hello", "masked")))


def test_a_party_is_charged_before_its_masked_vector_leaves() -> None:
    events: list[str] = []
    machine = Charged(Sender(), lambda: events.append("charged"))
    assert (machine.role, machine.members, machine.start()) == (Role.PARTY, range(1), 0)
    state, outbox = machine.step(0, Inbox(closed=0))
    for batch in outbox.batches:
        events.append(batch.kind)
    assert state == 1
    assert events == ["hello", "charged", "masked"]


def test_without_budget_the_masked_vector_never_leaves() -> None:
    def refuse() -> None:
        raise GuaranteeError("nothing left")

    _, outbox = Charged(Sender(), refuse).step(0, Inbox(closed=0))
    sent = iter(outbox.batches)
    assert next(sent).kind == "hello"
    with pytest.raises(GuaranteeError, match="nothing left"):
        next(sent)
    assert not list(sent)
