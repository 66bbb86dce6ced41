"""The other libraries; `make peers` has them, the main environment does not."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import pytest


def library(name: str, *modules: str) -> SimpleNamespace:
    """The last parts of some modules' names, imported; skips where the library is missing."""
    reason = f"{name} is not installed here; `make peers` runs this test"
    with warnings.catch_warnings():
        # What a library of the year 2022 says of today's Python and numpy while being imported.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        by_name = {
            module.rsplit(".", 1)[-1]: pytest.importorskip(module, reason=reason)
            for module in modules
        }
    return SimpleNamespace(**by_name)


@pytest.fixture(scope="session")
def pure():
    return library("pure-ldp", "pure_ldp.frequency_oracles").frequency_oracles


@pytest.fixture(scope="session")
def multi():
    oracles = "multi_freq_ldpy.pure_frequency_oracles"
    names = [f"{oracles}.{name}" for name in ("GRR", "UE", "SS", "LH", "Variance_PURE")]
    return library("multi-freq-ldpy", *names)


@pytest.fixture(scope="session")
def opendp():
    prelude = library("opendp", "opendp.prelude").prelude
    prelude.enable_features("contrib")
    return prelude


@pytest.fixture(scope="session")
def diffprivlib():
    return library("diffprivlib", "diffprivlib.mechanisms").mechanisms


@pytest.fixture(scope="session")
def google():
    """Google's accounting: privacy loss distributions, by their names."""
    pld = "dp_accounting.pld"
    names = [f"{pld}.{name}" for name in ("common", "privacy_loss_distribution",
                                          "privacy_loss_mechanism")]  # fmt: skip
    return library("dp-accounting", *names)


@pytest.fixture(scope="session")
def mpmath():
    return library("dp-accounting, which brings mpmath,", "mpmath").mpmath


@pytest.fixture
def inside(multi, monkeypatch):
    """What multi-freq-ldpy's aggregators hand to their estimator: counts, n, p and q.

    The estimator clips and rescales, so its results alone would hide a wrong p or q.
    """

    def call(module, aggregator, *arguments):
        seen = []
        kept = module.MI

        def spy(count_report, n, p, q):
            seen.append((count_report, n, p, q))
            return kept(count_report, n, p, q)

        with monkeypatch.context() as patch:
            patch.setattr(module, "MI", spy)
            result = getattr(module, aggregator)(*arguments)
        (given,) = seen
        return result, *given

    return call


@pytest.fixture(scope="session")
def mbi():
    return library("mbi", "mbi").mbi
