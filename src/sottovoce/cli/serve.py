"""``sottovoce serve``: a study's own collection service."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from ..errors import MissingExtraError, ParameterError
from .support.command import console, heading, print_json, show_next
from .support.numbers import PORT, IntRange, RealRange
from .support.options import PATH, json_option
from .support.place import Place, store_option

if TYPE_CHECKING:
    from ..service.server import Running, Settings
    from ..study import Study


@click.command()
@click.argument("study_path", type=PATH, required=False, metavar="[STUDY]")
@store_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Where to listen; 0.0.0.0 for the network.",
)
@click.option("--port", type=PORT, default=8080, show_default=True, help="Port to listen on.")
@click.option(
    "--tls",
    type=PATH,
    nargs=2,
    metavar="CERT KEY",
    help="Serve HTTPS with this certificate and key.",
)
@click.option("--owner", default="", help="Who asks; shown to participants.")
@click.option("--about", default="", help="Why; shown to participants.")
@click.option(
    "--rate",
    type=RealRange(0, 1_000_000),
    default=50.0,
    show_default=True,
    help="Submissions per second from one address; 0 for no limit, as behind a proxy.",
)
@click.option(
    "--connections",
    type=IntRange(10, 1_000_000),
    default=1000,
    show_default=True,
    help="The most connections at once.",
)
@click.option(
    "--link-days",
    type=RealRange(0.01, 36_500),
    default=30.0,
    show_default=True,
    help="How long the analyst's link works.",
)
@click.option(
    "--link-file",
    type=PATH,
    metavar="FILE",
    help="Write the analyst's link to this private file instead of printing it.",
)
@click.option(
    "--demo", is_flag=True, help="Without a study: simulated people answer while you look."
)
@json_option
def serve(
    study_path: Path | None,
    store: str | None,
    host: str,
    port: int,
    tls: tuple[Path, Path] | None,
    owner: str,
    about: str,
    rate: float,
    connections: int,
    link_days: float,
    link_file: Path | None,
    demo: bool,
    as_json: bool,
) -> None:
    """Collect reports over HTTP, with pages for people and analysts.

    Answers are randomised in the participant's browser; the server stores reports, and nothing
    about who sent them. Prints the participants' address and the analyst's link, and runs until it
    is interrupted. Without invitation codes the study is open to anyone.

    \b
    Examples:
      sottovoce serve --demo
      sottovoce serve study.toml --host 0.0.0.0 --tls cert.pem key.pem
      sottovoce serve study.toml --store postgresql://user@database.example/studies

    Next: sottovoce collection status study.toml
    """  # noqa: D301
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("starlette", "service", "sottovoce serve") from error
    from ..service.app import About
    from ..service.ingest import Limits
    from ..service.server import Settings
    from ..service.submission import most_bytes

    if demo == (study_path is not None):
        raise ParameterError("name a study file, or add --demo for simulated people, but not both")
    with TemporaryDirectory(prefix="sottovoce-demo-") as folder:
        place = None if study_path is None else Place(study_path, store)
        if place is None:
            from ..service.demo import demo_study

            study, where = demo_study(), store or folder
        else:
            study, where = place.study, place.address
        certificate, key = tls or (None, None)
        limits = Limits(most_bytes(study), connections=connections, rate=rate)
        words = About(about, owner, secure=certificate is not None)
        settings = Settings(where, host, port, words, certificate, key, limits, link_days)
        announce = partial(_announce, study, settings, place, link_file, as_json)
        loop: Callable[[], asyncio.AbstractEventLoop] | None = None
        with suppress(ImportError):  # not on every system
            import uvloop

            loop = uvloop.new_event_loop
        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(_serve(study, settings, announce, demo=demo))


async def _serve(
    study: Study, settings: Settings, announce: Callable[[Running], None], *, demo: bool
) -> None:
    from ..service.server import serving

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serving(study, settings) as server:
        gc.collect()
        gc.freeze()  # what was loaded by now stays; looking through it again costs milliseconds
        announce(server)
        crowd: asyncio.Task[None] | None = None
        if demo:
            from ..service.demo import answer

            crowd = asyncio.create_task(answer(study, server.address))
        await stop.wait()
        if crowd is not None:
            crowd.cancel()
            with suppress(asyncio.CancelledError):
                await crowd


def _announce(
    study: Study,
    settings: Settings,
    place: Place | None,
    link_file: Path | None,
    as_json: bool,
    server: Running,
) -> None:
    """Say where the server is, once it is up."""
    from ..files import whole_file
    from ..service.server import reachable
    from ..transport.http import is_loopback

    participants = reachable(server.address)
    link = f"{participants[0]}/results?key={server.token}"
    if link_file is not None:
        with whole_file(link_file, private=True) as stream:
            stream.write(f"{link}\n".encode())
        link = str(link_file)
    if as_json:
        secret = {} if link_file is not None else {"token": server.token}
        where = "PostgreSQL" if "://" in str(settings.store) else str(settings.store)
        about = {"study": study.title, "digest": study.digest.hex(), "store": where}
        print_json({**about, "participants": participants, "analyst": link, **secret})
        sys.stdout.flush()
        return
    screen = console()
    screen.print(heading(study.title))
    for name, text in [*(("participants", one) for one in participants), ("analyst", link)]:
        screen.print(f"{name:<14}{text}", soft_wrap=True)
    if settings.certificate is None and not is_loopback(settings.host):
        screen.print(
            "Plain HTTP: anyone on the network can see who takes part, change the page and read "
            "the analyst's link. Use --tls, or a proxy with a certificate.",
            style="yellow",
        )
    if place is not None:
        show_next(screen, place.command("collection status"))
    screen.print("Ctrl-C ends it; everything that was acknowledged is stored.", style="dim")
    sys.stdout.flush()
