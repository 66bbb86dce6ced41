"""Never draw participants' randomness from a non-cryptographic generator, and never let a seed
reach production code.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sottovoce
from sottovoce import GRR, Aggregate, Attribute, Records, Reports, randomness, testing
from sottovoce.contract.reports import ReportWriter, read_batches
from sottovoce.errors import GuaranteeError, SeededError
from sottovoce.mechanisms import REGISTRY
from tests.laws.entries import answers, example

SOURCE = Path(sottovoce.__file__).parent
each = pytest.mark.parametrize("kind", REGISTRY.values(), ids=REGISTRY)


def seeded_reports(mechanism, seed: int = 1) -> Reports:
    with testing.seeded(seed) as source:
        return mechanism.randomise(answers(mechanism, 100), source=source)


@each
def test_seeded_reports_are_marked_and_refused(kind) -> None:
    mechanism = example(kind)
    reports = seeded_reports(mechanism)
    assert reports.seeded
    with pytest.raises(SeededError, match="no privacy"):
        mechanism.aggregate(reports)


@each
def test_a_seeded_aggregate_is_refused(kind) -> None:
    mechanism = example(kind)
    with testing.seeded(1):
        aggregate = mechanism.aggregate(seeded_reports(mechanism))
    assert aggregate.seeded
    with pytest.raises(SeededError):
        mechanism.estimate(aggregate)


@each
def test_a_seeded_estimate_promises_nothing(kind) -> None:
    mechanism = example(kind)
    with testing.seeded(1):
        estimate = mechanism.estimate(mechanism.aggregate(seeded_reports(mechanism)))
    assert estimate.guarantee.promises == ()
    assert "seed" in str(estimate.guarantee)
    with pytest.raises(GuaranteeError):
        _ = estimate.guarantee.epsilon


def test_seeded_estimates_of_records_promise_nothing() -> None:
    records = Records([Attribute("a", 2), Attribute("b", 2)], epsilon_average=4.0)
    table = {"a": [0, 1] * 1000, "b": [0, 0, 1, 1] * 500}
    with testing.seeded(1) as source:
        counts = records.aggregate(records.randomise(table, source=source))
        joint = records.joint(counts, ["a", "b"], method="product")
        estimates = [records.marginal(counts, ["a"]), joint, joint.marginal(["b"]), joint.project()]
    for estimate in estimates:
        assert "seed" in estimate.guarantee.line()
        assert estimate.raw is None or estimate.raw.guarantee == estimate.guarantee


def test_the_mark_survives_slicing_joining_and_storing(tmp_path: Path) -> None:
    mechanism = GRR(4, epsilon=1.0)
    reports, honest = seeded_reports(mechanism), mechanism.randomise([0, 1])
    assert reports[:3].seeded
    assert Reports.concatenate([honest, reports]).seeded
    assert Reports.from_bytes(reports.to_bytes(), expect=mechanism).seeded
    reports.to_parquet(tmp_path / "reports.parquet")
    assert Reports.from_parquet(tmp_path / "reports.parquet", expect=mechanism).seeded
    with ReportWriter(tmp_path / "reports.svr") as writer:
        writer.append(reports)
    assert all(b.seeded for b in read_batches(tmp_path / "reports.svr", expect=mechanism))


def test_one_seeded_batch_marks_the_whole_count() -> None:
    mechanism = GRR(4, epsilon=1.0)
    honest = mechanism.aggregate(mechanism.randomise([0, 1, 2]))
    with testing.seeded(1):
        seeded = mechanism.aggregate(seeded_reports(mechanism))
    for mixed in (honest + seeded, seeded + honest):
        assert mixed.seeded
        assert Aggregate.from_bytes(mixed.to_bytes(), expect=mechanism).seeded
        with pytest.raises(SeededError):
            mechanism.estimate(mixed)


def test_the_door_closes_after_an_error() -> None:
    mechanism = GRR(4, epsilon=1.0)
    reports = seeded_reports(mechanism)
    with pytest.raises(RuntimeError, match="inside"), testing.seeded(1):
        raise RuntimeError("inside")
    with pytest.raises(SeededError):
        mechanism.aggregate(reports)


def test_the_door_is_open_in_one_thread_only() -> None:
    import threading

    mechanism = GRR(4, epsilon=1.0)
    reports = seeded_reports(mechanism)
    refused = []

    def elsewhere() -> None:
        try:
            mechanism.aggregate(reports)
        except SeededError:
            refused.append(True)

    with testing.seeded(1):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert refused == [True]


def test_the_system_source_takes_its_key_from_the_operating_system(monkeypatch) -> None:
    asked = []
    real = os.urandom

    def urandom(size: int) -> bytes:
        asked.append(size)
        return real(size)

    monkeypatch.setattr(os, "urandom", urandom)
    source = randomness.SystemSource()
    source.fill(np.zeros(4, np.uint64))
    assert asked == [16]
    assert not source.seeded


@each
def test_seeding_everything_else_changes_nothing(kind) -> None:
    # Neither Python's nor numpy's generator is what participants draw from.
    import random

    mechanism = example(kind, 0.1, 1000)
    drawn = set()
    for _ in range(3):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002, the very thing to rule out
        drawn.add(mechanism.randomise(answers(mechanism, 500)).to_bytes())
    assert len(drawn) == 3


@each
def test_randomising_touches_no_other_generator(kind, monkeypatch) -> None:
    # Bootstraps of released estimates may use numpy's generators; participants may not.
    import random

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a generator that is not cryptographic was used")

    for name in ("default_rng", "Generator", "RandomState", "random", "randint", "bytes"):
        monkeypatch.setattr(np.random, name, refuse)
    for name in ("Random", "random", "getrandbits", "randrange", "randbytes"):
        monkeypatch.setattr(random, name, refuse)
    mechanism = example(kind, 1.0, 300)
    assert mechanism.aggregate(mechanism.randomise(answers(mechanism, 300))).reports == 300


def imports(path: Path) -> set[str]:
    """Full names of what a module imports, wherever in it."""
    package = ["sottovoce", *path.relative_to(SOURCE).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            full = ".".join([*base, *([node.module] if node.module else [])])
            names |= {full, *(f"{full}.{alias.name}" for alias in node.names)}
    return names


MODULES = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES.keys())
def test_no_module_opens_the_door(path: Path) -> None:
    imported = imports(path)
    assert "random" not in imported
    assert not any(name.startswith("numpy.random") for name in imported)
    if path.name != "testing.py":
        assert not any(name.startswith("sottovoce.testing") for name in imported)
        assert "sottovoce.randomness.allow_seeded" not in imported


def test_the_reading_of_imports_sees_relative_ones() -> None:
    assert "sottovoce.randomness.allow_seeded" in imports(SOURCE / "testing.py")
    assert "sottovoce.mechanisms.categorical.PureMechanism" in imports(
        SOURCE / "mechanisms" / "grr.py"
    )


def test_the_import_contracts_hold() -> None:
    root = SOURCE.parents[1]
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Reproducible randomness has one door KEPT" in done.stdout


def test_ordinary_use_does_not_load_the_door() -> None:
    code = (
        "import sys, sottovoce as sv; sv.ask([0, 1], values=2, epsilon=1.0); sv.Study;"
        "import sottovoce.cli; print('sottovoce.testing' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
