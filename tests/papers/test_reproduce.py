"""The machinery of reproductions, on a small paper of our own."""

import json
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from sottovoce.cli import main
from sottovoce.errors import FileError, ParameterError, WireError
from sottovoce.reproduce import Axis, Data, Figure, Job, MissingDataError, folder_from, papers
from sottovoce.reproduce.compare import below, compare
from sottovoce.reproduce.results import Results, Row, rows_of
from sottovoce.reproduce.run import run

pytestmark = pytest.mark.slow

SMALL = """
from sottovoce.reproduce import Axis, Claim, Figure, Job, Paper, Verdict
from .coins import measure


def judge(results):
    row = results.get("coins", 0.5, "heads")
    return Verdict("holds" if abs(row.value - 0.5) < 0.2 else "does not hold", f"{row.value:.3f}")


PAPER = Paper(
    "small", "Coins", "nobody (2026)",
    (
        Figure(
            "figure-1", "Heads of coins",
            (
                Job("coins", 0.5, {"p": 0.5}, people=100),
                Job("coins", 0.9, {"p": 0.9}, people=100, fast=False),
                Job("real", 0.5, {"p": 0.5}, needs=("car",)),
            ),
            measure, Axis("p"), Axis("fraction of heads"), repeats=40, fast_repeats=10,
            claims=(Claim("Half are heads.", "Sec. 1", judge),),
        ),
    ),
)
"""
COINS = """
import numpy as np


def measure(setting, repeats, seed, data):
    rng = np.random.default_rng(seed)
    with open({log!r}, "a") as log:
        log.write(".")
    return {{"heads": rng.binomial(100, setting["p"], repeats) / 100, "p": setting["p"]}}
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder of papers with one paper; yields the log of measurements."""
    folder = tmp_path / "papers" / "small"
    folder.mkdir(parents=True)
    log = tmp_path / "log"
    log.write_text("")
    (folder / "run.py").write_text(SMALL)
    (folder / "coins.py").write_text(COINS.format(log=str(log)))
    monkeypatch.setattr(papers, "home", lambda: tmp_path / "papers")
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    papers.load.cache_clear()
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if "sottovoce_papers" in name}
    yield log
    for name in [name for name in sys.modules if "sottovoce_papers" in name]:
        del sys.modules[name]
    sys.modules.update(kept)
    papers.load.cache_clear()


def reproduce(*arguments: str, code: int = 0) -> str:
    outcome = CliRunner().invoke(main, ["reproduce", "--workers", "1", *arguments])
    assert outcome.exit_code == code, outcome.output
    return outcome.output


