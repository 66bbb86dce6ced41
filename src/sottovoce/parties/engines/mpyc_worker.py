"""One member's process of the engine `mpyc`; run as ``python -m …mpyc_worker``.

The job arrives on standard input: one line of JSON, then the codes of this member's columns, int64,
product after product. The shares leave on standard output as little-endian words: products first,
then noises. Members 0 … K − 1 are the parties, member K is the curator, who has no columns and gets
no shares.

Every value is a Shamir share in a prime field; a result x is turned into additive shares modulo
2^b of the parties by opening x + Σ_k r_k to party 0, where party k drew r_k uniformly below 2^M:
party 0 has (x + Σ r) − r_0, all others −r_k. M exceeds the bits of x by 80, so that what is opened
is the same for any two tables but for a probability of 2^−80 per cell.

Noise is the difference of two geometric numbers whose binary digits are independent coins, digit j
being 1 with probability α^{2^j}/(1 + α^{2^j}), α = e^{−1/b}. A coin compares shared random bits u
with its public probability, from the last bit to the first: r ← 1 − u(1 − r) where the probability
has a 1, and r ← (1 − u) r where it has a 0. Nobody sees a coin.
"""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any

import numpy as np

_ROWS = 1 << 13  # multiplied at a time


def main() -> None:
    """Read the job, take part, and write the shares."""
    job = json.loads(sys.stdin.buffer.readline())
    body = sys.stdin.buffer.read()
    members = [argument for address in job["addresses"] for argument in ("-P", address)]
    threshold = ["-T", str(job["threshold"])]
    # mpyc reads its own arguments when it is imported. Without pseudorandom sharing its random bits
    # take no square roots, which is more than twice as fast.
    sys.argv = ["mpyc", *members, "-I", str(job["index"]), "--no-log", "--no-prss", *threshold]
    from mpyc.runtime import mpc

    shares = mpc.run(_take_part(mpc, job, np.frombuffer(body, np.int64)))
    words = np.dtype("<u4" if job["bits"] == 32 else "<u8")
    for share in shares:
        reduced = [value % (1 << job["bits"]) for value in share]
        sys.stdout.buffer.write(np.array(reduced, words).tobytes())
    sys.stdout.buffer.flush()


async def _take_part(mpc: Any, job: dict[str, Any], codes: Any) -> list[list[int]]:
    await mpc.start()
    field = mpc.SecFld(min_order=1 << (job["mask_bits"] + 8))
    shares = []
    own = codes.reshape(len(job["products"]), -1) if codes.size else codes
    for p, product in enumerate(job["products"]):
        column = own[p] if codes.size else None
        table = await _product(mpc, field, product, job["index"], column)
        shares.append(await _additive(mpc, field, table, job))
    for noise in job["noises"]:
        drawn = _noise(mpc, field, noise)
        shares.append(await _additive(mpc, field, drawn, job))
    await mpc.shutdown()
    return shares if job["index"] < job["parties"] else []


async def _product(mpc: Any, field: Any, product: dict[str, Any], me: int, codes: Any) -> Any:
    """The table as a secure array, its axes in the order of the steps."""
    order, sizes, rows = product["order"], product["sizes"], product["rows"]
    table = None
    for start in range(0, rows, _ROWS):
        stop = min(start + _ROWS, rows)
        parts = []
        for party, size in zip(order, sizes, strict=True):
            hot = np.zeros((stop - start, size), object)
            if party == me:
                mine = codes[start:stop]
                there = np.flatnonzero(mine >= 0)
                hot[there, mine[there]] = 1
            parts.append(mpc.input(field.array(hot), senders=party))
        left = parts[0]
        for right in parts[1:-1]:
            high = mpc.np_reshape(left, (stop - start, left.shape[1], 1))
            wide = mpc.np_multiply(high, mpc.np_reshape(right, (stop - start, 1, right.shape[1])))
            left = mpc.np_reshape(wide, (stop - start, left.shape[1] * right.shape[1]))
        part = mpc.np_matmul(mpc.np_transpose(left), parts[-1])
        table = part if table is None else table + part
        await mpc.barrier()
    return mpc.np_reshape(table, (int(np.prod(sizes)),))


def _noise(mpc: Any, field: Any, noise: dict[str, Any]) -> Any:
    """Geometric minus geometric, for every cell: digits are coins with public probabilities."""
    cells, precision = noise["cells"], noise["precision"]
    digits = [int(text) for text in noise["digits"]]
    many = 2 * cells * len(digits)
    coin = field.array(np.zeros(many, object))
    for place in range(precision):
        uniform = mpc.np_random_bits(field, many)
        ones = np.tile(np.array([digit >> place & 1 for digit in digits], object), 2 * cells)
        # u s with s = 1 − r where the probability has a 1, and s = r where it has a 0
        less = mpc.np_multiply(uniform, coin * (1 - 2 * ones) + ones)
        coin = coin * (1 - ones) + ones - less
    powers = np.array([1 << j for j in range(len(digits))], object)
    numbers = mpc.np_matmul(mpc.np_reshape(coin, (2 * cells, len(digits))), powers)
    return numbers[:cells] - numbers[cells:]


async def _additive(mpc: Any, field: Any, values: Any, job: dict[str, Any]) -> list[int]:
    """The member's additive share of every value; for the curator it means nothing."""
    cells, parties = values.shape[0], job["parties"]
    masks = [secrets.randbits(job["mask_bits"]) for _ in range(cells)]
    mine = field.array(np.array(masks, object))
    total = values
    for shared in mpc.input(mine, senders=list(range(parties))):
        total = total + shared
    opened = await mpc.output(total, receivers=[0])
    if job["index"]:
        return [-mask for mask in masks]
    half = field.field.modulus // 2
    integers = [int(value) for value in np.asarray(opened.value).tolist()]
    around = [value - field.field.modulus if value > half else value for value in integers]
    return [value - mask for value, mask in zip(around, masks, strict=True)]


if __name__ == "__main__":
    main()
