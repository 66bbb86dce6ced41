"""Which products parties compute, and how shares of a table become shares of every release.

One joint table of all parties is enough for all teams: sums of additive shares over an axis are
additive shares of the smaller table, and every party computes them alone. That is safe: nothing is
sent for it, and what is opened are the same masked sums with the same noise as if each team had
computed a table of its own.

Sampling (SAV) is different: a party drops each row from the table with a public probability, in
secret, which gives another table. Such releases have a product of their own, in which a dropped row
is a row of zeros; nobody learns which rows or how many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..randomness import Probability, Source
from ..sharing.triples import Chain, Codes, Words
from .oblivious import Coins
from .releases import Release, summed


@dataclass(frozen=True)
class Product:
    """One table that is computed in shares."""

    label: str  # its name
    #: The probability with which parties keep each row; parties that keep all are absent.
    kept: Mapping[str, Fraction]
    releases: tuple[int, ...]  # which releases are sums of it


def products_of(releases: Sequence[Release]) -> tuple[Product, ...]:
    """The tables that the releases need: one for all without sampling, one for each with it."""
    plain = tuple(i for i, release in enumerate(releases) if not release.kept)
    products = [Product("table", {}, plain)] if plain else []
    for i, release in enumerate(releases):
        if release.kept:
            products.append(Product(f"table of {release.name}", dict(release.kept), (i,)))
    return tuple(products)


@dataclass(frozen=True)
class Plan:
    """The public form of all products: order of the parties, sizes, ring."""

    shape: tuple[int, ...]  # sizes of the parties' axes, in the order of the study
    rows: int  # n
    bits: int  # of the ring
    products: tuple[Product, ...]  # what is computed
    #: Noise that nobody draws, one entry for each release; none where parties add noise shares.
    noises: tuple[Coins, ...] = ()

    @property
    def largest(self) -> int:
        """No number that is computed is larger."""
        return max([self.rows, *(noise.reach for noise in self.noises)])

    @property
    def order(self) -> tuple[int, ...]:
        """The parties in the order of the steps: the largest axis last, which costs least."""
        return tuple(sorted(range(len(self.shape)), key=lambda k: (self.shape[k], k)))

    @property
    def chains(self) -> tuple[Chain, ...]:
        """The products as the engines take them."""
        sizes = tuple(self.shape[k] for k in self.order)
        return tuple(Chain(p.label, sizes, self.rows, self.bits) for p in self.products)

    def table(self, share: Words) -> Words:
        """A share with its axes in the order of the study."""
        sizes = tuple(self.shape[k] for k in self.order)
        return np.ascontiguousarray(share.reshape(sizes).transpose(np.argsort(self.order)))

    def vectors(self, shares: Sequence[Words], releases: Sequence[Release]) -> list[Words]:
        """One party's shares of all releases, from its shares of the products."""
        vectors: dict[int, Words] = {}
        for product, share in zip(self.products, shares, strict=True):
            table = self.table(share)
            for i in product.releases:
                vectors[i] = share_of(table, releases[i])
        return [vectors[i] for i in range(len(releases))]


def share_of(table: Words, release: Release) -> Words:
    """A share of what a release opens, without noise."""
    weights = set(release.weights.values())
    if len(weights) != 1:
        raise ParameterError(
            f"the release {release.name!r} has the weights {dict(release.weights)}; where columns "
            "are split all parties have the same weight, since nobody has counts of their own"
        )
    weighted: Words = summed(table, release.axes) * table.dtype.type(weights.pop())
    return weighted


def sampled(product: Product, party: str, rows: int, source: Source) -> NDArray[np.uint8] | None:
    """The rows that a party keeps, as bits; None where it keeps all."""
    rate = product.kept.get(party)
    if rate is None or rate >= 1:
        return None
    return source.bernoulli(Probability.at_most(rate), rows)[: -(-rows // 8)]


def keep(codes: Codes, bits: NDArray[np.uint8] | None) -> Codes:
    """Codes with −1, a row of zeros, where a row is dropped."""
    if bits is None:
        return codes
    kept: NDArray[Any] = np.unpackbits(bits, count=len(codes), bitorder="little").astype(bool)
    return np.where(kept, codes, -1)
