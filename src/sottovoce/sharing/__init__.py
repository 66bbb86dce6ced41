"""Secret sharing: a number is split so that too few shares carry no information about it.

`PrimeField` is where shares live, sized so that no total wraps around; `additive` needs every share
to reconstruct, `shamir` any `threshold` of them, and `seeds` sends all additive shares but one as
32 bytes, whatever their length. `masks` hides vectors of which only the sum is to be known.

Nothing here knows who sent a share. A missing, repeated or altered additive share turns the sum
into a uniformly random element that looks like any other: the protocol above must see to it that it
has exactly one share of every sender it counts, from the same set of senders everywhere, before it
adds anything up. Shamir shares beyond the threshold are checked against each other.
"""

from __future__ import annotations

from . import additive, masks, seeds, shamir
from .field import Elements, PrimeField, smallest_prime_above

__all__ = ["Elements", "PrimeField", "additive", "masks", "seeds", "shamir", "smallest_prime_above"]
