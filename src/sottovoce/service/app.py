"""The application: routes, who may use them, headers of every answer."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ..errors import SottovoceError
from .access import COOKIE, Access
from .collector import Collector
from .handlers import Handlers
from .headers import HEADERS, NO_STORE
from .metrics import Metrics
from .problems import ALL, Problem
from .routes import REPORTS, ROUTES, Entry, Who
from .static import Bundle

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class About:
    """What the pages say about a study beside its own contract."""

    description: str = ""
    owner: str = ""
    secure: bool = False  # whether cookies are for https only


class App:
    """The ASGI application of one study."""

    def __init__(
        self,
        collector: Collector,
        access: Access,
        metrics: Metrics,
        about: About,
    ) -> None:
        self._access = access
        self._metrics = metrics
        self._secure = about.secure
        self._bundle = Bundle()
        handlers = Handlers(collector, self._bundle, metrics, about.description, about.owner)
        routes = [
            Route(entry.path, self._guarded(entry, getattr(handlers, entry.handler)))
            for entry in ROUTES
            if entry.handler
        ]
        self._starlette = Starlette(
            routes=routes,
            exception_handlers={HTTPException: self._not_found, SottovoceError: self._refused},
        )
        self._starlette.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; whatever happens, its answer has the headers and is counted."""
        if scope["type"] != "http":
            return
        started = False

        async def send_on(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._metrics.answered(message["status"])
                headers = message.get("headers", [])
                cached = any(name == b"cache-control" for name, _ in headers)
                message["headers"] = [*headers, *HEADERS, *([] if cached else [NO_STORE])]
            await send(message)

        try:
            if scope["path"] == REPORTS:  # submissions are answered by the connection itself
                await _send_problem(send_on, ALL["method"])
                return
            await self._starlette(scope, receive, send_on)
        except Exception as error:
            _say_where(error)
            if not started:
                await _send_problem(send_on, ALL["failed"])

    def _guarded(self, entry: Entry, handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            if entry.who is not Who.ANALYST:
                return await handler(request)
            key = request.query_params.get("key")
            if entry.handler == "results" and key is not None and self._access.allows(key):
                return self._signed_in(key)
            if not self._access.allows(_token(request)):
                raise HTTPException(404)
            return await handler(request)

        return answer

    def _signed_in(self, key: str) -> Response:
        """From a link to the page, with the token in a cookie and no longer in the address."""
        response = RedirectResponse("/results", 303)
        response.set_cookie(
            COOKIE, key, path="/", httponly=True, samesite="lax", secure=self._secure
        )
        return response

    async def _not_found(self, request: Request, error: Exception) -> Response:
        """The same for what is unknown and what is forbidden."""
        wrong_method = isinstance(error, HTTPException) and error.status_code == 405
        problem = ALL["method" if wrong_method else "unknown"]
        if "text/html" in request.headers.get("accept", ""):
            page = self._bundle.page("unknown.html") or b""
            return Response(page, problem.status, media_type="text/html")
        return _problem_response(problem)

    async def _refused(self, request: Request, error: Exception) -> Response:
        return _problem_response(ALL["invalid"], str(error))


def _problem_response(problem: Problem, detail: str = "") -> Response:
    response = Response(problem.body(detail), problem.status)
    response.raw_headers.extend(problem.headers)
    return response


async def _send_problem(send: Send, problem: Problem) -> None:
    body = problem.body()
    headers = [*problem.headers, (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": problem.status, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})


def _token(request: Request) -> str | None:
    """The token of a request: in its header, or in the cookie that a link has set."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if morsel is None else morsel.value


def _say_where(error: Exception) -> None:
    """What failed and where in the code; nothing of the request."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" in {trace.tb_frame.f_code.co_name}, line {trace.tb_lineno}"
    print(f"sottovoce: internal error: {type(error).__name__}{where}", file=sys.stderr, flush=True)
