"""Products of what parties hold, with correlated randomness from a dealer who sees no data.

Table = Σ_rows V_1 ⊗ V_2 ⊗ … ⊗ V_K over one-hot matrices V_k, one party each, modulo 2^b. It is
computed in steps; before step s parties 1 … s − 1 ("holders") have additive shares W_i of the
row-wise product of their columns, and party s joins:

Deal      the dealer draws A_i (as wide as W_i) and C_i for every holder and B for party s, all from
          a seed per party, and gives party s the one matrix that no seed can stand for:
          C_s = (Σ_i A_i) ∘ B − Σ_i C_i
Open      holder i sends D_i = W_i − A_i to party s; party s sends E = V_s − B to every holder
Combine   holder i has A_i ∘ E + C_i, and party s has (Σ_i D_i) ∘ V_s + C_s

∘ is the row-wise Kronecker product, and at the last step the matrix product XᵀY, which sums over
the rows. The shares add up: Σ A_i ∘ (V − B) + (Σ A_i) ∘ B + (W − Σ A_i) ∘ V = W ∘ V.

What is opened is masked by a matrix that its receiver does not have, and all shares but one are
fresh and uniform, so that all parties but one together learn nothing about the last one's columns,
as long as the dealer works with none of them (Beaver 1991, CRYPTO, §3). A matrix A or B masks one
product only: a second one under the same seed and label would show the difference of two secrets.

Online bytes, b/8 n [l_1 + l_2 + Σ_{s≥3} (s − 1)(Π_{k<s} l_k + l_s)].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ShareError
from ..randomness import Keystream

Words = NDArray[Any]
Codes = NDArray[np.int64]

SEED_BYTES = 32


@dataclass(frozen=True)
class Chain:
    """The public form of one table: whose columns are multiplied in which order."""

    label: str  # names the product; no two under the same seeds have the same label
    sizes: tuple[int, ...]  # l_1 … l_K, widths of the one-hot matrices in the order of the steps
    rows: int  # n
    bits: int = 32  # or 64: sums are modulo 2^bits

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1 or self.rows < 1:
            raise ParameterError(
                f"sizes {self.sizes} and {self.rows} rows; a product needs at least two matrices, "
                "and each at least one column and one row"
            )
        if self.bits not in (32, 64):
            raise ParameterError(f"bits is {self.bits}; it must be 32 or 64")

    @property
    def words(self) -> Any:
        """The type of one element."""
        return np.dtype(np.uint32 if self.bits == 32 else np.uint64)

    @property
    def steps(self) -> range:
        """The positions of the parties that join, 1 … K − 1."""
        return range(1, len(self.sizes))

    def left(self, step: int) -> int:
        """Π_{k<s} l_k, the columns that holders have before a step."""
        return math.prod(self.sizes[:step])

    def is_last(self, step: int) -> bool:
        """Whether a step sums over the rows."""
        return step == len(self.sizes) - 1

    def shape(self, step: int) -> tuple[int, int]:
        """Of the shares after a step."""
        if self.is_last(step):
            return self.left(step), self.sizes[step]
        return self.rows, self.left(step) * self.sizes[step]

    @property
    def online_bytes(self) -> int:
        """What all parties send each other."""
        words = sum(step * (self.left(step) + self.sizes[step]) for step in self.steps)
        return int(self.words.itemsize) * self.rows * words

    @property
    def dealt_bytes(self) -> int:
        """The dealer's corrections; seeds are 32 bytes for each party besides."""
        return int(self.words.itemsize) * sum(math.prod(self.shape(step)) for step in self.steps)

    def expand(self, seed: bytes, step: int, part: str, shape: tuple[int, int]) -> Words:
        """The matrix that a seed stands for: AES-256 in counter mode under a key of its own."""
        matrix = np.empty(shape, self.words)
        stream(seed, f"{self.label}/{step}/{part}").fill(matrix.reshape(-1).view(np.uint8).data)
        return matrix

    def _multiply(self, step: int, left: Words, right: Words, result: Words) -> None:
        """Add left ∘ right of a step to the result."""
        from ..kernels import ring

        product = ring.matrix_product if self.is_last(step) else ring.row_product
        product(left, right, result)

    # --- the dealer -----------------------------------------------------------------------------

    def correction(self, step: int, seeds: Sequence[bytes]) -> Words:
        """C_s: what the dealer gives the party that joins at a step, from all parties' seeds."""
        left = np.zeros((self.rows, self.left(step)), self.words)
        for seed in seeds[:step]:
            left += self.expand(seed, step, "A", left.shape)
        right = self.expand(seeds[step], step, "B", (self.rows, self.sizes[step]))
        result = np.zeros(self.shape(step), self.words)
        self._multiply(step, left, right, result)
        for seed in seeds[:step]:
            result -= self.expand(seed, step, "C", result.shape)
        return result

    # --- a party --------------------------------------------------------------------------------

    def opened(self, step: int, position: int, own: Words | Codes, seed: bytes) -> Words:
        """D_i of a holder, for the party that joins; or E of that party, for every holder.

        `own` are the codes of a party's columns, or a holder's share after the step before.
        """
        from ..kernels import ring

        joins = position == step
        width = self.sizes[step] if joins else self.left(step)
        matrix = self.expand(seed, step, "B" if joins else "A", (self.rows, width))
        if own.ndim == 1:
            ring.hide_codes(own, matrix)
            return matrix
        np.subtract(own, matrix, out=matrix)
        return matrix

    def held(self, step: int, seed: bytes, opened: Words) -> Words:
        """A holder's share after a step, from E."""
        result = self.expand(seed, step, "C", self.shape(step))
        mask = self.expand(seed, step, "A", (self.rows, self.left(step)))
        matrix = self._check_matrix(opened, self.sizes[step], "E")
        self._multiply(step, mask, matrix, result)
        return result

    def joined(
        self, step: int, codes: Codes, opened: Mapping[int, Words], correction: Words
    ) -> Words:
        """The share of the party that joins, from every holder's D and the dealer's correction."""
        from ..kernels import ring

        missing = [position for position in range(step) if position not in opened]
        if missing:
            raise ShareError(f"what the parties at positions {missing} opened is missing")
        total = np.zeros((self.rows, self.left(step)), self.words)
        for position in range(step):
            total += self._check_matrix(opened[position], self.left(step), "D")
        if correction.shape != self.shape(step) or correction.dtype != self.words:
            raise ShareError(
                f"the dealer's correction has shape {correction.shape}, not {self.shape(step)}"
            )
        if self.is_last(step):
            table = np.zeros((self.sizes[step], self.left(step)), self.words)
            ring.matrix_product_codes(total, codes, table)
            return np.ascontiguousarray(correction + table.T)
        result = correction.copy()
        ring.row_product_codes(total, codes, self.sizes[step], result)
        return result

    def _check_matrix(self, matrix: Words, width: int, name: str) -> Words:
        if matrix.shape != (self.rows, width) or matrix.dtype != self.words:
            raise ShareError(
                f"an opened matrix {name} has shape {matrix.shape} and type {matrix.dtype}; "
                f"{(self.rows, width)} and {self.words} are expected"
            )
        return matrix


def stream(seed: bytes, label: str) -> Keystream:
    """The keystream of one use of a seed; other labels give independent ones."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

    if len(seed) != SEED_BYTES:
        raise ShareError(f"a seed has {len(seed)} bytes; it must have {SEED_BYTES}")
    info = b"sottovoce triples v1 " + label.encode()
    return Keystream(HKDFExpand(SHA256(), 32, info=info).derive(seed))
