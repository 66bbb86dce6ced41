"""One party's process of the engine `cheetah`; run by the interpreter that has SPU installed.

It imports nothing of Sottovoce. The job arrives on standard input: one line of JSON, then the codes
of this party's columns, int64, product after product. The shares leave on standard output.

SPU's two-party product (Cheetah) gives two parties additive shares of W V from W of one and V of
the other. Before step s holders i < s have shares W_i of the product so far; each runs it with
party s. Afterwards holder i has its share of W_i V_s, and party s the sum of its shares. The last
step is the matrix product W_iᵀ V_s.
"""

import json
import os
import sys
from typing import Any

import numpy as np

_ROWS = 1 << 14  # multiplied row by row at a time


def main() -> None:
    """Read the job, take part, and write the shares."""
    job = json.loads(sys.stdin.buffer.readline())
    codes = np.frombuffer(sys.stdin.buffer.read(), np.int64).reshape(len(job["products"]), -1)
    output = os.dup(1)
    os.dup2(2, 1)  # SPU writes its log to standard output
    pairs = Pairs(job)
    words = np.dtype("<u4" if job["bits"] == 32 else "<u8")
    with os.fdopen(output, "wb") as stream:
        for product, own in zip(job["products"], codes, strict=True):
            stream.write(share_of(pairs, product, job["index"], own).astype(words).tobytes())
    pairs.stop()


def share_of(pairs: "Pairs", product: dict[str, Any], me: int, codes: Any) -> Any:
    """The party's share of a table, its axes in the order of the steps."""
    order, sizes, rows = product["order"], product["sizes"], product["rows"]
    position = order.index(me)
    hot = np.zeros((rows, sizes[position]), pairs.integer)
    there = np.flatnonzero(codes >= 0)
    hot[there, codes[there]] = 1
    own: Any = hot
    for step in range(max(1, position), len(order)):
        matrix = step == len(order) - 1
        left = int(np.prod(sizes[:step]))
        if position < step:
            own = pairs.multiply(order[step], own, (rows, sizes[step]), matrix, first=True)
            continue
        total: Any = 0
        for holder in range(step):
            part = pairs.multiply(order[holder], hot, (rows, left), matrix, first=False)
            total = part + total
        own = total
    return own.reshape(-1).view(np.uint32 if pairs.integer is np.int32 else np.uint64)


class Pairs:
    """Links to every other party, and products over them."""

    def __init__(self, job: dict[str, Any]) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_platforms", "cpu")
        import spu.libspu as libspu

        self.spu, self.me = libspu, int(job["index"])
        self.links: dict[int, Any] = {}
        self.runtimes: dict[int, Any] = {}
        wide = job["bits"] == 64
        self.integer: Any = np.int64 if wide else np.int32
        field = libspu.FieldType.FM64 if wide else libspu.FieldType.FM32
        # Only Cheetah: the triples of SPU's SEMI2K come from seeds that one party knows.
        self.config = libspu.RuntimeConfig(protocol=libspu.ProtocolKind.CHEETAH, field=field)
        self.config.experimental_enable_colocated_optimization = True
        for other, (mine, theirs) in sorted(job["links"].items(), key=lambda item: int(item[0])):
            self.links[int(other)] = self._link(int(other), mine, theirs)

    def _link(self, other: int, mine: str, theirs: str) -> Any:
        desc = self.spu.link.Desc()
        low, high = sorted((self.me, other))
        desc.id = f"{low}-{high}"
        for party in (low, high):
            desc.add_party(f"party{party}", mine if party == self.me else theirs)
        desc.connect_retry_times = 600
        desc.connect_retry_interval_ms = 100
        desc.recv_timeout_ms = 1800 * 1000
        return self.spu.link.create_brpc(desc, int(self.me > other))

    def multiply(
        self, other: int, own: Any, shape: tuple[int, int], matrix: bool, first: bool
    ) -> Any:
        """The share of left ∘ right; `first` says that this party has the left factor."""
        import jax.numpy as jnp
        from spu.api import Io, Runtime
        from spu.utils import frontend

        def rows_product(x: Any, y: Any) -> Any:
            return (x[:, :, None] * y[:, None, :]).reshape(x.shape[0], -1)

        def matrix_product(x: Any, y: Any) -> Any:
            return jnp.matmul(x.T, y)

        rank = int(self.me > other)
        if other not in self.runtimes:
            self.runtimes[other] = Runtime(self.links[other], self.config)
        runtime, io = self.runtimes[other], Io(2, self.config)
        step = len(own) if matrix else _ROWS
        results = []
        for start in range(0, len(own), step):
            mine = np.ascontiguousarray(own[start : start + step])
            blank = np.zeros((len(mine), shape[1]), self.integer)
            values = (mine, blank) if first else (blank, mine)
            owners = (rank, 1 - rank) if first else (1 - rank, rank)
            secret = self.spu.Visibility.VIS_SECRET
            for name, value, owner in zip("xy", values, owners, strict=True):
                runtime.set_var(name, io.make_shares(value, secret, owner)[rank])
            program, _ = frontend.compile(
                frontend.Kind.JAX,
                matrix_product if matrix else rows_product,
                values,
                {},
                ["x", "y"],
                [secret, secret],
                lambda out: ["z"],
            )
            runtime.run(program)
            results.append(self._words(runtime.get_var("z")))
            for name in "xyz":
                runtime.del_var(name)
        flat = np.concatenate(results)
        return flat if matrix else flat.reshape(len(own), -1)

    def _words(self, share: Any) -> Any:
        content = b""
        for chunk in share.share_chunks:
            part = self.spu.ValueChunk()
            part.ParseFromString(chunk)
            content += part.content
        return np.frombuffer(content, self.integer)

    def stop(self) -> None:
        """Without this the other party waits for messages that never come."""
        for link in self.links.values():
            link.barrier()
        for link in self.links.values():
            link.stop_link()


if __name__ == "__main__":
    main()
