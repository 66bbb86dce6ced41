"""What each route but that of reports answers."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from .. import __version__
from ..contract.collection import Collection
from ..errors import ParameterError, SottovoceError
from .collector import HOUR, Collector
from .contract_for_clients import describe
from .downloads import KINDS, download
from .estimating import Estimates, checked_attribute, values_of
from .metrics import Metrics
from .offline import offline_page
from .problems import ALL, JSON
from .results import results_page
from .routes import openapi
from .static import Bundle

_FOREVER = "public, max-age=31536000, immutable"
_HTML = "text/html"


class Handlers:
    """The answers of one study's server."""

    def __init__(
        self,
        collector: Collector,
        bundle: Bundle,
        metrics: Metrics,
        description: str,
        owner: str,
    ) -> None:
        self._collector = collector
        self._study = collector.study
        self._bundle = bundle
        self._metrics = metrics
        self._about = {
            "title": self._study.title,
            "description": description,
            "owner": owner,
        }
        # Encoded once: it may be long, and everyone asks for it.
        self._contract = msgspec.Raw(msgspec.json.encode(describe(self._study)))
        self._estimates = Estimates(collector)

    # --- for anyone -------------------------------------------------------------------------------

    async def participant(self, request: Request) -> Response:
        """The participant's page."""
        page = self._bundle.page("participant.html")
        if page is None:
            raise HTTPException(404)
        return Response(page, media_type=_HTML)

    async def offline(self, request: Request) -> Response:
        """The same page as one file that needs no connection."""
        page = offline_page(self._study, self._about, self._bundle.files)
        name = 'attachment; filename="take-part.html"'
        return Response(page, media_type=_HTML, headers={"content-disposition": name})

    async def static(self, request: Request) -> Response:
        """A file of the pages."""
        file = self._bundle.file(request.path_params["digest"], request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        content, kind = file
        return Response(content, headers={"content-type": kind, "cache-control": _FOREVER})

    async def health(self, request: Request) -> Response:
        """Whether reports can be stored."""
        if not self._collector.healthy:
            problem = ALL["store"]
            response = Response(problem.body(), problem.status)
            response.raw_headers.extend(problem.headers)
            return response
        return _json({"status": "ok"})

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
                "client": self._contract,
                "invitation": self._collector.by_invitation,
                "closed": self._collector.closed,
                "bundle": self._bundle.digest,
            }
        )

    # --- for analysts -----------------------------------------------------------------------------

    async def aggregate(self, request: Request) -> Response:
        """The counts of a question, as a file of counts."""
        collection = self._question(request)
        data = await run_in_threadpool(lambda: self._collector.aggregate(collection.name))
        return Response(data.to_bytes(), media_type="application/octet-stream")

    async def export(self, request: Request) -> Response:
        """The reports of a question whose values are too many to count, as a file of reports."""
        collection = self._question(request)
        data = await run_in_threadpool(lambda: self._collector.reports(collection.name).to_bytes())
        return Response(data, media_type="application/octet-stream")

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
        page = await run_in_threadpool(
            results_page,
            self._collector,
            self._estimates,
            self._bundle,
            self._about,
            request.query_params,
        )
        return Response(page, media_type=_HTML)

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
            content, media = await run_in_threadpool(
                download, kind, self._estimates, collection, attribute, values
            )
        except ImportError as error:
            raise ParameterError(str(error)) from error
        name = f"{number}-{kind}"
        return Response(
            content,
            media_type=media,
            headers={"content-disposition": f'attachment; filename="{name}"'},
        )

    def _question(self, request: Request) -> Collection:
        name = request.query_params.get("question")
        try:
            return self._study.collection(name)
        except SottovoceError as error:
            raise ParameterError(str(error)) from error


def _json(about: dict[str, Any]) -> Response:
    return Response(msgspec.json.encode(about), media_type=JSON)
