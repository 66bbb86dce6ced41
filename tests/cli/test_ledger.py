"""The release ledger knows answers, whatever file they are in, and gives nothing away."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import STUDY
from .test_receipts import SAME, receipts

PEOPLE = ["car", "bike", "foot", "car"] * 250
USUAL = ("--study", "study.toml")


def csv(people: list[str], column: str = "commute", end: str = "\n") -> bytes:
    return end.join([column, *people, ""]).encode()


FORMS = {
    "gzipped.csv.gz": lambda: gzip.compress(csv(PEOPLE)),
    "crlf.csv": lambda: csv(PEOPLE, end="\r\n"),
    "bom.csv": lambda: b"\xef\xbb\xbf" + csv(PEOPLE),
    "more.csv": lambda: b"a,commute,b\n" + b"".join(f"1,{p},2\n".encode() for p in PEOPLE),
    "quoted.csv": lambda: csv([f'"{p}"' for p in PEOPLE]),
}


@pytest.mark.parametrize("name", [*FORMS, "table.parquet", "dictionary.parquet"])
def test_the_same_answers_in_another_file(folder, run, randomised, name) -> None:
    randomised()
    if name in FORMS:
        Path(name).write_bytes(FORMS[name]())
    else:
        column = pa.array(PEOPLE)
        column = column.dictionary_encode() if name.startswith("dictionary") else column
        pq.write_table(pa.table({"n": range(1000), "commute": column}), name)
    said = run("randomise", name, *USUAL, "--out", "again.svr").stdout
    assert SAME in " ".join(said.split())
    assert Path("again.svr").read_bytes() == Path("reports.svr").read_bytes()
    assert len(receipts()) == 1


def test_a_column_of_another_name(folder, run, randomised) -> None:
    randomised()
    Path("b.csv").write_bytes(csv(PEOPLE, "mode"))
    said = run("randomise", "b.csv", *USUAL, "--column", "mode", "--out", "again.svr").stdout
    assert SAME in " ".join(said.split())


@pytest.mark.parametrize(
    ("people", "words"),
    [
        ([*PEOPLE, "car", "foot"], "begins with the 1,000 people of "),
        (PEOPLE[:999], "begins with the same 512 people or more as "),
        ([*PEOPLE[:900], "bike", *PEOPLE[901:]], None),
    ],
)
def test_people_added_left_out_or_changed(folder, run, fails, json_of, people, words) -> None:
    run("randomise", "answers.csv", *USUAL, "--out", "reports.svr")
    Path("new.csv").write_bytes(csv(people))
    line = ("randomise", "new.csv", *USUAL, "--out", "new.svr")
    said = fails(*line)
    assert (words or "begins with the same 512 people") in said
    assert "released twice" in said
    assert "--again" in said
    assert not Path("new.svr").exists()
    about = json_of(*line, "--again")
    assert about["releases"] == 2
    assert about["guarantee"]["promises"][0]["epsilon"] == 2.0


def test_other_people_may_answer_alike_by_chance(folder, run, fails, json_of) -> None:
    # One report for two people would show that their answers are equal.
    for name in ("ann.csv", "bob.csv"):
        Path(name).write_bytes(csv(["car"]))
    run("randomise", "ann.csv", *USUAL, "--out", "ann.svr")
    line = ("randomise", "bob.csv", *USUAL, "--out", "bob.svr")
    assert "other people's may be equal by chance" in fails(*line)
    drawn = json_of(*line, "--again")
    assert drawn["fresh"] is True
    assert len(receipts()) == 2
    first = Path("ann.svr").read_bytes()
    Path("ann.svr").unlink()
    run("randomise", "ann.csv", *USUAL, "--out", "ann.svr")
    assert Path("ann.svr").read_bytes() == first, "each file keeps its own reports"


def test_sorted_answers_of_other_people_may_be_equal_by_chance(folder, run, fails) -> None:
    # Then the counts alone must be equal: one answer more would show, were the reports the same.
    answers = ["bike"] * 300 + ["car"] * 400 + ["foot"] * 300
    for name in ("north.csv", "south.csv"):
        Path(name).write_bytes(csv(answers))
    run("randomise", "north.csv", *USUAL, "--out", "north.svr")
    line = ("randomise", "south.csv", *USUAL, "--out", "south.svr")
    assert "other people's may be equal by chance" in fails(*line)
    run(*line, "--again")
    assert Path("north.svr").read_bytes() != Path("south.svr").read_bytes()
    # More people after them are noticed all the same, since nothing is given back then.
    Path("more.csv").write_bytes(csv([*answers, "car"]))
    assert "begins with the" in fails("randomise", "more.csv", *USUAL, "--out", "more.svr")


def test_records_are_known_again(folder, run, fails) -> None:
    Path("r.toml").write_text(
        'format = 1\ntitle = "T"\n[[records]]\nname = "t"\nepsilon_average = 1.0\n'
        '[[records.attribute]]\nname = "a"\nvalues = ["x", "y"]\n'
        '[[records.attribute]]\nname = "b"\nedges = [0, 10, 20]\n'
    )
    rows = [("xy"[k % 7 < 3], k * 7 % 20) for k in range(200)]
    pq.write_table(pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]}), "t.parquet")
    Path("t.csv").write_text("n,b,a\n" + "".join(f"1,{b},{a}\n" for a, b in rows))
    Path("more.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in [*rows, ("x", 1)]))
    line = ("randomise", "t.parquet", "--study", "r.toml", "--out", "1.svr")
    run(*line)
    run(*line[:1], "t.csv", *line[2:-1], "2.svr")
    assert Path("1.svr").read_bytes() == Path("2.svr").read_bytes()
    said = fails(*line[:1], "t.csv", *line[2:-1], "3.svr", "--allocation", "random")
    assert "a second release" in said
    assert "begins with the 200 people" in fails(*line[:1], "more.csv", *line[2:-1], "3.svr")


# --- what it gives away -----------------------------------------------------------------------


def test_nothing_that_is_printed_or_named_depends_on_answers(folder, run) -> None:
    said, names = [], []
    for people in (["car", "bike"], ["foot", "foot"]):
        Path("answers.csv").write_bytes(csv(people))
        home = Path("home")
        line = ("randomise", "answers.csv", *USUAL, "--out", "r.svr", "--receipts", str(home))
        said.append(run(*line).stdout)
        names.append(sorted(str(path) for path in home.rglob("*")))
        for path in home.rglob("*"):
            if path.is_file():
                path.unlink()
        for path in home.glob("*"):
            path.rmdir()
        Path("r.svr").unlink()
    same = [re.sub(r"-[0-9a-f]{16}/", "-RANDOM/", "".join(text.split())) for text in said]
    assert same[0] == same[1]
    assert [len(name) for name in names[0]] == [len(name) for name in names[1]]


def test_few_answers_cannot_be_found_by_trying(folder, run) -> None:
    # An unkeyed digest of one answer would be one of three.
    Path("answers.csv").write_bytes(csv(["car"]))
    run("randomise", "answers.csv", *USUAL, "--out", "r.svr")
    first = receipts()[0].read_text()
    run("randomise", "answers.csv", *USUAL, "--out", "r2.svr", "--receipts", "second")
    second = next(Path("second").glob("*/receipt.json")).read_text()
    public = {json.loads(first)["mechanism_digest"]}
    for text in (first, second):  # the reports themselves may be equal by chance
        public |= set(json.loads(text)["releases"][0]["sha256"].values())
    digests = [set(re.findall("[0-9a-f]{64}", text)) - public for text in (first, second)]
    assert not digests[0] & digests[1], "another key, other digests"
    guesses = {
        hashlib.sha256(text).hexdigest()
        for word in ("car", "bike", "foot")
        for text in (word.encode(), csv([word]), repr(word).encode())
    }
    assert not guesses & digests[0]


def test_a_folder_that_others_can_read_is_made_private(folder, randomised) -> None:
    Path("receipts").mkdir(mode=0o755)
    assert "it is private now" in " ".join(randomised().stdout.split())
    assert stat.S_IMODE(Path("receipts").stat().st_mode) == 0o700
    Path("receipts").chmod(0o750)
    Path("receipts/key").chmod(0o644)
    said = " ".join(randomised().stdout.split())
    assert "its mode was 750" in said
    assert "Others could read the key" in said
    assert stat.S_IMODE(Path("receipts/key").stat().st_mode) == 0o600


def test_a_shared_folder_is_refused(folder, randomised, monkeypatch) -> None:
    Path("shared").mkdir(mode=0o755)
    Path("shared/thesis.txt").write_text("mine")
    said = randomised("--receipts", "shared", code=1).stderr
    assert "others can look into the folder 'shared' (its mode is 755)" in said
    assert stat.S_IMODE(Path("shared").stat().st_mode) == 0o755
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    said = randomised("--receipts", "theirs", code=1).stderr
    assert "belongs to another user" in said


def test_a_lost_or_broken_key_is_not_replaced(folder, randomised) -> None:
    randomised()
    key = Path("receipts/key").read_bytes()
    Path("receipts/key").write_bytes(key[:31])
    assert "is not a key: it has 31 bytes" in randomised(code=1).stderr
    Path("receipts/key").unlink()
    assert "the key of the receipts in" in randomised(code=1).stderr
    assert not Path("receipts/key").exists()
    Path("receipts/key").write_bytes(key)
    assert SAME in " ".join(randomised().stdout.split())


WRONG = {
    "kept elsewhere": lambda about: about["releases"][0].update(kept="../../x"),
    "kept hidden": lambda about: about["releases"][0].update(kept="/etc/passwd"),
    "rows": lambda about: about.update(rows="many"),
    "columns": lambda about: about.update(columns=["commute"]),
    "releases": lambda about: about.update(releases=[3]),
    "inputs": lambda about: about.update(inputs="answers.csv"),
    "counts": lambda about: about["releases"][0].update(counts={"levels": {"a": [1]}}),
    "digest": lambda about: about.update(answers="car"),
    "more": lambda about: about.update(more=1),
    "prefixes": lambda about: about.update(prefixes={"x": "y"}),
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG)
def test_receipts_of_the_wrong_shape(folder, randomised, change) -> None:
    randomised()
    (path,) = receipts()
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))
    Path("x").write_text("precious")
    for again in ((), ("--again",)):
        assert "cannot be read" in randomised(*again, out="other.svr", code=1).stderr
    assert json.loads(path.read_text()) == about
    assert Path("x").read_text() == "precious"


def test_a_deeply_nested_receipt(folder, randomised) -> None:
    randomised()
    (path,) = receipts()
    path.write_text("[" * 100_000)
    assert "cannot be read (too deeply nested)" in randomised(out="other.svr", code=1).stderr


# --- files ------------------------------------------------------------------------------------


def test_changing_the_output_leaves_the_kept_reports(folder, randomised) -> None:
    randomised()
    first = Path("reports.svr").read_bytes()
    with Path("reports.svr").open("r+b") as stream:
        stream.write(b"????")
    randomised("--force")
    assert Path("reports.svr").read_bytes() == first


def test_a_change_with_the_time_put_back_is_noticed(folder, randomised, monkeypatch) -> None:
    from sottovoce.collect.source import Source

    original = Source.batches

    def meddled(*arguments):
        yield from original(*arguments)
        path = Path("answers.csv")
        about = path.stat()
        text = path.read_text()
        path.write_text(text.replace("car", "cab"))
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))

    monkeypatch.setattr(Source, "batches", meddled)
    assert "changed while it was read" in randomised(code=1).stderr
    assert not receipts()


def test_of_many_that_aggregate_at_once_one_wins(folder, randomised) -> None:
    randomised()
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom sottovoce import Study\n"
        "from sottovoce.errors import FileError\n"
        "from sottovoce.contract.reports import read_batches\n"
        "m = Study.load('study.toml').mechanism()\n"
        "counts = sum(m.aggregate(b) for b in read_batches('reports.svr', expect=m))\n"
        "from sottovoce.cli import aggregate\n"
        "def wins():\n"
        "    try: counts.save('counts.sva', replace=False)\n"
        "    except FileError as error: assert 'exists already' in str(error); return 0\n"
        "    return 1\n"
        "import os\n"
        "children = []\n"
        "for _ in range(16):\n"
        "    pid = os.fork()\n"
        "    if not pid:\n"
        "        while not Path('go').exists(): time.sleep(.001)\n"
        "        os._exit(wins())\n"
        "    children.append(pid)\n"
        "Path('go').touch()\n"
        "print(sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "1\n", result.stderr
    assert not list(Path().glob(".sottovoce-*"))


def test_aggregate_itself_does_not_replace(folder, run, randomised, monkeypatch) -> None:
    from sottovoce import Aggregate

    randomised()
    original = Aggregate.save

    def later(self, path, **options):
        Path(path).write_bytes(b"of another process")  # after the check, before the save
        original(self, path, **options)

    monkeypatch.setattr(Aggregate, "save", later)
    line = ("aggregate", "reports.svr", *USUAL, "--out", "c.sva")
    assert "exists already" in run(*line, code=1).stderr
    assert Path("c.sva").read_bytes() == b"of another process"
    run(*line, "--force")


KILLED = """
import os, signal
from sottovoce.files import whole_file
with whole_file("target") as stream:
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_killed_runs_are_removed(folder) -> None:
    from sottovoce.files import whole_file

    subprocess.run([sys.executable, "-c", KILLED])
    assert len(list(Path().glob(".sottovoce-*.part"))) == 1
    Path(".sottovoce-notes.part").write_text("somebody's own")
    with whole_file("one") as one:
        one.write(b"1")
        with whole_file("two") as two:  # the other is at work: its file is no leftover
            two.write(b"2")
        assert len(list(Path().glob(".sottovoce-????????????????.part"))) == 1
    assert [path.name for path in Path().glob(".sottovoce*")] == [".sottovoce-notes.part"]
    assert Path("one").read_bytes() + Path("two").read_bytes() == b"12"


def test_entries_of_killed_runs_are_removed(folder, run, randomised) -> None:
    code = (
        "import os, signal\nfrom sottovoce.cli import main\nfrom sottovoce.collect import ledger\n"
        "ledger.Entry.write = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(['randomise', 'answers.csv', '--study', 'study.toml', '--out', 'reports.svr'])"
    )
    subprocess.run([sys.executable, "-c", code])
    assert len(list(Path("receipts").glob("*/reports-1.svr"))) == 1
    Path("others.csv").write_bytes(csv(PEOPLE[::-1]))
    run("randomise", "others.csv", *USUAL, "--out", "others.svr")
    assert len(receipts()) == 1


def test_another_study_of_the_same_answers_is_noted(folder, run, randomised) -> None:
    randomised()
    Path("study.toml").write_text(STUDY.replace("How we", "Where we"))
    pq.write_table(pa.table({"mode": PEOPLE}), "b.parquet")
    said = run("randomise", "b.parquet", *USUAL, "--column", "mode", "--out", "b.svr").stdout
    assert "randomised under 'How we get to work' too" in " ".join(said.split())
