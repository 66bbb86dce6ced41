"""A real server in a thread of its own, reached through its real door."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

import sottovoce as sv
from sottovoce.service.ingest import Limits
from sottovoce.service.server import Running, Settings, serving
from sottovoce.service.submission import most_bytes

OCTETS = {"content-type": "application/octet-stream"}


def limits(study: sv.Study, **changes: Any) -> Limits:
    """No limit on the rate, unless a test asks for one."""
    return replace(Limits(most_bytes(study), rate=0.0), **changes)


@contextmanager
def running(
    study: sv.Study, store: str | Path, *, settings: dict[str, Any] | None = None, **changes: Any
) -> Iterator[Running]:
    """A server of the study while the block runs."""
    ready = threading.Event()
    state: dict[str, Any] = {}

    async def serve() -> None:
        state["stop"] = asyncio.Event()
        own = Settings(store, port=0, limits=limits(study, **changes), **(settings or {}))
        async with serving(study, own) as server:
            state["server"], state["loop"] = server, asyncio.get_running_loop()
            ready.set()
            await state["stop"].wait()

    def work() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            state["error"] = error
            ready.set()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(60)
    try:
        if "error" in state:
            raise state["error"]
        yield state["server"]
    finally:
        if "loop" in state:
            state["loop"].call_soon_threadsafe(state["stop"].set)
        thread.join(60)
    if "error" in state:
        raise state["error"]


@contextmanager
def client(server: Running, *, analyst: bool = False) -> Iterator[httpx.Client]:
    """Asks the server; with `analyst` with its token.

    The first page compiles kernels, on a machine that is busy with other tests.
    """
    headers = {"authorization": f"Bearer {server.token}"} if analyst else {}
    with httpx.Client(base_url=server.address, headers=headers, timeout=300) as one:
        yield one


def post(one: httpx.Client, data: bytes, **headers: str) -> httpx.Response:
    """Send a submission."""
    return one.post("/api/v1/reports", content=data, headers={**OCTETS, **headers})
