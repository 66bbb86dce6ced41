"""What a new study asks, from the options of `study new`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ...errors import ParameterError
from . import parse
from .numbers import INT, REAL
from .options import PATH, table_options, together

if TYPE_CHECKING:
    from ...collect.codebook import Codebook
    from ...contract.collection import Collection
    from ...domain.values import Attribute
    from ...mechanisms.mechanism import Mechanism

_ANSWERS = ("values", "edges", "bounds", "codebook", "alphabet")
_OF_TEXTS = ("length", "longer", "other", "step")
_OF_QUESTIONS = ("values", "edges", "bounds", "alphabet", *_OF_TEXTS, "most", "mechanism", "prior")
_NOT_OF_TEXTS = ("most", "prior", "levels", "rate")
_OF_RECORDS = ("attributes", "floor", "public")
_OPTIONS = {"bounds": "--range", "attributes": "--attribute"}


#: What is asked, and how answers are randomised.
asking_options = together(
    click.option("--question", metavar="NAME", help="Name of the question."),
    click.option("--values", metavar="A,B,…", help="Possible answers, or a number d for 0 to d-1."),
    click.option("--edges", metavar="A,B,…", help="Or bin edges for numbers, such as 0,18,65,inf."),
    click.option(
        "--codebook",
        type=PATH,
        metavar="FILE",
        help="Or a public code book: a table with the columns value and label, and variable "
        "where it has several; or JSON or TOML. It must not be made from the answers.",
    ),
    click.option(
        "--range",
        "bounds",
        nargs=2,
        type=REAL,
        metavar="LOW HIGH",
        help="Or public bounds of a number, for its mean and distribution.",
    ),
    click.option(
        "--alphabet",
        metavar="SYMBOLS",
        help="Or texts that nobody declared, of these public symbols: abc, or a-z0-9. The "
        "frequent ones are listed.",
    ),
    click.option(
        "--length", type=INT, metavar="N", help="With --alphabet: the maximum length of a text."
    ),
    click.option(
        "--longer",
        type=click.Choice(["refuse", "cut"]),
        help="With --alphabet: a longer text is an error (the default), or its first symbols "
        "count.",
    ),
    click.option(
        "--other",
        metavar="SYMBOL",
        help="With --alphabet: what replaces every other character; by default that is an error.",
    ),
    click.option(
        "--step",
        type=INT,
        metavar="N",
        help="With --alphabet: by how many symbols prefixes grow in the search; more means "
        "smaller errors and more to count.",
    ),
    click.option(
        "--most",
        type=INT,
        metavar="K",
        help="With --values or --codebook: up to K of them may be chosen (choose all that "
        'apply); answers are read as text with ";" between options.',
    ),
    click.option(
        "--clip", is_flag=True, help="With --range: move numbers outside to the nearest bound."
    ),
    click.option(
        "--records", metavar="NAME", help="Or several attributes that are reported together."
    ),
    click.option(
        "--attribute",
        "attributes",
        multiple=True,
        metavar="NAME=A,B,…",
        help="With --records, once for each: smokes=yes,no, or age=bins:0,18,65,inf, or NAME "
        "alone for one of the code book; without any, all that it has.",
    ),
    click.option(
        "--epsilon",
        type=REAL,
        help="Everyone's privacy: above 0, at most 20; for records, the average per attribute.",
    ),
    click.option(
        "--levels", metavar="NAME=EPS,…", help="Or a menu to choose from: strong=0.5,normal=2."
    ),
    click.option(
        "--rate",
        metavar="R[,R,…]",
        help="Only some people report: with this probability, or one of these.",
    ),
    click.option(
        "--mechanism",
        help="By default the one with the lowest error, for thousands of values among those with "
        "short reports; for numbers one that gives a distribution, for texts olh.",
    ),
    click.option("--prior", metavar="P[,P,…]", help="Public probabilities of the values: lip."),
    click.option(
        "--missing",
        type=click.Choice(["refuse", "value", "public"]),
        default="refuse",
        show_default=True,
        help='A missing answer: an error; the value "no answer"; or public, and left out.',
    ),
    click.option(
        "--public",
        is_flag=True,
        help="With --records: everyone's allocation of epsilon is sent along.",
    ),
    click.option(
        "--floor", type=REAL, help="With --records: the smallest epsilon of an attribute."
    ),
    table_options,
)


def new_collection(options: Mapping[str, Any]) -> Collection:
    """A question or records, as the options say."""
    question, records = options["question"], options["records"]
    if (question is None) == (records is None):
        raise click.UsageError("give one of --question and --records")
    if options["codebook"] is None:
        options["dialect"].refuse_unused("a study without --codebook")
    return _records(records, options) if question is None else _question(question, options)


def _question(name: str, options: Mapping[str, Any]) -> Collection:
    _refuse(options, _OF_RECORDS, "--records")
    if sum(options[key] is not None for key in _ANSWERS) != 1:
        raise click.UsageError("give one of --values, --edges, --range, --codebook and --alphabet")
    if options["bounds"] is None:
        _refuse(options, ("clip",), "--range")
    if options["bounds"] is not None or options["edges"] is not None:
        _refuse(options, ("most",), "--values or --codebook")
    if options["alphabet"] is not None:
        return _texts(name, options)
    _refuse(options, _OF_TEXTS, "--alphabet")
    if (options["epsilon"] is None) == (options["levels"] is None):
        raise click.UsageError("give one of --epsilon and --levels")
    menu = None if options["levels"] is None else parse.menu_from(options["levels"])
    rate = None if options["rate"] is None else parse.rates_from(options["rate"])
    mechanism = _mechanism(_attribute(name, options), menu, options)
    if rate is None:
        return mechanism
    from ...participation import Sampled

    return Sampled(mechanism, rate=rate)


def _texts(name: str, options: Mapping[str, Any]) -> Collection:
    """The search for frequent texts."""
    from ...heavy import HeavyHitters

    for key in _NOT_OF_TEXTS:
        if options[key] is not None:
            raise click.UsageError(f"--{key} does not go with --alphabet")
    if options["missing"] != "refuse":
        raise click.UsageError(
            "--missing does not go with --alphabet: a missing text is an error, and the empty text "
            "an answer"
        )
    if options["length"] is None or options["epsilon"] is None:
        raise click.UsageError("--alphabet needs --length and --epsilon")
    entries = {key: options[key] for key in (*_OF_TEXTS, "epsilon", "mechanism")}
    about = {key: value for key, value in entries.items() if value is not None}
    return HeavyHitters(parse.alphabet_from(options["alphabet"]), name=name, **about)


def _records(name: str, options: Mapping[str, Any]) -> Collection:
    from ...records import Records

    _refuse(options, _OF_QUESTIONS, "--question")
    _refuse(options, ("clip",), "--range")
    book = _codebook(options)
    attributes = options["attributes"] or (book.variables if book else ())
    if (options["epsilon"] is None) == (options["levels"] is None) or not attributes:
        raise click.UsageError(
            "--records needs --epsilon or --levels, and --attribute for each attribute (or a "
            "--codebook with a column variable)"
        )
    schema = [parse.attribute_from(text, options["missing"], book) for text in attributes]
    levels, rate = options["levels"], options["rate"]
    return Records(
        schema,
        epsilon_average=options["epsilon"],
        levels={} if levels is None else parse.menu_from(levels),
        rate=1.0 if rate is None else parse.rates_from(rate),  # type: ignore[arg-type]
        public=options["public"],
        floor=options["floor"],
        name=name,
    )


def _refuse(options: Mapping[str, Any], names: tuple[str, ...], other: str) -> None:
    for name in names:
        if options[name] not in (None, ()) and options[name] is not False:
            raise click.UsageError(f"{_OPTIONS.get(name, f'--{name}')} goes with {other}")


def _codebook(options: Mapping[str, Any]) -> Codebook | None:
    from ...collect.codebook import Codebook

    path = options["codebook"]
    return None if path is None else Codebook.read(path, options["dialect"])


def _attribute(name: str, options: Mapping[str, Any]) -> Attribute:
    from ...domain.ranges import Range
    from ...domain.values import Attribute

    values, edges, missing = options["values"], options["edges"], options["missing"]
    if options["bounds"] is not None:
        return Range(name, *options["bounds"], clip=options["clip"], missing=missing)
    if (book := _codebook(options)) is not None:
        attribute = parse.attribute_from(name, missing, book)
    elif edges is not None:
        attribute = Attribute(name, edges=parse.edges_from(edges), missing=missing)
    else:
        attribute = Attribute(name, parse.values_from(values), missing=missing)
    if options["most"] is None:
        return attribute
    from ...domain.options import Options

    texts = [str(value) for value in attribute.values]
    return Options(name, texts, most=options["most"], missing=missing, wording=attribute.wording)


def _mechanism(
    attribute: Attribute, menu: Mapping[str, float] | None, options: Mapping[str, Any]
) -> Mechanism:
    """The one that is named; otherwise the best one for these values."""
    from ...mechanisms import LIP, by_id
    from ...mechanisms.choose_all import ChooseAll
    from ...participation import Levels
    from ...planning.choose import best_kind

    kind: type[Mechanism]
    extras: dict[str, Any] = {}
    name, epsilon = options["mechanism"], options["epsilon"]
    if options["prior"] is not None:
        if name not in (None, LIP.id):
            raise ParameterError(f"--prior goes with the mechanism 'lip', not with {name!r}")
        name, extras = LIP.id, {"prior": parse.prior_from(options["prior"])}
    if not attribute.exclusive:
        kind, extras = ChooseAll, {"by": name or "oue"}
    elif name is not None:
        kind = by_id(name)
    else:
        kind = best_kind(attribute, [epsilon] if menu is None else menu.values())
    if menu is None:
        return kind(attribute, epsilon=epsilon, **extras)
    return Levels.of(kind, attribute, menu, **extras)
