"""What a new study asks, from the options of `study new`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ...errors import ParameterError
from . import parse

if TYPE_CHECKING:
    from ...contract.collection import Collection
    from ...domain.values import Attribute
    from ...mechanisms.mechanism import Mechanism

_OF_QUESTIONS = ("values", "edges", "bounds", "levels", "rate", "mechanism", "prior")
_OF_RECORDS = ("attributes", "floor")
_OPTIONS = {"bounds": "--range", "attributes": "--attribute"}


def new_question(name: str, options: Mapping[str, Any]) -> Collection:
    """The mechanism of a question; without its name the one with the lowest error."""
    _refuse(options, _OF_RECORDS, "--records")
    if options["public"]:
        raise click.UsageError("--public goes with --records")
    bounds, epsilon, levels = options["bounds"], options["epsilon"], options["levels"]
    if [options[key] for key in ("values", "edges", "bounds")].count(None) != 2:
        raise click.UsageError("give one of --values, --edges and --range")
    if options["clip"] and bounds is None:
        raise click.UsageError("--clip goes with --range")
    if (epsilon is None) == (levels is None):
        raise click.UsageError("give one of --epsilon and --levels")
    menu = None if levels is None else parse.menu_from(levels)
    rate = None if options["rate"] is None else parse.rates_from(options["rate"])
    mechanism = _mechanism(_attribute(name, options), epsilon, menu, options)
    if rate is None:
        return mechanism
    from ...participation import Sampled

    return Sampled(mechanism, rate=rate)


def new_records(name: str, options: Mapping[str, Any]) -> Collection:
    """Records of several attributes."""
    from ...records import Records

    _refuse(options, _OF_QUESTIONS, "--question")
    if options["clip"]:
        raise click.UsageError("--clip goes with --range")
    if options["epsilon"] is None or not options["attributes"]:
        raise click.UsageError("--records needs --epsilon, and --attribute for each attribute")
    schema = [parse.attribute_from(text, options["missing"]) for text in options["attributes"]]
    average, floor = options["epsilon"], options["floor"]
    return Records(
        schema, epsilon_average=average, public=options["public"], floor=floor, name=name
    )


def _refuse(options: Mapping[str, Any], names: tuple[str, ...], other: str) -> None:
    for name in names:
        if options[name] not in (None, ()):
            raise click.UsageError(f"{_OPTIONS.get(name, f'--{name}')} goes with {other}")


def _attribute(name: str, options: Mapping[str, Any]) -> Attribute:
    from ...domain.ranges import Range
    from ...domain.values import Attribute

    values, edges, missing = options["values"], options["edges"], options["missing"]
    if options["bounds"] is not None:
        return Range(name, *options["bounds"], clip=options["clip"], missing=missing)
    return Attribute(
        name,
        () if values is None else parse.values_from(values),
        edges=None if edges is None else parse.edges_from(edges),
        missing=missing,
    )


def _mechanism(
    attribute: Attribute,
    epsilon: float | None,
    menu: Mapping[str, float] | None,
    options: Mapping[str, Any],
) -> Mechanism:
    from ...mechanisms import LIP, by_id
    from ...participation import Levels
    from ...planning.choose import best_kind

    name, extras = options["mechanism"], {}
    if options["prior"] is not None:
        if name not in (None, LIP.id):
            raise ParameterError(f"--prior goes with the mechanism 'lip', not with {name!r}")
        name, extras = LIP.id, {"prior": parse.prior_from(options["prior"])}
    epsilons = (menu or {}).values() if epsilon is None else [epsilon]
    kind = best_kind(attribute, epsilons) if name is None else by_id(name)
    if epsilon is not None:
        return kind(attribute, epsilon=epsilon, **extras)
    return Levels.of(kind, attribute, menu or {}, **extras)