def test_records_then_agrees_and_uses_the_cache(small, tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    out = str(tmp_path / "out")
    monkeypatch.setattr(Data, "lacks", lambda self, names: "")  # the job only names its data set
    reproduce("small", "--out", out, "--record", str(tmp_path / "img"))
    assert small.read_text() == "..."
    assert (tmp_path / "img" / "small-figure-1.png").stat().st_size > 5000
    readme = (tmp_path / "papers" / "small" / "README.md").read_text()
    assert "**holds**" in readme
    assert "40 repeats" in readme
    again = json.loads(reproduce("small", "--out", out, "--json"))["small"][0]
    assert small.read_text() == "..."  # nothing was measured again
    assert again["compared"] == 6
    assert again["differing"] == []
    reproduce("small", "--out", out, "--fast")
    assert small.read_text() == "....."


def test_a_changed_result_is_noticed(small, tmp_path, monkeypatch):
    monkeypatch.setattr(Data, "lacks", lambda self, names: "")
    reproduce("small", "--out", str(tmp_path / "out"), "--record", str(tmp_path / "img"))
    path = tmp_path / "papers" / "small" / "expected.json"
    content = json.loads(path.read_text())
    content["figures"]["figure-1"]["ours"]["rows"][0][3] += 0.05
    path.write_text(json.dumps(content))
    text = reproduce("small", "figure-1", "--out", str(tmp_path / "out"), code=1)
    assert "figure-1 differs: coins, 0.5, heads" in text


def test_changed_code_is_measured_again(small, tmp_path):
    out = str(tmp_path / "out")
    reproduce("small", "--out", out, "--fast")
    papers.load.cache_clear()
    for name in [name for name in sys.modules if "sottovoce_papers" in name]:
        del sys.modules[name]
    coins = tmp_path / "papers" / "small" / "coins.py"
    coins.write_text(coins.read_text() + "\n# changed\n")
    reproduce("small", "--out", out, "--fast")
    assert small.read_text() == ".."


def test_missing_data_is_named(small, tmp_path):
    text = reproduce("small", "--out", str(tmp_path / "out"), "--fast")
    assert "Left out: needs car.csv.gz; name its folder with --data or SOTTOVOCE_DATA" in text
    text = reproduce("small", "--data", str(tmp_path / "none"), code=1)
    assert "is not a folder" in text


def test_unknown_names_are_listed(small):
    assert "there are small" in reproduce("large", code=1)
    assert "there are figure-1" in reproduce("small", "figure-9", code=1)
    assert "Heads of coins" in reproduce("--list")


def test_a_broken_cache_is_computed_again(small, tmp_path):
    out = tmp_path / "out"
    reproduce("small", "--out", str(out), "--fast")
    for path in (out / "cache").iterdir():
        path.write_text("{")
    reproduce("small", "--out", str(out), "--fast")
    assert small.read_text() == ".."


def test_data_must_have_its_checksum(tmp_path):
    (tmp_path / "car.csv.gz").write_bytes(b"something else")
    with pytest.raises(WireError, match="SHA-256"):
        Data(tmp_path)("car")
    with pytest.raises(MissingDataError, match=r"needs adult.csv.gz, which is not in"):
        Data(tmp_path)("adult")
    with pytest.raises(FileError, match="not a folder"):
        folder_from(tmp_path / "nothing")


def test_welch_notices_what_chance_does_not_explain():
    figure = type("F", (), {"timing": False})()
    row = Row("a", 1.0, "s", 1.0, 0.1, 20, None, 1)
    earlier = {"ours": {"rows": [["a", 1.0, "s", 1.3, 0.1, 20, None, 1]]}}
    assert compare(figure, Results([row]), earlier).agrees
    earlier["ours"]["rows"][0][3] = 2.5
    assert not compare(figure, Results([row]), earlier).agrees


def test_rows_have_means_and_errors():
    job = Job("panel", 1.0)
    (row,) = rows_of(job, {"s": [1.0, 3.0]}, 5)
    assert (row.value, row.std_error, row.repeats) == (2.0, 1.0, 2)
    with pytest.raises(ParameterError, match="not finite"):
        rows_of(job, {"s": [1.0, np.nan]}, 5)


def measure_curve(setting, repeats, seed, data):
    return {"curve": {0.5: [1.0] * repeats, "end": 2.0}, "point": 3.0}


def test_a_job_can_measure_a_whole_curve(tmp_path):
    jobs = (Job("panel", "all"),)
    figure = Figure("figure-1", "Curve", jobs, measure_curve, Axis("x"), Axis("y"), 3, 3)
    measured = run("curves", figure, fast=False, data=Data(None), store=tmp_path)
    assert [(row.x, row.series, row.value, row.repeats) for row in measured] == [
        (0.5, "curve", 1.0, 3),
        ("end", "curve", 2.0, 0),
        ("all", "point", 3.0, 0),
    ]
    assert run("curves", figure, fast=False, data=Data(None), store=tmp_path).rows == measured.rows


def test_workers_measure_the_same(tmp_path):
    name = papers.names()[0]
    figure = papers.load(name).figures[0]
    alone = run(name, figure, fast=True, data=Data(None), store=tmp_path / "a")
    together = run(name, figure, fast=True, data=Data(None), store=tmp_path / "b", workers=2)
    assert alone.rows == together.rows


def test_a_single_repeat_decides_nothing():
    """Its standard error is unknown, so that no difference is clear."""
    rows = [
        Row("coins", 0.5, name, value, error, repeats, None, 1)
        for name, value, error, repeats in (
            ("once", 1.0, float("nan"), 1), ("often", 2.0, 0.01, 9), ("exact", 3.0, 0.0, 0)
        )
    ]  # fmt: skip
    once, often, exact = rows
    assert not below(once, often)
    assert not below(once, exact)
    assert below(often, exact)
    assert not below(exact, often)
