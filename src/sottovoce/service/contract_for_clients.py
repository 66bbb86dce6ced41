"""The contract as a participant's device needs it: integers to draw with, and what they promise.

A client in another language has no e^ε to 80 digits and should not need it. It receives the exact
128-bit thresholds that Python draws with, checks with exact fractions that they keep the promise,
and checks by the digest that they belong to the study that it was invited to::

    format        1
    digest        of the study, hex
    canonical     the text that this digest is taken of: title, values, epsilons, rates
    collections   one for each question, then for records:
      name, id, digest, layout
      levels      the menu, or the only one; every way to take part is a level and one of its rates
        name        null where there is no menu
        rates       probabilities of reporting, and
        coins       the threshold of each; null for 0 and 1, where nothing is drawn
        mechanism   its id and what it draws with; thresholds are 32 hex digits
        promises    notion, epsilon as an exact fraction such as "1/2", and what is protected
        guarantee   the same in plain words

`clients/js` reads it, and `docs/javascript.md` describes every field.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import groupby
from typing import Any

from ..contract.collection import Collection, canonical_text
from ..contract.way import Way
from ..errors import StudyError
from ..heavy import HeavyHitters
from ..heavy.oracles import Hashed, Listed
from ..mechanisms.choose_all import ChooseAll
from ..mechanisms.grr import GRR, keep_probability
from ..mechanisms.hadamard import HadamardResponse
from ..mechanisms.lip import LIP
from ..mechanisms.numeric import NumericMechanism
from ..mechanisms.olh import OLH
from ..mechanisms.projective import ProjectiveGeometryResponse
from ..mechanisms.subset import SubsetSelection
from ..mechanisms.unary import UnaryMechanism
from ..participation.rates import coin
from ..promise import Guarantee
from ..randomness import Probability
from ..records import Records
from ..records.allocation import STEPS, threshold_recipe
from ..study import Study

FORMAT = 1


def describe(study: Study) -> dict[str, Any]:
    """Everything that a participant's device needs to take part in a study, for JSON."""
    return {
        "format": FORMAT,
        "digest": study.digest.hex(),
        "canonical": canonical_text(study.canonical()),
        "collections": [describe_collection(one) for one in study],
    }


def describe_collection(collection: Collection) -> dict[str, Any]:
    """One question or records: every way to take part, and how its reports are drawn."""
    return {
        "name": collection.name,
        "id": collection.id,
        "digest": collection.digest.hex(),
        "layout": [[c.name, c.dtype.lstrip("|<"), c.width] for c in collection.layout],
        "levels": [
            _level(list(ways)) for _, ways in groupby(collection.ways(), lambda way: way.level)
        ],
    }


def _level(ways: list[Way]) -> dict[str, Any]:
    first = ways[0]
    promised = first.mechanism.undivided(first)
    return {
        "name": first.level,
        "rates": [repr(way.rate) for way in ways],
        "coins": [_threshold(coin(way.rate)) if 0 < way.rate < 1 else None for way in ways],
        "mechanism": _mechanism(first.mechanism),
        "promises": _promises(promised),
        "guarantee": str(promised),
    }


def _promises(guarantee: Guarantee) -> list[dict[str, str]]:
    return [
        {
            "notion": promise.notion.value,
            "epsilon": str(Fraction(promise.epsilon)),
            "protects": promise.unit.protects.value,
            "line": promise.line(),
        }
        for promise in guarantee.promises
    ]


def _mechanism(mechanism: Collection) -> dict[str, Any]:
    for kind, numbers in _NUMBERS.items():
        if isinstance(mechanism, kind):
            return {"id": mechanism.id, **numbers(mechanism)}
    raise StudyError(
        f"a participant's page cannot draw reports of {mechanism.id!r}; leave the question out of "
        "a study that is served, and collect its answers with `sottovoce randomise`"
    )


def _hash(mechanism: OLH | Hashed, **more: int) -> dict[str, Any]:
    return {
        "word_bits": mechanism.word_bits,
        "bucket_bits": mechanism.bucket_bits,
        **more,
        "keep": _threshold(keep_probability(mechanism.epsilon, mechanism.buckets)),
    }


def _olh(mechanism: OLH) -> dict[str, Any]:
    return _hash(mechanism, **({"parts": mechanism.parts} if mechanism.parts > 1 else {}))


def _texts(texts: HeavyHitters) -> dict[str, Any]:
    if isinstance(texts.oracle, Listed):
        return {"by": _mechanism(texts.oracle.mechanism)}
    return {"by": {"id": texts.mechanism, **_hash(texts.oracle)}}


def _lip(mechanism: LIP) -> dict[str, Any]:
    law = mechanism.integers
    if law.rows:
        return {"rows": [list(map(_hex, row)) for row in law.rows]}
    return {"keep": _hex(law.keep), "rest": list(map(_hex, law.rest))}


def _grids(mechanism: NumericMechanism) -> dict[str, Any]:
    grids = [
        {"steps": grid.steps, "window": grid.window, "inside": _threshold(grid.inside)}
        for grid in mechanism.grids.values()
    ]
    finest = mechanism.finest_fraction
    return {"grids": grids, "finest": None if finest is None else _threshold(finest)}


def _records(records: Records) -> dict[str, Any]:
    scale, factor = threshold_recipe()
    return {"steps": STEPS, "scale": f"{scale:x}", "factor": f"{factor:x}"}


def _numbers_of(*names: str) -> Callable[[Any], dict[str, Any]]:
    """Attributes of a mechanism: integers as they are, probabilities by their thresholds."""

    def numbers(mechanism: Any) -> dict[str, Any]:
        values = {name: getattr(mechanism, name) for name in names}
        return {k: _threshold(v) if isinstance(v, Probability) else v for k, v in values.items()}

    return numbers


_NUMBERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    GRR: _numbers_of("keep"),
    UnaryMechanism: _numbers_of("true_bit", "other_bit"),
    SubsetSelection: _numbers_of("omega", "holds"),
    OLH: _olh,
    HadamardResponse: _numbers_of("blocks", "block_size", "inside"),
    ProjectiveGeometryResponse: _numbers_of("prime", "dimension", "inside"),
    LIP: _lip,
    NumericMechanism: _grids,
    ChooseAll: lambda m: {"by": _mechanism(m.inner)},
    HeavyHitters: _texts,
    Records: _records,
}


def _threshold(probability: Probability) -> str:
    return _hex(probability.numerator)


def _hex(numerator: int) -> str:
    return f"{numerator:032x}"
