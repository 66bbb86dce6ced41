"""The application: who may use which route, what each answers, headers of every answer."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from .. import __version__
from ..contract.collection import Collection
from ..errors import ParameterError, SottovoceError
from .access import COOKIE, Access
from .collector import HOUR, Collector
from .contract_for_clients import describe
from .downloads import KINDS, download
from .estimating import Estimates, checked_attribute, values_of
from .metrics import Metrics
from .problems import ALL, HEADERS, JSON, NO_STORE, Problem
from .results import results_page
from .routes import REPORTS, ROUTES, Entry, Who, openapi
from .static import Bundle

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Handler = Callable[[Request], Awaitable[Response]]

_FOREVER = "public, max-age=31536000, immutable"
_HTML = "text/html"
_BYTES = "application/octet-stream"


@dataclass(frozen=True)
class About:
    """What the pages say about a study beside its own contract."""

    description: str = ""
    owner: str = ""
    secure: bool = False  # whether cookies are for https only


class App:
    """The ASGI application of one study; `routes.ROUTES` names the methods that answer."""

    def __init__(
        self, collector: Collector, access: Access, metrics: Metrics, about: About
    ) -> None:
        self._collector = collector
        self._study = collector.study
        self._access = access
        self._metrics = metrics
        self._secure = about.secure
        self._about = {
            "title": self._study.title,
            "description": about.description,
            "owner": about.owner,
        }
        self._bundle = Bundle()
        self._contract = describe(self._study)
        # Encoded once: it may be long, and everyone asks for it.
        self._encoded = msgspec.Raw(msgspec.json.encode(self._contract))
        self._estimates = Estimates(collector)
        routes = [Route(entry.path, self._guard(entry)) for entry in ROUTES if entry.handler]
        self._starlette = Starlette(
            routes=routes,
            exception_handlers={HTTPException: self._not_found, SottovoceError: self._refuse},
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
                await _response(ALL["method"])(scope, receive, send_on)
                return
            await self._starlette(scope, receive, send_on)
        except Exception as error:
            _say_where(error)
            if not started:
                await _response(ALL["failed"])(scope, receive, send_on)

    def _guard(self, entry: Entry) -> Handler:
        handler: Handler = getattr(self, entry.handler)
        if entry.who is not Who.ANALYST:
            return handler

        async def answer(request: Request) -> Response:
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
        if _HTML in request.headers.get("accept", ""):
            return Response(self._bundle.page("unknown.html"), problem.status, media_type=_HTML)
        return _response(problem)

    async def _refuse(self, request: Request, error: Exception) -> Response:
        return _response(ALL["invalid"], str(error))

    # --- for anyone -------------------------------------------------------------------------------

    async def participant(self, request: Request) -> Response:
        """The participant's page."""
        return Response(self._bundle.page("participant.html"), media_type=_HTML)

    async def offline(self, request: Request) -> Response:
        """The same page as one file that needs no connection."""
        page = self._bundle.offline(self._about, self._contract)
        return Response(page, media_type=_HTML, headers=_attachment("take-part.html"))

    async def static(self, request: Request) -> Response:
        """A file of the pages."""
        file = self._bundle.file(request.path_params["digest"], request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        content, kind = file
        return Response(content, headers={"content-type": kind, "cache-control": _FOREVER})

    async def health(self, request: Request) -> Response:
        """Whether reports can be stored."""
        return _json({"status": "ok"}) if self._collector.healthy else _response(ALL["store"])

    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return _json(openapi(__version__, self._study.title))

    async def study(self, request: Request) -> Response:
        """What is asked and promised, and what a client needs to know."""
        return _json(
            {
                "study": self._about,
                "digest": self._study.digest.hex(),
                "guarantee": self._study.guarantee.as_dict(),
                "client": self._encoded,
                "invitation": self._collector.codes.needed,
                "closed": self._collector.closed,
                "bundle": self._bundle.digest,
            }
        )

    # --- for analysts -----------------------------------------------------------------------------

    async def aggregate(self, request: Request) -> Response:
        """The counts of a question, as a file of counts."""
        counts = await run_in_threadpool(self._collector.aggregate, self._question(request).name)
        return Response(counts.to_bytes(), media_type=_BYTES)

    async def export(self, request: Request) -> Response:
        """The reports of a question whose values are too many to count, as a file of reports."""
        reports = await run_in_threadpool(self._collector.reports, self._question(request).name)
        return Response(reports.to_bytes(), media_type=_BYTES)

    async def estimate(self, request: Request) -> Response:
        """Fractions with intervals."""
        collection = self._question(request)
        query = request.query_params
        attribute = checked_attribute(collection, query.get("attribute", ""))
        values = values_of(collection, query.get("values", ""))
        try:
            confidence = float(query.get("confidence", "0.95"))
        except ValueError:
            raise ParameterError("confidence must be a number between 0 and 1") from None

        def compute() -> dict[str, Any]:
            result = self._estimates.marginal(collection, attribute, values)
            levels = self._estimates.levels(collection, values)
            return {
                "question": collection.name,
                "attribute": attribute,
                "people": result.n,
                "reports": result.n if result.reports is None else result.reports,
                "method": result.method,
                "biased": result.biased,
                "assuming": result.assuming,
                "confidence": confidence,
                "values": result.rows(confidence),
                "levels": {name: part.rows(confidence) for name, part in levels.items()},
                "turnout": self._estimates.turnout(collection, values),
                "guarantee": result.guarantee.as_dict(),
            }

        return _json(await run_in_threadpool(compute))

    async def metrics(self, request: Request) -> Response:
        """Figures for operation."""
        hour = int(time.time() // HOUR)
        text = self._metrics.render(self._collector.hours(), hour, self._collector.healthy)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def results(self, request: Request) -> Response:
        """The analyst's page."""
        what = (self._collector, self._estimates, self._bundle, self._about, request.query_params)
        return Response(await run_in_threadpool(results_page, *what), media_type=_HTML)

    async def download(self, request: Request) -> Response:
        """A question's counts, table or picture."""
        number, kind = request.path_params["number"], request.path_params["kind"]
        names = self._study.names
        if kind not in KINDS or not number.isdecimal() or not 0 < int(number) <= len(names):
            raise HTTPException(404)
        collection = self._study.collection(names[int(number) - 1])
        attribute = request.query_params.get("attribute", "")
        values = values_of(collection, request.query_params.get("values", ""))
        if kind != "counts.sva":
            checked_attribute(collection, attribute)
        try:
            content = await run_in_threadpool(
                download, kind, self._estimates, collection, attribute, values
            )
        except ImportError as error:
            raise ParameterError(str(error)) from error
        headers = _attachment(f"{number}-{kind}")
        return Response(content, media_type=KINDS[kind], headers=headers)

    def _question(self, request: Request) -> Collection:
        try:
            return self._study.collection(request.query_params.get("question"))
        except SottovoceError as error:
            raise ParameterError(str(error)) from error


def _json(about: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(about), media_type=JSON)


def _attachment(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _response(problem: Problem, detail: str = "") -> Response:
    response = Response(problem.body(detail), problem.status)
    response.raw_headers.extend(problem.headers)
    return response


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
