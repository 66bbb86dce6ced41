"""A server of one study: uvicorn with our limits, and nothing logged about requests."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from ..errors import ParameterError, TransportError
from ..study import Study
from .access import Access, make_token, read_tokens
from .app import About, App
from .collector import Collector, Committer
from .ingest import Door, Limits
from .metrics import Metrics
from .protocol import protocol_for
from .stores import Store, open_store
from .submission import most_bytes

_DRAIN_SECONDS = 10


@dataclass(frozen=True)
class Settings:
    """How a study is served."""

    store: str | Path  # a folder, or a postgresql:// address
    host: str = "127.0.0.1"
    port: int = 8080  # 0 takes a free one
    about: About = field(default_factory=About)
    certificate: Path | None = None  # for TLS
    key: Path | None = None
    limits: Limits | None = None  # other limits than the default ones
    link_days: float = 30.0  # how long the analyst's link works


@dataclass(frozen=True)
class Running:
    """A server that is up: its address and a new analyst's token."""

    address: str
    token: str
    collector: Collector

    @property
    def link(self) -> str:
        """The analyst's link."""
        return f"{self.address}/results?key={self.token}"


def prepare(study: Study, store: Store) -> None:
    """Keep the study beside its reports, so that the store explains itself; once."""
    with store.transaction():
        if store.fact("study") is None:
            store.put_fact("study", study.to_toml().encode())


@asynccontextmanager
async def serving(study: Study, settings: Settings) -> AsyncIterator[Running]:
    """A server for the duration of a block; commits what was received before it ends."""
    store = await asyncio.to_thread(open_store, settings.store, study.digest)
    try:
        store.lock()
        await asyncio.to_thread(store.check)
        prepare(study, store)
        with store.transaction():
            token, _ = make_token(store, settings.link_days)
            tokens = read_tokens(store)
        collector = await asyncio.to_thread(Collector, study, store)
        limits = settings.limits or Limits(most_bytes(study))
        metrics = Metrics()
        committer = Committer(collector, metrics)
        door = Door(committer, limits, metrics)
        app = App(collector, Access(tokens), metrics, settings.about)
        server = _Server(_config(app, door, settings))
        listener = _listen(settings.host, settings.port)
        server.seconds = limits.seconds
        committer.start(asyncio.get_running_loop())
        task = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not server.started and not task.done():
                await asyncio.sleep(0.01)
            if not server.started:
                await task  # raises what went wrong, before a dead address is announced
            scheme = "https" if settings.certificate else "http"
            host, port = listener.getsockname()[:2]
            host = f"[{host}]" if ":" in host else host
            yield Running(f"{scheme}://{host}:{port}", token, collector)
        finally:
            server.should_exit = True
            try:
                await task
            finally:
                await committer.stop()
    finally:
        store.close()


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to whoever runs it, and limits TLS handshakes in time.

    A handshake comes before there is a connection that the protocol could limit.
    """

    seconds = Limits.seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        config, loop = self.config, asyncio.get_running_loop()
        kind: Any = config.http_protocol_class
        connection = partial(kind, config=config, server_state=self.server_state, app_state={})
        options: dict[str, Any] = {"ssl": config.ssl, "backlog": config.backlog}
        if config.ssl:
            options["ssl_handshake_timeout"] = self.seconds
        self.servers = [
            await loop.create_server(connection, sock=one, **options) for one in sockets or ()
        ]
        self.started = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: App, door: Door, settings: Settings) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=protocol_for(door),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    try:
        config.load()
    except OSError as error:  # also what is wrong with a certificate
        raise ParameterError(
            f"cannot serve https with the certificate {str(settings.certificate)!r} and the key "
            f"{str(settings.key)!r}: {error.strerror or error}; give two PEM files that belong "
            "together: --tls CERT KEY"
        ) from error
    return config


def reachable(address: str) -> list[str]:
    """Addresses to type into a browser: this machine's own one first, then the network's."""
    parts = urlsplit(address)
    if parts.hostname not in ("0.0.0.0", "::"):  # noqa: S104
        return [address]
    known = [f"{parts.scheme}://127.0.0.1:{parts.port}"]
    # Nothing is sent to find the address of this machine in its network.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # reserved for documentation
        known.append(f"{parts.scheme}://{probe.getsockname()[0]}:{parts.port}")
    return known


def _listen(host: str, port: int) -> socket.socket:
    try:
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol's number, asyncio sends small answers without waiting for more.
        listener = socket.socket(kind, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        raise TransportError(
            f"cannot listen on {host}:{port}: {error.strerror}; choose another --host or --port"
        ) from error
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < min(hard, 8192):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    return listener
