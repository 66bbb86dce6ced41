"""Every public result pickles, and is the same after a trip through another process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sottovoce import (
    GRR,
    Attribute,
    Estimate,
    Guarantee,
    HeavyHitters,
    Levels,
    Promise,
    Records,
    Sampled,
    Study,
)
from sottovoce.contract.route import AddedNoise, Route
from sottovoce.mechanisms import REGISTRY
from sottovoce.promise import LDP

from .entries import answers, example
from .laws import choices

N = 300


def estimates(collection: Any, aggregate: Any, name: str) -> dict[str, Any]:
    by_method = {}
    for method in collection.methods:
        estimate = collection.estimate(aggregate, method=method)
        by_method[f"{name}/{method}"] = estimate
        if estimate.fractions:
            by_method[f"{name}/{method}/projected"] = estimate.project()
    return by_method


def public_results() -> dict[str, Any]:
    """Estimates by every method of every kind and wrapper, and what they are made from."""
    results: dict[str, Any] = {}
    for name, kind in REGISTRY.items():
        mechanism = example(kind, 2.0)
        reports = mechanism.randomise(answers(mechanism, N))
        aggregate = mechanism.aggregate(reports)
        results |= {f"{name}": mechanism, f"{name}/reports": reports, f"{name}/counts": aggregate}
        results |= {f"{name}/guarantee": mechanism.guarantee, f"{name}/way": mechanism.ways()[0]}
        results |= estimates(mechanism, aggregate, name)
        menu = {"strong": example(kind, 1.0), "weak": mechanism}
        for title, wrapper, menus in (
            ("levels", Levels(menu), {"level": list(menu)}),
            ("sampled", Sampled(mechanism, rate=[0.5, 0.9]), {"rate": [0.5, 0.9]}),
            ("both", Sampled(Levels(menu), rate=0.8), {"level": list(menu)}),
        ):
            reports = wrapper.randomise(answers(wrapper, N), **choices(menus, N))
            aggregate = wrapper.aggregate(reports)
            at = f"{title} of {name}"
            results |= {at: wrapper, f"{at}/reports": reports, f"{at}/counts": aggregate}
            results |= {f"{at}/guarantee": wrapper.guarantee}
            results |= estimates(wrapper, aggregate, at)
            results |= {f"{at}/{k}": e for k, e in wrapper.estimates(aggregate).items()}
    grr = GRR(3, epsilon=1.0)
    guarantee = Guarantee((Promise(LDP, 0.5),))
    noisy = Route("dpdg", guarantee, AddedNoise("discrete-laplace", 2.5))
    routed = replace(grr.aggregate(grr.randomise(answers(grr, N))), route=noisy)
    results |= {"route": noisy, "routed": routed, "routed/estimate": grr.estimate(routed)}
    questions = [Attribute("smokes", ["yes", "no"]), Attribute("age", 4)]
    for public in (False, True):
        records = Records(questions, epsilon_average=2.0, public=public)
        aggregate = records.aggregate(records.randomise(answers(records, N)))
        at = f"records-{public}"
        results |= {at: records, f"{at}/counts": aggregate}
        results |= {f"{at}/guarantee": records.guarantee}
        results |= {f"{at}/marginal": records.marginal(aggregate, ["age"])}
    texts = HeavyHitters("ab", 2, 4.0)
    aggregate = texts.aggregate(texts.randomise(answers(texts, N)))
    results |= {"texts": texts, "texts/counts": aggregate}
    results |= {"texts/estimate": texts.estimate(aggregate)}
    study = Study("Commuting", (GRR(Attribute("commute", ["car", "bike"]), epsilon=1.0),))
    results |= {"study": study, "study/guarantee": study.guarantee}
    return results


def facts(result: Any) -> Any:
    """What a result says, in plain numbers and bytes."""
    if isinstance(result, Estimate):
        covariance = result.covariance
        return {
            "values": result.values.tobytes(),
            "variance": result.variance.tobytes(),
            "covariance": None if covariance is None else covariance.tobytes(),
            "interval": [end.tobytes() for end in result.interval()],
            "about": [result.method, result.n, result.reports, result.biased, result.assuming],
            "labels": [str(label) for label in result.labels],
            "guarantee": str(result.guarantee),
        }
    if hasattr(result, "to_bytes"):
        return result.to_bytes()
    if hasattr(result, "digest"):
        return result.digest.hex(), str(result.guarantee)
    if hasattr(result, "as_dict"):
        return str(result.as_dict())
    return str(result)


#: The other process says what it reads, and sends the result back.
ELSEWHERE = """
import pickle, sys, warnings
warnings.simplefilter("ignore")
from tests.laws.test_pickles import facts
sent = pickle.load(sys.stdin.buffer)
pickle.dump({n: (facts(r), pickle.dumps(r)) for n, r in sent.items()}, sys.stdout.buffer)
"""


@pytest.fixture(scope="module")
def trip() -> tuple[dict[str, Any], dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sent = public_results()
        # Numbers are worked out here first: a result must travel before and after.
        fresh = pickle.dumps(sent)
        done = subprocess.run(
            [sys.executable, "-c", ELSEWHERE], input=fresh, capture_output=True, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    return sent, pickle.loads(done.stdout)


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
def test_every_result_says_the_same_after_the_trip(trip: Any) -> None:
    sent, received = trip
    assert sent.keys() == received.keys()
    differing = []
    for name, result in sent.items():
        there, raw = received[name]
        here, back = facts(result), facts(pickle.loads(raw))
        if not here == there == back:
            differing.append(name)
    assert not differing


@pytest.mark.filterwarnings("ignore::sottovoce.errors.AlikeWarning")
def test_results_travel_after_their_errors_were_asked_for(trip: Any) -> None:
    """What is worked out on demand is kept, and must not keep a result from travelling."""
    sent, _ = trip
    for name, result in sent.items():
        first = facts(result)
        assert facts(pickle.loads(pickle.dumps(result))) == first, name


def test_the_trip_covers_every_kind_and_method(trip: Any) -> None:
    sent, _ = trip
    for name, kind in REGISTRY.items():
        mechanism = example(kind, 2.0)
        assert {f"{name}/{method}" for method in mechanism.methods} <= set(sent)
    assert np.all([isinstance(sent[n], Estimate) for n in sent if n.endswith("/projected")])
