"""The real service as a participant's browser meets it, and ways to disturb what passes between."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sottovoce import Study
from sottovoce.errors import EstimateError
from sottovoce.service.app import About
from tests.service.serving import running

REPORTS = "**/api/v1/reports"
STUDY = "**/api/v1/study"
POLICY = "Content Security Policy"  # how the browser's complaints name it


def opened(context: Any, url: str, trouble: list[str] | None = None) -> Any:
    """A new page; errors of its scripts and of its policy are noted in `page.trouble`."""
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.trouble = [] if trouble is None else trouble
    page.on("pageerror", lambda error: page.trouble.append(str(error)))
    page.on(
        "console",
        lambda m: page.trouble.append(m.text) if "Content Security Policy" in m.text else None,
    )
    page.goto(url)
    return page


class Visit:
    """A browser's profile that visits a server, and what it posted there."""

    def __init__(self, context: Any, server: Any, study: Study) -> None:
        self.context = context
        self.server = server
        self.study = study
        self.url = f"{server.address}/"
        self.posts: list[tuple[bytes, str | None]] = []
        self.trouble: list[str] = []
        self._before = self._total()
        context.on("request", self._look)

    def _look(self, request: Any) -> None:
        if not request.url.startswith((self.url, "data:", "blob:", "about:")):
            self.trouble.append(f"a request to {request.url}")
        if request.method == "POST":
            code = request.headers.get("sottovoce-code")
            self.posts.append((request.post_data_buffer, code))

    def open(self, path: str = "") -> Any:
        """A new page; errors of its scripts and of its policy are noted."""
        return opened(self.context, self.url + path, self.trouble)

    @property
    def counted(self) -> int:
        """How many reports of this visit the service has counted."""
        return self._total() - self._before

    def _total(self) -> int:
        total = 0
        collector = self.server.collector
        for name in self.study.names:
            with suppress(EstimateError):  # nobody has reported yet
                if name in collector.uncounted:
                    total += len(collector.reports(name))
                else:
                    total += collector.aggregate(name).reports
        return total

    def refuse(self, status: int) -> None:
        """Reports are answered with this until `restore`."""
        body = json.dumps({"title": "Refused", "detail": "these bytes are not wanted"})
        kind = "application/problem+json"
        self.context.route(
            REPORTS, lambda route: route.fulfill(status=status, content_type=kind, body=body)
        )

    def restore(self) -> None:
        self.context.unroute(REPORTS)

    def alter(self, change: Callable[[dict[str, Any]], None]) -> None:
        """The study arrives altered."""

        def deliver(route: Any) -> None:
            about = route.fetch().json()
            change(about)
            route.fulfill(status=200, content_type="application/json", body=json.dumps(about))

        self.context.route(STUDY, deliver)


@contextmanager
def serving(study: Study, about: dict[str, str], folder: Path) -> Iterator[Any]:
    """A server of the study; tests count what they add."""
    with running(study, folder / "collection", settings={"about": About(**about)}) as server:
        yield server, study


@contextmanager
def visiting(chromium: Any, served: tuple[Any, Study], **options: Any) -> Iterator[Visit]:
    """A new profile: nothing is kept from other tests."""
    context = chromium.new_context(**options)
    try:
        yield Visit(context, *served)
    finally:
        context.close()
